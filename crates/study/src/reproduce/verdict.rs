//! Verdicts: whether each claim holds, and the numbers behind it.

use super::claim::{Apart, Asserted, Claim, Origin};
use super::format::{Experiment, Kind};
use crate::expect::{Decision, ExpectError, Language, Line, Names, Reading, Truth, View};
use ackclock_scenario::results::{Evidence, PointResult};
use serde::Serialize;
use serde_json::{Map, Value as Json};

/// The verdict about a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It holds in every case.
    Holds,
    /// It fails in at least one case.
    Fails,
    /// The runs are too few to say whether it holds.
    Undecided,
    /// It cannot be tested here.
    Untestable,
    /// Something was fitted so that it holds.
    Calibrated,
    /// It is true by construction.
    Identity,
}

impl Verdict {
    fn of(truth: &Truth) -> Verdict {
        match truth {
            truth if truth.is_undecided() => Verdict::Undecided,
            Truth { holds: true, .. } => Verdict::Holds,
            Truth { .. } => Verdict::Fails,
        }
    }
}

/// A claim with its verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// The claim in words.
    pub text: String,
    /// The verdict.
    pub verdict: Verdict,
    /// What was found: the verdict without regard to `calibrated` and `identity`.
    pub found: Verdict,
    /// Whose claim it is.
    #[serde(skip)]
    pub origin: Origin,
    /// The claims of the source that it represents, or beside which it stands.
    pub of: Vec<String>,
    /// True if it is ours, false if it represents claims of the source.
    pub ours: bool,
    /// What was fitted to what, so that it holds.
    pub calibrated: Option<String>,
    /// Why it is true by construction.
    pub identity: Option<String>,
    /// If it fails: where the source itself says otherwise.
    pub contradicted: Option<String>,
    /// The expression, if there is one.
    pub that: Option<String>,
    /// Why it cannot be tested.
    pub untestable: Option<String>,
    /// What the publication says in words.
    pub published: Option<String>,
    /// What was tried.
    pub tried: Option<String>,
    /// The origin of its threshold.
    pub tolerance_from: Option<String>,
    /// The number of the case that decides: the one that is least true.
    pub deciding: Option<usize>,
    /// The cases: each combination of values.
    pub cases: Vec<Case>,
}

/// A claim for one combination of values.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// The values.
    pub with: Map<String, Json>,
    /// True if it holds for the means.
    pub holds: bool,
    /// What is known of it.
    pub verdict: Verdict,
    /// The comparison that decides, with its distance from the line.
    pub line: Option<Line>,
    /// The distance from the line in standard errors, positive where it holds; null if there is no error.
    pub standard_errors: Option<f64>,
    /// Within so many standard errors it is undecided: 2, and more with few runs (Student's t).
    pub undecided_within: f64,
    /// The largest number of runs of a point that it reads; 0 if it reads none.
    pub runs: usize,
    /// The smallest number of runs of such a point, among those in which something was drawn.
    pub least_runs: usize,
    /// True if anything in these runs was drawn at random.
    pub drawn: bool,
    /// If it is undecided: about how many runs would decide.
    pub runs_to_decide: Option<f64>,
    /// The numbers behind it.
    pub seen: Vec<Evidence>,
    /// Why it has no value over these results, if it has none. Then it does not hold.
    pub reason: Option<String>,
    /// The points that it reads.
    #[serde(skip)]
    pub readings: Vec<Reading>,
    /// How true it is.
    #[serde(skip)]
    pub truth: Truth,
}

impl Case {
    fn new(with: Map<String, Json>, Decision { truth, seen, readings }: Decision) -> Case {
        let runs = readings.iter().map(|reading| reading.seeds.len()).max().unwrap_or(0);
        let drawn = || readings.iter().filter(|reading| reading.drawn);
        let least = drawn().filter(|reading| !reading.chosen).map(|reading| reading.seeds.len()).min();
        let of_each = truth.line.iter().flat_map(|line| line.variances.iter().zip(&readings));
        let worst = of_each.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, reading)| reading.seeds.len());
        Case {
            with,
            holds: truth.holds,
            verdict: Verdict::of(&truth),
            standard_errors: Some(truth.errors).filter(|errors| errors.is_finite()),
            undecided_within: truth.within,
            line: truth.line.clone(),
            runs,
            least_runs: least.unwrap_or(runs),
            drawn: drawn().next().is_some(),
            runs_to_decide: truth.runs_to_decide(worst.unwrap_or(runs)),
            seen,
            reason: None,
            readings,
            truth,
        }
    }

    /// A case without a value: a division by zero, say, which made-up results did not show.
    fn without_value(with: Map<String, Json>, error: ExpectError) -> Case {
        let nothing = Decision { truth: Truth::exact(false), seen: Vec::new(), readings: Vec::new() };
        Case { reason: Some(error.reason), ..Case::new(with, nothing) }
    }
}

/// An experiment with its verdicts.
#[derive(Clone, Debug, Serialize)]
pub struct Reproduction {
    /// The id of the experiment.
    pub id: String,
    /// The key of the publication.
    pub work: String,
    /// The title.
    pub title: String,
    /// The section of the publication.
    pub section: String,
    /// The kind.
    pub kind: Kind,
    /// What was done.
    pub summary: String,
    /// What the source leaves open, and the reading that is used.
    pub notes: Vec<String>,
    /// The number of points.
    pub points: usize,
    /// The number of claims per verdict.
    pub counts: Counts,
    /// The claims.
    pub claims: Vec<Judged>,
    /// The results of every point, by scenario.
    #[serde(skip)]
    pub results: Vec<(String, Vec<PointResult>)>,
}

