//! Environments for reinforcement learning: runs that stop at the end of each monitor interval of one flow,
//! and go on with the action that somebody chose.

use crate::error::{raised, wrong};
use crate::scenario::Scenario;
use ackclock_cc as cc;
use ackclock_cc::policy::{Desk, FEATURES, Question, Start, Steered};
use ackclock_net::Rng;
use ackclock_scenario::{Control, Document, Node, ScenarioError, Sweep, Value};
use ackclock_sim::engine::{Engine, NoObserver};
use ackclock_units::Duration;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use rayon::ThreadPool;
use rayon::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a step tells beside the observation: rate, throughput, latency, loss, time, segments sent.
const TOLD: usize = 6;
/// The rates of PCC-RL's senders, packets per second.
const AURORA_RATES: (f64, f64) = (40.0, 1000.0);
/// The rates of a sender over any scenario, segments per second.
const RATES: (f64, f64) = (0.1, 1e9);

/// Where the runs come from.
enum Origin {
    /// Paths drawn as PCC-RL draws them.
    Aurora,
    /// A scenario, and the number of the flow that is steered.
    Scenario { document: Document, flow: usize },
}

/// What all environments have in common.
struct Rules {
    origin: Origin,
    history: usize,
    /// The length of an interval in round-trip times.
    interval: f64,
    scale: f64,
    /// Steps of an episode; 0: until the run is over.
    steps: u32,
    /// The reward per packet delivered in a second, per second of latency, and per lost share.
    reward: (f64, f64, f64),
}

/// One run after the other.
struct Lane {
    /// The paths and the seeds of the runs.
    draws: Rng,
    engine: Option<Engine<NoObserver>>,
    desk: Arc<Desk>,
    /// The features of the last intervals, the oldest first.
    seen: Vec<f32>,
    steps: u32,
    /// The seed of the run.
    seed: u64,
    /// True if the next step begins another episode.
    over: bool,
    /// What the last step says.
    reward: f64,
    told: [f64; TOLD],
}

impl Rules {
    /// The next run, whose flow asks at `desk`, and its seed.
    fn engine(&self, draws: &mut Rng, desk: &Arc<Desk>) -> Result<(Engine<NoObserver>, u64), ScenarioError> {
        let (mut document, flow, start, rates) = match &self.origin {
            Origin::Aurora => {
                let (document, start) = aurora(draws)?;
                (document, 0, start, AURORA_RATES)
            }
            Origin::Scenario { document, flow } => (document.clone(), *flow, Start::Doubling, RATES),
        };
        let seed = (draws.uniform() * 1e9).floor();
        document.set("seed", Node::given(Value::Number(seed), "the environment's seed"))?;
        let mut plan = ackclock_scenario::Scenario::read(document)?.build()?.plan;
        let desk = Arc::clone(desk);
        let steered = Steered { desk, start, interval: self.interval, scale: self.scale, rates };
        plan.flows[flow].control =
            Control::Window(cc::Settings::brought(&cc::policy::SCHEME, Arc::new(steered)));
        // Nobody looks at the links, so packets may run ahead on those that one flow has for itself.
        plan.measured = 0;
        plan.probe = None;
        plan.engine = None;
        Ok((Engine::new(plan, NoObserver), seed as u64))
    }

    fn reward(&self, question: &Question) -> f64 {
        let (throughput, latency, loss) = self.reward;
        let seen = &question.seen;
        throughput * seen.throughput() - latency * seen.latency_s.unwrap_or(0.0) - loss * seen.loss()
    }
}

/// A path as PCC-RL draws it, with its sender: 100 to 500 packets of 1500 bytes per second, 50 to 500 ms each
/// way, room for 1 + e^U(0, 8) packets, a loss of up to 5 %; a first rate of 0.3 to 1.5 of the path's.
fn aurora(draws: &mut Rng) -> Result<(Document, Start), ScenarioError> {
    let rate = draws.between(100.0, 500.0);
    let delay = draws.between(0.05, 0.5);
    let room = 1.0 + draws.between(0.0, 8.0).exp().floor();
    let loss = draws.between(0.0, 0.05);
    let first = rate * draws.between(0.3, 1.5);
    let text = format!(
        "duration = \"1000000 s\"\nsegment = {{ payload = \"1460 B\", header = \"40 B\" }}\n\
         [topology.dumbbell]\nbottleneck = {{ rate = \"{:.0} bit/s\", delay = \"{:.0} ns\", loss = {loss}, \
         queue = {{ droptail = \"{room} packets\" }} }}\n\
         [[flows]]\ncontrol = \"policy\"\ndetection = {{ rack = {{ tail_loss_probe = false }} }}\n\
         tcp = {{ rto = \"linux\", rto_min = \"10 s\", rto_initial = \"10 s\" }}\n",
        rate * 12_000.0,
        delay * 1e9,
    );
    // PCC-RL lets three delays pass twice before it asks for the first time.
    let start = Start::At { rate: first, first: Duration::from_secs_f64(6.0 * delay) };
    Ok((Document::parse("Aurora-v0", &text)?, start))
}

