//! What is measured: quantities, their samples, and the instants of these.

use ackclock_units::Duration;
use std::fmt;
use std::net::IpAddr;
use std::time::{SystemTime, UNIX_EPOCH};

/// An instant of the system's clock: microseconds since 1970, in UTC without leap seconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Moment(pub i64);

impl Moment {
    /// Now, as the system's clock shows it. That clock may be set, so a later call may return less.
    pub fn now() -> Moment {
        let now = SystemTime::now();
        let us = match now.duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_micros()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |us| -us),
        };
        Moment(us)
    }

    /// The instant that was this long before.
    #[must_use]
    pub fn before(self, span: Duration) -> Moment {
        Moment(self.0.saturating_sub((span.as_nanos() / 1000) as i64))
    }

    /// The instant this long after.
    #[must_use]
    pub fn after(self, span: Duration) -> Moment {
        Moment(self.0.saturating_add((span.as_nanos() / 1000) as i64))
    }

    /// How long ago `earlier` was; zero if it is later.
    pub fn since(self, earlier: Moment) -> Duration {
        let us = self.0.saturating_sub(earlier.0);
        Duration::from_micros(u64::try_from(us).unwrap_or(0))
    }
}

/// The routers on the way to a host.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Route {
    /// Who has answered at each hop. `None`: nobody.
    pub hops: Vec<Option<IpAddr>>,
    /// Is the last hop the host itself?
    pub reached: bool,
}

impl Route {
    /// Is this the same way, as far as can be seen? A router that answers only sometimes is no change.
    pub fn is_same(&self, other: &Route) -> bool {
        let same = |(one, other): (&Option<IpAddr>, &Option<IpAddr>)| {
            one.is_none() || other.is_none() || one == other
        };
        self.reached == other.reached
            && self.hops.len() == other.hops.len()
            && self.hops.iter().zip(&other.hops).all(same)
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |hop: &Option<IpAddr>| hop.map_or_else(|| "*".to_owned(), |address| address.to_string());
        f.write_str(&self.hops.iter().map(word).collect::<Vec<_>>().join(" "))
    }
}

/// A measured value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// When it was measured.
    pub at: Moment,
    /// The value, in the unit of its quantity.
    pub value: f64,
}

/// What a sample is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Quantity {
    /// The round-trip time of an echo request, s.
    Rtt,
    /// Was the echo request lost? 1 or 0.
    Lost,
    /// What the path carries, headers of IP and TCP included, bit/s.
    Capacity,
    /// Payload that arrived in a transfer over its whole duration, bit/s.
    Throughput,
    /// The payload of that transfer, bytes.
    Transferred,
    /// The congestion window of a session when it ended, segments.
    ClosingWindow,
    /// The longest time that a transfer has seen its packets wait in queues, s.
    Waiting,
    /// What this host's interfaces sent, without the loopback interface, bit/s.
    Sent,
    /// Segments that this host's TCP retransmitted in a period of the echo requests.
    Retransmissions,
    /// The greatest rate of a search at which nothing was lost, headers included, bit/s.
    LossFree,
    /// The smallest rate of a search at which something was lost, headers included, bit/s.
    Lossy,
    /// The median of the smoothed round-trip times of all programs' sockets, s.
    SocketRtt,
    /// Segments that all programs' sockets retransmitted in a period.
    SocketRetransmissions,
}

impl Quantity {
    /// All quantities. The archive keeps their places in this list: new ones go to its end.
    pub const ALL: [Quantity; 13] = [
        Quantity::Rtt,
        Quantity::Lost,
        Quantity::Capacity,
        Quantity::Throughput,
        Quantity::Transferred,
        Quantity::ClosingWindow,
        Quantity::Waiting,
        Quantity::Sent,
        Quantity::Retransmissions,
        Quantity::LossFree,
        Quantity::Lossy,
        Quantity::SocketRtt,
        Quantity::SocketRetransmissions,
    ];

    /// Its name, with the unit, as exports and metrics show it.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Rtt => "rtt_seconds",
            Quantity::Lost => "ping_lost",
            Quantity::Capacity => "capacity_bits_per_second",
            Quantity::Throughput => "throughput_bits_per_second",
            Quantity::Transferred => "transferred_bytes",
            Quantity::ClosingWindow => "closing_window_segments",
            Quantity::Waiting => "waiting_seconds",
            Quantity::Sent => "sent_bits_per_second",
            Quantity::Retransmissions => "retransmitted_segments",
            Quantity::LossFree => "loss_free_bits_per_second",
            Quantity::Lossy => "lossy_bits_per_second",
            Quantity::SocketRtt => "socket_rtt_seconds",
            Quantity::SocketRetransmissions => "socket_retransmitted_segments",
        }
    }
}
