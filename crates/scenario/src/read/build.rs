//! From a scenario to a plan: access links, routes, queue sizes, start times.

use super::Scenario;
use super::document::path_parts;
use super::error::suggest;
use super::flows::FlowGroup;
use super::impairments::{ImpairmentsSpec, Medium};
use super::predict::{PredictSpec, Settle};
use super::queue::QueueSpec;
use super::reader::{At, Result};
use super::topology::{Access, LinkSpec, NO_LIMIT, reverse_of};
use super::traffic::{Times, TrafficSpec};
use super::ways::{Route, Way, around};
use crate::plan::{Asking, CbrPlan, FlowPlan, Plan};
use crate::requests::{Gap, Requests};
use crate::traffic::{Drawn, Pattern};
use ackclock_cc::predictor::Options;
use ackclock_net::{Distribution, Link, Queue, Rng, Scale};
use ackclock_tcp::Config;
use ackclock_units::{Duration, Rate, Time};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A plan, and the names that belong to its numbers.
pub struct Built {
    /// The input of the engine.
    pub plan: Plan,
    /// The links that appear in results. They come first in the plan.
    pub links: Vec<LinkInfo>,
    /// The groups of flows, in order. Together they are the flows of the plan.
    pub groups: Vec<GroupInfo>,
    /// The labels of the unresponsive streams.
    pub streams: Vec<String>,
    /// The numbers of the flows that are traced segment by segment.
    pub followed: Vec<usize>,
    /// The flow for the predictors, if the scenario asks for predictions.
    pub prediction: Option<Prediction>,
    /// The link whose capture is traced, if the scenario asks for it.
    pub traced: Option<usize>,
    /// The largest memory for packets in flight, bytes. Of queues without a limit, only what unresponsive
    /// traffic leaves in them is known.
    pub memory: f64,
}

/// A flow for the predictors, and the link whose drops they should predict.
#[derive(Clone, Copy, Debug)]
pub struct Prediction {
    /// The number of the flow.
    pub flow: usize,
    /// The number of the link.
    pub link: usize,
    /// The threshold and the number of samples.
    pub options: Options,
    /// When a loss is over.
    pub settle: Settle,
}

/// A link that appears in results.
pub struct LinkInfo {
    /// The name.
    pub name: String,
    /// The rate.
    pub rate: Rate,
    /// The link in the opposite direction, if there is one.
    pub opposite: Option<usize>,
}

/// A group of flows.
pub struct GroupInfo {
    /// The label.
    pub label: String,
    /// Number of flows.
    pub count: usize,
    /// The name of the controller.
    pub control: &'static str,
    /// The name of the recovery; `own` for a rate-based transport.
    pub recovery: &'static str,
    /// The name of the detection; `own` for a rate-based transport.
    pub detection: &'static str,
    /// The name of the slow start; `own` if the controller sets its window in every state.
    pub slow_start: &'static str,
    /// The payload of a segment, bytes.
    pub payload: u32,
    /// A segment on the wire, bytes.
    pub segment: u32,
}

/// The memory of a packet in flight, bytes: in its lane and in both endpoints.
const PER_PACKET: f64 = 64.0;
/// The memory of a flow, bytes: two endpoints, four access links, four lanes.
const PER_FLOW: f64 = 6_000.0;

/// The largest number of transfers that a load may be expected to bring.
const MAX_ARRIVALS: f64 = 10_000_000.0;

