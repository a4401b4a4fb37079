//! What this host sends and retransmits, by the kernel's counters.

use ackclock_sockets::HostCounters;
use std::fs;
use std::io;
use std::time::Instant;

/// The counters between two readings.
pub(crate) struct Counters {
    tcp: HostCounters,
    last: Option<Reading>,
}

struct Reading {
    at: Instant,
    sent: u64,
    retransmitted: u64,
    /// How many transfers had begun or ended.
    transfers: u64,
}

/// What happened between two readings.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Between {
    /// bit/s.
    pub(crate) sent: f64,
    /// Segments.
    pub(crate) retransmitted: f64,
}

impl Counters {
    /// Opens the counters of the calling thread's network.
    pub(crate) fn open() -> io::Result<Counters> {
        Ok(Counters { tcp: HostCounters::open()?, last: None })
    }

    /// Reads them. `transfers` is how many of our own transfers have begun or ended so far: an interval in
    /// which that changed, or in which one ran, tells of ourselves, and nothing is returned.
    pub(crate) fn read(&mut self, transfers: u64) -> io::Result<Option<Between>> {
        let counts = self.tcp.read()?;
        let sent = sent(&fs::read_to_string("/proc/thread-self/net/dev")?);
        let retransmitted = counts.get("RetransSegs").copied().unwrap_or(0);
        let now = Reading { at: Instant::now(), sent, retransmitted, transfers };
        let last = self.last.replace(now);
        let running = !transfers.is_multiple_of(2);
        Ok(last.filter(|last| last.transfers == transfers && !running).map(|last| Between {
            sent: sent.saturating_sub(last.sent) as f64 * 8.0 / last.at.elapsed().as_secs_f64().max(1e-3),
            retransmitted: retransmitted.saturating_sub(last.retransmitted) as f64,
        }))
    }
}

/// Bytes sent by all interfaces but the loopback interface, from the text of /proc/net/dev.
fn sent(text: &str) -> u64 {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let others = lines.filter(|(name, _)| name.trim() != "lo");
    others.filter_map(|(_, numbers)| numbers.split_whitespace().nth(8)?.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_all_interfaces_but_one() {
        let text = "Inter-|   Receive    |  Transmit\n face |bytes packets |bytes\n\
            lo: 5 1 0 0 0 0 0 0 700 1 0 0 0 0 0 0\n\
            eth0: 5 1 0 0 0 0 0 0 30 1 0 0 0 0 0 0\n  tun1:5 1 0 0 0 0 0 0 4 1 0 0 0 0 0 0\n";
        assert_eq!(sent(text), 34);
    }

    #[test]
    fn an_interval_with_a_transfer_of_ours_tells_nothing() {
        let mut counters = Counters::open().expect("the counters");
        let mut tells = |transfers| counters.read(transfers).expect("they are read").is_some();
        assert!(!tells(0), "there is no interval yet");
        assert!(tells(0));
        assert!(!tells(1) && !tells(1), "it has begun, and runs");
        assert!(!tells(2), "it has ended");
        assert!(tells(2));
    }
}
