//! Formulas of the published analyses: response functions, tables, fairness, and numbers that papers quote.
//! All are pure functions. Windows are in segments, times in seconds, rates in bit/s.
//!
//! Each formula is defined once. If a controller uses it, it is in the controller's file, and this module
//! exports it.

pub mod compound;
pub mod layered;
pub mod pert;
pub mod pipe;

pub use crate::highspeed::Law as HighSpeedLaw;
pub use crate::scalable::response as scalable_window;

use crate::reno;

/// The average window of Reno, segments, at loss rate `p`: sqrt(3 / (2 p)), the square-root law (Tan et al.
/// 2006, equation 1, printed with 1.22).
///
/// ```
/// let w = ackclock_cc::analysis::reno_window(1e-4);
/// assert_eq!((w * 10.0).round(), 1225.0);
/// ```
pub fn reno_window(p: f64) -> f64 {
    reno::response(1.0, 0.5, p)
}

/// The loss rate at which Reno's average window is `window` segments: the square-root law inverted.
pub fn reno_loss_rate(window: f64) -> f64 {
    1.5 / (window * window)
}

/// The loss rate of a Reno sawtooth with a peak of `peak` segments: one loss in 3/8 peak^2 segments.
pub fn reno_loss_rate_of_peak(peak: f64) -> f64 {
    8.0 / (3.0 * peak * peak)
}

/// The throughput of Reno, bit/s: sqrt(3/2) S / (R sqrt(p)) (Bhandarkar 2006, chapter III, introduction).
///
/// The text prints the constant as 1.2. Its results, 23.2 Mbit/s at p = 1e-5 and 232.4 Mbit/s at 1e-7 with
/// 1500 bytes and 200 ms, need sqrt(3/2).
///
/// ```
/// use ackclock_cc::analysis::reno_rate;
/// assert!((reno_rate(1500.0, 0.2, 1e-5) / 1e6 - 23.2).abs() < 0.1);
/// assert!((reno_rate(1500.0, 0.2, 1e-7) / 1e6 - 232.4).abs() < 0.1);
/// ```
pub fn reno_rate(segment_bytes: f64, rtt_s: f64, p: f64) -> f64 {
    reno_window(p) * segment_bytes * 8.0 / rtt_s
}

/// The loss rate that Reno needs for `rate_bps` (Bhandarkar 2006, chapter III, introduction): 5.4e-9 at 1
/// Gbit/s and 5.4e-11 at 10 Gbit/s, with 1500 bytes and 200 ms.
///
/// ```
/// use ackclock_cc::analysis::reno_required_loss_rate;
/// assert!((reno_required_loss_rate(1e9, 1500.0, 0.2) / 5.4e-9 - 1.0).abs() < 0.005);
/// assert!((reno_required_loss_rate(1e10, 1500.0, 0.2) / 5.4e-11 - 1.0).abs() < 0.005);
/// ```
pub fn reno_required_loss_rate(rate_bps: f64, segment_bytes: f64, rtt_s: f64) -> f64 {
    reno_loss_rate(window_for(rate_bps, segment_bytes, rtt_s))
}

/// Seconds between losses at rate `rate_bps` and loss rate `p`: six hours at 10 Gbit/s and 5.4e-11
/// (Bhandarkar 2006, chapter III, introduction).
///
/// ```
/// let hours = ackclock_cc::analysis::seconds_between_losses(1e10, 1500.0, 5.4e-11) / 3600.0;
/// assert_eq!((hours * 100.0).round(), 617.0);
/// ```
pub fn seconds_between_losses(rate_bps: f64, segment_bytes: f64, p: f64) -> f64 {
    segment_bytes * 8.0 / (rate_bps * p)
}

/// Segments in flight at `rate_bps`: the bandwidth-delay product.
///
/// ```
/// assert_eq!(ackclock_cc::analysis::window_for(10e9, 1500.0, 0.1).round(), 83333.0);
/// ```
pub fn window_for(rate_bps: f64, segment_bytes: f64, rtt_s: f64) -> f64 {
    rate_bps * rtt_s / (8.0 * segment_bytes)
}

