//! Delayed congestion response (TCP-DCR): a hole is a loss if it is still there after one round-trip time.
//!
//! Source: S. Bhandarkar, N. E. Sadry, A. L. N. Reddy and N. H. Vaidya, "TCP-DCR: A Novel Protocol for Tolerating
//! Wireless Channel Errors", IEEE Transactions on Mobile Computing 4(5), 2005, and S. Bhandarkar's dissertation, Texas A&M
//! University 2006, section II.A. A link that retransmits, or a path that reorders, has that long to close the
//! hole. The round trip is told by a timer, or by as many duplicates as were in flight.
//!
//! Only congestion avoidance waits. Meanwhile each duplicate lets out one new segment, within cwnd. Once the delay has
//! ended, other holes of the same window of data are repaired at once, by the rules of whichever recovery it is.
//!
//! What differs: nothing known. Where the source is silent: the window W of the count form is what is outstanding, its
//! product is rounded to the nearest and at least three; an acknowledgement that moves on to a further hole begins that
//! hole's delay at once with SACK, with the next duplicate without; and the window of an episode ends where the delay
//! did. If a sender has too little data for the duplicates that the count form wants, the retransmission timer repairs the hole.

use super::{DUP_THRESH, Hole, Patience};
use ackclock_cc::Window;
use ackclock_units::{Duration, Time};

/// How the end of the delay is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// One smoothed round-trip time from the first duplicate.
    Timer,
    /// As many duplicates as segments were outstanding, times smoothed over last raw round-trip time.
    Count,
}

/// What can be chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelayedConfig {
    /// How the end of the delay is told. Default: a timer, which also ends when no more duplicates come.
    pub form: Form,
    /// Duplicates let cwnd grow during the delay. Default: yes; the source says that it goes on growing as usual, and
    /// without new acknowledgements that is only possible on duplicates.
    pub growth: bool,
}

impl Default for DelayedConfig {
    fn default() -> DelayedConfig {
        DelayedConfig { form: Form::Timer, growth: true }
    }
}

/// The detection.
pub(crate) struct Delayed {
    config: DelayedConfig,
    /// Timer form: when the delay ends.
    until: Option<Time>,
    /// Count form: segments above the hole at which it ends.
    most: u64,
}

impl Delayed {
    pub(crate) fn new(config: DelayedConfig) -> Delayed {
        Delayed { config, until: None, most: u64::MAX }
    }
}

/// Section II.A.3: a window of duplicates lasts as long as the last round trip, and should last the smoothed one.
fn scaled(window: u64, srtt: Duration, rtt: Duration) -> u64 {
    let ratio = if rtt.is_zero() { 1.0 } else { srtt.as_nanos() as f64 / rtt.as_nanos() as f64 };
    ((window as f64 * ratio).round() as u64).max(u64::from(DUP_THRESH))
}

impl Patience for Delayed {
    fn begin(&mut self, hole: &Hole) -> bool {
        if hole.slow_start || hole.srtt.is_zero() {
            return false; // section II.A.1: only congestion avoidance waits
        }
        match self.config.form {
            Form::Timer => self.until = Some(hole.now + hole.srtt),
            // The duplicate that begins the delay is the first of them; others above the hole came before it.
            Form::Count => {
                self.most = hole.above.saturating_sub(1) + scaled(hole.flight, hole.srtt, hole.rtt);
            }
        }
        true
    }

    fn is_over(&mut self, hole: &Hole) -> bool {
        match self.config.form {
            Form::Timer => self.until.is_some_and(|until| until <= hole.now),
            Form::Count => hole.above >= self.most,
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.until
    }

    fn room(&self, w: &Window) -> f64 {
        w.cwnd
    }

    fn grows(&self) -> bool {
        self.config.growth
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
