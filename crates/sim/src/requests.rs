//! What an application asks of a flow: transfers one after the other, each on a new connection, how large each is
//! and when it comes. All of it is drawn from a stream of the flow's own, in the order of the transfers, so that the
//! same requests come whatever the network and other flows do.

use ackclock_net::{Stream, Variate};
use ackclock_units::Time;

/// Segments of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// There is always more to send.
    Unlimited,
    /// Always the same.
    Segments(u64),
    /// Uniform on the whole numbers between these, both included.
    Uniform(u64, u64),
}

/// When the next transfer comes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Gap {
    /// So long after the end of the last one.
    AfterEnd(Variate),
    /// So long after the start of the last one; if that takes longer, as soon as it is over.
    AfterStart(Variate),
}

/// A flow's transfers.
#[derive(Clone, Debug)]
pub struct Requests {
    /// Segments of each.
    pub size: Size,
    /// How many there are; [`u64::MAX`] is as many as the run has time for.
    pub repeat: u64,
    /// When the next one comes.
    pub gap: Gap,
    /// Random numbers of their own.
    pub draws: Stream,
}

impl Requests {
    /// Segments of the next transfer; `None` is unlimited. To be asked once for each.
    pub fn next_size(&mut self) -> Option<u64> {
        match self.size {
            Size::Unlimited => None,
            Size::Segments(segments) => Some(segments),
            Size::Uniform(least, most) => {
                let span = (most - least + 1) as f64;
                Some((least + (self.draws.uniform() * span) as u64).min(most))
            }
        }
    }

    /// When the next transfer comes, after one that began at `began` and is over `now`. To be asked once for each.
    pub fn next_start(&mut self, began: Time, now: Time) -> Time {
        match self.gap {
            Gap::AfterEnd(time) => now + time.draw(&mut self.draws),
            Gap::AfterStart(time) => (began + time.draw(&mut self.draws)).max(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_units::Duration;

    fn requests(seed: u64) -> Requests {
        let thinking = Variate::Pareto { mean: Duration::from_secs(15), shape: 1.5 };
        let draws = Stream::new(seed, "requests");
        Requests { size: Size::Uniform(10, 20), repeat: u64::MAX, gap: Gap::AfterStart(thinking), draws }
    }

    #[test]
    fn every_size_is_as_likely_as_any_other() {
        let mut requests = requests(3);
        let mut counts = [0; 11];
        for _ in 0..110_000 {
            let size = requests.next_size().expect("a size");
            counts[size as usize - 10] += 1;
        }
        assert!(counts.iter().all(|&count| (9_600..10_400).contains(&count)), "{counts:?}");
    }

    #[test]
    fn what_the_network_does_changes_no_request() {
        let (mut fast, mut slow) = (requests(5), requests(5));
        let at = |s| Time::ZERO + Duration::from_secs(s);
        for _ in 0..100 {
            assert_eq!(fast.next_size(), slow.next_size());
            let due = fast.next_start(at(10), at(10));
            assert!(due >= at(15)); // the scale of a Pareto variate of mean 15 s and shape 1.5 is 5 s
            assert_eq!(slow.next_start(at(10), at(1_000_000)), at(1_000_000).max(due));
        }
    }
}
