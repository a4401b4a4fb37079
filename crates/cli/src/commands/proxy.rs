//! `ackclock proxy`.

use crate::args::{self, Towards};
use crate::failure::Failure;
use crate::interrupt;
use ackclock_proxy::{Entry, Path, Proxy, Settings, Totals};
use ackclock_scenario::{Document, Node, Sweep, Value};
use ackclock_stack::{KeepAlive, Options};
use ackclock_units::Duration;
use miette::{Report, miette};
use serde_json::json;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc;
use std::thread;

/// What a scenario would say of the connections. Timestamps, timer and counting are those of deployed stacks.
/// The topology is never run.
const SCENARIO: &str = r#"
name = "proxy"
duration = "1 s"

[tcp]
timestamps = true
delayed_ack = "40 ms"
counting = { segments = 1000000 }
rto = "linux"
rto_min = "200 ms"
rto_max = "120 s"

[topology.dumbbell]
bottleneck = { rate = "100 Mbit/s", delay = "20 ms", queue = { droptail = "1 bdp" } }

[[flows]]
label = "relayed"
"#;
/// The detection that comes without an undo of spurious reductions. In slow start it counts three duplicates.
/// If reordering ends slow start and the end is undone, that happens again and again.
const WITHOUT_UNDO: &str = "delayed";
/// A far end that is gone is noticed after this silence, and nine probes.
const KEEP_ALIVE: KeepAlive =
    KeepAlive { idle: Duration::from_secs(60), interval: Duration::from_secs(75), probes: 9 };
/// Entries that may wait to be printed.
const UNPRINTED: usize = 65_536;

pub(crate) fn run(command: &args::Proxy) -> Result<(), Failure> {
    let to = server(&command.to)?;
    let bytes = |size: ackclock_units::Bytes| usize::try_from(size.0).unwrap_or(usize::MAX);
    let settings = Settings {
        towards: match command.towards {
            Towards::Server => ackclock_proxy::Towards::Server,
            Towards::Clients => ackclock_proxy::Towards::Clients,
        },
        listen: command.listen,
        to,
        options: options(command)?,
        mtu: command.mtu,
        connections: command.connections,
        per_client: command.per_client,
        buffer: bytes(command.buffer),
        memory: bytes(command.memory),
        idle: command.idle,
    };
    let proxy = Proxy::open(settings)?;
    let stop = interrupt::listen()?;
    let limit = proxy.connections();
    let (control, recovery, detection) = (&command.control, &command.recovery, &command.detection);
    tell!("relaying {} to {to} over {}: {control}, {recovery}, {detection}", proxy.address(), proxy.device());
    if limit < command.connections {
        tell!("at most {limit} connections: see ulimit -n");
    }
    let (log, entries) = mpsc::sync_channel(UNPRINTED);
    let relaying = thread::spawn(move || {
        // Nobody reads the log any more only if this process ends.
        proxy.run(stop, move |entry| drop(log.send(entry)))
    });
    for entry in entries {
        if command.json {
            say!("{}", document(&entry, command.towards));
        } else {
            say!("{}", line(&entry));
        }
    }
    let totals = relaying.join().map_err(|_| miette!("the thread of the proxy has failed"))??;
    conclude(command, limit, totals);
    Ok(())
}

/// The first address of HOST:PORT.
fn server(text: &str) -> Result<SocketAddr, Report> {
    let help = "--to takes HOST:PORT, such as example.org:80 or 192.0.2.1:80";
    let mut found = text.to_socket_addrs().map_err(|error| miette!(help = help, "--to {text}: {error}"))?;
    found.next().ok_or_else(|| miette!(help = help, "--to {text}: the name has no address"))
}

/// The settings of our stack, by the words of a scenario.
fn options(command: &args::Proxy) -> Result<Options, Report> {
    let mut document = Document::parse("the proxy", SCENARIO)?;
    let word =
        |flag: &str, value: &str| Node::given(Value::Text(value.to_owned()), &format!("{flag} {value}"));
    document.set("flows.0.control", word("--control", &command.control))?;
    document.set("flows.0.recovery", word("--recovery", &command.recovery))?;
    document.set("flows.0.detection", word("--detection", &command.detection))?;
    if command.detection != WITHOUT_UNDO {
        document.set("tcp.undo", word("undo", "eifel"))?;
    }
    for setting in &command.settings {
        document.set_from_text(setting)?;
    }
    let sweep = Sweep::expand(document)?;
    let [point] = &sweep.points[..] else { return Err(miette!("--set may give one value to each key")) };
    let built = point.scenario.build()?;
    let flow = built.plan.flows.first().ok_or_else(|| miette!("--set may not take the flow away"))?;
    let control = flow.control.window().ok_or_else(|| {
        miette!(
            help = "ackclock list controls shows them; `ackclock send` uses rate-based transports",
            "{} is a rate-based transport, and the peers of the proxy speak TCP",
            flow.control.name()
        )
    })?;
    let mut options = Options::new((*flow.config).clone(), control.clone());
    options.keep_alive = Some(KEEP_ALIVE);
    Ok(options)
}

/// An entry of the log as a line of text.
fn line(entry: &Entry) -> String {
    let Entry { client, server, to_server, to_client, end, .. } = entry;
    let ms =
        |time: Option<Duration>| time.map_or("-".to_owned(), |it| format!("{:.1} ms", it.as_millis_f64()));
    let path = entry.path.map_or(String::new(), |path| {
        let Path { retransmissions, timeouts, rtt, window, .. } = path;
        format!(
            ", {retransmissions} retransmissions, {timeouts} timeouts, rtt {}, window {window:.1}",
            ms(rtt)
        )
    });
    let seconds = entry.duration.as_secs_f64();
    format!("{client} to {server}: {to_server} B there, {to_client} B back in {seconds:.3} s{path}: {end}")
}

fn document(entry: &Entry, towards: Towards) -> serde_json::Value {
    let seconds = |time: Option<Duration>| time.map(Duration::as_secs_f64);
    let sent = match towards {
        Towards::Server => entry.to_server,
        Towards::Clients => entry.to_client,
    };
    json!({
        "client": entry.client.to_string(),
        "server": entry.server.to_string(),
        "local": entry.local.map(|local| local.to_string()),
        "duration_s": entry.duration.as_secs_f64(),
        "to_server_bytes": entry.to_server,
        "to_client_bytes": entry.to_client,
        "goodput_bps": entry.goodput(sent) * 8.0,
        "retransmissions": entry.path.map(|path| path.retransmissions),
        "timeouts": entry.path.map(|path| path.timeouts),
        "rtt_s": seconds(entry.path.and_then(|path| path.rtt)),
        "least_rtt_s": seconds(entry.path.and_then(|path| path.least_rtt)),
        "cwnd_segments": entry.path.map(|path| path.window),
        "end": entry.end.word(),
    })
}

fn conclude(command: &args::Proxy, limit: usize, totals: Totals) {
    let Totals { connections, most_at_once, waited, refused } = totals;
    if command.json {
        say!(
            "{}",
            json!({"connections": connections, "most_at_once": most_at_once, "limit": limit,
                   "waited": waited, "refused": refused})
        );
    } else {
        say!("{connections} connections, at most {most_at_once} of {limit} at once; {refused} refused");
    }
}
