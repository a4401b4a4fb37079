//! Which rate is tried next. No clock, no I/O.

/// The interval is small enough if its upper end is above the lower one by less than this factor.
const FINE: f64 = 1.05;
/// The first rate, as a share of the greatest.
const FIRST: f64 = 1.0 / 64.0;
/// Below this nothing is tried, bit/s: a datagram every fifth of a second.
const LEAST: f64 = 64_000.0;

/// What is known of the rate at which losses begin, bit/s.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Rates {
    most: f64,
    /// The greatest rate without losses.
    pub(crate) clean: Option<f64>,
    /// The smallest rate with losses.
    pub(crate) lossy: Option<f64>,
}

impl Rates {
    /// Nothing is known. `most` is the greatest rate that may be tried.
    pub(super) fn new(most: f64) -> Rates {
        Rates { most, clean: None, lossy: None }
    }

    /// The rate to try next; `None` if enough is known.
    pub(super) fn next(&self) -> Option<f64> {
        match (self.clean, self.lossy) {
            (None, None) => Some((self.most * FIRST).max(LEAST.min(self.most))),
            (Some(clean), None) => (clean < self.most).then(|| (clean * 2.0).min(self.most)),
            (None, Some(lossy)) => (lossy / 2.0 >= LEAST).then_some(lossy / 2.0),
            (Some(clean), Some(lossy)) => (lossy > clean * FINE).then(|| (lossy * clean).sqrt()),
        }
    }

    /// A round at this rate had losses, or none. A clean rate above a lossy one tells that the path has
    /// changed, or that the losses were an accident: the interval stays in order.
    pub(super) fn tell(&mut self, rate: f64, clean: bool) {
        let (low, high) = (self.clean.unwrap_or(0.0), self.lossy.unwrap_or(f64::INFINITY));
        if clean && rate < high {
            self.clean = Some(rate.max(low));
        } else if !clean && rate > low {
            self.lossy = Some(rate.min(high));
        }
    }

    /// This host sends no faster.
    pub(super) fn limit(&mut self, rate: f64) {
        self.most = self.most.min(rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Searches a path of this capacity: what is known at the end, and the number of rounds.
    fn searched(most: f64, capacity: f64) -> (Rates, usize) {
        let (mut rates, mut rounds) = (Rates::new(most), 0);
        while let Some(rate) = rates.next() {
            assert!(rate <= most && rounds < 40, "{rate} {rates:?}");
            rates.tell(rate, rate <= capacity);
            rounds += 1;
        }
        (rates, rounds)
    }

    #[test]
    fn seven_doublings_and_four_halvings() {
        let (rates, rounds) = searched(640e6, 350e6);
        // 10, 20, ... 320, 640; then 452.5, 380.5, 349.0, 364.4.
        assert_eq!(rounds, 11);
        let (clean, lossy) = (rates.clean.expect("there is one"), rates.lossy.expect("there is one"));
        assert!((348e6..350e6).contains(&clean) && (364e6..366e6).contains(&lossy), "{rates:?}");
    }

    #[test]
    fn a_path_that_carries_everything_or_nothing() {
        let (rates, rounds) = searched(100e6, 1e9);
        assert_eq!((rates.clean, rates.lossy, rounds), (Some(100e6), None, 7));
        let (rates, _) = searched(100e6, 1e3);
        assert_eq!(rates.clean, None);
        assert!(rates.lossy.is_some_and(|it| it < 130e3), "{rates:?}");
        let mut limited = Rates::new(100e6);
        limited.tell(50e6, true);
        limited.limit(50e6);
        assert_eq!(limited.next(), None, "faster than this host can");
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_capacity(most in 1e5f64..1e10, share in 0.001f64..2.0) {
            let capacity = (most * share).max(130e3);
            let (rates, rounds) = searched(most, capacity);
            prop_assert!(rounds <= 30);
            let clean = rates.clean.expect("the least rate is clean");
            prop_assert!(clean <= capacity);
            match rates.lossy {
                Some(lossy) => prop_assert!(lossy > capacity && lossy <= clean * FINE),
                None => prop_assert!(clean == most),
            }
        }

        /// Whatever is told, the interval stays in order, and the search ends or narrows it.
        #[test]
        fn lies_do_no_harm(told in prop::collection::vec(any::<bool>(), 60)) {
            let mut rates = Rates::new(1e9);
            for clean in told {
                let Some(rate) = rates.next() else { break };
                rates.tell(rate, clean);
                if let (Some(clean), Some(lossy)) = (rates.clean, rates.lossy) {
                    prop_assert!(clean < lossy);
                }
            }
            prop_assert_eq!(rates.next(), None);
        }
    }
}
