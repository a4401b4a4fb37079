//! A proxy in hosts of an emulated path, alone and beside the kernel's own TCP.

use crate::common::{Checked, ensure};
use crate::place::ackclock;
use assert_cmd::cargo::cargo_bin;
use libtest_mimic::Failed;
use std::fs;

/// A path of 100 Mbit/s and 40 ms with an impairment.
fn path(impairment: &str) -> String {
    format!(
        "name = \"a path\"\nduration = \"120 s\"\nsegment = {{ payload = \"1448 B\", header = \"52 B\" }}\n\
         [topology.dumbbell]\n\
         bottleneck = {{ rate = \"100 Mbit/s\", delay = \"20 ms\", queue = {{ droptail = \"1 bdp\" }}, {impairment} }}\n"
    )
}

/// Who sends.
enum Sender<'a> {
    /// The kernel, with this controller, after a line of a shell.
    Kernel(&'a str, &'a str),
    /// A proxy beside the client, with these arguments.
    Proxy(&'a str),
    /// A proxy in front of the server, which sends.
    Front(&'a str),
}

/// Goodput at the receiver, bit/s. What arrives is compared with what was sent.
fn goodput(impairment: &str, sender: &Sender<'_>, seconds: u32) -> Result<f64, Failed> {
    let place = tempfile::tempdir()?;
    let file = place.path().join("path.toml");
    fs::write(&file, path(impairment))?;
    let (program, peer) = (cargo_bin("ackclock"), std::env::current_exe()?);
    let (program, peer) = (program.display(), peer.display());
    let (serve, line) = match sender {
        Sender::Kernel(control, before) => (
            format!("{peer} peer sink {{receiver}}:5001"),
            format!("{before} {peer} peer source {{receiver}}:5001 {seconds} {control}"),
        ),
        Sender::Proxy(arguments) => (
            format!("{peer} peer sink {{receiver}}:5001"),
            format!(
                "{program} proxy --listen 5002 --to {{receiver}}:5001 {arguments} >&2 & \
                 {peer} peer source 127.0.0.1:5002 {seconds} -; s=$?; kill $!; wait $!; exit $s"
            ),
        ),
        Sender::Front(arguments) => (
            format!(
                "sh -c '{program} proxy --towards clients --listen {{receiver}}:5001 --to 127.0.0.1:5002 \
                 {arguments} >&2 & exec {peer} peer sink 127.0.0.1:5002'"
            ),
            format!("{peer} peer source {{receiver}}:5001 {seconds} -"),
        ),
    };
    let scenario = file.display().to_string();
    let output = ackclock(&["emulate", &scenario, "--serve", &serve, "--", "sh", "-c", &line])?;
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure(output.status.success(), said.clone())?;
    let numbers = said.lines().find_map(|line| {
        let numbers: Vec<f64> = line.split(' ').map_while(|word| word.parse().ok()).collect();
        <[f64; 3]>::try_from(numbers).ok()
    });
    let [sent, received, ns] = numbers.ok_or_else(|| format!("no numbers: {said}"))?;
    ensure(sent == received, format!("{received} B of {sent} arrived"))?;
    Ok(received * 8e9 / ns)
}

const REORDERED: &str = "reorder = { share = 0.01, delay = \"10 ms\" }";
const LOSSY: &str = "loss = 0.001";

/// What is sent through a proxy arrives as it was, beyond a path that reorders, whichever side the proxy is
/// on.
pub fn reordered() -> Checked {
    for sender in [Sender::Proxy(""), Sender::Front("--control cubic --detection delayed")] {
        let rate = goodput(REORDERED, &sender, 2)?;
        ensure(rate > 1e6, format!("{rate} bit/s"))?;
    }
    Ok(())
}

/// The table of docs/src/proxy.md: a proxied transfer beside the kernel's own, 20 s each, three times.
pub fn beside_the_kernel() -> Checked {
    const PLAIN: &str = "for key in tcp_sack tcp_timestamps; do echo 0 > /proc/sys/net/ipv4/$key; done; \
                         echo 3 > /proc/sys/net/ipv4/tcp_max_reordering;";
    const NO_RACK: &str = "echo 0 > /proc/sys/net/ipv4/tcp_recovery; \
                           echo 3 > /proc/sys/net/ipv4/tcp_max_reordering;";
    let cases = [
        ("the kernel: Reno, three duplicates", Sender::Kernel("reno", PLAIN)),
        ("the kernel: Reno with SACK and undo, three duplicates", Sender::Kernel("reno", NO_RACK)),
        ("the kernel: Reno with RACK", Sender::Kernel("reno", "")),
        ("the kernel: CUBIC with RACK", Sender::Kernel("cubic", "")),
        ("proxy: its defaults", Sender::Proxy("")),
        ("proxy: `--detection delayed`", Sender::Proxy("--detection delayed")),
        (
            "proxy: `--detection delayed --recovery robust`",
            Sender::Proxy("--detection delayed --recovery robust"),
        ),
    ];
    println!("| | 1 % reordered | 0.1 % lost |\n|---|---:|---:|");
    let mut medians = Vec::new();
    for (name, sender) in &cases {
        let mut row = [0.0; 2];
        let mut cells = Vec::new();
        for (median, impairment) in row.iter_mut().zip([REORDERED, LOSSY]) {
            let mut rates = Vec::new();
            for _ in 0..3 {
                rates.push(goodput(impairment, sender, 20)? / 1e6);
            }
            rates.sort_by(f64::total_cmp);
            *median = rates[1];
            cells.push(format!("{:.1} ({:.1} to {:.1})", rates[1], rates[0], rates[2]));
        }
        println!("| {name} | {} |", cells.join(" | "));
        medians.push(row);
    }
    let [reno, _, _, cubic, proxy, ..] = medians[..] else { return Err("too few rows".into()) };
    ensure(proxy[0] >= 3.0 * reno[0], format!("reordered: {} and {}", proxy[0], reno[0]))?;
    ensure(proxy[0] >= 0.95 * cubic[0], format!("reordered: {} and {}", proxy[0], cubic[0]))?;
    ensure(proxy[1] >= 2.0 * cubic[1], format!("lost: {} and {}", proxy[1], cubic[1]))
}
