//! Finished points on disk, so that an interrupted sweep can continue.
//!
//! A point is found by a digest of what determines its result: the scenario with every value in place, the
//! values of its axes, and the build of this program. A file appears under its name only when it is complete,
//! and bears a checksum of its content. What two runs of the same build cannot have in common, the time that
//! they took, is kept in a file of its own beside it, so that the points themselves are identical byte by
//! byte.

use ackclock_files::{Folder, unique};
use ackclock_scenario::Point;
use ackclock_scenario::flow_trace::FlowTrace;
use ackclock_scenario::results::{PointResult, Timing};
use ackclock_scenario::series::Series;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// The time that a point's run took is kept under this word beside its result.
const TIMING: &str = "timing";

/// Which build of a program computes: another one may give other results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Build(String);

impl Build {
    /// The build that consists of these bytes, such as those of the program or of the library that computes.
    pub fn of(bytes: &[u8]) -> Build {
        Build(digest_of(bytes))
    }

    /// The build that consists of the bytes of a file.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn of_file(path: &Path) -> io::Result<Build> {
        // A program with its line numbers has a hundred megabytes, so it is not held in memory.
        let (mut file, mut piece, mut sum) = (File::open(path)?, [0; 1 << 16], Sha256::new());
        loop {
            match file.read(&mut piece)? {
                0 => return Ok(Build(short(sum))),
                length => sum.update(&piece[..length]),
            }
        }
    }

    /// The build of the program that runs.
    ///
    /// # Errors
    ///
    /// The program's own file cannot be read.
    pub fn of_this_program() -> io::Result<Build> {
        Build::of_file(&std::env::current_exe()?)
    }

    /// A word for it that can be the name of a directory.
    pub fn word(&self) -> &str {
        &self.0
    }
}

/// The file of a store that says whose its points are, if they are all of one build.
const BUILD: &str = "build";

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be made, opened or read, or belongs to another user.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Its points are those of another build.
    #[error("this has points of the build {kept}, and this is the build {own}")]
    OtherBuild {
        /// The build of its points.
        kept: String,
        /// This build.
        own: String,
    },
}

/// A directory of finished points.
#[derive(Clone, Debug)]
pub struct PointStore {
    folder: Folder,
    build: Build,
}

/// A result with its series and traces, which the JSON contract leaves out.
#[derive(Deserialize)]
struct Kept {
    result: PointResult,
    series: Option<Series>,
    courses: Vec<FlowTrace>,
}

/// The same, borrowed.
#[derive(Serialize)]
struct Keeping<'a> {
    result: &'a serde_json::Value,
    series: Option<&'a Series>,
    courses: &'a [FlowTrace],
}

impl PointStore {
    /// Opens a store at `directory`, making it if need be, for points that this build computes.
    ///
    /// # Errors
    ///
    /// It cannot be made or opened, or belongs to another user, whose points are not to be believed.
    pub fn open(directory: impl AsRef<Path>, build: &Build) -> io::Result<PointStore> {
        Ok(PointStore::within(Folder::own(directory)?, build))
    }

    /// Opens a store at `directory`, making it if need be, whose points are all of this build. A store says
    /// of which build it is from the first opening on.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if it cannot be used, or is of another build.
    pub fn of_one_build(directory: impl AsRef<Path>, build: &Build) -> Result<PointStore, StoreError> {
        let store = PointStore::open(directory, build)?;
        if !store.folder.is_file(BUILD) {
            let partial = format!("{BUILD}.{}.partial", unique());
            writeln!(store.folder.create(&partial)?, "{}", build.0)?;
            // Another process may have been first. What it wrote is compared below.
            let placed = store.folder.rename_new(&partial, BUILD);
            placed.or_else(|_| store.folder.remove(&partial))?;
        }
        let mut kept = String::new();
        store.folder.open(BUILD)?.read_to_string(&mut kept)?;
        match kept.trim() {
            same if same == build.0 => Ok(store),
            other => Err(StoreError::OtherBuild { kept: other.to_owned(), own: build.0.clone() }),
        }
    }

