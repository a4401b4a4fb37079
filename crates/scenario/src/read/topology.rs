//! `[topology]`: a dumbbell, a parking lot, a leaf-spine fabric or any graph. All of them become links
//! between named nodes.

use super::error::suggest;
use super::impairments::{ImpairmentsSpec, read_impairments};
use super::queue::{QueueSpec, read_queue};
use super::rate::{RateSpec, VariableRateSpec, read_rate};
use super::reader::{At, Result, Table};
use ackclock_net::{Edge, Graph};
use ackclock_units::{Duration, Rate};
use std::collections::HashSet;

/// The rate of an access link without a rate: faster than any other link.
pub(crate) const NO_LIMIT: Rate = Rate::from_bps(100_000_000_000_000);

/// A link between two nodes of the core.
#[derive(Clone, Debug)]
pub(crate) struct LinkSpec {
    pub(crate) name: String,
    /// The rate; its mean over the run if it changes.
    pub(crate) rate: Rate,
    pub(crate) variable: Option<VariableRateSpec>,
    pub(crate) delay: Duration,
    pub(crate) queue: QueueSpec,
    /// True if the queue is not given, but that of the opposite direction.
    pub(crate) queue_inherited: bool,
    pub(crate) impairments: ImpairmentsSpec,
}

/// The access link of a host. Each host has one in each direction.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) rate: Rate,
    pub(crate) delay: Duration,
    pub(crate) queue: QueueSpec,
}

/// The network without access links of the flows.
#[derive(Clone, Debug)]
pub(crate) struct Topology {
    pub(crate) graph: Graph,
    /// The links, in the order of the graph's edges.
    pub(crate) links: Vec<LinkSpec>,
    pub(crate) access: Option<Access>,
    /// The default ends of flows.
    pub(crate) ends: Option<(usize, usize)>,
    /// True: flows are spread over paths of equal cost. False: all take the first of them.
    pub(crate) ecmp: bool,
}

const KINDS: &[&str] = &["dumbbell", "parking_lot", "leaf_spine", "graph"];
/// An example of a graph's link, for messages.
const LINK: &str = "{ from = \"a\", to = \"b\", rate = \"1 Gbit/s\", delay = \"5 ms\" }";
/// The number of routers in the longest parking lot.
const MAX_HOPS: u64 = 1000;
/// The largest number of leaves, of spines, and of hosts of a leaf.
const MAX_SWITCHES: u64 = 1000;
/// The largest number of links in each direction of a leaf-spine fabric. Results have a line for each.
const MAX_PAIRS: u64 = 20_000;

pub(crate) fn read_topology(at: &At<'_>) -> Result<Topology> {
    let table = at.table()?;
    if let Some((kind, at)) = table.entries().find(|(kind, _)| !KINDS.contains(kind)) {
        return Err(at.error(format!("there is no topology called \"{kind}\"")).help(suggest(kind, KINDS)));
    }
    let mut kinds = table.entries();
    let (kind, inner) = match (kinds.next(), kinds.next()) {
        (Some(one), None) => one,
        (Some(_), Some((second, inner))) => {
            let help = format!("remove \"{second}\" or the one before it");
            return Err(inner.error("the scenario has a second topology here").help(help));
        }
        (None, _) => {
            return Err(at
                .error("the topology is empty")
                .help(format!("it must be one of {}", KINDS.join(", "))));
        }
    };
    match kind {
        "dumbbell" => dumbbell(&inner.table()?),
        "parking_lot" => parking_lot(&inner.table()?),
        "leaf_spine" => leaf_spine(&inner.table()?),
        _ => graph(&inner.table()?),
    }
}

impl Topology {
    fn new(access: Option<Access>) -> Topology {
        Topology { graph: Graph::default(), links: Vec::new(), access, ends: None, ecmp: false }
    }

    fn connect(&mut self, from: &str, to: &str, link: LinkSpec) {
        let (from, to) = (self.graph.node(from), self.graph.node(to));
        self.graph.connect(Edge { from, to, delay: link.delay });
        self.links.push(link);
    }

    /// The link in the opposite direction. If there are several: the nearest one in the list.
    pub(crate) fn opposite(&self, link: usize) -> Option<usize> {
        let edges = self.graph.edges();
        let (from, to) = (edges[link].from, edges[link].to);
        let back = |other: &usize| edges[*other].from == to && edges[*other].to == from;
        (0..edges.len()).filter(back).min_by_key(|other| other.abs_diff(link))
    }
}

