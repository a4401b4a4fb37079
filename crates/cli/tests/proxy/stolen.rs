//! ICMP errors on a machine with a proxy: it takes those about its own segments, and no others.

use crate::both;
use crate::common::{Checked, ensure};
use crate::connected;
use crate::place::Way;
use ackclock_stack::Tun;
use libtest_mimic::Failed;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

const TCP: u8 = 6;
const UDP: u8 = 17;
/// The wire of the machine, as it looks from the other end.
const WIRE: &str = "wire0";

/// What a packet quotes: its protocol, and between whom it went.
struct Quoted {
    protocol: u8,
    from: SocketAddr,
    to: SocketAddr,
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    !((sum & 0xffff) + (sum >> 16)) as u16
}

fn v4(address: IpAddr) -> Result<Ipv4Addr, Failed> {
    match address {
        IpAddr::V4(address) => Ok(address),
        IpAddr::V6(address) => Err(format!("{address} is IPv6").into()),
    }
}

/// An IPv4 header without options (RFC 791 section 3.1), for what follows it.
fn header(protocol: u8, from: IpAddr, to: IpAddr, payload: usize) -> Result<Vec<u8>, Failed> {
    let length = (20 + payload) as u16;
    let mut bytes = vec![0x45, 0];
    bytes.extend(length.to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
    bytes.extend(v4(from)?.octets());
    bytes.extend(v4(to)?.octets());
    let sum = checksum(&bytes).to_be_bytes();
    bytes[10..12].copy_from_slice(&sum);
    Ok(bytes)
}

/// "Fragmentation needed, 1400 bytes fit" (RFC 1191 section 4), from a router to `to`.
fn too_big(to: IpAddr, quoted: &Quoted) -> Result<Vec<u8>, Failed> {
    let mut icmp = vec![3, 4, 0, 0, 0, 0];
    icmp.extend(1400_u16.to_be_bytes());
    icmp.extend(header(quoted.protocol, quoted.from.ip(), quoted.to.ip(), 8)?);
    icmp.extend(quoted.from.port().to_be_bytes());
    icmp.extend(quoted.to.port().to_be_bytes());
    icmp.extend([0; 4]);
    let sum = checksum(&icmp).to_be_bytes();
    icmp[2..4].copy_from_slice(&sum);
    let router = IpAddr::from([10, 9, 9, 254]);
    Ok([header(1, router, to, icmp.len())?, icmp].concat())
}

/// The packets that the kernel has handed to a device.
fn handed(device: &str) -> Result<u64, Failed> {
    let table = fs::read_to_string("/proc/thread-self/net/dev")?;
    let row = table.lines().find_map(|line| line.trim_start().strip_prefix(device)?.strip_prefix(':'));
    let cell = row.and_then(|row| row.split_whitespace().nth(9)).ok_or("no such device")?;
    Ok(cell.parse()?)
}

/// A device on which this test is the rest of the world.
fn wire() -> Result<Tun, Failed> {
    let tun = Tun::make(WIRE)?;
    let up = Command::new("ip").args(["link", "set", WIRE, "up"]).status()?;
    ensure(up.success(), format!("ip link set {WIRE} up: {up}"))?;
    Ok(tun)
}

/// Sends an error, and tells whether the proxy's device gets it.
fn taken(wire: &Tun, device: &str, error: &[u8]) -> Result<bool, Failed> {
    let before = handed(device)?;
    // Before the packet is a header for offloads, which asks for nothing (linux/virtio_net.h).
    wire.write(&[&[0; 10], error])?;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(200) {
        if handed(device)? > before {
            return Ok(true);
        }
        sleep(Duration::from_millis(5));
    }
    Ok(false)
}

/// Connections of the proxy exist, and are silent.
pub fn errors() -> Checked {
    both(|way| {
        let (server, relay, client, served) = connected(way, &[])?;
        // The ends of the connection that our TCP has, ours first.
        let (ours, theirs) = match way {
            Way::Server => (served.peer_addr()?, server.local_addr()?),
            Way::Clients => (relay.address, client.local_addr()?),
        };
        sleep(Duration::from_millis(300)); // what the handshakes left behind
        let wire = wire()?;
        let about = |protocol, from, to| Quoted { protocol, from, to };
        let other = SocketAddr::from(([10, 9, 9, 2], ours.port()));
        let away = IpAddr::from([10, 9, 8, 1]);
        let stranger = SocketAddr::from(([10, 9, 9, 3], theirs.port()));
        let local = ours.ip();
        let ours_taken = taken(&wire, &relay.device, &too_big(local, &about(TCP, ours, theirs))?)?;
        ensure(ours_taken, format!("{way:?}: an error about a segment of the proxy does not reach it"))?;
        let mut others = vec![("a datagram of UDP", local, about(UDP, ours, theirs))];
        match way {
            // What is forwarded to a host behind this machine has its own ports.
            Way::Server => {
                others.push((
                    "a segment of another host",
                    away,
                    about(TCP, SocketAddr::new(away, ours.port()), theirs),
                ));
                others.push(("a segment to another server", local, about(TCP, ours, stranger)));
            }
            Way::Clients => others.push(("a segment of another address", local, about(TCP, other, theirs))),
        }
        for (what, to, quoted) in others {
            let stolen = taken(&wire, &relay.device, &too_big(to, &quoted)?)?;
            ensure(!stolen, format!("{way:?}: the proxy takes an error about {what}"))?;
        }
        Ok(())
    })
}
