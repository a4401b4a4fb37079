//! TCP Prague: DCTCP for the Internet. Its segments say ECT(1), so that a queue such as DualPI2 keeps them
//! apart and marks them early.
//!
//! Source: draft-briscoe-iccrg-prague-congestion-control-04; RFC 9330, RFC 9331 section 4.3 (what an L4S
//! sender must do); TCP Prague for Linux (L4STeam), `tcp_prague.c`, for the reduced dependence on the
//! round-trip time, for default values and for the fallback; B. Briscoe, A. Ahmed, "TCP Prague Fall-back on
//! Detection of a Classic ECN AQM", arXiv:1911.00710.
//!
//! What differs: Linux moves its window by at most one segment per acknowledgement towards the window that it
//! has computed. Here the window is a fraction, and is set at once. The first mark is counted before the
//! window is reduced for it. Linux has a further heuristic for short round trips ("scalable"), which is not
//! here.

use crate::{Ack, Controller, Event, Needs, Parameter, Path, Scheme, Settings, Signal, Window, slow_start};
use ackclock_units::{Duration, Rate, Time};

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    name: "prague",
    title: "TCP Prague",
    source: "draft-briscoe-iccrg-prague-congestion-control-04; RFC 9331",
    summary: "Like DCTCP, for queues of L4S: says ECT(1), paces, and does not gain from a short round-trip time.",
    equations: &[
        "once per max(round trip, virtual RTT): F = marked / acknowledged; alpha = (1 - g) alpha + g F",
        "on the first mark of such a time: cwnd = (1 - alpha / 2) cwnd",
        "per unmarked segment acknowledged, also after a mark: cwnd += increase * scale / cwnd",
        "rtt = \"square\": virtual RTT = target; scale = (srtt / target)^2 for srtt < target, else 1",
        "rtt = \"additive\": virtual RTT = target + srtt; scale = (srtt / (target + srtt))^2",
        "on loss or timeout: ssthresh = (1 - decrease) cwnd",
        "pacing rate = cwnd / srtt; twice that while cwnd < ssthresh / 2",
    ],
    notes: &[
        "the connection uses ECN even if the scenario does not ask for it; its segments say ECT(1), its receiver \
         echoes each mark",
        "it is meant for DualPI2 and other queues with an early threshold for ECT(1); a queue of classic ECN \
         (RFC 3168) marks rarely, so that beside it prague takes more than Reno would; fallback = true limits \
         that",
        "there is at most one reduction per round trip, too: just below the target, one in two round trips, as in \
         Linux",
        "alpha does not change before the first mark, as in Linux: the first mark halves the window",
        "the scaled increase begins after `transition` round trips, so that short transfers do not wait for it",
        "RFC 9331 section 4.3 asks for a detection of losses that counts in time",
    ],
    parameters: &[
        Parameter::number("g", 0.0625, "", 0.0001..=1.0, "draft and Linux: 1/16"),
        Parameter::number("initial_alpha", 1.0, "", 0.0..=1.0, "Linux: 1, so that the first mark halves"),
        Parameter::number(
            "increase",
            1.0,
            "segments per round trip",
            0.01..=100.0,
            "RFC 5681 section 3.1: one SMSS",
        ),
        Parameter::number("decrease", 0.5, "share of the window", 0.01..=1.0, "on loss, as Reno"),
        Parameter::choice(
            "rtt",
            "square",
            &[
                ("square", "below the target, flows share as if their round-trip time were the target"),
                ("additive", "flows share as if their round-trip time were longer by the target"),
                ("none", "shares depend on the round-trip time as those of DCTCP"),
            ],
            "how the round-trip time affects the share (Linux: prague_rtt_scaling)",
        ),
        Parameter::number("target", 0.025, "s", 1e-4..=1.0, "draft and Linux: 25 ms (prague_rtt_target)"),
        Parameter::number(
            "transition",
            500.0,
            "round trips",
            0.0..=1e6,
            "Linux: 500 (prague_rtt_transition), counted from the end of slow start",
        ),
        Parameter::flag(
            "fallback",
            false,
            "detect a queue of classic ECN by its delay, and then reduce more; off as in Linux",
        ),
    ],
    endpoint: &[("detection", "\"rack\""), ("recovery", "{ sack = { proportional_rate = true } }")],
    needs: |_| Needs { marks: true, l4s: true, pacing: true, ..Needs::NOTHING },
    build: |settings| Box::new(Prague::new(settings)),
    response: None,
};

/// RFC 5681 (4): no threshold is below two segments.
const MIN_WINDOW: f64 = 2.0;

