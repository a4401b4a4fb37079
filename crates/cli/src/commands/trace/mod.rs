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
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Without `--stream`, so many connections are drawn.
const MAX_DRAWN: usize = 16;

pub(crate) fn run(command: &args::Trace) -> Result<(), Failure> {
    let name = command.file.display();
    if command.file.is_dir() {
        return Err(miette!(help = "name the capture in it", "{name} is a directory, not a file").into());
    }
    let file =
        File::open(&command.file).into_diagnostic().wrap_err_with(|| format!("{name} cannot be read"))?;
    memory::limit();
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
    choose(&mut traced, command.stream)?;
    if let Some(packets) = traced.cut_after {
        tell!("warning: {name} ends in the middle of a packet; the {packets} packets before it count");
    }
    let json = serde_json::to_string(&traced).into_diagnostic()?;
    if let Some(out) = &command.xplot {
        save(out, drawn.xplots(&traced.connections))?;
    }
    if let Some(out) = &command.out {
        let title =
            command.file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let page = report::page(&title, &traced, &drawn, MAX_DRAWN)?;
        let texts = [("trace.json".to_owned(), json.clone()), ("report.html".to_owned(), page)];
        save(out, texts.into_iter().chain(drawn.charts(&traced.connections)))?;
    }
    if command.json {
        say!("{json}");
    } else {
        print(&traced);
    }
    if draws && traced.connections.len() > MAX_DRAWN {
        tell!("the first {MAX_DRAWN} connections are drawn; --stream N draws another one");
    }
    Ok(())
}

/// Leaves only the connection that was asked for.
fn choose(traced: &mut Trace, stream: Option<usize>) -> Result<(), Failure> {
    let count = traced.connections.len();
    if count == 0 {
        let help = "capture TCP packets with their headers: tcpdump -s 128 -w capture.pcap tcp";
        return Err(miette!(help = help, "there is no TCP connection in it").into());
    }
    let Some(stream) = stream else { return Ok(()) };
    if stream >= count {
        let help = format!("its connections have the numbers 0 to {}", count - 1);
        return Err(miette!(help = help, "--stream {stream}: there is no such connection").into());
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
