//! Traffic that does not react to congestion: when its packets are sent.

use ackclock_net::{Distribution, Rng};
use ackclock_units::{Duration, Rate, Time};

/// A source of traffic that does not react to congestion.
#[derive(Clone)]
pub struct CbrPlan {
    /// The links to its sink, in order.
    pub route: Vec<usize>,
    /// Tells the stream from others in a queue for each flow.
    pub key: u64,
    /// The rate on the wire while it is on; of a Poisson source the mean.
    pub rate: Rate,
    /// The size of a packet on the wire, bytes.
    pub bytes: u16,
    /// When packets are sent.
    pub pattern: Pattern,
    /// When the first packet is sent.
    pub start: Time,
    /// When it stops for good, if it does.
    pub stop: Option<Time>,
}

/// When a source sends.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// At a constant rate, always or in on periods of the same length.
    Constant {
        /// The length of an on period; `None`: always on.
        on: Option<Duration>,
        /// The length of an off period.
        off: Duration,
    },
    /// At times that are drawn.
    Drawn(Box<Drawn>),
}

/// Times that are drawn, one packet after the other.
#[derive(Clone, Debug)]
pub struct Drawn {
    periods: Periods,
    /// Its own random numbers.
    draws: Rng,
    /// The packets of the present on period that are still to come.
    left: u64,
    /// When the present on period began, and its packets so far.
    period: (Time, u64),
}

/// The random times of a source.
#[derive(Clone, Copy, Debug)]
pub enum Periods {
    /// Poisson: the times between packets are exponential.
    Poisson,
    /// On and off periods. As in ns-2 (`Application/Traffic/Exponential` and `Pareto`), an on period is a
    /// whole number of packets, at least one. The off period follows one packet's time behind the last one.
    OnOff {
        /// The length of an on period.
        on: Distribution,
        /// The length of an off period.
        off: Distribution,
    },
}

impl Drawn {
    /// A source with these periods that draws from `draws`.
    pub fn new(periods: Periods, draws: Rng) -> Drawn {
        Drawn { periods, draws, left: 0, period: (Time::ZERO, 0) }
    }

    /// The first packet of a source that starts at `start`. As in ns-2, a source begins with an off period.
    pub fn first(&mut self, start: Time, rate: Rate, bytes: u16) -> Time {
        match self.periods {
            Periods::Poisson => start + self.gap(rate, bytes),
            Periods::OnOff { off, .. } => {
                let begin = start + off.draw(&mut self.draws);
                self.begin(begin, rate, bytes);
                begin
            }
        }
    }

    /// The packet after one that was sent at `last`.
    fn next(&mut self, last: Time, rate: Rate, bytes: u16) -> Time {
        let Periods::OnOff { off, .. } = self.periods else { return last + self.gap(rate, bytes) };
        let (begin, sent) = self.period;
        let due = begin + rate.time_for(sent * u64::from(bytes));
        if self.left > 0 {
            self.left -= 1;
            self.period = (begin, sent + 1);
            return due;
        }
        let begin = due + off.draw(&mut self.draws);
        self.begin(begin, rate, bytes);
        begin
    }

    /// An on period begins with a packet at `begin`.
    fn begin(&mut self, begin: Time, rate: Rate, bytes: u16) {
        let Periods::OnOff { on, .. } = self.periods else { return };
        let packets = on.draw(&mut self.draws).as_secs_f64() / seconds(rate, bytes);
        self.left = ((packets + 0.5) as u64).max(1) - 1;
        self.period = (begin, 1);
    }

    fn gap(&mut self, rate: Rate, bytes: u16) -> Duration {
        Duration::from_secs_f64(self.draws.exponential(seconds(rate, bytes)))
    }
}

/// The time of a packet, s.
fn seconds(rate: Rate, bytes: u16) -> f64 {
    f64::from(bytes) * 8.0 / rate.bps_f64()
}

impl CbrPlan {
    /// When the packet after the first `sent` ones is sent; the last of these was sent at `last`. Call it
    /// once per packet.
    ///
    /// A constant rate holds over all on periods together, however short they are: the rest of a packet's
    /// time at the end of an on period is spent at the start of the next one.
    pub fn next_departure(&mut self, sent: u64, last: Time) -> Time {
        let (on, off) = match &mut self.pattern {
            Pattern::Constant { on, off } => (*on, *off),
            Pattern::Drawn(drawn) => return drawn.next(last, self.rate, self.bytes),
        };
        let sending = self.rate.time_for(sent * u64::from(self.bytes)).as_nanos();
        let since_start = match on.map(Duration::as_nanos) {
            Some(on) if on > 0 => {
                let periods = sending / on;
                off.saturating_mul(periods) + Duration::from_nanos(sending)
            }
            _ => Duration::from_nanos(sending),
        };
        self.start + since_start
    }

