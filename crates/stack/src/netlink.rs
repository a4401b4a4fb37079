//! Devices, addresses and routes of a host, over route netlink in the network namespace of the calling
//! thread.

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeader, AddressMessage, AddressScope};
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, In6AddrGenMode, LinkAttribute, LinkFlags, LinkHeader, LinkMessage,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope,
    RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::{AsRawFd, BorrowedFd};

/// The main routing table (RT_TABLE_MAIN).
const MAIN_TABLE: u8 = 254;

/// A connection to the kernel.
pub struct Netlink {
    socket: Socket,
}

impl Netlink {
    /// Opens a connection to the kernel.
    ///
    /// # Errors
    ///
    /// If the process has too many files open.
    pub fn open() -> io::Result<Netlink> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Netlink { socket })
    }

    fn request(&self, message: RouteNetlinkMessage) -> io::Result<()> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(message));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let (answer, _) = self.socket.recv_from_full()?;
        let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer).map_err(io::Error::other)?;
        match answer.payload {
            NetlinkPayload::Error(error) if error.code.is_none() => Ok(()),
            NetlinkPayload::Error(error) => Err(error.to_io()),
            other => Err(io::Error::other(format!("the kernel answered {other:?}"))),
        }
    }

    /// The index of a device.
    ///
    /// # Errors
    ///
    /// If there is no device of this name.
    pub fn index(&self, name: &str) -> io::Result<u32> {
        Ok(rustix::net::netdevice::name_to_index(descriptor(&self.socket), name)?)
    }

    /// Sets a device up, with these attributes.
    ///
    /// # Errors
    ///
    /// The kernel's, as for all requests below: without CAP_NET_ADMIN, or if there is no such device.
    pub fn up(&self, device: u32, attributes: Vec<LinkAttribute>) -> io::Result<()> {
        self.change(device, LinkFlags::Up, attributes)
    }

    /// Gives a device no link-local address, so that it solicits no router. To be said before the device is
    /// up.
    ///
    /// # Errors
    ///
    /// Above all that of a kernel without IPv6, which needs it not.
    pub fn without_link_local(&self, device: u32) -> io::Result<()> {
        let six = AfSpecUnspec::Inet6(vec![AfSpecInet6::AddrGenMode(In6AddrGenMode::None)]);
        self.change(device, LinkFlags::empty(), vec![LinkAttribute::AfSpecUnspec(vec![six])])
    }

    fn change(&self, index: u32, flags: LinkFlags, attributes: Vec<LinkAttribute>) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header = LinkHeader { index, flags, change_mask: flags, ..LinkHeader::default() };
        message.attributes = attributes;
        self.request(RouteNetlinkMessage::SetLink(message))
    }

    /// Adds an address with a full-length prefix to a device.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub fn address(&self, device: u32, address: IpAddr) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header = AddressHeader {
            family: family(address),
            prefix_len: if address.is_ipv4() { 32 } else { 128 },
            scope: AddressScope::Universe,
            index: device,
            ..AddressHeader::default()
        };
        message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        self.request(RouteNetlinkMessage::NewAddress(message))
    }

    /// Adds a default route for the address family of `like` to a device.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub fn default_route(&self, device: u32, like: IpAddr, metrics: Vec<RouteMetric>) -> io::Result<()> {
        let scope = if like.is_ipv4() { RouteScope::Link } else { RouteScope::Universe };
        let header = RouteHeader { address_family: family(like), scope, ..RouteHeader::default() };
        self.route(header, vec![RouteAttribute::Oif(device), RouteAttribute::Metrics(metrics)])
    }

    /// Adds a route for a single address to a device.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub fn host_route(&self, device: u32, address: Ipv6Addr) -> io::Result<()> {
        let header = RouteHeader {
            address_family: AddressFamily::Inet6,
            destination_prefix_length: 128,
            scope: RouteScope::Universe,
            ..RouteHeader::default()
        };
        let to = RouteAttribute::Destination(RouteAddress::Inet6(address));
        self.route(header, vec![to, RouteAttribute::Oif(device)])
    }

    fn route(&self, header: RouteHeader, attributes: Vec<RouteAttribute>) -> io::Result<()> {
        let (table, protocol, kind) = (MAIN_TABLE, RouteProtocol::Static, RouteType::Unicast);
        let mut message = RouteMessage::default();
        message.header = RouteHeader { table, protocol, kind, ..header };
        message.attributes = attributes;
        self.request(RouteNetlinkMessage::NewRoute(message))
    }
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

/// The descriptor of a netlink socket.
#[allow(unsafe_code, reason = "netlink-sys' socket shows its descriptor only as a number")]
pub fn descriptor(socket: &Socket) -> BorrowedFd<'_> {
    // SAFETY: the descriptor stays open as long as the borrowed socket.
    unsafe { BorrowedFd::borrow_raw(socket.as_raw_fd()) }
}
