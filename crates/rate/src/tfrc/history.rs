//! The history of losses: which packets are lost, which losses begin a loss event, and how long the loss
//! intervals are.
//!
//! Source: RFC 5348 sections 5.1 to 5.3, and 6.3.1 for the first interval.
//!
//! What differs: a packet that arrives late, but before its loss is certain, fills its hole without moving
//! the interpolated times of its neighbours. A gap begins at most `MAX_EVENTS` loss events: more than the
//! average remembers.

use super::equation::Equation;
use super::intervals::Intervals;
use ackclock_units::{Duration, Time};
use std::collections::VecDeque;

/// Loss events of one gap.
const MAX_EVENTS: usize = 16;

/// Numbers that are missing, and the packets around them when they were first missed.
#[derive(Clone, Copy, Debug)]
struct Gap {
    first: u64,
    /// The number after the last one.
    end: u64,
    before: (u64, Time),
    after: (u64, Time),
}

impl Gap {
    /// T_loss: when `number` would have arrived (section 5.2).
    fn time(&self, number: u64) -> Time {
        let span = u128::from(self.after.1.since(self.before.1).as_nanos());
        let part = u128::from(number - self.before.0) * span / u128::from(self.after.0 - self.before.0);
        self.before.1 + Duration::from_nanos(part as u64) // at most the span
    }

    /// The first missing number whose time is later than `time`.
    fn first_after(&self, time: Time) -> Option<u64> {
        let span = u128::from(self.after.1.since(self.before.1).as_nanos());
        let part = u128::from(time.since(self.before.1).as_nanos());
        let numbers = u128::from(self.after.0 - self.before.0);
        let number = u128::from(self.before.0) + (part * numbers).checked_div(span)? + 1;
        let number = u64::try_from(number).ok()?.max(self.first);
        // Both divisions round down: the next number may be the first that is later.
        let number = if self.time(number) > time { number } else { number + 1 };
        (number < self.end).then_some(number)
    }
}

/// The history of losses.
#[derive(Clone, Debug)]
pub struct History {
    /// s, bytes.
    size: f64,
    /// NDUPACK: later packets that make a loss certain.
    reorder: usize,
    /// The highest numbers that have arrived, lowest first: at most `reorder`.
    top: VecDeque<u64>,
    /// The highest packet. `None` before the first.
    highest: Option<(u64, Time)>,
    /// Holes that are not certain yet, lowest first: at most `reorder`.
    gaps: VecDeque<Gap>,
    /// The first loss of the last loss event.
    event: Option<(u64, Time)>,
    intervals: Intervals,
}

impl History {
    /// No packet yet. Packets of `size` bytes; a loss is certain after `reorder` later packets (at least 1);
    /// intervals are discounted to no less than `least`.
    pub fn new(size: f64, reorder: usize, least: f64) -> History {
        History {
            size,
            reorder: reorder.max(1),
            top: VecDeque::new(),
            highest: None,
            gaps: VecDeque::new(),
            event: None,
            intervals: Intervals::new(least),
        }
    }

    /// p, the loss event rate.
    pub fn loss_event_rate(&self) -> f64 {
        self.intervals.loss_event_rate()
    }

    /// Packet `number` arrived, which is no duplicate; it carries the round-trip time `rtt`. `target`, bytes
    /// per second, is X_target, to which the first loss interval is fitted. True if there is a new loss
    /// event.
    pub fn on_packet(&mut self, now: Time, number: u64, rtt: Duration, target: f64) -> bool {
        let highest = *self.highest.get_or_insert((0, now));
        if number > highest.0 {
            if number > highest.0 + 1 {
                let after = (number, now);
                self.gaps.push_back(Gap { first: highest.0 + 1, end: number, before: highest, after });
            }
            self.highest = Some((number, now));
        } else {
            self.fill(number);
        }
        self.note(number);
        let mut new = false;
        while let Some(&gap) = self.gaps.front() {
            if self.top.len() < self.reorder || self.top.front().is_none_or(|&edge| gap.end > edge) {
                break;
            }
            self.gaps.pop_front();
            new |= self.lose(&gap, rtt, target);
        }
        if let (Some((first, _)), Some((highest, _))) = (self.event, self.highest) {
            self.intervals.grow((highest - first + 1) as f64); // section 5.3
        }
        new
    }

    /// A missing packet was only late.
    fn fill(&mut self, number: u64) {
        let Some(at) = self.gaps.iter().position(|gap| gap.first <= number && number < gap.end) else {
            return;
        };
        let gap = self.gaps[at];
        let (low, high) = (Gap { end: number, ..gap }, Gap { first: number + 1, ..gap });
        self.gaps.remove(at);
        for part in [high, low] {
            if part.first < part.end {
                self.gaps.insert(at, part);
            }
        }
    }

    /// Keeps the highest numbers.
    fn note(&mut self, number: u64) {
        if self.top.back().is_none_or(|&highest| highest < number) {
            self.top.push_back(number);
        } else {
            let at = self.top.iter().rposition(|&other| other < number).map_or(0, |below| below + 1);
            self.top.insert(at, number);
        }
        if self.top.len() > self.reorder {
            self.top.pop_front();
        }
    }

