//! RACK-TLP: a segment is lost if a segment that was sent sufficiently later has arrived. The last segment is
//! probed for.
//!
//! Source: RFC 8985. It needs SACK. Time replaces counting. Of the segments that have arrived, take the one
//! that was sent last. Everything sent before it should have arrived, too, within a reordering window: a
//! quarter of the smallest round-trip time once reordering was seen, and zero in an episode before that. This
//! also finds lost retransmissions. A tail loss probe is sent after two round-trip times without an
//! acknowledgement.
//!
//! Transmissions are kept in the order of sending. A ring tells when each segment was last sent. An entry
//! that is acknowledged, SACKed or superseded is dropped when it comes first, so that everything takes
//! amortised constant time.
//!
//! What differs: the reordering timer runs for the earliest segment that is due, not for the latest, so that
//! no loss is found late. The smallest round-trip time is that of the connection.

use super::{DUP_THRESH, Detector, Scheme, Settings};
use crate::Scoreboard;
use ackclock_registry::{Entry, Parameter};
use ackclock_units::{Duration, Time};
use std::collections::VecDeque;

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    entry: Entry {
        name: "rack",
        title: "RACK-TLP",
        source: "RFC 8985",
        summary: "A segment is lost if one that was sent sufficiently later has arrived; the last one is probed for.",
        equations: &[],
        notes: &[
            "the reordering timer runs for the earliest segment that is due, so that none is found late",
            "the smallest round-trip time is the connection's",
        ],
        parameters: &[Parameter::flag("tail_loss_probe", true, "probe for a lost tail (RFC 8985 section 7)")],
    },
    selective: true,
    reads_duplicate_reports: true,
    build: |settings| Detector::rack(Rack::new(settings)),
};

/// The state of the connection at an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RackContext {
    /// The time.
    pub now: Time,
    /// True during an episode, or after a timeout.
    pub repairing: bool,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Smallest raw round-trip time; [`Duration::MAX`] before the first sample.
    pub rtt_min: Duration,
}

/// Section 7.1: the longest time for which a receiver may delay the acknowledgement of a single segment.
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
/// Section 7.2 step 1: the time of the probe before the first sample.
const PROBE_UNKNOWN: Duration = Duration::from_secs(1);
/// Section 6.2 step 4: the number of episodes for which a wider reordering window is kept.
const PERSISTS: u32 = 16;

/// When a segment was last sent, and whether that was a retransmission.
#[derive(Clone, Copy, Default)]
struct Transmission {
    at: Time,
    again: bool,
}

/// The detection.
pub(crate) struct Rack {
    tail_loss_probe: bool,
    /// The last transmission of each segment from `una` up to `nxt`, at `seq & mask`.
    sent: Vec<Transmission>,
    una: u64,
    nxt: u64,
    /// Transmissions in the order of sending, with entries that do not matter any more.
    order: VecDeque<(u64, Time)>,
    /// RACK.segment and RACK.rtt: of the segments that have arrived, the one that was sent last.
    latest: Option<(Time, u64)>,
    rtt: Duration,
    /// RACK.fack, one past the highest segment that has arrived.
    highest: u64,
    reordering_seen: bool,
    /// The reordering window in quarters of the smallest round-trip time, and the number of episodes for
    /// which it is wider than one quarter.
    quarters: u32,
    persists: u32,
    /// `nxt` when a duplicate report last widened the window: once per round trip.
    widened: u64,
    /// When the earliest segment that may be lost will be lost.
    deadline: Option<Time>,
    /// When a tail loss probe is due.
    probe_due: Option<Time>,
    probe: Probe,
}

/// Section 7: the tail loss probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Probe {
    /// There is none.
    None,
    /// It must be sent.
    Wanted,
    /// It was sent: TLP.end_seq, and true if it was a retransmission.
    Sent(u64, bool),
}

impl Rack {
    fn new(settings: &Settings) -> Rack {
        Rack {
            tail_loss_probe: settings.get("tail_loss_probe"),
            sent: Vec::new(),
            una: 0,
            nxt: 0,
            order: VecDeque::new(),
            latest: None,
            rtt: Duration::ZERO,
            highest: 0,
            reordering_seen: false,
            quarters: 1,
            persists: 0,
            widened: 0,
            deadline: None,
            probe_due: None,
            probe: Probe::None,
        }
    }

    fn at(&self, seq: u64) -> usize {
        seq as usize & (self.sent.len() - 1)
    }

    /// Segment `seq` is sent at `now`.
    pub(crate) fn on_sent(&mut self, now: Time, seq: u64) {
        let again = seq < self.nxt;
        self.nxt = self.nxt.max(seq + 1);
        if self.nxt - self.una > self.sent.len() as u64 {
            self.enlarge();
        }
        let at = self.at(seq);
        self.sent[at] = Transmission { at: now, again };
        self.order.push_back((seq, now));
    }

