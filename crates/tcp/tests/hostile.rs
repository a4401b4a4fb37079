//! Any sequence of operations, hostile ones included; the fuzz target runs the same cases.

mod common;

use common::hostile::{Case, Step};
use proptest::prelude::*;

fn step() -> impl Strategy<Value = Step> {
    let small = prop_oneof![4 => 0_u8..8, 1 => any::<u8>()];
    let block = (prop_oneof![6 => 0_u8..40, 1 => any::<u8>()], prop_oneof![6 => 0_u8..10, 1 => any::<u8>()]);
    let forged_ack = (
        prop_oneof![3 => Just(0_i8), 3 => 0_i8..10, 1 => any::<i8>()],
        prop_oneof![4 => Just(100_u16), 1 => 0_u16..20, 1 => any::<u16>()],
        0_u16..2_000,
        prop_oneof![4 => Just(0_u8), 1 => Just(4_u8), 1 => any::<u8>()],
        prop::array::uniform3(block),
    );
    prop_oneof![
        6 => small.clone().prop_map(Step::Transmit),
        2 => any::<u16>().prop_map(Step::Wait),
        2 => Just(Step::Expire),
        1 => Just(Step::Pace),
        1 => Just(Step::Delay),
        10 => small.clone().prop_map(Step::Deliver),
        1 => small.clone().prop_map(Step::Mark),
        3 => small.clone().prop_map(Step::Lose),
        10 => small.clone().prop_map(Step::Acknowledge),
        2 => small.prop_map(Step::LoseAck),
        2 => forged_ack.prop_map(|(ack, window, age_ms, flags, blocks)| Step::ForgeAck { ack, window, age_ms, flags, blocks }),
        1 => (any::<i8>(), 0_u16..2_000, any::<u8>()).prop_map(|(seq, age_ms, flags)| Step::ForgeData { seq, age_ms, flags }),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let settings = (any::<u8>(), any::<u8>(), any::<u8>(), any::<u8>(), 0_u8..40, 0_u8..16, any::<u8>());
    (settings, prop::collection::vec(step(), 0..120)).prop_map(
        |((recovery, scheme, switches, window, initial, threshold, limit), steps)| Case {
            recovery,
            scheme,
            switches,
            window,
            initial,
            threshold,
            limit,
            steps,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_breaks_an_endpoint(case in case()) {
        case.run();
    }
}

/// Timeouts in a row, and then an answer: the round trip took a quarter of an hour, and a controller that
/// paces by it lets a segment go as rarely. The transfer goes on, however long that takes.
#[test]
fn answers_after_a_quarter_of_an_hour() {
    let known = ackclock_cc::schemes().len() as u8;
    for scheme in 0..known {
        let expire = |times: usize| std::iter::repeat_n(Step::Expire, times);
        let mut steps = vec![Step::Transmit(0)];
        for _ in 0..3 {
            steps.extend([Step::Transmit(108), Step::Deliver(152), Step::Acknowledge(0)]);
            steps.extend(expire(20));
            steps.extend([Step::Transmit(0), Step::Acknowledge(195)]);
        }
        Case {
            recovery: 141,
            scheme,
            switches: 44,
            window: 122,
            initial: 255,
            threshold: 255,
            limit: 210,
            steps,
        }
        .run();
    }
}
