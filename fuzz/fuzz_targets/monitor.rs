//! Any bytes that a stranger sends to a monitor: the lines of a search, the first line of a transfer, a
//! request over HTTP; and a monitor's file. Nothing panics, lines do not depend on how they are cut, and
//! every request has an answer.
#![no_main]

use ackclock_monitor::fuzzing::{Lines, Said, answered, words};
use ackclock_monitor::{Archive, Known, Moment, Plan, Quantity, Row, Sample};
use ackclock_units::Duration;
use libfuzzer_sys::fuzz_target;
use miette::NarratableReportHandler;
use std::path::PathBuf;
use std::sync::LazyLock;
use tokio::runtime::{Builder, Runtime};

/// An archive with too few samples for a forecast, which would take seconds.
static ARCHIVE: LazyLock<(PathBuf, Runtime)> = LazyLock::new(|| {
    let place = std::env::temp_dir().join(format!("ackclock-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&place).expect("a directory");
    let path = place.join("a.sqlite");
    let mut archive = Archive::create(&path).expect("a new one");
    let (ping, transfer) = (Duration::from_secs(10), Duration::from_secs(3600));
    let (name, address) = ("far".to_owned(), "192.0.2.1".to_owned());
    let known = Known { id: 0, name, address, uncontrolled: true, ping, transfer };
    let host = archive.describe(&known).expect("room");
    for ago in 0..4 {
        let sample = Sample { at: Moment::now().before(Duration::from_secs(ago)), value: 0.067 };
        archive.write(&[Row { host, quantity: Quantity::Rtt, sample }]).expect("room");
    }
    (path, Builder::new_current_thread().enable_time().build().expect("a runtime"))
});

fn told(bytes: &[u8], cut: usize) -> Vec<Result<Said, ()>> {
    let (mut lines, mut told) = (Lines::default(), Vec::new());
    for piece in bytes.chunks(cut) {
        lines.push(piece);
        loop {
            match lines.next_line() {
                Ok(Some(said)) => told.push(Ok(said)),
                Ok(None) => break,
                // Nothing is read behind an error.
                Err(_) => {
                    told.push(Err(()));
                    return told;
                }
            }
        }
    }
    told
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    match choice % 3 {
        0 => {
            let whole = told(bytes, bytes.len().max(1));
            assert_eq!(whole, told(bytes, usize::from(choice) / 3 % 7 + 1));
            for said in whole.into_iter().flatten() {
                assert_eq!(told(format!("{said}\n").as_bytes(), 64), [Ok(said)]);
            }
            let _ = words(&mut &bytes[..], "ackclock-datagram/1");
        }
        1 => {
            let (path, runtime) = &*ARCHIVE;
            let (target, host) = match bytes.iter().position(|&byte| byte == b'\n') {
                Some(end) => (&bytes[..end], &bytes[end + 1..]),
                None => (bytes, &b"localhost"[..]),
            };
            let Ok(target) = std::str::from_utf8(target) else { return };
            let (status, length) = answered(runtime, path, target, host);
            assert!(matches!(status, 200 | 400 | 404 | 421) && (status == 400 || length > 0), "{status}");
        }
        _ => {
            let Ok(text) = std::str::from_utf8(bytes) else { return };
            if let Err(error) = Plan::read("monitor.toml", text) {
                let mut shown = String::new();
                NarratableReportHandler::new().render_report(&mut shown, &error).expect("a message");
                assert!(!shown.is_empty());
            }
        }
    }
});
