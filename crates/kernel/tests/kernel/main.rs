//! Tests in the running kernel: schemes are loaded, used by real connections, counted and unloaded. Nothing
//! stays.
//!
//! If the kernel or the user's rights do not allow this, every test is reported as ignored, with the reason
//! in its name.

mod outside;

use ackclock_cc::{Given, Settings, scheme};
use ackclock_kernel::Reach;
use ackclock_kernel::load::{self, LoadError, Request};
use libtest_mimic::{Arguments, Failed, Trial};
use rustix::net::sockopt::{set_tcp_congestion, tcp_congestion};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;

type Outcome = Result<(), Failed>;
/// The name of a test, and the test.
type Named = (&'static str, fn() -> Outcome);

/// Starts this program as the part of a test that runs in a network namespace.
const INNER: &str = "--inner";
/// Starts this program as a user without rights who tries to choose a scheme.
const CHOOSE: &str = "--choose";

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if let [_, flag, name] = &words[..]
        && flag == INNER
    {
        inner(name).unwrap_or_else(|failed| panic!("{failed:?}"));
        return;
    }
    if let [_, flag, name] = &words[..]
        && flag == CHOOSE
    {
        println!("{:?}", connection(name).map(drop));
        return;
    }
    if outside::inner(&words).unwrap_or_else(|failed| panic!("{failed:?}")) {
        return;
    }
    let lacks: Vec<String> = load::check()
        .into_iter()
        .filter_map(|it| Some(format!("{}: {}", it.what, it.lack?.lines().next()?)))
        .collect();
    let tests: &[Named] = &[
        ("every_program_carries_a_transfer", every_program_carries),
        ("parameterisations_live_side_by_side", side_by_side),
        ("none_is_reno_where_it_is_not_allowed", none_elsewhere),
        ("the_longest_allowed_prefix_is_found_in_both_families", both_families),
        ("others_may_choose_it_only_if_the_operator_says_so", everyone),
        ("the_first_window_is_as_asked", first_window),
        ("none_gives_a_live_connection_its_window", live_window),
        ("a_locked_route_does_not_take_none_outside", outside::locked),
        ("a_cgroups_program_does_not_take_none_outside", outside::chosen),
        ("what_is_no_longer_allowed_ends_at_the_next_cut", outside::revoked),
        ("a_confined_scheme_is_only_for_the_namespaces_named", outside::confined),
        ("losses_are_counted_as_cuts", losses),
        ("early_responses_are_counted", early_responses),
        ("loading_twice", twice),
        ("unloading_under_a_connection", unloading_in_use),
        ("a_leftover_is_listed_and_removed", leftover),
        ("names_of_the_kernel_are_refused", refused_names),
        ("a_program_that_the_verifier_refuses_leaves_nothing", refused_program),
        ("without_privilege", without_privilege),
    ];
    let trial = |&(name, test): &Named| match lacks.first() {
        None => Trial::test(name, test),
        Some(lack) => Trial::test(format!("{name} (skipped: {lack})"), test).with_ignored_flag(true),
    };
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1); // names and counters belong to the whole kernel
    libtest_mimic::run(&arguments, tests.iter().map(trial).collect()).exit();
}

/// A loaded scheme that is unloaded even if a test fails.
struct Loaded(String);

impl Drop for Loaded {
    fn drop(&mut self) {
        let _ = load::unload(&self.0);
    }
}

fn request(scheme_name: &str, name: &str, allow: &[&str]) -> Request {
    Request {
        name: Some(name.to_owned()),
        settings: Settings::defaults(scheme(scheme_name).expect("a known scheme")),
        allow: allow.iter().map(|prefix| prefix.parse().expect("a prefix")).collect(),
        initial_window: None,
        everyone: false,
        confined: false,
    }
}

fn loaded(request: &Request) -> Result<Loaded, LoadError> {
    load::load(request).map(Loaded)
}

fn entry(name: &str) -> Result<load::Entry, Failed> {
    load::list()?.into_iter().find(|entry| entry.name == name).ok_or_else(|| "it is not listed".into())
}

fn available(name: &str) -> bool {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    names.split_whitespace().any(|it| it == name)
}

fn gone(name: &str) -> Outcome {
    ensure(!available(name), "the kernel still has the name")?;
    ensure(!Path::new("/sys/fs/bpf/ackclock").join(name).exists(), "its pins are still there")
}

fn ensure(holds: bool, otherwise: &str) -> Outcome {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}

/// A connection over loopback with the controller `name`, and its receiver, which counts the bytes.
fn connection(name: &str) -> Result<(TcpStream, thread::JoinHandle<u64>), Failed> {
    connection_to("127.0.0.1", name)
}

