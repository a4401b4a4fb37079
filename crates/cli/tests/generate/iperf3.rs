//! Clients and servers of iperf3.

use crate::common::{Checked, Named, ensure};
use crate::{Place, Process, done, text};
use libtest_mimic::Failed;
use serde_json::Value;
use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

pub(crate) const WITH_IPERF3: &[Named] = &[
    ("clients_of_iperf3_are_served", iperf3_clients),
    ("servers_of_iperf3_are_driven", iperf3_servers),
    ("several_clients_at_once_and_garbage_in_between", iperf3_several),
];

/// A server for clients of iperf3, and its port.
fn iperf3_agent(place: &Place) -> Result<(Process, String), Failed> {
    let agent = place.listening(place.ackclock(&["agent", "--iperf3", "--port", "0"]), "agent")?;
    let said = fs::read_to_string(place.path("agent"))?;
    let address = said.split_whitespace().find_map(|word| word.strip_prefix("127.0.0.1:"));
    Ok((agent, address.ok_or("an address")?.to_owned()))
}

/// The bytes of each direction, as sender and receiver have them: `sent` and `received` for what the client
/// sends, or for the only direction; then those of the other one in a test in both.
fn iperf3_bytes(said: &Value) -> Vec<(u64, u64)> {
    let of = |key: &str| said["end"][key]["bytes"].as_u64();
    let pairs = [("sum_sent", "sum_received"), ("sum_sent_bidir_reverse", "sum_received_bidir_reverse")];
    pairs.iter().filter_map(|(sent, got)| Some((of(sent)?, of(got)?))).collect()
}

/// Flags that both programs know, and whether the bytes of both ends must be the same to the last one. A test
/// that ends by the clock while the server sends leaves bytes on their way: iperf3 counts what it has read by
/// then.
const MATRIX: &[(&[&str], bool)] = &[
    (&["-n", "20M"], true),
    (&["-n", "20M", "-R"], true),
    (&["-n", "20M", "-P", "3"], true),
    (&["-n", "20M", "-P", "2", "-R"], true),
    (&["-t", "1"], true),
    (&["-t", "1", "-R"], false),
    // iperf3 3.12 has one thread: at full blast it may write for a second and read nothing.
    (&["-t", "1", "--bidir", "-b", "200M"], false),
    (&["-t", "1", "-b", "50M"], true),
    (&["-t", "1", "-C", "reno"], true),
    (&["-t", "1", "-C", "reno", "-R"], false),
    (&["-u", "-t", "1", "-b", "10M"], false),
    (&["-u", "-t", "1", "-b", "10M", "-R"], false),
    (&["-u", "-t", "1", "-b", "10M", "--bidir", "-P", "2"], false),
    (&["-u", "-n", "1M", "-b", "20M"], false),
    // Both ends begin to count when their own second is over.
    (&["-O", "1", "-t", "1", "-b", "50M"], false),
    (&["-O", "1", "-t", "1", "-b", "50M", "-R"], false),
    (&["-O", "1", "-t", "1", "-b", "50M", "--bidir"], false),
    (&["-u", "-O", "1", "-t", "1", "-b", "10M"], false),
    (&["-u", "-O", "1", "-t", "1", "-b", "10M", "-R"], false),
];

fn iperf3_clients() -> Checked {
    let place = Place::new()?;
    let (_agent, port) = iperf3_agent(&place)?;
    for &(flags, exact) in MATRIX {
        let mut command = Command::new("iperf3");
        command.args(["-c", "127.0.0.1", "-p", &port, "-J"]).args(flags);
        let output = place.plain(command).output()?;
        let said: Value = serde_json::from_str(&text(&output).0)?;
        ensure(said["error"].is_null() && output.status.success(), format!("{flags:?}: {}", said["error"]))?;
        let udp = flags.contains(&"-u");
        let bytes = if udp { iperf3_datagrams(&said) } else { iperf3_bytes(&said) };
        compare(flags, exact, &bytes)?;
    }
    let mut command = Command::new("iperf3");
    command.args(["-c", "127.0.0.1", "-p", &port, "-t", "1", "-C", "nonesuch"]);
    ensure(!place.plain(command).output()?.status.success(), "a controller that nobody has")
}

/// In datagrams: iperf3 counts those that were lost, which is all that both ends can agree on.
fn iperf3_datagrams(said: &Value) -> Vec<(u64, u64)> {
    let streams = said["end"]["streams"].as_array().into_iter().flatten();
    streams
        .filter_map(|stream| {
            let udp = &stream["udp"];
            let (all, lost) = (udp["packets"].as_u64()?, udp["lost_packets"].as_u64()?);
            Some((all, all - lost.min(all)))
        })
        .collect()
}

