//! `ackclock serve`.

use ackclock_serve::{Burst, BurstError};
use ackclock_sockets::{Prefix, PrefixError};
use ackclock_units::{Bytes, Duration, QuantityError, Rate};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct Serve {
    /// The directory; nothing above it is served, and no link is followed.
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Address and port to listen on; port 0: any that is free.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// Write each response in bursts, for example "128 kB/10 ms"; a request's fields Rate and Period win.
    #[arg(long, value_name = "SIZE/EVERY", value_parser = |text: &str| -> Result<Burst, BurstError> { text.parse() })]
    pub(crate) burst: Option<Burst>,
    /// Let the kernel pace each connection at this rate (SO_MAX_PACING_RATE).
    #[arg(long, value_parser = |text: &str| -> Result<Rate, QuantityError> { text.parse() })]
    pub(crate) rate: Option<Rate>,
    /// Congestion controller, by the kernel's name; none: what `ackclock kernel load none` has loaded.
    #[arg(long, value_name = "NAME")]
    pub(crate) control: Option<String>,
    /// Use --control only towards this network; may be repeated. None and unknown controllers need it.
    #[arg(long = "allow", value_name = "PREFIX", value_parser = |text: &str| -> Result<Prefix, PrefixError> { text.parse() })]
    pub(crate) allow: Vec<Prefix>,
    /// Capacity of each socket, with sent and unacknowledged bytes; default: the system adapts it.
    #[arg(long, value_name = "SIZE", value_parser = |text: &str| -> Result<Bytes, QuantityError> { text.parse() })]
    pub(crate) send_buffer: Option<Bytes>,
    /// Take header lines as the thesis prints them, too: `Rate = 64000`, `Period = 10000`.
    #[arg(long)]
    pub(crate) thesis_headers: bool,
    /// Read ExplicitRate, NoCongestionCntrl, ExplicitRateSize and ExplicitRatePeriod from this file.
    #[arg(long, value_name = "FILE", conflicts_with = "burst")]
    pub(crate) httpd_conf: Option<PathBuf>,
    /// Largest number of connections.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = super::at_least_one)]
    pub(crate) connections: usize,
    /// How long a connection may be idle between two requests.
    #[arg(long, value_name = "TIME", default_value = "60 s", value_parser = idle)]
    pub(crate) idle: Duration,
    /// Print one JSON document per response instead of a line of text.
    #[arg(long)]
    pub(crate) json: bool,
}

fn idle(text: &str) -> Result<Duration, String> {
    let idle: Duration = text.parse().map_err(|error: QuantityError| error.to_string())?;
    if (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(&idle) {
        Ok(idle)
    } else {
        Err("100 ms to 1 h are wanted".to_owned())
    }
}
