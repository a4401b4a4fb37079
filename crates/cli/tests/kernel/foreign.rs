//! The eBPF file system where others may write: what they put there is neither followed nor removed. Each
//! case has a mount namespace of its own.

use crate::common::{stderr, stdout};
use crate::{Checked, Named, ensure, through};
use libtest_mimic::Failed;
use std::fs;
use std::path::Path;
use std::process::Output;

pub(crate) const PRIVILEGED: &[Named] = &[
    ("a_file_system_of_our_own_is_for_root_alone", modes),
    ("what_others_put_in_our_place_is_not_followed", planted),
    ("an_emulation_leaves_what_others_planted", emulation),
    ("a_link_among_ours_is_removed_and_not_followed", link),
    ("a_directory_that_others_may_write_is_refused", writable),
];

/// A file system that anybody may write to, as its mount has it by default.
const OPEN: &str = "mount -t bpf -o mode=1777 bpf /sys/fs/bpf";
/// As somebody else.
const NOBODY: &str = "setpriv --reuid=65534 --regid=65534 --clear-groups";

/// Runs a script in a mount namespace; in it `$k` is `ackclock kernel` and `$a` is `ackclock`.
fn script(text: &str) -> std::io::Result<Output> {
    let text = format!("a=\"$0\"; k=\"$0 $1\"; {text}");
    through(&["unshare", "--mount", "sh", "-c", &text], &[])
}

/// A directory of somebody's with a file in it.
struct Victim(tempfile::TempDir);

impl Victim {
    fn new() -> Result<Victim, Failed> {
        let directory = tempfile::tempdir()?;
        fs::write(directory.path().join("precious"), "precious")?;
        Ok(Victim(directory))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Puts a link to it where a run that was killed would have left its directory.
    fn planted(&self) -> String {
        format!(
            "{OPEN} && {NOBODY} mkdir /sys/fs/bpf/ackclock && \
             {NOBODY} ln -s {} /sys/fs/bpf/ackclock/ace99999999_0",
            self.path().display()
        )
    }

    fn is_whole(&self) -> Checked {
        ensure(self.path().join("precious").is_file(), "the file is gone")
    }
}

fn modes() -> Checked {
    let output = script(
        "mount -t tmpfs none /sys/fs/bpf && $k load layered --as acc_modes >&2 && \
         stat -c %a /sys/fs/bpf /sys/fs/bpf/ackclock /sys/fs/bpf/ackclock/acc_modes && $k unload acc_modes >&2",
    )?;
    ensure(output.status.success(), stderr(&output))?;
    // The root of an eBPF file system is always sticky.
    ensure(stdout(&output) == "1700\n700\n700\n", stdout(&output))
}

/// A message without what breaks its lines.
fn said(output: &Output) -> String {
    stderr(output).chars().filter(|it| !it.is_whitespace() && !"│×".contains(*it)).collect()
}

fn planted() -> Checked {
    let victim = Victim::new()?;
    for line in ["list", "unload --all", "unload ace99999999_0", "load layered --as acc_foreign"] {
        let output = script(&format!("{} && $k {line}", victim.planted()))?;
        victim.is_whole()?;
        let said = said(&output);
        ensure(output.status.code() == Some(2) && stdout(&output).is_empty(), format!("{line}: {said}"))?;
        ensure(said.contains("/sys/fs/bpf/ackclockbelongstouser65534"), format!("{line}: {said}"))?;
        ensure(said.contains("(rm-r/sys/fs/bpf/ackclock)"), format!("{line}: {said}"))?;
    }
    // The whole directory may be a link, too.
    let linked = format!("{OPEN} && {NOBODY} ln -s {} /sys/fs/bpf/ackclock", victim.path().display());
    for line in ["list", "unload --all", "load layered --as acc_foreign"] {
        let output = script(&format!("{linked} && $k {line}"))?;
        victim.is_whole()?;
        let said = said(&output);
        ensure(output.status.code() == Some(2), format!("{line}: {said}"))?;
        ensure(said.contains("/sys/fs/bpf/ackclockisnodirectory"), format!("{line}: {said}"))?;
    }
    Ok(())
}

/// A scenario that takes half a second.
fn scenario(control: &str) -> String {
    format!(
        "duration = \"0.5 s\"\nmeasure = [\"0.1 s\", \"0.5 s\"]\n[topology.dumbbell]\n\
         bottleneck = {{ rate = \"10 Mbit/s\", delay = \"5 ms\" }}\n[[flows]]\ncontrol = \"{control}\"\n"
    )
}

/// One that needs no program goes on; one that does says why it cannot load it.
fn emulation() -> Checked {
    for (control, status) in [("reno", 0), ("layered", 2)] {
        let victim = Victim::new()?;
        let case = victim.path().join("case.toml");
        fs::write(&case, scenario(control))?;
        let output = script(&format!("{} && $a emulate {}", victim.planted(), case.display()))?;
        victim.is_whole()?;
        let said = said(&output);
        ensure(output.status.code() == Some(status), format!("{control}: {said}"))?;
        ensure(said.contains("belongstouser65534") == (status == 2), format!("{control}: {said}"))?;
    }
    Ok(())
}

fn link() -> Checked {
    let victim = Victim::new()?;
    let output = script(&format!(
        "{OPEN} && mkdir -m 755 /sys/fs/bpf/ackclock && ln -s {} /sys/fs/bpf/ackclock/acc_link && $k list && \
         $k unload acc_link && $k list",
        victim.path().display()
    ))?;
    victim.is_whole()?;
    let said = stdout(&output);
    ensure(output.status.success(), format!("{said}{}", stderr(&output)))?;
    ensure(said.contains("left over"), &*said)?;
    ensure(said.ends_with("what was left of acc_link is removed\nnothing is loaded\n"), &*said)
}

fn writable() -> Checked {
    for make in ["mkdir -m 777 /sys/fs/bpf/ackclock", "mkdir -m 775 /sys/fs/bpf/ackclock"] {
        let output = script(&format!("{OPEN} && {make} && $k load layered --as acc_open"))?;
        let said = said(&output);
        ensure(output.status.code() == Some(2), &*said)?;
        ensure(said.contains("maybewrittenbyothers(mode77"), &*said)?;
    }
    Ok(())
}
