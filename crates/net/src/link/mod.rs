//! A link: a queue, a transmitter, and a propagation delay, in that order.

mod counters;
mod impaired;
mod line;
mod meter;
mod offer;
mod retransmission;
mod stepped;
mod variable;

pub use counters::Counters;
pub use impaired::Impairments;
pub use meter::{LinkMeter, LinkTally};
pub use retransmission::Retransmission;
pub use stepped::Settled;
pub(crate) use stepped::Steps;
pub use variable::{Schedule, Trace, VariableRate};

use crate::queue::{Limit, Queue};
use ackclock_units::{Duration, Rate, Time};
use counters::Counting;
use line::Line;
use offer::Course;

/// The fate of a packet that was offered to a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The packet arrives at the far end at this instant.
    Arrives(Time),
    /// The packet arrives at the far end twice, at this instant.
    ArrivesTwice(Time),
    /// The packet was corrupted. The host must [offer it again](Link::offer_again) at this instant.
    LinkRetry(Time),
    /// The packet waits in the link's own queue. The host must [hold](Link::hold) it at once; its fate is
    /// [decided](Link::settle) later.
    Queued,
    /// The packet is dropped.
    Dropped(Cause),
}

/// The reason why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The queue was full.
    Overflow,
    /// The AQM dropped the packet early.
    Early,
    /// The packet was lost at random.
    Error,
    /// The packet fell into an outage of the link.
    Outage,
    /// The packet was an ACK, and a newer one of its flow waits.
    Filtered,
}

/// A unidirectional link.
#[derive(Clone, Debug)]
pub struct Link {
    rate: Rate,
    delay: Duration,
    queue: Queue,
    /// The link's impairments. A link without any pays nothing for them.
    impairments: Option<Box<Impairments>>,
    /// The rate, if it changes; `rate` is its mean.
    variable: Option<Box<VariableRate>>,
    /// What may happen to a packet, and what the queue holds if only DropTail can happen.
    course: Course,
    limit: Limit,
    /// The instant at which the transmitter has finished everything that was admitted so far.
    free_at: Time,
    /// The fraction of a nanosecond by which `free_at` is early, in units of 1/rate ns. Less than `rate`.
    fraction: u64,
    /// The transmission time of the last packet size: (bytes, whole ns, remainder in units of 1/rate ns).
    transmission: (u32, u64, u64),
    /// The packets that wait. Kept only if the queue has a limit.
    waiting: Line,
    counters: Counting,
}

impl Link {
    /// A link with this `rate` and propagation `delay`, behind `queue`.
    pub fn new(rate: Rate, delay: Duration, queue: Queue) -> Link {
        Link {
            rate,
            delay,
            course: Course::of(&queue),
            limit: queue.limit().unwrap_or(Limit::Packets(u32::MAX)),
            queue,
            impairments: None,
            variable: None,
            free_at: Time::ZERO,
            fraction: 0,
            transmission: (0, 0, 0),
            waiting: Line::default(),
            counters: Counting::default(),
        }
    }

    /// The same link with `impairments`. Link-level retransmission does not work together with a
    /// dequeue-driven queue: there `retransmission` has no effect.
    pub fn with_impairments(self, impairments: Impairments) -> Link {
        let impairments = Some(Box::new(impairments));
        Link { impairments, course: Course::Judged, ..self }
    }

    /// Stops counting, if no packet can be dropped here. For links that nobody measures.
    pub fn leave_uncounted(&mut self) {
        if self.course == Course::Lossless {
            self.course = Course::Unseen;
        }
    }

    /// The rate of the transmitter; its mean if it changes.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// The propagation delay.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// The queue discipline.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// The impairments, if the link has any.
    pub fn impairments(&self) -> Option<&Impairments> {
        self.impairments.as_deref()
    }

    /// True if packets arrive in the order of the link's answers, and each once.
    pub fn keeps_order(&self) -> bool {
        self.impairments.as_ref().is_none_or(|impairments| impairments.keep_order())
    }

    /// True if packets may arrive at the same instant: those of one delivery opportunity.
    pub(crate) fn delivers_together(&self) -> bool {
        matches!(self.variable.as_deref(), Some(VariableRate::Trace(_)))
    }

    /// True if a packet's fate can be [`Fate::LinkRetry`].
    pub fn retransmits(&self) -> bool {
        let retransmission = self.impairments.as_ref().and_then(|it| it.retransmission.as_ref());
        retransmission.is_some() && !self.is_stepped()
    }

    /// True if a packet's fate can be [`Fate::ArrivesTwice`].
    pub fn duplicates(&self) -> bool {
        self.impairments.as_ref().is_some_and(|impairments| impairments.duplicate.is_some())
    }

    /// The instant at which the packet that was offered last leaves the transmitter. Valid only if it was
    /// admitted.
    pub fn departure(&self) -> Time {
        let kept = self.impairments.as_ref().and_then(|impairments| impairments.retransmission.as_ref());
        kept.map_or(self.free_at, |retransmission| retransmission.departed)
    }

