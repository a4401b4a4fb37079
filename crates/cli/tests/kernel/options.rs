//! `ackclock kernel options`: the socket options as programs of a control group meet them.

use crate::common::{ackclock, fields, stderr, stdout};
use crate::{Checked, Named, ensure, kernel};
use libtest_mimic::Failed;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

pub(crate) const PRIVILEGED: &[Named] = &[
    ("the_page_about_socket_options", page),
    ("options_that_are_refused", refusals),
    ("options_towards_ipv6", six),
    ("a_window_in_mid_connection_and_control_again", mid_connection),
    ("the_counter_of_retransmissions_is_the_kernels", counter),
    ("options_for_a_group_within_another", nested),
    ("options_leave_nothing", nothing_left),
    ("a_killed_loader_of_options_leaves_what_can_be_unloaded", killed),
    ("the_programs_of_the_options_are_short", short),
];

/// The page with the programs.
const PAGE: &str = include_str!("../../../../docs/src/socket-options.md");

/// Where control groups of version 2 are mounted, if they are.
pub(crate) fn mounted() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let line = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    Some(line.split(' ').nth(4)?.into())
}

/// A control group, and options under a name of its own. Both go, even when a test fails.
struct Group {
    path: PathBuf,
    name: &'static str,
}

impl Group {
    fn new(name: &'static str) -> Result<Group, Failed> {
        let mount = mounted().ok_or("control groups of version 2 are not mounted")?;
        let path = mount.join(format!("{name}.{}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Group { path, name })
    }

    /// Gives it the options towards these destinations.
    fn with(name: &'static str, allow: &[&str]) -> Result<Group, Failed> {
        let group = Group::new(name)?;
        let output = group.options(allow);
        ensure(output.status.code() == Some(0), stderr(&output))?;
        let said: Value = serde_json::from_str(&stdout(&output))?;
        fields(&said, &["name", "cgroup", "allow", "options"])?;
        fields(&said["options"], &["TCP_NO_CONGESTION", "TCP_SET_CWND", "TCP_TOTAL_REXMITS"])?;
        Ok(group)
    }

    fn options(&self, allow: &[&str]) -> Output {
        let path = self.path.to_string_lossy();
        kernel(&[&["options", "--cgroup", &*path, "--as", self.name, "--json", "--allow"], allow].concat())
    }

    /// A command in the group, and its arguments.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\""]).arg(&self.path).args(words);
        command.env("NO_COLOR", "1").env("LC_ALL", "C").stdin(Stdio::null());
        command
    }

    /// What a Python program prints as JSON that runs in the group.
    fn python(&self, program: &str, arguments: &[&str]) -> Result<Value, Failed> {
        let program = format!("{COMMON}{program}");
        printed(&self.command(&[&["python3", "-c", &program], arguments].concat()).output()?)
    }

    /// What a Python program prints as JSON that runs in the sending host of a path.
    fn over(&self, path: &str, program: &str) -> Result<Value, Failed> {
        let directory = tempfile::tempdir()?;
        fs::write(directory.path().join("path.toml"), path)?;
        fs::write(directory.path().join("receiver.py"), listing("receiver.py"))?;
        fs::write(directory.path().join("sender.py"), format!("{COMMON}{program}"))?;
        printed(&self.emulate(directory.path(), &["sender.py", "{sender}"], &[])?)
    }

    /// An emulation in which a Python program runs in the sending host, and `receiver.py` in the other.
    fn emulate(&self, directory: &Path, sender: &[&str], more: &[&str]) -> std::io::Result<Output> {
        let program = env!("CARGO_BIN_EXE_ackclock");
        let serve = ["--serve", "python3 receiver.py {sender}"];
        let words = [&[program, "emulate", "path.toml"], more, &serve, &["--", "python3"], sender].concat();
        self.command(&words).current_dir(directory).output()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if Path::new(PINS).join(self.name).exists() {
            kernel(&["unload", self.name]);
        }
        let patience = Instant::now() + Duration::from_secs(5);
        while fs::remove_dir(&self.path).is_err() && self.path.exists() && Instant::now() < patience {
            sleep(Duration::from_millis(20)); // a process in it has not quite ended
        }
    }
}

/// Where the pins are.
const PINS: &str = "/sys/fs/bpf/ackclock";

/// The beginning of each program: the options, and what becomes of a call.
const COMMON: &str = r#"
import errno, json, socket, struct, subprocess, sys, threading, time
NONE, WINDOW, AGAIN, TCP = 0x5301, 0x5302, 0x5303, socket.IPPROTO_TCP

def tried(call, *arguments):
    try:
        return call(TCP, *arguments)
    except OSError as error:
        return errno.errorcode[error.errno]

def controller(it):
    return it.getsockopt(TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()

def info(it, at):  # a u32 of struct tcp_info: 24 is what is outstanding, 100 what was ever sent again
    return struct.unpack_from("I", it.getsockopt(TCP, socket.TCP_INFO, 104), at)[0]

def accepted():
    server = socket.create_server((sys.argv[1], 5001))
    server.setsockopt(socket.SOL_SOCKET, 32, 4 << 20)  # SO_SNDBUFFORCE
    server.setsockopt(TCP, socket.TCP_CONGESTION, b"reno")
    return server.accept()[0]
"#;

/// The last line of what was printed, which is JSON. The path's own table may come after it.
fn printed(output: &Output) -> Result<Value, Failed> {
    let (out, err) = (stdout(output), stderr(output));
    ensure(output.status.code() == Some(0), format!("{out}{err}"))?;
    let line = out.lines().find(|line| line.starts_with(['{', '[']));
    Ok(serde_json::from_str(line.ok_or_else(|| format!("nothing was printed: {out}{err}"))?)?)
}

/// A listing of the page: what is in the first fence after the file's name.
fn listing(file: &str) -> &'static str {
    let (_, after) = PAGE.split_once(&format!("`{file}`")).expect("the page has the file");
    let (_, inside) = after.split_once("```").expect("a fence opens");
    let (_, text) = inside.split_once('\n').expect("its first line ends");
    text.split_once("```").expect("the fence ends").0
}

/// As the page says, with captures: in the first flight are 10 segments, 500, and all.
fn page() -> Checked {
    let group = Group::with("acc_page", &["10.128.0.0/9"])?;
    let directory = tempfile::tempdir()?;
    for file in ["path.toml", "receiver.py", "sender.py"] {
        fs::write(directory.path().join(file), listing(file))?;
    }
    for (how, first) in [("control", 10), ("window", 500), ("none", 1382)] {
        let capture = ["--out", how, "--capture", "bottleneck"];
        let output = group.emulate(directory.path(), &["sender.py", "{sender}", how], &capture)?;
        let said = stdout(&output);
        ensure(output.status.code() == Some(0), format!("{said}{}", stderr(&output)))?;
        ensure(said.starts_with(&format!("{how}: ")) && said.contains(" s, 0 segments again"), said)?;
        let file = format!("{how}/capture/bottleneck.pcapng");
        let traced = ackclock(directory.path(), &["trace", &file, "--json"]);
        let document: Value = serde_json::from_str(&stdout(&traced))?;
        // Before the sender listens, the receiver is refused, perhaps several times.
        let connections = document["connections"].as_array().into_iter().flatten();
        let directions = connections.flat_map(|it| it["directions"].as_array().into_iter().flatten());
        let packets: Vec<_> = directions.map(|it| it["initial_window_packets"].as_u64()).collect();
        ensure(packets.contains(&Some(first)), format!("{how}: {packets:?}"))?;
    }
    Ok(())
}

const REFUSALS: &str = r#"
there = socket.create_server(("127.0.0.1", 0))
here = socket.socket()
seen = {"unconnected": [tried(here.setsockopt, NONE, 1), tried(here.setsockopt, WINDOW, 50)]}
here.setsockopt(TCP, socket.TCP_CONGESTION, b"reno")
here.connect(there.getsockname())
both = lambda value: [tried(here.setsockopt, NONE, value), tried(here.setsockopt, WINDOW, value)]
seen["one"] = both(1)
seen["many"] = tried(here.setsockopt, WINDOW, 500)
seen["state"] = [controller(here)] + [tried(here.getsockopt, option) for option in (NONE, WINDOW, AGAIN)]
seen["negative"] = both(-1) + both(-2**31)
seen["short"] = both(b"\1\0\0") + both(b"") + [tried(here.getsockopt, WINDOW, 3)]
seen["others"] = [both(0)[1], tried(here.setsockopt, NONE, 2), tried(here.setsockopt, AGAIN, 1)]
seen["long"] = [tried(here.setsockopt, WINDOW, struct.pack("i", 60) + bytes(9000)), len(tried(here.getsockopt, WINDOW, 1000))]
seen["kernel's"] = [tried(here.setsockopt, 0x5304, 1), tried(here.getsockopt, 0x5300), tried(here.setsockopt, socket.TCP_NODELAY, 1)]
seen["udp"] = tried(socket.socket(type=socket.SOCK_DGRAM).setsockopt, NONE, 1)
here.send(b"x")
seen["late"] = tried(here.setsockopt, WINDOW, 70)
print(json.dumps(seen))
"#;

/// Inside and outside the list of destinations, and without any options.
fn refusals() -> Checked {
    let expected = |one: Value, many: Value, state: Value, zero: Value, long: Value, late: Value| {
        json!({
            "unconnected": ["ENOTCONN", "ENOTCONN"], "one": one, "many": many, "state": state,
            "negative": ["EPERM", "EPERM", "EPERM", "EPERM"],
            "short": ["EPERM", "EPERM", "EPERM", "EPERM", "EPERM"],
            "others": [zero, "EPERM", "EPERM"], "long": [long, 4],
            "kernel's": ["ENOPROTOOPT", "ENOPROTOOPT", null], "udp": "ENOPROTOOPT", "late": late,
        })
    };
    let e = || json!("EPERM");
    {
        let group = Group::with("acc_outside", &["192.0.2.0/24", "::/0"])?;
        let seen = group.python(REFUSALS, &[])?;
        let kept = json!(["reno", 0, 10, 0]);
        let wanted = expected(json!(["EPERM", "EPERM"]), e(), kept, e(), e(), e());
        ensure(seen == wanted, format!("{seen}\ninstead of\n{wanted}"))?;
    }
    let group = Group::with("acc_inside", &["127.0.0.1"])?;
    let seen = group.python(REFUSALS, &[])?;
    ensure(seen["one"] == json!([null, null]) && seen["many"].is_null(), seen.to_string())?;
    // The receiver's window is below 500 segments of loopback.
    let state = seen["state"].as_array().cloned().unwrap_or_default();
    ensure(state[0] == "acc_inside" && state[1] == 1 && state[3] == 0, seen.to_string())?;
    for key in ["unconnected", "negative", "short", "kernel's", "udp"] {
        let wanted = expected(e(), e(), e(), e(), e(), e());
        ensure(seen[key] == wanted[key], format!("{key}: {seen}"))?;
    }
    ensure(seen["long"] == json!([null, 4]) && seen["late"] == json!("EINVAL"), seen.to_string())
}

const SIX: &str = r#"
seen = []
for address in ("::1", "::ffff:127.0.0.1"):
    there = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    here = socket.create_connection((address, there.getsockname()[1]))
    seen.append([tried(here.setsockopt, NONE, 1), tried(here.getsockopt, NONE)])
print(json.dumps(seen))
"#;

fn six() -> Checked {
    for (allow, expected) in [
        (&["::1", "127.0.0.0/8"][..], json!([[null, 1], [null, 1]])),
        (&["::/0"], json!([[null, 1], ["EPERM", 0]])),
        (&["0.0.0.0/0"], json!([["EPERM", 0], [null, 1]])),
    ] {
        let group = Group::with("acc_six", allow)?;
        let seen = group.python(SIX, &[])?;
        ensure(seen == expected, format!("{allow:?}: {seen}"))?;
    }
    Ok(())
}

const MID_CONNECTION: &str = r#"
it = accepted()
seen, on = {}, True
def write():
    while on:
        it.send(bytes(1 << 16))
def most(seconds):
    until, most = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        most = max(most, info(it, 24))
        time.sleep(0.001)
    return most
def state():
    return [controller(it), it.getsockopt(TCP, NONE), it.getsockopt(TCP, WINDOW)]
writer = threading.Thread(target=write)
writer.start()
time.sleep(0.3)
seen["late"] = tried(it.setsockopt, WINDOW, 300)
it.setsockopt(TCP, NONE, 1)
for window in (300, 40):
    it.setsockopt(TCP, WINDOW, window)
    set = state()
    time.sleep(0.3)
    seen[str(window)] = [set, most(0.5)]
it.setsockopt(TCP, NONE, 0)
seen["control"] = state()
on = False
writer.join()
it.close()
print(json.dumps(seen))
"#;

/// A window that is set while data flow holds at once, larger or smaller. Control resumes from what is in
/// flight.
fn mid_connection() -> Checked {
    let group = Group::with("acc_mid", &["10.128.0.0/9"])?;
    let seen = group.over(listing("path.toml"), MID_CONNECTION)?;
    ensure(seen["late"] == "EINVAL", seen.to_string())?;
    for window in [300_u64, 40] {
        let found = &seen[window.to_string()];
        ensure(found[0] == json!(["acc_mid", 1, window]), seen.to_string())?;
        let most = found[1].as_u64().unwrap_or(0);
        ensure((window * 9 / 10..=window).contains(&most), seen.to_string())?;
    }
    let control = &seen["control"];
    ensure(control[0] == "reno" && control[1] == 0, seen.to_string())?;
    ensure(control[2].as_u64().is_some_and(|window| (10..=60).contains(&window)), seen.to_string())
}

const COUNTER: &str = r#"
it = accepted()
it.sendall(bytes(9_000_000))
while info(it, 24):
    time.sleep(0.05)
line = subprocess.run(["ss", "-tinH", "sport", "=", ":5001"], capture_output=True, text=True).stdout
word = [word for word in line.split() if word.startswith("retrans:")]
seen = [it.getsockopt(TCP, AGAIN), int(word[0].split("/")[1]), info(it, 100)]
it.close()
print(json.dumps(seen))
"#;

/// A hundred packets at places drawn by a linear congruential generator are lost.
fn counter() -> Checked {
    let mut state = 20_010_519_u64;
    let mut places = std::collections::BTreeSet::new();
    while places.len() < 100 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        places.insert(100 + (state >> 33) % 5_900);
    }
    let places: Vec<u64> = places.into_iter().collect();
    let loss = format!("33.5 ms\", loss = {{ packets = {places:?} }}");
    let path = listing("path.toml").replace("33.5 ms\"", &loss).replace("33.5", "5");
    let group = Group::with("acc_counter", &["10.128.0.0/9"])?;
    let seen = group.over(&path, COUNTER)?;
    let counts: Vec<u64> = serde_json::from_value(seen.clone())?;
    ensure(counts.iter().all(|count| *count == counts[0] && *count >= 100), seen.to_string())
}

