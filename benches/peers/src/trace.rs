//! The events of a flow, packet by packet: a tool to find out where two simulators differ.

use ackclock_net::{Fate, Impairments, Loss};
use ackclock_scenario::plan::Plan;
use ackclock_sim::engine::{Engine, Observer, PacketRef, SenderView};
use ackclock_tcp::State;
use ackclock_units::{Duration, Time};
use std::fmt;

/// An event of a flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Event {
    /// The sender put a segment on its access link.
    Send(u64),
    /// A segment was dropped.
    Drop(u64),
    /// The sender has processed an acknowledgement or a timeout: first unacknowledged segment, cwnd, pipe,
    /// state.
    AckSummary(u64, f64, u64, State),
}

/// An event and its time. A drop has the send time of the segment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Entry {
    /// The time.
    pub at: Time,
    /// The event.
    pub event: Event,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.as_secs_f64();
        match self.event {
            Event::Send(seq) => write!(f, "{at:.9} send {seq}"),
            Event::Drop(seq) => write!(f, "{at:.9} drop {seq}"),
            Event::AckSummary(una, cwnd, pipe, state) => {
                write!(f, "{at:.9} heard {una} cwnd {cwnd:.6} pipe {pipe} {state:?}")
            }
        }
    }
}

/// Records the events of one flow.
pub struct Log {
    /// The number of the flow.
    flow: u32,
    /// The access link of the flow.
    first_link: usize,
    /// The events so far.
    pub entries: Vec<Entry>,
}

impl Observer for Log {
    fn is_there(&self) -> bool {
        true
    }

    fn minds(&self, _: usize, packet: PacketRef<'_>) -> bool {
        matches!(packet, PacketRef::Data(flow, _) if flow == self.flow)
    }

    fn minds_sender(&self, flow: usize) -> bool {
        flow == self.flow as usize
    }

    fn at_link(&mut self, link: usize, _delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        let PacketRef::Data(flow, data) = packet else { return };
        if flow != self.flow {
            return;
        }
        if link == self.first_link {
            self.entries.push(Entry { at: data.sent_at, event: Event::Send(data.seq) });
        }
        if let Fate::Dropped(_) = fate {
            self.entries.push(Entry { at: data.sent_at, event: Event::Drop(data.seq) });
        }
    }

    fn at_transmitter(&mut self, _: Time, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        self.at_link(link, delay, packet, fate);
    }

    fn at_sender(&mut self, now: Time, flow: usize, sender: &SenderView) {
        if flow == self.flow as usize {
            let &SenderView { una, cwnd, in_flight, state, .. } = sender;
            self.entries.push(Entry { at: now, event: Event::AckSummary(una, cwnd, in_flight, state) });
        }
    }
}

/// Runs `plan` and returns the events of flow number `flow`. The bottleneck loses the packets at the
/// positions in `drop`. The first packet that arrives there has position 0.
pub fn trace(mut plan: Plan, flow: usize, drop: &[u64]) -> Vec<Entry> {
    if !drop.is_empty() {
        let link = &mut plan.links[crate::derive::BOTTLENECK];
        let loss = Some(Loss::of_packets(drop.iter().copied()));
        *link = link.clone().with_impairments(Impairments { loss, ..Impairments::default() });
    }
    let log = Log { flow: flow as u32, first_link: plan.flows[flow].forward[0], entries: Vec::new() };
    let (_, log) = Engine::new(plan, log).run();
    log.entries
}
