//! Bandwidth estimators, driven by the same trace of packet pairs.
//!
//! Source: S. Gaonkar, M.S. thesis, University of Illinois, 2003, section 4.1, Figures 4.2 and 4.3: a pair
//! every 30 ms over a radio channel of 11 Mbit/s that has 2 Mbit/s between 2 s and 4 s.
//!
//! What differs: the source measured one trace, which is not published. Here traces are synthesised. A pair's
//! gap is S/C, C the channel's rate at that time, times 1 plus normal noise. Two errors of section 3.2.1 make
//! values spurious: in a share of the pairs a foreign packet of up to the same size came between the two (the
//! gap grows), and another share queued again behind the channel (the gap shrinks to between a quarter and
//! all of it). A sample is S/gap. How often that happens is not stated; the defaults of [`Pairs`] are ours.

use ackclock_net::Rng;
use ackclock_rate::ewma::Ewma;
use ackclock_rate::kde::{Estimate, Form, Kde, Kernel, Width};
use std::collections::VecDeque;

/// The channel's rate outside of the drop, bit/s.
const FAST: f64 = 11e6;
/// The channel's rate in the drop, bit/s.
const SLOW: f64 = 2e6;
/// The time of the drop, s.
const DROP: std::ops::Range<f64> = 2.0..4.0;
/// The length of a trace, s.
const END: f64 = 5.0;
/// The time from one pair to the next, s.
const EVERY: f64 = 0.03;

/// The channel's rate at `at` s, bit/s.
pub fn channel(at: f64) -> f64 {
    if DROP.contains(&at) { SLOW } else { FAST }
}

/// How far measured gaps are from true ones.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pairs {
    /// The standard deviation of the gap, as a share of it.
    pub noise: f64,
    /// The share of the pairs with a foreign packet between the two.
    pub expanded: f64,
    /// The share of the pairs that queued again behind the channel.
    pub compressed: f64,
}

impl Default for Pairs {
    fn default() -> Pairs {
        Pairs { noise: 0.05, expanded: 0.1, compressed: 0.1 }
    }
}

impl Pairs {
    /// The samples of one trace: times in s, rates in bit/s.
    pub fn trace(&self, seed: u64) -> Vec<(f64, f64)> {
        let mut draws = Rng::new(seed, "packet pairs");
        let count = (END / EVERY).floor() as u64;
        (1..=count)
            .map(|number| {
                let at = number as f64 * EVERY;
                let noisy = (1.0 + self.noise * draws.normal()).max(0.1);
                let (kind, size) = (draws.uniform(), draws.uniform());
                let gap = if kind < self.expanded {
                    noisy + size
                } else if kind < self.expanded + self.compressed {
                    noisy * (0.25 + 0.75 * size)
                } else {
                    noisy
                };
                (at, channel(at) / gap)
            })
            .collect()
    }
}

/// What turns samples into an estimate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Estimator {
    /// Nothing: the estimate is the last sample.
    Samples,
    /// [`Ewma`] with this weight of the old value.
    Ewma(f64),
    /// [`Kde`] over so many samples.
    Kde(usize, Estimate, Width, Form),
    /// Figure 3.2 as it is printed, over so many samples.
    Printed(usize),
}

impl Estimator {
    /// The estimates after each sample of `trace`.
    pub fn follow(self, trace: &[(f64, f64)]) -> Vec<f64> {
        let samples = trace.iter().map(|&(_, sample)| sample);
        match self {
            Estimator::Samples => samples.collect(),
            Estimator::Ewma(alpha) => {
                let mut average = Ewma::new(alpha);
                samples.map(|sample| average.add(sample)).collect()
            }
            Estimator::Kde(n, estimate, width, form) => {
                let mut filter = Kde::new(n, Kernel::Gaussian, estimate, width, form);
                samples.map(|sample| filter.add(sample)).collect()
            }
            Estimator::Printed(n) => {
                let mut filter = Printed { length: n.max(1), ..Printed::default() };
                samples.map(|sample| filter.add(sample)).collect()
            }
        }
    }
}

/// Figure 3.2 as it is printed: all three kernel arguments are a distance from the last estimate. The width
/// is that of [`Width::Silverman`], the estimate the weighted mean, as in [`Kde`].
#[derive(Default)]
struct Printed {
    length: usize,
    /// Samples and their densities, oldest first.
    window: VecDeque<(f64, f64)>,
    estimate: f64,
    width: f64,
}

