//! `ackclock generate`, `ackclock agent` and `ackclock certificates`: traffic between hosts.

mod agent;
mod certificates;
mod iperf3;
mod results;
mod script;

pub(crate) use {agent::run as agent, certificates::run as certificates, script::run as generate};

use ackclock_agent::script::MAX_BYTES;
use ackclock_agent::tls::Identity;
use miette::miette;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Reads a script or a policy. One byte more than there may be is enough to see that there are too many.
fn read(path: &Path) -> Result<String, miette::Report> {
    let name = path.display();
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes));
    read.map_err(|error| miette!(help = "check the path and the spelling", "{name}: {error}"))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count();
        miette!(help = "save the file as UTF-8 in your editor", "{name}:{line}: the text is not UTF-8 here")
    })
}

/// The certificate of this name.
fn identity(directory: &Path, name: &str) -> Result<Identity, miette::Report> {
    let help =
        format!("make it with `ackclock certificates {} ...`, or name it with --name", directory.display());
    Identity::read(directory, name).map_err(|error| miette!(help = help, "--certificates: {error}"))
}
