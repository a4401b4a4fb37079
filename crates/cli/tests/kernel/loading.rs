//! Loading, listing, unloading.

use crate::common::{stderr, stdout};
use crate::{Checked, Named, ensure, kernel, through};
use libtest_mimic::Failed;
use rustix::net::sockopt::{set_tcp_congestion, tcp_congestion};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

pub(crate) const PRIVILEGED: &[Named] = &[
    ("load_list_unload", load_list_unload),
    ("several_parameterisations", several),
    ("loading_twice", twice),
    ("loading_four_times_at_once", at_once),
    ("unloading_by_the_schemes_name", by_scheme),
    ("what_is_loaded_is_told_as_json", documents),
    ("unloading_under_a_connection", under_a_connection),
    ("none_and_its_prefixes", prefixes),
    ("what_a_killed_loader_leaves", leftover),
    ("everything_at_once_in_a_file_system_of_its_own", all_at_once),
    ("cost", cost),
];

/// Where the pins are.
const PINS: &str = "/sys/fs/bpf/ackclock";

/// A name that is unloaded even when a test fails.
struct Name(&'static str);

impl Drop for Name {
    fn drop(&mut self) {
        if Path::new(PINS).join(self.0).exists() {
            kernel(&["unload", self.0]);
        }
    }
}

/// Loads `scheme` under a name; what was said.
fn load(scheme: &str, name: &'static str, more: &[&str]) -> Result<(Name, String), Failed> {
    let output = kernel(&[&["load", scheme, "--as", name], more].concat());
    ensure(output.status.code() == Some(0), stderr(&output))?;
    Ok((Name(name), stdout(&output)))
}

/// A line of the table, its columns parted by single blanks.
fn listed(name: &str) -> Option<String> {
    let table = stdout(&kernel(&["list"]));
    let line = table.lines().find(|line| line.split_whitespace().next() == Some(name))?;
    Some(line.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The entry of the document.
fn entry(name: &str) -> Result<Value, Failed> {
    let all: Value = serde_json::from_str(&stdout(&kernel(&["list", "--json"])))?;
    let found = all.as_array().into_iter().flatten().find(|entry| entry["name"] == name);
    found.cloned().ok_or_else(|| format!("{name} is not in {all}").into())
}

fn unload(name: &str) -> Result<String, Failed> {
    let output = kernel(&["unload", name]);
    ensure(output.status.code() == Some(0), stderr(&output))?;
    ensure(!Path::new(PINS).join(name).exists(), "its pins are still there")?;
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")?;
    ensure(!names.split_whitespace().any(|it| it == name), "the kernel still has the name")?;
    Ok(stdout(&output))
}

fn same(seen: &str, expected: &str) -> Checked {
    ensure(seen == expected, format!("{seen:?} instead of {expected:?}"))
}

/// A connection over loopback that uses `name`, and its other end.
fn connection(name: &str) -> Result<(TcpStream, TcpStream), Failed> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let sender = TcpStream::connect(listener.local_addr()?)?;
    set_tcp_congestion(&sender, name)?;
    Ok((sender, listener.accept()?.0))
}

fn load_list_unload() -> Checked {
    for scheme in ackclock_kernel::names() {
        let (_name, said) = load(scheme, "acc_one", &[])?;
        let chosen = "acc_one is loaded; a program chooses it with setsockopt(TCP_CONGESTION, \"acc_one\")\n";
        ensure(said.starts_with(chosen), &*said)?;
        same(&listed("acc_one").unwrap_or_default(), &format!("acc_one {scheme} loaded 0 0 0 0 0 0 0 0"))?;
        let entry = entry("acc_one")?;
        let expected = serde_json::json!({
            "name": "acc_one", "scheme": scheme, "registered": true, "sockets": 0, "opened": 0, "cuts": 0,
            "timeouts": 0, "marks": 0, "early_responses": 0, "refused": 0, "held": 0, "allow": [], "cgroup": null
        });
        ensure(entry == expected, entry.to_string())?;
        same(&unload("acc_one")?, "acc_one is unloaded\n")?;
        ensure(listed("acc_one").is_none(), "it is still listed")?;
    }
    Ok(())
}

fn several() -> Checked {
    let settings: &[(&'static str, &str, &[&str])] = &[
        ("acc_fixed", "layered", &[]),
        ("acc_variable", "layered", &["--set", "decrease=variable", "--set", "w_t=20"]),
        ("acc_nwr", "compound", &["--set", "window_reduction=false"]),
        ("acc_pert", "pert", &["--set", "max_delay=0.02"]),
        ("acc_pert_lay", "pert", &["--set", "over=layered", "--set", "over.decrease=variable"]),
    ];
    let mut loaded = Vec::new();
    for (name, scheme, more) in settings {
        loaded.push(load(scheme, name, more)?.0);
    }
    for (name, scheme, _) in settings {
        let _ends = connection(name)?;
        same(&listed(name).unwrap_or_default(), &format!("{name} {scheme} loaded 1 1 0 0 0 0 0 0"))?;
    }
    for (name, ..) in settings {
        same(&unload(name)?, &format!("{name} is unloaded\n"))?;
    }
    Ok(())
}

fn twice() -> Checked {
    let (_name, _) = load("layered", "acc_twice", &[])?;
    let again = kernel(&["load", "compound", "--as", "acc_twice"]);
    let said = stderr(&again);
    ensure(again.status.code() == Some(2) && again.stdout.is_empty(), &*said)?;
    ensure(said.contains("acc_twice is loaded already") && said.contains("kernel unload acc_twice"), &*said)?;
    let listed = listed("acc_twice").unwrap_or_default();
    ensure(listed.starts_with("acc_twice layered loaded"), &*listed)?;
    unload("acc_twice").map(drop)
}

/// One of them loads it, the others say why they do not, and it is loaded.
fn at_once() -> Checked {
    for round in 0..10 {
        let _name = Name("acc_race");
        let loading = || std::thread::spawn(|| kernel(&["load", "layered", "--as", "acc_race"]));
        let threads: Vec<_> = (0..4).map(|_| loading()).collect();
        let ended: Vec<_> = threads.into_iter().filter_map(|thread| thread.join().ok()).collect();
        let loaded = ended.iter().filter(|output| output.status.code() == Some(0)).count();
        let refused = ended.iter().filter(|it| stderr(it).contains("acc_race is loaded already")).count();
        let said: Vec<String> = ended.iter().map(stderr).collect();
        ensure((loaded, refused) == (1, 3), format!("round {round}: {loaded} loaded it: {said:?}"))?;
        let listed = listed("acc_race").unwrap_or_default();
        ensure(listed.starts_with("acc_race layered loaded"), format!("round {round}: {listed:?}"))?;
        same(&unload("acc_race")?, "acc_race is unloaded\n")?;
    }
    Ok(())
}

/// What was loaded without a name has that of its scheme for short, unless something else is called so.
fn by_scheme() -> Checked {
    if listed("ac_layered").is_some() {
        return Ok(()); // a user's, which must stay
    }
    let output = kernel(&["load", "layered"]);
    ensure(output.status.code() == Some(0), stderr(&output))?;
    let (_name, _) = load("compound", "layered", &[])?;
    same(&unload("layered")?, "layered is unloaded\n")?;
    ensure(listed("ac_layered").is_some(), "the other one is gone")?;
    same(&stdout(&kernel(&["unload", "layered"])), "ac_layered is unloaded\n")?;
    ensure(listed("ac_layered").is_none(), "it is still listed")
}

/// What is told as JSON.
fn documents() -> Checked {
    let name = "acc_json";
    let loaded = kernel(&["load", "none", "--as", name, "--allow", "192.0.2.0/24", "--json"]);
    let unloaded = kernel(&["unload", name, "--json"]);
    let loaded: Value = serde_json::from_str(&stdout(&loaded)).map_err(|_| stderr(&loaded))?;
    let unloaded: Value = serde_json::from_str(&stdout(&unloaded)).map_err(|_| stderr(&unloaded))?;
    let wanted = json!({ "name": name, "scheme": "none", "allow": ["192.0.2.0/24"] });
    ensure(loaded == wanted, format!("{loaded}"))?;
    let wanted = json!({ "unloaded": [{ "name": name, "leftover": false, "sockets": 0 }] });
    ensure(unloaded == wanted, format!("{unloaded}"))
}

fn under_a_connection() -> Checked {
    let (_name, _) = load("pert", "acc_in_use", &[])?;
    let (mut sender, mut receiver) = connection("acc_in_use")?;
    let said = unload("acc_in_use")?;
    same(&said, "acc_in_use is unloaded; open connections that keep it until they close: 1\n")?;
    sender.write_all(&[1; 1000])?; // it goes on with what it has
    let mut bytes = [0; 1000];
    receiver.read_exact(&mut bytes)?;
    let refused = connection("acc_in_use");
    ensure(refused.is_err(), "a new connection can choose it")
}

fn prefixes() -> Checked {
    let (_name, said) = load("none", "acc_none", &[])?;
    ensure(said.contains("no destination is allowed") && said.contains("--allow"), &*said)?;
    unload("acc_none")?;
    let allow = ["--allow", "127.0.0.0/8", "--allow", "fd00::/8", "--allow", "192.0.2.1"];
    let (_name, said) = load("none", "acc_none", &allow)?;
    ensure(!said.contains("no destination"), &*said)?;
    let (sender, _receiver) = connection("acc_none")?;
    same(tcp_congestion(&sender)?.trim_end_matches('\0'), "acc_none")?;
    let mut allowed: Vec<String> = serde_json::from_value(entry("acc_none")?["allow"].clone())?;
    allowed.sort();
    ensure(allowed == ["127.0.0.0/8", "192.0.2.1/32", "fd00::/8"], format!("{allowed:?}"))
}

/// Without its last step, and before any but the first.
fn leftover() -> Checked {
    let (_name, _) = load("layered", "acc_left", &[])?;
    fs::remove_file(Path::new(PINS).join("acc_left/link"))?;
    let other = Name("acc_left2");
    fs::create_dir(Path::new(PINS).join(other.0))?;
    std::thread::sleep(std::time::Duration::from_millis(300)); // the kernel drops the registration a moment later
    let state = |name| listed(name).unwrap_or_default();
    ensure(state("acc_left").starts_with("acc_left layered left over; unload it"), state("acc_left"))?;
    ensure(state("acc_left2").starts_with("acc_left2 left over; unload it"), state("acc_left2"))?;
    ensure(entry("acc_left")?["registered"] == false, "it passes for loaded")?;
    let again = kernel(&["load", "layered", "--as", "acc_left"]);
    let said = stderr(&again);
    ensure(again.status.code() == Some(2), &*said)?;
    ensure(said.contains("left over from a load that was interrupted"), &*said)?;
    ensure(said.contains("ackclock kernel unload acc_left"), &*said)?;
    same(&unload("acc_left")?, "what was left of acc_left is removed\n")?;
    same(&unload("acc_left2")?, "what was left of acc_left2 is removed\n")
}

/// What a user has loaded must not be unloaded here: in a mount namespace there is nothing. The first load
/// mounts the eBPF file system, because there is none.
fn all_at_once() -> Checked {
    let script = "mount -t tmpfs none /sys/fs/bpf && k=\"$0 $1\" && $k list && $k load layered --as acc_all1 && \
                  $k load none --as acc_all2 && mkdir /sys/fs/bpf/ackclock/acc_all3 && $k unload --all && $k list";
    let output = through(&["unshare", "--mount", "sh", "-c", script], &[])?;
    let said = format!("{}{}", stdout(&output), stderr(&output));
    ensure(output.status.code() == Some(0), &*said)?;
    let last: Vec<&str> = said.lines().rev().take(4).collect();
    let expected = [
        "nothing is loaded",
        "what was left of acc_all3 is removed",
        "acc_all2 is unloaded",
        "acc_all1 is unloaded",
    ];
    ensure(said.starts_with("nothing is loaded") && last == expected, &*said)
}

/// Short, so that the ratios mean nothing; but they are there, and nothing stays loaded.
fn cost() -> Checked {
    let output = kernel(&["cost", "--rounds", "1", "--seconds", "0.1", "--json"]);
    ensure(output.status.code() == Some(0), stderr(&output))?;
    let document: Value = serde_json::from_str(&stdout(&output))?;
    let schemes: Vec<&str> =
        document["schemes"].as_array().into_iter().flatten().filter_map(|it| it["scheme"].as_str()).collect();
    ensure(schemes == ackclock_kernel::names(), document.to_string())?;
    ensure(document["reno_bps"].as_f64().is_some_and(|bps| bps > 1e6), document.to_string())?;
    let list = stdout(&kernel(&["list"]));
    ensure(!list.lines().any(|line| line.starts_with("ace")), list)
}
