//! What an acknowledgement allows is the same whether it is sent at once or asked for.

mod common;

use ackclock_tcp::{Config, Data, Receiver};
use ackclock_units::Duration;
use common::lab::Lab;
use proptest::prelude::*;
use std::collections::VecDeque;

proptest! {
    #[test]
    fn an_acknowledgement_sends_the_same_at_once_and_when_asked(
        ecn in any::<bool>(),
        limit in 1_u64..600,
        arrives in prop::collection::vec(prop::bool::weighted(0.97), 600),
    ) {
        let config = Config { ecn, ..Config::default() };
        let mut asked = Lab::new(config.clone(), "reno", limit);
        let mut at_once = Lab::new(config.clone(), "reno", limit);
        let mut receiver = Receiver::new(&config, 0);
        let mut under_way: VecDeque<Data> = asked.send_all().into();
        prop_assert_eq!(&under_way, &at_once.send_all());
        for arrives in arrives {
            let Some(data) = under_way.pop_front() else { break };
            asked.now += Duration::from_micros(100);
            at_once.now = asked.now;
            if !arrives {
                continue;
            }
            let Some(ack) = receiver.on_data(asked.now, &data) else { continue };
            asked.sender.on_ack(asked.now, &ack, || 0.0);
            let wanted = asked.send_all();
            let mut sent = Vec::new();
            if !at_once.sender.on_ack_send(at_once.now, &ack, || 0.0, |data| sent.push(data)) {
                sent = at_once.send_all();
            }
            prop_assert_eq!(&sent, &wanted);
            prop_assert!(at_once.send_all().is_empty(), "nothing is left");
            prop_assert_eq!(at_once.sender.window(), asked.sender.window());
            prop_assert_eq!(at_once.sender.counters(), asked.sender.counters());
            prop_assert_eq!(at_once.sender.poll_timeout(), asked.sender.poll_timeout());
            under_way.extend(wanted);
        }
    }
}
