//! A thousand quick changes, as a slider makes them, in a process of their own: its memory is theirs.

use ackclock_lab::{Lab, Limits, Settings};
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::spawn;
use std::time::Duration;

/// A scenario that takes longer than anybody waits.
const ENDLESS: &str = "duration = \"100000 s\"\n[topology.dumbbell]\nbottleneck = { rate = \"1 Gbit/s\", \
    delay = \"10 ms\", queue = { droptail = \"20 packets\" } }\n[[flows]]\ncontrol = \"reno\"\n";
/// The longest that an answer may take.
const LONG: Duration = Duration::from_secs(120);
/// How much the memory may grow: allocators keep some for each thread.
const GROWTH: u64 = 32 << 20;
/// Of so many changes one is looked at until its run is under way.
const SEEN: usize = 50;

#[test]
fn a_thousand_quick_changes_leave_one_run() {
    let listen = "127.0.0.1:0".parse().expect("an address");
    let settings =
        Settings { listen, scenario: ENDLESS.to_owned(), limits: Limits::default(), emulator: None };
    let lab = Lab::begin(settings).expect("a port");
    let address = lab.address();
    let (host, token) =
        address.strip_prefix("http://").and_then(|it| it.split_once("/?token=")).expect("both");
    let stop: &'static AtomicBool = Box::leak(Box::default());
    let serving = spawn(move || lab.run(stop));
    let body = json!({"tab": "one", "variants": [{"name": "A", "text": ENDLESS}]}).to_string();
    let ask = || {
        let mut stream = TcpStream::connect(host).expect("a connection");
        stream.set_read_timeout(Some(LONG)).expect("an option");
        write!(
            stream,
            "POST /api/run HTTP/1.1\r\nHost: {host}\r\nX-Ackclock-Token: {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("room");
        BufReader::new(stream)
    };
    // The one before is closed when the next one has been asked for, as a page does it.
    let mut last = ask();
    let mut change = |number: usize| {
        last = ask();
        if number.is_multiple_of(SEEN) {
            let mut lines = last.by_ref().lines().map_while(Result::ok);
            assert!(lines.any(|line| line == "event: pictures"), "change {number} has no run");
        }
    };
    (0..200).for_each(&mut change);
    let before = resident();
    (200..=1000).for_each(&mut change);
    let after = resident();
    assert!(after < before + GROWTH, "{before} and {after} bytes");
    drop(last);
    stop.store(true, Ordering::Relaxed);
    serving.join().expect("it ends in order").expect("it served");
}

/// What this process has of memory, bytes.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it is among it");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}
