//! The input of the engine: links, routes over them, and the traffic. It has no names and no text.

pub use crate::traffic::CbrPlan;

use crate::control::Control;
use crate::requests::Requests;
use crate::writing::{Bursts, Writing};
use ackclock_net::{Jitter, Link, Rng};
use ackclock_tcp::Config;
use ackclock_units::{Duration, Time};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What computes a run in virtual time. The results do not depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineKind {
    /// One part of the run after the other, each as far ahead as nothing unknown can reach it.
    Phases,
    /// One event after the other.
    Events,
}

/// How many threads compute a run in phases. The results do not depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Threads {
    /// One.
    #[default]
    One,
    /// So many at most, where that is faster.
    UpTo(usize),
    /// So many, faster or not. There is at least one flow for each thread after the first.
    Exactly(usize),
}

/// All threads of a run wait for one of them, which has the gates. So there are no more than this.
const MOST_THREADS: usize = 4;
/// The memory of a flow in the copy of a run that each thread after the first has, bytes: measured with ten
/// thousand flows.
const PER_COPY: usize = 5_000;
impl Threads {
    /// What the copies of a run may take together, bytes.
    pub const COPIES: usize = 256 << 20;

    /// The most threads of a run with so many flows.
    pub fn most(self, flows: usize) -> usize {
        match self {
            Threads::One => 1,
            Threads::UpTo(most) => {
                most.min(MOST_THREADS).min(1 + Threads::COPIES / (PER_COPY * flows.max(1)))
            }
            Threads::Exactly(number) => number,
        }
    }
}

/// A complete run.
#[derive(Clone)]
pub struct Plan {
    /// The seed of all random streams of the run.
    pub seed: u64,
    /// The end of the run.
    pub duration: Time,
    /// The measuring window: start and end.
    pub measure: (Time, Time),
    /// The interval of the probes; `None`: no probes.
    pub probe: Option<Duration>,
    /// All links. Those of the topology come first, then those that belong to single flows.
    pub links: Vec<Link>,
    /// The number of links of the topology. They are measured, so they must not run ahead of time.
    pub measured: usize,
    /// Flows that react to congestion: TCP and rate-based ones.
    pub flows: Vec<FlowPlan>,
    /// Unresponsive traffic.
    pub streams: Vec<CbrPlan>,
    /// The engine; `None`: the one that suits the run.
    pub engine: Option<EngineKind>,
    /// The threads of the engine in phases.
    pub threads: Threads,
}

impl Plan {
    /// The longest time by which jitter delays a packet of this flow at its host.
    pub fn jitter(&self, flow: usize) -> Option<Duration> {
        let first = self.flows[flow].forward.first().filter(|&&link| link >= self.measured)?;
        let impairments = self.links[*first].impairments()?;
        impairments.jitter.as_ref().map(Jitter::most)
    }
}

/// A flow that reacts to congestion.
#[derive(Clone)]
pub struct FlowPlan {
    /// The links from sender to receiver, in order.
    pub forward: Vec<usize>,
    /// The links from receiver to sender, in order.
    pub reverse: Vec<usize>,
    /// The settings of both endpoints of TCP. The sizes of packets are those of a rate-based flow, too.
    pub config: Arc<Config>,
    /// What decides how fast it sends.
    pub control: Control,
    /// Tells the flow from others in a queue for each flow, as addresses and ports do. It depends on the
    /// flow's own name only, so that other flows do not change it.
    pub key: u64,
    /// The random numbers of the controller. They are its own, so other flows do not change them.
    pub draws: Rng,
    /// The start of the first transfer.
    pub start: Time,
    /// When the application stops sending, if it does.
    pub stop: Option<Time>,
    /// The transfers of the application.
    pub requests: Requests,
    /// How the application writes its data; `None`: all of it at once.
    pub writing: Option<Writing>,
    /// Set if the receiving host asks for each transfer.
    pub asking: Option<Asking>,
}

/// Transfers that the receiving host asks for, as a client of HTTP does: responses to its requests. Packets
/// of handshakes and requests are not simulated. They take the time of the idle path, and none is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asking {
    /// One connection for all requests; otherwise one for each.
    pub persistent: bool,
    /// The propagation delay from the server to the client.
    pub there: Duration,
    /// The propagation delay from the client to the server.
    pub back: Duration,
}

impl Asking {
    /// The time from the client's wish until the server has the request. `connected`: there is a connection.
    pub fn lag(self, connected: bool) -> Duration {
        // SYN and SYN+ACK take a round trip. The request comes with the acknowledgement of the latter.
        if connected && self.persistent { self.back } else { self.back + self.there + self.back }
    }
}

impl FlowPlan {
    /// The segments of the next transfer; `None`: unlimited. Call it once per transfer.
    pub fn next_size(&mut self) -> Option<u64> {
        let payload = u64::from(self.config.payload);
        self.periodic().map(|bursts| bursts.bytes().div_ceil(payload)).or_else(|| self.requests.next_size())
    }

    /// The bursts that are the transfer, if the application writes bursts and nobody asks for anything.
    pub fn periodic(&self) -> Option<Bursts> {
        self.writing.and_then(|writing| writing.bursts).filter(|_| self.asking.is_none())
    }

    /// Bytes of payload in a transfer of so many segments.
    pub fn bytes_of(&self, segments: u64) -> u64 {
        self.periodic()
            .map_or(segments.saturating_mul(u64::from(self.config.payload)), |bursts| bursts.bytes())
    }

    /// Segments that the application has written when it begins with a transfer.
    pub fn segments_at_once(&self, size: Option<u64>) -> u64 {
        if self.writing.is_some() { 0 } else { size.unwrap_or(u64::MAX) }
    }
}
