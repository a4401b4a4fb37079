//! Outages: times in which a link carries nothing, and what it is given is lost.

use ackclock_units::{Duration, Time};
use std::sync::Arc;

/// The outages of a link, in order of time.
#[derive(Clone, Debug)]
pub struct Outages {
    /// Begin and end of each; they do not overlap.
    spans: Arc<[(Time, Time)]>,
    /// The first one that was not over when the link was last asked.
    next: usize,
}

impl Outages {
    /// Outages with these starts and lengths. They must be in order of time and must not overlap.
    pub fn new(spans: impl IntoIterator<Item = (Duration, Duration)>) -> Outages {
        let span = |(start, length): (Duration, Duration)| {
            let begin = Time::ZERO + start;
            (begin, begin + length)
        };
        Outages { spans: spans.into_iter().map(span).collect(), next: 0 }
    }

    /// True if there is an outage at `at`. `at` must not decrease from call to call.
    pub(crate) fn strikes(&mut self, at: Time) -> bool {
        while self.spans.get(self.next).is_some_and(|&(_, end)| end <= at) {
            self.next += 1;
        }
        self.spans.get(self.next).is_some_and(|&(begin, _)| begin <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_begins_at_its_start_and_is_over_at_its_end() {
        let ms = Duration::from_millis;
        let mut outages = Outages::new([(ms(10), ms(5)), (ms(15), ms(1)), (ms(40), ms(2))]);
        let struck: Vec<u64> = (0..50).filter(|&at| outages.strikes(Time::ZERO + ms(at))).collect();
        assert_eq!(struck, [10, 11, 12, 13, 14, 15, 40, 41]);
    }
}