/// How the share depends on the round-trip time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dependence {
    Square,
    Additive,
    Full,
}

/// The controller.
#[derive(Clone)]
pub struct Prague {
    g: f64,
    increase: f64,
    decrease: f64,
    dependence: Dependence,
    target: Duration,
    transition: f64,
    /// The estimated share of marked segments, in [0, 1].
    alpha: f64,
    /// True after the first mark: there is a queue that marks.
    saw_mark: bool,
    /// `una` after the last acknowledgement.
    una: u64,
    acked: u64,
    marked: u64,
    /// SND.NXT at the start of the round.
    ends: u64,
    /// Rounds since slow start.
    rounds: f64,
    /// When alpha was last computed, and when a mark last reduced the window.
    computed_at: Time,
    reduced_at: Option<Time>,
    fallback: Option<ClassicEcn>,
}

impl Prague {
    /// A controller with checked `settings`.
    pub fn new(settings: &Settings) -> Prague {
        let number = |name| settings.number(name);
        Prague {
            g: number("g"),
            increase: number("increase"),
            decrease: number("decrease"),
            dependence: match settings.choice("rtt") {
                "additive" => Dependence::Additive,
                "none" => Dependence::Full,
                _ => Dependence::Square,
            },
            target: Duration::from_secs_f64(number("target")),
            transition: number("transition"),
            alpha: number("initial_alpha"),
            saw_mark: false,
            una: 0,
            acked: 0,
            marked: 0,
            ends: 0,
            rounds: 0.0,
            computed_at: Time::ZERO,
            reduced_at: None,
            fallback: settings.flag("fallback").then(ClassicEcn::new),
        }
    }

    /// The shortest time between two reductions, and between two values of alpha. `None`: a round trip.
    fn virtual_rtt(&self, path: &Path, w: &Window) -> Option<Duration> {
        if w.in_slow_start() || self.rounds < self.transition {
            return None;
        }
        match self.dependence {
            Dependence::Square => Some(self.target),
            Dependence::Additive => Some(self.target + path.srtt),
            Dependence::Full => None,
        }
    }

    /// The share of the usual increase: with windows of W = rate * srtt, one segment per virtual RTT in the
    /// window of a flow that has this RTT.
    fn scale(&self, path: &Path, w: &Window) -> f64 {
        let Some(virtual_rtt) = self.virtual_rtt(path, w) else { return 1.0 };
        if path.srtt.is_zero() || path.srtt >= virtual_rtt {
            return 1.0;
        }
        let ratio = path.srtt.as_secs_f64() / virtual_rtt.as_secs_f64();
        ratio * ratio
    }

    /// The end of a round.
    fn end_round(&mut self, path: &Path, w: &Window) {
        if self.saw_mark {
            let share = (self.marked as f64 / self.acked as f64).min(1.0);
            self.alpha += self.g * (share - self.alpha);
            self.computed_at = path.now;
            if let Some(fallback) = &mut self.fallback {
                fallback.judge(path.rtt_min);
            }
        }
        (self.ends, self.acked, self.marked) = (path.nxt, 0, 0);
        if !w.in_slow_start() {
            self.rounds += 1.0;
        }
    }
}

impl Controller for Prague {
    fn on_sample(&mut self, path: &Path, ack: &Ack, w: &mut Window) {
        self.acked += path.una.saturating_sub(self.una);
        self.marked += ack.marked;
        self.una = path.una;
        self.saw_mark |= ack.marked > 0;
        if let (Some(fallback), Some(rtt)) = (&mut self.fallback, ack.rtt) {
            fallback.sample(rtt);
        }
        let elapsed = path.now.since(self.computed_at);
        let early = self.virtual_rtt(path, w).is_some_and(|least| elapsed < least);
        if path.una >= self.ends && self.acked > 0 && !early {
            self.end_round(path, w);
        }
        if !path.srtt.is_zero() {
            let gain = if w.cwnd < w.ssthresh / 2.0 { 2.0 } else { 1.0 };
            let bits = gain * w.cwnd * f64::from(path.segment_bytes) * 8.0;
            w.pacing = Some(Rate::from_bps((bits / path.srtt.as_secs_f64()).max(1.0) as u64));
        }
    }

    fn grow(&mut self, path: &Path, ack: &Ack, w: &mut Window) {
        // Marked segments do not count; those beside them do.
        let acked = slow_start((ack.acked - ack.marked as f64).max(0.0), w);
        w.cwnd += self.increase * self.scale(path, w) * acked / w.cwnd;
    }

