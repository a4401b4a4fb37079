//! The allowed sending rate: what reports and their absence do to it.
//!
//! Source: RFC 5348 sections 4.2 to 4.5.
//!
//! What differs: the round-trip time is known from a handshake, so the rate begins at the initial window per
//! round trip. Whether an interval was limited by data is the caller's to say. The switches of [`Settings`]
//! make it comparable with other implementations. It is at most [`Settings::most`], whoever reports.

use super::equation::Equation;
use super::timeout::Timeout;
use ackclock_units::{Duration, Time};
use std::collections::VecDeque;

/// t_mbi, the longest interval between packets, s (section 4.3).
const LONGEST_INTERVAL: f64 = 64.0;
/// What is left of X_recv after a loss in an interval that was limited by data (section 4.3).
const AFTER_LOSS: f64 = 0.85;
/// Reports whose receive rate is kept at most. Those of the last two round trips count.
const MAX_REPORTS: usize = 16;

/// What implementations do differently.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// s, the size of a packet in bytes.
    pub size: f64,
    /// q, the weight of the old round-trip time. 0.9 in section 4.3; ns-2 has 0.95.
    pub memory: f64,
    /// The least t_RTO of the equation. Zero in the RFC; some have 1 s.
    pub least_timeout: Duration,
    /// t_RTO is TCP's timeout with a clock of this tick; zero for 4R. ns-2 has 0.1 s.
    pub tick: Duration,
    /// Spacing by the square root of the round-trip time (section 4.5, optional).
    pub damped: bool,
    /// After slow start the rate rises by at most s/R per round trip, as in ns-2.
    pub gradual: bool,
    /// In slow start the rate rises a little with each packet, as in ns-2.
    pub ramped: bool,
    /// The nofeedback timer in round-trip times. 4 in section 4.3; ns-2 has 2.
    pub patience: f64,
    /// The highest rate, bytes per second.
    pub most: f64,
}

impl Settings {
    /// The RFC's, for packets of `size` bytes, and 100 Gbit/s at most.
    pub fn recommended(size: f64) -> Settings {
        Settings {
            size,
            memory: 0.9,
            least_timeout: Duration::ZERO,
            tick: Duration::ZERO,
            damped: false,
            gradual: false,
            ramped: false,
            patience: 4.0,
            most: 1.25e10,
        }
    }
}

/// What a receiver reports.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Report {
    /// A sample of the round-trip time.
    pub rtt: Duration,
    /// p, the loss event rate.
    pub loss_event_rate: f64,
    /// X_recv, bytes per second.
    pub received: f64,
    /// It tells of a new loss event.
    pub new_loss_event: bool,
    /// The sender had too little data in the whole interval that the report covers.
    pub data_limited: bool,
}

/// The allowed sending rate. Rates are bytes per second.
#[derive(Clone, Debug)]
pub struct Allowed {
    settings: Settings,
    /// X
    rate: f64,
    /// R, s.
    rtt: f64,
    /// The average of the square roots of samples, and the last sample's root.
    roots: (f64, f64),
    /// TCP's timeout, if that is asked for.
    timeout: Option<Timeout>,
    /// In slow start: the rate that rises packet by packet, and its step.
    ramp: Option<(f64, f64)>,
    /// When the rate was changed last by a report after slow start.
    changed: Time,
    /// p of the last report.
    loss_event_rate: f64,
    /// X_recv_set: rates with their times, oldest first.
    received: VecDeque<(Time, f64)>,
    /// tld, when the rate was doubled last. `None` before the first report.
    doubled: Option<Time>,
}

impl Allowed {
    /// The rate after a handshake that took `handshake`.
    pub fn new(settings: Settings, now: Time, handshake: Duration) -> Allowed {
        let rtt = handshake.as_secs_f64().max(1e-6);
        let root = libm::sqrt(rtt);
        let mut received = VecDeque::with_capacity(MAX_REPORTS);
        received.push_back((now, f64::INFINITY)); // section 4.2
        let mut allowed = Allowed {
            settings,
            rate: initial_window(settings.size) / rtt,
            rtt,
            roots: (root, root),
            timeout: (!settings.tick.is_zero()).then(|| Timeout::new(settings.tick)),
            ramp: None,
            changed: now,
            loss_event_rate: 0.0,
            received,
            doubled: None,
        };
        allowed.hold();
        allowed
    }

