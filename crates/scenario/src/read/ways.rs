//! Where flows go: their routes over the topology, their access links, and the jitter at their senders.

use super::Scenario;
use super::error::suggest;
use super::flows::{Ends, FlowGroup};
use super::queue::QueueSpec;
use super::reader::Result;
use super::topology::{Access, NO_LIMIT};
use ackclock_net::{Costs, Link, Queue, Rng};
use ackclock_units::{Duration, Rate};
use std::collections::{BTreeSet, HashMap};

/// The two directions between the ends of a flow, and their length.
#[derive(Clone)]
pub(super) struct Route {
    pub(super) forward: Vec<usize>,
    pub(super) reverse: Vec<usize>,
    /// The propagation delay of both directions together, without access links.
    pub(super) rtt: Duration,
}

/// The way of a group of flows.
pub(super) struct Way {
    /// The routes of the flows; one only if all take the same.
    routes: Vec<Route>,
    /// The access links of each flow, if it has any.
    pub(super) access: Option<Access>,
    /// The propagation delay of both directions together.
    pub(super) rtt: Duration,
}

impl Way {
    /// The route of a flow of the group.
    pub(super) fn route(&self, member: usize) -> &Route {
        &self.routes[member.min(self.routes.len() - 1)]
    }

    /// The links of one direction on the routes of all flows, each once.
    fn links(&self, of: impl Fn(&Route) -> &[usize]) -> Vec<usize> {
        let all: BTreeSet<usize> = self.routes.iter().flat_map(of).copied().collect();
        all.into_iter().collect()
    }
}

/// The ways of all traffic.
pub(super) struct Ways {
    /// Those of the groups of flows, in order.
    pub(super) groups: Vec<Way>,
    /// Those of all sources of unresponsive traffic, in order.
    pub(super) streams: Vec<Route>,
    /// What uses each link of the topology.
    pub(super) uses: Vec<Use>,
}

/// The traffic on a link.
#[derive(Clone, Copy, Default)]
pub(super) struct Use {
    /// The flows and streams that cross it, with data or with acknowledgements.
    pub(super) flows: usize,
    /// True if data crosses it.
    pub(super) carries_data: bool,
    /// The longest propagation round-trip time of the flows that cross it.
    pub(super) rtt: Duration,
}

impl Use {
    fn add(&mut self, flows: usize, data: bool, rtt: Duration) {
        self.flows += flows;
        self.carries_data |= data;
        self.rtt = self.rtt.max(rtt);
    }
}

/// The largest number of links on all routes together. It limits memory.
const MAX_HOPS: usize = 20_000_000;

impl Scenario {
    /// Finds the ways of all traffic.
    pub(super) fn ways(&self) -> Result<Ways> {
        let mut routes = Routes::default();
        let mut uses = vec![Use::default(); self.topology.links.len()];
        let mut groups = Vec::new();
        let mut hops = 0;
        for group in &self.groups {
            let ends = self.ends(&group.ends, &group.path)?;
            let first = routes.find(self, ends, &format!("{} 0", group.label), &group.path)?;
            let own = group.last_hop.as_ref().map_or(Duration::ZERO, |hop| hop.delay.saturating_mul(2));
            let first = Route { rtt: first.rtt + own, ..first };
            // Paths of equal cost have as many links and the same delay.
            let access = self.access(group, &first)?;
            let rtt = first.rtt + around(access.as_ref());
            hops += group.count * (6 + first.forward.len() + first.reverse.len());
            if hops > MAX_HOPS {
                return Err(self
                    .error(&group.path, format!("with these flows all routes together have {hops} links"))
                    .help(format!("at most {MAX_HOPS}: fewer flows, or shorter routes")));
            }
            let mut own_routes = vec![first];
            let others = if self.topology.ecmp { 1..group.count } else { 0..0 };
            for member in others {
                own_routes.push(routes.find(
                    self,
                    ends,
                    &format!("{} {member}", group.label),
                    &group.path,
                )?);
            }
            let each = if self.topology.ecmp { 1 } else { group.count };
            for route in &own_routes {
                self.takes_time(group, route, access.as_ref(), rtt)?;
                route.forward.iter().for_each(|&link| uses[link].add(each, true, rtt));
                route.reverse.iter().for_each(|&link| uses[link].add(each, false, rtt));
            }
            groups.push(Way { routes: own_routes, access, rtt });
        }
        let mut streams = Vec::new();
        for spec in &self.traffic {
            let ends = self.ends(&spec.ends, &spec.path)?;
            for member in 0..spec.count {
                let name = format!("traffic {}", spec.name(member));
                let route = routes.find(self, ends, &name, &spec.path)?;
                route.forward.iter().for_each(|&link| uses[link].add(1, true, Duration::ZERO));
                streams.push(route);
            }
        }
        Ok(Ways { groups, streams, uses })
    }

    /// The longest jitter of the flows of `group`: what the scenario says, or else the longest transmission
    /// time at the DropTail queues that a flow shares. Nothing else breaks the phase of flows there. `links`
    /// are those of the topology.
    pub(super) fn jitter(&self, group: &FlowGroup, way: &Way, uses: &[Use], links: &[Link]) -> Duration {
        let forward: Vec<usize> = way.links(|route| &route.forward);
        let reverse: Vec<usize> = way.links(|route| &route.reverse);
        let time = |link: usize, bytes: u16| links[link].rate().time_for(u64::from(bytes));
        let segment = |link: usize| time(link, group.config.segment_bytes());
        let longest = forward.iter().map(|&link| segment(link)).max().unwrap_or(Duration::ZERO);
        if let Some(given) = group.jitter.or(self.jitter) {
            return given.most(longest);
        }
        let in_phase =
            |link: &usize| uses[*link].flows > 1 && matches!(links[*link].queue(), Queue::DropTail(_));
        let there = forward.iter().copied().filter(in_phase).map(segment);
        // Acknowledgements wait only where they take longer than the segments that ask for them.
        let back = reverse.iter().copied().filter(in_phase).map(|link| time(link, group.config.header));
        there.chain(back.filter(|&ack| ack > longest)).max().unwrap_or(Duration::ZERO)
    }

