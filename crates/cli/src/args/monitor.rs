//! `ackclock monitor` and `ackclock advise`.

use ackclock_units::{Bytes, Duration, QuantityError};
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct Monitor {
    /// The monitor's file (TOML): hosts, probes, and who may send to this host.
    pub(crate) file: PathBuf,
    /// End after this time; default: at Ctrl-C.
    #[arg(long = "for", value_name = "TIME", value_parser = |text: &str| -> Result<Duration, QuantityError> { text.parse() })]
    pub(crate) length: Option<Duration>,
    /// Print what happens on standard output, a JSON document a line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Advise {
    /// The host, by its name in the monitor's file, or by its address.
    pub(crate) host: String,
    /// The archive that the monitor writes.
    #[arg(long, value_name = "FILE", default_value = "monitor.sqlite")]
    pub(crate) archive: PathBuf,
    /// Ask a running monitor that publishes, instead of reading an archive: http://HOST:PORT.
    #[arg(long, value_name = "URL", conflicts_with_all = ["archive", "csv", "hours"])]
    pub(crate) from: Option<String>,
    /// What is to be sent: throughputs are forecast for this size.
    #[arg(long, default_value = "422 kB", value_parser = |text: &str| -> Result<Bytes, QuantityError> { text.parse() })]
    pub(crate) size: Bytes,
    /// The period of bursts.
    #[arg(long, visible_alias = "period", value_name = "TIME", default_value = "10 ms", value_parser = |text: &str| -> Result<Duration, QuantityError> { text.parse() })]
    pub(crate) every: Duration,
    /// Forecast only this controller; may be repeated.
    #[arg(long = "control", value_name = "NAME")]
    pub(crate) controls: Vec<String>,
    /// Print one JSON document instead of text.
    #[arg(long, conflicts_with = "csv")]
    pub(crate) json: bool,
    /// Print the samples of this host as CSV instead: quantity, time, value.
    #[arg(long)]
    pub(crate) csv: bool,
    /// Print the means of hours of this host as CSV instead: quantity, time, samples, mean, least, greatest.
    #[arg(long, conflicts_with_all = ["csv", "json"])]
    pub(crate) hours: bool,
}
