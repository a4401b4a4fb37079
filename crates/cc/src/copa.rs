//! Copa: aims at a rate of 1 / (delta * queueing delay), so that a few segments wait in the queue, and the
//! queue runs empty every few round trips.
//!
//! Source: V. Arun, H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI
//! 2018. Section numbers are the paper's.
//!
//! What differs: the windowed minima keep three candidates each, as those of Linux do, so that they may
//! forget the second smallest a little early. A window that is not in use does not grow. Velocity is limited
//! so that the window changes no faster than in slow start. The paper does not specify timeouts: here slow
//! start begins again.

use crate::{Ack, Controller, Event, Needs, Parameter, Path, Scheme, Settings, Signal, Window};
use ackclock_units::{Duration, Rate, Time};

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    name: "copa",
    title: "Copa",
    source: "Arun and Balakrishnan, NSDI 2018",
    summary: "Keeps a few segments in the queue, which it lets run empty. Competes where others fill the queue.",
    equations: &[
        "RTT_standing = smallest RTT of the last srtt / 2; RTT_min = smallest of min_window; d_q = their difference",
        "target rate = 1 / (delta * d_q); rate = cwnd / RTT_standing",
        "per segment acknowledged: cwnd += v / (delta * cwnd) below the target rate, else -= the same",
        "once per round trip: v doubles if the window has moved the same way for three, else v = 1",
        "slow start until the rate exceeds the target rate",
        "pacing rate = 2 cwnd / RTT_standing",
        "competing if for 5 srtt no d_q was below empty * (largest RTT of 4 srtt - RTT_min)",
        "while competing: 1 / delta += 1 per round trip, and halves on loss; at least 1 / `delta`",
        "alone on a link: the queue varies between 0 and 2.5 / delta segments, 1.25 / delta on average",
    ],
    notes: &[
        "losses and marks change nothing unless it competes; a timeout starts from one segment",
        "it sets the window in every state; it has no need of delivery rate samples",
        "with a bandwidth-delay product of few segments, or with jitter of a packet, the queue does not run empty \
         to a tenth: copa may then take itself for others, and fill the queue; seen alone at 5 Mbit/s and 20 ms",
        "beside flows that fill the queue it competes as AIMD of 1 / delta (section 2.2); competitive = false leaves \
         the link to them",
    ],
    parameters: &[
        Parameter::number(
            "delta",
            0.5,
            "per segment",
            1e-3..=10.0,
            "section 2: 1 / delta segments in the queue",
        ),
        Parameter::number("rtt_window", 10.0, "s", 0.1..=1e4, "section 2: of the smallest round-trip time"),
        Parameter::flag("competitive", true, "section 2.2: compete with flows that fill the queue"),
        Parameter::number(
            "empty",
            0.1,
            "",
            0.0..=1.0,
            "section 2.2: the queue is nearly empty below this share",
        ),
        Parameter::number("pacing_gain", 2.0, "", 0.5..=10.0, "section 2.1: 2"),
    ],
    endpoint: &[("detection", "\"rack\""), ("recovery", "{ sack = { proportional_rate = true } }")],
    needs: |_| Needs { window: true, pacing: true, ..Needs::NOTHING },
    build: |settings| Box::new(Copa::new(settings)),
    response: None,
};

/// The smallest window, segments: below it delay says little.
const MIN_WINDOW: f64 = 2.0;
/// Section 2.2: round trips without an empty queue, after which others must be filling it.
const PATIENCE: f64 = 5.0;
/// Section 2.2: round trips over which the largest round-trip time counts.
const LARGEST: f64 = 4.0;
/// Section 2.1: velocity doubles only after this many round trips in one direction.
const STEADY: u32 = 3;

/// The controller.
#[derive(Clone)]
pub struct Copa {
    least_delta: f64,
    delta: f64,
    rtt_window: Duration,
    competitive: bool,
    empty: f64,
    pacing_gain: f64,
    rtt_min: Least,
    rtt_standing: Least,
    /// The largest one, negative.
    rtt_max: Least,
    slow_start: bool,
    velocity: Velocity,
    /// When the queue was last seen nearly empty.
    empty_at: Time,
    competes: bool,
    delivered: u64,
    /// SND.NXT at the start of the round trip.
    ends: u64,
}

