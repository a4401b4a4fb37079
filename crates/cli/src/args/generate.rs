//! The arguments of `ackclock generate`, `ackclock agent` and `ackclock certificates`.

use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct Generate {
    /// The script.
    pub(crate) script: PathBuf,
    /// Directory of the certificates.
    #[arg(long, value_name = "DIR", default_value = "certificates")]
    pub(crate) certificates: PathBuf,
    /// Name of the certificate there that this controller uses.
    #[arg(long, value_name = "NAME", default_value = "controller")]
    pub(crate) name: String,
    /// Write results and time stamps into this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Only say whether the script makes sense, and what it would do.
    #[arg(long)]
    pub(crate) check: bool,
    /// Print one JSON document instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
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
