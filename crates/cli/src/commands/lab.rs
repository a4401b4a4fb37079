//! `ackclock lab`.

use crate::args::Lab as Asked;
use crate::commands::emulate::{Controllers, follow};
use crate::failure::Failure;
use crate::{interrupt, memory};
use ackclock_lab::{Emulator, Lab, LabError, Limits, Problem, Settings};
use ackclock_live::{Load, Request};
use ackclock_scenario::Point;
use ackclock_scenario::results::PointResult;
use ackclock_scenario::series::Glimpse;
use ackclock_study::comparison::Comparison;
use ackclock_study::input;
use miette::{Report, miette};
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What opens an address in the user's browser, on this system or another.
const OPENERS: [&str; 3] = ["xdg-open", "open", "wslview"];
/// How much of the memory that is available a run may take.
const SHARE: u64 = 2;

pub(crate) fn run(command: &Asked) -> Result<(), Failure> {
    let scenario = match &command.file {
        Some(file) => input::read(file)?,
        None => first()?,
    };
    if command.emulate {
        ackclock_live::privilege::check()?;
    }
    memory::limit();
    let mut limits = Limits::default();
    if let Some(available) = memory::available() {
        limits.memory = limits.memory.min(available / SHARE);
    }
    let emulator = command.emulate.then(|| Arc::new(Kernel) as Arc<dyn Emulator>);
    let lab =
        Lab::begin(Settings { listen: command.listen, scenario, limits, emulator }).map_err(explained)?;
    let stop = interrupt::listen()?;
    if !lab.is_local() {
        tell!(
            "WARNING: {} can be reached from other machines, without encryption. Whoever sees the address below on its \
             way can compute here.",
            command.listen
        );
        if command.emulate {
            tell!("WARNING: with --emulate they can set up networks here, too, as root.");
        }
    }
    say!("{}", lab.address());
    tell!("the lab is open until Ctrl-C; whoever has this address is let in");
    if command.open {
        open(&lab.address())?;
    }
    lab.run(stop).map_err(explained)?;
    Ok(())
}

/// The scenario without a file: that of `compare`, on a link that many have.
fn first() -> Result<String, Failure> {
    let comparison = Comparison {
        controls: ["reno", "cubic", "bbr"].map(str::to_owned).to_vec(),
        rate: "100 Mbit/s".to_owned(),
        rtt: "40 ms".to_owned(),
        buffer: "1 bdp".to_owned(),
        loss: 3e-6,
        duration: "20 s".to_owned(),
        queue: "droptail".to_owned(),
        stack: None,
        detection: None,
        recovery: None,
        flows: 1,
        seed: 1,
        seeds: None,
    };
    Ok(comparison.document()?.to_toml())
}

fn explained(error: LabError) -> Report {
    match error {
        LabError::Listen { .. } => {
            let help = "another lab may be open there; --listen 127.0.0.1:0 takes any port that is free";
            miette!(help = help, "{error}")
        }
        other => miette!("{other}"),
    }
}

/// Opens the address in the user's browser.
fn open(address: &str) -> Result<(), Report> {
    for opener in OPENERS {
        let mut command = Command::new(opener);
        command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if command.spawn().is_ok() {
            return Ok(());
        }
    }
    tell!("no program here opens a browser: open the address yourself");
    Ok(())
}

/// The emulator: hosts of the running kernel.
struct Kernel;

impl Emulator for Kernel {
    fn emulate(
        &self,
        point: &Point,
        go_on: &dyn Fn(f64) -> bool,
        see: &(dyn Fn(Glimpse) + Sync),
    ) -> Result<(PointResult, Value), Problem> {
        let load = Load::Flows;
        let stop = AtomicBool::new(false);
        let points = std::slice::from_ref(point);
        let controllers = Controllers::load(points, &load, false, &stop).map_err(told)?;
        let admit = |namespaces: &[u64]| controllers.admit(namespaces);
        let (controls, own) = (controllers.names(point).map_err(told)?, controllers.own(point));
        let request = Request { point, controls, own, load, captures: None, admit: &admit, see: Some(see) };
        let mut outcome = ackclock_live::emulate(&request, go_on).map_err(|error| told(error.into()))?;
        follow(point, None, &mut outcome.result).map_err(told)?;
        Ok((outcome.result, json!(outcome.emulation)))
    }
}

/// A failure of the command line as the page tells it.
fn told(failure: Failure) -> Problem {
    match failure {
        Failure::Report(report) | Failure::Unfinished(report) => {
            let help = report.help().map(|help| help.to_string());
            Problem { message: report.to_string(), help, key: String::new(), line: None }
        }
        Failure::Interrupted(message) => Problem::new(message, "run it again"),
        Failure::Expectation | Failure::Program(_) => Problem::new("the run failed", "run it again"),
    }
}
