//! The routers on the way to a host: datagrams with a growing hop limit (RFC 791, RFC 8200), to ports at
//! which nobody listens. Whoever gets one with a limit of one says so. The host itself says that nobody
//! listens there.

use crate::sample::Route;
use ackclock_sockets::{PathError, keep_path_errors, path_error};
use rustix::net::sockopt::{set_ip_ttl, set_ipv6_unicast_hops};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The largest hop limit.
const LONGEST: u8 = 30;
/// After so many hops in a row that say nothing, nobody further on will.
const SILENT: usize = 5;
/// Datagrams to a hop that says nothing.
const TRIES: usize = 2;
/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// The first port, as other tools have it.
const PORT: u16 = 33_434;

/// Finds the routers on the way.
///
/// # Errors
///
/// If datagrams cannot be sent, or `stop` was set.
pub(crate) fn route(host: IpAddr, stop: &AtomicBool) -> io::Result<Route> {
    let mut route = Route::default();
    for limit in 1..=LONGEST {
        let mut answer = None;
        for _ in 0..TRIES {
            if stop.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            answer = answer.or(ask(host, limit)?);
            if answer.is_some() {
                break;
            }
        }
        route.reached = matches!(answer, Some(PathError::Arrived(_)));
        route.hops.push(answer.map(
            |(PathError::Arrived(from) | PathError::Exceeded(from) | PathError::Unreachable(from))| from,
        ));
        let silent = route.hops.iter().rev().take_while(|hop| hop.is_none()).count();
        if matches!(answer, Some(PathError::Arrived(_) | PathError::Unreachable(_))) || silent >= SILENT {
            break;
        }
    }
    while route.hops.last() == Some(&None) {
        route.hops.pop();
    }
    Ok(route)
}

/// Sends one datagram with this hop limit. A socket of its own has no late answers to others.
fn ask(host: IpAddr, limit: u8) -> io::Result<Option<PathError>> {
    let any: IpAddr =
        if host.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect((host, PORT + u16::from(limit)))?;
    keep_path_errors(&socket, host.is_ipv6())?;
    match host {
        IpAddr::V4(_) => set_ip_ttl(&socket, u32::from(limit))?,
        IpAddr::V6(_) => set_ipv6_unicast_hops(&socket, Some(limit))?,
    }
    socket.send(&[0; 32])?;
    let told = path_error(&socket, PATIENCE)?;
    // Somebody listens there after all.
    let replied = socket.set_nonblocking(true).is_ok() && socket.recv(&mut [0; 64]).is_ok();
    Ok(if told.is_none() && replied { Some(PathError::Arrived(host)) } else { told })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_is_the_only_hop_to_itself() {
        for address in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
            if UdpSocket::bind((address, 0)).is_err() {
                eprintln!("SKIPPED: this host has no {address}");
                continue;
            }
            let route = route(address, &AtomicBool::new(false)).expect("datagrams can be sent");
            assert_eq!(route, Route { hops: vec![Some(address)], reached: true });
        }
    }
}