impl Scenario {
    /// Builds the network and the flows.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`](super::ScenarioError) if the parts of the scenario do not fit together: there is no
    /// route, a delay or a size is impossible, or the routes have too many links.
    pub fn build(&self) -> Result<Built> {
        let ways = self.ways()?;
        let mut memory = 0.0;
        let mut links: Vec<Link> = Vec::new();
        for (spec, used) in self.topology.links.iter().zip(&ways.uses) {
            memory += self.room(spec, used.rtt)?;
            links.push(self.link(spec, &spec.name, &self.scale(spec, used.rtt), used.carries_data));
        }
        let mut flows = Vec::new();
        let mut followed = Vec::new();
        for (group, way) in self.groups.iter().zip(&ways.groups) {
            let mut own = group.last_hop.iter().map(|hop| self.room(hop, way.rtt)).sum::<Result<f64>>()?;
            if let Some(access) = &way.access {
                // A flow's packets can wait at four access links.
                own += 4.0 * self.waiting(&access.queue, &self.scale(&access_link(access), way.rtt))?;
            }
            let jitter = self.jitter(group, way, &ways.uses, &links);
            let mut starts = Rng::new(self.seed, &format!("starts of {}", group.label));
            followed.extend(flows.len()..flows.len() + group.follow);
            let config = Arc::new(config(group));
            for member in 0..group.count {
                let mut plan = self.flow((group, &config), member, &mut starts, (way, jitter), &mut links)?;
                if let Some(hop) = &group.last_hop {
                    let name = format_args!("last hop of {} {member}", group.label);
                    self.lead_over(hop, &name, way.rtt, &mut plan, &mut links);
                }
                self.has_a_queue_to_see(group, &plan, &links)?;
                memory += PER_FLOW + own;
                plan.control = plan.control.of_flow(flows.len(), &group.label);
                flows.push(plan);
            }
        }
        let mut streams = Vec::new();
        let mut routes = ways.streams.iter();
        for spec in &self.traffic {
            let mut starts = Rng::new(self.seed, &format!("starts of traffic {}", spec.label));
            for (member, route) in (0..spec.count).zip(&mut routes) {
                let start = spec.start.of(member, &mut starts);
                streams.push(self.stream(spec, (member, start), route, &mut links)?);
            }
        }
        let time = |span: Duration| Time::ZERO + span;
        links.shrink_to_fit();
        flows.shrink_to_fit();
        let plan = Plan {
            seed: self.seed,
            duration: time(self.duration),
            measure: (time(self.measure.0), time(self.measure.1)),
            probe: self.probe,
            links,
            measured: self.topology.links.len(),
            flows,
            streams,
            engine: self.engine,
            threads: self.threads,
        };
        memory += backlog(&plan) * PER_PACKET;
        let prediction = self.predict.as_ref().map(|spec| self.prediction(spec, &plan)).transpose()?;
        let traced = self.trace.as_ref().map(|name| self.named_link("trace", name)).transpose()?;
        let links = self.topology.links.iter().enumerate().map(|(number, link)| LinkInfo {
            name: link.name.clone(),
            rate: link.rate,
            opposite: self.topology.opposite(number),
        });
        let groups = self.groups.iter().map(|group| GroupInfo {
            label: group.label.clone(),
            count: group.count,
            control: group.control.name(),
            recovery: of_tcp(group, |config| config.recovery.name()),
            detection: of_tcp(group, |config| config.detection.name()),
            slow_start: match group.control.window() {
                Some(control) if control.needs().window => OWN,
                _ => of_tcp(group, |config| config.slow_start.name()),
            },
            payload: u32::from(group.config.payload),
            segment: u32::from(group.config.segment_bytes()),
        });
        let names = |spec: &TrafficSpec| (0..spec.count).map(|member| spec.name(member)).collect::<Vec<_>>();
        let streams = self.traffic.iter().flat_map(names).collect();
        Ok(Built {
            plan,
            links: links.collect(),
            groups: groups.collect(),
            streams,
            followed,
            prediction,
            traced,
            memory,
        })
    }

    /// Finds the flow and the link of `[predict]`.
    fn prediction(&self, spec: &PredictSpec, plan: &Plan) -> Result<Prediction> {
        let group = match &spec.flow {
            None => 0,
            Some(name) => self.groups.iter().position(|group| group.label == *name).ok_or_else(|| {
                let known: Vec<_> = self.groups.iter().map(|group| group.label.as_str()).collect();
                self.error("predict.flow", format!("there are no flows called \"{name}\""))
                    .help(suggest(name, &known))
            })?,
        };
        let flow: usize = self.groups[..group].iter().map(|group| group.count).sum();
        let link = match &spec.link {
            None => {
                let forward = &plan.flows[flow].forward;
                let limited = forward.iter().find(|&&link| !plan.links[link].queue().is_unlimited());
                limited.or(forward.first()).copied().unwrap_or(0)
            }
            Some(name) => self.named_link("predict.link", name)?,
        };
        Ok(Prediction { flow, link, options: spec.options, settle: spec.settle })
    }

    /// The number of the link of this name, which stands at a dotted path.
    fn named_link(&self, path: &str, name: &str) -> Result<usize> {
        self.topology.links.iter().position(|link| link.name == name).ok_or_else(|| {
            let known: Vec<_> = self.topology.links.iter().map(|link| link.name.as_str()).collect();
            self.error(path, format!("there is no link called \"{name}\"")).help(suggest(name, &known))
        })
    }

