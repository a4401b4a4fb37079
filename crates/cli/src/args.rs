//! Every command and flag, defined once; help, completions and the manual page come from here.

#[cfg(feature = "agent")]
mod generate;
#[cfg(feature = "lab")]
mod lab;
#[cfg(feature = "monitor")]
mod monitor;
mod proxy;
#[cfg(feature = "serve")]
mod serve;

#[cfg(feature = "agent")]
pub(crate) use generate::{Agent, Certificates, Generate};
#[cfg(feature = "lab")]
pub(crate) use lab::Lab;
#[cfg(feature = "monitor")]
pub(crate) use monitor::{Advise, Monitor};
pub(crate) use proxy::{Proxy, Towards};
#[cfg(feature = "serve")]
pub(crate) use serve::Serve;

use ackclock_scenario::plan::EngineKind;
use ackclock_units::{Duration, QuantityError};
use ackclock_view::catalogue::Kind;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// Run, compare and reproduce congestion-control schemes.
#[derive(Parser)]
#[command(name = "ackclock", version, about, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Width of tables, columns; 0: as wide as they need; default: the terminal's width, 132 without one.
    #[arg(long, value_name = "N", global = true)]
    pub(crate) width: Option<u16>,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Simulate a scenario file; a sweep runs all its points in parallel.
    Run(Run),
    /// Compare controllers on one bottleneck, one after the other.
    Compare(Compare),
    /// A page in your browser: change a number of a scenario, and look.
    #[cfg(feature = "lab")]
    Lab(Lab),
    /// Run published experiments again, with a verdict per claim.
    Reproduce(Reproduce),
    /// Ask whether a flow's delay would have predicted its losses: ten predictors over a recorded flow.
    Predict(Predict),
    /// Trace every connection of a capture: what tcptrace told, in numbers and pictures.
    Trace(Trace),
    /// Emulate a scenario's path in real time, for the kernel's own flows or any program.
    Emulate(Emulate),
    /// List controllers, recoveries, queues and experiments, with their sources.
    List(List),
    /// Show a scheme's equations, parameters, defaults and source.
    Show(Show),
    /// Controllers in the running Linux kernel, as eBPF programs.
    #[command(subcommand)]
    Kernel(Kernel),
    /// Send files over UDP with a rate-based transport, to where `ackclock receive` runs.
    Send(Send),
    /// Receive files; prints the ticket that lets one sender in.
    Receive(Receive),
    /// Relay TCP connections over a path, with any controller, recovery and detection.
    Proxy(Proxy),
    /// Serve a directory over HTTP, each response in periodic bursts.
    #[cfg(feature = "serve")]
    Serve(Serve),
    /// Measure the paths to hosts over time, and keep what was measured.
    #[cfg(feature = "monitor")]
    Monitor(Monitor),
    /// Advise what to send to a host, from what `ackclock monitor` has measured.
    #[cfg(feature = "monitor")]
    Advise(Advise),
    /// The key that names you to those who receive from you.
    #[command(subcommand)]
    Key(Key),
    /// Generate traffic between hosts with agents, as a script says.
    #[cfg(feature = "agent")]
    Generate(Generate),
    /// Send and receive for controllers that have a certificate, within a policy.
    #[cfg(feature = "agent")]
    Agent(Agent),
    /// Make certificates for agents and their controllers.
    #[cfg(feature = "agent")]
    Certificates(Certificates),
    /// Print a completion script for a shell.
    Completions(Completions),
    /// Write the manual pages into a directory.
    Man(Man),
    /// Write the generated pages of the documentation.
    #[command(hide = true)]
    Docs(Docs),
}

