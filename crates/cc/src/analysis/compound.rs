//! The model of Compound TCP: the loss-free period of Tan et al. 2006, section IV.A.
//!
//! The model follows the window of one flow between two losses (figure 4). From D, just after a loss, the
//! window grows with its own power k, until at E gamma segments are queued. From E to F it stays at W_0,
//! while the loss window replaces dwnd. From F to G it grows like Reno up to W_m, where it loses the share
//! beta.

pub use crate::compound::{backlog, peak, response};

/// The path and the constants of a period.
#[derive(Clone, Copy, Debug)]
pub struct Period {
    /// The growth of the delay part.
    pub alpha: f64,
    /// The decrease on loss, as a share of the window. Equation 10 needs dwnd = 0 at the loss, and is exact
    /// for 1/2.
    pub beta: f64,
    /// The backlog that counts as a queue, segments.
    pub gamma: f64,
    /// The exponent of the growth.
    pub k: f64,
    /// The average round-trip time, seconds.
    pub rtt_s: f64,
    /// The round-trip time without a queue, seconds; at most `rtt_s`.
    pub base_rtt_s: f64,
}

/// The phase of the period in which the loss occurs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Regime {
    /// Before E: there is no queue (equations 15 to 17).
    LossLimited,
    /// Between E and F, on the plateau. The paper has no equation for it.
    Plateau,
    /// After F (equation 14).
    WellBuffered,
    /// A reduction stays above W_0: the delay part is never active.
    Reno,
}

/// A period solved for a loss rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Solved {
    /// The phase in which the loss occurs.
    pub regime: Regime,
    /// W_m, the window just before the loss, segments.
    pub peak: f64,
    /// The length of the period, seconds.
    pub seconds: f64,
    /// The segments sent in the period: 1 / p.
    pub segments: f64,
}

impl Solved {
    /// Lambda, segments per second: (1 / p) / (T_DE + T_EF + T_FG).
    ///
    /// Equation 14 as printed divides by R once more, although its times are already in seconds.
    pub fn throughput(&self) -> f64 {
        self.segments / self.seconds
    }
}

impl Period {
    /// The paper's constants on a path with these round-trip times, seconds.
    pub fn with_defaults(rtt_s: f64, base_rtt_s: f64) -> Period {
        Period { alpha: 0.125, beta: 0.5, gamma: 30.0, k: 0.75, rtt_s, base_rtt_s }
    }

    /// W_0, segments: the window on the plateau, gamma R / (R - base) (equation 6). Infinite without a queue.
    pub fn w_0(&self) -> f64 {
        self.gamma * self.rtt_s / (self.rtt_s - self.base_rtt_s)
    }

    /// T_DE, seconds: the time up to a window of `to` segments in a period with peak `w_m` (equation 8).
    ///
    /// Equation 7 lacks its constant of integration. A difference like this one does not need it.
    pub fn t_de(&self, to: f64, w_m: f64) -> f64 {
        let e = 1.0 - self.k;
        self.rtt_s / (self.alpha * e) * (libm::pow(to, e) - libm::pow((1.0 - self.beta) * w_m, e))
    }

    /// N_DE: the segments sent in T_DE (equation 9).
    pub fn n_de(&self, to: f64, w_m: f64) -> f64 {
        let e = 2.0 - self.k;
        (libm::pow(to, e) - libm::pow((1.0 - self.beta) * w_m, e)) / (self.alpha * e)
    }

    /// T_EF, seconds: the rest of the time that the loss window needs to reach W_0 (equation 10, where T_FD
    /// means T_DF).
    pub fn t_ef(&self, w_m: f64) -> f64 {
        let w_0 = self.w_0();
        ((w_0 - (1.0 - self.beta) * w_m) * self.rtt_s - self.t_de(w_0, w_m)).max(0.0)
    }

    /// N_EF, segments: W_0 T_EF / R. Equation 11 omits R, although T_EF is in seconds.
    pub fn n_ef(&self, w_m: f64) -> f64 {
        self.w_0() * self.t_ef(w_m) / self.rtt_s
    }

    /// T_FG, seconds: the growth from W_0 to W_m (equation 12).
    pub fn t_fg(&self, w_m: f64) -> f64 {
        (w_m - self.w_0()) * self.rtt_s
    }

    /// N_FG: the segments sent in T_FG (equation 13).
    pub fn n_fg(&self, w_m: f64) -> f64 {
        let w_0 = self.w_0();
        (w_m * w_m - w_0 * w_0) / 2.0
    }

    /// Y: the segments of a well-buffered period with peak `w_m` between W_0 and W_0 / (1 - beta) (equation
    /// 14).
    pub fn segments(&self, w_m: f64) -> f64 {
        self.n_de(self.w_0(), w_m) + self.n_ef(w_m) + self.n_fg(w_m)
    }

