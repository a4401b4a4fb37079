//! The horizontal axis of a chart, and the format of numbers on both axes.

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;
use std::ops::Range;

/// The height of letters.
pub(super) const TEXT: u32 = 12;
/// The mean width of a letter, relative to its height.
const LETTER: f64 = 0.53;

pub(super) fn text_width(text: &str) -> u32 {
    (text.chars().count() as f64 * LETTER * f64::from(TEXT)) as u32
}

/// The horizontal axis of a chart.
#[derive(Clone, Debug)]
pub enum Axis {
    /// From time zero to `duration`, s. Averages are over `window`, if that is not the whole run.
    Time {
        /// How long the run takes, s.
        duration: f64,
        /// The measured time, s; shaded.
        window: Option<[f64; 2]>,
    },
    /// A part of a run, s.
    Span {
        /// Its begin, s.
        from: f64,
        /// Its end, s.
        to: f64,
    },
    /// The values of a sweep's axis, as they were written.
    Values {
        /// What the values are.
        label: String,
        /// Is the axis logarithmic?
        log: bool,
        /// Where a value is written, and how.
        ticks: Vec<(f64, String)>,
    },
    /// Logarithmic, from the first of these ticks to the last. Values and ticks are positive.
    Log {
        /// What the values are.
        label: &'static str,
        /// Where a value is written, and how.
        ticks: Vec<(f64, String)>,
    },
}

impl Default for Axis {
    fn default() -> Axis {
        Axis::Time { duration: 1.0, window: None }
    }
}

impl Axis {
    /// The coordinate of a value.
    pub(super) fn place(&self, value: f64) -> f64 {
        if matches!(self, Axis::Values { log: true, .. } | Axis::Log { .. }) { value.log10() } else { value }
    }

    /// The ends of the axis.
    pub(super) fn range(&self) -> Range<f64> {
        match self {
            Axis::Time { duration, .. } => 0.0..if *duration > 0.0 { *duration } else { 1.0 },
            Axis::Span { from, to } => *from..if to > from { *to } else { from + 1.0 },
            Axis::Log { ticks, .. } => match (ticks.first(), ticks.last()) {
                (Some((from, _)), Some((to, _))) if to > from => self.place(*from)..self.place(*to),
                _ => 0.0..1.0,
            },
            Axis::Values { ticks, .. } => {
                let places = ticks.iter().map(|&(value, _)| self.place(value));
                let (least, most) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), place| {
                    (low.min(place), high.max(place))
                });
                let margin = if most > least { (most - least) * 0.03 } else { 1.0 };
                least - margin..most + margin
            }
        }
    }

    /// The ticks of an axis of this width.
    pub(super) fn ticks(&self, width: u32) -> Vec<(f64, String)> {
        let Range { start, end } = self.range();
        match self {
            Axis::Time { .. } | Axis::Span { .. } => {
                let step = step((end - start) / f64::from(width / 80).max(2.0));
                let first = (start / step - 1e-9).ceil();
                let count = (end / step - first + 1e-9).max(0.0) as u32;
                (0..=count)
                    .map(|number| (first + f64::from(number)) * step)
                    .map(|at| (at, tidy(at)))
                    .collect()
            }
            Axis::Values { ticks, .. } | Axis::Log { ticks, .. } => {
                let mut free_from = f64::NEG_INFINITY;
                let mut kept = Vec::new();
                for (value, text) in ticks {
                    let place = self.place(*value);
                    let half = f64::from(text_width(text) + 14) / 2.0 * (end - start) / f64::from(width);
                    if place - half >= free_from {
                        free_from = place + half;
                        kept.push((place, text.clone()));
                    }
                }
                kept
            }
        }
    }
}

/// A coordinate with given ticks.
pub(super) struct Ruled {
    inner: RangedCoordf64,
    places: Vec<f64>,
}

impl Ruled {
    pub(super) fn new(range: Range<f64>, places: Vec<f64>) -> Ruled {
        Ruled { inner: range.into(), places }
    }
}

impl Ranged for Ruled {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.inner.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.places.clone()
    }

    fn range(&self) -> Range<f64> {
        self.inner.range()
    }
}

/// The smallest of 1, 2, 5, 10, 20, ... (and their fractions) that is at least `least`.
fn step(least: f64) -> f64 {
    let decade = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|times| times * decade);
    steps.into_iter().find(|&step| step >= least * (1.0 - 1e-9)).unwrap_or(steps[3])
}

/// A number for an axis: with no more digits than necessary, and with separated thousands.
pub fn tidy(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 1_000.0 && value.fract() == 0.0 {
        return grouped(value);
    }
    if magnitude != 0.0 && !(1e-3..1e7).contains(&magnitude) {
        // Ticks are products and sums, whose last digits are rounding: 3.0000000000000003e-4.
        let rounded: f64 = format!("{value:.6e}").parse().unwrap_or(value);
        return format!("{rounded:e}");
    }
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A whole number with thin spaces between thousands.
pub fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = if value < 0.0 { "-".to_owned() } else { String::new() };
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_a_swept_axis_are_its_values_as_written() {
        let ticks: Vec<_> = [(1e6, "1 Mbit/s"), (1e7, "10 Mbit/s"), (1.1e7, "11 Mbit/s"), (1e9, "1 Gbit/s")]
            .map(|(value, text)| (value, text.to_owned()))
            .into();
        let axis = Axis::Values { label: "rate".to_owned(), log: true, ticks };
        let shown: Vec<_> = axis.ticks(400).into_iter().map(|(_, text)| text).collect();
        assert_eq!(shown, ["1 Mbit/s", "10 Mbit/s", "1 Gbit/s"], "no room for 11 Mbit/s beside 10");
        let time = Axis::Time { duration: 7.5, window: None };
        let shown: Vec<_> = time.ticks(400).into_iter().map(|(_, text)| text).collect();
        assert_eq!(shown, ["0", "2", "4", "6"]);
    }

    #[test]
    fn axis_numbers_are_short() {
        assert_eq!([0.0, 0.25, 20.0, 1500.0].map(tidy), ["0", "0.25", "20", "1\u{202f}500"]);
        assert_eq!(tidy(25_000.0), "25\u{202f}000");
        assert_eq!(tidy(1e-5), "1e-5");
        assert_eq!(tidy(3.0 * 1e-4), "3e-4");
    }
}
