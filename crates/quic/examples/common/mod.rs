//! What the three programs share: arguments, certificates, the clock and the report.
#![allow(dead_code, reason = "each program takes the part it needs")]

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Instant;

/// What a fallible step returns.
pub type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// How to call a program.
const USAGE: &str = "server ADDRESS CERTIFICATE | client ADDRESS CERTIFICATE CONTROLLER MEGABYTES\n\n\
    CONTROLLER is a name of ackclock's, or with parameters \"{ compound = { gamma = 15.0 } }\"; the stack's own\n\
    are own-cubic, own-bbr and own-reno. The server writes its certificate, and the client reads it.";

/// Bytes in flight that flow control allows: more than any path of the examples holds.
pub const FLOW_CONTROL: u32 = 64 << 20;
/// Written into the stream at once, bytes.
pub const CHUNK: usize = 1 << 18;

/// What was asked for.
pub enum Task {
    /// Receive from whoever comes, and answer with the number of bytes.
    Server {
        /// Where to listen.
        at: SocketAddr,
        /// Where the certificate is written.
        certificate: PathBuf,
    },
    /// Send, and report.
    Client {
        /// The server.
        to: SocketAddr,
        /// Where its certificate is.
        certificate: PathBuf,
        /// The controller of the connection.
        control: String,
        /// What to send.
        bytes: u64,
    },
}

/// The command line.
///
/// # Errors
///
/// How to call the program.
pub fn task() -> Outcome<Task> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Ok(match words[..] {
        ["server", at, certificate] => Task::Server { at: at.parse()?, certificate: certificate.into() },
        ["client", to, certificate, control, megabytes] => Task::Client {
            to: to.parse()?,
            certificate: certificate.into(),
            control: control.to_owned(),
            bytes: (megabytes.parse::<f64>()? * 1e6) as u64,
        },
        _ => return Err(USAGE.into()),
    })
}

/// A certificate and its key, as PEM. The certificate alone is written to `path`.
///
/// # Errors
///
/// If the file cannot be written.
pub fn new_certificate(path: Option<&PathBuf>) -> Outcome<(String, String)> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    if let Some(path) = path {
        std::fs::write(path, &certificate)?;
    }
    Ok((certificate, key))
}

/// Pieces of a message of `bytes` zeros.
pub fn pieces(bytes: u64) -> impl Iterator<Item = usize> {
    let whole = (bytes / CHUNK as u64) as usize;
    let rest = (bytes % CHUNK as u64) as usize;
    std::iter::repeat_n(CHUNK, whole).chain((rest > 0).then_some(rest))
}

/// Prints and returns the goodput in Mbit/s, from the first byte of the handshake to the receiver's answer.
pub fn report(control: &str, bytes: u64, since: Instant, lost: u64) -> f64 {
    let seconds = since.elapsed().as_secs_f64();
    let mbit = bytes as f64 * 8e-6 / seconds;
    println!("{control}: {bytes} bytes in {seconds:.3} s, {mbit:.2} Mbit/s, {lost} packets lost");
    mbit
}