impl Lane {
    fn new(seed: u64, number: usize) -> Lane {
        Lane {
            draws: Rng::new(seed, &format!("environment {number}")),
            engine: None,
            desk: Arc::default(),
            seen: Vec::new(),
            steps: 0,
            seed: 0,
            over: true,
            reward: 0.0,
            told: [0.0; TOLD],
        }
    }

    /// Begins an episode: the run up to its first question.
    fn begin(&mut self, rules: &Rules) -> Result<(), ScenarioError> {
        self.desk = Arc::default();
        let (engine, seed) = rules.engine(&mut self.draws, &self.desk)?;
        (self.engine, self.seed) = (Some(engine), seed);
        self.seen = cc::policy::neutral(rules.history).map(|feature| feature as f32).collect();
        (self.steps, self.over, self.reward) = (0, false, 0.0);
        // In PCC-RL what comes before the first action is not seen.
        let shown = !matches!(rules.origin, Origin::Aurora);
        self.go_on(rules, shown);
        self.reward = 0.0;
        Ok(())
    }

    /// Runs to the end of the interval, and takes in what was seen.
    fn go_on(&mut self, rules: &Rules, shown: bool) {
        let Some(engine) = &mut self.engine else { return };
        let desk = &self.desk;
        if !engine.run_until(|| desk.is_asked()) {
            (self.over, self.reward, self.engine) = (true, 0.0, None);
            return;
        }
        let question = self.desk.question();
        if shown {
            self.seen.copy_within(FEATURES.len().., 0);
            let newest = self.seen.len() - FEATURES.len();
            for (seen, feature) in self.seen[newest..].iter_mut().zip(question.features) {
                *seen = feature as f32;
            }
        }
        self.reward = rules.reward(&question);
        let seen = &question.seen;
        self.told = [
            question.rate,
            seen.throughput(),
            seen.latency_s.unwrap_or(f64::NAN),
            seen.loss(),
            seen.at.as_nanos() as f64 * 1e-9,
            seen.sent,
        ];
    }

    /// One step, or the beginning of the next episode after the last one is over.
    fn step(&mut self, rules: &Rules, action: f64) -> Result<(), ScenarioError> {
        if self.over {
            return self.begin(rules);
        }
        self.desk.answer(action);
        self.go_on(rules, true);
        self.steps += 1;
        self.over |= rules.steps > 0 && self.steps >= rules.steps;
        Ok(())
    }
}

/// Arrays of NumPy, with a row for each environment. A step reads one of them, and writes the others.
#[derive(FromPyObject)]
struct Arrays {
    actions: PyBuffer<f64>,
    seen: PyBuffer<f32>,
    rewards: PyBuffer<f64>,
    /// 1 where an episode is over.
    over: PyBuffer<u8>,
    /// Rate, throughput, latency, loss, time, segments sent.
    told: PyBuffer<f64>,
}

/// Several environments, each with its own runs.
#[pyclass(frozen, module = "ackclock._native")]
pub(crate) struct Environments {
    rules: Rules,
    arrays: Arrays,
    lanes: Mutex<Vec<Lane>>,
    /// The number of different runs; the next lanes have the same ones again.
    runs: usize,
    /// None with one thread.
    pool: Option<ThreadPool>,
}

