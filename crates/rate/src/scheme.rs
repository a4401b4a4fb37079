//! The registry of transports.

use crate::half::{Opening, ReceivingHalf, SendingHalf};
use ackclock_registry::{Chosen, Entry, Given, Listed, Settings};
use std::fmt;

/// A transport's entry in the registry.
pub struct Transport {
    /// The description.
    pub entry: Entry,
    /// Builds the sending half from checked settings, for packets of so many bytes on the wire.
    pub sender: fn(&Settings, u32, Opening) -> Box<dyn SendingHalf>,
    /// Builds the receiving half from checked settings, for packets of so many bytes on the wire.
    pub receiver: fn(&Settings, u32) -> Box<dyn ReceivingHalf>,
    /// What differs on real networks, where packets may overtake, from what the source says.
    pub on_networks: &'static [(&'static str, Given<'static>)],
}

impl Transport {
    /// The transport as it is used on real networks.
    pub fn for_networks(&'static self) -> Chosen<Transport> {
        let mut chosen = Chosen::defaults(self);
        for &(name, given) in self.on_networks {
            chosen.set(name, given).expect("a test sets each");
        }
        chosen
    }
}

impl Listed for Transport {
    const KIND: &'static str = "control";

    fn all() -> &'static [&'static Transport] {
        const { &[&crate::xrtp::TRANSPORT, &crate::tfrc::TRANSPORT, &crate::gcc::TRANSPORT] }
    }

    fn entry(&self) -> &Entry {
        &self.entry
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::{Receiver, Sender};
    use ackclock_registry::{Chosen, mistakes};
    use ackclock_units::{Duration, Time};

    #[test]
    fn entries_are_complete_and_build_endpoints() {
        assert_eq!(mistakes::<Transport>(), Vec::<String>::new());
        let rtt = Duration::from_millis(80);
        for &transport in Transport::all() {
            let control = Chosen::defaults(transport);
            let mut sender = Sender::new(&control, 1040, Some(1), Time::ZERO, rtt);
            let mut receiver = Receiver::new(&control, 1040);
            let data = sender.poll_transmit(Time::ZERO).expect("the first packet leaves at once");
            assert_eq!((data.bytes, data.number, data.datum, data.last), (1040, 1, 1, true), "{transport:?}");
            let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
            let ack = receiver.on_packet(at(40), &data).expect("the last datum is acknowledged at once");
            assert_eq!((ack.echo, ack.cumulative), (1, 1), "{transport:?}");
            assert!((40..50).contains(&ack.bytes), "{transport:?}: {}", ack.bytes);
            sender.on_ack(at(80), &ack).expect("it was sent");
            assert!(sender.is_finished() && sender.srtt() == rtt && sender.rate() > 0.0);
            let counters = sender.counters();
            assert_eq!((counters.sent, counters.acknowledged, counters.rtt_samples), (1, 1, 1));
            assert_eq!((counters.rtt_sum, counters.rtt_min()), (rtt, Some(rtt)));
            assert_eq!((receiver.delivered(), receiver.poll_timeout()), (1, None), "{transport:?}");
        }
    }
}
