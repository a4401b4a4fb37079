//! Checks experiments without running them. Scenarios are built, and claims are evaluated over made-up
//! results of the right shape, so that a wrong label, axis or function shows at once.

use super::claim::{Asserted, Claim};
use super::format::Experiment;
use super::library::Library;
use super::verdict::{combinations, language};
use crate::dry_run::{MAX_SAMPLES, dry_run};
use crate::expect::{Names, View};
use ackclock_scenario::ScenarioError;

/// Checks an experiment: its scenarios, its claims, and that the source has the claims that they represent.
///
/// # Errors
///
/// [`ScenarioError`] if a scenario is not valid, or a claim cannot be evaluated.
pub fn check(library: &Library, experiment: &Experiment) -> Result<(), ScenarioError> {
    experiment.claims.iter().try_for_each(|claim| check_observations(library, experiment, claim))?;
    let mut sets = Vec::new();
    for (name, sweep) in library.sweeps(experiment)? {
        let points =
            sweep.points.iter().map(|point| Ok(dry_run(point, &point.scenario.build()?, 0, MAX_SAMPLES).0));
        sets.push((name, points.collect::<Result<_, ScenarioError>>()?));
    }
    let language = language(experiment, &View::of_several(sets));
    for claim in &experiment.claims {
        let valid = |that: &str, names: &Names| {
            language.check_calls(that, names).and_then(|()| language.judge(that, names).map(drop))
        };
        let Asserted::That(that) = &claim.asserted else { continue };
        for names in combinations(claim) {
            valid(that, &names).map_err(|error| experiment.error(claim, error.reason).help(error.remedy))?;
        }
        if let Some(it) = &claim.contradicted {
            valid(&it.that, &Names::new())
                .map_err(|error| experiment.error_against(it, error.reason).help(error.remedy))?;
        }
    }
    Ok(())
}

fn check_observations(
    library: &Library,
    experiment: &Experiment,
    claim: &Claim,
) -> Result<(), ScenarioError> {
    for observation in claim.origin.observations() {
        let id = observation.experiment.as_deref().unwrap_or(&experiment.id);
        let wrong =
            |message| experiment.error(claim, message).help("published.toml has the numbers of claims");
        match library.published().claims(id) {
            Some(claims) if observation.number <= claims => {}
            Some(claims) => {
                return Err(wrong(format!(
                    "of {id} {claims} claims are published, so there is no {observation}"
                )));
            }
            None => return Err(wrong(format!("no publication has an experiment {id}"))),
        }
    }
    Ok(())
}
