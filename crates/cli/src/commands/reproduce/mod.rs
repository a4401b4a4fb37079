//! `ackclock reproduce`.

mod emulated;
mod files;
mod page;
mod print;
mod shown;
mod simulate;
mod summary;

use crate::commands::emulate::own_hosts;
use crate::failure::Failure;
use crate::{args, interrupt, memory, program};
use ackclock_scenario::Point;
use ackclock_study::reproduce::{Experiment, Library, Plan, Reproduction, Verdict, summary as rows};
use ackclock_study::run::check;
use ackclock_study::store::PointStore;
use emulated::Emulated;
use files::{Files, Picture};
use miette::miette;
use page::{Origin, page};
pub(crate) use print::describe;
use serde_json::{Value, json};
use shown::total;
use simulate::Outcome;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// The page of some experiments, and that of one table, in the output directory.
const PAGE: &str = "reproduction.md";
const SUMMARY: &str = "summary.md";

/// Of the memory that is available, what the results of experiments may take that run together. More seeds
/// may take several times as much, and whoever judges a result copies it.
const SHARE: f64 = 0.1;

/// What was found.
#[derive(Default)]
struct Found {
    reproductions: Vec<Reproduction>,
    emulated: Option<Emulated>,
    pictures: Vec<Picture>,
}

pub(crate) fn run(command: &args::Reproduce) -> Result<(), Failure> {
    let library = match &command.experiments {
        Some(directory) => Library::from_directory(directory)?,
        None => Library::built_in()?,
    };
    let mut chosen = library.select(&command.what)?;
    if command.emulate {
        chosen = emulable(&library, chosen, command.own_host)?;
    }
    // All are checked first, so that a mistake in the last one does not cost the whole run.
    let groups = if command.emulate { vec![chosen.clone()] } else { groups(&library, &chosen)? };
    let plans = groups.into_iter().map(|group| Plan::new(&library, group)).collect::<Result<Vec<_>, _>>()?;
    if command.emulate {
        ackclock_live::privilege::check()?;
        plans
            .iter()
            .try_for_each(|plan| emulated::admissible(plan.points(), usize::from(command.at_once)))?;
    }
    let files = command.out.as_deref().map(Files::open).transpose()?;
    let found = find(command, &library, plans, files.as_ref())?;
    let rows = rows(&library, &found.reproductions);
    let origin = Origin {
        command: command.what.clone()
            + if command.emulate { " --emulate" } else { "" }
            + if command.own_host { " --own-host" } else { "" },
        build: program::build()?.word().to_owned(),
        files: library.digest(&chosen)?,
    };
    let document = document(&found, &rows, &origin);
    if let Some(files) = files.as_ref().filter(|_| command.summary) {
        files.save(SUMMARY, &summary::markdown(&rows, &origin))?;
    } else if let Some(files) = &files {
        files.save(PAGE, &page(&origin, &found.reproductions, found.emulated.as_ref(), &found.pictures))?;
        files.save("reproduction.json", &format!("{document:#}\n"))?;
    }
    match (command.json, command.summary) {
        (true, true) => say!("{}", json!({"summary": document["summary"]})),
        (true, false) => say!("{document}"),
        (false, true) => summary::print(&rows),
        (false, false) => print::print(&found.reproductions, found.emulated.as_ref()),
    }
    if let Some(files) = &files {
        let name = if command.summary { SUMMARY } else { PAGE };
        tell!("wrote {}", files.path(name).display());
    }
    let emulated = found.emulated.as_ref().map_or(&[][..], |emulated| &emulated.reproductions);
    let mut claims = found.reproductions.iter().chain(emulated).flat_map(|reproduction| &reproduction.claims);
    let failing = claims.any(|claim| claim.found == Verdict::Fails);
    if command.strict && failing { Err(Failure::Expectation) } else { Ok(()) }
}

/// What an emulation can judge: the experiments that cannot be emulated are named and left out.
fn emulable<'a>(
    library: &Library,
    chosen: Vec<&'a Experiment>,
    own_host: bool,
) -> Result<Vec<&'a Experiment>, Failure> {
    let mut kept = Vec::new();
    for experiment in chosen {
        let sweeps = library.sweeps(experiment)?;
        let points = sweeps.iter().flat_map(|(_, sweep)| &sweep.points);
        match points.filter_map(|point| lack(point, own_host)).next() {
            Some(lack) => tell!("{} is left out: {lack}", experiment.id),
            None => kept.push(experiment),
        }
    }
    if kept.is_empty() {
        let help = "reproduce them without --emulate";
        return Err(miette!(help = help, "no emulation can judge any of these experiments").into());
    }
    Ok(kept)
}

