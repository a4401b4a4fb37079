//! Golden traces, recorded from simulator runs. The Rust controllers reproduce them exactly. Their C twins
//! stay within one segment or 1 %, whichever is larger, over the whole trace.
//!
//! `ACKCLOCK_RECORD=1 cargo test -p ackclock-kernel --test golden` records them again into `golden/`.

mod trace;

use ackclock_cc::{Controller, Given, Scheme, Settings, Value, scheme};
use ackclock_kernel::twin::Twin;
use ackclock_scenario::Control;
use ackclock_scenario::Sweep;
use ackclock_sim::engine::{Engine, NoObserver};
use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;
use trace::{Answer, Writer, play};

/// The number of calls in one trace.
const MAX: usize = 2000;

/// A control, as a scenario writes it, and a condition: rate, one-way delay, buffer, further keys of the
/// bottleneck, seconds, further keys of the flow.
struct Condition {
    name: &'static str,
    control: &'static str,
    path: (&'static str, &'static str, &'static str, &'static str),
    flow: &'static str,
}

const fn condition(
    name: &'static str,
    control: &'static str,
    path: (&'static str, &'static str, &'static str, &'static str),
    flow: &'static str,
) -> Condition {
    Condition { name, control, path, flow }
}

const CONDITIONS: &[Condition] = &[
    condition("layered-droptail", "\"layered\"", ("8 Mbit/s", "20 ms", "20 packets", ""), ""),
    condition(
        "layered-variable",
        "{ layered = { decrease = \"variable\", w_t = 5.0 } }",
        ("4 Mbit/s", "40 ms", "1 bdp", ""),
        ", initial_ssthresh = 20",
    ),
    condition(
        "layered-loss",
        "{ layered = { w_t = 3.0, below_threshold = \"tcp\" } }",
        ("20 Mbit/s", "10 ms", "1 bdp", ", loss = 0.005"),
        ", initial_ssthresh = 20",
    ),
    condition("layered-timeouts", "\"layered\"", ("2 Mbit/s", "50 ms", "1 bdp", ", loss = 0.08"), ""),
    condition(
        "layered-marks",
        "{ layered = { w_t = 4.0, slow_start_cut = \"law\" } }",
        ("8 Mbit/s", "10 ms", "{ red = { limit = \"2 bdp\", mark = true } }", ""),
        ", ecn = true",
    ),
    condition(
        "layered-smoothed",
        "{ layered = { decrease = \"variable\", interpolation = \"reciprocal\", min_rtt = \"smoothed\", rtt_exponent = 0.5, w_t = 5.0 } }",
        ("10 Mbit/s", "30 ms", "0.5 bdp", ""),
        ", initial_ssthresh = 40",
    ),
    condition(
        "compound-droptail",
        "\"compound\"",
        ("8 Mbit/s", "20 ms", "1 bdp", ""),
        ", initial_ssthresh = 45",
    ),
    condition(
        "compound-held",
        "{ compound = { window_reduction = false, gamma = 10.0 } }",
        ("8 Mbit/s", "40 ms", "1 bdp", ", loss = 0.01"),
        ", initial_ssthresh = 60",
    ),
    condition(
        "compound-loss",
        "{ compound = { lowwnd = 10.0 } }",
        ("20 Mbit/s", "20 ms", "1 bdp", ", loss = 0.004"),
        ", initial_ssthresh = 30",
    ),
    condition("compound-timeouts", "\"compound\"", ("2 Mbit/s", "50 ms", "1 bdp", ", loss = 0.08"), ""),
    condition(
        "compound-retreat",
        "{ compound = { gamma = 5.0, lowwnd = 10.0, zeta = 0.5 } }",
        ("6 Mbit/s", "30 ms", "2 bdp", ", loss = 0.005"),
        ", initial_ssthresh = 20",
    ),
    condition(
        "compound-gated",
        "{ compound = { gate = \"loss_window\", below_lowwnd = \"clear\", lowwnd = 15.0, mean = \"smoothed\", gamma = 8.0 } }",
        ("8 Mbit/s", "40 ms", "1 bdp", ", loss = 0.01"),
        ", initial_ssthresh = 30",
    ),
    condition(
        "compound-marks",
        "{ compound = { lowwnd = 10.0 } }",
        ("8 Mbit/s", "10 ms", "{ red = { limit = \"2 bdp\", mark = true } }", ""),
        ", ecn = true",
    ),
    condition("none-droptail", "\"none\"", ("8 Mbit/s", "20 ms", "1 bdp", ""), ", receive_window = 60"),
    condition("none-cap", "{ none = { cap = 30.0 } }", ("8 Mbit/s", "20 ms", "1 bdp", ""), ""),
    condition(
        "none-loss",
        "\"none\"",
        ("20 Mbit/s", "20 ms", "1 bdp", ", loss = 0.01"),
        ", receive_window = 80",
    ),
    condition(
        "none-timeouts",
        "\"none\"",
        ("2 Mbit/s", "50 ms", "5 packets", ", loss = 0.08"),
        ", receive_window = 20",
    ),
    condition("none-long", "\"none\"", ("10 Mbit/s", "100 ms", "1 bdp", ""), ", receive_window = 200"),
    condition(
        "pert-droptail",
        "{ pert = { min_delay = 0.002, max_delay = 0.004 } }",
        ("8 Mbit/s", "20 ms", "1 bdp", ""),
        ", initial_ssthresh = 30",
    ),
    condition(
        "pert-layered",
        "{ pert = { over = { layered = { decrease = \"variable\", w_t = 5.0 } }, follow = \"below\", samples = 10.0 } }",
        ("8 Mbit/s", "40 ms", "1 bdp", ", loss = 0.002"),
        ", initial_ssthresh = 40",
    ),
    condition(
        "pert-loss",
        "{ pert = { min_delay = 0.002, max_delay = 0.004 } }",
        ("6 Mbit/s", "10 ms", "1 bdp", ", loss = 0.005"),
        ", initial_ssthresh = 15",
    ),
    condition("pert-timeouts", "\"pert\"", ("2 Mbit/s", "50 ms", "1 bdp", ", loss = 0.08"), ""),
    condition(
        "pert-marks",
        "{ pert = { over = { layered = { w_t = 4.0 } }, max_probability = 0.01 } }",
        ("8 Mbit/s", "10 ms", "{ red = { limit = \"2 bdp\", mark = true } }", ""),
        ", ecn = true",
    ),
    condition(
        "pert-average",
        "{ pert = { over = { reno = { halve = \"flight\", decrease = 0.3, increase = 2.0 } }, clock = \"average\", \
         ramp = \"literal\", cut = \"inner\", initial = \"zero\" } }",
        ("5 Mbit/s", "10 ms", "2 bdp", ", loss = 0.001"),
        ", initial_ssthresh = 20",
    ),
    condition(
        "pert-window",
        "{ pert = { over = { layered = { w_t = 5.0 } }, clock = \"window\", cut = \"share\", decrease = 0.2, \
         slow_start = \"ignore\", least_window = 10.0, samples = 50.0 } }",
        ("10 Mbit/s", "20 ms", "2 bdp", ""),
        ", initial_ssthresh = 60",
    ),
    condition(
        "pert-base",
        "{ pert = { clock = \"base\", follow = \"below\", weight = 0.9, max_delay = 0.04, max_probability = 0.2 } }",
        ("4 Mbit/s", "10 ms", "2 bdp", ""),
        ", initial_ssthresh = 12",
    ),
    condition(
        "pert-rem",
        "{ pert = { curve = \"rem\", rem_unit = \"packets\", clock = \"window\" } }",
        ("8 Mbit/s", "20 ms", "1 bdp", ""),
        ", initial_ssthresh = 30",
    ),
    condition(
        "pert-pi",
        "{ pert = { curve = \"pi\", pi_a = 1.0, pi_b = 0.9, initial = \"zero\" } }",
        ("8 Mbit/s", "20 ms", "1 bdp", ", loss = 0.002"),
        ", initial_ssthresh = 50",
    ),
    condition(
        "none-marks",
        "\"none\"",
        ("8 Mbit/s", "10 ms", "{ red = { limit = \"2 bdp\", mark = true } }", ""),
        ", ecn = true, receive_window = 50",
    ),
];