/// The number of claims per verdict.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Counts {
    /// Claims that hold.
    pub holds: usize,
    /// Claims that do not hold.
    pub fails: usize,
    /// Claims about which the runs are too few to say.
    pub undecided: usize,
    /// Claims that cannot be tested here.
    pub untestable: usize,
    /// Claims to which something was fitted.
    pub calibrated: usize,
    /// Claims that are true by construction.
    pub identity: usize,
}

impl Counts {
    /// The counts of these claims.
    pub fn of<'a>(claims: impl IntoIterator<Item = &'a Judged>) -> Counts {
        Counts::of_verdicts(claims.into_iter().map(|claim| claim.verdict))
    }

    pub(super) fn plus(self, other: Counts) -> Counts {
        Counts {
            holds: self.holds + other.holds,
            fails: self.fails + other.fails,
            undecided: self.undecided + other.undecided,
            untestable: self.untestable + other.untestable,
            calibrated: self.calibrated + other.calibrated,
            identity: self.identity + other.identity,
        }
    }

    /// The counts of these verdicts.
    pub(super) fn of_verdicts(verdicts: impl IntoIterator<Item = Verdict>) -> Counts {
        let mut counts = Counts::default();
        for verdict in verdicts {
            *match verdict {
                Verdict::Holds => &mut counts.holds,
                Verdict::Fails => &mut counts.fails,
                Verdict::Undecided => &mut counts.undecided,
                Verdict::Untestable => &mut counts.untestable,
                Verdict::Calibrated => &mut counts.calibrated,
                Verdict::Identity => &mut counts.identity,
            } += 1;
        }
        counts
    }
}

/// Evaluates every claim of an experiment over its results, by scenario.
pub(super) fn judge(experiment: &Experiment, results: Vec<(String, Vec<PointResult>)>) -> Reproduction {
    let view = View::of_several(results);
    let language = language(experiment, &view);
    let claims: Vec<_> = experiment.claims.iter().map(|claim| judge_claim(claim, &language)).collect();
    drop(language);
    let results = view.into_sets();
    Reproduction {
        id: experiment.id.clone(),
        work: experiment.work.clone(),
        title: experiment.title.clone(),
        section: experiment.section.clone(),
        kind: experiment.kind,
        summary: experiment.summary.clone(),
        notes: experiment.notes.clone(),
        points: results.iter().map(|(_, points)| points.len()).sum(),
        counts: Counts::of(&claims),
        claims,
        results,
    }
}

/// The language for the claims of an experiment.
pub(super) fn language(experiment: &Experiment, view: &View) -> Language {
    let language = Language::new(view).with_published(&experiment.published);
    experiment.definitions.iter().fold(language, Language::with_definition)
}

fn judge_claim(claim: &Claim, language: &Language) -> Judged {
    let (calibrated, identity) = match &claim.apart {
        Some(Apart::Calibrated(what)) => (Some(what.clone()), None),
        Some(Apart::Identity(why)) => (None, Some(why.clone())),
        None => (None, None),
    };
    let (that, untestable) = match &claim.asserted {
        Asserted::Untestable(why) => (None, Some(why.clone())),
        Asserted::That(that) => (Some(that.clone()), None),
    };
    let mut cases = Vec::new();
    for (that, names) in
        that.iter().flat_map(|that| combinations(claim).into_iter().map(move |it| (that, it)))
    {
        let decision = language.decide(that, &names);
        let with = names.into_iter().collect();
        cases.push(match decision {
            Ok(decision) => Case::new(with, decision),
            Err(error) => Case::without_value(with, error),
        });
    }
    // It holds if all cases do, so that it is as true as the least true one.
    let least = (0..cases.len()).reduce(|least, next| {
        if cases[next].truth.less_true_than(&cases[least].truth) { next } else { least }
    });
    let found = least.map_or(Verdict::Untestable, |least| cases[least].verdict);
    let contradicted = match &claim.contradicted {
        Some(it) if found == Verdict::Fails => {
            let shown = language.decide(&it.that, &Names::new());
            let holds = shown.is_ok_and(|shown| Verdict::of(&shown.truth) == Verdict::Holds);
            holds.then(|| it.by.clone())
        }
        _ => None,
    };
    Judged {
        text: claim.text.clone(),
        verdict: match claim.apart {
            Some(Apart::Calibrated(_)) => Verdict::Calibrated,
            Some(Apart::Identity(_)) => Verdict::Identity,
            None => found,
        },
        found,
        of: claim.origin.observations().iter().map(ToString::to_string).collect(),
        ours: matches!(claim.origin, Origin::Ours(_)),
        origin: claim.origin.clone(),
        calibrated,
        identity,
        contradicted,
        that,
        untestable,
        published: claim.published.clone(),
        tried: claim.tried.clone(),
        tolerance_from: claim.tolerance_from.clone(),
        deciding: least,
        cases,
    }
}

/// Every combination of a claim's values. The last name changes fastest.
pub(super) fn combinations(claim: &Claim) -> Vec<Names> {
    let mut all = vec![Names::new()];
    for (name, values) in &claim.each {
        all = all
            .iter()
            .flat_map(|names| {
                values.iter().map(|value| {
                    let mut names = names.clone();
                    names.insert(name.clone(), value.clone());
                    names
                })
            })
            .collect();
    }
    all
}
