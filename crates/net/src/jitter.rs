//! Jitter: every packet is late by a random time, and none overtakes another.
//!
//! Hosts take a little, varying time to send. In a simulation without that variation, periodic flows stay in
//! phase with a full DropTail queue, and one flow may lose all its packets: the phase effects of S. Floyd and
//! V. Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", 1992. They propose a random time of
//! up to the bottleneck's transmission time (section 3.2); ns-2 calls it overhead.

use crate::Rng;
use ackclock_units::{Duration, Time};

/// Delays packets, and keeps their order.
#[derive(Clone, Debug)]
pub struct Jitter {
    most: Duration,
    stream: Rng,
    /// The arrival of the packet before.
    last: Time,
}

impl Jitter {
    /// Delays each packet by a uniform random time of at most `most`, drawn from `stream`. A packet that
    /// would overtake the one before arrives a nanosecond behind it: packets of one link never arrive
    /// together, so nobody has to decide between them.
    pub fn new(most: Duration, stream: Rng) -> Jitter {
        Jitter { most, stream, last: Time::ZERO }
    }

    /// The longest delay.
    pub fn most(&self) -> Duration {
        self.most
    }

    /// The arrival of the next packet, which would arrive at `arrival` without jitter.
    pub(crate) fn arrival(&mut self, arrival: Time) -> Time {
        let late = Duration::from_nanos((self.stream.uniform() * self.most.as_nanos() as f64) as u64);
        self.last = (self.last + Duration::from_nanos(1)).max(arrival + late);
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_late_by_up_to_the_bound_and_stay_in_order() {
        let most = Duration::from_micros(100);
        let mut jitter = Jitter::new(most, Rng::new(1, "jitter"));
        let mut before = Time::ZERO;
        let mut late = Vec::new();
        for number in 0..10_000 {
            let at = Time::from_nanos(number * 200_000); // too far apart to meet
            let arrival = jitter.arrival(at);
            assert!(arrival >= before && arrival.since(at) <= most);
            late.push(arrival.since(at).as_secs_f64());
            before = arrival;
        }
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        assert!((mean - 50e-6).abs() < 1e-6, "{mean}");
        // A burst keeps its order, too: a packet is no later than the bound, and behind those before it.
        let at = Time::from_nanos(10_000_000_000);
        for number in 0..100 {
            let arrival = jitter.arrival(at);
            assert!(arrival > before && arrival.since(at) <= most + Duration::from_nanos(number));
            before = arrival;
        }
    }
}
