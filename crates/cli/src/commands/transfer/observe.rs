//! What a transfer looks like while it runs: progress on a terminal, a trace in a directory.

use super::megabits;
use crate::failure::Failure;
use ackclock_files::Folder;
use ackclock_transfer::host::{Seen, Stage, Watch};
use ackclock_units::Duration;
use ackclock_view::charts::axis::Axis;
use ackclock_view::charts::chart::{Chart, Curve, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use miette::{Context, IntoDiagnostic, Report};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration as Span, Instant};

/// Between two looks.
const STEP: Span = Span::from_millis(100);
/// Shorter transfers show no progress.
const PATIENCE: Span = Span::from_secs(2);

/// Runs `session`, looks at it meanwhile, and ends it on Ctrl-C. Returns what was seen over time, too.
pub(super) fn while_running<T>(
    watch: &Watch,
    bytes: Option<u64>,
    interrupted: &AtomicBool,
    session: impl FnOnce() -> T,
) -> Result<(T, Vec<Seen>), Report> {
    let bar = ProgressBar::with_draw_target(bytes, ProgressDrawTarget::hidden());
    let style = if bytes.is_some() {
        "{wide_bar} {percent} % {binary_bytes} {msg}, {elapsed}, about {eta} left"
    } else {
        "{spinner} {binary_bytes} {msg}, {elapsed}"
    };
    bar.set_style(ProgressStyle::with_template(style).into_diagnostic()?);
    let over = AtomicBool::new(false);
    let looked = thread::scope(|scope| {
        let looking = scope.spawn(|| look(watch, &bar, interrupted, &over));
        let outcome = session();
        over.store(true, Ordering::Relaxed);
        (outcome, looking.join())
    });
    bar.finish_and_clear();
    let (outcome, seen) = looked;
    Ok((outcome, seen.unwrap_or_default()))
}

fn look(watch: &Watch, bar: &ProgressBar, interrupted: &AtomicBool, over: &AtomicBool) -> Vec<Seen> {
    let (begun, mut next, mut all) = (Instant::now(), Instant::now(), Vec::new());
    while !over.load(Ordering::Relaxed) {
        if interrupted.load(Ordering::Relaxed) {
            watch.stop();
        }
        if Instant::now() >= next {
            next += STEP;
            let seen = watch.seen();
            if seen.stage != Stage::Waiting {
                all.push(seen);
            }
            bar.set_position(seen.bytes);
            bar.set_message(message(&seen));
            if begun.elapsed() >= PATIENCE && bar.is_hidden() {
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
        }
        thread::sleep(Span::from_millis(5));
    }
    all.push(watch.seen());
    all
}

fn message(seen: &Seen) -> String {
    match seen.stage {
        Stage::Waiting => "waiting for the other end".to_owned(),
        Stage::Agreeing => "comparing what is there".to_owned(),
        Stage::Ending | Stage::Over => "waiting for the disk".to_owned(),
        Stage::Moving => {
            let labels = if seen.congestion + seen.transmission > 0 {
                format!(" ({} congestion, {} transmission)", seen.congestion, seen.transmission)
            } else {
                String::new()
            };
            let held = if seen.held { ", held down by congestion" } else { "" };
            format!("at {}, {} lost{labels}{held}", megabits(seen.rate), seen.lost)
        }
    }
}

/// Writes what was seen into a directory: `transfer.csv`, and pictures of the rate and the round-trip time.
pub(super) fn trace(path: &Path, all: &[Seen]) -> Result<(), Failure> {
    let named = || format!("--trace {}", path.display());
    let folder = Folder::own(path).into_diagnostic().wrap_err_with(named)?;
    let write = |name: &str, content: &[u8]| {
        folder.replace(name, |to| to.write_all(content)).into_diagnostic().wrap_err_with(named)
    };
    write("transfer.csv", &table(all).into_diagnostic()?)?;
    let curve = |label: &str, colour, value: &dyn Fn(&Seen) -> f64| Curve {
        label: label.to_owned(),
        points: all.iter().map(|seen| (seen.elapsed.as_secs_f64(), value(seen))).collect(),
        style: Style::Colour(colour),
        ..Curve::default()
    };
    let chart = |id: &str, title: &str, unit: &str, curve| Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        unit: unit.to_owned(),
        curves: vec![curve],
        x: Axis::default(),
        ..Chart::default()
    };
    for chart in [
        chart("rate", "Rate on the wire", "Mbit/s", curve("rate", 0, &|seen| seen.rate * 1e-6)),
        chart("rtt", "Round-trip time", "ms", curve("srtt", 1, &|seen| seen.srtt.as_millis_f64())),
        chart("losses", "Losses", "packets", curve("lost", 2, &|seen| seen.lost as f64)),
    ] {
        write(&format!("{}.svg", chart.id), chart.to_svg().as_bytes())?;
    }
    Ok(())
}

fn table(all: &[Seen]) -> csv::Result<Vec<u8>> {
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record([
        "time_s",
        "bytes",
        "packets",
        "repeated",
        "rate_bps",
        "srtt_s",
        "lost",
        "congestion",
        "transmission",
        "held",
    ])?;
    let mut last = None::<Duration>;
    for seen in all.iter().filter(|seen| seen.packets > 0) {
        if last.replace(seen.elapsed).is_some_and(|last| last >= seen.elapsed) {
            continue;
        }
        table.write_record([
            format!("{:.3}", seen.elapsed.as_secs_f64()),
            seen.bytes.to_string(),
            seen.packets.to_string(),
            seen.repeated.to_string(),
            format!("{:.0}", seen.rate),
            format!("{:.6}", seen.srtt.as_secs_f64()),
            seen.lost.to_string(),
            seen.congestion.to_string(),
            seen.transmission.to_string(),
            u8::from(seen.held).to_string(),
        ])?;
    }
    table.into_inner().map_err(|error| error.into_error().into())
}
