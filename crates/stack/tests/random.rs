//! Any packets and any operations; the cases are those of the fuzz target.

#[path = "common/attack.rs"]
mod attack;

use attack::{Case, Step};
use proptest::prelude::*;

fn step() -> impl Strategy<Value = Step> {
    let near = prop_oneof![Just(0), -3000_i32..3000, any::<i32>()];
    let sacks = proptest::collection::vec((-3000_i32..60_000, -3000_i32..60_000), 0..4);
    let marks = (any::<u8>(), proptest::collection::vec(prop_oneof![0_u32..10_000, any::<u32>()], 0..=3));
    let segment = (0_u16..4, near.clone(), near, any::<u16>(), any::<u16>(), 0_usize..3000, sacks, marks);
    prop_oneof![
        2 => proptest::collection::vec(any::<u8>(), 0..120).prop_map(Step::Bytes),
        20 => segment.prop_map(|(from, seq, ack, flags, window, payload, sacks, (ecn, echoed))| {
            Step::Segment { from, seq, ack, flags: flags & 0x1df, window, payload, sacks, ecn, echoed }
        }),
        4 => (1_usize..100_000).prop_map(Step::Write),
        3 => (1_usize..100_000).prop_map(Step::Read),
        1 => Just(Step::Close),
        1 => Just(Step::Abort),
        1 => Just(Step::Release),
        2 => Just(Step::Connect),
        4 => (1_u64..5000).prop_map(Step::Wait),
        1 => (0_u16..2000).prop_map(Step::TooBig),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(300), ..ProptestConfig::default() })]

    #[test]
    fn nothing_breaks_a_host(
        steps in proptest::collection::vec(step(), 1..200),
        initial: u32,
        nagle: bool,
        selective: bool,
        ecn in 0_u8..3,
    ) {
        Case { initial, nagle, selective, ecn, steps }.run();
    }
}

/// Found by fuzzing: a released connection whose peer had closed its window was never given up.
#[test]
fn cases_that_the_fuzzer_has_found() {
    use Step::{Connect, Read, Release, Segment, TooBig, Wait, Write};
    let from = |from, seq, ack, flags, window, payload, sacks: &[(i32, i32)]| Segment {
        from,
        seq,
        ack,
        flags,
        window,
        payload,
        sacks: sacks.to_vec(),
        ecn: 0,
        echoed: Vec::new(),
    };
    let steps = vec![
        Connect,
        Write(74816),
        from(3, 0, 0, 88, 10872, 830, &[]),
        TooBig(825),
        from(1, -2218, -3000, 205, 0, 742, &[(-466, 9849), (-672, -2642)]),
        Write(74816),
        from(0, 0, 0, 18, 0, 1665, &[]),
        Wait(1145),
        from(0, 2, 0, 145, 0, 0, &[]),
        TooBig(120),
        TooBig(747),
        TooBig(1227),
        from(0, 0, 0, 88, 1000, 1370, &[(5448, -3000)]),
        from(1, 3, -2285, 0, 0, 830, &[(21063, 3646)]),
        Read(24226),
        Wait(5000),
        Release,
        Wait(1145),
        from(0, -2, 0, 145, 45688, 1045, &[(-3000, -3000), (-3000, -3000), (-3000, -3000)]),
    ];
    Case { initial: 1_288_494_898, nagle: true, selective: true, ecn: 0, steps }.run();
}
