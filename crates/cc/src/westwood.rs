//! Westwood+: Reno, but after a loss the window falls to the measured bandwidth instead of one half.
//!
//! Source: S. Mascolo, C. Casetti, M. Gerla, M. Sanadidi, R. Wang, "TCP Westwood", MobiCom 2001; L. Grieco,
//! S. Mascolo, "Performance Evaluation and Comparison of Westwood+, New Reno, and Vegas TCP Congestion
//! Control", ACM CCR 34(2), 2004; for the measurement, the Linux code of A. Dell'Aera.
//!
//! What differs: the host counts delivered segments (by SACK or cumulatively, each once). This replaces the
//! paper's estimate from duplicate acknowledgements. After a loss the host sets the window to the threshold,
//! so the answer is at most the window. A threshold above the window, with slow start up to it, exists after
//! a timeout only. Before the first bandwidth sample a loss halves the window.

use crate::{Ack, Controller, Event, Needs, Parameter, Path, Scheme, Settings, Signal, Window, slow_start};
use ackclock_units::{Duration, Time};

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    name: "westwood",
    title: "Westwood+",
    source: "Mascolo et al., MobiCom 2001; Grieco and Mascolo, ACM CCR 34(2), 2004",
    summary: "Grows like Reno. On loss the window becomes the measured bandwidth times the smallest \
              round-trip time.",
    equations: &[
        "once per max(srtt, min_interval): b = segments delivered / time",
        "one-pole: B = memory * B + (1 - memory) * b; two-pole: the same filter twice",
        "per segment acknowledged: cwnd += increase / cwnd",
        "on loss or mark: ssthresh = cwnd = min(cwnd, B * rtt_min)",
        "on timeout: ssthresh = B * rtt_min",
        "the threshold is at least two segments",
    ],
    notes: &[
        "after a loss the threshold is never above the window",
        "before the first bandwidth sample the threshold is (1 - first_decrease) * cwnd",
        "filter = \"one-pole\" with memory = 0.9 is the paper's; \"two-pole\" with 0.875 is Linux's",
        "no response function: that of the source also depends on the queueing delay",
    ],
    parameters: &[
        Parameter::number(
            "increase",
            1.0,
            "segments per round trip",
            0.01..=100.0,
            "RFC 5681 section 3.1: one SMSS",
        ),
        Parameter::number(
            "min_interval",
            0.05,
            "s",
            0.0..=10.0,
            "Linux: shortest time for a bandwidth sample",
        ),
        Parameter::number(
            "memory",
            0.875,
            "share of the old value",
            0.0..=0.999,
            "Linux: 7/8 at each pole; 0.9 in ACM CCR 2004",
        ),
        Parameter::choice(
            "filter",
            "two-pole",
            &[("two-pole", "two low-pass filters in a row (Linux)"), ("one-pole", "one (ACM CCR 2004)")],
            "how bandwidth samples are smoothed",
        ),
        Parameter::number(
            "first_decrease",
            0.5,
            "share of the window",
            0.01..=1.0,
            "RFC 5681 equation 4: as Reno before the first bandwidth sample",
        ),
    ],
    endpoint: &[],
    needs: |_| Needs::NOTHING,
    build: |settings| Box::new(Westwood::new(settings)),
    response: None,
};

/// MobiCom 2001, section 2.3: at least two segments.
const MIN_SSTHRESH: f64 = 2.0;

/// The controller.
#[derive(Clone)]
pub struct Westwood {
    increase: f64,
    min_interval: Duration,
    memory: f64,
    two_pole: bool,
    first_decrease: f64,
    /// The start of the current bandwidth sample, and the segments delivered by then.
    sample: Option<(Time, u64)>,
    /// The bandwidth after the first pole of the filter, segments per second.
    first_pole: f64,
    /// The bandwidth, segments per second; zero before the first sample.
    bandwidth: f64,
}

impl Westwood {
    /// A controller with checked `settings`.
    pub fn new(settings: &Settings) -> Westwood {
        Westwood {
            increase: settings.number("increase"),
            min_interval: Duration::from_secs_f64(settings.number("min_interval")),
            memory: settings.number("memory"),
            two_pole: settings.choice("filter") == "two-pole",
            first_decrease: settings.number("first_decrease"),
            sample: None,
            first_pole: 0.0,
            bandwidth: 0.0,
        }
    }

    fn filter(&mut self, sample: f64) {
        if self.bandwidth <= 0.0 {
            // as Linux: the first sample fills the filter
            (self.first_pole, self.bandwidth) = (sample, sample);
            return;
        }
        let smooth = |old: f64, new: f64| self.memory * old + (1.0 - self.memory) * new;
        self.first_pole = smooth(self.first_pole, sample);
        self.bandwidth =
            if self.two_pole { smooth(self.bandwidth, self.first_pole) } else { self.first_pole };
    }
}