fn connection_to(address: &str, name: &str) -> Result<(TcpStream, thread::JoinHandle<u64>), Failed> {
    start(address, Some(name))
}

/// The same with whatever controller it has by itself, if no name is given.
fn start(address: &str, name: Option<&str>) -> Result<(TcpStream, thread::JoinHandle<u64>), Failed> {
    let listener = TcpListener::bind((address, 0))?;
    let sender = TcpStream::connect(listener.local_addr()?)?;
    if let Some(name) = name {
        set_tcp_congestion(&sender, name)?;
    }
    let (mut receiver, _) = listener.accept()?;
    let reading = thread::spawn(move || {
        let (mut bytes, mut buffer) = (0, vec![0; 1 << 16]);
        while let Ok(read @ 1..) = receiver.read(&mut buffer) {
            bytes += read as u64;
        }
        bytes
    });
    Ok((sender, reading))
}

fn transfer(name: &str, bytes: usize) -> Outcome {
    let (mut sender, reading) = connection(name)?;
    sender.write_all(&vec![7; bytes])?;
    drop(sender);
    let read = reading.join().map_err(|_| "the receiver panicked")?;
    ensure(read == bytes as u64, &format!("{read} of {bytes} bytes arrived"))
}

fn every_program_carries() -> Outcome {
    for program in ackclock_kernel::programs() {
        let allow: &[&str] = match program.reach {
            Reach::Everyone => &[],
            Reach::Allowed => &["127.0.0.0/8"],
        };
        carries(program.name, "act_carries", allow)?;
    }
    Ok(())
}

fn carries(scheme_name: &str, name: &str, allow: &[&str]) -> Outcome {
    let it = loaded(&request(scheme_name, name, allow))?;
    transfer(name, 64 << 20)?;
    let entry = entry(name)?;
    let statistics = entry.statistics.ok_or("no statistics")?;
    ensure(
        entry.registered && entry.scheme.as_deref() == Some(scheme_name),
        "it is listed as something else",
    )?;
    ensure(statistics.opened >= 1, "no connection was counted")?;
    ensure(statistics.refused == 0, "the connection was handed to reno")?;
    drop(it);
    gone(name)
}

fn side_by_side() -> Outcome {
    let mut variable = request("layered", "act_variable", &[]);
    variable.settings.set("decrease", Given::Word("variable"))?;
    let fixed = loaded(&request("layered", "act_fixed", &[]))?;
    let variable = loaded(&variable)?;
    transfer("act_fixed", 1 << 20)?;
    transfer("act_variable", 1 << 20)?;
    for name in ["act_fixed", "act_variable"] {
        ensure(entry(name)?.statistics.is_some_and(|it| it.opened == 1), "one connection each is expected")?;
    }
    drop(fixed);
    gone("act_fixed")?;
    ensure(available("act_variable"), "unloading one has taken the other with it")?;
    drop(variable);
    gone("act_variable")
}

fn none_elsewhere() -> Outcome {
    let _it = loaded(&request("none", "act_none", &["192.0.2.0/24", "fd00::/8"]))?;
    let (sender, reading) = connection("act_none")?;
    let chosen = tcp_congestion(&sender)?;
    drop(sender);
    reading.join().map_err(|_| "the receiver panicked")?;
    ensure(chosen.trim_end_matches('\0') == "reno", &format!("the connection uses {chosen}"))?;
    let statistics = entry("act_none")?.statistics.ok_or("no statistics")?;
    ensure(statistics.refused == 1 && statistics.sockets() == 0, &format!("{statistics:?}"))
}

/// Two nested networks of one family are allowed, and one address of the other family.
fn both_families() -> Outcome {
    let cases: &[(&str, &[&str], &str)] = &[
        ("127.0.0.1", &["127.0.0.0/8", "127.0.0.0/30", "192.0.2.0/24"], "act_both"),
        ("127.0.0.1", &["127.0.0.2", "126.0.0.0/8", "::/0"], "reno"),
        ("::ffff:127.0.0.1", &["127.0.0.0/8"], "act_both"),
        ("::ffff:127.0.0.1", &["::/0"], "reno"),
        ("::1", &["::1/128"], "act_both"),
        ("::1", &["127.0.0.0/8", "::2/127"], "reno"),
        ("127.0.0.1", &["0.0.0.0/0"], "act_both"),
        ("::1", &["0.0.0.0/0"], "reno"),
    ];
    for (address, allow, expected) in cases {
        let _it = loaded(&request("none", "act_both", allow))?;
        let (sender, reading) = connection_to(address, "act_both")?;
        let chosen = tcp_congestion(&sender)?;
        drop(sender);
        reading.join().map_err(|_| "the receiver panicked")?;
        let chosen = chosen.trim_end_matches('\0');
        ensure(chosen == *expected, &format!("{address} with {allow:?}: {chosen}"))?;
    }
    Ok(())
}

