//! Round-trip time and retransmission timeout: RFC 6298 or Linux, and Karn's back-off.
//!
//! Source: RFC 6298; Linux, `tcp_input.c`, tcp_rtt_estimator and tcp_set_rto.

use ackclock_units::Duration;

/// How the timeout follows from the samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RtoLaw {
    /// RFC 6298: the timeout is srtt + 4 rttvar, and at least its lower bound.
    #[default]
    Rfc6298,
    /// Linux: the lower bound is one of the four deviations, so the timeout is always that much above srtt.
    Linux,
}

/// The estimator.
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
    /// With Linux's law.
    largest: Option<LargestDeviation>,
}

/// A longer sample comes from a peer that echoes a value it was never sent. Eight times this value fits the
/// filter.
const LONGEST_SAMPLE: Duration = Duration::from_secs(1_000_000);
/// With more doublings the upper bound applies in any case.
const MAX_DOUBLINGS: u32 = 16;

/// Linux's deviation: the largest one of a round trip, and never less than the lower bound of the timeout. It
/// rises at once, and falls by a quarter of the difference per round trip. Like the mean deviation it is in
/// quarters of a nanosecond.
#[derive(Clone, Copy, Debug, Default)]
struct LargestDeviation {
    /// What the timeout is above srtt: Linux's rttvar.
    margin_4: i64,
    /// The largest one of the present round trip: mdev_max.
    round_4: i64,
    /// The round trip ends when more than this is acknowledged: rtt_seq. `None` before the first sample.
    round_end: Option<u64>,
}

impl LargestDeviation {
    /// The mean deviation has changed. Returns the margin above srtt.
    fn follow(&mut self, deviation_4: i64, least: Duration, una: u64, nxt: u64) -> Duration {
        let least_4 = least.as_nanos() as i64;
        self.round_4 = self.round_4.max(deviation_4).max(least_4);
        self.margin_4 = self.margin_4.max(self.round_4);
        match self.round_end {
            Some(end) if una <= end => {}
            Some(_) => {
                self.margin_4 -= (self.margin_4 - self.round_4) >> 2;
                (self.round_4, self.round_end) = (least_4, Some(nxt));
            }
            None => self.round_end = Some(nxt),
        }
        Duration::from_nanos(self.margin_4 as u64)
    }
}

impl RttEstimator {
    /// An estimator without samples.
    pub fn new(
        law: RtoLaw,
        initial: Duration,
        min: Duration,
        max: Duration,
        granularity: Duration,
    ) -> RttEstimator {
        RttEstimator {
            srtt_8: 0,
            rttvar_4: 0,
            rtt_min: Duration::MAX,
            base_rto: initial,
            backoff: 0,
            rto_min: min,
            rto_max: max,
            granularity,
            largest: (law == RtoLaw::Linux).then(LargestDeviation::default),
        }
    }

    /// Adds a raw sample of an acknowledgement of all segments below `una`. The next new segment is `nxt`.
    #[inline]
    pub fn sample(&mut self, rtt: Duration, una: u64, nxt: u64) {
        let rtt = rtt.min(LONGEST_SAMPLE);
        let r = rtt.as_nanos() as i64;
        if self.rtt_min == Duration::MAX {
            self.srtt_8 = r << 3; // RFC 6298 (2.2)
            self.rttvar_4 = r << 1;
        } else {
            let error = r - (self.srtt_8 >> 3);
            let mut more = error.abs() - (self.rttvar_4 >> 2); // (2.3), beta = 1/4
            if self.largest.is_some() && error < 0 && more > 0 {
                more >>= 3; // Linux: a path that becomes faster is no reason to wait longer
            }
            self.rttvar_4 += more;
            self.srtt_8 += error; // alpha = 1/8
        }
        self.rtt_min = self.rtt_min.min(rtt);
        // K = 4 deviations: the quarters add up to just that.
        let margin = match &mut self.largest {
            None => Duration::from_nanos(self.rttvar_4 as u64).max(self.granularity),
            Some(largest) => largest.follow(self.rttvar_4, self.rto_min, una, nxt),
        };
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
        RttEstimator::new(RtoLaw::Rfc6298, ms(1000), ms(200), ms(60_000), ms(1))
    }

    #[test]
    fn follows_rfc_6298() {
        let mut rtt = estimator();
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        rtt.sample(Duration::from_millis(100), 1, 1);
        assert_eq!(rtt.rto(), Duration::from_millis(300)); // 100 + 4 * 50
        rtt.sample(Duration::from_millis(200), 1, 1);
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
            rtt.sample(sample, 1, 1);
            assert!(rtt.rto() >= Duration::from_millis(200) && rtt.rto() <= Duration::from_secs(60));
            assert!(rtt.srtt() <= Duration::from_secs(1_000_000));
        }
    }

    #[test]
    fn backs_off_to_the_bound_and_forgets_on_a_sample() {
        let mut rtt = estimator();
        rtt.sample(Duration::from_millis(100), 1, 1);
        for expected in [600, 1200, 2400] {
            rtt.back_off();
            assert_eq!(rtt.rto(), Duration::from_millis(expected));
        }
        for _ in 0..40 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Duration::from_secs(60));
        rtt.sample(Duration::from_millis(100), 1, 1);
        assert!(rtt.rto() < Duration::from_millis(300));
    }

    /// 40 ms again and again: RFC 6298 comes down to its bound, Linux to 200 ms above the round-trip time.
    #[test]
    fn linux_bounds_the_deviation_and_not_the_timeout() {
        let ms = Duration::from_millis;
        let mut linux = RttEstimator::new(RtoLaw::Linux, ms(1000), ms(200), ms(60_000), ms(1));
        let mut rfc = estimator();
        for una in 1..100 {
            linux.sample(ms(40), una, una + 10);
            rfc.sample(ms(40), una, una + 10);
        }
        assert_eq!((rfc.rto(), linux.rto()), (ms(200), ms(240)));
    }

    /// One round trip of 1 s after many of 100 ms. mdev is 1 ms or less by then, so four deviations are about
    /// 900 ms; srtt is 212.5 ms.
    #[test]
    fn linux_falls_by_a_quarter_of_the_difference_per_round_trip() {
        let ms = Duration::from_millis;
        let mut rtt = RttEstimator::new(RtoLaw::Linux, ms(1000), ms(200), ms(60_000), ms(1));
        (1..100).for_each(|una| rtt.sample(ms(100), una, una + 1));
        let margin = |rtt: &RttEstimator| rtt.rto().as_millis_f64() - rtt.srtt().as_millis_f64();
        assert!((margin(&rtt) - 200.0).abs() < 1e-3);
        rtt.sample(ms(1000), 100, 110); // ends a round trip: the largest deviation of it was this one
        let highest = margin(&rtt);
        assert!((890.0..=905.0).contains(&highest), "{highest}");
        let mut before = highest;
        for round in 1..=3 {
            // A round trip ends when more than what was sent at its begin is acknowledged.
            (0..10).for_each(|at| rtt.sample(ms(200), 100 + 11 * round - 10 + at, 110 + 11 * round));
            assert!((margin(&rtt) - before).abs() < 1e-3, "it never falls within a round trip");
            rtt.sample(ms(200), 100 + 11 * round, 110 + 11 * round);
            let after = margin(&rtt);
            println!("{round}: {before} -> {after}");
            assert!(after <= before);
            before = after;
        }
        assert!(before < 0.9 * highest);
    }
}
