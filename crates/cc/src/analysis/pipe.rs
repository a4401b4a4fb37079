//! Paths as pipes: what a window carries, how long slow start takes, what bursts offer.
//!
//! Source: A. Sundaresan's thesis on TCP without congestion control (University of Kansas, 2001), sections
//! 2.1.1, 3.1.2, 4.2 and 4.3.

/// The highest throughput that a window allows, bit/s, at any rate of the links (section 2.1.1): one window
/// of so many bytes per round trip.
pub fn window_rate(window_bytes: f64, rtt_s: f64) -> f64 {
    8.0 * window_bytes / rtt_s
}

/// The window for a throughput, bytes (equation 3.3). Of a link it is the bandwidth-delay product (section
/// 4.2).
pub fn pipe_bytes(rate_bps: f64, rtt_s: f64) -> f64 {
    rate_bps * rtt_s / 8.0
}

/// The time that slow start takes to a window of so many segments, s, if every segment is acknowledged
/// (equation 3.1).
pub fn slow_start_time(rtt_s: f64, segments: f64) -> f64 {
    rtt_s * libm::log2(segments)
}

/// The same with delayed acknowledgements, of which every one is of two segments (equation 3.2).
pub fn slow_start_time_delayed(rtt_s: f64, segments: f64) -> f64 {
    rtt_s * (1.0 + libm::log(segments) / libm::log(1.5))
}

/// The load that bursts offer, bit/s (equations 4.2 and 4.3).
pub fn burst_load(burst_bytes: f64, period_s: f64) -> f64 {
    8.0 * burst_bytes / period_s
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64, tolerance: f64) {
        assert!((value - expected).abs() <= tolerance, "{value} instead of {expected}");
    }

    #[test]
    fn as_the_thesis_computes_them() {
        near(window_rate(64_000.0, 0.07), 7.314e6, 0.001e6);
        near(pipe_bytes(622e6, 0.067), 5_209_250.0, 1e-3);
        near(burst_load(128_000.0, 0.01), 102.4e6, 1e-3);
    }

    #[test]
    fn slow_start_of_the_path_and_the_windows_of_its_traces() {
        for (segments, every, delayed) in
            [(45.0, 0.368, 0.696), (724.0, 0.636, 1.155), (3598.0, 0.791, 1.420)]
        {
            near(slow_start_time(0.067, segments), every, 5e-4);
            near(slow_start_time_delayed(0.067, segments), delayed, 5e-4);
        }
        assert_eq!(slow_start_time(0.067, 1.0), 0.0);
    }
}
