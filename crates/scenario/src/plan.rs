//! What the engine runs: links, routes over them, and who sends what and when. No names, no text.

use crate::requests::Requests;
use crate::writing::Writing;
use ackclock_cc::Settings;
use ackclock_net::{Link, Stream};
use ackclock_tcp::Config;
use ackclock_units::{Duration, Rate, Time};

/// A complete run.
#[derive(Clone)]
pub struct Plan {
    /// Seeds every random stream of the run.
    pub seed: u64,
    /// When it ends.
    pub duration: Time,
    /// Averages are taken from the first instant to the second.
    pub measure: (Time, Time),
    /// How often the probes look; `None` switches them off.
    pub probe: Option<Duration>,
    /// All links; the first ones are those of the topology, the rest are flows' own.
    pub links: Vec<Link>,
    /// How many links the topology has: what is measured there must not run ahead of time.
    pub measured: usize,
    /// TCP flows.
    pub flows: Vec<FlowPlan>,
    /// Unresponsive traffic.
    pub streams: Vec<StreamPlan>,
}

/// A TCP flow.
#[derive(Clone)]
pub struct FlowPlan {
    /// Links from sender to receiver, in order.
    pub forward: Vec<usize>,
    /// Links from receiver to sender, in order.
    pub reverse: Vec<usize>,
    /// The endpoints' settings.
    pub config: Config,
    /// The congestion controller.
    pub control: Settings,
    /// Random numbers for the controller; their own, so that other flows do not change them.
    pub draws: Stream,
    /// When the first transfer starts.
    pub start: Time,
    /// When the application stops sending, if it does.
    pub stop: Option<Time>,
    /// What the application asks for.
    pub requests: Requests,
    /// How the application writes it, where that is not just all of it at once.
    pub writing: Option<Writing>,
}

impl FlowPlan {
    /// Segments of the next transfer; `None` is unlimited. To be asked once for each.
    pub fn next_size(&mut self) -> Option<u64> {
        let payload = u64::from(self.config.payload);
        let bursts = self.writing.and_then(|writing| writing.bursts);
        bursts.map(|bursts| bursts.bytes().div_ceil(payload)).or_else(|| self.requests.next_size())
    }

    /// Segments that the application has written when it begins with a transfer.
    pub fn segments_at_once(&self, size: Option<u64>) -> u64 {
        if self.writing.is_some() { 0 } else { size.unwrap_or(u64::MAX) }
    }
}

/// Constant-rate traffic that nothing slows down, with on and off periods.
#[derive(Clone)]
pub struct StreamPlan {
    /// Links to its sink, in order.
    pub route: Vec<usize>,
    /// Rate on the wire while it is on.
    pub rate: Rate,
    /// Bytes of a packet on the wire.
    pub bytes: u16,
    /// Length of an on period; `None` is always on.
    pub on: Option<Duration>,
    /// Length of an off period.
    pub off: Duration,
    /// Beginning of the first on period.
    pub start: Time,
    /// When it stops for good, if it does.
    pub stop: Option<Time>,
}

impl StreamPlan {
    /// When packet `number` (from 0) leaves. The rate holds over all on periods together, however short they
    /// are: what is left of a packet's time at the end of one is spent at the beginning of the next.
    pub fn departure(&self, number: u64) -> Time {
        let sending = self.rate.time_for(number * u64::from(self.bytes)).as_nanos();
        let since_start = match self.on.map(Duration::as_nanos) {
            Some(on) if on > 0 => {
                let periods = sending / on;
                self.off.saturating_mul(periods) + Duration::from_nanos(sending)
            }
            _ => Duration::from_nanos(sending),
        };
        self.start + since_start
    }
}
