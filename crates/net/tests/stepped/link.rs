//! Counters, and what goes wrong behind the transmitter.

use super::bench::*;
use ackclock_net::{
    CoDel, CoDelConfig, Ecn, Fate, Headers, Impairments, Limit, Link, Loss, Multipath, Retransmission, Scheme,
};
use ackclock_units::Duration;
use proptest::prelude::*;

const HEADERS: Headers = Headers { flow: 1, ack: None };

fn codel(limit: Limit) -> Link {
    link(Scheme::CoDel(CoDel::new(CoDelConfig::usual(LARGE), limit)))
}

#[test]
fn what_finds_the_link_idle_does_not_wait() {
    let mut link = codel(Limit::Packets(0));
    let outcomes = carry(&mut link, &steady(3, 600 * US, 1, Ecn::NotEct), false);
    // The second finds no room; the third comes when the first has left.
    assert_eq!(outcomes.iter().map(|it| it.is_dropped()).collect::<Vec<_>>(), [false, true, false]);
    let counters = link.counters();
    assert_eq!((counters.arrivals, counters.overflows, counters.early, counters.longest), (3, 1, 0, 0));
    assert_eq!((counters.waited_ns, counters.service_ns), (0, 2 * MS));
}

#[test]
fn time_is_counted_as_it_passes() {
    let mut link = codel(Limit::Packets(10));
    for offer in steady(3, 0, 1, Ecn::NotEct) {
        link.hold(time(0), HEADERS, &offer);
        while link.settle(time(0)).is_some() {}
    }
    assert_eq!((link.waiting(time(0)), link.counters().longest), ((2, 2000), 2));
    assert_eq!(link.waited_ns(time(MS / 2)), MS); // two, for half a millisecond
    assert_eq!(link.busy(time(MS / 2)).as_nanos(), MS / 2);
    assert_eq!(link.due(), Some(time(MS)));
    while link.settle(time(MS)).is_some() {}
    assert_eq!((link.waiting(time(MS)), link.due()), ((1, 1000), Some(time(2 * MS))));
    link.forget_longest(time(MS));
    assert_eq!(link.counters().longest, 1);
    while link.settle(time(2 * MS)).is_some() {}
    assert_eq!((link.waited_ns(time(9 * MS)), link.due()), (3 * MS, None));
    assert_eq!(link.busy(time(9 * MS)).as_nanos(), 3 * MS);
}

#[test]
fn losses_come_before_the_queue_and_detours_behind_it() {
    let impairments = Impairments {
        loss: Some(Loss::of_packets([1])),
        alternate: Some(Multipath::in_turn(Duration::from_millis(5))),
        ..Impairments::default()
    };
    let mut link = codel(Limit::Packets(10)).with_impairments(impairments);
    let mut arrivals = Vec::new();
    for offer in steady(3, 5 * MS, 1, Ecn::NotEct) {
        match link.offer(time(offer.at), &mut { offer }) {
            Fate::Queued => {
                link.hold(time(offer.at), HEADERS, &offer);
                while let Some(settled) = link.settle(time(offer.at)) {
                    arrivals.push(settled.fate);
                }
            }
            fate => arrivals.push(fate),
        }
    }
    let arrives = |ms| Fate::Arrives(time(ms * MS));
    assert_eq!(arrivals, [arrives(11), Fate::Dropped(ackclock_net::Cause::Error), arrives(26)]);
    assert_eq!((link.counters().errors, link.counters().late), (1, 1));
    let again = Some(Retransmission::new(Duration::from_millis(1), None));
    let reliable = codel(Limit::Packets(1))
        .with_impairments(Impairments { retransmission: again, ..Impairments::default() });
    assert!(!reliable.retransmits());
}

proptest! {
    /// The mean queue is the integral of its length, and nothing is lost count of.
    #[test]
    fn books_balance(offers in offers(), limit in limit()) {
        let mut link = codel(limit);
        let outcomes = carry(&mut link, &offers, false);
        let waited: u64 = outcomes
            .iter()
            .zip(&offers)
            .map(|(outcome, offer)| match outcome {
                Outcome::Sent { at, .. } | Outcome::Dropped { at, .. } => at - offer.at,
            })
            .sum();
        let counters = link.counters();
        prop_assert_eq!(counters.waited_ns, waited);
        prop_assert_eq!(counters.arrivals, offers.len() as u64);
        let sent = outcomes.iter().zip(&offers).filter(|(it, _)| !it.is_dropped());
        prop_assert_eq!(counters.service_ns, sent.map(|(_, offer)| u64::from(offer.bytes) * US).sum::<u64>());
        prop_assert_eq!(counters.drops(), outcomes.iter().filter(|it| it.is_dropped()).count() as u64);
        if let Limit::Packets(limit) = limit {
            prop_assert!(counters.longest <= limit);
        }
    }
}
