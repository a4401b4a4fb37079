//! The two ends of a connection, as a host sees them: the same for all transports.
//!
//! Neither has a clock or I/O. The host passes the time, which never goes back, carries packets, and calls
//! again when a timeout is due. At one instant timeouts come first, then the packets that arrived, then
//! departures. The halves inside are those of the [`Transport`] that was chosen.

use crate::half::{Opening, ReceivingHalf, SendingHalf};
use crate::loss::{Label, Tally};
use crate::packet::{Ack, Data, Report};
use crate::reliability::{NeverSent, Progress, Sent};
use crate::scheme::Transport;
use crate::time_mean::{Reported, TimeMean};
use ackclock_registry::Chosen;
use ackclock_units::{Duration, Time};

/// What a sender did, and what it measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Packets.
    pub sent: u64,
    /// Packets whose datum had been sent before.
    pub retransmitted: u64,
    /// Packets found lost, whose data were sent again or wait for it.
    pub lost: u64,
    /// Data acknowledged in order.
    pub acknowledged: u64,
    /// Acknowledgements that lowered the rate.
    pub rate_cuts: u64,
    /// How often it acted on silence, which may lower the rate, too.
    pub timeouts: u64,
    /// Samples of the round-trip time.
    pub rtt_samples: u64,
    /// Their sum.
    pub rtt_sum: Duration,
    /// The shortest one; meaningless if there is none.
    least: Duration,
}

impl Counters {
    /// The shortest round-trip time. `None` before the first sample.
    pub fn rtt_min(&self) -> Option<Duration> {
        (self.rtt_samples > 0).then_some(self.least)
    }

    /// Adds those of another connection.
    pub fn add(&mut self, other: &Counters) {
        let least = [self.rtt_min(), other.rtt_min()].into_iter().flatten().min();
        *self = Counters {
            sent: self.sent + other.sent,
            retransmitted: self.retransmitted + other.retransmitted,
            lost: self.lost + other.lost,
            acknowledged: self.acknowledged + other.acknowledged,
            rate_cuts: self.rate_cuts + other.rate_cuts,
            timeouts: self.timeouts + other.timeouts,
            rtt_samples: self.rtt_samples + other.rtt_samples,
            rtt_sum: self.rtt_sum + other.rtt_sum,
            least: least.unwrap_or_default(),
        };
    }

    fn on_rtt(&mut self, sample: Duration) {
        self.least = self.rtt_min().map_or(sample, |least| least.min(sample));
        self.rtt_samples += 1;
        self.rtt_sum = self.rtt_sum + sample;
    }
}

/// A sender.
#[derive(Debug)]
pub struct Sender {
    half: Box<dyn SendingHalf>,
    /// What is counted here: cuts and round-trip times.
    counted: Counters,
    loss_events: Reported,
}

impl Sender {
    /// A sender of packets of `bytes` on the wire, header and payload. It has `total` data (`None`: data
    /// without end) and begins at `now`, after a handshake that took `handshake`.
    pub fn new(
        control: &Chosen<Transport>,
        bytes: u32,
        total: Option<u64>,
        now: Time,
        handshake: Duration,
    ) -> Sender {
        let half = (control.scheme().sender)(control.settings(), bytes, Opening { total, now, handshake });
        Sender { half, counted: Counters::default(), loss_events: Reported::new(now) }
    }

