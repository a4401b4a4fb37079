//! What all agents have told about their tests.

use crate::protocol::{Change, Refusal, State};
use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A test: the number of its agent, and its own number.
pub(super) type Key = (usize, u32);

/// How far a test is.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    pub(super) opened: bool,
    /// It has ended, as it should or not.
    pub(super) ended: bool,
    pub(super) failed: Option<Refusal>,
}

#[derive(Default)]
struct Told {
    tests: HashMap<Key, Progress>,
    lost: HashMap<usize, Refusal>,
}

/// What all agents have told.
pub(super) struct Board {
    /// There are so many tests; an agent may tell of others.
    tests: u32,
    told: Mutex<Told>,
    news: Condvar,
}

impl Board {
    /// A board for tests with numbers below this one.
    pub(super) fn new(tests: u32) -> Board {
        Board { tests, told: Mutex::default(), news: Condvar::new() }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn change(&self, agent: usize, changes: Vec<Change>) {
        if changes.is_empty() {
            return;
        }
        let mut told = self.told();
        for Change { test, state } in changes.into_iter().filter(|change| change.test < self.tests) {
            let progress = told.tests.entry((agent, test)).or_default();
            match state {
                State::Opened => progress.opened = true,
                State::Finished => progress.ended = true,
                State::Failed(refusal) => (progress.ended, progress.failed) = (true, Some(refusal)),
            }
        }
        drop(told);
        self.news.notify_all();
    }

    /// An agent is not there any more: all its tests have failed.
    pub(super) fn lose(&self, agent: usize, why: &Refusal) {
        self.told().lost.insert(agent, why.clone());
        self.news.notify_all();
    }

    pub(super) fn progress(&self, test: Key) -> Progress {
        let told = self.told();
        let progress = told.tests.get(&test).cloned().unwrap_or_default();
        match told.lost.get(&test.0) {
            Some(why) if !progress.ended => Progress { ended: true, failed: Some(why.clone()), ..progress },
            _ => progress,
        }
    }

    /// Waits until there may be something new, at most a little while.
    pub(super) fn wait(&self) {
        const STEP: Duration = Duration::from_millis(50);
        // Woken or not, the caller looks again.
        let _ = self.news.wait_timeout(self.told(), STEP);
    }
}
