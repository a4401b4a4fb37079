//! The average loss interval, with history discounting. The loss event rate is its inverse.
//!
//! Source: RFC 5348 sections 5.4 and 5.5.
//!
//! What differs: the least discount (THRESHOLD) is a parameter of the caller. ns-2 has 0.5.

/// The weights w_0 to w_7 (RFC 5348 section 5.4, n = 8).
pub const WEIGHTS: [f64; N] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// n, the number of closed intervals that are kept.
const N: usize = 8;

/// Loss intervals.
#[derive(Clone, Debug)]
pub struct Intervals {
    /// THRESHOLD; 1 for no discounting.
    least: f64,
    /// I_0, the open interval, packets.
    open: f64,
    /// I_1 to I_n, newest first: packets, and the discount DF_i.
    closed: [(f64, f64); N],
    /// k, how many closed ones there are.
    count: usize,
}

impl Intervals {
    /// No loss yet. Older intervals are discounted to no less than `least`, 0 to 1; with 1 they are not.
    pub fn new(least: f64) -> Intervals {
        Intervals { least: least.clamp(0.0, 1.0), open: 0.0, closed: [(0.0, 1.0); N], count: 0 }
    }

    /// The first loss event, after an interval of `packets` that the throughput equation gave (section
    /// 6.3.1).
    pub fn begin(&mut self, packets: f64) {
        *self = Intervals::new(self.least);
        self.closed[0] = (packets, 1.0);
        self.count = 1;
    }

    /// The open interval, which began with the first loss of the last loss event, is `packets` long now.
    pub fn grow(&mut self, packets: f64) {
        self.open = packets;
    }

    /// A new loss event: the open interval closes with `packets`, and the next one opens.
    pub fn close(&mut self, packets: f64) {
        self.open = packets;
        let discount = self.discount();
        for interval in &mut self.closed {
            interval.1 *= discount; // what the open interval has discounted stays so
        }
        self.closed.rotate_right(1);
        self.closed[0] = (packets, 1.0);
        self.count = (self.count + 1).min(N);
        self.open = 1.0;
    }

    /// The average loss interval, packets. `None` before the first loss event.
    ///
    /// The larger of the average with the open interval and the one without it.
    pub fn mean(&self) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let discount = self.discount();
        // I_0 to I_(k-1): with the open interval the others are one place further, and the oldest is left
        // out.
        let (mut packets, mut weights) = (self.open * WEIGHTS[0], WEIGHTS[0]);
        for (&(length, own), weight) in self.closed[..self.count - 1].iter().zip(&WEIGHTS[1..]) {
            packets += length * weight * own * discount;
            weights += weight * own * discount;
        }
        Some((packets / weights).max(self.mean_of_closed()))
    }

    /// p, the loss event rate; 0 before the first loss event.
    pub fn loss_event_rate(&self) -> f64 {
        self.mean().map_or(0.0, |mean| if mean <= 1.0 { 1.0 } else { 1.0 / mean })
    }

    fn mean_of_closed(&self) -> f64 {
        let closed = self.closed[..self.count].iter().zip(WEIGHTS);
        let (packets, weights) = closed.fold((0.0, 0.0), |(packets, weights), (&(length, own), weight)| {
            (packets + length * weight * own, weights + weight * own)
        });
        if weights > 0.0 { packets / weights } else { 0.0 }
    }

    /// DF: below 1 once the open interval is longer than twice the average of the closed ones.
    fn discount(&self) -> f64 {
        let twice = 2.0 * self.mean_of_closed();
        if self.count > 0 && self.open > twice { (twice / self.open).max(self.least) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Intervals of these lengths, oldest first, and an open one.
    fn after(least: f64, lengths: &[f64], open: f64) -> Intervals {
        let mut intervals = Intervals::new(least);
        intervals.begin(lengths[0]);
        lengths[1..].iter().for_each(|&length| intervals.close(length));
        intervals.grow(open);
        intervals
    }

    fn close(value: Option<f64>, wanted: f64) {
        let value = value.expect("there was a loss event");
        assert!((value - wanted).abs() < 1e-9 * wanted, "{value}, not {wanted}");
    }

    #[test]
    fn no_loss_is_no_average() {
        assert_eq!((Intervals::new(0.5).mean(), Intervals::new(0.5).loss_event_rate()), (None, 0.0));
    }

    #[test]
    fn averages_without_discounting() {
        close(after(1.0, &[100.0], 1.0).mean(), 100.0);
        close(after(1.0, &[100.0], 300.0).mean(), 300.0);
        close(after(1.0, &[100.0, 200.0], 400.0).mean(), 300.0);
        close(after(1.0, &[10.0, 20.0, 30.0], 1.0).mean(), 20.0);
        // Eight intervals: 80 is the newest. (80+70+60+50 + .8*40 + .6*30 + .4*20 + .2*10) / 6.
        let eight = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0];
        close(after(1.0, &eight, 1.0).mean(), 320.0 / 6.0);
        // The oldest leaves: (100+80+70+60 + .8*50 + .6*40 + .4*30 + .2*20) / 6.
        close(after(1.0, &eight, 100.0).mean(), 390.0 / 6.0);
        // A ninth closes, and the first is forgotten.
        let mut nine = after(1.0, &eight, 1.0);
        nine.close(100.0);
        close(nine.mean(), 390.0 / 6.0);
        assert_eq!(after(1.0, &[0.5], 0.0).loss_event_rate(), 1.0);
    }

    #[test]
    fn a_long_open_interval_discounts_the_others() {
        // Twice the average: no discount yet. Beyond it, DF = 2 * 100 / I_0, at least 1/2.
        close(after(0.5, &[100.0, 100.0], 200.0).mean(), 300.0 / 2.0);
        close(after(0.5, &[100.0, 100.0], 250.0).mean(), (250.0 + 0.8 * 100.0) / 1.8);
        close(after(0.5, &[100.0, 100.0], 1000.0).mean(), (1000.0 + 0.5 * 100.0) / 1.5);
        close(after(0.25, &[100.0, 100.0], 1000.0).mean(), (1000.0 + 0.25 * 100.0) / 1.25);
        close(after(1.0, &[100.0, 100.0], 1000.0).mean(), 1100.0 / 2.0);
    }

    #[test]
    fn a_discount_stays_when_the_interval_closes() {
        let mut intervals = after(0.5, &[100.0, 100.0], 1000.0);
        intervals.close(1000.0);
        close(intervals.mean(), (1000.0 + 0.5 * 200.0) / (1.0 + 0.5 * 2.0));
        intervals.close(100.0);
        close(intervals.mean(), (100.0 + 1000.0 + 0.5 * 200.0) / (1.0 + 1.0 + 0.5 * 2.0));
    }

    proptest! {
        #[test]
        fn the_average_lies_among_the_intervals_and_grows_with_the_open_one(
            lengths in proptest::collection::vec(1.0..1e6, 1..30), open in 1.0..1e7, least in 0.0..=1.0,
        ) {
            let mean = after(least, &lengths, open).mean().unwrap();
            let kept = &lengths[lengths.len().saturating_sub(8)..];
            let low = kept.iter().copied().fold(f64::INFINITY, f64::min);
            let high = kept.iter().copied().fold(open, f64::max);
            prop_assert!(mean >= low * (1.0 - 1e-9) && mean <= high * (1.0 + 1e-9), "{mean}");
            let more = after(least, &lengths, open * 1.5).mean().unwrap();
            prop_assert!(more >= mean * (1.0 - 1e-9), "{more} after {mean}");
        }
    }
}
