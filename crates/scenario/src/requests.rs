//! The transfers of a flow: one after the other, each on a new connection, with their sizes and start times.
//! All of it is drawn from a random stream of the flow's own, in the order of the transfers. So the requests
//! do not depend on the network or on other flows.

use crate::sizes::SizeTable;
use ackclock_net::{Distribution, Rng};
use ackclock_units::{Duration, Time};
use std::sync::Arc;

/// The size of a transfer.
#[derive(Clone, PartialEq, Debug)]
pub enum Size {
    /// There is always more data to send.
    Unlimited,
    /// A number of segments.
    Segments(Count),
    /// Bytes by a table, in segments of this payload, bytes.
    Table(Arc<SizeTable>, u16),
}

impl Size {
    /// The mean number of segments; `None`: unlimited.
    pub fn mean_segments(&self) -> Option<f64> {
        match self {
            Size::Unlimited => None,
            Size::Segments(count) => Some(count.mean()),
            Size::Table(table, payload) => Some(table.mean_segments(*payload)),
        }
    }
}

/// A whole number from 1 on, constant or random.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Count {
    /// Constant.
    Fixed(u64),
    /// Uniform over the whole numbers between these, both included.
    Uniform(u64, u64),
    /// Pareto, rounded up: P(X > x) = (scale / x)^shape for x above the scale. The scale follows from the
    /// mean.
    Pareto {
        /// The mean before rounding.
        mean: f64,
        /// The shape, above 1.
        shape: f64,
    },
    /// Lomax (Pareto of the second kind), rounded up: P(X > x) = (1 + x / scale)^-shape. Unlike Pareto it has
    /// small values, too.
    Lomax {
        /// The mean before rounding.
        mean: f64,
        /// The shape, above 1.
        shape: f64,
    },
}

/// The largest draw. A transfer of a quadrillion segments would never end anyway.
const MAX: f64 = 1e15;

impl Count {
    /// The mean of the draws. A tail is rounded up to whole numbers, which adds half of one.
    pub fn mean(&self) -> f64 {
        match *self {
            Count::Fixed(count) => count as f64,
            Count::Uniform(least, most) => (least as f64 + most as f64) / 2.0,
            Count::Pareto { mean, .. } | Count::Lomax { mean, .. } => mean + 0.5,
        }
    }

    /// Draws a number.
    pub fn draw(&self, draws: &mut Rng) -> u64 {
        let tail = |shape: f64, draws: &mut Rng| libm::pow(1.0 - draws.uniform(), -1.0 / shape);
        let whole = |x: f64| x.min(MAX).ceil().max(1.0) as u64;
        match *self {
            Count::Fixed(count) => count,
            Count::Uniform(least, most) => {
                let span = (most - least + 1) as f64;
                (least + (draws.uniform() * span) as u64).min(most)
            }
            Count::Pareto { mean, shape } => whole(mean * (shape - 1.0) / shape * tail(shape, draws)),
            Count::Lomax { mean, shape } => whole(mean * (shape - 1.0) * (tail(shape, draws) - 1.0)),
        }
    }
}

/// Transfers that belong together, like the objects of a web page. They follow each other, and the gap
/// between requests comes after the last one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Page {
    /// The number of transfers.
    pub objects: Count,
    /// The time from the end of one to the start of the next.
    pub between: Distribution,
    /// The number of transfers still to come. Drawn at the end of the first one.
    left: Option<u64>,
}

impl Page {
    /// Pages with this number of objects, and this time between them.
    pub fn new(objects: Count, between: Distribution) -> Page {
        Page { objects, between, left: None }
    }

    /// The time until the next object of the page; `None` after the last one.
    fn next(&mut self, draws: &mut Rng) -> Option<Duration> {
        let left = match self.left {
            Some(left) => left,
            None => self.objects.draw(draws) - 1,
        };
        self.left = left.checked_sub(1);
        (left > 0).then(|| self.between.draw(draws))
    }
}

/// The time of the next transfer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Gap {
    /// This long after the end of the last one.
    AfterEnd(Distribution),
    /// This long after the start of the last one; or at its end, if it takes longer.
    AfterStart(Distribution),
    /// This long after the last one came, whether or not that is over; if it is not, as soon as it is.
    Arrivals(Distribution),
}

