//! `ackclock generate`, `agent` and `certificates` as programs, between namespaces of the kernel.

mod common;

use assert_cmd::cargo::cargo_bin;
use common::{Checked, Named, ensure, in_real_time};
use libtest_mimic::Failed;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn main() {
    let always: &[Named] = &[
        ("the_first_script_of_the_page_runs", first),
        ("the_scripts_of_the_thesis_make_sense", thesis),
        ("wrong_use_is_explained", wrong_use),
        ("keys_are_private_and_nothing_is_replaced", keys),
    ];
    let privileged: &[Named] = &[
        ("bursts_between_namespaces", bursts),
        ("failed_cycles_are_those_of_the_timetable", failed_cycles),
        ("a_killed_controller_stops_all_traffic", killed),
        ("a_thousand_connections_need_little_memory", thousand),
    ];
    let with_iperf3: &[Named] = &[
        ("clients_of_iperf3_are_served", iperf3_clients),
        ("servers_of_iperf3_are_driven", iperf3_servers),
        ("several_clients_at_once_and_garbage_in_between", iperf3_several),
    ];
    let mut always = always.to_vec();
    match Command::new("iperf3").arg("--version").output() {
        Ok(_) => always.extend(with_iperf3),
        Err(error) => {
            let names: Vec<&str> = with_iperf3.iter().map(|&(name, _)| name).collect();
            eprintln!("SKIPPED: iperf3 ({error}; make tools installs it): {}", names.join(", "));
        }
    }
    in_real_time(&always, privileged);
}

/// A directory of one's own.
struct Place(TempDir);

impl Place {
    fn new() -> Result<Place, Failed> {
        Ok(Place(tempfile::tempdir()?))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn plain(&self, mut command: Command) -> Command {
        command.current_dir(self.0.path()).env("NO_COLOR", "1").env("LC_ALL", "C").env("TERM", "dumb");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn ackclock(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin("ackclock"));
        command.args(arguments);
        self.plain(command)
    }

    /// Starts what listens, and waits until it says where.
    fn listening(&self, mut command: Command, log: &str) -> Result<Process, Failed> {
        let child = command.stderr(fs::File::create(self.path(log))?).spawn()?;
        let process = Process(child);
        let begun = Instant::now();
        while !fs::read_to_string(self.path(log))?.contains("listens on") {
            ensure(begun.elapsed() < Duration::from_secs(20), fs::read_to_string(self.path(log))?)?;
            sleep(Duration::from_millis(5));
        }
        Ok(process)
    }
}

/// A process that does not outlive its test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn done(output: &Output) -> Result<String, Failed> {
    let (said, errors) = text(output);
    ensure(output.status.success(), format!("{said}\n{errors}"))?;
    Ok(said)
}

/// A script of the page: its code block that begins with this line.
fn of_page(line: &str) -> Result<String, Failed> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/generate.md");
    let page = fs::read_to_string(page)?;
    let block = page.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut found = block.filter(|block| block.starts_with(line));
    found.next().map(str::to_owned).ok_or_else(|| format!("the page has no block {line}").into())
}

/// The port of the page is the usual one, which another agent of this machine may have.
fn first() -> Checked {
    let place = Place::new()?;
    done(&place.ackclock(&["certificates", "certificates", "localhost"]).output()?)?;
    let agent = place.ackclock(&["agent", "--listen", "127.0.0.1:24310"]);
    let _agent = place.listening(agent, "agent")?;
    let script =
        of_page("cluster {")?.replace("test localhost", "test localhost:24310").replace("42015", "24315");
    fs::write(place.path("first.netspec"), script)?;
    let check = done(&place.ackclock(&["generate", "first.netspec", "--check"]).output()?)?;
    ensure(check.contains("51328000 bytes at 204.80 Mbit/s"), check)?;
    let said = done(&place.ackclock(&["generate", "first.netspec"]).output()?)?;
    ensure(said.matches("51328000").count() == 2, said)?;
    // The same script again: the ports are free at once.
    let said = done(&place.ackclock(&["generate", "first.netspec", "--json", "--out", "out"]).output()?)?;
    let said: Value = serde_json::from_str(&said)?;
    let kept: Value = serde_json::from_str(&fs::read_to_string(place.path("out/generate.json"))?)?;
    ensure(said == kept && said["transfers"][0]["failed"].is_null(), format!("{said}"))
}

