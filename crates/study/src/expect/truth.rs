//! How true an expression is: how far its deciding comparison is from its line, in standard errors.
//!
//! A comparison of means is true by a margin, and the margin has a standard error. What lies within two
//! standard errors of the line is undecided; more of them with few runs ([`super::chance`]). `and` is as true
//! as its least true part, `or` as its most true one, and `not` turns the margin round. Beside the bound of
//! each, that is Kleene's logic of three values (S. C. Kleene, Introduction to Metamathematics, 1952,
//! section 64), and says which comparison decided.

use super::chance::{Deviation, undecided_within};
use serde::Serialize;
use std::cmp::Ordering;

/// How true an expression is.
#[derive(Clone, PartialEq, Debug)]
pub struct Truth {
    /// True if it holds for the means over all runs.
    pub holds: bool,
    /// The distance from the line in standard errors; positive where it holds. Infinite if there is no error.
    pub errors: f64,
    /// What lies within so many standard errors is undecided: 2, and more with few runs.
    pub within: f64,
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
    /// The degrees of freedom of the standard error: about one less than the runs of the points that add most
    /// to it. `None` if there is no error.
    pub degrees_of_freedom: Option<f64>,
    /// The larger of the sizes of both sides, in the same unit.
    #[serde(skip)]
    pub scale: f64,
    /// Of an undecided expression: what each of its readings adds to the square of the standard error.
    #[serde(skip)]
    pub variances: Vec<f64>,
}

impl Line {
    /// A comparison, its distance from the line with the standard error, and the size of what is compared.
    pub(super) fn new(comparison: String, margin: f64, deviation: Option<Deviation>, scale: f64) -> Line {
        Line {
            comparison,
            margin,
            standard_error: deviation.map(|it| it.error),
            degrees_of_freedom: deviation.map(|it| it.freedom).filter(|freedom| freedom.is_finite()),
            scale,
            variances: Vec::new(),
        }
    }

    /// The degrees of freedom, infinite if there is no error.
    fn freedom(&self) -> f64 {
        self.degrees_of_freedom.unwrap_or(f64::INFINITY)
    }
}

impl Truth {
    /// Something that is true or false without a line.
    pub(crate) fn exact(holds: bool) -> Truth {
        let errors = sign(holds) * f64::INFINITY;
        Truth { holds, errors, within: undecided_within(f64::INFINITY), line: None }
    }

    /// Something that is not the same without each of the runs: nothing is known about its distance.
    pub(super) fn unsteady(holds: bool) -> Truth {
        Truth { errors: 0.0, ..Truth::exact(holds) }
    }

    /// A comparison with its distance from the line.
    pub(super) fn of(holds: bool, line: Line) -> Truth {
        let errors = match line.standard_error {
            Some(error) if error > 0.0 => line.margin / error,
            _ => sign(holds) * f64::INFINITY,
        };
        Truth { holds, errors, within: undecided_within(line.freedom()), line: Some(line) }
    }

    /// True if it lies too near to its line for the runs that there are.
    pub fn is_undecided(&self) -> bool {
        self.errors.abs() <= self.within
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
        Truth { holds: !self.holds, errors: -self.errors, line, ..self }
    }

    /// About the number of runs that would decide, if `runs` give this distance: the standard error falls
    /// with the root of their number, and is the better known. `None` if no number would.
    pub fn runs_to_decide(&self, runs: usize) -> Option<f64> {
        let freedom = self.line.as_ref().map_or(f64::INFINITY, Line::freedom);
        let within = |times: f64| undecided_within((freedom + 1.0) * times - 1.0);
        let times = |within: f64| (within / self.errors.abs()).powi(2);
        let (mut few, mut enough) = (1.0, times(self.within));
        if !self.is_undecided() || !enough.is_finite() {
            return None;
        }
        // So many times as many runs: between none more, and those that the bound of now would need.
        while enough - few > 1e-3 * few {
            let middle = 0.5 * (few + enough);
            if times(within(middle)) > middle { few = middle } else { enough = middle }
        }
        let needed = (runs as f64 * enough * (1.0 - 1e-3)).ceil();
        Some(needed.max(runs as f64 + 1.0))
    }

    /// True if `other` is more true.
    pub fn less_true_than(&self, other: &Truth) -> bool {
        self.order(other) == Ordering::Less
    }

    /// The order from less to more true: by standard errors as a part of those within which nothing is
    /// decided, then by what holds, then by the distance beside the size of what is compared.
    fn order(&self, other: &Truth) -> Ordering {
        let by_errors = (self.errors / self.within).total_cmp(&(other.errors / other.within));
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// So many standard errors from its line, which are known so well.
    fn known_by(freedom: f64, errors: f64) -> Truth {
        let deviation = Some(Deviation { error: 1.0, freedom });
        Truth::of(errors > 0.0, Line::new("a > b".to_owned(), errors, deviation, 1.0))
    }

    fn truth(errors: f64) -> Truth {
        known_by(f64::INFINITY, errors)
    }

    /// Kleene's third value is `None`.
    fn known(truth: &Truth) -> Option<bool> {
        (!truth.is_undecided()).then_some(truth.holds)
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
    fn few_runs_decide_less() {
        // With one degree of freedom 14.0 standard errors, with two 4.53, with three 3.31, with four 2.87.
        assert!(known_by(1.0, 13.9).is_undecided() && !known_by(1.0, 14.0).is_undecided());
        assert!(known_by(4.0, -2.8).is_undecided() && !known_by(4.0, -2.9).is_undecided());
        // Three runs would give 6 * sqrt(3 / 2) = 7.3 standard errors, and two degrees.
        assert_eq!(known_by(1.0, 6.0).runs_to_decide(2), Some(3.0));
        // Five runs would give 3.95, and four degrees; four runs 3.5 and three; three 3.06 and two.
        assert_eq!(known_by(1.0, 2.5).runs_to_decide(2), Some(4.0));
        // What few runs say is less certain than what many say.
        assert!(known_by(1.0, 3.0).less_true_than(&truth(2.5)));
        assert!(known_by(1.0, -3.0).and(truth(-2.5)) == truth(-2.5));
        assert_eq!(known_by(1.0, 3.0).and(truth(1.0)), known_by(1.0, 3.0));
        let both = known_by(1.0, 3.0).not();
        assert!(both.is_undecided() && both.within == known_by(1.0, 3.0).within);
    }

    #[test]
    fn the_nearest_line_is_told() {
        let near = |margin: f64, scale| {
            let comparison = margin.to_string();
            Truth::of(true, Line::new(comparison, margin, None, scale))
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
        fn it_is_the_logic_of_three_values(
            (a, b) in (-4.0..4.0_f64, -4.0..4.0_f64),
            (few, many) in (1.0..9.0_f64, 1.0..99.0_f64),
        ) {
            let truth = |errors: f64| known_by(if errors == a { few } else { many }, errors);
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
