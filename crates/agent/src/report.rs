//! What one end of a connection reports, and how it counts. No clock: the caller says when.

use ackclock_units::{Duration, Time};
use serde::{Deserialize, Serialize};

/// What one end did.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// Bytes that the socket accepted, or gave.
    pub bytes: u64,
    /// From the first byte to the last, s.
    pub duration_s: f64,
    /// `bytes` over `duration_s`, bit/s: what the thesis's tool calls transmitted or received throughput.
    pub throughput_bps: f64,
    /// Reads or writes of the socket.
    pub calls: u64,
    /// The congestion controller by its name in the kernel; of sources over TCP.
    pub control: Option<String>,
    /// Segments that were retransmitted; of sources over TCP.
    pub retransmissions: Option<u64>,
    /// Bursts, if it sent any.
    pub bursts: Option<BurstReport>,
    /// Datagrams, over UDP.
    pub datagrams: Option<DatagramReport>,
    /// Why it ended before its end, if it did: the error's name.
    pub error: Option<String>,
}

/// What became of bursts.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BurstReport {
    /// Bursts that were wholly written.
    pub written: u64,
    /// Bursts that were to be written, if that was fixed beforehand.
    pub due: Option<u64>,
    /// Periods that began while a burst was still being written.
    pub failed_cycles: u64,
    /// Bursts that were left out because they were late.
    pub skipped: u64,
    /// The share of bursts that began at most 200 us late.
    pub within_200us: f64,
    /// How late bursts began, us: the median.
    pub late_p50_us: f64,
    /// How late 99 of 100 bursts began at most, us.
    pub late_p99_us: f64,
    /// How late the latest burst began, us.
    pub late_max_us: f64,
}

/// What became of datagrams.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DatagramReport {
    /// Datagrams sent or received.
    pub count: u64,
    /// Those that did not arrive; of sinks.
    pub lost: u64,
    /// Those that arrived behind a later one; of sinks.
    pub out_of_order: u64,
    /// The jitter of RFC 3550, section 6.4.1, us; of sinks.
    pub jitter_us: f64,
}

/// Counts bytes and keeps time stamps.
#[derive(Clone, Debug)]
pub struct Tally {
    bytes: u64,
    calls: u64,
    first: Option<Time>,
    last: Option<Time>,
    limit: usize,
    stamps: Vec<(u64, u64)>,
}

impl Tally {
    /// A tally that keeps the first `stamps` time stamps.
    pub fn new(stamps: u32) -> Tally {
        Tally { bytes: 0, calls: 0, first: None, last: None, limit: stamps as usize, stamps: Vec::new() }
    }

    /// The first byte is due now: time counts from here.
    pub fn begin(&mut self, now: Time) {
        self.first.get_or_insert(now);
    }

    /// `bytes` more have been written or read at `now`.
    pub fn add(&mut self, now: Time, bytes: u64) {
        let first = *self.first.get_or_insert(now);
        self.last = Some(now);
        self.bytes += bytes;
        self.calls += 1;
        if self.stamps.len() < self.limit {
            self.stamps.push((now.since(first).as_nanos() / 1000, self.bytes));
        }
    }

    /// The bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// From the first byte to the last.
    pub fn duration(&self) -> Duration {
        match (self.first, self.last) {
            (Some(first), Some(last)) => last.since(first),
            _ => Duration::ZERO,
        }
    }

    /// The report so far.
    pub fn report(&self) -> Report {
        let seconds = self.duration().as_secs_f64();
        Report {
            bytes: self.bytes,
            duration_s: seconds,
            throughput_bps: if seconds > 0.0 { self.bytes as f64 * 8.0 / seconds } else { 0.0 },
            calls: self.calls,
            ..Report::default()
        }
    }

    /// The time stamps: us since the first byte, and bytes so far.
    pub fn stamps(self) -> Vec<(u64, u64)> {
        self.stamps
    }
}

/// Counts datagrams at a sink by the numbers that they bear, from 0.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    count: u64,
    next: u64,
    out_of_order: u64,
    /// The transit time of the datagram before, us; clocks of two hosts differ, so only differences count.
    transit: Option<f64>,
    jitter_us: f64,
}

impl Arrivals {
    /// A datagram with this number that left at `sent` us, by the sender's clock, has arrived at `now` us.
    pub fn add(&mut self, number: u64, sent: u64, now: u64) {
        self.count += 1;
        if number < self.next {
            self.out_of_order += 1;
        }
        self.next = self.next.max(number.saturating_add(1));
        let transit = now as f64 - sent as f64;
        if let Some(before) = self.transit.replace(transit) {
            // RFC 3550, section 6.4.1: J += (|D| - J) / 16.
            self.jitter_us += ((transit - before).abs() - self.jitter_us) / 16.0;
        }
    }

    /// The report, if `sent` datagrams were sent. If that is not known: if the last one arrived.
    pub fn report(&self, sent: Option<u64>) -> DatagramReport {
        DatagramReport {
            count: self.count,
            lost: sent.unwrap_or(self.next).saturating_sub(self.count),
            out_of_order: self.out_of_order,
            jitter_us: self.jitter_us,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::from_nanos(us * 1000)
    }

    #[test]
    fn throughput_is_bytes_over_the_time_that_they_took() {
        let mut tally = Tally::new(2);
        tally.begin(at(1_000_000));
        for (us, bytes) in [(1_100_000, 10_000), (1_500_000, 20_000), (3_000_000, 220_000)] {
            tally.add(at(us), bytes);
        }
        let report = tally.report();
        assert_eq!((report.bytes, report.calls, report.duration_s), (250_000, 3, 2.0));
        assert_eq!(report.throughput_bps, 1e6);
        assert_eq!(tally.stamps(), [(100_000, 10_000), (500_000, 30_000)]);
        assert_eq!(Tally::new(0).report(), Report::default());
    }

    #[test]
    fn datagrams_are_lost_late_or_both() {
        let mut arrivals = Arrivals::default();
        for number in [0, 1, 4, 3, 7] {
            arrivals.add(number, number * 100, number * 100 + 50);
        }
        let report = arrivals.report(Some(10));
        assert_eq!((report.count, report.lost, report.out_of_order), (5, 5, 1));
        assert_eq!(arrivals.report(None).lost, 3);
        assert_eq!(report.jitter_us, 0.0, "all took equally long");
        arrivals.add(8, 800, 1010);
        assert_eq!(arrivals.report(None).jitter_us, 10.0, "160 us more, of which a sixteenth counts");
    }
}