fn compare(flags: &[&str], exact: bool, bytes: &[(u64, u64)]) -> Checked {
    ensure(!bytes.is_empty(), format!("{flags:?}: nothing is told"))?;
    for &(sent, got) in bytes {
        ensure(sent > 0 && got > 0, format!("{flags:?}: {sent} sent, {got} received"))?;
        ensure(!exact || sent == got, format!("{flags:?}: {sent} sent, {got} received"))?;
    }
    Ok(())
}

fn iperf3_servers() -> Checked {
    let place = Place::new()?;
    let port = "24320";
    for &(flags, _) in MATRIX {
        let mut command = Command::new("iperf3");
        command.args(["-s", "-1", "-p", port, "-J"]);
        let server = Process(place.plain(command).spawn()?);
        let begun = Instant::now();
        while std::net::TcpListener::bind(("0.0.0.0", 24320)).is_ok() {
            ensure(begun.elapsed() < Duration::from_secs(10), "the server does not listen")?;
            sleep(Duration::from_millis(10));
        }
        let before = |at: usize| if at == 0 { "" } else { flags[at - 1] };
        let words: Vec<String> = flags.iter().enumerate().map(|(at, &word)| unit(before(at), word)).collect();
        let mut command =
            place.ackclock(&["generate", "--json", "--to", &format!("iperf3://127.0.0.1:{port}")]);
        let output = command.args(words).output()?;
        let said: Value = serde_json::from_str(&done(&output)?)?;
        let streams = said["streams"].as_array().ok_or("streams")?;
        ensure(!streams.is_empty(), format!("{said}"))?;
        // Bytes and blocks are limited for all streams together: fast ones may leave nothing to another.
        let limited = flags.contains(&"-n") || flags.contains(&"-k");
        let all: u64 = streams.iter().filter_map(|stream| stream["sent"]["bytes"].as_u64()).sum();
        ensure(all > 0, format!("{flags:?}: {said}"))?;
        for stream in streams {
            let (sent, got) = (stream["sent"]["bytes"].as_u64(), stream["received"]["bytes"].as_u64());
            let same = sent == got || stream["lost"].as_i64() > Some(0) || flags.contains(&"-O");
            ensure(same && (limited || sent > Some(0)), format!("{flags:?}: {stream}"))?;
        }
        drop(server);
    }
    Ok(())
}

/// The value of a flag of iperf3 with the unit that ours want.
fn unit(flag: &str, value: &str) -> String {
    let number = value.trim_end_matches('M');
    match flag {
        "-t" | "-O" => format!("{number} s"),
        "-n" => format!("{number} MiB"),
        "-b" => format!("{number} Mbit/s"),
        _ => value.to_owned(),
    }
}

/// Strangers that say nonsense in every state disturb nobody.
fn iperf3_several() -> Checked {
    use std::io::{Read, Write};
    let place = Place::new()?;
    let (_agent, port) = iperf3_agent(&place)?;
    let mut running = Vec::new();
    for _ in 0..3 {
        let mut command = Command::new("iperf3");
        command.args(["-c", "127.0.0.1", "-p", &port, "-J", "-t", "3", "-b", "20M"]);
        running.push(place.plain(command).spawn()?);
    }
    let cookie = [&[b'a'; 36][..], &[0]].concat();
    let asked = br#"{"tcp":true,"omit":0,"time":1,"num":0,"parallel":1,"len":1000}"#;
    let asked = [&(asked.len() as u32).to_be_bytes()[..], asked].concat();
    let empty = b"\0\0\0\x02{}".to_vec();
    let sayings: [&[&[u8]]; 7] = [
        &[b"GET / HTTP/1.0\r\n\r\n"],
        &[&cookie, b"\xff\xff\xff\xff"],
        &[&cookie, &empty],
        &[&cookie, b"\0\0\0\x04null"],
        &[&cookie, &asked, b"\x7f\x7f"],
        &[&cookie, &asked, b"\x04"],
        &[&cookie, &asked, b"\x0c"],
    ];
    for saying in sayings {
        let mut stranger = std::net::TcpStream::connect(("127.0.0.1", port.parse()?))?;
        stranger.set_read_timeout(Some(Duration::from_millis(100)))?;
        for &words in saying {
            // The server may have hung up already.
            let _ = stranger.write_all(words);
            let _ = stranger.read(&mut [0; 100]);
        }
        let datagrams = std::net::UdpSocket::bind("127.0.0.1:0")?;
        datagrams.send_to(saying[0], ("127.0.0.1", port.parse()?))?;
    }
    for client in running {
        let output = client.wait_with_output()?;
        let said: Value = serde_json::from_str(&text(&output).0)?;
        ensure(said["error"].is_null(), format!("{}", said["error"]))?;
        compare(&["-t", "3"], true, &iperf3_bytes(&said))?;
    }
    Ok(())
}