/// The line of `ss` for the connection from the sender's port.
fn seen(sender: &TcpStream) -> Result<String, Failed> {
    let port = sender.local_addr()?.port();
    let output = Command::new("ss").args(["-tinH", "sport", "=", &format!(":{port}")]).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn everyone() -> Outcome {
    for everyone in [false, true] {
        let mut request = request("layered", "act_others", &[]);
        request.everyone = everyone;
        let _it = loaded(&request)?;
        let allowed = fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control")?;
        ensure(allowed.split_whitespace().any(|it| it == "act_others") == everyone, &allowed)?;
        let output = Command::new("setpriv")
            .args(["--bounding-set=-all", "--inh-caps=-all"])
            .arg(std::env::current_exe()?)
            .args([CHOOSE, "act_others"])
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure(said.contains(if everyone { "Ok(())" } else { "not permitted" }), &said)?;
    }
    Ok(())
}

fn first_window() -> Outcome {
    let mut request = request("layered", "act_window", &[]);
    request.initial_window = Some(77);
    let _it = loaded(&request)?;
    let (sender, reading) = connection("act_window")?;
    let seen = seen(&sender)?;
    drop(sender);
    reading.join().map_err(|_| "the receiver panicked")?;
    ensure(seen.contains("cwnd:77 "), &seen)
}

/// The thesis sets the window with TCP_SET_CWND. The same here: a connection changes to `none` with a cap,
/// and that is its window from then on.
fn live_window() -> Outcome {
    let (mut sender, reading) = connection("reno")?;
    sender.write_all(&vec![1; 1 << 20])?;
    let mut request = request("none", "act_live", &["127.0.0.0/8"]);
    request.settings.set("cap", Given::Number(1.0)).map_err(|error| error.to_string())?;
    let _it = loaded(&request)?;
    set_tcp_congestion(&sender, "act_live")?;
    let capped = seen(&sender)?;
    sender.write_all(&vec![1; 1 << 20])?;
    set_tcp_congestion(&sender, "reno")?;
    drop(sender);
    let read = reading.join().map_err(|_| "the receiver panicked")?;
    ensure(capped.contains("act_live") && capped.contains("cwnd:1 "), &capped)?;
    ensure(read == 2 << 20, &format!("{read} bytes arrived"))
}

/// Runs `ip` or `tc`.
fn ip(line: &str) -> Outcome {
    let mut words = line.split_whitespace();
    let output = Command::new(words.next().unwrap_or("ip")).args(words).output()?;
    ensure(output.status.success(), &format!("{line}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Removes the namespace, and with it the link.
struct Namespace;

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = ip("ip netns del ackclock-test");
    }
}

/// A network namespace whose loopback has 100 Mbit/s and room for 50 packets: 6 ms.
fn narrow() -> Result<Namespace, Failed> {
    let _ = ip("ip netns del ackclock-test"); // from an earlier run that was killed
    ip("ip netns add ackclock-test")?;
    let namespace = Namespace;
    ip("ip -n ackclock-test link set lo mtu 1500 up")?;
    ip("tc -n ackclock-test qdisc add dev lo root tbf rate 100mbit burst 16kb limit 75000")?;
    Ok(namespace)
}

/// The line of `ss` after a transfer in the namespace, and the counters of the scheme.
fn counted_there(name: &str) -> Result<(String, load::Statistics), Failed> {
    let output = Command::new("ip")
        .args(["netns", "exec", "ackclock-test"])
        .arg(std::env::current_exe()?)
        .args([INNER, name])
        .output()?;
    let seen = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure(output.status.success(), &format!("{seen}{}", String::from_utf8_lossy(&output.stderr)))?;
    Ok((seen, entry(name)?.statistics.ok_or("no statistics")?))
}

/// Every scheme that reacts to losses overflows the queue.
fn losses() -> Outcome {
    let _namespace = narrow()?;
    for (scheme_name, name) in
        [("layered", "act_layered"), ("compound", "act_compound"), ("none", "act_none")]
    {
        let _it = loaded(&request(scheme_name, name, &["127.0.0.0/8"]))?;
        let (seen, statistics) = counted_there(name)?;
        ensure(seen.contains("retrans:"), &format!("nothing was lost: {seen}"))?;
        // `none` does not react to losses. The others do.
        ensure((statistics.cuts > 0) == (scheme_name != "none"), &format!("{statistics:?}\n{seen}"))?;
        ensure(statistics.early == 0, &format!("{statistics:?}"))?;
    }
    Ok(())
}

/// PERT reacts to delay, whatever controller is underneath.
fn early_responses() -> Outcome {
    let _namespace = narrow()?;
    for over in ["reno", "layered"] {
        let mut request = request("pert", "act_pert", &[]);
        for (key, value) in [
            ("over", Given::Word(over)),
            ("min_delay", Given::Number(0.001)),
            ("max_delay", Given::Number(0.002)),
        ] {
            request.settings.set(key, value)?;
        }
        let _it = loaded(&request)?;
        let (seen, statistics) = counted_there("act_pert")?;
        ensure(statistics.early > 0, &format!("over {over}: {statistics:?}\n{seen}"))?;
    }
    Ok(())
}

/// The part in the namespace: sends 4 MB with the controller `name`, and prints the line of `ss`.
fn inner(name: &str) -> Outcome {
    let (mut sender, reading) = connection(name)?;
    sender.write_all(&vec![7; 4 << 20])?;
    println!("{}", seen(&sender)?);
    drop(sender);
    let read = reading.join().map_err(|_| "the receiver panicked")?;
    ensure(read == 4 << 20, &format!("{read} bytes arrived"))
}

fn twice() -> Outcome {
    let it = loaded(&request("layered", "act_twice", &[]))?;
    let again = load::load(&request("compound", "act_twice", &[]));
    ensure(matches!(again, Err(LoadError::Loaded { .. })), "it could be loaded twice")?;
    ensure(entry("act_twice")?.registered, "the second load has harmed the first")?;
    drop(it);
    gone("act_twice")
}

fn unloading_in_use() -> Outcome {
    let it = loaded(&request("layered", "act_in_use", &[]))?;
    let (mut sender, reading) = connection("act_in_use")?;
    sender.write_all(&[1; 1000])?;
    let unloaded = load::unload("act_in_use")?;
    ensure(unloaded.sockets == 1, &format!("{unloaded:?}"))?;
    gone("act_in_use")?;
    sender.write_all(&vec![2; 1 << 20])?; // it continues with its present state
    drop(sender);
    let read = reading.join().map_err(|_| "the receiver panicked")?;
    ensure(read == 1000 + (1 << 20), &format!("{read} bytes arrived"))?;
    std::mem::forget(it);
    Ok(())
}

fn leftover() -> Outcome {
    let it = loaded(&request("layered", "act_left", &[]))?;
    fs::remove_file("/sys/fs/bpf/ackclock/act_left/link")?; // as if a loader was killed before its last step
    for _ in 0..100 {
        if !available("act_left") {
            break;
        }
        thread::sleep(std::time::Duration::from_millis(10));
    }
    ensure(!entry("act_left")?.registered, "it passes for loaded")?;
    let again = load::load(&request("layered", "act_left", &[]));
    ensure(matches!(again, Err(LoadError::Leftover { .. })), "it could be loaded over the leftover")?;
    ensure(load::unload("act_left")?.leftover, "it was not recognised")?;
    std::mem::forget(it);
    gone("act_left")
}

fn refused_names() -> Outcome {
    let taken = load::load(&request("layered", "cubic", &[]));
    ensure(matches!(taken, Err(LoadError::Taken { .. })), "the kernel's own cubic was not respected")?;
    for name in ["", "sixteen_letters_", "Upper", "../x", "a.b", "a b"] {
        let refused = load::load(&request("layered", name, &[]));
        ensure(matches!(refused, Err(LoadError::Name { .. })), name)?;
    }
    let unknown = load::unload("act_nowhere");
    ensure(matches!(unknown, Err(LoadError::Unknown { .. })), "it unloaded what is not there")
}

/// The program writes what no controller may write. The message contains the verifier's own words, and the
/// name stays free.
fn refused_program() -> Outcome {
    static REFUSED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/refused.bpf.o"));
    let refused = load::load_object(&request("layered", "act_refused", &[]), REFUSED);
    let Err(error @ LoadError::Refused { .. }) = refused else {
        return Err(format!("it was not refused: {refused:?}").into());
    };
    let said = error.to_string();
    for expected in ["refused the program of layered", "Permission denied", "tcp_sock"] {
        ensure(said.contains(expected), &format!("it does not say {expected:?}: {said}"))?;
    }
    ensure(said.lines().count() < 20, &format!("too much of it: {said}"))?;
    gone("act_refused")?;
    let it = loaded(&request("layered", "act_refused", &[]))?;
    transfer("act_refused", 1 << 20)?;
    drop(it);
    gone("act_refused")
}

/// Runs this test program without capabilities. Every test is reported as ignored, none as passed.
fn without_privilege() -> Outcome {
    let output = Command::new("setpriv")
        .args(["--bounding-set=-all", "--inh-caps=-all"])
        .arg(std::env::current_exe()?)
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if text.is_empty() {
        return Err("setpriv cannot run this program".into());
    }
    ensure(text.contains("CAP_BPF") && text.contains(" 0 passed"), &text)
}
