//! Sockets of the running kernel: the near side of each connection, and ports that the kernel must not give
//! to others.

use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, SocketFlags, SocketType, bind, connect,
    getsockname, ipproto, listen, recv, sendmsg, socket_with, sockopt,
};
use std::io::{self, IoSlice};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// The silence before the kernel asks whether a client is still there, and the time between its questions.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// Takes a port from the kernel, so that no socket gets it. Port 0: any that is free.
pub(crate) fn reserve(local: SocketAddr, again: bool) -> io::Result<(OwnedFd, SocketAddr)> {
    let socket = open(local)?;
    // The kernel's own connections in TIME-WAIT are no reason to refuse a server's port.
    sockopt::set_socket_reuseaddr(&socket, again)?;
    if local.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    bind(&socket, &local)?;
    let local = SocketAddr::try_from(getsockname(&socket)?)?;
    Ok((socket, local))
}

/// Lets nobody else listen on the port of a reserved socket, though both may be bound to it.
pub(crate) fn occupy(reserved: &OwnedFd) -> io::Result<()> {
    Ok(listen(reserved, 0)?)
}

fn open(like: SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if like.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))
}

/// The address from which the kernel would send there, and the size of packets on that route, bytes.
pub(crate) fn route(to: SocketAddr) -> io::Result<(IpAddr, u32)> {
    let any: SocketAddr = if to.is_ipv4() { ([0; 4], 0).into() } else { ([0_u16; 8], 0).into() };
    let probe = UdpSocket::bind(any)?;
    probe.connect(to)?; // sends nothing
    let mtu = if to.is_ipv4() { sockopt::ip_mtu(&probe)? } else { sockopt::ipv6_mtu(&probe)? };
    Ok((probe.local_addr()?.ip(), mtu))
}

pub(crate) fn listener(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Begins to connect. The socket is writable when that has succeeded, or failed.
pub(crate) fn connecting(to: SocketAddr) -> io::Result<TcpStream> {
    let socket = open(to)?;
    match connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => {
            let stream = TcpStream::from(socket);
            attend(&stream).map(|()| stream)
        }
        Err(error) => Err(error.into()),
    }
}

/// Sends small writes at once, and notices a peer that is gone.
pub(crate) fn attend(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, KEEP_ALIVE)?;
    Ok(sockopt::set_tcp_keepintvl(stream, KEEP_ALIVE)?)
}

/// What is wrong with the connection, if anything is.
pub(crate) fn fault(stream: &TcpStream) -> Option<io::Error> {
    match sockopt::socket_error(stream) {
        Ok(Ok(())) => None,
        Ok(Err(error)) | Err(error) => Some(error.into()),
    }
}

/// Reads what is there; `None`: nothing at present. Zero bytes are the end.
pub(crate) fn read(stream: &TcpStream, into: &mut [u8]) -> io::Result<Option<usize>> {
    match retry_on_intr(|| recv(stream, &mut *into, RecvFlags::DONTWAIT)) {
        Ok((bytes, _)) => Ok(Some(bytes)),
        Err(Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Writes as much as the socket takes; `None`: it is full.
pub(crate) fn write(stream: &TcpStream, parts: [&[u8]; 2]) -> io::Result<Option<usize>> {
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    let parts = parts.map(IoSlice::new);
    match retry_on_intr(|| sendmsg(stream, &parts, &mut SendAncillaryBuffer::default(), flags)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Passes the end of a stream on.
pub(crate) fn finish(stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)
}

/// Ends the connection with a reset.
pub(crate) fn reset(stream: TcpStream) {
    // Without a time to linger, close() discards what is not sent and resets (RFC 9293 section 3.10.5,
    // ABORT). A socket that refuses the option is closed all the same.
    let _ = sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
    drop(stream);
}

/// The peer's address as a number, without what IPv6 wraps around IPv4.
pub(crate) fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
