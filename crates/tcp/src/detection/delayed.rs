//! Delayed congestion response (TCP-DCR): a hole is a loss if it is still there after one round-trip time.
//!
//! Source: S. Bhandarkar, N. E. Sadry, A. L. N. Reddy and N. H. Vaidya, "TCP-DCR: A Novel Protocol for
//! Tolerating Wireless Channel Errors", IEEE Transactions on Mobile Computing 4(5), 2005, and S. Bhandarkar's
//! dissertation, Texas A&M University 2006, section II.A. A link that retransmits, or a path that reorders,
//! has this time to close the hole. The end of the round trip is detected by a timer, or by as many
//! duplicates as there were segments in flight.
//!
//! Only congestion avoidance waits. In the meantime each duplicate sends one new segment, within cwnd. After
//! the delay, other holes of the same window of data are repaired at once, by the rules of the recovery.
//!
//! What differs: nothing known. Where the source is silent: the window W of the count form is the number of
//! outstanding segments, and its product is rounded to the nearest integer, at least three. If an
//! acknowledgement moves on to another hole, the delay of that hole begins at once with SACK, and with the
//! next duplicate without SACK. The window of an episode ends where the delay ended. If a sender has too
//! little data for the duplicates of the count form, the retransmission timer repairs the hole.

use super::{DUP_THRESH, Detector, Hole, LossDelay, Scheme, Settings};
use ackclock_cc::Window;
use ackclock_registry::{Entry, Parameter};
use ackclock_units::{Duration, Time};

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    entry: Entry {
        name: "delayed",
        title: "Delayed congestion response (TCP-DCR)",
        source: "Bhandarkar et al., IEEE Transactions on Mobile Computing 4(5), 2005; Bhandarkar 2006, II.A",
        summary: "In congestion avoidance a hole is a loss if it is still there after one round-trip time.",
        equations: &[],
        notes: &[
            "the window W of the count form is what is outstanding; its product is rounded to the nearest, at least three",
            "if there are too few data for the duplicates that the count form wants, the retransmission timer repairs the hole",
        ],
        parameters: &[
            Parameter::choice(
                "form",
                "timer",
                &[
                    ("timer", "one smoothed round-trip time from the first duplicate"),
                    (
                        "count",
                        "as many duplicates as segments were outstanding, times smoothed over last raw round-trip time",
                    ),
                    (
                        "window",
                        "as many duplicates as segments were outstanding (V.C.1: one congestion window)",
                    ),
                    (
                        "adaptive",
                        "half as many segments above the hole as are outstanding by then: RFC 4653's threshold where each \
                         duplicate sends one segment (V.C.2)",
                    ),
                ],
                "how the end of the delay is told; a timer also ends when no more duplicates come",
            ),
            Parameter::flag(
                "growth",
                true,
                "duplicates let cwnd grow during the delay: the source says that it goes on growing as usual, and without new \
             acknowledgements that is only possible on duplicates",
            ),
        ],
    },
    selective: false,
    reads_duplicate_reports: false,
    build: |settings| Detector::patience(Delayed::new(settings)),
};

/// How the end of the delay is detected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Timer,
    Count,
    Window,
    Adaptive,
}

/// The detection.
struct Delayed {
    form: Form,
    growth: bool,
    /// Timer form: when the delay ends.
    until: Option<Time>,
    /// Forms that count: the number of segments above the hole at which the delay ends.
    most: u64,
}

impl Delayed {
    fn new(settings: &Settings) -> Delayed {
        let form = match settings.get("form") {
            "count" => Form::Count,
            "window" => Form::Window,
            "adaptive" => Form::Adaptive,
            _ => Form::Timer,
        };
        Delayed { form, growth: settings.get("growth"), until: None, most: u64::MAX }
    }
}

/// Section II.A.3: a window of duplicates lasts as long as the last round trip. It should last the smoothed
/// one.
fn scaled(window: u64, srtt: Duration, rtt: Duration) -> u64 {
    let ratio = if rtt.is_zero() { 1.0 } else { srtt.as_nanos() as f64 / rtt.as_nanos() as f64 };
    ((window as f64 * ratio).round() as u64).max(u64::from(DUP_THRESH))
}

/// The segments above the hole that came before the delay began. The duplicate that begins it is its first.
fn earlier(hole: &Hole) -> u64 {
    hole.above.saturating_sub(1)
}

impl LossDelay for Delayed {
    fn begin(&mut self, hole: &Hole) -> bool {
        if hole.slow_start || hole.srtt.is_zero() {
            return false; // section II.A.1: only congestion avoidance waits
        }
        match self.form {
            Form::Timer => self.until = Some(hole.now + hole.srtt),
            Form::Count => self.most = earlier(hole) + scaled(hole.flight, hole.srtt, hole.rtt),
            Form::Window => self.most = earlier(hole) + hole.flight.max(u64::from(DUP_THRESH)),
            Form::Adaptive => {}
        }
        true
    }

    fn is_over(&mut self, hole: &Hole) -> bool {
        match self.form {
            Form::Timer => self.until.is_some_and(|until| until <= hole.now),
            Form::Count | Form::Window => hole.above >= self.most,
            // RFC 4653 section 3.1, aggressive: max(flight / 2, 3), with the flight at each duplicate.
            Form::Adaptive => hole.above >= hole.flight.div_ceil(2).max(u64::from(DUP_THRESH)),
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.until
    }

    fn room(&self, w: &Window) -> f64 {
        w.cwnd
    }

    fn grows(&self) -> bool {
        self.growth
    }

    fn closed(&mut self, _flight: u64, _more: bool, _w: &mut Window) {}

    fn threshold(&self) -> u64 {
        u64::from(DUP_THRESH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_duplicates_is_scaled() {
        let ms = Duration::from_millis;
        assert_eq!(scaled(100, ms(100), ms(100)), 100);
        assert_eq!(scaled(100, ms(100), ms(80)), 125);
        assert_eq!(scaled(100, ms(100), ms(200)), 50);
        assert_eq!(scaled(2, ms(100), ms(100)), 3);
        assert_eq!(scaled(10, Duration::ZERO, Duration::ZERO), 10); // without a sample
    }
}
