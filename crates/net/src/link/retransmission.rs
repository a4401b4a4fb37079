//! Link-level retransmission: a corrupted packet is sent again over the same link, out of order.
//!
//! Source: S. Bhandarkar, "Congestion Control Algorithms of TCP in Emerging Networks", 2006, sections II.A.5
//! and II.C.2. The base station keeps a packet that the channel corrupts. One round trip of the wireless link
//! later the packet is back at the head of the queue. Nothing restores the order. The source leaves three
//! things open, which are decided here. A retransmission needs no room in the queue. If several packets are
//! back, the one that came back first goes first. A retransmission can be corrupted again, as often as
//! [`Retransmission::new`] allows, or never ([`Retransmission::intact`]).
//!
//! The link is computed all the same. When a new packet is offered, the link knows which packets will be back
//! before its turn. It computes their transmissions then, or when they are offered again, whichever comes
//! first.

use super::{Cause, Fate, Link};
use crate::Packet;
use ackclock_units::{Duration, Time};
use std::collections::VecDeque;

/// The packets that wait for a retransmission.
#[derive(Clone, Debug)]
pub struct Retransmission {
    after: Duration,
    most: Option<u32>,
    /// True if errors spare retransmissions.
    intact: bool,
    /// In the order in which they come back, which is the order of their last transmissions.
    kept: VecDeque<Kept>,
    /// The number of packets, from the front of `kept`, whose next transmission is already computed.
    settled: usize,
    /// The departure of the packet that was offered last, or offered again last.
    pub(super) departed: Time,
}

#[derive(Clone, Copy, Debug)]
struct Kept {
    back_at: Time,
    bytes: u32,
    attempts: u32,
    /// The departure and fate of the next transmission, once it is computed.
    next: Option<(Time, Fate)>,
}

impl Retransmission {
    /// A corrupted packet is back a time `after` its transmission. It is retransmitted `most` times at most;
    /// `None` means no limit.
    pub fn new(after: Duration, most: Option<u32>) -> Retransmission {
        let kept = VecDeque::new();
        Retransmission { after, most, intact: false, kept, settled: 0, departed: Time::ZERO }
    }

    /// The same, but errors spare retransmissions: each gets through, unless there is an outage. So it is in
    /// ns-2 with an error model before the queue (`SimpleLink errormodule`): a packet that begins at the head
    /// of the queue does not pass it. But there the first transmission takes no time of the channel, and here
    /// it does.
    pub fn intact(self) -> Retransmission {
        Retransmission { intact: true, ..self }
    }

    /// The next packet whose retransmission is not computed yet, if it is back by `time`.
    fn back_by(&self, time: Time) -> Option<Kept> {
        self.kept.get(self.settled).copied().filter(|kept| kept.back_at <= time)
    }
}

impl Link {
    /// Offers a packet to a link that retransmits.
    pub(super) fn offer_reliably<P: Packet>(&mut self, now: Time, packet: &mut P) -> Fate {
        // Packets that are back before the transmitter is free go first.
        while let Some(kept) = self.retransmission().and_then(|r| r.back_by(now.max(self.free_at))) {
            self.resend(kept);
        }
        self.size(packet.bytes());
        if let Some(fate) = self.refuse(now, packet) {
            return fate;
        }
        let departure = self.transmit_at_any_rate(now);
        self.leaves(departure);
        self.over_the_channel(departure, packet.bytes(), 0)
    }

    /// The first of the kept packets is offered again at `now`. Returns its fate.
    pub(super) fn retransmit(&mut self, now: Time) -> Fate {
        if let Some(kept) = self.retransmission().and_then(|r| r.kept.front().copied())
            && kept.next.is_none()
        {
            self.resend(kept);
        }
        let first = self.retransmission_mut().and_then(|retransmission| {
            retransmission.settled = retransmission.settled.saturating_sub(1);
            retransmission.kept.pop_front()
        });
        // The link does not know a packet that it did not keep.
        let next = first.and_then(|kept| kept.next);
        let (departure, fate) = next.unwrap_or((now, Fate::Dropped(Cause::Error)));
        self.leaves(departure);
        fate
    }