    /// The period at loss rate `p`.
    ///
    /// Equation 14 holds only for (1 - beta) W_m <= W_0 <= W_m. At W_m = W_0, Y jumps by the segments of the
    /// plateau. A loss rate inside that jump ends the period on the plateau. Above W_0 / (1 - beta) the flow
    /// behaves like Reno.
    pub fn solve(&self, p: f64) -> Solved {
        let (segments, w_0) = (1.0 / p, self.w_0());
        let free = peak(self.alpha, self.beta, self.k, p); // equation 16
        if free <= w_0 {
            let seconds = self.t_de(free, free);
            return Solved { regime: Regime::LossLimited, peak: free, seconds, segments };
        }
        let before_e = self.n_de(w_0, w_0);
        if segments <= before_e + self.n_ef(w_0) {
            let seconds = self.t_de(w_0, w_0) + (segments - before_e) * self.rtt_s / w_0;
            return Solved { regime: Regime::Plateau, peak: w_0, seconds, segments };
        }
        let kept = 1.0 - self.beta;
        let last = w_0 / kept;
        if segments > self.n_fg(last) {
            let peak = libm::sqrt(2.0 * segments / (1.0 - kept * kept));
            return Solved { regime: Regime::Reno, peak, seconds: self.beta * peak * self.rtt_s, segments };
        }
        let (mut low, mut high) = (w_0, last);
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if self.segments(middle) < segments {
                low = middle;
            } else {
                high = middle;
            }
        }
        let seconds = self.t_de(w_0, high) + self.t_ef(high) + self.t_fg(high);
        Solved { regime: Regime::WellBuffered, peak: high, seconds, segments }
    }
}

/// lowwnd before rounding up, segments: the window from which the delay part adds at least one segment per
/// round, (2 / alpha)^(1/k) (section V).
///
/// ```
/// let lowwnd = ackclock_cc::analysis::compound::low_window(0.125, 0.75);
/// assert!((lowwnd - 40.317).abs() < 1e-3); // 41
/// ```
pub fn low_window(alpha: f64, k: f64) -> f64 {
    libm::pow(2.0 / alpha, 1.0 / k)
}

/// The exponent k for which the response function has the slope -`slope`: 2 - 1 / slope (section IV.A).
///
/// ```
/// let k = ackclock_cc::analysis::compound::exponent_for_slope(0.833);
/// assert!((k - 0.7995).abs() < 5e-5); // about 0.8; the paper takes 3/4, which needs square roots only
/// ```
pub fn exponent_for_slope(slope: f64) -> f64 {
    2.0 - 1.0 / slope
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_queue_it_is_the_response_function() {
        let period = Period::with_defaults(0.1, 0.1);
        assert_eq!(period.w_0(), f64::INFINITY);
        let solved = period.solve(1e-5);
        assert_eq!(solved.regime, Regime::LossLimited);
        // Equation 17, line 1: 25,528 segments per second; line 2 as printed would be 284 times that.
        assert!((solved.throughput() - 25_528.0).abs() < 2.0, "{}", solved.throughput());
        assert!((solved.throughput() * 0.1 / response(0.125, 0.5, 0.75, 1e-5) - 1.0).abs() < 1e-12);
        let printed = 1.0 / (libm::pow(0.125, 1.25) * (1.0 - libm::pow(0.5, 0.25)))
            * libm::pow((1.0 - libm::pow(0.5, 1.25)) / 1.25, 0.2);
        assert!((printed - 72.5).abs() < 0.05, "{printed}");
        assert!((printed / 0.25528 - 284.0).abs() < 0.5);
    }

    #[test]
    fn the_window_of_equation_6_has_gamma_segments_queued() {
        let period = Period::with_defaults(0.11, 0.1);
        assert!((period.w_0() - 330.0).abs() < 1e-9);
        assert!((backlog(period.w_0(), 0.1, 0.11) - 30.0).abs() < 1e-9);
    }

    #[test]
    fn equations_8_and_9_are_the_integrals_of_equation_3() {
        let period = Period::with_defaults(0.1, 0.09);
        let (mut w, mut t, mut n) = (100.0, 0.0, 0.0);
        let dt = 1e-5;
        while w < 200.0 {
            let growth = 0.125 * libm::pow(w, 0.75) / 0.1; // dW/dt
            n += (w + 0.5 * growth * dt) / 0.1 * dt;
            w += growth * dt;
            t += dt;
        }
        assert!((period.t_de(200.0, 200.0) / t - 1.0).abs() < 1e-3);
        assert!((period.n_de(200.0, 200.0) / n - 1.0).abs() < 1e-3);
    }

    #[test]
    fn every_regime_follows_the_one_before_it_without_a_gap() {
        let period = Period::with_defaults(0.11, 0.1);
        let mut last: Option<Solved> = None;
        let mut seen = Vec::new();
        for step in 0..4000 {
            let p = libm::pow(10.0, -3.0 - f64::from(step) * 0.001);
            let solved = period.solve(p);
            if let Some(last) = last {
                assert!(solved.peak >= last.peak - 1e-9 && solved.seconds >= last.seconds, "{p}: {solved:?}");
                assert!((solved.seconds / last.seconds - 1.0).abs() < 0.01, "{p}: {solved:?} after {last:?}");
            }
            if seen.last() != Some(&solved.regime) {
                seen.push(solved.regime);
            }
            last = Some(solved);
        }
        assert_eq!(seen, [Regime::LossLimited, Regime::Plateau, Regime::WellBuffered, Regime::Reno]);
    }

    #[test]
    fn the_parts_of_a_well_buffered_period_make_it_up() {
        let period = Period::with_defaults(0.11, 0.1);
        let p = 1.0 / period.segments(500.0);
        let solved = period.solve(p);
        assert_eq!(solved.regime, Regime::WellBuffered);
        assert!((solved.peak - 500.0).abs() < 1e-6);
        // The loss window alone needs W_m / 2 round trips (figure 4).
        assert!((solved.seconds - 250.0 * 0.11).abs() < 1e-6);
    }
}
