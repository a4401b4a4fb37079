//! Growth, and the first slow start.

use super::Sender;
use ackclock_cc::{self as cc, Path};

impl Sender {
    /// New data was acknowledged: lets the controller grow the window, if that was the last limit.
    #[inline]
    pub(super) fn grow(&mut self, path: &Path, sample: &cc::Ack) {
        if self.slow_start.is_some() {
            return self.grow_watched(path, sample);
        }
        if self.cwnd_limited {
            self.controller.grow(path, sample, &mut self.window);
        }
    }

    /// In a slow start that may end before a loss. It sees all samples, limited by the window or not.
    #[cold]
    fn grow_watched(&mut self, path: &Path, sample: &cc::Ack) {
        let paced = self.window.pacing.is_some() || self.pace.is_configured();
        let Some(slow_start) = &mut self.slow_start else { return };
        let share = slow_start.on_ack(path, sample, paced, &mut self.window);
        if !self.window.in_slow_start() {
            self.slow_start = None;
        }
        if self.cwnd_limited {
            let acked = sample.acked * share;
            self.controller.grow(path, &cc::Ack { acked, ..*sample }, &mut self.window);
        }
    }
}
