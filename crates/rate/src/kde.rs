//! A kernel density filter: the estimate follows the values that most of the last samples agree on.
//!
//! Source: S. Gaonkar, M.S. thesis, University of Illinois, 2003, section 3.2.2, equation 3.3 and Figure 3.2;
//! the width is Silverman's rule.
//!
//! What differs: all three kernel arguments of Figure 3.2 are printed with the estimate in the place of the
//! oldest, the new and the stored sample, so that the linear form would not equal equation 3.3. Here they are
//! corrected. The source removes a term under the width of today, which leaves a residue when the width has
//! changed; here each term is removed under the width it was added with. The kernel, the width and the
//! estimate are not stated, and chosen by [`Kernel`], [`Width`] and [`Estimate`]. Before n samples have
//! arrived the filter works on those there are.

/// The kernel K. Its integral is 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kernel {
    /// exp(-u^2/2) / sqrt(2 pi).
    Gaussian,
    /// 1 - |u| between -1 and 1, else 0.
    Triangular,
}

impl Kernel {
    fn at(self, u: f64) -> f64 {
        match self {
            Kernel::Gaussian => libm::exp(-0.5 * u * u) / libm::sqrt(2.0 * std::f64::consts::PI),
            Kernel::Triangular => (1.0 - u.abs()).max(0.0),
        }
    }
}

/// How densities become one estimate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Estimate {
    /// The mean of the samples, weighted by their densities.
    Weighted,
    /// The sample with the highest density; of equal ones the newest.
    Mode,
}

/// The width h of the kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Width {
    /// 1.06 sd n^(-1/5) of the samples in the window, at least 0.1 % of their mean.
    Silverman,
    /// Always the same, in the unit of the samples.
    Fixed(f64),
}

/// How densities are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Each sample adds its own terms and removes those of the oldest: n kernels per sample.
    Linear,
    /// Equation 3.3 for each sample of the window: n^2 kernels per sample.
    Quadratic,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    value: f64,
    /// The sum of K((value - X)/h)/h over the samples of the window: equation 3.3 without 1/n.
    sum: f64,
    /// The width when it came: that of its terms with all older samples.
    width: f64,
}

/// The filter.
#[derive(Clone, Debug)]
pub struct Kde {
    kernel: Kernel,
    estimate: Estimate,
    width: Width,
    form: Form,
    /// n, the length of the window.
    length: usize,
    /// Oldest first.
    window: Vec<Sample>,
    /// n^(-1/5) of the samples in the window.
    narrow: f64,
    /// The last estimate.
    value: Option<f64>,
}

impl Kde {
    /// A filter over the last `length` samples, which is at least 1.
    pub fn new(length: usize, kernel: Kernel, estimate: Estimate, width: Width, form: Form) -> Kde {
        let length = length.max(1);
        Kde {
            kernel,
            estimate,
            width,
            form,
            length,
            window: Vec::with_capacity(length),
            narrow: 1.0,
            value: None,
        }
    }

    /// Takes a sample, positive and finite, and returns the new estimate.
    pub fn add(&mut self, value: f64) -> f64 {
        let full = self.window.len() == self.length;
        if full {
            let oldest = self.window.remove(0);
            for it in &mut self.window {
                let gone = self.kernel.at((it.value - oldest.value) / it.width) / it.width;
                it.sum = (it.sum - gone).max(0.0); // rounding must not make it negative
            }
        }
        self.window.push(Sample { value, sum: 0.0, width: 0.0 });
        if !full {
            self.narrow = libm::pow(self.window.len() as f64, -0.2);
        }
        let width = self.width_now();
        if let Some(newest) = self.window.last_mut() {
            newest.width = width;
        }
        match self.form {
            Form::Linear => self.add_terms(width),
            Form::Quadratic => self.sum_all(width),
        }
        let estimate = self.estimate_now(value);
        self.value = Some(estimate);
        estimate
    }

    /// The estimate. `None` before the first sample.
    pub fn value(&self) -> Option<f64> {
        self.value
    }

    fn estimate_now(&self, newest: f64) -> f64 {
        match self.estimate {
            Estimate::Weighted => {
                let (top, bottom) = self.window.iter().fold((0.0, 0.0), |(top, bottom), it| {
                    (top + it.sum * it.value, bottom + it.sum) // the factor 1/n cancels
                });
                if bottom > 0.0 { top / bottom } else { newest }
            }
            Estimate::Mode => {
                self.window
                    .iter()
                    .fold(self.window[0], |best, &it| if it.sum >= best.sum { it } else { best })
                    .value
            }
        }
    }

