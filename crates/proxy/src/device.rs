//! The device of the stack: a TUN device without an address, which is set up.

use ackclock_stack::netlink::Netlink;
use netlink_packet_route::link::LinkAttribute;
use std::io;
use std::net::Ipv6Addr;

/// The packets that wait for the stack at most. It reads them faster than a wire brings them.
const QUEUE: u32 = 10_000;

/// Sets the device up, with packets of at most `mtu` bytes. With `route`, packets for this address go there.
/// Returns its index.
pub(crate) fn raise(name: &str, mtu: u32, route: Option<Ipv6Addr>) -> io::Result<u32> {
    let netlink = Netlink::open()?;
    let index = netlink.index(name)?;
    // A kernel without IPv6 refuses this, and needs it not.
    let _ = netlink.without_link_local(index);
    netlink.up(index, vec![LinkAttribute::Mtu(mtu), LinkAttribute::TxQueueLen(QUEUE)])?;
    // A copy needs a route to the device (nf_dup_ipv6). For IPv4 the kernel takes an unknown address to be
    // there.
    route.map_or(Ok(()), |address| netlink.host_route(index, address))?;
    Ok(index)
}
