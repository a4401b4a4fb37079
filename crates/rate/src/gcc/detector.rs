//! The over-use detector, with a threshold that adapts.
//!
//! Source: draft-ietf-rmcat-gcc-02 section 5.4.
//!
//! What differs: a pause of more than 100 ms between groups counts as 100 ms, as in libwebrtc, and the time
//! of an over-use begins with half of its first interval there and here.

use super::groups::Change;
use ackclock_units::Time;

/// What is said of the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// Queues grow.
    Over,
    /// Neither grows nor shrinks.
    Normal,
    /// Queues shrink.
    Under,
}

/// The parameters of a detector.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// del_var_th(0), ms.
    pub threshold: f64,
    /// K_u and K_d, 1/ms.
    pub gains: (f64, f64),
    /// overuse_time_th, ms.
    pub time: f64,
}

/// The least and the largest threshold, ms.
const LIMITS: (f64, f64) = (6.0, 600.0);
/// What is further beyond the threshold does not move it, ms.
const OUTLIER: f64 = 15.0;
/// The longest interval between groups that counts, ms.
const PAUSE: f64 = 100.0;

/// Detects over-use.
#[derive(Clone, Debug)]
pub struct Detector {
    settings: Settings,
    /// del_var_th(i), ms.
    threshold: f64,
    /// How long m(i) has been above it, ms.
    over: Option<f64>,
    /// m(i-1), ms.
    before: f64,
    /// t(i-1)
    arrived: Option<Time>,
}

impl Detector {
    /// A detector.
    pub fn new(settings: Settings) -> Detector {
        Detector { settings, threshold: settings.threshold, over: None, before: 0.0, arrived: None }
    }

    /// The threshold, ms.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// The filter's value is `trend` ms after this change.
    pub fn on_trend(&mut self, trend: f64, change: &Change) -> Signal {
        let signal = if trend > self.threshold {
            let over = self.over.map_or(change.sent / 2.0, |over| over + change.sent);
            let lasts = over > self.settings.time && self.over.is_some();
            self.over = Some(over);
            if lasts && trend >= self.before { Signal::Over } else { Signal::Normal }
        } else {
            self.over = None;
            if trend < -self.threshold { Signal::Under } else { Signal::Normal }
        };
        if signal == Signal::Over {
            self.over = Some(0.0);
        }
        self.before = trend;
        self.adapt(trend.abs(), change.arrived);
        signal
    }

    fn adapt(&mut self, size: f64, arrived: Time) {
        let pause = self.arrived.replace(arrived).map_or(0.0, |before| arrived.since(before).as_millis_f64());
        if size - self.threshold > OUTLIER {
            return;
        }
        let (up, down) = self.settings.gains;
        let gain = if size < self.threshold { down } else { up };
        let moved = self.threshold + pause.min(PAUSE) * gain * (size - self.threshold);
        self.threshold = moved.clamp(LIMITS.0, LIMITS.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_use_must_last_and_grow_and_the_threshold_follows() {
        let settings = Settings { threshold: 12.5, gains: (0.01, 0.00018), time: 10.0 };
        let mut detector = Detector::new(settings);
        let mut at = 0;
        let mut see = |detector: &mut Detector, trend: f64| {
            at += 5;
            let arrived = Time::from_nanos(at * 1_000_000);
            detector.on_trend(trend, &Change { delay: 0.0, sent: 5.0, arrived })
        };
        assert_eq!(see(&mut detector, 12.0), Signal::Normal);
        assert_eq!(see(&mut detector, 40.0), Signal::Normal); // 2.5 ms
        assert_eq!(see(&mut detector, 40.0), Signal::Normal); // 7.5 ms
        assert_eq!(see(&mut detector, 39.0), Signal::Normal); // 12.5 ms, but it falls
        assert_eq!(see(&mut detector, 39.5), Signal::Over);
        assert!((detector.threshold() - 12.5).abs() < 0.01, "outliers do not move it");
        assert_eq!(see(&mut detector, -13.0), Signal::Under);
        let before = detector.threshold();
        assert_eq!(see(&mut detector, before + 10.0), Signal::Normal);
        assert!((detector.threshold() - (before + 5.0 * 0.01 * 10.0)).abs() < 1e-9);
        let before = detector.threshold();
        see(&mut detector, 0.0);
        assert!((detector.threshold() - before * (1.0 - 5.0 * 0.00018)).abs() < 1e-9);
        assert!((0..100_000).all(|_| see(&mut detector, 0.0) == Signal::Normal));
        assert_eq!(detector.threshold(), 6.0);
    }
}
