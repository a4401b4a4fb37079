//! FQ-CoDel (RFC 8290).

use super::bench::*;
use super::models::{Fq, run};
use ackclock_net::{CoDelConfig, Ecn, FqCoDel, FqCoDelConfig, Limit, Rng, Scheme};
use ackclock_units::Duration;
use proptest::prelude::*;
use std::collections::HashSet;

fn fq(config: FqCoDelConfig, seed: u64) -> FqCoDel {
    FqCoDel::new(config, Rng::new(seed, "queue"))
}

/// Without drops by delay, so that only the schedule is seen.
fn patient(quantum: u32, limit: Limit) -> FqCoDelConfig {
    let codel = CoDelConfig { target: Duration::from_secs(1000), ..CoDelConfig::usual(1500) };
    FqCoDelConfig { codel, quantum, limit, ..FqCoDelConfig::usual(1500) }
}

#[test]
fn the_defaults_are_those_of_the_rfc() {
    let usual = FqCoDelConfig::usual(1500);
    assert_eq!((usual.queues, usual.quantum, usual.limit), (1024, 1514, Limit::Packets(10_240)));
    assert_eq!(usual.codel.target, Duration::from_millis(5));
    assert_eq!(usual.codel.interval, Duration::from_millis(100));
    assert!(usual.codel.mark);
}

/// Section 3's example: with packets of a third of a quantum three leave in a turn, of a whole one one.
#[test]
fn turns_are_counted_in_bytes() {
    let at_once = |flow, bytes, count| vec![Offer { at: 0, bytes, flow, ecn: Ecn::NotEct, ack: None }; count];
    // The first packet finds the transmitter free.
    let offers = [at_once(0, 1500, 1), at_once(1, 500, 9), at_once(2, 1500, 3)].concat();
    let queue = fq(patient(1500, Limit::Packets(100)), 1);
    assert_ne!(queue.queue_of(1), queue.queue_of(2));
    let outcomes = carry(&mut link(Scheme::FqCoDel(queue)), &offers, false);
    let mut order: Vec<(u64, u64)> = outcomes
        .iter()
        .zip(&offers)
        .map(|(outcome, offer)| (outcome.sent().expect("sent"), offer.flow))
        .collect();
    order.sort_unstable();
    let flows: Vec<u64> = order.into_iter().map(|(_, flow)| flow).collect();
    assert_eq!(flows, [0, 1, 1, 1, 2, 1, 1, 1, 2, 1, 1, 1, 2]);
}

#[test]
fn a_sparse_flow_waits_for_one_packet_at_most() {
    let bulk = (0..3).map(|flow| steady(3000, 300 * US, flow, Ecn::NotEct)).collect::<Vec<_>>();
    let sparse: Vec<Offer> = (0..80)
        .map(|number| Offer {
            at: 60 * MS + number * 10_123 * US,
            bytes: 100,
            flow: 9,
            ecn: Ecn::NotEct,
            ack: None,
        })
        .collect();
    let offers = together([bulk, vec![sparse]].concat());
    let queue = fq(FqCoDelConfig::usual(LARGE), 1);
    assert!((0..3).all(|flow| queue.queue_of(flow) != queue.queue_of(9)));
    let outcomes = carry(&mut link(Scheme::FqCoDel(queue)), &offers, false);
    for (outcome, offer) in outcomes.iter().zip(&offers).filter(|(_, offer)| offer.flow == 9) {
        let waited = outcome.sent().expect("it is not dropped") - offer.at;
        assert!(waited <= MS, "{waited} ns");
    }
}

#[test]
fn an_overflow_takes_half_of_the_fattest_queue_from_its_head() {
    let burst = |flow, count| vec![Offer { at: 1, bytes: LARGE, flow, ecn: Ecn::NotEct, ack: None }; count];
    let offers = [burst(1, 41), burst(2, 10), burst(3, 1)].concat();
    let outcomes =
        carry(&mut link(Scheme::FqCoDel(fq(patient(1500, Limit::Packets(50)), 1))), &offers, false);
    // One has left at once; of the forty that wait twenty go when the fifty-first comes.
    let dropped: Vec<usize> = (0..offers.len()).filter(|&number| outcomes[number].is_dropped()).collect();
    assert_eq!(dropped, (1..21).collect::<Vec<_>>());
}

