//! `ackclock send`, `receive` and `key` as programs: what arrives, what is said, and what is never shown.

mod common;

use assert_cmd::cargo::cargo_bin;
use common::{Checked, Named, ensure, in_real_time};
use libtest_mimic::Failed;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn main() {
    let always: &[Named] = &[
        ("files_arrive_and_tickets_stay_secret", arrive),
        ("a_wrong_ticket_opens_nothing", wrong_ticket),
        ("only_the_chosen_sender_is_let_in", only),
        ("a_key_is_private", private_key),
        ("wrong_use_is_explained", wrong_use),
        ("a_killed_sender_goes_on", killed_sender),
        ("a_killed_receiver_goes_on", killed_receiver),
        ("a_limit_of_the_system_is_explained", limit),
        ("a_trace_is_written", trace),
    ];
    let privileged: &[Named] =
        &[("a_full_disk_is_explained", full_disk), ("over_an_emulated_path", emulated)];
    in_real_time(always, privileged);
}

/// A directory with a place to send from, one to receive into, and no key of the user's.
struct Place(TempDir);

impl Place {
    fn new() -> Result<Place, Failed> {
        let place = Place(tempfile::tempdir()?);
        fs::create_dir(place.path("from"))?;
        fs::create_dir(place.path("to"))?;
        Ok(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, bytes: usize) -> Result<PathBuf, Failed> {
        let path = self.path("from").join(name);
        let content: Vec<u8> =
            (0..bytes as u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
        fs::write(&path, content)?;
        Ok(path)
    }

    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin("ackclock"));
        self.plain(command.args(arguments));
        command
    }

    fn plain(&self, command: &mut Command) {
        command.current_dir(self.0.path()).env("XDG_CONFIG_HOME", self.path("config"));
        command.env("NO_COLOR", "1").env("LC_ALL", "C").env("TERM", "dumb");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    }

    /// A receiver, once it listens: the process, its address, its ticket.
    fn receive(&self, arguments: &[&str]) -> Result<Receiving, Failed> {
        let mut base =
            vec!["receive", "--listen", "127.0.0.1:0", "--into", "to", "--ticket-file", "ticket", "--once"];
        base.extend(arguments);
        self.listening(self.program(&base))
    }

    fn listening(&self, mut command: Command) -> Result<Receiving, Failed> {
        let _ = fs::remove_file(self.path("ticket"));
        let log = fs::File::create(self.path("log"))?;
        let child = command.stderr(log).spawn()?;
        let begun = Instant::now();
        while !self.path("ticket").exists() {
            ensure(begun.elapsed() < Duration::from_secs(20), "the receiver does not listen")?;
            sleep(Duration::from_millis(5));
        }
        let said = fs::read_to_string(self.path("log"))?;
        let address = said.split_whitespace().find(|word| word.starts_with("127.0.0.1:"));
        let address = address.ok_or_else(|| Failed::from(format!("no address: {said}")))?.to_owned();
        Ok(Receiving { child, address, log: self.path("log") })
    }

    fn send(&self, paths: &[&Path], to: &str, arguments: &[&str]) -> Command {
        let mut command = self.program(&["send"]);
        command.args(paths).args([to, "--ticket-file", "ticket"]).args(arguments);
        command
    }

    fn arrived(&self, path: &Path) -> Checked {
        let there = self.path("to").join(path.file_name().unwrap_or_default());
        ensure(fs::read(&there).ok() == Some(fs::read(path)?), format!("{} is not the same", there.display()))
    }
}

struct Receiving {
    child: Child,
    address: String,
    log: PathBuf,
}

impl Receiving {
    /// Its exit status and what it said.
    fn end(mut self) -> Result<(Option<i32>, String, String), Failed> {
        let begun = Instant::now();
        while self.child.try_wait()?.is_none() {
            if begun.elapsed() > Duration::from_secs(60) {
                self.child.kill()?;
                return Err("the receiver does not end".into());
            }
            sleep(Duration::from_millis(5));
        }
        let output = self.child.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok((output.status.code(), said, fs::read_to_string(&self.log)?))
    }
}

fn text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// A message without the breaks and bars of its layout.
fn words(message: &str) -> String {
    message.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}