    /// X, bytes per second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// p of the last report.
    pub fn loss_event_rate(&self) -> f64 {
        self.loss_event_rate
    }

    /// X_inst, bytes per second: X, damped by the last round-trip time if that is asked for (section 4.5).
    pub fn instant_rate(&self) -> f64 {
        if let Some((rate, _)) = self.ramp {
            return rate;
        }
        if !self.settings.damped {
            return self.rate;
        }
        (self.rate * self.roots.0 / self.roots.1).clamp(self.least(), self.settings.most)
    }

    /// R, the smoothed round-trip time.
    pub fn rtt(&self) -> Duration {
        Duration::from_secs_f64(self.rtt)
    }

    /// A packet leaves.
    pub fn on_packet(&mut self) {
        self.ramp = self.ramp.map(|(rate, step)| (rate + step, step)).filter(|&(rate, _)| rate < self.rate);
    }

    /// The nofeedback timer: max(4R, 2s/X) (section 4.3).
    pub fn patience(&self) -> Duration {
        Duration::from_secs_f64((self.settings.patience * self.rtt).max(2.0 * self.settings.size / self.rate))
    }

    /// A report came (section 4.3).
    pub fn on_report(&mut self, now: Time, report: &Report) {
        let sample = report.rtt.as_secs_f64().max(1e-6);
        let root = libm::sqrt(sample);
        if self.doubled.is_none() {
            // The first report: its sample takes the place of the handshake's (section 4.2).
            (self.rtt, self.roots) = (sample, (root, root));
            self.rate = self.initial_rate();
            self.doubled = Some(now);
        } else {
            let q = self.settings.memory;
            self.rtt = q * self.rtt + (1.0 - q) * sample;
            self.roots = (q * self.roots.0 + (1.0 - q) * root, root); // q2 is 0.9, too, in section 4.5
        }
        if let Some(timeout) = &mut self.timeout {
            timeout.on_sample(report.rtt);
        }
        let rising = report.new_loss_event || report.loss_event_rate > self.loss_event_rate;
        self.loss_event_rate = report.loss_event_rate;
        let limit = match (report.data_limited, rising) {
            (true, true) => {
                for (_, rate) in &mut self.received {
                    *rate /= 2.0;
                }
                self.maximize(now, AFTER_LOSS * report.received)
            }
            (true, false) => 2.0 * self.maximize(now, report.received),
            (false, _) => 2.0 * self.update(now, report.received),
        };
        self.recompute(now, limit);
    }

    /// The nofeedback timer expired (section 4.4). `idle` is true if nothing was sent since it was set.
    pub fn on_silence(&mut self, now: Time, idle: bool) {
        let (received, p) = (self.highest(), self.loss_event_rate);
        let recover = self.initial_rate();
        let slow = if p > 0.0 { received < recover } else { self.rate < 2.0 * recover };
        if idle && slow && self.doubled.is_some() {
            return;
        }
        if p <= 0.0 {
            if self.doubled.is_some() || !idle {
                self.rate /= 2.0;
                self.ramp = None;
                self.hold();
            }
            return;
        }
        let fair = self.equation().throughput(p);
        let limit = if fair > 2.0 * received { received } else { fair / 2.0 }.max(self.least());
        self.received.clear();
        self.received.push_back((now, limit / 2.0));
        self.recompute(now, limit);
    }

    /// The end of step 4 of section 4.3.
    fn recompute(&mut self, now: Time, limit: f64) {
        let before = self.rate;
        if self.loss_event_rate > 0.0 {
            let fair = self.equation().throughput(self.loss_event_rate).min(limit);
            self.rate = if self.settings.gradual { fair.min(self.gradual(now)) } else { fair };
            self.ramp = None;
            self.changed = now;
        } else if self.doubled.is_none_or(|at| now.since(at).as_secs_f64() >= self.rtt) {
            self.rate = (2.0 * self.rate).min(limit).max(self.initial_rate());
            self.doubled = Some(now);
            self.changed = now;
            // As many steps as packets leave in a round trip at the new rate.
            let step = (self.rate - before) / (self.rate * self.rtt / self.settings.size);
            self.ramp = (self.settings.ramped && step > 0.0).then_some((before, step));
        }
        self.hold();
    }

    /// The rate, increased by s/R per round trip since the last report, two of which count at most.
    fn gradual(&self, now: Time) -> f64 {
        let rounds = now.since(self.changed).as_secs_f64() / self.rtt;
        self.rate + self.settings.size / self.rtt * rounds.min(2.0)
    }

