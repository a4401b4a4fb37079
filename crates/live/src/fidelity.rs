//! The emulator's own errors, and whether they may have changed the result.

use crate::lateness::Distribution;
use crate::shard::ShardReport;
use ackclock_lateness::Lateness;
use ackclock_units::Duration;
use serde::{Deserialize, Serialize};

/// The largest mean lateness of deliveries, as a share of the shortest round-trip time. Windows grow and
/// losses are repaired once per round trip, so rates are wrong by the same share.
const MAX_MEAN: f64 = 0.01;
/// The largest lateness of the 99th percentile, as a share of the shortest round-trip time.
const MAX_P99: f64 = 0.1;
/// When the emulator stalls, packets pile up and then come at once. The 99.9th percentile of lateness may be
/// at most the time that fills this share of a queue. Otherwise queues overflow that would not have.
const MAX_PILED: f64 = 0.5;
/// A thread that is busier than this cannot be on time.
const MAX_BUSY: f64 = 0.9;

/// The largest time that a run may take beyond the time of its scenario, s. Flows that are stopped so late
/// had more time than the scenario gives them, and looks at them came late, too.
const MAX_OVERRUN_S: f64 = 0.5;
/// The largest lateness of a thread at the end of a run, s. What was due in that time was not carried.
const MAX_BEHIND_S: f64 = 0.1;

/// The values that decide how sensitive a path is.
pub(crate) struct Sensitivity {
    /// The shortest propagation round-trip time of a flow.
    pub(crate) rtt: Duration,
    /// The links with limited queues, and the time that each needs to transmit a full queue, s.
    pub(crate) queues: Vec<(String, f64)>,
}

/// The emulator's own errors in a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fidelity {
    /// True if the emulator's errors are too small to change the result. False if they may have; `doubts`
    /// says why.
    pub trusted: bool,
    /// The reasons why the result cannot be trusted. Empty if `trusted`.
    pub doubts: Vec<String>,
    /// How late deliveries were, compared with the ideal times of the path.
    pub lateness: Distribution,
    /// The share of deliveries within 0.2 ms of their ideal time.
    pub within_200us: f64,
    /// The share of deliveries within 1 ms of their ideal time.
    pub within_1ms: f64,
    /// For each thread that carried packets: the share of a processor that it used.
    pub busy: Vec<f64>,
    /// True if these threads had real-time priority all the time. A thread that is busy for more than 90 % of
    /// 0.1 s gives it up for a while.
    pub real_time: bool,
    /// The time that the run took beyond the time of its scenario, s.
    #[serde(default)]
    pub overrun_s: f64,
    /// How late the latest thread was at the end of the run, s.
    #[serde(default)]
    pub behind_s: f64,
    /// How late our own TCP was for paced segments. Its controllers take that for a delay of the path.
    /// `None`: it sends none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub senders: Option<Distribution>,
    /// Packets that hosts sent, and that the emulator did not read in time.
    pub lost_on_entry: u64,
    /// Packets that the kernel of the receiving host did not accept.
    pub refused: u64,
    /// Packets without a route, such as those of neighbour discovery.
    pub unroutable: u64,
    /// Senders of rate-based flows that gave up before the end of the run, and why: their sessions end if
    /// congestion takes too many packets for too long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gave_up: Vec<String>,
    /// For each group of flows: the kernel's name of its controller.
    pub kernel_controls: Vec<String>,
}

impl Fidelity {
    pub(crate) fn new(
        parts: &[ShardReport],
        senders: Option<&Lateness>,
        lost: u64,
        overrun: Duration,
        path: &Sensitivity,
        controls: &[String],
    ) -> Fidelity {
        let mut all = Lateness::default();
        parts.iter().for_each(|part| all.add(&part.lateness));
        let mut emulation = Fidelity {
            trusted: true,
            doubts: Vec::new(),
            lateness: Distribution::from(&all),
            within_200us: all.share_within(Duration::from_micros(200)),
            within_1ms: all.share_within(Duration::from_millis(1)),
            busy: parts.iter().map(|part| part.busy).collect(),
            real_time: parts.iter().all(|part| part.real_time),
            overrun_s: overrun.as_secs_f64(),
            behind_s: parts.iter().map(|part| part.behind.as_secs_f64()).fold(0.0, f64::max),
            senders: senders.map(Distribution::from),
            lost_on_entry: lost,
            refused: parts.iter().map(|part| part.refused).sum(),
            unroutable: parts.iter().map(|part| part.unroutable).sum(),
            gave_up: Vec::new(),
            kernel_controls: controls.to_vec(),
        };
        emulation.doubts = emulation.doubted(path);
        emulation.trusted = emulation.doubts.is_empty();
        emulation
    }

