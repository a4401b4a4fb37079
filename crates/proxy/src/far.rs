//! The far side: our stack, its device, and the rules that hand packets over.

use crate::device;
use crate::error::ProxyError;
use crate::handover::{DEVICE_V6, Handover};
use crate::near;
use crate::pair::Reserved;
use crate::settings::{Settings, Towards};
use ackclock_stack::netlink::Netlink;
use ackclock_stack::{ConnectionId, Host, Limits, ListenerId, Options, Port, Tun};
use ackclock_units::Time;
use rustix::rand::{GetRandomFlags, getrandom};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixListener};
use std::sync::Arc;

/// The device's name without its number, and the numbers that are tried.
const NAME: &str = "ackclock";
const NUMBERS: u32 = 10_000;
/// Packets are no larger than this unless a size is given (jumbo frames), bytes.
const LARGEST: u32 = 9000;
/// The least sizes that hosts and paths must take, bytes (RFC 9293 section 3.7.1, RFC 8200 section 5).
const LEAST_V4: u32 = 576;
const LEAST_V6: u32 = 1280;
/// Packets towards clients are of this size unless one is given (Ethernet), bytes.
const USUAL: u32 = 1500;
/// Connections in TIME-WAIT at most, whose ports are then free again.
const WAITING: usize = 8192;
/// Connections of clients that wait to be accepted at most.
const BACKLOG: usize = 256;

/// Our stack with all that connects it to the wire.
pub(crate) struct Far {
    pub(crate) stack: Host,
    port: Port,
    device: String,
    handover: Handover,
    options: Options,
    to: SocketAddr,
    /// Towards clients: where they connect.
    entrance: Option<Entrance>,
    /// Connections that are nobody's any more, but not gone (TIME-WAIT), and their ports.
    leaving: Vec<(ConnectionId, Reserved)>,
}

struct Entrance {
    listener: ListenerId,
    address: SocketAddr,
    /// No other socket of the kernel can have the port.
    port: OwnedFd,
    /// No other proxy of this network namespace can have it.
    _lock: UnixListener,
}

impl Far {
    pub(crate) fn open(settings: &Settings, files: u64) -> Result<Far, ProxyError> {
        let far = match settings.towards {
            Towards::Server => settings.to,
            Towards::Clients => settings.listen,
        };
        let least = if far.is_ipv4() { LEAST_V4 } else { LEAST_V6 };
        let mtu = match (settings.mtu, settings.towards) {
            (Some(mtu), _) => mtu.max(least),
            (None, Towards::Clients) => USUAL,
            (None, Towards::Server) => {
                let unreachable = |reason| ProxyError::Unreachable { address: far, reason };
                near::route(far).map_err(unreachable)?.1.clamp(least, LARGEST)
            }
        };
        let mut options = settings.options.clone();
        options.mtu = mtu;
        let mut seed = [0; 8];
        getrandom(&mut seed, GetRandomFlags::empty()).map_err(ProxyError::kernel("no random numbers"))?;
        let time_wait = crate::files::waiting(files, settings.connections, WAITING);
        let limits =
            Limits { connections: 2 * settings.connections + time_wait, time_wait, ..Limits::default() };
        let mut stack = Host::new(limits, u64::from_ne_bytes(seed));
        let entrance = match settings.towards {
            Towards::Server => None,
            Towards::Clients => Some(Entrance::open(&mut stack, settings, &options)?),
        };
        let (tun, device) = make().map_err(ProxyError::Device)?;
        let route = far.is_ipv6().then_some(DEVICE_V6);
        let index = device::raise(&device, mtu, route).map_err(ProxyError::Device)?;
        let handover = match &entrance {
            None => Handover::to_server(&device, index, far)?,
            Some(entrance) => Handover::to_clients(&device, index, entrance.address)?,
        };
        if let Some(entrance) = &entrance {
            // Nothing reaches the socket any more, so it can say for whom the port is.
            let refused = |reason| ProxyError::Listen { address: entrance.address, reason };
            near::occupy(&entrance.port).map_err(refused)?;
        }
        let (port, to) = (Port::new(tun), settings.to);
        Ok(Far { stack, port, device, handover, options, to, entrance, leaving: Vec::new() })
    }

    pub(crate) fn device(&self) -> &str {
        &self.device
    }

