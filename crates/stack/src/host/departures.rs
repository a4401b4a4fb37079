//! Packets that leave: acknowledgements and resets first, then trains, one of each connection in turn.

use super::Host;
use ackclock_units::Time;
use ackclock_wire::endpoint;

/// A packet or train that leaves: an offload header and headers, then the payload in up to two parts.
#[derive(Clone, Copy, Debug)]
pub struct Train<'a> {
    head: &'a [u8],
    body: [&'a [u8]; 2],
}

impl<'a> Train<'a> {
    /// Its parts, in order. Some may be empty.
    pub fn parts(&self) -> [&'a [u8]; 3] {
        [self.head, self.body[0], self.body[1]]
    }

    /// Its bytes in one piece.
    pub fn to_vec(&self) -> Vec<u8> {
        self.parts().concat()
    }
}

impl Host {
    /// The next packet or train that leaves now. Call it until it returns `None`.
    pub fn transmit(&mut self, now: Time) -> Option<Train<'_>> {
        self.counts.packets_out += 1;
        self.identification = self.identification.wrapping_add(1);
        if let Some(mut header) = self.out.pop_front() {
            header.identification = self.identification;
            self.counts.segments_out += 1;
            let place = endpoint::write(&header, 0, 0, &mut self.head);
            return Some(Train { head: &self.head[place], body: [&[], &[]] });
        }
        let (index, departure) = loop {
            let Some(index) = self.ready.pop_front() else {
                self.counts.packets_out -= 1;
                return None;
            };
            let slot = &mut self.slots[index as usize];
            slot.ready = false;
            let generation = slot.generation;
            let Some(connection) = slot.connection.as_deref_mut() else { continue };
            match connection.depart(now) {
                Some(departure) => {
                    slot.ready = true;
                    self.ready.push_back(index);
                    break (index, departure);
                }
                None => self.rest(now, index, generation),
            }
        };
        let (mut header, piece) = (departure.header, departure.piece);
        header.identification = self.identification;
        let (payload, size) = ((piece.end - piece.start) as usize, departure.size as usize);
        let segments = payload.div_ceil(size.max(1)).max(1) as u16;
        self.identification = self.identification.wrapping_add(segments - 1);
        self.counts.segments_out += u64::from(segments);
        let connection = self.slots[index as usize].connection.as_deref()?;
        let place = endpoint::write(&header, payload, size, &mut self.head);
        Some(Train { head: &self.head[place], body: connection.outbound.bytes(&piece) })
    }

    /// A connection has nothing more to send now: sets its alarm.
    fn rest(&mut self, now: Time, index: u32, generation: u32) {
        let slot = &mut self.slots[index as usize];
        let Some(connection) = &slot.connection else { return };
        if let Some(at) = connection.deadline(now)
            && slot.alarm.is_none_or(|alarm| at < alarm)
        {
            slot.alarm = Some(at);
            self.alarms.push(std::cmp::Reverse((at, index, generation)));
        }
    }
}