    fn doubted(&self, path: &Sensitivity) -> Vec<String> {
        let mut doubts = Vec::new();
        let rtt_s = path.rtt.as_secs_f64();
        let Distribution { mean_s, p99_s, p999_s, .. } = self.lateness;
        let ms = |s: f64| format!("{:.3} ms", s * 1e3);
        if 2.0 * mean_s > MAX_MEAN * rtt_s {
            doubts.push(format!(
                "deliveries are {} late on the average, each way: more than {} % of the shortest round-trip time, {}",
                ms(mean_s),
                MAX_MEAN * 100.0,
                ms(rtt_s)
            ));
        }
        if p99_s > MAX_P99 * rtt_s {
            doubts.push(format!(
                "one delivery in a hundred is later than {}: more than {} % of the shortest round-trip time, {}",
                ms(p99_s),
                MAX_P99 * 100.0,
                ms(rtt_s)
            ));
        }
        if let Some(senders) =
            self.senders.filter(|it| it.mean_s > MAX_MEAN * rtt_s || it.p99_s > MAX_P99 * rtt_s)
        {
            doubts.push(format!(
                "our own TCP sends paced segments {} late on the average, and one time in a hundred more than {}, of a shortest round-trip \
                 time of {}: fewer flows, or a lower rate, are less work",
                ms(senders.mean_s),
                ms(senders.p99_s),
                ms(rtt_s)
            ));
        }
        for (link, fills_s) in path.queues.iter().filter(|(_, fills_s)| p999_s > MAX_PILED * fills_s) {
            doubts.push(format!(
                "one delivery in a thousand is later than {}, which is enough to fill {:.0} % of the queue of {link}: bursts that \
                 the path does not have may have overflown it",
                ms(p999_s),
                100.0 * p999_s / fills_s
            ));
        }
        for busy in self.busy.iter().filter(|&&busy| busy > MAX_BUSY) {
            doubts.push(format!("a thread that carries packets took {:.0} % of a processor", busy * 100.0));
        }
        if self.overrun_s > MAX_OVERRUN_S {
            doubts.push(format!("the run took {:.1} s longer than its scenario", self.overrun_s));
        }
        if self.behind_s > MAX_BEHIND_S {
            doubts.push(format!(
                "the emulator was {} late at the end of the run: what was due in that time is missing",
                ms(self.behind_s)
            ));
        }
        for (count, what) in [
            (self.lost_on_entry, "were lost before the path because the emulator did not take them in time"),
            (self.refused, "were lost behind the path because their host did not take them"),
        ] {
            if count > 0 {
                doubts.push(format!("{count} packets {what}"));
            }
        }
        doubts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path with a round-trip time of 20 ms and a queue of 4 ms.
    fn path() -> Sensitivity {
        Sensitivity { rtt: Duration::from_millis(20), queues: vec![("bottleneck".to_owned(), 4e-3)] }
    }

    /// The assessment if one delivery in a hundred is this late.
    fn emulation(late: Duration, lost: u64) -> Fidelity {
        let mut lateness = Lateness::default();
        (0..990).for_each(|_| lateness.note(Duration::from_micros(20)));
        (0..10).for_each(|_| lateness.note(late));
        let part = ShardReport {
            links: Vec::new(),
            streams: Vec::new(),
            queues: Vec::new(),
            lateness,
            busy: 0.5,
            unroutable: 0,
            refused: 0,
            real_time: true,
            behind: Duration::ZERO,
        };
        let emulation = Fidelity::new(&[part], None, lost, Duration::ZERO, &path(), &[]);
        assert_eq!(emulation.trusted, emulation.doubts.is_empty());
        emulation
    }

    #[test]
    fn only_errors_that_matter_are_doubts() {
        let doubts = |late, lost| emulation(late, lost).doubts;
        assert_eq!(doubts(Duration::from_micros(500), 0), Vec::<String>::new());
        let stalls = doubts(Duration::from_millis(3), 0);
        assert!(stalls.len() == 1 && stalls[0].contains("queue of bottleneck"), "{stalls:?}");
        let worse = doubts(Duration::from_millis(30), 0);
        assert!(worse.len() == 2 && worse[0].contains("on the average"), "{worse:?}");
        let lost = doubts(Duration::from_micros(100), 3);
        assert!(lost.len() == 1 && lost[0].starts_with("3 packets were lost before"), "{lost:?}");
    }

    #[test]
    fn every_doubt_in_its_words() {
        let mut worst = emulation(Duration::from_micros(100), 3);
        worst.lateness.mean_s = 0.15e-3;
        worst.lateness.p99_s = 2.5e-3;
        worst.lateness.p999_s = 3e-3;
        worst.busy = vec![0.5, 0.97];
        worst.refused = 2;
        worst.senders = Some(Distribution { mean_s: 0.3e-3, p99_s: 1e-3, ..Distribution::default() });
        (worst.overrun_s, worst.behind_s) = (20.04, 0.25);
        insta::assert_snapshot!(worst.doubted(&path()).join("\n"), @r"
        deliveries are 0.150 ms late on the average, each way: more than 1 % of the shortest round-trip time, 20.000 ms
        one delivery in a hundred is later than 2.500 ms: more than 10 % of the shortest round-trip time, 20.000 ms
        our own TCP sends paced segments 0.300 ms late on the average, and one time in a hundred more than 1.000 ms, of a shortest round-trip time of 20.000 ms: fewer flows, or a lower rate, are less work
        one delivery in a thousand is later than 3.000 ms, which is enough to fill 75 % of the queue of bottleneck: bursts that the path does not have may have overflown it
        a thread that carries packets took 97 % of a processor
        the run took 20.0 s longer than its scenario
        the emulator was 250.000 ms late at the end of the run: what was due in that time is missing
        3 packets were lost before the path because the emulator did not take them in time
        2 packets were lost behind the path because their host did not take them
        ");
    }
}