impl Copa {
    /// A controller with checked `settings`.
    pub fn new(settings: &Settings) -> Copa {
        let number = |name| settings.number(name);
        Copa {
            least_delta: number("delta"),
            delta: number("delta"),
            rtt_window: Duration::from_secs_f64(number("rtt_window")),
            competitive: settings.flag("competitive"),
            empty: number("empty"),
            pacing_gain: number("pacing_gain"),
            rtt_min: Least::NONE,
            rtt_standing: Least::NONE,
            rtt_max: Least::NONE,
            slow_start: true,
            velocity: Velocity::at(0.0),
            empty_at: Time::ZERO,
            competes: false,
            delivered: 0,
            ends: 0,
        }
    }

    fn sample(&mut self, path: &Path, rtt: Duration) {
        let rtt_s = rtt.as_secs_f64();
        self.rtt_min.add(path.now, rtt_s, self.rtt_window);
        self.rtt_standing.add(path.now, rtt_s, path.srtt.mul_f64(0.5));
        self.rtt_max.add(path.now, -rtt_s, path.srtt.mul_f64(LARGEST));
    }

    /// d_q, s.
    fn queueing_s(&self) -> f64 {
        (self.rtt_standing.get() - self.rtt_min.get()).max(0.0)
    }

    /// Section 2.2: are there flows that fill the queue?
    fn look_for_others(&mut self, path: &Path) {
        let spread_s = -self.rtt_max.get() - self.rtt_min.get();
        if self.slow_start || self.queueing_s() < self.empty * spread_s || spread_s <= 0.0 {
            self.empty_at = path.now;
        }
        let patience = path.srtt.mul_f64(PATIENCE);
        self.competes = self.competitive && path.now.since(self.empty_at) > patience;
        if !self.competes {
            self.delta = self.least_delta;
        }
    }

    /// Section 2.1: the step towards the target rate for `acked` segments.
    fn step(&mut self, path: &Path, acked: f64, w: &mut Window) {
        let below = w.cwnd * self.delta * self.queueing_s() <= self.rtt_standing.get();
        let in_use = path.cwnd_limited || 2.0 * path.in_flight >= w.cwnd; // as Linux judges it
        if below && !in_use {
            return;
        }
        if self.slow_start && below {
            w.cwnd += acked;
            return;
        }
        if self.slow_start {
            self.slow_start = false;
            self.velocity = Velocity::at(w.cwnd);
        }
        let v = self.velocity.v.min(self.delta * w.cwnd).max(1.0);
        let change = v * acked / (self.delta * w.cwnd);
        w.cwnd = if below { w.cwnd + change } else { (w.cwnd - change).max(MIN_WINDOW.min(w.cwnd)) };
    }

    /// The end of a round trip.
    fn end_round(&mut self, path: &Path, w: &Window) {
        self.ends = path.nxt;
        self.velocity.end_round(w.cwnd);
        if self.competes {
            self.delta = 1.0 / (1.0 / self.delta + 1.0);
        }
    }
}

impl Controller for Copa {
    fn on_sample(&mut self, path: &Path, ack: &Ack, w: &mut Window) {
        let acked = path.delivered.saturating_sub(self.delivered);
        self.delivered = path.delivered;
        if let Some(rtt) = ack.rtt {
            self.sample(path, rtt);
        }
        if self.rtt_min.is_none() {
            return;
        }
        self.look_for_others(path);
        if path.una >= self.ends {
            self.end_round(path, w);
        }
        if acked > 0 {
            self.step(path, acked as f64, w);
        }
        w.ssthresh = if self.slow_start { f64::INFINITY } else { w.cwnd };
        let bits = self.pacing_gain * w.cwnd * f64::from(path.segment_bytes) * 8.0;
        let standing_s = self.rtt_standing.get().max(1e-9);
        w.pacing = Some(Rate::from_bps((bits / standing_s).max(1.0) as u64));
    }

    fn grow(&mut self, _path: &Path, _ack: &Ack, _w: &mut Window) {}

    fn cut(&mut self, _path: &Path, w: &Window, why: Signal) -> Option<f64> {
        if self.competes {
            self.delta = (2.0 * self.delta).min(self.least_delta);
        }
        if why != Signal::Timeout {
            return None;
        }
        self.slow_start = true;
        self.velocity = Velocity::at(w.cwnd);
        Some((w.cwnd / 2.0).max(MIN_WINDOW))
    }

