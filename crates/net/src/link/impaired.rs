//! Links with impairments: what may happen to a packet, and in which order.
//!
//! Loss strikes before the queue, or behind the transmitter. An admitted packet is transmitted, takes one of
//! two routes, may be delayed, and may be duplicated. Jitter may make every packet late, but keeps their
//! order. On a link that retransmits, the channel behind the transmitter corrupts packets instead.

use super::{Cause, Fate, Link, Retransmission};
use crate::{Jitter, Loss, Multipath, Outages, Packet, Reorder, Share};
use ackclock_units::Time;

/// The impairments of a link. They act in addition to its queue.
#[derive(Clone, Debug, Default)]
pub struct Impairments {
    /// Which packets are lost. With `retransmission`, the channel corrupts these packets.
    pub loss: Option<Loss>,
    /// When all packets are lost, beyond any correction.
    pub outages: Option<Outages>,
    /// True: packets are lost behind the transmitter, when it has spent its time on them. False: before they
    /// reach the queue.
    pub lost_behind: bool,
    /// Which of the packets that would be lost are corrected instead.
    pub correction: Option<Share>,
    /// Link-level retransmission of packets that are corrupted and not corrected.
    pub retransmission: Option<Retransmission>,
    /// How late packets are, in order.
    pub jitter: Option<Jitter>,
    /// Which packets take another route.
    pub alternate: Option<Multipath>,
    /// Which packets are delayed, and by how much.
    pub reorder: Option<Reorder>,
    /// Which packets arrive twice.
    pub duplicate: Option<Share>,
}

impl Impairments {
    /// True if packets arrive in the order in which they were offered, and each once.
    pub(super) fn keep_order(&self) -> bool {
        self.retransmission.is_none()
            && self.alternate.is_none()
            && self.reorder.is_none()
            && self.duplicate.is_none()
    }
}

impl Link {
    /// Offers a packet to a link with impairments or a changing rate.
    #[inline(never)] // keeps this code away from plain links
    pub(super) fn offer_impaired<P: Packet>(&mut self, now: Time, packet: &mut P) -> Fate {
        if self.retransmits() {
            let fate = self.offer_reliably(now, packet);
            return self.behind_the_channel(fate);
        }
        let behind = self.impairments.as_ref().is_some_and(|impairments| impairments.lost_behind);
        if !behind && let Some(lost) = self.lose(now) {
            return lost;
        }
        if let Some(fate) = self.refuse(now, packet) {
            return fate;
        }
        let departure = self.transmit_at_any_rate(now);
        self.leave(departure)
    }

    /// The fate of a packet that leaves the transmitter at `departure`, on a link that does not retransmit.
    pub(super) fn leave(&mut self, departure: Time) -> Fate {
        let behind = self.impairments.as_ref().is_some_and(|impairments| impairments.lost_behind);
        let lost = if behind { self.lose(departure) } else { None };
        lost.unwrap_or_else(|| self.behind_the_channel(Fate::Arrives(departure + self.delay)))
    }

    /// The fate of a packet that is lost at `at`; `None` if it is not.
    fn lose(&mut self, at: Time) -> Option<Fate> {
        let cause = self.corrupts(at)?;
        self.counters.add_drops(cause, 1);
        Some(Fate::Dropped(cause))
    }

    /// Offers a packet again whose fate was [`Fate::LinkRetry`] with the instant `now`.
    pub fn offer_again(&mut self, now: Time) -> Fate {
        let fate = self.retransmit(now);
        self.behind_the_channel(fate)
    }

    /// Applies the impairments behind the channel to a packet that got through it.
    pub(super) fn behind_the_channel(&mut self, fate: Fate) -> Fate {
        let Fate::Arrives(arrival) = fate else { return fate };
        let jitter = self.impaired(|impairments| impairments.jitter.as_mut());
        let arrival = jitter.map_or(arrival, |jitter| jitter.arrival(arrival));
        let alternate = self.impaired(|impairments| impairments.alternate.as_mut());
        let detour = alternate.and_then(Multipath::detour).unwrap_or_default();
        let reorder = self.impaired(|impairments| impairments.reorder.as_mut());
        let late = reorder.and_then(Reorder::lateness);
        if late.is_some() || !detour.is_zero() {
            self.counters.others().late += 1;
        }
        let arrival = arrival + detour + late.unwrap_or_default();
        if self.impaired(|impairments| impairments.duplicate.as_mut()).is_some_and(Share::takes) {
            self.counters.others().copies += 1;
            return Fate::ArrivesTwice(arrival);
        }
        Fate::Arrives(arrival)
    }

    /// Why the channel corrupts the packet that it carries at `at`, if it does and nothing corrects it.
    pub(super) fn corrupts(&mut self, at: Time) -> Option<Cause> {
        // An outage does not change the draws.
        let loss = self.impaired(|impairments| impairments.loss.as_mut());
        let strikes = loss.is_some_and(|loss: &mut Loss| loss.strikes(at));
        let outage = self.interrupts(at);
        if outage.is_some() || !strikes {
            return outage;
        }
        let correction = self.impaired(|impairments| impairments.correction.as_mut());
        let corrected = correction.is_some_and(Share::takes);
        if !corrected {
            return Some(Cause::Error);
        }
        self.counters.others().corrected += 1;
        None
    }

    /// [`Cause::Outage`] if an outage takes the packet that the channel carries at `at`.
    pub(super) fn interrupts(&mut self, at: Time) -> Option<Cause> {
        let outages = self.impaired(|impairments| impairments.outages.as_mut());
        outages.is_some_and(|outages| outages.strikes(at)).then_some(Cause::Outage)
    }

