//! The form of packets on the wire, version 1. Numbers are little-endian.
//!
//! ```text
//! hello    0x11  attempt:1  from:4  length:2  noise:length  zeros  proof:16      at least 512 bytes
//! welcome  0x12  attempt:1  to:4    from:4    noise
//! sealed   0x13  epoch:1    to:4    number:8  sealed frame, tag:16
//! ```
//!
//! The high half of the first byte is the version. `from` and `to` are numbers that each end chooses for the
//! session, as WireGuard's are. `number` is the nonce. Data packets have the packet numbers of their
//! transport; all else has numbers from [`CONTROL`] on. A sealed packet holds one [`Frame`]. What stands
//! before it needs no authentication of its own: `number` and `epoch` select nonce and key, so a change of
//! them makes the frame unreadable.

mod envelope;
mod frame;
mod reader;

use crate::probing::LARGEST;

pub use envelope::{Envelope, HELLO_BYTES, PROOF_BYTES, SEALED_HEADER, TAG_BYTES, put_hello, put_welcome};
pub use envelope::{put_sealed_header, unproven};
pub use frame::{DATA_HEADER, Frame, Standing};

/// What a sealed packet has beside the filling of a [`Frame::Probe`], bytes on the wire.
pub const PROBE_OVERHEAD: usize = UDP_IP_BYTES + SEALED_HEADER + TAG_BYTES + 1;

/// The first number of what is not data.
pub const CONTROL: u64 = 1 << 63;

/// The packet number of a datagram with data, which can be read without keys. `None` for other datagrams.
pub fn data_number(datagram: &[u8]) -> Option<u64> {
    match Envelope::read(datagram)? {
        Envelope::Sealed { number, .. } if number < CONTROL => Some(number),
        _ => None,
    }
}

/// The longest datagram that is sent, bytes.
pub const MAX_DATAGRAM: usize = LARGEST as usize - UDP_IP_BYTES;

/// What UDP and IPv4 add to a datagram, bytes.
pub const UDP_IP_BYTES: usize = 28;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_packet_with_data_is_read_without_keys() {
        let sealed = |number| {
            let mut datagram = Vec::new();
            put_sealed_header(&mut datagram, 1, 2, number);
            datagram.extend([0; 2 * TAG_BYTES]);
            datagram
        };
        assert_eq!(data_number(&sealed(77)), Some(77));
        assert_eq!(data_number(&sealed(CONTROL)), None);
        assert_eq!(data_number(&sealed(77)[..5]), None);
        assert_eq!(data_number(&[0; 1200]), None);
    }
}
