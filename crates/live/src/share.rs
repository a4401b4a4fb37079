//! The share of the machine that a thread with real-time priority leaves to others.

use crate::schedule;
use ackclock_units::{Duration, Time};

/// How long the use of the processor is summed before the priority is decided.
const SPAN: Duration = Duration::from_millis(100);
/// A thread that used more than this share of a processor in one span has no priority in the next.
const MAX_SHARE: f64 = 0.9;

/// The priority of the calling thread. Below [`MAX_SHARE`] it is ahead of ordinary programs. Above it, the
/// thread takes its turn among them, so that nothing it is asked to carry can take the machine away.
pub(crate) struct Share {
    /// False if the thread may not have real-time priority at all.
    may: bool,
    ahead: bool,
    always: bool,
    since: Time,
    used: Duration,
}

impl Share {
    /// Gives the calling thread real-time priority if it may have it.
    pub(crate) fn begin(now: Time) -> Share {
        let may = schedule::real_time();
        Share { may, ahead: may, always: may, since: now, used: schedule::thread_time() }
    }

    /// True if the thread has had real-time priority all the time.
    pub(crate) fn always(&self) -> bool {
        self.always
    }

    /// To be called every now and then.
    pub(crate) fn look(&mut self, now: Time) {
        if !self.may || now.since(self.since) < SPAN {
            return;
        }
        let used = schedule::thread_time();
        let ahead = deserves(used - self.used, now.since(self.since));
        (self.since, self.used) = (now, used);
        if ahead != self.ahead {
            self.ahead = ahead;
            self.always = false;
            if ahead {
                schedule::real_time()
            } else {
                schedule::ordinary()
            };
        }
    }
}

/// True if a thread that used the processor for `used` out of `span` leaves enough to others.
fn deserves(used: Duration, span: Duration) -> bool {
    used.as_secs_f64() <= MAX_SHARE * span.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_takes_a_whole_processor_is_not_ahead() {
        let span = Duration::from_millis(100);
        assert!(deserves(Duration::from_millis(10), span) && deserves(Duration::from_millis(90), span));
        assert!(!deserves(Duration::from_millis(95), span) && !deserves(span, span));
    }
}
