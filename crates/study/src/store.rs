//! Finished points on disk, so that an interrupted sweep can continue.
//!
//! The file of a point is named by a digest of everything that determines its result: the scenario with all
//! its values, the values of its axes, and the version of this program. A file gets its name only when it is
//! complete.

use ackclock_scenario::Point;
use ackclock_scenario::course::Course;
use ackclock_scenario::results::PointResult;
use ackclock_scenario::series::Series;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of writes so far. It keeps partial files apart.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// A directory of finished points.
#[derive(Clone, Debug)]
pub struct PointStore {
    directory: PathBuf,
}

/// A result with its series and traces, which the JSON contract leaves out.
#[derive(Deserialize)]
struct Kept {
    result: PointResult,
    series: Option<Series>,
    courses: Vec<Course>,
}

/// The same, borrowed.
#[derive(Serialize)]
struct Keeping<'a> {
    result: &'a PointResult,
    series: Option<&'a Series>,
    courses: &'a [Course],
}

impl PointStore {
    /// Opens a store, and creates its directory if there is none.
    ///
    /// # Errors
    ///
    /// If the directory cannot be created.
    pub fn open(directory: impl Into<PathBuf>) -> io::Result<PointStore> {
        let directory = directory.into();
        fs::create_dir_all(&directory)?;
        Ok(PointStore { directory })
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The result of a point, if it is finished. A file that cannot be read counts as missing.
    pub fn get(&self, point: &Point) -> Option<PointResult> {
        let file = File::open(self.path(point)).ok()?;
        let kept: Kept = serde_json::from_reader(BufReader::new(file)).ok()?;
        Some(PointResult { series: kept.series, courses: kept.courses, ..kept.result })
    }

    /// True if this point is finished.
    pub fn contains(&self, point: &Point) -> bool {
        self.path(point).is_file()
    }

    /// Stores the result of a point.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn put(&self, point: &Point, result: &PointResult) -> io::Result<()> {
        let keeping = Keeping { result, series: result.series.as_ref(), courses: &result.courses };
        self.write(&self.path(point), &keeping)
    }

    /// The additional data of a point that was stored under this name.
    pub fn get_beside<T: DeserializeOwned>(&self, point: &Point, word: &str) -> Option<T> {
        let file = File::open(self.path(point).with_extension(word)).ok()?;
        serde_json::from_reader(BufReader::new(file)).ok()
    }

    /// Stores additional data of a point under this name, for example what the emulator reports about its own
    /// error.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn put_beside<T: Serialize>(&self, point: &Point, word: &str, it: &T) -> io::Result<()> {
        self.write(&self.path(point).with_extension(word), it)
    }

    fn write<T: Serialize>(&self, path: &Path, it: &T) -> io::Result<()> {
        // Two points may be equal, and finish at the same time.
        let partial = path.with_extension(format!("{}.partial", WRITES.fetch_add(1, Ordering::Relaxed)));
        let mut file = BufWriter::new(File::create(&partial)?);
        serde_json::to_writer(&mut file, it)?;
        file.flush()?;
        drop(file);
        fs::rename(partial, path)
    }

    fn path(&self, point: &Point) -> PathBuf {
        self.directory.join(format!("{}.json", digest(point)))
    }
}

/// A digest of everything that determines the result of a point.
pub fn digest(point: &Point) -> String {
    let parameters: Vec<_> = point.parameters.iter().map(|(axis, value)| (axis, value.to_json())).collect();
    let identity = serde_json::json!([
        env!("CARGO_PKG_VERSION"),
        point.scenario.seed,
        parameters,
        point.scenario.to_json()
    ]);
    digest_of(identity.to_string().as_bytes())
}

/// A short digest of bytes.
pub fn digest_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::run_point;
    use ackclock_scenario::Sweep;
    use std::collections::HashSet;
    use std::sync::atomic::AtomicBool;

    const SCENARIO: &str = r#"
        duration = "2 s"
        seeds = 2
        [topology.dumbbell]
        bottleneck = { rate = "10 Mbit/s", delay = "10 ms", queue = { droptail = "20 packets" } }
        [[flows]]
        control = "reno"
        [sweep]
        "flows.0.control" = ["reno", "layered"]
        "flows.0.follow" = [1]
        [[expect]]
        that = "utilisation('bottleneck') > 0.1"
    "#;

    #[test]
    fn a_kept_point_is_the_same_as_before() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = PointStore::open(directory.path().join("points")).expect("a store");
        let sweep = Sweep::read("test", SCENARIO, &[]).expect("a scenario");
        let mut digests = HashSet::new();
        for point in &sweep.points {
            assert!(store.get(point).is_none());
            let result = run_point(point, true, &AtomicBool::new(false)).expect("a result");
            store.put(point, &result).expect("kept");
            let kept = store.get(point).expect("found again");
            assert_eq!(format!("{kept:?}"), format!("{result:?}"));
            digests.insert(digest(point));
        }
        assert_eq!(digests.len(), 4, "every point has a name of its own");
    }

    #[test]
    fn what_is_kept_beside_a_point_is_not_the_point() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = PointStore::open(directory.path()).expect("a store");
        let sweep = Sweep::read("test", SCENARIO, &[]).expect("a scenario");
        let [point, other, ..] = &sweep.points[..] else { panic!("several points") };
        store.put_beside(point, "emulation", &[1, 2]).expect("kept");
        assert_eq!(store.get_beside::<Vec<u32>>(point, "emulation"), Some(vec![1, 2]));
        assert_eq!(store.get_beside::<Vec<u32>>(other, "emulation"), None);
        assert!(!store.contains(point));
    }

    #[test]
    fn half_a_file_counts_as_none() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = PointStore::open(directory.path()).expect("a store");
        let sweep = Sweep::read("test", SCENARIO, &[]).expect("a scenario");
        let point = &sweep.points[0];
        let result = run_point(point, true, &AtomicBool::new(false)).expect("a result");
        store.put(point, &result).expect("kept");
        let text = fs::read(store.path(point)).expect("the file");
        fs::write(store.path(point), &text[..text.len() / 2]).expect("cut short");
        assert!(store.get(point).is_none());
    }
}
