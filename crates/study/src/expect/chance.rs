//! How far a value hangs on chance: its standard error, and how well so few runs know it.
//!
//! The standard error is estimated from the runs themselves. From many runs a true value is more than two of
//! them away once in twenty-two times. From few the estimate is often far too small: with two runs it happens
//! once in three or four times. How often it does follows Student's t (Student, The probable error of a mean,
//! Biometrika 6, 1908), whose degrees of freedom are one less than the runs. If points with different numbers
//! of runs add to the error, they lie between those of either (B. L. Welch, Biometrika 34, 1947;
//! F. E. Satterthwaite, Biometrics Bulletin 2, 1946).

use super::trace::Reading;
use special::Beta;
use std::collections::BTreeMap;

/// What seeds differ by because of rounding alone is no error: a share of what is compared.
const ROUNDING: f64 = 1e-12;
/// What lies within so many standard errors of its line is undecided, if there are many runs.
pub(crate) const UNDECIDED_WITHIN: f64 = 2.0;
/// With more degrees of freedom Student's t is the normal distribution, to a part in a thousand.
const MANY: f64 = 2000.0;

/// A standard error, and how well it is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Deviation {
    /// The standard error, in the unit of the value; 0 if it is the same in each run.
    pub(super) error: f64,
    /// The degrees of freedom; infinite if there is no error.
    pub(super) freedom: f64,
}

/// The runs of the points that an expression reads.
#[derive(Default)]
pub(super) struct Samples {
    /// All seeds, increasing. Each is left out in turn.
    pub(super) seeds: Vec<u64>,
    /// The numbers of runs of the points, increasing.
    runs: Vec<usize>,
    /// The seeds that the same points ran with.
    strata: Vec<Stratum>,
}

/// Seeds that the same points ran with.
struct Stratum {
    /// Their places among all seeds.
    at: Vec<usize>,
    /// The degrees of freedom of the deviations without each of them.
    freedom: f64,
}

impl Samples {
    /// The runs of these points. A point with a single run says nothing of chance.
    pub(super) fn of(readings: &[Reading]) -> Samples {
        let mut samples: Vec<&[u64]> =
            readings.iter().map(|it| &it.seeds[..]).filter(|seeds| seeds.len() > 1).collect();
        samples.sort_unstable_by_key(|seeds| (seeds.len(), *seeds));
        samples.dedup();
        let mut members: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (sample, seeds) in samples.iter().enumerate() {
            seeds.iter().for_each(|seed| members.entry(*seed).or_default().push(sample));
        }
        let mut strata: BTreeMap<&[usize], Vec<usize>> = BTreeMap::new();
        for (at, members) in members.values().enumerate() {
            strata.entry(members).or_default().push(at);
        }
        let stratum = |(members, at): (&[usize], Vec<usize>)| {
            // One mean for all runs of a point: of its smallest, each run has its part of n - 1 degrees.
            let runs = samples[members[0]].len() as f64;
            Stratum { freedom: at.len() as f64 * (runs - 1.0) / runs, at }
        };
        let strata = strata.into_iter().map(stratum).collect();
        let mut runs: Vec<usize> = samples.iter().map(|seeds| seeds.len()).collect();
        runs.dedup();
        Samples { seeds: members.into_keys().collect(), runs, strata }
    }

    /// How far a value hangs on chance: `without` is the value without each seed in turn, `scale` the size of
    /// what is compared. `None` if there is a single run of everything.
    pub(super) fn deviation(&self, value: f64, without: &[f64], scale: f64) -> Option<Deviation> {
        // Points that have more runs than those of this value do not move it.
        let stays = |others: &[f64]| others.iter().all(|other| (other - value).abs() <= ROUNDING * scale);
        let runs = *self.runs.iter().find(|&&runs| stays(&without[runs..])).or(self.runs.last())?;
        let error = jackknife(without, runs, scale);
        Some(Deviation { error, freedom: if error > 0.0 { self.freedom(without) } else { f64::INFINITY } })
    }

    /// The degrees of freedom after Welch and Satterthwaite: each stratum adds its squares to the variance,
    /// and they are known as well as its degrees of freedom tell.
    fn freedom(&self, without: &[f64]) -> f64 {
        let mean = without.iter().sum::<f64>() / without.len() as f64;
        let squares = |at: &[usize]| at.iter().map(|&at| (without[at] - mean).powi(2)).sum::<f64>();
        let all: f64 = self.strata.iter().map(|stratum| squares(&stratum.at)).sum();
        let unknown = self.strata.iter().map(|it| (squares(&it.at) / all).powi(2) / it.freedom);
        1.0 / unknown.sum::<f64>()
    }
}

