//! The archive: a SQLite database with a write-ahead log.
//!
//! A monitor writes, and any number of others read at the same time. What is committed survives the death of
//! the writer. Samples stay as they are for 14 days, then means of hours for two years.

mod error;
mod place;
mod routes;
mod thinning;

pub use error::ArchiveError;
pub use routes::Mean;

use crate::sample::{Moment, Quantity, Sample};
use ackclock_units::Duration;
use error::named;
use place::Place;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use std::io;
use std::path::{Path, PathBuf};

/// How long samples stay as they are.
pub const RAW: Duration = Duration::from_secs(14 * 24 * 3600);
/// How long means of hours stay.
pub const MEANS: Duration = Duration::from_secs(2 * 365 * 24 * 3600);

/// Says in the file's header whose it is: "ackm".
const APPLICATION: i32 = 0x6163_6b6d;
/// The form of the tables. The first had no routes.
const VERSION: i32 = 2;
/// How long to wait for another process that holds the archive.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);
/// An hour, us.
const HOUR: i64 = 3_600_000_000;

const TABLES: &str = "
    CREATE TABLE hosts (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, address TEXT NOT NULL, uncontrolled INTEGER NOT NULL,
        ping_us INTEGER NOT NULL, transfer_us INTEGER NOT NULL);
    CREATE TABLE samples (host INTEGER NOT NULL, quantity INTEGER NOT NULL, at INTEGER NOT NULL, value REAL NOT NULL);
    CREATE INDEX samples_by_time ON samples (host, quantity, at, value);
    CREATE TABLE hours (
        host INTEGER NOT NULL, quantity INTEGER NOT NULL, hour INTEGER NOT NULL, samples INTEGER NOT NULL,
        mean REAL NOT NULL, least REAL NOT NULL, greatest REAL NOT NULL,
        PRIMARY KEY (host, quantity, hour)) WITHOUT ROWID;
    CREATE TABLE steps (at INTEGER NOT NULL, by_us INTEGER NOT NULL);
";
/// What the second form has more.
const ROUTES: &str = "
    CREATE TABLE routes (host INTEGER NOT NULL, at INTEGER NOT NULL, hops TEXT NOT NULL, reached INTEGER NOT NULL);
    CREATE INDEX routes_by_host ON routes (host);
";

/// A host in the archive.
#[derive(Clone, PartialEq, Debug)]
pub struct Known {
    /// Its number in the archive.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: String,
    /// May TCP do without congestion control towards it?
    pub uncontrolled: bool,
    /// The period of its echo requests.
    pub ping: Duration,
    /// The period of its transfers; zero if there are none.
    pub transfer: Duration,
}

/// A sample on its way into the archive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Row {
    /// The host's number.
    pub host: i64,
    /// What was measured.
    pub quantity: Quantity,
    /// The sample.
    pub sample: Sample,
}

/// The mean of an hour.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hour {
    /// Its beginning.
    pub from: Moment,
    /// The number of samples.
    pub samples: u64,
    /// Their mean.
    pub mean: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub greatest: f64,
}

/// An open archive.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    database: Connection,
}

type Outcome<T> = Result<T, ArchiveError>;

impl Archive {
    /// Opens an archive for reading.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if there is none, or the file is something else, damaged, or of a later form.
    pub fn open(path: &Path) -> Outcome<Archive> {
        if !path.exists() {
            return Err(ArchiveError::Missing(path.to_owned()));
        }
        let archive = Archive::connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        archive.check()?;
        Ok(archive)
    }

    /// Opens an archive for writing. Makes it if there is none. All its files must be ours, and none a link.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] as for [`Archive::open`], or if it cannot be written, or a file is not ours.
    pub fn create(path: &Path) -> Outcome<Archive> {
        let refused =
            |error: io::Error| ArchiveError::Other { path: path.to_owned(), problem: error.to_string() };
        let place = Place::open(path).map_err(refused)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let mut archive = Archive::connect(&place.path(), flags)?;
        archive.path = path.to_owned();
        if archive.is_empty()? {
            archive.begin()?;
        }
        archive.check()?;
        if archive.pragma("user_version")? < VERSION {
            archive.change(ROUTES)?;
        }
        place.check_open().map_err(refused)?;
        // A commit is in the log, which the system writes out, so it survives the death of this process. Only
        // a crash of the system may lose what was not checkpointed (SQLite's documentation of WAL).
        archive.told(archive.database.pragma_update(None, "synchronous", "NORMAL"))?;
        Ok(archive)
    }

    fn connect(path: &Path, flags: OpenFlags) -> Outcome<Archive> {
        let database = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .map_err(|error| named(path, &error))?;
        let archive = Archive { path: path.to_owned(), database };
        archive.told(archive.database.busy_timeout(PATIENCE))?;
        Ok(archive)
    }

    /// Is this a database in which nobody has made anything? So is one whose maker was killed before its
    /// tables were there.
    fn is_empty(&self) -> Outcome<bool> {
        let tables = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        let tables = self.told(self.database.query_row("SELECT count(*) FROM sqlite_master", [], tables))?;
        Ok(tables == 0 && self.pragma("application_id")? == 0)
    }

    fn pragma(&self, name: &str) -> Outcome<i32> {
        self.told(self.database.pragma_query_value(None, name, |row| row.get(0)))
    }

    /// Makes the tables of a new archive.
    fn begin(&mut self) -> Outcome<()> {
        self.told(self.database.pragma_update(None, "journal_mode", "WAL"))?;
        self.change(&format!("{TABLES}{ROUTES}"))
    }

