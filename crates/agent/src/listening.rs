//! Listeners: whoever connects gets a thread, as long as there are not too many of them. Nothing that a
//! stranger does ends a listener.

use ackclock_sockets::is_timeout;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Between two looks at whether the listener is still wanted, and after what could not be done.
const STEP: Duration = Duration::from_millis(100);

/// Between two lines about what could not be done.
const QUIET: Duration = Duration::from_secs(1);

/// A limited number of places, of which each address may have a part.
#[derive(Clone, Debug)]
pub(crate) struct Crowd {
    inside: Arc<Mutex<Inside>>,
    most: usize,
    each: usize,
}

#[derive(Debug, Default)]
struct Inside {
    /// The places that each address has.
    places: HashMap<IpAddr, usize>,
    /// The places that were taken so far.
    taken: u64,
}

/// A place in a crowd. It is free again when this is dropped, even by a panic.
#[derive(Debug)]
pub(crate) struct Place {
    crowd: Crowd,
    address: IpAddr,
    number: u64,
}

impl Place {
    /// Grows from one place to the next that is taken. Threads run in any order; connections have this one.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let places = &mut self.crowd.inside().places;
        match places.get_mut(&self.address) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(places.remove(&self.address)),
        }
    }
}

impl Crowd {
    /// So many places.
    pub(crate) fn new(most: usize) -> Crowd {
        Crowd { inside: Arc::default(), most, each: most }
    }