    /// The densities at the samples, oldest first (equation 3.3).
    pub fn densities(&self) -> impl Iterator<Item = f64> + '_ {
        let n = self.window.len() as f64;
        self.window.iter().map(move |it| it.sum / n)
    }

    fn width_now(&self) -> f64 {
        let n = self.window.len() as f64;
        let mean = self.window.iter().map(|it| it.value).sum::<f64>() / n;
        match self.width {
            Width::Fixed(width) => width,
            Width::Silverman => {
                let variance =
                    self.window.iter().map(|it| (it.value - mean) * (it.value - mean)).sum::<f64>() / n;
                (1.06 * libm::sqrt(variance) * self.narrow).max(1e-3 * mean)
            }
        }
    }

    /// Adds the terms of the newest sample.
    fn add_terms(&mut self, width: f64) {
        let Some((newest, older)) = self.window.split_last_mut() else { return };
        newest.sum = self.kernel.at(0.0) / width;
        for it in older {
            let term = self.kernel.at((it.value - newest.value) / width) / width;
            it.sum += term;
            newest.sum += term;
        }
    }

    fn sum_all(&mut self, width: f64) {
        for at in 0..self.window.len() {
            let here = self.window[at].value;
            let terms = self.window.iter().map(|it| self.kernel.at((here - it.value) / width) / width);
            self.window[at].sum = terms.sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kde(estimate: Estimate, width: Width, form: Form) -> Kde {
        Kde::new(3, Kernel::Triangular, estimate, width, form)
    }

    #[test]
    fn densities_and_estimates_of_three_samples() {
        for form in [Form::Linear, Form::Quadratic] {
            let mut filter = kde(Estimate::Weighted, Width::Fixed(2.0), form);
            assert_eq!(filter.value(), None);
            assert_eq!(filter.add(10.0), 10.0);
            assert_eq!(filter.add(11.0), 10.5);
            // K(0) = 1, K(1/2) = 1/2, and 20 is alone.
            assert_eq!(filter.add(20.0), (1.5 * 10.0 + 1.5 * 11.0 + 20.0) / 4.0);
            let densities: Vec<f64> = filter.densities().collect();
            assert_eq!(densities, [1.5 / 6.0, 1.5 / 6.0, 1.0 / 6.0]);
            filter.add(20.0); // 10 leaves
            assert_eq!(filter.densities().collect::<Vec<_>>(), [1.0 / 6.0, 2.0 / 6.0, 2.0 / 6.0]);
        }
    }

    #[test]
    fn the_mode_is_the_sample_that_others_are_near() {
        let mut filter = kde(Estimate::Mode, Width::Fixed(2.0), Form::Linear);
        let seen: Vec<f64> = [11.0, 50.0, 11.0, 2.0, 2.0].into_iter().map(|it| filter.add(it)).collect();
        assert_eq!(seen, [11.0, 50.0, 11.0, 2.0, 2.0]);
    }

    #[test]
    fn a_spurious_sample_moves_the_filter_less_than_the_mean() {
        let mut filter = Kde::new(8, Kernel::Gaussian, Estimate::Weighted, Width::Silverman, Form::Linear);
        for sample in [2.0, 2.01, 1.99, 2.0, 2.02, 1.98, 2.0] {
            filter.add(sample);
        }
        let mean = (14.0 + 40.0) / 8.0;
        let estimate = filter.add(40.0);
        assert!(estimate < 0.75 * mean && estimate > 2.0, "{estimate}");
    }

    #[test]
    fn equal_samples_have_a_width() {
        let mut filter = Kde::new(8, Kernel::Gaussian, Estimate::Weighted, Width::Silverman, Form::Linear);
        for _ in 0..20 {
            assert!((filter.add(2e6) - 2e6).abs() < 1e-3);
        }
    }

    fn kernels() -> impl Strategy<Value = Kernel> {
        prop_oneof![Just(Kernel::Gaussian), Just(Kernel::Triangular)]
    }

    proptest! {
        #[test]
        fn linear_equals_quadratic_at_a_fixed_width(
            kernel in kernels(), length in 1_usize..12, width in 0.1..5.0,
            samples in proptest::collection::vec(1.0..20.0, 1..60),
        ) {
            let of = |form| Kde::new(length, kernel, Estimate::Weighted, Width::Fixed(width), form);
            let (mut linear, mut quadratic) = (of(Form::Linear), of(Form::Quadratic));
            for sample in samples {
                let (one, other) = (linear.add(sample), quadratic.add(sample));
                prop_assert!((one - other).abs() < 1e-9 * other, "{one} {other}");
                for (one, other) in linear.densities().zip(quadratic.densities()) {
                    prop_assert!((one - other).abs() < 1e-9, "{one} {other}");
                }
            }
        }

        #[test]
        fn an_estimate_lies_among_the_samples_of_the_window(
            kernel in kernels(), samples in proptest::collection::vec(1e3..1e10, 1..60),
        ) {
            for (estimate, form) in [(Estimate::Weighted, Form::Linear), (Estimate::Mode, Form::Linear),
                (Estimate::Weighted, Form::Quadratic)]
            {
                let mut filter = Kde::new(8, kernel, estimate, Width::Silverman, form);
                for (at, &sample) in samples.iter().enumerate() {
                    let value = filter.add(sample);
                    let window = &samples[(at + 1).saturating_sub(8)..=at];
                    let least = window.iter().copied().fold(f64::INFINITY, f64::min);
                    let most = window.iter().copied().fold(0.0, f64::max);
                    prop_assert!(value >= least * (1.0 - 1e-9) && value <= most * (1.0 + 1e-9));
                    prop_assert!(filter.densities().all(|it| it >= 0.0 && it.is_finite()));
                }
            }
        }
    }
}
