//! H-TCP: the increase grows with the time since the last loss. The decrease depends on the size of the
//! queue.
//!
//! Source: D. Leith, R. Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
//! draft-leith-tcp-htcp-06.
//!
//! What differs: the sources leave the measurement of throughput open. Here it is measured once per round
//! trip and smoothed as in Linux, and B(k) is the largest value of an epoch. The time since the last loss
//! counts from the reduction; Linux counts from the end of the recovery. The largest round-trip time is the
//! largest of the epoch, outside recovery; Linux lets the largest of the connection decay. Adaptive backoff
//! and round-trip time scaling are on, as in Linux and in the authors' own simulations; in FreeBSD both are
//! off.

use crate::{Ack, Controller, Event, Needs, Parameter, Path, Scheme, Settings, Signal, Window, slow_start};
use ackclock_units::{Duration, Time};

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    name: "htcp",
    title: "H-TCP",
    source: "Leith and Shorten, PFLDnet 2004; draft-leith-tcp-htcp-06",
    summary: "Reno for the first second after a loss. Then the increase grows with time. Adaptive backoff.",
    equations: &[
        "D = seconds since the last reduction",
        "f(D) = 1 for D <= delta_low, else 1 + linear (D - delta_low) + quadratic (D - delta_low)^2",
        "rtt_scaling: f = max(1, f * rtt_min / rtt_reference), with the ratio limited to scale_min .. \
         scale_max",
        "per segment acknowledged: cwnd += 2 (1 - beta) f / cwnd",
        "on loss, mark or timeout: ssthresh = beta * cwnd",
        "adaptive_backoff: beta = rtt_min / rtt_max, limited to backoff_min .. backoff_max; beta = \
         backoff_min if throughput changed by more than throughput_change since the reduction before",
    ],
    notes: &[
        "B(k) is the largest smoothed throughput per round trip between two reductions; the first reduction \
         has no value before it",
        "rtt_max is the largest sample outside recovery since the last reduction; rtt_min is that of the \
         connection",
        "no response function: one source uses that of HighSpeed TCP, none derives it",
    ],
    parameters: &[
        Parameter::number(
            "delta_low",
            1.0,
            "s",
            0.0..=1000.0,
            "PFLDnet 2004: how long it behaves like Reno after a loss",
        ),
        Parameter::number(
            "linear",
            10.0,
            "segments per round trip and second",
            0.0..=1000.0,
            "PFLDnet 2004: linear term of the increase",
        ),
        Parameter::number(
            "quadratic",
            0.25,
            "segments per round trip and second squared",
            0.0..=1000.0,
            "PFLDnet 2004: (D/2)^2, quadratic term of the increase",
        ),
        Parameter::flag(
            "adaptive_backoff",
            true,
            "PFLDnet 2004: on; off means that beta is always \
                                                   backoff_min",
        ),
        Parameter::number(
            "backoff_min",
            0.5,
            "share of the window that a loss leaves",
            0.1..=0.99,
            "PFLDnet 2004: minimum, and the value after a change of throughput",
        ),
        Parameter::number(
            "backoff_max",
            0.8,
            "share of the window that a loss leaves",
            0.1..=0.99,
            "PFLDnet 2004: maximum",
        ),
        Parameter::number(
            "throughput_change",
            0.2,
            "share",
            0.0..=10.0,
            "PFLDnet 2004: a larger change between two reductions means that other flows came or went",
        ),
        Parameter::number(
            "throughput_memory",
            0.75,
            "share of the old value",
            0.0..=0.99,
            "Linux: smoothing of the throughput per round trip",
        ),
        Parameter::flag("rtt_scaling", true, "Linux: on; makes the growth per second independent of the RTT"),
        Parameter::number(
            "rtt_reference",
            0.1,
            "s",
            1e-4..=10.0,
            "Linux: the round-trip time at which scaling has no effect",
        ),
        Parameter::number("scale_min", 0.1, "", 0.0..=1.0, "Linux: minimum of rtt_min / rtt_reference"),
        Parameter::number("scale_max", 2.0, "", 1.0..=1000.0, "Linux: maximum of rtt_min / rtt_reference"),
    ],
    endpoint: &[],
    needs: |_| Needs::NOTHING,
    build: |settings| Box::new(Htcp::new(settings)),
    response: None,
};

