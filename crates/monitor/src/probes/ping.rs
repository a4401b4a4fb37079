//! Echo requests and their replies (RFC 792, RFC 4443).
//!
//! A datagram socket needs no rights where net.ipv4.ping_group_range allows it. Elsewhere a raw socket is
//! used, which needs CAP_NET_RAW.

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, ipproto, recv, send, socket_with,
};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Type of an echo request: ICMP, ICMPv6.
const REQUEST: [u8; 2] = [8, 128];
/// Type of its reply.
const REPLY: [u8; 2] = [0, 129];
/// The length of a request: header, and two numbers by which its reply is known.
const LENGTH: usize = 24;

/// Sends echo requests to a host.
pub(crate) struct Pinger {
    socket: OwnedFd,
    six: bool,
    /// Does what arrives begin with the header of IPv4?
    raw_four: bool,
    /// In all requests of this process: a raw socket also sees replies to others.
    token: u64,
    sent: u64,
}

impl Pinger {
    /// A socket for requests to this host.
    ///
    /// # Errors
    ///
    /// If the kernel gives no socket: this user may not send echo requests.
    pub(crate) fn open(host: IpAddr) -> io::Result<Pinger> {
        let six = host.is_ipv6();
        let (family, protocol) =
            if six { (AddressFamily::INET6, ipproto::ICMPV6) } else { (AddressFamily::INET, ipproto::ICMP) };
        let open = |kind| socket_with(family, kind, SocketFlags::CLOEXEC, Some(protocol));
        let (socket, raw) = match open(SocketType::DGRAM) {
            Err(Errno::ACCESS | Errno::PERM) => (open(SocketType::RAW)?, true),
            other => (other?, false),
        };
        connect(&socket, &SocketAddr::new(host, 0))?;
        let token = RandomState::new().hash_one(host);
        Ok(Pinger { socket, six, raw_four: raw && !six, token, sent: 0 })
    }

    /// Sends a request, and waits for its reply at most so long: the round-trip time, or `None` if none came.
    ///
    /// # Errors
    ///
    /// If the request cannot be sent.
    pub(crate) fn ping(&mut self, patience: Duration) -> io::Result<Option<Duration>> {
        self.sent += 1;
        let request = self.request();
        let begun = Instant::now();
        match send(&self.socket, &request, SendFlags::empty()) {
            Ok(_) => {}
            // An error that a router has sent about an earlier request.
            Err(Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::CONNREFUSED) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let mut bytes = [0; 2048];
        loop {
            let left = patience.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            let left = left.max(Duration::from_micros(1));
            set_socket_timeout(&self.socket, Timeout::Recv, Some(left))?;
            match recv(&self.socket, &mut bytes, RecvFlags::empty()) {
                Ok((length, _)) if self.answers(&bytes[..length.min(2048)]) => {
                    return Ok(Some(begun.elapsed()));
                }
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::CONNREFUSED) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn request(&self) -> [u8; LENGTH] {
        let mut request = [0; LENGTH];
        request[0] = REQUEST[usize::from(self.six)];
        request[4..6].copy_from_slice(&self.token.to_be_bytes()[..2]);
        request[6..8].copy_from_slice(&self.sent.to_be_bytes()[6..]);
        request[8..16].copy_from_slice(&self.token.to_be_bytes());
        request[16..].copy_from_slice(&self.sent.to_be_bytes());
        // The kernel fills in that of ICMPv6, and that of a datagram socket again.
        let sum = checksum(&request);
        request[2..4].copy_from_slice(&sum.to_be_bytes());
        request
    }

    /// Is this the reply to the last request?
    fn answers(&self, bytes: &[u8]) -> bool {
        let header = match bytes.first() {
            Some(first) if self.raw_four => usize::from(first & 0xf) * 4,
            _ => 0,
        };
        let Some(reply) = bytes.get(header..header + LENGTH) else { return false };
        reply[0] == REPLY[usize::from(self.six)]
            && reply[8..16] == self.token.to_be_bytes()
            && reply[16..] == self.sent.to_be_bytes()
    }
}

/// The checksum of RFC 1071 over an even number of bytes.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_the_rfc() {
        // RFC 1071, section 3: the sum is ddf2.
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }

    #[test]
    fn only_its_own_reply_answers() {
        let Ok(mut pinger) = Pinger::open(IpAddr::from([127, 0, 0, 1])) else {
            return eprintln!("SKIPPED: this user may open no socket for echo requests");
        };
        pinger.sent = 7;
        let mut reply = pinger.request();
        assert!(!pinger.answers(&reply), "this is the request itself");
        reply[0] = 0;
        pinger.raw_four = false;
        assert!(pinger.answers(&reply) && !pinger.answers(&reply[..23]));
        let mut with_header = vec![0; 20];
        with_header[0] = 0x45;
        with_header.extend(reply);
        pinger.raw_four = true;
        assert!(pinger.answers(&with_header) && !pinger.answers(&[]));
        pinger.sent = 8;
        assert!(!pinger.answers(&with_header), "an earlier one is late");
    }
}
