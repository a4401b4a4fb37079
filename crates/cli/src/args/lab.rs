//! `ackclock lab`.

use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct Lab {
    /// The scenario file (TOML) to begin with; default: three controllers compared on one bottleneck.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Address and port to listen on; port 0: any that is free.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:5312")]
    pub(crate) listen: SocketAddr,
    /// Open the page in a browser.
    #[arg(long)]
    pub(crate) open: bool,
    /// Let the page run emulations of the kernel's own TCP, one at a time; as root.
    #[arg(long)]
    pub(crate) emulate: bool,
}
