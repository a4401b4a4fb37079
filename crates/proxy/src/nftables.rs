//! Rules of the kernel's packet filter (nftables), over netlink: the few expressions that the hand-over
//! needs. Names and numbers are those of linux/netfilter/nf_tables.h.
//!
//! A table belongs to the socket that made it (NFT_TABLE_F_OWNER, Linux 5.12). Nobody else can change it, and
//! the kernel removes it with all of its chains, rules and sets when the socket is closed, however the
//! process ends.

use ackclock_stack::netlink::descriptor;
use netlink_packet_core::{
    DefaultNla, Emitable, ErrorBuffer, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NLMSG_ERROR,
    NetlinkBuffer, NetlinkHeader,
};
use netlink_sys::protocols::NETLINK_NETFILTER;
use netlink_sys::{Socket, SocketAddr};
use rustix::net::sockopt;
use std::io;
use std::time::Duration;

/// The answer to a transaction takes microseconds. A kernel that needs longer does not answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// An attribute that holds attributes (NLA_F_NESTED).
const NESTED: u16 = 1 << 15;
/// The size of a netlink header, bytes. A `struct nfgenmsg` follows.
const HEADER: usize = 16;
/// An element of a list (NFTA_LIST_ELEM).
const ELEMENT: u16 = 1;

/// An address family, as netfilter numbers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    /// NFPROTO_IPV4.
    V4 = 2,
    /// NFPROTO_IPV6.
    V6 = 10,
}

/// Where a base chain hangs, and when it runs (NF_INET_PRE_ROUTING, NF_INET_LOCAL_IN).
#[derive(Clone, Copy)]
pub(crate) enum Hook {
    /// Before routing.
    Prerouting = 0,
    /// Before the delivery to a socket of this machine.
    Input = 1,
}

/// A register of 16 bytes (NFT_REG_1, NFT_REG_2).
#[derive(Clone, Copy)]
pub(crate) enum Register {
    One = 1,
    Two = 2,
}

/// What an offset counts from (NFT_PAYLOAD_NETWORK_HEADER, NFT_PAYLOAD_TRANSPORT_HEADER).
#[derive(Clone, Copy)]
pub(crate) enum Base {
    Network = 1,
    Transport = 2,
}

/// What the kernel knows of a packet (NFT_META_IIF, NFT_META_L4PROTO).
#[derive(Clone, Copy)]
pub(crate) enum Meta {
    /// The index of the device that it came from, a word in the machine's order.
    Device = 4,
    /// The transport protocol, a byte.
    Protocol = 16,
}

/// One request of a transaction.
pub(crate) struct Request {
    kind: i32,
    flags: u16,
    family: Family,
    attributes: Vec<DefaultNla>,
}

/// A connection to the packet filter of the network namespace of the thread that opened it.
pub(crate) struct Filter {
    socket: Socket,
    sequence: u32,
}

impl Filter {
    pub(crate) fn open() -> io::Result<Filter> {
        let mut socket = Socket::new(NETLINK_NETFILTER)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        sockopt::set_socket_timeout(descriptor(&socket), sockopt::Timeout::Recv, Some(PATIENCE))?;
        Ok(Filter { socket, sequence: 0 })
    }

    /// Makes all changes or none.
    ///
    /// # Errors
    ///
    /// The kernel's error for the first request that it refuses.
    pub(crate) fn commit(&mut self, requests: &[Request]) -> io::Result<()> {
        let mut bytes = Vec::new();
        let first = self.sequence.wrapping_add(1);
        self.put(&mut bytes, libc::NFNL_MSG_BATCH_BEGIN as u16, 0, batch());
        for (at, request) in requests.iter().enumerate() {
            // Errors come without being asked for. One answer for the last request says that all were read.
            let ack = if at + 1 == requests.len() { NLM_F_ACK } else { 0 };
            let kind = (libc::NFNL_SUBSYS_NFTABLES << 8 | request.kind) as u16;
            let payload = [&[request.family as u8, 0, 0, 0], &emitted(&request.attributes)[..]].concat();
            self.put(&mut bytes, kind, request.flags | ack, payload);
        }
        let last = self.sequence;
        self.put(&mut bytes, libc::NFNL_MSG_BATCH_END as u16, 0, batch());
        self.socket.send(&bytes, 0)?;
        self.answer(first, last)
    }

