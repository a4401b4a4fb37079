//! Devices, addresses and routes of a host, over route netlink in the network namespace of the calling
//! thread.

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeader, AddressMessage, AddressScope};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkHeader, LinkMessage};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use std::io;
use std::net::IpAddr;

/// The main routing table (RT_TABLE_MAIN).
const MAIN_TABLE: u8 = 254;

/// A connection to the kernel.
pub(crate) struct Netlink {
    socket: Socket,
}

impl Netlink {
    pub(crate) fn open() -> io::Result<Netlink> {
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
    pub(crate) fn index(&self, name: &str) -> io::Result<u32> {
        Ok(rustix::net::netdevice::name_to_index(borrow(&self.socket), name)?)
    }

    /// Sets a device up.
    pub(crate) fn up(&self, device: u32, attributes: Vec<LinkAttribute>) -> io::Result<()> {
        let (flags, change_mask) = (LinkFlags::Up, LinkFlags::Up);
        let header = LinkHeader { index: device, flags, change_mask, ..LinkHeader::default() };
        let mut message = LinkMessage::default();
        message.header = header;
        message.attributes = attributes;
        self.request(RouteNetlinkMessage::SetLink(message))
    }

    /// Adds an address with a full-length prefix to a device.
    pub(crate) fn address(&self, device: u32, address: IpAddr) -> io::Result<()> {
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
    pub(crate) fn default_route(
        &self,
        device: u32,
        like: IpAddr,
        metrics: Vec<RouteMetric>,
    ) -> io::Result<()> {
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: family(like),
            table: MAIN_TABLE,
            protocol: RouteProtocol::Static,
            scope: if like.is_ipv4() { RouteScope::Link } else { RouteScope::Universe },
            kind: RouteType::Unicast,
            ..RouteHeader::default()
        };
        message.attributes = vec![RouteAttribute::Oif(device), RouteAttribute::Metrics(metrics)];
        self.request(RouteNetlinkMessage::NewRoute(message))
    }
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

#[allow(unsafe_code, reason = "netlink-sys' socket shows its descriptor only as a number")]
fn borrow(socket: &Socket) -> std::os::fd::BorrowedFd<'_> {
    use std::os::fd::AsRawFd;
    // SAFETY: the descriptor stays open as long as the borrowed socket.
    unsafe { std::os::fd::BorrowedFd::borrow_raw(socket.as_raw_fd()) }
}
