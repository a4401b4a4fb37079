//! `ackclock reproduce`.

use crate::progress::Progress;
use crate::table::plain_table;
use crate::{Failure, args, interrupt, memory};
use ackclock_sim::engine::Nobody;
use ackclock_sim::reproduce::{
    Asserted, Case, Counts, Experiment, Judged, Library, Plan, Reproduction, Verdict,
};
use ackclock_sim::results::PointResult;
use ackclock_sim::run::check;
use ackclock_sim::runner::{Runner, RunnerError};
use ackclock_sim::store::PointStore;
use miette::{IntoDiagnostic, WrapErr, miette};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

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
        write(out, &reproductions)?;
    }
    if command.json {
        println!("{}", document(&reproductions));
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
    memory::check(check(points)?, command.threads.unwrap_or_else(cores).min(points.len()))?;
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

/// Writes the output directory: the page, the verdicts, and the results of every point.
fn write(out: &Path, reproductions: &[Reproduction]) -> Result<(), Failure> {
    std::fs::create_dir_all(out)
        .into_diagnostic()
        .wrap_err_with(|| format!("{} cannot be made", out.display()))?;
    let save = |name: &str, text: String| {
        let path = out.join(name);
        std::fs::write(&path, text)
            .into_diagnostic()
            .wrap_err_with(|| format!("{} cannot be written", path.display()))
    };
    save("reproduction.md", page(reproductions))?;
    save("reproduction.json", format!("{:#}\n", document(reproductions)))?;
    for reproduction in reproductions.iter().filter(|reproduction| reproduction.points > 0) {
        let sets =
            reproduction.results.iter().map(|(name, points)| json!({"scenario": name, "points": points}));
        let sets: Vec<_> = sets.collect();
        save(&format!("{}.points.json", reproduction.id), format!("{}\n", json!(sets)))?;
    }
    Ok(())
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Fails => "FAILS",
        Verdict::Untestable => "untestable",
    }
}

/// One table per experiment.
fn print(reproductions: &[Reproduction]) {
    for reproduction in reproductions {
        let Reproduction { id, title, section, points, .. } = reproduction;
        println!("{id} (section {section}): {title}; {points} points");
        let rows = reproduction.claims.iter().map(|claim| {
            vec![
                claim.text.clone(),
                word(claim.verdict).to_owned(),
                published(claim),
                measured(claim).join("\n"),
            ]
        });
        if reproduction.claims.is_empty() {
            println!("  nothing is claimed\n");
        } else {
            let mut table = plain_table(&["claim", "verdict", "published", "measured"], rows);
            if !table.is_tty() {
                table.set_width(WIDTH);
            }
            println!("{table}\n");
        }
    }
    let Counts { holds, fails, untestable } = total(reproductions);
    println!("{holds} hold, {fails} fail, {untestable} untestable");
}

/// What the source says: in words, and the numbers that were looked at.
fn published(claim: &Judged) -> String {
    let mut parts: Vec<String> = claim.published.iter().cloned().collect();
    for seen in claim.cases.iter().flat_map(|case| &case.seen).filter(|seen| seen.published) {
        let text = format!("{} = {}", seen.call.trim_start_matches("published."), number(&seen.value));
        if !parts.contains(&text) {
            parts.push(text);
        }
    }
    parts.join("\n")
}

/// What was measured, a line per case; why and what was tried where there is more to say.
fn measured(claim: &Judged) -> Vec<String> {
    let mut lines: Vec<String> =
        claim.cases.iter().map(|case| case_line(case, claim.cases.len() > 1)).collect();
    lines.retain(|line| !line.is_empty());
    lines.extend(claim.untestable.clone());
    if claim.verdict == Verdict::Fails {
        lines.extend(claim.tried.iter().map(|tried| format!("tried: {tried}")));
    }
    lines
}