    /// An error at the entry with this dotted path.
    pub(super) fn error(&self, path: &str, message: String) -> super::ScenarioError {
        let node = self.document.closest(&path_parts(path).unwrap_or_default());
        At::new(node, path, &self.document.source).error(message)
    }

    fn scale(&self, spec: &LinkSpec, rtt: Duration) -> Scale {
        let rtt = rtt.max(spec.delay.saturating_mul(2));
        Scale {
            rate: spec.rate,
            bdp: spec.rate.bytes_in(rtt),
            segment: u32::from(self.config.segment_bytes()),
        }
    }

    /// The memory for packets on a link and in its queue, bytes, as far as it is limited.
    fn room(&self, spec: &LinkSpec, rtt: Duration) -> Result<f64> {
        let scale = self.scale(spec, rtt);
        let medium = Medium { rate: spec.rate, segment: scale.segment };
        let late = spec.rate.bps_f64() / 8.0 * spec.impairments.lateness(&medium);
        let on_the_way = (scale.bdp + late) / f64::from(scale.segment);
        Ok(self.waiting(&spec.queue, &scale)? + on_the_way * PER_PACKET)
    }

    /// The memory for packets in a queue, bytes, if it is limited.
    fn waiting(&self, queue: &QueueSpec, scale: &Scale) -> Result<f64> {
        queue.check(scale).map_err(|wrong| self.error(&queue.path, wrong.problem).help(wrong.remedy))?;
        let built = queue.build(scale, &|| Rng::new(self.seed, "a queue that is only asked for its room"));
        Ok(built.capacity(scale.segment).unwrap_or(0.0) * PER_PACKET)
    }

    /// Adds a link of the flow's own before its receiver, and the same link on the way back.
    fn lead_over(
        &self,
        hop: &LinkSpec,
        name: &dyn fmt::Display,
        rtt: Duration,
        plan: &mut FlowPlan,
        links: &mut Vec<Link>,
    ) {
        let scale = self.scale(hop, rtt);
        plan.forward.push(links.len());
        links.push(self.link(hop, name, &scale, true));
        plan.reverse.insert(0, links.len());
        let back = reverse_of(hop, String::new());
        links.push(self.link(&back, &format_args!("{name} reverse"), &scale, false));
    }

    /// Builds a link. A way back that takes its queue from the link there does without the AQM, unless data
    /// goes that way, too: acknowledgements do not respond to it. Its random decisions depend on its `name`,
    /// which is put together if there are any: ten thousand flows have forty thousand links.
    fn link(&self, spec: &LinkSpec, name: &dyn fmt::Display, scale: &Scale, carries_data: bool) -> Link {
        let stream = |what: &str| Rng::new(self.seed, &format!("{what} of {name}"));
        let rate = spec.impairments.coded(spec.rate);
        let mut queue = spec.queue.build(scale, &|| stream("queue"));
        if spec.queue_inherited && !carries_data {
            queue = queue.without_aqm();
        }
        let mut link = Link::new(rate, spec.delay, queue);
        if let Some(variable) = &spec.variable {
            link = link.with_variable_rate(variable.rate.scaled(rate.bps_f64() / spec.rate.bps_f64()));
        }
        let medium = Medium { rate, segment: scale.segment };
        match spec.impairments.build(&medium, stream) {
            Some(impairments) => link.with_impairments(impairments),
            None => link,
        }
    }

    /// Checks that a sender that is told of a full first queue has one.
    fn has_a_queue_to_see(&self, group: &FlowGroup, plan: &FlowPlan, links: &[Link]) -> Result<()> {
        let first = plan.forward.first().map(|&link| links[link].queue());
        if !plan.config.local_congestion || matches!(first, Some(Queue::DropTail(_))) {
            return Ok(());
        }
        // The table for all flows, or the flow's own.
        let at = if self.config.local_congestion { "" } else { &format!("{}.", group.path) };
        let message =
            format!("the first link of \"{}\" has no DropTail queue that could be full", group.label);
        Err(self.error(&format!("{at}tcp.local_congestion"), message).help(
            "give it queue = { droptail = \"1000 packets\" }; with jitter a flow begins with a link of its own, \
             without a limit: jitter = \"off\" ends that",
        ))
    }

    fn starts_in_time(&self, path: &str, start: Duration) -> Result<()> {
        if start < self.duration {
            return Ok(());
        }
        let message = format!("it would start at {start}, but the run lasts {}", self.duration);
        Err(self.error(&format!("{path}.start"), message).help("start it earlier, or lengthen the duration"))
    }

