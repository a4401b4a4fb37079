//! When probes are due, and how their failures are told.

use super::News;
use crate::plan::Period;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration as Span, Instant};

/// How often sleeping threads look whether they should end.
pub(super) const LOOK: Span = Span::from_millis(50);

/// When the next probe is due. The first one comes at a random time within its first period.
pub(super) struct Clock {
    period: Period,
    next: Instant,
    random: RandomState,
    drawn: u64,
}

impl Clock {
    pub(super) fn new(period: Period) -> Clock {
        let (random, next) = (RandomState::new(), Instant::now());
        let mut clock = Clock { period, next, random, drawn: 0 };
        let first = clock.period.every.as_secs_f64() * clock.draw();
        clock.next += Span::from_secs_f64(first);
        clock
    }

    /// A random number from 0 to 1. The standard library's hash with random keys is enough here.
    fn draw(&mut self) -> f64 {
        self.drawn += 1;
        (self.random.hash_one(self.drawn) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Is a probe due? If it is, the next one is due a period later.
    pub(super) fn is_due(&mut self) -> bool {
        if Instant::now() < self.next {
            return false;
        }
        let factor = 1.0 + self.period.jitter * (2.0 * self.draw() - 1.0);
        // What took longer than its period does not catch up.
        self.next = self.next.max(Instant::now() - LOOK)
            + Span::from_secs_f64(self.period.every.as_secs_f64() * factor);
        true
    }

    /// Sleeps until the next probe is due. False if the monitor ends.
    pub(super) fn wait(&mut self, stop: &AtomicBool) -> bool {
        while !stop.load(Ordering::Relaxed) {
            if self.is_due() {
                return true;
            }
            thread::sleep(self.next.saturating_duration_since(Instant::now()).min(LOOK));
        }
        false
    }
}

/// Tells when a probe begins to fail, and when it works again.
pub(super) struct Trouble {
    host: String,
    probe: &'static str,
    fails: bool,
}

impl Trouble {
    pub(super) fn new(host: &str, probe: &'static str) -> Trouble {
        Trouble { host: host.to_owned(), probe, fails: false }
    }

    pub(super) fn after(&mut self, error: Option<io::Error>) -> Option<News> {
        let (host, probe) = (self.host.clone(), self.probe);
        let before = std::mem::replace(&mut self.fails, error.is_some());
        match error {
            Some(error) if !before => Some(News::Fails { host, probe, reason: error.to_string() }),
            None if before => Some(News::Works { host, probe }),
            Some(_) | None => None,
        }
    }
}
