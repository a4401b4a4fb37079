//! Scenario files: from text to a plan for the engine.

mod build;
mod document;
mod endpoint;
mod error;
mod excerpt;
mod flows;
mod impairments;
mod jitter;
mod predict;
mod queue;
mod rate;
pub mod reader;
mod requests;
mod segment;
mod settings;
mod size_file;
mod sweep;
mod tcp;
mod text_file;
mod topology;
mod traffic;
mod variate;
mod ways;
mod writing;

pub use build::{Built, GroupInfo, LinkInfo, Prediction};
pub use document::{Document, Node, Value};
pub use error::{Origin, ScenarioError, Source, nearest, suggest};
pub use excerpt::Excerpt;
pub use predict::Settle;
pub use sweep::{Expansion, Point, Sweep};

use crate::control::Control;
use crate::plan::{EngineKind, Threads};
use crate::requests::Size;
use ackclock_net::VariableRate;
use ackclock_tcp::Config;
use ackclock_units::Duration;
use document::path_parts;
use endpoint::Ground;
use flows::FlowGroup;
use jitter::JitterSpec;
use predict::PredictSpec;
use reader::{At, Result};
use std::sync::Arc;
use topology::Topology;
use traffic::TrafficSpec;

/// The largest seed. Seeds pass through floats, which are exact up to here.
pub(crate) const MAX_SEED: u64 = (1 << 53) - 1;

/// The results that an expectation is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Over {
    /// Those of each point.
    #[default]
    Point,
    /// Those of all points of the sweep, with all seeds, together.
    Points,
}

/// An expectation: an expression that must be true after the run.
#[derive(Clone, Debug)]
pub struct Expect {
    /// The expression.
    pub that: String,
    /// The results that it is about.
    pub over: Over,
    /// Where it was written, for messages.
    pub(crate) node: Node,
    pub(crate) path: String,
}

/// One scenario with all its values: a point of a sweep, or a scenario without a sweep.
#[derive(Clone)]
pub struct Scenario {
    /// The name.
    pub name: String,
    /// The seed of all random streams.
    pub seed: u64,
    /// Simulated time.
    pub duration: Duration,
    /// The measuring window: start and end.
    pub measure: (Duration, Duration),
    /// The interval of the probes, if the scenario gives one.
    pub probe: Option<Duration>,
    /// The expectations.
    pub expects: Vec<Expect>,
    /// The engine that computes the run; `None`: the one that suits it. The results do not depend on it, so
    /// it is no part of the document.
    pub engine: Option<EngineKind>,
    /// The threads that may compute the run. This is no part of the document, either.
    pub threads: Threads,
    pub(crate) config: Config,
    pub(crate) topology: Topology,
    /// The jitter of all flows; `None`: where flows share a DropTail queue.
    pub(crate) jitter: Option<JitterSpec>,
    pub(crate) groups: Vec<FlowGroup>,
    pub(crate) traffic: Vec<TrafficSpec>,
    pub(crate) predict: Option<PredictSpec>,
    /// The link whose capture is traced.
    pub(crate) trace: Option<String>,
    pub(crate) document: Document,
}

/// The largest number of samples of a probe in one run.
const MAX_LOOKS: u64 = 1_000_000;

