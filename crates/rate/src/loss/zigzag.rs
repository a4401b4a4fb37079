//! ZigZag: short trip times after a loss show a transmission error, the more so the fewer packets are
//! missing.
//!
//! Source: S. Cen, P. Cosman, G. Voelker, "End-to-End Differentiation of Congestion and Wireless Losses",
//! IEEE/ACM ToN 11(5), 2003. With n losses, a trip time below mean - dev (n = 1), mean - dev/2 (n = 2), mean
//! (n = 3), mean - dev/2 (n > 3) is a transmission error. Mean and deviation are exponential averages with
//! the weights 1/32 and 2/32.
//!
//! What differs: the packet after the gap is compared with the averages before it. The first packet is the
//! first mean.

use super::{Arrival, Label};
use crate::rott::Rott;

/// The weight of a new trip time in the mean. The deviation's is twice that.
const GAIN: f64 = 1.0 / 32.0;

/// The scheme.
#[derive(Clone, Debug)]
pub struct ZigZag {
    rott: Rott,
    /// Nanoseconds, relative to the first trip time.
    mean: f64,
    deviation: f64,
}

impl Default for ZigZag {
    fn default() -> ZigZag {
        ZigZag { rott: Rott::new(1), mean: 0.0, deviation: 0.0 }
    }
}

impl ZigZag {
    /// See [`super::Discriminator::on_packet`].
    pub fn on_packet(&mut self, arrival: &Arrival) -> Label {
        self.rott.on_packet(arrival.sent, arrival.arrived);
        let trip = self.rott.current() as f64;
        let below = match arrival.missing {
            0 | 1 => self.deviation,
            3 => 0.0,
            _ => 0.5 * self.deviation,
        };
        let label = if trip < self.mean - below { Label::Transmission } else { Label::Congestion };
        self.mean = (1.0 - GAIN) * self.mean + GAIN * trip;
        self.deviation = (1.0 - 2.0 * GAIN) * self.deviation + 2.0 * GAIN * (trip - self.mean).abs();
        label
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::tests::packet;

    #[test]
    fn limits_follow_the_number_of_losses() {
        // A mean of 0 and a deviation of 16 ms, relative to a first trip of 100 ms.
        let of = |trip: u64, missing: u64| {
            let mut zigzag = ZigZag::default();
            zigzag.on_packet(&packet(0, 100, 0, None));
            zigzag.deviation = 16e6;
            zigzag.on_packet(&packet(4, trip, missing, None))
        };
        use Label::{Congestion as C, Transmission as T};
        assert_eq!([of(84, 1), of(83, 1)], [C, T]);
        assert_eq!([of(92, 2), of(91, 2)], [C, T]);
        assert_eq!([of(100, 3), of(99, 3)], [C, T]);
        assert_eq!([of(92, 4), of(91, 4), of(91, 9)], [C, T, T]);
    }

    #[test]
    fn averages_have_the_weights_of_the_source() {
        let mut zigzag = ZigZag::default();
        zigzag.on_packet(&packet(0, 100, 0, None));
        zigzag.on_packet(&packet(4, 132, 0, None)); // 32 ms longer
        assert_eq!(zigzag.mean, 1e6);
        assert_eq!(zigzag.deviation, 31e6 / 16.0);
    }
}
