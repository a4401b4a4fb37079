//! Transmitters whose rate changes: a schedule of rates, or a trace of delivery opportunities.
//!
//! A link is computed all the same: when a packet's turn has come, its departure follows from the schedule or
//! the trace. Both give the answer in closed form, however long the link was idle or a packet takes.

use super::Link;
use super::offer::Course;
use ackclock_units::{Duration, Rate, Time};
use std::sync::Arc;

/// A rate that changes with time.
#[derive(Clone, Debug)]
pub enum VariableRate {
    /// Constant rates one after the other.
    Schedule(Schedule),
    /// Delivery opportunities.
    Trace(Trace),
}

impl VariableRate {
    /// The mean over `duration`; of what repeats, over a period.
    pub fn mean(&self, duration: Duration) -> Rate {
        let over = match self {
            VariableRate::Schedule(schedule) => schedule.period.unwrap_or(duration),
            VariableRate::Trace(trace) => Duration::from_nanos(trace.period),
        };
        Rate::from_bps((self.bits_between(Time::ZERO, Time::ZERO + over) / over.as_secs_f64()) as u64)
    }

    /// The same with this share of all rates.
    pub fn scaled(&self, share: f64) -> VariableRate {
        match self {
            VariableRate::Schedule(schedule) => {
                let scaled = |step: &Step| {
                    let rate = (step.bps as f64 * share) as u64;
                    (Duration::from_nanos(step.from), Rate::from_bps(rate))
                };
                VariableRate::Schedule(Schedule::new(schedule.steps.iter().map(scaled), schedule.period))
            }
            VariableRate::Trace(trace) => {
                let bytes = ((f64::from(trace.bytes) * share) as u32).max(1);
                VariableRate::Trace(Trace { bytes, ..trace.clone() })
            }
        }
    }

    /// The bits that can pass between two instants.
    fn bits_between(&self, from: Time, to: Time) -> f64 {
        let (from, to) = (from.as_nanos(), to.as_nanos().max(from.as_nanos()));
        match self {
            VariableRate::Schedule(it) => (it.sent_by(to) - it.sent_by(from)) as f64 * 1e-9,
            VariableRate::Trace(it) => {
                let passed = |ns: u64| it.first_from(ns.saturating_add(1));
                (passed(to) - passed(from)) as f64 * f64::from(it.bytes) * 8.0
            }
        }
    }
}

/// Constant rates one after the other. The last one lasts for ever, or all of them repeat.
#[derive(Clone, Debug)]
pub struct Schedule {
    steps: Arc<[Step]>,
    period: Option<Duration>,
    /// What can be sent in a period, in units of 1e-9 bit: a rate in bit/s times a time in ns.
    per_period: u128,
    /// What the last packet lacks at its departure, which is rounded down to whole nanoseconds. Less than a
    /// nanosecond at the rate of that instant. The next packet of a busy period sends it, too.
    owed: u128,
}

/// A rate from an instant on.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Nanoseconds since the start of the period.
    from: u64,
    bps: u64,
    /// What can be sent in the period before this, in units of 1e-9 bit.
    before: u128,
}

impl Schedule {
    /// These rates, each from its start on. The first start must be zero, and starts must rise. With
    /// `period`, which must be later than the last start, everything repeats. A rate of zero sends nothing.
    pub fn new(rates: impl IntoIterator<Item = (Duration, Rate)>, period: Option<Duration>) -> Schedule {
        let mut steps: Vec<Step> = Vec::new();
        for (from, rate) in rates {
            let before = steps.last().map_or(0, |last| last.sent_by(from.as_nanos()));
            steps.push(Step { from: from.as_nanos(), bps: rate.bps(), before });
        }
        let per_period = steps.last().zip(period).map_or(0, |(last, period)| last.sent_by(period.as_nanos()));
        Schedule { steps: steps.into(), period, per_period, owed: 0 }
    }

    /// What can be sent in `ns` nanoseconds from the start on, in units of 1e-9 bit.
    fn sent_by(&self, ns: u64) -> u128 {
        let (periods, within) = match self.period.map(Duration::as_nanos) {
            Some(period) => (ns / period, ns % period),
            None => (0, ns),
        };
        let step = self.steps.partition_point(|step| step.from <= within).checked_sub(1);
        let sent = step.map_or(0, |step| self.steps[step].sent_by(within));
        u128::from(periods) * self.per_period + sent
    }