impl Scenario {
    /// Reads a document from which `sweep` and `seeds` are already removed.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if a key is unknown or missing, or a value is not allowed.
    pub fn read(document: Document) -> Result<Scenario> {
        let source = Arc::clone(&document.source);
        let root = At::new(&document.root, "", &source);
        let table = root.table()?;
        let name = match table.get("name") {
            Some(at) => at.text()?.to_owned(),
            None => "unnamed".to_owned(),
        };
        let seed = table.get("seed").map(|at| at.count(0, MAX_SEED)).transpose()?.unwrap_or(1);
        let duration_at = table.need("duration", "\"60 s\"")?;
        let duration: Duration = duration_at.quantity()?;
        if duration.is_zero() {
            return Err(duration_at.error("a run takes some time").help("for example duration = \"60 s\""));
        }
        let measure = match table.get("measure") {
            Some(at) => read_measure(&at, duration)?,
            None => (Duration::ZERO, duration),
        };
        let probe = table.get("probe").map(|at| read_probe(&at, duration)).transpose()?;
        let ground = Ground { segment: table.get("segment"), tcp: table.get("tcp") };
        let config = ground.endpoint(None)?.config;
        let mut topology = topology::read_topology(&table.need_as(
            "topology",
            "add a table [topology.dumbbell] with bottleneck = { rate = \"1 Gbit/s\", delay = \"40 ms\" }",
        )?)?;
        let jitter = table.get("jitter").map(|at| jitter::read_jitter(&at)).transpose()?;
        let mut groups = flows::read_flows(
            &table.need_as("flows", "add a table [[flows]] with control = \"reno\" to it")?,
            &ground,
        )?;
        if let (Some(at), Some(probe)) = (table.get("probe"), probe) {
            few_samples(&at, probe, duration, groups.iter().map(|group| group.count).sum())?;
        }
        let last_hops = groups.iter_mut().filter_map(|group| group.last_hop.as_mut());
        for link in topology.links.iter_mut().chain(last_hops) {
            let Some(variable) = &link.variable else { continue };
            link.rate = variable.rate.mean(duration);
            if link.rate.bps() == 0 {
                let node = document.closest(&path_parts(&variable.path).unwrap_or_default());
                return Err(At::new(node, variable.path.clone(), &source)
                    .error("this link carries nothing before the run ends")
                    .help("give it a rate above zero earlier, or lengthen the duration"));
            }
        }
        let traffic =
            table.get("traffic").map(|at| traffic::read_traffic(&at)).transpose()?.unwrap_or_default();
        let trace = table.get("trace").map(|at| at.text().map(str::to_owned)).transpose()?;
        let predict = table.get("predict").map(|at| predict::read_predict(&at)).transpose()?;
        let expects = match table.get("expect") {
            Some(at) => at.list()?.iter().map(read_expect).collect::<Result<_>>()?,
            None => Vec::new(),
        };
        // Texts for reports and experiments. They have no effect here.
        for key in ["description", "source"] {
            table.get(key).map(|at| at.text()).transpose()?;
        }
        // These keys are already removed. Asking for them lets a misspelt key find them.
        for key in ["sweep", "seeds"] {
            table.get(key);
        }
        table.finish()?;
        drop((ground, table));
        Ok(Scenario {
            name,
            seed,
            engine: None,
            threads: Threads::One,
            duration,
            measure,
            probe,
            expects,
            config,
            topology,
            jitter,
            groups,
            traffic,
            predict,
            trace,
            document,
        })
    }

    /// An error in an expectation.
    pub fn expect_error(&self, expect: &Expect, message: String) -> ScenarioError {
        At::new(&expect.node, expect.path.clone(), &self.document.source).error(message)
    }

    /// The document from which it was read.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The number of flows in all groups together.
    pub fn flows(&self) -> usize {
        self.groups.iter().map(|group| group.count).sum()
    }

    /// What decides how fast the flows of each group send.
    pub fn controls(&self) -> impl Iterator<Item = &Control> {
        self.groups.iter().map(|group| &group.control)
    }

    /// For each group of flows, true if in an emulation our own TCP sends, instead of the kernel's.
    pub fn own_hosts(&self) -> impl Iterator<Item = bool> {
        self.groups.iter().map(|group| group.own_host)
    }

