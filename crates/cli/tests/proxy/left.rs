//! What is left of a proxy that was killed: nothing.

use crate::common::{Checked, ensure};
use crate::connected;
use crate::place::{Way, inside};
use libtest_mimic::Failed;
use netlink_sys::protocols::NETLINK_NETFILTER;
use netlink_sys::{Socket, SocketAddr};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

pub fn killed() -> Checked {
    for way in [Way::Server, Way::Clients] {
        inside(|| {
            let before = state()?;
            let (_server, mut relay, _client, _served) = connected(way, &[])?;
            let during = state()?;
            let device = format!(": {}:", relay.device);
            ensure(during["ip -details link"].contains(&device), "the device is not seen")?;
            ensure(during["tables"].contains(&relay.device), "the table is not seen")?;
            relay.child.kill()?; // SIGKILL
            relay.child.wait()?;
            // The kernel removes a table when it gets to it.
            let patience = Instant::now() + Duration::from_secs(5);
            loop {
                let after = state()?;
                let changed: Vec<_> = before.iter().filter(|(key, was)| after[*key] != **was).collect();
                if changed.is_empty() && after.len() == before.len() {
                    return Ok(());
                }
                ensure(Instant::now() < patience, format!("left: {changed:?}"))?;
                sleep(Duration::from_millis(20));
            }
        })?;
    }
    Ok(())
}

/// All that the proxy could have changed in this network namespace: devices, addresses, routes, rules, tables
/// of the packet filter, and every setting below /proc/sys/net.
fn state() -> Result<BTreeMap<String, String>, Failed> {
    let mut state = BTreeMap::new();
    for words in [
        "-details link",
        "address",
        "route show table all",
        "-6 route show table all",
        "rule",
        "-6 rule",
        "neighbour",
        "tuntap",
    ] {
        let output = Command::new("ip").args(words.split(' ')).output()?;
        ensure(output.status.success(), format!("ip {words}: {}", String::from_utf8_lossy(&output.stderr)))?;
        state.insert(format!("ip {words}"), String::from_utf8(output.stdout)?);
    }
    state.insert("tables".to_owned(), tables()?);
    settings(Path::new("/proc/sys/net"), &mut state)?;
    Ok(state)
}

/// Settings that count or draw by themselves.
const MOVING: [&str; 2] = ["stable_secret", "dirty"];

fn settings(below: &Path, state: &mut BTreeMap<String, String>) -> Result<(), Failed> {
    for entry in fs::read_dir(below)? {
        let path = entry?.path();
        if path.is_dir() {
            settings(&path, state)?;
        } else if let Ok(text) = fs::read_to_string(&path)
            && !MOVING.iter().any(|moving| path.ends_with(moving))
        {
            state.insert(path.display().to_string(), text);
        }
    }
    Ok(())
}

/// The names in a dump of all tables of the packet filter (NFT_MSG_GETTABLE), as text.
fn tables() -> Result<String, Failed> {
    let mut socket = Socket::new(NETLINK_NETFILTER)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    const GET_TABLE: u16 = 10 << 8 | 1;
    const REQUEST_DUMP: u16 = 0x301;
    let mut request = Vec::from(20_u32.to_ne_bytes());
    request.extend(GET_TABLE.to_ne_bytes());
    request.extend(REQUEST_DUMP.to_ne_bytes());
    request.extend([0; 12]); // sequence and port, and any family
    socket.send(&request, 0)?;
    let mut text = String::new();
    loop {
        let (datagram, _) = socket.recv_from_full()?;
        let mut rest = &datagram[..];
        while rest.len() >= 16 {
            let length = u32::from_ne_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
            const DONE: u16 = 3;
            const ERROR: u16 = 2;
            match u16::from_ne_bytes([rest[4], rest[5]]) {
                DONE => return Ok(text),
                ERROR => return Err("the packet filter does not tell its tables".into()),
                _ => text += &String::from_utf8_lossy(&rest[16..length.min(rest.len())]),
            }
            rest = &rest[length.next_multiple_of(4).clamp(16, rest.len())..];
        }
    }
}