/// The time in seconds that Reno needs from half the path's window to the whole window, at one segment per
/// round trip: more than an hour at 10 Gbit/s, 100 ms and 1500 bytes (Tan et al. 2006, section I).
///
/// The paper prints two loss rates for it, 1e-11 and one in 2.6e9, which contradict each other. With this
/// window as the average, the square-root law gives 2.2e-10. With this window as the peak, it gives 3.8e-10
/// (one in 2.6e9).
///
/// ```
/// use ackclock_cc::analysis::{reno_fill_time, reno_loss_rate, reno_loss_rate_of_peak};
/// assert_eq!(reno_fill_time(10e9, 1500.0, 0.1).round(), 4167.0);
/// assert!((reno_loss_rate(83_333.0) / 2.16e-10 - 1.0).abs() < 1e-2);
/// assert!((1.0 / reno_loss_rate_of_peak(83_333.0) / 2.6e9 - 1.0).abs() < 2e-3);
/// ```
pub fn reno_fill_time(rate_bps: f64, segment_bytes: f64, rtt_s: f64) -> f64 {
    window_for(rate_bps, segment_bytes, rtt_s) / 2.0 * rtt_s
}

/// The exponent e of the throughput ratio (R2 / R1)^e of two loss-based flows with the same losses. For a
/// scheme with throughput C / (R p^d) it is 1 / (1 - d) (Tan et al. 2006, section II). The paper prints 1 -
/// d, but its values follow 1 / (1 - d).
///
/// ```
/// use ackclock_cc::analysis::rtt_unfairness;
/// assert_eq!(rtt_unfairness(0.5), 2.0); // Reno
/// assert_eq!((rtt_unfairness(0.82) * 100.0).round(), 556.0); // HighSpeed
/// assert!((rtt_unfairness(0.8) - 5.0).abs() < 1e-12); // Compound without its delay part
/// assert_eq!(rtt_unfairness(1.0), f64::INFINITY); // Scalable
/// ```
pub fn rtt_unfairness(d: f64) -> f64 {
    1.0 / (1.0 - d)
}

/// Jain's fairness index of `shares`: 1 if all are equal, 1/n if one flow has everything. `None` without any
/// throughput (Tan et al. 2006, theorem 1).
///
/// ```
/// use ackclock_cc::analysis::jain;
/// assert_eq!(jain(&[2.0, 2.0, 2.0]), Some(1.0));
/// assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
/// assert_eq!(jain(&[]), None);
/// ```
pub fn jain(shares: &[f64]) -> Option<f64> {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// The share of their throughput that Reno flows lose to another scheme: (P - Q) / P. `alone` is P, their
/// throughput next to further Reno flows. `beside` is Q, their throughput when those flows run the scheme
/// (Tan et al. 2006, section VI.B.2).
///
/// ```
/// use ackclock_cc::analysis::bandwidth_stolen;
/// let percent = |q: f64| (bandwidth_stolen(229.1, q) * 100.0).round();
/// // Table 3: HSTCP, CTCP-NWR, CTCP.
/// assert_eq!([percent(42.9), percent(113.6), percent(215.2)], [81.0, 50.0, 6.0]);
/// ```
pub fn bandwidth_stolen(alone: f64, beside: f64) -> f64 {
    (alone - beside) / alone
}

/// The buffer, in bandwidth-delay products, that keeps a link busy through a reduction by the share `beta`:
/// beta / (1 - beta) (Bhandarkar 2006, section III.A.3.e).
///
/// ```
/// use ackclock_cc::analysis::buffer_for;
/// assert_eq!(buffer_for(0.5), 1.0); // TCP
/// assert_eq!((buffer_for(0.15) * 1000.0).round(), 176.0); // Layered, 82 % less
/// ```
pub fn buffer_for(beta: f64) -> f64 {
    beta / (1.0 - beta)
}
