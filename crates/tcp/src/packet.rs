//! Packets: data segments in one direction, acknowledgements in the other.

use ackclock_units::Time;

/// Flags of both kinds of packets, and the number of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(u16);

impl Flags {
    /// ECN-capable transport (RFC 3168: ECT(0), unless it is [`Flags::ECT1`]).
    pub const ECT: Flags = Flags(1);
    /// Congestion experienced (RFC 3168: CE).
    pub const CE: Flags = Flags(2);
    /// ECN echo (RFC 3168: ECE), on acknowledgements.
    pub const ECE: Flags = Flags(4);
    /// Congestion window reduced (RFC 3168: CWR), on data.
    pub const CWR: Flags = Flags(8);
    /// This segment was sent before.
    pub const RETRANSMISSION: Flags = Flags(16);
    /// ECN-capable transport whose sender expects the frequent marks of L4S (RFC 9331: ECT(1)).
    pub const ECT1: Flags = Flags(32 | Self::ECT.0);

    const EPOCH_SHIFT: u32 = 8;

    /// True if all bits of `other` are set.
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The union of both sets of bits.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// The flags of connection number `epoch` between the same hosts. They identify segments of an earlier
    /// connection.
    #[must_use]
    pub const fn of_epoch(epoch: u8) -> Flags {
        Flags((epoch as u16) << Self::EPOCH_SHIFT)
    }

    /// The number of the connection between the same hosts.
    #[inline]
    pub const fn epoch(self) -> u8 {
        (self.0 >> Self::EPOCH_SHIFT) as u8
    }
}

/// A data segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Data {
    /// Its number.
    pub seq: u64,
    /// When it was sent (RFC 7323: TSval).
    pub sent_at: Time,
    /// Bytes on the wire, headers included.
    pub bytes: u16,
    /// Its flags.
    pub flags: Flags,
}

/// A run of received segments above the cumulative acknowledgement, relative to the acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlock {
    /// The distance of the first segment from [`Ack::ack`]. Negative (two's complement) if that segment is
    /// below it.
    pub offset: u32,
    /// The number of segments in the run; 0 means no block.
    pub length: u32,
}

/// An acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ack {
    /// The next expected segment: everything below has arrived.
    pub ack: u64,
    /// When it was sent, by the receiver's clock (RFC 7323: TSval).
    pub sent_at: Time,
    /// The send time that is echoed (RFC 7323: TSecr).
    pub echo: Time,
    /// The receive window: the number of segments beyond `ack` for which the receiver has room.
    pub window: u32,
    /// Bytes on the wire.
    pub bytes: u16,
    /// Its flags.
    pub flags: Flags,
    /// Up to three runs, the most recently changed one first (RFC 2018).
    pub blocks: [SackBlock; 3],
}

impl Ack {
    /// The reported runs, each start..end. The first may be RFC 2883's report of a duplicate.
    pub fn runs(&self) -> impl Iterator<Item = (u64, u64)> {
        let known = self.blocks.into_iter().take_while(|block| block.length > 0);
        known.map(|block| {
            // A run below the acknowledgement has a negative distance.
            let start = self.ack.saturating_add_signed(i64::from(block.offset as i32));
            (start, start + u64::from(block.length))
        })
    }

    /// RFC 2883 section 4: the first run is a duplicate if it is below the acknowledgement, or within the
    /// second run.
    pub fn duplicate_report(&self) -> Option<(u64, u64)> {
        let mut runs = self.runs();
        let first = runs.next()?;
        let within = runs.next().is_some_and(|second| second.0 <= first.0 && first.1 <= second.1);
        (first.0 < self.ack || within).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A simulator stores one of these per segment in flight.
    #[test]
    fn packets_are_small() {
        assert_eq!(size_of::<Data>(), 24);
        assert_eq!(size_of::<Ack>(), 56);
    }
}
