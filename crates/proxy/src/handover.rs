//! How packets get from the wire to our stack and back.
//!
//! The stack speaks for the machine's own addresses, so nothing is translated and nothing is forwarded. A
//! table of the packet filter hands each packet over: what the stack writes to its device is copied to where
//! its destination is routed, as if a socket had sent it. What belongs to the stack's connections is copied
//! to the device. The originals are dropped. A copy is routed as a packet of this machine, so neither
//! `ip_forward` nor any other setting matters, and connection tracking passes it over.
//!
//! Table and device are held by descriptors of this process. Nothing is left, however it ends.

use crate::error::ProxyError;
use crate::nftables::{
    Base, Family, Filter, Hook, Meta, Register, Request, chain, copy, drop_it, equals, load,
    local_destination, member, meta, payload, port, ports, rule, table, untracked,
};
use netlink_packet_core::DefaultNla;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Before the chains of others, and before connection tracking (NF_IP_PRI_RAW is -300).
const FIRST: i32 = -310;
/// Behind the filters of others (NF_IP_PRI_FILTER is 0, NF_IP_PRI_NAT_SRC 100), so that they are obeyed.
const LAST: i32 = 150;
/// Where copies for the device are sent: it has no neighbours, so any address does. This one is nobody's (RFC
/// 7600 section 4.8).
const DEVICE_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);
/// The same for IPv6, from the prefix that is always discarded (RFC 6666).
pub(crate) const DEVICE_V6: Ipv6Addr = Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0xac);

/// Chains and the set.
const WIRE: &str = "wire";
const ARRIVALS: &str = "arrivals";
const PORTS: &str = "ports";

/// TCP.
const TCP: u8 = 6;

/// Where the fields of a family's headers are, bytes. Ours have no options and no extension headers.
struct Layout {
    protocol: u32,
    source: u32,
    destination: u32,
    /// The length of an address.
    address: u32,
    /// The length of the header.
    header: u32,
    icmp: u8,
    /// The type of "destination unreachable" (RFC 792) or "packet too big" (RFC 4443).
    unreachable: u8,
}

const V4: Layout =
    Layout { protocol: 9, source: 12, destination: 16, address: 4, header: 20, icmp: 1, unreachable: 3 };
const V6: Layout =
    Layout { protocol: 6, source: 8, destination: 24, address: 16, header: 40, icmp: 58, unreachable: 2 };
/// The ICMP header before the packet that an error quotes.
const QUOTE: u32 = 8;

/// The rules, as long as this lives.
pub(crate) struct Handover {
    filter: Filter,
    family: Family,
    name: String,
}

impl Handover {
    /// Hands over the packets of connections from this machine to `server`. Their ports are told with
    /// [`Handover::admit`].
    pub(crate) fn to_server(device: &str, index: u32, server: SocketAddr) -> Result<Handover, ProxyError> {
        let family = family(server.ip());
        let (set, first) =
            (ports(family, device, PORTS), chain(family, device, WIRE, Hook::Prerouting, FIRST));
        let from = |expressions| rule(family, device, WIRE, expressions);
        let arriving = arriving_from(family, index, server).map(from);
        let requests = [set, first, from(departing(family, index))].into_iter().chain(arriving);
        Handover::make(family, device, requests.collect())
    }

    /// Hands over what arrives for `local`. An unspecified address stands for all of this machine.
    pub(crate) fn to_clients(device: &str, index: u32, local: SocketAddr) -> Result<Handover, ProxyError> {
        let family = family(local.ip());
        let arrivals = chain(family, device, ARRIVALS, Hook::Input, LAST);
        let mut requests = vec![
            chain(family, device, WIRE, Hook::Prerouting, FIRST),
            rule(family, device, WIRE, departing(family, index)),
            rule(family, device, WIRE, [addressed(family, local), vec![untracked()]].concat()),
            arrivals,
        ];
        let handed = [addressed(family, local), handed(family, index)].concat();
        for expressions in [handed, quoting(family, index, local)] {
            requests.push(rule(family, device, ARRIVALS, expressions));
        }
        Handover::make(family, device, requests)
    }

    fn make(family: Family, name: &str, requests: Vec<Request>) -> Result<Handover, ProxyError> {
        let mut filter = Filter::open().map_err(ProxyError::filter)?;
        let all: Vec<_> = [table(family, name)].into_iter().chain(requests).collect();
        filter.commit(&all).map_err(ProxyError::filter)?;
        Ok(Handover { filter, family, name: name.to_owned() })
    }

    /// From now on packets for this local port are the stack's.
    pub(crate) fn admit(&mut self, local: u16) -> io::Result<()> {
        self.filter.commit(&[port(self.family, &self.name, PORTS, local, true)])
    }

