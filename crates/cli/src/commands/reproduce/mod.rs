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
use std::sync::atomic::AtomicBool;

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

/// Experiments that one page tells of.
struct Part<'a> {
    /// What selects them.
    what: String,
    chosen: Vec<&'a Experiment>,
    plans: Vec<Plan<'a>>,
}

pub(crate) fn run(command: &args::Reproduce) -> Result<(), Failure> {
    let library = match &command.experiments {
        Some(directory) => Library::from_directory(directory)?,
        None => Library::built_in()?,
    };
    let parts = parts(command, &library)?;
    if command.emulate {
        ackclock_live::privilege::check()?;
        let at_once = usize::from(command.at_once);
        let mut plans = parts.iter().flat_map(|part| &part.plans);
        plans.try_for_each(|plan| emulated::admissible(plan.points(), at_once))?;
    }
    let out = command.out.as_deref().map(Files::open).transpose()?;
    let files = |part: &Part<'_>| match &out {
        Some(out) if command.by_family => out.within(&part.what).map(Some),
        out => Ok((*out).clone()),
    };
    let files = parts.iter().map(files).collect::<Result<Vec<_>, _>>()?;
    let chosen: Vec<_> = parts.iter().flat_map(|part| part.chosen.iter().copied()).collect();
    let stop = interrupt::listen()?;
    let mut all = Found::default();
    for (part, files) in parts.into_iter().zip(files) {
        let found = reproduce(command, &library, part, files, stop)?;
        all.reproductions.extend(found.reproductions);
        all.emulated = found.emulated; // there is one part then
    }
    let origin = origin(command, &library, &command.what, &chosen)?;
    let rows = rows(&library, &all.reproductions);
    if let Some(files) = out.filter(|_| command.by_family) {
        files.save_and_tell(SUMMARY, &summary::markdown(&rows, &origin))?;
    }
    match (command.json, command.summary) {
        (true, true) => say!("{}", json!({"summary": rows})),
        (true, false) => say!("{}", document(&all, &rows, &origin)),
        (false, true) => summary::print(&rows),
        (false, false) => print::print(&all.reproductions, all.emulated.as_ref()),
    }
    let emulated = all.emulated.as_ref().map_or(&[][..], |emulated| &emulated.reproductions);
    let mut claims = all.reproductions.iter().chain(emulated).flat_map(|reproduction| &reproduction.claims);
    let failing = claims.any(|claim| claim.found == Verdict::Fails);
    if command.strict && failing { Err(Failure::Expectation) } else { Ok(()) }
}

/// The parts of what is asked for: one, or one per family. All are checked here, so that a mistake in the
/// last one does not cost the whole run.
fn parts<'a>(command: &args::Reproduce, library: &'a Library) -> Result<Vec<Part<'a>>, Failure> {
    let mut chosen = library.select(&command.what)?;
    if command.emulate {
        chosen = emulable(library, chosen, command.own_host)?;
    }
    let mut parts: Vec<(String, Vec<_>)> = Vec::new();
    if command.by_family {
        // Families of two works that have one name are selected together, too.
        for (family, members) in of_each_family(library, &chosen) {
            match parts.iter_mut().find(|(known, _)| known == family) {
                Some((_, known)) => known.extend(members),
                None => parts.push((family.to_owned(), members)),
            }
        }
    } else {
        parts.push((command.what.clone(), chosen));
    }
    let part = |(what, chosen): (String, Vec<&'a Experiment>)| {
        let groups = if command.emulate { vec![chosen.clone()] } else { groups(library, &chosen)? };
        let plans = groups.into_iter().map(|group| Plan::new(library, group)).collect::<Result<_, _>>()?;
        Ok(Part { what, chosen, plans })
    };
    parts.into_iter().map(part).collect()
}

/// Runs and judges a part, and writes its files.
fn reproduce(
    command: &args::Reproduce,
    library: &Library,
    part: Part<'_>,
    files: Option<Files>,
    stop: &AtomicBool,
) -> Result<Found, Failure> {
    let Part { what, chosen, plans } = part;
    let found = find(command, library, plans, files.as_ref(), stop)?;
    let Some(files) = &files else { return Ok(found) };
    let rows = rows(library, &found.reproductions);
    let origin = origin(command, library, &what, &chosen)?;
    if command.summary {
        files.save_and_tell(SUMMARY, &summary::markdown(&rows, &origin))?;
    } else {
        files.save("reproduction.json", &format!("{:#}\n", document(&found, &rows, &origin)))?;
        let page = page(&origin, &found.reproductions, found.emulated.as_ref(), &found.pictures);
        files.save_and_tell(PAGE, &page)?;
    }
    Ok(found)
}

/// What a page of these experiments was made from.
fn origin(
    command: &args::Reproduce,
    library: &Library,
    what: &str,
    chosen: &[&Experiment],
) -> Result<Origin, Failure> {
    Ok(Origin {
        command: what.to_owned()
            + if command.emulate { " --emulate" } else { "" }
            + if command.own_host { " --own-host" } else { "" },
        build: program::build()?.word().to_owned(),
        files: library.digest(chosen)?,
    })
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
    let mut groups = Vec::new();
    for (_, members) in of_each_family(library, chosen) {
        let mut needs = Vec::new();
        for experiment in members {
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

/// Those of these experiments that belong to each family.
fn of_each_family<'a>(
    library: &'a Library,
    chosen: &[&'a Experiment],
) -> impl Iterator<Item = (&'a str, Vec<&'a Experiment>)> {
    library.families().into_iter().filter_map(|(family, _, mut members)| {
        members.retain(|experiment| chosen.iter().any(|other| other.id == experiment.id));
        (!members.is_empty()).then_some((family, members))
    })
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
    stop: &AtomicBool,
) -> Result<Found, Failure> {
    let store = match &command.store {
        Some(directory) => directory.clone(),
        None => PathBuf::from("ackclock-out/points").join(program::build()?.word()),
    };
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