    /// The first instant by which `wanted` can be sent, ns. `wanted` is not zero.
    fn time_of(&self, wanted: u128) -> u64 {
        let (periods, rest) = match self.period {
            Some(_) if self.per_period > 0 => {
                let periods = (wanted - 1) / self.per_period;
                (periods, wanted - periods * self.per_period)
            }
            _ => (0, wanted),
        };
        let period = self.period.map_or(0, |period| u128::from(period.as_nanos()));
        // The last step before which less was sent: it sends the rest.
        let step = self.steps.partition_point(|step| step.before < rest).checked_sub(1);
        let Some(step) = step.map(|step| self.steps[step]).filter(|step| step.bps > 0) else {
            return u64::MAX; // the rate stays zero
        };
        let within = u128::from(step.from) + (rest - step.before).div_ceil(u128::from(step.bps));
        u64::try_from(periods * period + within).unwrap_or(u64::MAX)
    }

    /// The departure of a packet that begins at `start`, right behind another one or not.
    fn serve(&mut self, start: Time, continues: bool, bytes: u32) -> Time {
        let owed = if continues { self.owed } else { 0 };
        let wanted = self.sent_by(start.as_nanos()) + owed + u128::from(bytes) * 8_000_000_000;
        let last = self.time_of(wanted.max(1));
        let departure = if self.sent_by(last) > wanted { last - 1 } else { last };
        self.owed = wanted.saturating_sub(self.sent_by(departure));
        Time::from_nanos(departure)
    }
}

impl Step {
    /// What can be sent in a period up to an instant in this step, in units of 1e-9 bit.
    fn sent_by(&self, ns: u64) -> u128 {
        self.before + u128::from(ns - self.from) * u128::from(self.bps)
    }
}

/// A trace of delivery opportunities, as those of Mahimahi (Netravali et al., "Mahimahi: Accurate
/// Record-and-Replay for HTTP", USENIX ATC 2015): an opportunity delivers up to 1500 bytes of what waits, of
/// one packet or of several. What nothing waits for is lost. At its end the trace repeats.
#[derive(Clone, Debug)]
pub struct Trace {
    /// When the opportunities come, ms. They do not fall; the last one ends the period.
    at_ms: Arc<[u32]>,
    /// ns
    period: u64,
    /// Bytes of an opportunity.
    bytes: u32,
    /// The number of the first opportunity that was not used yet, over all periods.
    next: u64,
    /// When the opportunity before that comes, and the bytes that are left of it.
    current: (Time, u32),
}

/// The bytes that an opportunity delivers.
const OPPORTUNITY: u32 = 1500;
const MS: u64 = 1_000_000;

impl Trace {
    /// A trace with opportunities at these times, ms. They must not fall, and the last one must not be zero.
    pub fn new(at_ms: impl Into<Arc<[u32]>>) -> Trace {
        let at_ms = at_ms.into();
        let period = u64::from(at_ms.last().copied().unwrap_or(1)) * MS;
        Trace { at_ms, period, bytes: OPPORTUNITY, next: 0, current: (Time::ZERO, 0) }
    }

    /// The opportunities of a period, ms.
    pub fn opportunities_ms(&self) -> &[u32] {
        &self.at_ms
    }

    /// The time of an opportunity, ns.
    fn time_of(&self, number: u64) -> u64 {
        let length = self.at_ms.len() as u64;
        let within = u64::from(self.at_ms[(number % length) as usize]) * MS;
        (number / length).saturating_mul(self.period).saturating_add(within)
    }

    /// The number of the first opportunity that does not come before `ns`.
    fn first_from(&self, ns: u64) -> u64 {
        // The end of a period belongs to it, and the start of the next one comes after it.
        let periods = ns.saturating_sub(1) / self.period;
        let within = ns - periods * self.period;
        let before = self.at_ms.partition_point(|&at| u64::from(at) * MS < within);
        periods * self.at_ms.len() as u64 + before as u64
    }

