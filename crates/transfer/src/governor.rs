//! What a sender obeys apart from its transport: the receiver's wish is only a wish.
//!
//! The rate is never above twice what arrives, so nobody can make a sender flood a path by asking for it. If
//! congestion takes more than a fifth of the packets for ten round trips, the transport has failed: the rate
//! falls to what TCP would get ([RFC 5348, section 3.1](Equation), with the share of lost packets for p). If
//! that does not help for as long, the transfer ends. Compare the circuit breakers of RFC 8083 and RFC 8084.

use ackclock_rate::acknowledged::Acknowledged;
use ackclock_rate::reliability::Progress;
use ackclock_rate::tfrc::equation::Equation;
use ackclock_units::{Duration, Time};

/// The share of packets that congestion may take.
const MOST_LOST: f64 = 0.2;
/// Round trips for which it may take more.
const ROUNDS: u32 = 10;
/// Fewer packets say nothing of a share.
const LEAST_PACKETS: u64 = 10;
/// Whatever has arrived, so many packets per round trip may leave: TCP begins with them (RFC 6928).
const LEAST_WINDOW: f64 = 10.0;
/// The shortest round trip over which is measured.
const LEAST_ROUND: Duration = Duration::from_millis(5);

/// How it stands with the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Breaker {
    /// The transport decides.
    #[default]
    Closed,
    /// The throughput equation decides.
    Equation,
    /// The path is unusable: the transfer ends.
    Open,
}

/// Losses that congestion caused, as the ends know them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Count {
    sent: u64,
    lost: u64,
    labelled: u64,
    congestion: u64,
}

/// Limits of a sender's rate.
#[derive(Clone, Debug)]
pub struct Governor {
    most: f64,
    /// Bits of a packet on the wire.
    bits: f64,
    srtt: Duration,
    /// The begin of the present round.
    began: Time,
    /// What arrives.
    arrived: Acknowledged,
    count: Count,
    at_begin: Count,
    breaker: Breaker,
    bad: u32,
    /// The rate of the equation, bit/s.
    equation: f64,
}

impl Governor {
    /// For packets of `bytes` on the wire, at most at `most` bit/s, after a handshake that took `srtt`.
    pub fn new(now: Time, bytes: u32, most: f64, srtt: Duration) -> Governor {
        Governor {
            most,
            bits: f64::from(bytes) * 8.0,
            srtt,
            began: now,
            arrived: Acknowledged::new(0.0),
            count: Count::default(),
            at_begin: Count::default(),
            breaker: Breaker::Closed,
            bad: 0,
            equation: f64::INFINITY,
        }
    }

    /// An acknowledgement came: what it changed, how many packets have left, and how many losses the receiver
    /// has labelled, and labelled congestion.
    pub fn on_ack(&mut self, now: Time, srtt: Duration, progress: &Progress, sent: u64, labels: (u64, u64)) {
        self.srtt = srtt;
        self.arrived.on_ack(now, progress.reported, self.bits, srtt.max(LEAST_ROUND));
        self.count.sent = sent;
        self.count.lost += progress.lost;
        self.count.labelled = self.count.labelled.max(labels.0);
        self.count.congestion = self.count.congestion.max(labels.1);
        if now.since(self.began) >= srtt.max(LEAST_ROUND) {
            self.began = now;
            if self.count.sent - self.at_begin.sent >= LEAST_PACKETS {
                self.judge();
            }
        }
    }

    /// A round is over.
    fn judge(&mut self) {
        let (now, then) = (self.count, std::mem::replace(&mut self.at_begin, self.count));
        let lost = if now.labelled > 0 { now.congestion - then.congestion } else { now.lost - then.lost };
        let share = lost as f64 / (now.sent - then.sent) as f64;
        if share <= MOST_LOST {
            (self.bad, self.breaker, self.equation) = (0, Breaker::Closed, f64::INFINITY);
            return;
        }
        self.bad += 1;
        if self.breaker == Breaker::Equation {
            self.equation = self.by_equation(share);
        }
        if self.bad >= ROUNDS {
            self.bad = 0;
            self.equation = self.by_equation(share);
            self.breaker = match self.breaker {
                Breaker::Closed => Breaker::Equation,
                Breaker::Equation | Breaker::Open => Breaker::Open,
            };
        }
    }

