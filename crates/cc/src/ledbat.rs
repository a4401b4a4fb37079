//! LEDBAT: fills what others leave. It keeps the delay that it adds to a queue near a target, so that it
//! gives way to whoever fills the queue.
//!
//! Source: RFC 6817 (LEDBAT); draft-irtf-iccrg-ledbat-plus-plus-01 (LEDBAT++: it never grows faster than
//! Reno, and lets the queue run empty from time to time, so that all flows see the same base delay).
//!
//! What differs: the host calls `grow` only while the window limits the sender, which has the effect of RFC
//! 6817's limit by the flight size. The pseudocode of RFC 6817 has no slow start; here the first one ends by
//! delay, as in LEDBAT++. A slowdown ends at a loss, too.

use crate::{Ack, Controller, Event, Needs, Parameter, Path, Scheme, Settings, Signal, Window, slow_start};
use ackclock_units::{Duration, Time};

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    name: "ledbat",
    title: "LEDBAT",
    source: "RFC 6817; draft-irtf-iccrg-ledbat-plus-plus-01",
    summary: "For background transfers: keeps the queueing delay near a target, and gives way to others.",
    equations: &[
        "q = smallest of the last `filter` delays - smallest delay of the last `base_history` minutes",
        "variant = \"ledbat\": per segment acknowledged: cwnd += gain * (1 - q / target) / cwnd",
        "variant = \"plus-plus\": G = 1 / min(max_divisor, ceil(2 * plus_plus_target / base delay))",
        "  q < plus_plus_target: cwnd += G / cwnd per segment",
        "  else: cwnd += max(G - constant * cwnd * (q / plus_plus_target - 1), -cwnd / 2) / cwnd",
        "  slow start: cwnd += G per segment",
        "  slowdown, two round trips after slow start, then after nine times its own length: ssthresh = cwnd; cwnd = \
         min_window for two round trips; slow start up to ssthresh",
        "the first slow start ends when q > exit * target",
        "on loss, mark or timeout: ssthresh = max(cwnd / 2, min_window)",
    ],
    notes: &[
        "\"ledbat\" measures the one-way delay, by timestamps; a host that does not tell it gives the round-trip \
         time instead. \"plus-plus\" measures the round-trip time, as its draft says. `one_way` among the internal \
         variables says which",
        "the connection starts with min_window (RFC 6817: INIT_CWND is 2)",
        "where queues are shorter than the target, or an AQM keeps them so, it competes as Reno does (RFC 6817 \
         section 3)",
    ],
    parameters: &[
        Parameter::choice(
            "variant",
            "ledbat",
            &[("ledbat", "RFC 6817"), ("plus-plus", "LEDBAT++, the draft")],
            "the law",
        ),
        Parameter::number("target", 0.1, "s", 1e-3..=1.0, "RFC 6817 section 2.5: 100 ms at most"),
        Parameter::number("plus_plus_target", 0.06, "s", 1e-3..=1.0, "LEDBAT++: 60 ms"),
        Parameter::number(
            "gain",
            1.0,
            "segments per round trip",
            0.01..=10.0,
            "RFC 6817 section 2.5: 1 at most, so that it grows no faster than Reno",
        ),
        Parameter::number("max_divisor", 16.0, "", 1.0..=1e3, "LEDBAT++: the smallest G is 1/16"),
        Parameter::number("constant", 1.0, "", 0.01..=10.0, "LEDBAT++: of the multiplicative decrease"),
        Parameter::number("base_history", 10.0, "min", 1.0..=60.0, "RFC 6817 section 2.5: BASE_HISTORY"),
        Parameter::number("filter", 4.0, "samples", 1.0..=100.0, "RFC 6817: CURRENT_FILTER; 4 in LEDBAT++"),
        Parameter::number("min_window", 2.0, "segments", 1.0..=100.0, "RFC 6817 section 2.5: MIN_CWND"),
        Parameter::flag(
            "slow_start",
            true,
            "false: congestion avoidance from the start, as in RFC 6817's code",
        ),
        Parameter::number("exit", 0.75, "share of the target", 0.01..=10.0, "LEDBAT++: 3/4"),
        Parameter::number("pause", 2.0, "round trips", 0.0..=100.0, "LEDBAT++: of the slowdown"),
        Parameter::number("interval", 9.0, "slowdowns", 0.0..=1e3, "LEDBAT++: so it costs 10 % at most"),
    ],
    endpoint: &[],
    needs: |settings| Needs { forward: settings.choice("variant") == "ledbat", ..Needs::NOTHING },
    build: |settings| Box::new(Ledbat::new(settings)),
    response: None,
};

