//! Peers over sockets of the kernel, as threads of a test, and as programs in hosts of an emulated path.

use ackclock_sockets::set_controller;
use libtest_mimic::Failed;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Bytes that look alike nowhere.
pub fn pattern(seed: u64, length: usize) -> Vec<u8> {
    let mixed = |at: u64| (at ^ seed << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
    (0..length as u64).map(|at| mixed(at) as u8).collect()
}

/// Writes so many of these bytes.
pub fn fill(stream: &mut TcpStream, seed: u64, length: usize) -> io::Result<()> {
    stream.write_all(&pattern(seed, length))
}

/// Lets this process open as many files as it may.
pub fn many_files() -> Result<(), Failed> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?)
}

/// If this process was started as a peer, it is one: its exit status.
pub fn as_program() -> Option<i32> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["peer", "sink", at] => sink(at),
        ["peer", "source", to, seconds, control] => source(to, seconds, control),
        _ => return None,
    };
    match outcome {
        Ok(()) => Some(0),
        Err(error) => {
            eprintln!("{error}");
            Some(1)
        }
    }
}

/// Answers each connection with what it has received: bytes, and the time from the first to the last, ns. The
/// bytes must be those of [`pattern`] with seed 6, again and again.
fn sink(at: &str) -> io::Result<()> {
    for stream in TcpListener::bind(at)?.incoming() {
        let mut stream = stream?;
        let expected = pattern(6, 1 << 20);
        let (mut bytes, mut received, mut begun) = (vec![0; 1 << 18], 0, None);
        loop {
            let more = stream.read(&mut bytes)?;
            if more == 0 {
                break;
            }
            begun.get_or_insert_with(Instant::now);
            let right =
                bytes[..more].iter().zip(received..).all(|(b, at)| *b == expected[at % expected.len()]);
            if !right {
                return Err(io::Error::other("other bytes"));
            }
            received += more;
        }
        let time = begun.map_or(0, |begun| begun.elapsed().as_nanos());
        writeln!(stream, "{received} {time}")?;
    }
    Ok(())
}

/// Sends for some seconds, and prints what the sink says.
fn source(to: &str, seconds: &str, control: &str) -> io::Result<()> {
    let patience = Instant::now() + Duration::from_secs(10);
    let mut stream = loop {
        match TcpStream::connect(to) {
            Ok(stream) => break stream,
            Err(error) if Instant::now() > patience => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    if control != "-" {
        set_controller(&stream, control)?;
    }
    let seconds: f64 = seconds.parse().map_err(io::Error::other)?;
    let (begun, bytes, mut sent) = (Instant::now(), pattern(6, 1 << 20), 0);
    while begun.elapsed().as_secs_f64() < seconds {
        sent += stream.write(&bytes[sent % bytes.len()..])?;
    }
    stream.shutdown(Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    println!("{sent} {}", answer.trim());
    Ok(())
}
