//! The parts of a run that can be computed one after the other, and how far each may run ahead of the others.
//!
//! A *part* is all flows' endpoints that send, all receivers that may run ahead of their senders, or one
//! gate. A part feeds another one if packets go from it to the other without meeting a third. Each such way
//! has a least time, its *lag*. What is done before an instant in all parts that feed a part decides what
//! reaches it before that instant plus the lag. So all packets that reach a gate at the same instant are
//! known before the first of them passes. Lags may be zero, but not all around a loop.

use super::cause::NUMBERS;
use super::{FULL, fastest};
use crate::engine::in_flight::Entrance;
use crate::engine::owners::Owners;
use ackclock_net::{Access, Link, Stage, accesses, stages};
use ackclock_scenario::plan::{FlowPlan, Plan};
use ackclock_units::Duration;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// The senders of all flows and streams, and the receivers that may not run ahead of their senders.
pub(super) const FLOWS: usize = 0;
/// The receivers that run ahead of their senders.
pub(super) const RECEIVERS: usize = 1;
/// The first gate.
pub(super) const GATES: usize = 2;

/// No gate: the exit is at an endpoint.
pub(super) const ENDPOINT: u32 = u32::MAX;

/// A stage of a path, and its end. Legs of a path have consecutive numbers.
pub(super) struct Leg {
    pub(super) stage: Stage,
    pub(super) end: End,
    /// True if the path begins with it.
    pub(super) first: bool,
}

/// The end of a leg.
#[derive(Clone, Copy)]
pub(super) struct End {
    /// The path's owner.
    pub(super) owner: u32,
    /// The gate here, counted from 0, or [`ENDPOINT`].
    pub(super) gate: u32,
    /// True if packets come here in order of time.
    pub(super) ordered: bool,
    /// True if a receiver is here that runs ahead of its sender.
    pub(super) ahead: bool,
}

/// Headers of IPv4 and UDP, bytes: no packet of a rate-based flow is smaller.
const DATAGRAM: u64 = 28;

/// The parts of a run.
pub(crate) struct Layout {
    pub(super) owners: Owners,
    /// Those of segments and of acknowledgements.
    pub(super) data: Vec<Leg>,
    pub(super) acks: Vec<Leg>,
    /// The starts of the paths of segments and of acknowledgements.
    pub(super) out: Vec<Entrance>,
    pub(super) back: Vec<Entrance>,
    /// The link of each gate.
    pub(super) gates: Vec<u32>,
    /// All parts, in an order in which packets meet them.
    pub(super) order: Vec<usize>,
    /// The parts that feed each part, with the lag of the shortest way.
    pub(super) feeders: Vec<Vec<(usize, Duration)>>,
    /// Whether the receiver of each flow may run ahead of its sender.
    pub(super) ahead: Vec<bool>,
    /// The least time from the senders back to them: that of a round of all parts.
    pub(super) round: Duration,
}

/// Why a run needs the engine of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unfit(&'static str);

impl Unfit {
    /// A sender takes two acknowledgements at once, and what it sends after each passes a gate later.
    pub(crate) const TWICE: Unfit = Unfit("packets that may arrive twice are observed");
}

impl fmt::Display for Unfit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0)
    }
}