    /// A store in a directory that is open already.
    pub fn within(folder: Folder, build: &Build) -> PointStore {
        PointStore { folder, build: build.clone() }
    }

    /// The directory.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The result of a point that is finished. A file that cannot be read, or whose content is not what was
    /// written, counts as none.
    pub fn get(&self, point: &Point) -> Option<PointResult> {
        let kept: Kept = self.read(&self.name(point, "json"))?;
        let mut result = PointResult { series: kept.series, courses: kept.courses, ..kept.result };
        result.set_timing(self.get_beside(point, TIMING).unwrap_or_default());
        Some(result)
    }

    /// True if this point is finished.
    pub fn contains(&self, point: &Point) -> bool {
        self.folder.is_file(self.name(point, "json"))
    }

    /// Keeps the result of a point.
    ///
    /// # Errors
    ///
    /// It cannot be written; then nothing of it is there.
    pub fn put(&self, point: &Point, result: &PointResult) -> io::Result<()> {
        let mut own = serde_json::to_value(result)?;
        Timing::remove_from(&mut own);
        self.put_beside(point, TIMING, &result.timing())?;
        let keeping = Keeping { result: &own, series: result.series.as_ref(), courses: &result.courses };
        self.write(&self.name(point, "json"), &keeping)
    }

    /// The additional data of a point that was stored under this name.
    pub fn get_beside<T: DeserializeOwned>(&self, point: &Point, word: &str) -> Option<T> {
        self.read(&self.name(point, word))
    }

    /// Keeps something beside a point's result under this word, such as what the one that measured it says of
    /// itself.
    ///
    /// # Errors
    ///
    /// It cannot be written; then nothing of it is there.
    pub fn put_beside<T: Serialize>(&self, point: &Point, word: &str, it: &T) -> io::Result<()> {
        self.write(&self.name(point, word), it)
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let mut text = String::new();
        self.folder.open(name).and_then(|mut file| file.read_to_string(&mut text)).ok()?;
        serde_json::from_str(unsealed(name, &text)?).ok()
    }

    fn write<T: Serialize>(&self, name: &str, it: &T) -> io::Result<()> {
        let sealed = sealed(name, &serde_json::to_string(it)?);
        self.folder.replace(name, |file| file.write_all(sealed.as_bytes()))
    }

    /// The name of a file of this point.
    fn name(&self, point: &Point, word: &str) -> String {
        format!("{}.{word}", digest_of(format!("{} {}", self.build.0, digest(point)).as_bytes()))
    }
}

/// What stands around a file's content: its checksum, and the key under which it stands.
const SUM: (&str, &str, &str) = ("{\"sha256\":\"", "\",\"kept\":", "}\n");

/// A file's content with its checksum, as one JSON document. The file's name belongs to what is summed up.
fn sealed(name: &str, content: &str) -> String {
    let (before, between, after) = SUM;
    format!("{before}{}{between}{content}{after}", checksum(name, content))
}

/// The content, if it is what was written into the file of this name.
fn unsealed<'a>(name: &str, text: &'a str) -> Option<&'a str> {
    let (before, between, after) = SUM;
    let (sum, content) = text.strip_prefix(before)?.strip_suffix(after)?.split_once(between)?;
    (sum == checksum(name, content)).then_some(content)
}

