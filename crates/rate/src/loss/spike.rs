//! Spike: losses during a spike of the relative one-way trip time are congestion.
//!
//! Source: Y. Tobe, Y. Tamura, A. Molano, S. Ghosh, H. Tokuda, "Achieving Moderate Fairness for UDP Flows by
//! Path-Status Classification", LCN 2000; thresholds of S. Cen, P. Cosman, G. Voelker, "End-to-End
//! Differentiation of Congestion and Wireless Losses", IEEE/ACM ToN 11(5), 2003: 1/2 and 1/3.
//!
//! What differs: the packet after the gap decides, with its own trip time included.

use super::{Arrival, Label};
use crate::rott::Rott;

/// A spike begins above this place between the smallest (0) and the largest (1) trip time.
const START: f64 = 0.5;
/// It ends below this one.
const END: f64 = 1.0 / 3.0;

/// The scheme.
#[derive(Clone, Debug)]
pub struct Spike {
    rott: Rott,
    spiking: bool,
}

impl Default for Spike {
    fn default() -> Spike {
        Spike { rott: Rott::new(1), spiking: false }
    }
}

impl Spike {
    /// See [`super::Discriminator::on_packet`].
    pub fn on_packet(&mut self, arrival: &Arrival) -> Label {
        self.rott.on_packet(arrival.sent, arrival.arrived);
        let place = self.rott.place(0.0);
        self.spiking = if self.spiking { place >= END } else { place > START };
        if self.spiking { Label::Congestion } else { Label::Transmission }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::tests::packet;

    #[test]
    fn a_spike_begins_above_one_half_and_ends_below_one_third() {
        let mut spike = Spike::default();
        let labels: Vec<Label> = [(40, 1), (100, 1), (75, 1), (60, 1), (59, 1), (69, 1), (71, 1)]
            .into_iter()
            .map(|(trip, missing)| spike.on_packet(&packet(0, trip, missing, None)))
            .collect();
        use Label::{Congestion as C, Transmission as T};
        assert_eq!(labels, [T, C, C, C, T, T, C]);
    }
}
