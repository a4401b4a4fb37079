//! The rate that is acknowledged, as the sender sees it: what the path has carried.
//!
//! Packets are counted over a sliding window of half a round trip, which moves by an eighth of one, and which
//! has four packets at least. The largest of the windows that ended within the last round trip counts,
//! because acknowledgements come in bunches. A rate that is held to twice this one grows by 1.5 per round
//! trip. Nothing is kept per packet.

use ackclock_units::{Duration, Time};

/// The steps of a window. Each has at least one packet: four are one turn of the usual pattern of pairs.
const STEPS: usize = 4;
/// The steps of a round trip.
const ROUND: usize = 8;

/// Measures the acknowledged rate.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged {
    /// The packets and the length of each of the last steps.
    steps: [(u64, Duration); STEPS],
    /// The rates of the windows that ended with them, bit/s.
    rates: [f64; ROUND],
    /// Steps so far.
    seen: usize,
    /// The begin of the step that is open: an acknowledgement. `None` if there was none yet.
    begin: Option<Time>,
    /// Packets acknowledged since.
    packets: u64,
}

impl Acknowledged {
    /// A meter that shows `rate` bit/s until the first window is over.
    pub fn new(rate: f64) -> Acknowledged {
        let steps = [(0, Duration::ZERO); STEPS];
        Acknowledged { steps, rates: [rate; ROUND], seen: 0, begin: None, packets: 0 }
    }

    /// `packets` of `bits` each were newly acknowledged.
    pub fn on_ack(&mut self, now: Time, packets: u64, bits: f64, srtt: Duration) {
        let Some(begin) = self.begin else {
            self.begin = Some(now);
            return;
        };
        self.packets += packets;
        let span = now.since(begin);
        if span.as_nanos() < srtt.as_nanos() / ROUND as u64 || self.packets == 0 || span.is_zero() {
            return;
        }
        self.steps[self.seen % STEPS] = (self.packets, span);
        self.seen += 1;
        if self.seen >= STEPS {
            let (all, span) =
                self.steps.iter().fold((0, Duration::ZERO), |(n, t), &step| (n + step.0, t + step.1));
            let rate = all as f64 * bits / span.as_secs_f64();
            // The first window replaces what was shown before it.
            if self.seen == STEPS { self.rates = [rate; ROUND] } else { self.rates[self.seen % ROUND] = rate }
        }
        (self.begin, self.packets) = (Some(now), 0);
    }

    /// A silence has ended. It is part of no window.
    pub fn restart(&mut self) {
        (self.begin, self.packets) = (None, 0);
    }

    /// The acknowledged rate, bit/s.
    pub fn rate(&self) -> f64 {
        self.rates.iter().copied().fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// One acknowledgement of a packet of 8000 bits every `step` ms, in `from..=to` ms.
    fn every(meter: &mut Acknowledged, step: u64, from: u64, to: u64) {
        (from..=to).step_by(step as usize).for_each(|ms| meter.on_ack(at(ms), 1, 8000.0, SRTT));
    }

    #[test]
    fn windows_last_half_a_round_trip_and_the_largest_of_the_last_one_counts() {
        let mut meter = Acknowledged::new(5.0);
        every(&mut meter, 5, 0, 55);
        assert_eq!(meter.rate(), 5.0);
        every(&mut meter, 5, 60, 60); // twelve packets in 60 ms, after the one that opened the window
        assert_eq!(meter.rate().round(), 1_600_000.0);
        every(&mut meter, 20, 80, 180);
        assert_eq!(meter.rate().round(), 1_600_000.0);
        every(&mut meter, 20, 200, 340);
        assert_eq!(meter.rate().round(), 400_000.0); // the eighth window of 80 ms in which nothing came faster
    }

    #[test]
    fn a_slow_flow_has_longer_windows() {
        let mut meter = Acknowledged::new(5.0);
        every(&mut meter, 100, 0, 300);
        assert_eq!(meter.rate(), 5.0);
        every(&mut meter, 100, 400, 400);
        assert_eq!(meter.rate(), 80_000.0);
    }

    #[test]
    fn silence_is_in_no_window() {
        let mut meter = Acknowledged::new(5.0);
        every(&mut meter, 5, 0, 160);
        meter.restart();
        every(&mut meter, 5, 5000, 5100);
        assert_eq!(meter.rates.map(f64::round), [1_600_000.0; ROUND]);
    }

    #[test]
    fn twice_of_it_grows_by_half_per_round_trip() {
        // Packets are acknowledged a round trip after they leave, at twice the acknowledged rate.
        let mut meter = Acknowledged::new(80_000.0);
        let (mut under_way, mut due) = (std::collections::VecDeque::new(), 0.0);
        for us in 0..1_000_000 {
            let now = Time::from_nanos(us * 1000);
            if us as f64 >= due {
                under_way.push_back(now + SRTT);
                due = us as f64 + 8000.0e6 / (2.0 * meter.rate());
            }
            if under_way.front().is_some_and(|&arrival| arrival <= now) {
                under_way.pop_front();
                meter.on_ack(now, 1, 8000.0, SRTT);
            }
        }
        let growth = (meter.rate() / 80_000.0).powf(1.0 / 9.0);
        assert!((growth - 1.5).abs() < 0.05, "{growth}");
    }
}