fn checksum(name: &str, content: &str) -> String {
    hexadecimal(&Sha256::new().chain_update(name).chain_update([0]).chain_update(content).finalize())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A digest of what a point is: its scenario, its seed and the values of its axes.
pub fn digest(point: &Point) -> String {
    let parameters: Vec<_> = point.parameters.iter().map(|(axis, value)| (axis, value.to_json())).collect();
    let identity = serde_json::json!([point.scenario.seed, parameters, point.scenario.to_json()]);
    digest_of(identity.to_string().as_bytes())
}

/// A short digest of bytes.
pub fn digest_of(bytes: &[u8]) -> String {
    short(Sha256::new_with_prefix(bytes))
}

fn short(sum: Sha256) -> String {
    hexadecimal(&sum.finalize()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::run_point;
    use ackclock_scenario::Sweep;
    use std::collections::HashSet;
    use std::fs;
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

    fn build() -> Build {
        Build::of(b"this one")
    }

    #[test]
    fn a_kept_point_is_the_same_as_before() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = PointStore::open(directory.path().join("points"), &build()).expect("a store");
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
        let store = PointStore::open(directory.path(), &build()).expect("a store");
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
        let store = PointStore::open(directory.path(), &build()).expect("a store");
        let sweep = Sweep::read("test", SCENARIO, &[]).expect("a scenario");
        let point = &sweep.points[0];
        let result = run_point(point, true, &AtomicBool::new(false)).expect("a result");
        store.put(point, &result).expect("kept");
        let path = directory.path().join(store.name(point, "json"));
        let text = fs::read(&path).expect("the file");
        fs::write(&path, &text[..text.len() / 2]).expect("cut short");
        assert!(store.get(point).is_none());
    }

    #[test]
    fn a_digit_that_was_changed_is_noticed() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = PointStore::open(directory.path(), &build()).expect("a store");
        let sweep = Sweep::read("test", SCENARIO, &[]).expect("a scenario");
        let [point, other, ..] = &sweep.points[..] else { panic!("several points") };
        let result = run_point(point, true, &AtomicBool::new(false)).expect("a result");
        store.put(point, &result).expect("kept");
        let path = directory.path().join(store.name(point, "json"));
        let text = fs::read_to_string(&path).expect("the file");
        let key = "\"delivered_segments\":";
        let at = text.find(key).expect("a number") + key.len();
        let digit = if text[at..].starts_with('1') { "2" } else { "1" };
        let changed = format!("{}{digit}{}", &text[..at], &text[at + 1..]);
        serde_json::from_str::<serde_json::Value>(&changed).expect("it can still be read");
        fs::write(&path, changed).expect("written");
        assert!(store.get(point).is_none(), "a changed digit is believed");
        fs::write(directory.path().join(store.name(other, "json")), text).expect("written");
        assert!(store.get(other).is_none(), "another point's result is believed");
    }

    #[test]
    fn a_file_is_the_build_of_its_bytes() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (path, bytes) = (directory.path().join("program"), [7; 200_000]);
        fs::write(&path, bytes).expect("written");
        assert_eq!(Build::of_file(&path).expect("it can be read"), Build::of(&bytes));
    }

    #[test]
    fn another_build_does_not_share_its_points() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let sweep = Sweep::read("test", SCENARIO, &[]).expect("a scenario");
        let point = &sweep.points[0];
        let result = run_point(point, false, &AtomicBool::new(false)).expect("a result");
        let store = |bytes: &[u8]| PointStore::open(directory.path(), &Build::of(bytes)).expect("a store");
        store(b"one").put(point, &result).expect("kept");
        assert!(store(b"one").contains(point) && store(b"one").get(point).is_some());
        assert!(!store(b"another").contains(point) && store(b"another").get(point).is_none());
    }

    #[test]
    fn a_store_of_one_build_refuses_another_and_names_both() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (one, other) = (Build::of(b"one"), Build::of(b"other"));
        for _ in 0..2 {
            PointStore::of_one_build(directory.path(), &one).expect("a store");
        }
        let error = PointStore::of_one_build(directory.path(), &other).expect_err("another build");
        let said = error.to_string();
        assert!(said.contains(one.word()) && said.contains(other.word()), "{said}");
        assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 1, "nothing else is left");
    }

    #[test]
    fn two_runs_keep_identical_points() {
        let sweep = Sweep::read("test", SCENARIO, &[]).expect("a scenario");
        let point = &sweep.points[0];
        let keep = || {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let store = PointStore::open(directory.path(), &build()).expect("a store");
            let result = run_point(point, true, &AtomicBool::new(false)).expect("a result");
            store.put(point, &result).expect("kept");
            let kept = store.get(point).expect("found again");
            assert_eq!(kept.timing(), result.timing());
            fs::read_to_string(directory.path().join(store.name(point, "json"))).expect("the file")
        };
        assert_eq!(keep(), keep());
    }
}
