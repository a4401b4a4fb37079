//! The analytic model of XRTP: how far a flow climbs between two halvings, and what it carries.
//!
//! Source: S. Gaonkar, M.S. thesis, University of Illinois, 2003, chapter 5 and appendix B. C is the capacity
//! and B the share of a flow, bit/s; gamma = C/B, the number of flows; S the packet size in bits; k the
//! packets per packet pair; alpha the weight of the old rate; J the mean jitter, s. Rates are packets per
//! second.
//!
//! What differs: the equations that are printed wrong are corrected, and each says how. The number of probes
//! x is real in equation 5.10 and an index in the sums; sums take it rounded down. The source does not say
//! which rate follows an epoch that is shorter than the round-trip time; here the rate climbs on by equation
//! 5.4, and each round trip starts from half the fair share.

/// A flow among equal ones at one bottleneck.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Model {
    /// C, bit/s, above 0.
    pub capacity: f64,
    /// gamma = C/B, at least 1.
    pub gamma: f64,
    /// S, bits, above 0.
    pub size: f64,
    /// alpha, above 0 and below 1.
    pub alpha: f64,
    /// k, packets, at least 1.
    pub every: f64,
}

impl Model {
    /// (2 gamma - 1) / (2 gamma): what is missing of the capacity at the start of an epoch, as a share.
    fn missing(&self) -> f64 {
        (2.0 * self.gamma - 1.0) / (2.0 * self.gamma)
    }

    /// The rate after `x` probes, packets/s (equation 5.7; 5.3 to 5.6 are x = 0 and x = 1). The sentence
    /// before equation 5.4 prints the estimate as S/C; it is C/S.
    pub fn rate(&self, x: f64) -> f64 {
        self.capacity / self.size * (1.0 - self.missing() * libm::pow(self.alpha, x))
    }

    /// The probes after which the rate passes the fair share. Infinite for one flow, which never does.
    ///
    /// Equation 5.10 is printed with 2 gamma - 1 in the numerator, too, so that it is always 0. From equation
    /// 5.9, alpha^x >= (2 gamma - 2)/(2 gamma - 1).
    pub fn probes(&self) -> f64 {
        if self.gamma <= 1.0 {
            return f64::INFINITY;
        }
        libm::log((2.0 * self.gamma - 2.0) / (2.0 * self.gamma - 1.0)) / libm::log(self.alpha)
    }

    /// The length of an epoch of `x` probes, s (equations 5.11 and 5.12). It is (x + 1) k packets long, as
    /// equation 5.13 has it; the sentence above equation 5.11 says (k + 1) x.
    pub fn epoch(&self, x: f64) -> f64 {
        steps(x).map(|i| self.every / self.rate(i)).sum()
    }

    /// The throughput in bit/s when an epoch lasts a round trip or longer (equations 5.2, 5.13 to 5.15). It
    /// is per epoch; the text once says per round trip.
    pub fn throughput(&self) -> f64 {
        let x = self.probes();
        if x.is_infinite() {
            return self.capacity; // equation 5.2
        }
        let x = libm::floor(x);
        (x + 1.0) * self.every * self.size / self.epoch(x)
    }

    /// The throughput in bit/s at a round-trip time of `rtt` s, which may be longer than an epoch. Then the
    /// rate climbs on until the round trip is over. The model has no limit at the capacity of the others.
    pub fn throughput_at(&self, rtt: f64) -> f64 {
        let x = self.probes();
        if x.is_infinite() || self.epoch(libm::floor(x)) >= rtt {
            return self.throughput();
        }
        let (mut left, mut packets, mut i) = (rtt, 0.0, 0.0);
        loop {
            let rate = self.rate(i);
            let step = self.every / rate;
            if step >= left {
                packets += left * rate;
                return packets * self.size / rtt;
            }
            (left, packets, i) = (left - step, packets + self.every, i + 1.0);
        }
    }

    /// The share of the capacity that one half of the flows takes at `throughput` bit/s each; 0.5 is fair.
    ///
    /// Section 5.3 prints the factor of this index as 2/2; gamma/2 and the division by C are inferred.
    pub fn fairness(&self, throughput: f64) -> f64 {
        throughput * (self.gamma / 2.0) / self.capacity
    }

    /// The rate after `x` probes with a mean jitter of `jitter` s, packets/s.
    ///
    /// Equation B.5 is printed with alpha^x in the last factor. The recurrence of B.1 to B.4 gives
    /// alpha^(x+1). The rate may be negative: the term k/(2J) is large for a *small* jitter, and no jitter is
    /// J = infinity.
    pub fn rate_with_jitter(&self, x: f64, jitter: f64) -> f64 {
        let factor = (1.0 - libm::pow(self.alpha, x + 1.0)) / (1.0 - self.alpha);
        self.rate(x) - self.every / (2.0 * jitter) * factor
    }

    /// The probes after which the rate passes the fair share with a mean jitter of `jitter` s. `None` where
    /// the jitter is so small that the rate never does.
    ///
    /// Equation B.6 follows from B.5 as it is printed. From the recurrence, the denominator has alpha k S
    /// gamma in the place of k S gamma. The text calls x the packets lost; it is the number of probes.
    pub fn probes_with_jitter(&self, jitter: f64) -> Option<f64> {
        if self.gamma <= 1.0 {
            return None;
        }
        let reach = self.capacity * jitter * (1.0 - self.alpha);
        let damping = self.every * self.size * self.gamma;
        let top = 2.0 * reach * (self.gamma - 1.0) - damping;
        let bottom = reach * (2.0 * self.gamma - 1.0) - self.alpha * damping;
        (top > 0.0 && bottom > 0.0).then(|| libm::log(top / bottom) / libm::log(self.alpha))
    }
}

