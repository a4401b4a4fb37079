//! A policy whose decisions come from outside: where the controller leaves what it has seen, and finds the
//! answer.

use super::interval::Seen;
use super::{Mind, Policy, Start};
use crate::blueprint::Blueprint;
use crate::{Controller, Needs};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The desk between a controller and who decides. The program that drives the run stops it when something is
/// [asked](Desk::is_asked), and [answers](Desk::answer) before it goes on.
#[derive(Default)]
pub struct Desk {
    asked: AtomicBool,
    paper: Mutex<Paper>,
}

#[derive(Clone, Copy, Default)]
struct Paper {
    question: Question,
    action: f64,
}

/// What is asked at the end of an interval.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Question {
    /// The interval that is over.
    pub seen: Seen,
    /// What a policy sees of it.
    pub features: [f64; 3],
    /// The rate during the interval, segments per second.
    pub rate: f64,
}

impl Desk {
    /// True if an interval is over and nobody has answered.
    #[inline]
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// The last question.
    pub fn question(&self) -> Question {
        self.paper().question
    }

    /// The answer: an action. It takes effect with the next acknowledgement.
    pub fn answer(&self, action: f64) {
        self.paper().action = action;
        self.asked.store(false, Ordering::Relaxed);
    }

    pub(super) fn ask(&self, question: Question) {
        self.paper().question = question;
        self.asked.store(true, Ordering::Relaxed);
    }

    pub(super) fn action(&self) -> f64 {
        self.paper().action
    }

    fn paper(&self) -> MutexGuard<'_, Paper> {
        self.paper.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A policy that is steered from outside.
pub struct Steered {
    /// Where it asks.
    pub desk: Arc<Desk>,
    /// How it begins.
    pub start: Start,
    /// The length of an interval in round-trip times.
    pub interval: f64,
    /// An action of 1 changes the rate by this share.
    pub scale: f64,
    /// The least and the highest rate, segments per second.
    pub rates: (f64, f64),
}

impl fmt::Debug for Steered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a policy outside")
    }
}

impl Blueprint for Steered {
    fn needs(&self) -> Needs {
        Policy::NEEDS
    }

    fn build(self: Arc<Self>) -> Box<dyn Controller> {
        let start = self.start;
        Box::new(Policy::new(Mind::Outside(self), start))
    }

    fn checksum(&self) -> u64 {
        1
    }

    fn of_flow(self: Arc<Self>, _number: usize, _label: &str) -> Arc<dyn Blueprint> {
        self
    }
}
