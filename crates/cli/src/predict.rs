//! `ackclock predict`: would the delay have foretold the losses?

use crate::args::Predict;
use crate::table::plain_table;
use crate::{Failure, input, interrupt};
use ackclock_cc::predictor::{Options, Threshold, predictors};
use ackclock_sim::predict::{Recording, Settle, Study, read_capture, record, study};
use ackclock_sim::scenario::Sweep;
use ackclock_units::{Duration, Time};
use miette::{IntoDiagnostic, Report, WrapErr, miette};
use serde_json::{Value, json};
use std::fs;
use std::io::Read;
use std::path::Path;

/// Bins of the queue at false positives.
const BINS: usize = 10;

pub(crate) fn run(command: &Predict) -> Result<(), Failure> {
    let options = options(command)?;
    let settle = if command.until_low { Settle::Low } else { Settle::RoundTrip };
    let recording = if is_capture(&command.file)? { from_capture(command)? } else { from_scenario(command)? };
    let judged: Vec<Judged> = predictors()
        .iter()
        .map(|entry| {
            Judged::new(entry.name, &recording, |losses| {
                study(&mut *(entry.build)(&options), &recording, losses, settle)
            })
        })
        .collect();
    if command.json {
        say!("{}", document(&recording, &judged));
    } else {
        print(&recording, &judged);
    }
    Ok(())
}

fn options(command: &Predict) -> Result<Options, Failure> {
    let mut options = Options { samples: command.samples, ..Options::default() };
    if let Some(text) = &command.threshold {
        let rtt: Duration =
            text.parse().map_err(|error| miette!(help = "write it as \"65 ms\"", "--threshold: {error}"))?;
        options.threshold = Threshold::At(rtt);
    }
    Ok(options)
}

/// Does the file begin as captures do? Scenarios are text.
fn is_capture(path: &Path) -> Result<bool, Failure> {
    const MAGIC: [[u8; 4]; 5] = [
        [0x0A, 0x0D, 0x0D, 0x0A],
        [0xA1, 0xB2, 0xC3, 0xD4],
        [0xD4, 0xC3, 0xB2, 0xA1],
        [0xA1, 0xB2, 0x3C, 0x4D],
        [0x4D, 0x3C, 0xB2, 0xA1],
    ];
    let mut begin = [0; 4];
    // What cannot be opened is told by whoever reads it next.
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    let named = path.extension().is_some_and(|it| it == "pcap" || it == "pcapng");
    Ok(named || read.is_ok() && MAGIC.contains(&begin))
}

fn from_capture(command: &Predict) -> Result<Recording, Failure> {
    for (flag, given) in [
        ("--flow", command.flow.is_some()),
        ("--link", command.link.is_some()),
        ("--set", !command.settings.is_empty()),
    ] {
        if given {
            let help = "a capture has one connection, and says nothing of queues";
            return Err(miette!(help = help, "{flag} is for scenarios").into());
        }
    }
    let name = command.file.display();
    let bytes =
        fs::read(&command.file).into_diagnostic().wrap_err_with(|| format!("{name} cannot be read"))?;
    Ok(read_capture(&bytes).map_err(Report::new).wrap_err_with(|| format!("{name} tells nothing"))?)
}

fn from_scenario(command: &Predict) -> Result<Recording, Failure> {
    let text = input::read(&command.file)?;
    let sweep = Sweep::read(&command.file.display().to_string(), &text, &command.settings)?;
    let [point] = &sweep.points[..] else {
        let help = "leave out the sweep, or choose one of its values with --set";
        return Err(miette!(
            help = help,
            "the scenario has {} points, and one is wanted",
            sweep.points.len()
        )
        .into());
    };
    let stop = interrupt::listen()?;
    Ok(record(point, command.flow.as_deref(), command.link.as_deref(), stop).map_err(Report::new)?)
}

/// A predictor and what came of it.
struct Judged {
    name: &'static str,
    flow: Study,
    queue: Option<Study>,
}

impl Judged {
    fn new(name: &'static str, recording: &Recording, run: impl Fn(&[Time]) -> Study) -> Judged {
        let queue = recording.queue_losses.as_deref().map(&run);
        Judged { name, flow: run(&recording.flow_losses), queue }
    }
}

/// Shares of false positives at which the queue was in each tenth of its room; fuller than full counts as full.
fn histogram(queue: &[f32]) -> Option<[f64; BINS]> {
    if queue.is_empty() {
        return None;
    }
    let mut bins = [0.0; BINS];
    for &filled in queue {
        bins[((filled.max(0.0) * BINS as f32) as usize).min(BINS - 1)] += 1.0 / queue.len() as f64;
    }
    Some(bins)
}

fn document(recording: &Recording, judged: &[Judged]) -> Value {
    let shown = |study: &Study| {
        json!({
            "transitions": study.counts,
            "efficiency": study.counts.efficiency(),
            "false_positives": study.counts.false_positives(),
            "false_negatives": study.counts.false_negatives(),
            "queue_at_false_positives": histogram(&study.queue_at_false_positives),
        })
    };
    let predictors: Vec<_> = judged
        .iter()
        .map(|it| json!({"name": it.name, "flow_losses": shown(&it.flow), "queue_losses": it.queue.as_ref().map(shown)}))
        .collect();
    json!({
        "samples": recording.readings.len(),
        "flow_losses": recording.flow_losses.len(),
        "queue_losses": recording.queue_losses.as_ref().map(Vec::len),
        "predictors": predictors,
    })
}

fn print(recording: &Recording, judged: &[Judged]) {
    let losses = match &recording.queue_losses {
        Some(drops) => format!("{} drops at the bottleneck", drops.len()),
        None => "the bottleneck's drops are not known".to_owned(),
    };
    say!(
        "{} samples; {} losses of the flow; {losses}\n",
        recording.readings.len(),
        recording.flow_losses.len()
    );
    let per_cent =
        |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.1} %", 100.0 * share));
    let columns = |study: &Study| {
        let counts = &study.counts;
        [counts.efficiency(), counts.false_positives(), counts.false_negatives()].map(per_cent)
    };
    let rows = judged.iter().map(|it| {
        let mut row = vec![it.name.to_owned()];
        row.extend(columns(&it.flow));
        if let Some(queue) = &it.queue {
            row.extend(columns(queue));
            let low = histogram(&queue.queue_at_false_positives).map(|bins| bins[..BINS / 2].iter().sum());
            row.push(per_cent(low));
        }
        row
    });
    let known = recording.queue_losses.is_some();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenths_of_the_queue() {
        assert_eq!(histogram(&[]), None);
        let bins = histogram(&[0.0, 0.05, 0.95, 1.2]).expect("there are some");
        assert_eq!((bins[0], bins[9]), (0.5, 0.5));
    }
}