#[derive(Args)]
pub(crate) struct Run {
    /// The scenario file (TOML).
    pub(crate) file: PathBuf,
    /// Set a value of the scenario before it is run; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Write the report, CSV series and results into this directory; an interrupted run continues there.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Keep finished points in this directory, and take from there what this build has computed before; any
    /// number of hosts may share it.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "captures"])]
    pub(crate) store: Option<PathBuf>,
    /// Capture the packets on this link into DIR/capture/LINK.pcapng; may be repeated.
    #[arg(long = "capture", value_name = "LINK", requires = "out")]
    pub(crate) captures: Vec<String>,
    /// Number of threads, at most one per core; default: all cores. Those that no point needs go into large
    /// runs.
    #[arg(long, value_name = "N", value_parser = some_threads)]
    pub(crate) threads: Option<usize>,
    /// What computes the run; default: phases, where they are exact and pay. The results are the same.
    #[arg(long)]
    pub(crate) engine: Option<Engine>,
    /// Print one JSON document instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What computes a run.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum Engine {
    /// One part of the run after the other.
    Phases,
    /// One event after the other.
    Events,
}

impl From<Engine> for EngineKind {
    fn from(engine: Engine) -> EngineKind {
        match engine {
            Engine::Phases => EngineKind::Phases,
            Engine::Events => EngineKind::Events,
        }
    }
}