    /// The departure of a packet whose turn comes at `start`.
    fn serve(&mut self, start: Time, bytes: u32) -> Time {
        let (mut at, mut left) = self.current;
        if at < start {
            left = 0;
            self.next = self.next.max(self.first_from(start.as_nanos()));
        }
        let mut wanted = bytes;
        loop {
            let taken = wanted.min(left);
            (wanted, left) = (wanted - taken, left - taken);
            if wanted == 0 {
                break;
            }
            (at, left) = (Time::from_nanos(self.time_of(self.next)), self.bytes);
            self.next += 1;
        }
        self.current = (at, left);
        at.max(start)
    }
}

impl Link {
    /// The same link with a transmitter whose rate changes. [`Link::rate`] stays as it is: it should be the
    /// mean.
    pub fn with_variable_rate(self, rate: VariableRate) -> Link {
        Link { variable: Some(Box::new(rate)), course: Course::Judged, ..self }
    }

    /// The changing rate, if it does change.
    pub fn variable_rate(&self) -> Option<&VariableRate> {
        self.variable.as_deref()
    }

    /// The mean rate between two instants, bit/s.
    pub(super) fn mean_bps(&self, from: Time, to: Time) -> f64 {
        match &self.variable {
            Some(variable) => variable.bits_between(from, to) / to.since(from).as_secs_f64(),
            None => self.rate.bps_f64(),
        }
    }

    /// The bytes that can pass between two instants.
    pub(super) fn bytes_between(&self, from: Time, to: Time) -> f64 {
        match &self.variable {
            Some(variable) => variable.bits_between(from, to) / 8.0,
            None => self.rate.bytes_in(to.since(from)),
        }
    }

    /// Transmits a packet of the prepared size as soon as the transmitter is free, whether or not its rate
    /// changes. Returns the instant at which its last bit leaves.
    pub(super) fn transmit_at_any_rate(&mut self, now: Time) -> Time {
        let Some(variable) = &mut self.variable else { return self.transmit(now) };
        let start = self.free_at.max(now);
        let bytes = self.transmission.0;
        let departure = match &mut **variable {
            VariableRate::Schedule(schedule) => schedule.serve(start, self.free_at > now, bytes),
            VariableRate::Trace(trace) => trace.serve(start, bytes),
        };
        self.free_at = departure;
        self.count_transmission(start.since(now), departure.since(start).as_nanos());
        departure
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DropTail, Fate, Limit, Queue};
    use proptest::prelude::*;

    const NEVER: u64 = u64::MAX;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn mbit(mbit: u64) -> Rate {
        Rate::from_bps(mbit * 1_000_000)
    }

    fn schedule(rates: &[(u64, u64)], period: Option<u64>) -> VariableRate {
        let rates = rates.iter().map(|&(at, rate)| (ms(at), mbit(rate)));
        VariableRate::Schedule(Schedule::new(rates, period.map(ms)))
    }

    fn link(rate: VariableRate) -> Link {
        let queue = Queue::DropTail(DropTail::new(Limit::Packets(1000)));
        Link::new(mbit(1), Duration::ZERO, queue).with_variable_rate(rate)
    }

    /// The arrivals of packets that are offered at these times, in ns.
    fn carry(link: &mut Link, offers: &[(u64, u32)]) -> Vec<u64> {
        let offer = |&(at, bytes): &(u64, u32)| match link.offer(Time::from_nanos(at), &mut { bytes }) {
            Fate::Arrives(at) => at.as_nanos(),
            other => panic!("{other:?}"),
        };
        offers.iter().map(offer).collect()
    }

    fn carried_ms(rate: VariableRate, offers: &[(u64, u32)]) -> Vec<f64> {
        let offers: Vec<_> = offers.iter().map(|&(at, bytes)| (at * MS, bytes)).collect();
        carry(&mut link(rate), &offers).into_iter().map(|ns| ns as f64 / 1e6).collect()
    }

    #[test]
    fn a_packet_is_sent_at_the_rates_of_its_time() {
        // 1000 B take 1 ms at 8 Mbit/s and 4 ms at 2 Mbit/s.
        let rate = || schedule(&[(0, 8), (10, 2), (20, 0), (50, 8)], None);
        assert_eq!(carried_ms(rate(), &[(0, 1000), (0, 1000), (9, 2000)]), [1.0, 2.0, 14.0]);
        // 1.5 ms at the lower rate are left when the pause begins: 0.375 ms at the higher one.
        assert_eq!(carried_ms(rate(), &[(17, 1125), (30, 1000)]), [50.375, 51.375]);
        assert_eq!(carried_ms(rate(), &[(16, 1000), (16, 1000)]), [20.0, 51.0]);
    }