/// Why a point cannot be emulated, or not as its claims want it: an emulation sees no single segments, so
/// claims about them (`follow`) stay with the simulator.
fn lack(point: &Point, own_host: bool) -> Option<String> {
    if point.scenario.build().is_ok_and(|built| !built.followed.is_empty()) {
        return Some("its claims ask for single segments, which no emulation has".to_owned());
    }
    ackclock_live::check(point, &own_hosts(point, own_host)).err().map(|error| error.to_string())
}

/// Experiments whose results are in memory at once: of one family, and as many as take a fair share of what
/// there is. (Emulations are one group: their results are small.)
fn groups<'a>(library: &'a Library, chosen: &[&'a Experiment]) -> Result<Vec<Vec<&'a Experiment>>, Failure> {
    let share = memory::available().map_or(f64::INFINITY, |bytes| bytes as f64 * SHARE);
    let is_chosen = |experiment: &&Experiment| chosen.iter().any(|other| other.id == experiment.id);
    let mut groups = Vec::new();
    for (_, _, members) in library.families() {
        let mut needs = Vec::new();
        for experiment in members.into_iter().filter(is_chosen) {
            let mut kept = 0.0;
            for (_, sweep) in library.sweeps(experiment)? {
                kept += check(&sweep.points, false)?.kept;
            }
            needs.push((experiment, kept));
        }
        groups.extend(packed(needs, share));
    }
    Ok(groups)
}

/// What fits together into this much, in the order given. What does not fit alone is alone.
fn packed<T>(needs: Vec<(T, f64)>, room: f64) -> Vec<Vec<T>> {
    let (mut groups, mut taken) = (Vec::<Vec<T>>::new(), 0.0);
    for (it, need) in needs {
        match groups.last_mut() {
            Some(group) if taken + need <= room => group.push(it),
            _ => {
                groups.push(vec![it]);
                taken = 0.0;
            }
        }
        taken += need;
    }
    groups
}

/// Runs and judges all plans, and writes their points and pictures. A plan that needs too much memory goes on
/// in halves.
fn find(
    command: &args::Reproduce,
    library: &Library,
    plans: Vec<Plan<'_>>,
    files: Option<&Files>,
) -> Result<Found, Failure> {
    let store = match &command.store {
        Some(directory) => directory.clone(),
        None => PathBuf::from("ackclock-out/points").join(program::build()?.word()),
    };
    let stop = interrupt::listen()?;
    let mut found = Found::default();
    let mut waiting = VecDeque::from(plans);
    while let Some(mut plan) = waiting.pop_front() {
        let asked = plan.clone();
        // What is emulated has one table for all experiments.
        let divisible = plan.experiments() > 1 && !command.emulate;
        let mut reproductions = match simulate::reproduce(command, &mut plan, divisible, &store, stop)? {
            Outcome::Judged(reproductions) => reproductions,
            Outcome::TooLarge => {
                for half in asked.halves(library)?.into_iter().rev() {
                    waiting.push_front(half);
                }
                memory::give_back();
                continue;
            }
        };
        let emulate =
            || emulated::emulate(&asked, &store, command.own_host, usize::from(command.at_once), stop);
        let emulated = command.emulate.then(emulate).transpose()?;
        if let Some(files) = files.filter(|_| !command.summary) {
            let emulated = emulated.as_ref().map(|emulated| (&asked, emulated));
            found.pictures.extend(files.results(&plan, &reproductions, emulated)?);
        }
        for reproduction in &mut reproductions {
            reproduction.results = Vec::new();
        }
        found.reproductions.extend(reproductions);
        found.emulated = emulated;
        drop((plan, asked));
        memory::give_back();
    }
    Ok(found)
}

/// The store of this build's points in a directory.
fn open_store(directory: &Path) -> miette::Result<PointStore> {
    PointStore::open(directory, &program::build()?).map_err(|error| {
        let help = "give --store another directory, one of your own";
        miette!(help = help, "{} cannot be used: {error}", directory.display())
    })
}

/// The JSON contract.
fn document(found: &Found, rows: &[ackclock_study::reproduce::Row], origin: &Origin) -> Value {
    let mut document = json!({
        "counts": total(&found.reproductions), "summary": rows, "build": origin.build, "files": origin.files,
        "experiments": found.reproductions,
    });
    if let Some(emulated) = &found.emulated {
        document["emulated"] = emulated.to_json();
    }
    document
}

#[cfg(test)]
mod tests {
    use super::packed;

    #[test]
    fn as_many_run_together_as_fit() {
        let names = |needs: &[f64], room| packed(needs.iter().copied().enumerate().collect(), room);
        assert_eq!(names(&[1.0, 2.0, 3.0, 1.0, 9.0, 1.0], 4.0), [vec![0, 1], vec![2, 3], vec![4], vec![5]]);
        assert_eq!(names(&[5.0, 5.0], 4.0), [[0], [1]]);
        assert_eq!(names(&[0.0; 3], f64::INFINITY), [[0, 1, 2]]);
        assert_eq!(names(&[], 4.0), [[0; 0]; 0]);
    }
}
