//! The archive: what is written is there, old samples become means, and what is no archive is refused.

use ackclock_monitor::{Archive, ArchiveError, Known, Moment, Quantity, Route, Row, Sample, measured};
use ackclock_units::Duration;
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const HOUR: i64 = 3_600_000_000;
const NOW: Moment = Moment(490_000 * HOUR + 1);

fn place() -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("a.sqlite");
    (place, path)
}

fn far() -> Known {
    let (ping, transfer) = (Duration::from_secs(10), Duration::from_secs(3600));
    Known { id: 0, name: "far".into(), address: "192.0.2.1".into(), uncontrolled: true, ping, transfer }
}

fn row(host: i64, at: Moment, value: f64) -> Row {
    Row { host, quantity: Quantity::Rtt, sample: Sample { at, value } }
}

fn values(samples: &[Sample]) -> Vec<f64> {
    samples.iter().map(|sample| sample.value).collect()
}

#[test]
fn what_is_written_is_read_while_the_writer_goes_on() {
    let (_place, path) = place();
    let mut archive = Archive::create(&path).expect("a new one");
    let id = archive.describe(&far()).expect("it is written");
    let reader = Archive::open(&path).expect("another reads");
    assert_eq!(reader.hosts().expect("they are read"), [Known { id, ..far() }]);
    let at = |seconds| NOW.before(Duration::from_secs(seconds));
    archive.write(&[row(id, at(1), 1.0), row(id, at(3), 3.0), row(id + 1, at(2), 9.0)]).expect("room");
    archive.write(&[row(id, at(2), 2.0), row(id, at(2), f64::NAN), row(id, at(2), 2.5)]).expect("room");
    let all = reader.samples(id, Quantity::Rtt, (at(10), NOW), 99).expect("they are read");
    assert_eq!(all.first().map(|it| it.value), Some(3.0));
    assert_eq!(
        (all.len(), all[3].value),
        (4, 1.0),
        "two of an instant are two, and what is no number is none"
    );
    let newest = reader.samples(id, Quantity::Rtt, (at(10), NOW), 1).expect("they are read");
    assert_eq!(values(&newest), [1.0]);
    assert_eq!(reader.samples(id, Quantity::Lost, (at(10), NOW), 9).expect("none"), []);
    assert_eq!(measured(&reader, id, NOW).expect("it is read").rtt.len(), 4);
    // The same host has the same number after a restart.
    drop(archive);
    let again = Archive::create(&path).expect("the same one");
    let moved = Known { address: "192.0.2.2".into(), ..far() };
    assert_eq!(again.describe(&moved).expect("it is written"), id);
    again.note_step(NOW, -5).expect("it is written");
    assert_eq!(reader.last_step(NOW).expect("it is read"), Some((NOW, -5)));
}

#[test]
fn routes_are_kept_when_they_change() {
    let (_place, path) = place();
    let archive = Archive::create(&path).expect("a new one");
    let route = |hops: &[Option<[u8; 4]>], reached| {
        let hops = hops.iter().map(|hop| hop.map(std::net::IpAddr::from)).collect();
        Route { hops, reached }
    };
    let (one, two, three) = ([10, 0, 0, 1], [10, 0, 0, 2], [10, 0, 0, 3]);
    let first = route(&[Some(one), None, Some(three)], true);
    let at = |hours| Moment(NOW.0 + hours * HOUR);
    assert!(archive.note_route(1, at(0), &first).expect("room"));
    assert!(!archive.note_route(1, at(1), &first).expect("room"));
    let seen = route(&[Some(one), Some(two), Some(three)], true);
    assert!(
        !archive.note_route(1, at(2), &seen).expect("room"),
        "a router that answers sometimes is no change"
    );
    let other = route(&[Some(two), None, Some(three)], true);
    let short = route(&[Some(one)], false);
    assert!(archive.note_route(1, at(3), &other).expect("room"));
    assert!(archive.note_route(1, at(4), &short).expect("room"));
    assert!(archive.note_route(2, at(4), &short).expect("room"), "another host");
    let kept = archive.routes(1, 9).expect("they are read");
    assert_eq!(kept, [(at(4), short), (at(3), other.clone()), (at(0), first)]);
    assert_eq!(other.to_string(), "10.0.0.2 * 10.0.0.3");
}

/// The archive of an earlier program has no routes. It is read as it is, and gets them when it is written.
#[test]
fn an_archive_of_the_first_form_is_taken_over() {
    let (_place, path) = place();
    let id = Archive::create(&path).and_then(|it| it.describe(&far())).expect("a new one");
    let database = rusqlite::Connection::open(&path).expect("a database");
    database.execute_batch("DROP TABLE routes; PRAGMA user_version = 1").expect("the first form");
    drop(database);
    let reader = Archive::open(&path).expect("it is read");
    assert_eq!(reader.routes(id, 9).expect("there are none"), []);
    let writer = Archive::create(&path).expect("it is taken over");
    assert!(writer.note_route(id, NOW, &Route::default()).expect("it has the table"));
    assert_eq!(reader.routes(id, 9).expect("there is one").len(), 1);
    assert_eq!(reader.hosts().expect("they are read"), [Known { id, ..far() }]);
}

