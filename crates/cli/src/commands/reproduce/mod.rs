//! `ackclock reproduce`.

mod emulated;
mod page;
mod shown;

use crate::failure::Failure;
use crate::progress::Progress;
use crate::view::gallery::picture;
use crate::view::table::plain_table;
use crate::{args, interrupt, memory, program};
use ackclock_files::Folder;
use ackclock_scenario::results::PointResult;
use ackclock_sim::engine::NoObserver;
use ackclock_study::reproduce::{
    Asserted, Counts, Experiment, Library, Pictured, Plan, Reproduction, Source,
};
use ackclock_study::run::check;
use ackclock_study::runner::{Runner, RunnerError};
use ackclock_study::store::PointStore;
use emulated::Emulated;
use miette::miette;
use page::{Picture, page};
use serde_json::{Value, json};
use shown::{in_doubt, measured, published, total, word};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// The directory of charts, next to the page.
const PICTURES: &str = "pictures";
/// The width of a table that does not go to a terminal, columns.
const WIDTH: u16 = 160;

pub(crate) fn run(command: &args::Reproduce) -> Result<(), Failure> {
    let library = match &command.experiments {
        Some(directory) => Library::from_directory(directory)?,
        None => Library::built_in()?,
    };
    let plan = Plan::new(&library, library.select(&command.what)?)?;
    if command.emulate {
        ackclock_live::privilege::check()?;
    }
    let store = match &command.store {
        Some(directory) => directory.clone(),
        None => PathBuf::from("ackclock-out/points").join(program::build()?.word()),
    };
    let stop = interrupt::listen()?;
    let results = simulate(command, &plan, &store, stop)?;
    let reproductions = plan.judge(&results)?;
    let emulated = command.emulate.then(|| emulated::emulate(&plan, &store, stop)).transpose()?;
    if let Some(out) = &command.out {
        write(out, command, &plan, &reproductions, emulated.as_ref())?;
    }
    if command.json {
        say!("{}", document(&reproductions, emulated.as_ref()));
    } else {
        print(&reproductions, emulated.as_ref());
    }
    if let Some(out) = &command.out {
        tell!("wrote {}", out.join("reproduction.md").display());
    }
    let emulated = emulated.as_ref().map_or(&[][..], |emulated| &emulated.reproductions);
    let failing = total(reproductions.iter().chain(emulated)).fails > 0;
    if command.strict && failing { Err(Failure::Expectation) } else { Ok(()) }
}

/// Runs every point that is not finished yet.
fn simulate(
    command: &args::Reproduce,
    plan: &Plan<'_>,
    directory: &Path,
    stop: &AtomicBool,
) -> Result<Vec<PointResult>, Failure> {
    let points = plan.points();
    memory::limit();
    let at_once = memory::at_once(command.threads, points.len());
    memory::check(check(points, false)?, at_once)?;
    let store = open_store(directory)?;
    let progress = Progress::new(points)?;
    let runner = Runner {
        probes: false,
        threads: Some(at_once),
        stop,
        store: Some(&store),
        progress: &|number, share| progress.follow(number, share),
    };
    let results = runner.run(points, &NoObserver);
    progress.clear();
    results.map_err(|error| match error {
        RunnerError::Interrupted => {
            let finished = points.iter().filter(|point| store.contains(point)).count();
            Failure::Interrupted(format!(
                "interrupted: {finished} of {} points are finished and kept in {}\n\
                 Run the same command again to go on with the others.",
                points.len(),
                directory.display()
            ))
        }
        RunnerError::Scenario(error) => error.into(),
        error => Failure::Report(miette!(
            help = format!("finished points are kept in {}", directory.display()),
            "{error}"
        )),
    })
}

/// The store of this build's points in a directory.
fn open_store(directory: &Path) -> miette::Result<PointStore> {
    PointStore::open(directory, &program::build()?).map_err(|error| {
        let help = "give --store another directory, one of your own";
        miette!(help = help, "{} cannot be used: {error}", directory.display())
    })
}

/// The JSON contract.
fn document(reproductions: &[Reproduction], emulated: Option<&Emulated>) -> Value {
    let mut document = json!({"counts": total(reproductions), "experiments": reproductions});
    if let Some(emulated) = emulated {
        document["emulated"] = emulated.to_json();
    }
    document
}

