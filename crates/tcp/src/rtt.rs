//! Round-trip time and retransmission timeout: RFC 6298, and Karn's back-off.

use ackclock_units::Duration;

/// The estimator of RFC 6298.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    /// The smoothed round-trip time in eighths of a nanosecond, so that the shift of the filter loses
    /// nothing.
    srtt_8: i64,
    /// The mean deviation in quarters of a nanosecond.
    rttvar_4: i64,
    rtt_min: Duration,
    base_rto: Duration,
    backoff: u32,
    rto_min: Duration,
    rto_max: Duration,
    granularity: Duration,
}

/// A longer sample comes from a peer that echoes a value it was never sent. Eight times this value fits the
/// filter.
const LONGEST_SAMPLE: Duration = Duration::from_secs(1_000_000);
/// With more doublings the upper bound applies in any case.
const MAX_DOUBLINGS: u32 = 16;

impl RttEstimator {
    /// An estimator without samples.
    pub fn new(initial: Duration, min: Duration, max: Duration, granularity: Duration) -> RttEstimator {
        RttEstimator {
            srtt_8: 0,
            rttvar_4: 0,
            rtt_min: Duration::MAX,
            base_rto: initial,
            backoff: 0,
            rto_min: min,
            rto_max: max,
            granularity,
        }
    }

    /// Adds a raw sample.
    #[inline]
    pub fn sample(&mut self, rtt: Duration) {
        let rtt = rtt.min(LONGEST_SAMPLE);
        let r = rtt.as_nanos() as i64;
        if self.rtt_min == Duration::MAX {
            self.srtt_8 = r << 3; // RFC 6298 (2.2)
            self.rttvar_4 = r << 1;
        } else {
            let error = r - (self.srtt_8 >> 3);
            self.rttvar_4 += error.abs() - (self.rttvar_4 >> 2); // (2.3), beta = 1/4
            self.srtt_8 += error; // alpha = 1/8
        }
        self.rtt_min = self.rtt_min.min(rtt);
        // K = 4 deviations: the quarters add up to just that.
        let margin = self.granularity.max(Duration::from_nanos(self.rttvar_4 as u64));
        self.base_rto = (self.srtt() + margin).max(self.rto_min).min(self.rto_max); // (2.2), (2.4), (2.5)
        self.backoff = 0; // Karn: a valid sample ends the back-off
    }

    /// The timer expired: RFC 6298 (5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(MAX_DOUBLINGS);
    }

    /// The number of timeouts since the last valid sample. An acknowledgement without a sample does not end
    /// the back-off (Karn).
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// The timeout with the back-off.
    #[inline]
    pub fn rto(&self) -> Duration {
        if self.backoff == 0 { self.base_rto } else { self.doubled(self.backoff) }
    }

    /// The timeout of a fresh segment, doubled this many times.
    pub fn doubled(&self, times: u32) -> Duration {
        self.base_rto.saturating_mul(1 << times.min(MAX_DOUBLINGS)).min(self.rto_max)
    }

    /// Smoothed round-trip time; zero before the first sample.
    #[inline]
    pub fn srtt(&self) -> Duration {
        Duration::from_nanos((self.srtt_8 >> 3) as u64)
    }

    /// Mean deviation of the round-trip time (RFC 6298: RTTVAR); zero before the first sample.
    pub fn rttvar(&self) -> Duration {
        Duration::from_nanos((self.rttvar_4 >> 2) as u64)
    }

    /// Smallest raw sample; [`Duration::MAX`] before the first.
    #[inline]
    pub fn rtt_min(&self) -> Duration {
        self.rtt_min
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator() -> RttEstimator {
        let ms = Duration::from_millis;
        RttEstimator::new(ms(1000), ms(200), ms(60_000), ms(1))
    }

    #[test]
    fn follows_rfc_6298() {
        let mut rtt = estimator();
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        rtt.sample(Duration::from_millis(100));
        assert_eq!(rtt.rto(), Duration::from_millis(300)); // 100 + 4 * 50
        rtt.sample(Duration::from_millis(200));
        // rttvar = 3/4 * 50 + 1/4 * 100 = 62.5; srtt = 7/8 * 100 + 1/8 * 200 = 112.5
        assert_eq!(rtt.srtt(), Duration::from_micros(112_500));
        assert_eq!(rtt.rto(), Duration::from_micros(362_500));
        assert_eq!(rtt.rtt_min(), Duration::from_millis(100));
    }

    /// A peer echoes zero to a clock that counts from 1970.
    #[test]
    fn an_absurd_sample_breaks_nothing() {
        let mut rtt = estimator();
        for sample in [Duration::MAX, Duration::ZERO, Duration::from_secs(1_800_000_000), Duration::MAX] {
            rtt.sample(sample);
            assert!(rtt.rto() >= Duration::from_millis(200) && rtt.rto() <= Duration::from_secs(60));
            assert!(rtt.srtt() <= Duration::from_secs(1_000_000));
        }
    }

    #[test]
    fn backs_off_to_the_bound_and_forgets_on_a_sample() {
        let mut rtt = estimator();
        rtt.sample(Duration::from_millis(100));
        for expected in [600, 1200, 2400] {
            rtt.back_off();
            assert_eq!(rtt.rto(), Duration::from_millis(expected));
        }
        for _ in 0..40 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Duration::from_secs(60));
        rtt.sample(Duration::from_millis(100));
        assert!(rtt.rto() < Duration::from_millis(300));
    }
}
