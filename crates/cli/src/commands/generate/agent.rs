//! `ackclock agent`.

use super::{identity, read};
use crate::args;
use crate::failure::Failure;
use crate::interrupt;
use ackclock_agent::agent::Agent;
use ackclock_agent::iperf3::server::Server;
use ackclock_agent::log::{Log, Note};
use ackclock_agent::policy::Policy;
use miette::{Context, IntoDiagnostic, Report, miette};
use serde_json::json;
use std::net::TcpListener;
use std::sync::Arc;

pub(crate) fn run(command: &args::Agent) -> Result<(), Failure> {
    let policy = policy(command)?;
    if command.iperf3 {
        return iperf3(command, policy);
    }
    let config = identity(&command.certificates, &command.name)?.server().into_diagnostic()?;
    let listener = listen(command.listen)?;
    let address = listener.local_addr().into_diagnostic()?;
    let stop = interrupt::listen()?;
    if command.policy.is_none() {
        tell!("no --policy: only traffic within this host");
    }
    tell!("{} listens on {address} for controllers (TLS); Ctrl-C ends it", command.name);
    let log = log(command.json);
    Arc::new(Agent::new(policy, config)).serve(&listener, stop, &log).into_diagnostic()?;
    Ok(())
}

/// Serves clients of iperf3 at the address of `--listen`, and a port of its own.
fn iperf3(command: &args::Agent, policy: Policy) -> Result<(), Failure> {
    let listener = listen((command.listen.ip(), command.port).into())?;
    let address = listener.local_addr().into_diagnostic()?;
    let stop = interrupt::listen()?;
    if command.policy.is_none() {
        tell!("no --policy: only clients of this host");
    }
    tell!("listens on {address} for clients of iperf3; Ctrl-C ends it");
    let log = log(command.json);
    Arc::new(Server::new(policy)).serve(&listener, stop, &log).into_diagnostic()?;
    Ok(())
}

/// Where notes go: as JSON to standard output, as text to standard error.
fn log(as_json: bool) -> Log {
    if !as_json {
        return Arc::new(|note| tell!("{note}"));
    }
    Arc::new(|note| {
        let Note { peer, error, text, bytes } = note;
        let peer = peer.map(|peer| peer.to_string());
        let (received, sent) = (bytes.map(|it| it.0), bytes.map(|it| it.1));
        say!(
            "{}",
            json!({
                "peer": peer, "error": error, "text": text, "received_bytes": received, "sent_bytes": sent,
            })
        );
    })
}

fn policy(command: &args::Agent) -> Result<Policy, Failure> {
    let Some(path) = &command.policy else { return Ok(Policy::default()) };
    Ok(Policy::read(&path.display().to_string(), &read(path)?)?)
}

fn listen(address: std::net::SocketAddr) -> Result<TcpListener, Report> {
    TcpListener::bind(address)
        .map_err(|error| miette!(help = "choose another with --listen", "{address}: {error}"))
        .wrap_err("there is nothing to listen on")
}