/// The standard error of a value by the delete-one jackknife (B. Efron, The jackknife, the bootstrap and
/// other resampling plans, 1982, section 3.2). `without` is the value without each run in turn, `runs` their
/// number. For a mean it is the deviation between runs over the root of their number. What is rounding at the
/// size `scale` is 0.
pub(super) fn jackknife(without: &[f64], runs: usize, scale: f64) -> f64 {
    let mean = without.iter().sum::<f64>() / without.len() as f64;
    let squares: f64 = without.iter().map(|value| (value - mean) * (value - mean)).sum();
    let error = ((runs - 1) as f64 / runs as f64 * squares).sqrt();
    if error <= ROUNDING * scale { 0.0 } else { error }
}

/// What lies within so many standard errors of its line is undecided, if the error has so many degrees of
/// freedom: by Student's t as rare a distance as two standard errors are if the error is known. 14.0 with two
/// runs, 2.87 with five, 2.14 with twenty.
pub(super) fn undecided_within(freedom: f64) -> f64 {
    // Where squares exceed what a number can be, nothing is known of them, and the error is infinite.
    if freedom > MANY || freedom.is_nan() {
        return UNDECIDED_WITHIN;
    }
    // On both sides together: the normal distribution, and Student's t as a function of t (M. Abramowitz,
    // I. A. Stegun, Handbook of Mathematical Functions, 1964, equations 7.1.22 and 26.7.1).
    let rare = libm::erfc(UNDECIDED_WITHIN / std::f64::consts::SQRT_2);
    let half = 0.5 * freedom;
    let share = rare.inv_inc_beta(half, 0.5, half.ln_beta(0.5));
    (freedom * (1.0 - share) / share).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Points with these seeds.
    fn samples(points: &[&[u64]]) -> Samples {
        let reading = |seeds: &&[u64]| Reading {
            scenario: String::new(),
            parameters: serde_json::Map::new(),
            seeds: seeds.to_vec(),
            chosen: false,
            drawn: true,
            segments: 1,
        };
        Samples::of(&points.iter().map(reading).collect::<Vec<_>>())
    }

    /// The sum of the means of these points, with all seeds and without each.
    fn sum(points: &[BTreeMap<u64, f64>], seeds: &[u64]) -> (f64, Vec<f64>) {
        let without = |left_out: Option<u64>| {
            let mean = |point: &BTreeMap<u64, f64>| {
                let seen = || point.iter().filter(|(seed, _)| Some(**seed) != left_out);
                seen().map(|(_, value)| value).sum::<f64>() / seen().count() as f64
            };
            points.iter().map(mean).sum()
        };
        (without(None), seeds.iter().map(|&seed| without(Some(seed))).collect())
    }

    #[test]
    fn the_jackknife_of_a_mean_is_its_standard_error() {
        // 1, 2 and 6: mean 3, deviation sqrt(7), standard error sqrt(7 / 3).
        let without = [(2.0 + 6.0) / 2.0, (1.0 + 6.0) / 2.0, (1.0 + 2.0) / 2.0];
        assert!((jackknife(&without, 3, 1.0) - (7.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(jackknife(&[1.0, 1.0 + 1e-15], 2, 1.0), 0.0);
    }

    #[test]
    fn fewer_runs_need_more_standard_errors() {
        // The quantile at 97.725 % of Student's t. With one and two degrees of freedom it has a closed form.
        let rare = 0.022_750_131_948_179;
        let one = (std::f64::consts::PI * (0.5 - rare)).tan();
        let two = (1.0 - 2.0 * rare) / (2.0 * rare * (1.0 - rare)).sqrt();
        let known =
            [(1.0, one), (2.0, two), (1.5, 6.418190), (4.0, 2.869309), (19.0, 2.140494), (744.0, 2.003366)];
        for (freedom, expected) in known {
            let within = undecided_within(freedom);
            assert!((within - expected).abs() < 1e-6 * expected, "{freedom}: {within} {expected}");
        }
        let all: Vec<f64> = (0..200).map(|it| 0.8 * 1.05_f64.powi(it)).map(undecided_within).collect();
        assert!(all.is_sorted_by(|a, b| a >= b), "{all:?}");
        assert!((undecided_within(MANY) - 2.0).abs() < 2e-3);
        assert_eq!(undecided_within(f64::INFINITY), 2.0);
        let vast = samples(&[&[1, 2]]).deviation(1e300, &[-1e300, 1e300], 1e300).expect("several runs");
        assert_eq!((vast.error, undecided_within(vast.freedom)), (f64::INFINITY, 2.0));
    }

    #[test]
    fn the_degrees_of_freedom_are_those_of_the_runs_that_move_it() {
        let of = |values: &[f64]| (1..).zip(values.iter().copied()).collect::<BTreeMap<u64, f64>>();
        let steady: Vec<f64> = (0..100).map(|it| 10.0 + 0.001 * f64::from(it % 2)).collect();
        let wild: Vec<f64> = (0..100).map(|it| f64::from(it % 2)).collect();
        let freedom = |points: &[&[f64]], read: usize| {
            let points: Vec<_> = points.iter().map(|values| of(values)).collect();
            let seeds: Vec<Vec<u64>> = points.iter().map(|point| point.keys().copied().collect()).collect();
            let samples = samples(&seeds.iter().map(|seeds| &seeds[..]).collect::<Vec<_>>());
            let (value, without) = sum(&points[..read], &samples.seeds);
            samples.deviation(value, &without, 1.0).expect("several runs").freedom
        };
        let few = [1.0, 2.0, 4.0];
        let near = |freedom: f64, expected: f64| (freedom - expected).abs() < 0.02 * expected;
        assert!(near(freedom(&[&few], 1), 2.0));
        assert!(near(freedom(&[&few, &few], 2), 2.0));
        assert!(near(freedom(&[&wild], 1), 99.0));
        // Beside points that do not matter, with more runs or with fewer.
        assert!(near(freedom(&[&few, &wild], 1), 2.0));
        assert!(near(freedom(&[&wild, &few], 1), 99.0));
        assert!(near(freedom(&[&few, &steady], 2), 2.0));
        // What is the same in each run.
        assert_eq!(freedom(&[&[1.0; 3]], 1), f64::INFINITY);
    }

    #[test]
    fn different_seeds_are_different_samples() {
        let samples = samples(&[&[1, 2, 3], &[7, 8, 9], &[5]]);
        let point = |seeds: [u64; 3]| seeds.into_iter().zip([1.0, 2.0, 3.0]).collect::<BTreeMap<_, _>>();
        let (value, without) = sum(&[point([1, 2, 3]), point([7, 8, 9])], &samples.seeds);
        let Deviation { error, freedom } = samples.deviation(value, &without, 1.0).expect("several runs");
        // Both have a variance of 1 / 3, and two degrees of freedom.
        assert!((error - (2.0_f64 / 3.0).sqrt()).abs() < 1e-9 && (freedom - 4.0).abs() < 1e-9);
        assert_eq!(self::samples(&[&[5], &[6]]).deviation(1.0, &[], 1.0), None);
    }

    proptest! {
        #[test]
        fn the_jackknife_agrees_with_the_formula(values in prop::collection::vec(-1e3..1e3_f64, 2..30)) {
            let n = values.len() as f64;
            let sum: f64 = values.iter().sum();
            let without: Vec<f64> = values.iter().map(|value| (sum - value) / (n - 1.0)).collect();
            let squares: f64 = values.iter().map(|value| (value - sum / n).powi(2)).sum();
            let expected = (squares / (n - 1.0) / n).sqrt();
            prop_assert!((jackknife(&without, values.len(), 0.0) - expected).abs() < 1e-9 * (1.0 + expected));
        }

        /// Two points with any numbers of runs: not more degrees than both together, and about those of the
        /// point with fewer at least.
        #[test]
        fn they_lie_between_those_of_either(
            one in prop::collection::vec(1.0..1e3_f64, 2..9),
            other in prop::collection::vec(1.0..1e3_f64, 2..9),
        ) {
            let points = [&one, &other].map(|values| (1..).zip(values.iter().copied()).collect::<BTreeMap<_, _>>());
            let seeds = points.clone().map(|point| point.into_keys().collect::<Vec<u64>>());
            let samples = samples(&[&seeds[0], &seeds[1]]);
            let (value, without) = sum(&points, &samples.seeds);
            let freedom = samples.deviation(value, &without, 1.0).expect("several runs").freedom;
            let (few, many) = (one.len().min(other.len()) as f64, one.len().max(other.len()) as f64);
            let least = (few - 1.0).min((many - few) * (many - 1.0) / many);
            let least = if one.len() == other.len() { few - 1.0 } else { least };
            prop_assert!(freedom >= least - 1e-9 && freedom <= few + many - 2.0 + 1e-9, "{freedom}");
        }
    }
}
