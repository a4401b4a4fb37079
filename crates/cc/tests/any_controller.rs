//! Whatever happens to a connection, in whatever order, every controller keeps its window a number that a
//! host can use.

mod host;

use ackclock_cc::{Domain, Given, Scheme, Settings, Signal, Value, schemes};
use host::{Happening, Host};
use proptest::prelude::*;

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        60 => (1u32..2000, prop_oneof![Just(0u32), 1u32..2_000_000], 0.0f64..1.0, prop::bool::weighted(0.9))
            .prop_map(|(acked, rtt_us, draw, limited)| Happening::Ack { acked, rtt_us, draw, limited }),
        10 => (0u8..4, 0u8..4, 0u8..4)
            .prop_map(|(sacked, lost, marked)| Happening::Duplicate { sacked, lost, marked }),
        5 => Just(Happening::Cut(Signal::Loss)),
        3 => Just(Happening::Cut(Signal::Mark)),
        2 => Just(Happening::Cut(Signal::Timeout)),
        10 => Just(Happening::Recovered),
        2 => Just(Happening::Spurious),
        2 => Just(Happening::Idle),
        2 => (1u32..1_000_000).prop_map(Happening::Receiver),
    ]
}

/// Settings somewhere in their domains, half of the parameters at their defaults; `picks` are numbers in [0,
/// 1).
fn settings_from(scheme: &'static Scheme, picks: &[f64]) -> Settings {
    let mut settings = Settings::defaults(scheme);
    for (parameter, &pick) in scheme.parameters.iter().zip(picks.iter().cycle()) {
        if pick < 0.5 {
            continue;
        }
        let pick = 2.0 * pick - 1.0;
        let given = match &parameter.domain {
            Domain::OnOff => Given::Flag(pick < 0.5),
            Domain::Words(words) => {
                Given::Word(words[((pick * words.len() as f64) as usize).min(words.len() - 1)].0)
            }
            Domain::Controller => {
                let under: Vec<_> = schemes().iter().filter(|under| under.name != scheme.name).collect();
                Given::Word(under[(pick * under.len() as f64) as usize].name)
            }
            Domain::Range(range) => {
                // Ends, and what is between them in proportion: ranges span many orders of magnitude.
                let default = match parameter.default {
                    Value::Number(number) => number,
                    _ => *range.start(),
                };
                Given::Number(match pick {
                    ..0.2 => *range.start(),
                    0.2..0.4 => *range.end(),
                    0.4..0.6 => range.end().min(4.0 * default),
                    0.6..0.8 => range.start().max(0.25 * default),
                    _ => range.start() + (range.end() - range.start()) * 5.0 * (pick - 0.8),
                })
            }
            Domain::File => continue, // its text is checked where it is read
            Domain::Count(_) | Domain::Time(_) | Domain::Size(_) | Domain::Room => {
                panic!("{}.{}: no controller has such a parameter", scheme.name, parameter.name)
            }
        };
        let set = settings.set(parameter.name, given);
        assert!(set.is_ok(), "{}.{}: {given:?}", scheme.name, parameter.name);
    }
    settings
}

/// Runs `happenings` and returns every window on the way.
fn run(settings: &Settings, happenings: &[Happening]) -> Result<Vec<(u64, u64)>, TestCaseError> {
    let name = settings.scheme().name;
    let mut host = Host::new(settings);
    let mut windows = Vec::with_capacity(happenings.len());
    for happening in happenings {
        host.step(happening);
        let w = host.w;
        prop_assert!(w.cwnd.is_finite() && w.cwnd >= 0.0, "{name}: cwnd {} after {happening:?}", w.cwnd);
        prop_assert!(w.ssthresh >= 0.0, "{name}: ssthresh {} after {happening:?}", w.ssthresh);
        if let Some(rate) = w.pacing {
            prop_assert!(rate.bps() > 0, "{name}: no pacing rate after {happening:?}");
        }
        let mut not_a_number = None;
        host.controller.inspect(&mut |variable, value| {
            if value.is_nan() {
                not_a_number = Some(variable);
            }
        });
        prop_assert_eq!(not_a_number, None, "{}: not a number after {:?}", name, happening);
        windows.push((w.cwnd.to_bits(), w.ssthresh.to_bits()));
    }
    Ok(windows)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_window_stays_usable(happenings in prop::collection::vec(happening(), 1..300)) {
        for scheme in schemes() {
            run(&Settings::defaults(scheme), &happenings)?;
        }
    }

    #[test]
    fn it_does_so_with_any_settings(
        happenings in prop::collection::vec(happening(), 1..120),
        picks in prop::collection::vec(0.0f64..1.0, 24),
    ) {
        for scheme in schemes() {
            run(&settings_from(scheme, &picks), &happenings)?;
        }
    }

    #[test]
    fn the_same_history_gives_the_same_windows(happenings in prop::collection::vec(happening(), 1..120)) {
        for scheme in schemes() {
            let settings = Settings::defaults(scheme);
            prop_assert_eq!(run(&settings, &happenings)?, run(&settings, &happenings)?, "{}", scheme.name);
        }
    }
}

#[test]
fn every_response_function_falls_with_the_loss_rate() {
    for scheme in schemes() {
        let Some(response) = scheme.response else { continue };
        let settings = Settings::defaults(scheme);
        let mut last = f64::INFINITY;
        for step in 0..=120 {
            let p = 10f64.powf(-8.0 + f64::from(step) * 0.05);
            let window = response(&settings, p, 0.1);
            // A rise is allowed only to Reno's window, where a scheme reverts to Reno and the two laws do not
            // meet.
            let reno = (1.5 / p).sqrt() * (1.0 + 1e-9);
            assert!(
                window > 0.0 && window <= last.max(reno),
                "{}: {window} at {p}, {last} before",
                scheme.name
            );
            last = window;
        }
    }
}
