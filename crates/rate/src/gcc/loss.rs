//! The loss-based rate.
//!
//! Source: draft-ietf-rmcat-gcc-02 section 6.
//!
//! What differs: the draft acts on each receiver report and does not say how often one comes. Here it acts
//! once in an interval, on the losses found in it. The rate does not rise above the delay-based one, so that
//! it has something to fall from.

use crate::law::Limits;
use crate::reliability::Progress;
use ackclock_units::{Duration, Time};

/// Below the first share of losses the rate rises, above the second it falls.
const SHARES: (f64, f64) = (0.02, 0.1);
const INCREASE: f64 = 1.05;

/// The loss-based rate.
#[derive(Clone, Debug)]
pub struct LossBased {
    interval: Duration,
    limits: Limits,
    /// bit/s
    rate: f64,
    /// When the interval began; losses and arrivals since then.
    begun: Time,
    lost: u64,
    arrived: u64,
}

impl LossBased {
    /// From `rate` bit/s on.
    pub fn new(rate: f64, interval: Duration, limits: Limits, now: Time) -> LossBased {
        LossBased { interval, limits, rate: limits.hold(rate), begun: now, lost: 0, arrived: 0 }
    }

    /// The rate, bit/s.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Sets the rate, bit/s.
    pub fn set(&mut self, rate: f64) {
        self.rate = self.limits.hold(rate);
    }

    /// An acknowledgement came. The delay-based rate is `delay` bit/s.
    pub fn on_progress(&mut self, now: Time, progress: &Progress, delay: f64) {
        self.lost += progress.lost;
        self.arrived += progress.reported;
        let all = self.lost + self.arrived;
        if all == 0 || now.since(self.begun) < self.interval {
            return;
        }
        let share = self.lost as f64 / all as f64;
        let next = if share > SHARES.1 {
            self.rate * (1.0 - 0.5 * share)
        } else if share < SHARES.0 {
            (self.rate * INCREASE).min(delay.max(self.rate))
        } else {
            self.rate
        };
        self.set(next);
        (self.begun, self.lost, self.arrived) = (now, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_rises_below_two_percent_and_falls_above_ten() {
        let limits = Limits { least: 1e4, most: 1e11 };
        let mut loss = LossBased::new(1e6, Duration::from_millis(200), limits, Time::ZERO);
        let mut see = |at: u64, lost, reported, delay| {
            let progress = Progress { reported, delivered: 0, lost };
            loss.on_progress(Time::from_nanos(at * 1_000_000), &progress, delay);
            loss.rate()
        };
        assert_eq!(see(100, 50, 50, 5e6), 1e6); // too soon
        assert_eq!(see(200, 0, 300, 5e6), 0.9375e6); // 50 of 400: 12.5 %
        assert_eq!(see(400, 5, 95, 5e6), 0.9375e6); // 5 %
        assert_eq!(see(600, 1, 99, 5e6), 0.984375e6); // 1 %
        assert_eq!(see(800, 0, 100, 0.99e6), 0.99e6);
        assert_eq!(see(1000, 0, 100, 0.5e6), 0.99e6);
    }
}
