//! The TCP throughput equation.
//!
//! Source: RFC 5348 section 3.1; its inverse for the first loss interval, section 6.3.1.
//!
//! What differs: the RFC asks for the inverse within 5 %; here it is exact to rounding.

use ackclock_units::Duration;

/// The connection as the equation sees it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Equation {
    /// s, the size of a packet in bytes.
    pub size: f64,
    /// R, the round-trip time; above zero.
    pub rtt: Duration,
    /// t_RTO, the retransmission timeout of TCP. The RFC recommends 4R.
    pub timeout: Duration,
    /// b, packets per acknowledgement of TCP. The RFC recommends 1.
    pub per_ack: f64,
}

impl Equation {
    /// The equation with the recommended b = 1 and t_RTO = 4R.
    pub fn recommended(size: f64, rtt: Duration) -> Equation {
        Equation { size, rtt, timeout: rtt.saturating_mul(4), per_ack: 1.0 }
    }

    /// X, bytes per second, at the loss event rate `p`, which is above 0 and at most 1. Infinite without
    /// losses.
    pub fn throughput(&self, p: f64) -> f64 {
        if p <= 0.0 {
            return f64::INFINITY;
        }
        let (b, rtt, timeout) = (self.per_ack, self.rtt.as_secs_f64(), self.timeout.as_secs_f64());
        let linear = rtt * libm::sqrt(2.0 * b * p / 3.0);
        let timeouts = timeout * 3.0 * libm::sqrt(3.0 * b * p / 8.0) * p * (1.0 + 32.0 * p * p);
        self.size / (linear + timeouts)
    }

    /// The loss event rate at which the equation gives `throughput` bytes per second. At most 1, where the
    /// throughput is lower than any; 0 for an infinite one.
    pub fn loss_event_rate(&self, throughput: f64) -> f64 {
        if throughput.is_nan() || self.throughput(1.0) >= throughput {
            return 1.0;
        }
        // The throughput falls as p grows. Bisection, until no number lies between: small p have small steps.
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..1100 {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if self.throughput(middle) > throughput { low = middle } else { high = middle }
        }
        high
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_table_of_ccid_3() {
        // Linux keeps s / (R X) for b = 1 and t_RTO = 4R as 10^6 f(p), in whole numbers rounded down.
        let one = Equation::recommended(1.0, Duration::from_secs(1));
        for (p, wanted) in [
            (0.0001, 8172.0),
            (0.0002, 11_567.0),
            (0.0003, 14_180.0),
            (0.0004, 16_388.0),
            (0.0005, 18_339.0),
            (0.002, 37_172.0),
            (0.004, 53_499.0),
            (0.006, 66_664.0),
            (0.008, 78_298.0),
            (0.01, 89_021.0),
        ] {
            assert_eq!(libm::floor(1e6 / one.throughput(p)), wanted, "{p}");
        }
    }

    #[test]
    fn every_parameter_has_its_place() {
        let (size, rtt) = (1000.0, Duration::from_millis(100));
        // f(1) = sqrt(2/3) + 12 sqrt(3/8) 33
        let all_lost = 10_000.0 / (0.816_496_580_927_726 + 396.0 * 0.612_372_435_695_794_5);
        assert!((Equation::recommended(size, rtt).throughput(1.0) - all_lost).abs() < 1e-9);
        // Four packets per acknowledgement double both roots.
        let sparse = Equation { per_ack: 4.0, ..Equation::recommended(size, rtt) };
        assert!((sparse.throughput(1.0) - all_lost / 2.0).abs() < 1e-9);
        // A timeout of a second and p = 1/100: 1000 / (0.1 * 0.0816.. + 3 * 0.0612.. * 0.01 * 1.0032).
        let slow = Equation { timeout: Duration::from_secs(1), ..Equation::recommended(size, rtt) };
        let wanted = 1000.0 / (0.008_164_965_809_277_26 + 0.030_096 * 0.061_237_243_569_579_45);
        assert!((slow.throughput(0.01) - wanted).abs() < 1e-6 * wanted);
        assert_eq!(slow.throughput(0.0), f64::INFINITY);
    }

    #[test]
    fn what_is_slower_than_the_equation_can_be_has_the_rate_1() {
        let equation = Equation::recommended(1000.0, Duration::from_millis(100));
        assert_eq!(equation.loss_event_rate(1.0), 1.0);
        assert_eq!(equation.loss_event_rate(f64::NAN), 1.0);
    }

    proptest! {
        #[test]
        fn the_inverse_is_one(p in -9.0..0.0, size in 40.0..9000.0, ms in 1_u64..2000, b in 1.0..2.0) {
            let p = libm::pow(10.0, p);
            let rtt = Duration::from_millis(ms);
            let equation = Equation { per_ack: b, ..Equation::recommended(size, rtt) };
            let again = equation.loss_event_rate(equation.throughput(p));
            prop_assert!((again - p).abs() <= 1e-9 * p, "{again}, not {p}");
            prop_assert!(equation.throughput(p) > equation.throughput(1.1 * p));
        }
    }
}
