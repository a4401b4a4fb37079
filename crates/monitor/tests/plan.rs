//! The monitor's file: what it says, and what is wrong with it.

use ackclock_monitor::Plan;
use ackclock_units::{Bytes, Duration, Rate};
use std::path::PathBuf;

const FILE: &str = r#"
archive = "paths.sqlite"
uncontrolled = ["10.128.0.0/16"]

[[hosts]]
name = "far"
address = "10.128.0.1"
ping = { every = "1 s", jitter = 0.5 }
route = { every = "2 h" }
search = { most = "50 Mbit/s", every = "12 h" }
peers = ["10.128.0.0/24"]
transfer = { port = 99, every = "1 min", length = "2 s", most = "10 MB", control = "reno" }

[[hosts]]
name = "further"
address = "fd00::1"

[sink]
listen = "10.0.0.1:5310"
allow = ["10.0.0.0/8"]
length = "3 s"
search = "100 Mbit/s"

[publish]
names = ["Monitor.example"]
"#;

#[test]
fn a_file_and_its_defaults() {
    let plan = Plan::read("/etc/ackclock/monitor.toml", FILE).expect("it is right");
    assert_eq!(plan.archive, PathBuf::from("/etc/ackclock/paths.sqlite"));
    let [far, further] = &plan.hosts[..] else { panic!("two hosts") };
    let transfer = far.transfer.as_ref().expect("it has one");
    assert_eq!(transfer.control.as_deref(), Some("reno"));
    assert_eq!((far.ping.every, far.ping.jitter), (Duration::from_secs(1), 0.5));
    assert_eq!(
        (transfer.port, transfer.length, transfer.most),
        (99, Duration::from_secs(2), Bytes(10_000_000))
    );
    assert_eq!((further.ping.every, further.ping.jitter), (Duration::from_secs(10), 0.2));
    assert_eq!(further.transfer, None, "everything but echo requests is off unless the file asks");
    assert!(plan.may_be_uncontrolled(far.address) && !plan.may_be_uncontrolled(further.address));
    let search = far.search.as_ref().expect("it has one");
    assert_eq!(
        (search.port, search.most, search.length),
        (5310, Rate::from_bps(50_000_000), Duration::from_secs(10))
    );
    assert_eq!(far.route.map(|it| it.every), Some(Duration::from_secs(7200)));
    assert_eq!((&further.search, further.route), (&None, None));
    assert_eq!(far.peers, ["10.128.0.0/24".parse().expect("a network")]);
    assert_eq!(further.peers, ["fd00::1".parse().expect("a host")]);
    assert_eq!(plan.sockets.map(|it| it.every), Some(Duration::from_secs(10)));
    let publish = plan.publish.as_ref().expect("there is one");
    assert!(publish.listen.ip().is_loopback(), "loopback unless the file says otherwise");
    assert_eq!(publish.names, ["monitor.example"]);
    let sink = plan.sink.expect("there is one");
    assert_eq!(sink.search, Some(Rate::from_bps(100_000_000)));
    assert_eq!((sink.length, sink.most), (Duration::from_secs(3), Bytes(1_000_000_000)));
}

/// Errors name the line and the remedy.
#[test]
fn mistakes_have_a_place_and_a_remedy() {
    let cases = [
        ("address = \"10.128.0.1\"", "address = \"far.example\"", 7, "is none"),
        ("address = \"fd00::1\"", "adress = \"fd00::1\"", 16, "did you mean \"address\"?"),
        ("every = \"1 s\"", "every = \"1 us\"", 8, "out of range"),
        ("every = \"1 s\"", "every = 1", 8, "has no unit"),
        ("jitter = 0.5", "jitter = 0", 8, "out of range"),
        ("every = \"1 min\"", "every = \"3 s\"", 12, "more than half of the time"),
        ("\"further\"", "\"far\"", 14, "two hosts called"),
        ("[\"10.0.0.0/8\"]", "[\"10.0.0.0/99\"]", 20, "is none"),
        ("allow = [\"10.0.0.0/8\"]", "", 18, "\"allow\" is missing"),
        ("length = \"3 s\"", "lenght = \"3 s\"", 21, "did you mean \"length\"?"),
        ("most = \"50 Mbit/s\"", "most = \"50 Gbit/s\"", 10, "out of range"),
        ("most = \"50 Mbit/s\", ", "", 10, "\"most\" is missing"),
        ("every = \"12 h\"", "every = \"1 s\"", 10, "out of range"),
        ("every = \"12 h\"", "every = \"15 s\"", 10, "more than half of the time"),
        ("every = \"2 h\"", "often = true", 9, "unknown"),
        ("names = [\"Monitor.example\"]", "name = 1", 25, "did you mean \"names\"?"),
        ("archive = \"paths.sqlite\"", "sockets = true", 2, "is wanted here"),
        ("archive = \"paths.sqlite\"", "achive = \"paths.sqlite\"", 2, "did you mean \"archive\"?"),
    ];
    for (old, new, line, says) in cases {
        assert!(FILE.contains(old), "{old}");
        let error = Plan::read("m.toml", &FILE.replacen(old, new, 1)).expect_err(new);
        let said = format!(
            "{error} {}",
            miette::Diagnostic::help(&error).map_or(String::new(), |it| it.to_string())
        );
        assert!(said.contains(says), "{new}: {said}");
        assert_eq!(error.line(), Some(line), "{new}: {said}");
    }
    let nothing = Plan::read("m.toml", "archive = \"a\"").expect_err("nothing to do");
    assert!(nothing.to_string().contains("nothing to do"), "{nothing}");
}
