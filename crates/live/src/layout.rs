//! From a scenario to hosts, paths between them, and independent parts of the network.

use crate::error::LiveError;
use crate::host::Settings;
use ackclock_net::{Limit, Link, Queue};
use ackclock_scenario::Built;
use ackclock_scenario::plan::{FlowPlan, Plan};
use ackclock_tcp::Config;
use ackclock_transfer::control::{LEAST_BYTES, MOST_BYTES};
use ackclock_units::Duration;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The largest number of flows of an emulation. Each has two hosts and two threads.
pub const MAX_FLOWS: usize = 200;
/// The IPv4 and TCP headers. The timestamp option with its padding adds 12 bytes (RFC 7323 appendix A).
const HEADERS: u32 = 40;
const TIMESTAMPS: u32 = 12;
/// The smallest payload of a segment. Linux does not make segments smaller (tcp_min_snd_mss).
const MIN_PAYLOAD: u32 = 48;
/// The smallest buffer for a connection, bytes.
const MIN_BUFFER: u64 = 4 << 20;
/// The largest buffer in the kernel's settings, bytes.
const MAX_BUFFER: u64 = 1 << 30;

/// A host to be created.
pub(crate) struct HostPlan {
    pub(crate) name: String,
    pub(crate) address: Ipv4Addr,
    pub(crate) address6: Ipv6Addr,
    pub(crate) settings: Settings,
    /// Our own TCP is there, instead of the kernel's.
    pub(crate) own: bool,
}

/// The links from a host to a host, or from a source of unresponsive traffic to its sink.
pub(crate) struct Path {
    pub(crate) from: Option<usize>,
    pub(crate) to: Option<usize>,
    pub(crate) links: Vec<usize>,
    /// The flow whose data take it. `None` for the way back, and for unresponsive traffic.
    pub(crate) flow: Option<usize>,
}

/// The layout. Flow `n` goes from host `2 n` to host `2 n + 1` over path `2 n`, and back over path `2 n + 1`.
/// The paths of unresponsive traffic follow.
pub(crate) struct Layout {
    pub(crate) hosts: Vec<HostPlan>,
    pub(crate) paths: Vec<Path>,
    /// The parts: all paths, if they carry little. Otherwise those that share links, or a sending host.
    pub(crate) parts: Vec<Vec<usize>>,
}

/// The payload of a full segment of this flow with its real headers, bytes.
pub(crate) fn payload(flow: &FlowPlan) -> u32 {
    let config = &flow.config;
    let bytes = u32::from(config.segment_bytes());
    match flow.control.transport() {
        Some(_) => ackclock_transfer::sending::payload(bytes) as u32, // less than `bytes`
        None => bytes - HEADERS - if config.timestamps { TIMESTAMPS } else { 0 },
    }
}

impl Layout {
    /// `own`: the groups of flows whose sending hosts are our own TCP.
    pub(crate) fn new(built: &Built, own: &[bool]) -> Result<Layout, LiveError> {
        let plan = &built.plan;
        if plan.flows.len() > MAX_FLOWS {
            return Err(LiveError::Flows { flows: plan.flows.len(), most: MAX_FLOWS });
        }
        let (mut hosts, mut paths) = (Vec::new(), Vec::new());
        let members = built.groups.iter().enumerate().flat_map(|(at, group)| {
            let own = own.get(at).copied().unwrap_or(false);
            (0..group.count).map(move |member| (group, member, own))
        });
        for (number, ((group, member, own), flow)) in members.zip(&plan.flows).enumerate() {
            let own = own && flow.control.window().is_some();
            if own && (flow.asking.is_some() || flow.periodic().is_some()) {
                return Err(LiveError::OwnHost { label: group.label.clone() });
            }
            let bytes = u32::from(flow.config.segment_bytes());
            if flow.control.transport().is_some() && !(LEAST_BYTES..=MOST_BYTES).contains(&bytes) {
                return Err(LiveError::Packets { bytes, least: LEAST_BYTES, most: MOST_BYTES });
            }
            let mut settings = settings(&flow.config, plan, &flow.forward, own)?;
            if flow.control.transport().is_some() {
                settings.mtu = settings.mtu.max(MOST_BYTES); // a session begins with a padded packet
            }
            for (end, name) in [(0, "sender"), (1, "receiver")] {
                let name = match (plan.flows.len(), group.count) {
                    (1, _) => name.to_owned(),
                    (_, 1) => format!("{}.{name}", group.label),
                    _ => format!("{}.{member}.{name}", group.label),
                };
                let (address, address6) = addresses(end, number as u32);
                // The kernel's receivers do not tell of each mark.
                let counts = flow.control.window().is_some_and(|control| control.needs().marks);
                let own = own && (end == 0 || counts);
                hosts.push(HostPlan { name, address, address6, settings: settings.clone(), own });
            }
            let ends = (Some(2 * number), Some(2 * number + 1));
            paths.push(Path { from: ends.0, to: ends.1, links: flow.forward.clone(), flow: Some(number) });
            paths.push(Path { from: ends.1, to: ends.0, links: flow.reverse.clone(), flow: None });
        }
        paths.extend(plan.streams.iter().map(|stream| Path {
            from: None,
            to: None,
            links: stream.route.clone(),
            flow: None,
        }));
        let parts = match packets_per_second(plan) {
            few if few <= FEW => vec![(0..paths.len()).collect()],
            _ => parts(&paths, plan.links.len()),
        };
        Ok(Layout { hosts, paths, parts })
    }
}

