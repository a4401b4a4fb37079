//! DualPI2 (RFC 9332).

use super::bench::*;
use super::models::{Dual, run};
use ackclock_net::{Cause, DualPi2, DualPi2Config, Ecn, Limit, Link, Scheme};
use ackclock_units::Duration;
use proptest::prelude::*;

const ROOM: Limit = Limit::Packets(250);

fn dual(config: DualPi2Config) -> Link {
    link(Scheme::DualPi2(DualPi2::new(config)))
}

fn probabilities(link: &Link) -> (f64, f64) {
    let ackclock_net::Queue::Stepped(queue) = link.queue() else { panic!("it is stepped") };
    let Scheme::DualPi2(scheme) = queue.scheme() else { panic!("it is DualPI2") };
    (scheme.classic_probability(), scheme.coupled_probability())
}

/// Figure 2, and what A.1 says of the gains at its own period of 16 ms.
#[test]
fn the_defaults_are_those_of_the_rfc() {
    let usual = DualPi2Config::usual(1500, ROOM);
    assert_eq!((usual.target, usual.period), (Duration::from_millis(15), Duration::from_millis(15)));
    assert!((usual.alpha - 0.15).abs() < 1e-12 && (usual.beta - 3.0).abs() < 1e-12);
    assert_eq!((usual.threshold, usual.range), (Duration::from_micros(800), Duration::from_micros(400)));
    assert_eq!((usual.coupling, usual.floor, usual.share), (2.0, 1, 1.0 / 16.0));
    let short = usual.on_paths(Duration::from_millis(15), Duration::from_millis(30));
    assert_eq!(short.period, Duration::from_millis(10)); // three in a round trip
}

/// Packets that take 0.1 ms come in bursts of thirty, ten milliseconds apart: the n-th leaves after 0.1 n ms.
/// Marks are certain from 1.2 ms on, and add up from 0.8 ms: 0.25 at 0.9, 0.5 at 1.0, 0.75 at 1.1.
#[test]
fn the_low_latency_queue_marks_by_its_ramp() {
    let burst = |at| vec![Offer { at, bytes: 100, flow: 1, ecn: Ecn::Ect1, ack: None }; 30];
    let outcomes = carry(&mut dual(DualPi2Config::usual(LARGE, ROOM)), &burst(0), false);
    let marked: Vec<usize> = (0..30).filter(|&number| outcomes[number].is_marked()).collect();
    // Sums: 0.25 (9), 0.75 (10), 1.5 (11, marked: 0.5 is left), 1.5 (12, marked), ...; the last two leave at
    // most one behind them.
    assert_eq!(marked, [11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27]);
    // As a step, with a range of zero, from 0.8 ms on; the first sum is one and not above it.
    let step = DualPi2Config { range: Duration::ZERO, floor: 0, ..DualPi2Config::usual(LARGE, ROOM) };
    let outcomes = carry(&mut dual(step), &burst(0), false);
    let marked: Vec<usize> = (0..30).filter(|&number| outcomes[number].is_marked()).collect();
    assert_eq!(marked, (9..29).collect::<Vec<_>>());
}

/// Two packets of the same size, one for each queue, again and again: of sixteen that leave one is classic.
#[test]
fn the_classic_queue_gets_its_share_while_both_have_packets() {
    let offers = together(vec![steady(400, 0, 1, Ecn::Ect1), steady(400, 0, 2, Ecn::NotEct)]);
    let calm = DualPi2Config { alpha: 0.0, beta: 0.0, ..DualPi2Config::usual(LARGE, Limit::Packets(1000)) };
    let outcomes = carry(&mut dual(calm), &offers, false);
    let mut order: Vec<(u64, u64)> =
        outcomes.iter().zip(&offers).map(|(it, offer)| (it.sent().expect("sent"), offer.flow)).collect();
    order.sort_unstable();
    for window in order[1..385].chunks(16) {
        assert_eq!(window.iter().filter(|(_, flow)| *flow == 2).count(), 1);
    }
}

