//! The monitor's file: what to measure, how often, and what it may do to others.
//!
//! Errors have the place and a remedy, as in scenarios: the file is read by the same reader.

use ackclock_scenario::reader::{At, Result, Table};
use ackclock_scenario::{Document, ScenarioError};
use ackclock_sockets::Prefix;
use ackclock_units::{Bytes, Duration, Rate};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where a monitor listens for transfers, if nothing else is said.
pub const PORT: u16 = 5310;
/// Where a monitor publishes, if nothing else is said.
pub const PUBLISH: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 5311);
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
    /// How often the kernel is asked about the sockets of all programs. `None`: never.
    pub sockets: Option<Period>,
    /// What others may read.
    pub publish: Option<Publish>,
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
    /// The searches for the rate at which losses begin, if there are any.
    pub search: Option<Search>,
    /// How often the routers on the way are looked for, if at all.
    pub route: Option<Period>,
    /// Whose sockets tell of this path: the host itself, unless the file says otherwise.
    pub peers: Vec<Prefix>,
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

/// Searches, by datagrams to a monitor with a sink, for the rate at which losses begin.
#[derive(Clone, PartialEq, Debug)]
pub struct Search {
    /// The port of the sink.
    pub port: u16,
    /// How often.
    pub period: Period,
    /// The greatest rate, with headers.
    pub most: Rate,
    /// How long a search lasts at most.
    pub length: Duration,
}

/// What is published, and to whom.
#[derive(Clone, PartialEq, Debug)]
pub struct Publish {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Names by which this host may be asked, beside addresses and localhost.
    pub names: Vec<String>,
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
    /// The greatest rate of a search. `None`: no searches.
    pub search: Option<Rate>,
}

/// Shortest periods: no probe may be a burden.
const SHORTEST_PING: Duration = Duration::from_millis(100);
const SHORTEST_TRANSFER: Duration = Duration::from_secs(1);
const SHORTEST_SEARCH: Duration = Duration::from_secs(5);
const SHORTEST_ROUTE: Duration = Duration::from_secs(60);
const SHORTEST_SOCKETS: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);
/// The longest transfer.
const LONGEST_TRANSFER: Duration = Duration::from_secs(60);
/// The longest search.
const LONGEST_SEARCH: Duration = Duration::from_secs(30);
/// Every 10 s, every hour, every day.
const OFTEN: Period = Period { every: Duration::from_secs(10), jitter: 0.2 };
const HOURLY: Period = Period { every: Duration::from_secs(3600), jitter: 0.2 };
const DAILY: Period = Period { every: Duration::from_secs(24 * 3600), jitter: 0.2 };
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
        let publish = table.get("publish").map(|at| read_publish(&at)).transpose()?;
        let sockets = match table.get("sockets") {
            Some(at) => read_sockets(&at)?,
            None => Some(OFTEN),
        };
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
            sockets,
            publish,
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
    let ping = match table.get("ping") {
        Some(at) => read_only_period(&at, OFTEN, SHORTEST_PING)?,
        None => OFTEN,
    };
    let transfer = table.get("transfer").map(|at| read_transfer(&at)).transpose()?;
    let search = table.get("search").map(|at| read_search(&at)).transpose()?;
    let route = table.get("route").map(|at| read_only_period(&at, HOURLY, SHORTEST_ROUTE)).transpose()?;
    let peers = table.get("peers").map(|at| prefixes(&at)).transpose()?;
    let name = name.text()?.to_owned();
    table.finish()?;
    let peers = peers.unwrap_or_else(|| {
        Prefix::new(address, if address.is_ipv4() { 32 } else { 128 }).into_iter().collect()
    });
    Ok(Host { name, address, ping, transfer, search, route, peers })
}

/// A table that has nothing but a period.
fn read_only_period(at: &At<'_>, unsaid: Period, shortest: Duration) -> Result<Period> {
    let table = at.table_like(&format!("{{ every = \"{}\" }}", unsaid.every))?;
    let period = read_period(&table, unsaid, shortest)?;
    table.finish()?;
    Ok(period)
}