fn thesis() -> Checked {
    let place = Place::new()?;
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/generate");
    let mut count = 0;
    for script in fs::read_dir(scripts)? {
        let path = script?.path();
        let mut command = place.ackclock(&["generate", "--check", "--json"]);
        let said = done(&command.arg(&path).output()?)?;
        let said: Value = serde_json::from_str(&said)?;
        ensure(said["transfers"].as_array().is_some_and(|it| !it.is_empty()), format!("{said}"))?;
        count += 1;
    }
    ensure(count >= 3, "the scripts are gone")
}

fn wrong_use() -> Checked {
    let place = Place::new()?;
    fs::write(place.path("bad.netspec"), "cluster {\n  test a { type = brust; protocol = tcp; }\n}\n")?;
    let good = "cluster { test localhost:24311 { type = full; protocol = tcp; peer = localhost:24315; } test \
                localhost:24311 { type = sink; protocol = tcp; own = localhost:24315; } }";
    fs::write(place.path("good.netspec"), good)?;
    fs::write(place.path("policy.toml"), "[[allow]]\nwho = []\n")?;
    let cases: &[(&[&str], &str)] = &[
        (&["generate", "nowhere"], "No such file"),
        (&["generate", "bad.netspec"], "bad.netspec:2:19"),
        (&["generate", "bad.netspec"], "burst"),
        (&["generate", "good.netspec"], "ackclock certificates"),
        (&["agent"], "ackclock certificates"),
        (&["agent", "--policy", "policy.toml"], "towards"),
        (&["certificates", "c", "../a"], "no name"),
        (&["certificates", "c", "a", "a"], "already"),
    ];
    for (arguments, wanted) in cases {
        let output = place.ackclock(arguments).output()?;
        let (said, errors) = text(&output);
        let told = output.status.code() == Some(2) && said.is_empty() && errors.contains(wanted);
        ensure(told, format!("{arguments:?}: {errors}"))?;
    }
    done(&place.ackclock(&["certificates", "certificates", "localhost"]).output()?)?;
    let output = place.ackclock(&["generate", "good.netspec"]).output()?;
    ensure(
        output.status.code() == Some(2) && text(&output).1.contains("is the agent running"),
        text(&output).1,
    )
}

fn keys() -> Checked {
    let place = Place::new()?;
    let made = done(&place.ackclock(&["certificates", "c", "a.example"]).output()?)?;
    ensure(made.lines().count() == 6, made)?;
    for name in ["ca.key", "controller.key", "a.example.key"] {
        let mode = fs::metadata(place.path("c").join(name))?.permissions().mode();
        ensure(mode & 0o777 == 0o600, format!("{name}: {mode:o}"))?;
    }
    let before = fs::read(place.path("c/ca.pem"))?;
    let again = place.ackclock(&["certificates", "c", "a.example"]).output()?;
    ensure(again.status.code() == Some(2) && text(&again).1.contains("already"), text(&again).1)?;
    let more = done(&place.ackclock(&["certificates", "c", "b.example", "--user", "bob"]).output()?)?;
    ensure(more.lines().count() == 4 && fs::read(place.path("c/ca.pem"))? == before, more)
}

/// Three namespaces: a controller, whose bridge connects two hosts.
struct Hosts {
    place: Place,
    names: [String; 3],
    agents: Vec<Process>,
}

/// Runs a program; its failure is the test's.
fn must(line: &str) -> Checked {
    let words: Vec<&str> = line.split_whitespace().collect();
    let output = Command::new(words[0]).args(&words[1..]).output()?;
    ensure(output.status.success(), format!("{line}: {}", text(&output).1))
}

impl Hosts {
    /// The namespaces with their devices. `shape`: what `tc` says about the device of the first host.
    fn new(shape: Option<&str>) -> Result<Hosts, Failed> {
        let number = std::process::id();
        let names = ["c", "a", "b"].map(|name| format!("acgen-{number}-{name}"));
        let hosts = Hosts { place: Place::new()?, names, agents: Vec::new() };
        let [c, a, b] = &hosts.names;
        for name in &hosts.names {
            must(&format!("ip netns add {name}"))?;
            must(&format!("ip -n {name} link set lo up"))?;
        }
        must(&format!("ip -n {c} link add bridge type bridge"))?;
        must(&format!("ip -n {c} address add 10.77.0.1/24 dev bridge"))?;
        must(&format!("ip -n {c} link set bridge up"))?;
        for (host, port, address) in [(a, "pa", 2), (b, "pb", 3)] {
            must(&format!("ip -n {c} link add {port} type veth peer name eth0 netns {host}"))?;
            must(&format!("ip -n {c} link set {port} master bridge up"))?;
            must(&format!("ip -n {host} address add 10.77.0.{address}/24 dev eth0"))?;
            must(&format!("ip -n {host} link set eth0 up"))?;
        }
        if let Some(shape) = shape {
            must(&format!("ip netns exec {a} tc qdisc add dev eth0 root {shape}"))?;
        }
        Ok(hosts)
    }

