//! Relative one-way trip time (ROTT): arrival by the receiver's clock minus departure by the sender's.
//!
//! Source: S. Gaonkar, M.S. thesis, University of Illinois, 2003, section 3.5; mean and variance of a sliding
//! window after appendix A.
//!
//! What differs: the clocks' offset is unknown, so only differences have a meaning. Figure A.1 divides by
//! zero at sample n, adds the mean where its square belongs and never subtracts the new one; equation A.7 has
//! a wrong sign. Here the same differences are taken of whole nanoseconds, so they are exact however long a
//! connection lasts. The memory of minimum and maximum is not stated: it is the connection.

use crate::jitter::signed;
use ackclock_units::Time;
use std::collections::VecDeque;

/// The largest relative trip time that is counted, nanoseconds: 13 days. A peer whose clock leaps further is
/// not believed, and squares of 8,000 trip times fit.
const MAX_TRIP: i64 = 1 << 50;

/// Relative one-way trip times, with the statistics that loss labels need.
#[derive(Clone, Debug)]
pub struct Rott {
    length: usize,
    /// Relative to `first`, so that squares of differences fit.
    window: VecDeque<i64>,
    /// The first trip time of the connection, nanoseconds.
    first: Option<i64>,
    current: i64,
    min: i64,
    max: i64,
    sum: i128,
    squares: i128,
}

impl Rott {
    /// Statistics over the last `length` packets, which is at least 1.
    pub fn new(length: usize) -> Rott {
        let length = length.max(1);
        let window = VecDeque::with_capacity(length);
        Rott { length, window, first: None, current: 0, min: 0, max: 0, sum: 0, squares: 0 }
    }

    /// A packet that left at `sent` by the sender's clock arrived at `arrived` by the receiver's.
    pub fn on_packet(&mut self, sent: Time, arrived: Time) {
        let trip = signed(arrived, sent);
        let trip = trip.saturating_sub(*self.first.get_or_insert(trip)).clamp(-MAX_TRIP, MAX_TRIP);
        self.current = trip;
        (self.min, self.max) = (self.min.min(trip), self.max.max(trip));
        if self.window.len() == self.length
            && let Some(oldest) = self.window.pop_front()
        {
            // Equations A.6 and A.7, times n and corrected: the newest in, the oldest out.
            self.sum -= i128::from(oldest);
            self.squares -= i128::from(oldest).pow(2);
        }
        self.window.push_back(trip);
        self.sum += i128::from(trip);
        self.squares += i128::from(trip).pow(2);
    }

    /// The last trip time relative to the first one, nanoseconds.
    pub fn current(&self) -> i64 {
        self.current
    }

    /// The smallest of the connection, relative to the first one, nanoseconds.
    pub fn min(&self) -> i64 {
        self.min
    }

    /// The largest of the connection, relative to the first one, nanoseconds.
    pub fn max(&self) -> i64 {
        self.max
    }

    /// The mean of the window relative to the first trip time, nanoseconds; zero before the first packet.
    pub fn mean(&self) -> f64 {
        if self.window.is_empty() { 0.0 } else { self.sum as f64 / self.window.len() as f64 }
    }

    /// The variance of the window (that of a population, equation A.2), square nanoseconds.
    pub fn variance(&self) -> f64 {
        let n = self.window.len() as i128;
        if n == 0 { 0.0 } else { (n * self.squares - self.sum * self.sum) as f64 / (n * n) as f64 }
    }

    /// Where the current trip time lies between minimum (0) and maximum (1). Zero while they are closer than
    /// `spread` nanoseconds.
    pub fn place(&self, spread: f64) -> f64 {
        let range = self.max as f64 - self.min as f64;
        if range <= 0.0 || range < spread { 0.0 } else { (self.current as f64 - self.min as f64) / range }
    }

    /// How many trip times of the window exceed its mean by more than `deviations` standard deviations.
    pub fn exceeding(&self, deviations: f64) -> usize {
        let limit = self.mean() + deviations * libm::sqrt(self.variance());
        self.window.iter().filter(|&&trip| trip as f64 > limit).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn after(trips: &[u64], length: usize) -> Rott {
        let mut rott = Rott::new(length);
        for &trip in trips {
            rott.on_packet(Time::from_nanos(1_000_000), Time::from_nanos(1_000_000 + trip));
        }
        rott
    }

    #[test]
    fn four_trips() {
        let rott = after(&[100, 90, 110, 140], 3);
        assert_eq!((rott.current(), rott.min(), rott.max()), (40, -10, 40));
        assert_eq!(rott.mean(), 40.0 / 3.0); // of -10, 10, 40
        assert!((rott.variance() - (1800.0 / 3.0 - 1600.0 / 9.0)).abs() < 1e-9);
        assert_eq!((rott.place(0.0), rott.place(50.0), rott.place(50.1)), (1.0, 1.0, 0.0));
        assert_eq!((rott.exceeding(1.0), rott.exceeding(2.0)), (1, 0));
        assert_eq!(Rott::new(8).place(0.0), 0.0);
        assert_eq!((Rott::new(8).mean(), Rott::new(8).variance()), (0.0, 0.0));
    }

    proptest! {
        #[test]
        fn windowed_statistics_equal_naive_ones(
            trips in proptest::collection::vec(0_u64..1 << 40, 1..100), length in 1_usize..20,
        ) {
            for end in 1..=trips.len() {
                let rott = after(&trips[..end], length);
                let window: Vec<f64> =
                    trips[end.saturating_sub(length)..end].iter().map(|&it| it as f64 - trips[0] as f64).collect();
                let n = window.len() as f64;
                let mean = window.iter().sum::<f64>() / n;
                let variance = window.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / n;
                let scale = window.iter().fold(1.0_f64, |most, it| most.max(it.abs()));
                prop_assert!((rott.mean() - mean).abs() <= 1e-9 * scale);
                prop_assert!((rott.variance() - variance).abs() <= 1e-9 * scale * scale);
                let relative = trips[..end].iter().map(|&it| it as i64 - trips[0] as i64);
                prop_assert_eq!(rott.min(), relative.clone().min().unwrap());
                prop_assert_eq!(rott.max(), relative.max().unwrap());
            }
        }
    }
}
