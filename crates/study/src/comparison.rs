//! Controllers compared on one bottleneck, one after the other: a scenario from a few values.

use ackclock_scenario::{Document, Node, ScenarioError, Value};

/// The scenario. What is asked for replaces some of its values.
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

/// What is compared, and on which bottleneck. Texts are quantities as in a scenario.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The controllers.
    pub controls: Vec<String>,
    /// The rate of the bottleneck.
    pub rate: String,
    /// The propagation round-trip time.
    pub rtt: String,
    /// The capacity of the bottleneck's queue.
    pub buffer: String,
    /// Independent random loss at the bottleneck, a probability.
    pub loss: f64,
    /// The simulated time.
    pub duration: String,
    /// The bottleneck's queue.
    pub queue: String,
    /// What a whole TCP does, if it is said.
    pub stack: Option<String>,
    /// The loss detection, if it is said.
    pub detection: Option<String>,
    /// The loss recovery, if it is said.
    pub recovery: Option<String>,
    /// The number of flows of each controller.
    pub flows: u32,
    /// The seed, if there is only one.
    pub seed: u64,
    /// The number of seeds, from 1 on.
    pub seeds: Option<u32>,
}

impl Comparison {
    /// The scenario: one point per controller and seed, each alone at the bottleneck. Values that are wrong
    /// are found when it is read; messages name them as options of the command line.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if a value has no place in the scenario.
    pub fn document(&self) -> Result<Document, ScenarioError> {
        let mut document = Document::parse("the comparison", SCENARIO)?;
        for (path, node) in self.given() {
            document.set(path, node)?;
        }
        Ok(document)
    }

    fn given(&self) -> Vec<(&'static str, Node)> {
        let text =
            |flag: &str, value: &str| Node::given(Value::Text(value.to_owned()), &format!("{flag} {value}"));
        let number = |flag: &str, value: f64| Node::given(Value::Number(value), &format!("{flag} {value}"));
        let control = |control: &String| Node::given(Value::Text(control.clone()), control);
        let controls = self.controls.iter().map(control).collect();
        let all = self.controls.join(" ");
        let bottleneck = "topology.dumbbell.bottleneck.queue";
        let queue = match &*self.queue {
            "droptail" => ("topology.dumbbell.bottleneck.queue.droptail", text("--buffer", &self.buffer)),
            "unlimited" => (bottleneck, text("--queue", &self.queue)),
            kind => {
                let written = format!("--queue {kind} --buffer {}", self.buffer);
                let inner =
                    |key: &str, value| Value::Table(vec![(key.to_owned(), Node::given(value, &written))]);
                let limit = inner("limit", Value::Text(self.buffer.clone()));
                (bottleneck, Node::given(inner(kind, limit), &written))
            }
        };
        let mut given = vec![
            ("name", text("comparison of", &self.controls.join(", "))),
            ("duration", text("--duration", &self.duration)),
            ("topology.dumbbell.bottleneck.rate", text("--rate", &self.rate)),
            queue,
            ("topology.dumbbell.bottleneck.loss", number("--loss", self.loss)),
            ("flows.0.count", number("--flows", f64::from(self.flows))),
            ("flows.0.rtt", text("--rtt", &self.rtt)),
            ("sweep.\"flows.0.control\"", Node::given_list(controls, &all)),
        ];
        given.push(match self.seeds {
            Some(seeds) => ("seeds", number("--seeds", f64::from(seeds))),
            None => ("seed", number("--seed", self.seed as f64)),
        });
        given.extend(self.stack.iter().map(|word| ("tcp.stack", text("--stack", word))));
        given.extend(self.detection.iter().map(|word| ("flows.0.detection", text("--detection", word))));
        given.extend(self.recovery.iter().map(|word| ("flows.0.recovery", text("--recovery", word))));
        given
    }
}
