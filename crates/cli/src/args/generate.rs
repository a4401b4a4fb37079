//! The arguments of `ackclock generate`, `ackclock agent` and `ackclock certificates`.

use ackclock_units::{Bytes, Duration, Rate};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct Generate {
    /// The script.
    #[arg(required_unless_present = "to", conflicts_with = "to")]
    pub(crate) script: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) iperf3: Iperf3,
    /// Directory of the certificates.
    #[arg(long, value_name = "DIR", default_value = "certificates")]
    pub(crate) certificates: PathBuf,
    /// Name of the certificate there that this controller uses.
    #[arg(long, value_name = "NAME", default_value = "controller")]
    pub(crate) name: String,
    /// Time after which everything ends, whatever agents say.
    #[arg(long, value_name = "TIME", default_value = "25 h", conflicts_with = "to")]
    pub(crate) limit: Duration,
    /// Write results and time stamps into this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Only say whether the script makes sense, and what it would do.
    #[arg(long, conflicts_with = "to")]
    pub(crate) check: bool,
    /// Print one JSON document instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A test with a server of iperf3; the short flags are its own.
#[derive(Args)]
#[command(next_help_heading = "With a server of iperf3")]
pub(crate) struct Iperf3 {
    /// Test with this server instead of a script; iperf3://HOST or iperf3://HOST:PORT.
    #[arg(long, value_name = "URL")]
    pub(crate) to: Option<String>,
    /// Over UDP.
    #[arg(short, long, requires = "to")]
    pub(crate) udp: bool,
    /// The server sends.
    #[arg(short = 'R', long, requires = "to", conflicts_with = "bidir")]
    pub(crate) reverse: bool,
    /// Both send.
    #[arg(long, requires = "to")]
    pub(crate) bidir: bool,
    /// Number of streams in each direction.
    #[arg(short = 'P', long, value_name = "N", requires = "to", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=128))]
    pub(crate) parallel: u32,
    /// Rate of each stream; default: 1 Mbit/s over UDP, not limited over TCP.
    #[arg(short = 'b', long, value_name = "RATE", requires = "to")]
    pub(crate) bitrate: Option<Rate>,
    /// Congestion controller of the kernel, at both ends.
    #[arg(short = 'C', long, value_name = "NAME", requires = "to")]
    pub(crate) control: Option<String>,
    /// How long to send; default: 10 s, unless --bytes is given.
    #[arg(short = 't', long, value_name = "TIME", requires = "to")]
    pub(crate) time: Option<Duration>,
    /// How long to send before that, without counting it.
    #[arg(short = 'O', long, value_name = "TIME", requires = "to")]
    pub(crate) omit: Option<Duration>,
    /// How much to send, over all streams of a direction.
    #[arg(short = 'n', long, value_name = "SIZE", requires = "to", conflicts_with = "time")]
    pub(crate) bytes: Option<Bytes>,
    /// Size of a block or a datagram; default: 128 KiB over TCP, 1448 B over UDP.
    #[arg(short = 'l', long, value_name = "SIZE", requires = "to")]
    pub(crate) length: Option<Bytes>,
    /// Size of both socket buffers; default: the kernel's.
    #[arg(short = 'w', long, value_name = "SIZE", requires = "to")]
    pub(crate) window: Option<Bytes>,
}

#[derive(Args)]
pub(crate) struct Agent {
    /// Address and port to listen on for controllers; port 0: any that is free.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:42010")]
    pub(crate) listen: SocketAddr,
    /// Directory of the certificates.
    #[arg(long, value_name = "DIR", default_value = "certificates")]
    pub(crate) certificates: PathBuf,
    /// Name of this host's certificate there: what scripts call this host.
    #[arg(long, value_name = "HOST", default_value = "localhost")]
    pub(crate) name: String,
    /// What this agent does for whom (TOML); default: only traffic within this host.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Serve clients of iperf3 instead of controllers, without certificates.
    #[arg(long, conflicts_with_all = ["certificates", "name"])]
    pub(crate) iperf3: bool,
    /// Port for clients of iperf3; 0: any that is free.
    #[arg(long, value_name = "PORT", requires = "iperf3", default_value_t = 5201)]
    pub(crate) port: u16,
    /// Print what happens on standard output, a JSON document a line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Certificates {
    /// Directory of the certificates; the first call makes the authority there.
    pub(crate) dir: PathBuf,
    /// Names or addresses of hosts with agents, as scripts write them.
    #[arg(value_name = "HOST")]
    pub(crate) hosts: Vec<String>,
    /// Name of somebody who controls agents; may be repeated; default: controller, if there is none yet.
    #[arg(long = "user", value_name = "NAME")]
    pub(crate) users: Vec<String>,
    /// How long the certificates are valid, days.
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub(crate) days: u32,
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}
