//! CoDel (RFC 8289).

use super::bench::*;
use super::models::{CoDel as Naive, One, run};
use ackclock_net::{Cause, CoDel, CoDelConfig, Ecn, Limit, Scheme};
use ackclock_units::Duration;
use proptest::prelude::*;

const ROOM: Limit = Limit::Packets(100_000);

fn codel(mark: bool) -> Scheme {
    Scheme::CoDel(CoDel::new(CoDelConfig { mark, ..CoDelConfig::usual(LARGE) }, ROOM))
}

/// When the link is taken up twice over, the packet that leaves at t ms has waited t/2: the first one that
/// has waited 5 ms leaves at 10 ms, and an interval later the first drop comes. Further ones are 100 ms /
/// sqrt(count) apart, each at the first departure after that.
#[test]
fn drops_follow_the_control_law() {
    let outcomes = carry(&mut link(codel(false)), &steady(2000, MS / 2, 1, Ecn::NotEct), false);
    let dropped: Vec<u64> = outcomes
        .iter()
        .filter_map(|outcome| match outcome {
            Outcome::Dropped { at, cause: Cause::Early } => Some(at / MS),
            _ => None,
        })
        .collect();
    let (mut expected, mut next) = (vec![110], 110.0);
    for count in 1..12 {
        next += 100.0 / f64::from(count).sqrt();
        expected.push(f64::ceil(next) as u64);
    }
    assert_eq!(expected[..5], [110, 210, 281, 339, 389]);
    assert_eq!(dropped[..12], expected);
}

#[test]
fn marks_come_when_drops_would() {
    let dropped = carry(&mut link(codel(false)), &steady(600, MS / 2, 1, Ecn::NotEct), false);
    let marked = carry(&mut link(codel(true)), &steady(600, MS / 2, 1, Ecn::Ect0), false);
    let first = |outcomes: &[Outcome], which: fn(Outcome) -> bool| {
        let found = outcomes.iter().position(|outcome| which(*outcome)).expect("one");
        (found, outcomes[found])
    };
    let (number, Outcome::Dropped { at, .. }) = first(&dropped, Outcome::is_dropped) else {
        panic!("dropped")
    };
    assert_eq!(first(&marked, Outcome::is_marked), (number, Outcome::Sent { at, marked: true }));
    assert!(!marked.iter().any(|outcome| outcome.is_dropped()));
}

/// Between two drop states: a queue that was held by four drops begins again with three per interval if it is
/// back within 16 intervals, and with one if not.
#[test]
fn a_drop_state_that_is_back_soon_goes_on_where_it_was() {
    for (pause, begins_with) in [(1_000 * MS, 3.0), (5_000 * MS, 1.0)] {
        let first = steady(800, MS / 2, 1, Ecn::NotEct);
        let mut second = steady(800, MS / 2, 1, Ecn::NotEct);
        let begin = first.last().expect("some").at + pause;
        second.iter_mut().for_each(|offer| offer.at += begin);
        let outcomes = carry(&mut link(codel(false)), &[first, second].concat(), false);
        let drops: Vec<u64> = outcomes
            .iter()
            .filter_map(|outcome| match outcome {
                Outcome::Dropped { at, .. } => Some(*at),
                _ => None,
            })
            .collect();
        let again: Vec<u64> = drops.iter().copied().filter(|at| *at > begin).collect();
        let count = drops.len() - again.len();
        let spacing = (again[1] - again[0]) as f64 / MS as f64;
        let expected = if begins_with > 1.0 { count as f64 - 1.0 } else { 1.0 };
        assert!(
            (0.0..1.0).contains(&(spacing - 100.0 / expected.sqrt())),
            "{count} drops, then {spacing} ms"
        );
    }
}

proptest! {
    #[test]
    fn agrees_with_the_pseudo_code(
        offers in offers(), limit in limit(), target in 1_u64..20, interval in 5_u64..150, mark in any::<bool>(), late in any::<bool>()
    ) {
        let config = CoDelConfig {
            target: Duration::from_millis(target),
            interval: Duration::from_millis(interval),
            mtu: 1500,
            mark,
        };
        let outcomes = carry(&mut link(Scheme::CoDel(CoDel::new(config.clone(), limit))), &offers, late);
        prop_assert_eq!(&outcomes, &run(&mut One(Naive::new(config), limit), &offers));
        // One queue: what is sent is sent in the order in which it came.
        let sent: Vec<u64> = outcomes.iter().filter_map(|outcome| outcome.sent()).collect();
        prop_assert!(sent.is_sorted());
    }

    #[test]
    fn what_never_waits_long_is_never_dropped(offers in offers()) {
        // Never more than 4.5 ms are waited where no more than three of at most 1.5 ms may.
        let queue = Scheme::CoDel(CoDel::new(CoDelConfig { mark: true, ..CoDelConfig::usual(1500) }, Limit::Packets(3)));
        let outcomes = carry(&mut link(queue), &offers, false);
        let early = |outcome: &Outcome| matches!(outcome, Outcome::Dropped { cause: Cause::Early, .. });
        prop_assert!(!outcomes.iter().any(|outcome| early(outcome) || outcome.is_marked()));
    }
}