/// The controller.
#[derive(Clone)]
pub struct Ledbat {
    law: Law,
    target_s: f64,
    min_window: f64,
    slow_start: bool,
    exit_s: f64,
    delays: Delays,
    /// The queueing delay, s.
    queueing_s: f64,
    one_way: bool,
    /// True until the first slow start is over.
    first: bool,
}

/// How the window moves.
#[derive(Clone)]
enum Law {
    Ledbat { gain: f64 },
    PlusPlus { max_divisor: f64, constant: f64, slowdown: Slowdown },
}

impl Ledbat {
    /// A controller with checked `settings`.
    pub fn new(settings: &Settings) -> Ledbat {
        let number = |name| settings.number(name);
        let plus_plus = settings.choice("variant") == "plus-plus";
        let target_s = number(if plus_plus { "plus_plus_target" } else { "target" });
        Ledbat {
            law: if plus_plus {
                let slowdown = Slowdown {
                    pause: number("pause"),
                    interval: number("interval"),
                    phase: Phase::Until(Time::NEVER),
                };
                let (max_divisor, constant) = (number("max_divisor"), number("constant"));
                Law::PlusPlus { max_divisor, constant, slowdown }
            } else {
                Law::Ledbat { gain: number("gain") }
            },
            target_s,
            min_window: number("min_window"),
            slow_start: settings.flag("slow_start"),
            exit_s: number("exit") * target_s,
            delays: Delays::new(number("base_history") as usize, number("filter") as usize),
            queueing_s: 0.0,
            one_way: false,
            first: true,
        }
    }

    /// The increase in a round trip without a queue, segments.
    fn gain(&self) -> f64 {
        match self.law {
            Law::Ledbat { gain } => gain,
            Law::PlusPlus { max_divisor, .. } => {
                let base_s = self.delays.base_s().max(1e-9);
                1.0 / libm::ceil(2.0 * self.target_s / base_s).clamp(1.0, max_divisor)
            }
        }
    }

    /// The change in a round trip with a window of `cwnd`, segments.
    fn change(&self, cwnd: f64) -> f64 {
        let off_target = 1.0 - self.queueing_s / self.target_s;
        match self.law {
            Law::Ledbat { gain } => gain * off_target,
            Law::PlusPlus { .. } if off_target > 0.0 => self.gain(),
            Law::PlusPlus { constant, .. } => (self.gain() + constant * cwnd * off_target).max(-cwnd / 2.0),
        }
    }

    /// Follows the first slow start, and the slowdowns after it.
    fn follow_phases(&mut self, path: &Path, w: &mut Window) {
        let began = self.first && (!w.in_slow_start() || self.queueing_s > self.exit_s);
        if began {
            self.first = false;
            w.ssthresh = w.ssthresh.min(w.cwnd);
        }
        if let Law::PlusPlus { slowdown, .. } = &mut self.law {
            slowdown.follow(path, w, began, self.min_window);
        }
    }

    /// True if the window is held, or led back by slow start.
    fn is_slowed_down(&self) -> bool {
        matches!(&self.law, Law::PlusPlus { slowdown, .. } if !matches!(slowdown.phase, Phase::Until(_)))
    }
}

