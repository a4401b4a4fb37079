//! Trains in flight, and buffers for the next ones. Once a run is going, nothing is allocated per packet.

use crate::lanes::NO_TRAIN;
use ackclock_wire::GsoBatch;

/// The sizes of buffers that are kept: for headers, one segment, short trains, long trains.
const SIZES: [usize; 4] = [300, 2 << 10, 16 << 10, 66 << 10];
/// The largest number of kept buffers of each size.
const MAX_KEPT: usize = 4096;

/// The trains in flight.
pub(crate) struct Trains {
    slots: Vec<Slot>,
    free: Vec<u32>,
    buffers: [Vec<Vec<u8>>; SIZES.len()],
}

struct Slot {
    train: Option<GsoBatch>,
    /// The packets of the train that are still in flight.
    left: u32,
}

impl Trains {
    pub(crate) fn new() -> Trains {
        let buffer = |size| (0..64).map(|_| Vec::with_capacity(size)).collect();
        Trains { slots: Vec::new(), free: Vec::new(), buffers: SIZES.map(buffer) }
    }

    /// The first `length` bytes of what was read, in a buffer of its own. A long train keeps the buffer into
    /// which it was read, which is replaced: to copy it would take as long as the kernel took. Something
    /// short is copied, so that it does not hold a long buffer.
    pub(crate) fn taken(&mut self, read: &mut Vec<u8>, length: usize) -> Vec<u8> {
        let class = SIZES.iter().position(|&size| length <= size).unwrap_or(SIZES.len() - 1);
        let mut buffer = self.buffers[class].pop().unwrap_or_else(|| Vec::with_capacity(SIZES[class]));
        if class == SIZES.len() - 1 {
            buffer.resize(read.len(), 0);
            std::mem::swap(read, &mut buffer);
            buffer.truncate(length);
        } else {
            buffer.clear();
            buffer.extend_from_slice(&read[..length]);
        }
        buffer
    }

    /// Keeps a buffer for later.
    pub(crate) fn give_back(&mut self, buffer: Vec<u8>) {
        if let Some(class) = SIZES.iter().rposition(|&size| buffer.capacity() >= size)
            && self.buffers[class].len() < MAX_KEPT
        {
            self.buffers[class].push(buffer);
        }
    }

    /// Adds a train and returns its number. It stays until `release` was called once more than `keep`.
    pub(crate) fn insert(&mut self, train: GsoBatch) -> u32 {
        let slot = Slot { train: Some(train), left: 1 };
        match self.free.pop() {
            Some(number) => {
                self.slots[number as usize] = slot;
                number
            }
            None => {
                self.slots.push(slot);
                (self.slots.len() - 1) as u32
            }
        }
    }

    pub(crate) fn get(&self, number: u32) -> Option<&GsoBatch> {
        self.slots.get(number as usize)?.train.as_ref()
    }

    /// One more of its packets is in flight.
    pub(crate) fn keep(&mut self, number: u32) {
        if number != NO_TRAIN {
            self.slots[number as usize].left += 1;
        }
    }

    /// One of its packets is gone.
    pub(crate) fn release(&mut self, number: u32) {
        if number == NO_TRAIN {
            return;
        }
        let slot = &mut self.slots[number as usize];
        slot.left -= 1;
        if slot.left == 0
            && let Some(train) = slot.train.take()
        {
            self.free.push(number);
            self.give_back(train.into_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_in_a_buffer_of_its_own() {
        let mut trains = Trains::new();
        let mut read = vec![0; 65_585];
        for length in [40, 2 << 10, 3 << 10, (16 << 10) + 1, 65_585, 20_000] {
            for round in [1, 2] {
                read[..length].fill(round);
                read[length - 1] = 9;
                let taken = trains.taken(&mut read, length);
                assert_eq!((taken.len(), taken[0], taken[length - 1]), (length, round, 9));
                assert!(taken[..length - 1].iter().all(|&byte| byte == round));
                assert_eq!(read.len(), 65_585, "as much can be read again");
                read.fill(7);
                trains.give_back(taken);
            }
        }
    }
}