    /// The same, but an address may have so many at most.
    pub(crate) fn each(self, each: usize) -> Crowd {
        Crowd { each, ..self }
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for this address, if one is free.
    pub(crate) fn enter(&self, address: IpAddr) -> Option<Place> {
        let mut inside = self.inside();
        if inside.places.values().sum::<usize>() >= self.most {
            return None;
        }
        let count = inside.places.entry(address).or_default();
        if *count >= self.each {
            return None;
        }
        *count += 1;
        inside.taken += 1;
        Some(Place { crowd: self.clone(), address, number: inside.taken })
    }

    /// How many places are taken.
    pub(crate) fn len(&self) -> usize {
        self.inside().places.values().sum()
    }

    /// Waits until nobody is left, at most so long.
    pub(crate) fn wait(&self, patience: Duration) {
        let begun = Instant::now();
        while self.len() > 0 && begun.elapsed() < patience {
            std::thread::sleep(STEP / 10);
        }
    }
}

/// Accepts connections while the listener is `wanted`. Each gets a thread, with a stack of so many bytes and
/// a place in `crowd`, that does `work`. It may give the place back before its end.
///
/// # Errors
///
/// If the listener itself fails. Too many open files or threads do not end it: others will end.
pub(crate) fn accept(
    listener: &TcpListener,
    crowd: &Crowd,
    stack: usize,
    wanted: impl Fn() -> bool,
    log: &dyn Fn(String),
    work: impl Fn(TcpStream, SocketAddr, Place) + Send + Sync + 'static,
) -> io::Result<()> {
    let work = Arc::new(work);
    // Nobody fills a log with what is turned away.
    let mut told: Option<Instant> = None;
    let mut tell = |text| {
        if told.is_none_or(|told| told.elapsed() >= QUIET) {
            told = Some(Instant::now());
            log(text);
        }
    };
    while wanted() {
        if !readable(listener, STEP)? {
            continue;
        }
        let (stream, peer) = match listener.accept() {
            Ok(accepted) => accepted,
            // The stranger has gone again.
            Err(error) if is_timeout(&error) || error.kind() == io::ErrorKind::ConnectionAborted => continue,
            Err(error) => {
                tell(format!("a connection was not accepted: {error}"));
                std::thread::sleep(STEP);
                continue;
            }
        };
        let Some(place) = crowd.enter(peer.ip()) else {
            tell(format!("{peer} is turned away: there are {} connections", crowd.len()));
            continue;
        };
        let work = work.clone();
        let begun = std::thread::Builder::new().stack_size(stack).spawn(move || work(stream, peer, place));
        if let Err(error) = begun {
            tell(format!("{peer} is turned away: there is no thread for it: {error}"));
            std::thread::sleep(STEP);
        }
    }
    Ok(())
}

/// Waits until somebody connects; false if nobody does within `patience`.
fn readable(listener: impl AsFd, patience: Duration) -> io::Result<bool> {
    let patience = Timespec { tv_sec: patience.as_secs() as _, tv_nsec: patience.subsec_nanos() as _ };
    match poll(&mut [PollFd::new(&listener, PollFlags::IN)], Some(&patience)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::sync::atomic::{AtomicBool, Ordering};

    fn address(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    #[test]
    fn an_address_has_its_part_and_no_more() {
        let crowd = Crowd::new(3).each(2);
        let first = [crowd.enter(address(1)), crowd.enter(address(1))];
        assert!(first.iter().all(Option::is_some) && crowd.enter(address(1)).is_none());
        let second = crowd.enter(address(2));
        assert!(second.is_some() && crowd.enter(address(3)).is_none());
        drop(first);
        assert!(crowd.enter(address(3)).is_some());
        assert_eq!(crowd.len(), 1, "a place that was given back is taken");
    }

    #[test]
    fn a_place_is_free_again_after_a_panic() {
        let crowd = Crowd::new(2);
        let (first, second) = (crowd.enter(address(1)), crowd.enter(address(2)));
        assert!(first.is_some() && second.is_some() && crowd.enter(address(3)).is_none());
        assert_eq!(crowd.len(), 2, "who was turned away is inside");
        let place = first.expect("a place");
        let panicked = std::thread::spawn(move || {
            let _place = place;
            std::panic::resume_unwind(Box::new("as a bug would"));
        });
        assert!(panicked.join().is_err());
        assert_eq!(crowd.len(), 1);
        drop(second);
        crowd.wait(Duration::from_secs(60));
        assert_eq!(crowd.len(), 0);
    }

    /// Runs a listener with this many places and stacks while `play` plays with it. Returns what was logged.
    fn listening(most: usize, stack: usize, play: impl FnOnce(SocketAddr)) -> Vec<String> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (stop, said) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        let log = |text| said.lock().unwrap_or_else(PoisonError::into_inner).push(text);
        std::thread::scope(|scope| {
            let (log, stop): (&(dyn Fn(String) + Sync), _) = (&log, &stop);
            let serving = scope.spawn(move || {
                let wanted = || !stop.load(Ordering::Relaxed);
                accept(
                    &listener,
                    &Crowd::new(most),
                    stack,
                    wanted,
                    &|text| log(text),
                    |mut stream, _, _place| {
                        let mut word = [0];
                        while stream.read(&mut word).is_ok_and(|bytes| bytes > 0) {
                            assert_ne!(word, *b"!", "as a bug would");
                            if stream.write_all(&word).is_err() {
                                break;
                            }
                        }
                    },
                )
            });
            play(address);
            stop.store(true, Ordering::Relaxed);
            serving.join().expect("it does not panic").expect("it does not fail");
        });
        said.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server's echo, or nothing if it has hung up.
    fn echo(stream: &mut TcpStream, word: &[u8; 1]) -> Option<u8> {
        let mut answer = [0];
        stream.write_all(word).ok()?;
        stream.read_exact(&mut answer).ok()?;
        Some(answer[0])
    }

    #[test]
    fn a_crowd_is_turned_away_and_bugs_cost_no_places() {
        let said = listening(2, 64 << 10, |address| {
            let connect = || TcpStream::connect(address).expect("a connection");
            let (mut one, mut two) = (connect(), connect());
            assert_eq!((echo(&mut one, b"1"), echo(&mut two, b"2")), (Some(b'1'), Some(b'2')));
            assert_eq!(echo(&mut connect(), b"3"), None, "there was no place");
            // Both threads panic, and their places are free soon after.
            assert_eq!((echo(&mut one, b"!"), echo(&mut two, b"!")), (None, None));
            let begun = Instant::now();
            while echo(&mut connect(), b"4").is_none() {
                assert!(begun.elapsed() < Duration::from_secs(60), "a panic has kept its place");
            }
        });
        assert!(said.iter().all(|text| text.contains("turned away")) && !said.is_empty(), "{said:?}");
    }

    #[test]
    fn threads_that_cannot_begin_do_not_end_the_listener() {
        // No address space has room for such a stack.
        let said = listening(9, 1 << 60, |address| {
            for _ in 0..2 {
                let mut stranger = TcpStream::connect(address).expect("it still listens");
                assert_eq!(echo(&mut stranger, b"1"), None);
            }
        });
        assert!(said.iter().all(|text| text.contains("no thread")) && !said.is_empty(), "{said:?}");
    }
}
