//! Agents on two hosts of their own, in namespaces of the kernel.

use crate::common::{Checked, Named, ensure};
use crate::{Place, Process, done, text};
use assert_cmd::cargo::cargo_bin;
use libtest_mimic::Failed;
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

pub(crate) const PRIVILEGED: &[Named] = &[
    ("bursts_between_namespaces", bursts),
    ("failed_cycles_are_those_of_the_timetable", failed_cycles),
    ("a_killed_controller_stops_all_traffic", killed),
    ("a_killed_sink_stops_its_traffic", sink_killed),
    ("a_host_that_vanishes_is_sent_no_more", sink_vanished),
    ("a_thousand_connections_need_little_memory", thousand),
    ("a_client_of_iperf3_that_vanishes_is_sent_no_more", vanished),
];

/// Three namespaces: a controller, whose bridge connects two hosts.
pub(crate) struct Hosts {
    pub(crate) place: Place,
    pub(crate) names: [String; 3],
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
    pub(crate) fn new(shape: Option<&str>) -> Result<Hosts, Failed> {
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
    pub(crate) fn on(&self, host: usize, arguments: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[host]]).arg(cargo_bin("ackclock")).args(arguments);
        self.place.plain(command)
    }

    /// With agents on both hosts.
    pub(crate) fn with_agents(mut self) -> Result<Hosts, Failed> {
        let make = ["certificates", "certificates", "10.77.0.2", "10.77.0.3"];
        done(&self.place.ackclock(&make).output()?)?;
        self.agents_that("")?;
        Ok(self)
    }

    /// Starts the agents of both hosts anew, with more keys in their rule.
    pub(crate) fn agents_that(&mut self, more: &str) -> Checked {
        self.agents.clear();
        let rule = "[[allow]]\nwho = [\"controller\"]\ntowards = [\"10.77.0.0/24\"]\nduration = \"60 s\"\n";
        fs::write(self.place.path("policy.toml"), format!("{rule}{more}\n"))?;
        for (host, address) in [(1, "10.77.0.2"), (2, "10.77.0.3")] {
            let listen = format!("{address}:42010");
            let arguments = ["agent", "--listen", &listen, "--name", address, "--policy", "policy.toml"];
            let agent = self.place.listening(self.on(host, &arguments), &format!("agent{host}"))?;
            self.agents.push(agent);
        }
        Ok(())
    }

    /// A script of transfers from the first host to the second.
    pub(crate) fn script(&self, name: &str, transfers: &[(&str, &str)]) -> Checked {
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

    pub(crate) fn generate(&self, script: &str, arguments: &[&str]) -> Result<Value, Failed> {
        let arguments = [&["generate", script, "--json"], arguments].concat();
        Ok(serde_json::from_str(&done(&self.on(0, &arguments).output()?)?)?)
    }

    /// Bytes that the second host's device has received.
    pub(crate) fn received(&self) -> Result<u64, Failed> {
        self.count(2, "rx_bytes")
    }

    /// A counter of a host's device.
    fn count(&self, host: usize, name: &str) -> Result<u64, Failed> {
        let path = format!("/sys/class/net/eth0/statistics/{name}");
        let output = Command::new("ip").args(["netns", "exec", &self.names[host], "cat", &path]).output()?;
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

/// Its sockets are closed, so its host says that nobody is there any more.
fn sink_killed() -> Checked {
    sink_goes(|hosts| Ok(hosts.agents[1].0.kill()?))
}

/// Its host says nothing any more. Over UDP its consent runs out; over TCP nothing is acknowledged.
fn sink_vanished() -> Checked {
    sink_goes(|hosts| must(&format!("ip -n {} link set eth0 down", hosts.names[2])))
}

/// The sinks of both protocols go in the middle of a test. The source's device says when nothing is sent any
/// more, and the controller says why.
fn sink_goes(go: impl FnOnce(&mut Hosts) -> Checked) -> Checked {
    let mut hosts = Hosts::new(None)?.with_agents()?;
    let transfers = [
        ("full (blocksize=1400, duration=60)", "udp (rate=\"20 Mbit/s\")"),
        ("full (duration=60)", "tcp (rate=\"20 Mbit/s\")"),
    ];
    hosts.script("long", &transfers)?;
    let mut controller = Process(hosts.on(0, &["generate", "long", "--json"]).spawn()?);
    let (begun, idle) = (Instant::now(), hosts.received()?);
    while hosts.received()? < idle + 3_000_000 {
        ensure(begun.elapsed() < Duration::from_secs(30), "nothing is sent")?;
        sleep(Duration::from_millis(20));
    }
    go(&mut hosts)?;
    // Consent lasts for 1.5 s. The rest is for a busy machine.
    sleep(Duration::from_secs(3));
    let after = hosts.count(1, "tx_bytes")?;
    sleep(Duration::from_secs(1));
    let later = hosts.count(1, "tx_bytes")?;
    // Answers to the controller, and now and then a segment once more. Both transfers would be 5 MB.
    ensure(later - after < 50_000, format!("{} bytes in the fourth second", later - after))?;
    let mut said = String::new();
    controller.0.stdout.take().ok_or("standard output is not there")?.read_to_string(&mut said)?;
    ensure(!controller.0.wait()?.success(), said.clone())?;
    let said: Value = serde_json::from_str(&said)?;
    for transfer in said["transfers"].as_array().ok_or("transfers")? {
        let why = transfer["failed"]["error"].as_str().unwrap_or_default();
        ensure(["no_consent", "connection"].contains(&why), format!("{transfer}"))?;
    }
    Ok(())
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
    let mut why = String::new();
    if let Some(mut said) = run.0.stderr.take() {
        said.read_to_string(&mut why)?;
    }
    ensure(run.0.wait()?.success(), format!("it failed: {why}"))?;
    println!("{most} KiB");
    ensure(most < 100 * 1024, format!("{most} KiB"))
}

/// Its host says nothing any more, not even that nobody is there. The server's kernel asks once a second.
fn vanished() -> Checked {
    let hosts = Hosts::new(None)?;
    fs::write(hosts.place.path("policy.toml"), "[iperf3]\ntowards = [\"10.77.0.0/24\"]\n")?;
    let arguments = ["agent", "--iperf3", "--listen", "10.77.0.2:0", "--policy", "policy.toml"];
    let _server = hosts.place.listening(hosts.on(1, &arguments), "server")?;
    let arguments = ["generate", "--to", "iperf3://10.77.0.2", "-u", "-R", "-b", "20 Mbit/s", "-t", "60 s"];
    let mut client = Process(hosts.on(2, &arguments).spawn()?);
    let begun = Instant::now();
    while hosts.received()? < 1_000_000 {
        ensure(begun.elapsed() < Duration::from_secs(30), "nothing is sent")?;
        sleep(Duration::from_millis(20));
    }
    must(&format!("ip -n {} link set eth0 down", hosts.names[2]))?;
    sleep(Duration::from_secs(7));
    let after = hosts.count(1, "tx_bytes")?;
    sleep(Duration::from_secs(2));
    let later = hosts.count(1, "tx_bytes")?;
    // 20 Mbit/s would be 5 MB.
    ensure(later - after < 5_000, format!("{} bytes in two seconds", later - after))?;
    // The client, too, has noticed that its server is gone.
    let begun = Instant::now();
    while client.0.try_wait()?.is_none() {
        ensure(begun.elapsed() < Duration::from_secs(30), "the client waits for its server")?;
        sleep(Duration::from_millis(50));
    }
    ensure(!client.0.wait()?.success(), "a test without its end")
}
