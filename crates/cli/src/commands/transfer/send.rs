//! `ackclock send`.

use super::{failed, key, megabits, observe, plural};
use crate::args::Send;
use crate::failure::Failure;
use crate::interrupt;
use ackclock_rate::Transport;
use ackclock_registry::{Chosen, Listed, Value};
use ackclock_transfer::control::{set, standard};
use ackclock_transfer::files::Outbound;
use ackclock_transfer::host::{self, Sending, Summary, Watch};
use ackclock_transfer::ticket::{PREFIX, Ticket, hex};
use ackclock_units::{Duration, Rate};
use miette::{Context, IntoDiagnostic, Report, miette};
use serde_json::json;
use std::io::{IsTerminal, Read};
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::Path;
use std::sync::atomic::Ordering;

/// A departure counts as punctual up to this.
const PUNCTUAL: Duration = Duration::from_micros(100);

pub(crate) fn run(command: &Send) -> Result<(), Failure> {
    no_ticket_among(command)?;
    let control = control(command)?;
    let most = most(command)?;
    let mut files = Outbound::open(&command.files, command.resume).into_diagnostic()?;
    let to = address(&command.to)?;
    let ticket = ticket(&command.ticket_file)?;
    let me = key::mine()?;
    let any: SocketAddr = if to.is_ipv4() { ([0; 4], 0).into() } else { ([0_u16; 8], 0).into() };
    let socket = UdpSocket::bind(any).into_diagnostic().wrap_err("there is no socket to send from")?;
    let silence = command.silence.0;
    let (bytes, largest) = host::packet_bytes(to);
    let options = Sending { bytes, largest, most, silence, ..Sending::with(control) };
    let (interrupted, watch) = (interrupt::listen()?, Watch::default());
    let bytes = files.bytes();
    let (outcome, seen) = observe::while_running(&watch, Some(bytes), interrupted, || {
        host::send(socket, to, &me, &ticket, &mut files, &options, &watch)
    })?;
    if let Some(path) = &command.trace {
        observe::trace(path, &seen)?;
    }
    let summary = outcome.map_err(|error| failed(error, interrupted.load(Ordering::Relaxed)))?;
    if command.json {
        say!("{}", document(&options.control, &files, &summary));
    } else {
        show(&files, &summary);
    }
    Ok(())
}

/// A ticket among the arguments is not repeated by an error about a file or an address.
fn no_ticket_among(command: &Send) -> Result<(), Report> {
    let paths = command.files.iter().map(|path| path.to_string_lossy());
    if paths.chain([command.to.as_str().into()]).any(|text| text.starts_with(PREFIX) && text.len() > 99) {
        let help = "every user of this machine can read it there. Start `ackclock receive` again for a new one, \
                    and give that to standard input or in a file: --ticket-file FILE";
        return Err(miette!(help = help, "there is a ticket on the command line"));
    }
    Ok(())
}

fn control(command: &Send) -> Result<Chosen<Transport>, Report> {
    let mut control = match &command.control {
        None => standard(),
        Some(name) => Transport::find(name)
            .ok_or_else(|| {
                let known = Transport::names().join(", ");
                miette!(help = format!("there are {known}"), "--control {name}: there is no such transport")
            })?
            .for_networks(),
    };
    for text in &command.settings {
        set(&mut control, text).map_err(|wrong| {
            let help = format!("ackclock show {} explains the parameters", control.name());
            miette!(help = help, "--set {text}: {wrong}")
        })?;
    }
    if control.settings().given::<&str>("loss") == Some("perfect") {
        let help = "only a simulator knows the cause of a loss; loss=hybrid guesses it";
        return Err(miette!(help = help, "--set loss=perfect: no network tells why it loses a packet"));
    }
    Ok(control)
}

fn most(command: &Send) -> Result<f64, Report> {
    let Some(text) = &command.max_rate else { return Ok(f64::INFINITY) };
    let rate: Rate = text.parse().into_diagnostic().wrap_err_with(|| format!("--max-rate {text}"))?;
    Ok(rate.bps_f64())
}