    /// Gives a flow its share of the group's load, and says when its first transfer comes. A Poisson process
    /// that is dealt out at random is a Poisson process for each.
    fn first_arrival(
        &self,
        group: &FlowGroup,
        load: f64,
        route: &Route,
        start: Duration,
        requests: &mut Requests,
    ) -> Result<Duration> {
        let rates = route.forward.iter().map(|&link| {
            let link = &self.topology.links[link];
            link.impairments.coded(link.rate).bps_f64()
        });
        let narrowest = rates.fold(f64::INFINITY, f64::min);
        let segments = requests.size.mean_segments().unwrap_or(f64::NAN);
        let bits = segments * f64::from(group.config.segment_bytes()) * 8.0;
        let gap_s = bits / (load * narrowest); // of all flows together
        let expected = self.duration.as_secs_f64() / gap_s;
        if expected > MAX_ARRIVALS {
            let path = format!("{}.load", group.path);
            return Err(self.error(&path, format!("about {expected:.0} transfers would come")).help(
                format!(
                    "at most {MAX_ARRIVALS}: run for a shorter time, with a lower load or larger transfers"
                ),
            ));
        }
        let gap = Distribution::Exponential(Duration::from_secs_f64(gap_s * group.count as f64));
        requests.gap = Gap::Arrivals(gap);
        requests.came = Time::ZERO + start + gap.draw(&mut requests.draws);
        Ok(requests.came.since(Time::ZERO))
    }

    fn flow(
        &self,
        (group, config): (&FlowGroup, &Arc<Config>),
        member: usize,
        starts: &mut Rng,
        (way, jitter): (&Way, Duration),
        links: &mut Vec<Link>,
    ) -> Result<FlowPlan> {
        let start = group.start.of(member, starts);
        let mut requests = Requests {
            size: group.asks.size.clone(),
            repeat: group.asks.repeat,
            gap: group.asks.gap,
            page: group.asks.page.map(Box::new),
            came: Time::ZERO,
            waited: 0,
            draws: Rng::new(self.seed, &format!("requests of {} {member}", group.label)),
        };
        self.starts_in_time(&group.path, start)?;
        if let Some(stop) = group.stop.filter(|&stop| stop <= start) {
            let path = format!("{}.stop", group.path);
            return Err(self
                .error(&path, format!("it would stop at {stop}, and one of its flows starts at {start}"))
                .help("let it stop later or start earlier"));
        }
        let start = match group.asks.load {
            Some(load) => self.first_arrival(group, load, way.route(member), start, &mut requests)?,
            None => start,
        };
        let (access, route, label) = (way.access.as_ref(), way.route(member), &group.label);
        let there = format_args!("access of {label} {member}, there");
        let forward = self.with_access(&route.forward, access, (way.rtt, jitter), &there, links);
        let back = format_args!("access of {label} {member}, back");
        let reverse = self.with_access(&route.reverse, access, (way.rtt, Duration::ZERO), &back, links);
        let delay = |path: &[usize]| {
            path.iter().map(|&link| links[link].delay()).fold(Duration::ZERO, |sum, delay| sum + delay)
        };
        let (there, back) = (delay(&forward), delay(&reverse));
        Ok(FlowPlan {
            asking: group.http.map(|persistent| Asking { persistent, there, back }),
            forward,
            reverse,
            config: config.clone(),
            control: group.control.clone(),
            key: Rng::new(self.seed, &format!("key of {} {member}", group.label)).identity(),
            draws: Rng::new(self.seed, &format!("draws of {} {member}", group.label)),
            start: Time::ZERO + start,
            stop: group.stop.map(|stop| Time::ZERO + stop),
            requests,
            writing: group.writing,
        })
    }

