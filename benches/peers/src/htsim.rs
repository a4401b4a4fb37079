//! The htsim side: the program beside a copy of htsim, what it is told, what it answers.

use crate::derive::BOTTLENECK;
use ackclock_net::{Limit, Link, Queue};
use ackclock_scenario::plan::{FlowPlan, Plan};
use ackclock_scenario::requests::Size;
use ackclock_units::{Duration, Time};
use miette::{Context, IntoDiagnostic, Result, miette};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A queue that holds everything, bytes.
const ENDLESS: u64 = 1_000_000_000_000_000;

/// How to lay out a dumbbell in htsim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Each packet crosses the same links as in ackclock, with a transmitter each.
    Links,
    /// The bottleneck is the only transmitter. All other links are one delay there, and one back.
    Lean,
}

/// What htsim measures in a run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Measured {
    /// The payload that all flows together delivered in order within the measuring window, bit/s.
    pub goodput_bps: f64,
    /// The packets that queues dropped within it.
    pub drops: u64,
    /// The expiries of retransmission timers within it.
    pub timeouts: u64,
    /// The segments delivered in order over the whole run.
    pub delivered_segments: f64,
    /// The wall time from the first to the last event, s.
    pub wall_s: f64,
    /// The processor time of the same span, s.
    pub cpu_s: f64,
    /// The peak memory of the process, kB (VmHWM).
    pub peak_rss_kb: u64,
}

/// A copy of htsim, compiled, with the program that runs dumbbells in it.
pub struct Htsim {
    /// Where the program is, for as long as this exists.
    directory: tempfile::TempDir,
    /// The version of the copy.
    pub version: String,
}

/// What the program prints.
#[derive(Deserialize)]
struct Answer {
    delivered_bytes: u64,
    window_bytes: u64,
    window_drops: u64,
    window_timeouts: u64,
    wall_s: f64,
    cpu_s: f64,
    peak_rss_kb: u64,
}

impl Htsim {
    /// Compiles a copy of htsim by its own makefile, if that is not done yet, and the program.
    ///
    /// # Errors
    ///
    /// If this is no copy of htsim, or something cannot be compiled.
    pub fn build(copy: &Path) -> Result<Htsim> {
        let sources = copy.join("sim");
        if !sources.join("eventlist.h").exists() {
            return Err(miette!(
                help = "git clone https://github.com/Broadcom/csg-htsim",
                "{} is no copy of htsim",
                copy.display()
            ));
        }
        let directory = tempfile::tempdir().into_diagnostic()?;
        compile(Command::new("make").arg("-s").arg("-C").arg(&sources).arg("libhtsim.a"))?;
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("htsim/dumbbell.cpp");
        compile(
            Command::new("c++")
                .args(["-O3", "-std=c++11", "-w", "-I"]) // -w: its headers have warnings
                .arg(&sources)
                .arg(program)
                .arg(sources.join("libhtsim.a"))
                .arg("-o")
                .arg(directory.path().join("dumbbell")),
        )?;
        let commit = Command::new("git").arg("-C").arg(copy).args(["rev-parse", "--short", "HEAD"]).output();
        let commit = commit.ok().filter(|output| output.status.success());
        let version = commit.map_or("of an unknown version".to_owned(), |output| {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        });
        Ok(Htsim { directory, version })
    }

    /// Runs a plan.
    ///
    /// # Errors
    ///
    /// If htsim cannot run this plan (the error tells why), or the program fails.
    pub fn run(&self, plan: &Plan, style: Style) -> Result<Measured> {
        let text = describe(plan, style)?;
        let program: PathBuf = self.directory.path().join("dumbbell");
        let mut command = Command::new(program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().into_diagnostic().wrap_err("htsim's program cannot be started")?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all(text.as_bytes()).into_diagnostic()?;
        }
        let output = child.wait_with_output().into_diagnostic()?;
        if !output.status.success() {
            return Err(miette!("htsim failed:\n{}", String::from_utf8_lossy(&output.stderr)));
        }
        let answer: Answer = serde_json::from_slice(&output.stdout).into_diagnostic()?;
        let config = &plan.flows[0].config;
        let window_s = plan.duration.since(plan.measure.0).as_secs_f64();
        let segment = f64::from(config.segment_bytes());
        let payload_share = f64::from(config.payload) / segment;
        Ok(Measured {
            goodput_bps: answer.window_bytes as f64 * 8.0 * payload_share / window_s,
            drops: answer.window_drops,
            timeouts: answer.window_timeouts,
            delivered_segments: answer.delivered_bytes as f64 / segment,
            wall_s: answer.wall_s,
            cpu_s: answer.cpu_s,
            peak_rss_kb: answer.peak_rss_kb,
        })
    }
}