/// The packets a second that one thread carries with ease, there and their acknowledgements back: 300 Mbit/s
/// of full ones.
const FEW: f64 = 25_000.0;

/// The most packets a second that flows and streams bring through the narrowest links on their ways.
fn packets_per_second(plan: &Plan) -> f64 {
    let of_flows = plan.flows.iter().map(|flow| (&flow.forward, u32::from(flow.config.segment_bytes())));
    let of_streams = plan.streams.iter().map(|stream| (&stream.route, u32::from(stream.bytes)));
    let mut most: BTreeMap<usize, f64> = BTreeMap::new();
    for (route, bytes) in of_flows.chain(of_streams) {
        let rate = |&link: &usize| plan.links[link].rate();
        let Some(&narrowest) = route.iter().min_by_key(|&link| rate(link)) else { continue };
        let packets = rate(&narrowest).bps_f64() / f64::from(8 * bytes);
        let known = most.entry(narrowest).or_default();
        *known = known.max(packets);
    }
    most.values().sum()
}

/// As in simulated captures: senders are in 10.0.0.0/10, receivers in 10.128.0.0/10.
fn addresses(end: u32, number: u32) -> (Ipv4Addr, Ipv6Addr) {
    let v4 = 0x0A00_0000 | end << 23 | (number + 1);
    let v6 = 0xfd00_0ac0_0000_0000_0000_0000_0000_0000 | u128::from(end) << 64 | u128::from(number + 1);
    (Ipv4Addr::from(v4), Ipv6Addr::from(v6))
}

fn settings(config: &Config, plan: &Plan, route: &[usize], own: bool) -> Result<Settings, LiveError> {
    let mtu = u32::from(config.segment_bytes());
    let headers = HEADERS + if config.timestamps { TIMESTAMPS } else { 0 };
    if mtu < headers + MIN_PAYLOAD {
        return Err(LiveError::Segment { key: "segment", bytes: mtu, least: headers + MIN_PAYLOAD });
    }
    if config.l4s && !own {
        return Err(LiveError::Codepoint);
    }
    if config.local_congestion {
        return Err(LiveError::LocalCongestion);
    }
    let delay = route.iter().fold(Duration::ZERO, |sum, &link| sum + plan.links[link].delay());
    let slowest = route.iter().map(|&link| plan.links[link].rate()).min();
    let product = slowest.map_or(0.0, |rate| rate.bytes_in(delay.saturating_mul(2)));
    let queued: f64 = route.iter().map(|&link| room(&plan.links[link], mtu, product)).sum();
    // The kernel counts a connection's memory with the overhead of its packets, up to four times their bytes.
    let wanted = 8.0 * (product + queued);
    Ok(Settings {
        mtu,
        buffer: (wanted as u64).clamp(MIN_BUFFER, MAX_BUFFER),
        timestamps: config.timestamps,
        ecn: config.ecn,
        initial_window: (config.initial_window as u32).max(1),
        rto_min: config.rto_min,
        quick_ack: config.delayed_ack.is_none(),
    })
}

/// The approximate number of bytes that may wait at a link. If it depends on the path: `product`.
pub(crate) fn room(link: &Link, mtu: u32, product: f64) -> f64 {
    match link.queue() {
        Queue::Unlimited => 0.0,
        Queue::DropTail(queue) => match queue.limit() {
            Limit::Packets(packets) => f64::from(packets) * f64::from(mtu),
            Limit::Bytes(bytes) => bytes as f64,
        },
        // All others act before their room is used up.
        _ => product,
    }
}

