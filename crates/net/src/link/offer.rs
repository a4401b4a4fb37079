//! What happens to a packet that is offered to a link: most links have a queue that is either unlimited or
//! DropTail, and nothing else. They decide at once; everything else is decided out of their way.

use super::line::Line;
use super::{Cause, Fate, Link};
use crate::queue::{Backlog, Limit, Queue, Verdict};
use crate::{Ecn, Packet};
use ackclock_units::{Duration, Rate, Time};

/// What may happen to a packet on a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Course {
    /// Nothing, and nobody reads the counters: they stay zero.
    Unseen,
    /// Nothing: the queue is unlimited.
    Lossless,
    /// It is dropped if the queue is full.
    DropTail,
    /// A queue judges it, it may be impaired, or the rate changes.
    Judged,
}

impl Course {
    /// That of packets which only the queue may drop.
    pub(super) fn of(queue: &Queue) -> Course {
        match queue {
            Queue::Unlimited => Course::Lossless,
            Queue::DropTail(_) => Course::DropTail,
            _ => Course::Judged,
        }
    }
}

/// What a link reads of a packet, and whether it marks the packet. It stands for the packet where code is not
/// inlined, so that the packet itself stays in registers.
struct Header {
    bytes: u32,
    ecn: Ecn,
    marked: bool,
}

impl Header {
    /// Calls `offer` with the header of a packet.
    #[inline(always)]
    fn lend<P: Packet>(packet: &mut P, offer: impl FnOnce(&mut Header) -> Fate) -> Fate {
        let mut header = Header { bytes: packet.bytes(), ecn: packet.ecn(), marked: false };
        let fate = offer(&mut header);
        if header.marked {
            packet.mark();
        }
        fate
    }
}

impl Packet for Header {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark(&mut self) {
        self.marked = true;
    }
}

impl Link {
    /// Offers a packet at `now`, and returns its fate. `now` must not decrease from call to call.
    #[inline(always)] // the packet stays in registers
    pub fn offer<P: Packet>(&mut self, now: Time, packet: &mut P) -> Fate {
        let bytes = packet.bytes();
        self.size(bytes);
        if self.course == Course::Judged {
            return Header::lend(packet, |header| self.offer_to_judge(now, header));
        }
        if self.course == Course::Unseen {
            return Fate::Arrives(self.serve(now).1 + self.delay);
        }
        self.counters.arrivals += 1;
        if self.course == Course::DropTail && self.free_at > now {
            if self.overflows(now, bytes, self.limit) {
                return Fate::Dropped(Cause::Overflow);
            }
            self.line_up(now, bytes);
        }
        Fate::Arrives(self.transmit(now) + self.delay)
    }

    /// The same on a link at which packets of several sources do not meet. Mostly nothing happens there.
    #[inline(always)] // the packet stays in registers
    pub(crate) fn follow<P: Packet>(&mut self, now: Time, packet: &mut P) -> Fate {
        if self.course == Course::Unseen {
            self.size(packet.bytes());
            return Fate::Arrives(self.serve(now).1 + self.delay);
        }
        Header::lend(packet, |header| self.offer_apart(now, header))
    }

    #[inline(never)] // keeps this code away from links where nothing happens
    fn offer_apart(&mut self, now: Time, header: &mut Header) -> Fate {
        self.offer(now, header)
    }

    /// Offers a packet of the prepared size to a link on which more can happen than that the queue is full.
    #[inline(never)] // keeps this code away from DropTail
    fn offer_to_judge(&mut self, now: Time, header: &mut Header) -> Fate {
        self.counters.arrivals += 1;
        if self.impairments.is_some() || self.variable.is_some() {
            return self.offer_impaired(now, header);
        }
        match self.refuse(now, header) {
            Some(fate) => fate,
            None => Fate::Arrives(self.transmit(now) + self.delay),
        }
    }

    /// Prepares the transmission time of a packet of `bytes`.
    #[inline(always)]
    pub(super) fn size(&mut self, bytes: u32) {
        if bytes != self.transmission.0 {
            self.resize(bytes);
        }
    }

    #[inline(never)] // keeps the division away from packets of the same size
    fn resize(&mut self, bytes: u32) {
        self.transmission = transmission(bytes, self.rate);
    }

