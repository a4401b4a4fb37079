//! Learned policies in whole runs.

use ackclock_scenario::Sweep;
use ackclock_scenario::results::PointResult;
use ackclock_study::run::run_point;
use ackclock_study::store::digest;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The rule that stands where no file is given, as a file, with this bias.
fn policy(bias: f64) -> String {
    format!(
        r#"{{"format": "ackclock policy", "version": 1,
            "features": ["latency inflation", "latency ratio", "send ratio"],
            "history": 1, "interval": 1.0, "scale": 0.025,
            "layers": [{{"weights": [[-40, -4, 0]], "biases": [{bias}], "activation": "identity"}}]}}"#
    )
}

fn read(directory: &Path, control: &str, more: &str) -> Sweep {
    let text = format!(
        r#"
        duration = "40 s"
        measure = ["20 s", "40 s"]
        [topology.dumbbell]
        bottleneck = {{ rate = "10 Mbit/s", delay = "20 ms", queue = {{ droptail = "2 bdp" }}, loss = 1e-3 }}
        [[flows]]
        label = "policy"
        control = {control}
        {more}
        "#
    );
    let file = directory.join("scenario.toml");
    Sweep::read(&file.to_string_lossy(), &text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn run(sweep: &Sweep) -> PointResult {
    run_point(&sweep.points[0], false, &AtomicBool::new(false)).expect("it runs")
}

fn flows(result: &PointResult) -> String {
    format!("{:?}", result.flows)
}

#[test]
fn a_file_decides_as_the_rule_does_that_it_writes_down() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("p.json"), policy(5.0)).expect("written");
    fs::write(directory.path().join("q.json"), policy(4.5)).expect("written");
    let rule = run(&read(directory.path(), "\"policy\"", ""));
    let file = read(directory.path(), "{ policy = { file = \"p.json\" } }", "");
    assert_eq!(flows(&rule), flows(&run(&file)));
    let other = read(directory.path(), "{ policy = { file = \"q.json\" } }", "");
    assert_ne!(flows(&rule), flows(&run(&other)));
    // A store tells them apart by what the files say.
    let before = digest(&file.points[0]);
    assert_ne!(before, digest(&other.points[0]));
    let under = || {
        digest(
            &read(directory.path(), "{ pert = { over = { policy = { file = \"p.json\" } } } }", "").points[0],
        )
    };
    let before_under = under();
    fs::write(directory.path().join("p.json"), policy(4.5)).expect("written");
    assert_ne!(before_under, under());
    assert_ne!(before, digest(&read(directory.path(), "{ policy = { file = \"p.json\" } }", "").points[0]));
}

/// The rule fills the link, keeps the queue short, and does not mind a loss in a thousand.
#[test]
fn alone_it_fills_the_link_and_keeps_the_queue_short() {
    let directory = tempfile::tempdir().expect("a directory");
    let result = run(&read(directory.path(), "\"policy\"", ""));
    let link = &result.links[0];
    assert!(link.utilisation > 0.9, "{}", link.utilisation);
    // Two bandwidth-delay products are 66 packets.
    assert!(link.queue_mean < 33.0, "{}", link.queue_mean);
    assert_eq!(result.flows[0].timeouts, 0);
}

/// What a policy gets beside CUBIC is decided by its file alone: this one shuns every queue, that one none.
#[test]
fn beside_cubic_the_file_decides() {
    let directory = tempfile::tempdir().expect("a directory");
    let delivered = |bias: f64| {
        fs::write(directory.path().join("p.json"), policy(bias)).expect("written");
        let control = "{ policy = { file = \"p.json\" } }";
        let result = run(&read(directory.path(), control, "[[flows]]\ncontrol = \"cubic\""));
        result.flows.iter().map(|flow| flow.delivered).collect::<Vec<_>>()
    };
    let (meek, bold) = (delivered(5.0), delivered(100.0));
    assert!(meek[0] < meek[1], "{meek:?}");
    assert!(bold[0] > bold[1], "{bold:?}");
}

#[test]
fn a_mistake_in_the_file_names_file_and_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("p.json");
    fs::write(&file, policy(5.0).replace("\"history\"", "\"hystory\"")).expect("written");
    let text = "duration = \"1 s\"\n[topology.dumbbell]\nbottleneck = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n\
                [[flows]]\ncontrol = { policy = { file = \"p.json\" } }\n";
    let scenario = directory.path().join("scenario.toml");
    let read = |text: &str| match Sweep::read(&scenario.to_string_lossy(), text, &[]) {
        Ok(_) => panic!("it is wrong"),
        Err(error) => (error.to_string(), error.line(), error.key().to_owned()),
    };
    let (message, line, key) = read(text);
    assert!(message.contains("p.json:3:"), "{message}");
    assert_eq!((line, key.as_str()), (Some(5), "flows.0.control.policy.file"));
    let (message, ..) = read(&text.replace("p.json", "none.json"));
    assert!(message.contains("there is no file"), "{message}");
    let (message, ..) = read(&text.replace("{ file = \"p.json\" }", "{ file = 3 }"));
    assert!(message.contains("a text is wanted"), "{message}");
}