    fn put(&mut self, bytes: &mut Vec<u8>, kind: u16, flags: u16, payload: Vec<u8>) {
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.length = (HEADER + payload.len()) as u32;
        header.message_type = kind;
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = self.sequence;
        let at = bytes.len();
        bytes.resize(at + HEADER, 0);
        header.emit(&mut bytes[at..]);
        bytes.extend(payload);
    }

    /// Waits for the answer to the request `last`, or to the whole transaction, which begins with `first`.
    fn answer(&mut self, first: u32, last: u32) -> io::Result<()> {
        let mut outcome = Ok(());
        loop {
            let (datagram, _) = self.socket.recv_from_full()?;
            let mut rest = &datagram[..];
            while rest.len() >= HEADER {
                let message = NetlinkBuffer::new_checked(rest).map_err(io::Error::other)?;
                let (length, sequence) = (message.length() as usize, message.sequence_number());
                let ours = sequence.wrapping_sub(first) <= last.wrapping_sub(first);
                if message.message_type() == NLMSG_ERROR && ours {
                    let error = ErrorBuffer::new_checked(message.payload()).map_err(io::Error::other)?;
                    if let (Some(code), Ok(())) = (error.code(), &outcome) {
                        outcome = Err(io::Error::from_raw_os_error(code.get().saturating_abs()));
                    }
                    if sequence == last || sequence == first {
                        return outcome;
                    }
                }
                rest = &rest[length.next_multiple_of(4).min(rest.len())..];
            }
        }
    }
}

/// `struct nfgenmsg` of the messages around a transaction.
fn batch() -> Vec<u8> {
    let [high, low] = (libc::NFNL_SUBSYS_NFTABLES as u16).to_be_bytes();
    vec![0, 0, high, low]
}

// --- Objects ---

/// A table that vanishes with the socket. It must not exist yet.
pub(crate) fn table(family: Family, name: &str) -> Request {
    const OWNER: u32 = 2;
    let attributes = vec![text(1, name), number(2, OWNER)];
    Request { kind: libc::NFT_MSG_NEWTABLE, flags: NLM_F_CREATE | NLM_F_EXCL, family, attributes }
}

/// A base chain.
pub(crate) fn chain(family: Family, table: &str, name: &str, hook: Hook, priority: i32) -> Request {
    let place = nested(4, vec![number(1, hook as u32), number(2, priority as u32)]);
    let attributes = vec![text(1, table), text(3, name), place, text(7, "filter")];
    Request { kind: libc::NFT_MSG_NEWCHAIN, flags: NLM_F_CREATE, family, attributes }
}

/// A rule at the end of a chain.
pub(crate) fn rule(family: Family, table: &str, chain: &str, expressions: Vec<DefaultNla>) -> Request {
    const APPEND: u16 = libc::NLM_F_APPEND as u16;
    let attributes = vec![text(1, table), text(2, chain), nested(4, expressions)];
    Request { kind: libc::NFT_MSG_NEWRULE, flags: NLM_F_CREATE | APPEND, family, attributes }
}

/// A set of port numbers.
pub(crate) fn ports(family: Family, table: &str, name: &str) -> Request {
    /// What `nft` prints the elements as (its type `inet_service`).
    const SERVICE: u32 = 13;
    let attributes = vec![text(1, table), text(2, name), number(4, SERVICE), number(5, 2), number(10, 1)];
    Request { kind: libc::NFT_MSG_NEWSET, flags: NLM_F_CREATE, family, attributes }
}

/// Puts a port into a set, or takes it out.
pub(crate) fn port(family: Family, table: &str, set: &str, port: u16, there: bool) -> Request {
    let element = nested(ELEMENT, vec![nested(1, vec![bytes(1, &port.to_be_bytes())])]);
    let attributes = vec![text(1, table), text(2, set), nested(3, vec![element])];
    let (kind, flags) =
        if there { (libc::NFT_MSG_NEWSETELEM, NLM_F_CREATE) } else { (libc::NFT_MSG_DELSETELEM, 0) };
    Request { kind, flags, family, attributes }
}

// --- Expressions ---

