//! Both endpoints of every transport before a peer and a path that do anything.

#[path = "common/hostile.rs"]
mod hostile;

use hostile::{Case, ForgedAck, ForgedData, Number, Step};
use proptest::prelude::*;

fn number() -> impl Strategy<Value = Number> {
    (0..5_u8, any::<u64>()).prop_map(|(kind, value)| Number { kind, value })
}

fn forged_data() -> impl Strategy<Value = ForgedData> {
    (number(), number(), any::<u32>(), number(), number(), any::<u8>()).prop_map(
        |(number, datum, bytes, sent, srtt, flags)| ForgedData { number, datum, bytes, sent, srtt, flags },
    )
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), Just(f64::NAN), Just(0.0), Just(-1.0), Just(f64::INFINITY), 0.0..1.0, 1.0..1e9]
}

fn forged_ack() -> impl Strategy<Value = ForgedAck> {
    let numbers = (number(), number(), prop::option::of(number()), number(), (number(), number()));
    (numbers, any::<u128>(), any::<u8>(), [value(), value()]).prop_map(|(numbers, sack, report, values)| {
        let (echo, cumulative, echoed, held, arrival) = numbers;
        ForgedAck { echo, cumulative, sack, echoed, held, report, values, arrival }
    })
}

/// Steps of a path that loses, doubles, delays and overtakes.
fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        any::<u8>().prop_map(Step::Transmit),
        any::<u16>().prop_map(|tenths| Step::Wait(tenths % 2000)),
        Just(Step::Expire),
        Just(Step::Delay),
        any::<u8>().prop_map(Step::Deliver),
        Just(Step::Deliver(0)),
        any::<u8>().prop_map(Step::Double),
        any::<u8>().prop_map(Step::Lose),
        any::<u8>().prop_map(Step::Acknowledge),
        Just(Step::Acknowledge(0)),
        any::<u8>().prop_map(Step::LoseAck),
    ]
}

/// Those, and some of a peer that lies.
fn hostile_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => step(),
        1 => forged_data().prop_map(Step::ForgeData),
        1 => forged_ack().prop_map(Step::ForgeAck),
    ]
}

fn case(step: impl Strategy<Value = Step>) -> impl Strategy<Value = Case> {
    let switches = prop::collection::vec(any::<u8>(), 0..30);
    (any::<u8>(), switches, any::<u8>(), prop::collection::vec(step, 1..150))
        .prop_map(|(transport, switches, total, steps)| Case { transport, switches, total, steps })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn endpoints_survive_any_peer(case in case(hostile_step())) {
        case.run();
    }

    #[test]
    fn endpoints_survive_any_path_and_deliver_what_is_left(case in case(step())) {
        case.run();
    }
}

/// The largest numbers, and clocks that leap, first one way and then the other.
#[test]
fn numbers_and_clocks_that_leap() {
    let large = Number { kind: 3, value: 0 };
    let small = |value| Number { kind: 0, value };
    let data = |number, sent| {
        let (datum, srtt) = (small(1), small(0));
        Step::ForgeData(ForgedData { number, datum, bytes: 0, sent, srtt, flags: 0 })
    };
    for transport in 0..8 {
        for numbers in [[large, small(1)], [small(1), small(2)]] {
            for clocks in [[small(0), small(0)], [large, small(0)], [small(0), large]] {
                let steps = vec![data(numbers[0], clocks[0]), data(numbers[1], clocks[1]), Step::Delay];
                Case { transport, switches: Vec::new(), total: 0, steps }.run();
            }
        }
    }
}