fn case_line(case: &Case, several: bool) -> String {
    let seen = case.seen.iter().filter(|seen| !seen.published && seen.depth == 0);
    let seen: Vec<_> = seen
        .map(|seen| {
            let std = seen.std.map(|std| format!(" ± {}", shown(std))).unwrap_or_default();
            format!("{} = {}{std}", seen.call, number(&seen.value))
        })
        .collect();
    let mark = if !several || case.holds { "" } else { "✗ " };
    format!("{mark}{}", seen.join(", "))
}

/// A number, or several, short enough for a table.
fn number(value: &Value) -> String {
    match value {
        Value::Number(number) => shown(number.as_f64().unwrap_or(f64::NAN)),
        Value::Object(entries) => entries
            .iter()
            .map(|(key, value)| format!("{key} {}", number(value)))
            .collect::<Vec<_>>()
            .join(", "),
        Value::Array(items) => items.iter().map(number).collect::<Vec<_>>().join(", "),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn shown(number: f64) -> String {
    let size = number.abs();
    match size {
        0.0 => "0".to_owned(),
        _ if !(1e-3..1e6).contains(&size) => format!("{number:.3e}"),
        _ if size >= 1000.0 => format!("{number:.0}"),
        _ => {
            let digits = (3 - size.log10().floor() as i32).clamp(0, 5) as usize;
            let text = format!("{number:.digits$}");
            if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                text
            }
        }
    }
}

/// The page for people: Markdown.
fn page(reproductions: &[Reproduction]) -> String {
    let Counts { holds, fails, untestable } = total(reproductions);
    let mut page = format!(
        "# Published experiments, run again\n\n{holds} claims hold, {fails} fail, {untestable} cannot be tested here.\n\n\
         A claim holds if its expression is true for every combination it names. Numbers are means over \
         seeds, ± one standard deviation over seeds where there are several.\n\n\
         | experiment | claims | hold | fail | untestable | points |\n|---|---|---|---|---|---|\n"
    );
    for reproduction in reproductions {
        let Reproduction { id, title, counts, points, claims, .. } = reproduction;
        let Counts { holds, fails, untestable } = counts;
        let _ = writeln!(
            page,
            "| [{id}](#{id}): {} | {} | {holds} | {fails} | {untestable} | {points} |",
            cell(title),
            claims.len()
        );
    }
    for reproduction in reproductions {
        section(&mut page, reproduction);
    }
    page
}

fn section(page: &mut String, reproduction: &Reproduction) {
    let Reproduction { id, title, section, kind, summary, notes, work, .. } = reproduction;
    let _ = write!(
        page,
        "\n## {id}\n\n**{title}** ({work}, section {section}; {})\n\n{}\n",
        kind.word(),
        summary.trim()
    );
    for note in notes {
        let _ = write!(page, "\n- {}", note.trim().replace('\n', " "));
    }
    if !notes.is_empty() {
        page.push('\n');
    }
    if reproduction.claims.is_empty() {
        page.push_str("\nNothing is claimed.\n");
        return;
    }
    page.push_str("\n| claim | verdict | published | measured |\n|---|---|---|---|\n");
    for claim in &reproduction.claims {
        let mut text = cell(&claim.text);
        if let Some(that) = &claim.that {
            let _ = write!(text, "<br>`{}`", cell(that));
        }
        if let Some(whose) = &claim.tolerance_from {
            let _ = write!(text, "<br>threshold: {}", cell(whose));
        }
        let lines: Vec<_> = measured(claim).iter().map(|line| cell(line)).collect();
        let verdict = if claim.verdict == Verdict::Fails { "**fails**" } else { word(claim.verdict) };
        let _ =
            writeln!(page, "| {text} | {verdict} | {} | {} |", cell(&published(claim)), lines.join("<br>"));
    }
}

/// Text that cannot break a table.
fn cell(text: &str) -> String {
    text.trim().replace('|', "\\|").replace('\n', "<br>")
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