    fn enlarge(&mut self) {
        let size = ((self.nxt - self.una) as usize).next_power_of_two().max(64);
        let mut sent = vec![Transmission::default(); size];
        if !self.sent.is_empty() {
            for seq in self.una..self.nxt - 1 {
                sent[seq as usize & (size - 1)] = self.sent[self.at(seq)];
            }
        }
        self.sent = sent;
    }

    /// Section 6.2 steps 2 and 3: `seq` has arrived. `echo` is the send time that its acknowledgement echoes,
    /// if there is one.
    pub(crate) fn on_arrived(&mut self, seq: u64, sight: &RackContext, echo: Option<Time>) {
        if seq >= self.nxt {
            return; // a probe of a closed window: it is not among the segments sent
        }
        let Transmission { at, again } = self.sent[self.at(seq)];
        if seq + 1 > self.highest {
            self.highest = seq + 1;
        } else if !again {
            self.reordering_seen = true;
        }
        let rtt = sight.now.since(at);
        // The original may have arrived.
        let ambiguous = again && (echo.is_some_and(|echo| echo < at) || rtt < sight.rtt_min);
        if !ambiguous && self.latest.is_none_or(|latest| latest < (at, seq)) {
            self.latest = Some((at, seq));
            self.rtt = rtt;
        }
    }

    /// Everything below `una` is acknowledged.
    pub(crate) fn on_progress(&mut self, una: u64) {
        self.una = una;
        self.nxt = self.nxt.max(una);
        if una == self.nxt {
            self.order.clear();
            self.deadline = None;
            self.probe_due = None;
        }
    }

    /// Section 6.2 step 4.
    fn window(&self, sight: &RackContext, board: &Scoreboard) -> Duration {
        let certain = sight.repairing || board.sacked() >= u64::from(DUP_THRESH);
        if !self.reordering_seen && certain {
            return Duration::ZERO;
        }
        sight.rtt_min.mul_f64(f64::from(self.quarters) / 4.0).min(sight.srtt)
    }

    /// Section 6.2 step 5: detects losses. Returns the number of new ones.
    pub(crate) fn detect(&mut self, sight: &RackContext, board: &mut Scoreboard) -> u64 {
        self.deadline = None;
        let Some(latest) = self.latest else { return 0 };
        let patience = self.rtt + self.window(sight, board);
        let mut lost = 0;
        while let Some(&(seq, at)) = self.order.front() {
            let gone = seq < self.una || board.is_sacked(seq) || self.sent[self.at(seq)].at != at;
            if !gone {
                if (at, seq) >= latest {
                    break;
                }
                let due = at + patience;
                if due > sight.now {
                    self.deadline = Some(due);
                    break;
                }
                lost += if seq < board.high_rxt() {
                    u64::from(board.lose_again(seq))
                } else {
                    board.lose_below(seq + 1)
                };
            }
            self.order.pop_front();
        }
        lost
    }

    /// Section 6.2 step 4: a segment has arrived twice, so the reordering window was too small.
    pub(crate) fn on_duplicate_report(&mut self, una: u64, nxt: u64) {
        if una >= self.widened {
            self.widened = nxt;
            self.quarters += 1;
            self.persists = PERSISTS;
        }
    }