fn dumbbell(table: &Table<'_>) -> Result<Topology> {
    let mut topology = Topology::new(read_access(table)?);
    let bottleneck = table
        .need("bottleneck", "{ rate = \"1 Gbit/s\", delay = \"40 ms\", queue = { droptail = \"1 bdp\" } }")?;
    let forward = read_link(&bottleneck, "bottleneck", None)?;
    let backward = match table.get("reverse") {
        Some(at) => read_link(&at, "reverse", Some(&forward))?,
        None => reverse_of(&forward, "reverse".to_owned()),
    };
    table.finish()?;
    topology.connect("left", "right", forward);
    topology.connect("right", "left", backward);
    topology.ends = Some((0, 1));
    Ok(topology)
}

/// The opposite direction of a link: the same, without impairments. Without data it has no AQM, either.
pub(crate) fn reverse_of(link: &LinkSpec, name: String) -> LinkSpec {
    LinkSpec { name, queue_inherited: true, impairments: ImpairmentsSpec::default(), ..link.clone() }
}

fn parking_lot(table: &Table<'_>) -> Result<Topology> {
    let mut topology = Topology::new(read_access(table)?);
    let hops = table.need("hops", "3")?.count(1, MAX_HOPS)?;
    let link = table
        .need("link", "{ rate = \"100 Mbit/s\", delay = \"5 ms\", queue = { droptail = \"1 bdp\" } }")?;
    let pattern = read_link(&link, "hop", None)?;
    table.finish()?;
    for hop in 1..=hops {
        let forward = LinkSpec { name: format!("hop {hop}"), ..pattern.clone() };
        let backward = reverse_of(&forward, format!("hop {hop} reverse"));
        let (from, to) = (format!("r{hop}"), format!("r{}", hop + 1));
        topology.connect(&from, &to, forward);
        topology.connect(&to, &from, backward);
    }
    topology.ends = topology.graph.find("r1").zip(topology.graph.find(&format!("r{}", hops + 1)));
    Ok(topology)
}

/// Each leaf is connected to each spine, and has hosts of its own. Both directions are the same: data goes
/// both ways.
fn leaf_spine(table: &Table<'_>) -> Result<Topology> {
    let mut topology = Topology { ecmp: true, ..Topology::new(None) };
    let number = |key, example| table.need(key, example)?.count(1, MAX_SWITCHES);
    let (leaves, spines) = (number("leaves", "4")?, number("spines", "2")?);
    let hosts_at = table.need("hosts", "8")?;
    let hosts = hosts_at.count(1, MAX_SWITCHES)?;
    if leaves * (spines + hosts) > MAX_PAIRS {
        return Err(hosts_at
            .error(format!("the fabric would have {} links in each direction", leaves * (spines + hosts)))
            .help(format!("at most {MAX_PAIRS}: fewer leaves, spines or hosts")));
    }
    let edge = read_link(
        &table.need(
            "edge",
            "{ rate = \"10 Gbit/s\", delay = \"1 us\", queue = { droptail = \"100 packets\" } }",
        )?,
        "",
        None,
    )?;
    let fabric = table.need(
        "fabric",
        "{ rate = \"40 Gbit/s\", delay = \"1 us\", queue = { droptail = \"100 packets\" } }",
    )?;
    let fabric = read_link(&fabric, "", None)?;
    table.finish()?;
    let mut both = |one: &str, other: &str, link: &LinkSpec| {
        for (from, to) in [(one, other), (other, one)] {
            topology.connect(from, to, LinkSpec { name: format!("{from}-{to}"), ..link.clone() });
        }
    };
    for leaf in 1..=leaves {
        let name = format!("leaf{leaf}");
        (1..=hosts).for_each(|host| both(&format!("h{leaf}.{host}"), &name, &edge));
        (1..=spines).for_each(|spine| both(&name, &format!("spine{spine}"), &fabric));
    }
    Ok(topology)
}

