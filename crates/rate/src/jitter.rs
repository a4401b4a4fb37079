//! Jitter: how much the travel time changed from one packet to the next, which is the change of queueing
//! delay.
//!
//! Source: S. Gaonkar, M.S. thesis, University of Illinois, 2003, section 3.3, equations 3.5 to 3.12; for
//! coarse clocks section 5.1, equation 5.1.
//!
//! What differs: the source does not say which packet is the previous one after a loss. Here it is the packet
//! *received* before. The second packet of a pair has the jitter S/C by its construction, so it is left out,
//! as a sample and as a reference, unless asked otherwise.
//!
//! Real hosts add delays of their own to each packet. At 100 Mbit/s they are as long as a packet's interval,
//! and the rate law adds up the positive ones. So jitter may be measured between packets that left a
//! *spacing* apart. A queue that grows gives the same sum. Noise counts once per spacing, not once per
//! packet. Google Congestion Control groups packets for the same reason (draft-ietf-rmcat-gcc-02, section
//! 5.2).

use ackclock_units::{Duration, Time};

/// `later - earlier` in nanoseconds, negative if they are the other way round. Saturates.
pub fn signed(later: Time, earlier: Time) -> i64 {
    let span = i128::from(later.as_nanos()) - i128::from(earlier.as_nanos());
    span.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

/// What the sender's clock is good for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// Send times are exact: equation 3.12.
    Fine,
    /// Several packets leave at one tick: equation 5.1, in which a gap counts as at least S/C.
    Coarse,
}

/// How much longer, in nanoseconds, a packet travelled than the one that it is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// The two left at least a spacing apart. The next packets are compared with this one.
    Whole(i64),
    /// They left closer together. The next packets are compared with the same one as this.
    Partial(i64),
}

impl Change {
    /// The jitter, nanoseconds.
    pub fn nanos(self) -> i64 {
        match self {
            Change::Whole(jitter) | Change::Partial(jitter) => jitter,
        }
    }
}

/// Computes jitters.
#[derive(Clone, Debug)]
pub struct Jitter {
    clock: Clock,
    /// Second packets of pairs are left out. Equation 5.1 needs no such rule.
    skips_pairs: bool,
    spacing: Duration,
    /// Send time and arrival of the packet to compare with.
    last: Option<(Time, Time)>,
    /// Packets that arrived after that one, and whether one of them followed a loss.
    since: u32,
    broken: bool,
    interval: Option<Duration>,
}

impl Jitter {
    /// Jitters by this `clock`; with `skips_pairs` second packets of pairs give none if the clock is fine.
    /// With a `spacing` of zero each packet is compared with the one before, as the source has it.
    pub fn new(clock: Clock, skips_pairs: bool, spacing: Duration) -> Jitter {
        Jitter { clock, skips_pairs, spacing, last: None, since: 0, broken: false, interval: None }
    }

    /// A packet that left at `sent` by the sender's clock arrived at `arrived` by the receiver's. `behind` is
    /// true for the second packet of a pair whose first arrived just before. `missing` packets before it were
    /// lost. `service` is S/C, zero while C is unknown.
    pub fn on_packet(
        &mut self,
        sent: Time,
        arrived: Time,
        behind: bool,
        missing: u64,
        service: Duration,
    ) -> Option<Change> {
        self.since = self.since.saturating_add(1); // a spacing may never end: the sender says when it sent
        self.broken |= missing > 0;
        if behind && self.skips_pairs && self.clock == Clock::Fine {
            return None;
        }
        let Some((sent_before, arrived_before)) = self.last else {
            self.refer(sent, arrived);
            return None;
        };
        let least = match self.clock {
            Clock::Fine => i64::MIN,
            Clock::Coarse => i64::try_from(service.as_nanos()).unwrap_or(i64::MAX),
        };
        let jitter = signed(arrived, arrived_before).saturating_sub(signed(sent, sent_before).max(least));
        if sent.since(sent_before) < self.spacing {
            return Some(Change::Partial(jitter));
        }
        let successive = !self.broken && arrived >= arrived_before;
        let interval = Duration::from_nanos(arrived.since(arrived_before).as_nanos() / u64::from(self.since));
        self.interval = successive.then_some(interval);
        self.refer(sent, arrived);
        Some(Change::Whole(jitter))
    }

    /// The inter-arrival time that belongs to the last [`Change::Whole`], per packet (equation 3.7). `None`
    /// if packets between the two were lost: then they are not successive.
    pub fn interval(&self) -> Option<Duration> {
        self.interval
    }

