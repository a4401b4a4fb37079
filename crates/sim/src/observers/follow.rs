//! Traces single flows, segment by segment: when each segment was sent, dropped, delivered and acknowledged,
//! the sender's round-trip time estimates, and its loss episodes.
//!
//! The follower is an observer of the engine. A run without traced flows does not contain it.

use super::crossings::Crossings;
use crate::engine::{Observer, PacketRef, SenderView};
use ackclock_net::Fate;
use ackclock_scenario::flow_trace::{Episode, Estimate, Event, EventKind, FlowTrace, SegmentTrace};
use ackclock_scenario::plan::{FlowPlan, Plan};
use ackclock_tcp::{Data, Flags, State};
use ackclock_units::{Duration, Time};
use std::collections::HashMap;

/// A flow that is traced.
struct Following {
    course: FlowTrace,
    /// Its first and last link, and the last link of the way back.
    ends: [usize; 3],
    /// The number of the connection, and the segments of the connections before it.
    epoch: u8,
    base: u64,
    /// Transmissions in flight: when they reach the next link.
    under_way: HashMap<(u64, Time), Time>,
    samples: (u64, Duration),
}

/// Traces some flows of a run.
pub struct Follower {
    /// The traced flows, by the number of the flow.
    flows: Vec<Option<Box<Following>>>,
    /// The queues on their ways.
    crossings: Crossings,
    end: Time,
}

impl Follower {
    /// A follower of the flows with these numbers.
    pub fn new(plan: &Plan, followed: &[usize]) -> Follower {
        let mut flows: Vec<Option<Box<Following>>> = plan.flows.iter().map(|_| None).collect();
        for &flow in followed {
            let FlowPlan { forward, reverse, .. } = &plan.flows[flow];
            let last = |route: &[usize]| route.last().copied().unwrap_or(usize::MAX);
            flows[flow] = Some(Box::new(Following {
                course: FlowTrace { flow, ..FlowTrace::default() },
                ends: [forward.first().copied().unwrap_or(usize::MAX), last(forward), last(reverse)],
                epoch: 0,
                base: 0,
                under_way: HashMap::new(),
                samples: (0, Duration::ZERO),
            }));
        }
        Follower { flows, crossings: Crossings::new(plan, followed), end: plan.duration }
    }

    /// The traces, by flow.
    pub fn into_courses(self) -> Vec<FlowTrace> {
        let end = self.end.as_nanos();
        let finished = self.flows.into_iter().flatten().map(|following| {
            let mut course = following.course;
            // A link reports an arrival when the packet enters it. The run may end before the packet arrives.
            course.events.retain(|event| event.at_ns <= end);
            // events of the same instant were recorded cause first
            course.events.sort_by_key(|event| event.at_ns);
            for life in &mut course.segments {
                life.arrived_ns = life.arrived_ns.filter(|&at| at <= end);
            }
            course
        });
        let mut courses: Vec<FlowTrace> = finished.collect();
        self.crossings.give(&mut courses, end);
        courses
    }
}

impl Following {
    /// The number of the segment over all connections; `None` for a segment of an earlier connection.
    fn number(&mut self, flags: Flags, seq: u64) -> Option<u64> {
        if flags.epoch() == self.epoch.wrapping_add(1) && !self.course.segments.is_empty() {
            self.epoch = flags.epoch();
            self.base = self.course.segments.len() as u64;
            self.samples = (0, Duration::ZERO);
        }
        (flags.epoch() == self.epoch).then_some(self.base + seq)
    }

    fn note(&mut self, at: Time, what: EventKind, segment: u64) {
        self.course.events.push(Event { at_ns: at.as_nanos(), what, segment });
    }

    fn sent(&mut self, at: Time, segment: u64) {
        if segment == self.course.segments.len() as u64 {
            self.note(at, EventKind::New, segment);
            self.course.segments.push(SegmentTrace { sent_ns: at.as_nanos(), again: 0, arrived_ns: None });
        } else if let Some(life) = self.course.segments.get_mut(segment as usize) {
            life.again += 1;
            self.note(at, EventKind::Again, segment);
        }
    }

    fn arrived(&mut self, at: Time, segment: u64) {
        self.note(at, EventKind::Arrived, segment);
        if let Some(life) = self.course.segments.get_mut(segment as usize) {
            life.arrived_ns = Some(life.arrived_ns.map_or(at.as_nanos(), |first| first.min(at.as_nanos())));
        }
    }

