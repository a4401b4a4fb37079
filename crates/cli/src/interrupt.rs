//! Ctrl-C: the first one asks for an orderly end, the second one does not ask.

use miette::{Context, IntoDiagnostic};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a shell calls a program that SIGINT has ended.
pub(crate) const EXIT_STATUS: u8 = 130;

static STOP: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C sets the flag that is returned; a second one ends the program at once.
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