#[pymethods]
impl Environments {
    /// `scenario` with the number of the flow, or None for the paths of PCC-RL. `arrays` are an object with
    /// the arrays.
    #[new]
    #[allow(clippy::too_many_arguments, reason = "they are the options of an environment")]
    fn new(
        scenario: Option<(Bound<'_, Scenario>, String)>,
        count: usize,
        runs: usize,
        threads: usize,
        history: usize,
        interval: f64,
        scale: f64,
        steps: u32,
        reward: (f64, f64, f64),
        arrays: Arrays,
    ) -> PyResult<Environments> {
        let origin = match scenario {
            None => Origin::Aurora,
            Some((scenario, label)) => origin(&scenario.get().document, &label)?,
        };
        let pool = (threads > 1).then(|| rayon::ThreadPoolBuilder::new().num_threads(threads).build());
        let pool = pool.transpose().map_err(|error| wrong(error, "ask for fewer threads"))?;
        let rules = Rules { origin, history, interval, scale, steps, reward };
        let lanes = (0..count).map(|number| Lane::new(0, number % runs.max(1))).collect();
        Ok(Environments { rules, arrays, lanes: Mutex::new(lanes), runs: runs.max(1), pool })
    }

    /// Begins an episode in each. With a seed the draws begin anew; without, they go on.
    fn reset(&self, py: Python<'_>, seed: Option<u64>) -> PyResult<()> {
        if let Some(seed) = seed {
            for (number, lane) in self.lanes().iter_mut().enumerate() {
                *lane = Lane::new(seed, number % self.runs);
            }
        }
        self.each(py, &[], |rules, lane, _| lane.begin(rules))
    }

    /// A step in each, with the actions of the array.
    fn step(&self, py: Python<'_>) -> PyResult<()> {
        let actions = self.arrays.actions.to_vec(py)?;
        self.each(py, &actions, |rules, lane, action| lane.step(rules, action))
    }

    /// The seeds of the runs: with its seed a scenario gives the same run.
    fn seeds(&self) -> Vec<u64> {
        self.lanes().iter().map(|lane| lane.seed).collect()
    }
}

impl Environments {
    fn lanes(&self) -> MutexGuard<'_, Vec<Lane>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets each lane act, without the interpreter's lock, and shows in the arrays what came of it.
    fn each(
        &self,
        py: Python<'_>,
        actions: &[f64],
        act: impl Fn(&Rules, &mut Lane, f64) -> Result<(), ScenarioError> + Sync,
    ) -> PyResult<()> {
        let action = |number: usize| actions.get(number).copied().unwrap_or(0.0);
        let one = |(number, lane): (usize, &mut Lane)| act(&self.rules, lane, action(number));
        let done = py.detach(|| {
            let mut lanes = self.lanes();
            let lanes = &mut **lanes;
            match &self.pool {
                None => lanes.iter_mut().enumerate().try_for_each(one),
                Some(pool) => pool.install(|| lanes.par_iter_mut().enumerate().try_for_each(one)),
            }
        });
        done.map_err(raised)?;
        self.show(py)
    }

    fn show(&self, py: Python<'_>) -> PyResult<()> {
        let Arrays { seen, rewards, over, told, .. } = &self.arrays;
        let lanes = self.lanes();
        if let [lane] = &lanes[..] {
            seen.copy_from_slice(py, &lane.seen)?;
            rewards.copy_from_slice(py, &[lane.reward])?;
            over.copy_from_slice(py, &[u8::from(lane.over)])?;
            return told.copy_from_slice(py, &lane.told);
        }
        let all: Vec<f32> = lanes.iter().flat_map(|lane| lane.seen.iter().copied()).collect();
        seen.copy_from_slice(py, &all)?;
        rewards.copy_from_slice(py, &lanes.iter().map(|lane| lane.reward).collect::<Vec<_>>())?;
        over.copy_from_slice(py, &lanes.iter().map(|lane| u8::from(lane.over)).collect::<Vec<_>>())?;
        told.copy_from_slice(py, &lanes.iter().flat_map(|lane| lane.told).collect::<Vec<_>>())
    }
}

/// A scenario of one point, in which the flow of this group is steered.
fn origin(document: &Document, label: &str) -> PyResult<Origin> {
    let sweep = Sweep::expand(document.clone()).map_err(raised)?;
    let [point] = &sweep.points[..] else {
        return Err(wrong(
            format!("the scenario has {} points, and an environment is one", sweep.points.len()),
            "set the axes of its sweep to single values",
        ));
    };
    let groups = point.scenario.build().map_err(raised)?.groups;
    let labels: Vec<&str> = groups.iter().map(|group| group.label.as_str()).collect();
    let Some(group) = labels.iter().position(|other| *other == label) else {
        return Err(wrong(
            format!("there is no group of flows called \"{label}\""),
            &format!("flow = one of {}", labels.join(", ")),
        ));
    };
    if groups[group].recovery == "own" {
        return Err(wrong(format!("the flows \"{label}\" are not TCP"), "steer a flow that is"));
    }
    let flow = groups[..group].iter().map(|group| group.count).sum();
    // The endpoints are those of the controller. The label stays: it names what is drawn.
    let mut document = point.scenario.document().clone();
    let given = |text: &str| Node::given(Value::Text(text.to_owned()), "the environment");
    document.set(&format!("flows.{group}.label"), given(label)).map_err(raised)?;
    document.set(&format!("flows.{group}.control"), given("policy")).map_err(raised)?;
    Ok(Origin::Scenario { document, flow })
}
