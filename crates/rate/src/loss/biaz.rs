//! Biaz and Vaidya: a packet after a loss that comes when it should shows a transmission error.
//!
//! Source: S. Biaz, N. Vaidya, "Discriminating Congestion Losses from Wireless Losses using Inter-Arrival
//! Times at the Receiver", ASSET 1999; for the upper limit 1.25 (mBiaz): S. Cen, P. Cosman, G. Voelker,
//! "End-to-End Differentiation of Congestion and Wireless Losses", IEEE/ACM ToN 11(5), 2003.
//!
//! What differs: the smallest inter-arrival time is taken from packets without a loss between them. Here
//! packet pairs make it the packet's time at the bottleneck, which is what the scheme wants of it.

use super::{Arrival, Label};
use ackclock_units::{Duration, Time};

/// The scheme.
#[derive(Clone, Debug)]
pub struct Biaz {
    /// Inter-arrival times below (n + upper) Tmin are of a transmission error.
    upper: f64,
    /// Tmin.
    min: Duration,
    last: Option<Time>,
}

impl Biaz {
    /// `upper` is 2 in the source, and 1.25 in mBiaz.
    pub fn new(upper: f64) -> Biaz {
        Biaz { upper, min: Duration::MAX, last: None }
    }

    /// See [`super::Discriminator::on_packet`].
    pub fn on_packet(&mut self, arrival: &Arrival) -> Label {
        let Some(last) = self.last.replace(arrival.arrived) else { return Label::Congestion };
        let gap = arrival.arrived.since(last);
        if arrival.missing == 0 {
            if !gap.is_zero() {
                self.min = self.min.min(gap);
            }
            return Label::Congestion;
        }
        if self.min == Duration::MAX {
            return Label::Congestion;
        }
        let (gap, min, n) = (gap.as_nanos() as f64, self.min.as_nanos() as f64, arrival.missing as f64);
        let on_time = (n + 1.0) * min <= gap && gap < (n + self.upper) * min;
        if on_time { Label::Transmission } else { Label::Congestion }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::tests::packet;

    #[test]
    fn what_comes_on_time_shows_a_transmission_error() {
        // Tmin is 4 ms. One packet is lost, and the next comes `gap` ms after the one before.
        for (upper, gap, label) in [
            (2.0, 7, Label::Congestion),
            (2.0, 8, Label::Transmission),
            (2.0, 11, Label::Transmission),
            (2.0, 12, Label::Congestion),
            (1.25, 8, Label::Transmission),
            (1.25, 9, Label::Congestion),
        ] {
            let mut biaz = Biaz::new(upper);
            biaz.on_packet(&packet(0, 40, 0, None));
            biaz.on_packet(&packet(4, 40, 0, None));
            assert_eq!(biaz.on_packet(&packet(4 + gap, 40, 1, None)), label, "{upper} {gap}");
        }
    }

    #[test]
    fn more_losses_take_longer() {
        let mut biaz = Biaz::new(2.0);
        biaz.on_packet(&packet(0, 40, 0, None));
        biaz.on_packet(&packet(4, 40, 0, None));
        assert_eq!(biaz.on_packet(&packet(20, 40, 3, None)), Label::Transmission);
    }
}
