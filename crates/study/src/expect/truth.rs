//! How true an expression is: how far its deciding comparison is from its line, in standard errors.
//!
//! A comparison of means is true by a margin, and the margin has a standard error. What lies within two
//! standard errors of the line is undecided. `and` is as true as its least true part, `or` as its most true
//! one, and `not` turns the margin round: with the bound at two standard errors that is Kleene's logic of
//! three values (S. C. Kleene, Introduction to Metamathematics, 1952, section 64), and says which comparison
//! decided.

use serde::Serialize;
use std::cmp::Ordering;

/// What lies within so many standard errors of its line is undecided.
pub const UNDECIDED_WITHIN: f64 = 2.0;

/// How true an expression is.
#[derive(Clone, PartialEq, Debug)]
pub struct Truth {
    /// True if it holds for the means over all runs.
    pub holds: bool,
    /// The distance from the line in standard errors; positive where it holds. Infinite if there is no error.
    pub errors: f64,
    /// The comparison that decides, if it is one of numbers.
    pub line: Option<Line>,
}

/// A comparison of two numbers: the line, and how far from it the measured value is.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Line {
    /// The comparison as it is written.
    pub comparison: String,
    /// The distance from the line, in its unit; positive where the comparison holds.
    pub margin: f64,
    /// The standard error of the distance; `None` if there is a single run of everything that it reads.
    pub standard_error: Option<f64>,
    /// The larger of the sizes of both sides, in the same unit.
    #[serde(skip)]
    pub scale: f64,
    /// Of an undecided expression: what each of its readings adds to the square of the standard error.
    #[serde(skip)]
    pub variances: Vec<f64>,
}

impl Line {
    /// A comparison, its distance from the line with the standard error, and the size of what is compared.
    pub(super) fn new(comparison: String, (margin, standard_error): (f64, Option<f64>), scale: f64) -> Line {
        Line { comparison, margin, standard_error, scale, variances: Vec::new() }
    }
}

impl Truth {
    /// Something that is true or false without a line.
    pub(crate) fn exact(holds: bool) -> Truth {
        Truth { holds, errors: sign(holds) * f64::INFINITY, line: None }
    }

    /// Something that is not the same without each of the runs: nothing is known about its distance.
    pub(super) fn unsteady(holds: bool) -> Truth {
        Truth { holds, errors: 0.0, line: None }
    }

    /// A comparison with its distance from the line.
    pub(super) fn of(holds: bool, line: Line) -> Truth {
        let errors = match line.standard_error {
            Some(error) if error > 0.0 => line.margin / error,
            _ => sign(holds) * f64::INFINITY,
        };
        Truth { holds, errors, line: Some(line) }
    }

    /// True if it lies within two standard errors of its line.
    pub fn is_undecided(&self) -> bool {
        self.errors.abs() <= UNDECIDED_WITHIN
    }

    /// The less true of both: `and`.
    #[must_use]
    pub(super) fn and(self, other: Truth) -> Truth {
        if self.order(&other) == Ordering::Greater { other } else { self }
    }

    /// The more true of both.
    #[must_use]
    pub(super) fn or(self, other: Truth) -> Truth {
        if self.order(&other) == Ordering::Less { other } else { self }
    }

    /// The opposite.
    #[must_use]
    pub(super) fn not(self) -> Truth {
        let line = self.line.map(|line| Line {
            comparison: format!("not {}", line.comparison),
            margin: -line.margin,
            ..line
        });
        Truth { holds: !self.holds, errors: -self.errors, line }
    }

    /// About the number of runs that would bring the line to a distance of two standard errors, if `runs`
    /// give this one: the standard error falls with the root of their number. `None` if no number would.
    pub fn runs_to_decide(&self, runs: usize) -> Option<f64> {
        let times = UNDECIDED_WITHIN / self.errors.abs();
        let needed = (runs as f64 * times * times).ceil();
        (self.is_undecided() && needed.is_finite()).then_some(needed.max(runs as f64 + 1.0))
    }

    /// True if `other` is more true.
    pub fn less_true_than(&self, other: &Truth) -> bool {
        self.order(other) == Ordering::Less
    }

