//! Packets that have arrived at an endpoint, or will, and that it has not taken yet.

use ackclock_units::Time;

/// Packets in the order of their arrivals.
pub(super) struct Mail<P> {
    entries: Vec<(Time, P)>,
    /// The first entry that is not taken.
    head: usize,
}

impl<P> Default for Mail<P> {
    fn default() -> Mail<P> {
        Mail { entries: Vec::new(), head: 0 }
    }
}

impl<P: Copy> Mail<P> {
    /// Adds a packet that arrives last.
    #[inline(always)] // the packet stays in registers
    pub(super) fn push(&mut self, at: Time, packet: P) {
        self.entries.push((at, packet));
    }

    /// Adds a packet behind those that arrive up to the same instant.
    pub(super) fn insert(&mut self, at: Time, packet: P) {
        let place = self.head + self.entries[self.head..].partition_point(|&(other, _)| other <= at);
        self.entries.insert(place, (at, packet));
    }

    /// When the next packet arrives.
    #[inline]
    pub(super) fn due(&self) -> Time {
        self.entries.get(self.head).map_or(Time::NEVER, |&(at, _)| at)
    }

    /// Takes the next packet, if there is one.
    #[inline]
    pub(super) fn take(&mut self) -> Option<&(Time, P)> {
        let next = self.entries.get(self.head)?;
        self.head += 1;
        Some(next)
    }

    /// True if all packets are taken.
    pub(super) fn is_empty(&self) -> bool {
        self.head == self.entries.len()
    }

    /// Forgets what is taken.
    #[inline]
    pub(super) fn tidy(&mut self) {
        if self.head == self.entries.len() {
            self.entries.clear();
            self.head = 0;
        } else if self.head > self.entries.len() / 2 {
            self.entries.drain(..self.head);
            self.head = 0;
        }
    }
}
