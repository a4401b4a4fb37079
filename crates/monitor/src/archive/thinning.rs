//! Thinning: old samples become means of hours.

use super::{Archive, HOUR, MEANS, Outcome, RAW};
use crate::sample::Moment;
use rusqlite::{Connection, OptionalExtension, params};

impl Archive {
    /// Turns samples older than [`RAW`] into means of whole hours, and forgets means older than [`MEANS`].
    /// Each sample counts once, whenever it came. One call moves one hour of one quantity of one host, so
    /// that the archive is never held for long. Returns true if it moved one: call again until it has not.
    ///
    /// # Errors
    ///
    /// [`super::ArchiveError`] if it cannot be written. Nothing has changed then.
    pub fn thin(&mut self, now: Moment) -> Outcome<bool> {
        let (raw, means) = (now.before(RAW).0.div_euclid(HOUR), now.before(MEANS).0.div_euclid(HOUR));
        let thinned = self.database.transaction().and_then(|change| {
            let oldest = oldest(&change, raw * HOUR)?;
            match oldest {
                Some((host, quantity, at)) => move_hour(&change, host, quantity, at.div_euclid(HOUR), means)?,
                None => drop(change.execute("DELETE FROM hours WHERE hour < ?1", [means])?),
            }
            change.commit()?;
            Ok(oldest.is_some())
        });
        self.told(thinned)
    }
}

/// The oldest sample before `end` of the first host and quantity that have one: host, quantity, time. Each
/// step is one search of the index, however many samples there are.
fn oldest(database: &Connection, end: i64) -> rusqlite::Result<Option<(i64, i64, i64)>> {
    let mut next = database.prepare(
        "SELECT host, quantity, at FROM samples WHERE (host, quantity) > (?1, ?2)
         ORDER BY host, quantity, at LIMIT 1",
    )?;
    let mut after = (i64::MIN, i64::MIN);
    loop {
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let Some((host, quantity, at)) = next.query_row([after.0, after.1], row).optional()? else {
            return Ok(None);
        };
        if at < end {
            return Ok(Some((host, quantity, at)));
        }
        after = (host, quantity);
    }
}

/// Makes the samples of an hour a mean, unless it is before `means`.
fn move_hour(database: &Connection, host: i64, quantity: i64, hour: i64, means: i64) -> rusqlite::Result<()> {
    let span = params![host, quantity, hour * HOUR, (hour + 1) * HOUR, hour];
    if hour >= means {
        database.execute(
            "INSERT INTO hours
             SELECT host, quantity, ?5, count(*), avg(value), min(value), max(value)
             FROM samples WHERE host = ?1 AND quantity = ?2 AND at >= ?3 AND at < ?4 GROUP BY 1, 2
             ON CONFLICT DO UPDATE SET
                mean = (mean * samples + excluded.mean * excluded.samples) / (samples + excluded.samples),
                samples = samples + excluded.samples,
                least = min(least, excluded.least), greatest = max(greatest, excluded.greatest)",
            span,
        )?;
    }
    database.execute(
        "DELETE FROM samples WHERE host = ?1 AND quantity = ?2 AND at >= ?3 AND at < ?4",
        &span[..4],
    )?;
    Ok(())
}
