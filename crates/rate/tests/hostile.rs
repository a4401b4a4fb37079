//! XRTP's endpoints before a peer that sends anything: nothing panics, nothing grows without bound, and the
//! rate keeps its limits.

use ackclock_rate::packet::{Ack, Data, Report};
use ackclock_rate::pair::Slot;
use ackclock_rate::xrtp::{Config, Receiver, Sender, TRANSPORT};
use ackclock_rate::{Opening, ReceivingHalf as _, SendingHalf as _};
use ackclock_registry::{Given, Settings};
use ackclock_units::{Duration, Time};
use proptest::prelude::*;

/// Numbers around zero, around those that are in use, and around the largest ones.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..100_u64,
        60_000..70_000_u64,
        Just(1 << 32),
        (0..3_u64).prop_map(|less| u64::MAX - less),
        any::<u64>()
    ]
}

fn time() -> impl Strategy<Value = Time> {
    number().prop_map(Time::from_nanos)
}

fn data() -> impl Strategy<Value = Data> {
    let slot = prop_oneof![Just(Slot::Single), Just(Slot::First), Just(Slot::Second)];
    (number(), number(), any::<u32>(), time(), number(), slot, any::<bool>()).prop_map(
        |(number, datum, bytes, sent, srtt, slot, last)| Data {
            number,
            datum,
            bytes,
            sent,
            srtt: Duration::from_nanos(srtt),
            slot,
            last,
        },
    )
}

fn ack() -> impl Strategy<Value = Ack> {
    let rate = prop_oneof![any::<f64>(), Just(f64::NAN), Just(0.0), Just(-1.0), Just(f64::INFINITY)];
    (number(), number(), any::<u128>(), rate, prop::option::of(time())).prop_map(
        |(echo, cumulative, sack, rate, echoed)| Ack {
            echo,
            cumulative,
            sack,
            echoed,
            report: Report::Rate(rate),
            ..Ack::default()
        },
    )
}

fn config(loss: &str, reorder: f64) -> Config {
    let mut settings = Settings::defaults(TRANSPORT.entry.parameters);
    for (name, value) in [("loss", Given::Word(loss)), ("reorder", Given::Number(reorder))] {
        settings.set(name, value).expect("a known setting");
    }
    Config::new(settings, 1000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_receiver_survives_any_packets(
        packets in prop::collection::vec((0..1_000_000_000_u64, data()), 1..60),
        loss in prop::sample::select(vec!["hybrid", "none", "perfect", "biaz", "spike", "zigzag"]),
        reorder in prop::sample::select(vec![0.0, 3.0]),
    ) {
        let config = config(loss, reorder);
        let (mut receiver, mut now) = (Receiver::new(&config), Time::ZERO);
        for (wait, packet) in packets {
            now += Duration::from_nanos(wait);
            let ack = receiver.on_packet(now, &packet);
            prop_assert!(ack.is_none_or(|ack| matches!(ack.report, Report::Rate(rate) if rate.is_finite() && rate >= 0.0)));
            receiver.on_timeout(now);
            prop_assert!(receiver.rate().is_none_or(|rate| rate.is_finite() && (1.0..=1e11).contains(&rate)));
        }
    }

    #[test]
    fn a_sender_survives_any_acknowledgements(
        steps in prop::collection::vec((0..1_000_000_000_u64, prop::option::of(ack())), 1..120),
    ) {
        let handshake = Duration::from_millis(80);
        let mut now = Time::ZERO;
        let mut sender = Sender::new(&config("hybrid", 0.0), Opening { total: None, now, handshake });
        let mut highest = 0;
        for (wait, ack) in steps {
            now += Duration::from_nanos(wait);
            for _ in 0..100 {
                let Some(data) = sender.poll_transmit(now) else { break };
                prop_assert!(data.number > highest, "no number is used twice");
                highest = data.number;
            }
            if let Some(ack) = ack {
                let _ = sender.on_ack(now, &ack);
            }
            prop_assert!(sender.rate().is_finite() && (1.0..=1e11).contains(&sender.rate()));
            prop_assert!(sender.poll_timeout().is_none_or(|due| due > Time::ZERO || now == Time::ZERO));
        }
    }
}