    /// The next packets are compared with this one.
    fn refer(&mut self, sent: Time, arrived: Time) {
        (self.last, self.since, self.broken) = (Some((sent, arrived)), 0, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(us: u64) -> Time {
        Time::from_nanos(us * 1000)
    }

    #[test]
    fn jitter_is_the_change_of_queueing_delay() {
        let mut jitter = Jitter::new(Clock::Fine, true, Duration::ZERO);
        let mut of =
            |sent, arrived, behind| jitter.on_packet(at(sent), at(arrived), behind, 0, Duration::ZERO);
        assert_eq!(of(0, 40_000, false), None);
        assert_eq!(of(4000, 44_000, false), Some(Change::Whole(0)));
        assert_eq!(of(8000, 50_000, false), Some(Change::Whole(2_000_000))); // 2 ms queued
        assert_eq!(of(8000, 54_000, true), None); // a pair's second packet
        assert_eq!(of(16_000, 57_000, false), Some(Change::Whole(-1_000_000)));
        // Overtaken: sent before the one received before it.
        assert_eq!(of(12_000, 58_000, false), Some(Change::Whole(5_000_000)));
    }

    #[test]
    fn with_a_spacing_packets_are_compared_with_the_first_of_their_group() {
        let mut jitter = Jitter::new(Clock::Fine, true, Duration::from_millis(5));
        let mut of = |sent, arrived| jitter.on_packet(at(sent), at(arrived), false, 0, Duration::ZERO);
        assert_eq!(of(0, 40_000), None);
        assert_eq!(of(2000, 42_300), Some(Change::Partial(300_000)));
        assert_eq!(of(4000, 43_900), Some(Change::Partial(-100_000)));
        assert_eq!(of(6000, 46_200), Some(Change::Whole(200_000)));
        assert_eq!(of(5000, 46_300), Some(Change::Partial(1_100_000))); // overtaken
        assert_eq!(of(11_000, 51_200), Some(Change::Whole(0)));
    }

    #[test]
    fn an_interval_is_per_packet_and_only_between_successive_ones() {
        let run = |spacing: u64, packets: &[(u64, u64, u64)]| -> Vec<Option<u64>> {
            let mut jitter = Jitter::new(Clock::Fine, true, Duration::from_millis(spacing));
            let mut of = |&(sent, arrived, missing): &(u64, u64, u64)| {
                jitter.on_packet(at(1000 * sent), at(1000 * arrived), false, missing, Duration::ZERO);
                jitter.interval().map(|interval| interval.as_nanos() / 1_000_000)
            };
            packets.iter().map(&mut of).collect()
        };
        // 4 ms, 6 ms, a lost packet, 5 ms again.
        let packets = [(0, 40, 0), (4, 44, 0), (8, 50, 0), (16, 58, 1), (20, 63, 0)];
        assert_eq!(run(0, &packets), [None, Some(4), Some(6), None, Some(5)]);
        // With a spacing of 8 ms: (50 - 40) / 2 ms; then the pair with a loss in it; then one alone.
        assert_eq!(run(8, &packets), [None, None, Some(5), None, None]);
        assert_eq!(run(8, &[(0, 40, 0), (4, 44, 0), (8, 50, 0), (12, 54, 0), (16, 60, 0)])[4], Some(5));
    }

    #[test]
    fn a_group_that_never_ends_does_no_harm() {
        let mut jitter = Jitter::new(Clock::Fine, true, Duration::from_millis(20));
        jitter.on_packet(at(0), at(40_000), false, 0, Duration::ZERO);
        jitter.since = u32::MAX; // so many packets say that they left at the same time
        assert_eq!(
            jitter.on_packet(at(0), at(50_000), false, 0, Duration::ZERO),
            Some(Change::Partial(10_000_000))
        );
        jitter.on_packet(at(20_000), at(60_000), false, 0, Duration::ZERO);
        assert_eq!(jitter.interval(), Some(Duration::ZERO));
    }

    #[test]
    fn a_coarse_clock_takes_the_bottlenecks_spacing_for_granted() {
        // Three packets leave at one tick; the bottleneck spaces them by S/C = 4 ms.
        let service = Duration::from_millis(4);
        let run = |clock| {
            let mut jitter = Jitter::new(clock, true, Duration::ZERO);
            [(0, 44_000), (0, 48_000), (0, 52_000), (10_000, 56_000)]
                .map(|(sent, arrived)| jitter.on_packet(at(sent), at(arrived), false, 0, service))
                .map(|change| change.map(Change::nanos))
        };
        assert_eq!(run(Clock::Fine), [None, Some(4_000_000), Some(4_000_000), Some(-6_000_000)]);
        assert_eq!(run(Clock::Coarse), [None, Some(0), Some(0), Some(-6_000_000)]);
    }

    proptest! {
        #[test]
        fn the_sum_of_all_jitters_is_the_last_minus_the_first_queueing_delay(
            packets in proptest::collection::vec((0_u64..50_000, 0_u64..1_000_000), 2..100),
            offset in 0_u64..1 << 50, propagation in 0_u64..1 << 30, spacing in 0_u64..200_000,
        ) {
            let mut jitter = Jitter::new(Clock::Fine, true, Duration::from_nanos(spacing));
            let (mut sent, mut sum, mut rest) = (0, 0, 0);
            for &(gap, queued) in &packets {
                sent += gap;
                let arrived = Time::from_nanos(offset + sent + propagation + queued);
                match jitter.on_packet(Time::from_nanos(sent), arrived, false, 0, Duration::ZERO) {
                    Some(Change::Whole(jitter)) => (sum, rest) = (sum + jitter, 0),
                    Some(Change::Partial(jitter)) => rest = jitter,
                    None => {}
                }
            }
            prop_assert_eq!(sum + rest, packets[packets.len() - 1].1 as i64 - packets[0].1 as i64);
        }
    }
}
