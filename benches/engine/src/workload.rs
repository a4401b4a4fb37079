//! The workloads. Inside the measured region each does a known number of units of work, and nothing else.

use ackclock_cc::predictor::Ewma;
use ackclock_cc::{Ack, Event, Path, Settings, Signal, Window, schemes};
use ackclock_net::{DropTail, Limit, Link, Queue};
use ackclock_scenario::plan::EngineKind;
use ackclock_scenario::{Point, Sweep};
use ackclock_sim::engine::WinnerTree;
use ackclock_study::run::run_point;
use ackclock_tcp::Scoreboard;
use ackclock_units::{Duration, Rate, Time};
use miette::{Context, IntoDiagnostic, Result, miette};
use std::hint::black_box;
use std::path::Path as File;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A workload that is ready to run.
pub struct Workload {
    /// The name.
    pub id: String,
    /// The unit of work.
    pub per: &'static str,
    /// Does the work and returns the number of units.
    pub work: Box<dyn FnMut() -> u64>,
}

/// Whole runs: name, scenario file among the benches, and the duration used here. By the engine of events, or
/// by that in phases if the name says so.
const RUNS: &[(&str, &str, &str)] = &[
    ("run-ten-flows", "peers/cases/ten-flows.toml", "3 s"),
    ("run-ten-flows-in-phases", "peers/cases/ten-flows.toml", "3 s"),
    ("run-hundred-flows", "peers/cases/hundred-flows.toml", "3 s"),
    ("run-hundred-flows-in-phases", "peers/cases/hundred-flows.toml", "3 s"),
    ("run-overshoot", "peers/cases/highspeed.toml", "3 s"),
    ("run-holes", "engine/holes.toml", "3 s"),
    ("run-xrtp", "engine/xrtp.toml", "3 s"),
    ("run-xrtp-in-phases", "engine/xrtp.toml", "3 s"),
    ("run-tfrc", "engine/tfrc.toml", "3 s"),
    ("run-tfrc-in-phases", "engine/tfrc.toml", "3 s"),
    ("run-xrtp-beside", "engine/xrtp-beside.toml", "20 s"),
];
/// The number of acknowledgements for each controller.
const ACKS: u64 = 100_000;
/// The segments in the scoreboard's window. Every second one is lost.
const WINDOW: u64 = 131_072;

/// The names of all workloads.
pub fn ids() -> Vec<String> {
    let runs = RUNS.iter().map(|(id, ..)| (*id).to_owned());
    let controllers = schemes().iter().map(|scheme| format!("ack-{}", scheme.name));
    let parts = ["scoreboard", "link", "winner-tree", "predictor"].map(str::to_owned);
    runs.chain(controllers).chain(parts).collect()
}

/// The workload called `id`.
///
/// # Errors
///
/// If there is no such workload, or its scenario cannot be read.
pub fn workload(id: &str) -> Result<Workload> {
    let (per, work): (_, Box<dyn FnMut() -> u64>) = match id {
        "scoreboard" => ("acknowledgement", Box::new(scoreboard)),
        "link" => ("packet", Box::new(link)),
        "winner-tree" => ("change", Box::new(winner_tree)),
        "predictor" => ("acknowledgement", Box::new(predictor)),
        _ => {
            if let Some((_, file, duration)) = RUNS.iter().find(|(known, ..)| *known == id) {
                let mut point = scenario(file, duration)?;
                let phases = id.ends_with("-in-phases");
                Arc::make_mut(&mut point.scenario).engine =
                    Some(if phases { EngineKind::Phases } else { EngineKind::Events });
                ("delivered segment", Box::new(move || run(&point)))
            } else if let Some(scheme) =
                schemes().iter().find(|scheme| id.strip_prefix("ack-") == Some(scheme.name))
            {
                let settings = Settings::defaults(scheme);
                ("acknowledgement", Box::new(move || acknowledge(&settings)))
            } else {
                let help = format!("there are {}", ids().join(", "));
                return Err(miette!(help = help, "there is no workload \"{id}\""));
            }
        }
    };
    Ok(Workload { id: id.to_owned(), per, work })
}

fn scenario(file: &str, duration: &str) -> Result<Point> {
    let file = File::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    let name = file.display().to_string();
    let text = std::fs::read_to_string(&file)
        .into_diagnostic()
        .wrap_err_with(|| format!("{name} cannot be read"))?;
    let settings = [format!("duration = {duration}")];
    let sweep = Sweep::read(&name, &text, &settings)?;
    sweep.points.into_iter().next().ok_or_else(|| miette!("{name} has no point"))
}