    /// Where clients connect to our stack.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.entrance.as_ref().map(|entrance| entrance.address)
    }

    /// Moves packets both ways, and lets timers expire. True if there are more to read.
    pub(crate) fn turn(&mut self, clock: impl Fn() -> Time) -> Result<bool, ProxyError> {
        self.port.turn(&mut self.stack, clock).map_err(ProxyError::kernel("the TUN device has failed"))
    }

    /// Begins a connection to the server with buffers of this size.
    ///
    /// # Errors
    ///
    /// If there is no way to it, or no port or file is free.
    pub(crate) fn connect(&mut self, now: Time, buffer: usize) -> io::Result<(ConnectionId, Reserved)> {
        let (from, _) = near::route(self.to)?;
        let (socket, local) = near::reserve(SocketAddr::new(from, 0), false)?;
        let mut options = self.options.clone();
        (options.send_buffer, options.receive_buffer) = (buffer, buffer);
        self.handover.admit(local.port())?;
        let reserved = Reserved { port: local.port(), _socket: socket };
        match self.stack.connect(now, local, self.to, Arc::new(options)) {
            Ok(id) => Ok((id, reserved)),
            Err(error) => {
                self.free(reserved);
                Err(io::Error::other(error))
            }
        }
    }

    /// The next connection that a client has opened.
    pub(crate) fn accept(&mut self) -> Option<ConnectionId> {
        self.stack.accept(self.entrance.as_ref()?.listener)
    }

    /// Lets no further client in.
    pub(crate) fn close_entrance(&mut self, now: Time) {
        if let Some(entrance) = &self.entrance {
            self.stack.stop_listening(now, entrance.listener);
        }
    }

    /// Gives a connection buffers of this size.
    pub(crate) fn enlarge(&mut self, id: ConnectionId, buffer: usize) {
        self.stack.enlarge_buffers(id, buffer, buffer);
    }

    /// Nobody wants the connection any more. It is reset, or closed if it is not already.
    pub(crate) fn leave(&mut self, now: Time, id: ConnectionId, reset: bool, port: Option<Reserved>) {
        if reset {
            self.stack.abort(now, id);
        }
        self.stack.release(now, id);
        self.leaving.extend(port.map(|port| (id, port)));
    }

    /// Frees the ports of connections that are gone.
    pub(crate) fn forget_gone(&mut self) {
        let gone: Vec<_> = self.leaving.extract_if(.., |(id, _)| self.stack.ends(*id).is_none()).collect();
        gone.into_iter().for_each(|(_, port)| self.free(port));
    }

    fn free(&mut self, reserved: Reserved) {
        // The kernel can only refuse if the port is not there: it does not allocate for this.
        let _ = self.handover.dismiss(reserved.port);
    }
}

/// A device under the first name that is free.
fn make() -> io::Result<(Tun, String)> {
    let netlink = Netlink::open()?;
    for number in 0..NUMBERS {
        let name = format!("{NAME}{number}");
        // A persistent device of somebody else would be joined instead of made.
        if netlink.index(&name).is_ok() {
            continue;
        }
        match Tun::make(&name) {
            Ok(tun) => return Ok((tun, name)),
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {} // another proxy was faster
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

impl AsFd for Far {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.port.as_fd()
    }
}

impl Entrance {
    fn open(stack: &mut Host, settings: &Settings, options: &Options) -> Result<Entrance, ProxyError> {
        let refused = |reason| ProxyError::Listen { address: settings.listen, reason };
        let (socket, address) = near::reserve(settings.listen, true).map_err(|reason| {
            let port = settings.listen.port();
            if is_in_use(&reason) && lock(port).is_err_and(|error| is_in_use(&error)) {
                return ProxyError::Taken { port };
            }
            refused(reason)
        })?;
        let port = address.port();
        let taken = |error| if is_in_use(&error) { ProxyError::Taken { port } } else { refused(error) };
        let lock = lock(port).map_err(taken)?;
        let least = crate::budget::Budget::LEAST.min(settings.buffer);
        let options = Options { send_buffer: least, receive_buffer: least, ..options.clone() };
        let listener = stack
            .listen(address, Arc::new(options), BACKLOG.min(settings.connections))
            .map_err(|error| refused(io::Error::other(error)))?;
        Ok(Entrance { listener, address, port: socket, _lock: lock })
    }
}

/// Makes this proxy the only one in front of a port. An abstract name belongs to the network namespace, and
/// to this process as long as it lives (unix(7)).
fn lock(port: u16) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&UnixAddress::from_abstract_name(format!("ackclock proxy {port}"))?)
}

fn is_in_use(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrInUse
}

/// True if a connection to `to` would end at a proxy that listens on `listen`.
pub(crate) fn is_itself(listen: SocketAddr, to: SocketAddr) -> bool {
    let is_local = |address: IpAddr| std::net::UdpSocket::bind((address, 0)).is_ok();
    listen.port() == to.port()
        && (listen.ip() == to.ip() || listen.ip().is_unspecified() && is_local(to.ip()))
}
