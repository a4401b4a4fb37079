//! Jitter: how much the travel time changed from one packet to the next, which is the change of queueing
//! delay.
//!
//! Source: S. Gaonkar, M.S. thesis, University of Illinois, 2003, section 3.3, equations 3.5 to 3.12; for
//! coarse clocks section 5.1, equation 5.1.
//!
//! What differs: the source does not say which packet is the previous one after a loss. Here it is the packet
//! *received* before. The second packet of a pair has the jitter S/C by its construction, so it is left out,
//! as a sample and as a reference, unless asked otherwise.

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

/// Computes jitters.
#[derive(Clone, Debug)]
pub struct Jitter {
    clock: Clock,
    /// Second packets of pairs are left out. Equation 5.1 needs no such rule.
    skips_pairs: bool,
    /// Send time and arrival of the packet before.
    last: Option<(Time, Time)>,
}

impl Jitter {
    /// Jitters by this `clock`; with `skips_pairs` second packets of pairs give none if the clock is fine.
    pub fn new(clock: Clock, skips_pairs: bool) -> Jitter {
        Jitter { clock, skips_pairs, last: None }
    }

    /// A packet that left at `sent` by the sender's clock arrived at `arrived` by the receiver's. `behind` is
    /// true for the second packet of a pair whose first arrived just before. `service` is S/C, zero while C
    /// is unknown. Returns the jitter in nanoseconds.
    pub fn on_packet(&mut self, sent: Time, arrived: Time, behind: bool, service: Duration) -> Option<i64> {
        if behind && self.skips_pairs && self.clock == Clock::Fine {
            return None;
        }
        let (sent_before, arrived_before) = self.last.replace((sent, arrived))?;
        let least = match self.clock {
            Clock::Fine => i64::MIN,
            Clock::Coarse => i64::try_from(service.as_nanos()).unwrap_or(i64::MAX),
        };
        Some(signed(arrived, arrived_before).saturating_sub(signed(sent, sent_before).max(least)))
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
        let mut jitter = Jitter::new(Clock::Fine, true);
        let none = Duration::ZERO;
        assert_eq!(jitter.on_packet(at(0), at(40_000), false, none), None);
        assert_eq!(jitter.on_packet(at(4000), at(44_000), false, none), Some(0));
        assert_eq!(jitter.on_packet(at(8000), at(50_000), false, none), Some(2_000_000)); // 2 ms queued
        assert_eq!(jitter.on_packet(at(8000), at(54_000), true, none), None); // a pair's second packet
        assert_eq!(jitter.on_packet(at(16_000), at(57_000), false, none), Some(-1_000_000));
        // Overtaken: sent before the one received before it.
        assert_eq!(jitter.on_packet(at(12_000), at(58_000), false, none), Some(5_000_000));
    }

    #[test]
    fn a_coarse_clock_takes_the_bottlenecks_spacing_for_granted() {
        // Three packets leave at one tick; the bottleneck spaces them by S/C = 4 ms.
        let service = Duration::from_millis(4);
        let run = |clock| {
            let mut jitter = Jitter::new(clock, true);
            [(0, 44_000), (0, 48_000), (0, 52_000), (10_000, 56_000)]
                .map(|(sent, arrived)| jitter.on_packet(at(sent), at(arrived), false, service))
        };
        assert_eq!(run(Clock::Fine), [None, Some(4_000_000), Some(4_000_000), Some(-6_000_000)]);
        assert_eq!(run(Clock::Coarse), [None, Some(0), Some(0), Some(-6_000_000)]);
    }

    proptest! {
        #[test]
        fn the_sum_of_all_jitters_is_the_last_minus_the_first_queueing_delay(
            packets in proptest::collection::vec((0_u64..50_000, 0_u64..1_000_000), 2..100),
            offset in 0_u64..1 << 50, propagation in 0_u64..1 << 30,
        ) {
            let mut jitter = Jitter::new(Clock::Fine, true);
            let (mut sent, mut sum) = (0, 0);
            for &(gap, queued) in &packets {
                sent += gap;
                let arrived = Time::from_nanos(offset + sent + propagation + queued);
                sum += jitter.on_packet(Time::from_nanos(sent), arrived, false, Duration::ZERO).unwrap_or(0);
            }
            prop_assert_eq!(sum, packets[packets.len() - 1].1 as i64 - packets[0].1 as i64);
        }
    }
}
