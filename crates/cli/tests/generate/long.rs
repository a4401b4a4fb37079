//! Numbers of the page, measured: `make generated`. They want a machine that has nothing else to do.

use crate::common::{Checked, Named, ensure};
use crate::{Place, Process, done, text};
use libtest_mimic::Failed;
use serde_json::Value;
use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

pub(crate) const LONG: &[Named] =
    &[("generated_bursts_are_in_time", in_time), ("generated_blasts_beside_iperf3", blasts)];

const PORT: &str = "24330";

/// A directory with certificates, and an agent in it.
fn agent() -> Result<(Place, Process), Failed> {
    let place = Place::new()?;
    done(&place.ackclock(&["certificates", "certificates", "localhost"]).output()?)?;
    let agent = place.ackclock(&["agent", "--listen", &format!("127.0.0.1:{PORT}")]);
    let agent = place.listening(agent, "agent")?;
    Ok((place, agent))
}

/// What the source of one transfer over TCP reports.
fn source(place: &Place, kind: &str) -> Result<Value, Failed> {
    let script = format!(
        "cluster {{ test localhost:{PORT} {{ type = {kind}; protocol = tcp (window=1048576); peer = localhost:24335; }} \
         test localhost:{PORT} {{ type = sink (blocksize=131072); protocol = tcp (window=1048576); \
         own = localhost:24335; }} }}"
    );
    fs::write(place.path("script"), script)?;
    let said = done(&place.ackclock(&["generate", "script", "--json"]).output()?)?;
    let said: Value = serde_json::from_str(&said)?;
    Ok(said["transfers"][0]["source"]["report"].clone())
}

/// Of 1001 bursts every 5 ms at least 99 of 100 begin at most 200 us late, in each of three runs.
fn in_time() -> Checked {
    let (place, _agent) = agent()?;
    let mut shares = Vec::new();
    for _ in 0..3 {
        let report = source(&place, "burst (blocksize=128000, period=5000, duration=5)")?;
        ensure(report["bursts"]["written"] == 1001, format!("{report}"))?;
        println!("{}", report["bursts"]);
        shares.push(report["bursts"]["within_200us"].as_f64().unwrap_or(0.0));
    }
    ensure(shares.iter().all(|&share| share >= 0.99), format!("{shares:?}"))
}

/// Full blasts of ours and of iperf3 in turn, nine of each: single ones differ by a fifth. By the medians
/// ours is at least 0.95 of theirs.
fn blasts() -> Checked {
    let (place, _agent) = agent()?;
    let port = "24336";
    let _server = Process(
        place
            .plain({
                let mut server = Command::new("iperf3");
                server.args(["-s", "-p", port]);
                server
            })
            .spawn()?,
    );
    sleep(Duration::from_secs(1));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        let report = source(&place, "full (blocksize=131072, duration=2)")?;
        ours.push(report["throughput_bps"].as_f64().unwrap_or(0.0) * 1e-9);
        let mut client = Command::new("iperf3");
        client.args(["-c", "127.0.0.1", "-p", port, "-t", "2", "-w", "1M", "-J"]);
        let said: Value = serde_json::from_str(&text(&place.plain(client).output()?).0)?;
        theirs.push(said["end"]["sum_sent"]["bits_per_second"].as_f64().ok_or("no rate")? * 1e-9);
    }
    println!("ours {ours:?}, iperf3 {theirs:?} Gbit/s");
    let median = |all: &[f64]| {
        let mut all = all.to_vec();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    ensure(median(&ours) >= 0.95 * median(&theirs), format!("ours {ours:?}, iperf3 {theirs:?} Gbit/s"))
}
