//! What an early response must keep to, whatever happens to its connection and whatever is underneath.

mod host;

use ackclock_cc::{Given, Scheme, Settings, Signal, scheme, schemes};
use host::{Happening, Host};
use proptest::prelude::*;

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        100 => (1u32..60, 50_000u32..90_000, 0.0f64..1.0, prop::bool::weighted(0.9))
            .prop_map(|(acked, rtt_us, draw, limited)| Happening::Ack { acked, rtt_us, draw, limited }),
        20 => (1u32..10, 0.0f64..1.0).prop_map(|(acked, draw)| Happening::Ack { acked, rtt_us: 0, draw, limited: true }),
        3 => Just(Happening::Cut(Signal::Loss)),
        1 => Just(Happening::Cut(Signal::Mark)),
        1 => Just(Happening::Cut(Signal::Timeout)),
        4 => Just(Happening::Recovered),
        1 => Just(Happening::Spurious),
        1 => Just(Happening::Idle),
    ]
}

/// Everything that can be underneath.
fn windows() -> impl Iterator<Item = &'static Scheme> {
    schemes().iter().copied().filter(|scheme| scheme.name != "pert")
}

fn pert(over: &str, given: &[(&str, Given<'_>)]) -> Settings {
    let mut settings = Settings::defaults(scheme("pert").expect("pert is there"));
    settings.set("over", Given::Word(over)).expect("a controller");
    for &(name, value) in given {
        settings.set(name, value).expect("in its domain");
    }
    settings
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A response that never fires leaves every bit as it is.
    #[test]
    fn without_a_response_the_wrapper_is_not_there(happenings in prop::collection::vec(happening(), 1..200)) {
        for inner in windows() {
            let never = [("min_delay", Given::Number(10.0)), ("max_delay", Given::Number(10.0))];
            let mut bare = Host::new(&Settings::defaults(inner));
            let mut wrapped = Host::new(&pert(inner.name, &never));
            for happening in &happenings {
                bare.step(happening);
                wrapped.step(happening);
                let bits = |host: &Host| (host.w.cwnd.to_bits(), host.w.ssthresh.to_bits(), host.w.pacing);
                prop_assert_eq!(bits(&bare), bits(&wrapped), "{} after {:?}", inner.name, happening);
                let mut variables = Vec::new();
                bare.controller.inspect(&mut |name, value| variables.push((name, value.to_bits())));
                for (name, value) in variables {
                    prop_assert_eq!(wrapped.inspect(name).to_bits(), value, "{}.{}", inner.name, name);
                }
            }
        }
    }

    /// With every clock and every curve there is a round trip between two responses, and p is a probability.
    #[test]
    fn there_are_never_two_responses_in_a_round_trip(
        happenings in prop::collection::vec(happening(), 1..400),
        clock in prop::sample::select(vec!["srtt", "average", "base", "window"]),
        curve in prop::sample::select(vec!["red", "rem", "pi"]),
        over in prop::sample::select(windows().map(|scheme| scheme.name).collect::<Vec<_>>()),
    ) {
        let given = [("clock", Given::Word(clock)), ("curve", Given::Word(curve)), ("max_probability", Given::Number(1.0))];
        let mut host = Host::new(&pert(over, &given));
        let (mut responses, mut last) = (0.0, None);
        for happening in &happenings {
            let sent = host.path.nxt;
            host.step(happening);
            prop_assert!((0.0..=1.0).contains(&host.inspect("probability")));
            let now = host.inspect("early_responses");
            prop_assert!(now <= responses + 1.0);
            if now > responses {
                if let Some((at, nxt)) = last {
                    let elapsed = host.path.now.since(at);
                    let round_trip = match clock {
                        "srtt" => elapsed >= host.path.srtt,
                        "average" => elapsed.as_millis_f64() >= host.inspect("srtt_99_ms") - 1e-9,
                        "base" => elapsed >= host.path.rtt_min,
                        _ => host.path.una > nxt,
                    };
                    prop_assert!(round_trip, "{clock}: {elapsed:?} after the last one");
                }
                last = Some((host.path.now, sent));
            }
            responses = now;
        }
    }
}
