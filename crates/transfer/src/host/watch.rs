//! A session, seen from another thread.

use ackclock_rate::Counters;
use ackclock_rate::loss::{Label, Tally};
use ackclock_units::Duration;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Where a session is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Stage {
    /// The other end has not answered, or has not come.
    #[default]
    Waiting,
    /// Both ends agree on what is sent.
    Agreeing,
    /// Data are under way.
    Moving,
    /// All data are there; the ends check and store them.
    Ending,
    /// It is over.
    Over,
}

/// What a session looks like. Where an end cannot know something it is zero.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Seen {
    /// Where it is.
    pub stage: Stage,
    /// Since the first data.
    pub elapsed: Duration,
    /// Bytes of payload that were acknowledged, or delivered, in order.
    pub bytes: u64,
    /// Packets of data that left, or arrived.
    pub packets: u64,
    /// Of those, packets whose datum had been sent, or had arrived, before.
    pub repeated: u64,
    /// The rate at which packets leave, or that the receiver asks for, bit/s on the wire.
    pub rate: f64,
    /// The sender's smoothed round-trip time.
    pub srtt: Duration,
    /// Packets found lost. At the receiver: losses that were labelled.
    pub lost: u64,
    /// Losses that the receiver labelled congestion, and transmission error.
    pub congestion: u64,
    /// See `congestion`.
    pub transmission: u64,
    /// True if the throughput equation holds the rate down, because congestion takes too much.
    pub held: bool,
    /// What the sender's transport counted. Zeros at the receiver.
    pub counters: Counters,
    /// Losses by label, as the receiver knows them. Empty at the sender.
    pub labels: Tally,
    /// The mean over time of the loss event rate that the receiver reported. `None` at the receiver, and for
    /// transports without loss events.
    pub loss_event_rate: Option<f64>,
}

/// Looks at a session, and ends it. Both threads have it.
#[derive(Debug, Default)]
pub struct Watch {
    seen: Mutex<Seen>,
    stop: AtomicBool,
    /// Data packets that the path has lost, and why; and whether there are any.
    drops: Mutex<Vec<(u64, Label)>>,
    dropped: AtomicBool,
}

impl Watch {
    /// What the session looks like; a few milliseconds old at most while it runs.
    pub fn seen(&self) -> Seen {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the session to end. An endless one ends well.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Tells a receiver why the path has lost a data packet, for its labels of losses. Only an emulated path
    /// knows that.
    pub fn tell_drop(&self, number: u64, cause: Label) {
        self.drops.lock().unwrap_or_else(PoisonError::into_inner).push((number, cause));
        self.dropped.store(true, Ordering::Release);
    }

    pub(super) fn take_drops(&self) -> Vec<(u64, Label)> {
        if !self.dropped.swap(false, Ordering::Acquire) {
            return Vec::new();
        }
        std::mem::take(&mut *self.drops.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn show(&self, seen: Seen) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_told_once_and_in_order() {
        let watch = Watch::default();
        assert_eq!(watch.take_drops(), []);
        watch.tell_drop(7, Label::Transmission);
        watch.tell_drop(9, Label::Congestion);
        assert_eq!(watch.take_drops(), [(7, Label::Transmission), (9, Label::Congestion)]);
        assert_eq!(watch.take_drops(), []);
    }
}