impl Layout {
    /// Divides a run into parts. `apart`: true if the senders are computed elsewhere than the receivers that
    /// run ahead of them. Then a receiver takes turns with its sender also if the application is at both
    /// ends, or if segments come from the sender without meeting a gate.
    ///
    /// # Errors
    ///
    /// [`Unfit`] if it cannot be divided so that the results are exact.
    pub(crate) fn of(plan: &Plan, apart: bool) -> Result<Layout, Unfit> {
        let owners = Owners::of(plan);
        if apart && !owners.rate().is_empty() {
            return Err(Unfit("a flow has a rate-based transport"));
        }
        if plan.flows.iter().any(|flow| flow.config.local_congestion) {
            // A sender would have to know what others have sent before at the same instant.
            return Err(Unfit("a sender sees the queue of its host (local_congestion)"));
        }
        let (data, reverse) = owners.paths(plan);
        check_links(&plan.links, data.iter().chain(&reverse).copied().flatten().copied())?;
        let accesses = accesses(&plan.links, plan.measured, &data, &reverse);
        let mut draft =
            Draft { plan, accesses, gates: BTreeMap::new(), lags: HashMap::new(), turns: Vec::new() };
        let flows: Vec<&FlowPlan> = owners.tcp().iter().map(|&flow| &plan.flows[flow as usize]).collect();
        let may_run_ahead = |flow: &&FlowPlan| never_reconnects(flow) && !(apart && flow.writing.is_some());
        let mut ahead: Vec<bool> = flows.iter().map(may_run_ahead).collect();
        let smallest = flows.iter().map(|flow| u64::from(flow.config.header));
        let smallest: Vec<u64> = smallest.chain(owners.rate().iter().map(|_| DATAGRAM)).collect();
        let datagrams = plan.streams.iter().map(|stream| u64::from(stream.bytes));
        let sizes: Vec<u64> = smallest.iter().copied().chain(datagrams).collect();
        let (out, mut data_legs) = draft.lay(&data, &sizes, false, |owner, legs, alone| {
            let meets_nobody = alone && legs.len() == 1;
            if owners.as_agent(owner).is_some() {
                return (FLOWS, FLOWS);
            }
            let last = legs.last().is_some_and(|leg| leg.end.ordered) && !(apart && meets_nobody);
            let flow = ahead.get_mut(owner);
            // Streams only count what they receive, in whatever order it comes.
            let is_ahead = flow.is_none_or(|flow| {
                *flow &= last;
                *flow
            });
            (FLOWS, if is_ahead { RECEIVERS } else { FLOWS })
        })?;
        for end in data_legs.iter_mut().map(|leg| &mut leg.end).filter(|end| end.gate == ENDPOINT) {
            end.ahead = ahead.get(end.owner as usize).is_some_and(|&ahead| ahead);
        }
        let (back, ack_legs) = draft.lay(&reverse, &smallest, true, |owner, _, _| {
            (if ahead.get(owner).is_some_and(|&ahead| ahead) { RECEIVERS } else { FLOWS }, FLOWS)
        })?;
        let overtakes = |leg: &Leg| !leg.end.ordered && owners.as_agent(leg.end.owner as usize).is_some();
        if data_legs.iter().any(overtakes) {
            return Err(Unfit("packets of a rate-based flow may overtake each other"));
        }
        if data_legs.len().max(ack_legs.len()).max(data.len()) >= NUMBERS as usize {
            return Err(Unfit("there are too many paths"));
        }
        let layout = draft.finish(owners, data_legs, ack_legs, out, back, ahead);
        if stands_still(&layout.feeders) { Err(Unfit("a path takes no time")) } else { Ok(layout) }
    }

    /// Does it pay to go round? A round costs the same however few packets are on their way. True if a link
    /// of the scenario has time for a full packet in it.
    pub(crate) fn pays(&self, plan: &Plan) -> bool {
        fastest(plan).is_some_and(|rate| rate.time_for(FULL) <= self.round)
    }
}

/// True if the receiver of a flow is never replaced, and asks for nothing.
fn never_reconnects(flow: &FlowPlan) -> bool {
    flow.asking.is_none() && flow.requests.repeat <= 1
}

/// No packet may come back to a link that decides about it when its transmitter is free.
fn check_links(links: &[Link], mut used: impl Iterator<Item = usize>) -> Result<(), Unfit> {
    if used.any(|link| links[link].retransmits() && links[link].is_stepped()) {
        return Err(Unfit("a link with a queue of its own retransmits"));
    }
    Ok(())
}

/// True if parts wait for each other in a circle without any lag, so that none of them ever goes on.
fn stands_still(feeders: &[Vec<(usize, Duration)>]) -> bool {
    let mut waits: Vec<Vec<usize>> = feeders
        .iter()
        .map(|feeders| feeders.iter().filter(|(_, lag)| lag.is_zero()).map(|&(from, _)| from).collect())
        .collect();
    // Parts that wait for nobody go on; then those that wait only for them, and so on.
    let mut goes: Vec<bool> = waits.iter().map(Vec::is_empty).collect();
    for _ in 0..feeders.len() {
        for part in 0..waits.len() {
            waits[part].retain(|&from| !goes[from]);
            goes[part] |= waits[part].is_empty();
        }
    }
    goes.contains(&false)
}

/// The least time from the senders through other parts back to them.
fn round(feeders: &[Vec<(usize, Duration)>]) -> Duration {
    let mut least: Vec<Option<Duration>> = vec![None; feeders.len()];
    let reach = |least: &[Option<Duration>], part: usize| {
        let ways = feeders[part].iter().filter_map(|&(from, lag)| {
            let before = if from == FLOWS { Some(Duration::ZERO) } else { least[from] };
            before.map(|before| before + lag)
        });
        ways.min()
    };
    // A shortest way meets each part once.
    for _ in 0..feeders.len() {
        for part in (0..feeders.len()).filter(|&part| part != FLOWS) {
            least[part] = reach(&least, part);
        }
    }
    reach(&least, FLOWS).unwrap_or_default()
}

/// A layout in the making.
struct Draft<'a> {
    plan: &'a Plan,
    accesses: Vec<Access>,
    /// The number of the gate at each link.
    gates: BTreeMap<u32, usize>,
    /// Where packets meet each gate at the latest: on their way back or not, and at which stage.
    turns: Vec<(bool, usize)>,
    /// The least time from part to part.
    lags: HashMap<(usize, usize), Duration>,
}

