//! Connections with the kernel's TCP over a TUN device, in a network namespace of each test's own.
//!
//! Where the user's rights do not allow that, every test is reported as ignored, and the reason is part of
//! its name.

use ackclock_cc as cc;
use ackclock_registry::variants;
use ackclock_stack::{ConnectionId, Event, Host, Limits, Options, Port, Refused, Tun, Why};
use ackclock_tcp::{Config, detection, recovery};
use ackclock_units::{Duration, Time};
use libtest_mimic::{Arguments, Failed, Trial};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

const OURS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 9, 0, 2));
const KERNELS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 9, 0, 1));
const PORT: u16 = 5001;

fn main() {
    let lack = lack();
    type Test = (&'static str, fn() -> Result<(), Failed>);
    let tests: [Test; 5] = [
        ("a_connection_to_the_kernel", active),
        ("a_connection_from_the_kernel", passive),
        ("every_controller_and_recovery_reaches_the_kernel", all_schemes),
        ("curl_reads_a_page", curl),
        ("resets_go_both_ways", resets),
    ];
    let trial = |(name, test): Test| match &lack {
        None => Trial::test(name, test),
        Some(lack) => Trial::test(format!("{name} (skipped: {lack})"), test).with_ignored_flag(true),
    };
    let speed = Trial::test("gigabits_per_core", speed).with_ignored_flag(true);
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1); // real time is for one at a time
    let trials = tests.into_iter().map(trial).chain([speed]);
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

/// Why no namespace can be made here.
fn lack() -> Option<String> {
    let made = thread::spawn(|| namespace().map(|_| ())).join();
    made.map_err(|_| "a thread panicked".to_owned())
        .and_then(|made| made.map_err(|error| error.to_string()))
        .err()
}

/// A new network namespace for this thread, with a device between the kernel and us.
#[allow(unsafe_code, reason = "unshare is unsafe for file descriptors, which are not unshared here")]
fn namespace() -> std::io::Result<Tun> {
    // SAFETY: only CLONE_FILES can take descriptors away from other threads.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
    let tun = Tun::make("ack0")?;
    for line in ["link set lo up", "address add 10.9.0.1/24 dev ack0", "link set ack0 up mtu 1500"] {
        let done = Command::new("ip").args(line.split(' ')).output()?;
        if !done.status.success() {
            return Err(std::io::Error::other(String::from_utf8_lossy(&done.stderr).into_owned()));
        }
    }
    Ok(tun)
}

/// Runs `peer` in a thread of this namespace, and our host in this one: `on_turn` acts on it, until the peer
/// has ended and `on_turn` returns true.
fn meet<T: Send>(
    tun: Tun,
    mut host: Host,
    peer: impl FnOnce() -> T + Send,
    mut on_turn: impl FnMut(&mut Host, Time) -> bool,
) -> T {
    let (ended, began) = (AtomicBool::new(false), Instant::now());
    let clock = || Time::from_nanos(began.elapsed().as_nanos() as u64);
    thread::scope(|scope| {
        let peer = scope.spawn(|| {
            let result = peer();
            ended.store(true, Ordering::Relaxed);
            result
        });
        let mut port = Port::new(tun);
        let mut done = false;
        while !(done && ended.load(Ordering::Relaxed)) {
            if began.elapsed().as_secs() > 60 {
                eprintln!("it takes too long: {:?}, {}", host.counts(), host.describe());
                std::process::exit(1); // the peer may wait for ever
            }
            let more = port.turn(&mut host, clock).expect("the device can be read");
            done = on_turn(&mut host, clock());
            port.send(&mut host, clock());
            if !more {
                port.wait(&host, clock(), Duration::from_millis(20)).expect("the device can be watched");
            }
        }
        peer.join().expect("the peer ends")
    })
}

fn byte(at: u64) -> u8 {
    (at.wrapping_mul(0x9e37_79b9) >> 13) as u8
}

/// Both directions of a connection of ours.
#[derive(Default)]
struct Both {
    written: u64,
    read: u64,
    ended: bool,
}

impl Both {
    /// Writes up to `total` bytes and reads what is there. True when both directions have ended.
    fn pump(&mut self, host: &mut Host, now: Time, id: ConnectionId, total: u64) -> bool {
        while self.written < total {
            let to = total.min(self.written + 65_536);
            let chunk: Vec<u8> = (self.written..to).map(byte).collect();
            let Ok(taken) = host.write(now, id, &chunk) else { break };
            self.written += taken as u64;
            if taken < chunk.len() {
                break;
            }
        }
        if self.written == total {
            host.close(now, id);
        }
        let mut buffer = [0; 65_536];
        while !self.ended {
            match host.read(now, id, &mut buffer) {
                Ok(0) => self.ended = true,
                Ok(length) => {
                    for &seen in &buffer[..length] {
                        assert_eq!(seen, byte(self.read), "byte {}", self.read);
                        self.read += 1;
                    }
                }
                Err(Refused::Empty) => break,
                Err(refused) => panic!("{refused:?} after {} bytes", self.read),
            }
        }
        self.ended && host.info(id).is_none_or(|info| info.acknowledged == total)
    }
}

/// The kernel's end: writes `total` bytes and reads to the end. Returns how many came.
fn exchange(stream: TcpStream, total: u64) -> u64 {
    let mut writer = stream.try_clone().expect("a second handle");
    let mut reader = stream;
    thread::scope(|scope| {
        scope.spawn(move || {
            let all: Vec<u8> = (0..total).map(byte).collect();
            writer.write_all(&all).expect("it is written");
            writer.shutdown(Shutdown::Write).expect("it is closed");
        });
        let (mut read, mut buffer) = (0, vec![0; 65_536]);
        loop {
            match reader.read(&mut buffer).expect("it can be read") {
                0 => break read,
                length => {
                    for &seen in &buffer[..length] {
                        assert_eq!(seen, byte(read), "byte {read}");
                        read += 1;
                    }
                }
            }
        }
    })
}

fn options(tcp: Config, control: &str) -> Arc<Options> {
    Arc::new(Options::new(tcp, cc::Settings::defaults(cc::scheme(control).expect("it is there"))))
}

/// We connect, both ends write and close.
fn active() -> Result<(), Failed> {
    carry(options(Config::default(), "cubic"), 5_000_000);
    Ok(())
}

fn carry(options: Arc<Options>, total: u64) {
    let tun = namespace().expect("a namespace");
    let listener = TcpListener::bind((KERNELS, PORT)).expect("it is bound");
    let mut host = Host::new(Limits::default(), 1);
    let to = SocketAddr::new(KERNELS, PORT);
    let id = host.connect(Time::ZERO, SocketAddr::new(OURS, 0), to, options).expect("there is room");
    let mut both = Both::default();
    let peer = || exchange(listener.accept().expect("a connection").0, total);
    let came = meet(tun, host, peer, |host, now| both.pump(host, now, id, total));
    assert_eq!((came, both.read), (total, total));
}

/// The kernel connects.
fn passive() -> Result<(), Failed> {
    let tun = namespace().expect("a namespace");
    let mut host = Host::new(Limits::default(), 1);
    let options = options(Config { ecn: true, ..Config::default() }, "layered");
    let listener = host.listen(SocketAddr::new(OURS, PORT), options, 4).expect("nobody listens");
    let (mut both, mut id, total) = (Both::default(), None, 5_000_000);
    let peer = || exchange(TcpStream::connect((OURS, PORT)).expect("we listen"), total);
    let came = meet(tun, host, peer, |host, now| {
        id = id.or_else(|| host.accept(listener));
        id.is_some_and(|id| both.pump(host, now, id, total))
    });
    assert_eq!((came, both.read), (total, total));
    Ok(())
}

/// Each controller once, and each recovery with each detection, a short transfer each.
fn all_schemes() -> Result<(), Failed> {
    let each = |options: Options| {
        thread::spawn(move || carry(Arc::new(options), 200_000)).join().map_err(|_| Failed::from("it fails"))
    };
    for scheme in cc::schemes() {
        let control = cc::Settings::defaults(scheme);
        each(Options::new(Config { ecn: control.needs().marks, ..Config::default() }, control))?;
    }
    let reno = cc::Settings::defaults(cc::scheme("reno").expect("it is there"));
    for recovery in variants::<recovery::Scheme>() {
        for detection in variants::<detection::Scheme>() {
            if recovery.scheme().selective || !detection.scheme().selective {
                let tcp = Config { recovery: recovery.clone(), detection, ..Config::default() };
                each(Options::new(tcp, reno.clone()))?;
            }
        }
    }
    Ok(())
}

/// An unchanged client reads a page from us.
fn curl() -> Result<(), Failed> {
    if Command::new("curl").arg("--version").output().is_err() {
        println!("curl is not installed: left out");
        return Ok(());
    }
    let tun = namespace().expect("a namespace");
    let mut host = Host::new(Limits::default(), 1);
    let listener = host.listen(SocketAddr::new(OURS, 80), options(Config::default(), "bbr"), 4);
    let listener = listener.expect("nobody listens");
    let body = "ackclock ".repeat(100_000);
    let page = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let (mut written, mut id) = (0, None);
    let peer = || Command::new("curl").args(["-s", "--max-time", "20", "http://10.9.0.2/"]).output();
    let output = meet(tun, host, peer, |host, now| {
        id = id.or_else(|| host.accept(listener));
        let Some(id) = id else { return false };
        let asked = host.peek(id).is_ok_and(|parts| parts.concat().ends_with(b"\r\n\r\n"));
        if asked || written > 0 {
            written += host.write(now, id, &page.as_bytes()[written..]).unwrap_or(0);
        }
        if written == page.len() {
            host.close(now, id);
        }
        written == page.len()
    });
    assert_eq!(String::from_utf8_lossy(&output.expect("curl runs").stdout), body);
    Ok(())
}

/// The kernel's reset ends our connection, and ours the kernel's.
fn resets() -> Result<(), Failed> {
    let tun = namespace().expect("a namespace");
    let listener = TcpListener::bind((KERNELS, PORT)).expect("it is bound");
    let mut host = Host::new(Limits::default(), 1);
    let to = SocketAddr::new(KERNELS, PORT);
    let options = options(Config::default(), "reno");
    let first =
        host.connect(Time::ZERO, SocketAddr::new(OURS, 0), to, options.clone()).expect("there is room");
    let second = host.connect(Time::ZERO, SocketAddr::new(OURS, 0), to, options).expect("there is room");
    host.write(Time::ZERO, first, b"unread").expect("it waits for the handshake");
    host.write(Time::ZERO, second, b"x").expect("it waits for the handshake");
    let peer = || {
        let mut outcomes = Vec::new();
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut one = [0; 1];
            stream.read_exact(&mut one).expect("a byte");
            if one == *b"u" {
                drop(stream); // with unread data: the kernel resets
            } else {
                stream.write_all(b"y").expect("it is written");
                outcomes.push(stream.read(&mut one).expect_err("a reset").kind());
            }
        }
        outcomes
    };
    let mut ended = Vec::new();
    let outcomes = meet(tun, host, peer, |host, now| {
        while let Some(event) = host.poll_event() {
            match event {
                Event::Ended(id, why) => ended.push((id, why)),
                Event::Readable(id) if id == second => host.abort(now, id),
                _ => {}
            }
        }
        ended.len() == 2
    });
    assert_eq!(outcomes, [std::io::ErrorKind::ConnectionReset]);
    assert!(ended.contains(&(first, Why::Reset)) && ended.contains(&(second, Why::Aborted)), "{ended:?}");
    Ok(())
}