fn arrive() -> Checked {
    let place = Place::new()?;
    let (one, two) = (place.file("one", 200_000)?, place.file("two words", 0)?);
    let receiver = place.receive(&["--json"])?;
    let ticket = fs::read_to_string(place.path("ticket"))?;
    let secret = ticket.trim().rsplit('-').next().unwrap_or_default().to_owned();
    ensure(
        fs::metadata(place.path("ticket"))?.permissions().mode() & 0o077 == 0,
        "others may read the ticket",
    )?;
    let sender =
        place.send(&[&one, &two], &receiver.address, &["--json", "--max-rate", "5 Mbit/s"]).spawn()?;
    for id in [sender.id(), receiver.child.id()] {
        let line = fs::read(format!("/proc/{id}/cmdline"))?;
        ensure(!String::from_utf8_lossy(&line).contains(&secret), "the ticket is in a command line")?;
    }
    let output = sender.wait_with_output()?;
    let (said, errors) = text(&output);
    ensure(output.status.success(), errors.clone())?;
    let (status, received, log) = receiver.end()?;
    ensure(status == Some(0), log.clone())?;
    for shown in [&said, &errors, &received, &log] {
        ensure(
            !shown.contains(&secret) && !shown.contains("ackclock1-"),
            format!("the ticket is shown: {shown}"),
        )?;
    }
    let (said, received): (serde_json::Value, serde_json::Value) =
        (serde_json::from_str(&said)?, serde_json::from_str(&received)?);
    ensure(said["files"] == received["files"] && said["bytes"] == 200_000, format!("{said} {received}"))?;
    ensure(said["control"]["settings"]["reorder"] == 3, format!("{said}"))?;
    place.arrived(&one)?;
    place.arrived(&two)
}

fn wrong_ticket() -> Checked {
    let place = Place::new()?;
    let file = place.file("file", 10)?;
    let mut receiver = place.receive(&[])?;
    let mut other =
        place.program(&["receive", "--listen", "127.0.0.1:0", "--ticket-file", "other"]).spawn()?;
    let begun = Instant::now();
    while !place.path("other").exists() && begun.elapsed() < Duration::from_secs(20) {
        sleep(Duration::from_millis(5));
    }
    other.kill()?;
    other.wait()?;
    fs::rename(place.path("other"), place.path("ticket"))?;
    let output = place.send(&[&file], &receiver.address, &["--silence", "700 ms"]).output()?;
    let (_, errors) = text(&output);
    ensure(output.status.code() == Some(1) && errors.contains("does not answer"), errors)?;
    receiver.child.kill()?;
    receiver.child.wait()?;
    ensure(fs::read_dir(place.path("to"))?.count() == 0, "something was written")
}

fn only() -> Checked {
    let place = Place::new()?;
    let file = place.file("file", 10)?;
    let public = text(&place.program(&["key", "new"]).output()?).0;
    let receiver = place.receive(&["--from", public.trim()])?;
    let config = place.path("config");
    fs::rename(&config, place.path("hidden"))?;
    let stranger = place.send(&[&file], &receiver.address, &["--silence", "700 ms"]).output()?;
    ensure(stranger.status.code() == Some(1), "a stranger was let in")?;
    fs::rename(place.path("hidden"), &config)?;
    let output = place.send(&[&file], &receiver.address, &[]).output()?;
    ensure(output.status.success(), text(&output).1)?;
    ensure(receiver.end()?.0 == Some(0), "the receiver failed")?;
    place.arrived(&file)
}

fn private_key() -> Checked {
    let place = Place::new()?;
    let none = place.program(&["key", "show"]).output()?;
    ensure(none.status.code() == Some(2) && text(&none).1.contains("ackclock key new"), text(&none).1)?;
    let made = text(&place.program(&["key", "new"]).output()?).0;
    let path = place.path("config/ackclock/key");
    let private = fs::read_to_string(&path)?;
    ensure(fs::metadata(&path)?.permissions().mode() & 0o777 == 0o600, "its mode")?;
    let shown = place.program(&["key", "show"]).output()?;
    ensure(text(&shown).0 == made && made.trim() != private.trim() && made.trim().len() == 64, made.clone())?;
    let again = place.program(&["key", "new"]).output()?;
    ensure(again.status.code() == Some(2) && fs::read_to_string(&path)? == private, "it was replaced")?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644))?;
    let open = place.program(&["key", "show"]).output()?;
    ensure(open.status.code() == Some(2) && text(&open).1.contains("chmod 600"), text(&open).1)?;
    let replaced = place.program(&["key", "new", "--replace", "--json"]).output()?;
    ensure(replaced.status.success() && fs::read_to_string(&path)? != private, text(&replaced).1)
}

