//! The device of the stack: a TUN device without an address, which is set up.

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, In6AddrGenMode, LinkAttribute, LinkFlags, LinkHeader, LinkMessage,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily as RouteFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, socket};
use std::io;
use std::net::Ipv6Addr;

/// The packets that wait for the stack at most. It reads them faster than a wire brings them.
const QUEUE: u32 = 10_000;

/// The number of the device with this name.
pub(crate) fn index(name: &str) -> io::Result<u32> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    Ok(name_to_index(socket, name)?)
}

/// Sets the device up, with packets of at most `mtu` bytes. With `route`, packets for this address go there.
pub(crate) fn raise(index: u32, mtu: u32, route: Option<Ipv6Addr>) -> io::Result<()> {
    // Without a link-local address it solicits no router. A kernel without IPv6 refuses this, and needs it
    // not. It must be said before the device is up.
    let six = AfSpecUnspec::Inet6(vec![AfSpecInet6::AddrGenMode(In6AddrGenMode::None)]);
    let _ = request(change(index, vec![LinkAttribute::AfSpecUnspec(vec![six])], false));
    request(change(index, vec![LinkAttribute::Mtu(mtu), LinkAttribute::TxQueueLen(QUEUE)], true))?;
    route.map_or(Ok(()), |address| request(host_route(index, address)))
}

fn change(index: u32, attributes: Vec<LinkAttribute>, up: bool) -> RouteNetlinkMessage {
    let flags = if up { LinkFlags::Up } else { LinkFlags::empty() };
    let mut message = LinkMessage::default();
    message.header = LinkHeader { index, flags, change_mask: flags, ..LinkHeader::default() };
    message.attributes = attributes;
    RouteNetlinkMessage::SetLink(message)
}

/// A copy needs a route to the device (nf_dup_ipv6). For IPv4 the kernel takes an unknown address to be
/// there.
fn host_route(index: u32, address: Ipv6Addr) -> RouteNetlinkMessage {
    let mut message = RouteMessage::default();
    message.header = RouteHeader {
        address_family: RouteFamily::Inet6,
        destination_prefix_length: 128,
        table: libc::RT_TABLE_MAIN,
        protocol: RouteProtocol::Static,
        scope: RouteScope::Universe,
        kind: RouteType::Unicast,
        ..RouteHeader::default()
    };
    let to = RouteAttribute::Destination(RouteAddress::Inet6(address));
    message.attributes = vec![to, RouteAttribute::Oif(index)];
    RouteNetlinkMessage::NewRoute(message)
}

fn request(message: RouteNetlinkMessage) -> io::Result<()> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(message));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    let (answer, _) = socket.recv_from_full()?;
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer).map_err(io::Error::other)?;
    match answer.payload {
        NetlinkPayload::Error(error) if error.code.is_none() => Ok(()),
        NetlinkPayload::Error(error) => Err(error.to_io()),
        other => Err(io::Error::other(format!("the kernel answered {other:?}"))),
    }
}