#[test]
fn a_mean_is_of_its_time() {
    let (_place, path) = place();
    let mut archive = Archive::create(&path).expect("a new one");
    let rows: Vec<Row> = (0..10).map(|at| row(1, Moment(NOW.0 - at * 1_000_000), at as f64)).collect();
    archive.write(&rows).expect("room");
    let mean = |from: i64| archive.mean(1, Quantity::Rtt, (Moment(NOW.0 - from), NOW)).expect("it is read");
    let it = mean(4_000_000).expect("there are some");
    assert_eq!((it.samples, it.mean, it.least, it.greatest), (5, 2.0, 0.0, 4.0));
    assert_eq!(archive.mean(1, Quantity::Lost, (Moment(0), NOW)).expect("it is read"), None);
}

/// Thins until nothing is left to do, and returns the number of steps.
fn thin(archive: &mut Archive, now: Moment) -> usize {
    std::iter::repeat_with(|| archive.thin(now).expect("it is thinned")).take_while(|&more| more).count()
}

#[test]
fn old_samples_become_means_of_hours_once() {
    let (_place, path) = place();
    let mut archive = Archive::create(&path).expect("a new one");
    let id = archive.describe(&far()).expect("it is written");
    let old = Moment(489_000 * HOUR);
    let young = NOW.before(Duration::from_secs(3600));
    archive.write(&[row(id, old, 1.0), row(id, old, 3.0), row(id, Moment(old.0 + HOUR), 7.0)]).expect("room");
    archive.write(&[row(id, young, 5.0)]).expect("room");
    assert_eq!(thin(&mut archive, NOW), 2, "one hour at a time");
    // One more of the first hour comes later, as after a clock that was set back.
    archive.write(&[row(id, Moment(old.0 + 9), 8.0)]).expect("room");
    assert_eq!(thin(&mut archive, NOW), 1);
    assert_eq!(thin(&mut archive, NOW), 0);
    let hours = archive.hours(id, Quantity::Rtt).expect("they are read");
    assert_eq!(hours.len(), 2);
    assert_eq!((hours[0].from, hours[0].samples, hours[0].mean), (old, 3, 4.0));
    assert_eq!((hours[0].least, hours[0].greatest, hours[1].mean), (1.0, 8.0, 7.0));
    let raw = archive.samples(id, Quantity::Rtt, (Moment(0), NOW), 99).expect("they are read");
    assert_eq!(values(&raw), [5.0]);
    thin(&mut archive, NOW.after(Duration::from_secs(700 * 24 * 3600)));
    let hours = archive.hours(id, Quantity::Rtt).expect("they are read");
    assert_eq!(hours.len(), 1, "only the young sample's hour is not yet two years old");
    assert_eq!(hours[0].mean, 5.0);
}

/// Whoever may write where an archive lies cannot make a monitor write, or believe, anything else.
#[test]
fn planted_files_are_refused() {
    for added in ["", "-wal", "-shm", "-journal"] {
        for by_link in [true, false] {
            let (place, path) = place();
            let victim = place.path().join("victim");
            let text = if added.is_empty() { "" } else { "of somebody else" };
            fs::write(&victim, text).expect("a file");
            if !added.is_empty() {
                drop(Archive::create(&path).expect("a new one"));
            }
            let planted = place.path().join(format!("a.sqlite{added}"));
            match by_link {
                true => std::os::unix::fs::symlink(&victim, &planted).expect("a link"),
                false => fs::hard_link(&victim, &planted).expect("a second name"),
            }
            let refused = Archive::create(&path).expect_err("it is refused").to_string();
            let why = if by_link { "there is a link in its place" } else { "second name" };
            assert!(refused.contains(why) && refused.contains(&format!("a.sqlite{added}")), "{refused}");
            assert_eq!(fs::read_to_string(&victim).expect("the file"), text, "{added}");
        }
    }
}

/// A link to nothing yet, as to a file that root would make.
#[test]
fn a_link_to_nothing_makes_nothing() {
    let (place, path) = place();
    let victim = place.path().join("victim");
    std::os::unix::fs::symlink(&victim, &path).expect("a link");
    assert!(matches!(Archive::create(&path), Err(ArchiveError::Other { .. })));
    assert!(!victim.exists());
    // The way to an archive may have links: only whoever owns a directory can put them there.
    std::os::unix::fs::symlink(place.path(), place.path().join("way")).expect("a link");
    drop(Archive::create(&place.path().join("way/new.sqlite")).expect("a new one"));
    assert!(place.path().join("new.sqlite").is_file());
}

/// A monitor that was killed before it had made its tables leaves a database without any.
#[test]
fn what_was_begun_is_made_whole() {
    let (_place, path) = place();
    let database = rusqlite::Connection::open(&path).expect("a database");
    database.pragma_update(None, "journal_mode", "WAL").expect("a log");
    drop(database);
    let archive = Archive::create(&path).expect("nothing is in it");
    archive.describe(&far()).expect("it has tables");
}