    /// From now on they are the kernel's.
    pub(crate) fn dismiss(&mut self, local: u16) -> io::Result<()> {
        self.filter.commit(&[port(self.family, &self.name, PORTS, local, false)])
    }
}

pub(crate) fn family(address: IpAddr) -> Family {
    if address.is_ipv4() { Family::V4 } else { Family::V6 }
}

fn layout(family: Family) -> &'static Layout {
    match family {
        Family::V4 => &V4,
        Family::V6 => &V6,
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// A packet of the stack goes where its destination is routed.
fn departing(family: Family, index: u32) -> Vec<DefaultNla> {
    let Layout { destination, address, .. } = *layout(family);
    vec![
        meta(Meta::Device, Register::One),
        equals(Register::One, &index.to_ne_bytes()),
        payload(Base::Network, destination, address, Register::One),
        copy(Register::One, None),
        drop_it(),
    ]
}

/// A packet for the stack goes to its device.
fn handed(family: Family, index: u32) -> Vec<DefaultNla> {
    let to = if family == Family::V4 { IpAddr::V4(DEVICE_V4) } else { IpAddr::V6(DEVICE_V6) };
    vec![
        load(&octets(to), Register::One),
        load(&index.to_ne_bytes(), Register::Two),
        copy(Register::One, Some(Register::Two)),
        drop_it(),
    ]
}

/// Segments from the server to ports of the stack, and ICMP errors about segments to it.
fn arriving_from(family: Family, index: u32, server: SocketAddr) -> [Vec<DefaultNla>; 2] {
    let Layout { source, destination, address, header, .. } = *layout(family);
    let (ip, number) = (octets(server.ip()), server.port().to_be_bytes());
    let segment = vec![
        meta(Meta::Protocol, Register::One),
        equals(Register::One, &[TCP]),
        payload(Base::Network, source, address, Register::One),
        equals(Register::One, &ip),
        payload(Base::Transport, 0, 2, Register::One),
        equals(Register::One, &number),
        payload(Base::Transport, 2, 2, Register::One),
        member(Register::One, PORTS),
    ];
    let error = vec![
        payload(Base::Transport, QUOTE + destination, address, Register::One),
        equals(Register::One, &ip),
        payload(Base::Transport, QUOTE + header + 2, 2, Register::One),
        equals(Register::One, &number),
        payload(Base::Transport, QUOTE + header, 2, Register::One),
        member(Register::One, PORTS),
    ];
    // What this machine forwards to others may have the same ports.
    let ours = || local_destination(Register::One).to_vec();
    [
        [segment, ours(), handed(family, index)].concat(),
        [unreachable(family), error, ours(), handed(family, index)].concat(),
    ]
}

/// A segment for this address and port of the machine.
fn addressed(family: Family, local: SocketAddr) -> Vec<DefaultNla> {
    let Layout { destination, address, .. } = *layout(family);
    let to = if local.ip().is_unspecified() {
        local_destination(Register::One)
    } else {
        [
            payload(Base::Network, destination, address, Register::One),
            equals(Register::One, &octets(local.ip())),
        ]
    };
    let segment = vec![
        meta(Meta::Protocol, Register::One),
        equals(Register::One, &[TCP]),
        payload(Base::Transport, 2, 2, Register::One),
        equals(Register::One, &local.port().to_be_bytes()),
    ];
    segment.into_iter().chain(to).collect()
}

/// ICMP errors about segments from this address and port.
fn quoting(family: Family, index: u32, local: SocketAddr) -> Vec<DefaultNla> {
    let Layout { source, address, header, .. } = *layout(family);
    let port = vec![
        payload(Base::Transport, QUOTE + header, 2, Register::One),
        equals(Register::One, &local.port().to_be_bytes()),
    ];
    // A service of the same port on another address of this machine keeps its errors.
    let from = match local.ip() {
        ip if ip.is_unspecified() => Vec::new(),
        ip => vec![
            payload(Base::Transport, QUOTE + source, address, Register::One),
            equals(Register::One, &octets(ip)),
        ],
    };
    [unreachable(family), port, from, handed(family, index)].concat()
}

/// An ICMP error of the kind that says how large packets may be, about a segment of TCP.
fn unreachable(family: Family) -> Vec<DefaultNla> {
    let Layout { protocol, icmp, unreachable, .. } = *layout(family);
    vec![
        meta(Meta::Protocol, Register::One),
        equals(Register::One, &[icmp]),
        payload(Base::Transport, 0, 1, Register::One),
        equals(Register::One, &[unreachable]),
        payload(Base::Transport, QUOTE + protocol, 1, Register::One),
        equals(Register::One, &[TCP]),
    ]
}