    fn equation(&self) -> Equation {
        let recommended = Equation::recommended(self.settings.size, self.rtt());
        let timeout = self.timeout.map_or(recommended.timeout, |timeout| timeout.value());
        Equation { timeout: timeout.max(self.settings.least_timeout), ..recommended }
    }

    /// Keeps the rate within its limits.
    fn hold(&mut self) {
        self.rate = self.rate.min(self.settings.most).max(self.least());
    }

    fn initial_rate(&self) -> f64 {
        initial_window(self.settings.size) / self.rtt
    }

    /// s / t_mbi
    fn least(&self) -> f64 {
        self.settings.size / LONGEST_INTERVAL
    }

    fn highest(&self) -> f64 {
        self.received.iter().fold(0.0, |most, &(_, rate)| most.max(rate))
    }

    /// Keeps the highest rate only. The infinite one of the start does not count.
    fn maximize(&mut self, now: Time, rate: f64) -> f64 {
        self.received.retain(|(_, rate)| rate.is_finite());
        let most = self.highest().max(rate);
        self.received.clear();
        self.received.push_back((now, most));
        most
    }

    /// Keeps the rates of the last two round trips.
    fn update(&mut self, now: Time, rate: f64) -> f64 {
        let age = 2.0 * self.rtt;
        self.received.retain(|&(at, _)| now.since(at).as_secs_f64() <= age);
        if self.received.len() == MAX_REPORTS {
            self.received.pop_front();
        }
        self.received.push_back((now, rate));
        self.highest()
    }
}