    fn cut(&mut self, path: &Path, w: &Window, why: Signal) -> Option<f64> {
        if let Some(fallback) = &mut self.fallback {
            fallback.adapt(w.cwnd);
        }
        if why != Signal::Mark {
            return Some((w.cwnd * (1.0 - self.decrease)).max(MIN_WINDOW));
        }
        if let (Some(at), Some(least)) = (self.reduced_at, self.virtual_rtt(path, w))
            && path.now.since(at) < least
        {
            return None;
        }
        self.reduced_at = Some(path.now);
        let alpha = self.alpha.max(self.fallback.as_ref().map_or(0.0, ClassicEcn::least_alpha));
        Some((w.cwnd * (1.0 - alpha / 2.0)).max(MIN_WINDOW))
    }

    fn on_event(&mut self, path: &Path, event: Event, _w: &mut Window) {
        if event == Event::Start {
            (self.una, self.ends) = (path.una, path.una);
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("alpha", self.alpha);
        if let Some(fallback) = &self.fallback {
            see("classic_ecn", fallback.score);
        }
    }
}

/// Judges by the length of the queue and by how it varies whether the queue's ECN is classic
/// (arXiv:1911.00710; constants and filters as in Linux). Delays are in seconds.
#[derive(Clone)]
struct ClassicEcn {
    /// The filtered round-trip time and its mean deviation.
    srtt_s: f64,
    deviation_s: f64,
    /// The filters' gains are 2^-shift and half of that.
    shift: f64,
    /// Up to 8: L4S. From 9 on: classic. At most 17.
    score: f64,
}

impl ClassicEcn {
    /// The deviation of a queue between L4S and classic, s.
    const DEVIATION: f64 = 750e-6;
    /// The same for its mean delay, s.
    const DEPTH: f64 = 2e-3;
    /// The weight of either one's logarithm in a round.
    const WEIGHT: f64 = 0.5;
    /// The score up to which the queue counts as L4S, from 0; and that of classic up to its limit.
    const STICKY: f64 = 8.0;
    /// alpha for a queue that is surely classic: close to what CUBIC takes.
    const ALPHA: f64 = 0.625;
    /// The deviation before the first sample, and the least one, s.
    const TICK: f64 = 1e-6;
    const MAX_SHIFT: f64 = 18.0;

    fn new() -> ClassicEcn {
        ClassicEcn { srtt_s: 0.0, deviation_s: Self::TICK, shift: Self::MAX_SHIFT, score: 0.0 }
    }

    fn sample(&mut self, rtt: Duration) {
        let rtt_s = rtt.as_secs_f64();
        if self.srtt_s == 0.0 {
            self.srtt_s = rtt_s;
            return;
        }
        let (error, gain) = (rtt_s - self.srtt_s, libm::exp2(-self.shift));
        self.srtt_s += gain * error;
        self.deviation_s += 0.5 * gain * (libm::fabs(error) - self.deviation_s);
    }

    /// The filters span about cwnd^1.5 samples.
    fn adapt(&mut self, cwnd: f64) {
        let bits = libm::floor(libm::log2(cwnd.max(1.0)));
        self.shift = (bits + libm::floor(bits / 2.0) + 1.0).min(Self::MAX_SHIFT);
    }

    /// Once per value of alpha.
    fn judge(&mut self, rtt_min: Duration) {
        if self.srtt_s == 0.0 {
            return;
        }
        let depth_s = (self.srtt_s - rtt_min.as_secs_f64()).max(0.0);
        let varies = libm::log2(self.deviation_s.max(Self::TICK) / Self::DEVIATION);
        let deep = libm::log2((depth_s / Self::DEPTH).max(1.0)); // a short queue proves nothing
        self.score = (self.score + Self::WEIGHT * (varies + deep)).clamp(0.0, 2.0 * Self::STICKY + 1.0);
    }

    fn least_alpha(&self) -> f64 {
        Self::ALPHA * (self.score - Self::STICKY).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Given, scheme};

    const MS: u64 = 1_000_000;

