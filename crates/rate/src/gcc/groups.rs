//! Groups of packets, and how the delay changes from one to the next.
//!
//! Source: draft-ietf-rmcat-gcc-02 sections 5.1 and 5.2.
//!
//! What differs: a packet that left before its group's first one is left out.

use crate::jitter::signed;
use ackclock_units::{Duration, Time};

/// A group: the departures of its first and last packet, and the arrival of its last.
#[derive(Clone, Copy, Debug)]
struct Group {
    first: Time,
    sent: Time,
    arrived: Time,
}

/// How a group differs from the one before it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Change {
    /// d(i), the inter-group delay variation, ms.
    pub delay: f64,
    /// T(i) - T(i-1), ms.
    pub sent: f64,
    /// t(i), when the last packet of the group arrived.
    pub arrived: Time,
}

/// Makes groups of packets.
#[derive(Clone, Debug)]
pub struct Groups {
    /// burst_time
    burst: Duration,
    before: Option<Group>,
    current: Option<Group>,
}

impl Groups {
    /// Packets that leave within `burst` are a group.
    pub fn new(burst: Duration) -> Groups {
        Groups { burst, before: None, current: None }
    }

    /// A packet that left at `sent` arrived. Returns the change that the group before it has brought, if it
    /// begins a new one.
    pub fn on_packet(&mut self, sent: Time, arrived: Time) -> Option<Change> {
        let next = Group { first: sent, sent, arrived };
        let Some(current) = &mut self.current else {
            self.current = Some(next);
            return None;
        };
        if sent < current.first {
            return None;
        }
        let gap = signed(arrived, current.arrived);
        let shrinks = gap < signed(sent, current.sent);
        let together = shrinks && gap < self.burst.as_nanos() as i64;
        if sent.since(current.first) <= self.burst || together {
            current.sent = current.sent.max(sent);
            current.arrived = current.arrived.max(arrived);
            return None;
        }
        let whole = std::mem::replace(current, next);
        let before = self.before.replace(whole)?;
        let (sent, arrived) = (signed(whole.sent, before.sent), signed(whole.arrived, before.arrived));
        let delay = (arrived as f64 - sent as f64) * 1e-6;
        Some(Change { delay, sent: sent as f64 * 1e-6, arrived: whole.arrived })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_five_milliseconds_are_a_group_and_so_are_those_that_a_queue_lets_go_at_once() {
        let at = |us: u64| Time::from_nanos(us * 1_000);
        let mut groups = Groups::new(Duration::from_millis(5));
        let mut changes = Vec::new();
        for (sent, arrived) in [
            (0, 40_000),
            (4_000, 44_000),  // with the first
            (8_000, 49_000),  // a new group
            (16_000, 59_000), // another; 49 - 44 - (8 - 4) = 1 ms
            (26_000, 60_000), // it waited with the one before: the same group
            (36_000, 90_000), // another; 60 - 49 - (26 - 8) = -7 ms
            (1_000, 91_000),  // too old
        ] {
            changes.extend(groups.on_packet(at(sent), at(arrived)));
        }
        let all: Vec<_> = changes.iter().map(|change| (change.delay, change.sent, change.arrived)).collect();
        assert_eq!(all, [(1.0, 4.0, at(49_000)), (-7.0, 18.0, at(60_000))]);
    }
}