/// How fast one thread sends to the kernel and receives from it, in bits per second of its processor time.
fn speed() -> Result<(), Failed> {
    for ours_sends in [true, false] {
        let tun = namespace().expect("a namespace");
        let listener = TcpListener::bind((KERNELS, PORT)).expect("it is bound");
        let mut host = Host::new(Limits::default(), 1);
        let id = host
            .connect(
                Time::ZERO,
                SocketAddr::new(OURS, 0),
                SocketAddr::new(KERNELS, PORT),
                options(Config::default(), "cubic"),
            )
            .expect("there is room");
        let total: u64 = 4 << 30;
        let peer = || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut buffer = vec![0; 1 << 20];
            if ours_sends {
                while stream.read(&mut buffer).expect("it can be read") > 0 {}
            } else {
                for _ in 0..total >> 20 {
                    stream.write_all(&buffer).expect("it is written");
                }
            }
        };
        let (mut written, mut read) = (0, 0);
        let (chunk, began, cpu) = (vec![0; 1 << 20], Instant::now(), thread_time());
        meet(tun, host, peer, |host, now| {
            if ours_sends && written < total {
                written += host.write(now, id, &chunk).unwrap_or(0) as u64;
            }
            if !ours_sends || written >= total {
                host.close(now, id);
            }
            let waiting = host.peek(id).map_or(0, |parts| parts[0].len() + parts[1].len());
            host.consume(now, id, waiting);
            read += waiting as u64;
            (ours_sends && written >= total) || read == total
        });
        let (wall, cpu) = (began.elapsed().as_secs_f64(), thread_time() - cpu);
        let bits = total as f64 * 8.0 / 1e9;
        let what = if ours_sends { "sending" } else { "receiving" };
        println!("{what}: {:.2} Gbit/s of time, {:.2} Gbit/s a core", bits / wall, bits / cpu);
        assert!(bits / cpu > 1.0, "{what}: {:.2} Gbit/s a core", bits / cpu);
    }
    Ok(())
}

/// The processor time of this thread, s.
fn thread_time() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