    fn leaves(&mut self, departure: Time) {
        if let Some(retransmission) = self.retransmission_mut() {
            retransmission.departed = departure;
        }
    }

    /// Transmits a kept packet as soon as it is back and the transmitter is free.
    fn resend(&mut self, kept: Kept) {
        self.size(kept.bytes);
        let departure = self.transmit_at_any_rate(kept.back_at);
        self.counters.others().resent += 1;
        let fate = self.over_the_channel(departure, kept.bytes, kept.attempts);
        if let Some(retransmission) = self.retransmission_mut() {
            retransmission.kept[retransmission.settled].next = Some((departure, fate));
            retransmission.settled += 1;
        }
    }

    /// The fate of a packet that leaves the transmitter at `departure`, after this number of earlier
    /// `attempts`.
    fn over_the_channel(&mut self, departure: Time, bytes: u32, attempts: u32) -> Fate {
        let spared =
            attempts > 0 && self.retransmission().is_some_and(|retransmission| retransmission.intact);
        let cause = if spared { self.interrupts(departure) } else { self.corrupts(departure) };
        let Some(cause) = cause else { return Fate::Arrives(departure + self.delay) };
        let Some(retransmission) = self.retransmission_mut() else { return Fate::Dropped(cause) };
        if retransmission.most.is_some_and(|most| attempts >= most) {
            self.counters.add_drops(cause, 1);
            return Fate::Dropped(cause);
        }
        let back_at = departure + retransmission.after;
        retransmission.kept.push_back(Kept { back_at, bytes, attempts: attempts + 1, next: None });
        Fate::LinkRetry(back_at)
    }

    fn retransmission(&self) -> Option<&Retransmission> {
        self.impairments.as_ref().and_then(|impairments| impairments.retransmission.as_ref())
    }

