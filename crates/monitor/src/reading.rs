//! What the archive has on a host, as far as advice needs it.

use crate::advice::{LOSSLESS, Measured, PRESENT, PathAdvice, SESSIONS, SPAN, Stated, advise};
use crate::archive::{Archive, ArchiveError, Known};
use crate::sample::{Moment, Quantity, Sample};
use crate::statistics::OLDEST;
use ackclock_units::Duration;

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

/// All that is known and advised on a host.
#[derive(Clone, Debug)]
pub struct Report {
    /// The host.
    pub host: Known,
    /// The period of bursts that was asked about.
    pub burst: Duration,
    /// The advice.
    pub advice: PathAdvice,
    /// The greatest rate without losses and the smallest one with losses, bit/s, of the newest search.
    pub losses: [Option<Sample>; 2],
    /// When the system's clock was set during the last [`OLDEST`], and by how many us.
    pub step: Option<(Moment, i64)>,
}

/// Derives all advice on a host.
///
/// # Errors
///
/// [`ArchiveError`] if the archive cannot be read.
pub fn report(archive: &Archive, host: &Known, burst: Duration, now: Moment) -> Result<Report, ArchiveError> {
    let measured = measured(archive, host.id, now)?;
    let (ping, transfer) = (host.ping, host.transfer);
    let stated = Stated { uncontrolled: host.uncontrolled, ping, transfer, burst };
    let step = archive.last_step(now)?;
    Ok(Report {
        host: host.clone(),
        burst,
        advice: advise(&measured, &stated, now),
        losses: newest_search(archive, host.id, now)?,
        step: step.filter(|(at, _)| now.since(*at) < OLDEST),
    })
}

/// A search that has found no losses has no rate with losses: one from an earlier search does not count.
fn newest_search(archive: &Archive, host: i64, now: Moment) -> Result<[Option<Sample>; 2], ArchiveError> {
    let newest = |quantity| {
        archive.samples(host, quantity, (Moment(i64::MIN), now), 1).map(|samples| samples.last().copied())
    };
    let [clean, lossy] = [newest(Quantity::LossFree)?, newest(Quantity::Lossy)?];
    let last = clean.iter().chain(&lossy).map(|sample| sample.at).max();
    Ok([clean, lossy].map(|found| found.filter(|sample| Some(sample.at) == last)))
}
