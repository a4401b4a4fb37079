//! `ackclock receive`.

use super::{failed, key, megabits, observe, plural};
use crate::args::Receive;
use crate::failure::Failure;
use crate::interrupt;
use ackclock_files::Folder;
use ackclock_transfer::files::{Inbound, Stored};
use ackclock_transfer::host::{self, ENTROPY, Guest, Summary, TransferError, Watch};
use ackclock_transfer::noise::{Identity, Key};
use ackclock_transfer::stream::Sink;
use ackclock_transfer::ticket::{Ticket, hex};
use miette::{Context, IntoDiagnostic, Report, miette};
use serde_json::json;
use std::fs::Permissions;
use std::io::Write;
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) fn run(command: &Receive) -> Result<(), Failure> {
    let only = command.from.as_deref().map(key::public).transpose()?;
    let into = &command.into;
    let folder = Folder::own(into).map_err(|error| {
        let help = "give a directory of your own, or a new name";
        miette!(help = help, "--into {}: files cannot be put there: {error}", into.display())
    })?;
    let me = key::mine()?;
    let socket = UdpSocket::bind(command.listen).into_diagnostic();
    let socket = socket.wrap_err_with(|| format!("--listen {}", command.listen))?;
    let interrupted = interrupt::listen()?;
    loop {
        let socket = socket.try_clone().into_diagnostic()?;
        let outcome = one(command, &folder, &me, only, socket, interrupted);
        match outcome {
            Err(Failure::Unfinished(report)) if !command.once => tell!("{report:?}"),
            Ok(()) if !command.once => {}
            other => return other,
        }
    }
}

/// One transfer with a ticket of its own.
fn one(
    command: &Receive,
    folder: &Folder,
    me: &Identity,
    only: Option<Key>,
    socket: UdpSocket,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    let ticket = Ticket::new(me, ENTROPY);
    announce(command, &ticket, socket.local_addr().into_diagnostic()?)?;
    let files = Arc::new(Mutex::new(Vec::new()));
    let mut guest = None;
    let mut open = |found: Guest| {
        guest = Some(found);
        Box::new(Inbound::new(folder.clone(), command.force, files.clone())) as Box<dyn Sink>
    };
    let watch = Watch::default();
    let (outcome, _) = observe::while_running(&watch, None, interrupted, || {
        host::receive(socket, me, &ticket, only, &mut open, command.silence.0, &watch)
    })?;
    let files = files.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let summary = match outcome {
        Ok(summary) => summary,
        Err(TransferError::Interrupted) => {
            return Err(Failure::Interrupted("nobody has sent anything: interrupted".to_owned()));
        }
        Err(error) => return Err(failed(error, interrupted.load(Ordering::Relaxed))),
    };
    if command.json {
        say!("{}", document(guest, &files, &summary));
    } else {
        show(&files, &summary);
    }
    Ok(())
}

/// Gives the ticket to the user, and to nobody else.
fn announce(command: &Receive, ticket: &Ticket, listens: SocketAddr) -> Result<(), Report> {
    tell!("listening on {listens} (UDP); the ticket lets one sender in, once; whoever has it can send:");
    match &command.ticket_file {
        Some(path) => keep(path, ticket),
        None => {
            say!("{}", ticket.reveal());
            Ok(())
        }
    }
}

fn keep(path: &Path, ticket: &Ticket) -> Result<(), Report> {
    let named = || format!("--ticket-file {}", path.display());
    let folder = Folder::at(path.parent().unwrap_or(Path::new(""))).into_diagnostic().wrap_err_with(named)?;
    let name = path.file_name().unwrap_or_default();
    // Whoever waits for the file finds the whole ticket, or nothing. Nobody else may read it.
    let draft = format!(".{}.{}", name.display(), std::process::id());
    let written = folder.create(&draft).and_then(|mut file| {
        file.set_permissions(Permissions::from_mode(0o600))?;
        writeln!(file, "{}", ticket.reveal())?;
        folder.rename(&draft, &folder, name)
    });
    written.into_diagnostic().wrap_err_with(named)?;
    tell!("the ticket is in {}", path.display());
    Ok(())
}

fn show(files: &[Stored], summary: &Summary) {
    for file in files {
        let hash = file.hash.map(|hash| hex(&hash)).unwrap_or_default();
        say!("{hash}  {}", file.name);
    }
    let seconds = summary.elapsed.as_secs_f64();
    tell!(
        "{} received from {}: {} bytes in {:.2} s, {}",
        plural(files.len(), "file"),
        summary.peer,
        summary.bytes,
        seconds,
        megabits(summary.bytes as f64 * 8.0 / seconds.max(1e-9))
    );
}

fn document(guest: Option<Guest>, files: &[Stored], summary: &Summary) -> serde_json::Value {
    let seen = &summary.seen;
    json!({
        "peer": summary.peer.to_string(),
        "from": guest.map(|guest| hex(&guest.key)),
        "bytes": summary.bytes,
        "elapsed_s": summary.elapsed.as_secs_f64(),
        "packets": seen.packets,
        "duplicates": seen.repeated,
        "congestion": seen.congestion,
        "transmission": seen.transmission,
        "files": files.iter().map(|file| json!({
            "name": file.name,
            "bytes": file.size,
            "skipped": file.skipped,
            "sha256": file.hash.map(|hash| hex(&hash)),
        })).collect::<Vec<_>>(),
    })
}
