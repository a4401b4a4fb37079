//! `ackclock trace`: every connection of a capture, both directions, in numbers and pictures.

mod pictures;
mod report;

use crate::args;
use crate::failure::Failure;
use crate::memory;
use crate::view::table::plain_table;
use ackclock_files::Folder;
use ackclock_study::trace::{Connection, Direction, Times, Trace, trace};
use miette::{IntoDiagnostic, Report, WrapErr, miette};
use pictures::Drawn;
use serde::Serialize;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// Without `--stream`, so many connections are drawn.
const MAX_DRAWN: usize = 16;

/// A capture that was read.
struct Capture {
    /// What it is called.
    name: String,
    traced: Trace,
    drawn: Drawn,
}

pub(crate) fn run(command: &args::Trace) -> Result<(), Failure> {
    memory::limit();
    let captures = command.files.iter().zip(names(&command.files));
    let captures: Vec<Capture> =
        captures.map(|(file, name)| read(file, name, command)).collect::<Result<_, _>>()?;
    let json = document(&captures)?;
    if let Some(out) = &command.xplot {
        save(out, pictures::all(&captures).into_iter().map(|chart| pictures::xplot(&chart)))?;
    }
    if let Some(out) = &command.out {
        let page = report::page(&captures, MAX_DRAWN)?;
        let texts = [("trace.json".to_owned(), json.clone()), ("report.html".to_owned(), page)];
        let charts = pictures::all(&captures).into_iter();
        save(out, texts.into_iter().chain(charts.map(|it| (format!("{}.svg", it.id), it.to_svg()))))?;
    }
    if command.json {
        say!("{json}");
    } else {
        for Capture { name, traced, .. } in &captures {
            if captures.len() > 1 {
                say!("{name}:");
            }
            print(traced);
        }
    }
    let most = captures.iter().map(|capture| capture.traced.connections.len()).max();
    if (command.out.is_some() || command.xplot.is_some()) && most > Some(MAX_DRAWN) {
        tell!("the first {MAX_DRAWN} connections are drawn; --stream N draws another one");
    }
    Ok(())
}

/// What captures are called: the files' names, or their whole paths where two names are the same.
fn names(files: &[PathBuf]) -> Vec<String> {
    let name = |file: &PathBuf| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let short: Vec<String> = files.iter().map(name).collect();
    match &short[..] {
        [one, other] if one == other => files.iter().map(|file| file.display().to_string()).collect(),
        _ => short,
    }
}

fn read(path: &Path, called: String, command: &args::Trace) -> Result<Capture, Failure> {
    let name = path.display();
    if path.is_dir() {
        return Err(miette!(help = "name the capture in it", "{name} is a directory, not a file").into());
    }
    let file = File::open(path).into_diagnostic().wrap_err_with(|| format!("{name} cannot be read"))?;
    let draws = command.out.is_some() || command.xplot.is_some();
    let wanted =
        |number: usize| draws && command.stream.map_or(number < MAX_DRAWN, |stream| stream == number);
    let mut drawn = Drawn::default();
    let read = trace(BufReader::with_capacity(1 << 20, file), &mut |number, direction, at, event| {
        if wanted(number) {
            drawn.add(number, direction, at, event);
        }
    });
    let mut traced = read.map_err(Report::new).wrap_err_with(|| format!("{name} tells nothing"))?;
    choose(&mut traced, &called, command)?;
    if let Some(packets) = traced.cut_after {
        tell!("warning: {name} ends in the middle of a packet; the {packets} packets before it count");
    }
    Ok(Capture { name: called, traced, drawn })
}

/// The numbers: of one capture, or of two beside each other.
fn document(captures: &[Capture]) -> Result<String, Failure> {
    #[derive(Serialize)]
    struct Named<'a> {
        file: &'a str,
        #[serde(flatten)]
        traced: &'a Trace,
    }
    #[derive(Serialize)]
    struct Both<'a> {
        captures: Vec<Named<'a>>,
    }
    let text = match captures {
        [one] => serde_json::to_string(&one.traced),
        all => {
            let captures = all.iter().map(|it| Named { file: &it.name, traced: &it.traced }).collect();
            serde_json::to_string(&Both { captures })
        }
    };
    Ok(text.into_diagnostic()?)
}

/// Leaves only the connection that was asked for.
fn choose(traced: &mut Trace, name: &str, command: &args::Trace) -> Result<(), Failure> {
    let (count, stream) = (traced.connections.len(), command.stream);
    let of = if command.files.len() > 1 { format!("{name}: ") } else { String::new() };
    if count == 0 {
        let help = "capture TCP packets with their headers: tcpdump -s 128 -w capture.pcap tcp";
        return Err(miette!(help = help, "{of}there is no TCP connection in it").into());
    }
    let Some(stream) = stream else { return Ok(()) };
    if stream >= count {
        let help = format!("its connections have the numbers 0 to {}", count - 1);
        return Err(miette!(help = help, "{of}--stream {stream}: there is no such connection").into());
    }
    traced.connections.retain(|connection| connection.number == stream);
    Ok(())
}

