//! From tests to transfers: which two tests are the two ends of one connection, and what goes on when.

use super::error::{Fault, Span};
use super::parser::{Block, Kind, Part, Place, Setting, Test};
use super::read::spec;
use crate::spec::{Pattern, Role, Spec};
use ackclock_scenario::suggest;
use std::collections::HashMap;
use std::fmt;

/// The port on which agents listen for controllers.
pub const CONTROL_PORT: u16 = 42010;

/// A host and a port.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Address {
    /// The name or address.
    pub host: String,
    /// The port; 0: any that is free.
    pub port: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Address { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// One end of a transfer.
#[derive(Clone, PartialEq, Debug)]
pub struct End {
    /// Where its agent listens.
    pub agent: Address,
    /// What it does.
    pub spec: Spec,
    /// Its own address for data. `None`: the host's, and any port.
    pub own: Option<Address>,
}

/// A connection between two hosts.
#[derive(Clone, PartialEq, Debug)]
pub struct Transfer {
    /// The end that sends.
    pub source: End,
    /// The end that receives.
    pub sink: End,
}

impl Transfer {
    /// What the source writes.
    pub fn pattern(&self) -> Option<&Pattern> {
        match &self.source.spec.role {
            Role::Source(pattern) => Some(pattern),
            Role::Sink { .. } => None,
        }
    }
}

/// What goes on when.
#[derive(Clone, PartialEq, Debug)]
pub enum Stage {
    /// All transfers of a block, by their numbers, at once, and blocks within it beside them.
    Together(Vec<usize>, Vec<Stage>),
    /// One after the other.
    InTurn(Vec<Stage>),
}

/// A script that makes sense.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// All transfers, in the script's order.
    pub transfers: Vec<Transfer>,
    /// What goes on when.
    pub stage: Stage,
}

impl Plan {
    /// The agents that take part, in the order of the script.
    pub fn agents(&self) -> Vec<Address> {
        let mut seen = std::collections::HashSet::new();
        let ends = self.transfers.iter().flat_map(|transfer| [&transfer.source, &transfer.sink]);
        ends.map(|end| end.agent.clone()).filter(|agent| seen.insert(agent.clone())).collect()
    }
}

/// A test that makes sense, and where it is.
struct Read {
    end: End,
    peer: Option<Address>,
    span: Span,
}

impl Read {
    fn is_source(&self) -> bool {
        matches!(self.end.spec.role, Role::Source(_))
    }
}

pub(super) fn plan(block: &Block) -> Result<Plan, Fault> {
    let mut transfers = Vec::new();
    let stage = stage(block, &mut transfers)?;
    if transfers.is_empty() {
        let help = "put in a test that sends and one that receives: test A { type = full (duration=10); \
                    protocol = tcp; peer = B:42015; } test B { type = sink; protocol = tcp; own = B:42015; }";
        return Err(Fault::new(block.span, "there are no tests", help));
    }
    Ok(Plan { transfers, stage })
}

fn stage(block: &Block, transfers: &mut Vec<Transfer>) -> Result<Stage, Fault> {
    let mut tests = Vec::new();
    for part in &block.parts {
        if let Part::Test(test) = part {
            tests.push(read(test)?);
        }
    }
    let partners = pair(&tests)?;
    let (mut now, mut stages) = (Vec::new(), Vec::new());
    let mut number = 0;
    for part in &block.parts {
        match part {
            Part::Block(inner) => stages.push(stage(inner, transfers)?),
            Part::Test(_) => {
                // A transfer stands where the first of its two tests stands.
                let partner = partners[number];
                if number < partner {
                    let (one, other) = (&tests[number], &tests[partner]);
                    let (source, sink) = if one.is_source() { (one, other) } else { (other, one) };
                    transfers.push(Transfer { source: source.end.clone(), sink: sink.end.clone() });
                    let transfer = transfers.len() - 1;
                    match block.kind {
                        Kind::Serial => stages.push(Stage::Together(vec![transfer], Vec::new())),
                        Kind::Cluster | Kind::Parallel => now.push(transfer),
                    }
                }
                number += 1;
            }
        }
    }
    Ok(match block.kind {
        Kind::Serial => Stage::InTurn(stages),
        Kind::Cluster | Kind::Parallel => Stage::Together(now, stages),
    })
}