    /// The impairment that `which` selects, if this link has it.
    pub(super) fn impaired<T>(
        &mut self,
        which: impl FnOnce(&mut Impairments) -> Option<&mut T>,
    ) -> Option<&mut T> {
        self.impairments.as_deref_mut().and_then(which)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DropTail, Limit, Queue, Rng};
    use ackclock_units::{Duration, Rate};

    fn impaired(impairments: Impairments) -> Link {
        let link = Link::new(Rate::from_bps(8_000_000), Duration::from_millis(10), Queue::Unlimited);
        link.with_impairments(impairments)
    }

    fn share(probability: f64) -> Option<Share> {
        Some(Share::new(probability, Rng::new(5, "share")))
    }

    fn fates(mut link: Link) -> (Vec<Fate>, Link) {
        let offer = |link: &mut Link| link.offer(Time::ZERO, &mut 1000_u32); // 1 ms each
        ((0..1000).map(|_| offer(&mut link)).collect(), link)
    }

    #[test]
    fn every_second_packet_takes_the_other_route() {
        let alternate = Some(Multipath::in_turn(Duration::from_millis(5)));
        let (fates, link) = fates(impaired(Impairments { alternate, ..Impairments::default() }));
        let at = |ms| Fate::Arrives(Time::ZERO + Duration::from_millis(ms));
        assert_eq!(fates[..4], [at(11), at(17), at(13), at(19)]);
        assert!(!link.keeps_order() && link.counters().late == 500);
    }

    #[test]
    fn a_share_arrives_twice() {
        let (fates, link) = fates(impaired(Impairments { duplicate: share(0.25), ..Impairments::default() }));
        let twice = fates.iter().filter(|fate| matches!(fate, Fate::ArrivesTwice(_))).count();
        assert!((200..300).contains(&twice) && link.counters().copies == twice as u64, "{twice}");
    }

    #[test]
    fn what_is_corrected_is_not_lost() {
        let loss = Some(Loss::new(0.5, Rng::new(6, "loss")));
        let impairments = Impairments { loss, correction: share(0.8), ..Impairments::default() };
        let (fates, link) = fates(impaired(impairments));
        let lost = fates.iter().filter(|fate| matches!(fate, Fate::Dropped(_))).count() as u64;
        assert_eq!(link.counters().errors, lost);
        assert!((70..130).contains(&lost) && (350..450).contains(&link.counters().corrected), "{lost}");
    }

    #[test]
    fn a_loss_behind_the_transmitter_takes_its_time_and_its_place() {
        let link = |lost_behind| {
            let loss = Some(Loss::of_packets([1]));
            let queue = Queue::DropTail(DropTail::new(Limit::Packets(2)));
            let link = Link::new(Rate::from_bps(8_000_000), Duration::from_millis(10), queue);
            link.with_impairments(Impairments { loss, lost_behind, ..Impairments::default() })
        };
        let at = |ms| Fate::Arrives(Time::ZERO + Duration::from_millis(ms));
        let (error, overflow) = (Fate::Dropped(Cause::Error), Fate::Dropped(Cause::Overflow));
        let (before, left) = fates(link(false));
        assert_eq!(before[..5], [at(11), error, at(12), at(13), overflow]);
        assert_eq!((left.counters().errors, left.counters().overflows), (1, 996));
        let (behind, left) = fates(link(true));
        assert_eq!(behind[..5], [at(11), error, at(13), overflow, overflow]);
        assert_eq!((left.counters().errors, left.counters().overflows), (1, 997));
        assert_eq!(left.busy(Time::ZERO + Duration::from_secs(1)), Duration::from_millis(3));
    }

    #[test]
    fn an_outage_takes_what_comes_or_what_leaves_and_nothing_corrects_it() {
        let link = |lost_behind| {
            let outages = Some(Outages::new([(Duration::from_millis(2), Duration::from_millis(2))]));
            impaired(Impairments { outages, correction: share(1.0), lost_behind, ..Impairments::default() })
        };
        // A packet each 0.5 ms; each takes 1 ms.
        let lost = |mut link: Link| -> Vec<u64> {
            let offers = (0..12).map(|number| Time::from_nanos(number * 500_000));
            let fates: Vec<Fate> = offers.map(|at| link.offer(at, &mut 1000_u32)).collect();
            let outage = |&number: &u64| fates[number as usize] == Fate::Dropped(Cause::Outage);
            let lost: Vec<u64> = (0..12).filter(outage).collect();
            assert_eq!(
                (link.counters().outages, link.counters().drops()),
                (lost.len() as u64, lost.len() as u64)
            );
            lost
        };
        assert_eq!(lost(link(false)), [4, 5, 6, 7]); // offered from 2 ms to 3.5 ms
        assert_eq!(lost(link(true)), [1, 2]); // leave at 2 ms and 3 ms
    }

    #[test]
    fn outages_do_not_change_the_losses_beside_them() {
        let lost = |outages| {
            let loss = Some(Loss::new(0.3, Rng::new(4, "loss")));
            let (fates, _) =
                fates(impaired(Impairments { loss, outages, lost_behind: true, ..Impairments::default() }));
            fates
        };
        let (without, with) =
            (lost(None), lost(Some(Outages::new([(Duration::from_millis(100), Duration::from_millis(50))]))));
        let mut differs = (0..1000).filter(|&number| without[number] != with[number]);
        assert!(
            differs.clone().count() > 20
                && differs.all(|number| with[number] == Fate::Dropped(Cause::Outage))
        );
    }
}