    /// The next packet, if one may leave at `now`. Call again until there is none.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Data> {
        self.half.poll_transmit(now)
    }

    /// When to call [`Sender::on_timeout`] and then [`Sender::poll_transmit`], if no acknowledgement comes
    /// before: the next departure or a timer, whichever is first. If it lies in the past, call at once.
    /// `None` if there is nothing to send and nothing to wait for.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.half.poll_timeout()
    }

    /// Timers that are due at `now` expire. Too early a call does nothing.
    pub fn on_timeout(&mut self, now: Time) {
        self.half.on_timeout(now);
    }

    /// Processes an acknowledgement.
    ///
    /// # Errors
    ///
    /// [`NeverSent`] if it is of what was never sent. Nothing has changed then.
    pub fn on_ack(&mut self, now: Time, ack: &Ack) -> Result<Progress, NeverSent> {
        let before = self.half.rate();
        let progress = self.half.on_ack(now, ack)?;
        self.counted.rate_cuts += u64::from(self.half.rate() < before);
        if let Some(sample) = ack.rtt(now) {
            self.counted.on_rtt(sample);
        }
        if let Report::LossEvents { rate, .. } = ack.report
            && rate.is_finite()
        {
            self.loss_events.on_report(now, rate);
        }
        Ok(progress)
    }

    /// No datum after `last` leaves for the first time: the receiver has no room for it. Without a call all
    /// may leave. A `last` below an earlier one changes nothing.
    pub fn allow(&mut self, last: u64) {
        self.half.allow(last);
    }

    /// The rate at which packets leave, bit/s on the wire.
    pub fn rate(&self) -> f64 {
        self.half.rate()
    }

    /// The smoothed round-trip time.
    pub fn srtt(&self) -> Duration {
        self.half.srtt()
    }

    /// What it did, and what it measured.
    pub fn counters(&self) -> Counters {
        let Sent { sent, retransmitted, lost, acknowledged } = self.half.sent();
        let timeouts = self.half.timeouts();
        Counters { sent, retransmitted, lost, acknowledged, timeouts, ..self.counted }
    }

    /// The loss event rate that the receiver reports, as a mean over the time up to the last report. `None`
    /// before the first one, and for transports without loss events.
    pub fn loss_event_rate(&self) -> Option<TimeMean> {
        self.loss_events.mean()
    }

    /// True if all data are acknowledged. Never true if there is no end.
    pub fn is_finished(&self) -> bool {
        self.half.is_finished()
    }

    /// Shows the rate, the round-trip time and what else the transport has (name, value) to a probe. The
    /// names and their order never change; what has no value yet is NaN.
    pub fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("rate_bps", self.rate());
        see("srtt_s", self.srtt().as_secs_f64());
        self.half.inspect(see);
    }
}

/// A receiver.
#[derive(Debug)]
pub struct Receiver {
    half: Box<dyn ReceivingHalf>,
}

impl Receiver {
    /// The receiver of packets of `bytes` on the wire, header and payload.
    pub fn new(control: &Chosen<Transport>, bytes: u32) -> Receiver {
        Receiver { half: (control.scheme().receiver)(control.settings(), bytes) }
    }

    /// Processes a packet. Returns the acknowledgement, if one is due now.
    pub fn on_packet(&mut self, now: Time, data: &Data) -> Option<Ack> {
        self.half.on_packet(now, data)
    }

    /// When to call [`Receiver::on_timeout`]. `None` before the first packet, and once all data are there.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.half.poll_timeout()
    }

    /// The acknowledgement that is due without a packet. Call again as long as
    /// [`Receiver::poll_timeout`] is not later than `now`.
    pub fn on_timeout(&mut self, now: Time) -> Option<Ack> {
        self.half.on_timeout(now)
    }

    /// The host lost packet `number` for this reason. Judges labels of losses.
    pub fn on_drop(&mut self, number: u64, cause: Label) {
        self.half.on_drop(number, cause);
    }

    /// Data delivered in order.
    pub fn delivered(&self) -> u64 {
        self.half.delivered()
    }

    /// Packets whose datum had arrived before.
    pub fn duplicates(&self) -> u64 {
        self.half.duplicates()
    }

    /// The rate that it asks for, bit/s on the wire. `None` before the first packet, and where the sender
    /// decides.
    pub fn rate(&self) -> Option<f64> {
        self.half.rate()
    }

    /// Losses by label and cause. Empty where losses are not labelled.
    pub fn tally(&self) -> &Tally {
        self.half.tally()
    }

    /// Shows the rate that it asks for and what else the transport has (name, value) to a probe. The names
    /// and their order never change; what has no value yet is NaN.
    pub fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("asked_bps", self.rate().unwrap_or(f64::NAN));
        self.half.inspect(see);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_several_connections_add_up() {
        let ms = Duration::from_millis;
        let (mut one, mut two) = (Counters { sent: 3, lost: 1, ..Counters::default() }, Counters::default());
        two.sent = 4;
        two.add(&one);
        assert_eq!((two.sent, two.lost, two.rtt_min()), (7, 1, None), "neither has a sample");
        one.on_rtt(ms(30));
        two.on_rtt(ms(50));
        two.add(&one);
        assert_eq!((two.rtt_samples, two.rtt_sum, two.rtt_min()), (2, ms(80), Some(ms(30))));
        two.add(&Counters::default());
        assert_eq!((two.sent, two.rtt_min()), (10, Some(ms(30))), "no sample is no sample of zero");
    }
}