fn graph(table: &Table<'_>) -> Result<Topology> {
    let mut topology = Topology::new(read_access(table)?);
    topology.ecmp = table.get("ecmp").map(|at| at.flag()).transpose()?.unwrap_or(false);
    let links = table.need("links", &format!("[{LINK}]"))?;
    let mut names = HashSet::new();
    for at in links.list()? {
        let inner = at.table_like(LINK)?;
        let from = inner.need("from", "\"a\"")?.text()?;
        let to = inner.need("to", "\"b\"")?.text()?;
        if from == to {
            return Err(at
                .error(format!("a link leads from \"{from}\" to itself"))
                .help("give it two different nodes"));
        }
        let name = inner.get("name").map(|at| at.text()).transpose()?;
        let both = inner.get("both").map(|at| at.flag()).transpose()?.unwrap_or(true);
        let mut link = read_link_keys(&inner, None)?;
        inner.finish()?;
        link.name = name.map_or_else(|| format!("{from}-{to}"), str::to_owned);
        let back = name.map_or_else(|| format!("{to}-{from}"), |name| format!("{name} reverse"));
        let backward = reverse_of(&link, back);
        let twice = if !names.insert(link.name.clone()) {
            Some(&link.name)
        } else if both && !names.insert(backward.name.clone()) {
            Some(&backward.name)
        } else {
            None
        };
        if let Some(twice) = twice {
            return Err(at.error(format!("there are two links called \"{twice}\"")).help(
                "give one of them a name of its own; a link leads both ways unless it says both = false",
            ));
        }
        topology.connect(from, to, link);
        if both {
            topology.connect(to, from, backward);
        }
    }
    table.finish()?;
    if topology.links.is_empty() {
        return Err(links.error("a graph needs at least one link").help(format!("for example {LINK}")));
    }
    Ok(topology)
}

fn read_access(table: &Table<'_>) -> Result<Option<Access>> {
    let Some(at) = table.get("access") else { return Ok(None) };
    let inner = at.table_like("{ rate = \"1 Gbit/s\", delay = \"5 ms\" }")?;
    let rate: Option<Rate> = inner.quantity("rate")?;
    if let (None, Some(at)) = (rate, inner.get("queue")) {
        return Err(at.error("nothing waits at access links without a rate").help(
            "give them one, for example access = { rate = \"1 Gbit/s\", queue = { droptail = \"1 bdp\" } }",
        ));
    }
    let access = Access {
        rate: rate.unwrap_or(NO_LIMIT),
        delay: inner.quantity("delay")?.unwrap_or(Duration::ZERO),
        queue: inner.get("queue").map(|at| read_queue(&at)).transpose()?.unwrap_or_else(QueueSpec::unlimited),
    };
    inner.finish()?;
    Ok(Some(access))
}

/// Reads a link that belongs to a single flow.
pub(crate) fn read_own_link(at: &At<'_>) -> Result<LinkSpec> {
    read_link(at, "", None)
}

fn read_link(at: &At<'_>, name: &str, like: Option<&LinkSpec>) -> Result<LinkSpec> {
    let table = at.table_like("{ rate = \"1 Gbit/s\", delay = \"40 ms\" }")?;
    let link = read_link_keys(&table, like)?;
    table.finish()?;
    Ok(LinkSpec { name: name.to_owned(), ..link })
}

/// Reads the keys of a link. A key that is not given is taken from `like`.
fn read_link_keys(table: &Table<'_>, like: Option<&LinkSpec>) -> Result<LinkSpec> {
    let (rate, variable) = match (table.get("rate"), like) {
        (None, Some(like)) => (like.rate, like.variable.clone()),
        (given, _) => match read_rate(&given.map_or_else(|| table.need("rate", "\"1 Gbit/s\""), Ok)?)? {
            RateSpec::Constant(rate) => (rate, None),
            // The mean depends on the duration of the run.
            RateSpec::Variable(variable) => (NO_LIMIT, Some(variable)),
        },
    };
    let delay = match (table.quantity("delay")?, like) {
        (Some(delay), _) => delay,
        (None, Some(like)) => like.delay,
        (None, None) => table.need("delay", "\"40 ms\"")?.quantity()?,
    };
    let queue_inherited = table.get("queue").is_none() && like.is_some();
    let queue = match table.get("queue") {
        Some(at) => read_queue(&at)?,
        None => like.map_or_else(QueueSpec::unlimited, |like| like.queue.clone()),
    };
    let impairments = read_impairments(table, delay)?;
    if let (true, true, Some(at)) =
        (queue.is_dequeue_driven(), impairments.retransmits(), table.get("retransmission"))
    {
        return Err(at
            .error("a queue that decides when the transmitter is free does not go with retransmission")
            .help(
                "let the link that retransmits follow on a link of its own, or give this one another queue: \
                 droptail, red, rem, pi or pie",
            ));
    }
    Ok(LinkSpec { name: String::new(), rate, variable, delay, queue, queue_inherited, impairments })
}