    /// The mean share of time in which it is on.
    pub fn on_share(&self) -> f64 {
        let share = |on: f64, off: f64| if on + off > 0.0 { on / (on + off) } else { 1.0 };
        match &self.pattern {
            Pattern::Constant { on: None, .. } => 1.0,
            Pattern::Constant { on: Some(on), off } => share(on.as_secs_f64(), off.as_secs_f64()),
            Pattern::Drawn(drawn) => match drawn.periods {
                Periods::Poisson => 1.0,
                Periods::OnOff { on, off } => {
                    // An on period has at least one packet.
                    let on = on.mean().as_secs_f64().max(seconds(self.rate, self.bytes));
                    share(on, off.mean().as_secs_f64())
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_net::Rng;
    use proptest::prelude::*;

    /// 1000 B at 8 Mbit/s: a packet each ms.
    fn plan(pattern: Pattern) -> CbrPlan {
        CbrPlan {
            route: Vec::new(),
            key: 0,
            rate: Rate::from_bps(8_000_000),
            bytes: 1000,
            pattern,
            start: Time::ZERO,
            stop: None,
        }
    }

    fn drawn(periods: Periods, seed: u64) -> CbrPlan {
        plan(Pattern::Drawn(Box::new(Drawn::new(periods, Rng::new(seed, "traffic")))))
    }

    /// The times of so many packets, ms.
    fn times(mut plan: CbrPlan, count: u64) -> Vec<f64> {
        let mut at = match &mut plan.pattern {
            Pattern::Drawn(drawn) => drawn.first(Time::ZERO, plan.rate, plan.bytes),
            Pattern::Constant { .. } => Time::ZERO,
        };
        let mut times = Vec::new();
        for sent in 1..=count {
            times.push(at.as_nanos() as f64 / 1e6);
            at = plan.next_departure(sent, at);
        }
        times
    }

    fn fixed(ms: u64) -> Distribution {
        Distribution::Fixed(Duration::from_millis(ms))
    }

    #[test]
    fn fixed_periods_are_whole_numbers_of_packets() {
        let on_off = |on, off| drawn(Periods::OnOff { on: fixed(on), off: fixed(off) }, 1);
        assert_eq!(times(on_off(3, 10), 7), [10.0, 11.0, 12.0, 23.0, 24.0, 25.0, 36.0]);
        // At least one packet, however short the period is.
        assert_eq!(times(on_off(0, 10), 3), [10.0, 21.0, 32.0]);
        let constant =
            plan(Pattern::Constant { on: Some(Duration::from_millis(3)), off: Duration::from_millis(10) });
        assert_eq!(times(constant, 5), [0.0, 1.0, 2.0, 13.0, 14.0]);
    }

    #[test]
    fn poisson_gaps_have_their_mean_and_variance() {
        let times = times(drawn(Periods::Poisson, 3), 100_000);
        let gaps: Vec<f64> = times.windows(2).map(|two| two[1] - two[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64;
        // Four standard deviations: 0.013 of the mean, 0.036 of the variance.
        assert!((mean - 1.0).abs() < 0.013 && (variance - 1.0).abs() < 0.036, "{mean} {variance}");
    }

    #[test]
    fn exponential_and_pareto_periods_have_their_means() {
        let mean = |ms| Duration::from_millis(ms);
        for (on, off) in [
            (Distribution::Exponential(mean(500)), Distribution::Exponential(mean(250))),
            // A shape at which the mean converges.
            (
                Distribution::Pareto { mean: mean(500), shape: 3.0 },
                Distribution::Pareto { mean: mean(250), shape: 3.0 },
            ),
        ] {
            let source = drawn(Periods::OnOff { on, off }, 5);
            let expected = source.on_share();
            assert!((expected - 2.0 / 3.0).abs() < 1e-12);
            let times = times(source, 2_000_000);
            let share = times.len() as f64 / times[times.len() - 1];
            // 4000 periods of each kind.
            assert!((share - expected).abs() < 0.02, "{share}");
        }
    }

    proptest! {
        #[test]
        fn times_rise_and_repeat(seed in any::<u64>(), on in 0_u64..5_000, off in 0_u64..5_000, poisson in any::<bool>()) {
            let time = |us| Distribution::Exponential(Duration::from_micros(us));
            let periods = if poisson { Periods::Poisson } else { Periods::OnOff { on: time(on), off: time(off) } };
            let first = times(drawn(periods, seed), 300);
            prop_assert!(first.is_sorted());
            prop_assert_eq!(&first, &times(drawn(periods, seed), 300));
            if !poisson {
                // Never faster than its rate, but for the rounding to nanoseconds.
                prop_assert!(first.windows(2).all(|two| two[1] - two[0] > 0.999_998));
            }
        }
    }
}