/// The controller's steps for a classic queue that grows by half a millisecond per millisecond.
#[test]
fn the_probability_follows_its_equation() {
    let mut link =
        dual(DualPi2Config { alpha: 0.16, beta: 3.2, ..DualPi2Config::usual(LARGE, Limit::Packets(10_000)) });
    // Nothing is dropped: it may all be marked, until overload.
    let offers = steady(300, MS / 2, 1, Ecn::Ect0);
    carry(&mut link, &offers[..1], false);
    let mut link =
        dual(DualPi2Config { alpha: 0.16, beta: 3.2, ..DualPi2Config::usual(LARGE, Limit::Packets(10_000)) });
    let (mut p, mut before) = (0.0_f64, 0.0);
    let mut held = 0;
    for offer in &offers {
        while let Some(due) = link.due().filter(|due| due.as_nanos() <= offer.at) {
            while link.settle(due).is_some() {}
        }
        let updates = offer.at / (15 * MS);
        link.hold(time(offer.at), offer.headers(), offer);
        while link.settle(time(offer.at)).is_some() {}
        for update in held..updates {
            // At t the packet that came at t/2 has just left, and the first one that waits came half a
            // millisecond later.
            let at = (update + 1) as f64 * 0.015;
            let delay = at - (at / 2.0 + 0.0005) + 0.0005;
            let _ = before;
            p = (p + 0.16 * (delay - 0.015) + 3.2 * (delay - before)).clamp(0.0, 1.0);
            before = delay;
        }
        held = updates;
        let (classic, coupled) = probabilities(&link);
        assert!(
            (classic - p * p).abs() < 0.02 * p * p + 1e-4,
            "{classic} and {} at {} ms",
            p * p,
            offer.at / MS
        );
        assert!((coupled - 2.0 * classic.sqrt()).abs() < 1e-12);
    }
    assert!(p > 0.1);
}

/// Whatever its ECN field says, traffic that does not respond and comes half as fast again as it can leave is
/// held at the target by drops of a third.
#[test]
fn overload_is_met_by_drops() {
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
        let offers = steady(60_000, 2 * MS / 3, 1, ecn);
        let outcomes = carry(&mut dual(DualPi2Config::usual(LARGE, ROOM)), &offers, false);
        let late = outcomes.iter().zip(&offers).skip(30_000);
        let delays: Vec<f64> =
            late.filter_map(|(it, offer)| Some((it.sent()? - offer.at) as f64 / MS as f64)).collect();
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        assert!((13.0..17.0).contains(&mean), "{ecn:?}: {mean} ms");
        let dropped = |cause| {
            outcomes
                .iter()
                .filter(|it| matches!(it, Outcome::Dropped { cause: why, .. } if *why == cause))
                .count()
        };
        assert!((18_000..21_000).contains(&dropped(Cause::Early)), "{ecn:?}: {}", dropped(Cause::Early));
        assert!(dropped(Cause::Overflow) < 300, "{ecn:?}: {}", dropped(Cause::Overflow));
        // In overload what gets through is marked, if it may be, in the L queue; the classic one only drops.
        let marked = outcomes[30_000..].iter().filter(|it| it.is_marked()).count();
        let sent = delays.len();
        assert!(
            if ecn == Ecn::Ect1 { marked + 10 > sent } else { marked == 0 },
            "{ecn:?}: {marked} of {sent}"
        );
    }
}

proptest! {
    #[test]
    fn agrees_with_the_pseudo_code(
        offers in offers(), limit in limit(), target in 1_u64..30, rtt in 5_u64..200, coupling in 0.5_f64..4.0,
        floor in 0_u32..3, range in 0_u64..800, share in 0.01_f64..0.9, late in any::<bool>(),
    ) {
        let config = DualPi2Config {
            coupling,
            floor,
            range: Duration::from_micros(range),
            share,
            ..DualPi2Config::usual(1500, limit).on_paths(Duration::from_millis(target), Duration::from_millis(rtt))
        };
        let outcomes = carry(&mut dual(config.clone()), &offers, late);
        prop_assert_eq!(&outcomes, &run(&mut Dual::new(config), &offers));
        for low in [true, false] {
            let half = outcomes.iter().zip(&offers).filter(|(_, offer)| matches!(offer.ecn, Ecn::Ect1 | Ecn::Ce) == low);
            let sent: Vec<u64> = half.filter_map(|(outcome, _)| outcome.sent()).collect();
            prop_assert!(sent.is_sorted());
        }
    }

    #[test]
    fn what_cannot_be_marked_is_not(offers in offers()) {
        let config = DualPi2Config::usual(1500, ROOM).on_paths(Duration::from_millis(1), Duration::from_millis(5));
        let outcomes = carry(&mut dual(config), &offers, false);
        prop_assert!(outcomes.iter().zip(&offers).all(|(it, offer)| !it.is_marked() || offer.ecn != Ecn::NotEct));
    }
}
