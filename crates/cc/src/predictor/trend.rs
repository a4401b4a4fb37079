//! Sync-TCP: the trend of the delay.
//!
//! Source: M. Weigle, K. Jeffay, F. D. Smith, "Delay-based early congestion detection and adaptation in TCP",
//! Computer Communications 28(14), 2005. Nine averaged delays form three groups. The trend rises if the
//! medians of the groups rise. The paper measures one-way delays. Here they are round-trip times, with the
//! weight of TCP's own average.

use super::{Ewma, Predictor, Reading};

/// The number of averages for a trend, and the number per group.
const WINDOW: usize = 9;
const GROUP: usize = 3;

/// The predictor.
pub(super) struct SyncTcp {
    average: Ewma,
    /// The last averages, ns. The oldest is overwritten next.
    averages: [f64; WINDOW],
    taken: usize,
}

impl Default for SyncTcp {
    fn default() -> SyncTcp {
        SyncTcp { average: Ewma::new(0.875), averages: [0.0; WINDOW], taken: 0 }
    }
}

fn median(group: &[f64]) -> f64 {
    let mut sorted = [group[0], group[1], group[2]];
    sorted.sort_by(f64::total_cmp);
    sorted[1]
}

impl Predictor for SyncTcp {
    fn sense(&mut self, at: &Reading) -> bool {
        self.average.add(at.rtt);
        self.averages[self.taken % WINDOW] = self.average.nanos();
        self.taken += 1;
        if self.taken < WINDOW {
            return false;
        }
        let mut oldest_first = self.averages;
        oldest_first.rotate_left(self.taken % WINDOW);
        let mut medians = oldest_first.chunks(GROUP).map(median);
        let (first, last) = (medians.next(), medians.next_back());
        last > first
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;
    use super::*;

    #[test]
    fn a_rise_is_seen_and_a_fall_is_not() {
        let rising: Vec<_> = (0..20).map(|at| (60 + at, 1.0)).collect();
        let said = says(&mut SyncTcp::default(), &rising);
        assert_eq!(said.iter().position(|&high| high), Some(WINDOW - 1));
        assert!(said[WINDOW..].iter().all(|&high| high));
        let falling: Vec<_> = (0..20).map(|at| (90 - at, 1.0)).collect();
        assert!(!says(&mut SyncTcp::default(), &falling).contains(&true));
    }
}
