//! Duplicate acknowledgements, and how many of them tell of a loss.

/// The duplicates in a row.
pub(super) struct Duplicates {
    count: u32,
    /// So many tell of a loss, or so many SACKed segments above a hole; at least one.
    threshold: u32,
}

impl Duplicates {
    pub(super) fn new(threshold: u32) -> Duplicates {
        Duplicates { count: 0, threshold }
    }

    #[inline]
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn threshold(&self) -> u64 {
        u64::from(self.threshold)
    }

    /// An acknowledgement came: of new data, or a duplicate, or neither.
    #[inline]
    pub(super) fn on_ack(&mut self, of_new_data: bool, duplicate: bool) {
        self.count = if of_new_data { 0 } else { self.count + u32::from(duplicate) };
    }

    #[inline]
    pub(super) fn tell_of_a_loss(&self) -> bool {
        self.count >= self.threshold
    }

    #[inline]
    pub(super) fn forget(&mut self) {
        self.count = 0;
    }
}