impl Draft<'_> {
    /// Lays out all paths of a kind. `sizes`: the smallest packet on each, bytes. `ends`: the parts where the
    /// path of an owner with these legs begins and ends. Its last argument is true if only packets of this
    /// path enter the first link.
    fn lay(
        &mut self,
        paths: &[&[usize]],
        sizes: &[u64],
        is_back: bool,
        mut ends: impl FnMut(usize, &[Leg], bool) -> (usize, usize),
    ) -> Result<(Vec<Entrance>, Vec<Leg>), Unfit> {
        let plan = self.plan;
        let links = &plan.links;
        let (mut entrances, mut legs) = (Vec::with_capacity(paths.len()), Vec::new());
        for (owner, (path, &bytes)) in paths.iter().zip(sizes).enumerate() {
            let stages = stages(path, &self.accesses, links);
            let first = legs.len();
            for (place, stage) in stages.iter().enumerate() {
                let gate = stages.get(place + 1).and_then(|next| next.gate);
                let end = End {
                    owner: owner as u32,
                    gate: gate.map_or(ENDPOINT, |link| self.gate(link, (is_back, place))),
                    ordered: stage.keeps_order(links),
                    ahead: false,
                };
                legs.push(Leg { stage: stage.clone(), end, first: place == 0 });
            }
            let shared = stages.first().and_then(|stage| stage.gate);
            let shared = shared.filter(|&link| self.accesses[link as usize] == Access::InTurn);
            let (begin, end) = ends(owner, &legs[first..], shared.is_none());
            let mut part = begin;
            if let Some(link) = shared {
                let gate = GATES + self.gate(link, (is_back, 0)) as usize;
                self.feed(part, gate, Duration::ZERO);
                part = gate;
            }
            for Leg { stage, end: End { gate, .. }, .. } in &legs[first..] {
                let next = if *gate == ENDPOINT { end } else { GATES + *gate as usize };
                let lag =
                    stage.gate.iter().chain(&stage.along).map(|&link| least(&links[link as usize], bytes));
                let lag = lag.fold(Duration::ZERO, |sum, lag| sum + lag);
                let steps = stage.gate.is_some_and(|link| links[link as usize].is_stepped());
                if lag.is_zero() && (steps || *gate == ENDPOINT) {
                    return Err(Unfit("a link takes no time"));
                }
                self.feed(part, next, lag);
                part = next;
            }
            let first = stages.into_iter().take(1).map(|stage| Entrance {
                stage,
                exit: first,
                alone: shared.is_none(),
            });
            entrances.extend(first);
        }
        Ok((entrances, legs))
    }

    /// Packets go from one part to the next, and take at least `lag`.
    fn feed(&mut self, from: usize, to: usize, lag: Duration) {
        let known = self.lags.entry((from, to)).or_insert(lag);
        *known = lag.min(*known);
    }

    /// The number of the gate at a link.
    fn gate(&mut self, link: u32, turn: (bool, usize)) -> u32 {
        let fresh = self.gates.len();
        let number = *self.gates.entry(link).or_insert(fresh);
        self.turns.resize(self.turns.len().max(number + 1), turn);
        self.turns[number] = self.turns[number].max(turn);
        number as u32
    }

    fn finish(
        self,
        owners: Owners,
        data: Vec<Leg>,
        acks: Vec<Leg>,
        out: Vec<Entrance>,
        back: Vec<Entrance>,
        ahead: Vec<bool>,
    ) -> Layout {
        let mut gates: Vec<(u32, usize)> = self.gates.into_iter().collect();
        gates.sort_unstable_by_key(|&(_, number)| number);
        let mut turns: Vec<((bool, usize), usize)> =
            self.turns.into_iter().enumerate().map(|(gate, turn)| (turn, GATES + gate)).collect();
        turns.sort_unstable();
        let there = turns.iter().filter(|((is_back, _), _)| !is_back).map(|&(_, part)| part);
        let way_back = turns.iter().filter(|((is_back, _), _)| *is_back).map(|&(_, part)| part);
        let order = [FLOWS].into_iter().chain(there).chain([RECEIVERS]).chain(way_back).collect();
        let mut feeders = vec![Vec::new(); GATES + gates.len()];
        for ((from, to), lag) in self.lags {
            feeders[to].push((from, lag));
        }
        let gates = gates.into_iter().map(|(link, _)| link).collect();
        let round = round(&feeders);
        Layout { owners, data, acks, out, back, gates, order, feeders, ahead, round }
    }
}

/// The least time that a packet of so many bytes spends on a link.
fn least(link: &Link, bytes: u64) -> Duration {
    let changes = link.variable_rate().is_some();
    link.delay() + if changes { Duration::ZERO } else { link.rate().time_for(bytes) }
}
