//! The formulas of Layered TCP: Bhandarkar 2006, chapter III.

pub use crate::layered::{
    compensation, layer_at, peak, response, response_variable, step, threshold, variable_beta,
};

/// One row of Table I or Table X.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Row {
    /// K, the layer.
    pub layer: u32,
    /// W_K, the window at which the layer begins, segments.
    pub threshold: f64,
    /// The share of the window that a loss takes in this layer.
    pub beta: f64,
    /// The speedup over TCP in claiming bandwidth up to W_K; none in layer 1.
    pub claim: Option<f64>,
    /// The speedup over TCP in recovering from a loss; none in layer 1.
    pub recovery: Option<f64>,
}

/// Row `k` of Table I: `w_t` segments, fixed `beta`, K_R = 1, whole layers.
///
/// In layer 2 the table prints a recovery speedup of 1.00, although its formula gives 1 / (2 beta) = 3.33.
/// This function returns the printed value; [`recovery_speedup`] is the formula. Table X follows the formula
/// in that row.
pub fn table_1(w_t: f64, beta: f64, k: u32) -> Row {
    let recovery = match k {
        0 | 1 => None,
        2 => Some(1.0),
        _ => Some(recovery_speedup(k, beta)),
    };
    row(w_t, beta, k, recovery)
}

/// Row `k` of Table X: `w_t` segments, beta_K = 1 / (K + 1), K_R = 1, whole layers.
pub fn table_10(w_t: f64, k: u32) -> Row {
    let beta = variable_beta(f64::from(k));
    row(w_t, beta, k, (k > 1).then(|| recovery_speedup(k, beta)))
}

fn row(w_t: f64, beta: f64, k: u32, recovery: Option<f64>) -> Row {
    Row { layer: k, threshold: threshold(w_t, f64::from(k)), beta, claim: claim_speedup(k), recovery }
}

/// The speedup over TCP from W_T to W_K: (W_K - W_T) / ((K - 2) (K + 3) / 4 * W_T). W_T cancels. Layer 2 is
/// 0/0, printed as 1.00; layer 1 has none.
///
/// This is equation 3.15 without T(delta_1), the time to W_T, on both sides. With that term the rows of the
/// tables come out differently (1.60 instead of 2.00 in layer 3).
pub fn claim_speedup(k: u32) -> Option<f64> {
    let k_f = f64::from(k);
    match k {
        0 | 1 => None,
        2 => Some(1.0),
        _ => Some((threshold(1.0, k_f) - 1.0) / claim_rounds(1.0, k_f)),
    }
}

/// The round trips from W_T to W_K with K_R = 1 and whole layers: (K - 2) (K + 3) / 4 * W_T (equation 3.15).
pub fn claim_rounds(w_t: f64, k: f64) -> f64 {
    (k - 2.0) * (k + 3.0) / 4.0 * w_t
}

/// The speedup over TCP in recovering from a loss in layer `k`: beta W / (K - 1) round trips instead of W /
/// 2. That is (K - 1) / (2 beta) (section III.A.3.b).
pub fn recovery_speedup(k: u32, beta: f64) -> f64 {
    (f64::from(k) - 1.0) / (2.0 * beta)
}

/// The largest decrease with which a loss in layer `k` costs at most one layer: 3 / (K + 1) (equation 3.14).
pub fn beta_bound(k: f64) -> f64 {
    3.0 / (k + 1.0)
}

/// The segments sent between two losses: beta W^2 (1 - beta/2) / (K_R K'), for a peak window `w` and the
/// layer `k` after the reduction (equation 3.16).
pub fn segments_between_losses(w: f64, beta: f64, k_r: f64, k: f64) -> f64 {
    beta * w * w / (k_r * k) * (1.0 - beta / 2.0)
}

/// C of the response function C (K_R / p)^(3/5), according to equations 3.17 and 3.19: 1.980 with the
/// source's values.
pub fn response_constant(w_t: f64, beta: f64) -> f64 {
    response(w_t, beta, 1.0, 1.0)
}

/// C as equation 3.20 prints it, with beta (1 - beta) in the denominator: 2.083 with the source's values, 5.2
/// % more.
pub fn response_constant_printed(w_t: f64, beta: f64) -> f64 {
    libm::pow(6.0 / w_t, 0.2) * (1.0 - beta / 2.0) / libm::pow(beta * (1.0 - beta), 0.6)
}

/// The exponent e of the throughput ratio (RTT2 / RTT1)^e of two flows with synchronised losses and K_R ~
/// RTT^`alpha`: 5/2 - 3 alpha / 2 (equation 3.27).
///
/// The text says that throughput is independent of the RTT for alpha = 1. Its own equation gives an exponent
/// of 1 there.
///
/// ```
/// use ackclock_cc::analysis::layered::rtt_unfairness;
/// assert_eq!([0.0, 1.0 / 3.0, 0.5, 1.0].map(rtt_unfairness), [2.5, 2.0, 1.75, 1.0]);
/// ```
pub fn rtt_unfairness(alpha: f64) -> f64 {
    2.5 - 1.5 * alpha
}

/// The throughput ratio of flow 1 to flow 2 with synchronised losses (equation 3.27, for loss rates far below
/// one).
pub fn throughput_ratio(rtt1_s: f64, k_r1: f64, rtt2_s: f64, k_r2: f64) -> f64 {
    libm::pow(rtt2_s / rtt1_s, 2.5) * libm::pow(k_r1 / k_r2, 1.5)
}

