//! `ackclock proxy`.

use ackclock_units::{Bytes, Duration, QuantityError};
use clap::{Args, ValueEnum};
use std::net::{Ipv4Addr, SocketAddr};

#[derive(Args)]
pub(crate) struct Proxy {
    /// Where clients connect: an address and a port, or a port on loopback.
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// The server. Nothing else is ever connected to.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) to: String,
    /// Which side lies beyond the path that our TCP is to cross.
    #[arg(long, value_enum, default_value = "server")]
    pub(crate) towards: Towards,
    /// Controller; `ackclock list controls` names them.
    #[arg(long, default_value = "layered")]
    pub(crate) control: String,
    /// Loss recovery; `ackclock list recoveries` names them.
    #[arg(long, default_value = "sack")]
    pub(crate) recovery: String,
    /// Loss detection; `ackclock list detections` names them.
    #[arg(long, default_value = "rack")]
    pub(crate) detection: String,
    /// Set a key as a scenario has it, for example tcp.ecn=true; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Largest packet, bytes, 576 to 65535, at least 1280 over IPv6; default: what the route to the server
    /// carries, 1500 towards clients.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(576..=65535))]
    pub(crate) mtu: Option<u32>,
    /// Most connections at the same time; more wait.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = super::at_least_one)]
    pub(crate) connections: usize,
    /// Most connections of one address, unless it is a loopback address; further ones are reset.
    #[arg(long, value_name = "N", default_value_t = 250, value_parser = super::at_least_one)]
    pub(crate) per_client: usize,
    /// Largest buffer of a connection in each direction, from 32 KiB.
    #[arg(long, value_name = "SIZE", default_value = "4 MiB", value_parser = buffer)]
    pub(crate) buffer: Bytes,
    /// Memory for all buffers; each connection has 64 KiB in any case.
    #[arg(long, value_name = "SIZE", default_value = "128 MiB", value_parser = |text: &str| -> Result<Bytes, QuantityError> { text.parse() })]
    pub(crate) memory: Bytes,
    /// Reset a connection on which nothing was moved for so long.
    #[arg(long, value_name = "TIME", default_value = "1 h", value_parser = idle)]
    pub(crate) idle: Duration,
    /// Print one JSON document per connection instead of a line of text, and one at the end.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Towards {
    /// Our TCP connects to the server.
    Server,
    /// Clients connect to our TCP; stands in front of a server.
    Clients,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let port = || text.parse().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    text.parse().or_else(|_| port()).map_err(|_| {
        "an address and a port are wanted, such as 0.0.0.0:80 or [::]:80, or a port on loopback".to_owned()
    })
}

fn buffer(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|error: QuantityError| error.to_string())?;
    if (32 << 10..=1 << 30).contains(&size.0) {
        Ok(size)
    } else {
        Err("32 KiB to 1 GiB are wanted".to_owned())
    }
}

fn idle(text: &str) -> Result<Duration, String> {
    let idle: Duration = text.parse().map_err(|error: QuantityError| error.to_string())?;
    if (Duration::from_secs(1)..=Duration::from_secs(7 * 86_400)).contains(&idle) {
        Ok(idle)
    } else {
        Err("1 s to a week are wanted".to_owned())
    }
}
