//! Network namespaces with only a loopback device, and relays in them.

use crate::common::{Checked, ensure};
use assert_cmd::cargo::cargo_bin;
use libtest_mimic::Failed;
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Which side lies beyond the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    Server,
    Clients,
}

impl Way {
    /// Where the server of a test listens. Beyond a path it is on no loopback address.
    pub fn server(self) -> SocketAddr {
        match self {
            Way::Server => ([10, 9, 9, 1], 0).into(),
            Way::Clients => ([127, 0, 0, 1], 0).into(),
        }
    }

    fn arguments(self) -> [&'static str; 4] {
        match self {
            Way::Server => ["--towards", "server", "--listen", "127.0.0.1:0"],
            Way::Clients => ["--towards", "clients", "--listen", "10.9.9.1:0"],
        }
    }
}

/// Runs `work` in a thread in a new network namespace. Programs that it starts are there, too.
#[allow(unsafe_code, reason = "unshare is unsafe for file descriptors, which are not unshared here")]
pub fn inside(work: impl FnOnce() -> Checked + Send) -> Checked {
    let there = || {
        // SAFETY: only CLONE_FILES can take descriptors away from other threads.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
        for words in
            ["link set lo up", "address add 10.9.9.1/32 dev lo", "address add fd00:9::1/128 dev lo nodad"]
        {
            let done = Command::new("ip").args(words.split(' ')).status()?;
            ensure(done.success(), format!("ip {words}: {done}"))?;
        }
        work()
    };
    thread::scope(|scope| scope.spawn(there).join()).map_err(|_| "the test panicked")?
}

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin("ackclock"));
    command.args(arguments);
    command.env("NO_COLOR", "1").env("LC_ALL", "C").env("TERM", "dumb").env("COLUMNS", "200");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The program, to its end.
pub fn ackclock(arguments: &[&str]) -> Result<Output, Failed> {
    Ok(program(arguments).output()?)
}

/// A running proxy.
pub struct Relay {
    pub child: Child,
    /// Where clients connect.
    pub address: SocketAddr,
    /// Its device.
    pub device: String,
}

impl Relay {
    /// A proxy in front of `server`. A further argument wins over one that every proxy has.
    pub fn start(way: Way, server: SocketAddr, more: &[&str]) -> Result<Relay, Failed> {
        let mut arguments: Vec<&str> = vec!["proxy", "--json"];
        let given = way.arguments();
        arguments.extend(given.chunks(2).filter(|pair| !more.contains(&pair[0])).flatten());
        let to = server.to_string();
        arguments.extend(["--to", &to]);
        arguments.extend(more);
        let mut child = program(&arguments).spawn()?;
        let mut said = String::new();
        BufReader::new(child.stderr.take().ok_or("no standard error")?).read_line(&mut said)?;
        let words: Vec<&str> = said.split_whitespace().collect();
        let ["relaying", address, "to", _, "over", device, ..] = words[..] else {
            let _ = child.kill();
            return Err(format!("the proxy says {said}").into());
        };
        let device = device.trim_end_matches(':').to_owned();
        Ok(Relay { child, address: address.parse()?, device })
    }

    /// A client's connection to it.
    pub fn connect(&self) -> Result<TcpStream, Failed> {
        let stream = TcpStream::connect_timeout(&self.address, Duration::from_secs(10))?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        Ok(stream)
    }

    /// A size from /proc/PID/status, bytes.
    pub fn memory(&self, key: &str) -> Result<u64, Failed> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        let number = line.and_then(|line| line.split_whitespace().next()).ok_or("no such key")?;
        Ok(number.parse::<u64>()? << 10)
    }

    /// Ends it, and returns its log.
    pub fn log(mut self) -> Result<Vec<Value>, Failed> {
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        let begun = Instant::now();
        let mut said = String::new();
        self.child.stdout.take().ok_or("no standard output")?.read_to_string(&mut said)?;
        let status = self.child.wait()?;
        ensure(begun.elapsed() < Duration::from_secs(10), "the proxy does not end")?;
        ensure(status.success(), format!("{status}"))?;
        Ok(said.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