impl Controller for Ledbat {
    fn on_sample(&mut self, path: &Path, ack: &Ack, w: &mut Window) {
        if let Some(delay) = ack.forward.or(ack.rtt) {
            self.one_way = ack.forward.is_some();
            self.delays.add(path.now, delay.as_secs_f64());
            self.queueing_s = self.delays.current_s() - self.delays.base_s();
        }
        if path.recovering {
            return;
        }
        self.follow_phases(path, w);
        let change = self.change(w.cwnd);
        if change < 0.0 && !w.in_slow_start() && !self.is_slowed_down() {
            w.cwnd = (w.cwnd + change * ack.acked / w.cwnd).max(self.min_window.min(w.cwnd));
            w.ssthresh = w.ssthresh.min(w.cwnd);
        }
    }

    fn grow(&mut self, _path: &Path, ack: &Ack, w: &mut Window) {
        let mut acked = ack.acked;
        match &self.law {
            Law::PlusPlus { slowdown, .. } if slowdown.holds() => return,
            Law::PlusPlus { .. } if w.in_slow_start() => {
                let gain = self.gain();
                acked = slow_start(gain * acked, w) / gain;
            }
            _ => acked = slow_start(acked, w),
        }
        w.cwnd += self.change(w.cwnd).max(0.0) * acked / w.cwnd;
    }

    fn cut(&mut self, path: &Path, w: &Window, _why: Signal) -> Option<f64> {
        if let Law::PlusPlus { slowdown, .. } = &mut self.law {
            slowdown.end(path.now);
        }
        Some((w.cwnd / 2.0).max(self.min_window).min(w.cwnd))
    }

    fn on_event(&mut self, _path: &Path, event: Event, w: &mut Window) {
        if event == Event::Start {
            w.cwnd = w.cwnd.min(self.min_window);
            if !self.slow_start {
                w.ssthresh = w.ssthresh.min(w.cwnd);
            }
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("queueing_ms", 1e3 * self.queueing_s);
        see("one_way", f64::from(u8::from(self.one_way)));
    }
}

/// LEDBAT++: lets the queue run empty from time to time.
#[derive(Clone)]
struct Slowdown {
    /// How long the window is held, round trips.
    pause: f64,
    /// The time between slowdowns, in slowdowns.
    interval: f64,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Phase {
    /// None before this time.
    Until(Time),
    /// The window is held until `until`.
    Held { began: Time, until: Time },
    /// Slow start leads back to the window before.
    Back { began: Time },
}

impl Slowdown {
    fn holds(&self) -> bool {
        matches!(self.phase, Phase::Held { .. })
    }

    /// `began`: congestion avoidance has begun, so that the first slowdown is due after a pause.
    fn follow(&mut self, path: &Path, w: &mut Window, began: bool, min_window: f64) {
        let pause = path.srtt.mul_f64(self.pause);
        match self.phase {
            Phase::Until(_) if began => self.phase = Phase::Until(path.now + pause),
            Phase::Until(due) if path.now >= due => {
                w.ssthresh = w.cwnd;
                w.cwnd = w.cwnd.min(min_window);
                self.phase = Phase::Held { began: path.now, until: path.now + pause };
            }
            Phase::Held { began, until } if path.now >= until => self.phase = Phase::Back { began },
            Phase::Back { .. } if !w.in_slow_start() => self.end(path.now),
            _ => {}
        }
    }

    /// Ends a slowdown, if there is one.
    fn end(&mut self, now: Time) {
        if let Phase::Held { began, .. } | Phase::Back { began } = self.phase {
            self.phase = Phase::Until(now + now.since(began).mul_f64(self.interval));
        }
    }
}

/// The delays that RFC 6817 section 2.4.2 keeps, s.
#[derive(Clone)]
struct Delays {
    /// The smallest one of each of the last minutes, in a ring; the newest at `minute`.
    base: Vec<f64>,
    minute: usize,
    minute_began: Time,
    /// The last ones, in a ring.
    current: Vec<f64>,
    next: usize,
}

impl Delays {
    const MINUTE: Duration = Duration::from_secs(60);

    fn new(minutes: usize, samples: usize) -> Delays {
        Delays {
            base: vec![f64::INFINITY; minutes],
            minute: 0,
            minute_began: Time::ZERO,
            current: vec![f64::INFINITY; samples],
            next: 0,
        }
    }

