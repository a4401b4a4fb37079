//! The ACK filter (RFC 3449 section 5.2.1).

use super::bench::*;
use super::models::{Model, fits, run};
use ackclock_net::{AckFilter, Cause, Ecn, Limit, Scheme};
use proptest::prelude::*;

fn filter(limit: Limit) -> Scheme {
    Scheme::AckFilter(AckFilter::new(limit))
}

/// A packet at 0. It takes 1 ms.
fn data(flow: u64) -> Offer {
    Offer { at: 0, bytes: LARGE, flow, ecn: Ecn::NotEct, ack: None }
}

fn ack(flow: u64, number: u32) -> Offer {
    Offer { ack: Some(number), ..data(flow) }
}

fn filtered(at: u64) -> Outcome {
    Outcome::Dropped { at, cause: Cause::Filtered }
}

fn sent(ms: u64) -> Outcome {
    Outcome::Sent { at: ms * MS, marked: false }
}

#[test]
fn the_newest_ack_takes_the_place_of_the_oldest_and_duplicates_stay() {
    // The first packet is in transmission. Flow 1 acknowledges 10, 10 again, and 12; flow 2 acknowledges 7.
    let offers = [data(9), ack(1, 10), ack(2, 7), ack(1, 10), data(1), ack(1, 12)];
    let outcomes = carry(&mut link(filter(Limit::Packets(10))), &offers, false);
    assert_eq!(outcomes, [sent(0), filtered(0), sent(2), filtered(0), sent(3), sent(1)]);
}

#[test]
fn an_ack_supersedes_only_what_says_less() {
    // A reordered ACK, and one whose number has passed 2^32.
    let offers = [data(9), ack(1, u32::MAX), ack(1, u32::MAX - 1), ack(1, 3), ack(1, 3)];
    let mut link = link(filter(Limit::Packets(10)));
    let outcomes = carry(&mut link, &offers, false);
    assert_eq!(outcomes, [sent(0), filtered(0), filtered(0), sent(1), sent(2)]);
    let counters = link.counters();
    assert_eq!((counters.filtered, counters.overflows, counters.drops()), (2, 0, 2));
}

#[test]
fn a_full_queue_takes_an_ack_that_supersedes_another_one() {
    let offers = [data(9), data(9), ack(1, 5), ack(1, 6), ack(2, 6)];
    let outcomes = carry(&mut link(filter(Limit::Packets(2))), &offers, false);
    let overflow = Outcome::Dropped { at: 0, cause: Cause::Overflow };
    assert_eq!(outcomes, [sent(0), sent(1), filtered(0), sent(2), overflow]);
}

#[test]
fn it_ends_with_the_last_packet_that_waits() {
    // The last one is replaced, and something follows.
    let offers = [data(9), data(9), ack(1, 5), ack(1, 6), data(3), ack(1, 7)];
    let outcomes = carry(&mut link(filter(Limit::Packets(5))), &offers, false);
    assert_eq!(outcomes, [sent(0), sent(1), filtered(0), filtered(0), sent(3), sent(2)]);
}

/// The same with a vector.
struct Naive(Limit, Vec<usize>);

impl Model for Naive {
    fn enqueue(&mut self, _: u64, idle: bool, number: usize, offers: &[Offer]) -> Vec<usize> {
        let Naive(limit, waiting) = self;
        let superseded = |&other: &usize| {
            let (newer, older) = (offers[number], offers[other]);
            newer.flow == older.flow && newer.ack.zip(older.ack).is_some_and(|(newer, older)| newer > older)
        };
        let gone: Vec<usize> = waiting.iter().copied().filter(superseded).collect();
        if let Some(first) = waiting.iter().position(superseded) {
            waiting[first] = number;
            waiting.retain(|other| !gone.contains(other));
            return gone;
        }
        if !idle && !fits(*limit, waiting, offers[number].bytes.into(), offers) {
            return vec![number];
        }
        waiting.push(number);
        Vec::new()
    }

    fn dequeue(&mut self, _: u64, _: &[Offer], _: &mut Vec<usize>) -> Option<(usize, bool)> {
        (!self.1.is_empty()).then(|| (self.1.remove(0), false))
    }

    fn waiting(&self) -> Vec<usize> {
        self.1.clone()
    }

    fn evicts(&self) -> Cause {
        Cause::Filtered
    }
}

proptest! {
    #[test]
    fn agrees_with_a_vector(
        offers in offers(),
        acks in prop::collection::vec(prop::option::weighted(0.7, 0_u32..40), 600),
        limit in limit(),
        late in any::<bool>(),
    ) {
        let offers: Vec<Offer> =
            offers.into_iter().zip(acks).map(|(offer, ack)| Offer { ack, ..offer }).collect();
        let outcomes = carry(&mut link(filter(limit)), &offers, late);
        prop_assert_eq!(&outcomes, &run(&mut Naive(limit, Vec::new()), &offers));
    }
}
