//! Labels of losses: congestion, or an error of the transmission.
//!
//! One scheme per file. [`Discriminator`] is what a receiver holds.

mod biaz;
mod hybrid;
mod spike;
mod zigzag;

pub use biaz::Biaz;
pub use hybrid::{Hybrid, HybridSettings};
pub use spike::Spike;
pub use zigzag::ZigZag;

use crate::jitter::Change;
use ackclock_units::{Duration, Time};
use std::collections::VecDeque;

/// Why a packet was lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Label {
    /// A queue overflowed.
    Congestion,
    /// The medium lost it.
    Transmission,
}

/// A packet that arrived, as schemes see it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The departure by the sender's clock.
    pub sent: Time,
    /// The arrival by the receiver's clock.
    pub arrived: Time,
    /// How many packets are missing between this one and the highest before it.
    pub missing: u64,
    /// The jitter. `None` if there is none.
    pub jitter: Option<Change>,
    /// The transmission time of a packet at the estimated capacity (S/C); zero while that is unknown.
    pub service: Duration,
}

/// Labels losses.
#[derive(Clone, Debug)]
pub enum Discriminator {
    /// Jitter first, then relative one-way trip time: the thesis of Gaonkar.
    Hybrid(Hybrid),
    /// Every loss is congestion (XRTP-ND).
    None,
    /// The host tells the cause of each loss (XRTP-PD).
    Perfect,
    /// Inter-arrival times: Biaz and Vaidya.
    Biaz(Biaz),
    /// Relative one-way trip time with two thresholds.
    Spike(Spike),
    /// Relative one-way trip time and the number of losses.
    ZigZag(ZigZag),
}

impl Discriminator {
    /// A packet arrived that is not a duplicate. Returns the label of the packets missing just before it.
    ///
    /// Must be called for every packet, so that schemes know what is usual. [`Discriminator::Perfect`]
    /// answers congestion; [`Causes`] knows better.
    pub fn on_packet(&mut self, arrival: &Arrival) -> Label {
        match self {
            Discriminator::Hybrid(scheme) => scheme.on_packet(arrival),
            Discriminator::None | Discriminator::Perfect => Label::Congestion,
            Discriminator::Biaz(scheme) => scheme.on_packet(arrival),
            Discriminator::Spike(scheme) => scheme.on_packet(arrival),
            Discriminator::ZigZag(scheme) => scheme.on_packet(arrival),
        }
    }
}

/// The true causes of losses, as far as the host knows them. They judge labels, and they are the labels of
/// [`Discriminator::Perfect`].
#[derive(Clone, Debug, Default)]
pub struct Causes {
    /// In the order of packet numbers.
    told: VecDeque<(u64, Label)>,
}

impl Causes {
    /// The host lost packet `number` for this reason.
    pub fn tell(&mut self, number: u64, cause: Label) {
        let at = self.told.partition_point(|&(other, _)| other < number);
        self.told.insert(at, (number, cause));
    }

    /// The cause of the loss of `number`, which is asked for in ascending order. Forgets it and all below.
    pub fn take(&mut self, number: u64) -> Option<Label> {
        while let Some(&(first, cause)) = self.told.front() {
            if first > number {
                return None;
            }
            self.told.pop_front();
            if first == number {
                return Some(cause);
            }
        }
        None
    }
}

/// How many losses had which label and which cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// `counts[acted][label][cause]`; see [`Tally::of`].
    counts: [[[u64; 3]; 2]; 2],
}

impl Tally {
    /// No losses.
    pub const fn new() -> Tally {
        Tally { counts: [[[0; 3]; 2]; 2] }
    }

    /// Counts a loss. `acted` is false inside the guard after a halving, in which labels have no effect.
    pub fn add(&mut self, label: Label, cause: Option<Label>, acted: bool) {
        self.counts[usize::from(acted)][index(label)][cause.map_or(2, index)] += 1;
    }

    /// Losses with this label and this cause, `None` for a cause that the host did not tell. The tables of
    /// the thesis write them label | cause.
    pub fn of(&self, label: Label, cause: Option<Label>, acted: bool) -> u64 {
        self.counts[usize::from(acted)][index(label)][cause.map_or(2, index)]
    }

    /// All losses.
    pub fn total(&self) -> u64 {
        self.counts.iter().flatten().flatten().sum()
    }
}

fn index(label: Label) -> usize {
    match label {
        Label::Congestion => 0,
        Label::Transmission => 1,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A packet that was sent at `sent` ms and took `trip` ms; `missing` packets before it are not there.
    pub(crate) fn packet(sent: u64, trip: u64, missing: u64, jitter: Option<i64>) -> Arrival {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        Arrival {
            sent: at(sent),
            arrived: at(sent + trip),
            missing,
            jitter: jitter.map(Change::Whole),
            service: Duration::from_millis(4),
        }
    }

    #[test]
    fn causes_are_found_by_number() {
        let mut causes = Causes::default();
        causes.tell(7, Label::Transmission);
        causes.tell(3, Label::Congestion);
        assert_eq!(causes.take(2), None);
        assert_eq!(causes.take(3), Some(Label::Congestion));
        assert_eq!(causes.take(5), None);
        assert_eq!(causes.take(7), Some(Label::Transmission));
        assert_eq!(causes.take(7), None);
    }

    #[test]
    fn a_tally_keeps_label_cause_and_effect_apart() {
        let mut tally = Tally::default();
        tally.add(Label::Congestion, Some(Label::Transmission), true);
        tally.add(Label::Congestion, Some(Label::Transmission), false);
        tally.add(Label::Transmission, None, true);
        assert_eq!(tally.of(Label::Congestion, Some(Label::Transmission), true), 1);
        assert_eq!(tally.of(Label::Transmission, Some(Label::Congestion), true), 0);
        assert_eq!(tally.total(), 3);
    }

    #[test]
    fn without_discrimination_every_loss_is_congestion() {
        let quiet = packet(0, 40, 1, Some(0));
        assert_eq!(Discriminator::None.on_packet(&quiet), Label::Congestion);
    }
}