/// The bound on the exponent of RTT compensation. Below it, a flow in layer `k` after its reduction converges
/// with a flow whose RTT is `rtt_ratio` times shorter: 1 + ln(1 + 1/K') / ln(ratio) (equation 3.28, which has
/// a ratio of 10 and concludes alpha <= 1).
///
/// ```
/// let bound = ackclock_cc::analysis::layered::exponent_bound(13.0, 10.0);
/// assert_eq!((bound * 1000.0).round(), 1032.0);
/// ```
pub fn exponent_bound(k: f64, rtt_ratio: f64) -> f64 {
    1.0 + libm::log1p(1.0 / k) / libm::log(rtt_ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_decimals(number: Option<f64>) -> String {
        number.map_or("-".to_owned(), |number| format!("{number:.2}"))
    }

    #[test]
    fn table_i() {
        let printed = "1 0 - -\n2 50 1.00 1.00\n3 200 2.00 6.67\n4 500 2.57 10.00\n5 1000 3.17 13.33\n\
            6 1750 3.78 16.67\n7 2800 4.40 20.00\n8 4200 5.03 23.33\n9 6000 5.67 26.67\n10 8250 6.31 30.00\n\
            11 11000 6.95 33.33\n12 14300 7.60 36.67\n13 18200 8.25 40.00\n14 22750 8.90 43.33\n\
            15 28000 9.56 46.67\n16 34000 10.21 50.00\n17 40800 10.87 53.33\n18 48450 11.52 56.67\n\
            19 57000 12.18 60.00\n20 66500 12.84 63.33";
        for (at, line) in printed.lines().enumerate() {
            let row = table_1(50.0, 0.15, at as u32 + 1);
            let (claim, recovery) = (two_decimals(row.claim), two_decimals(row.recovery));
            assert_eq!(line.trim(), format!("{} {} {claim} {recovery}", row.layer, row.threshold));
        }
        assert_eq!(two_decimals(Some(recovery_speedup(2, 0.15))), "3.33"); // where the table has 1.00
    }

    #[test]
    fn table_x() {
        let printed = "1 0 0.5000 - -\n2 50 0.3333 1.00 1.50\n3 200 0.2500 2.00 4.00\n4 500 0.2000 2.57 7.50\n\
            5 1000 0.1667 3.17 12.00\n6 1750 0.1429 3.78 17.50\n7 2800 0.1250 4.40 24.00\n\
            8 4200 0.1111 5.03 31.50\n9 6000 0.1000 5.67 40.00\n10 8250 0.0909 6.31 49.50\n\
            11 11000 0.0833 6.95 60.00\n12 14300 0.0769 7.60 71.50\n13 18200 0.0714 8.25 84.00\n\
            14 22750 0.0667 8.90 97.50\n15 28000 0.0625 9.56 112.00\n16 34000 0.0588 10.21 127.50\n\
            17 40800 0.0556 10.87 144.00\n18 48450 0.0526 11.52 161.50\n19 57000 0.0500 12.18 180.00\n\
            20 66500 0.0476 12.84 199.50\n21 77000 0.0455 13.50 220.00\n22 88550 0.0435 14.16 241.50\n\
            23 101200 0.0417 14.82 264.00\n24 115000 0.0400 15.48 287.50\n25 130000 0.0385 16.14 312.00";
        for (at, line) in printed.lines().enumerate() {
            let row = table_10(50.0, at as u32 + 1);
            let (claim, recovery) = (two_decimals(row.claim), two_decimals(row.recovery));
            let here = format!("{} {} {:.4} {claim} {recovery}", row.layer, row.threshold, row.beta);
            assert_eq!(line.trim(), here);
        }
    }

    #[test]
    fn the_bound_on_beta_is_met_up_to_layer_18() {
        assert!(beta_bound(18.0) > 0.15);
        assert_eq!(beta_bound(19.0), 0.15);
        assert!(beta_bound(20.0) < 0.15);
    }

    #[test]
    fn the_response_function_derived_and_printed() {
        assert!((response_constant(50.0, 0.15) - 1.9799).abs() < 5e-5);
        assert!((response_constant_printed(50.0, 0.15) - 2.0829).abs() < 5e-5);
        // Figure 28.
        let printed = [(1e-3, 125.0), (1e-4, 497.0), (1e-5, 1980.0), (1e-6, 7882.0), (1e-7, 31379.0)];
        for (p, w) in printed {
            assert!((response(50.0, 0.15, 1.0, p) / w - 1.0).abs() < 5e-3, "{p}");
        }
        assert!((response(50.0, 0.15, 1.0, 1e-8) - 124_922.0).abs() < 1.0);
    }

    #[test]
    fn a_period_at_the_peak_of_equation_3_19_holds_one_loss() {
        let w = peak(50.0, 0.15, 2.4, 1e-6);
        let k = libm::cbrt(6.0 * w / 50.0);
        assert!((segments_between_losses(w, 0.15, 2.4, k) / 1e6 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_variable_response_tends_to_its_limit() {
        let limit = |p: f64| libm::sqrt(6.0 / 50.0) * libm::pow(1.0 / p, 0.75);
        assert!((response_variable(50.0, 1.0, 1e-16) / limit(1e-16) - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_ratio_of_round_trip_times() {
        // K_R ~ RTT^(1/3): the square of the ratio, as for TCP.
        let k_r = |rtt_s: f64| compensation(rtt_s, 0.008, 1.0 / 3.0);
        let ratio = throughput_ratio(0.04, k_r(0.04), 0.12, k_r(0.12));
        assert!((ratio - 9.0).abs() < 1e-9);
    }
}