fn run(point: &Point) -> u64 {
    run_point(point, false, &AtomicBool::new(false)).map_or(0, |result| result.delivered_segments)
}

/// A window of about 5000 segments in congestion avoidance, with a reduction every 4096 acknowledgements.
fn acknowledge(settings: &Settings) -> u64 {
    let mut controller = settings.build();
    let rtt = Duration::from_millis(100);
    let mut path = Path { srtt: rtt, rtt_min: rtt, peer_window: 1e9, ..Path::default() };
    let mut w = Window { cwnd: 5000.0, ssthresh: 5000.0, pacing: None };
    controller.on_event(&path, Event::Start, &mut w);
    for number in 1..=ACKS {
        path.now += Duration::from_micros(20);
        path.una = number;
        path.delivered = number;
        path.in_flight = w.cwnd;
        path.nxt = number + w.cwnd as u64;
        let rtt = rtt + Duration::from_micros(number % 64 * 10);
        let ack = Ack { acked: 1.0, rtt: Some(rtt), draw: 0.5, ..Ack::default() };
        controller.on_sample(&path, black_box(&ack), &mut w);
        if number % 4096 == 0 {
            if let Some(ssthresh) = controller.cut(&path, &w, Signal::Loss) {
                w.ssthresh = ssthresh.max(2.0);
                w.cwnd = w.ssthresh;
            }
            controller.on_event(&path, Event::Recovered, &mut w);
        } else {
            controller.grow(&path, &ack, &mut w);
        }
        w.cwnd = w.cwnd.max(1.0);
    }
    black_box(w);
    ACKS
}

/// Every second segment of a window is SACKed, one by one. Each hole is marked lost, retransmitted, and then
/// acknowledged.
pub fn scoreboard() -> u64 {
    let mut board = Scoreboard::default();
    board.begin_episode();
    for seq in (1..WINDOW).step_by(2) {
        board.sack(seq, seq + 1);
        board.detect(3, u64::MAX);
        let hole = board.next_unsacked(board.high_rxt());
        if hole < board.lost_edge() {
            board.resend(hole);
        }
        black_box(board.pipe(WINDOW));
    }
    for una in (2..=WINDOW).step_by(2) {
        black_box(board.advance(una));
    }
    WINDOW
}

/// Packets at twice the rate of a link with room for 1000.
pub fn link() -> u64 {
    let queue = Queue::DropTail(DropTail::new(Limit::Packets(1000)));
    let mut link = Link::new(Rate::from_bps(1_000_000_000), Duration::from_millis(10), queue);
    for number in 0..ACKS {
        let at = Time::from_nanos(number * 4160);
        black_box(link.offer(at, &mut 1040_u32));
    }
    ACKS
}

/// A thousand streams whose heads advance in a scattered order.
pub fn winner_tree() -> u64 {
    let mut tree = WinnerTree::new(0, 1000);
    for stream in 0..1000 {
        tree.set(stream, Time::from_nanos(stream as u64 * 7919 % 1000), 0);
    }
    for _ in 0..ACKS {
        let head = tree.earliest();
        let next = head.time() + Duration::from_nanos(1000 + u64::from(head.lane()) * 31 % 97);
        tree.set(head.lane() as usize, next, 0);
    }
    black_box(tree.earliest());
    ACKS
}

/// srtt_0.99 over samples of about 100 ms, compared with a threshold at each sample.
pub fn predictor() -> u64 {
    let samples: Vec<_> = (0..64).map(|at| Duration::from_nanos(100_000_000 + at * 10_000)).collect();
    let mut average = Ewma::new(0.99);
    let mut high = 0u64;
    for _ in 0..ACKS / 64 {
        // Eight at a time, so that the loop itself costs little. A real acknowledgement has no such loop.
        for eight in black_box(&samples[..]).as_chunks::<8>().0 {
            for &sample in eight {
                average.add(sample);
                high += u64::from(average.nanos() > 100_300_000.0);
            }
        }
    }
    black_box(high);
    ACKS / 64 * 64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_does_something() {
        for id in ids().iter().filter(|id| !id.starts_with("run-")) {
            let mut workload = workload(id).expect("it is there");
            assert!((workload.work)() > 0, "{id}");
        }
        for (_, file, _) in RUNS {
            assert!(run(&scenario(file, "100 ms").expect("the scenario is right")) > 0, "{file}");
        }
    }

    #[test]
    fn an_unknown_word_is_told_what_there_is() {
        let error = workload("nothing").err().expect("there is none").help().map(|help| help.to_string());
        assert!(error.is_some_and(|help| help.contains("run-ten-flows")));
    }
}