/// Loads what the kernel knows of the packet.
pub(crate) fn meta(what: Meta, into: Register) -> DefaultNla {
    expression("meta", vec![number(1, into as u32), number(2, what as u32)])
}

/// Loads bytes of the packet.
pub(crate) fn payload(base: Base, offset: u32, length: u32, into: Register) -> DefaultNla {
    let place = [number(2, base as u32), number(3, offset), number(4, length)];
    expression("payload", [number(1, into as u32)].into_iter().chain(place).collect())
}

/// Goes on if a register holds these bytes.
pub(crate) fn equals(register: Register, value: &[u8]) -> DefaultNla {
    const EQUAL: u32 = 0;
    let value = nested(3, vec![bytes(1, value)]);
    expression("cmp", vec![number(1, register as u32), number(2, EQUAL), value])
}

/// Goes on if a set holds what a register holds.
pub(crate) fn member(register: Register, set: &str) -> DefaultNla {
    expression("lookup", vec![text(1, set), number(2, register as u32)])
}

/// Goes on if the packet's destination is an address of this machine.
pub(crate) fn local_destination(scratch: Register) -> [DefaultNla; 2] {
    const ADDRESS_TYPE: u32 = 3;
    const BY_DESTINATION: u32 = 2;
    let look = expression(
        "fib",
        vec![number(1, scratch as u32), number(2, ADDRESS_TYPE), number(3, BY_DESTINATION)],
    );
    [look, equals(scratch, &u32::from(libc::RTN_LOCAL).to_ne_bytes())]
}

/// Loads these bytes.
pub(crate) fn load(value: &[u8], into: Register) -> DefaultNla {
    expression("immediate", vec![number(1, into as u32), nested(2, vec![bytes(1, value)])])
}

/// Sends a copy towards the address in a register, out of the device whose index is in another.
pub(crate) fn copy(address: Register, device: Option<Register>) -> DefaultNla {
    let device = device.map(|register| number(2, register as u32));
    expression("dup", [number(1, address as u32)].into_iter().chain(device).collect())
}

/// Connection tracking passes the packet over.
pub(crate) fn untracked() -> DefaultNla {
    expression("notrack", Vec::new())
}

/// Drops the packet.
pub(crate) fn drop_it() -> DefaultNla {
    const VERDICT: u32 = 0; // NFT_REG_VERDICT
    const DROP: u32 = 0;
    let verdict = nested(2, vec![nested(2, vec![number(1, DROP)])]);
    expression("immediate", vec![number(1, VERDICT), verdict])
}

fn expression(name: &str, attributes: Vec<DefaultNla>) -> DefaultNla {
    nested(ELEMENT, vec![text(1, name), nested(2, attributes)])
}

// --- Attributes ---

fn bytes(kind: u16, value: &[u8]) -> DefaultNla {
    DefaultNla::new(kind, value.to_vec())
}

/// Numbers of nftables are in network order.
fn number(kind: u16, value: u32) -> DefaultNla {
    bytes(kind, &value.to_be_bytes())
}

fn text(kind: u16, value: &str) -> DefaultNla {
    DefaultNla::new(kind, [value.as_bytes(), &[0]].concat())
}

fn nested(kind: u16, attributes: Vec<DefaultNla>) -> DefaultNla {
    DefaultNla::new(kind | NESTED, emitted(&attributes))
}

fn emitted(attributes: &[DefaultNla]) -> Vec<u8> {
    let mut bytes = vec![0; attributes.buffer_len()];
    attributes.emit(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of `cmp eq reg 1 0x0050`, as `nft --debug=netlink` sends them.
    #[test]
    fn expressions_have_the_form_of_the_header_file() {
        let expected: &[u8] = &[
            44, 0, 1, 0x80, // an element of a list
            8, 0, 1, 0, b'c', b'm', b'p', 0, // its name
            32, 0, 2, 0x80, // its data
            8, 0, 1, 0, 0, 0, 0, 1, // register 1
            8, 0, 2, 0, 0, 0, 0, 0, // equal
            12, 0, 3, 0x80, 6, 0, 1, 0, 0, 0x50, 0, 0, // to the port, padded to four bytes
        ];
        assert_eq!(emitted(&[equals(Register::One, &[0, 0x50])]), expected);
    }
}
