//! Checks experiments without running them. Scenarios are built, and claims are evaluated over made-up
//! results of the right shape, so that a wrong label, axis or function shows at once.

use super::format::{Asserted, Experiment};
use super::library::Library;
use super::verdict::{combinations, language};
use crate::dry_run::{MAX_SAMPLES, dry_run};
use crate::expect::View;
use ackclock_scenario::ScenarioError;

/// Checks an experiment.
///
/// # Errors
///
/// [`ScenarioError`] if a scenario is not valid, or a claim cannot be evaluated.
pub fn check(library: &Library, experiment: &Experiment) -> Result<(), ScenarioError> {
    let mut sets = Vec::new();
    for (name, sweep) in library.sweeps(experiment)? {
        let points =
            sweep.points.iter().map(|point| Ok(dry_run(point, &point.scenario.build()?, 0, MAX_SAMPLES).0));
        sets.push((name, points.collect::<Result<_, ScenarioError>>()?));
    }
    let language = language(experiment, &View::of_several(sets));
    for claim in &experiment.claims {
        let Asserted::That(that) = &claim.asserted else { continue };
        for names in combinations(claim) {
            language
                .check_calls(that, &names)
                .and_then(|()| language.judge(that, &names).map(drop))
                .map_err(|error| experiment.error(claim, error.reason).help(error.remedy))?;
        }
    }
    Ok(())
}
