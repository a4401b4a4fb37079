//! The share of a processor that a thread uses, and what it leaves to others.

use crate::schedule;
use ackclock_units::{Duration, Time};

/// How long the use of the processor is summed before the priority is decided.
const SPAN: Duration = Duration::from_millis(100);
/// A thread that used more than this share of a processor in one span has no priority in the next.
const MAX_SHARE: f64 = 0.9;
/// A thread that used more than this is busy.
const BUSY: f64 = 0.5;

/// The priority of the calling thread. Below [`MAX_SHARE`] it is ahead of ordinary programs. Above it, the
/// thread takes its turn among them, so that nothing it is asked to carry can take the machine away.
pub(crate) struct Share {
    /// False if the thread may not have real-time priority at all.
    may: bool,
    ahead: bool,
    always: bool,
    busy: bool,
    since: Time,
    used: Duration,
}

impl Share {
    /// Gives the calling thread real-time priority if it may have it.
    pub(crate) fn begin(now: Time) -> Share {
        let may = schedule::real_time();
        Share { may, ahead: may, always: may, busy: false, since: now, used: schedule::thread_time() }
    }

    /// True if the thread has had real-time priority all the time.
    pub(crate) fn always(&self) -> bool {
        self.always
    }

    /// True if the thread used more than half of a processor in the last span.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy
    }

    /// To be called every now and then.
    pub(crate) fn look(&mut self, now: Time) {
        if now.since(self.since) < SPAN {
            return;
        }
        let used = schedule::thread_time();
        let span = now.since(self.since);
        self.busy = exceeds(BUSY, used - self.used, span);
        let ahead = self.may && !exceeds(MAX_SHARE, used - self.used, span);
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

/// True if a thread that used the processor for `used` out of `span` had more than this share of it.
fn exceeds(share: f64, used: Duration, span: Duration) -> bool {
    used.as_secs_f64() > share * span.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_takes_a_whole_processor_is_not_ahead() {
        let span = Duration::from_millis(100);
        let not_ahead = |used| exceeds(MAX_SHARE, Duration::from_millis(used), span);
        assert!(!not_ahead(10) && !not_ahead(90));
        assert!(not_ahead(95) && not_ahead(100));
    }
}
