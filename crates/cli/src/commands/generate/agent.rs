//! `ackclock agent`.

use super::{identity, read};
use crate::args;
use crate::failure::Failure;
use crate::interrupt;
use ackclock_agent::agent::{Agent, Log};
use ackclock_agent::iperf3::server::Server;
use ackclock_agent::policy::Policy;
use miette::{Context, IntoDiagnostic, Report, miette};
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
    let log: Log = Arc::new(|text| tell!("{text}"));
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
    let log: Log = Arc::new(|text| tell!("{text}"));
    Arc::new(Server::new(policy)).serve(&listener, stop, &log).into_diagnostic()?;
    Ok(())
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
