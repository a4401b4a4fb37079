//! Wrong use, missing rights, a kernel that lacks something: every message can be read in `snapshots/`.

use crate::common::{stderr, stdout};
use crate::{Checked, Named, ensure, kernel, through};
use std::fmt::Write;
use std::path::Path;
use std::process::Output;

/// These need no rights: everything is refused before the kernel is asked.
pub(crate) const ALWAYS: &[Named] = &[("wrong_use", wrong_use)];

/// These need rights that they then give up, or a name that is taken.
pub(crate) const PRIVILEGED: &[Named] = &[
    ("without_privilege", without_privilege),
    ("a_kernel_without_btf", without_btf),
    ("names_that_are_taken_or_unknown", names),
];

/// What was said, under the command that it was said to.
fn told(arguments: &[&str], output: &Output) -> String {
    let (out, err) = (stdout(output), stderr(output));
    let status = output.status.code().unwrap_or(-1);
    format!("## ackclock kernel {}\nexit status {status}\n{out}{err}\n", arguments.join(" "))
}

fn wrong_use() -> Checked {
    let cases: &[&[&str]] = &[
        &[],
        &["lod", "layered"],
        &["load"],
        &["load", "reno"],
        &["load", "layred"],
        &["load", "layered", "--set", "decrease"],
        &["load", "layered", "--set", "decreases=variable"],
        &["load", "layered", "--set", "decrease=varying"],
        &["load", "layered", "--set", "beta=1.5"],
        &["load", "layered", "--set", "beta=half"],
        &["load", "layered", "--set", "over.beta=0.5"],
        &["load", "compound", "--set", "window_reduction=2"],
        &["load", "pert", "--set", "curve=rem"],
        &["load", "pert", "--set", "curve=pi"],
        &["load", "pert", "--set", "over=cubic"],
        &["load", "pert", "--set", "over=pert"],
        &["load", "pert", "--set", "over=layered", "--set", "over.betta=0.5"],
        &["load", "pert", "--set", "over.decrease=variable"],
        &["load", "layered", "--allow", "10.0.0.0/8"],
        &["load", "none", "--allow", "10.1/8"],
        &["load", "none", "--allow", "10.0.0.0/33"],
        &["load", "none", "--allow", "fd00::/129"],
        &["load", "none", "--allow", "localhost"],
        &["load", "layered", "--as", "longer_than_fifteen"],
        &["load", "layered", "--as", "Upper"],
        &["load", "layered", "--as", "../x"],
        &["load", "layered", "--as", ""],
        &["load", "layered", "--initial-window", "0"],
        &["options", "--allow", "10.0.0.0/8"],
        &["options", "--cgroup", "/proc"],
        &["options", "--cgroup", "/proc", "--allow", "10.1/8"],
        &["options", "--cgroup", "/proc", "--allow", "10.0.0.0/8"],
        &["options", "--cgroup", "/nowhere", "--allow", "10.0.0.0/8"],
        &["options", "--cgroup", "/proc", "--allow", "10.0.0.0/8", "--as", "Upper"],
        &["unload"],
        &["unload", "ac_layered", "--all"],
        &["cost", "--rounds", "0"],
        &["cost", "--seconds", "0"],
        &["cost", "--seconds", "nan"],
        &["cost", "--seconds", "long"],
    ];
    let mut all = String::new();
    for arguments in cases {
        let output = kernel(arguments);
        let told = told(arguments, &output);
        ensure(output.status.code() == Some(2) && output.stdout.is_empty(), told.clone())?;
        write!(all, "{told}")?;
    }
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!("wrong_use", all) });
    Ok(())
}

fn without_privilege() -> Checked {
    let mut all = String::new();
    let lines: &[&[&str]] =
        &[&["load", "layered"], &["unload", "ac_layered"], &["cost", "--seconds", "0.1"], &["check"]];
    for &arguments in lines {
        let output = through(&["setpriv", "--bounding-set=-all", "--inh-caps=-all"], arguments)?;
        let expected = if arguments == ["check"] { 1 } else { 2 };
        let told = told(arguments, &output);
        ensure(output.status.code() == Some(expected), told.clone())?;
        write!(all, "{told}")?;
    }
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!("without_privilege", all) });
    Ok(())
}

/// In a mount namespace in which the kernel's description of its types is hidden.
fn without_btf() -> Checked {
    let hide = "mount -t tmpfs none /sys/kernel/btf && exec \"$0\" \"$@\"";
    let mut all = String::new();
    let lines: &[&[&str]] = &[&["load", "layered", "--as", "acc_no_btf"], &["check"]];
    for &arguments in lines {
        let output = through(&["unshare", "--mount", "sh", "-c", hide], arguments)?;
        let expected = if arguments == ["check"] { 1 } else { 2 };
        let told = told(arguments, &output);
        ensure(output.status.code() == Some(expected), told.clone())?;
        write!(all, "{told}")?;
    }
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!("without_btf", all) });
    ensure(!Path::new("/sys/fs/bpf/ackclock/acc_no_btf").exists(), "its pins are there")
}

fn names() -> Checked {
    let taken = kernel(&["load", "layered", "--as", "cubic"]);
    let said = stderr(&taken);
    ensure(taken.status.code() == Some(2), &*said)?;
    ensure(said.contains("a controller cubic that ackclock did not load") && said.contains("--as"), &*said)?;
    let unknown = kernel(&["unload", "acc_nowhere"]);
    let said = stderr(&unknown);
    ensure(unknown.status.code() == Some(2), &*said)?;
    ensure(said.contains("acc_nowhere is not loaded by ackclock") && said.contains("loaded"), &*said)
}
