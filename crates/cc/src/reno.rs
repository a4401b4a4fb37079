//! Reno: additive increase by one segment per round trip, halving on loss.
//!
//! Source: RFC 5681 (slow start, congestion avoidance); V. Jacobson, "Congestion Avoidance and Control",
//! SIGCOMM 1988. The repair of losses belongs to the host's recovery. It is not part of the controller.
//!
//! What differs: RFC 5681 equation 4 computes the threshold from the flight size. Here the default is the
//! window, as in ns-2 and Linux. The host already excludes flights that the application limits. `halve =
//! "flight"` follows the RFC.

use crate::{Ack, Controller, Needs, Parameter, Path, Scheme, Settings, Signal, Window, slow_start};

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    name: "reno",
    title: "Reno",
    source: "RFC 5681; Jacobson, SIGCOMM 1988",
    summary: "Grows by one segment per round trip. Halves the window on loss.",
    equations: &[
        "per segment acknowledged: cwnd += increase / cwnd",
        "on loss, mark or timeout: ssthresh = (1 - decrease) * cwnd",
        "average window at loss rate p: sqrt(3 / (2 p))",
    ],
    notes: &["halve = \"window\" uses cwnd; RFC 5681 equation 4 uses the flight size"],
    parameters: &[
        Parameter::number(
            "increase",
            1.0,
            "segments per round trip",
            0.01..=100.0,
            "RFC 5681 section 3.1: one SMSS",
        ),
        Parameter::number(
            "decrease",
            0.5,
            "share of the window",
            0.01..=1.0,
            "RFC 5681 equation 4: one half",
        ),
        Parameter::choice(
            "halve",
            "window",
            &[("window", "the congestion window"), ("flight", "the flight size (RFC 5681 equation 4)")],
            "the base of the decrease",
        ),
    ],
    endpoint: &[],
    needs: |_| Needs::NOTHING,
    build: |settings| Box::new(Reno::new(settings)),
    response: Some(|settings, p, _rtt_s| {
        response(settings.number("increase"), settings.number("decrease"), p)
    }),
};

/// The controller.
#[derive(Clone)]
pub struct Reno {
    increase: f64,
    decrease: f64,
    halve_flight: bool,
}

impl Reno {
    /// A controller with checked `settings`.
    pub fn new(settings: &Settings) -> Reno {
        Reno {
            increase: settings.number("increase"),
            decrease: settings.number("decrease"),
            halve_flight: settings.choice("halve") == "flight",
        }
    }
}

impl Controller for Reno {
    fn grow(&mut self, _path: &Path, ack: &Ack, w: &mut Window) {
        let acked = slow_start(ack.acked, w);
        w.cwnd += self.increase * acked / w.cwnd; // RFC 5681 equation 3, in segments
    }

    fn cut(&mut self, path: &Path, w: &Window, _why: Signal) -> Option<f64> {
        let base = if self.halve_flight { path.in_flight } else { w.cwnd };
        Some(base * (1.0 - self.decrease)) // RFC 5681 equation 4
    }
}

/// The average window (segments) of additive increase `a` and decrease `b` under periodic loss of probability
/// `p`: sqrt(a (2 - b) / (2 b p)), the square-root law; sqrt(3 / (2 p)) for Reno.
pub fn response(a: f64, b: f64, p: f64) -> f64 {
    libm::sqrt(a * (2.0 - b) / (2.0 * b * p))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme;

    fn reno() -> Reno {
        Reno::new(&Settings::defaults(scheme("reno").expect("reno is there")))
    }

    #[test]
    fn one_window_of_acks_adds_about_one_segment() {
        let mut w = Window { cwnd: 10.0, ssthresh: 5.0, pacing: None };
        for _ in 0..10 {
            reno().grow(&Path::default(), &Ack { acked: 1.0, ..Ack::default() }, &mut w);
        }
        assert!((10.95..=11.0).contains(&w.cwnd), "{}", w.cwnd);
    }

    #[test]
    fn an_ack_that_crosses_the_threshold_counts_on_both_sides() {
        let mut w = Window { cwnd: 9.0, ssthresh: 10.0, pacing: None };
        reno().grow(&Path::default(), &Ack { acked: 2.0, ..Ack::default() }, &mut w);
        assert_eq!(w.cwnd, 10.1);
    }

    #[test]
    fn the_square_root_law() {
        // RFC 3649 and tan2006 equation 1: 1.22 / sqrt(p).
        assert!((response(1.0, 0.5, 1e-4) - 122.47).abs() < 0.01);
    }
}
