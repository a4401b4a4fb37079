//! `ackclock predict`: would the delay have predicted the losses?

use crate::args::Predict;
use crate::failure::Failure;
use crate::view::table::plain_table;
use crate::{interrupt, memory};
use ackclock_cc::predictor::{Options, Threshold};
use ackclock_scenario::predictions::{BINS, Outcome, Predictions};
use ackclock_scenario::{Document, Node, Settle, Sweep, Value};
use ackclock_study::input;
use ackclock_study::predict::{predictions, read_capture};
use ackclock_study::run::{RunError, run_point};
use ackclock_units::Duration;
use miette::{IntoDiagnostic, Report, WrapErr, miette};
use serde_json::json;
use std::fs;
use std::io::Read;
use std::path::Path;

pub(crate) fn run(command: &Predict) -> Result<(), Failure> {
    let predictions =
        if is_capture(&command.file)? { from_capture(command)? } else { from_scenario(command)? };
    if command.json {
        say!("{}", json!(predictions));
    } else {
        print(&predictions);
    }
    Ok(())
}

/// True if the file begins like a capture. Scenarios are text.
fn is_capture(path: &Path) -> Result<bool, Failure> {
    let mut begin = [0; 4];
    // If the file cannot be opened, the next reader reports it.
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    let named = path.extension().is_some_and(|it| it == "pcap" || it == "pcapng");
    Ok(named || read.is_ok() && input::is_capture(&begin))
}

fn from_capture(command: &Predict) -> Result<Predictions, Failure> {
    for (flag, given) in [
        ("--flow", command.flow.is_some()),
        ("--link", command.link.is_some()),
        ("--set", !command.settings.is_empty()),
    ] {
        if given {
            let help = "--stream chooses one of a capture's connections; a capture says nothing of queues";
            return Err(miette!(help = help, "{flag} is for scenarios").into());
        }
    }
    let mut options =
        Options { samples: command.samples.unwrap_or(Options::default().samples), ..Options::default() };
    if let Some(text) = &command.threshold {
        let rtt: Duration =
            text.parse().map_err(|error| miette!(help = "write it as \"65 ms\"", "--threshold: {error}"))?;
        options.threshold = Threshold::At(rtt);
    }
    let settle = if command.until_low { Settle::Low } else { Settle::RoundTrip };
    let name = command.file.display();
    memory::limit();
    let bytes =
        fs::read(&command.file).into_diagnostic().wrap_err_with(|| format!("{name} cannot be read"))?;
    let captured = read_capture(&bytes, command.stream)
        .map_err(Report::new)
        .wrap_err_with(|| format!("{name} tells nothing"))?;
    if let Some(packets) = captured.cut_after {
        tell!("warning: {name} ends in the middle of a packet; the {packets} packets before it count");
    }
    Ok(predictions(&captured.recording, &options, settle))
}

fn from_scenario(command: &Predict) -> Result<Predictions, Failure> {
    if command.stream.is_some() {
        let help = "--flow chooses one of a scenario's groups";
        return Err(miette!(help = help, "--stream is for captures").into());
    }
    let mut document = Document::parse(&command.file.display().to_string(), &input::read(&command.file)?)?;
    for setting in &command.settings {
        document.set_from_text(setting)?;
    }
    ask(&mut document, command)?;
    let sweep = Sweep::expand(document)?;
    let [point] = &sweep.points[..] else {
        let help = "leave out the sweep, or choose one of its values with --set";
        return Err(miette!(
            help = help,
            "the scenario has {} points, and one is wanted",
            sweep.points.len()
        )
        .into());
    };
    memory::limit();
    let stop = interrupt::listen()?;
    let result = run_point(point, false, stop).map_err(|error| match error {
        RunError::Scenario(error) => Failure::from(error),
        RunError::Interrupted => Failure::Interrupted("interrupted; run the same command again".to_owned()),
        error @ (RunError::Capture(_) | RunError::Unfit(_)) => Failure::Report(miette::miette!("{error}")),
    })?;
    Ok(result.predictions.expect("a scenario with [predict] gives predictions"))
}

/// Writes the options of the command line into the `[predict]` of the scenario, and adds that table if there
/// is none.
fn ask(document: &mut Document, command: &Predict) -> Result<(), Failure> {
    if !document.has("predict") {
        document.set("predict", Node::given(Value::Table(Vec::new()), "predict"))?;
    }
    let texts = [("flow", &command.flow), ("link", &command.link), ("threshold", &command.threshold)];
    for (key, text) in texts {
        if let Some(text) = text {
            let node = Node::given(Value::Text(text.clone()), &format!("--{key} {text}"));
            document.set(&format!("predict.{key}"), node)?;
        }
    }
    if let Some(samples) = command.samples {
        let node = Node::given(Value::Number(samples as f64), &format!("--samples {samples}"));
        document.set("predict.samples", node)?;
    }
    if command.until_low {
        document.set("predict.until_low", Node::given(Value::Flag(true), "--until-low"))?;
    }
    Ok(())
}

fn print(predictions: &Predictions) {
    let losses = match predictions.queue_losses {
        Some(drops) => format!("{drops} drops at the bottleneck"),
        None => "the bottleneck's drops are not known".to_owned(),
    };
    say!("{} samples; {} losses of the flow; {losses}\n", predictions.samples, predictions.flow_losses);
    let per_cent =
        |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.1} %", 100.0 * share));
    let columns = |it: &Outcome| [it.efficiency, it.false_positives, it.false_negatives].map(per_cent);
    let rows = predictions.predictors.iter().map(|it| {
        let mut row = vec![it.name.clone()];
        row.extend(columns(&it.flow_losses));
        if let Some(queue) = &it.queue_losses {
            row.extend(columns(queue));
            let low = queue.queue_at_false_positives.map(|bins| bins[..BINS / 2].iter().sum());
            row.push(per_cent(low));
        }
        row
    });
    let known = predictions.queue_losses.is_some();
    let heads: &[&str] = &[
        "predictor",
        "flow: efficiency",
        "false +",
        "false -",
        "queue: efficiency",
        "false + ",
        "false - ",
        "false + with the queue under half",
    ];
    say!("{}", plain_table(if known { heads } else { &heads[..4] }, rows));
}
