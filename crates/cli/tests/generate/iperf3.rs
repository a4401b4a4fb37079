//! Clients and servers of iperf3.

use crate::common::{Checked, Named, ensure, fields};
use crate::{Place, Process, done, text};
use libtest_mimic::Failed;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{ChildStdout, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

pub(crate) const WITH_IPERF3: &[Named] = &[
    ("clients_of_iperf3_are_served", iperf3_clients),
    ("servers_of_iperf3_are_driven", iperf3_servers),
    ("several_clients_at_once_and_garbage_in_between", iperf3_several),
];

/// A server for clients of iperf3, its port, and its notes.
fn iperf3_agent(place: &Place) -> Result<(Process, String, BufReader<ChildStdout>), Failed> {
    let mut agent =
        place.listening(place.ackclock(&["agent", "--iperf3", "--port", "0", "--json"]), "agent")?;
    let said = fs::read_to_string(place.path("agent"))?;
    let address = said.split_whitespace().find_map(|word| word.strip_prefix("127.0.0.1:"));
    let notes = BufReader::new(agent.0.stdout.take().ok_or("no standard output")?);
    Ok((agent, address.ok_or("an address")?.to_owned(), notes))
}

/// What one direction of a test came to.
#[derive(Clone, Copy, Debug)]
struct Way {
    sent: u64,
    got: u64,
    /// Bytes of datagrams that were lost.
    lost: u64,
}

/// The directions of a test by the client's document: what the client sends, or the only direction, then what
/// it is sent in a test in both. `length`: of a datagram.
fn iperf3_ways(said: &Value, length: Option<u64>) -> Vec<Way> {
    let number = |key: String, field: &str| said["end"][key][field].as_u64();
    let of = |behind: &str| {
        let lost = number(format!("sum_received{behind}"), "lost_packets").unwrap_or(0);
        Some(Way {
            sent: number(format!("sum_sent{behind}"), "bytes")?,
            got: number(format!("sum_received{behind}"), "bytes")?,
            lost: lost * length.unwrap_or(0),
        })
    };
    ["", "_bidir_reverse"].into_iter().filter_map(of).collect()
}

/// What holds for the bytes of both ends.
#[derive(Clone, Copy, PartialEq)]
enum Rule {
    /// All that was sent has arrived, or was counted as lost.
    Whole,
    /// A client of iperf3 that receives counts what it has read by the end of its time.
    Read,
    /// Both ends begin to count when their own second is over.
    Omitted,
}

use Rule::{Omitted, Read, Whole};

/// Flags that both programs know. With -n bytes count over all streams of a direction, for both programs.
const MATRIX: &[(&[&str], Rule)] = &[
    (&["-n", "20M"], Whole),
    (&["-n", "20M", "-R"], Whole),
    (&["-n", "20M", "-P", "3"], Whole),
    (&["-n", "20M", "-P", "2", "-R"], Whole),
    // iperf3 ends such a test when one direction is complete, and drops what it has not read of the other.
    (&["-n", "20M", "--bidir", "-b", "200M"], Read),
    (&["-t", "1"], Whole),
    (&["-t", "1", "-R"], Read),
    // iperf3 3.12 has one thread: at full blast it may write for a second and read nothing.
    (&["-t", "1", "--bidir", "-b", "200M"], Read),
    (&["-t", "1", "-b", "50M"], Whole),
    (&["-t", "1", "-C", "reno"], Whole),
    (&["-t", "1", "-C", "reno", "-R"], Read),
    (&["-u", "-t", "1", "-b", "10M"], Whole),
    (&["-u", "-t", "1", "-b", "10M", "-R"], Read),
    (&["-u", "-t", "1", "-b", "10M", "--bidir", "-P", "2"], Read),
    (&["-u", "-n", "1M", "-b", "20M"], Whole),
    (&["-O", "1", "-t", "1", "-b", "50M"], Omitted),
    (&["-O", "1", "-t", "1", "-b", "50M", "-R"], Omitted),
    (&["-O", "1", "-t", "1", "-b", "50M", "--bidir"], Omitted),
    (&["-u", "-O", "1", "-t", "1", "-b", "10M"], Omitted),
    (&["-u", "-O", "1", "-t", "1", "-b", "10M", "-R"], Omitted),
];

/// A busy host may lose the last datagrams of a test, which nobody can count: such a test is made again.
fn tried(flags: &[&str], mut test: impl FnMut() -> Checked) -> Checked {
    let attempts = if flags.contains(&"-u") { 3 } else { 1 };
    for _ in 1..attempts {
        if test().is_ok() {
            return Ok(());
        }
    }
    test()
}

fn iperf3_clients() -> Checked {
    let place = Place::new()?;
    let (_agent, port, mut notes) = iperf3_agent(&place)?;
    for &(flags, rule) in MATRIX {
        tried(flags, || client(&place, &port, &mut notes, flags, rule))?;
    }
    let mut command = Command::new("iperf3");
    command.args(["-c", "127.0.0.1", "-p", &port, "-t", "1", "-C", "nonesuch"]);
    ensure(!place.plain(command).output()?.status.success(), "a controller that nobody has")
}

/// A client of iperf3 with these flags. Its document is held against the rule, and against the agent's note.
fn client(place: &Place, port: &str, notes: &mut impl BufRead, flags: &[&str], rule: Rule) -> Checked {
    let mut command = Command::new("iperf3");
    command.args(["-c", "127.0.0.1", "-p", port, "-J"]).args(flags);
    let output = place.plain(command).output()?;
    let said: Value = serde_json::from_str(&text(&output).0)?;
    ensure(said["error"].is_null() && output.status.success(), format!("{flags:?}: {}", said["error"]))?;
    let mut note = String::new();
    notes.read_line(&mut note)?;
    let note: Value = serde_json::from_str(&note)?;
    let length = said["start"]["test_start"]["blksize"].as_u64();
    let ways = iperf3_ways(&said, length.filter(|_| flags.contains(&"-u")));
    let bidir = flags.contains(&"--bidir");
    ensure(ways.len() == if bidir { 2 } else { 1 }, format!("{flags:?}: {ways:?}"))?;
    for (number, &way) in ways.iter().enumerate() {
        // What the client sends is whole in any case, if both are still there when it ends.
        let sends = number == 0 && !flags.contains(&"-R");
        let by = if rule == Read && sends && !flags.contains(&"-n") { Whole } else { rule };
        compare(flags, by, way)?;
        // The agent counts everything, what is omitted, too.
        let (ours, theirs) = match sends {
            true => (note["received_bytes"].as_u64(), way.got),
            false => (note["sent_bytes"].as_u64(), way.sent),
        };
        let same = if rule == Omitted { ours > Some(theirs) } else { ours == Some(theirs) };
        ensure(same, format!("{flags:?}: the client has {way:?}, the agent {note}"))?;
    }
    Ok(())
}

fn compare(flags: &[&str], rule: Rule, way: Way) -> Checked {
    let Way { sent, got, lost } = way;
    let holds = match rule {
        Whole => sent == got + lost,
        Read => got + lost <= sent && 4 * got >= sent,
        // A second of each, and each has its own: they have more than half of it in common.
        Omitted => got + lost <= 2 * sent && 2 * (got + lost) >= sent,
    };
    ensure(sent > 0 && got > 0 && holds, format!("{flags:?}: {way:?}"))
}

fn iperf3_servers() -> Checked {
    let place = Place::new()?;
    for &(flags, rule) in MATRIX {
        tried(flags, || server(&place, flags, rule))?;
    }
    Ok(())
}

/// A server of iperf3, and a test with it. What is on its way is waited for, so there is nothing to read.
fn server(place: &Place, flags: &[&str], rule: Rule) -> Checked {
    let port = "24320";
    let mut command = Command::new("iperf3");
    command.args(["-s", "-1", "-p", port, "-J"]);
    let _server = Process(place.plain(command).spawn()?);
    let begun = Instant::now();
    while std::net::TcpListener::bind(("0.0.0.0", 24320)).is_ok() {
        ensure(begun.elapsed() < Duration::from_secs(10), "the server does not listen")?;
        sleep(Duration::from_millis(10));
    }
    let before = |at: usize| if at == 0 { "" } else { flags[at - 1] };
    let words: Vec<String> = flags.iter().enumerate().map(|(at, &word)| unit(before(at), word)).collect();
    let mut command = place.ackclock(&["generate", "--json", "--to", &format!("iperf3://127.0.0.1:{port}")]);
    let output = command.args(words).output()?;
    let said: Value = serde_json::from_str(&done(&output)?)?;
    let streams = said["streams"].as_array().ok_or("streams")?;
    ensure(!streams.is_empty(), format!("{said}"))?;
    fields(&said, &["server", "protocol", "control", "streams"])?;
    let udp = flags.contains(&"-u");
    let mut all = 0;
    for stream in streams {
        let counts = ["retransmissions", "retransmits", "lost", "jitter_s"];
        fields(stream, &[&["stream", "sender", "sent", "received"][..], &counts].concat())?;
        fields(&stream["sent"], &["bytes", "throughput_bps"])?;
        let of = |end: &str| stream[end]["bytes"].as_u64().ok_or_else(|| format!("{flags:?}: {stream}"));
        let lost = if udp { 1448 * stream["lost"].as_u64().unwrap_or(0) } else { 0 };
        let way = Way { sent: of("sent")?, got: of("received")?, lost };
        all += way.sent;
        // Bytes are limited for all streams together: fast ones may leave nothing to another.
        if way.sent > 0 || !flags.contains(&"-n") {
            compare(flags, if rule == Omitted { Omitted } else { Whole }, way)?;
        }
    }
    ensure(all > 0, format!("{flags:?}: {said}"))
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
    let (_agent, port, _notes) = iperf3_agent(&place)?;
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
        for way in iperf3_ways(&said, None) {
            compare(&["-t", "3"], Whole, way)?;
        }
    }
    Ok(())
}