    fn add(&mut self, now: Time, delay_s: f64) {
        if now.since(self.minute_began) >= Self::MINUTE {
            self.minute_began = now;
            self.minute = (self.minute + 1) % self.base.len();
            self.base[self.minute] = delay_s;
        }
        self.base[self.minute] = self.base[self.minute].min(delay_s);
        self.current[self.next] = delay_s;
        self.next = (self.next + 1) % self.current.len();
    }

    fn base_s(&self) -> f64 {
        self.base.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn current_s(&self) -> f64 {
        self.current.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bottleneck::OneFlow;
    use crate::{Given, scheme};

    fn with(set: &[(&str, Given<'_>)]) -> Ledbat {
        let mut settings = Settings::defaults(scheme("ledbat").expect("ledbat is there"));
        for &(name, given) in set {
            settings.set(name, given).expect("a setting");
        }
        Ledbat::new(&settings)
    }

    fn plus_plus() -> Ledbat {
        with(&[("variant", Given::Word("plus-plus"))])
    }

    fn avoiding(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: cwnd, pacing: None }
    }

    fn at(ms: u64) -> Path {
        let srtt = Duration::from_millis(100);
        Path { now: Time::from_nanos(ms * 1_000_000), srtt, ..Path::default() }
    }

    /// An acknowledgement of one segment with this one-way delay.
    fn hear(ledbat: &mut Ledbat, now_ms: u64, forward_ms: u64, w: &mut Window) {
        let forward = Some(Duration::from_millis(forward_ms));
        let ack = Ack { acked: 1.0, rtt: Some(Duration::from_millis(500)), forward, ..Ack::default() };
        ledbat.on_sample(&at(now_ms), &ack, w);
        ledbat.grow(&at(now_ms), &ack, w);
    }

    #[test]
    fn the_window_follows_the_distance_from_the_target() {
        let one = ("filter", Given::Number(1.0));
        for (queue_ms, change) in [(0, 1.0), (50, 0.5), (100, 0.0), (150, -0.5), (300, -2.0)] {
            let mut ledbat = with(&[one]);
            let mut w = avoiding(10.0);
            hear(&mut ledbat, 0, 30, &mut w);
            w = avoiding(10.0);
            hear(&mut ledbat, 1, 30 + queue_ms, &mut w);
            assert!((w.cwnd - 10.0 - change / 10.0).abs() < 1e-12, "{queue_ms} ms: {}", w.cwnd);
            assert!(ledbat.one_way);
        }
    }

    #[test]
    fn a_delay_is_the_smallest_of_four_over_the_smallest_of_ten_minutes() {
        let mut delays = Delays::new(10, 4);
        let mut minute = |minute: u64, delay_s: f64| {
            delays.add(Time::from_nanos(minute * 60_000_000_000), delay_s);
            (delays.current_s(), delays.base_s())
        };
        assert_eq!(minute(0, 0.010), (0.010, 0.010));
        for at in 1..4 {
            assert_eq!(minute(at, 0.050), (0.010, 0.010));
        }
        for at in 4..10 {
            assert_eq!(minute(at, 0.050), (0.050, 0.010));
        }
        assert_eq!(minute(10, 0.050), (0.050, 0.050), "the route has changed");
    }

    /// LEDBAT++: 1 / min(16, ceil(120 ms / base)).
    #[test]
    fn plus_plus_grows_more_slowly_on_short_paths() {
        for (base_s, divisor) in
            [(0.005, 16.0), (0.008, 15.0), (0.02, 6.0), (0.06, 2.0), (0.12, 1.0), (0.3, 1.0)]
        {
            let mut ledbat = plus_plus();
            ledbat.delays.add(Time::ZERO, base_s);
            assert_eq!(ledbat.gain(), 1.0 / divisor, "{base_s} s");
        }
    }

    #[test]
    fn plus_plus_shrinks_in_proportion_to_its_window() {
        let mut ledbat = plus_plus();
        ledbat.delays.add(Time::ZERO, 0.06); // G = 1/2
        for (queueing_s, change) in
            [(0.0, 0.5), (0.059, 0.5), (0.072, 0.5 - 20.0), (0.12, -50.0), (0.6, -50.0)]
        {
            ledbat.queueing_s = queueing_s;
            assert!((ledbat.change(100.0) - change).abs() < 1e-9, "{queueing_s} s: {}", ledbat.change(100.0));
        }
    }

    #[test]
    fn a_slowdown_holds_two_round_trips_and_returns_after_nine_of_its_own() {
        let mut ledbat = plus_plus();
        let mut w = avoiding(40.0);
        let sample = |ledbat: &mut Ledbat, ms: u64, w: &mut Window| {
            let ack = Ack { acked: 1.0, rtt: Some(Duration::from_millis(100)), ..Ack::default() };
            ledbat.on_sample(&at(ms), &ack, w);
            match &ledbat.law {
                Law::PlusPlus { slowdown, .. } => slowdown.phase,
                Law::Ledbat { .. } => panic!("the other variant"),
            }
        };
        let ms = |ms: u64| Time::from_nanos(ms * 1_000_000);
        assert_eq!(sample(&mut ledbat, 1000, &mut w), Phase::Until(ms(1200)));
        assert_eq!(sample(&mut ledbat, 1200, &mut w), Phase::Held { began: ms(1200), until: ms(1400) });
        assert_eq!((w.cwnd, w.ssthresh), (2.0, 40.0));
        ledbat.grow(&at(1300), &Ack { acked: 1.0, ..Ack::default() }, &mut w);
        assert_eq!(w.cwnd, 2.0);
        assert_eq!(sample(&mut ledbat, 1400, &mut w), Phase::Back { began: ms(1200) });
        ledbat.grow(&at(1400), &Ack { acked: 2.0, ..Ack::default() }, &mut w);
        assert_eq!(w.cwnd, 3.0, "G = 1/2");
        w.cwnd = 40.0;
        assert_eq!(sample(&mut ledbat, 1700, &mut w), Phase::Until(ms(1700 + 9 * 500)));
    }

    #[test]
    fn a_loss_halves_and_ends_a_slowdown() {
        let mut ledbat = plus_plus();
        assert_eq!(ledbat.cut(&at(0), &avoiding(40.0), Signal::Loss), Some(20.0));
        assert_eq!(ledbat.cut(&at(0), &avoiding(3.0), Signal::Timeout), Some(2.0));
        let Law::PlusPlus { slowdown, .. } = &mut ledbat.law else { panic!("the other variant") };
        slowdown.phase = Phase::Back { began: Time::ZERO };
        ledbat.cut(&at(100), &avoiding(40.0), Signal::Loss);
        assert!(!ledbat.is_slowed_down());
    }

    /// 1000 segments per second, 50 ms: the target of 100 ms is 100 segments, and 60 for the other variant.
    #[test]
    fn alone_on_a_link_it_keeps_its_target_queued() {
        let mut ledbat = with(&[]);
        let mut flow = OneFlow::new(1000.0, 0.05, Window::starting_at(10.0));
        flow.run(&mut ledbat, 200.0); // what slow start leaves goes by a segment per round trip and less
        assert!((95.0..=102.0).contains(&flow.queue()), "{}", flow.queue());
        assert!(!ledbat.one_way, "this host tells only round-trip times");

        let mut ledbat = plus_plus();
        let mut flow = OneFlow::new(1000.0, 0.05, Window::starting_at(10.0));
        flow.run(&mut ledbat, 30.0);
        let (mut most, mut least) = (f64::MIN, f64::MAX);
        for _ in 0..600 {
            flow.run(&mut ledbat, 0.1);
            (most, least) = (most.max(flow.queue()), least.min(flow.queue()));
        }
        assert!((50.0..=63.0).contains(&most), "{most}");
        assert!(least < -40.0, "slowdowns leave the link idle: {least}");
    }
}
