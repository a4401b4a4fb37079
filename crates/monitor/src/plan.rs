//! The monitor's file: what to measure, how often, and what it may do to others.
//!
//! Errors have the place and a remedy, as in scenarios: the file is read by the same reader.

use ackclock_scenario::reader::{At, Result, Table};
use ackclock_scenario::{Document, ScenarioError};
use ackclock_sockets::Prefix;
use ackclock_units::{Bytes, Duration};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where a monitor listens for transfers, if nothing else is said.
pub const PORT: u16 = 5310;
/// The name of an archive if the file has none.
pub const ARCHIVE: &str = "monitor.sqlite";

/// What a monitor does.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The archive.
    pub archive: PathBuf,
    /// The hosts whose paths are measured.
    pub hosts: Vec<Host>,
    /// What serves transfers of other monitors.
    pub sink: Option<Sink>,
    /// Networks that may bear TCP without congestion control.
    pub uncontrolled: Vec<Prefix>,
}

/// A host whose path is measured.
#[derive(Clone, Debug)]
pub struct Host {
    /// Its name, as advice is asked for it.
    pub name: String,
    /// Its address.
    pub address: IpAddr,
    /// The echo requests.
    pub ping: Period,
    /// The transfers, if there are any.
    pub transfer: Option<Transfer>,
}

/// How often something is done.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Period {
    /// The mean period.
    pub every: Duration,
    /// Each period is longer or shorter by a random share of it, up to this one.
    pub jitter: f64,
}

/// Transfers to a monitor with a sink.
#[derive(Clone, PartialEq, Debug)]
pub struct Transfer {
    /// The port of the sink.
    pub port: u16,
    /// How often.
    pub period: Period,
    /// How long.
    pub length: Duration,
    /// The most bytes.
    pub most: Bytes,
    /// The congestion controller, by the kernel's name. `None`: the system's.
    pub control: Option<String>,
}

/// What a sink lets others do.
#[derive(Clone, PartialEq, Debug)]
pub struct Sink {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Who may send. Nobody else gets as far as a greeting.
    pub allow: Vec<Prefix>,
    /// The longest transfer.
    pub length: Duration,
    /// The most bytes of a transfer.
    pub most: Bytes,
}

/// Shortest periods: no probe may be a burden.
const SHORTEST_PING: Duration = Duration::from_millis(100);
const SHORTEST_TRANSFER: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);
/// The longest transfer.
const LONGEST_TRANSFER: Duration = Duration::from_secs(60);
/// The largest number of hosts: each has threads of its own.
const MOST_HOSTS: usize = 100;

impl Plan {
    /// Reads a file's text. `name` is its name: for messages, and an archive is named relative to it.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] with the place, if a key is unknown or missing, or a value is not allowed.
    pub fn read(name: &str, text: &str) -> Result<Plan> {
        let document = Document::parse(name, text)?;
        let root = At::new(&document.root, "", &document.source);
        let table = root.table()?;
        let beside = Path::new(name).parent().unwrap_or(Path::new(""));
        let archive = table.get("archive").map(|at| at.text()).transpose()?.unwrap_or(ARCHIVE);
        let uncontrolled = table.get("uncontrolled").map(|at| prefixes(&at)).transpose()?;
        let sink = table.get("sink").map(|at| read_sink(&at)).transpose()?;
        let hosts = match table.get("hosts") {
            Some(at) => read_hosts(&at)?,
            None if sink.is_some() => Vec::new(),
            None => {
                let help =
                    "add a table [[hosts]] with name = \"far\" and address = \"192.0.2.1\", or a [sink]";
                return Err(root.error("there is nothing to do: no host to measure, and no sink").help(help));
            }
        };
        table.finish()?;
        Ok(Plan {
            archive: beside.join(archive),
            hosts,
            sink,
            uncontrolled: uncontrolled.unwrap_or_default(),
        })
    }

    /// May TCP do without congestion control towards this address?
    pub fn may_be_uncontrolled(&self, address: IpAddr) -> bool {
        ackclock_sockets::covers(&self.uncontrolled, address)
    }
}

fn read_hosts(at: &At<'_>) -> Result<Vec<Host>> {
    let listed = at.list()?;
    if listed.len() > MOST_HOSTS {
        let help = format!("at most {MOST_HOSTS}; run a second monitor");
        return Err(at.error(format!("{} hosts are too many", listed.len())).help(help));
    }
    let mut hosts: Vec<Host> = Vec::new();
    for at in &listed {
        let host = read_host(at)?;
        if hosts.iter().any(|known| known.name == host.name) {
            return Err(at
                .error(format!("there are two hosts called \"{}\"", host.name))
                .help("advice is asked for by name: give them different ones"));
        }
        hosts.push(host);
    }
    Ok(hosts)
}