fn address(text: &str) -> Result<SocketAddr, Report> {
    let help = "write HOST:PORT, as `ackclock receive` prints it, for example 192.0.2.1:4901";
    let found = text.to_socket_addrs().map_err(|error| miette!(help = help, "{text}: {error}"))?;
    // Most networks have IPv4.
    let mut found: Vec<SocketAddr> = found.collect();
    found.sort_by_key(SocketAddr::is_ipv6);
    found.first().copied().ok_or_else(|| miette!(help = help, "{text}: there is no such host"))
}

/// From a file, or from standard input: never from the command line, which every user of a machine can read.
fn ticket(path: &Path) -> Result<Ticket, Report> {
    let mut text = String::new();
    if path == Path::new("-") {
        if std::io::stdin().is_terminal() {
            tell!("paste the ticket that `ackclock receive` has printed:");
            std::io::stdin().read_line(&mut text).into_diagnostic()?;
        } else {
            std::io::stdin().take(10_000).read_to_string(&mut text).into_diagnostic()?;
        }
    } else {
        let file = std::fs::File::open(path);
        let read = file.and_then(|file| file.take(10_000).read_to_string(&mut text));
        read.into_diagnostic().wrap_err_with(|| format!("--ticket-file {}", path.display()))?;
    }
    text.parse().into_diagnostic()
}

fn show(files: &Outbound, summary: &Summary) {
    let seen = &summary.seen;
    for file in files.files().filter(|file| file.skipped > 0) {
        say!("{}: {} of {} bytes were there already", file.name, file.skipped, file.size);
    }
    let seconds = summary.elapsed.as_secs_f64();
    say!(
        "{} sent to {}: {} bytes in {:.2} s, {}; {} packets, {} lost ({} congestion, {} transmission)",
        plural(files.files().count(), "file"),
        summary.peer,
        summary.bytes,
        seconds,
        megabits(summary.bytes as f64 * 8.0 / seconds.max(1e-9)),
        seen.packets,
        seen.lost,
        seen.congestion,
        seen.transmission
    );
    say!(
        "{:.1} % of packets left within {PUNCTUAL} of their time, 99 % within {}",
        summary.lateness.share_within(PUNCTUAL) * 100.0,
        summary.lateness.quantile(0.99)
    );
}

fn document(control: &Chosen<Transport>, files: &Outbound, summary: &Summary) -> serde_json::Value {
    let (seen, counters) = (&summary.seen, &summary.counters);
    let settings = control.settings().iter().filter_map(|(parameter, value)| {
        let value = match value {
            Value::Number(number) => json!(number),
            Value::Count(count) => json!(count),
            Value::Flag(on) => json!(on),
            Value::Choice(word) => json!(word),
            Value::Time(time) => json!(time.as_secs_f64()),
            _ => return None,
        };
        Some((parameter.name.to_owned(), value))
    });
    json!({
        "peer": summary.peer.to_string(),
        "control": { "name": control.name(), "settings": settings.collect::<serde_json::Map<_, _>>() },
        "bytes": summary.bytes,
        "elapsed_s": summary.elapsed.as_secs_f64(),
        "packets": counters.sent,
        "retransmitted": counters.retransmitted,
        "lost": counters.lost,
        "congestion": seen.congestion,
        "transmission": seen.transmission,
        "rate_bps": seen.rate,
        "srtt_s": seen.srtt.as_secs_f64(),
        "rtt_min_s": counters.rtt_min().map(Duration::as_secs_f64),
        "departures": {
            "count": summary.lateness.count(),
            "within_100us": summary.lateness.share_within(PUNCTUAL),
            "late_p50_s": summary.lateness.quantile(0.5).as_secs_f64(),
            "late_p99_s": summary.lateness.quantile(0.99).as_secs_f64(),
            "late_max_s": summary.lateness.quantile(1.0).as_secs_f64(),
        },
        "files": files.files().map(|file| json!({
            "name": file.name,
            "bytes": file.size,
            "skipped": file.skipped,
            "sha256": file.hash.map(|hash| hex(&hash)),
        })).collect::<Vec<_>>(),
    })
}