fn read(test: &Test) -> Result<Read, Fault> {
    const STATEMENTS: &[&str] = &["type", "protocol", "own", "peer"];
    let (mut kind, mut protocol, mut own, mut peer) = (None, None, None, None);
    for statement in &test.statements {
        let again = match (statement.name.as_str(), &statement.value) {
            ("type", Setting::Call(call)) => kind.replace(call).is_some(),
            ("protocol", Setting::Call(call)) => protocol.replace(call).is_some(),
            ("own", Setting::Place(place)) => own.replace(place).is_some(),
            ("peer", Setting::Place(place)) => peer.replace(place).is_some(),
            (name, _) => {
                let message = format!("there is no statement \"{name}\"");
                return Err(Fault::new(statement.span, message, suggest(name, STATEMENTS)));
            }
        };
        if again {
            let message = format!("{} stands twice in this test", statement.name);
            return Err(Fault::new(statement.span, message, "remove one of them"));
        }
    }
    let span = test.host.span;
    let lacks = |what: &str, example: &str| {
        Fault::new(span, format!("this test has no {what}"), format!("say for example {example}"))
    };
    let kind = kind.ok_or_else(|| lacks("type", "type = full (blocksize=32000, duration=10);"))?;
    let protocol = protocol.ok_or_else(|| lacks("protocol", "protocol = tcp (window=1048576);"))?;
    let spec = spec(kind, protocol)?;
    let address = |place: Option<&Place>, needs_port: bool| match place {
        None => Ok(None),
        Some(Place { span, port: None, .. }) if needs_port => {
            Err(Fault::new(*span, "a port is missing", "write HOST:PORT, for example :42015 behind the host"))
        }
        Some(place) => Ok(Some(Address { host: place.host.clone(), port: place.port.unwrap_or(0) })),
    };
    let is_source = matches!(spec.role, Role::Source(_));
    let (own, peer) = (address(own, !is_source)?, address(peer, is_source)?);
    if is_source && peer.is_none() {
        return Err(lacks("peer, which a test that sends needs", "peer = HOST:42015;"));
    }
    if !is_source && own.is_none() {
        return Err(lacks("own address, which a sink needs", "own = HOST:42015;"));
    }
    let agent = Address { host: test.host.host.clone(), port: test.host.port.unwrap_or(CONTROL_PORT) };
    Ok(Read { end: End { agent, spec, own }, peer, span })
}

/// For each test the number of its partner in the same block.
fn pair(tests: &[Read]) -> Result<Vec<usize>, Fault> {
    // Sinks by their own address, those that were written first last.
    let mut sinks: HashMap<&Address, Vec<usize>> = HashMap::new();
    for (number, test) in tests.iter().enumerate().rev().filter(|(_, test)| !test.is_source()) {
        if let Some(own) = &test.end.own {
            sinks.entry(own).or_default().push(number);
        }
    }
    let mut partners = vec![usize::MAX; tests.len()];
    for (number, test) in tests.iter().enumerate().filter(|(_, test)| test.is_source()) {
        let Some(peer) = &test.peer else { continue };
        let waiting = sinks.get_mut(peer);
        // A sink that names its peer is for that one; the others take whoever comes.
        let found = waiting.and_then(|waiting| {
            let fits = |sink: &usize| match (&tests[*sink].peer, &test.end.own) {
                (None, _) => true,
                (Some(wanted), Some(own)) => wanted == own,
                (Some(wanted), None) => wanted.host == test.end.agent.host,
            };
            let same =
                |sink: &usize| tests[*sink].end.spec.protocol.is_udp() == test.end.spec.protocol.is_udp();
            let at = waiting.iter().rposition(|sink| same(sink) && fits(sink))?;
            Some(waiting.remove(at))
        });
        let Some(sink) = found else {
            let message = format!("no sink of this block receives at {peer} what this test sends");
            let help = "the sink is a test of the same block with own = the peer of this one, the same protocol, \
                        and, if it names one, peer = the own address of this one";
            return Err(Fault::new(test.span, message, help));
        };
        (partners[number], partners[sink]) = (sink, number);
    }
    match partners.iter().position(|&partner| partner == usize::MAX) {
        None => Ok(partners),
        Some(sink) => {
            let help = "a test of the same block must have this one's own address as its peer";
            Err(Fault::new(tests[sink].span, "nobody sends to this sink", help))
        }
    }
}