fn refusal(path: &Path) -> ArchiveError {
    let reading = Archive::open(path).expect_err("reading is refused");
    let writing = Archive::create(path).expect_err("writing is refused");
    assert_eq!(std::mem::discriminant(&reading), std::mem::discriminant(&writing), "{reading} {writing}");
    reading
}

#[test]
fn what_is_no_archive_is_named_and_stays_as_it_is() {
    let (place, path) = place();
    assert!(matches!(Archive::open(&path), Err(ArchiveError::Missing(_))));
    assert!(!path.exists(), "reading makes none");
    fs::write(
        &path,
        "some text of somebody else, which is long enough to be read as a header of a database\n".repeat(40),
    )
    .expect("a file");
    let before = fs::read(&path).expect("the file");
    assert!(matches!(refusal(&path), ArchiveError::Foreign(_)));
    assert_eq!(fs::read(&path).expect("the file"), before);
    let other = place.path().join("other.sqlite");
    let database = rusqlite::Connection::open(&other).expect("a database");
    database.execute_batch("CREATE TABLE samples (x); INSERT INTO samples VALUES (1)").expect("a table");
    drop(database);
    let before = fs::read(&other).expect("the file");
    assert!(matches!(refusal(&other), ArchiveError::Foreign(_)));
    assert_eq!(fs::read(&other).expect("the file"), before);
    let later = place.path().join("later.sqlite");
    drop(Archive::create(&later).expect("a new one"));
    rusqlite::Connection::open(&later)
        .and_then(|it| it.pragma_update(None, "user_version", 99))
        .expect("a pragma");
    assert!(matches!(refusal(&later), ArchiveError::Later { found: 99, .. }));
}

#[test]
fn damage_is_named() {
    let (_place, path) = place();
    let mut archive = Archive::create(&path).expect("a new one");
    let id = archive.describe(&far()).expect("it is written");
    let rows: Vec<Row> = (0..20_000).map(|at| row(id, Moment(NOW.0 - at), 1.0)).collect();
    archive.write(&rows).expect("room");
    drop(archive);
    let mut bytes = fs::read(&path).expect("the file");
    let (from, to) = (4096, bytes.len());
    bytes[from..to].fill(0xa5);
    fs::write(&path, bytes).expect("the file");
    let read = Archive::open(&path).and_then(|it| it.samples(id, Quantity::Rtt, (Moment(0), NOW), 99_999));
    assert!(matches!(read, Err(ArchiveError::Damaged { .. })), "{read:?}");
}

/// A commit that finds no room writes nothing, and works again once there is room.
#[test]
fn without_room_nothing_is_lost() {
    let (_place, path) = place();
    let mut archive = Archive::create(&path).expect("a new one");
    let id = archive.describe(&far()).expect("it is written");
    let rows: Vec<Row> = (0..50_000).map(|at| row(id, Moment(NOW.0 - at), 1.0)).collect();
    archive.limit(Some(40)).expect("a limit of pages");
    let full = archive.write(&rows);
    assert!(matches!(full, Err(ArchiveError::Full { .. })), "{full:?}");
    let count =
        |archive: &Archive| archive.samples(id, Quantity::Rtt, (Moment(0), NOW), 99_999).map(|it| it.len());
    assert_eq!(count(&archive).expect("it is read"), 0);
    archive.limit(None).expect("no limit");
    archive.write(&rows).expect("there is room again");
    assert_eq!(count(&archive).expect("it is read"), 50_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Whatever is written in whatever pieces, hours and samples together are what was written.
    #[test]
    fn thinning_keeps_counts_and_means(
        written in prop::collection::vec((0i64..800 * 24, 0.0f64..100.0), 1..60),
        cut in 0usize..60,
    ) {
        let (_place, path) = place();
        let mut archive = Archive::create(&path).expect("a new one");
        // Up to 800 days ago, at the half of an hour.
        let rows: Vec<Row> = written
            .iter()
            .map(|&(hours, value)| row(1, Moment(NOW.0 - hours * HOUR - HOUR / 2), value))
            .collect();
        let (first, second) = rows.split_at(cut.min(rows.len()));
        archive.write(first).expect("room");
        thin(&mut archive, NOW);
        archive.write(second).expect("room");
        thin(&mut archive, NOW);
        let hours = archive.hours(1, Quantity::Rtt).expect("they are read");
        let raw = archive.samples(1, Quantity::Rtt, (Moment(0), NOW), 999).expect("they are read");
        let kept: Vec<f64> = written.iter().filter(|(hours, _)| *hours < 730 * 24).map(|&(_, it)| it).collect();
        let number: u64 = hours.iter().map(|it| it.samples).sum::<u64>() + raw.len() as u64;
        prop_assert_eq!(number, kept.len() as u64);
        let sum = hours.iter().map(|it| it.mean * it.samples as f64).sum::<f64>() + values(&raw).iter().sum::<f64>();
        prop_assert!((sum - kept.iter().sum::<f64>()).abs() < 1e-6, "{sum}");
        prop_assert!(raw.iter().all(|it| NOW.since(it.at) <= Duration::from_secs(14 * 24 * 3600 + 3600)));
    }
}