    fn on_event(&mut self, path: &Path, event: Event, w: &mut Window) {
        if let Event::Start | Event::Idle = event {
            (self.ends, self.empty_at) = (path.nxt, path.now);
            self.velocity = Velocity::at(w.cwnd);
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("delta", self.delta);
        see("velocity", self.velocity.v);
        see("competes", f64::from(u8::from(self.competes)));
        see("queueing_ms", if self.rtt_min.is_none() { f64::INFINITY } else { 1e3 * self.queueing_s() });
    }
}

/// Section 2.1: how fast the window moves, 1 at first.
#[derive(Clone, Copy)]
struct Velocity {
    v: f64,
    /// The window at the start of the round trip.
    window: f64,
    rises: bool,
    /// Round trips in this direction.
    rounds: u32,
}

impl Velocity {
    fn at(window: f64) -> Velocity {
        Velocity { v: 1.0, window, rises: true, rounds: 0 }
    }

    fn end_round(&mut self, cwnd: f64) {
        let rises = cwnd > self.window;
        self.window = cwnd;
        if rises != self.rises {
            (self.v, self.rises, self.rounds) = (1.0, rises, 1);
            return;
        }
        self.rounds = self.rounds.saturating_add(1);
        if self.rounds > STEADY {
            self.v = (2.0 * self.v).min(1e9);
        }
    }
}

/// The smallest value of a window of time, by three candidates (K. Nichols; as in Linux, `lib/win_minmax.c`).
#[derive(Clone, Copy)]
struct Least {
    /// The smallest one, the smallest after it, and the smallest after that.
    best: [(Time, f64); 3],
}

impl Least {
    const NONE: Least = Least { best: [(Time::ZERO, f64::INFINITY); 3] };

    fn get(&self) -> f64 {
        self.best[0].1
    }

    fn is_none(&self) -> bool {
        self.best[0].1 == f64::INFINITY
    }

