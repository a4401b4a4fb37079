//! `ackclock serve`.

use crate::args::Serve;
use crate::failure::Failure;
use crate::interrupt;
use ackclock_serve::{Directives, Entry, Pacing, ServeError, Server, Settings};
use miette::{Context, IntoDiagnostic, Report, miette};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

/// What `ackclock kernel load none` calls no congestion control.
const NONE: &str = "ac_none";
/// Controllers that may be used towards everybody: those of Linux and its relatives, and ours that control.
const KNOWN: [&str; 21] = [
    "ac_compound",
    "ac_layered",
    "ac_pert",
    "bbr",
    "bbr1",
    "bbr2",
    "bbr3",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
];
/// The largest file of directives, bytes.
const MOST_DIRECTIVES: u64 = 1 << 20;
/// Log entries that may wait to be printed.
const UNPRINTED: usize = 65_536;

pub(crate) fn run(command: &Serve) -> Result<(), Failure> {
    let directives = command.httpd_conf.as_deref().map(directives).transpose()?;
    let control = control(command, directives)?;
    let pacing = match (command.burst, directives) {
        (Some(burst), _) => Pacing::Always(burst),
        (None, Some(directives)) => directives.pacing(),
        (None, None) => Pacing::OnRequest,
    };
    let settings = Settings {
        directory: command.directory.clone(),
        listen: command.listen,
        pacing,
        rate: command.rate,
        control,
        allow: (!command.allow.is_empty()).then(|| command.allow.clone()),
        send_buffer: command.send_buffer.map(|size| size.0),
        thesis_headers: command.thesis_headers,
        connections: command.connections,
        idle: std::time::Duration::from_nanos(command.idle.as_nanos()),
    };
    let server = Server::bind(settings).map_err(explained)?;
    let stop = interrupt::listen()?;
    tell!("serving {} on http://{}", command.directory.display(), server.address().into_diagnostic()?);
    if server.connections() < command.connections {
        tell!("at most {} connections: see ulimit -n", server.connections());
    }
    let (log, entries) = mpsc::sync_channel(UNPRINTED);
    let serving = thread::spawn(move || {
        // Nobody reads the log any more only if this process ends.
        server.run(stop, move |entry| drop(log.send(entry)))
    });
    for entry in entries {
        if command.json {
            say!("{}", document(&entry));
        } else {
            say!("{}", line(&entry));
        }
    }
    let served = serving.join().map_err(|_| miette!("a thread of the server has failed"))?;
    Ok(served.map_err(explained)?)
}

/// The kernel's controller, and if it may be used.
fn control(command: &Serve, directives: Option<Directives>) -> Result<Option<String>, Report> {
    let uncontrolled = directives.is_some_and(|directives| directives.uncontrolled);
    let asked = command.control.as_deref().or(uncontrolled.then_some("none"));
    let Some(name) = asked.map(|name| if name == "none" { NONE } else { name }) else {
        return if command.allow.is_empty() {
            Ok(None)
        } else {
            Err(miette!(help = "add --control NAME, or leave --allow out", "--allow is for --control"))
        };
    };
    if command.allow.is_empty() && !KNOWN.contains(&name) {
        return Err(miette!(
            help = "name the networks that may bear it: --allow 10.20.0.0/16",
            "{name} may send without congestion control, so it is for named networks only"
        ));
    }
    Ok(Some(name.to_owned()))
}

fn directives(path: &Path) -> Result<Directives, Report> {
    let named = || format!("--httpd-conf {}", path.display());
    let mut text = String::new();
    let file = File::open(path).into_diagnostic().wrap_err_with(named)?;
    let read = file.take(MOST_DIRECTIVES + 1).read_to_string(&mut text);
    if read.into_diagnostic().wrap_err_with(named)? as u64 > MOST_DIRECTIVES {
        return Err(miette!("it has more than {MOST_DIRECTIVES} bytes").wrap_err(named()));
    }
    Directives::read(&text).into_diagnostic().wrap_err_with(named)
}

fn explained(error: ServeError) -> Report {
    let help = match &error {
        ServeError::Control { name, .. } if name == NONE => {
            "load it first: ackclock kernel load none --allow PREFIX"
        }
        ServeError::Control { .. } => "sysctl net.ipv4.tcp_available_congestion_control names what there is",
        ServeError::Listen { .. } => "another program may be listening there; --listen chooses another port",
        ServeError::Directory { .. } | ServeError::Kernel(_) => return miette!("{error}"),
    };
    miette!(help = help, "{error}")
}

/// An entry of the log as a line of text.
fn line(entry: &Entry) -> String {
    let Entry { peer, method, path, status, bytes, .. } = entry;
    let ms = entry.duration.as_secs_f64() * 1e3;
    let bursts = entry.burst.map_or(String::new(), |burst| {
        format!(", {} bursts of {burst}, {} failed cycles", entry.bursts, entry.failed_cycles)
    });
    let end = if entry.complete { "" } else { ", not complete" };
    let again = entry.retransmissions;
    format!("{peer} {method} {path} {status}: {bytes} B in {ms:.1} ms{bursts}, {again} retransmissions{end}")
}

fn document(entry: &Entry) -> Value {
    json!({
        "peer": entry.peer.to_string(),
        "request": entry.request,
        "method": entry.method,
        "path": entry.path,
        "status": entry.status,
        "bytes": entry.bytes,
        "burst": entry.burst.map(|burst| json!({
            "size": burst.size(),
            "every_s": burst.every().as_secs_f64(),
        })),
        "bursts": entry.bursts,
        "failed_cycles": entry.failed_cycles,
        "duration_s": entry.duration.as_secs_f64(),
        "retransmissions": entry.retransmissions,
        "retransmits": entry.retransmissions,
        "control": entry.control,
        "complete": entry.complete,
    })
}
