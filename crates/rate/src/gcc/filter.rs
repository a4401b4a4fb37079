//! The arrival-time filter: the trend of the queueing delay from noisy changes.
//!
//! Source: draft-ietf-rmcat-gcc-02 section 5.3 for the Kalman filter. The trendline is that of libwebrtc: the
//! slope of a regression over smoothed delays.
//!
//! What differs: the draft compares the filter's own value with the threshold. A bottleneck that is a little
//! too slow changes the delay by a fraction of a millisecond per group, far below the least threshold of
//! 6 ms. libwebrtc multiplies by the number of groups, up to 60; so does this, and 1 is the draft.

use super::groups::Change;
use ackclock_units::Time;
use std::collections::VecDeque;

/// Groups among which the shortest interval is sought.
const INTERVALS: usize = 60;
/// Groups of a regression.
const LINE: usize = 20;
/// The share of the old value in a smoothed delay.
const SMOOTHING: f64 = 0.9;
/// What the slope is multiplied by: milliseconds per group in the order of the Kalman filter's.
const GAIN: f64 = 4.0;

/// A filter of either kind.
#[derive(Clone, Debug)]
pub enum Filter {
    /// The draft's.
    Kalman(Kalman),
    /// libwebrtc's.
    Trendline(Trendline),
}

impl Filter {
    /// A group came. Returns m(i), ms per group.
    pub fn on_change(&mut self, change: &Change) -> f64 {
        match self {
            Filter::Kalman(filter) => filter.on_change(change),
            Filter::Trendline(filter) => filter.on_change(change),
        }
    }
}

/// The Kalman filter.
#[derive(Clone, Debug)]
pub struct Kalman {
    /// chi, which forgets the noise.
    chi: f64,
    /// q, the variance of the state's noise, ms^2.
    q: f64,
    /// m(i), ms.
    offset: f64,
    /// e(i), ms^2.
    error: f64,
    /// var_v(i), ms^2: at least 1.
    noise: f64,
    /// The intervals between the last departures, ms.
    intervals: VecDeque<f64>,
}

impl Kalman {
    /// A filter with these chi and q.
    pub fn new(chi: f64, q: f64) -> Kalman {
        let intervals = VecDeque::with_capacity(INTERVALS);
        Kalman { chi, q, offset: 0.0, error: 0.1, noise: 1.0, intervals } // e(0): section 5.6
    }

    fn on_change(&mut self, change: &Change) -> f64 {
        if self.intervals.len() == INTERVALS {
            self.intervals.pop_front();
        }
        self.intervals.push_back(change.sent.max(1e-3));
        let shortest = self.intervals.iter().copied().fold(f64::INFINITY, f64::min);
        // f_max is the inverse of the shortest interval: 30 / (1000 f_max), with milliseconds.
        let alpha = libm::pow(1.0 - self.chi, 30.0 * shortest / 1000.0);
        let far = 3.0 * libm::sqrt(self.noise);
        let surprise = (change.delay - self.offset).clamp(-far, far);
        self.noise = (alpha * self.noise + (1.0 - alpha) * surprise * surprise).max(1.0);
        let error = self.error + self.q;
        let gain = error / (self.noise + error);
        self.offset += surprise * gain;
        self.error = (1.0 - gain) * error;
        self.offset
    }
}

/// The slope of smoothed delays.
#[derive(Clone, Debug, Default)]
pub struct Trendline {
    /// The first arrival.
    first: Option<Time>,
    /// The sum of all changes, and the same smoothed, ms.
    delay: f64,
    smoothed: f64,
    /// Arrival and smoothed delay of the last groups, ms.
    points: VecDeque<(f64, f64)>,
    slope: f64,
}

impl Trendline {
    fn on_change(&mut self, change: &Change) -> f64 {
        let first = *self.first.get_or_insert(change.arrived);
        self.delay += change.delay;
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.delay;
        if self.points.len() == LINE {
            self.points.pop_front();
        }
        self.points.push_back((change.arrived.since(first).as_millis_f64(), self.smoothed));
        if self.points.len() == LINE
            && let Some(slope) = self.regression()
        {
            self.slope = slope;
        }
        self.slope * GAIN
    }

    fn regression(&self) -> Option<f64> {
        let count = self.points.len() as f64;
        let sums = self.points.iter().fold((0.0, 0.0), |sums, point| (sums.0 + point.0, sums.1 + point.1));
        let mean = (sums.0 / count, sums.1 / count);
        let (mut above, mut below) = (0.0, 0.0);
        for point in &self.points {
            let x = point.0 - mean.0;
            above += x * (point.1 - mean.1);
            below += x * x;
        }
        (below > 0.0).then(|| above / below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The filter's value after `groups` of 5 ms, each `delay` ms later than the one before.
    fn after(mut filter: Filter, groups: u64, delay: impl Fn(u64) -> f64) -> f64 {
        let mut last = 0.0;
        for group in 1..=groups {
            let arrived = Time::from_nanos(group * 5_000_000);
            last = filter.on_change(&Change { delay: delay(group), sent: 5.0, arrived });
        }
        last
    }

    fn both() -> [Filter; 2] {
        [Filter::Kalman(Kalman::new(0.01, 1e-3)), Filter::Trendline(Trendline::default())]
    }

    #[test]
    fn a_queue_that_grows_is_found_and_noise_is_not() {
        for filter in both() {
            let steady = after(filter.clone(), 400, |_| 0.5);
            assert!((0.35..0.55).contains(&steady), "{filter:?}: {steady}");
            let noise = after(filter.clone(), 400, |group| if group % 2 == 0 { 2.0 } else { -2.0 });
            assert!(noise.abs() < 0.15, "{filter:?}: {noise}");
            assert!(after(filter, 400, |_| -0.5) < -0.35);
        }
    }

    #[test]
    fn the_first_steps_of_the_kalman_filter() {
        // alpha = 0.99^0.15; z = 1: var = max(.., 1) = 1, k = 0.101 / 1.101, m = k.
        let one = after(Filter::Kalman(Kalman::new(0.01, 1e-3)), 1, |_| 1.0);
        assert!((one - 0.101 / 1.101).abs() < 1e-12, "{one}");
        // An outlier counts as three standard deviations.
        let far = after(Filter::Kalman(Kalman::new(0.01, 1e-3)), 1, |_| 1000.0);
        let noise = 1.0 + (1.0 - libm::pow(0.99, 0.15)) * 8.0;
        assert!((far - 3.0 * 0.101 / (noise + 0.101)).abs() < 1e-12, "{far}");
    }
}