    /// Section 6.2 step 4: an episode is over.
    pub(crate) fn on_recovered(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.quarters = 1;
        }
    }

    /// When [`Rack::detect`] will find a loss without another acknowledgement.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// When a tail loss probe is due.
    pub(crate) fn probe_due(&self) -> Option<Time> {
        self.probe_due
    }

    /// Section 7.2: new data was sent or acknowledged, and no segment is known to be missing.
    pub(crate) fn schedule_probe(&mut self, now: Time, srtt: Duration, flight: u64, rto: Option<Time>) {
        if !self.tail_loss_probe || self.probe != Probe::None || flight == 0 {
            self.probe_due = None;
            return;
        }
        let mut wait = if srtt.is_zero() { PROBE_UNKNOWN } else { srtt.saturating_mul(2) };
        if flight == 1 {
            wait = wait + MAX_ACK_DELAY;
        }
        self.probe_due = Some(rto.map_or(now + wait, |rto| rto.min(now + wait)));
    }

    /// A probe is not needed.
    pub(crate) fn cancel_probe(&mut self) {
        self.probe_due = None;
    }

    /// The probe's time has come.
    pub(crate) fn want_probe(&mut self) {
        self.probe_due = None;
        self.probe = Probe::Wanted;
    }

    pub(crate) fn probe(&mut self) -> &mut Probe {
        &mut self.probe
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[derive(Clone, Debug)]
    enum Step {
        Wait(u64),
        Send,
        /// The lowest lost segment is retransmitted.
        Resend,
        /// One of the outstanding segments arrives.
        Arrive(usize),
        Timer,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (1_u64..40).prop_map(Step::Wait),
            4 => Just(Step::Send),
            2 => Just(Step::Resend),
            4 => (0_usize..12).prop_map(Step::Arrive),
            2 => Just(Step::Timer),
        ]
    }

    /// RFC 8985 section 6.2 literally: every segment has a record, and all records are read each time.
    #[derive(Default)]
    struct Naive {
        records: BTreeMap<u64, (Time, bool, bool)>,
        latest: Option<(Time, u64)>,
        rtt: Duration,
        highest: u64,
        reordering_seen: bool,
    }

    impl Naive {
        fn arrived(&mut self, seq: u64, sight: &RackContext) {
            let Some((at, again, _)) = self.records.remove(&seq) else { return };
            self.reordering_seen |= seq + 1 < self.highest && !again;
            self.highest = self.highest.max(seq + 1);
            let rtt = sight.now.since(at);
            if !(again && rtt < sight.rtt_min) && self.latest.is_none_or(|latest| latest < (at, seq)) {
                (self.latest, self.rtt) = (Some((at, seq)), rtt);
            }
        }

        /// The segments that are lost now, and the time of the next loss.
        fn detect(&mut self, sight: &RackContext, sacked: usize) -> (BTreeSet<u64>, Option<Time>) {
            let certain = sight.repairing || sacked >= 3;
            let window = if !self.reordering_seen && certain { Duration::ZERO } else { ms(25) };
            let mut next: Option<Time> = None;
            for (&seq, (at, _, lost)) in &mut self.records {
                if self.latest.is_none_or(|latest| (*at, seq) >= latest) || *lost {
                    continue;
                }
                let due = *at + self.rtt + window;
                *lost = due <= sight.now;
                if !*lost {
                    next = Some(next.map_or(due, |next| next.min(due)));
                }
            }
            let lost = self.records.iter().filter(|(_, (_, _, lost))| *lost).map(|(&seq, _)| seq);
            (lost.collect(), next)
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_naive_model(steps in prop::collection::vec(step(), 1..150), repairing: bool) {
            let (mut rack, mut naive) = (Rack::new(&Settings::defaults(&SCHEME)), Naive::default());
            let (mut board, mut received) = (Scoreboard::default(), BTreeSet::new());
            let (mut now, mut nxt) = (Time::ZERO + ms(1000), 0);
            for step in steps {
                let sight = RackContext { now, repairing, srtt: ms(100), rtt_min: ms(100) };
                match step {
                    Step::Wait(time) => now += ms(time),
                    Step::Send => {
                        now += Duration::from_nanos(1); // no two segments are sent at the same time
                        rack.on_sent(now, nxt);
                        naive.records.insert(nxt, (now, false, false));
                        nxt += 1;
                    }
                    Step::Resend => {
                        let again = board.first_lost_again();
                        let hole = board.next_unsacked(board.high_rxt());
                        let seq = match again {
                            Some(seq) => { board.resend_lost_again(); seq }
                            None if hole < board.lost_edge() => { board.resend(hole); hole }
                            None => continue,
                        };
                        now += Duration::from_nanos(1);
                        rack.on_sent(now, seq);
                        naive.records.insert(seq, (now, true, false));
                    }
                    Step::Arrive(which) => {
                        let Some(&seq) = naive.records.keys().nth(which) else { continue };
                        rack.on_arrived(seq, &sight, None);
                        naive.arrived(seq, &sight);
                        received.insert(seq);
                        let una = (0..).find(|seq| !received.contains(seq)).unwrap_or(0);
                        board.advance(una);
                        if seq > una {
                            board.sack(seq, seq + 1);
                        }
                        rack.on_progress(una);
                    }
                    Step::Timer => now = rack.deadline().unwrap_or(now).max(now),
                }
                let sight = RackContext { now, ..sight };
                rack.detect(&sight, &mut board);
                let sacked = received.range(board.una()..).count();
                let (lost, next) = naive.detect(&sight, sacked);
                // Lost and not retransmitted since.
                let (una, edge) = (board.una(), board.high_rxt());
                let arrived = received.range(una..edge).count() as u64;
                let waiting = board.lost() + board.lost_again() + arrived - (edge - una);
                prop_assert_eq!(waiting, lost.len() as u64);
                prop_assert_eq!(rack.deadline(), next);
            }
        }
    }
}
