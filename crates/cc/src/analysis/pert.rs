//! The formulas of PERT: Bhandarkar 2006, chapter IV.

use crate::pert::red_curve;

/// The probability of an early response to an acknowledgement (Figure 42, with its thresholds). `delay_s` is
/// the smoothed queueing delay in seconds, `rtt_min_s` the smallest round-trip time in seconds. `literal`:
/// true if the second ramp ends at 2 * maxthresh with that round-trip time included, false if it ends at
/// twice the queueing delay.
///
/// ```
/// use ackclock_cc::analysis::pert::response_probability;
/// assert!((response_probability(0.060, 0.010, false) - 0.05).abs() < 1e-12);
/// assert_eq!(response_probability(0.060, 0.020, false), 1.0);
/// assert!(response_probability(0.060, 0.020, true) < 0.2);
/// ```
pub fn response_probability(rtt_min_s: f64, delay_s: f64, literal: bool) -> f64 {
    red_curve(literal, rtt_min_s, delay_s)
}

/// The buffer that an early decrease by the share `f` needs, as a multiple of the bandwidth-delay product: f
/// / (1 - f) (IV.B).
pub fn buffer_for_decrease(f: f64) -> f64 {
    f / (1.0 - f)
}
