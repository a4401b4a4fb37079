//! What a transport is made of: a half that sends and a half that receives.
//!
//! Two halves, because transports decide in different places: XRTP at the receiver, TFRC at both ends, Google
//! Congestion Control at the sender or at both. Neither half has a clock or I/O.

use crate::loss::{Label, Tally};
use crate::packet::{Ack, Data};
use crate::reliability::{NeverSent, Progress, Sent};
use ackclock_units::{Duration, Time};
use std::fmt;

/// How a transfer begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opening {
    /// Data to send; `None` for data without end.
    pub total: Option<u64>,
    /// The begin of the transfer.
    pub now: Time,
    /// How long the handshake took: the first sample of the round-trip time.
    pub handshake: Duration,
}

/// The sending half of a transport.
pub trait SendingHalf: fmt::Debug + Send {
    /// The next packet, if one may leave at `now`. It is called again until there is none.
    fn poll_transmit(&mut self, now: Time) -> Option<Data>;

    /// The next departure or the next timer, whichever is first, if no acknowledgement comes before.
    fn poll_timeout(&self) -> Option<Time>;

    /// Timers that are due at `now` expire. Too early a call does nothing.
    fn on_timeout(&mut self, now: Time) {
        let _ = now;
    }

    /// Processes an acknowledgement.
    ///
    /// # Errors
    ///
    /// [`NeverSent`] if it is of what was never sent. Nothing has changed then.
    fn on_ack(&mut self, now: Time, ack: &Ack) -> Result<Progress, NeverSent>;

    /// No datum after `last` leaves for the first time: the receiver has no room for it. Without a call all
    /// may leave. A `last` below an earlier one changes nothing.
    fn allow(&mut self, last: u64);

    /// The rate at which packets leave, bit/s on the wire.
    fn rate(&self) -> f64;

    /// The smoothed round-trip time.
    fn srtt(&self) -> Duration;

    /// What was sent, and what became of it.
    fn sent(&self) -> Sent;

    /// How often it acted on silence.
    fn timeouts(&self) -> u64;

    /// True if all data are acknowledged.
    fn is_finished(&self) -> bool;

    /// Shows internal variables (name, value) to a probe: the same names in the same order at every call, NaN
    /// where there is no value yet. Never called on the hot path.
    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let _ = see;
    }
}

/// The receiving half of a transport.
pub trait ReceivingHalf: fmt::Debug + Send {
    /// Processes a packet. Returns the acknowledgement, if one is due now.
    fn on_packet(&mut self, now: Time, data: &Data) -> Option<Ack>;

    /// When an acknowledgement is due without a packet. `None` before the first packet, and once all data
    /// are there.
    fn poll_timeout(&self) -> Option<Time>;

    /// That acknowledgement, if it is due at `now`.
    fn on_timeout(&mut self, now: Time) -> Option<Ack>;

    /// The host lost packet `number` for this reason. Judges labels of losses.
    fn on_drop(&mut self, number: u64, cause: Label) {
        let _ = (number, cause);
    }

    /// Data delivered in order.
    fn delivered(&self) -> u64;

    /// Packets whose datum had arrived before.
    fn duplicates(&self) -> u64;

    /// The rate that it asks for, bit/s on the wire. `None` before the first packet, and where the sender
    /// decides.
    fn rate(&self) -> Option<f64> {
        None
    }

    /// Losses by label and cause. Empty where losses are not labelled.
    fn tally(&self) -> &Tally {
        const { &Tally::new() }
    }

    /// Shows internal variables (name, value) to a probe: the same names in the same order at every call, NaN
    /// where there is no value yet. Never called on the hot path.
    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let _ = see;
    }
}