    /// The scenario as it runs, as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        let mut json = self.document.root.value.to_json();
        // A table of sizes comes from another file: what it says is a part of what is run.
        for (number, group) in self.groups.iter().enumerate() {
            if let Size::Table(table, _) = &group.asks.size {
                json["flows"][number]["size"]["table"] = serde_json::json!(table.rows());
            }
        }
        // So do a policy and a trace, which are long: checksums stand for them.
        for (number, group) in self.groups.iter().enumerate() {
            let policy = group.control.window().and_then(|settings| settings.blueprint());
            if let Some(policy) = policy {
                let checksum = format!("{:016x}", policy.checksum());
                note_checksum(&mut json["flows"][number]["control"], &checksum);
            }
        }
        let last_hops = self.groups.iter().filter_map(|group| group.last_hop.as_ref());
        for variable in self.topology.links.iter().chain(last_hops).filter_map(|link| link.variable.as_ref())
        {
            let parts = path_parts(&variable.path).unwrap_or_default();
            let pointer: String = parts.iter().map(|part| format!("/{part}")).collect();
            if let (VariableRate::Trace(trace), Some(rate)) = (&variable.rate, json.pointer_mut(&pointer)) {
                let (opportunities, checksum) = rate::identity(trace);
                rate["opportunities"] = opportunities.into();
                rate["checksum"] = checksum.into();
            }
        }
        json
    }
}

/// Notes the checksum of a file beside its name, also that of a controller underneath.
fn note_checksum(control: &mut serde_json::Value, checksum: &str) {
    let Some(entries) = control.as_object_mut() else { return };
    if entries.contains_key("file") {
        entries.insert("checksum".to_owned(), checksum.into());
    } else {
        entries.values_mut().for_each(|inner| note_checksum(inner, checksum));
    }
}

fn read_measure(at: &At<'_>, duration: Duration) -> Result<(Duration, Duration)> {
    let bounds = at.list()?;
    let [from, to] = &bounds[..] else {
        return Err(at
            .error("a measuring window has a beginning and an end")
            .help("for example [\"100 s\", \"400 s\"]"));
    };
    let (begin, end) = (from.quantity::<Duration>()?, to.quantity::<Duration>()?);
    if begin >= end {
        return Err(at
            .error("the measuring window ends before it begins")
            .help("write the earlier time first"));
    }
    if end > duration {
        return Err(to
            .error(format!("the measuring window ends after the run, which lasts {duration}"))
            .help("shorten it, or lengthen the duration"));
    }
    Ok((begin, end))
}

fn read_probe(at: &At<'_>, duration: Duration) -> Result<Duration> {
    let interval: Duration = at.quantity()?;
    if interval.is_zero() || duration.as_nanos() / interval.as_nanos().max(1) > MAX_LOOKS {
        return Err(at
            .error(format!("a probe every {interval} is too often"))
            .help(format!("at most {MAX_LOOKS} looks in a run")));
    }
    Ok(interval)
}

/// The largest number of flow samples in one run, over all flows. Samples are kept in memory.
const MAX_SAMPLES: u64 = 100_000_000;

fn few_samples(at: &At<'_>, probe: Duration, duration: Duration, flows: usize) -> Result<()> {
    let looks = duration.as_nanos() / probe.as_nanos().max(1);
    if looks.saturating_mul(flows as u64) > MAX_SAMPLES {
        return Err(at
            .error(format!("{looks} looks at each of {flows} flows are too many"))
            .help(format!("at most {MAX_SAMPLES} in all; look less often")));
    }
    Ok(())
}

fn read_expect(at: &At<'_>) -> Result<Expect> {
    let table = at.table()?;
    let that = table.need("that", "\"utilisation('bottleneck') > 0.9\"")?;
    let over = match table.get("over") {
        None => Over::default(),
        Some(at) => match at.text()? {
            "point" => Over::Point,
            "points" => Over::Points,
            word => return Err(at.unknown("scope", word, &["point", "points"])),
        },
    };
    let (node, path) = (that.node.clone(), that.path.clone());
    let expect = Expect { that: that.text()?.to_owned(), over, node, path };
    table.get("note").map(|at| at.text()).transpose()?;
    table.finish()?;
    Ok(expect)
}