    fn stream(
        &self,
        spec: &TrafficSpec,
        (member, start): (usize, Duration),
        route: &Route,
        links: &mut Vec<Link>,
    ) -> Result<CbrPlan> {
        self.starts_in_time(&spec.path, start)?;
        if let Some(stop) = spec.stop.filter(|&stop| stop <= start) {
            let path = format!("{}.stop", spec.path);
            return Err(self
                .error(&path, format!("it would stop at {stop}, and one of its sources starts at {start}"))
                .help("let it stop later or start earlier"));
        }
        let name = spec.name(member);
        let access = self.topology.access.as_ref();
        let rtt = route.rtt + around(access);
        if let Some(access) = access {
            self.waiting(&access.queue, &self.scale(&access_link(access), rtt))?;
        }
        let packet = |&link: &usize| links[link].rate().time_for(u64::from(spec.packet));
        let longest = route.forward.iter().map(packet).max().unwrap_or(Duration::ZERO);
        let jitter = spec.jitter.map_or(Duration::ZERO, |jitter| jitter.most(longest));
        let mut start = Time::ZERO + start;
        let pattern = match spec.times {
            Times::Constant(on, off) => Pattern::Constant { on, off },
            Times::Drawn(periods) => {
                let draws = Rng::new(self.seed, &format!("times of traffic {name}"));
                let mut drawn = Drawn::new(periods, draws);
                start = drawn.first(start, spec.rate, spec.packet);
                Pattern::Drawn(Box::new(drawn))
            }
        };
        let of = format_args!("access of {name}");
        Ok(CbrPlan {
            route: self.with_access(&route.forward, access, (rtt, jitter), &of, links),
            key: Rng::new(self.seed, &format!("key of traffic {name}")).word(),
            rate: spec.rate,
            bytes: spec.packet,
            pattern,
            start,
            stop: spec.stop.map(|stop| Time::ZERO + stop),
        })
    }

    /// A route with an access link at each end; the first one has `jitter`. Random decisions there are named
    /// after `of`.
    fn with_access(
        &self,
        route: &[usize],
        access: Option<&Access>,
        (rtt, jitter): (Duration, Duration),
        of: &dyn fmt::Display,
        links: &mut Vec<Link>,
    ) -> Vec<usize> {
        let mut add = |spec: &LinkSpec, end: &str| {
            links.push(self.link(spec, &format_args!("{of}, {end}"), &self.scale(spec, rtt), true));
            links.len() - 1
        };
        let mut path = Vec::with_capacity(route.len() + 2);
        let immediate = Access { rate: NO_LIMIT, delay: Duration::ZERO, queue: QueueSpec::unlimited() };
        if let Some(access) = access.or((!jitter.is_zero()).then_some(&immediate)) {
            let impairments = ImpairmentsSpec::only_jitter(jitter);
            path.push(add(&LinkSpec { impairments, ..access_link(access) }, "first"));
        }
        path.extend_from_slice(route);
        if let Some(access) = access {
            path.push(add(&access_link(access), "last"));
        }
        path
    }
}

/// What a control does itself.
const OWN: &str = "own";

/// The settings of a group's endpoints, with what their controller asks for.
fn config(group: &FlowGroup) -> Config {
    let mut config = group.config.clone();
    if let Some(needs) = group.control.window().map(|control| control.needs()) {
        if needs.marks {
            (config.ecn, config.dctcp_echo) = (true, true); // RFC 8257: ECN with its own feedback
        }
        config.l4s |= needs.l4s;
    }
    config
}

/// The name of a part of TCP; a rate-based transport has its own.
fn of_tcp(group: &FlowGroup, name: impl Fn(&Config) -> &'static str) -> &'static str {
    if group.control.transport().is_some() { OWN } else { name(&group.config) }
}

/// The packets that unresponsive traffic leaves in queues without a limit until the run ends: what comes to
/// the narrowest link of its way beyond that link's rate.
fn backlog(plan: &Plan) -> f64 {
    let mut offered: BTreeMap<usize, (f64, u16)> = BTreeMap::new(); // bytes, and the size of the largest packet
    for stream in &plan.streams {
        let rate = |link: &usize| plan.links[*link].rate();
        let Some(&narrowest) = stream.route.iter().min_by_key(|&link| rate(link)) else { continue };
        let until = stream.stop.unwrap_or(plan.duration).min(plan.duration);
        let sent = stream.rate.bps_f64() / 8.0
            * until.since(stream.start.min(until)).as_secs_f64()
            * stream.on_share();
        let (bytes, packet) = offered.entry(narrowest).or_default();
        (*bytes, *packet) = (*bytes + sent, stream.bytes.max(*packet));
    }
    let left = |(link, (bytes, packet)): (usize, (f64, u16))| {
        let link = &plan.links[link];
        let carried = link.rate().bps_f64() / 8.0 * plan.duration.as_secs_f64();
        if link.queue().is_unlimited() { (bytes - carried).max(0.0) / f64::from(packet.max(1)) } else { 0.0 }
    };
    offered.into_iter().map(left).sum()
}

/// An access link, described as other links are.
fn access_link(access: &Access) -> LinkSpec {
    LinkSpec {
        name: String::new(),
        rate: access.rate,
        variable: None,
        delay: access.delay,
        queue: access.queue.clone(),
        queue_inherited: false,
        impairments: ImpairmentsSpec::default(),
    }
}