    /// Asks the queue about a packet. Returns its fate if the packet is not queued for transmission.
    #[inline]
    pub(super) fn refuse<P: Packet>(&mut self, now: Time, packet: &mut P) -> Option<Fate> {
        let bytes = packet.bytes();
        let refused = match self.queue {
            Queue::Unlimited => return None,
            Queue::DropTail(queue) => {
                // An idle transmitter takes the packet at once. Such a packet never waits.
                let full = self.free_at > now && self.overflows(now, bytes, queue.limit());
                full.then_some(Fate::Dropped(Cause::Overflow))
            }
            _ => self.judge(now, packet),
        };
        if refused.is_none() && self.free_at > now {
            self.line_up(now, bytes);
        }
        refused
    }

    /// True if the link's queue is DropTail and would drop a packet of `bytes` at `now`. Offers nothing.
    /// `now` must not decrease from call to call.
    pub fn is_full(&mut self, now: Time, bytes: u32) -> bool {
        let Queue::DropTail(queue) = self.queue else { return false };
        if self.free_at <= now {
            return false;
        }
        self.waiting.advance(now);
        !queue.limit().admits(bytes, self.waiting.packets(), self.waiting.bytes())
    }

    /// True if a packet finds the transmitter busy and the queue full. Counts it.
    #[inline(always)]
    fn overflows(&mut self, now: Time, bytes: u32, limit: Limit) -> bool {
        let admits = |waiting: &Line| limit.admits(bytes, waiting.packets(), waiting.bytes());
        // Packets whose transmission has begun are removed when it matters.
        if admits(&self.waiting) {
            return false;
        }
        self.waiting.advance(now);
        let full = !admits(&self.waiting);
        self.counters.overflows += u64::from(full);
        full
    }

    /// A packet that finds the transmitter busy is admitted.
    #[inline(always)]
    fn line_up(&mut self, now: Time, bytes: u32) {
        if self.waiting.packets() >= self.counters.longest {
            self.waiting.advance(now); // perhaps not so many wait any more
            self.counters.longest = self.counters.longest.max(self.waiting.packets() + 1);
        }
        self.waiting.push(self.free_at, bytes);
    }

    /// Asks an AQM about a packet. Does not queue the packet.
    #[inline(never)] // keeps this code away from DropTail
    fn judge<P: Packet>(&mut self, now: Time, packet: &mut P) -> Option<Fate> {
        self.follow_clock(now);
        self.waiting.advance(now);
        let backlog = self.backlog(now);
        match self.queue.judge(now, packet.bytes(), packet.ecn().is_capable(), &backlog) {
            Verdict::Enqueue => None,
            Verdict::Mark => {
                self.counters.others().marks += 1;
                packet.mark();
                None
            }
            Verdict::Overflow => {
                self.counters.overflows += 1;
                Some(Fate::Dropped(Cause::Overflow))
            }
            Verdict::Early => {
                self.counters.others().early += 1;
                Some(Fate::Dropped(Cause::Early))
            }
            Verdict::Wait => Some(Fate::Queued),
        }
    }

    /// Runs the periodic updates of the queue that were due up to `now`.
    pub(super) fn follow_clock(&mut self, now: Time) {
        while let Some(due) = self.queue.due().filter(|due| *due <= now) {
            self.waiting.advance(due);
            let backlog = self.backlog(due);
            if self.queue.renew(&backlog) {
                return self.queue.skip(now);
            }
        }
    }

    #[inline(always)]
    fn backlog(&self, now: Time) -> Backlog {
        Backlog {
            packets: self.waiting.packets(),
            bytes: self.waiting.bytes(),
            idle_since: (self.free_at <= now).then_some(self.free_at),
            transmission: Duration::from_nanos(self.transmission.1),
        }
    }
}

/// The transmission time of `bytes` in whole nanoseconds, and the remainder in units of 1/rate ns.
fn transmission(bytes: u32, rate: Rate) -> (u32, u64, u64) {
    let bit_nanos = u128::from(bytes) * 8_000_000_000;
    let rate = u128::from(rate.bps().max(1));
    // Only packets of 2 GiB and more at 1 bit/s exceed u64. They saturate.
    (bytes, u64::try_from(bit_nanos / rate).unwrap_or(u64::MAX), (bit_nanos % rate) as u64)
}