    /// The order from less to more true: by standard errors, then by what holds, then by the distance beside
    /// the size of what is compared.
    fn order(&self, other: &Truth) -> Ordering {
        let by_errors = self.errors.total_cmp(&other.errors);
        by_errors.then(self.holds.cmp(&other.holds)).then(self.beside().total_cmp(&other.beside()))
    }

    fn beside(&self) -> f64 {
        let share = |line: &Line| if line.scale > 0.0 { line.margin / line.scale } else { 0.0 };
        self.line.as_ref().map_or(sign(self.holds) * f64::INFINITY, share)
    }
}

fn sign(holds: bool) -> f64 {
    if holds { 1.0 } else { -1.0 }
}

/// The standard error of a value by the delete-one jackknife (B. Efron, The jackknife, the bootstrap and
/// other resampling plans, 1982, section 3.2). `without` is the value without each run in turn, `runs` their
/// number. For a mean it is the deviation between runs over the root of their number.
pub(super) fn jackknife(without: &[f64], runs: usize) -> f64 {
    let mean = without.iter().sum::<f64>() / without.len() as f64;
    let squares: f64 = without.iter().map(|value| (value - mean) * (value - mean)).sum();
    ((runs - 1) as f64 / runs as f64 * squares).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn truth(errors: f64) -> Truth {
        let line = Line::new("a > b".to_owned(), (errors, Some(1.0)), 1.0);
        Truth::of(errors > 0.0, line)
    }

    /// Kleene's third value is `None`.
    fn known(truth: &Truth) -> Option<bool> {
        (!truth.is_undecided()).then_some(truth.holds)
    }

    #[test]
    fn the_jackknife_of_a_mean_is_its_standard_error() {
        // 1, 2 and 6: mean 3, deviation sqrt(7), standard error sqrt(7 / 3).
        let without = [(2.0 + 6.0) / 2.0, (1.0 + 6.0) / 2.0, (1.0 + 2.0) / 2.0];
        assert!((jackknife(&without, 3) - (7.0_f64 / 3.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn runs_that_would_decide() {
        assert_eq!(truth(1.0).runs_to_decide(5), Some(20.0));
        assert_eq!(truth(-1.9999).runs_to_decide(5), Some(6.0));
        assert_eq!(truth(0.0).runs_to_decide(5), None);
        assert_eq!(truth(2.1).runs_to_decide(5), None);
        assert!(truth(2.0).is_undecided() && !truth(2.001).is_undecided());
    }

    #[test]
    fn the_nearest_line_is_told() {
        let near = |margin: f64, scale| {
            let comparison = margin.to_string();
            Truth::of(true, Line::new(comparison, (margin, None), scale))
        };
        let least = near(5.0, 10.0).and(near(8.0, 100.0)).and(Truth::exact(true));
        assert_eq!(least.line.map(|line| line.comparison).as_deref(), Some("8"));
        let negated = truth(3.0).not();
        assert_eq!(
            negated.line.map(|line| (line.comparison, line.margin)),
            Some(("not a > b".to_owned(), -3.0))
        );
    }

    proptest! {
        #[test]
        fn the_jackknife_agrees_with_the_formula(values in prop::collection::vec(-1e3..1e3_f64, 2..30)) {
            let n = values.len() as f64;
            let sum: f64 = values.iter().sum();
            let without: Vec<f64> = values.iter().map(|value| (sum - value) / (n - 1.0)).collect();
            let squares: f64 = values.iter().map(|value| (value - sum / n).powi(2)).sum();
            let expected = (squares / (n - 1.0) / n).sqrt();
            prop_assert!((jackknife(&without, values.len()) - expected).abs() < 1e-9 * (1.0 + expected));
        }

        #[test]
        fn it_is_the_logic_of_three_values(a in -4.0..4.0_f64, b in -4.0..4.0_f64) {
            let (one, other) = (known(&truth(a)), known(&truth(b)));
            let and = match (one, other) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
            let or = match (one, other) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            };
            prop_assert_eq!(known(&truth(a).and(truth(b))), and);
            prop_assert_eq!(known(&truth(a).or(truth(b))), or);
            prop_assert_eq!(known(&truth(a).not()), one.map(|holds| !holds));
            prop_assert_eq!(truth(a).and(truth(b)).holds, a > 0.0 && b > 0.0);
            prop_assert_eq!(truth(a).or(truth(b)).holds, a > 0.0 || b > 0.0);
        }
    }
}
