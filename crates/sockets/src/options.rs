//! Options of a TCP socket: the controller by its name, the pacing rate, buffers, and what may wait unsent.

use ackclock_units::Rate;
use rustix::net::sockopt::{
    set_socket_keepalive, set_socket_recv_buffer_size_force, set_socket_send_buffer_size_force,
    set_tcp_congestion, set_tcp_keepidle, set_tcp_keepintvl, set_tcp_user_timeout, tcp_congestion,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

/// Chooses the congestion controller by the name that the kernel knows it by (TCP_CONGESTION).
///
/// # Errors
///
/// `NotFound` if the kernel has none of this name, `PermissionDenied` if this user may not choose it.
pub fn set_controller(socket: impl AsFd, name: &str) -> io::Result<()> {
    Ok(set_tcp_congestion(socket, name)?)
}

/// The name of the congestion controller in use. It may be another than the one that was asked for, as when
/// `ackclock kernel` has loaded one that serves only some destinations.
///
/// # Errors
///
/// If this is no TCP socket.
pub fn controller(socket: impl AsFd) -> io::Result<String> {
    Ok(tcp_congestion(socket)?)
}

/// Sets the rate at which the kernel sends at most (SO_MAX_PACING_RATE), whatever window there is. The
/// kernel's TCP paces by itself; no queueing discipline is needed. The kernel counts headers, too.
///
/// # Errors
///
/// If the kernel refuses it.
pub fn set_pacing_rate(socket: impl AsFd, rate: Rate) -> io::Result<()> {
    // Bytes per second. All ones would mean: no limit.
    let rate = (rate.bps() / 8).max(1);
    set(socket.as_fd(), libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &rate)
}

/// Ends the connection when nothing has been heard of the other host for about so long, even if nothing is
/// to be sent: the kernel asks once a second (SO_KEEPALIVE, TCP_KEEPIDLE, TCP_KEEPINTVL; RFC 9293, section
/// 3.8.4) and gives up after `silence` (TCP_USER_TIMEOUT; RFC 5482). Reading then fails with `TimedOut`,
/// once.
///
/// # Errors
///
/// If this is no TCP socket.
pub fn set_silence(socket: impl AsFd, silence: Duration) -> io::Result<()> {
    const EVERY: Duration = Duration::from_secs(1);
    set_tcp_keepidle(&socket, EVERY)?;
    set_tcp_keepintvl(&socket, EVERY)?;
    set_tcp_user_timeout(&socket, u32::try_from(silence.as_millis()).unwrap_or(u32::MAX))?;
    Ok(set_socket_keepalive(&socket, true)?)
}

/// Limits the bytes that may wait in the socket beside those in flight (TCP_NOTSENT_LOWAT). Writes block, or
/// would block, while more wait.
///
/// # Errors
///
/// If this is no TCP socket.
pub fn set_unsent(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    set_tcp_option(socket, libc::TCP_NOTSENT_LOWAT, i32::try_from(bytes).unwrap_or(i32::MAX))
}

/// Sets the capacity of the socket for sending, bytes (SO_SNDBUF). The kernel doubles the size that it is
/// asked for, and counts little besides the data itself. A system's limit (net.core.wmem_max) holds unless
/// the program has CAP_NET_ADMIN.
///
/// Linux asks for room only where it begins a packet for its device, of up to 64 kB. While the beginning of
/// one is sent, more data are added to its end: up to 17 pages of 32 KiB (MAX_SKB_FRAGS). So a socket whose
/// window grows may hold half a megabyte more. A program that must not have that asks how much is
/// [`unacknowledged`] before each write.
///
/// # Errors
///
/// If the kernel refuses it.
pub fn set_send_buffer(socket: impl AsFd, bytes: u64) -> io::Result<()> {
    let half = usize::try_from(bytes / 2).unwrap_or(usize::MAX);
    set_socket_send_buffer_size_force(&socket, half)
        .or_else(|_| rustix::net::sockopt::set_socket_send_buffer_size(&socket, half))?;
    Ok(())
}

/// The data that the socket holds, bytes: those that wait, and those that were sent and not acknowledged
/// (SIOCOUTQ).
///
/// # Errors
///
/// If the kernel refuses it, as for a socket that listens.
#[allow(unsafe_code, reason = "rustix has no wrapper for SIOCOUTQ")]
pub fn unacknowledged(socket: impl AsFd) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the kernel writes one int to `bytes`, which outlives the call. For a socket TIOCOUTQ has the
    // same number as SIOCOUTQ.
    let status =
        unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::TIOCOUTQ, std::ptr::from_mut(&mut bytes)) };
    if status == 0 { Ok(u64::try_from(bytes).unwrap_or(0)) } else { Err(io::Error::last_os_error()) }
}

