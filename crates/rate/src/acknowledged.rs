//! The rate that is acknowledged, as the sender sees it: what the path has carried.
//!
//! Packets are counted over windows of a round trip and four packets, whichever is longer. The larger of the
//! last two windows counts, because acknowledgements come in bunches. Nothing is kept per packet.

use ackclock_units::{Duration, Time};

/// The least packets of a window: one turn of the usual pattern of pairs.
const PACKETS: u64 = 4;

/// Measures the acknowledged rate.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged {
    /// The rates of the last two windows, bit/s, the newest first.
    windows: [f64; 2],
    /// The begin of the window that is open: an acknowledgement. `None` if there was none yet.
    begin: Option<Time>,
    /// Packets acknowledged since.
    packets: u64,
}

impl Acknowledged {
    /// A meter that shows `rate` bit/s until the first window is over.
    pub fn new(rate: f64) -> Acknowledged {
        Acknowledged { windows: [rate; 2], begin: None, packets: 0 }
    }

    /// `packets` of `bits` each were newly acknowledged.
    pub fn on_ack(&mut self, now: Time, packets: u64, bits: f64, srtt: Duration) {
        let Some(begin) = self.begin else {
            self.begin = Some(now);
            return;
        };
        self.packets += packets;
        let span = now.since(begin);
        if span >= srtt && self.packets >= PACKETS && !span.is_zero() {
            self.windows = [self.packets as f64 * bits / span.as_secs_f64(), self.windows[0]];
            (self.begin, self.packets) = (Some(now), 0);
        }
    }

    /// A silence has ended. It is part of no window.
    pub fn restart(&mut self) {
        (self.begin, self.packets) = (None, 0);
    }

    /// The acknowledged rate, bit/s.
    pub fn rate(&self) -> f64 {
        self.windows[0].max(self.windows[1])
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
    fn windows_last_a_round_trip_and_the_larger_of_two_counts() {
        let mut meter = Acknowledged::new(5.0);
        every(&mut meter, 10, 0, 90);
        assert_eq!(meter.rate(), 5.0);
        every(&mut meter, 10, 100, 100); // ten packets in 100 ms, after the one that opened the window
        assert_eq!(meter.rate(), 800_000.0);
        every(&mut meter, 20, 120, 200);
        assert_eq!(meter.rate(), 800_000.0);
        every(&mut meter, 20, 220, 300);
        assert_eq!(meter.rate(), 400_000.0);
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
        every(&mut meter, 10, 0, 150);
        meter.restart();
        every(&mut meter, 10, 5000, 5100);
        assert_eq!(meter.windows, [800_000.0, 800_000.0]);
    }
}