/// The controller.
#[derive(Clone)]
pub struct Htcp {
    delta_low: f64,
    linear: f64,
    quadratic: f64,
    adaptive_backoff: bool,
    backoff_min: f64,
    backoff_max: f64,
    throughput_change: f64,
    throughput_memory: f64,
    rtt_scaling: bool,
    rtt_reference: f64,
    scale_min: f64,
    scale_max: f64,
    epoch: Epoch,
    /// The epoch before the last reduction. It is restored if that reduction was spurious.
    undo: Epoch,
    round: Option<Round>,
}

/// The measurements since the last reduction.
#[derive(Clone, Copy)]
struct Epoch {
    /// The time of the last reduction. Before the first one: the start of the connection.
    since: Option<Time>,
    /// The share of the window that the last reduction kept.
    beta: f64,
    /// The largest round-trip time.
    rtt_max: Duration,
    /// The smoothed throughput, segments per second; zero before the end of the first round trip.
    throughput: f64,
    /// The largest throughput: B(k+1) of the source.
    best: f64,
    /// The largest throughput of the epoch before: B(k).
    best_before: f64,
}

/// A round trip over which throughput is measured.
#[derive(Clone, Copy)]
struct Round {
    since: Time,
    delivered: u64,
    /// The round ends when this segment is acknowledged.
    ends: u64,
}

impl Htcp {
    /// A controller with checked `settings`.
    pub fn new(settings: &Settings) -> Htcp {
        let backoff_min = settings.number("backoff_min");
        let epoch = Epoch {
            since: None,
            beta: backoff_min,
            rtt_max: Duration::ZERO,
            throughput: 0.0,
            best: 0.0,
            best_before: 0.0,
        };
        Htcp {
            delta_low: settings.number("delta_low"),
            linear: settings.number("linear"),
            quadratic: settings.number("quadratic"),
            adaptive_backoff: settings.flag("adaptive_backoff"),
            backoff_min,
            backoff_max: settings.number("backoff_max"),
            throughput_change: settings.number("throughput_change"),
            throughput_memory: settings.number("throughput_memory"),
            rtt_scaling: settings.flag("rtt_scaling"),
            rtt_reference: settings.number("rtt_reference"),
            scale_min: settings.number("scale_min"),
            scale_max: settings.number("scale_max"),
            epoch,
            undo: epoch,
            round: None,
        }
    }

    /// The growth per round trip, segments: alpha of the source.
    fn alpha(&self, path: &Path) -> f64 {
        let since = self.epoch.since.unwrap_or(path.now);
        let beyond = path.now.since(since).as_secs_f64() - self.delta_low;
        let mut f =
            if beyond > 0.0 { 1.0 + self.linear * beyond + self.quadratic * beyond * beyond } else { 1.0 };
        if self.rtt_scaling && path.rtt_min < Duration::MAX {
            let scale = path.rtt_min.as_secs_f64() / self.rtt_reference;
            f = (f * scale.max(self.scale_min).min(self.scale_max)).max(1.0);
        }
        2.0 * (1.0 - self.epoch.beta) * f
    }

    /// The share of the window that a reduction keeps now: beta of the source.
    fn backoff(&self, path: &Path) -> f64 {
        let e = &self.epoch;
        let steady = e.best_before > 0.0
            && (e.best - e.best_before).abs() <= self.throughput_change * e.best_before
            && !e.rtt_max.is_zero();
        if !self.adaptive_backoff || !steady {
            return self.backoff_min;
        }
        let ratio = path.rtt_min.as_secs_f64() / e.rtt_max.as_secs_f64();
        ratio.min(self.backoff_max).max(self.backoff_min)
    }
}

