//! Sizes of transfers by a table of their distribution, as measurements of real traffic come.

use ackclock_net::Rng;

/// A cumulative distribution of sizes: straight lines between its points.
#[derive(Clone, PartialEq, Debug)]
pub struct SizeTable {
    /// Size in bytes and the share of transfers that are no larger; both rise.
    rows: Vec<(f64, f64)>,
}

/// What is wrong with a table of sizes: which row, counted from 0, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SizeTableError {
    /// The row.
    pub row: usize,
    /// What is wrong with it.
    pub problem: &'static str,
    /// What would be right.
    pub remedy: &'static str,
}

/// The largest size, bytes: that of a transfer that takes days at 100 Gbit/s.
const MAX_BYTES: f64 = 1e15;
/// How far the last share may be from 1: what is lost where shares are written with few digits.
const ROUNDING: f64 = 1e-9;

impl SizeTable {
    /// A distribution with these points: sizes in bytes, and the share of transfers that are no larger.
    ///
    /// # Errors
    ///
    /// [`SizeTableError`] if there are no points, if they do not rise, or if the last share is not 1.
    pub fn new(mut rows: Vec<(f64, f64)>) -> Result<SizeTable, SizeTableError> {
        let wrong = |row, problem, remedy| Err(SizeTableError { row, problem, remedy });
        for (row, &(bytes, share)) in rows.iter().enumerate() {
            if !(1.0..=MAX_BYTES).contains(&bytes) {
                return wrong(row, "this is no size of a transfer", "sizes are bytes, from 1 to 1e15");
            }
            if !(0.0..=1.0 + ROUNDING).contains(&share) {
                return wrong(row, "this is no share", "shares are from 0 to 1; divide per cent by 100");
            }
            if row > 0 && (bytes < rows[row - 1].0 || share < rows[row - 1].1) {
                return wrong(
                    row,
                    "a size or a share is below the one before",
                    "both must rise; sort the rows by size",
                );
            }
        }
        match rows.last_mut() {
            Some((_, share)) if *share >= 1.0 - ROUNDING => *share = 1.0,
            Some(_) => {
                return wrong(rows.len() - 1, "the last share is not 1", "the largest size has the share 1");
            }
            None => {
                return wrong(
                    0,
                    "there are no rows",
                    "each row is a size in bytes and a share, such as 10000,0.5",
                );
            }
        }
        Ok(SizeTable { rows })
    }

    /// The points.
    pub fn rows(&self) -> &[(f64, f64)] {
        &self.rows
    }

    /// One draw, bytes.
    pub fn draw(&self, draws: &mut Rng) -> u64 {
        let share = draws.uniform();
        let above = self.rows.partition_point(|&(_, known)| known <= share).min(self.rows.len() - 1);
        let (bytes, most) = self.rows[above];
        let size = match above.checked_sub(1).map(|below| self.rows[below]) {
            Some((least, known)) => least + (share - known) / (most - known) * (bytes - least),
            None => bytes, // all shares up to the first are that size
        };
        size.ceil().max(1.0) as u64
    }

    /// The mean number of segments with this payload, bytes: each transfer is rounded up to whole segments.
    pub fn mean_segments(&self, payload: u16) -> f64 {
        let payload = f64::from(payload);
        // The integral of ceil(x / payload) from 0 to x.
        let area = |x: f64| {
            let whole = (x / payload).ceil();
            payload * whole * (whole + 1.0) / 2.0 - (whole * payload - x) * whole
        };
        let (first, share) = self.rows[0];
        let between = self.rows.windows(2).map(|pair| {
            let [(from, below), (to, above)] = [pair[0], pair[1]];
            let mean = if to > from { (area(to) - area(from)) / (to - from) } else { (to / payload).ceil() };
            (above - below) * mean
        });
        share * (first / payload).ceil() + between.sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_the_table() {
        let table = SizeTable::new(vec![(100.0, 0.25), (1000.0, 0.5), (1000.0, 0.75), (9000.0, 1.0)])
            .expect("a table");
        let mut draws = Rng::new(7, "sizes");
        let all: Vec<u64> = (0..100_000).map(|_| table.draw(&mut draws)).collect();
        let share = |bytes: u64| all.iter().filter(|&&size| size <= bytes).count() as f64 / all.len() as f64;
        for (bytes, expected) in
            [(99, 0.0), (100, 0.25), (550, 0.375), (999, 0.5), (1000, 0.75), (5000, 0.875), (9000, 1.0)]
        {
            assert!((share(bytes) - expected).abs() < 0.01, "{bytes}: {} against {expected}", share(bytes));
        }
        let segments = all.iter().map(|size| size.div_ceil(1460)).sum::<u64>() as f64 / all.len() as f64;
        let mean = table.mean_segments(1460);
        assert!((segments / mean - 1.0).abs() < 0.02, "{segments} against {mean}");
        assert_eq!(SizeTable::new(vec![(1000.0, 1.0)]).expect("one size").mean_segments(1000), 1.0);
    }

    #[test]
    fn wrong_tables_are_refused() {
        let row = |rows: &[(f64, f64)]| SizeTable::new(rows.to_vec()).expect_err("wrong").row;
        assert_eq!(row(&[]), 0);
        assert_eq!(row(&[(100.0, 0.5), (0.0, 1.0)]), 1);
        assert_eq!(row(&[(100.0, 0.5), (200.0, 50.0)]), 1);
        assert_eq!(row(&[(100.0, 0.5), (200.0, 0.4), (300.0, 1.0)]), 1);
        assert_eq!(row(&[(100.0, 0.5), (200.0, 0.9)]), 1);
        assert_eq!(row(&[(f64::NAN, 0.5), (200.0, 1.0)]), 0);
    }
}
