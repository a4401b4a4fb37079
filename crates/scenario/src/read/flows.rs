//! `[[flows]]`: the flows, their endpoints, and their times.

use super::endpoint::Ground;
use super::error::suggest;
use super::jitter::{JitterSpec, read_jitter};
use super::reader::{At, Result, Table};
use super::requests::{TransferSpec, read_requests};
use super::tcp::{check_undo, read_chosen, read_detection, read_recovery};
use super::text_file::{TextFile, read_text_file};
use super::topology::{LinkSpec, read_own_link};
use super::writing::read_writing;
use crate::control::Control;
use crate::writing::Writing;
use ackclock_cc::{Blueprint, Domain, Given, Settings, SettingsError, scheme, schemes};
use ackclock_net::Rng;
use ackclock_rate::Transport;
use ackclock_registry::Listed;
use ackclock_tcp::Config;
use ackclock_units::Duration;
use std::collections::HashSet;
use std::sync::Arc;

/// A group of flows that differ only in their start.
#[derive(Clone)]
pub(crate) struct FlowGroup {
    pub(crate) label: String,
    pub(crate) count: usize,
    pub(crate) control: Control,
    pub(crate) config: Config,
    /// In an emulation the flows send from our own TCP instead of the kernel's.
    pub(crate) own_host: bool,
    pub(crate) start: Start,
    pub(crate) stop: Option<Duration>,
    pub(crate) rtt: Option<Duration>,
    /// The jitter at the sender; `None`: that of the scenario.
    pub(crate) jitter: Option<JitterSpec>,
    pub(crate) asks: TransferSpec,
    /// Set if transfers are responses of HTTP: true if all of them use one connection.
    pub(crate) http: Option<bool>,
    /// How the data is written; `None`: all of it at once.
    pub(crate) writing: Option<Writing>,
    /// How many flows of the group are traced segment by segment, from the first on.
    pub(crate) follow: usize,
    pub(crate) ends: Ends,
    /// An additional link of each flow, before its receiver.
    pub(crate) last_hop: Option<LinkSpec>,
    /// The dotted path of the group in the file, for messages.
    pub(crate) path: String,
}

/// The two nodes of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    pub(crate) from: Option<String>,
    pub(crate) to: Option<String>,
    pub(crate) reverse: bool,
}

/// The start times of the flows of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start {
    At(Duration),
    Uniform(Duration, Duration),
    Every(Duration),
}

impl Start {
    /// The start of a member of the group. `draws` are those of the group, and each member takes its turn.
    pub(crate) fn of(self, member: usize, draws: &mut Rng) -> Duration {
        match self {
            Start::At(at) => at,
            Start::Uniform(from, to) => {
                Duration::from_secs_f64(draws.between(from.as_secs_f64(), to.as_secs_f64()))
            }
            Start::Every(interval) => interval.saturating_mul(member as u64),
        }
    }
}

const MAX_FLOWS: u64 = 1_000_000;

pub(crate) fn read_flows(at: &At<'_>, ground: &Ground<'_>) -> Result<Vec<FlowGroup>> {
    let mut groups: Vec<FlowGroup> = Vec::new();
    let mut labels = HashSet::new();
    let mut flows = 0;
    for at in at.list()? {
        let group = read_group(&at, ground)?;
        if !labels.insert(group.label.clone()) {
            return Err(at
                .error(format!("two groups of flows are called \"{}\"", group.label))
                .help("give each [[flows]] a label of its own: label = \"...\""));
        }
        flows += group.count as u64;
        if flows > MAX_FLOWS {
            return Err(at
                .error(format!("with these the scenario has {flows} flows"))
                .help(format!("at most {MAX_FLOWS} flows in all")));
        }
        groups.push(group);
    }
    if groups.is_empty() {
        return Err(at.error("there are no flows").help("add at least one [[flows]]"));
    }
    Ok(groups)
}

/// Flows that share a load, where it is not said how many: so many that few transfers wait for one of the
/// same flow.
const LOADED: u64 = 1000;

