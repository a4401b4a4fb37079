//! `ackclock send`, `ackclock receive`, `ackclock key`: files over rate-based transports.

mod key;
mod observe;
mod receive;
mod send;

pub(crate) use key::run as key;
pub(crate) use receive::run as receive;
pub(crate) use send::run as send;

use crate::failure::Failure;
use ackclock_transfer::channel::Why;
use ackclock_transfer::host::TransferError;
use miette::miette;

/// What a failed session means for the exit status.
fn failed(error: TransferError, stopped: bool) -> Failure {
    match error {
        TransferError::Interrupted => Failure::Interrupted("interrupted".to_owned()),
        TransferError::Stopped(stop) if stop.why == Why::Stopped || stopped => {
            let again = "what has arrived is kept: start both again, the sender with --resume";
            Failure::Interrupted(format!("interrupted; {again}"))
        }
        other => Failure::Unfinished(miette!("{other}")),
    }
}

/// A rate for people.
fn megabits(bps: f64) -> String {
    if bps >= 1e9 { format!("{:.2} Gbit/s", bps * 1e-9) } else { format!("{:.2} Mbit/s", bps * 1e-6) }
}

fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("{count} {what}") } else { format!("{count} {what}s") }
}