impl Condition {
    fn scenario(&self) -> String {
        let (rate, delay, buffer, rest) = self.path;
        let queue = if buffer.starts_with('{') {
            buffer.to_owned()
        } else {
            format!("{{ droptail = \"{buffer}\" }}")
        };
        format!(
            "name = \"{}\"\nseed = 1\nduration = \"60 s\"\n[topology.dumbbell]\nbottleneck = {{ rate = \"{rate}\", \
             delay = \"{delay}\", queue = {queue}{rest} }}\naccess = {{ rate = \"100 Mbit/s\", delay = \"2 ms\" }}\n\
             [[flows]]\ncontrol = {}\ntcp = {{ recovery = \"sack\"{} }}\n",
            self.name, self.control, self.flow,
        )
    }

    /// The controller's settings, as the scenario gives them.
    fn settings(&self) -> Settings {
        self.plan().flows[0].control.window().expect("a TCP flow").clone()
    }

    fn plan(&self) -> ackclock_scenario::plan::Plan {
        let text = self.scenario();
        let sweep = Sweep::read(self.name, &text, &[]).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
        sweep.points[0].scenario.build().unwrap_or_else(|error| panic!("{error:?}\n{text}")).plan
    }

    fn file(&self) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../golden").join(format!("{}.trace", self.name))
    }

    fn trace(&self) -> String {
        let file = self.file();
        fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    }

    /// The trace of a run of the present engine.
    fn record(&self) -> String {
        let mut plan = self.plan();
        plan.flows[0].control = Control::Window(watched(&self.settings()));
        let _ = Engine::new(plan, NoObserver).run();
        let lines = LINES.take();
        assert!(lines.len() > 300, "{}: only {} calls", self.name, lines.len());
        format!("# {}\n{}\n", self.control, lines.join("\n"))
    }
}