    /// Adds tables, and makes this an archive of the present form.
    fn change(&mut self, tables: &str) -> Outcome<()> {
        let made = self.database.transaction().and_then(|change| {
            change.execute_batch(tables)?;
            change.pragma_update(None, "application_id", APPLICATION)?;
            change.pragma_update(None, "user_version", VERSION)?;
            change.commit()
        });
        self.told(made)
    }

    /// Is this an archive of a known form?
    fn check(&self) -> Outcome<()> {
        if self.pragma("application_id")? != APPLICATION {
            return Err(ArchiveError::Foreign(self.path.clone()));
        }
        match self.pragma("user_version")? {
            1..=VERSION => Ok(()),
            found => Err(ArchiveError::Later { path: self.path.clone(), found }),
        }
    }

    fn told<T>(&self, result: rusqlite::Result<T>) -> Outcome<T> {
        result.map_err(|error| named(&self.path, &error))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Limits the archive to so many pages of 4 KiB; `None`: no limit. Writing beyond it fails as on a full
    /// disk.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if SQLite refuses it.
    pub fn limit(&self, pages: Option<u32>) -> Outcome<()> {
        self.told(self.database.pragma_update(None, "max_page_count", pages.unwrap_or(u32::MAX - 1)))
    }

    /// Writes what is known of a host, and returns its number. `host.id` does not count.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if it cannot be written.
    pub fn describe(&self, host: &Known) -> Outcome<i64> {
        let us = |span: Duration| (span.as_nanos() / 1000) as i64;
        self.told(self.database.query_row(
            "INSERT INTO hosts (name, address, uncontrolled, ping_us, transfer_us) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (name) DO UPDATE SET address = ?2, uncontrolled = ?3, ping_us = ?4, transfer_us = ?5
             RETURNING id",
            params![host.name, host.address, host.uncontrolled, us(host.ping), us(host.transfer)],
            |row| row.get(0),
        ))
    }

    /// All hosts, by name.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if it cannot be read.
    pub fn hosts(&self) -> Outcome<Vec<Known>> {
        let columns = "SELECT id, name, address, uncontrolled, ping_us, transfer_us FROM hosts ORDER BY name";
        let read = || {
            let mut statement = self.database.prepare(columns)?;
            let rows = statement.query_map([], |row| {
                let span = |us: i64| Duration::from_micros(us.max(0) as u64);
                Ok(Known {
                    id: row.get(0)?,
                    name: row.get(1)?,
                    address: row.get(2)?,
                    uncontrolled: row.get(3)?,
                    ping: span(row.get(4)?),
                    transfer: span(row.get(5)?),
                })
            })?;
            rows.collect()
        };
        self.told(read())
    }

    /// Writes samples: all of them, or none. Values that are no numbers are left out.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if they cannot be written. None of them is then in the archive.
    pub fn write(&mut self, rows: &[Row]) -> Outcome<()> {
        let write = |change: rusqlite::Transaction<'_>| {
            let mut insert = change.prepare("INSERT INTO samples VALUES (?1, ?2, ?3, ?4)")?;
            for Row { host, quantity, sample } in rows.iter().filter(|row| row.sample.value.is_finite()) {
                insert.execute(params![host, *quantity as i64, sample.at.0, sample.value])?;
            }
            drop(insert);
            change.commit()
        };
        let written = self.database.transaction().and_then(write);
        self.told(written)
    }

    /// Notes that the system's clock was set, forward or backward, at an instant of the new time.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if it cannot be written.
    pub fn note_step(&self, at: Moment, by_us: i64) -> Outcome<()> {
        self.told(self.database.execute("INSERT INTO steps VALUES (?1, ?2)", params![at.0, by_us]))?;
        Ok(())
    }

    /// The last time that the clock was set before `now`, and by how many us.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if it cannot be read.
    pub fn last_step(&self, now: Moment) -> Outcome<Option<(Moment, i64)>> {
        let found = self.database.query_row(
            "SELECT at, by_us FROM steps WHERE at <= ?1 ORDER BY at DESC LIMIT 1",
            [now.0],
            |row| Ok((Moment(row.get(0)?), row.get(1)?)),
        );
        self.told(found.optional())
    }

    /// The samples of a quantity from `from` to `to`, at most the newest `most`, from oldest to newest.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if it cannot be read.
    pub fn samples(
        &self,
        host: i64,
        quantity: Quantity,
        (from, to): (Moment, Moment),
        most: usize,
    ) -> Outcome<Vec<Sample>> {
        let read = || {
            let mut statement = self.database.prepare(
                "SELECT at, value FROM samples WHERE host = ?1 AND quantity = ?2 AND at BETWEEN ?3 AND ?4
                 ORDER BY at DESC LIMIT ?5",
            )?;
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![host, quantity as i64, from.0, to.0, most], |row| {
                Ok(Sample { at: Moment(row.get(0)?), value: row.get(1)? })
            })?;
            let mut samples: Vec<Sample> = rows.collect::<rusqlite::Result<_>>()?;
            samples.reverse();
            Ok(samples)
        };
        self.told(read())
    }

    /// The means of hours of a quantity, from oldest to newest.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if it cannot be read.
    pub fn hours(&self, host: i64, quantity: Quantity) -> Outcome<Vec<Hour>> {
        let read = || {
            let mut statement = self.database.prepare(
                "SELECT hour, samples, mean, least, greatest FROM hours WHERE host = ?1 AND quantity = ?2
                 ORDER BY hour",
            )?;
            let rows = statement.query_map(params![host, quantity as i64], |row| {
                Ok(Hour {
                    from: Moment(row.get::<_, i64>(0)?.saturating_mul(HOUR)),
                    samples: row.get::<_, i64>(1)?.unsigned_abs(),
                    mean: row.get(2)?,
                    least: row.get(3)?,
                    greatest: row.get(4)?,
                })
            })?;
            rows.collect()
        };
        self.told(read())
    }
}
