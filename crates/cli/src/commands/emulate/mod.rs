//! `ackclock emulate`.

mod beside;
mod controllers;
mod following;
mod tracing;

pub(crate) use controllers::{Controllers, own_hosts};
pub(crate) use following::follow;
pub(crate) use tracing::Tracing;

use crate::failure::Failure;
use crate::output::{self, OutputDirectory};
use crate::progress::Progress;
use crate::view::table;
use crate::{args, interrupt, program};
use ackclock_live::{Fidelity, Load, Outcome, Program, Request};
use ackclock_scenario::results::{Expectation, PointResult};
use ackclock_scenario::{Document, Sweep};
use ackclock_study::captures;
use ackclock_study::input;
use ackclock_study::run::{check, judge, judge_points};
use controllers::Counts;
use miette::{Report, miette};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The result of the emulation of a point.
struct Emulated {
    outcome: Outcome,
    /// The counters of the eBPF programs of its flows.
    programs: Vec<Counts>,
}

/// The flows of a scenario without flows: they give hosts for the user's program.
const HOSTS: &str = "flows=[{ control = \"reno\" }]";
/// The shell where the environment names none.
const SHELL: &str = "/bin/sh";

pub(crate) fn run(command: &args::Emulate) -> Result<(), Failure> {
    let stop = interrupt::listen()?;
    let sweep = read(command)?;
    let points = &sweep.points;
    let load = load(command, points.len())?;
    check(points, false)?;
    captures::check(&command.captures, points)?;
    command.out.as_deref().map(output::check).transpose()?;
    ackclock_live::privilege::check()?;
    let wants_simulation = command.simulate || command.beside.is_some();
    let simulated = wants_simulation.then(|| beside::simulate(&sweep, stop)).transpose()?;
    let directory = command.out.as_deref().map(OutputDirectory::begin).transpose()?;
    let emulated = all(command, &sweep, &load, directory.as_ref(), stop);
    let emulated = match (emulated, directory) {
        (Err(failure), Some(directory)) => {
            directory.discard()?;
            return Err(failure);
        }
        (Err(failure), None) => return Err(failure),
        (Ok(emulated), Some(directory)) => {
            write(directory, command, &sweep, &emulated)?;
            emulated
        }
        (Ok(emulated), None) => emulated,
    };
    print(command, &sweep, emulated, simulated.as_deref())
}

fn read(command: &args::Emulate) -> Result<Sweep, Failure> {
    let name = command.file.display().to_string();
    let text = input::read(&command.file)?;
    let mut settings = command.settings.clone();
    let runs_programs = !command.command.is_empty() || command.shell.is_some();
    if runs_programs && !Document::parse(&name, &text)?.has("flows") {
        settings.push(HOSTS.to_owned());
    }
    Ok(Sweep::read(&name, &text, &settings)?)
}

/// What goes over the path.
fn load(command: &args::Emulate, points: usize) -> Result<Load, Report> {
    let program = |words: Vec<String>| Program { words, quiet: command.json };
    let load = match (&command.shell, &command.command[..]) {
        (Some(host), _) => {
            let shell = std::env::var("SHELL").unwrap_or_else(|_| SHELL.to_owned());
            Load::Shell { host: host.clone(), shell: program(vec![shell]) }
        }
        (None, []) => return Ok(Load::Flows),
        (None, words) => {
            let split = |text: &String| {
                shlex::split(text).filter(|words| !words.is_empty()).ok_or_else(|| {
                    miette!(
                        help = "for example --serve \"iperf3 -s -1\"",
                        "--serve {text}: this is no command"
                    )
                })
            };
            let serve = command.serve.as_ref().map(split).transpose()?;
            Load::Programs { serve: serve.map(program), command: program(words.to_vec()) }
        }
    };
    if points > 1 {
        let help = "run it without the sweep: --set every swept key to one value";
        return Err(miette!(help = help, "a program can use one path, but the scenario has {points} points"));
    }
    Ok(load)
}

/// Emulates every point, one after the other.
fn all(
    command: &args::Emulate,
    sweep: &Sweep,
    load: &Load,
    directory: Option<&OutputDirectory>,
    stop: &AtomicBool,
) -> Result<Vec<Emulated>, Failure> {
    let controllers = Controllers::load(&sweep.points, load, command.own_host, stop)?;
    let progress = Progress::new(&sweep.points)?;
    let folders = folders(sweep);
    let mut emulated = Vec::new();
    for (number, point) in sweep.points.iter().enumerate() {
        let mut captures = match directory.filter(|_| !command.captures.is_empty()) {
            Some(directory) => {
                let folder = directory.folder(Path::new("capture").join(&folders[number]))?;
                Some((command.captures.clone(), folder))
            }
            None => None,
        };
        let tracing = match load {
            Load::Flows => Tracing::begin(point, &mut captures)?,
            _ => None,
        };
        let admit = |namespaces: &[u64]| controllers.admit(namespaces);
        let names = controllers.names(point)?;
        let own = controllers.own(point);
        let request =
            Request { point, controls: names, own, load: load.clone(), captures, admit: &admit, see: None };
        let before = controllers.counts();
        let outcome = ackclock_live::emulate(&request, &|share| {
            if matches!(load, Load::Flows) {
                progress.follow(number, share);
            }
            !stop.load(Ordering::Relaxed)
        });
        match outcome {
            Ok(mut outcome) => {
                if matches!(load, Load::Flows) {
                    follow(point, request.captures.as_ref(), &mut outcome.result)?;
                }
                tracing.map(|tracing| tracing.finish(&mut outcome.result)).transpose()?;
                if matches!(load, Load::Flows) {
                    outcome.result.expectations = judge(&point.scenario, &outcome.result);
                }
                let counts = controllers.counts().into_iter().zip(before);
                let counts = counts.map(|(now, before)| now.since(&before));
                let programs = counts.filter(|it| request.controls.contains(&it.name)).collect();
                emulated.push(Emulated { outcome, programs });
            }
            Err(ackclock_live::LiveError::Interrupted) => {
                progress.clear();
                return Err(Failure::Interrupted(
                    "interrupted; everything that was made is removed".to_owned(),
                ));
            }
            Err(error) => {
                progress.clear();
                return Err(error.into());
            }
        }
    }
    progress.clear();
    Ok(emulated)
}