impl Controller for Htcp {
    fn on_sample(&mut self, path: &Path, ack: &Ack, _w: &mut Window) {
        let e = &mut self.epoch;
        e.since = e.since.or(Some(path.now));
        if path.recovering {
            self.round = None; // samples during recovery say nothing about the path
            return;
        }
        if let Some(rtt) = ack.rtt {
            e.rtt_max = e.rtt_max.max(rtt);
        }
        if let Some(round) = self.round.filter(|round| path.una > round.ends) {
            let span = path.now.since(round.since).as_secs_f64();
            if span > 0.0 {
                let sample = path.delivered.saturating_sub(round.delivered) as f64 / span;
                let memory = if e.throughput > 0.0 { self.throughput_memory } else { 0.0 };
                e.throughput = memory * e.throughput + (1.0 - memory) * sample;
                e.best = e.best.max(e.throughput);
            }
            self.round = None;
        }
        if self.round.is_none() {
            self.round = Some(Round { since: path.now, delivered: path.delivered, ends: path.nxt });
        }
    }

    fn grow(&mut self, path: &Path, ack: &Ack, w: &mut Window) {
        let acked = slow_start(ack.acked, w);
        if acked > 0.0 {
            w.cwnd += self.alpha(path) * acked / w.cwnd;
        }
    }

    fn cut(&mut self, path: &Path, w: &Window, _why: Signal) -> Option<f64> {
        let beta = self.backoff(path);
        self.undo = self.epoch;
        self.epoch = Epoch {
            since: Some(path.now),
            beta,
            rtt_max: Duration::ZERO,
            throughput: 0.0,
            best: 0.0,
            best_before: self.undo.best,
        };
        Some(beta * w.cwnd)
    }

