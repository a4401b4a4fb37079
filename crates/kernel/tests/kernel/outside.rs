//! Where `none` must not be without control, whoever chose it and however: there it is reno, the kernel's own
//! if that is possible, and otherwise its window.

use crate::{Outcome, connection, ensure, entry, ip, loaded, narrow, request, seen, start};
use ackclock_kernel::{Program, Reach, load};
use libbpf_rs::{MapCore, MapHandle, ObjectBuilder};
use libtest_mimic::Failed;
use rustix::net::sockopt::tcp_congestion;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Calls this program as a connection that is watched: it connects, tells how things stand, waits for a line,
/// sends, and tells again.
const WATCHED: &str = "--watched";
/// Bytes that it sends.
const SENT: usize = 8 << 20;
/// A window that no connection with control begins with, segments, and far below what a receiver allows.
const SMALL: u64 = 40;
/// More than a path with room for 50 packets ever lets a connection with control have for long.
const PATHS: u64 = 200;

/// The part of a test that runs elsewhere, if this is it.
pub(crate) fn inner(words: &[String]) -> Result<bool, Failed> {
    let [_, flag, name] = words else { return Ok(false) };
    if flag != WATCHED {
        return Ok(false);
    }
    let (mut sender, reading) = start("127.0.0.1", (name != "-").then_some(name))?;
    println!("{}", seen(&sender)?.replace('\n', " "));
    std::io::stdin().lock().read_line(&mut String::new())?;
    sender.write_all(&vec![7; SENT])?;
    println!("{}", seen(&sender)?.replace('\n', " "));
    drop(sender);
    let read = reading.join().map_err(|_| "the receiver panicked")?;
    ensure(read == SENT as u64, &format!("{read} bytes arrived"))?;
    Ok(true)
}