    /// The packets of `gap` are lost (section 5.2). True if a loss event began.
    fn lose(&mut self, gap: &Gap, rtt: Duration, target: f64) -> bool {
        let (mut number, mut new) = (gap.first, false);
        for _ in 0..MAX_EVENTS {
            if let Some((_, began)) = self.event
                && gap.time(number) <= began + rtt
            {
                let Some(later) = gap.first_after(began + rtt) else { break };
                number = later;
            }
            match self.event {
                None => self.intervals.begin(self.first_interval(rtt, target)),
                Some((first, _)) => self.intervals.close((number - first) as f64),
            }
            self.event = Some((number, gap.time(number)));
            new = true;
        }
        new
    }

    /// The interval at which the equation gives `target` (section 6.3.1).
    fn first_interval(&self, rtt: Duration, target: f64) -> f64 {
        1.0 / Equation::recommended(self.size, rtt).loss_event_rate(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// X_target at which the first interval is `packets` long.
    fn target(packets: f64) -> f64 {
        Equation::recommended(1000.0, RTT).throughput(1.0 / packets)
    }

    /// A history, and the packets at which it told of a loss event. Packets are 10 ms apart.
    fn after(numbers: impl IntoIterator<Item = u64>) -> (History, Vec<u64>) {
        let mut history = History::new(1000.0, 3, 1.0);
        let (mut events, mut now) = (Vec::new(), 0);
        for number in numbers {
            now = now.max(10 * number);
            if history.on_packet(at(now), number, RTT, target(50.0)) {
                events.push(number);
            }
        }
        (history, events)
    }

    #[test]
    fn a_loss_is_certain_after_three_later_packets_and_fits_the_first_interval() {
        let (history, events) = after((1..=13).filter(|&it| it != 10));
        assert_eq!(events, [13]);
        assert!((history.loss_event_rate() - 1.0 / 50.0).abs() < 1e-9);
        assert_eq!(after((1..=12).filter(|&it| it != 10)).0.loss_event_rate(), 0.0);
    }

    #[test]
    fn losses_within_a_round_trip_are_one_event() {
        // 10 and 20 are 100 ms apart: one event. 21 is later than that.
        let lost = |missing: &'static [u64]| after((1..=40).filter(|it| !missing.contains(it)));
        assert_eq!(lost(&[10, 15, 20]).1, [13]);
        let (history, events) = lost(&[10, 15, 20, 21]);
        assert_eq!(events, [13, 24]);
        // Intervals 50 and 11, and 20 packets since number 21: (50 + 11) / 2 is more than (11 + 20) / 2.
        assert!((history.loss_event_rate() - 2.0 / 61.0).abs() < 1e-9);
    }

    #[test]
    fn a_gap_that_is_longer_than_a_round_trip_has_several_events() {
        let (history, events) = after((1..=9).chain(40..=42));
        assert_eq!(events, [42]);
        // 10, 21 and 32 begin events; 11 packets since the last.
        assert_eq!(history.event, Some((32, at(320))));
        let wanted = (50.0 + 11.0 + 11.0) / 3.0;
        assert!((1.0 / history.loss_event_rate() - wanted).abs() < 1e-9);
    }

    #[test]
    fn a_late_packet_fills_its_hole() {
        let (history, events) = after([1, 2, 5, 4, 3, 6, 7, 8, 9]);
        assert_eq!((history.loss_event_rate(), events), (0.0, vec![]));
        let (_, events) = after([1, 2, 6, 4, 7, 8]); // 3 after 4, 6, 7; 5 after 6, 7, 8: one event
        assert_eq!(events, [7]);
    }

    #[test]
    fn a_lost_first_packet_is_an_event() {
        assert_eq!(after(2..=4).1, [4]);
    }

    proptest! {
        #[test]
        fn events_begin_more_than_a_round_trip_apart_and_gaps_are_few(
            steps in proptest::collection::vec((0_u64..40, 1_u64..60, any::<bool>()), 1..200),
            reorder in 1_usize..5,
        ) {
            let mut history = History::new(1000.0, reorder, 0.5);
            let (mut now, mut number, mut late, mut last) = (0, 0, Vec::new(), None);
            for (wait, ahead, back) in steps {
                now += wait;
                let arrived = match late.pop().filter(|_| back) {
                    Some(number) => number,
                    None => {
                        late.extend(number + 1..number + ahead);
                        number += ahead;
                        number
                    }
                };
                let new = history.on_packet(at(now), arrived, RTT, 1e5);
                prop_assert!(history.gaps.len() <= reorder && (0.0..=1.0).contains(&history.loss_event_rate()));
                prop_assert_eq!(new, history.event != last);
                if let (Some((before, began)), Some((after, then))) = (last, history.event)
                    && new
                {
                    prop_assert!(after > before && then > began + RTT);
                }
                last = history.event;
            }
        }
    }
}
