//! Records a simulated flow for the predictors: its samples, its losses, and the state of the bottleneck.

use crate::engine::{Observer, PacketRef, SenderView};
use ackclock_cc::predictor::Reading;
use ackclock_net::{Cause, Fate, Limit, Queue};
use ackclock_scenario::{Built, Prediction};
use ackclock_units::{Duration, Rate, Time};

/// The recorded data of a flow.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The acknowledgements with a sample, in order.
    pub readings: Vec<Reading>,
    /// The bottleneck's queue at each reading, as a share of its capacity. Empty if that is not known.
    pub queue: Vec<f32>,
    /// The times at which the flow detected a loss, in order.
    pub flow_losses: Vec<Time>,
    /// The times at which the bottleneck dropped a packet of any flow, in order, if known.
    pub queue_losses: Option<Vec<Time>>,
}

/// Records the flow of a [`Prediction`] in the measuring window. It is an observer of the engine.
pub struct Recorder {
    flow: usize,
    link: usize,
    from: Time,
    to: Time,
    /// The delay from each flow's sender, and each stream's source, to the link.
    flow_delays: Vec<Duration>,
    stream_delays: Vec<Duration>,
    rate: Rate,
    /// The capacity of the queue, bytes.
    room: f64,
    /// The time at which the link has sent all that it was given.
    free_at: Time,
    /// The bytes that wait in the link's own queue, if it has one.
    waiting: u64,
    /// The samples and losses of the flow so far.
    samples: (u64, Duration),
    losses: u64,
    recording: Recording,
    drops: Vec<Time>,
}

impl Recorder {
    /// A recorder for a run of this plan.
    pub fn new(built: &Built, prediction: &Prediction) -> Recorder {
        let &Prediction { flow, link, .. } = prediction;
        let plan = &built.plan;
        let before = |route: &[usize], bytes: u16| {
            let links = route.iter().take_while(|&&number| number != link).map(|&number| &plan.links[number]);
            links.fold(Duration::ZERO, |sum, it| sum + it.delay() + it.rate().time_for(u64::from(bytes)))
        };
        let segment = plan.flows[flow].config.segment_bytes();
        Recorder {
            flow,
            link,
            from: plan.measure.0,
            to: plan.measure.1,
            flow_delays: plan
                .flows
                .iter()
                .map(|flow| before(&flow.forward, flow.config.segment_bytes()))
                .collect(),
            stream_delays: plan.streams.iter().map(|stream| before(&stream.route, stream.bytes)).collect(),
            rate: plan.links[link].rate(),
            room: room(plan.links[link].queue(), f64::from(segment)),
            free_at: Time::ZERO,
            waiting: 0,
            samples: (0, Duration::ZERO),
            losses: 0,
            recording: Recording::default(),
            drops: Vec::new(),
        }
    }

    fn is_within(&self, now: Time) -> bool {
        self.from <= now && now <= self.to
    }

    /// The queue dropped a packet at `at`.
    fn dropped(&mut self, at: Time) {
        if self.is_within(at) {
            self.drops.push(at);
        }
    }

    /// The recorded data.
    pub fn finish(mut self) -> Recording {
        // Packets that met the link in one event were sent at different times.
        self.drops.sort_unstable();
        self.recording.queue_losses = Some(self.drops);
        self.recording
    }
}

/// The capacity in bytes, with segments of this size; infinite without a limit.
fn room(queue: &Queue, segment: f64) -> f64 {
    match queue.limit() {
        Some(Limit::Packets(packets)) => f64::from(packets) * segment,
        Some(Limit::Bytes(bytes)) => bytes as f64,
        None => f64::INFINITY,
    }
}

fn bytes(packet: PacketRef<'_>) -> u64 {
    match packet {
        PacketRef::Data(_, data) | PacketRef::Datagram(_, data) | PacketRef::CbrPacket(_, data) => {
            u64::from(data.bytes)
        }
        PacketRef::Ack(_, ack) | PacketRef::Report(_, ack) => u64::from(ack.bytes),
    }
}

impl Observer for Recorder {
    fn is_there(&self) -> bool {
        true
    }

    fn minds(&self, link: usize, _: PacketRef<'_>) -> bool {
        link == self.link
    }

    fn minds_sender(&self, flow: usize) -> bool {
        flow == self.flow
    }

    fn at_link(&mut self, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        if link != self.link {
            return;
        }
        match fate {
            Fate::Arrives(at) | Fate::ArrivesTwice(at) => {
                let left = Time::ZERO + (at.since(Time::ZERO) - delay);
                self.free_at = self.free_at.max(left);
            }
            Fate::Queued => self.waiting += bytes(packet),
            Fate::Dropped(Cause::Overflow | Cause::Early) => {
                let at = match packet {
                    PacketRef::Data(flow, data) | PacketRef::Datagram(flow, data) => {
                        data.sent_at + self.flow_delays[flow as usize]
                    }
                    PacketRef::CbrPacket(stream, data) => data.sent_at + self.stream_delays[stream as usize],
                    PacketRef::Ack(..) | PacketRef::Report(..) => return,
                };
                self.dropped(at);
            }
            Fate::Dropped(Cause::Error | Cause::Outage | Cause::Filtered) | Fate::LinkRetry(_) => {}
        }
    }

    fn at_transmitter(&mut self, now: Time, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        if link != self.link {
            return;
        }
        self.waiting -= bytes(packet);
        match (packet, fate) {
            (PacketRef::Data(..) | PacketRef::Datagram(..) | PacketRef::CbrPacket(..), Fate::Dropped(_)) => {
                self.dropped(now)
            }
            _ => self.at_link(link, delay, packet, fate),
        }
    }

    fn at_sender(&mut self, now: Time, flow: usize, sender: &SenderView) {
        if flow != self.flow {
            return;
        }
        // A flow that repeats its transfer counts from zero again.
        let fresh = sender.losses > std::mem::replace(&mut self.losses, sender.losses);
        if fresh && self.is_within(now) {
            self.recording.flow_losses.push(now);
        }
        let taken = (sender.rtt_samples, sender.rtt_sum);
        let before = std::mem::replace(&mut self.samples, taken);
        if taken.0 != before.0 + 1 || !self.is_within(now) {
            return;
        }
        let queued = self.rate.bytes_in(self.free_at.since(now)) + self.waiting as f64;
        self.recording.queue.push((queued / self.room) as f32);
        self.recording.readings.push(Reading {
            now,
            rtt: taken.1 - before.1,
            una: sender.una,
            nxt: sender.nxt,
            window: sender.cwnd,
        });
    }
}
