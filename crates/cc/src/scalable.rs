//! Scalable TCP: a fixed increase per acknowledgement and a fixed share lost. Recovery takes the same number
//! of round trips at any rate.
//!
//! Source: T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", ACM CCR 33(2),
//! 2003; Tan et al. 2006, section II, restates its rule.
//!
//! What differs: up to a legacy window of 16 segments, Kelly's scheme is standard TCP. There the loss rate of
//! the square-root law is 3 / (2 * 16^2) = 5.9e-3. Tan et al. give 38 segments as typical of such schemes.
//! Between the legacy window and 100 segments the rule, taken literally, grows by less than one segment per
//! round trip. `at_least_reno` raises that to Reno's growth, as Linux does.

use crate::{Ack, Controller, Needs, Parameter, Path, Scheme, Settings, Signal, Window, reno, slow_start};

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    name: "scalable",
    title: "Scalable TCP",
    source: "Kelly, ACM CCR 33(2), 2003; Tan et al. 2006, section II",
    summary: "Grows by 0.01 segments per acknowledgement. Loses an eighth of the window on loss.",
    equations: &[
        "above legacy_window, per segment acknowledged: cwnd += increase",
        "above legacy_window, on loss, mark or timeout: ssthresh = (1 - decrease) * cwnd",
        "up to legacy_window: Reno",
        "average window at loss rate p: increase / (p * ln(1 / (1 - decrease))), about 0.0749 / p",
    ],
    notes: &[
        "legacy_window is Kelly's 16; Tan et al. 2006 give 38 as typical of such schemes",
        "at_least_reno: between legacy_window and 1 / increase segments the literal rule grows slower than \
         Reno",
    ],
    parameters: &[
        Parameter::number("increase", 0.01, "segments per ACK", 1e-4..=1.0, "Kelly 2003: a = 0.01"),
        Parameter::number("decrease", 0.125, "share of the window", 0.01..=0.9, "Kelly 2003: b = 0.125"),
        Parameter::number(
            "legacy_window",
            16.0,
            "segments",
            0.0..=1e6,
            "Kelly 2003: up to this window the controller is Reno; Tan et al. 2006 give 38",
        ),
        Parameter::flag(
            "at_least_reno",
            false,
            "grow by at least one segment per round trip (as Linux; not in Kelly's text)",
        ),
    ],
    endpoint: &[],
    needs: |_| Needs::NOTHING,
    build: |settings| Box::new(Scalable::new(settings)),
    response: Some(|settings, p, _rtt_s| {
        let window = response(settings.number("increase"), settings.number("decrease"), p);
        if window > settings.number("legacy_window") { window } else { reno::response(1.0, 0.5, p) }
    }),
};

/// The controller.
#[derive(Clone)]
pub struct Scalable {
    increase: f64,
    decrease: f64,
    legacy_window: f64,
    at_least_reno: bool,
}

impl Scalable {
    /// A controller with checked `settings`.
    pub fn new(settings: &Settings) -> Scalable {
        Scalable {
            increase: settings.number("increase"),
            decrease: settings.number("decrease"),
            legacy_window: settings.number("legacy_window"),
            at_least_reno: settings.flag("at_least_reno"),
        }
    }
}

impl Controller for Scalable {
    fn grow(&mut self, _path: &Path, ack: &Ack, w: &mut Window) {
        let acked = slow_start(ack.acked, w);
        let reno = 1.0 / w.cwnd; // RFC 5681 equation 3
        let gain = if w.cwnd <= self.legacy_window {
            reno
        } else if self.at_least_reno {
            self.increase.max(reno)
        } else {
            self.increase // Kelly 2003: independent of the window
        };
        w.cwnd += gain * acked;
    }

    fn cut(&mut self, _path: &Path, w: &Window, _why: Signal) -> Option<f64> {
        let decrease = if w.cwnd <= self.legacy_window { 0.5 } else { self.decrease };
        Some(w.cwnd * (1.0 - decrease))
    }
}

/// The average window (segments) over time, of the increase `a` per ACK and decrease `b`, at loss rate `p`.
///
/// Between two losses 1/p ACKs add a/p segments, which is b W_m. So the peak is W_m = a / (b p) (0.08 / p).
/// The window grows exponentially in time, by the factor 1 / (1 - b) in ln(1 / (1 - b)) / a round trips. So
/// the average over time is a / (p ln(1 / (1 - b))), which is 0.0749 / p.
pub fn response(a: f64, b: f64, p: f64) -> f64 {
    a / (p * -libm::log1p(-b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Given, scheme};

    fn scalable(change: impl FnOnce(&mut Settings)) -> Scalable {
        let mut settings = Settings::defaults(scheme("scalable").expect("scalable is there"));
        change(&mut settings);
        Scalable::new(&settings)
    }

    fn after_one_ack(controller: &mut Scalable, cwnd: f64) -> f64 {
        let mut w = Window { cwnd, ssthresh: 1.0, pacing: None };
        controller.grow(&Path::default(), &Ack { acked: 1.0, ..Ack::default() }, &mut w);
        w.cwnd
    }

    #[test]
    fn a_hundredth_per_ack_and_an_eighth_off() {
        let mut stcp = scalable(|_| ());
        assert_eq!(after_one_ack(&mut stcp, 800.0), 800.01);
        let w = Window { cwnd: 800.0, ssthresh: 1.0, pacing: None };
        assert_eq!(stcp.cut(&Path::default(), &w, Signal::Loss), Some(700.0));
    }

    #[test]
    fn reno_up_to_the_legacy_window() {
        let mut stcp = scalable(|_| ());
        assert_eq!(after_one_ack(&mut stcp, 16.0), 16.0625);
        let w = Window { cwnd: 16.0, ssthresh: 1.0, pacing: None };
        assert_eq!(stcp.cut(&Path::default(), &w, Signal::Loss), Some(8.0));
    }

    #[test]
    fn growth_can_be_kept_at_renos() {
        assert_eq!(after_one_ack(&mut scalable(|_| ()), 50.0), 50.01);
        let lifted = |s: &mut Settings| s.set("at_least_reno", Given::Flag(true)).expect("a switch");
        assert_eq!(after_one_ack(&mut scalable(lifted), 50.0), 50.02);
    }

    #[test]
    fn the_response_function_of_the_rule() {
        // Tan et al. 2006, figure 5, computed from the rule: 75, 749, 7490 segments.
        for (p, published) in [(1e-3, 75.0), (1e-4, 749.0), (1e-5, 7490.0)] {
            assert!((response(0.01, 0.125, p) / published - 1.0).abs() < 2e-3, "{p}");
        }
    }
}