fn read_group(at: &At<'_>, ground: &Ground<'_>) -> Result<FlowGroup> {
    let table = at.table_like("{ control = \"reno\", count = 2 }")?;
    let control = read_control(&table.need("control", "\"layered\"")?)?;
    let label = match table.get("label") {
        Some(at) => at.text()?.to_owned(),
        None => control.name().to_owned(),
    };
    let config = match &control {
        Control::Window(control) => read_endpoint(&table, ground, control)?,
        Control::Rate(transport) => {
            has_no_tcp(&table, transport.name())?;
            ground.endpoint(None)?.config
        }
    };
    let count = table.get("count").map(|at| at.count(1, MAX_FLOWS)).transpose()?;
    let count = count.unwrap_or(if table.get("load").is_some() { LOADED } else { 1 }) as usize;
    let http = table.get("http").map(|at| read_http(&at, &table)).transpose()?;
    let group = FlowGroup {
        label,
        count,
        follow: table.get("follow").map(|at| read_follow(&at, count)).transpose()?.unwrap_or(0),
        control,
        own_host: table.get("host").map(|at| read_host(&at)).transpose()?.unwrap_or(false),
        start: table.get("start").map(|at| read_start(&at)).transpose()?.unwrap_or(Start::At(Duration::ZERO)),
        stop: table.quantity("stop")?,
        rtt: table.quantity("rtt")?,
        jitter: table.get("jitter").map(|at| read_jitter(&at)).transpose()?,
        writing: read_writing(&table, config.payload, http.is_some())?,
        http,
        asks: read_requests(&table, config.payload)?,
        ends: read_ends(&table)?,
        last_hop: table.get("last_hop").map(|at| read_own_link(&at)).transpose()?,
        path: at.path.clone(),
        config,
    };
    table.finish()?;
    Ok(group)
}

/// Keys of TCP, which a rate-based flow does without.
fn has_no_tcp(table: &Table<'_>, transport: &str) -> Result<()> {
    for key in ["tcp", "recovery", "detection", "bursts", "http", "send_buffer", "follow", "host"] {
        if let Some(at) = table.get(key) {
            return Err(at
                .error(format!(
                    "\"{key}\" is a key of TCP flows, and \"{transport}\" is a transport of its own"
                ))
                .help("remove it"));
        }
    }
    Ok(())
}

/// Reads `host`: is it our own TCP that sends in an emulation?
fn read_host(at: &At<'_>) -> Result<bool> {
    match at.text()? {
        "own" => Ok(true),
        "kernel" => Ok(false),
        word => Err(at.unknown("host", word, &["kernel", "own"])),
    }
}

/// Reads `http`: does one connection serve all requests?
fn read_http(at: &At<'_>, flow: &Table<'_>) -> Result<bool> {
    let table = at.table_like("{ persistent = true }")?;
    let persistent = table.get("persistent").map(|at| at.flag()).transpose()?.unwrap_or(true);
    table.finish()?;
    if let Some(at) = flow.get("load") {
        return Err(at
            .error("a client asks for one thing after the other, so its requests are no load")
            .help("remove this key, or http"));
    }
    if flow.get("size").is_none() {
        return Err(at.error("a response has a size").help("for example size = \"100 kB\""));
    }
    Ok(persistent)
}

/// The settings of a flow's endpoints: those of all flows, and its own keys.
fn read_endpoint(table: &Table<'_>, ground: &Ground<'_>, control: &Settings) -> Result<Config> {
    let mut endpoint = ground.endpoint(Some(control))?;
    if let Some(at) = table.get("tcp") {
        ground.read(&mut endpoint, &at, control)?;
    }
    let (recovery, detection) = (table.get("recovery"), table.get("detection"));
    if let Some(at) = &recovery {
        endpoint.config.recovery = read_recovery(at)?;
    }
    if let Some(at) = &detection {
        endpoint.config.detection = read_detection(at)?;
    }
    endpoint.said(detection.as_ref(), recovery.as_ref())?;
    if let Some(at) = detection.or(recovery) {
        check_undo(&at, &endpoint.config)?;
    }
    Ok(endpoint.config)
}

/// Reads `follow`: all flows of a group, or a number of them.
fn read_follow(at: &At<'_>, count: usize) -> Result<usize> {
    match &at.node.value {
        super::Value::Flag(all) => Ok(if *all { count } else { 0 }),
        _ => at.count(0, count as u64).map(|flows| flows as usize),
    }
}

/// Reads what decides how fast a flow sends: a controller or a transport, by its name or with parameters.
fn read_control(at: &At<'_>) -> Result<Control> {
    let (word, inner) = at.choice()?;
    if let (Some(settings), None) = (at.brought(word), inner) {
        return Ok(Control::Window(settings.clone()));
    }
    if Transport::find(word).is_some() {
        return read_chosen(at, "\"xrtp\" or { xrtp = { variant = \"a\" } }").map(Control::Rate);
    }
    read_controller(at, &Transport::names()).map(Control::Window)
}

