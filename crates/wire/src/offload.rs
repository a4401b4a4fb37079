//! The offload header of a TUN device: `virtio_net_hdr` of Linux' `linux/virtio_net.h`, in the byte order of
//! the machine. It tells which work on a packet is left to the receiver.
//!
//! With it, the kernel passes and accepts TCP packets of up to 64 kB that stand for a train of segments, and
//! packets whose transport checksum covers the pseudo-header only.

/// The size of the header, bytes.
pub const LENGTH: usize = 10;
/// The transport checksum covers the pseudo-header only.
pub(crate) const NEEDS_CHECKSUM: u8 = 1;
/// The kernel has checked the transport checksum.
const VALID_CHECKSUM: u8 = 2;
/// A train of TCP segments over IPv4.
pub(crate) const TCP4: u8 = 1;
/// A train of TCP segments over IPv6.
pub(crate) const TCP6: u8 = 4;
/// Added to either: CWR is set on the first segment only.
pub(crate) const WITH_CWR: u8 = 0x80;

/// The header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Offload {
    pub(crate) flags: u8,
    /// The kind of train; 0 for a single packet.
    pub(crate) kind: u8,
    /// The bytes before the payload.
    pub(crate) headers: u16,
    /// The payload of every segment except the last, bytes.
    pub(crate) size: u16,
    /// The start of the checksum's coverage, which is the start of the transport header.
    pub(crate) start: u16,
    /// The position of the checksum, from there.
    pub(crate) offset: u16,
}

impl Offload {
    pub(crate) fn read(bytes: &[u8; LENGTH]) -> Offload {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Offload {
            flags: bytes[0],
            kind: bytes[1],
            headers: word(2),
            size: word(4),
            start: word(6),
            offset: word(8),
        }
    }

    pub(crate) fn write(self) -> [u8; LENGTH] {
        let mut bytes = [self.flags, self.kind, 0, 0, 0, 0, 0, 0, 0, 0];
        for (at, word) in [(2, self.headers), (4, self.size), (6, self.start), (8, self.offset)] {
            bytes[at..at + 2].copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    pub(crate) fn needs_checksum(self) -> bool {
        self.flags & NEEDS_CHECKSUM != 0
    }

    /// True if the transport checksum needs no check: the packet was never on a wire, or was checked there.
    pub(crate) fn is_checked(self) -> bool {
        self.flags & (NEEDS_CHECKSUM | VALID_CHECKSUM) != 0
    }
}