/// A period, or `false`.
fn read_sockets(at: &At<'_>) -> Result<Option<Period>> {
    if at.flag().is_ok_and(|wanted| !wanted) {
        return Ok(None);
    }
    read_only_period(at, OFTEN, SHORTEST_SOCKETS).map(Some)
}

fn read_port(table: &Table<'_>) -> Result<u16> {
    let port = table.get("port").map(|at| at.count(1, 65_535)).transpose()?;
    Ok(port.map_or(PORT, |port| port as u16))
}

fn read_search(at: &At<'_>) -> Result<Search> {
    let table = at.table_like("{ most = \"100 Mbit/s\" }")?;
    let most = table.need("most", "\"100 Mbit/s\"")?;
    let search = Search {
        port: read_port(&table)?,
        period: read_period(&table, DAILY, SHORTEST_SEARCH)?,
        most: read_greatest(&most)?,
        length: match table.get("length") {
            Some(at) => span(&at, Duration::from_secs(1), LONGEST_SEARCH)?,
            None => Duration::from_secs(10),
        },
    };
    table.finish()?;
    share(at, "search", search.length, search.period)?;
    Ok(search)
}

/// The greatest rate of a search, which begins at a 64th of it.
fn read_greatest(at: &At<'_>) -> Result<Rate> {
    let rate: Rate = at.quantity()?;
    let (least, most) = (Rate::from_bps(100_000), Rate::from_bps(10_000_000_000));
    if rate < least || rate > most {
        return Err(at
            .error(format!("{rate} is out of range"))
            .help(format!("it must be from {least} to {most}")));
    }
    Ok(rate)
}

fn read_publish(at: &At<'_>) -> Result<Publish> {
    let table = at.table()?;
    let listen = match table.get("listen") {
        Some(at) => parsed(&at, "an address and a port, for example \"127.0.0.1:5311\"")?,
        None => PUBLISH,
    };
    let names = match table.get("names") {
        Some(at) => at.list()?.iter().map(|at| Ok(at.text()?.to_ascii_lowercase())).collect::<Result<_>>()?,
        None => Vec::new(),
    };
    table.finish()?;
    Ok(Publish { listen, names })
}

fn read_transfer(at: &At<'_>) -> Result<Transfer> {
    let table = at.table_like("{ every = \"1 h\", length = \"5 s\" }")?;
    let transfer = Transfer {
        port: read_port(&table)?,
        period: read_period(&table, HOURLY, SHORTEST_TRANSFER)?,
        length: read_length(&table)?,
        most: read_most(&table)?,
        control: table.get("control").map(|at| at.text().map(str::to_owned)).transpose()?,
    };
    table.finish()?;
    share(at, "transfer", transfer.length, transfer.period)?;
    Ok(transfer)
}

/// Refuses a probe that takes more than half of the time.
fn share(at: &At<'_>, what: &str, length: Duration, period: Period) -> Result<()> {
    let every = period.every;
    if length.as_secs_f64() <= 0.5 * every.as_secs_f64() {
        return Ok(());
    }
    Err(at
        .error(format!("a {what} of {length} every {every} takes more than half of the time"))
        .help("a path is measured by the way: shorten the length, or lengthen every"))
}

fn read_sink(at: &At<'_>) -> Result<Sink> {
    let table = at.table()?;
    let listen = parsed(
        &table.need("listen", "\"192.0.2.1:5310\"")?,
        "an address and a port, for example \"192.0.2.1:5310\"",
    )?;
    let allow = prefixes(&table.need("allow", "[\"192.0.2.0/24\"]")?)?;
    let search = table.get("search").map(|at| read_greatest(&at)).transpose()?;
    let sink = Sink { listen, allow, length: read_length(&table)?, most: read_most(&table)?, search };
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