impl Printed {
    fn add(&mut self, new: f64) -> f64 {
        let (n, estimate, width) = (self.length as f64, self.estimate, self.width);
        let term = |sample: f64| gaussian((estimate - sample) / width) / (n * width);
        let full = self.window.len() == self.length;
        if full {
            for (sample, density) in self.window.iter_mut().skip(1) {
                *density += term(new) - term(*sample);
            }
            self.window.pop_front();
            let own = term(new) + self.window.iter().map(|&(sample, _)| term(sample)).sum::<f64>();
            self.window.push_back((new, own));
        } else {
            self.window.push_back((new, 0.0));
        }
        self.width = self.silverman();
        if !full {
            self.set_densities(); // how the window fills is not described
        }
        let sums = self.window.iter().map(|(sample, density)| (density * sample, *density));
        let (top, bottom) = sums.fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        self.estimate = top / bottom;
        self.estimate
    }

    /// Equation 3.3 for each sample.
    fn set_densities(&mut self) {
        let scale = self.length as f64 * self.width;
        for at in 0..self.window.len() {
            let here = self.window[at].0;
            let terms = self.window.iter().map(|(sample, _)| gaussian((here - sample) / self.width) / scale);
            self.window[at].1 = terms.sum();
        }
    }

    fn silverman(&self) -> f64 {
        let n = self.window.len() as f64;
        let mean = self.window.iter().map(|(sample, _)| sample).sum::<f64>() / n;
        let squares = self.window.iter().map(|(sample, _)| (sample - mean) * (sample - mean));
        (1.06 * libm::sqrt(squares.sum::<f64>() / n) * libm::pow(n, -0.2)).max(1e-3 * mean)
    }
}

fn gaussian(u: f64) -> f64 {
    libm::exp(-0.5 * u * u) / libm::sqrt(2.0 * std::f64::consts::PI)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: Pairs = Pairs { noise: 0.0, expanded: 0.0, compressed: 0.0 };

    #[test]
    fn without_errors_samples_are_the_channels_rate() {
        let trace = CLEAN.trace(1);
        assert_eq!(trace.len(), 166);
        let close = |(at, sample): &(f64, f64)| (sample - channel(*at)).abs() < 1.0;
        assert!(trace.iter().all(close));
        assert_eq!(trace.iter().filter(|(_, sample)| *sample < 3e6).count(), 67); // 2.01 s to 3.99 s
        assert_eq!(CLEAN.trace(1), CLEAN.trace(2));
    }

    #[test]
    fn errors_lengthen_or_shorten_gaps_within_their_bounds() {
        let expanded = Pairs { expanded: 1.0, ..CLEAN }.trace(3);
        assert!(expanded.iter().all(|&(at, it)| it <= channel(at) && it > channel(at) / 2.0));
        let compressed = Pairs { compressed: 1.0, ..CLEAN }.trace(3);
        assert!(compressed.iter().all(|&(at, it)| it >= channel(at) && it <= 4.0 * channel(at)));
        assert_ne!(Pairs::default().trace(1), Pairs::default().trace(2));
    }

    #[test]
    fn estimators_follow_a_step() {
        let trace: Vec<(f64, f64)> = [11.0, 2.0, 2.0].map(|sample| (0.0, sample)).into();
        assert_eq!(Estimator::Samples.follow(&trace), [11.0, 2.0, 2.0]);
        assert_eq!(Estimator::Ewma(0.5).follow(&trace), [11.0, 6.5, 4.25]);
        let mode = Estimator::Kde(2, Estimate::Mode, Width::Silverman, Form::Quadratic);
        assert_eq!(mode.follow(&trace), [11.0, 2.0, 2.0]);
    }

    #[test]
    fn the_printed_filter_weighs_all_but_the_newest_by_the_same_differences() {
        // The window is full with 1 and 3: estimate 2, width 1.06 * 2^-0.2. As printed, 1 leaves, 3 loses
        // its own distance from the estimate and gains that of 2; 2 gets the sum over the window.
        let trace: Vec<(f64, f64)> = [1.0, 3.0, 2.0].map(|sample| (0.0, sample)).into();
        let width = 1.06 * 2_f64.powf(-0.2);
        let at = |distance: f64| gaussian(distance / width) / (2.0 * width);
        let (three, two) = (at(0.0) + at(2.0) + at(0.0) - at(1.0), at(0.0) + at(1.0));
        let wanted = (3.0 * three + 2.0 * two) / (three + two);
        let seen = Estimator::Printed(2).follow(&trace);
        assert_eq!(seen[..2], [1.0, 2.0]);
        assert!((seen[2] - wanted).abs() < 1e-12, "{} {wanted}", seen[2]);
    }
}
