//! A list whose values are written where they stay: a packet that is pushed would be copied twice.

/// A list of so many values grows by a quarter. Others are doubled: they fit where another one was before.
const LARGE: usize = 1 << 15;
/// The least room, once there was a value.
pub(super) const LEAST: usize = 8;

/// Values, first come, first.
pub(super) struct Slots<T> {
    values: Vec<T>,
    used: usize,
}

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots { values: Vec::new(), used: 0 }
    }
}

impl<T: Copy + Default> Slots<T> {
    /// The place of one more value.
    #[inline(always)]
    pub(super) fn add(&mut self) -> &mut T {
        let place = self.used;
        self.used += 1;
        if place < self.values.len() { &mut self.values[place] } else { self.enlarge(place) }
    }

    #[cold]
    #[inline(never)]
    fn enlarge(&mut self, place: usize) -> &mut T {
        if place < LARGE {
            // Elsewhere: what grows where it is leaves pieces of memory behind that nobody can use.
            let mut values = Vec::with_capacity(place + place.max(LEAST));
            values.extend_from_slice(&self.values);
            self.values = values;
        } else {
            self.values.reserve_exact(place / 4);
        }
        self.values.resize(self.values.capacity(), T::default());
        &mut self.values[place]
    }

    /// Adds values.
    pub(super) fn extend(&mut self, more: &[T]) {
        self.values.truncate(self.used);
        self.values.extend_from_slice(more);
        self.used = self.values.len();
    }

    /// The values for which there is room.
    #[inline]
    pub(super) fn room(&self) -> usize {
        self.values.len()
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.used
    }

    #[inline]
    pub(super) fn all(&self) -> &[T] {
        &self.values[..self.used]
    }

    #[inline]
    pub(super) fn all_mut(&mut self) -> &mut [T] {
        &mut self.values[..self.used]
    }

    /// Removes the first values, up to this number of them.
    pub(super) fn remove(&mut self, number: usize) {
        self.values.copy_within(number..self.used, 0);
        self.used -= number;
    }

    /// Removes all values but the first ones, this many.
    pub(super) fn truncate(&mut self, number: usize) {
        self.used = number;
    }

    pub(super) fn clear(&mut self) {
        self.used = 0;
    }
}