/// Paths that must be in one part: those that share a link, or the host from which they start.
fn parts(paths: &[Path], links: usize) -> Vec<Vec<usize>> {
    let mut part: Vec<usize> = (0..paths.len()).collect();
    let mut of_link: Vec<Option<usize>> = vec![None; links];
    let hosts = paths.iter().filter_map(|path| path.from).max().map_or(0, |most| most + 1);
    let mut of_host: Vec<Option<usize>> = vec![None; hosts];
    for (number, path) in paths.iter().enumerate() {
        let mut known: Vec<usize> = Vec::new();
        for &link in &path.links {
            known.extend(of_link[link].replace(number));
        }
        if let Some(host) = path.from {
            known.extend(of_host[host].replace(number));
        }
        for other in known {
            let (from, to) = (part[other], part[number]);
            part.iter_mut().filter(|it| **it == from).for_each(|it| *it = to);
        }
    }
    let mut names = part.clone();
    names.sort_unstable();
    names.dedup();
    let members = |name: usize| (0..paths.len()).filter(|&path| part[path] == name).collect();
    let mut parts: Vec<Vec<usize>> = names.into_iter().map(members).collect();
    parts.sort_unstable(); // by their first path
    parts
}

impl Layout {
    /// The destinations that a host reaches, each with the path to it.
    pub(crate) fn reached(&self, host: usize, paths: &[usize]) -> Vec<(IpAddr, usize)> {
        let mut reached = Vec::new();
        for &path in paths.iter().filter(|&&path| self.paths[path].from == Some(host)) {
            if let Some(to) = self.paths[path].to {
                reached.push((self.hosts[to].address.into(), path));
                reached.push((self.hosts[to].address6.into(), path));
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_scenario::Sweep;

    fn path(from: usize, to: usize, links: &[usize]) -> Path {
        Path { from: Some(from), to: Some(to), links: links.to_vec(), flow: None }
    }

    #[test]
    fn either_direction_of_a_dumbbell_is_a_part() {
        let paths = [
            path(0, 1, &[4, 0, 5]),
            path(1, 0, &[6, 1, 7]),
            path(2, 3, &[8, 0, 9]),
            path(3, 2, &[10, 1, 11]),
        ];
        assert_eq!(parts(&paths, 12), [vec![0, 2], vec![1, 3]]);
    }

    #[test]
    fn traffic_the_other_way_joins_them() {
        let paths = [path(0, 1, &[0]), path(1, 0, &[1]), path(2, 3, &[1]), path(3, 2, &[0])];
        assert_eq!(parts(&paths, 2), [vec![0, 3], vec![1, 2]]);
        let paths = [path(0, 1, &[0]), path(1, 0, &[1]), path(0, 2, &[1])];
        assert_eq!(parts(&paths, 2), [vec![0, 1, 2]]);
    }

    #[test]
    fn one_thread_carries_what_is_little() -> Result<(), Box<dyn std::error::Error>> {
        let parts = |rate: &str, payload: u32| {
            let text = format!(
                "duration = \"1 s\"\nsegment = {{ payload = \"{payload} B\" }}\n[topology.dumbbell]\n\
                 bottleneck = {{ rate = \"{rate}\", delay = \"10 ms\" }}\naccess = {{ rate = \"10 Gbit/s\" }}\n\
                 [[flows]]\ncontrol = \"reno\"\ncount = 3\n"
            );
            let sweep = Sweep::read("test.toml", &text, &[])?;
            let parts = Layout::new(&sweep.points[0].scenario.build()?, &[])?.parts;
            Ok::<usize, Box<dyn std::error::Error>>(parts.len())
        };
        assert_eq!((parts("250 Mbit/s", 1460)?, parts("400 Mbit/s", 1460)?), (1, 2));
        assert_eq!((parts("20 Mbit/s", 160)?, parts("100 Mbit/s", 160)?), (1, 2));
        Ok(())
    }

    #[test]
    fn addresses_are_in_their_networks() {
        assert_eq!(addresses(0, 0).0, Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(addresses(1, 199).0, Ipv4Addr::new(10, 128, 0, 200));
        assert_eq!(addresses(1, 0).1.to_string(), "fd00:ac0:0:1::1");
    }
}