/// Such a connection; `through` are the words that bring it where it is to be.
struct Watched {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Watched {
    fn start(through: &[&str], name: &str) -> Result<Watched, Failed> {
        let mut child = Command::new(through[0])
            .args(&through[1..])
            .arg(std::env::current_exe()?)
            .args([WATCHED, name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (to, from) = (child.stdin.take().ok_or("no input")?, child.stdout.take().ok_or("no output")?);
        Ok(Watched { child, to, from: BufReader::new(from) })
    }

    fn line(&mut self) -> Result<String, Failed> {
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        ensure(!line.is_empty(), "it has said nothing")?;
        Ok(line)
    }

    /// Lets it send; what it says then.
    fn sends(mut self) -> Result<String, Failed> {
        writeln!(self.to)?;
        let line = self.line()?;
        let status = self.child.wait()?;
        ensure(status.success(), &format!("{status}: {line}"))?;
        Ok(line)
    }
}

/// The window, segments.
fn cwnd(seen: &str) -> Result<u64, Failed> {
    let found = seen.split_whitespace().find_map(|word| word.strip_prefix("cwnd:")?.parse().ok());
    found.ok_or_else(|| seen.into())
}

const THERE: [&str; 4] = ["ip", "netns", "exec", "ackclock-test"];

/// `congctl lock` in the route keeps every connection from being handed to reno.
pub(crate) fn locked() -> Outcome {
    let _namespace = narrow()?;
    let _it = loaded(&request("none", "act_lock", &["192.0.2.0/24"]))?;
    ip(
        "ip -n ackclock-test route replace local 127.0.0.1 dev lo table local proto kernel scope host src 127.0.0.1 \
        congctl lock act_lock",
    )?;
    let mut watched = Watched::start(&THERE, "-")?;
    let first = watched.line()?;
    ensure(first.contains("act_lock") && cwnd(&first)? <= SMALL, &first)?;
    let last = watched.sends()?;
    let statistics = entry("act_lock")?.statistics.ok_or("no statistics")?;
    let said = format!("{first}{last}{statistics:?}");
    ensure(last.contains("act_lock") && cwnd(&last)? < PATHS, &said)?;
    // Of either end.
    ensure((statistics.refused, statistics.held, statistics.opened) == (2, 2, 2), &said)?;
    ensure(statistics.cuts > 0 && statistics.sockets() == 0, &said)
}

/// A control group, which is removed when nobody is in it any more.
struct Group(PathBuf);

impl Group {
    fn make(path: &Path) -> Result<Group, Failed> {
        fs::create_dir(path)?;
        Ok(Group(path.to_owned()))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let patience = Instant::now() + Duration::from_secs(2);
        while fs::remove_dir(&self.0).is_err() && Instant::now() < patience {
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Where control groups of the second version are, if they are anywhere.
fn groups() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2"))?;
    line.split(' ').nth(1).map(PathBuf::from)
}

/// A program of a control group chooses the scheme while the connection is made, when nobody can choose
/// another.
pub(crate) fn chosen() -> Outcome {
    static CHOOSES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sockops.bpf.o"));
    let _namespace = narrow()?;
    let path = groups().ok_or("no control groups of version 2 are mounted")?.join("ackclock-test");
    let object = ObjectBuilder::default().open_memory(CHOOSES)?.load()?;
    for program in object.progs_mut() {
        let _group = Group::make(&path)?;
        let _attached = program.attach_cgroup(File::open(&path)?.as_raw_fd())?;
        let _it = loaded(&request("none", "act_ops", &["192.0.2.0/24"]))?;
        let into = format!(
            "echo $$ > {}/cgroup.procs && exec ip netns exec ackclock-test \"$0\" \"$@\"",
            path.display()
        );
        let mut watched = Watched::start(&["sh", "-c", &into], "-")?;
        let first = watched.line()?;
        ensure(cwnd(&first)? <= SMALL, &first)?;
        let last = watched.sends()?;
        let statistics = entry("act_ops")?.statistics.ok_or("no statistics")?;
        let said = format!("{:?}: {first}{last}{statistics:?}", program.name());
        // By then it could be handed over.
        ensure(last.contains(" reno ") && cwnd(&last)? < PATHS, &said)?;
        ensure(statistics.held == 1 && statistics.refused == 1 && statistics.sockets() == 0, &said)?;
    }
    Ok(())
}

/// The prefixes of a loaded scheme can be changed by whoever may write to its map.
pub(crate) fn revoked() -> Outcome {
    let _namespace = narrow()?;
    let _it = loaded(&request("none", "act_revoked", &["127.0.0.0/8"]))?;
    let mut watched = Watched::start(&THERE, "act_revoked")?;
    let first = watched.line()?;
    ensure(first.contains("act_revoked") && cwnd(&first)? > SMALL, &first)?;
    let allowed = MapHandle::from_pinned_path(Path::new("/sys/fs/bpf/ackclock/act_revoked/allowed"))?;
    for key in allowed.keys().collect::<Vec<_>>() {
        allowed.delete(&key)?;
    }
    let last = watched.sends()?;
    let statistics = entry("act_revoked")?.statistics.ok_or("no statistics")?;
    let said = format!("{first}{last}{statistics:?}");
    ensure(last.contains(" reno ") && cwnd(&last)? < PATHS, &said)?;
    ensure(statistics.refused == 1 && statistics.sockets() == 0, &said)
}

/// Loaded for somebody's own hosts, no scheme is anybody else's.
pub(crate) fn confined() -> Outcome {
    for &&Program { name: scheme, reach, .. } in ackclock_kernel::programs() {
        let mut request = request(scheme, "act_own", &[]);
        if reach == Reach::Allowed {
            request.allow = vec!["127.0.0.0/8".parse()?];
        }
        request.confined = true;
        let _it = loaded(&request)?;
        load::admit("act_own", &[u64::MAX, u64::MAX - 1])?;
        let (sender, reading) = connection("act_own")?;
        let chosen = tcp_congestion(&sender)?;
        drop(sender);
        reading.join().map_err(|_| "the receiver panicked")?;
        ensure(chosen.trim_end_matches('\0') == "reno", &format!("{scheme}: the connection uses {chosen}"))?;
        let statistics = entry("act_own")?.statistics.ok_or("no statistics")?;
        ensure(statistics.refused == 1 && statistics.opened == 0, &format!("{scheme}: {statistics:?}"))?;
    }
    Ok(())
}