impl Measured {
    /// Delivered segments per second of wall time.
    pub fn segments_per_wall_s(&self) -> f64 {
        self.delivered_segments / self.wall_s.max(1e-9)
    }

    /// Delivered segments per second of processor time.
    pub fn segments_per_cpu_s(&self) -> f64 {
        self.delivered_segments / self.cpu_s.max(1e-9)
    }
}

fn compile(command: &mut Command) -> Result<()> {
    let output = command.output().into_diagnostic().wrap_err("htsim needs make and a C++ compiler")?;
    if output.status.success() {
        return Ok(());
    }
    Err(miette!("htsim cannot be compiled:\n{}", String::from_utf8_lossy(&output.stderr)))
}

/// What the program is told to run `plan`.
///
/// # Errors
///
/// If htsim has no such thing.
fn describe(plan: &Plan, style: Style) -> Result<String> {
    let first = plan.flows.first().ok_or_else(|| miette!("there is no flow"))?;
    for flow in &plan.flows {
        check(flow, first)?;
    }
    let need = |holds: bool, what: &str| if holds { Ok(()) } else { Err(miette!("htsim has no {what}")) };
    need(plan.streams.is_empty(), "streams that are compared")?;
    need(plan.measure.1 == plan.duration, "measuring window that ends before the run")?;
    let config = &first.config;
    let segment = u64::from(config.segment_bytes());
    let moment = |time: Time| time.since(Time::ZERO).as_secs_f64();
    let (end, from) = (moment(plan.duration), moment(plan.measure.0));
    // htsim's windows are 32 bits of bytes.
    let threshold = config.initial_ssthresh.min(4e9 / segment as f64);
    let mut text = format!("run {end} {from} {segment} {} {threshold}\n", config.initial_window);
    let mut links = Links::default();
    let mut flows = String::new();
    for flow in &plan.flows {
        let (there, back): (Vec<usize>, Vec<usize>) = match style {
            Style::Links => (
                flow.forward.iter().map(|&link| links.copy(plan, link, segment)).collect::<Result<_>>()?,
                flow.reverse.iter().map(|&link| links.copy(plan, link, segment)).collect::<Result<_>>()?,
            ),
            Style::Lean => {
                let others = flow.forward.iter().filter(|&&link| link != BOTTLENECK);
                let others = others.fold(Duration::ZERO, |sum, &link| sum + plan.links[link].delay());
                let back =
                    flow.reverse.iter().fold(Duration::ZERO, |sum, &link| sum + plan.links[link].delay());
                (vec![links.copy(plan, BOTTLENECK, segment)?, links.delay(others)], vec![links.delay(back)])
            }
        };
        let list = |links: &[usize]| links.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let _ = writeln!(flows, "flow {} {} {}", moment(flow.start), list(&there), list(&back));
    }
    text.push_str(&links.text);
    text.push_str(&flows);
    Ok(text)
}

/// Refuses what htsim's TCP cannot do.
fn check(flow: &FlowPlan, first: &FlowPlan) -> Result<()> {
    let need = |holds: bool, help: &'static str| {
        if holds { Ok(()) } else { Err(miette!(help = help, "htsim's TCP cannot be told so")) }
    };
    let config = &flow.config;
    need(format!("{config:?}") == format!("{:?}", first.config), "make all flows alike")?;
    let reno = flow.control.name() == "reno";
    need(reno, "control = \"reno\"")?;
    need(config.delayed_ack.is_none(), "leave out delayed_ack: each segment is acknowledged")?;
    need(
        config.initial_ssthresh.is_finite(),
        "give initial_ssthresh: without SACK an overshoot takes minutes",
    )?;
    let plain = flow.requests.size == Size::Unlimited && flow.stop.is_none();
    need(plain, "leave out size and stop: its flows have unlimited data")
}

