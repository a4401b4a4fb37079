//! The search for the largest packets that a path carries, before the first datum (RFC 8899; RFC 9000 section
//! 14.3).
//!
//! A few sizes are tried at once: what the first link carries, and what common links behind it do. The sender
//! pads a packet to each size, and the receiver tells which ones it got. What is not answered is tried once
//! more. All data packets of a session then have one size. A path that carries less later is not noticed: the
//! session falls silent, and the next one probes again.

use ackclock_units::{Duration, Time};

/// The largest size that is tried, bytes on the wire: a jumbo frame.
pub const LARGEST: u32 = 9000;
/// What paths carry, bytes on the wire: jumbo frames, Ethernet, and tunnels over Ethernet.
const COMMON: [u32; 3] = [LARGEST, 1500, 1400];
/// How often a size is tried.
const ROUNDS: u32 = 2;
/// The shortest wait for answers.
const LEAST_WAIT: Duration = Duration::from_millis(50);

/// The sender's search.
#[derive(Clone, Debug)]
pub struct Probing {
    /// Sizes that are not tried yet in this round, the largest last.
    left: Vec<u32>,
    /// The size that is known to arrive.
    known: u32,
    most: u32,
    rounds: u32,
    wait: Duration,
    /// When the next round begins, or the search ends.
    due: Time,
}

impl Probing {
    /// A search between `known`, which is believed without a probe, and `most`, from `now` on. An answer
    /// takes about `rtt`.
    pub fn new(now: Time, known: u32, most: u32, rtt: Duration) -> Probing {
        let wait = rtt.saturating_mul(2).max(LEAST_WAIT);
        let mut probing = Probing { left: Vec::new(), known, most, rounds: 0, wait, due: now };
        probing.begin();
        probing
    }

    /// The sizes above the known one, the largest last.
    fn sizes(&self) -> Vec<u32> {
        let most = self.most.min(LARGEST);
        let mut sizes: Vec<u32> =
            COMMON.into_iter().chain([most]).filter(|&size| self.known < size && size <= most).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    fn begin(&mut self) {
        self.left = self.sizes();
        self.rounds += 1;
        self.due += self.wait;
    }

    /// The next size to send a probe of. Call again until there is none.
    pub fn poll(&mut self, now: Time) -> Option<u32> {
        if now >= self.due && self.rounds < ROUNDS {
            self.due = now;
            self.begin();
        }
        self.left.pop()
    }

    /// The receiver got a probe of `bytes`.
    pub fn on_answer(&mut self, bytes: u32) {
        if self.sizes().contains(&bytes) {
            self.known = bytes;
            self.left.retain(|&size| size > bytes);
        }
    }

    /// The largest size that arrives, as far as is known.
    pub fn known(&self) -> u32 {
        self.known
    }

    /// True if nothing more can be learnt.
    pub fn is_over(&self, now: Time) -> bool {
        self.sizes().is_empty() || self.rounds >= ROUNDS && now >= self.due && self.left.is_empty()
    }

    /// When to ask again. `None` if the search is over, but for answers that are not awaited any more.
    pub fn poll_timeout(&self) -> Option<Time> {
        match (self.sizes().is_empty(), self.left.is_empty()) {
            (true, _) => None,
            (_, false) => Some(Time::ZERO),
            _ => Some(self.due),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn polled(probing: &mut Probing, now: Time) -> Vec<u32> {
        std::iter::from_fn(|| probing.poll(now)).collect()
    }

    #[test]
    fn sizes_are_tried_twice_and_the_largest_answer_counts() {
        let mut probing = Probing::new(at(0), 1228, 9000, RTT);
        assert_eq!(polled(&mut probing, at(0)), [9000, 1500, 1400]);
        assert_eq!((probing.poll_timeout(), probing.is_over(at(199))), (Some(at(200)), false));
        probing.on_answer(1400);
        probing.on_answer(1500);
        assert_eq!(polled(&mut probing, at(200)), [9000]);
        assert!(!probing.is_over(at(399)));
        assert!(probing.is_over(at(400)));
        assert_eq!(probing.known(), 1500);
    }

    #[test]
    fn the_first_links_size_ends_the_search() {
        let mut probing = Probing::new(at(0), 1228, 1492, RTT);
        assert_eq!(polled(&mut probing, at(0)), [1492, 1400]);
        probing.on_answer(9000); // was never sent
        assert_eq!(probing.known(), 1228);
        probing.on_answer(1492);
        probing.on_answer(1400); // came late
        assert!(probing.is_over(at(1)));
        assert_eq!((probing.known(), probing.poll_timeout()), (1492, None));
    }

    #[test]
    fn there_may_be_nothing_to_search() {
        for most in [0, 576, 1228] {
            let mut probing = Probing::new(at(0), 1228, most, RTT);
            assert_eq!((probing.poll(at(0)), probing.known(), probing.is_over(at(0))), (None, 1228, true));
        }
    }
}