/// Writes the output directory: the page, its pictures, the verdicts, and the results of every point.
fn write(
    out: &Path,
    command: &args::Reproduce,
    plan: &Plan<'_>,
    reproductions: &[Reproduction],
    emulated: Option<&Emulated>,
) -> Result<(), Failure> {
    let help = "give --out another directory, one of your own";
    let folder = Folder::own(out)
        .map_err(|error| miette!(help = help, "{} cannot be used: {error}", out.display()))?;
    let save = |name: &str, text: String| {
        let written = folder.replace(name, |file| file.write_all(text.as_bytes()));
        written
            .map_err(|error| miette!(help = help, "{} cannot be written: {error}", out.join(name).display()))
    };
    let mut pictures = pictures(plan, reproductions, "");
    if let Some(emulated) = emulated {
        pictures.extend(self::pictures(plan, &emulated.reproductions, "emulated"));
    }
    for picture in &pictures {
        save(&picture.file, picture.svg.clone())?;
    }
    let words =
        format!("ackclock reproduce {}{}", command.what, if command.emulate { " --emulate" } else { "" });
    save("reproduction.md", page(&words, reproductions, emulated, &pictures))?;
    save("reproduction.json", format!("{:#}\n", document(reproductions, emulated)))?;
    let points = |reproductions: &[Reproduction], suffix: &str| {
        for reproduction in reproductions.iter().filter(|reproduction| reproduction.points > 0) {
            let sets =
                reproduction.results.iter().map(|(name, points)| json!({"scenario": name, "points": points}));
            let sets: Vec<_> = sets.collect();
            save(&format!("{}.{suffix}.json", reproduction.id), format!("{}\n", json!(sets)))?;
        }
        Ok::<(), Failure>(())
    };
    points(reproductions, "points")?;
    emulated.map_or(Ok(()), |emulated| points(&emulated.reproductions, "emulated"))
}

/// The pictures that each experiment asks for, for each of its own scenarios. `place` names where the results
/// were measured.
fn pictures(plan: &Plan<'_>, reproductions: &[Reproduction], place: &str) -> Vec<Picture> {
    let mut pictures = Vec::new();
    for ((experiment, sweeps), reproduction) in plan.sweeps().zip(reproductions) {
        let sets = experiment.scenarios.iter().zip(sweeps).zip(&reproduction.results);
        for (((name, source), (_, sweep)), (_, results)) in sets {
            // A scenario of another experiment has its pictures there, unless this experiment asks for other
            // pictures.
            if matches!(source, Source::Of(..)) && experiment.pictures == [Pictured::Goodput] {
                continue;
            }
            for &what in &experiment.pictures {
                let Some((title, svg)) = picture(sweep, results, what) else { continue };
                let word = if what == Pictured::Goodput { "" } else { what.word() };
                let parts = [&experiment.id, name.as_str(), word, place];
                let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
                let notes: Vec<&str> =
                    [name.as_str(), place].into_iter().filter(|it| !it.is_empty()).collect();
                let colon = if notes.is_empty() { "" } else { ": " };
                pictures.push(Picture {
                    id: experiment.id.clone(),
                    title: format!("{title}{colon}{}", notes.join(", ")),
                    file: format!("{PICTURES}/{}.svg", parts.join("-")),
                    svg,
                });
            }
        }
    }
    pictures
}

/// One table per experiment.
fn print(reproductions: &[Reproduction], emulated: Option<&Emulated>) {
    for (number, reproduction) in reproductions.iter().enumerate() {
        let Reproduction { id, title, section, points, claims, .. } = reproduction;
        say!("{id} (section {section}): {title}; {points} points");
        if claims.is_empty() {
            say!("  nothing is claimed\n");
            continue;
        }
        let mut header = vec!["claim", "verdict", "published", "measured"];
        let place = emulated.map(Emulated::place).unwrap_or_default();
        if emulated.is_some() {
            header.extend([place.as_str(), "emulated"]);
        }
        let rows = claims.iter().enumerate().map(|(at, claim)| {
            let mut row = vec![
                claim.text.clone(),
                word(claim.verdict).to_owned(),
                published(claim),
                measured(claim, false).join("\n"),
            ];
            if let Some(emulated) = emulated {
                let claim = &emulated.reproductions[number].claims[at];
                row.push(in_doubt(word(claim.verdict), claim.verdict, &emulated.trust(number)));
                row.push(measured(claim, false).join("\n"));
            }
            row
        });
        let mut table = plain_table(&header, rows);
        if !table.is_tty() {
            table.set_width(WIDTH);
        }
        say!("{table}\n");
        for doubt in emulated.into_iter().flat_map(|emulated| emulated.trust(number).doubts) {
            tell!("{id}: DO NOT TRUST THE EMULATED RESULT: {doubt}");
        }
    }
    let counts =
        |Counts { holds, fails, untestable }| format!("{holds} hold, {fails} fail, {untestable} untestable");
    say!("{}", counts(total(reproductions)));
    if let Some(emulated) = emulated {
        say!("{}: {}", emulated.place(), counts(total(&emulated.reproductions)));
    }
}

/// The text of `ackclock show` for an experiment.
pub(crate) fn describe(experiment: &Experiment) -> String {
    let Experiment { id, work, title, section, kind, summary, notes, .. } = experiment;
    let mut text =
        format!("{title} ({id})\n{work}, section {section}; {}\n\n{}\n", kind.word(), summary.trim());
    for note in notes {
        let _ = write!(text, "\n  * {}", note.trim());
    }
    if !notes.is_empty() {
        text.push('\n');
    }
    text.push_str("\nClaims\n");
    for claim in &experiment.claims {
        let _ = write!(text, "\n  - {}\n", claim.text.trim());
        let _ = match &claim.asserted {
            Asserted::That(that) => writeln!(text, "    {}", that.trim()),
            Asserted::Untestable(why) => {
                writeln!(text, "    untestable: {}", why.trim())
            }
        };
    }
    text
}