fn wrong_use() -> Checked {
    let place = Place::new()?;
    let file = place.file("file", 10)?;
    let name = file.to_str().ok_or("a name")?;
    fs::write(place.path("ticket"), "ackclock1-00")?;
    let ticket = format!("ackclock1-{}", "5ec0e7".repeat(23));
    let cases: &[(&[&str], &str)] = &[
        (&["send", name, "127.0.0.1:1", "--ticket-file", "ticket"], "no ticket"),
        (&["send", "nowhere", "127.0.0.1:1", "--ticket-file", "ticket"], "cannot be read"),
        (&["send", "/dev/null", "127.0.0.1:1", "--ticket-file", "ticket"], "device"),
        (&["send", "from", "127.0.0.1:1", "--ticket-file", "ticket"], "directory"),
        (&["send", name, "127.0.0.1", "--ticket-file", "ticket"], "HOST:PORT"),
        (&["send", name, "127.0.0.1:1", "--control", "reno"], "xrtp, tfrc"),
        (&["send", name, "127.0.0.1:1", "--control", "xrtp", "--set", "alpha=2"], "alpha=2"),
        (&["send", name, "127.0.0.1:1", "--control", "xrtp", "--set", "loss=perfect"], "no network tells"),
        (&["send", name, "127.0.0.1:1", "--max-rate", "5"], "--max-rate"),
        (&["send", name, &ticket], "a ticket on the command line"),
        (&["send", &ticket, name, "127.0.0.1:1"], "a ticket on the command line"),
        (&["receive", "--from", "abc"], "public key"),
        (&["receive", "--json"], "--ticket-file"),
        (&["receive", "--into", "ticket"], "directory of your own"),
    ];
    for (arguments, wanted) in cases {
        let output = place.program(arguments).output()?;
        let (said, errors) = text(&output);
        let told = output.status.code() == Some(2) && said.is_empty() && words(&errors).contains(wanted);
        ensure(!errors.contains("5ec0e7"), format!("{arguments:?} repeats the ticket"))?;
        ensure(told, format!("{arguments:?}: {errors}"))?;
    }
    Ok(())
}

/// Waits until so much of a file has arrived.
fn wait_for(part: &Path, bytes: u64) -> Checked {
    let begun = Instant::now();
    while fs::metadata(part).map_or(0, |metadata| metadata.len()) < bytes {
        ensure(begun.elapsed() < Duration::from_secs(30), "nothing arrives")?;
        sleep(Duration::from_millis(2));
    }
    Ok(())
}

const SLOW: &[&str] = &["--max-rate", "20 Mbit/s", "--silence", "1 s", "--resume"];

fn killed_sender() -> Checked {
    for moment in [1, 150_000, 900_000] {
        let place = Place::new()?;
        let file = place.file("file", 1_200_000)?;
        let receiver = place.receive(&["--silence", "1 s"])?;
        let mut sender = place.send(&[&file], &receiver.address, SLOW).spawn()?;
        wait_for(&place.path("to/file.ackclock.part"), moment)?;
        sender.kill()?;
        sender.wait()?;
        let (status, _, log) = receiver.end()?;
        ensure(status == Some(1) && log.contains("--resume"), format!("{status:?}: {log}"))?;
        let receiver = place.receive(&[])?;
        let output = place.send(&[&file], &receiver.address, &["--resume", "--json"]).output()?;
        ensure(output.status.success(), text(&output).1)?;
        let said: serde_json::Value = serde_json::from_str(&text(&output).0)?;
        let skipped = said["files"][0]["skipped"].as_u64();
        ensure(skipped >= Some(moment.min(1)), format!("nothing was kept: {said}"))?;
        ensure(receiver.end()?.0 == Some(0), "the receiver failed")?;
        place.arrived(&file)?;
    }
    Ok(())
}

fn killed_receiver() -> Checked {
    for moment in [1, 150_000, 900_000] {
        let place = Place::new()?;
        let file = place.file("file", 1_200_000)?;
        let mut receiver = place.receive(&[])?;
        let sender = place.send(&[&file], &receiver.address, SLOW).spawn()?;
        wait_for(&place.path("to/file.ackclock.part"), moment)?;
        receiver.child.kill()?;
        receiver.child.wait()?;
        let output = sender.wait_with_output()?;
        let errors = text(&output).1;
        ensure(output.status.code() == Some(1) && errors.contains("--resume"), errors)?;
        let receiver = place.receive(&[])?;
        let output = place.send(&[&file], &receiver.address, &["--resume"]).output()?;
        ensure(output.status.success(), text(&output).1)?;
        ensure(receiver.end()?.0 == Some(0), "the receiver failed")?;
        place.arrived(&file)?;
    }
    Ok(())
}

