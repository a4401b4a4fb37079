//! Any bytes as the file of a learned policy. It is refused with a message, or it steers a sender: the run
//! ends, whatever the network answers.

#![no_main]

use ackclock_scenario::Sweep;
use ackclock_study::run::run_point;
use libfuzzer_sys::fuzz_target;
use miette::NarratableReportHandler;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let place = std::env::temp_dir().join(format!("ackclock-fuzz-policy-{}", std::process::id()));
    std::fs::create_dir_all(&place).expect("a directory");
    place.join("policy.json")
});

fuzz_target!(|bytes: &[u8]| {
    std::fs::write(&*FILE, bytes).expect("room");
    let text = format!(
        "duration = \"500 ms\"\nprobe = \"50 ms\"\n[topology.dumbbell]\n\
         bottleneck = {{ rate = \"2 Mbit/s\", delay = \"5 ms\", queue = {{ droptail = \"20 packets\" }} }}\n\
         [[flows]]\nlabel = \"learned\"\ncontrol = {{ policy = {{ file = \"{}\" }} }}\n",
        FILE.display()
    );
    match Sweep::read("fuzz.toml", &text, &[]) {
        Err(error) => {
            let mut shown = String::new();
            NarratableReportHandler::new().render_report(&mut shown, &error).expect("a message");
            assert!(shown.contains("policy.json"), "{shown}");
        }
        Ok(sweep) => {
            let result = run_point(&sweep.points[0], true, &AtomicBool::new(false)).expect("a run");
            let series = result.series.expect("probes");
            assert!(
                series.flows.iter().flatten().all(|sample| sample.cwnd.is_finite()),
                "a window is finite"
            );
        }
    }
});
