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

impl Counters {
    /// All packets dropped, whatever the cause.
    pub fn drops(&self) -> u64 {
        self.overflows + self.early + self.errors + self.outages + self.filtered
    }

    /// Counts so many drops.
    pub(super) fn add_drops(&mut self, cause: Cause, number: u64) {
        *match cause {
            Cause::Overflow => &mut self.overflows,
            Cause::Early => &mut self.early,
            Cause::Error => &mut self.errors,
            Cause::Outage => &mut self.outages,
            Cause::Filtered => &mut self.filtered,
        } += number;
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