/// Writes files into a directory of the user's own.
fn save(out: &Path, files: impl Iterator<Item = (String, String)>) -> Result<(), Failure> {
    let help = "give another directory, one of your own";
    let folder = Folder::own(out)
        .map_err(|error| miette!(help = help, "{} cannot be used: {error}", out.display()))?;
    for (name, text) in files {
        folder.replace(&name, |file| file.write_all(text.as_bytes())).map_err(|error| {
            miette!(help = help, "{} cannot be written: {error}", out.join(&name).display())
        })?;
    }
    Ok(())
}

fn print(traced: &Trace) {
    say!("{} packets, {} of them TCP", traced.packets, traced.tcp_packets);
    for connection in &traced.connections {
        let Connection { number, ends: [a, b], elapsed_s, directions: [there, back], .. } = connection;
        say!("\nconnection {number}: a = {a}, b = {b}, {elapsed_s:.6} s");
        let (there, back) = (rows(there), rows(back));
        let rows =
            there.into_iter().zip(back).map(|((name, there), (_, back))| vec![name.to_owned(), there, back]);
        say!("{}", plain_table(&["", "a to b", "b to a"], rows));
    }
}

/// The fields of a direction, with their units.
fn rows(direction: &Direction) -> Vec<(&'static str, String)> {
    let d = direction;
    let known = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
    let yes = |flag: bool| if flag { "yes" } else { "no" }.to_owned();
    let number = |value: u64| value.to_string();
    let mean = |value: f64| format!("{value:.1}");
    let times = |times: &Option<Times>, of: fn(&Times) -> f64| {
        times.as_ref().map_or_else(|| "-".to_owned(), |times| format!("{:.3}", 1e3 * of(times)))
    };
    let count = |times: &Option<Times>| number(times.as_ref().map_or(0, |times| times.samples));
    let segment = if d.data_packets > 0 { d.unique_bytes as f64 / d.data_packets as f64 } else { 0.0 };
    vec![
        ("packets", number(d.packets)),
        ("with ACK", number(d.acks)),
        ("pure ACKs", number(d.pure_acks)),
        ("with SACK blocks", number(d.sack_packets)),
        ("most SACK blocks", number(d.sack_blocks_max.into())),
        ("with data", number(d.data_packets)),
        ("data, bytes", number(d.data_bytes)),
        ("unique data, bytes", number(d.unique_bytes)),
        ("retransmitted packets", number(d.retransmitted_packets)),
        ("retransmitted, bytes", number(d.retransmitted_bytes)),
        ("out of order", number(d.out_of_order)),
        ("pushed", number(d.pushed)),
        ("SYN / FIN / RST", format!("{} / {} / {}", d.syns, d.fins, d.resets)),
        ("window scale", known(d.window_scale.map(u64::from))),
        ("timestamps", yes(d.timestamps)),
        ("SACK permitted", yes(d.sack_permitted)),
        ("MSS, bytes", known(d.mss.map(u64::from))),
        (
            "segment, bytes: least / mean / most",
            format!("{} / {segment:.1} / {}", d.segment_min, d.segment_max),
        ),
        (
            "window, bytes: least / mean / most",
            format!("{} / {} / {}", d.window_min, mean(d.window_mean), d.window_max),
        ),
        ("zero windows", number(d.window_zero)),
        (
            "outstanding, bytes: least / mean / most",
            format!("{} / {} / {}", d.outstanding_min, mean(d.outstanding_mean), d.outstanding_max),
        ),
        ("initial window, bytes", number(d.initial_window_bytes)),
        ("initial window, packets", number(d.initial_window_packets)),
        ("stream, bytes", known(d.stream_bytes)),
        ("missed, bytes", known(d.missed_bytes)),
        ("truncated, bytes", number(d.truncated_bytes)),
        ("truncated packets", number(d.truncated_packets)),
        ("data over, s", format!("{:.6}", d.data_s)),
        ("longest idle, ms", format!("{:.3}", 1e3 * d.idle_max_s)),
        ("throughput, bit/s", format!("{:.0}", d.throughput_bps)),
        ("RTT samples", count(&d.rtt)),
        ("RTT least, ms", times(&d.rtt, |it| it.min_s)),
        ("RTT mean, ms", times(&d.rtt, |it| it.mean_s)),
        ("RTT most, ms", times(&d.rtt, |it| it.max_s)),
        ("RTT sd, ms", times(&d.rtt, |it| it.sd_s)),
        ("ambiguous ACKs", number(d.ambiguous_acks)),
        ("ACKs after losses", number(d.post_loss_acks)),
        ("segments ACKed with others", number(d.cumulatively_acked)),
        ("duplicate ACKs", number(d.duplicate_acks)),
        ("third duplicates", number(d.triple_duplicates)),
        ("most retransmissions of one", number(d.retransmissions_max.into())),
        ("time to a retransmission, ms: least", times(&d.retransmission, |it| it.min_s)),
        ("mean", times(&d.retransmission, |it| it.mean_s)),
        ("most", times(&d.retransmission, |it| it.max_s)),
    ]
}