/// The links that are written so far.
#[derive(Default)]
struct Links {
    text: String,
    count: usize,
    copies: HashMap<usize, usize>,
    delays: HashMap<Duration, usize>,
}

impl Links {
    /// A link of the plan, for segments of so many bytes. Returns its number in htsim.
    fn copy(&mut self, plan: &Plan, link: usize, segment: u64) -> Result<usize> {
        if let Some(&number) = self.copies.get(&link) {
            return Ok(number);
        }
        let queue = room(&plan.links[link], segment)?;
        let (rate, delay) = (plan.links[link].rate().bps(), plan.links[link].delay());
        let number = self.add(rate, delay, queue);
        self.copies.insert(link, number);
        Ok(number)
    }

    /// A delay without a transmitter, which all that need it share.
    fn delay(&mut self, delay: Duration) -> usize {
        if let Some(&number) = self.delays.get(&delay) {
            return number;
        }
        let number = self.add(0, delay, 0);
        self.delays.insert(delay, number);
        number
    }

    fn add(&mut self, rate_bps: u64, delay: Duration, queue: u64) -> usize {
        let _ = writeln!(self.text, "link {rate_bps} {} {queue}", delay.as_secs_f64());
        self.count += 1;
        self.count - 1
    }
}

/// What htsim's queue at a link holds, bytes. It counts the packet in transmission. ackclock does not.
fn room(link: &Link, segment: u64) -> Result<u64> {
    if link.impairments().is_some() {
        return Err(miette!(help = "leave out impairments", "htsim's links lose nothing"));
    }
    let limit = match link.queue() {
        Queue::Unlimited => return Ok(ENDLESS),
        Queue::DropTail(queue) => queue.limit(),
        _ => return Err(miette!(help = "use droptail", "this queue is not compared with htsim's")),
    };
    let bytes = match limit {
        Limit::Packets(packets) => (u64::from(packets) + 1).saturating_mul(segment),
        Limit::Bytes(bytes) => bytes.saturating_add(segment),
    };
    Ok(bytes.min(ENDLESS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_scenario::Sweep;

    fn plan(flow: &str) -> Plan {
        let text = format!(
            "duration = \"1 s\"\njitter = \"off\"\n[topology.dumbbell]\n\
             bottleneck = {{ rate = \"10 Mbit/s\", delay = \"10 ms\", queue = {{ droptail = \"9 packets\" }} }}\n\
             access = {{ rate = \"1 Gbit/s\" }}\n[tcp]\ninitial_window = 2\ninitial_ssthresh = 20\n\
             [[flows]]\ncount = 2\nrtt = \"40 ms\"\n{flow}"
        );
        let points = Sweep::read("test", &text, &[]).expect("the scenario is right").points;
        points[0].scenario.build().expect("it can be laid out").plan
    }

    #[test]
    fn both_styles_have_the_same_bottleneck_and_delay() {
        let plan = plan("control = \"reno\"");
        let links = describe(&plan, Style::Links).expect("htsim knows all of it");
        let lean = describe(&plan, Style::Lean).expect("htsim knows all of it");
        assert!(
            links.starts_with("run 1 0 1040 2 20\n") && lean.starts_with("run 1 0 1040 2 20\n"),
            "{links}"
        );
        // Ten packets of 1040 bytes, one of them in transmission.
        assert!(links.contains("link 10000000 0.01 10400\n") && lean.contains("link 10000000 0.01 10400\n"));
        assert_eq!(
            lean,
            "run 1 0 1040 2 20\nlink 10000000 0.01 10400\nlink 0 0.01 0\nlink 0 0.02 0\n\
             flow 0 0,1 2\nflow 0 0,1 2\n"
        );
        // The bottleneck there and back, and four access links for each of two flows.
        assert_eq!(links.matches("link ").count(), 10);
        assert_eq!(links.matches("\nflow 0 ").count(), 2);
    }

    #[test]
    fn what_htsim_cannot_do_is_refused_by_name() {
        let refused = |flow: &str| describe(&plan(flow), Style::Lean).expect_err("htsim has no such thing");
        assert!(format!("{:?}", refused("control = \"cubic\"")).contains("reno"));
        assert!(format!("{:?}", refused("control = \"reno\"\nsize = \"1 MB\"")).contains("unlimited"));
    }
}