fn read_host(at: &At<'_>) -> Result<Host> {
    let table = at.table()?;
    let name = table.need("name", "\"far\"")?;
    if name.text()?.is_empty() || name.text()?.chars().any(char::is_control) {
        return Err(name.error("a name has at least one letter").help("for example name = \"far\""));
    }
    let address = parsed(&table.need("address", "\"192.0.2.1\"")?, "an address, for example \"192.0.2.1\"")?;
    let ping = Period { every: Duration::from_secs(10), jitter: 0.2 };
    let ping = match table.get("ping") {
        Some(at) => {
            let inner = at.table_like("{ every = \"10 s\" }")?;
            let ping = read_period(&inner, ping, SHORTEST_PING)?;
            inner.finish()?;
            ping
        }
        None => ping,
    };
    let transfer = table.get("transfer").map(|at| read_transfer(&at)).transpose()?;
    let name = name.text()?.to_owned();
    table.finish()?;
    Ok(Host { name, address, ping, transfer })
}

fn read_transfer(at: &At<'_>) -> Result<Transfer> {
    let table = at.table_like("{ every = \"1 h\", length = \"5 s\" }")?;
    let port = table.get("port").map(|at| at.count(1, 65_535)).transpose()?;
    let hourly = Period { every: Duration::from_secs(3600), jitter: 0.2 };
    let transfer = Transfer {
        port: port.map_or(PORT, |port| port as u16),
        period: read_period(&table, hourly, SHORTEST_TRANSFER)?,
        length: read_length(&table)?,
        most: read_most(&table)?,
        control: table.get("control").map(|at| at.text().map(str::to_owned)).transpose()?,
    };
    table.finish()?;
    if transfer.length.as_secs_f64() > 0.5 * transfer.period.every.as_secs_f64() {
        return Err(at
            .error(format!(
                "a transfer of {} every {} takes more than half of the time",
                transfer.length, transfer.period.every
            ))
            .help("a path is measured by the way: shorten the length, or lengthen every"));
    }
    Ok(transfer)
}

fn read_sink(at: &At<'_>) -> Result<Sink> {
    let table = at.table()?;
    let listen = parsed(
        &table.need("listen", "\"192.0.2.1:5310\"")?,
        "an address and a port, for example \"192.0.2.1:5310\"",
    )?;
    let allow = prefixes(&table.need("allow", "[\"192.0.2.0/24\"]")?)?;
    let sink = Sink { listen, allow, length: read_length(&table)?, most: read_most(&table)? };
    table.finish()?;
    Ok(sink)
}

fn read_period(table: &Table<'_>, unsaid: Period, shortest: Duration) -> Result<Period> {
    let every = match table.get("every") {
        Some(at) => span(&at, shortest, LONGEST)?,
        None => unsaid.every,
    };
    // Less than a tenth, and probes of several hosts stay in step for long.
    let jitter = table.get("jitter").map(|at| at.number(0.1, 0.9)).transpose()?;
    Ok(Period { every, jitter: jitter.unwrap_or(unsaid.jitter) })
}

fn read_length(table: &Table<'_>) -> Result<Duration> {
    let at = table.get("length");
    let length = at.map(|at| span(&at, Duration::from_millis(500), LONGEST_TRANSFER)).transpose()?;
    Ok(length.unwrap_or(Duration::from_secs(5)))
}

fn read_most(table: &Table<'_>) -> Result<Bytes> {
    Ok(table.quantity("most")?.unwrap_or(Bytes(1_000_000_000)))
}

fn span(at: &At<'_>, least: Duration, most: Duration) -> Result<Duration> {
    let span: Duration = at.quantity()?;
    if span < least || span > most {
        return Err(at
            .error(format!("{span} is out of range"))
            .help(format!("it must be from {least} to {most}")));
    }
    Ok(span)
}

fn prefixes(at: &At<'_>) -> Result<Vec<Prefix>> {
    at.list()?.iter().map(|at| parsed(at, "a network, for example \"192.0.2.0/24\"")).collect()
}

fn parsed<T: FromStr>(at: &At<'_>, wanted: &str) -> std::result::Result<T, ScenarioError> {
    let text = at.text()?;
    text.parse().map_err(|_| at.error(format!("\"{text}\" is none")).help(format!("write {wanted}")))
}
