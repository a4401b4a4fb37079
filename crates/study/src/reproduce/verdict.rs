//! Verdicts: whether each claim holds, and the numbers behind it.

use super::claim::{Asserted, Claim};
use super::format::{Experiment, Kind};
use crate::expect::{Language, Names, View};
use ackclock_scenario::ScenarioError;
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
    /// It cannot be tested here.
    Untestable,
}

/// A claim with its verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// The claim in words.
    pub text: String,
    /// The verdict.
    pub verdict: Verdict,
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
    /// The cases: each combination of values.
    pub cases: Vec<Case>,
}

/// A claim for one combination of values.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// The values.
    pub with: Map<String, Json>,
    /// True if it holds.
    pub holds: bool,
    /// The numbers behind it.
    pub seen: Vec<Evidence>,
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
    /// Claims that cannot be tested here.
    pub untestable: usize,
}

impl Counts {
    /// The counts of these claims.
    pub fn of<'a>(claims: impl IntoIterator<Item = &'a Judged>) -> Counts {
        let mut counts = Counts::default();
        for claim in claims {
            match claim.verdict {
                Verdict::Holds => counts.holds += 1,
                Verdict::Fails => counts.fails += 1,
                Verdict::Untestable => counts.untestable += 1,
            }
        }
        counts
    }
}

/// Evaluates every claim of an experiment over its results, by scenario.
pub(super) fn judge(
    experiment: &Experiment,
    results: Vec<(String, Vec<PointResult>)>,
) -> Result<Reproduction, ScenarioError> {
    let view = View::of_several(results);
    let language = language(experiment, &view);
    let claims: Vec<_> = experiment
        .claims
        .iter()
        .map(|claim| judge_claim(experiment, claim, &language))
        .collect::<Result<_, _>>()?;
    let results = view.sets().to_vec();
    Ok(Reproduction {
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
    })
}

/// The language for the claims of an experiment.
pub(super) fn language(experiment: &Experiment, view: &View) -> Language {
    let language = Language::new(view).with_published(&experiment.published);
    experiment.definitions.iter().fold(language, Language::with_definition)
}

fn judge_claim(experiment: &Experiment, claim: &Claim, language: &Language) -> Result<Judged, ScenarioError> {
    let mut judged = Judged {
        text: claim.text.clone(),
        verdict: Verdict::Untestable,
        that: None,
        untestable: None,
        published: claim.published.clone(),
        tried: claim.tried.clone(),
        tolerance_from: claim.tolerance_from.clone(),
        cases: Vec::new(),
    };
    let that = match &claim.asserted {
        Asserted::Untestable(why) => {
            judged.untestable = Some(why.clone());
            return Ok(judged);
        }
        Asserted::That(that) => that,
    };
    for names in combinations(claim) {
        let (holds, seen) = language
            .judge(that, &names)
            .map_err(|error| experiment.error(claim, error.reason).help(error.remedy))?;
        judged.cases.push(Case { with: names.into_iter().collect(), holds, seen });
    }
    let all = judged.cases.iter().all(|case| case.holds);
    judged.verdict = if all { Verdict::Holds } else { Verdict::Fails };
    judged.that = Some(that.clone());
    Ok(judged)
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