/// A receiver that a shell starts in this way.
fn receiver_in(place: &Place, before: &str) -> Result<Receiving, Failed> {
    let mut command = Command::new("sh");
    let line =
        format!("{before} exec \"$0\" receive --listen 127.0.0.1:0 --into to --ticket-file ticket --once");
    place.plain(command.args(["-c", &line]).arg(cargo_bin("ackclock")));
    place.listening(command)
}

/// Both ends say what happened and what to do; then a receiver with room goes on.
fn refused_by_the_disk(place: &Place, receiver: Receiving, what: &str) -> Checked {
    let file = place.path("from/file");
    let output = place.send(&[&file], &receiver.address, &[]).output()?;
    let (status, _, log) = receiver.end()?;
    for (status, said) in [(output.status.code(), text(&output).1), (status, log)] {
        let words = words(&said);
        ensure(status == Some(1) && words.contains(what) && words.contains("--resume"), said)?;
    }
    Ok(())
}

fn limit() -> Checked {
    let place = Place::new()?;
    let file = place.file("file", 600_000)?;
    // Blocks of 512 bytes.
    let receiver = receiver_in(&place, "trap '' XFSZ; ulimit -f 400;")?;
    refused_by_the_disk(&place, receiver, "larger than the receiver's system lets")?;
    let receiver = place.receive(&[])?;
    let output = place.send(&[&file], &receiver.address, &["--resume", "--json"]).output()?;
    let said: serde_json::Value = serde_json::from_str(&text(&output).0)?;
    ensure(said["files"][0]["skipped"].as_u64() > Some(0), format!("nothing was kept: {said}"))?;
    ensure(receiver.end()?.0 == Some(0), "the receiver failed")?;
    place.arrived(&file)
}

fn full_disk() -> Checked {
    let place = Place::new()?;
    place.file("file", 600_000)?;
    let mut command = Command::new("unshare");
    let line = "mount -t tmpfs -o size=200k none to && exec \"$0\" receive --listen 127.0.0.1:0 --into to \
                --ticket-file ticket --once";
    place.plain(command.args(["-m", "sh", "-c", line]).arg(cargo_bin("ackclock")));
    let receiver = place.listening(command)?;
    refused_by_the_disk(&place, receiver, "disk is full")
}

fn trace() -> Checked {
    let place = Place::new()?;
    let file = place.file("file", 300_000)?;
    let receiver = place.receive(&[])?;
    let arguments = ["--trace", "seen", "--max-rate", "5 Mbit/s", "--control", "tfrc"];
    let output = place.send(&[&file], &receiver.address, &arguments).output()?;
    ensure(output.status.success(), text(&output).1)?;
    ensure(receiver.end()?.0 == Some(0), "the receiver failed")?;
    let table = fs::read_to_string(place.path("seen/transfer.csv"))?;
    let rows: Vec<&str> = table.lines().collect();
    ensure(rows.len() > 3 && rows[0].starts_with("time_s,bytes,packets"), table.clone())?;
    ensure(rows.last().is_some_and(|row| row.contains(",300000,")), table.clone())?;
    ensure(fs::read_to_string(place.path("seen/rate.svg"))?.contains("Mbit/s"), "no picture")
}

fn emulated() -> Checked {
    let place = Place::new()?;
    let file = place.file("file", 400_000)?;
    let path = "name = \"a bad path\"\nduration = \"10 s\"\n[topology.dumbbell]\naccess = { rate = \"1 Gbit/s\", \
                delay = \"1 ms\" }\nbottleneck = { rate = \"10 Mbit/s\", delay = \"10 ms\", queue = { droptail = \
                \"1 bdp\" }, loss = 0.01 }\n";
    fs::write(place.path("path.toml"), path)?;
    let program = cargo_bin("ackclock");
    let serve = format!(
        "{} receive --once --listen {{receiver}}:4901 --into to --ticket-file ticket",
        program.display()
    );
    let line = format!(
        "while [ ! -e ticket ]; do sleep 0.05; done; exec {} send {} {{receiver}}:4901 --ticket-file ticket",
        program.display(),
        file.display()
    );
    let output =
        place.program(&["emulate", "path.toml", "--serve", &serve, "--", "sh", "-c", &line]).output()?;
    let (said, errors) = text(&output);
    ensure(output.status.success(), format!("{said}\n{errors}"))?;
    place.arrived(&file)
}
