//! A policer: a token bucket in front of a DropTail queue. What exceeds the rate and the burst is dropped,
//! and not delayed.
//!
//! Source: RFC 2475 section 2.3.3.4 (policers) and RFC 2697, with a single bucket: tokens come at the policed
//! rate, up to a burst, and a packet takes as many as it has bytes. A packet that finds too few is dropped
//! and takes none. The bucket is full at the start. What passes is queued, first in, first out.
//!
//! What the sources leave open: a packet that the queue has no room for takes no tokens either.

use super::discipline::{Contradiction, Discipline, Scale};
use super::droptail::LIMIT;
use super::{Backlog, Limit, Queue, Verdict};
use ackclock_registry::{Entry, Parameter, Settings};
use ackclock_units::{Rate, Room, Time};

pub(super) const DISCIPLINE: Discipline = Discipline {
    entry: Entry {
        name: "policer",
        title: "Policer",
        source: "RFC 2475; RFC 2697",
        summary: "a token bucket: drops what exceeds a rate and a burst, and delays nothing for it",
        equations: &[
            "tokens = min(burst, tokens + share * rate * time); a packet takes its bytes, or is dropped",
        ],
        notes: &["What passes waits in a DropTail queue. Drops by the bucket count as early."],
        parameters: &[
            LIMIT,
            Parameter::number(
                "share",
                0.5,
                "",
                1e-6..=1.0,
                "the policed rate, as a share of the link's rate",
            ),
            Parameter::room(
                "burst",
                Room::Packets(20.0),
                "the depth of the bucket; 1 bdp is that of the link's rate",
            ),
        ],
    },
    example: "{ policer = { limit = \"1 bdp\", share = 0.5 } }",
    dequeue_driven: false,
    check,
    build: |settings, scale, _| {
        let share: f64 = settings.get("share");
        let rate = Rate::from_bps(((scale.rate.bps_f64() * share) as u64).max(1));
        let limit = scale.limit(settings.get("limit"));
        Queue::Policer(Box::new(Policer::new(rate, burst(settings, scale), limit)))
    },
};

/// The depth of the bucket, bytes.
fn burst(settings: &Settings, scale: &Scale) -> f64 {
    scale.packets(settings.get("burst")) * f64::from(scale.segment)
}

fn check(settings: &Settings, scale: &Scale) -> Result<(), Contradiction> {
    let (burst, segment) = (burst(settings, scale), f64::from(scale.segment));
    // A little less is a matter of rounding.
    if burst >= segment * 0.999 {
        return Ok(());
    }
    Err(Contradiction {
        problem: format!("no segment of {segment} B ever passes a bucket of {burst:.0} B"),
        remedy: "burst must be at least one segment, for example burst = \"10 packets\"",
    })
}

/// The queue discipline.
#[derive(Clone, Debug)]
pub struct Policer {
    rate: Rate,
    burst: f64,
    limit: Limit,
    /// Tokens in the bucket at `filled_at`, bytes.
    tokens: f64,
    filled_at: Time,
}

impl Policer {
    /// A full bucket of `burst` bytes that is filled at `rate`, before a queue that holds at most `limit`.
    pub fn new(rate: Rate, burst: f64, limit: Limit) -> Policer {
        Policer { rate, burst, limit, tokens: burst, filled_at: Time::ZERO }
    }

    pub(super) fn limit(&self) -> Limit {
        self.limit
    }

    pub(super) fn judge(&mut self, now: Time, bytes: u32, backlog: &Backlog) -> Verdict {
        self.tokens = self.burst.min(self.tokens + self.rate.bytes_in(now.since(self.filled_at)));
        self.filled_at = now;
        let verdict = backlog.verdict(self.limit, bytes);
        if verdict != Verdict::Enqueue {
            return verdict;
        }
        // Tokens are sums of fractions: the last one may miss a billionth.
        if self.tokens + 1e-6 < f64::from(bytes) {
            return Verdict::Early;
        }
        self.tokens = (self.tokens - f64::from(bytes)).max(0.0);
        Verdict::Enqueue
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_units::Duration;

    /// 8 Mbit/s are 1000 bytes a millisecond.
    fn policer(burst: f64) -> Policer {
        Policer::new(Rate::from_bps(8_000_000), burst, Limit::Packets(100))
    }

    fn offer(policer: &mut Policer, micros: u64) -> Verdict {
        let backlog =
            Backlog { packets: 0, bytes: 0, idle_since: None, transmission: Duration::from_micros(100) };
        policer.judge(Time::ZERO + Duration::from_micros(micros), 1000, &backlog)
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let mut policer = policer(3000.0);
        let at_once: Vec<_> = (0..5).map(|_| offer(&mut policer, 0)).collect();
        assert_eq!(
            at_once,
            [Verdict::Enqueue, Verdict::Enqueue, Verdict::Enqueue, Verdict::Early, Verdict::Early]
        );
        // Twice the rate: every second packet passes.
        let passed = (1..=1000).filter(|n| offer(&mut policer, n * 500) == Verdict::Enqueue).count();
        assert_eq!(passed, 500);
        // After a pause there is a burst again, and no more.
        let again = (0..5).filter(|_| offer(&mut policer, 10_000_000) == Verdict::Enqueue).count();
        assert_eq!(again, 3);
    }

    #[test]
    fn what_overflows_takes_no_tokens() {
        let mut policer = policer(1000.0);
        let full = Backlog { packets: 100, bytes: 0, idle_since: None, transmission: Duration::ZERO };
        assert_eq!(policer.judge(Time::ZERO, 1000, &full), Verdict::Overflow);
        assert_eq!(offer(&mut policer, 0), Verdict::Enqueue);
    }
}