#[derive(Args)]
pub(crate) struct Compare {
    /// Controllers to compare, for example: reno highspeed compound layered.
    #[arg(required = true, value_name = "CONTROL")]
    pub(crate) controls: Vec<String>,
    /// Rate of the bottleneck.
    #[arg(long, default_value = "1 Gbit/s")]
    pub(crate) rate: String,
    /// Propagation round-trip time.
    #[arg(long, default_value = "120 ms")]
    pub(crate) rtt: String,
    /// Capacity of the bottleneck's queue: packets, bytes, or multiples of the bandwidth-delay product.
    #[arg(long, default_value = "1 bdp")]
    pub(crate) buffer: String,
    /// Independent random loss at the bottleneck, a probability. The default is a touch of it, because
    /// without any all controllers fill the link; 0: none.
    #[arg(long, default_value = "3e-6")]
    pub(crate) loss: f64,
    /// Simulated time.
    #[arg(long, default_value = "60 s")]
    pub(crate) duration: String,
    /// The bottleneck's queue: droptail, red, rem, pi, pie, codel, fq_codel, dualpi2 or unlimited; its room
    /// is --buffer.
    #[arg(long, default_value = "droptail")]
    pub(crate) queue: String,
    /// What a whole TCP does, for example linux; --detection and --recovery win. `ackclock list stacks` names
    /// them.
    #[arg(long)]
    pub(crate) stack: Option<String>,
    /// Loss detection: dupacks, delayed, ncr or rack; default: what each controller's specification asks for.
    #[arg(long)]
    pub(crate) detection: Option<String>,
    /// Loss recovery, for example newreno or sack; default: what each controller's specification asks for.
    #[arg(long)]
    pub(crate) recovery: Option<String>,
    /// Flows of each controller.
    #[arg(long, default_value_t = 1)]
    pub(crate) flows: u32,
    /// Seed of all random streams.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Run everything with so many seeds, from 1 on.
    #[arg(long, value_name = "N", conflicts_with = "seed")]
    pub(crate) seeds: Option<u32>,
    /// Directory of the report.
    #[arg(long, value_name = "DIR", default_value = "ackclock-out")]
    pub(crate) out: PathBuf,
    /// Number of threads, at most one per core; default: all cores. Those that no point needs go into large
    /// runs.
    #[arg(long, value_name = "N", value_parser = some_threads)]
    pub(crate) threads: Option<usize>,
    /// Print one JSON document instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Reproduce {
    /// An experiment's id, a family of them, the key of a publication, the start of ids, or all.
    #[arg(value_name = "ID|FAMILY|all", default_value = "all")]
    pub(crate) what: String,
    /// Write reproduction.md and reproduction.json into this directory; with --summary: summary.md.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write a page for each family, in a directory of its name there, and summary.md for all of them.
    #[arg(long, requires = "out", conflicts_with_all = ["emulate", "summary"])]
    pub(crate) by_family: bool,
    /// Number of threads, at most one per core; default: all cores. Those that no point needs go into large
    /// runs.
    #[arg(long, value_name = "N", value_parser = some_threads)]
    pub(crate) threads: Option<usize>,
    /// Directory of finished points, which do not run again; default: one for this build only.
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    /// Most runs of a point that delivers 40 million segments; one that delivers fewer may run in proportion
    /// more often. An undecided claim gets them for the points that it hangs on, which run with more seeds.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = some_seeds)]
    pub(crate) seeds_max: usize,
    /// Print one table of all works instead: claims published, represented, and by verdict.
    #[arg(long)]
    pub(crate) summary: bool,
    /// Emulate every point, too, with the running kernel's TCP, and judge the same claims by that.
    #[arg(long)]
    pub(crate) emulate: bool,
    /// In these runs send from our own TCP instead of the kernel's, with every controller, recovery and
    /// detection; the kernel receives.
    #[arg(long, requires = "emulate")]
    pub(crate) own_host: bool,
    /// Number of points that are emulated at the same time, at most 100: a slow path leaves the machine time
    /// for others.
    #[arg(long, requires = "emulate", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub(crate) at_once: u8,
    /// Exit with status 1 if a claim does not hold.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Take the experiments from this directory instead of those built in.
    #[arg(long, value_name = "DIR")]
    pub(crate) experiments: Option<PathBuf>,
    /// Print one JSON document instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Predict {
    /// A scenario to record a flow of, or a capture (pcap, pcapng) of a TCP connection with timestamps, taken
    /// at its sender.
    pub(crate) file: PathBuf,
    /// The connection of a capture, by its number, from 0 in the order of first packets; default: the only
    /// one that carries data.
    #[arg(long, value_name = "N")]
    pub(crate) stream: Option<usize>,
    /// The group whose first flow is recorded; default: the first group.
    #[arg(long, value_name = "LABEL")]
    pub(crate) flow: Option<String>,
    /// The link whose drops count; default: the first link with a limited queue on the flow's path.
    #[arg(long, value_name = "LINK")]
    pub(crate) link: Option<String>,
    /// Round-trip time that is high, for example "65 ms"; default: 5 ms above the smallest one.
    #[arg(long, value_name = "TIME")]
    pub(crate) threshold: Option<String>,
    /// Samples of the moving average; default: 750.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) samples: Option<usize>,
    /// A loss lasts until the predictor says low, instead of one round trip.
    #[arg(long)]
    pub(crate) until_low: bool,
    /// Set a value of the scenario before it is run; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Print one JSON document instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Trace {
    /// A capture (pcap, pcapng), simulated or real; two are set side by side.
    #[arg(required = true, num_args = 1..=2, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The connection, by its number, from 0 in the order of first packets; default: all.
    #[arg(long, value_name = "N")]
    pub(crate) stream: Option<usize>,
    /// Write pictures (SVG) and the numbers (JSON) into this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write the same pictures for xplot into this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) xplot: Option<PathBuf>,
    /// Print one JSON document instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Emulate {
    /// The scenario file (TOML).
    pub(crate) file: PathBuf,
    /// Set a value of the scenario before it is run; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Write the report, CSV series and results into this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Capture the packets on this link into DIR/capture/LINK.pcapng; may be repeated.
    #[arg(long = "capture", value_name = "LINK", requires = "out")]
    pub(crate) captures: Vec<String>,
    /// Simulate every point, too, and compare.
    #[arg(long, conflicts_with_all = ["command", "shell"])]
    pub(crate) simulate: bool,
    /// Write that comparison into this Markdown file.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "shell"])]
    pub(crate) beside: Option<PathBuf>,
    /// Send from our own TCP instead of the kernel's, as with host = "own" in all groups of TCP flows.
    #[arg(long, conflicts_with_all = ["command", "shell"])]
    pub(crate) own_host: bool,
    /// A command for the receiving host, while the other one runs; {sender} and {receiver} stand for
    /// addresses.
    #[arg(long, value_name = "COMMAND", requires = "command")]
    pub(crate) serve: Option<String>,
    /// Enter a host with a shell: sender or receiver, or LABEL.sender with several flows.
    #[arg(long, value_name = "HOST", conflicts_with = "command")]
    pub(crate) shell: Option<String>,
    /// Print one JSON document instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    /// A command for the sending host, instead of the scenario's flows; {sender} and {receiver} stand for
    /// addresses.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Args)]
pub(crate) struct List {
    /// What to list; default: everything.
    #[arg(value_parser = kind())]
    pub(crate) what: Option<Kind>,
    /// Which controller runs where: in the simulator, in TCP, in QUIC stacks, in the kernel.
    #[arg(long, conflicts_with = "what")]
    pub(crate) hosts: bool,
    /// Print one JSON document instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The words of [`Kind`].
fn kind() -> impl TypedValueParser<Value = Kind> {
    let words = PossibleValuesParser::new(Kind::ALL.map(Kind::word));
    words.try_map(|word| Kind::ALL.into_iter().find(|kind| kind.word() == word).ok_or("an unknown kind"))
}

#[derive(Args)]
pub(crate) struct Show {
    /// A controller, recovery, detection, slow start, stack, queue or experiment.
    pub(crate) name: String,
    /// Where the name is looked for; everywhere if not given. A controller and a recovery may have the same
    /// name.
    #[arg(long, value_parser = kind())]
    pub(crate) kind: Option<Kind>,
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum Kernel {
    /// Load a controller; it stays until it is unloaded.
    Load(KernelLoad),
    /// Give the programs of a control group the socket options to do without congestion control.
    Options(KernelOptions),
    /// List the loaded controllers, with their counters.
    List(KernelList),
    /// Unload a controller; connections that use it keep it until they close.
    Unload(KernelUnload),
    /// Check what this kernel and this user lack for loading.
    Check(KernelCheck),
    /// Measure what the eBPF controllers cost: throughput over loopback against the kernel's reno.
    Cost(KernelCost),
}

#[derive(Args)]
#[cfg_attr(not(feature = "kernel"), allow(dead_code, reason = "only the feature `kernel` loads anything"))]
pub(crate) struct KernelLoad {
    /// The controller.
    #[arg(help = format!("The controller: {}", ackclock_kernel::names().join(", ")))]
    pub(crate) scheme: String,
    /// Name in the kernel, for setsockopt(TCP_CONGESTION); default: ac_ and the name of the scheme.
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Set a parameter of the scheme, as `ackclock show` names it; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Only with none: no control towards these destinations, reno towards all others; may be repeated.
    #[arg(long = "allow", value_name = "PREFIX")]
    pub(crate) allow: Vec<String>,
    /// Initial window of every connection, segments; default: the kernel's.
    #[arg(long, value_name = "SEGMENTS", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) initial_window: Option<u32>,
    /// Let users without CAP_NET_ADMIN choose it, too.
    #[arg(long)]
    pub(crate) everyone: bool,
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[cfg_attr(not(feature = "kernel"), allow(dead_code, reason = "only the feature `kernel` loads anything"))]
pub(crate) struct KernelOptions {
    /// Control group of version 2, as a directory; groups below it have the options, too.
    #[arg(long, value_name = "DIR")]
    pub(crate) cgroup: PathBuf,
    /// Towards these destinations the options may be set, EPERM towards all others; may be repeated.
    #[arg(long = "allow", value_name = "PREFIX", required = true, num_args = 1..)]
    pub(crate) allow: Vec<String>,
    /// Name of the controller that it loads, for `kernel list` and `kernel unload`; default: ac_options.
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[cfg_attr(not(feature = "kernel"), allow(dead_code, reason = "only the feature `kernel` loads anything"))]
pub(crate) struct KernelList {
    /// Print one JSON document instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[cfg_attr(not(feature = "kernel"), allow(dead_code, reason = "only the feature `kernel` loads anything"))]
pub(crate) struct KernelUnload {
    /// Its name in the kernel.
    #[arg(required_unless_present = "all")]
    pub(crate) name: Option<String>,
    /// Everything that ackclock has loaded, with leftovers.
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[cfg_attr(not(feature = "kernel"), allow(dead_code, reason = "only the feature `kernel` loads anything"))]
pub(crate) struct KernelCheck {
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[cfg_attr(not(feature = "kernel"), allow(dead_code, reason = "only the feature `kernel` loads anything"))]
pub(crate) struct KernelCost {
    /// Number of rounds; each ratio is the median over them.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = at_least_one)]
    pub(crate) rounds: usize,
    /// Length of each transfer, s.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = some_seconds)]
    pub(crate) seconds: f64,
    /// Print one JSON document instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Send {
    /// The files.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Where `ackclock receive` listens.
    #[arg(value_name = "HOST:PORT")]
    pub(crate) to: String,
    /// The file with the ticket; -: standard input.
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) ticket_file: PathBuf,
    /// The transport: tfrc, xrtp or gcc; default: tfrc.
    #[arg(long)]
    pub(crate) control: Option<String>,
    /// Set a parameter of the transport, as `ackclock show` names it; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,
    /// The highest rate on the wire, for example "50 Mbit/s".
    #[arg(long, value_name = "RATE")]
    pub(crate) max_rate: Option<String>,
    /// Go on with what the receiver has of these files.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Write rate, round-trip time and losses over time into this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) trace: Option<PathBuf>,
    /// How long the other end may be silent.
    #[arg(long, value_name = "TIME", default_value = "30 s", hide = true)]
    pub(crate) silence: Silence,
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Receive {
    /// Address and port to listen on; port 0: any that is free.
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:4901")]
    pub(crate) listen: SocketAddr,
    /// Directory of the files.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) into: PathBuf,
    /// Let only the sender with this public key in.
    #[arg(long, value_name = "KEY")]
    pub(crate) from: Option<String>,
    /// Write the ticket into this file, which only you can read, instead of printing it.
    #[arg(long, value_name = "FILE")]
    pub(crate) ticket_file: Option<PathBuf>,
    /// End after one transfer; default: wait for the next one, with a new ticket.
    #[arg(long)]
    pub(crate) once: bool,
    /// Replace files of the same names.
    #[arg(long)]
    pub(crate) force: bool,
    /// How long the other end may be silent.
    #[arg(long, value_name = "TIME", default_value = "30 s", hide = true)]
    pub(crate) silence: Silence,
    /// Print one JSON document per transfer instead of text; the ticket goes to a file.
    #[arg(long, requires = "ticket_file")]
    pub(crate) json: bool,
}

/// How long the other end may be silent.
#[derive(Clone, Copy)]
pub(crate) struct Silence(pub(crate) Duration);

impl FromStr for Silence {
    type Err = String;

