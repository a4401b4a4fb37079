//! Messages about a transfer, beside its data: few, in order, each repeated until the other end has read it.

use ackclock_units::{Duration, Time};
use std::collections::VecDeque;

/// The longest message, bytes: it fits into a packet on every path (576 bytes, RFC 791).
pub const MAX_MESSAGE: usize = 400;
/// Messages on the way. Further ones wait.
const WINDOW: usize = 16;
/// The shortest time between two copies of a message.
const LEAST_WAIT: Duration = Duration::from_millis(50);
/// The longest.
const MOST_WAIT: Duration = Duration::from_secs(2);
/// Messages that were read and not yet taken by the program.
const MAX_UNREAD: usize = 1024;

/// Messages of one direction that leave, and of the other that arrive.
#[derive(Clone, Debug, Default)]
pub struct Mailbox {
    /// What was not acknowledged; the first has the number `first`.
    out: VecDeque<Vec<u8>>,
    first: u32,
    /// How many of them have left, and how many of those leave again now.
    left: usize,
    again: usize,
    /// When they leave again.
    due: Option<Time>,
    /// Rounds without an acknowledgement.
    rounds: u32,
    /// The last message that was read in order; what follows it.
    read: u32,
    unread: VecDeque<Vec<u8>>,
    /// What was read is to be acknowledged.
    owes: bool,
}

impl Mailbox {
    /// A message leaves. It is at most [`MAX_MESSAGE`] bytes long.
    pub fn post(&mut self, message: Vec<u8>) {
        debug_assert!(message.len() <= MAX_MESSAGE);
        self.out.push_back(message);
    }

    /// The next message that arrived.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        self.unread.pop_front()
    }

    /// True if all messages were read by the other end.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// The next message that leaves now, with its number.
    pub fn poll(&mut self, now: Time, rtt: Duration) -> Option<(u32, &[u8])> {
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            self.again = self.left;
            self.rounds += 1;
        }
        let at = if self.again > 0 {
            self.again -= 1;
            self.left - self.again - 1
        } else if self.left < self.out.len().min(WINDOW) {
            self.left += 1;
            self.left - 1
        } else {
            return None;
        };
        self.due.get_or_insert(now + wait(rtt, self.rounds));
        Some((self.first.wrapping_add(at as u32 + 1), &self.out[at]))
    }

    /// When to ask again, if nothing arrives before.
    pub fn deadline(&self) -> Option<Time> {
        let now = self.again > 0 || self.left < self.out.len().min(WINDOW);
        if now { Some(Time::ZERO) } else { self.due }
    }

    /// The number up to which messages were read, if the other end does not know it.
    pub fn owed(&mut self) -> Option<u32> {
        std::mem::take(&mut self.owes).then_some(self.read)
    }

    /// True if [`Mailbox::owed`] has something.
    pub fn owes(&self) -> bool {
        self.owes
    }

    /// A message arrived.
    pub fn on_message(&mut self, number: u32, message: &[u8]) {
        self.owes = true;
        if number == self.read.wrapping_add(1)
            && self.unread.len() < MAX_UNREAD
            && message.len() <= MAX_MESSAGE
        {
            self.read = number;
            self.unread.push_back(message.to_vec());
        }
    }

    /// Messages up to `number` were read. False if some of them were never sent.
    pub fn on_read(&mut self, number: u32) -> bool {
        let count = number.wrapping_sub(self.first) as usize;
        if count > self.left {
            // What is below the first was acknowledged before; a copy was overtaken.
            return self.first.wrapping_sub(number) < 1 << 31;
        }
        if count > 0 {
            self.out.drain(..count);
            self.first = number;
            self.left -= count;
            self.again = self.again.min(self.left);
            self.rounds = 0;
            if self.left == 0 {
                self.due = None;
            }
        }
        true
    }
}

/// Two round trips first, and twice as long each time.
fn wait(rtt: Duration, rounds: u32) -> Duration {
    rtt.saturating_mul(2).max(LEAST_WAIT).saturating_mul(1 << rounds.min(6)).min(MOST_WAIT.max(rtt))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn what_is_lost_is_repeated_and_what_was_never_sent_is_refused() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let mut mailbox = Mailbox::default();
        mailbox.post(b"one".to_vec());
        mailbox.post(b"two".to_vec());
        assert_eq!(mailbox.deadline(), Some(Time::ZERO));
        assert_eq!(mailbox.poll(at(0), RTT), Some((1, &b"one"[..])));
        assert_eq!(mailbox.poll(at(1), RTT), Some((2, &b"two"[..])));
        assert_eq!(mailbox.poll(at(2), RTT), None);
        assert_eq!(mailbox.deadline(), Some(at(200)));
        assert!(!mailbox.on_read(3));
        assert!(mailbox.on_read(1) && mailbox.on_read(0));
        assert_eq!(mailbox.poll(at(200), RTT), Some((2, &b"two"[..])));
        assert_eq!(mailbox.poll(at(200), RTT), None);
        assert_eq!(mailbox.deadline(), Some(at(600)));
        assert!(mailbox.on_read(2) && mailbox.is_empty() && mailbox.deadline().is_none());
    }

    proptest! {
        /// Whatever is lost, doubled or overtaken: all messages arrive once, in order.
        #[test]
        fn all_arrive_in_order(count in 0..60_u8, fates in prop::collection::vec(0..6_u8, 0..400)) {
            let (mut one, mut other) = (Mailbox::default(), Mailbox::default());
            (0..count).for_each(|number| one.post(vec![number]));
            let (mut now, mut under_way, mut arrived) = (Time::ZERO, Vec::new(), Vec::new());
            let mut fates = fates.into_iter();
            while !one.is_empty() {
                while let Some((number, message)) = one.poll(now, RTT) {
                    match fates.next().unwrap_or(5) {
                        0 => {}
                        1 => under_way.extend([(number, message.to_vec()), (number, message.to_vec())]),
                        2 => under_way.insert(0, (number, message.to_vec())),
                        _ => under_way.push((number, message.to_vec())),
                    }
                }
                for (number, message) in under_way.drain(..) {
                    other.on_message(number, &message);
                    arrived.extend(other.take());
                    if let Some(read) = other.owed() && fates.next() != Some(0) {
                        prop_assert!(one.on_read(read));
                    }
                }
                now = one.deadline().unwrap_or(now).max(now);
            }
            prop_assert_eq!(arrived, (0..count).map(|number| vec![number]).collect::<Vec<_>>());
        }
    }
}
