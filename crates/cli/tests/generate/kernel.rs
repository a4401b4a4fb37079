//! Traffic without congestion control, with the kernel's controller that does nothing really loaded.

use crate::common::{Checked, Named, ensure};
use crate::hosts::Hosts;
use crate::{Process, done};
use assert_cmd::cargo::cargo_bin;
use libtest_mimic::Failed;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Command;

pub(crate) const PRIVILEGED: &[Named] = &[
    ("no_congestion_control_needs_the_policy_and_the_kernels_prefixes", no_control),
    ("a_server_does_without_control_towards_its_list_only", served),
];

/// Why the kernel's controller cannot be loaded, if it cannot.
#[cfg(feature = "kernel")]
pub(crate) fn lack() -> Option<String> {
    let lacks = ackclock_kernel::load::check().into_iter();
    lacks.filter_map(|it| Some(format!("{}: {}", it.what, it.lack?.lines().next()?))).next()
}

#[cfg(not(feature = "kernel"))]
pub(crate) fn lack() -> Option<String> {
    Some("a build without the feature kernel".to_owned())
}

fn kernel(arguments: &[&str]) -> Result<String, Failed> {
    done(&Command::new(cargo_bin("ackclock")).arg("kernel").args(arguments).output()?)
}

/// `ac_none`, towards one host, until this is dropped.
struct Loaded;

impl Loaded {
    fn towards(host: &str) -> Result<Loaded, Failed> {
        kernel(&["load", "none", "--allow", host])?;
        Ok(Loaded)
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let _ = kernel(&["unload", "ac_none"]);
    }
}

fn no_control() -> Checked {
    ensure(!kernel(&["list"])?.contains("ac_none"), "somebody has loaded ac_none: unload it first")?;
    let mut hosts = Hosts::new(None)?.with_agents()?;
    hosts.script("nocc", &[("burst (blocksize=50000, period=10000, duration=0.5)", "tcp (nocc=1)")])?;
    let refused = |hosts: &Hosts, words: [&str; 2]| -> Checked {
        let output = hosts.on(0, &["generate", "nocc"]).output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure(!output.status.success() && words.iter().all(|word| said.contains(word)), said)
    };
    // Without the policy's permission, whatever the kernel gives.
    let loaded = Loaded::towards("10.77.0.3/32")?;
    refused(&hosts, ["refused_by_policy", "no_control"])?;
    hosts.agents_that("no_control = [\"10.77.0.3/32\"]")?;
    let said = hosts.generate("nocc", &[])?;
    let transfer = &said["transfers"][0];
    let (source, sink) = (&transfer["source"]["report"], &transfer["sink"]["report"]);
    ensure(source["control"] == "ac_none", format!("{source}"))?;
    ensure(source["bytes"] == 51 * 50_000 && sink["bytes"] == 51 * 50_000, format!("{said}"))?;
    drop(loaded);
    refused(&hosts, ["no_such_control", "ackclock kernel load none"])?;
    // Beyond the prefixes with which it was loaded, whatever the policy says.
    let _loaded = Loaded::towards("10.77.0.99/32")?;
    refused(&hosts, ["no_such_control", "reno"])?;
    // And beyond those of the policy, whatever the kernel gives.
    hosts.agents_that("no_control = [\"10.77.0.99/32\"]")?;
    refused(&hosts, ["refused_by_policy", "10.77.0.3"])
}

/// The controllers that a server on the first host has had towards the second host and towards the bridge,
/// with this list.
fn controls(hosts: &Hosts, allow: &str) -> Result<Vec<String>, Failed> {
    let arguments =
        ["serve", "www", "--listen", "10.77.0.2:8080", "--control", "none", "--allow", allow, "--json"];
    let mut server = Process(hosts.on(1, &arguments).spawn()?);
    let mut said = String::new();
    BufReader::new(server.0.stderr.take().ok_or("no standard error")?).read_line(&mut said)?;
    ensure(said.contains("10.77.0.2:8080"), said)?;
    for host in [2, 0] {
        let line = "exec 3<>/dev/tcp/10.77.0.2/8080; printf 'GET /file HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3";
        let mut client = Command::new("ip");
        let answer = done(&client.args(["netns", "exec", &hosts.names[host], "bash", "-c", line]).output()?)?;
        ensure(answer.ends_with("what is served\n"), answer)?;
    }
    let stop = Command::new("kill").arg("-INT").arg(server.0.id().to_string()).status()?;
    ensure(stop.success(), "it cannot be told")?;
    let mut log = String::new();
    server.0.stdout.take().ok_or("no standard output")?.read_to_string(&mut log)?;
    let control = |line: &str| -> Result<String, Failed> {
        let entry: Value = serde_json::from_str(line)?;
        Ok(entry["control"].as_str().unwrap_or_default().to_owned())
    };
    log.lines().map(control).collect()
}

/// Within both lists, the server's and the kernel's, a connection has the kernel's program. Outside the
/// server's list it has the system's controller, and outside the kernel's reno.
fn served() -> Checked {
    ensure(!kernel(&["list"])?.contains("ac_none"), "somebody has loaded ac_none: unload it first")?;
    let hosts = Hosts::new(None)?;
    fs::create_dir(hosts.place.path("www"))?;
    fs::write(hosts.place.path("www/file"), "what is served\n")?;
    let mut system = Command::new("ip");
    system.args(["netns", "exec", &hosts.names[1], "cat", "/proc/sys/net/ipv4/tcp_congestion_control"]);
    let system = done(&system.output()?)?;
    let _loaded = Loaded::towards("10.77.0.3/32")?;
    let told = controls(&hosts, "10.77.0.3/32")?;
    ensure(told == ["ac_none", system.trim()], format!("{told:?}, and the system has {system}"))?;
    let told = controls(&hosts, "10.77.0.0/24")?;
    ensure(told == ["ac_none", "reno"], format!("{told:?}"))
}
