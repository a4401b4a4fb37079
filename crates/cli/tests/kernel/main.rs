//! `ackclock kernel`, as a user meets it: what it prints, what it refuses and with which words, and what is
//! left.
//!
//! In a build without eBPF controllers it says how to get one with them. Where the kernel or the user's
//! rights do not allow loading, the tests that load are reported as ignored, and the reason is part of their
//! names.

#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "kernel")]
mod emulated;
#[cfg(feature = "kernel")]
mod foreign;
#[cfg(feature = "kernel")]
mod loading;
#[cfg(feature = "kernel")]
mod options;
#[cfg(feature = "kernel")]
mod refusals;

use libtest_mimic::{Arguments, Failed, Trial};
use std::process::Output;

type Checked = Result<(), Failed>;
/// A test's name, and the test.
#[cfg(feature = "kernel")]
type Named = (&'static str, fn() -> Checked);

fn main() {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1); // the names are the kernel's, and real time is for one at a time
    libtest_mimic::run(&arguments, trials()).exit();
}

#[cfg(not(feature = "kernel"))]
fn trials() -> Vec<Trial> {
    vec![Trial::test("without_the_feature_it_says_how_to_get_it", without)]
}

#[cfg(feature = "kernel")]
fn trials() -> Vec<Trial> {
    let lacks: Vec<String> = ackclock_kernel::load::check()
        .into_iter()
        .filter_map(|it| Some(format!("{}: {}", it.what, it.lack?.lines().next()?)))
        .collect();
    let trial = |&(name, test): &Named| match lacks.first() {
        None => Trial::test(name, test),
        Some(lack) => Trial::test(format!("{name} (skipped: {lack})"), test).with_ignored_flag(true),
    };
    let always = refusals::ALWAYS.iter().map(|&(name, test)| Trial::test(name, test));
    let privileged = [refusals::PRIVILEGED, foreign::PRIVILEGED, loading::PRIVILEGED, emulated::PRIVILEGED];
    let with_groups = options::PRIVILEGED.iter().map(|named| match options::mounted() {
        Some(_) => trial(named),
        None => {
            let lack = "control groups of version 2 are not mounted";
            Trial::test(format!("{} (skipped: {lack})", named.0), named.1).with_ignored_flag(true)
        }
    });
    always.chain(privileged.into_iter().flatten().map(trial)).chain(with_groups).collect()
}

/// `ackclock kernel` with these arguments.
fn kernel(arguments: &[&str]) -> Output {
    common::ackclock(&std::env::temp_dir(), &[&["kernel"], arguments].concat())
}

fn ensure(holds: bool, otherwise: impl Into<String>) -> Checked {
    if holds { Ok(()) } else { Err(otherwise.into().into()) }
}

#[cfg(not(feature = "kernel"))]
fn without() -> Checked {
    let options = ["options", "--cgroup", "/sys/fs/cgroup", "--allow", "192.0.2.0/24"];
    for arguments in
        [&["check"][..], &["list"], &["load", "layered"], &["unload", "--all"], &["cost"], &options]
    {
        let output = kernel(arguments);
        let said = common::stderr(&output);
        ensure(
            output.status.code() == Some(2) && output.stdout.is_empty(),
            format!("{arguments:?}: {said}"),
        )?;
        ensure(said.contains("--features kernel") && said.contains("clang"), said)?;
    }
    Ok(())
}

/// The same by way of another program, such as one that enters a namespace.
#[cfg(feature = "kernel")]
fn through(words: &[&str], arguments: &[&str]) -> std::io::Result<Output> {
    let mut command = std::process::Command::new(words[0]);
    command.args(&words[1..]).arg(env!("CARGO_BIN_EXE_ackclock")).arg("kernel").args(arguments);
    command.env("NO_COLOR", "1").env("LC_ALL", "C").env("TERM", "dumb").env("COLUMNS", "100");
    command.output()
}
