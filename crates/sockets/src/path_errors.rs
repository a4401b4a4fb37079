//! What routers and hosts on the way say about a datagram: ICMP errors (RFC 792, RFC 4443) from the queue of
//! a socket's errors (ip(7), IP_RECVERR).

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

/// ICMP's and ICMPv6's types for a datagram that has made too many hops, and for one without a receiver.
const EXCEEDED: [u8; 2] = [11, 3];
const UNREACHABLE: [u8; 2] = [3, 1];
/// The codes of the latter that say that the host is there, but nobody at this port.
const PORT: [u8; 2] = [3, 4];
/// Where `struct sock_extended_err` (linux/errqueue.h) ends and the sender's address begins, bytes.
const HEADER: usize = 16;

/// What was said about a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathError {
    /// A router has got it with a hop limit of one.
    Exceeded(IpAddr),
    /// The host has nobody at this port: the datagram has arrived.
    Arrived(IpAddr),
    /// Somebody says that it gets no further.
    Unreachable(IpAddr),
}

/// Lets a UDP socket keep what is said about its datagrams.
///
/// # Errors
///
/// If the kernel refuses it.
pub fn keep_path_errors(socket: impl AsFd, six: bool) -> io::Result<()> {
    let (level, option) =
        if six { (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) } else { (libc::IPPROTO_IP, libc::IP_RECVERR) };
    crate::options::set(socket.as_fd(), level, option, &1_i32)
}

/// Waits until something is said about a datagram of this socket, or until the socket has received one, at
/// most `patience`. `None`: nothing was said.
///
/// # Errors
///
/// If the kernel cannot be asked.
pub fn path_error(socket: impl AsFd, patience: Duration) -> io::Result<Option<PathError>> {
    let socket = socket.as_fd();
    let mut descriptors = [PollFd::new(&socket, PollFlags::IN)];
    let patience = Timespec::try_from(patience).map_err(io::Error::other)?;
    if poll(&mut descriptors, Some(&patience))? == 0 {
        return Ok(None);
    }
    read_queue(socket)
}

#[repr(C, align(8))]
struct Control([u8; 512]);

#[allow(unsafe_code, reason = "rustix does not read these control messages")]
fn read_queue(socket: BorrowedFd<'_>) -> io::Result<Option<PathError>> {
    let (mut data, mut control) = ([0_u8; 64], Control([0; 512]));
    let mut piece = libc::iovec { iov_base: data.as_mut_ptr().cast(), iov_len: data.len() };
    // SAFETY: all zero is a valid `msghdr`.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len();
    // SAFETY: the kernel writes into `data` and `control`, at most as much as the lengths beside them say.
    let length = unsafe {
        libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT)
    };
    if length < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::WouldBlock { Ok(None) } else { Err(error) };
    }
    // SAFETY: `message` describes `control`, which the kernel has filled. The macros stay within it, and the
    // slice is what the message's own length says.
    unsafe {
        let mut next = libc::CMSG_FIRSTHDR(&raw const message);
        while let Some(header) = next.as_ref() {
            let is_error = matches!(
                (header.cmsg_level, header.cmsg_type),
                (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
            );
            let length = header.cmsg_len.saturating_sub(libc::CMSG_LEN(0) as usize);
            let bytes = std::slice::from_raw_parts(libc::CMSG_DATA(next), length);
            if is_error {
                return Ok(parsed(bytes));
            }
            next = libc::CMSG_NXTHDR(&raw const message, next);
        }
    }
    Ok(None)
}

/// Parses a `struct sock_extended_err` and the address behind it. `None` for errors of this host itself.
fn parsed(bytes: &[u8]) -> Option<PathError> {
    let (origin, kind, code) = (*bytes.get(4)?, *bytes.get(5)?, *bytes.get(6)?);
    let six = match origin {
        libc::SO_EE_ORIGIN_ICMP => false,
        libc::SO_EE_ORIGIN_ICMP6 => true,
        _ => return None,
    };
    // Behind the family and the port; in IPv6 also behind the flow.
    let from: IpAddr = if six {
        let bytes: [u8; 16] = bytes.get(HEADER + 8..HEADER + 24)?.try_into().ok()?;
        Ipv6Addr::from(bytes).into()
    } else {
        let bytes: [u8; 4] = bytes.get(HEADER + 4..HEADER + 8)?.try_into().ok()?;
        Ipv4Addr::from(bytes).into()
    };
    let at = usize::from(six);
    match (kind, code) {
        (kind, _) if kind == EXCEEDED[at] => Some(PathError::Exceeded(from)),
        (kind, code) if kind == UNREACHABLE[at] && code == PORT[at] => Some(PathError::Arrived(from)),
        (kind, _) if kind == UNREACHABLE[at] => Some(PathError::Unreachable(from)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::UdpSocket;

    fn error(origin: u8, kind: u8, code: u8, address: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER + 4];
        (bytes[4], bytes[5], bytes[6]) = (origin, kind, code);
        bytes.extend_from_slice(address);
        bytes
    }

    #[test]
    fn routers_and_hosts_are_told_apart() {
        let four = [10, 1, 2, 3];
        let from = IpAddr::from(four);
        assert_eq!(parsed(&error(2, 11, 0, &four)), Some(PathError::Exceeded(from)));
        assert_eq!(parsed(&error(2, 3, 3, &four)), Some(PathError::Arrived(from)));
        assert_eq!(parsed(&error(2, 3, 13, &four)), Some(PathError::Unreachable(from)));
        assert_eq!(parsed(&error(1, 11, 0, &four)), None, "this host's own error");
        let mut six = vec![0; 4];
        six.extend_from_slice(&Ipv6Addr::LOCALHOST.octets());
        assert_eq!(parsed(&error(3, 3, 0, &six)), Some(PathError::Exceeded(Ipv6Addr::LOCALHOST.into())));
        assert_eq!(parsed(&error(3, 1, 4, &six)), Some(PathError::Arrived(Ipv6Addr::LOCALHOST.into())));
        assert_eq!(parsed(&error(2, 11, 0, &four[..3])), None);
    }

    /// Nobody listens at the port of a socket that was closed: the kernel says so.
    #[test]
    fn a_closed_port_answers() {
        let closed = UdpSocket::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port");
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.connect(closed).expect("an address");
        keep_path_errors(&socket, false).expect("an option");
        assert_eq!(path_error(&socket, Duration::ZERO).expect("asked"), None);
        socket.send(b"?").expect("sent");
        let told = path_error(&socket, Duration::from_secs(5)).expect("asked");
        assert_eq!(told, Some(PathError::Arrived([127, 0, 0, 1].into())));
    }

    proptest! {
        #[test]
        fn nothing_is_read_beyond_the_end(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = parsed(&bytes);
        }
    }
}