    fn on_data(&mut self, link: usize, data: &Data, fate: Fate) {
        let Some(segment) = self.number(data.flags, data.seq) else { return };
        let [first, last, _] = self.ends;
        let key = (segment, data.sent_at);
        let known = self.under_way.remove(&key);
        if link == first && known.is_none() {
            self.sent(data.sent_at, segment);
        }
        match fate {
            Fate::Dropped(_) => self.note(known.unwrap_or(data.sent_at), EventKind::Dropped, segment),
            Fate::LinkRetry(at) => _ = self.under_way.insert(key, at),
            Fate::Queued => _ = self.under_way.insert(key, known.unwrap_or(data.sent_at)),
            Fate::Arrives(at) | Fate::ArrivesTwice(at) if link == last => self.arrived(at, segment),
            Fate::Arrives(at) | Fate::ArrivesTwice(at) => _ = self.under_way.insert(key, at),
        }
    }

    fn at_sender(&mut self, now: Time, sender: &SenderView) {
        let taken = (sender.rtt_samples, sender.rtt_sum);
        let fresh = taken.0 > self.samples.0;
        let rtt_s = fresh.then(|| (taken.1 - self.samples.1).as_secs_f64());
        self.samples = taken;
        self.course.estimates.push(Estimate {
            at_ns: now.as_nanos(),
            rtt_s,
            srtt_s: sender.srtt.as_secs_f64(),
            rttvar_s: sender.rttvar.as_secs_f64(),
            cwnd: sender.cwnd,
        });
        let una = self.base + sender.una;
        let open = self.course.episodes.last_mut().filter(|episode| episode.ends_ns.is_none());
        match (open, sender.state == State::Open) {
            (None, false) => self.course.episodes.push(Episode {
                begins_ns: now.as_nanos(),
                ends_ns: None,
                from: una,
                to: una,
            }),
            (Some(episode), is_over) => {
                episode.to = una.max(episode.to);
                episode.ends_ns = is_over.then_some(now.as_nanos());
            }
            (None, true) => {}
        }
    }
}

impl Follower {
    /// A packet of any flow met its fate.
    fn follow(&mut self, link: usize, packet: PacketRef<'_>, fate: Fate) {
        let flow = match packet {
            PacketRef::Data(flow, _) | PacketRef::Ack(flow, _) => flow,
            PacketRef::Datagram(..) | PacketRef::Report(..) | PacketRef::CbrPacket(..) => return,
        };
        let Some(Some(following)) = self.flows.get_mut(flow as usize) else { return };
        match (packet, fate) {
            (PacketRef::Data(_, data), _) => following.on_data(link, data, fate),
            (PacketRef::Ack(_, ack), Fate::Arrives(at) | Fate::ArrivesTwice(at))
                if link == following.ends[2] && ack.flags.epoch() == following.epoch =>
            {
                following.note(at, EventKind::Acked, following.base + ack.ack);
                let reported = ack.runs().next().filter(|_| ack.duplicate_report().is_none());
                if let Some((_, end)) = reported {
                    following.note(at, EventKind::Sacked, following.base + end - 1);
                }
            }
            _ => {}
        }
    }
}

impl Observer for Follower {
    fn is_there(&self) -> bool {
        true
    }

    fn minds(&self, link: usize, packet: PacketRef<'_>) -> bool {
        let its_own = match packet {
            PacketRef::Data(flow, _) => self.minds_sender(flow as usize),
            PacketRef::Ack(flow, _) => {
                let followed = self.flows.get(flow as usize).and_then(Option::as_deref);
                followed.is_some_and(|it| link == it.ends[2])
            }
            PacketRef::Datagram(..) | PacketRef::Report(..) | PacketRef::CbrPacket(..) => false,
        };
        its_own || self.crossings.minds(packet)
    }

    fn minds_sender(&self, flow: usize) -> bool {
        self.flows.get(flow).is_some_and(Option::is_some)
    }

    fn at_link(&mut self, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        self.crossings.at_link(link, delay, packet, fate);
        self.follow(link, packet, fate);
    }

    fn at_transmitter(&mut self, now: Time, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        if let (PacketRef::Data(flow, data), Fate::Dropped(_)) = (packet, fate)
            && let Some(Some(following)) = self.flows.get_mut(flow as usize)
            && let Some(segment) = following.number(data.flags, data.seq)
        {
            following.under_way.insert((segment, data.sent_at), now); // dropped now, not when it came
        }
        self.crossings.decided(now, link, delay, packet, fate);
        self.follow(link, packet, fate);
    }

    fn at_sender(&mut self, now: Time, flow: usize, sender: &SenderView) {
        if let Some(Some(following)) = self.flows.get_mut(flow) {
            following.at_sender(now, sender);
        }
    }
}