    /// The two nodes of a flow.
    fn ends(&self, ends: &Ends, path: &str) -> Result<(usize, usize)> {
        let graph = &self.topology.graph;
        let node = |name: &Option<String>, default: Option<usize>, key: &str| match name {
            Some(name) => graph.find(name).ok_or_else(|| {
                let names: Vec<_> = graph.names().iter().map(String::as_str).collect();
                self.error(&format!("{path}.{key}"), format!("there is no node called \"{name}\""))
                    .help(suggest(name, &names))
            }),
            None => default.ok_or_else(|| {
                self.error(path, format!("the key \"{key}\" is missing"))
                    .help("here every flow says from = ... and to = ...")
            }),
        };
        let defaults = self.topology.ends;
        let from = node(&ends.from, defaults.map(|(from, _)| from), "from")?;
        let to = node(&ends.to, defaults.map(|(_, to)| to), "to")?;
        let (from, to) = if ends.reverse { (to, from) } else { (from, to) };
        if from == to {
            return Err(self
                .error(path, format!("the flow begins and ends at \"{}\"", graph.names()[from]))
                .help("give from and to two different nodes"));
        }
        Ok((from, to))
    }

    /// The access links of a group: those of the topology, with the delay that gives the requested round-trip
    /// time.
    fn access(&self, group: &FlowGroup, route: &Route) -> Result<Option<Access>> {
        let Some(rtt) = group.rtt else { return Ok(self.topology.access.clone()) };
        if rtt < route.rtt {
            let path = format!("{}.rtt", group.path);
            return Err(self
                .error(
                    &path,
                    format!("a round-trip time of {rtt} cannot be had: the links alone take {}", route.rtt),
                )
                .help("shorten their delays, or lengthen rtt"));
        }
        let known = self.topology.access.as_ref();
        let rate = known.map_or(NO_LIMIT, |access| access.rate);
        let queue = known.map_or_else(QueueSpec::unlimited, |access| access.queue.clone());
        // Four access links share the rest: both directions, at both ends.
        let delay = Duration::from_nanos((rtt - route.rtt).as_nanos() / 4);
        Ok(Some(Access { rate, delay, queue }))
    }

    /// A round trip must take some time. Otherwise the clock would not advance.
    fn takes_time(
        &self,
        group: &FlowGroup,
        route: &Route,
        access: Option<&Access>,
        rtt: Duration,
    ) -> Result<()> {
        let rates = |route: &[usize]| -> Vec<Rate> {
            let links = route.iter().map(|&link| self.topology.links[link].rate);
            links.chain(access.map(|access| access.rate)).collect()
        };
        let time = |route: &[usize], bytes: u16| {
            rates(route).iter().fold(Duration::ZERO, |sum, rate| sum + rate.time_for(u64::from(bytes)))
        };
        let (segment, ack) = (group.config.segment_bytes(), group.config.header);
        let round = rtt + time(&route.forward, segment) + time(&route.reverse, ack);
        if round.is_zero() {
            return Err(self
                .error(&group.path, "its round trip takes less than a nanosecond".to_owned())
                .help("give a link on its route a delay, or lower a rate"));
        }
        Ok(())
    }
}

/// The delay of all four access links of a flow.
pub(super) fn around(access: Option<&Access>) -> Duration {
    access.map_or(Duration::ZERO, |access| access.delay.saturating_mul(4))
}

/// What is known about routes.
#[derive(Default)]
struct Routes {
    between: HashMap<(usize, usize), Route>,
    /// With equal-cost multipath: the costs to each destination.
    costs: HashMap<usize, Costs>,
}

impl Routes {
    /// The route of the flow with this name between two nodes.
    fn find(
        &mut self,
        scenario: &Scenario,
        (from, to): (usize, usize),
        flow: &str,
        path: &str,
    ) -> Result<Route> {
        let topology = &scenario.topology;
        let known = self.between.get(&(from, to)).filter(|_| !topology.ecmp);
        if let Some(route) = known {
            return Ok(route.clone());
        }
        let mut way = |from, to, direction: &str| {
            let found = if topology.ecmp {
                let costs = self.costs.entry(to).or_insert_with(|| topology.graph.costs_to(to));
                // A switch hashes addresses and ports: each flow, and each direction, has a number of its
                // own.
                let mut hash = Rng::new(scenario.seed, &format!("path of {flow}, {direction}"));
                topology.graph.equal_cost_route(from, costs, |count| (hash.word() % count as u64) as usize)
            } else {
                topology.graph.route(from, to)
            };
            found.map_err(|missing| {
                scenario
                    .error(path, missing.to_string())
                    .help("add links, or both = true to those that there are")
            })
        };
        let (forward, reverse) = (way(from, to, "there")?, way(to, from, "back")?);
        let delay = |links: &[usize]| {
            links.iter().fold(Duration::ZERO, |sum, &link| sum + topology.links[link].delay)
        };
        let route = Route { rtt: delay(&forward) + delay(&reverse), forward, reverse };
        if !topology.ecmp {
            self.between.insert((from, to), route.clone());
        }
        Ok(route)
    }
}
