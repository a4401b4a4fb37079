//! Bursts over an emulated path, and the same bursts in the simulator.

use crate::Place;
use crate::common::{Checked, Named, ensure};
use crate::done;
use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use std::fs;

pub(crate) const PRIVILEGED: &[Named] =
    &[("failed_cycles_over_an_emulated_path_are_the_simulators", failed_cycles)];

/// Each burst takes 50 ms to leave, and is written after 34 to 42: the kernel's socket holds up to a train of
/// segments more than it was told to. So one period of 30 ms begins meanwhile, the next burst begins after
/// 60, and neither depends on a millisecond.
const SCENARIO: &str = r#"
name = "Bursts that take longer than a period"
duration = "4 s"
segment = { payload = "1448 B", header = "52 B" }

[topology.dumbbell]
bottleneck = { rate = "66 Mbit/s", delay = "2 ms", queue = { droptail = "1000 packets" } }

[[flows]]
label = "flow"
control = "reno"
bursts = { size = "400 kB", every = "30 ms", for = "1 s" }
send_buffer = "64 KiB"
"#;

/// A host that stalls longer than this, us, writes other bursts than it was told to. The run is repeated
/// then, and if the emulator says that its path was not what it should be.
const STALL_US: f64 = 3000.0;
const ATTEMPTS: usize = 4;

/// What the receiving host does: makes the certificates, and lets the agent of the sender begin.
const RECEIVER: &str = r#"
"$0" certificates certificates "$1" "$2" >&2
exec "$0" agent --listen "$2:24410" --name "$2" --policy policy.toml 2>receiver.log
"#;

/// What the sending host does: the script, when both agents listen.
const SENDER: &str = r#"
listens() {
    for _ in $(seq 400); do
        grep -q 'listens on' "$1" 2>/dev/null && return
        sleep 0.05
    done
    cat "$1" >&2
    exit 1
}
listens receiver.log
"$0" agent --listen "$1:24410" --name "$1" --policy policy.toml 2>sender.log &
agent=$!
listens sender.log
cat >script <<END
cluster {
    test $1:24410 {
        type = burst (blocksize=400000, period=30000, duration=1, buffer=65536);
        protocol = tcp (control=reno); peer = $2:24415;
    }
    test $2:24410 { type = sink (blocksize=131072); protocol = tcp; own = $2:24415; }
}
END
"$0" generate script --json >generated.json
status=$?
kill $agent
exit $status
"#;

fn failed_cycles() -> Checked {
    let place = Place::new()?;
    fs::write(place.path("path.toml"), SCENARIO)?;
    fs::write(place.path("receiver.sh"), RECEIVER)?;
    fs::write(place.path("sender.sh"), SENDER)?;
    fs::write(place.path("policy.toml"), "[[allow]]\ntowards = [\"0.0.0.0/0\"]\n")?;
    let simulated: Value =
        serde_json::from_str(&done(&place.ackclock(&["run", "path.toml", "--json"]).output()?)?)?;
    let simulated = &simulated["points"][0]["flows"][0]["bursts"];
    ensure(simulated["written"] == 34 && simulated["failed_cycles"] == 34, format!("{simulated}"))?;
    let program = cargo_bin("ackclock");
    let program = program.to_str().ok_or("a path")?;
    // `sh -c` takes the program's name as $0.
    let serve = r#"sh -c '. ./receiver.sh' "#.to_owned() + program + " {sender} {receiver}";
    let arguments = ["emulate", "path.toml", "--serve", &serve, "--json", "--", "sh", "-c", ". ./sender.sh"];
    let mut bursts = Value::Null;
    for _ in 0..ATTEMPTS {
        let output =
            place.ackclock(&[&arguments[..], &[program, "{sender}", "{receiver}"]].concat()).output()?;
        let emulated: Value = serde_json::from_str(&done(&output)?)?;
        let trusted = emulated["points"][0]["emulation"]["trusted"].as_bool();
        let trusted = trusted.ok_or_else(|| format!("no word on trust: {emulated}"))?;
        let generated: Value = serde_json::from_str(&fs::read_to_string(place.path("generated.json"))?)?;
        let report = &generated["transfers"][0]["source"]["report"];
        ensure(report["bytes"] == 34 * 400_000, format!("{generated}"))?;
        bursts = report["bursts"].clone();
        if trusted && bursts["late_max_us"].as_f64() < Some(STALL_US) {
            break;
        }
    }
    ensure(bursts["failed_cycles"] == simulated["failed_cycles"], format!("{bursts}"))
}