    fn with(set: &[(&str, Given<'_>)]) -> Prague {
        let mut settings = Settings::defaults(scheme("prague").expect("prague is there"));
        for &(name, given) in set {
            settings.set(name, given).expect("a setting");
        }
        Prague::new(&settings)
    }

    fn at(ms: u64, srtt_ms: u64) -> Path {
        let srtt = Duration::from_millis(srtt_ms);
        Path { now: Time::from_nanos(ms * MS), srtt, rtt_min: srtt, ..Path::default() }
    }

    fn avoiding(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: cwnd, pacing: None }
    }

    #[test]
    fn alpha_waits_for_the_first_mark_and_then_follows_the_share() {
        let mut prague = with(&[]);
        let mut w = avoiding(10.0);
        prague.on_event(&at(0, 10), Event::Start, &mut w);
        let mut hear = |una, nxt, marked| {
            let path = Path { una, nxt, ..at(una, 10) };
            prague.on_sample(&path, &Ack { marked, ..Ack::default() }, &mut w);
            prague.alpha
        };
        assert_eq!(hear(10, 20, 0), 1.0, "nothing marks yet");
        assert_eq!(hear(15, 25, 5), 1.0);
        assert_eq!(hear(20, 30, 0), 1.0 + (0.5 - 1.0) / 16.0, "5 of 10");
        assert_eq!(hear(30, 40, 0), 0.96875 * 15.0 / 16.0);
    }

    #[test]
    fn below_the_target_the_increase_is_the_square_of_the_ratio() {
        let late = ("transition", Given::Number(0.0));
        for (word, srtt_ms, scale) in [
            ("square", 5, 0.04),
            ("square", 25, 1.0),
            ("square", 100, 1.0),
            ("additive", 25, 0.25),
            ("additive", 75, 0.5625),
            ("none", 5, 1.0),
        ] {
            let mut prague = with(&[late, ("rtt", Given::Word(word))]);
            let mut w = avoiding(10.0);
            prague.grow(&at(0, srtt_ms), &Ack { acked: 1.0, ..Ack::default() }, &mut w);
            assert!((w.cwnd - 10.0 - scale / 10.0).abs() < 1e-12, "{word} {srtt_ms} ms: {}", w.cwnd);
        }
        let mut young = with(&[]);
        let mut w = avoiding(10.0);
        young.grow(&at(0, 5), &Ack { acked: 1.0, ..Ack::default() }, &mut w);
        assert_eq!(w.cwnd, 10.1, "the first 500 round trips are not scaled");
    }

    #[test]
    fn marks_reduce_once_per_virtual_round_trip_and_losses_halve() {
        let mut prague = with(&[("transition", Given::Number(0.0))]);
        prague.alpha = 0.25;
        let w = avoiding(100.0);
        assert_eq!(prague.cut(&at(100, 5), &w, Signal::Mark), Some(87.5));
        assert_eq!(prague.cut(&at(124, 5), &w, Signal::Mark), None);
        assert_eq!(prague.cut(&at(124, 5), &w, Signal::Loss), Some(50.0));
        assert_eq!(prague.cut(&at(125, 5), &w, Signal::Mark), Some(87.5));
        assert_eq!(prague.cut(&at(126, 5), &w, Signal::Timeout), Some(50.0));
        assert_eq!(prague.cut(&at(126, 5), &avoiding(3.0), Signal::Loss), Some(2.0));
    }

    #[test]
    fn of_a_marked_acknowledgement_the_rest_counts() {
        let mut prague = with(&[]);
        let mut w = avoiding(10.0);
        let mut grow = |acked, marked| {
            prague.grow(&at(0, 50), &Ack { acked, marked, ..Ack::default() }, &mut w);
            w.cwnd
        };
        assert_eq!(grow(1.0, 1), 10.0);
        assert_eq!(grow(2.0, 1), 10.1);
    }

    #[test]
    fn a_window_is_paced_over_a_round_trip() {
        let mut prague = with(&[]);
        let mut pace = |ssthresh| {
            let mut w = Window { cwnd: 10.0, ssthresh, pacing: None };
            prague.on_sample(&at(0, 12), &Ack::default(), &mut w);
            w.pacing
        };
        assert_eq!(pace(10.0), Some(Rate::from_bps(10_000_000)));
        assert_eq!(pace(f64::INFINITY), Some(Rate::from_bps(20_000_000)));
    }

    #[test]
    fn a_long_queue_that_varies_is_classic() {
        let mut judge = ClassicEcn::new();
        judge.adapt(16.0); // gains 1/128 and 1/256
        assert_eq!(judge.shift, 7.0);
        let base = Duration::from_millis(20);
        let mut hear = |rounds: u64, queue: &dyn Fn(u64) -> u64| {
            for at in 0..rounds * 100 {
                judge.sample(base + Duration::from_micros(queue(at)));
                if at % 100 == 99 {
                    judge.judge(base);
                }
            }
            (judge.score, judge.least_alpha())
        };
        assert_eq!(hear(50, &|at| 100 * (at % 10)), (0.0, 0.0), "up to 0.9 ms");
        assert_eq!(hear(50, &|at| 1000 * (at % 16)), (17.0, 0.625), "up to 15 ms");
        assert_eq!(hear(50, &|_| 500), (0.0, 0.0));
    }
}
