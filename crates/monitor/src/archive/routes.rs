//! Routes, as they change, and means over any time.

use super::{Archive, Outcome};
use crate::sample::{Moment, Quantity, Route};
use rusqlite::{OptionalExtension, params};

/// What samples of a time have in common.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mean {
    /// Their number.
    pub samples: u64,
    /// Their mean.
    pub mean: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub greatest: f64,
}

impl Archive {
    /// Notes the route to a host, if it is another one than before. Returns true if it is.
    ///
    /// # Errors
    ///
    /// [`super::ArchiveError`] if it cannot be written.
    pub fn note_route(&self, host: i64, at: Moment, route: &Route) -> Outcome<bool> {
        if self.routes(host, 1)?.first().is_some_and(|(_, before)| before.is_same(route)) {
            return Ok(false);
        }
        let row = params![host, at.0, route.to_string(), route.reached];
        self.told(self.database.execute("INSERT INTO routes VALUES (?1, ?2, ?3, ?4)", row))?;
        Ok(true)
    }

    /// The newest routes to a host, at most so many, each with the instant since which it is known. The
    /// newest is the first.
    ///
    /// # Errors
    ///
    /// [`super::ArchiveError`] if it cannot be read.
    pub fn routes(&self, host: i64, most: usize) -> Outcome<Vec<(Moment, Route)>> {
        // An archive of the first form has none.
        if self.pragma("user_version")? < 2 {
            return Ok(Vec::new());
        }
        let read = || {
            let mut statement = self.database.prepare(
                "SELECT at, hops, reached FROM routes WHERE host = ?1 ORDER BY rowid DESC LIMIT ?2",
            )?;
            let rows = statement.query_map(params![host, most as i64], |row| {
                let hops = row.get::<_, String>(1)?;
                let hops = hops.split_whitespace().map(|hop| hop.parse().ok()).collect();
                Ok((Moment(row.get(0)?), Route { hops, reached: row.get(2)? }))
            })?;
            rows.collect()
        };
        self.told(read())
    }

    /// What the samples of a quantity from `from` to `to` have in common; `None` if there are none.
    ///
    /// # Errors
    ///
    /// [`super::ArchiveError`] if it cannot be read.
    pub fn mean(&self, host: i64, quantity: Quantity, (from, to): (Moment, Moment)) -> Outcome<Option<Mean>> {
        let found = self.database.query_row(
            "SELECT count(*), avg(value), min(value), max(value) FROM samples
             WHERE host = ?1 AND quantity = ?2 AND at BETWEEN ?3 AND ?4 HAVING count(*) > 0",
            params![host, quantity as i64, from.0, to.0],
            |row| {
                let samples = row.get::<_, i64>(0)?.unsigned_abs();
                Ok(Mean { samples, mean: row.get(1)?, least: row.get(2)?, greatest: row.get(3)? })
            },
        );
        self.told(found.optional())
    }
}
