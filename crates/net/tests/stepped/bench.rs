//! A stepped link and what is offered to it.

use ackclock_net::{Cause, Ecn, Fate, Headers, Limit, Link, Packet, PureAck, Queue, Scheme, Stepped};
use ackclock_units::{Duration, Rate, Time};
use proptest::prelude::*;
use std::collections::HashMap;

pub const US: u64 = 1_000;
pub const MS: u64 = 1_000_000;
/// Bytes of a large packet; it takes 1 ms.
pub const LARGE: u32 = 1000;

/// A packet that comes to the link.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    pub at: u64,
    pub bytes: u32,
    pub flow: u64,
    pub ecn: Ecn,
    /// The number that it acknowledges, if it does nothing else.
    pub ack: Option<u32>,
}

impl Offer {
    pub fn headers(&self) -> Headers {
        Headers { flow: self.flow, ack: self.ack.map(|number| PureAck { number, ecn: 0 }) }
    }
}

impl Packet for Offer {
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
}

/// What became of it, and when that was decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Sent { at: u64, marked: bool },
    Dropped { at: u64, cause: Cause },
}

impl Outcome {
    pub fn sent(self) -> Option<u64> {
        if let Outcome::Sent { at, .. } = self { Some(at) } else { None }
    }

    pub fn is_marked(self) -> bool {
        matches!(self, Outcome::Sent { marked: true, .. })
    }

    pub fn is_dropped(self) -> bool {
        matches!(self, Outcome::Dropped { .. })
    }
}

pub fn link(scheme: Scheme) -> Link {
    let queue = Queue::Stepped(Box::new(Stepped::from(scheme)));
    Link::new(Rate::from_bps(8_000_000), Duration::from_millis(10), queue)
}

pub fn time(ns: u64) -> Time {
    Time::from_nanos(ns)
}

/// Offers everything in turn, and asks the link whenever it wants to be asked; or, if `late`, only when
/// something comes. What became of each, in the order of the offers; each must be settled once, and arrive
/// after its departure.
pub fn carry(link: &mut Link, offers: &[Offer], late: bool) -> Vec<Outcome> {
    let mut outcomes = vec![None; offers.len()];
    let mut held = HashMap::new();
    let mut settle = |link: &mut Link, now: Time, held: &mut HashMap<u32, usize>| {
        while let Some(settled) = link.settle(now) {
            let number = held.remove(&settled.ticket).expect("it waits");
            let at = settled.at.as_nanos();
            let outcome = match settled.fate {
                Fate::Arrives(arrival) => {
                    let sent = at + u64::from(offers[number].bytes) * US;
                    assert_eq!((settled.departure.as_nanos(), arrival.as_nanos()), (sent, sent + 10 * MS));
                    Outcome::Sent { at, marked: settled.marked }
                }
                Fate::Dropped(cause) => Outcome::Dropped { at, cause },
                other => panic!("{other:?}"),
            };
            assert_eq!(outcomes[number].replace(outcome), None);
        }
    };
    for (number, offer) in offers.iter().enumerate() {
        while let Some(due) = link.due().filter(|due| !late && due.as_nanos() <= offer.at) {
            settle(link, due, &mut held);
        }
        assert_eq!(link.offer(time(offer.at), &mut { *offer }), Fate::Queued);
        let ticket = link.hold(time(offer.at), offer.headers(), offer);
        if late {
            // What was decided before leaves its ticket to nobody until it is asked for.
            assert!(held.insert(ticket, number).is_none());
        } else {
            held.insert(ticket, number);
        }
        settle(link, time(offer.at), &mut held);
    }
    while let Some(due) = link.due() {
        settle(link, due, &mut held);
    }
    outcomes.into_iter().map(|outcome| outcome.expect("everything is settled")).collect()
}

/// Packets that come one `gap` after the other.
pub fn steady(count: u64, gap: u64, flow: u64, ecn: Ecn) -> Vec<Offer> {
    (0..count).map(|number| Offer { at: number * gap, bytes: LARGE, flow, ecn, ack: None }).collect()
}

/// All of them in order of time.
pub fn together(streams: Vec<Vec<Offer>>) -> Vec<Offer> {
    let mut all: Vec<Offer> = streams.concat();
    all.sort_by_key(|offer| offer.at);
    all
}

/// Bursts and pauses of a few flows.
pub fn offers() -> impl Strategy<Value = Vec<Offer>> {
    let ecn = prop::sample::select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
    let gap = prop_oneof![4 => 0_u64..800 * US, 2 => 0_u64..3 * MS, 1 => 0_u64..60 * MS];
    let offer = (gap, 40_u32..1500, 0_u64..5, ecn);
    prop::collection::vec(offer, 1..600).prop_map(|offers| {
        let mut at = 0;
        let place = |(gap, bytes, flow, ecn)| {
            at += gap;
            Offer { at, bytes, flow, ecn, ack: None }
        };
        offers.into_iter().map(place).collect()
    })
}

pub fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![(0_u32..200).prop_map(Limit::Packets), (0_u64..150_000).prop_map(Limit::Bytes)]
}