    fn add(&mut self, now: Time, value: f64, window: Duration) {
        let new = (now, value);
        if value <= self.best[0].1 || now.since(self.best[2].0) > window {
            self.best = [new; 3];
            return;
        }
        for at in 1..3 {
            if value <= self.best[at].1 {
                self.best[at..].fill(new);
                break;
            }
        }
        for _ in 0..2 {
            if now.since(self.best[0].0) > window {
                self.best = [self.best[1], self.best[2], new];
            }
        }
        // Candidates of the same time leave nothing to fall back on: take a later one in good time.
        let age = now.since(self.best[0].0);
        if self.best[1].0 == self.best[0].0 && age > window.mul_f64(0.25) {
            self.best[1..].fill(new);
        } else if self.best[2].0 == self.best[1].0 && age > window.mul_f64(0.5) {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bottleneck::OneFlow;
    use crate::{Given, scheme};

    fn with(set: &[(&str, Given<'_>)]) -> Copa {
        let mut settings = Settings::defaults(scheme("copa").expect("copa is there"));
        for &(name, given) in set {
            settings.set(name, given).expect("a setting");
        }
        Copa::new(&settings)
    }

    const MS: u64 = 1_000_000;

    /// 100 ms smallest, `queue_ms` standing, past slow start.
    fn standing(queue_ms: u64) -> (Copa, Path) {
        let mut copa = with(&[]);
        let path = |ms| Path {
            now: Time::from_nanos(ms * MS),
            srtt: Duration::from_millis(100),
            nxt: 1000,
            ..Path::default()
        };
        copa.ends = 1000;
        copa.slow_start = false;
        copa.sample(&path(0), Duration::from_millis(100));
        copa.sample(&path(60), Duration::from_millis(100 + queue_ms));
        (copa, path(60))
    }

    #[test]
    fn the_window_moves_towards_the_target_rate() {
        // 1 / (0.5 * 10 ms) = 200 segments per second, and a window of 22 is 200 per second at 110 ms.
        for (cwnd, change) in [(21.9, 1.0), (22.1, -1.0)] {
            let (mut copa, path) = standing(10);
            let mut w = Window { cwnd, ssthresh: cwnd, pacing: None };
            copa.step(&path, 1.0, &mut w);
            assert!((w.cwnd - cwnd - change / (0.5 * cwnd)).abs() < 1e-12, "{cwnd}: {}", w.cwnd);
        }
        let (mut copa, path) = standing(0);
        let mut w = Window { cwnd: 1e4, ssthresh: 1e4, pacing: None };
        copa.step(&path, 1.0, &mut w);
        assert!(w.cwnd > 1e4, "without a queue there is no limit");
    }

    #[test]
    fn two_windows_are_paced_in_a_round_trip() {
        let (mut copa, path) = standing(20);
        let mut w = Window { cwnd: 12.0, ssthresh: 12.0, pacing: None };
        copa.on_sample(&path, &Ack::default(), &mut w);
        assert_eq!(w.pacing, Some(Rate::from_bps(2_400_000))); // 2 * 12 * 12000 bit / 120 ms
    }

    #[test]
    fn velocity_doubles_after_three_round_trips_one_way() {
        let mut velocity = Velocity::at(10.0);
        let mut round = |cwnd| {
            velocity.end_round(cwnd);
            velocity.v
        };
        let rising: Vec<f64> = (11..=16).map(|cwnd| round(f64::from(cwnd))).collect();
        assert_eq!(rising, [1.0, 1.0, 1.0, 2.0, 4.0, 8.0]);
        assert_eq!([round(15.0), round(14.0), round(13.0), round(12.0)], [1.0, 1.0, 1.0, 2.0]);
        assert_eq!(round(13.0), 1.0);
    }

    #[test]
    fn it_competes_after_five_round_trips_without_an_empty_queue() {
        let (mut copa, mut path) = standing(50);
        copa.empty_at = path.now;
        let mut w = Window { cwnd: 12.0, ssthresh: 12.0, pacing: None };
        let mut at = |copa: &mut Copa, ms: u64, rtt_ms| {
            path.now = Time::from_nanos(ms * MS);
            let rtt = Some(Duration::from_millis(rtt_ms));
            copa.on_sample(&path, &Ack { rtt, ..Ack::default() }, &mut w);
            (copa.competes, copa.delta)
        };
        assert_eq!(at(&mut copa, 500, 150), (false, 0.5));
        assert_eq!(at(&mut copa, 600, 150), (true, 0.5));
        copa.ends = 0;
        assert_eq!(at(&mut copa, 700, 150), (true, 1.0 / 3.0));
        copa.ends = 0;
        assert_eq!(at(&mut copa, 800, 150), (true, 0.25));
        assert_eq!(copa.cut(&path_at(800), &Window::starting_at(12.0), Signal::Loss), None);
        assert_eq!(copa.delta, 0.5);
        assert_eq!(at(&mut copa, 900, 102), (false, 0.5), "nearly empty");
    }

    fn path_at(ms: u64) -> Path {
        Path { now: Time::from_nanos(ms * MS), ..Path::default() }
    }

    #[test]
    fn losses_do_not_matter_while_it_does_not_compete() {
        let mut copa = with(&[]);
        let w = Window::starting_at(40.0);
        assert_eq!(copa.cut(&path_at(0), &w, Signal::Loss), None);
        assert_eq!(copa.cut(&path_at(0), &w, Signal::Mark), None);
        assert_eq!(copa.cut(&path_at(0), &w, Signal::Timeout), Some(20.0));
    }

    #[test]
    fn the_least_of_a_window_of_time() {
        let mut least = Least::NONE;
        let mut add = |ms: u64, value| {
            least.add(Time::from_nanos(ms * MS), value, Duration::from_millis(100));
            least.get()
        };
        assert_eq!(add(0, 5.0), 5.0);
        assert_eq!(add(30, 7.0), 5.0);
        assert_eq!(add(60, 9.0), 5.0);
        assert_eq!(add(100, 8.0), 5.0);
        assert_eq!(add(101, 9.0), 7.0);
        assert_eq!(add(131, 9.0), 8.0);
        assert_eq!(add(140, 3.0), 3.0);
        assert_eq!(add(400, 6.0), 6.0);
    }

    /// Section 2: the queue of one flow varies between 0 and 2.5 / delta segments, 1.25 / delta on average.
    #[test]
    fn alone_on_a_link_it_keeps_the_papers_queue() {
        for delta in [0.5, 0.1] {
            let mut copa = with(&[("delta", Given::Number(delta))]);
            let mut flow = OneFlow::new(1000.0, 0.1, Window::starting_at(10.0));
            flow.run(&mut copa, 20.0);
            let (mut sum, mut most, mut least) = (0.0, f64::MIN, f64::MAX);
            for _ in 0..4000 {
                flow.run(&mut copa, 0.005);
                sum += flow.queue();
                (most, least) = (most.max(flow.queue()), least.min(flow.queue()));
            }
            let mean = sum / 4000.0;
            println!("delta {delta}: {mean} {least} {most}");
            assert!((mean * delta - 1.25).abs() < 0.5, "{delta}: {mean}");
            assert!(least < 1.0 && most * delta < 4.0, "{delta}: {least} to {most}");
            assert!(!copa.competes);
        }
    }
}
