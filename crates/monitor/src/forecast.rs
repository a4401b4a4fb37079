//! What each controller would make of a measured path: the path is simulated.

use crate::advice::Path;
use ackclock_scenario::results::percentile;
use ackclock_scenario::{ScenarioError, Sweep};
use ackclock_study::run::{RunError, run_point};
use ackclock_units::{Bytes, Duration};
use rayon::prelude::*;
use std::sync::atomic::AtomicBool;

/// Each controller is simulated with so many seeds.
pub const SEEDS: u64 = 20;
/// A segment of Ethernet with timestamps, bytes: payload, and headers of IPv4 and TCP.
pub const PAYLOAD: u64 = 1448;
/// Headers of IPv4 and TCP with timestamps, bytes.
pub const HEADER: u64 = 52;

/// What a controller makes of the path: payload over the time of the transfer, bit/s.
#[derive(Clone, PartialEq, Debug)]
pub struct Forecast {
    /// The controller.
    pub control: &'static str,
    /// The smallest of all seeds.
    pub least: f64,
    /// The median.
    pub p50: f64,
    /// The largest.
    pub greatest: f64,
    /// Did all transfers end? If not, the throughputs are of what has arrived.
    pub complete: bool,
}

/// All controllers that there are.
pub fn controls() -> Vec<&'static str> {
    ackclock_cc::schemes().iter().map(|scheme| scheme.entry().name).collect()
}

/// Simulates a transfer of `size` over the path, alone, with each of these controllers: Linux' TCP, a
/// DropTail queue, a connection that is already open. Packets leave the host with a jitter of one packet.
/// Without congestion control (`none`) the window is one bandwidth-delay product. All processors take part.
///
/// # Errors
///
/// [`RunError`] if the path is none that can be simulated, or `stop` became true.
pub fn forecast(
    path: &Path,
    size: Bytes,
    controls: &[&'static str],
    stop: &AtomicBool,
) -> Result<Vec<Forecast>, RunError> {
    controls.par_iter().map(|control| simulate(path, size, control, stop)).collect()
}

fn simulate(
    path: &Path,
    size: Bytes,
    control: &'static str,
    stop: &AtomicBool,
) -> Result<Forecast, RunError> {
    let sweep = sweep(path, size, control)?;
    let mut throughputs = Vec::new();
    let mut complete = true;
    for point in &sweep.points {
        let result = run_point(point, false, stop)?;
        let flow = &result.flows[0];
        throughputs.push(match flow.completion_s {
            Some(seconds) => size.0 as f64 * 8.0 / seconds,
            None => flow.goodput_bps,
        });
        complete &= flow.completion_s.is_some();
    }
    throughputs.sort_by(f64::total_cmp);
    let at = |percent| percentile(&throughputs, percent);
    Ok(Forecast { control, least: at(0.0), p50: at(50.0), greatest: at(100.0), complete })
}

/// The scenario, with all its seeds.
fn sweep(path: &Path, size: Bytes, control: &str) -> Result<Sweep, ScenarioError> {
    let segment = (PAYLOAD + HEADER) as f64;
    let rate = path.capacity.round().max(1.0);
    let product = rate * path.rtt / 8.0 / segment;
    let control = match control {
        "none" => format!("{{ none = {{ cap = {} }} }}", product.round().max(1.0)),
        other => format!("\"{other}\""),
    };
    // Long enough for a transfer that gets a twentieth of the path after 200 round trips.
    let duration = size.0 as f64 * 8.0 / rate * 20.0 + 200.0 * path.rtt + 10.0;
    let text = format!(
        "name = \"a measured path\"\n\
         duration = \"{duration} s\"\n\
         seeds = {SEEDS}\n\
         jitter = \"1 packet\"\n\
         tcp = {{ stack = \"linux\" }}\n\
         [topology.dumbbell]\n\
         bottleneck = {{ rate = \"{rate} bit/s\", delay = \"{delay} ns\", queue = {{ droptail = \"{queue} B\" }}, loss = {loss} }}\n\
         [[flows]]\n\
         control = {control}\n\
         size = \"{size} B\"\n",
        delay = Duration::from_secs_f64(path.rtt / 2.0).as_nanos(),
        queue = path.queue.max(2.0 * segment).round(),
        loss = path.loss,
        size = size.0,
    );
    Sweep::read("a measured path", &text, &[])
}
