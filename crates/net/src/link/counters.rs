//! The counters of a link.

use super::Cause;

/// What a link has counted since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Packets offered to the link. A retransmission by the link does not count again.
    pub arrivals: u64,
    /// Packets dropped because the queue was full.
    pub overflows: u64,
    /// Packets dropped by the AQM before the queue was full.
    pub early: u64,
    /// Packets lost at random.
    pub errors: u64,
    /// Packets lost in outages.
    pub outages: u64,
    /// ACKs dropped because a newer one of their flow waits.
    pub filtered: u64,
    /// Packets that were delayed so that later ones may overtake them.
    pub late: u64,
    /// Packets that arrived twice.
    pub copies: u64,
    /// Corrupted packets that error correction repaired.
    pub corrected: u64,
    /// Transmissions of packets that were corrupted before (link-level retransmissions).
    pub resent: u64,
    /// Packets marked with CE.
    pub marks: u64,
    /// The waiting time in the queue, summed over packets, in ns. A computed queue adds a packet's whole
    /// waiting time when it admits the packet. A dequeue-driven queue adds the time as it passes.
    pub waited_ns: u64,
    /// The transmission time of all admitted packets, in ns.
    pub service_ns: u64,
    /// The largest number of packets that ever waited at the same time.
    pub longest: u32,
}

/// Counts what happens on a link. What happens on every link is at hand, and the rest elsewhere: tens of
/// thousands of links have none of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Counting {
    pub(super) arrivals: u64,
    pub(super) overflows: u64,
    pub(super) waited_ns: u64,
    pub(super) service_ns: u64,
    pub(super) longest: u32,
    others: Option<Box<Counters>>,
}

impl Counting {
    /// The counters of everything else.
    pub(super) fn others(&mut self) -> &mut Counters {
        self.others.get_or_insert_default()
    }

    /// All counters.
    pub(super) fn all(&self) -> Counters {
        let &Counting { arrivals, overflows, waited_ns, service_ns, longest, .. } = self;
        let others = self.others.as_deref().copied().unwrap_or_default();
        Counters { arrivals, overflows, waited_ns, service_ns, longest, ..others }
    }

    /// Counts so many drops.
    pub(super) fn add_drops(&mut self, cause: Cause, number: u64) {
        if number == 0 {
            return;
        }
        *match cause {
            Cause::Overflow => &mut self.overflows,
            Cause::Early => &mut self.others().early,
            Cause::Error => &mut self.others().errors,
            Cause::Outage => &mut self.others().outages,
            Cause::Filtered => &mut self.others().filtered,
        } += number;
    }
}

impl Counters {
    /// All packets dropped, whatever the cause.
    pub fn drops(&self) -> u64 {
        self.overflows + self.early + self.errors + self.outages + self.filtered
    }

    /// The difference between these counters and `earlier` ones. `longest` is not a difference: it stays the
    /// maximum of the whole time.
    pub fn since(&self, earlier: &Counters) -> Counters {
        Counters {
            arrivals: self.arrivals - earlier.arrivals,
            overflows: self.overflows - earlier.overflows,
            early: self.early - earlier.early,
            errors: self.errors - earlier.errors,
            outages: self.outages - earlier.outages,
            filtered: self.filtered - earlier.filtered,
            late: self.late - earlier.late,
            copies: self.copies - earlier.copies,
            corrected: self.corrected - earlier.corrected,
            resent: self.resent - earlier.resent,
            marks: self.marks - earlier.marks,
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
            service_ns: self.service_ns - earlier.service_ns,
            longest: self.longest,
        }
    }
}
