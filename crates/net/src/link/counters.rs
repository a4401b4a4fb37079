//! What is counted at a link.

/// What has happened at a link since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Packets offered, each once.
    pub arrivals: u64,
    /// Packets dropped because there was no room.
    pub overflows: u64,
    /// Packets dropped early by the queue's decision.
    pub early: u64,
    /// Packets lost at random.
    pub errors: u64,
    /// Packets delayed so that others may overtake them.
    pub late: u64,
    /// Packets that arrived twice.
    pub copies: u64,
    /// Corrupted packets that were corrected.
    pub corrected: u64,
    /// Transmissions of packets that had been corrupted before.
    pub resent: u64,
    /// Packets marked.
    pub marks: u64,
    /// Time that packets have spent or will spend waiting, summed over packets, ns: counted when they
    /// are admitted, or, where a queue decides when the transmitter is free, as it passes.
    pub waited_ns: u64,
    /// Time that the transmitter works or will work on what was admitted, ns.
    pub service_ns: u64,
    /// Most packets that ever waited.
    pub longest: u32,
}

impl Counters {
    /// Packets dropped, for whatever reason.
    pub fn drops(&self) -> u64 {
        self.overflows + self.early + self.errors
    }

    /// What has happened since these were `earlier`; the longest queue is that of the whole time.
    pub fn since(&self, earlier: &Counters) -> Counters {
        Counters {
            arrivals: self.arrivals - earlier.arrivals,
            overflows: self.overflows - earlier.overflows,
            early: self.early - earlier.early,
            errors: self.errors - earlier.errors,
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
