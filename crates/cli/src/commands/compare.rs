//! `ackclock compare`: builds a scenario from the command line.

use crate::args;
use crate::commands::run::Job;
use crate::failure::Failure;
use crate::view::request::Request;
use ackclock_scenario::{Document, Node, Sweep, Value};

/// The scenario. The command line replaces some of its values.
const SCENARIO: &str = r#"
name = ""
seed = 1
duration = ""

[topology.dumbbell]
bottleneck = { rate = "", delay = "0 s", queue = { droptail = "" }, loss = 0 }

[[flows]]
label = "flows"
count = 1
rtt = ""
control = "reno"

[sweep]
"flows.0.control" = []
"#;

pub(crate) fn run(command: &args::Compare) -> Result<(), Failure> {
    let mut document = Document::parse("the comparison", SCENARIO)?;
    for (path, node) in given(command) {
        document.set(path, node)?;
    }
    let text = document.to_toml();
    let sweep = Sweep::expand(document)?;
    let job = Job {
        sweep: &sweep,
        request: Request::new(&text, &[]),
        out: Some(&command.out),
        captures: &[],
        threads: command.threads,
        json: command.json,
    };
    job.perform()
}

/// One point per controller: each alone at the bottleneck.
fn given(command: &args::Compare) -> Vec<(&'static str, Node)> {
    let text =
        |flag: &str, value: &str| Node::given(Value::Text(value.to_owned()), &format!("{flag} {value}"));
    let number = |flag: &str, value: f64| Node::given(Value::Number(value), &format!("{flag} {value}"));
    let control = |control: &String| Node::given(Value::Text(control.clone()), control);
    let controls = command.controls.iter().map(control).collect();
    let all = command.controls.join(" ");
    let bottleneck = "topology.dumbbell.bottleneck.queue";
    let queue = match &*command.queue {
        "droptail" => ("topology.dumbbell.bottleneck.queue.droptail", text("--buffer", &command.buffer)),
        "unlimited" => (bottleneck, text("--queue", &command.queue)),
        kind => {
            let written = format!("--queue {kind} --buffer {}", command.buffer);
            let inner =
                |key: &str, value: Value| Value::Table(vec![(key.to_owned(), Node::given(value, &written))]);
            let limit = inner("limit", Value::Text(command.buffer.clone()));
            (bottleneck, Node::given(inner(kind, limit), &written))
        }
    };
    let mut given = vec![
        ("name", text("comparison of", &command.controls.join(", "))),
        ("duration", text("--duration", &command.duration)),
        ("topology.dumbbell.bottleneck.rate", text("--rate", &command.rate)),
        queue,
        ("topology.dumbbell.bottleneck.loss", number("--loss", command.loss)),
        ("flows.0.count", number("--flows", f64::from(command.flows))),
        ("flows.0.rtt", text("--rtt", &command.rtt)),
        ("sweep.\"flows.0.control\"", Node::given_list(controls, &all)),
    ];
    given.push(match command.seeds {
        Some(seeds) => ("seeds", number("--seeds", f64::from(seeds))),
        None => ("seed", number("--seed", command.seed as f64)),
    });
    given.extend(command.stack.iter().map(|word| ("tcp.stack", text("--stack", word))));
    given.extend(command.detection.iter().map(|word| ("flows.0.detection", text("--detection", word))));
    given.extend(command.recovery.iter().map(|word| ("flows.0.recovery", text("--recovery", word))));
    given
}
