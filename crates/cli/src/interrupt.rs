//! Ctrl-C: the first asks for an orderly end, the second ends the program at once.

use miette::{Context, IntoDiagnostic};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit status that shells use for a program ended by SIGINT.
pub(crate) const EXIT_STATUS: u8 = 130;

static STOP: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C sets the returned flag. A second Ctrl-C ends the program at once.
pub(crate) fn listen() -> miette::Result<&'static AtomicBool> {
    ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            process::exit(EXIT_STATUS.into());
        }
    })
    .into_diagnostic()
    .wrap_err("Ctrl-C cannot be listened to")?;
    Ok(&STOP)
}
