//! X_recv, the rate at which data arrive.
//!
//! Source: RFC 5348 section 6.2.
//!
//! What differs: the source asks for the packets of the last round trip. Here it is those since the latest
//! report that is at least a round trip old, so that nothing is kept per packet. Usually that is the last
//! report.

use ackclock_units::{Duration, Time};

/// Reports that are remembered. Only a new loss event makes two within a round trip.
const REPORTS: usize = 4;

/// Counts what arrives.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    /// When the last reports left, and the bytes that had arrived before, newest first.
    reports: [(Time, u64); REPORTS],
    bytes: u64,
    /// The bytes of the last packet.
    last: u32,
}

impl Meter {
    /// Counts from `now` on.
    pub fn new(now: Time) -> Meter {
        Meter { reports: [(now, 0); REPORTS], bytes: 0, last: 0 }
    }

    /// `bytes` arrived.
    pub fn add(&mut self, bytes: u32) {
        self.bytes += u64::from(bytes);
        self.last = bytes;
    }

    /// X_recv, bytes per second: at least one packet per round trip. `rtt` is longer than nothing.
    pub fn rate(&self, now: Time, rtt: Duration) -> f64 {
        let old = self.reports.iter().find(|report| now.since(report.0) >= rtt);
        let &(begin, before) = old.unwrap_or(&self.reports[REPORTS - 1]);
        let bytes = (self.bytes - before).max(u64::from(self.last)) as f64;
        let span = now.since(begin).max(rtt).as_secs_f64();
        (bytes / span).max(f64::from(self.last) / rtt.as_secs_f64())
    }

    /// A report leaves at `now`.
    pub fn report(&mut self, now: Time) {
        self.reports.rotate_right(1);
        self.reports[0] = (now, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, wanted: f64) {
        assert!((value - wanted).abs() < 1e-9 * wanted, "{value}, not {wanted}");
    }

    #[test]
    fn at_least_a_round_trip_is_measured() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let rtt = Duration::from_millis(100);
        let mut meter = Meter::new(at(0));
        let packets = |meter: &mut Meter, count: u64| (0..count).for_each(|_| meter.add(1000));
        packets(&mut meter, 1);
        close(meter.rate(at(0), rtt), 10_000.0); // one packet per round trip
        packets(&mut meter, 19);
        close(meter.rate(at(100), rtt), 200_000.0);
        meter.report(at(100));
        packets(&mut meter, 10);
        close(meter.rate(at(150), rtt), 200_000.0); // 30 packets in 150 ms
        meter.report(at(150));
        packets(&mut meter, 30);
        close(meter.rate(at(200), rtt), 400_000.0); // 40 packets in 100 ms
        close(meter.rate(at(250), rtt), 300_000.0); // 30 packets in 100 ms
        meter.report(at(250));
        packets(&mut meter, 1);
        close(meter.rate(at(1250), rtt), 10_000.0);
    }
}
