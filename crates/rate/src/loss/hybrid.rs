//! The hybrid heuristic: jitter first, then relative one-way trip time.
//!
//! Source: S. Gaonkar, "Balancing Loss Discrimination and Congestion Control in a Rate-Based Protocol", M.S.
//! thesis, University of Illinois, 2003, section 3.5 and Figure 3.5.
//!
//! What differs: no constant is stated. All are settings, and their defaults are this project's choice. The
//! place of the trip time between minimum and maximum counts as 0 until they are some packets apart, so that
//! noise on an idle path is not a full queue.

use super::{Arrival, Label};
use crate::jitter::Change;
use crate::rott::Rott;
use std::collections::VecDeque;

/// What the source leaves open.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HybridSettings {
    /// Jitters before the loss that are looked at.
    pub history: usize,
    /// How many of them must be positive.
    pub positive: usize,
    /// The least place of the trip time between minimum (0) and maximum (1) that is congestion.
    pub threshold: f64,
    /// l1: how many trip times of the window must exceed mean and deviation.
    pub exceeding: usize,
    /// n: the length of the window of trip times, packets.
    pub window: usize,
    /// The standard deviations that count as exceeding.
    pub deviations: f64,
    /// The least distance of maximum and minimum, packet transmission times at the bottleneck.
    pub spread: f64,
}

impl Default for HybridSettings {
    /// This project's choice.
    fn default() -> HybridSettings {
        HybridSettings {
            history: 3,
            positive: 2,
            threshold: 0.9,
            exceeding: 1,
            window: 8,
            deviations: 1.0,
            spread: 3.0,
        }
    }
}

/// The scheme.
#[derive(Clone, Debug)]
pub struct Hybrid {
    settings: HybridSettings,
    rott: Rott,
    /// The last jitters, oldest first.
    jitters: VecDeque<i64>,
}

impl Hybrid {
    /// The scheme with these settings.
    pub fn new(settings: HybridSettings) -> Hybrid {
        let jitters = VecDeque::with_capacity(settings.history + 1);
        Hybrid { settings, rott: Rott::new(settings.window), jitters }
    }

    /// See [`super::Discriminator::on_packet`].
    pub fn on_packet(&mut self, arrival: &Arrival) -> Label {
        self.rott.on_packet(arrival.sent, arrival.arrived);
        let label = if self.queue_grew_then_shrank(arrival) || self.trips_are_long(arrival) {
            Label::Congestion
        } else {
            Label::Transmission
        };
        if let Some(Change::Whole(jitter)) = arrival.jitter {
            self.jitters.push_back(jitter);
            if self.jitters.len() > self.settings.history {
                self.jitters.pop_front();
            }
        }
        label
    }

    fn queue_grew_then_shrank(&self, arrival: &Arrival) -> bool {
        let grew = self.jitters.iter().filter(|&&jitter| jitter > 0).count() >= self.settings.positive;
        grew && arrival.jitter.is_some_and(|jitter| jitter.nanos() < 0)
    }

    fn trips_are_long(&self, arrival: &Arrival) -> bool {
        let spread = self.settings.spread * arrival.service.as_nanos() as f64;
        self.rott.place(spread) >= self.settings.threshold
            && self.rott.exceeding(self.settings.deviations) >= self.settings.exceeding
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::tests::packet;

    fn after(jitters: &[i64], trips: &[u64]) -> Hybrid {
        let mut hybrid = Hybrid::new(HybridSettings::default());
        for (at, &trip) in trips.iter().enumerate() {
            let jitter = jitters.get(at).copied();
            hybrid.on_packet(&packet(4 * at as u64, trip, 0, jitter));
        }
        hybrid
    }

    #[test]
    fn positive_jitters_then_a_negative_one_are_congestion() {
        let flat = [40; 4];
        for (jitters, last, label) in [
            ([0, 1, 1], -1, Label::Congestion),
            ([1, 0, 1], -1, Label::Congestion),
            ([1, 1, 1], 1, Label::Transmission),
            ([0, 0, 1], -1, Label::Transmission),
        ] {
            let mut hybrid = after(&jitters, &flat[..3]);
            assert_eq!(hybrid.on_packet(&packet(16, 40, 1, Some(last))), label, "{jitters:?} {last}");
        }
    }

    #[test]
    fn long_trips_are_congestion_once_trips_are_known_to_differ() {
        let trips = [40, 41, 40, 41, 40, 41];
        // 60 ms: the new maximum, far from the mean, 20 ms above the minimum: more than three packets of 4
        // ms.
        assert_eq!(after(&[], &trips).on_packet(&packet(28, 60, 1, None)), Label::Congestion);
        // 51 ms is the maximum, too, but less than three packets from the minimum.
        assert_eq!(after(&[], &trips).on_packet(&packet(28, 51, 1, None)), Label::Transmission);
        // A short trip.
        let known = [40, 41, 40, 60, 40, 41];
        assert_eq!(after(&[], &known).on_packet(&packet(28, 45, 1, None)), Label::Transmission);
        // All trips of the window are long: none exceeds the mean.
        let long = [40, 60, 60, 60, 60, 60, 60, 60, 60];
        assert_eq!(after(&[], &long).on_packet(&packet(40, 60, 1, None)), Label::Transmission);
    }
}