thread_local! {
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// The same settings, for a scheme that behaves the same and also records its calls.
fn watched(settings: &Settings) -> Settings {
    let real = settings.scheme();
    let watched: &'static Scheme = Box::leak(Box::new(Scheme {
        build: |settings| {
            let real = copy(settings, scheme(settings.scheme().name).expect("a known scheme"));
            Box::new(Writer::new(real.build(), MAX, |lines| LINES.set(lines)))
        },
        ..*real
    }));
    copy(settings, watched)
}

fn copy(settings: &Settings, onto: &'static Scheme) -> Settings {
    let mut copy = Settings::defaults(onto);
    for (parameter, value) in settings.iter() {
        let given = match value {
            Value::Number(number) => Given::Number(number),
            Value::Flag(on) => Given::Flag(on),
            Value::Choice(_) if settings.takes_controller(parameter.name) => {
                Given::Control(settings.controller())
            }
            Value::Choice(word) => Given::Word(word),
            other => panic!("{}: no controller has a parameter such as {other}", parameter.name),
        };
        copy.set(parameter.name, given).expect("the same parameters");
    }
    copy
}

#[test]
fn the_traces_are_those_of_the_engine() {
    for condition in CONDITIONS {
        let now = condition.record();
        if std::env::var_os("ACKCLOCK_RECORD").is_some() {
            fs::write(condition.file(), &now).expect("golden/ can be written");
        }
        assert!(
            condition.trace() == now,
            "{}: the engine does otherwise today; see this file's head",
            condition.name
        );
    }
}

#[test]
fn rust_answers_exactly() {
    for condition in CONDITIONS {
        let mut controller = Exact(condition.settings().build());
        play(&condition.trace(), &mut controller, |_, answer| {
            let Answer { line, cwnd, ssthresh, cut } = answer;
            let cut = cut.unwrap_or_default();
            assert_eq!((cwnd.0, ssthresh.0, cut.0), (cwnd.1, ssthresh.1, cut.1), "{}:{line}", condition.name);
        });
    }
}

/// The least number of conditions for the twin of each scheme.
const MIN_CONDITIONS: usize = 6;
/// Curves that have no twin.
const WITHOUT_TWIN: &[&str] = &["pert-rem", "pert-pi"];

#[test]
fn every_scheme_with_a_twin_has_its_conditions() {
    for scheme in ackclock_kernel::names() {
        let of_scheme = CONDITIONS.iter().filter(|it| it.settings().scheme().name == scheme);
        let with_twin = of_scheme.filter(|it| !WITHOUT_TWIN.contains(&it.name)).count();
        assert!(with_twin >= MIN_CONDITIONS, "{scheme}: {with_twin}");
    }
    for name in WITHOUT_TWIN {
        let condition = CONDITIONS.iter().find(|it| it.name == *name).expect("a condition");
        assert!(Twin::new(&condition.settings()).is_err(), "{name} has a twin");
    }
}

#[test]
fn c_answers_within_a_segment_or_one_per_cent() {
    for condition in CONDITIONS.iter().filter(|it| !WITHOUT_TWIN.contains(&it.name)) {
        let mut controller = Twin::new(&condition.settings()).expect("it has a twin");
        let mut worst: f64 = 0.0;
        play(&condition.trace(), &mut controller, |twin, answer| {
            let mut close = |(theirs, ours): (f64, f64), what: &str| {
                if theirs.is_infinite() {
                    return assert!(
                        ours >= f64::from(0x7fff_ffff),
                        "{}:{}: {what}",
                        condition.name,
                        answer.line
                    );
                }
                // The fraction of a segment counts, too.
                let apart = (theirs - ours - twin.part()).abs() / (theirs / 100.0).max(1.0);
                worst = worst.max(apart);
                assert!(apart <= 1.0, "{}:{}: {what} {theirs} and {ours}", condition.name, answer.line);
            };
            close(answer.cwnd, "cwnd");
            if let Some(cut) = answer.cut {
                close(cut, "cut to");
            }
        });
        println!("{}: at most {worst:.3} of what is allowed", condition.name);
    }
}

/// Gives a boxed controller a type of its own.
#[derive(Clone)]
struct Exact(Box<dyn Controller>);

impl Controller for Exact {
    fn on_sample(&mut self, path: &ackclock_cc::Path, ack: &ackclock_cc::Ack, w: &mut ackclock_cc::Window) {
        self.0.on_sample(path, ack, w);
    }
    fn grow(&mut self, path: &ackclock_cc::Path, ack: &ackclock_cc::Ack, w: &mut ackclock_cc::Window) {
        self.0.grow(path, ack, w);
    }
    fn cut(
        &mut self,
        path: &ackclock_cc::Path,
        w: &ackclock_cc::Window,
        why: ackclock_cc::Signal,
    ) -> Option<f64> {
        self.0.cut(path, w, why)
    }
    fn on_event(&mut self, path: &ackclock_cc::Path, event: ackclock_cc::Event, w: &mut ackclock_cc::Window) {
        self.0.on_event(path, event, w);
    }
}