    fn from_str(text: &str) -> Result<Silence, String> {
        let silence: Duration = text.parse().map_err(|error: QuantityError| error.to_string())?;
        if silence < Duration::from_millis(100) {
            return Err("at least 100 ms are wanted".to_owned());
        }
        Ok(Silence(silence))
    }
}

#[derive(Subcommand)]
pub(crate) enum Key {
    /// Make a key; prints its public part.
    New(KeyNew),
    /// Print the public part of your key.
    Show(KeyShow),
}

#[derive(Args)]
pub(crate) struct KeyNew {
    /// Throw an older key away.
    #[arg(long)]
    pub(crate) replace: bool,
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct KeyShow {
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args)]
pub(crate) struct Man {
    /// Directory of the pages.
    pub(crate) dir: PathBuf,
}

#[derive(Args)]
pub(crate) struct Docs {
    /// The book's source directory.
    pub(crate) dir: PathBuf,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("a whole number from 1 on is wanted".to_owned()),
        Ok(number) => Ok(number),
    }
}

/// No machine has more cores.
const MAX_THREADS: usize = 4096;
/// The largest number of runs of a point.
const MAX_SEEDS: usize = 10_000;

fn some_threads(text: &str) -> Result<usize, String> {
    at_least_one(text)
        .ok()
        .filter(|&threads| threads <= MAX_THREADS)
        .ok_or_else(|| format!("1 to {MAX_THREADS} are wanted; more threads than cores make nothing faster"))
}

fn some_seeds(text: &str) -> Result<usize, String> {
    at_least_one(text)
        .ok()
        .filter(|&seeds| seeds <= MAX_SEEDS)
        .ok_or_else(|| format!("1 to {MAX_SEEDS} are wanted"))
}

fn some_seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.01..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("0.01 to 3600 seconds are wanted".to_owned()),
    }
}
