//! Progress on standard error, for runs of more than two seconds, and only on a terminal.

use ackclock_scenario::Point;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use miette::IntoDiagnostic;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Shorter runs show no progress.
const PATIENCE: Duration = Duration::from_secs(2);
/// The number of steps of one point.
const STEPS: f64 = 1000.0;

/// The progress of a sweep.
pub(crate) struct Progress {
    bar: ProgressBar,
    begun: Instant,
    visible: AtomicBool,
    /// The number of steps done, per point.
    done: Vec<AtomicU64>,
    /// The simulated or emulated time of a single run, s.
    single: Option<f64>,
    finished: AtomicU64,
}

impl Progress {
    pub(crate) fn new(points: &[Point]) -> miette::Result<Progress> {
        let length = points.len() as u64 * STEPS as u64;
        let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{wide_bar} {percent} % {msg}, {elapsed}, about {eta} left");
        bar.set_style(style.into_diagnostic()?);
        Ok(Progress {
            bar,
            begun: Instant::now(),
            visible: AtomicBool::new(false),
            done: points.iter().map(|_| AtomicU64::new(0)).collect(),
            single: match points {
                [one] => Some(one.scenario.duration.as_secs_f64()),
                _ => None,
            },
            finished: AtomicU64::new(0),
        })
    }

    /// This share of a point is done.
    pub(crate) fn follow(&self, number: usize, share: f64) {
        let steps = (share.clamp(0.0, 1.0) * STEPS) as u64;
        let before = self.done[number].swap(steps, Ordering::Relaxed);
        self.bar.inc(steps.saturating_sub(before));
        if share >= 1.0 && before < steps {
            self.finished.fetch_add(1, Ordering::Relaxed);
        }
        if self.begun.elapsed() < PATIENCE {
            return;
        }
        self.bar.set_message(match self.single {
            Some(duration) => format!("({:.1} of {duration:.1} seconds)", share * duration),
            None => format!("({} of {} points)", self.finished.load(Ordering::Relaxed), self.done.len()),
        });
        if !self.visible.swap(true, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Removes the display from the screen.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
