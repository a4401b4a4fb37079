use super::*;
use crate::looks::Times;
use ackclock_net::{
    CoDel, CoDelConfig, DropTail, Impairments, Limit, Loss, Queue, Retransmission, Rng, Scheme,
};
use ackclock_net::{accesses, stages};
use ackclock_scenario::plan::CbrPlan;
use ackclock_scenario::traffic::Pattern;
use ackclock_units::Rate;
use proptest::prelude::*;

/// A link, by its kind, its rate, Mbit/s, and its delay, us.
fn link(kind: u8, mbps: u64, delay_us: u64) -> Link {
    let limit = Limit::Packets(20);
    let queue = match kind {
        0 => Queue::from(Scheme::CoDel(CoDel::new(CoDelConfig::usual(1500), limit))),
        _ => Queue::DropTail(DropTail::new(limit)),
    };
    let link = Link::new(Rate::from_bps(mbps * 1_000_000), Duration::from_micros(delay_us), queue);
    let loss = Some(Loss::new(0.2, Rng::new(1, "loss")));
    match kind {
        0 => link.with_impairments(Impairments { loss, lost_behind: true, ..Impairments::default() }),
        1 => {
            let retransmission = Some(Retransmission::new(Duration::from_millis(3), Some(3)));
            link.with_impairments(Impairments { loss, retransmission, ..Impairments::default() })
        }
        _ => link,
    }
}

/// A stream for 30 ms over these links, whose datagrams are counted where they arrive.
fn stream(route: &[usize], mbps: u64, start_us: u64) -> CbrPlan {
    CbrPlan {
        route: route.to_vec(),
        key: 0,
        rate: Rate::from_bps(mbps * 1_000_000),
        bytes: 1500,
        pattern: Pattern::Constant { on: None, off: Duration::ZERO },
        start: Time::ZERO + Duration::from_micros(start_us),
        stop: Some(Time::ZERO + Duration::from_millis(30)),
    }
}

fn delivered(carrier: &Carrier<'_>) -> u64 {
    carrier.sent.iter().map(|tally| tally.delivered).sum()
}

proptest! {
    /// Whoever sleeps until then misses no delivery, whatever the links on the way do.
    #[test]
    fn nothing_arrives_before_the_next_effect(
        kinds in prop::collection::vec((0_u8..3, 2_u64..20, 0_u64..20_000), 1..5),
        sources in prop::collection::vec((0_usize..4, 1_usize..4, 1_u64..40, 0_u64..20_000), 1..4),
    ) {
        let links: Vec<Link> = kinds.iter().map(|&(kind, mbps, delay)| link(kind, mbps, delay)).collect();
        let route = |from: usize, hops: usize| {
            let from = from % links.len();
            (from..links.len().min(from + hops)).collect::<Vec<usize>>()
        };
        let routes: Vec<Vec<usize>> = sources.iter().map(|&(from, hops, ..)| route(from, hops)).collect();
        let paths: Vec<&[usize]> = routes.iter().map(Vec::as_slice).collect();
        let accesses = accesses(&links, links.len(), &paths, &[]);
        let way = |path: &Vec<usize>| {
            Route { stages: stages(path, &accesses, &links), to: None, told: None, owner: None }
        };
        let streams = routes.iter().zip(&sources).enumerate().map(|(number, (route, &(_, _, mbps, start)))| {
            Stream::new(stream(route, mbps, start), number, number)
        });
        let streams: Vec<Stream> = streams.collect();
        let never = Times { from: Time::NEVER, to: Time::NEVER, probe: Duration::from_secs(1 << 30) };
        let stop = AtomicBool::new(false);
        let mut carrier = Carrier::new(Shard {
            clock: Clock::start(),
            hosts: &[],
            ways: routes.iter().map(way).collect(),
            sources: Vec::new(),
            looks: Looks::new(never, &[], streams.len(), None),
            streams,
            crossings: Crossings::default(),
            captured: Vec::new(),
            capture: None,
            stop: &stop,
            links,
        });
        schedule::ordinary();
        let step = |carrier: &mut Carrier<'_>, at| {
            carrier.advance(at).map_err(|error| TestCaseError::fail(error.to_string()))
        };
        step(&mut carrier, Time::ZERO)?; // the first look
        loop {
            let next = carrier.next_effect();
            if next > Time::ZERO + Duration::from_secs(60) {
                break;
            }
            let before = delivered(&carrier);
            if let Some(sooner) = next.as_nanos().checked_sub(1) {
                step(&mut carrier, Time::from_nanos(sooner))?;
            }
            prop_assert_eq!(delivered(&carrier), before, "something arrived before {:?}", next);
            step(&mut carrier, next)?;
        }
        prop_assert_eq!(carrier.lanes.waiting(), 0);
        let sent: u64 = carrier.sent.iter().map(|tally| tally.sent).sum();
        prop_assert!(delivered(&carrier) <= sent && sent > 0);
    }
}