    fn on_event(&mut self, path: &Path, event: Event, _w: &mut Window) {
        match event {
            Event::Start => self.epoch.since = Some(path.now),
            Event::Spurious => self.epoch = self.undo,
            Event::Idle => self.round = None, // an idle time is not a slow round trip
            Event::Recovered => {}
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("beta", self.epoch.beta);
        see("rtt_max_s", self.epoch.rtt_max.as_secs_f64());
        see("throughput_segments_per_s", self.epoch.throughput);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bottleneck::OneFlow;
    use crate::{Given, scheme};

    fn defaults() -> Settings {
        Settings::defaults(scheme("htcp").expect("htcp is there"))
    }

    fn at(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: cwnd, pacing: None }
    }

    fn after(ms: u64, rtt_min: Duration) -> Path {
        Path { now: Time::from_nanos(ms * 1_000_000), rtt_min, ..Path::default() }
    }

    #[test]
    fn alpha_grows_with_the_time_since_the_cut() {
        let mut h = Htcp::new(&defaults());
        h.cut(&Path::default(), &at(100.0), Signal::Loss);
        let reference = Duration::from_millis(100);
        for (ms, alpha) in [(0, 1.0), (1_000, 1.0), (2_000, 11.25), (10_000, 111.25)] {
            assert!((h.alpha(&after(ms, reference)) - alpha).abs() < 1e-9, "{ms} ms");
        }
        let mut w = at(1000.0);
        h.grow(&after(10_000, reference), &Ack { acked: 1.0, ..Ack::default() }, &mut w);
        assert!((w.cwnd - 1000.11125).abs() < 1e-9, "{}", w.cwnd);
    }

    #[test]
    fn scaling_makes_growth_follow_the_round_trip_time() {
        let mut h = Htcp::new(&defaults());
        h.cut(&Path::default(), &at(100.0), Signal::Loss);
        for (ms, alpha) in [(50, 55.625), (200, 222.5), (1_000, 222.5), (1, 11.125)] {
            let path = after(10_000, Duration::from_millis(ms));
            assert!((h.alpha(&path) - alpha).abs() < 1e-9, "{ms} ms: {}", h.alpha(&path));
        }
        // Never less than Reno.
        assert_eq!(h.alpha(&after(500, Duration::from_millis(10))), 1.0);
        let mut settings = defaults();
        settings.set("rtt_scaling", Given::Flag(false)).expect("a switch");
        h = Htcp::new(&settings);
        h.cut(&Path::default(), &at(100.0), Signal::Loss);
        assert!((h.alpha(&after(10_000, Duration::from_millis(50))) - 111.25).abs() < 1e-9);
    }

    #[test]
    fn backoff_empties_the_queue_when_throughput_is_steady() {
        let mut h = Htcp::new(&defaults());
        let path = after(0, Duration::from_millis(70));
        let epoch = |best: f64, before: f64, max_ms: u64| Epoch {
            since: None,
            beta: 0.5,
            rtt_max: Duration::from_millis(max_ms),
            throughput: best,
            best,
            best_before: before,
        };
        for (best, before, max_ms, kept) in [
            (1000.0, 1000.0, 100, 70.0),
            (1190.0, 1000.0, 100, 70.0),
            (1210.0, 1000.0, 100, 50.0), // 20 % more
            (790.0, 1000.0, 100, 50.0),  // 20 % less
            (1000.0, 1000.0, 80, 80.0),  // 7/8 is above the upper bound
            (1000.0, 1000.0, 200, 50.0), // 0.35 is below the lower bound
            (1000.0, 0.0, 100, 50.0),    // no reduction before
        ] {
            h.epoch = epoch(best, before, max_ms);
            let ours = h.cut(&path, &at(100.0), Signal::Loss).expect("a cut");
            assert!((ours - kept).abs() < 1e-9, "{best} {before} {max_ms}: {ours}");
        }
        // The increase keeps Reno's average: 2 (1 - beta).
        h.epoch = epoch(1000.0, 1000.0, 100);
        h.cut(&path, &at(100.0), Signal::Loss);
        assert!((h.alpha(&path) - 0.6).abs() < 1e-9);
        let mut settings = defaults();
        settings.set("adaptive_backoff", Given::Flag(false)).expect("a switch");
        h = Htcp::new(&settings);
        h.epoch = epoch(1000.0, 1000.0, 100);
        assert_eq!(h.cut(&path, &at(100.0), Signal::Loss), Some(50.0));
    }

    #[test]
    fn a_full_link_is_measured_and_the_second_cut_is_adaptive() {
        // 1000 segments per second, 100 ms: 100 segments fill the link.
        let mut h = Htcp::new(&defaults());
        let mut flow = OneFlow::new(1000.0, 0.1, at(100.0));
        let mut kept = Vec::new();
        for _ in 0..3 {
            while flow.w.cwnd < 140.0 {
                flow.run(&mut h, 0.01);
            }
            let before = flow.w.cwnd;
            flow.w = at(h.cut(&flow.path, &flow.w, Signal::Loss).expect("a cut"));
            kept.push(flow.w.cwnd / before);
        }
        assert_eq!(kept[0], 0.5);
        // The largest round-trip time is near 140 ms. Keeping 100/140 just empties the queue.
        assert!((kept[1] - 0.714).abs() < 0.02 && (kept[2] - 0.714).abs() < 0.02, "{kept:?}");
    }

    #[test]
    fn a_spurious_cut_is_forgotten() {
        let mut h = Htcp::new(&defaults());
        h.cut(&after(0, Duration::MAX), &at(100.0), Signal::Loss);
        h.cut(&after(5_000, Duration::MAX), &at(100.0), Signal::Timeout);
        h.on_event(&after(5_000, Duration::MAX), Event::Spurious, &mut at(100.0));
        assert_eq!(h.epoch.since, Some(Time::ZERO));
    }
}