    fn by_equation(&self, share: f64) -> f64 {
        Equation::recommended(self.bits / 8.0, self.srtt).throughput(share.min(1.0)) * 8.0
    }

    /// The rate that must not be exceeded, bit/s; finite and above zero.
    pub fn cap(&self) -> f64 {
        let least = LEAST_WINDOW * self.bits / self.srtt.as_secs_f64().max(1e-6);
        let arrived = 2.0 * self.arrived.rate();
        // One packet in 64 seconds is the least rate of RFC 5348, too (section 4.3, t_mbi).
        arrived.max(least).min(self.equation).min(self.most).max(self.bits / 64.0)
    }

    /// How it stands with the path.
    pub fn breaker(&self) -> Breaker {
        self.breaker
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn arrived(reported: u64, lost: u64) -> Progress {
        Progress { reported, delivered: reported, lost }
    }

    #[test]
    fn the_rate_is_at_most_twice_what_arrives() {
        let mut governor = Governor::new(at(0), 1250, f64::INFINITY, RTT);
        assert!((governor.cap() - 1e6).abs() < 1.0, "ten packets per round trip");
        for ms in 0..=100 {
            governor.on_ack(at(ms), RTT, &arrived(1, 0), ms + 1, (0, 0));
        }
        assert!((governor.cap() - 2e7).abs() < 1.0, "a packet per millisecond, twice: {}", governor.cap());
        for ms in (150..=1000).step_by(50) {
            governor.on_ack(at(ms), RTT, &arrived(1, 0), ms, (0, 0));
        }
        assert!((governor.cap() - 1e6).abs() < 1.0, "two per round trip: {}", governor.cap());
        let slow = Governor::new(at(0), 1250, 1e5, RTT);
        assert!((slow.cap() - 1e5).abs() < 1.0, "what the user allows");
    }

    /// So many packets are lost of 100 in each of `rounds`.
    fn after(rounds: u64, lost: u64, congestion: Option<u64>) -> Governor {
        let mut governor = Governor::new(at(0), 1250, f64::INFINITY, RTT);
        for round in 1..=rounds {
            let labels = congestion.map_or((0, 0), |share| (round * lost, round * share));
            governor.on_ack(at(round * 100), RTT, &arrived(100 - lost, lost), round * 100, labels);
        }
        governor
    }

    #[test]
    fn a_path_that_takes_too_much_ends_the_transfer() {
        assert_eq!(after(100, 20, None).breaker(), Breaker::Closed);
        assert_eq!(after(9, 21, None).breaker(), Breaker::Closed);
        let fallen = after(10, 21, None);
        assert_eq!(fallen.breaker(), Breaker::Equation);
        let tcp = Equation::recommended(1250.0, RTT).throughput(0.21) * 8.0;
        assert!((fallen.cap() - tcp).abs() < 1e-6, "{}", fallen.cap());
        assert_eq!(after(19, 21, None).breaker(), Breaker::Equation);
        assert_eq!(after(20, 21, None).breaker(), Breaker::Open);
        assert_eq!(after(100, 60, Some(20)).breaker(), Breaker::Closed, "transmission errors do not count");
        assert_eq!(after(10, 60, Some(21)).breaker(), Breaker::Equation);
        let mut better = fallen;
        better.on_ack(at(1100), RTT, &arrived(100, 0), 1100, (0, 0));
        assert_eq!(better.breaker(), Breaker::Closed);
    }

    #[test]
    fn every_cap_is_a_rate() {
        for rtt in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
            for bytes in [1, 1500] {
                let mut governor = Governor::new(at(0), bytes, f64::INFINITY, rtt);
                governor.on_ack(Time::NEVER, rtt, &arrived(u64::from(u32::MAX), 0), u64::MAX, (0, 0));
                assert!(governor.cap().is_finite() && governor.cap() > 0.0);
            }
        }
    }
}
