//! A monitor interval: what a sender saw in a part of a round trip, and the three numbers that a policy is
//! shown of it.

use crate::Path;
use ackclock_units::{Duration, Time};

/// The numbers of an interval that a policy sees, in this order.
pub const FEATURES: [&str; 3] = ["latency inflation", "latency ratio", "send ratio"];
/// The range of each number. What is beyond is shown as the end of the range.
pub const RANGES: [(f64, f64); 3] = [(-1.0, 10.0), (1.0, 10_000.0), (0.0, 1000.0)];
/// What is shown of the intervals before the first: nothing changes.
pub(super) const NEUTRAL: [f64; 3] = [0.0, 1.0, 1.0];

/// An interval that goes on.
#[derive(Clone, Default)]
pub(super) struct Interval {
    began: Time,
    /// The end, and the middle: samples before it are the first half.
    pub(super) ends: Time,
    half: Time,
    /// Segments sent and delivered when it began.
    sent: f64,
    delivered: u64,
    lost: u64,
    /// The round-trip times of each half: their sum in seconds, and their number.
    latency: [(f64, u32); 2],
    /// True if the application was what limited a sample.
    idle: bool,
}

/// An interval that is over.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Seen {
    /// Its end.
    pub at: Time,
    /// Its length, seconds.
    pub seconds: f64,
    /// Segments sent in it, retransmissions included.
    pub sent: f64,
    /// Segments that were reported as delivered in it.
    pub acked: f64,
    /// Segments that were found lost in it.
    pub lost: f64,
    /// The mean round-trip time in it, seconds; `None` without a sample.
    pub latency_s: Option<f64>,
    /// The mean of the second half minus that of the first, seconds; zero if one of them has no sample.
    pub increase_s: f64,
}

impl Interval {
    /// An interval of this length begins. `sent`: segments sent so far.
    pub(super) fn begin(path: &Path, sent: f64, length: Duration) -> Interval {
        Interval {
            began: path.now,
            ends: path.now + length,
            half: path.now + length.mul_f64(0.5),
            sent,
            delivered: path.delivered,
            ..Interval::default()
        }
    }

    #[inline]
    pub(super) fn sample(&mut self, now: Time, rtt: Duration) {
        let (sum, count) = &mut self.latency[usize::from(now >= self.half)];
        *sum += rtt.as_secs_f64();
        *count += 1;
    }

    pub(super) fn lose(&mut self) {
        self.lost += 1;
    }

    pub(super) fn idles(&mut self) {
        self.idle = true;
    }

    pub(super) fn was_idle(&self) -> bool {
        self.idle
    }

    /// The interval is over. `sent`: segments sent so far.
    pub(super) fn close(&self, path: &Path, sent: f64) -> Seen {
        let mean = |(sum, count): (f64, u32)| (count > 0).then(|| sum / f64::from(count));
        let [first, second] = self.latency;
        Seen {
            at: path.now,
            seconds: path.now.since(self.began).as_secs_f64(),
            sent: (sent - self.sent).max(0.0),
            acked: path.delivered.saturating_sub(self.delivered) as f64,
            lost: self.lost as f64,
            latency_s: mean((first.0 + second.0, first.1 + second.1)),
            increase_s: mean(second).zip(mean(first)).map_or(0.0, |(second, first)| second - first),
        }
    }
}

impl Seen {
    /// Segments delivered per second. The first one only starts the clock.
    pub fn throughput(&self) -> f64 {
        if self.seconds > 0.0 { (self.acked - 1.0).max(0.0) / self.seconds } else { 0.0 }
    }

    /// The share of segments whose fate became known in it that were lost.
    pub fn loss(&self) -> f64 {
        let known = self.lost + self.acked;
        if known > 0.0 { self.lost / known } else { 0.0 }
    }

    /// What a policy sees of it. `least_s`: the smallest mean round-trip time of an interval so far.
    pub fn features(&self, least_s: f64) -> [f64; 3] {
        let inflation = if self.seconds > 0.0 { self.increase_s / self.seconds } else { 0.0 };
        let ratio = self.latency_s.filter(|_| least_s > 0.0).map_or(1.0, |mean| mean / least_s);
        let (sent, delivered) = (self.sent / self.seconds.max(1e-9), self.throughput());
        let send = if delivered > 0.0 && sent < 1000.0 * delivered { sent / delivered } else { 1.0 };
        let mut features = [inflation, ratio, send];
        for (feature, (least, most)) in features.iter_mut().zip(RANGES) {
            *feature = feature.clamp(least, most);
        }
        features
    }
}