/// The transfers of a flow.
#[derive(Clone, Debug)]
pub struct Requests {
    /// The size of each transfer.
    pub size: Size,
    /// The number of transfers. [`u64::MAX`]: until the run ends.
    pub repeat: u64,
    /// The time between transfers, or between pages.
    pub gap: Gap,
    /// Set if transfers come as pages.
    pub page: Option<Box<Page>>,
    /// When the last transfer came, where they come whether or not the one before is over.
    pub came: Time,
    /// How many transfers have waited for the one before to end.
    pub waited: u64,
    /// The random numbers of these transfers.
    pub draws: Rng,
}

impl Requests {
    /// The segments of the next transfer; `None`: unlimited. Call it once per transfer.
    pub fn next_size(&mut self) -> Option<u64> {
        match &self.size {
            Size::Unlimited => None,
            Size::Segments(count) => Some(count.draw(&mut self.draws)),
            Size::Table(table, payload) => Some(table.draw(&mut self.draws).div_ceil(u64::from(*payload))),
        }
    }

    /// The start of the next transfer, after one that began at `began` and ended at `now`. Call it once per
    /// transfer.
    pub fn next_start(&mut self, began: Time, now: Time) -> Time {
        if let Some(between) = self.page.as_mut().and_then(|page| page.next(&mut self.draws)) {
            return now + between;
        }
        match self.gap {
            Gap::AfterEnd(time) => now + time.draw(&mut self.draws),
            Gap::AfterStart(time) => (began + time.draw(&mut self.draws)).max(now),
            Gap::Arrivals(time) => {
                self.came += time.draw(&mut self.draws);
                self.waited += u64::from(self.came < now);
                self.came.max(now)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(seed: u64) -> Requests {
        let thinking = Distribution::Pareto { mean: Duration::from_secs(15), shape: 1.5 };
        let draws = Rng::new(seed, "requests");
        let size = Size::Segments(Count::Uniform(10, 20));
        let gap = Gap::AfterStart(thinking);
        Requests { size, repeat: u64::MAX, gap, page: None, came: Time::ZERO, waited: 0, draws }
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
            assert!(due >= at(15)); // a Pareto distribution of mean 15 s and shape 1.5 has the scale 5 s
            assert_eq!(slow.next_start(at(10), at(1_000_000)), at(1_000_000).max(due));
        }
    }

    #[test]
    fn tails_have_their_mean_and_their_shape() {
        let mut draws = Rng::new(9, "tails");
        let mut of = |count: Count| (0..400_000).map(|_| count.draw(&mut draws)).collect::<Vec<_>>();
        let beyond = |draws: &[u64], x: u64| draws.iter().filter(|&&it| it > x).count() as f64 / 400_000.0;
        // With shape 3 the mean converges. The scales are 8 and 24: P(X > 16) = (8 / 16)^3 and (1 + 16 /
        // 24)^-3.
        let pareto = of(Count::Pareto { mean: 12.0, shape: 3.0 });
        assert!(pareto.iter().all(|&it| it > 8) && (beyond(&pareto, 16) - 0.125).abs() < 0.003);
        let lomax = of(Count::Lomax { mean: 12.0, shape: 3.0 });
        assert!(lomax.contains(&1) && (beyond(&lomax, 16) - 0.216).abs() < 0.003);
        for counts in [pareto, lomax] {
            let mean = counts.iter().sum::<u64>() as f64 / 400_000.0;
            assert!((mean - 12.5).abs() < 0.15, "{mean}"); // rounding up adds half a segment
        }
    }

    #[test]
    fn the_objects_of_a_page_come_before_the_pause() {
        let mut requests = Requests {
            size: Size::Segments(Count::Fixed(5)),
            repeat: u64::MAX,
            gap: Gap::AfterEnd(Distribution::Fixed(Duration::from_secs(15))),
            page: Some(Box::new(Page::new(Count::Fixed(3), Distribution::Fixed(Duration::from_millis(10))))),
            came: Time::ZERO,
            waited: 0,
            draws: Rng::new(1, "pages"),
        };
        let at = Time::ZERO + Duration::from_secs(1);
        let waits: Vec<_> = (0..7).map(|_| requests.next_start(Time::ZERO, at).since(at)).collect();
        let (object, page) = (Duration::from_millis(10), Duration::from_secs(15));
        assert_eq!(waits, [object, object, page, object, object, page, object]);
        // Without further objects every request waits for the pause.
        requests.page = Some(Box::new(Page::new(Count::Fixed(1), Distribution::Fixed(Duration::ZERO))));
        assert!((0..3).all(|_| requests.next_start(Time::ZERO, at) == at + page));
    }
}