#[test]
fn the_salt_changes_who_shares_a_queue() {
    let queues = |seed| {
        let queue = fq(FqCoDelConfig::usual(1500), seed);
        (0..64).map(|flow| queue.queue_of(flow)).collect::<Vec<_>>()
    };
    assert_eq!(queues(1), queues(1));
    assert_ne!(queues(1), queues(2));
    let mut filled = vec![0_u32; 1024];
    let queue = fq(FqCoDelConfig::usual(1500), 3);
    (0..102_400).for_each(|flow| filled[queue.queue_of(flow) as usize] += 1);
    assert!(filled.iter().all(|&count| (50..160).contains(&count)), "100 each, give or take five deviations");
}

proptest! {
    #[test]
    fn agrees_with_the_pseudo_code(
        offers in offers(), limit in limit(), queues in 1_u32..6, quantum in 1_u32..4000, mark in any::<bool>(),
        interval in 5_u64..150, seed in any::<u64>(), late in any::<bool>(),
    ) {
        let codel = CoDelConfig { interval: Duration::from_millis(interval), mark, ..CoDelConfig::usual(1500) };
        let config = FqCoDelConfig { codel, queues, quantum, limit };
        let queue = fq(config.clone(), seed);
        let queue_of = (0..5).map(|flow| queue.queue_of(flow) as usize).collect();
        let outcomes = carry(&mut link(Scheme::FqCoDel(queue)), &offers, late);
        prop_assert_eq!(&outcomes, &run(&mut Fq::new(config, queue_of), &offers));
        // Within a flow what is sent is sent in the order in which it came.
        for flow in 0..5 {
            let own = outcomes.iter().zip(&offers).filter(|(_, offer)| offer.flow == flow);
            let sent: Vec<u64> = own.filter_map(|(outcome, _)| outcome.sent()).collect();
            prop_assert!(sent.is_sorted());
        }
    }

    /// While all flows have packets, none is ahead of another by more than a quantum and a packet.
    #[test]
    fn shares_are_even_within_a_quantum(sizes in prop::collection::vec(40_u32..1500, 2..8), quantum in 1_u32..4000) {
        const EACH: u32 = 60_000;
        let queue = fq(patient(quantum, Limit::Packets(100_000)), 1);
        let apart: HashSet<u32> = (0..7).map(|flow| queue.queue_of(7 * flow)).collect();
        prop_assert_eq!(apart.len(), 7);
        let offers: Vec<Offer> = sizes
            .iter()
            .enumerate()
            .flat_map(|(flow, &bytes)| {
                let offer = Offer { at: 0, bytes, flow: 7 * flow as u64, ecn: Ecn::NotEct, ack: None };
                (0..EACH / bytes).map(move |_| offer)
            })
            .collect();
        let outcomes = carry(&mut link(Scheme::FqCoDel(queue)), &offers, false);
        let mut order: Vec<(u64, u64, u32)> =
            outcomes.iter().zip(&offers).map(|(it, offer)| (it.sent().expect("sent"), offer.flow, offer.bytes)).collect();
        order.sort_unstable();
        let mut sent = vec![0_i64; sizes.len()];
        for (_, flow, bytes) in order {
            sent[flow as usize / 7] += i64::from(bytes);
            if sent.iter().zip(&sizes).any(|(sent, bytes)| sent + i64::from(2 * bytes) > i64::from(EACH)) {
                break;
            }
            let (least, most) = (sent.iter().min().expect("some"), sent.iter().max().expect("some"));
            // The first packet of all finds the others' queues still empty.
            prop_assert!(most - least <= i64::from(quantum) + 2 * 1500, "{sent:?}");
        }
    }
}