/// Where each point's captures go: nowhere special if there is one point.
fn folders(sweep: &Sweep) -> Vec<PathBuf> {
    let count = sweep.points.len();
    (0..count)
        .map(|number| if count == 1 { PathBuf::new() } else { format!("{:03}", number + 1).into() })
        .collect()
}

/// The results, and the verdicts on all points together. What a program did, no expectation is about.
fn judged(
    command: &args::Emulate,
    sweep: &Sweep,
    results: Vec<PointResult>,
) -> (Vec<PointResult>, Vec<Expectation>) {
    match command.command.is_empty() && command.shell.is_none() {
        true => judge_points(&sweep.points, results),
        false => (results, Vec::new()),
    }
}

fn write(
    directory: OutputDirectory,
    command: &args::Emulate,
    sweep: &Sweep,
    emulated: &[Emulated],
) -> Result<(), Failure> {
    let results: Vec<PointResult> = emulated.iter().map(|it| it.outcome.result.clone()).collect();
    let (results, over_points) = judged(command, sweep, results);
    let asked = program::request(&input::read(&command.file)?, &command.settings);
    output::write(&directory, &asked, sweep, &results, &over_points)?;
    let own: Vec<&Fidelity> = emulated.iter().map(|it| &it.outcome.emulation).collect();
    directory.write("emulation.json", format!("{:#}\n", json!(own)).as_bytes())?;
    directory.finish()
}

fn print(
    command: &args::Emulate,
    sweep: &Sweep,
    emulated: Vec<Emulated>,
    simulated: Option<&[PointResult]>,
) -> Result<(), Failure> {
    let (mut results, mut own, mut exits) = (Vec::new(), Vec::new(), Vec::new());
    let mut counted = Vec::new();
    for Emulated { outcome: Outcome { result, emulation, exit }, programs } in emulated {
        counted.push(programs);
        results.push(result);
        own.push(emulation);
        exits.push(exit);
    }
    let (results, over_points) = judged(command, sweep, results);
    let compared = simulated.map(|simulated| (simulated, beside::compare(sweep, simulated, &results, &own)));
    if let (Some(path), Some((_, compared))) = (&command.beside, &compared) {
        beside::write(path, &sweep.points[0].scenario.name, compared, &own)?;
    }
    if command.json {
        let mut document = document(sweep, &results, &over_points, &own);
        for (number, programs) in counted.iter().enumerate() {
            document["points"][number]["programs"] = json!(programs);
        }
        if let Some((simulated, compared)) = &compared {
            beside::add(&mut document, simulated, compared);
        }
        say!("{document}");
    } else {
        table::print(sweep, &results, &over_points);
        compared.iter().for_each(|(_, compared)| beside::print(compared));
    }
    for (number, emulation) in own.iter().enumerate() {
        let point = if own.len() > 1 { format!("point {}: ", number + 1) } else { String::new() };
        if !command.json {
            say!("{point}{}", summary(emulation));
            for it in &counted[number] {
                say!(
                    "{point}{} in the kernel: {} cuts, {} of them after marks, {} timeouts, {} early responses",
                    it.scheme,
                    it.cuts,
                    it.marks,
                    it.timeouts,
                    it.early_responses
                );
            }
        }
        for it in &emulation.gave_up {
            tell!("{point}gave up before the end: {it}");
        }
        for doubt in &emulation.doubts {
            tell!("{point}DO NOT TRUST THIS RESULT: {doubt}");
        }
    }
    if let Some(code) = exits.into_iter().flatten().find(|&code| code != 0) {
        return Err(Failure::Program(code));
    }
    let at_points = results.iter().flat_map(|point| &point.expectations);
    let all_hold = at_points.chain(&over_points).all(|expectation| expectation.holds);
    if all_hold { Ok(()) } else { Err(Failure::Expectation) }
}

/// The simulator's document, with what the emulator says of itself in every point.
fn document(sweep: &Sweep, results: &[PointResult], over_points: &[Expectation], own: &[Fidelity]) -> Value {
    let mut document = output::document(sweep, results, over_points);
    for (number, emulation) in own.iter().enumerate() {
        document["points"][number]["emulation"] = json!(emulation);
    }
    document
}

fn summary(emulation: &Fidelity) -> String {
    let ms = |s: f64| format!("{:.3} ms", s * 1e3);
    let late = &emulation.lateness;
    let busy: Vec<String> = emulation.busy.iter().map(|busy| format!("{:.0} %", busy * 100.0)).collect();
    format!(
        "{} deliveries, late by {} on the average, {} at most in 99 of 100, {} at most; processors busy: {}",
        late.count,
        ms(late.mean_s),
        ms(late.p99_s),
        ms(late.max_s),
        busy.join(", ")
    )
}