    /// The counters since the link was made.
    pub fn counters(&self) -> Counters {
        self.counters.all()
    }

    /// Restarts the maximum of the queue length. A measuring window begins at `now`.
    pub fn forget_longest(&mut self, now: Time) {
        self.counters.longest = self.waiting(now).0;
    }

    /// The time for which the transmitter has been busy up to `now`.
    pub fn busy(&self, now: Time) -> Duration {
        Duration::from_nanos(self.counters.service_ns) - self.free_at.since(now)
    }

    /// The time that packets have waited up to `now`, summed over packets, in ns. Divided by a span, it is
    /// the mean queue length. In an unlimited queue, the packets that still wait count as if all had the size
    /// of the last one.
    pub fn waited_ns(&self, now: Time) -> u64 {
        if self.is_stepped() {
            return self.counters.waited_ns.saturating_add(self.waited_uncounted(now));
        }
        let still: u64 = if self.queue.is_unlimited() && self.variable.is_some() {
            // As many packets as can pass, and each waits for half of the time on the average.
            let packets =
                self.bytes_between(now, self.free_at.max(now)) / f64::from(self.transmission.0.max(1));
            (packets * self.free_at.since(now).as_nanos() as f64 / 2.0) as u64
        } else if self.queue.is_unlimited() {
            let (_, transmission, _) = self.transmission;
            let backlog = self.free_at.since(now).as_nanos();
            let count = backlog.checked_div(transmission).unwrap_or(0);
            // The last packet waits until one transmission before the end, the one before it until two, and
            // so on.
            let sum = u128::from(count) * u128::from(backlog)
                - u128::from(transmission) * (u128::from(count) * (u128::from(count) + 1) / 2);
            u64::try_from(sum).unwrap_or(u64::MAX)
        } else {
            let later = self.waiting.starts().take_while(|start| *start > now);
            later.fold(0, |sum, start| sum.saturating_add(start.since(now).as_nanos()))
        };
        self.counters.waited_ns.saturating_sub(still)
    }

    /// The packets and bytes that wait at `now`. For an unlimited queue only the bytes are known (packets are
    /// 0). They include the rest of the packet that is being transmitted.
    pub fn waiting(&mut self, now: Time) -> (u32, u64) {
        if self.queue.is_unlimited() {
            return (0, self.bytes_between(now, self.free_at.max(now)) as u64);
        }
        if let Some(queue) = self.stepped() {
            return (queue.pool().packets(), queue.pool().bytes());
        }
        self.follow_clock(now); // updates that were due see what waited then
        self.waiting.advance(now);
        (self.waiting.packets(), self.waiting.bytes())
    }

    /// Transmits a packet of the prepared size as soon as the transmitter is free. Returns the instant at
    /// which its last bit leaves.
    #[inline]
    fn transmit(&mut self, now: Time) -> Time {
        let (start, departure, service_ns) = self.serve(now);
        self.count_transmission(start.since(now), service_ns);
        departure
    }

    #[inline(always)]
    fn count_transmission(&mut self, waited: Duration, service_ns: u64) {
        // At 1 bit/s and without a limit even these sums can overflow.
        self.counters.waited_ns = self.counters.waited_ns.saturating_add(waited.as_nanos());
        self.counters.service_ns = self.counters.service_ns.saturating_add(service_ns);
    }

    /// Transmits a packet without counting it. Returns when its transmission begins and ends, and how long
    /// it takes, ns.
    #[inline(always)]
    fn serve(&mut self, now: Time) -> (Time, Time, u64) {
        let (_, mut whole, remainder) = self.transmission;
        if remainder > 0 {
            whole += self.carry(now, remainder);
        }
        let start = self.free_at.max(now);
        self.free_at = start + Duration::from_nanos(whole);
        (start, self.free_at, whole)
    }

    /// Carries fractions of a nanosecond over to the next packet of a busy period. So a busy link keeps
    /// exactly its rate, whatever the packet sizes.
    fn carry(&mut self, now: Time, remainder: u64) -> u64 {
        let left = if self.free_at > now { self.fraction } else { 0 };
        let sum = left + remainder;
        let whole = u64::from(sum >= self.rate.bps());
        self.fraction = sum - whole * self.rate.bps();
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DropTail, Limit, Loss, Rng};
    use proptest::prelude::*;

    const GIGABIT: Rate = Rate::from_bps(1_000_000_000);

    fn droptail(packets: u32) -> Queue {
        Queue::DropTail(DropTail::new(Limit::Packets(packets)))
    }

    fn offer(link: &mut Link, ns: u64) -> Option<u64> {
        match link.offer(Time::from_nanos(ns), &mut 1000_u32) {
            Fate::Arrives(at) => Some(at.as_nanos()),
            _ => None,
        }
    }