    fn retransmission_mut(&mut self) -> Option<&mut Retransmission> {
        self.impaired(|impairments| impairments.retransmission.as_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Impairments, Loss, Queue};
    use ackclock_units::Rate;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    const MS: u64 = 1_000_000;

    /// A link of 1 Mbit/s and 20 ms that corrupts these transmissions.
    fn wireless(corrupted: &[u64], most: Option<u32>) -> Link {
        let link = Link::new(Rate::from_bps(1_000_000), Duration::from_millis(20), Queue::Unlimited);
        link.with_impairments(Impairments {
            loss: Some(Loss::of_packets(corrupted.iter().copied())),
            retransmission: Some(Retransmission::new(Duration::from_millis(40), most)),
            ..Impairments::default()
        })
    }

    fn offer(link: &mut Link, ms: u64, returns: bool) -> Fate {
        let now = Time::from_nanos(ms * MS);
        if returns { link.offer_again(now) } else { link.offer(now, &mut 1000_u32) }
    }

    fn arrives(ms: u64) -> Fate {
        Fate::Arrives(Time::from_nanos(ms * MS))
    }

    #[test]
    fn a_corrupted_packet_is_back_at_the_head_of_the_queue() {
        let mut link = wireless(&[0], None);
        assert_eq!(offer(&mut link, 0, false), Fate::LinkRetry(Time::from_nanos(48 * MS))); // 8 ms, and 40 ms
        assert_eq!(offer(&mut link, 45, false), arrives(73)); // in transmission when the first one is back
        assert_eq!(offer(&mut link, 46, false), arrives(89)); // waits for the first one
        assert_eq!(offer(&mut link, 48, true), arrives(81));
        assert_eq!(link.counters().arrivals, 3);
        assert_eq!((link.counters().resent, link.counters().drops()), (1, 0));
    }

    #[test]
    fn it_gives_up_after_so_many_attempts() {
        let mut link = wireless(&[0, 1, 2], Some(2));
        assert_eq!(offer(&mut link, 0, false), Fate::LinkRetry(Time::from_nanos(48 * MS)));
        assert_eq!(offer(&mut link, 48, true), Fate::LinkRetry(Time::from_nanos(96 * MS)));
        assert_eq!(offer(&mut link, 96, true), Fate::Dropped(Cause::Error));
        assert_eq!((link.counters().resent, link.counters().errors), (2, 1));
    }

    #[test]
    fn errors_may_spare_retransmissions_and_outages_do_not() {
        let loss = Some(Loss::new(1.0, crate::Rng::new(1, "loss")));
        let end = Duration::from_millis(60);
        let link = |outages| {
            let retransmission = Some(Retransmission::new(Duration::from_millis(40), None).intact());
            let impairments =
                Impairments { loss: loss.clone(), outages, retransmission, ..Impairments::default() };
            wireless(&[], None).with_impairments(impairments)
        };
        let mut clear = link(None);
        assert_eq!(offer(&mut clear, 0, false), Fate::LinkRetry(Time::from_nanos(48 * MS)));
        assert_eq!(offer(&mut clear, 48, true), arrives(76));
        let mut interrupted = link(Some(crate::Outages::new([(Duration::ZERO, end)])));
        assert_eq!(offer(&mut interrupted, 0, false), Fate::LinkRetry(Time::from_nanos(48 * MS)));
        assert_eq!(offer(&mut interrupted, 48, true), Fate::LinkRetry(Time::from_nanos(96 * MS)));
        assert_eq!(offer(&mut interrupted, 96, true), arrives(124));
    }

    /// The arrival time of each packet, according to the link.
    fn computed(offers: &[(u64, u32)], corrupted: &[u64]) -> Vec<u64> {
        let mut link = wireless(corrupted, None);
        let mut arrivals = vec![0; offers.len()];
        let entries = offers.iter().enumerate().map(|(number, &(at, _))| Reverse((at, false, number)));
        let mut events: BinaryHeap<_> = entries.collect();
        while let Some(Reverse((at, returns, number))) = events.pop() {
            let now = Time::from_nanos(at);
            let mut packet = offers[number].1;
            match if returns { link.offer_again(now) } else { link.offer(now, &mut packet) } {
                Fate::Arrives(at) => arrivals[number] = at.as_nanos(),
                Fate::LinkRetry(at) => events.push(Reverse((at.as_nanos(), true, number))),
                other => panic!("{other:?}"),
            }
        }
        arrivals
    }

    /// The same, simulated in the obvious way: a queue, a transmitter, and an event when it is free.
    fn naive(offers: &[(u64, u32)], corrupted: &[u64]) -> Vec<u64> {
        let mut arrivals = vec![0; offers.len()];
        let (mut first, mut queue) = (VecDeque::new(), VecDeque::new());
        let mut events: BinaryHeap<_> =
            offers.iter().enumerate().map(|(number, &(at, _))| Reverse((at, 1, number))).collect();
        let (mut transmission, mut idle) = (0, true);
        while let Some(Reverse((at, what, number))) = events.pop() {
            match what {
                0 => first.push_back(number),
                1 => queue.push_back(number),
                _ => {
                    idle = true;
                    if corrupted.contains(&transmission) {
                        events.push(Reverse((at + 40 * MS, 0, number)));
                    } else {
                        arrivals[number] = at + 20 * MS;
                    }
                    transmission += 1;
                }
            }
            // All events of this instant come before the next transmission begins.
            let quiet = events.peek().is_none_or(|Reverse((next, ..))| *next > at);
            if quiet
                && idle
                && let Some(number) = first.pop_front().or_else(|| queue.pop_front())
            {
                idle = false;
                events.push(Reverse((at + u64::from(offers[number].1) * 8_000, 2, number)));
            }
        }
        arrivals
    }

    proptest! {
        #[test]
        fn agrees_with_the_naive_model(
            gaps in prop::collection::vec((0_u64..30_000_000, 40_u32..1500), 1..120),
            corrupted in prop::collection::btree_set(0_u64..200, 0..60),
        ) {
            let mut at = 0;
            let offers: Vec<_> = gaps.iter().map(|&(gap, bytes)| { at += gap; (at, bytes) }).collect();
            let corrupted: Vec<u64> = corrupted.into_iter().collect();
            prop_assert_eq!(computed(&offers, &corrupted), naive(&offers, &corrupted));
        }
    }
}
