//! Observers of a run. The observer is a type parameter of both engines, so that no observer costs nothing.
//! [`Simulation`](super::Simulation) has them compiled for none and for any, and nobody else needs to.

use ackclock_net::Fate;
use ackclock_tcp::{Ack, Data, Sender, State};
use ackclock_units::{Duration, Time};

/// A packet at the moment when it is offered to a link.
#[derive(Clone, Copy, Debug)]
pub enum PacketRef<'a> {
    /// A segment of this flow.
    Data(u32, &'a Data),
    /// An acknowledgement of this flow.
    Ack(u32, &'a Ack),
    /// A packet of this rate-based flow. The segment holds a number that counts its packets, and bytes.
    Datagram(u32, &'a Data),
    /// An acknowledgement of this rate-based flow. It holds a number that counts them, and bytes.
    Report(u32, &'a Ack),
    /// A datagram of this stream. The segment holds its number and bytes.
    CbrPacket(u32, &'a Data),
}

/// A sender, as observers see it.
#[derive(Clone, Copy, Debug)]
pub struct SenderView {
    /// The first segment that is not acknowledged.
    pub una: u64,
    /// The next new segment.
    pub nxt: u64,
    /// The congestion window, segments.
    pub cwnd: f64,
    /// What it estimates to be in flight, segments.
    pub in_flight: u64,
    /// Whether it repairs a loss.
    pub state: State,
    /// The smoothed round-trip time (RFC 6298).
    pub srtt: Duration,
    /// Its mean deviation (RFC 6298).
    pub rttvar: Duration,
    /// How many round-trip times were measured.
    pub rtt_samples: u64,
    /// Their sum.
    pub rtt_sum: Duration,
    /// Fast retransmits and timeouts so far.
    pub losses: u64,
}

impl SenderView {
    /// What is seen of a sender.
    pub fn of(sender: &Sender) -> SenderView {
        let (rtt, counters) = (sender.rtt(), sender.counters());
        SenderView {
            una: sender.una(),
            nxt: sender.nxt(),
            cwnd: sender.window().cwnd,
            in_flight: sender.in_flight(),
            state: sender.state(),
            srtt: rtt.srtt(),
            rttvar: rtt.rttvar(),
            rtt_samples: counters.rtt_samples,
            rtt_sum: counters.rtt_sum,
            losses: counters.fast_retransmits + counters.timeouts,
        }
    }
}

/// An observer of runs. It sees everything in order of time: what happens at the same instant in the order of
/// the engine of events. No method has a default: an observer that wraps others and forgets to forward a call
/// would miss events, and nobody would notice.
pub trait Observer {
    /// True if anything is observed. Otherwise parts of a run are computed ahead of their time.
    fn is_there(&self) -> bool;

    /// True if it wants to know what becomes of this packet at this link. It may be told nevertheless. Once
    /// it wants to know no more of a link's packets of some kind, it never does again.
    fn minds(&self, link: usize, packet: PacketRef<'_>) -> bool;

    /// True if it wants to know of the sender of this flow. It may be told nevertheless.
    fn minds_sender(&self, flow: usize) -> bool;

    /// A packet met its fate at a link. If it arrives, it left the transmitter `delay` before: the
    /// propagation delay, and more if the packet is late. A packet that returns or waits meets another fate
    /// at the same link later.
    fn at_link(&mut self, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate);

    /// The fate of a packet that waited in a link's own queue was decided at `now`. `delay` is as above.
    fn at_transmitter(&mut self, now: Time, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate);

    /// A sender has processed an acknowledgement or a timeout.
    fn at_sender(&mut self, now: Time, flow: usize, sender: &SenderView);
}

/// Several observers of the same run. Each sees an event before the next one does.
impl Observer for Vec<&mut dyn Observer> {
    fn is_there(&self) -> bool {
        self.iter().any(|watcher| watcher.is_there())
    }

    fn minds(&self, link: usize, packet: PacketRef<'_>) -> bool {
        self.iter().any(|watcher| watcher.minds(link, packet))
    }

    fn minds_sender(&self, flow: usize) -> bool {
        self.iter().any(|watcher| watcher.minds_sender(flow))
    }

    fn at_link(&mut self, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        self.iter_mut().for_each(|watcher| watcher.at_link(link, delay, packet, fate));
    }

    fn at_transmitter(&mut self, now: Time, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        self.iter_mut().for_each(|watcher| watcher.at_transmitter(now, link, delay, packet, fate));
    }

    fn at_sender(&mut self, now: Time, flow: usize, sender: &SenderView) {
        self.iter_mut().for_each(|watcher| watcher.at_sender(now, flow, sender));
    }
}

/// Any observer.
impl Observer for &mut dyn Observer {
    fn is_there(&self) -> bool {
        (**self).is_there()
    }

    fn minds(&self, link: usize, packet: PacketRef<'_>) -> bool {
        (**self).minds(link, packet)
    }

    fn minds_sender(&self, flow: usize) -> bool {
        (**self).minds_sender(flow)
    }

    fn at_link(&mut self, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        (**self).at_link(link, delay, packet, fate);
    }

    fn at_transmitter(&mut self, now: Time, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        (**self).at_transmitter(now, link, delay, packet, fate);
    }

    fn at_sender(&mut self, now: Time, flow: usize, sender: &SenderView) {
        (**self).at_sender(now, flow, sender);
    }
}

/// No observer.
pub struct NoObserver;

impl Observer for NoObserver {
    #[inline(always)]
    fn is_there(&self) -> bool {
        false
    }

    #[inline(always)]
    fn minds(&self, _: usize, _: PacketRef<'_>) -> bool {
        false
    }

    #[inline(always)]
    fn minds_sender(&self, _: usize) -> bool {
        false
    }

    #[inline(always)]
    fn at_link(&mut self, _: usize, _: Duration, _: PacketRef<'_>, _: Fate) {}

    #[inline(always)]
    fn at_transmitter(&mut self, _: Time, _: usize, _: Duration, _: PacketRef<'_>, _: Fate) {}

    #[inline(always)]
    fn at_sender(&mut self, _: Time, _: usize, _: &SenderView) {}
}