    #[test]
    fn serialises_then_propagates() {
        let mut link = Link::new(GIGABIT, Duration::from_micros(10), droptail(2));
        assert_eq!(offer(&mut link, 0), Some(18_000)); // 8 us on the wire, 10 us of propagation
        assert_eq!(offer(&mut link, 0), Some(26_000)); // waits
        assert_eq!(offer(&mut link, 0), Some(34_000)); // waits
        assert_eq!(offer(&mut link, 0), None); // two wait already
        assert_eq!(offer(&mut link, 8_000), Some(42_000)); // the second has begun, so there is room
        assert_eq!(link.counters().overflows, 1);
        assert_eq!(link.counters().longest, 2);
    }

    #[test]
    fn a_limit_in_bytes() {
        let queue = Queue::DropTail(DropTail::new(Limit::Bytes(1500)));
        let mut link = Link::new(GIGABIT, Duration::ZERO, queue);
        assert!(offer(&mut link, 0).is_some());
        assert!(offer(&mut link, 0).is_some());
        assert!(offer(&mut link, 0).is_none());
    }

    #[test]
    fn a_busy_link_keeps_its_rate_to_the_nanosecond() {
        // 1040 B at 2.4 Gbit/s are 3466.67 ns: three of them must take 10400 ns.
        let mut link = Link::new(Rate::from_bps(2_400_000_000), Duration::ZERO, Queue::Unlimited);
        let mut last = Time::ZERO;
        for _ in 0..3_000 {
            if let Fate::Arrives(at) = link.offer(Time::ZERO, &mut 1040_u32) {
                last = at;
            }
        }
        assert_eq!(last.as_nanos(), 10_400_000);
    }

    #[test]
    fn busy_time_counts_only_what_has_been_done() {
        let mut link = Link::new(GIGABIT, Duration::ZERO, droptail(10));
        offer(&mut link, 0);
        offer(&mut link, 0);
        assert_eq!(link.busy(Time::from_nanos(4_000)).as_nanos(), 4_000);
        assert_eq!(link.busy(Time::from_nanos(90_000)).as_nanos(), 16_000);
    }

    #[test]
    fn waiting_counts_only_up_to_now() {
        for queue in [droptail(10), Queue::Unlimited] {
            let mut link = Link::new(GIGABIT, Duration::ZERO, queue);
            for _ in 0..3 {
                offer(&mut link, 0); // 8 us each: they begin at 0, 8 and 16 us
            }
            let waited =
                [0, 4_000, 8_000, 12_000, 16_000, 90_000].map(|ns| link.waited_ns(Time::from_nanos(ns)));
            assert_eq!(waited, [0, 8_000, 16_000, 20_000, 24_000, 24_000]);
        }
    }

    #[test]
    fn nothing_overflows_at_one_bit_per_second() {
        let mut link = Link::new(Rate::from_bps(1), Duration::from_secs(1_000_000_000), Queue::Unlimited);
        for ns in 0..100_000 {
            offer(&mut link, ns);
        }
        assert!(link.busy(Time::from_nanos(1_000_000)).as_nanos() <= 1_000_000);
        link.waited_ns(Time::from_nanos(1_000_000));
    }

    /// The same link, simulated packet by packet in the obvious way.
    fn naive(arrivals: &[(u64, u32)], limit: usize) -> Vec<Option<u64>> {
        let mut departures: Vec<(u64, u64)> = Vec::new(); // (start, end)
        arrivals
            .iter()
            .map(|&(at, bytes)| {
                let waiting = departures.iter().filter(|(start, _)| *start > at).count();
                let free = departures.last().map_or(0, |&(_, end)| end);
                if free > at && waiting >= limit {
                    return None;
                }
                let start = free.max(at);
                departures.push((start, start + u64::from(bytes) * 8));
                departures.last().map(|&(_, end)| end)
            })
            .collect()
    }

    proptest! {
        #[test]
        fn agrees_with_the_naive_model(gaps in prop::collection::vec((0_u64..20_000, 1_u32..3000), 1..300), limit in 0_u32..8) {
            let mut at = 0;
            let arrivals: Vec<_> = gaps.iter().map(|&(gap, bytes)| { at += gap; (at, bytes) }).collect();
            let mut link = Link::new(GIGABIT, Duration::ZERO, droptail(limit));
            let computed: Vec<_> = arrivals.iter().map(|&(at, bytes)| {
                match link.offer(Time::from_nanos(at), &mut { bytes }) {
                    Fate::Arrives(at) => Some(at.as_nanos()),
                    _ => None,
                }
            }).collect();
            prop_assert_eq!(computed, naive(&arrivals, limit as usize));
        }

        #[test]
        fn arrivals_are_admitted_or_dropped(p in 0.0_f64..1.0, n in 1_u64..2000) {
            let loss = Some(Loss::new(p, Rng::new(n, "loss")));
            let impairments = Impairments { loss, ..Impairments::default() };
            let mut link = Link::new(GIGABIT, Duration::ZERO, droptail(5)).with_impairments(impairments);
            let admitted = (0..n).filter(|i| offer(&mut link, i * 6_000).is_some()).count() as u64;
            prop_assert_eq!(link.counters().arrivals, admitted + link.counters().drops());
        }
    }
}
