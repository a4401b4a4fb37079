//! Sequence numbers: 32 bits on the wire that wrap (RFC 9293 section 3.4), 64 bits inside that do not.
//!
//! Inside, bytes of data are counted from 0. The SYN has the number before, and the FIN the one behind.

/// The numbers of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Numbering {
    /// The number of the SYN on the wire: ISS or IRS.
    pub(crate) initial: u32,
}

impl Numbering {
    /// The number on the wire of byte `number`.
    pub(crate) fn wire(self, number: u64) -> u32 {
        // The cast truncates: numbers on the wire are modulo 2^32.
        self.initial.wrapping_add(1).wrapping_add(number as u32)
    }

    /// The distance of a number on the wire from byte `near`: from -2^31 to 2^31 - 1.
    pub(crate) fn distance(self, wire: u32, near: u64) -> i64 {
        i64::from(wire.wrapping_sub(self.wire(near)) as i32)
    }

    /// The byte with this number on the wire that is nearest to byte `near`. `None`: it is before the first.
    pub(crate) fn byte(self, wire: u32, near: u64) -> Option<u64> {
        near.checked_add_signed(self.distance(wire, near))
    }
}

/// The signed difference of two numbers of 32 bits (RFC 7323 section 5: timestamps wrap, too).
pub(crate) fn difference(left: u32, right: u32) -> i32 {
    left.wrapping_sub(right) as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_near_each_other_survive_the_wire(initial: u32, near in 0_u64..1 << 40, by in -(1_i64 << 31)..1 << 31) {
            let numbering = Numbering { initial };
            let expected = near.checked_add_signed(by);
            let wire = numbering.wire(expected.unwrap_or_else(|| near.wrapping_add_signed(by)));
            prop_assert_eq!(numbering.byte(wire, near), expected);
        }
    }
}
