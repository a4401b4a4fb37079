//! What holds for every transport, with any of its switches.

use crate::path::{Scene, control, fates, fates_of};
use ackclock_rate::Transport;
use ackclock_registry::{Chosen, Domain, Given, Listed};
use ackclock_units::{Duration, Time};
use proptest::prelude::*;

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// A transport with any of its switches and words.
fn any_control() -> impl Strategy<Value = Chosen<Transport>> {
    let picks = prop::collection::vec(any::<prop::sample::Index>(), 64);
    (prop::sample::select(Transport::names()), picks).prop_map(|(name, picks)| {
        let mut control = control(name, &[]);
        let parameters: Vec<_> = control.settings().iter().map(|(parameter, _)| parameter).collect();
        for (parameter, pick) in parameters.into_iter().zip(picks) {
            let given = match &parameter.domain {
                Domain::OnOff => Given::Flag(pick.index(2) == 1),
                Domain::Words(words) => Given::Word(words[pick.index(words.len())].0),
                _ => continue,
            };
            control.set(parameter.name, given).expect("it is in the domain");
        }
        control
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn every_datum_arrives_once_whatever_the_path_does(
        control in any_control(), fates in fates(), total in 1_u64..300,
        dark in prop::option::of((0_u64..2000, 1_u64..2000)),
    ) {
        let outage = dark.map(|(begin, length)| (at(begin), at(begin + length)));
        // TFRC may come down to a packet in 64 s (t_mbi, RFC 5348 section 4.3), and each of them may be lost.
        let until = at(64_000 * (total + fates.len() as u64) + 3_600_000);
        Scene { fates, outage, until, ..Scene::new(control, Some(total)) }.run(|_, _, _| ());
    }
}

#[test]
fn a_path_is_used_and_only_what_is_lost_is_sent_again() {
    for name in Transport::names() {
        let mut arrived = 0;
        let scene = Scene { until: at(120_000), ..Scene::new(control(name, &[]), None) };
        let run = scene.run(|now, _, _| arrived += u64::from(now > at(60_000)));
        let (counters, dropped) = (run.sender.counters(), run.dropped.len() as u64);
        // The second minute: Google Congestion Control takes 25 s to get there.
        assert!(arrived > 13_000, "{name}: {arrived} of 15,000");
        assert_eq!((counters.sent, run.receiver.duplicates(), counters.timeouts), (run.sent, 0, 0), "{name}");
        assert!(counters.retransmitted <= counters.lost && counters.lost <= dropped, "{name}: {counters:?}");
        assert!(
            counters.rtt_samples > 100 && counters.rtt_min() == Some(Duration::from_millis(84)),
            "{name}"
        );
        let missing = run.sent - dropped - run.receiver.delivered();
        assert!(missing < 100, "{name}: {missing} under way or waiting for one before them");
    }
}

#[test]
fn a_lost_tail_is_repaired() {
    for name in Transport::names() {
        let alone = Scene::new(control(name, &[]), Some(40)).run(|_, _, _| ()).end;
        // The last three data are lost, and the first repair of them.
        let lost: Vec<bool> = (0..200).map(|number| (37..41).contains(&number)).collect();
        let scene = Scene { fates: fates_of(&lost), ..Scene::new(control(name, &[]), Some(40)) };
        let run = scene.run(|_, _, _| ());
        assert!(run.end < alone + Duration::from_secs(2), "{name}: {} instead of {alone}", run.end);
    }
}

#[test]
fn a_blackout_ends() {
    for name in Transport::names() {
        let outage = Some((at(3000), at(8000)));
        let run = Scene { outage, ..Scene::new(control(name, &[]), Some(3000)) }.run(|_, _, _| ());
        assert!(run.sender.counters().timeouts > 0, "{name}");
        assert!((at(12_000)..at(100_000)).contains(&run.end), "{name}: {}", run.end);
    }
}