    #[test]
    fn a_schedule_repeats() {
        let rate = || schedule(&[(0, 8), (10, 0)], Some(20));
        assert_eq!(carried_ms(rate(), &[(9, 1000), (9, 1000), (1_000_015, 1000)]), [10.0, 21.0, 1_000_021.0]);
        // Twelve whole periods and 5 ms: 125 kB.
        assert_eq!(carried_ms(rate(), &[(0, 125_000)]), [245.0]);
    }

    #[test]
    fn a_link_that_stays_silent_never_sends() {
        let mut link = link(schedule(&[(0, 8), (10, 0)], None));
        let arrivals = carry(&mut link, &[(0, 1000), (10 * MS, 1000), (20 * MS, 1000)]);
        assert_eq!(arrivals, [MS, NEVER, NEVER]);
        assert_eq!(link.busy(Time::from_nanos(30 * MS)), ms(21));
        assert_eq!(link.waiting(Time::from_nanos(30 * MS)), (1, 1000));
    }

    #[test]
    fn the_mean_is_over_a_period_or_the_run() {
        assert_eq!(schedule(&[(0, 8), (10, 0)], Some(40)).mean(ms(7)), mbit(2));
        assert_eq!(schedule(&[(0, 11), (50, 2)], None).mean(ms(100)).bps(), 6_500_000);
        assert_eq!(VariableRate::Trace(Trace::new([1, 2, 2, 6])).mean(ms(1)), mbit(8));
        assert_eq!(VariableRate::Trace(Trace::new([1, 2, 2, 6])).scaled(0.5).mean(ms(1)), mbit(4));
        assert_eq!(schedule(&[(0, 8), (10, 0)], Some(40)).scaled(0.5).mean(ms(7)), mbit(1));
    }

    #[test]
    fn an_opportunity_delivers_1500_bytes_of_what_waits() {
        let trace = || VariableRate::Trace(Trace::new([2, 2, 5, 10]));
        // Three ACKs and a part of a packet in the first opportunity; the rest of that in the second one.
        let offers = [(0, 40), (0, 40), (0, 40), (0, 1500), (0, 1500), (0, 1500)];
        assert_eq!(carried_ms(trace(), &offers), [2.0, 2.0, 2.0, 2.0, 5.0, 10.0]);
        // What is left of an opportunity is lost if nothing waits; the trace repeats after 10 ms.
        assert_eq!(carried_ms(trace(), &[(1, 40), (3, 1500), (6, 100), (11, 1500)]), [2.0, 5.0, 10.0, 12.0]);
        assert_eq!(carried_ms(trace(), &[(1_000_005, 1500)]), [1_000_005.0]);
        assert_eq!(carried_ms(trace(), &[(10, 1500), (10, 3000)]), [10.0, 12.0]);
    }

    #[test]
    fn an_opportunity_at_zero_comes_with_that_at_the_end() {
        let trace = VariableRate::Trace(Trace::new([0, 4]));
        let offers = [(0, 1500), (0, 1500), (0, 1500), (0, 1500)];
        assert_eq!(carried_ms(trace, &offers), [0.0, 4.0, 4.0, 8.0]);
    }

    #[test]
    fn samples_have_the_rate_of_their_time() {
        let mut link = link(schedule(&[(0, 8), (10, 2)], None));
        let mut meter = crate::LinkMeter::default();
        carry(&mut link, &[(0, 1000), (0, 19_000)]);
        assert_eq!(meter.look(Time::from_nanos(10 * MS), ms(10), &mut link).1, 8e6);
        assert_eq!(meter.look(Time::from_nanos(20 * MS), ms(10), &mut link).1, 2e6);
    }

