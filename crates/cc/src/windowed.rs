//! The exact maximum of recent values, without allocation. BBR's filters need it.
//!
//! Source: the windowed maximum of draft-ietf-ccwg-bbr-06 section 5.5.5 (K. Nichols). Linux keeps three
//! candidates and may forget the second best a little early. Here every value that can still become the
//! maximum is kept, one for each time.

/// A maximum over values with a time. A value counts while it is at most `keep` older than the newest one.
/// `N` is at least `keep + 1`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowedMax<const N: usize> {
    /// The candidates, from the largest and oldest to the smallest and newest.
    best: [(u64, f64); N],
    length: usize,
}

impl<const N: usize> WindowedMax<N> {
    pub(crate) const fn new() -> WindowedMax<N> {
        WindowedMax { best: [(0, 0.0); N], length: 0 }
    }

    /// The maximum; zero without a value.
    pub(crate) fn get(&self) -> f64 {
        if self.length == 0 { 0.0 } else { self.best[0].1 }
    }

    /// Adds `value` at `time`. Times must not decrease.
    pub(crate) fn add(&mut self, time: u64, value: f64, keep: u64) {
        debug_assert!((keep as usize) < N, "room for one value of each time");
        let expired = self.best[..self.length].iter().take_while(|(at, _)| time - at > keep).count();
        self.best.copy_within(expired..self.length, 0);
        self.length -= expired;
        // An older value that is not larger will never be the maximum again.
        while self.length > 0 && self.best[self.length - 1].1 <= value {
            self.length -= 1;
        }
        // Of several values at one time only the largest matters.
        if self.length == 0 || self.best[self.length - 1].0 < time {
            self.best[self.length] = (time, value);
            self.length += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn forgets_what_is_too_old() {
        let mut max = WindowedMax::<3>::new();
        assert_eq!(max.get(), 0.0);
        let mut add = |time, value| {
            max.add(time, value, 2);
            max.get()
        };
        assert_eq!(add(0, 10.0), 10.0);
        assert_eq!(add(1, 7.0), 10.0);
        assert_eq!(add(1, 8.0), 10.0);
        assert_eq!(add(2, 5.0), 10.0);
        assert_eq!(add(3, 4.0), 8.0); // 10 is three units old
        assert_eq!(add(4, 1.0), 5.0);
        assert_eq!(add(9, 0.5), 0.5);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn agrees_with_looking_at_all(
            values in prop::collection::vec((0u64..3, 0u32..20), 1..100),
            keep in 0u64..11,
        ) {
            let (mut max, mut all, mut time) = (WindowedMax::<11>::new(), Vec::new(), 0);
            for (step, value) in values {
                time += step;
                let value = f64::from(value);
                all.push((time, value));
                max.add(time, value, keep);
                let recent = all.iter().filter(|(at, _)| time - at <= keep);
                prop_assert_eq!(max.get(), recent.map(|it| it.1).fold(0.0, f64::max));
            }
        }
    }
}