/// Reads the file of a learned policy.
fn read_policy(at: &At<'_>) -> Result<Arc<dyn Blueprint>> {
    let TextFile { name, text } = read_text_file(at, ackclock_policy::MAX_FILE, ackclock_policy::HELP)?;
    let network = ackclock_policy::parse(&text);
    let network =
        network.map_err(|problem| at.error(format!("{name}:{problem}")).help(ackclock_policy::HELP))?;
    Ok(Arc::new(network))
}

/// Reads a controller: its name, or its name with parameters. `others` are names that stand there, too.
fn read_controller(at: &At<'_>, others: &[&str]) -> Result<Settings> {
    let (word, inner) = at.choice()?;
    let Some(scheme) = scheme(word) else {
        let known: Vec<_> =
            schemes().iter().map(|scheme| scheme.name).chain(others.iter().copied()).collect();
        return Err(at.unknown("control", word, &known));
    };
    let mut settings = Settings::defaults(scheme);
    if let Some(inner) = inner {
        let example = match scheme.parameters.first() {
            Some(parameter) if matches!(parameter.domain, Domain::File) => {
                format!("{{ {word} = {{ {} = \"{word}.json\" }} }}", parameter.name)
            }
            Some(parameter) => format!("{{ {word} = {{ {} = {} }} }}", parameter.name, parameter.default),
            None => format!("\"{word}\", which has no parameters"),
        };
        for (name, at) in inner.table_like(&example)?.entries() {
            let under = settings.takes_controller(name).then(|| read_controller(&at, &[])).transpose()?;
            let file = settings.takes_file(name).then(|| read_policy(&at)).transpose()?;
            let given = match (&under, &file, &at.node.value) {
                (Some(under), ..) => Given::Control(under),
                (_, Some(file), _) => Given::File(file),
                (.., super::Value::Number(number)) => Given::Number(*number),
                (.., super::Value::Flag(flag)) => Given::Flag(*flag),
                (.., super::Value::Text(word)) => Given::Word(word),
                _ => {
                    return Err(at
                        .error(format!("a parameter cannot be {}", at.node.value.kind()))
                        .help("write a number, a word in quotes, or true or false"));
                }
            };
            settings.set(name, given).map_err(|error| match error {
                SettingsError::Unknown { known } if known.is_empty() => at
                    .error(format!("the control \"{word}\" has no parameters"))
                    .help(format!("write just \"{word}\"")),
                SettingsError::Unknown { known } => at
                    .error(format!("the control \"{word}\" has no parameter of this name"))
                    .help(suggest(name, &known)),
                SettingsError::Outside { domain } => at
                    .error(format!("{} cannot be its value", at.node.value.plain()))
                    .help(format!("it must be {domain}")),
            })?;
        }
    }
    Ok(settings)
}

pub(crate) fn read_ends(table: &Table<'_>) -> Result<Ends> {
    let node = |key| table.get(key).map(|at| at.text().map(str::to_owned)).transpose();
    Ok(Ends {
        from: node("from")?,
        to: node("to")?,
        reverse: table.get("reverse").map(|at| at.flag()).transpose()?.unwrap_or(false),
    })
}

pub(crate) fn read_start(at: &At<'_>) -> Result<Start> {
    if !matches!(at.node.value, super::Value::Table(_)) {
        return at.quantity().map(Start::At);
    }
    match at.choice_like("\"10 s\", { uniform = [\"0 s\", \"50 s\"] } or { every = \"300 s\" }")? {
        ("uniform", Some(inner)) => {
            let bounds = inner.list()?;
            let [from, to] = &bounds[..] else {
                return Err(inner
                    .error("two times are wanted")
                    .help("for example { uniform = [\"0 s\", \"50 s\"] }"));
            };
            let (from, to) = (from.quantity::<Duration>()?, to.quantity::<Duration>()?);
            if to < from {
                return Err(inner
                    .error("the interval ends before it begins")
                    .help("write the earlier time first"));
            }
            Ok(Start::Uniform(from, to))
        }
        ("every", Some(inner)) => inner.quantity().map(Start::Every),
        (word, _) => Err(at.unknown("kind of start", word, &["uniform", "every"])),
    }
}
