//! `ackclock reproduce`.

mod page;
mod shown;

use crate::progress::Progress;
use crate::table::plain_table;
use crate::{Failure, args, interrupt, memory, output};
use ackclock_sim::engine::Nobody;
use ackclock_sim::reproduce::{Asserted, Counts, Experiment, Library, Plan, Reproduction, Source};
use ackclock_sim::results::PointResult;
use ackclock_sim::run::check;
use ackclock_sim::runner::{Runner, RunnerError};
use ackclock_sim::store::PointStore;
use miette::{IntoDiagnostic, WrapErr, miette};
use page::{Picture, page};
use serde_json::{Value, json};
use shown::{measured, published, word};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Where charts lie, beside the page.
const PICTURES: &str = "pictures";
/// Columns of a table that does not go to a terminal.
const WIDTH: u16 = 160;

pub(crate) fn run(command: &args::Reproduce) -> Result<(), Failure> {
    let library = match &command.experiments {
        Some(directory) => Library::from_directory(directory)?,
        None => Library::built_in()?,
    };
    let plan = Plan::new(&library, library.select(&command.what)?)?;
    let results = simulate(command, &plan)?;
    let reproductions = plan.judge(&results)?;
    if let Some(out) = &command.out {
        write(out, &command.what, &plan, &reproductions)?;
    }
    if command.json {
        say!("{}", document(&reproductions));
    } else {
        print(&reproductions);
    }
    if let Some(out) = &command.out {
        eprintln!("wrote {}", out.join("reproduction.md").display());
    }
    let failing = total(&reproductions).fails > 0;
    if command.strict && failing { Err(Failure::Expectation) } else { Ok(()) }
}

/// Runs every point that is not finished yet.
fn simulate(command: &args::Reproduce, plan: &Plan<'_>) -> Result<Vec<PointResult>, Failure> {
    let points = plan.points();
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    memory::check(check(points, false)?, command.threads.unwrap_or_else(cores).min(points.len()))?;
    let directory = match &command.store {
        Some(directory) => directory.clone(),
        None => PathBuf::from("ackclock-out/points").join(build()?),
    };
    let store = PointStore::open(&directory)
        .into_diagnostic()
        .wrap_err_with(|| format!("{} cannot be made", directory.display()))?;
    let progress = Progress::new(points)?;
    let runner = Runner {
        probes: false,
        threads: command.threads,
        stop: interrupt::listen()?,
        store: Some(&store),
        progress: &|number, share| progress.follow(number, share),
    };
    let results = runner.run(points, &Nobody);
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

/// A word for this very program: another build may give other results.
pub(crate) fn build() -> miette::Result<String> {
    let program = std::env::current_exe().and_then(std::fs::read);
    let program =
        program.into_diagnostic().wrap_err("this program cannot be read; give --store a directory")?;
    Ok(ackclock_sim::store::digest_of(&program))
}

fn total(reproductions: &[Reproduction]) -> Counts {
    Counts::of(reproductions.iter().flat_map(|reproduction| &reproduction.claims))
}

/// The JSON contract.
fn document(reproductions: &[Reproduction]) -> Value {
    json!({"counts": total(reproductions), "experiments": reproductions})
}

/// Writes the output directory: the page, its pictures, the verdicts, and the results of every point.
fn write(out: &Path, what: &str, plan: &Plan<'_>, reproductions: &[Reproduction]) -> Result<(), Failure> {
    let folder = out.join(PICTURES);
    std::fs::create_dir_all(&folder)
        .into_diagnostic()
        .wrap_err_with(|| format!("{} cannot be made", folder.display()))?;
    let save = |name: &str, text: String| {
        let path = out.join(name);
        std::fs::write(&path, text)
            .into_diagnostic()
            .wrap_err_with(|| format!("{} cannot be written", path.display()))
    };
    let pictures = pictures(plan, reproductions);
    for picture in &pictures {
        save(&picture.file, picture.svg.clone())?;
    }
    save("reproduction.md", page(&format!("ackclock reproduce {what}"), reproductions, &pictures))?;
    save("reproduction.json", format!("{:#}\n", document(reproductions)))?;
    for reproduction in reproductions.iter().filter(|reproduction| reproduction.points > 0) {
        let sets =
            reproduction.results.iter().map(|(name, points)| json!({"scenario": name, "points": points}));
        let sets: Vec<_> = sets.collect();
        save(&format!("{}.points.json", reproduction.id), format!("{}\n", json!(sets)))?;
    }
    Ok(())
}

/// Goodput against what is swept, for every scenario that is an experiment's own.
fn pictures(plan: &Plan<'_>, reproductions: &[Reproduction]) -> Vec<Picture> {
    let mut pictures = Vec::new();
    for ((experiment, sweeps), reproduction) in plan.sweeps().zip(reproductions) {
        let sets = experiment.scenarios.iter().zip(sweeps).zip(&reproduction.results);
        for (((name, source), (_, sweep)), (_, results)) in sets {
            if matches!(source, Source::Of(..)) {
                continue;
            }
            let Some(svg) = output::goodput_across(sweep, results) else { continue };
            let suffix = if name.is_empty() { String::new() } else { format!("-{name}") };
            pictures.push(Picture {
                id: experiment.id.clone(),
                title: format!("Goodput{}{name}", if name.is_empty() { "" } else { ": " }),
                file: format!("{PICTURES}/{}{suffix}.svg", experiment.id),
                svg,
            });
        }
    }
    pictures
}

/// One table per experiment.
fn print(reproductions: &[Reproduction]) {
    for reproduction in reproductions {
        let Reproduction { id, title, section, points, .. } = reproduction;
        say!("{id} (section {section}): {title}; {points} points");
        let rows = reproduction.claims.iter().map(|claim| {
            vec![
                claim.text.clone(),
                word(claim.verdict).to_owned(),
                published(claim),
                measured(claim, false).join("\n"),
            ]
        });
        if reproduction.claims.is_empty() {
            say!("  nothing is claimed\n");
        } else {
            let mut table = plain_table(&["claim", "verdict", "published", "measured"], rows);
            if !table.is_tty() {
                table.set_width(WIDTH);
            }
            say!("{table}\n");
        }
    }
    let Counts { holds, fails, untestable } = total(reproductions);
    say!("{holds} hold, {fails} fail, {untestable} untestable");
}

/// What `ackclock show` says about an experiment.
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
