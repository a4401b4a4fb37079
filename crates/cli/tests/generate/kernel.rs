//! Traffic without congestion control, with the kernel's controller that does nothing really loaded.

use crate::common::{Checked, Named, ensure};
use crate::done;
use crate::hosts::Hosts;
use assert_cmd::cargo::cargo_bin;
use libtest_mimic::Failed;
use std::process::Command;

pub(crate) const PRIVILEGED: &[Named] =
    &[("no_congestion_control_needs_the_policy_and_the_kernels_prefixes", no_control)];

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