    /// Departures, found by walking from nanosecond-exact step to step with fractions of a bit.
    fn naive(rates: &[(u64, u64)], period: u64, offers: &[(u64, u32)]) -> Vec<f64> {
        let rate_at = |ns: f64| {
            let within = ns % period as f64;
            let step = rates.iter().rposition(|&(from, _)| from as f64 <= within).expect("from zero on");
            let end = rates.get(step + 1).map_or(period, |&(from, _)| from);
            (rates[step].1 as f64, ns - within + end as f64)
        };
        let mut free = 0.0_f64;
        let depart = |&(at, bytes): &(u64, u32)| {
            let mut now = free.max(at as f64);
            let mut left = f64::from(bytes) * 8e9;
            loop {
                let (rate, end) = rate_at(now);
                if rate > 0.0 && now + left / rate <= end {
                    free = now + left / rate;
                    return free;
                }
                left -= rate * (end - now);
                now = end;
            }
        };
        offers.iter().map(depart).collect()
    }

    fn offers() -> impl Strategy<Value = Vec<(u64, u32)>> {
        prop::collection::vec((0_u64..4_000_000, 40_u32..1500), 1..150).prop_map(|gaps| {
            let mut at = 0;
            gaps.into_iter()
                .map(|(gap, bytes)| {
                    at += gap;
                    (at, bytes)
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn one_rate_is_the_same_as_a_constant_one(bps in 1_u64..3_000_000_000, offers in offers()) {
            let rate = Rate::from_bps(bps);
            let queue = || Queue::DropTail(DropTail::new(Limit::Packets(1000)));
            let mut constant = Link::new(rate, ms(3), queue());
            for period in [None, Some(ms(7))] {
                let one = VariableRate::Schedule(Schedule::new([(Duration::ZERO, rate)], period));
                let mut variable = Link::new(rate, ms(3), queue()).with_variable_rate(one);
                prop_assert_eq!(carry(&mut constant.clone(), &offers), carry(&mut variable, &offers));
            }
            carry(&mut constant, &offers);
        }

        #[test]
        fn a_schedule_agrees_with_walking_it(
            spans in prop::collection::vec((1_u64..5_000_000, prop_oneof![Just(0_u64), 1_000_000_u64..50_000_000]), 1..8),
            offers in offers(),
        ) {
            let mut at = 0;
            let mut rates: Vec<(u64, u64)> = vec![(0, 5_000_000)];
            rates.extend(spans.iter().map(|&(span, rate)| { at += span; (at, rate) }));
            let period = at + 1_000_000;
            let of = rates.iter().map(|&(at, bps)| (Duration::from_nanos(at), Rate::from_bps(bps)));
            let schedule = Schedule::new(of, Some(Duration::from_nanos(period)));
            let computed = carry(&mut link(VariableRate::Schedule(schedule)), &offers);
            for (computed, walked) in computed.iter().zip(naive(&rates, period, &offers)) {
                // Departures are rounded down to whole nanoseconds. A pause may lie in between.
                let close = (*computed as f64 - walked).abs() < 3.0;
                let paused = rates.iter().any(|&(_, bps)| bps == 0) && *computed as f64 <= walked;
                prop_assert!(close || paused, "{} {}", computed, walked);
            }
        }

        #[test]
        fn a_trace_agrees_with_stepping_through_it(
            gaps in prop::collection::vec(0_u32..5, 1..30), offers in offers(),
        ) {
            let mut at = 0;
            let mut times: Vec<u32> = gaps.iter().map(|gap| { at += gap; at }).collect();
            times.push(at + 1);
            let computed = carry(&mut link(VariableRate::Trace(Trace::new(times.clone()))), &offers);
            // One opportunity after the other, for the packets that have come by then.
            let (mut departures, mut left) = (Vec::new(), offers[0].1);
            'trace: for period in 0.. {
                for &at in &times {
                    let now = (period * u64::from(*times.last().expect("one")) + u64::from(at)) * MS;
                    let mut bytes = 1500;
                    while bytes > 0 && departures.len() < offers.len() && offers[departures.len()].0 <= now {
                        let taken = left.min(bytes);
                        (left, bytes) = (left - taken, bytes - taken);
                        if left == 0 {
                            departures.push(now);
                            match offers.get(departures.len()) {
                                Some(&(_, next)) => left = next,
                                None => break 'trace,
                            }
                        }
                    }
                }
            }
            prop_assert_eq!(computed, departures);
        }
    }
}