/// Sets the memory of the socket for receiving, and so the window that it offers, about as many bytes
/// (SO_RCVBUF). Linux offers the free memory of the buffer. Packets need about twice their data in memory,
/// and the buffer is twice as large as asked for. A system's limit (net.core.rmem_max) holds unless the
/// program has CAP_NET_ADMIN.
///
/// # Errors
///
/// If the kernel refuses it.
pub fn set_receive_buffer(socket: impl AsFd, bytes: u64) -> io::Result<()> {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    set_socket_recv_buffer_size_force(&socket, bytes)
        .or_else(|_| rustix::net::sockopt::set_socket_recv_buffer_size(&socket, bytes))?;
    Ok(())
}

/// A reader is woken when so many bytes have come (SO_RCVLOWAT), or when its time-out or the data is over.
/// The kernel takes at most half of the memory for receiving.
///
/// # Errors
///
/// If the kernel refuses it.
pub fn set_low_water(socket: impl AsFd, bytes: u64) -> io::Result<()> {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    set(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, &bytes)
}

/// Sets one of TCP's options that is an int (`libc::TCP_...`).
///
/// # Errors
///
/// If the kernel refuses it.
pub fn set_tcp_option(socket: impl AsFd, option: i32, value: i32) -> io::Result<()> {
    set(socket.as_fd(), libc::IPPROTO_TCP, option, &value)
}

/// `setsockopt` for a plain number.
#[allow(unsafe_code, reason = "rustix has no wrapper for these options")]
pub(crate) fn set<T: Copy>(socket: BorrowedFd<'_>, level: i32, option: i32, value: &T) -> io::Result<()> {
    // SAFETY: the kernel reads at most as many bytes at `value` as are given, which is its size.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TcpInfo;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let near = TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
        (near, listener.accept().expect("its other end").0)
    }

    #[test]
    fn controllers_have_names() {
        let (near, _far) = pair();
        set_controller(&near, "reno").expect("every kernel has reno");
        assert_eq!(controller(&near).expect("it has one"), "reno");
        let unknown = set_controller(&near, "nobody").expect_err("no kernel has it");
        assert_eq!(unknown.kind(), io::ErrorKind::NotFound);
        assert_eq!(controller(&near).expect("it has one"), "reno");
    }

    #[test]
    fn the_kernel_knows_the_pacing_rate() {
        let (mut near, mut far) = pair();
        assert_eq!(TcpInfo::of(near.as_fd()).max_pacing_rate, u64::MAX);
        set_pacing_rate(&near, Rate::from_bps(20_000_000)).expect("a rate");
        near.write_all(&[1; 5000]).expect("room");
        far.read_exact(&mut [0; 5000]).expect("all of it");
        let info = TcpInfo::of(near.as_fd());
        assert_eq!(info.max_pacing_rate, 2_500_000);
        assert!(info.pacing_rate <= 2_500_000, "{info:?}");
    }

    #[test]
    fn a_small_socket_is_soon_full() {
        let (mut near, _far) = pair();
        set_send_buffer(&near, 64 << 10).expect("a size");
        set_unsent(&near, 16 << 10).expect("a size");
        near.set_nonblocking(true).expect("an option");
        let mut taken = 0;
        // The far end's buffer takes some, too: far less than 64 MiB.
        while let Ok(bytes) = near.write(&[0; 4096]) {
            taken += bytes;
            assert!(taken < 64 << 20, "the socket takes everything");
        }
    }
}
