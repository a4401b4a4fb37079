//! Files over loopback: what arrives is what was sent, whatever happens on the way, and nothing else changes.

use ackclock_files::Folder;
use ackclock_transfer::control::standard;
use ackclock_transfer::files::{Inbound, Outbound, PART, SendError, Stored};
use ackclock_transfer::host::{ENTROPY, Sending, Stage, Summary, TransferError, Watch, receive, send};
use ackclock_transfer::noise::Identity;
use ackclock_transfer::stream::{Discard, Extent, Sink, Zeros};
use ackclock_transfer::ticket::Ticket;
use ackclock_units::Duration;
use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

type Outcome = Result<Summary, TransferError>;

const SILENCE: Duration = Duration::from_secs(5);

struct Places {
    from: TempDir,
    to: TempDir,
}

impl Places {
    fn new() -> Places {
        let directory = || tempfile::tempdir().expect("a directory");
        Places { from: directory(), to: directory() }
    }

    /// A file to send.
    fn write(&self, name: &str, bytes: usize) -> PathBuf {
        let path = self.from.path().join(name);
        let content: Vec<u8> =
            (0..bytes as u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
        fs::write(&path, content).expect("written");
        path
    }

    fn arrived(&self, path: &Path) -> bool {
        let name = path.file_name().expect("a name");
        let there = fs::read(self.to.path().join(name)).ok();
        let part = self.to.path().join(format!("{}{PART}", name.display()));
        there == Some(fs::read(path).expect("it is there")) && !part.exists()
    }

    /// Names at the receiver.
    fn names(&self) -> Vec<String> {
        let folder = Folder::own(self.to.path()).expect("it is there");
        folder.names().expect("read").iter().map(|name| name.display().to_string()).collect()
    }
}

struct Options {
    resume: bool,
    force: bool,
    most: f64,
}

const PLAIN: Options = Options { resume: false, force: false, most: f64::INFINITY };

/// A transfer; `act` runs meanwhile. What both ends say, and what the receiver stored.
fn transfer(
    places: &Places,
    paths: &[PathBuf],
    options: &Options,
    act: impl FnOnce(&Watch, &Watch),
) -> (Outcome, Outcome, Vec<Stored>) {
    let (sender, receiver) = (Identity::new(ENTROPY), Identity::new(ENTROPY));
    let ticket = Ticket::new(&receiver, ENTROPY);
    let socket = || UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let (here, there) = (socket(), socket());
    let to = there.local_addr().expect("bound");
    let (out, back) = (Watch::default(), Watch::default());
    let files = Arc::new(Mutex::new(Vec::new()));
    let mut source = Outbound::open(paths, options.resume).expect("they can be sent");
    let how = Sending { most: options.most, silence: SILENCE, ..Sending::with(standard()) };
    let mut open = |_| {
        let folder = Folder::own(places.to.path()).expect("it is there");
        Box::new(Inbound::new(folder, options.force, files.clone())) as Box<dyn Sink>
    };
    let (sent, received) = std::thread::scope(|scope| {
        let received = scope.spawn(|| receive(there, &receiver, &ticket, None, &mut open, SILENCE, &back));
        let sent = scope.spawn(|| send(here, to, &sender, &ticket, &mut source, &how, &out));
        act(&out, &back);
        (sent.join().expect("no panic"), received.join().expect("no panic"))
    });
    let files = files.lock().expect("no panic").clone();
    (sent, received, files)
}

fn nothing(_: &Watch, _: &Watch) {}

fn wait(watch: &Watch, bytes: u64) {
    while watch.seen().bytes < bytes && watch.seen().stage != Stage::Over {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn several_files_arrive_as_they_are() {
    let places = Places::new();
    let paths = [
        places.write("empty", 0),
        places.write("small one", 1),
        places.write("large", 300_001),
        places.write("no less empty", 0),
    ];
    let (sent, received, files) = transfer(&places, &paths, &PLAIN, nothing);
    assert_eq!((sent.expect("sent").bytes, received.expect("received").bytes), (300_002, 300_002));
    assert!(paths.iter().all(|path| places.arrived(path)));
    assert!(files.iter().all(|file| file.hash.is_some() && file.skipped == 0));
}

#[test]
fn a_file_that_is_there_is_kept_unless_it_is_to_be_replaced() {
    let places = Places::new();
    let path = places.write("file", 1000);
    fs::write(places.to.path().join("file"), "mine").expect("written");
    let (sent, received, _) = transfer(&places, std::slice::from_ref(&path), &PLAIN, nothing);
    let (sent, received) =
        (sent.expect_err("refused").to_string(), received.expect_err("refused").to_string());
    assert!(sent.contains("--force") && received.contains("--force"), "{sent}; {received}");
    assert_eq!(fs::read(places.to.path().join("file")).expect("there"), b"mine");
    assert_eq!(places.names(), ["file"]);
    let resumed = Options { resume: true, ..PLAIN };
    let (sent, ..) = transfer(&places, std::slice::from_ref(&path), &resumed, nothing);
    assert!(sent.is_err() && fs::read(places.to.path().join("file")).expect("there") == b"mine");
    let (sent, ..) =
        transfer(&places, std::slice::from_ref(&path), &Options { force: true, ..PLAIN }, nothing);
    assert!(sent.is_ok() && places.arrived(&path));
}

#[test]
fn links_directories_and_pipes_in_its_place_are_neither_followed_nor_replaced() {
    for force in [false, true] {
        let places = Places::new();
        let path = places.write("file", 1000);
        let (there, precious) = (places.to.path().join("file"), places.from.path().join("precious"));
        fs::write(&precious, "mine").expect("written");
        std::os::unix::fs::symlink(&precious, &there).expect("a link");
        let (sent, ..) = transfer(&places, std::slice::from_ref(&path), &Options { force, ..PLAIN }, nothing);
        assert!(sent.expect_err("refused").to_string().contains("no file"));
        assert_eq!(fs::read(&precious).expect("there"), b"mine");
        fs::remove_file(&there).and_then(|()| fs::create_dir(&there)).expect("a directory");
        let (sent, ..) = transfer(&places, std::slice::from_ref(&path), &Options { force, ..PLAIN }, nothing);
        assert!(sent.is_err());
        // A link in the place of the unfinished file is removed, not followed.
        fs::remove_dir(&there).expect("removed");
        std::os::unix::fs::symlink(&precious, places.to.path().join(format!("file{PART}"))).expect("a link");
        let (sent, ..) = transfer(
            &places,
            std::slice::from_ref(&path),
            &Options { force, resume: true, ..PLAIN },
            nothing,
        );
        sent.expect("sent");
        assert!(places.arrived(&path) && fs::read(&precious).expect("there") == b"mine");
    }
}

#[test]
fn only_files_are_sent() {
    let places = Places::new();
    let file = places.write("file", 1);
    let link = places.from.path().join("link");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    for path in [Path::new("/dev/zero"), places.from.path(), &link, Path::new("/dev/stdin")] {
        let refused = Outbound::open(&[path.to_owned()], false).err();
        assert!(matches!(refused, Some(SendError::NoFile(..))), "{}", path.display());
    }
    let hidden = places.write(".hidden", 1);
    assert!(matches!(Outbound::open(&[hidden], false).err(), Some(SendError::Name(..))));
    assert!(matches!(Outbound::open(&[file.clone(), file], false).err(), Some(SendError::Twice(_))));
}

#[test]
fn a_transfer_that_was_stopped_goes_on_where_it_was() {
    let places = Places::new();
    let paths = [places.write("one", 100_000), places.write("two", 1_500_000)];
    let slow = Options { most: 2e7, ..PLAIN };
    let (sent, received, _) = transfer(&places, &paths, &slow, |out, _| {
        wait(out, 400_000);
        out.stop();
    });
    assert!(sent.is_err() && received.is_err());
    assert_eq!(places.names(), ["one", &format!("two{PART}")]);
    let part = fs::metadata(places.to.path().join(format!("two{PART}"))).expect("there").len();
    assert!(part >= 300_000, "what was acknowledged was written: {part}");
    let (sent, received, files) = transfer(&places, &paths, &Options { resume: true, ..PLAIN }, nothing);
    let skipped: Vec<u64> = files.iter().map(|file| file.skipped).collect();
    assert_eq!(skipped, [100_000, part]);
    assert_eq!(sent.expect("sent").bytes, 1_500_000 - part);
    received.expect("received");
    assert!(paths.iter().all(|path| places.arrived(path)));
}

#[test]
fn a_part_of_another_file_is_not_used() {
    for length in [10, 5000, 200_000] {
        let places = Places::new();
        let path = places.write("file", 100_000);
        fs::write(places.to.path().join(format!("file{PART}")), vec![b'x'; length]).expect("written");
        let (sent, _, files) =
            transfer(&places, std::slice::from_ref(&path), &Options { resume: true, ..PLAIN }, nothing);
        sent.expect("sent");
        assert!(places.arrived(&path) && files[0].skipped == 0);
    }
}

#[test]
fn a_file_that_changes_is_not_put_in_its_place() {
    let places = Places::new();
    let path = places.write("file", 3_000_000);
    for shrinks in [false, true] {
        let (sent, received, _) =
            transfer(&places, std::slice::from_ref(&path), &Options { most: 2e7, ..PLAIN }, |out, _| {
                wait(out, 200_000);
                let file = fs::File::options().write(true).open(&path).expect("opened");
                if shrinks {
                    file.set_len(250_000).expect("shorter");
                } else {
                    use std::os::unix::fs::FileExt;
                    file.write_all_at(b"other", 2_900_000).expect("written");
                }
            });
        let sent = sent.expect_err("it has changed").to_string();
        assert!(sent.contains("changed") && received.is_err(), "{sent}");
        assert_eq!(places.names(), [format!("file{PART}")]);
    }
}

#[test]
fn a_slow_disk_stops_the_sender() {
    struct Slow(Arc<Mutex<u64>>);
    impl Sink for Slow {
        fn write(&mut self, bytes: &[u8]) -> Result<(), ackclock_transfer::stream::Stop> {
            *self.0.lock().expect("no panic") += bytes.len() as u64;
            Ok(())
        }
        fn room(&self) -> u64 {
            200_000_u64.saturating_sub(*self.0.lock().expect("no panic"))
        }
        fn is_done(&self) -> bool {
            false
        }
    }
    let (sender, receiver) = (Identity::new(ENTROPY), Identity::new(ENTROPY));
    let ticket = Ticket::new(&receiver, ENTROPY);
    let socket = || UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let (here, there) = (socket(), socket());
    let to = there.local_addr().expect("bound");
    let (out, back) = (Watch::default(), Watch::default());
    let used = Arc::new(Mutex::new(0));
    let mut open = |_| Box::new(Slow(used.clone())) as Box<dyn Sink>;
    let mut zeros = Zeros(Extent::Bytes(3_000_000));
    std::thread::scope(|scope| {
        scope.spawn(|| receive(there, &receiver, &ticket, None, &mut open, SILENCE, &back));
        let sent =
            scope.spawn(|| send(here, to, &sender, &ticket, &mut zeros, &Sending::with(standard()), &out));
        // 512 data may leave before the sender knows: then it waits.
        let first = 512 * ackclock_transfer::sending::payload(1228) as u64;
        wait(&out, first);
        std::thread::sleep(std::time::Duration::from_millis(200));
        let (held, early) = (*used.lock().expect("no panic"), sent.is_finished());
        let emptied = std::time::Instant::now();
        while !sent.is_finished() {
            *used.lock().expect("no panic") = 0; // the disk has written all
            if emptied.elapsed().as_secs() > 30 {
                out.stop(); // a sender that did not wait may never get through
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let sent = sent.join().expect("no panic").expect("sent");
        assert!(held < first + 200_000 && !early, "{held} bytes are with the disk");
        assert_eq!(sent.bytes, 3_000_000);
        assert_eq!(sent.counters.lost, 0);
    });
}

/// A path that passes the sender's first packets after the receiver's answer in one burst of 24.
fn bunch(middle: &UdpSocket, there: SocketAddr, is_over: &AtomicBool) {
    middle.set_read_timeout(Some(std::time::Duration::from_millis(10))).expect("it is not zero");
    let (mut bytes, mut kept) = ([0; 65_535], Vec::new());
    let (mut sender, mut is_answered, mut is_passed) = (there, false, false);
    while !is_over.load(Ordering::Relaxed) {
        let Ok((length, from)) = middle.recv_from(&mut bytes) else { continue };
        if from == there {
            is_answered = true;
            middle.send_to(&bytes[..length], sender).expect("sent");
            continue;
        }
        sender = from;
        kept.push(bytes[..length].to_vec());
        if !is_answered || is_passed || kept.len() == 24 {
            is_passed = is_answered;
            for datagram in kept.drain(..) {
                middle.send_to(&datagram, there).expect("sent");
            }
        }
    }
}

#[test]
fn data_that_are_read_with_the_first_packet_are_kept() {
    let (sender, receiver) = (Identity::new(ENTROPY), Identity::new(ENTROPY));
    let ticket = Ticket::new(&receiver, ENTROPY);
    let socket = || UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let (here, middle, there) = (socket(), socket(), socket());
    let [through, to] = [&middle, &there].map(|socket| socket.local_addr().expect("bound"));
    let mut open = |_| Box::new(Discard::default()) as Box<dyn Sink>;
    let mut zeros = Zeros(Extent::Bytes(100_000));
    let is_over = AtomicBool::new(false);
    let sent = std::thread::scope(|scope| {
        scope.spawn(|| receive(there, &receiver, &ticket, None, &mut open, SILENCE, &Watch::default()));
        scope.spawn(|| bunch(&middle, to, &is_over));
        let how = Sending::with(standard());
        let sent = send(here, through, &sender, &ticket, &mut zeros, &how, &Watch::default());
        is_over.store(true, Ordering::Relaxed);
        sent
    });
    assert_eq!(sent.expect("sent").counters.lost, 0);
}

#[test]
fn silence_ends_both_ends() {
    let places = Places::new();
    let path = places.write("file", 10);
    let ticket = Ticket::new(&Identity::new(ENTROPY), ENTROPY);
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let to = silent.local_addr().expect("bound");
    let how = Sending { silence: Duration::from_millis(300), ..Sending::with(standard()) };
    let mut source = Outbound::open(&[path], false).expect("it can be sent");
    let here = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let me = Identity::new(ENTROPY);
    let sent = send(here, to, &me, &ticket, &mut source, &how, &Watch::default());
    assert!(matches!(sent, Err(TransferError::NoAnswer(_))));
}