impl Controller for Westwood {
    fn on_sample(&mut self, path: &Path, _ack: &Ack, _w: &mut Window) {
        let (since, delivered) = *self.sample.get_or_insert((path.now, path.delivered));
        let span = path.now.since(since);
        // In every state: segments delivered during recovery are bandwidth, too.
        if !path.srtt.is_zero() && span > path.srtt.max(self.min_interval) {
            self.filter(path.delivered.saturating_sub(delivered) as f64 / span.as_secs_f64());
            self.sample = Some((path.now, path.delivered));
        }
    }

    fn grow(&mut self, _path: &Path, ack: &Ack, w: &mut Window) {
        let acked = slow_start(ack.acked, w);
        w.cwnd += self.increase * acked / w.cwnd; // RFC 5681 equation 3, in segments
    }

    fn cut(&mut self, path: &Path, w: &Window, why: Signal) -> Option<f64> {
        if self.bandwidth <= 0.0 || path.rtt_min == Duration::MAX {
            return Some((w.cwnd * (1.0 - self.first_decrease)).max(MIN_SSTHRESH));
        }
        let ssthresh = self.bandwidth * path.rtt_min.as_secs_f64(); // MobiCom 2001, section 2.3
        let ssthresh = if why == Signal::Timeout { ssthresh } else { ssthresh.min(w.cwnd) };
        Some(ssthresh.max(MIN_SSTHRESH))
    }

    fn on_event(&mut self, _path: &Path, event: Event, _w: &mut Window) {
        if event == Event::Idle {
            // an idle time is not a slow path: the next acknowledgement starts a new sample
            self.sample = None;
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("bandwidth_segments_per_s", self.bandwidth);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bottleneck::OneFlow;
    use crate::{Given, scheme};

    fn with(set: &[(&str, Given<'_>)]) -> Westwood {
        let mut settings = Settings::defaults(scheme("westwood").expect("westwood is there"));
        for &(name, given) in set {
            settings.set(name, given).expect("a setting");
        }
        Westwood::new(&settings)
    }

    fn at(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: cwnd, pacing: None }
    }

    #[test]
    fn samples_once_per_round_trip_but_not_faster_than_50_ms() {
        let mut w = with(&[]);
        let path = |ms: u64, delivered: u64, srtt_ms: u64| Path {
            now: Time::from_nanos(ms * 1_000_000),
            srtt: Duration::from_millis(srtt_ms),
            delivered,
            ..Path::default()
        };
        let mut feed = |ms, delivered, srtt_ms| {
            w.on_sample(&path(ms, delivered, srtt_ms), &Ack::default(), &mut at(1.0));
            w.bandwidth
        };
        feed(0, 0, 10);
        assert_eq!(feed(50, 40, 10), 0.0);
        assert!((feed(80, 80, 10) - 1000.0).abs() < 1e-9);
        assert!((feed(200, 500, 200) - 1000.0).abs() < 1e-9, "not a round trip yet");
        // 800 in 400 ms: 2000/s. First pole 1125, second 1015.625.
        assert!((feed(480, 880, 200) - 1015.625).abs() < 1e-9);
    }

    #[test]
    fn the_papers_filter_has_one_pole() {
        let mut w = with(&[("filter", Given::Word("one-pole")), ("memory", Given::Number(0.9))]);
        w.filter(1000.0);
        w.filter(2000.0);
        assert!((w.bandwidth - 1100.0).abs() < 1e-9);
    }

    #[test]
    fn a_cut_falls_to_the_bandwidth() {
        let mut w = with(&[]);
        let path = Path { rtt_min: Duration::from_millis(80), ..Path::default() };
        assert_eq!(w.cut(&path, &at(30.0), Signal::Loss), Some(15.0)); // no sample yet
        w.filter(1000.0);
        assert_eq!(w.cut(&path, &at(100.0), Signal::Loss), Some(80.0));
        assert_eq!(w.cut(&path, &at(60.0), Signal::Loss), Some(60.0));
        assert_eq!(w.cut(&path, &at(60.0), Signal::Timeout), Some(80.0));
        w.bandwidth = 1.0;
        assert_eq!(w.cut(&path, &at(60.0), Signal::Loss), Some(2.0));
    }

    #[test]
    fn a_full_link_is_measured_and_a_cut_just_empties_its_queue() {
        // 1000 segments per second and 100 ms: 100 segments without a queue.
        let mut w = with(&[]);
        let mut flow = OneFlow::new(1000.0, 0.1, at(120.0));
        flow.run(&mut w, 5.0);
        assert!(flow.queue() > 20.0);
        let ssthresh = w.cut(&flow.path, &flow.w, Signal::Loss).expect("a cut");
        assert!((ssthresh - 100.0).abs() < 1.5, "{ssthresh}");
    }
}