/// 0, 1, ..., x rounded down.
fn steps(x: f64) -> impl Iterator<Item = f64> {
    (0..=x.max(0.0) as u64).map(|i| i as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(gamma: f64, alpha: f64) -> Model {
        Model { capacity: 2e6, gamma, size: 8000.0, alpha, every: 4.0 }
    }

    fn close(value: f64, wanted: f64, tolerance: f64) {
        assert!((value - wanted).abs() <= tolerance, "{value}, not {wanted}");
    }

    #[test]
    fn probes_until_the_fair_share_is_passed() {
        // The corrected equation 5.10 for Figure 5.3.
        let alphas = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99];
        for (gamma, wanted) in [
            (2.0, [0.585, 0.794, 1.137, 1.817, 3.848, 7.905, 40.343]),
            (4.0, [0.222, 0.302, 0.432, 0.691, 1.463, 3.005, 15.338]),
            (8.0, [0.100, 0.135, 0.193, 0.309, 0.655, 1.345, 6.865]),
            (16.0, [0.047, 0.064, 0.092, 0.147, 0.311, 0.639, 3.263]),
            (32.0, [0.023, 0.031, 0.045, 0.072, 0.152, 0.312, 1.592]),
            (64.0, [0.011, 0.015, 0.022, 0.035, 0.075, 0.154, 0.787]),
        ] {
            for (alpha, wanted) in alphas.into_iter().zip(wanted) {
                close(model(gamma, alpha).probes(), wanted, 5.1e-4);
            }
        }
        assert_eq!(model(1.0, 0.8).probes(), f64::INFINITY);
    }

    #[test]
    fn the_rate_follows_the_recurrence_and_ends_at_the_fair_share() {
        for gamma in [2.0, 3.0, 8.0, 16.0, 32.0] {
            for alpha in [0.5, 0.8, 0.9, 0.99] {
                let model = model(gamma, alpha);
                let share = model.capacity / gamma;
                let mut rate = share / (2.0 * model.size); // equation 5.3
                for x in 0..40 {
                    close(model.rate(f64::from(x)), rate, 1e-9 * rate);
                    rate = alpha * rate + (1.0 - alpha) * model.capacity / model.size; // equation 5.4
                }
                close(model.rate(model.probes()), share / model.size, 1e-9 * share);
            }
        }
    }

    #[test]
    fn epochs_of_the_published_path() {
        for (gamma, wanted) in [(2.0, 0.104), (4.0, 0.128), (6.0, 0.192), (8.0, 0.256)] {
            let model = model(gamma, 0.8);
            close(model.epoch(libm::floor(model.probes())), wanted, 5e-4);
        }
    }

    #[test]
    fn throughput_lies_between_half_the_share_and_the_share() {
        assert_eq!(model(1.0, 0.8).throughput(), 2e6);
        for gamma in [2.0, 4.0, 8.0, 64.0] {
            for alpha in [0.5, 0.8, 0.95, 0.99] {
                let model = model(gamma, alpha);
                let share = model.capacity / gamma;
                let throughput = model.throughput();
                assert!((0.5 * share - 1e-6..=share).contains(&throughput), "{gamma} {alpha}: {throughput}");
            }
        }
    }

    #[test]
    #[expect(clippy::approx_constant, reason = "0.318 is an index, not 1/pi")]
    fn fairness_at_one_two_and_three_epochs() {
        // Figure 5.4, alpha = 0.95, computed with the inferred factor.
        for (gamma, wanted) in [
            (2.0, [0.353, 0.491, 0.607]),
            (4.0, [0.353, 0.576, 0.834]),
            (6.0, [0.304, 0.503, 0.786]),
            (8.0, [0.318, 0.624, 1.101]),
            (10.0, [0.331, 0.766, 1.480]),
            (16.0, [0.250, 0.652, 1.556]),
        ] {
            let model = model(gamma, 0.95);
            let epoch = model.epoch(libm::floor(model.probes()));
            for (times, wanted) in [1.0, 2.0, 3.0].into_iter().zip(wanted) {
                close(model.fairness(model.throughput_at(times * epoch)), wanted, 1.5e-3);
            }
        }
    }

    #[test]
    fn jitter_acts_inversely() {
        let model = model(4.0, 0.9);
        close(model.probes_with_jitter(0.2).expect("above the limit"), 3.666, 5e-4);
        close(model.probes_with_jitter(1e9).expect("no jitter"), model.probes(), 1e-6);
        assert_eq!(model.probes_with_jitter(0.1066), None);
        assert!(model.probes_with_jitter(0.1068).is_some());
        // Equation B.1: negative below k S / B = 64 ms.
        assert!(model.rate_with_jitter(0.0, 0.063) < 0.0 && model.rate_with_jitter(0.0, 0.065) > 0.0);
        let mut rate = model.rate(0.0) - 10.0;
        for x in 0..5 {
            close(model.rate_with_jitter(f64::from(x), 0.2), rate, 1e-9 * rate);
            rate = 0.9 * rate + 0.1 * 250.0 - 10.0; // k/(2J) = 10/s
        }
        let x = model.probes_with_jitter(0.2).expect("above the limit");
        close(model.rate_with_jitter(x, 0.2), 62.5, 1e-9);
    }
}