/// W_init, bytes (section 4.2).
fn initial_window(size: f64) -> f64 {
    (4.0 * size).min((2.0 * size).max(4380.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn report(p: f64, received: f64) -> Report {
        let rtt = Duration::from_millis(100);
        Report { rtt, loss_event_rate: p, received, new_loss_event: false, data_limited: false }
    }

    fn allowed() -> Allowed {
        Allowed::new(Settings::recommended(1000.0), at(0), Duration::from_millis(100))
    }

    fn close(value: f64, wanted: f64) {
        assert!((value - wanted).abs() <= 1e-9 * wanted, "{value}, not {wanted}");
    }

    #[test]
    fn initial_windows() {
        for (size, window) in [(500.0, 2000.0), (1000.0, 4000.0), (1460.0, 4380.0), (4000.0, 8000.0)] {
            assert_eq!(initial_window(size), window);
        }
        close(allowed().rate(), 40_000.0);
    }

    #[test]
    fn slow_start_doubles_once_per_round_trip_up_to_twice_what_is_received() {
        let mut it = allowed();
        it.on_report(at(100), &report(0.0, 40_000.0));
        close(it.rate(), 40_000.0);
        it.on_report(at(150), &report(0.0, 40_000.0)); // too soon
        close(it.rate(), 40_000.0);
        it.on_report(at(200), &report(0.0, 40_000.0));
        close(it.rate(), 80_000.0);
        it.on_report(at(301), &report(0.0, 60_000.0)); // the infinite rate has left the set
        close(it.rate(), 120_000.0);
    }

    #[test]
    fn after_a_loss_the_equation_decides_but_for_twice_what_is_received() {
        let mut it = allowed();
        it.on_report(at(100), &report(0.01, 200_000.0));
        close(it.rate(), Equation::recommended(1000.0, Duration::from_millis(100)).throughput(0.01));
        it.on_report(at(400), &report(0.01, 30_000.0));
        close(it.rate(), 60_000.0);
        it.on_report(at(450), &report(1.0, 0.0)); // 30000 B/s is younger than two round trips
        close(it.rate(), Equation::recommended(1000.0, Duration::from_millis(100)).throughput(1.0));
        it.on_report(at(900), &report(0.001, 0.0));
        close(it.rate(), 1000.0 / 64.0);
    }

    #[test]
    fn intervals_that_were_limited_by_data_are_remembered_at_their_best() {
        let limited = |p, received| Report { data_limited: true, ..report(p, received) };
        let mut it = allowed();
        it.on_report(at(100), &report(0.0001, 100_000.0));
        it.on_report(at(400), &limited(0.0001, 20_000.0)); // the set keeps 100000, however old
        close(it.rate(), 200_000.0);
        it.on_report(at(900), &limited(0.0002, 20_000.0)); // halved by a loss
        close(it.rate(), 50_000.0);
        it.on_report(at(1400), &limited(0.0003, 200_000.0)); // 0.85 of what is received
        close(it.rate(), 170_000.0);
    }

    #[test]
    fn silence_halves() {
        let mut it = allowed();
        assert_eq!(it.patience(), Duration::from_millis(400));
        it.on_silence(at(400), false);
        close(it.rate(), 20_000.0); // no report yet
        let mut it = allowed();
        it.on_report(at(100), &report(0.01, 100_000.0));
        it.on_silence(at(500), false); // the set still holds the infinite rate: half of the equation's
        let fair = Equation::recommended(1000.0, Duration::from_millis(100)).throughput(0.01);
        close(it.rate(), fair / 2.0);
        it.on_silence(at(900), false); // twice what is received was the limit: the limit halves
        close(it.rate(), fair / 4.0);
        let idle = it.rate();
        it.on_silence(at(1300), true); // idle below the initial rate: nothing
        close(it.rate(), idle);
    }

    #[test]
    fn other_implementations_have_a_coarser_timeout() {
        let settings = Settings { tick: Duration::from_millis(150), ..Settings::recommended(1000.0) };
        let mut it = Allowed::new(settings, at(0), Duration::from_millis(100));
        it.on_report(at(100), &report(0.05, 1e6));
        let timeout = Duration::from_millis(450); // a tick, and four deviations of half a tick
        let equation = Equation { timeout, ..Equation::recommended(1000.0, Duration::from_millis(100)) };
        close(it.rate(), equation.throughput(0.05));
    }

    #[test]
    fn other_implementations_rise_packet_by_packet() {
        let settings = Settings { ramped: true, gradual: true, ..Settings::recommended(1000.0) };
        let mut it = Allowed::new(settings, at(0), Duration::from_millis(100));
        it.on_report(at(100), &report(0.0, 40_000.0));
        it.on_report(at(200), &report(0.0, 40_000.0));
        for packets in 0..8 {
            close(it.instant_rate(), 40_000.0 + 5000.0 * f64::from(packets));
            it.on_packet();
        }
        close(it.instant_rate(), 80_000.0);
        // After slow start: at once downwards, and one packet per round trip upwards.
        it.on_report(at(300), &report(0.2, 80_000.0));
        let slow = Equation::recommended(1000.0, Duration::from_millis(100)).throughput(0.2);
        close(it.instant_rate(), slow);
        it.on_report(at(400), &report(0.01, 80_000.0));
        close(it.rate(), slow + 10_000.0);
        it.on_report(at(1000), &report(0.01, 80_000.0));
        close(it.rate(), slow + 30_000.0);
    }

    #[test]
    fn damping_follows_the_square_root_of_the_round_trip_time() {
        let settings = Settings { damped: true, ..Settings::recommended(1000.0) };
        let mut it = Allowed::new(settings, at(0), Duration::from_millis(100));
        it.on_report(at(100), &report(0.01, 1e6));
        close(it.instant_rate(), it.rate());
        it.on_report(at(200), &Report { rtt: Duration::from_millis(400), ..report(0.01, 1e6) });
        close(it.rtt().as_secs_f64(), 0.13);
        close(it.instant_rate(), it.rate() * 0.55); // (0.9 sqrt(0.1) + 0.1 sqrt(0.4)) / sqrt(0.4)
    }

    proptest! {
        #[test]
        fn the_rate_is_bounded_and_never_below_a_packet_in_64_s(
            events in proptest::collection::vec(
                (0_u64..2000, 0.0..=1.0, 0.0..1e9, any::<[bool; 3]>(), 1_u64..3000), 1..100),
        ) {
            let mut it = allowed();
            let mut now = 0;
            for (gap, p, received, [silent, new_loss_event, data_limited], rtt) in events {
                now += gap;
                let rtt = Duration::from_millis(rtt);
                let loss_event_rate = if p < 0.3 { 0.0 } else { p };
                let report = Report { rtt, loss_event_rate, received, new_loss_event, data_limited };
                if silent { it.on_silence(at(now), data_limited) } else { it.on_report(at(now), &report) }
                prop_assert!((1000.0 / 64.0..=1.25e10).contains(&it.rate()), "{}", it.rate());
                // R is rounded to a nanosecond before it is multiplied.
                prop_assert!(it.patience() + Duration::from_nanos(4) >= it.rtt().saturating_mul(4));
            }
        }
    }
}