fn nested() -> Checked {
    let group = Group::with("acc_above", &["127.0.0.0/8"])?;
    let below = group.path.join("below");
    fs::create_dir(&below)?;
    for path in [&group.path, &below, &mounted().ok_or("it is not mounted")?] {
        let path = path.to_string_lossy();
        let output = kernel(&["options", "--cgroup", &path, "--as", "acc_below", "--allow", "127.0.0.0/8"]);
        let said = stderr(&output);
        ensure(output.status.code() == Some(2), format!("{path}: {said}"))?;
        ensure(said.contains("acc_above has given the socket options to"), format!("{path}: {said}"))?;
    }
    // Those of the group above reach it.
    let seen = Group { path: below, name: "acc_below" }.python(SIX, &[])?;
    ensure(seen == json!([["EPERM", 0], [null, 1]]), seen.to_string())
}

/// What `bpftool` tells, as JSON; of a group without programs it says nothing.
fn bpftool(words: &[&str]) -> Result<Value, Failed> {
    let output = Command::new("bpftool").arg("--json").args(words).output()?;
    ensure(output.status.success(), format!("bpftool {words:?}: {}{}", stdout(&output), stderr(&output)))?;
    if output.stdout.trim_ascii().is_empty() {
        return Ok(Value::Null);
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The numbers of all maps, links and programs in the kernel that belong to what is pinned under this name.
fn in_the_kernel(name: &str) -> Result<Vec<(&'static str, u64)>, Failed> {
    let mut all = Vec::new();
    for entry in fs::read_dir(Path::new(PINS).join(name))? {
        let (file, path) = (entry.as_ref().map(|it| it.file_name()), entry.as_ref().map(|it| it.path()));
        let (Ok(file), Ok(path)) = (file, path) else { continue };
        let kind = if ["link", "set", "get"].iter().any(|it| file == *it) { "link" } else { "map" };
        let shown = bpftool(&[kind, "show", "pinned", &path.to_string_lossy()])?;
        all.push((kind, shown["id"].as_u64().ok_or_else(|| format!("{path:?}: {shown}"))?));
    }
    let maps: Vec<u64> = all.iter().filter(|(kind, _)| *kind == "map").map(|(_, id)| *id).collect();
    for program in bpftool(&["prog", "show"])?.as_array().into_iter().flatten() {
        let mut uses = program["map_ids"].as_array().into_iter().flatten().filter_map(Value::as_u64);
        if uses.any(|id| maps.contains(&id)) {
            all.push(("prog", program["id"].as_u64().unwrap_or(0)));
        }
    }
    Ok(all)
}

/// Waits until the kernel has freed them, which it does a moment later.
fn freed(all: &[(&'static str, u64)]) -> Checked {
    let patience = Instant::now() + Duration::from_secs(10);
    loop {
        let mut left = Vec::new();
        for kind in ["map", "link", "prog"] {
            let shown = bpftool(&[kind, "show"])?;
            let ids = shown.as_array().into_iter().flatten().filter_map(|it| it["id"].as_u64());
            left.extend(ids.map(|id| (kind, id)).filter(|it| all.contains(it)));
        }
        if left.is_empty() || Instant::now() > patience {
            return ensure(left.is_empty(), format!("of {all:?} there is {left:?}"));
        }
        sleep(Duration::from_millis(50));
    }
}

const HOLDS: &str = r#"
there = socket.create_server(("127.0.0.1", 0))
here = socket.create_connection(there.getsockname())
here.setsockopt(TCP, NONE, 1)
here.setsockopt(TCP, WINDOW, 20)
print(json.dumps([controller(here), controller(here)]), flush=True)
time.sleep(1000)
"#;

/// A program that is killed leaves no connection without control, and unloading leaves nothing.
fn nothing_left() -> Checked {
    let group = Group::with("acc_nothing", &["127.0.0.0/8"])?;
    let all = in_the_kernel("acc_nothing")?;
    let count = |wanted: &str| all.iter().filter(|(kind, _)| *kind == wanted).count();
    // Pinned are two lists, counters, two kinds of data, and what is asked for; three links. Six programs are
    // the controller's, two the options'.
    let counts = (count("map"), count("link"), count("prog"));
    ensure(counts == (6, 3, 8), format!("{counts:?}: {all:?}"))?;
    let program = format!("{COMMON}{HOLDS}");
    let mut held = group.command(&["python3", "-c", &program]).stdout(Stdio::piped()).spawn()?;
    let sockets = || -> Result<Value, Failed> {
        let all: Value = serde_json::from_str(&stdout(&kernel(&["list", "--json"])))?;
        let entry = all.as_array().into_iter().flatten().find(|entry| entry["name"] == "acc_nothing");
        let entry = entry.cloned().ok_or("it is not listed")?;
        ensure(entry["cgroup"] == group.path.to_string_lossy().as_ref(), entry.to_string())?;
        Ok(entry["sockets"].clone())
    };
    let until = |wanted: u64| -> Checked {
        let patience = Instant::now() + Duration::from_secs(10);
        while sockets()? != wanted && Instant::now() < patience {
            sleep(Duration::from_millis(50));
        }
        ensure(sockets()? == wanted, format!("{} sockets", sockets()?))
    };
    until(1)?;
    held.kill()?;
    held.wait()?;
    until(0)?;
    let output = kernel(&["unload", "acc_nothing"]);
    ensure(stdout(&output) == "acc_nothing is unloaded\n", stderr(&output))?;
    ensure(!Path::new(PINS).join("acc_nothing").exists(), "its pins are there")?;
    freed(&all)?;
    let seen = group.python(SIX, &[])?;
    let unknown = json!(["ENOPROTOOPT", "ENOPROTOOPT"]);
    ensure(seen == json!([unknown, unknown]), seen.to_string())
}

/// Whenever it is killed: all of it stands, or it is listed and can be unloaded, or there is nothing.
fn killed() -> Checked {
    let group = Group::new("acc_killed")?;
    let path = group.path.to_string_lossy().into_owned();
    let attached = || -> Result<bool, Failed> {
        let shown = bpftool(&["cgroup", "show", &path])?;
        Ok(shown.as_array().is_some_and(|all| !all.is_empty()))
    };
    for round in 0..24 {
        let mut loader = Command::new(env!("CARGO_BIN_EXE_ackclock"))
            .args(["kernel", "options", "--allow", "127.0.0.0/8", "--as", "acc_killed", "--cgroup"])
            .arg(&group.path)
            .stdout(Stdio::null())
            .spawn()?;
        sleep(Duration::from_millis(round * 2));
        loader.kill()?;
        loader.wait()?;
        let list = stdout(&kernel(&["list"]));
        if list.contains("acc_killed") {
            let output = kernel(&["unload", "acc_killed"]);
            ensure(output.status.code() == Some(0), format!("round {round}: {}", stderr(&output)))?;
        }
        let patience = Instant::now() + Duration::from_secs(10);
        while attached()? && Instant::now() < patience {
            sleep(Duration::from_millis(20));
        }
        ensure(!attached()?, format!("round {round}: a program is attached to the group"))?;
        ensure(!Path::new(PINS).join("acc_killed").exists(), format!("round {round}: pins are there"))?;
        let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")?;
        ensure(!names.contains("acc_killed"), format!("round {round}: the controller is there"))?;
    }
    Ok(())
}

/// A call is well below a microsecond. What can be compared between machines is the length of the programs:
/// they have no loop but that over the 16 bytes of a name.
fn short() -> Checked {
    let _group = Group::with("acc_short", &["127.0.0.0/8"])?;
    let listed = bpftool(&["prog", "show"])?;
    for name in ["ac_set_option", "ac_get_option"] {
        let program = listed.as_array().into_iter().flatten().find(|it| it["name"] == name);
        let program = program.ok_or_else(|| format!("{name} is not loaded"))?;
        let instructions = program["bytes_xlated"].as_u64().ok_or("no length")? / 8;
        ensure((50..700).contains(&instructions), format!("{name} has {instructions} instructions"))?;
    }
    Ok(())
}