    /// A command of the program on a host: 0 the controller's, 1 and 2 the agents'.
    fn on(&self, host: usize, arguments: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[host]]).arg(cargo_bin("ackclock")).args(arguments);
        self.place.plain(command)
    }

    /// With agents on both hosts.
    fn with_agents(mut self) -> Result<Hosts, Failed> {
        let make = ["certificates", "certificates", "10.77.0.2", "10.77.0.3"];
        done(&self.place.ackclock(&make).output()?)?;
        let policy = "[[allow]]\nwho = [\"controller\"]\ntowards = [\"10.77.0.0/24\"]\nduration = \"60 s\"\n";
        fs::write(self.place.path("policy.toml"), policy)?;
        for (host, address) in [(1, "10.77.0.2"), (2, "10.77.0.3")] {
            let listen = format!("{address}:42010");
            let arguments = ["agent", "--listen", &listen, "--name", address, "--policy", "policy.toml"];
            let agent = self.place.listening(self.on(host, &arguments), &format!("agent{host}"))?;
            self.agents.push(agent);
        }
        Ok(self)
    }

    /// A script of transfers from the first host to the second.
    fn script(&self, name: &str, transfers: &[(&str, &str)]) -> Checked {
        let mut text = "cluster {\n".to_owned();
        for (number, (kind, protocol)) in transfers.iter().enumerate() {
            let port = 42015 + number;
            text += &format!(
                "test 10.77.0.2 {{ type = {kind}; protocol = {protocol}; peer = 10.77.0.3:{port}; }}\ntest 10.77.0.3 \
                 {{ type = sink (blocksize=131072); protocol = {}; own = 10.77.0.3:{port}; }}\n",
                protocol.split('(').next().unwrap_or(protocol)
            );
        }
        Ok(fs::write(self.place.path(name), text + "}\n")?)
    }

    fn generate(&self, script: &str, arguments: &[&str]) -> Result<Value, Failed> {
        let arguments = [&["generate", script, "--json"], arguments].concat();
        Ok(serde_json::from_str(&done(&self.on(0, &arguments).output()?)?)?)
    }

    /// Bytes that the second host's device has received.
    fn received(&self) -> Result<u64, Failed> {
        let path = "/sys/class/net/eth0/statistics/rx_bytes";
        let output = Command::new("ip").args(["netns", "exec", &self.names[2], "cat", path]).output()?;
        Ok(done(&output)?.trim().parse()?)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        self.agents.clear();
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

/// Appendices A.2 and A.4 of the thesis: 401 bursts, 51,328,000 bytes.
fn bursts() -> Checked {
    let hosts = Hosts::new(None)?.with_agents()?;
    let kind = "burst (blocksize=128000, period=5000, duration=2)";
    hosts.script("burst", &[(kind, "tcp (window=1048576)")])?;
    let said = hosts.generate("burst", &[])?;
    let transfer = &said["transfers"][0];
    let (source, sink) = (&transfer["source"]["report"], &transfer["sink"]["report"]);
    ensure(source["bursts"]["written"] == 401 && source["bursts"]["due"] == 401, format!("{source}"))?;
    ensure(source["bytes"] == 51_328_000 && sink["bytes"] == 51_328_000, format!("{source} {sink}"))
}

/// A path of 50 Mbit/s cannot carry bursts of 102.4 Mbit/s: most cycles fail. Their number is that which the
/// simulator's timetable finds for the same times of writing.
fn failed_cycles() -> Checked {
    let hosts = Hosts::new(Some("tbf rate 50mbit burst 64kb latency 20ms"))?.with_agents()?;
    let kind = "burst (blocksize=128000, period=10000, duration=1, stamps=100000, buffer=262144)";
    hosts.script("burst", &[(kind, "tcp")])?;
    let said = hosts.generate("burst", &["--out", "out"])?;
    let source = &said["transfers"][0]["source"]["report"];
    ensure(source["bytes"] == 101 * 128_000, format!("{source}"))?;
    let stamps = fs::read_to_string(hosts.place.path("out/1-source.csv"))?;
    let mut ends: Vec<f64> = Vec::new();
    for line in stamps.lines().skip(1) {
        let (time, bytes) = line.split_once(',').ok_or("a line of the table")?;
        if bytes.parse::<u64>()? >= 128_000 * (ends.len() as u64 + 1) {
            ends.push(time.parse()?);
        }
    }
    ensure(ends.len() == 101, format!("{} bursts", ends.len()))?;
    let (every, mut begins, mut failed) = (0.01, 0_u64, 0_u64);
    for end in ends {
        // The first period that does not begin before the burst is written.
        let over = (end / every).ceil() as u64;
        failed += over.saturating_sub(begins + 1);
        begins = over.max(begins + 1);
    }
    let counted = source["bursts"]["failed_cycles"].as_u64().ok_or("a count")?;
    ensure(
        failed > 50 && counted == failed,
        format!("{counted} failed cycles, by the times of writing {failed}"),
    )
}

fn killed() -> Checked {
    let hosts = Hosts::new(None)?.with_agents()?;
    let transfers = [
        ("full (duration=30)", "tcp (rate=\"200 Mbit/s\")"),
        ("full (blocksize=1400, duration=30)", "udp (rate=\"50 Mbit/s\")"),
        ("burst (blocksize=1400, repeats=20, period=10000, duration=30)", "udp"),
    ];
    hosts.script("long", &transfers)?;
    let mut controller = Process(hosts.on(0, &["generate", "long"]).spawn()?);
    let begun = Instant::now();
    let idle = hosts.received()?;
    while hosts.received()? < idle + 10_000_000 {
        ensure(begun.elapsed() < Duration::from_secs(20), "nothing is sent")?;
        sleep(Duration::from_millis(20));
    }
    // `ip netns exec` becomes the program, so this is the controller itself.
    controller.0.kill()?;
    sleep(Duration::from_secs(2));
    let after = hosts.received()?;
    sleep(Duration::from_secs(1));
    let later = hosts.received()?;
    // A neighbour may still ask for an address.
    ensure(later - after < 5_000, format!("{} bytes in the third second", later - after))?;
    // The agents serve the next controller.
    hosts.script(
        "short",
        &[("full (duration=0.2)", "tcp"), ("burst (period=10000, duration=0.1, blocksize=500)", "udp")],
    )?;
    let said = hosts.generate("short", &[])?;
    ensure(said["transfers"][1]["sink"]["report"]["bytes"] == 11 * 500, format!("{said}"))
}

fn thousand() -> Checked {
    let hosts = Hosts::new(None)?.with_agents()?;
    let transfers = vec![("burst (blocksize=1000, period=100000, duration=2)", "tcp"); 1000];
    hosts.script("many", &transfers)?;
    let run = hosts.on(0, &["generate", "many", "--json"]).spawn()?;
    let mut most = 0;
    let mut run = Process(run);
    let begun = Instant::now();
    while run.0.try_wait()?.is_none() {
        ensure(begun.elapsed() < Duration::from_secs(120), "it does not end")?;
        for agent in &hosts.agents {
            let status = fs::read_to_string(format!("/proc/{}/status", agent.0.id()))?;
            let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
            let kib: u64 = resident.and_then(|it| it.split_whitespace().next()).ok_or("VmRSS")?.parse()?;
            most = most.max(kib);
        }
        // The pipe would fill up.
        if let Some(out) = run.0.stdout.take() {
            std::thread::spawn(move || std::io::copy(&mut { out }, &mut fs::File::create("/dev/null")?));
        }
        sleep(Duration::from_millis(50));
    }
    ensure(run.0.wait()?.success(), "it failed")?;
    println!("{most} KiB");
    ensure(most < 100 * 1024, format!("{most} KiB"))
}

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
        for stream in streams {
            let (sent, got) = (stream["sent"]["bytes"].as_u64(), stream["received"]["bytes"].as_u64());
            let same = sent == got || stream["lost"].as_i64() > Some(0) || flags.contains(&"-O");
            ensure(same && sent > Some(0), format!("{flags:?}: {stream}"))?;
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
