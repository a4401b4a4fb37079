//! What the archive has on a host, as far as advice needs it.

use crate::advice::{LOSSLESS, Measured, PRESENT, SESSIONS, SPAN};
use crate::archive::{Archive, ArchiveError};
use crate::sample::{Moment, Quantity};

/// The largest number of samples of a quantity that is read: a day of echo requests every second.
const MOST: usize = 90_000;

/// Reads what advice on a host is derived from.
///
/// # Errors
///
/// [`ArchiveError`] if the archive cannot be read.
pub fn measured(archive: &Archive, host: i64, now: Moment) -> Result<Measured, ArchiveError> {
    let within = |quantity, span, most| archive.samples(host, quantity, (now.before(span), now), most);
    Ok(Measured {
        rtt: within(Quantity::Rtt, SPAN, MOST)?,
        lost: within(Quantity::Lost, SPAN, MOST)?,
        retransmissions: within(Quantity::Retransmissions, LOSSLESS, MOST)?,
        capacity: within(Quantity::Capacity, SPAN, MOST)?,
        waiting: within(Quantity::Waiting, SPAN, MOST)?,
        closing_window: within(Quantity::ClosingWindow, SPAN, SESSIONS)?,
        sent: within(Quantity::Sent, SPAN, PRESENT)?,
    })
}
