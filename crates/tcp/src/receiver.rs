//! The receiver: reassembly, acknowledgements (delayed or not), SACK blocks, the ECN echo.

use crate::Config;
use crate::packet::{Ack, Data, Flags, SackBlock};
use crate::reassembly::{Arrival, Reassembly};
use ackclock_units::{Duration, Time};

/// A receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    window: u32,
    /// Bytes of an acknowledgement.
    header: u16,
    sack: bool,
    /// RFC 2883.
    reports_duplicates: bool,
    delayed_ack: Option<Duration>,
    /// So many of the segments in order to come are acknowledged at once.
    quick_acks: u32,
    /// The flags of packets that say nothing else: the number of the connection.
    epoch: Flags,
    pub(crate) reassembly: Reassembly,
    /// RFC 7323 section 4.3: the send time to echo.
    recent: Time,
    last_acked: u64,
    /// The number of in-order segments not acknowledged yet, and when they must be.
    unacknowledged: u32,
    deadline: Option<Time>,
    /// The runs reported last, newest first (RFC 2018 section 4).
    runs: [(u64, u64); 3],
    /// RFC 3168 section 6.1.3: echo until the sender reports that it has reduced its window.
    echo_congestion: bool,
    /// RFC 8257 section 3.2: true if the echo tells exactly whether the last segment was marked.
    dctcp_echo: bool,
    /// True if every segment in order is acknowledged at once, and all alike.
    predictable: bool,
    arrived: u64,
    duplicates: u64,
}

/// RFC 5681 section 4.2: at least every second full segment is acknowledged.
const SEGMENTS_PER_ACK: u32 = 2;

impl Receiver {
    /// The receiver of connection number `epoch`.
    pub fn new(config: &Config, epoch: u8) -> Receiver {
        Receiver {
            window: config.peer_window,
            header: config.header,
            sack: config.recovery.scheme().selective,
            reports_duplicates: config.reports_duplicates(),
            delayed_ack: config.delayed_ack,
            quick_acks: config.quick_acks,
            epoch: Flags::of_epoch(epoch),
            reassembly: Reassembly::default(),
            recent: Time::ZERO,
            last_acked: 0,
            unacknowledged: 0,
            deadline: None,
            runs: [(0, 0); 3],
            echo_congestion: false,
            dctcp_echo: config.dctcp_echo,
            predictable: config.delayed_ack.is_none() && !config.dctcp_echo && config.peer_window > 0,
            arrived: 0,
            duplicates: 0,
        }
    }

    /// Segments delivered in order to the application.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.reassembly.next()
    }

    /// Segments that arrived, with duplicates and segments of the connection before.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Segments that arrived although they were already there.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Segments held above a hole.
    pub fn held(&self) -> u64 {
        self.reassembly.held()
    }

    /// Processes a segment. Returns the acknowledgement that it triggers, if any.
    #[inline(always)] // the acknowledgement stays in registers
    pub fn on_data(&mut self, now: Time, data: &Data) -> Option<Ack> {
        match self.on_predicted_data(now, data) {
            Some(ack) => Some(ack),
            None => self.on_other_data(now, data),
        }
    }

    /// Header prediction, as in the sender: processes the next segment in order, if it says nothing else and
    /// is acknowledged at once. Otherwise returns `None`, and [`Receiver::on_other_data`] must follow.
    #[inline(always)] // the acknowledgement stays in registers
    pub fn on_predicted_data(&mut self, now: Time, data: &Data) -> Option<Ack> {
        if self.predictable && data.flags == self.epoch && self.reassembly.take_next(data.seq) {
            return Some(self.acknowledge_next(now, data.sent_at));
        }
        None
    }

    /// What is left of [`Receiver::on_other_data`] for the next segment in order, if nothing is held.
    #[inline(always)]
    fn acknowledge_next(&mut self, now: Time, sent_at: Time) -> Ack {
        self.arrived += 1;
        self.recent = self.recent.max(sent_at);
        self.last_acked = self.reassembly.next();
        let mut flags = self.epoch;
        if self.echo_congestion {
            flags = flags.with(Flags::ECE);
        }
        Ack {
            ack: self.last_acked,
            sent_at: now,
            echo: self.recent,
            window: self.window,
            bytes: self.header,
            flags,
            blocks: [SackBlock::default(); 3],
        }
    }

    /// Processes a segment that [`Receiver::on_predicted_data`] has not.
    #[inline(never)] // keeps this code away from the common case
    pub fn on_other_data(&mut self, now: Time, data: &Data) -> Option<Ack> {
        self.arrived += 1;
        if data.flags.epoch() != self.epoch.epoch() {
            return None;
        }
        if data.seq >= self.reassembly.next() + u64::from(self.window) {
            return Some(self.acknowledge(now)); // outside the window: RFC 9293 section 3.10.7.4
        }
        let marked = data.flags.has(Flags::CE);
        let mut at_once = marked;
        if self.dctcp_echo {
            at_once = marked != self.echo_congestion; // DCTCP.CE changes: an immediate acknowledgement
            self.echo_congestion = marked;
        } else {
            if data.flags.has(Flags::CWR) {
                self.echo_congestion = false;
            }
            self.echo_congestion |= marked;
        }
        if data.seq <= self.last_acked {
            self.recent = self.recent.max(data.sent_at); // RFC 7323 section 4.3 (2)
        }
        match self.reassembly.receive(data.seq) {
            Arrival::InOrder => {
                if let Some(delay) = self.delayed_ack {
                    self.unacknowledged += 1;
                    at_once |= self.quick_acks > 0;
                    self.quick_acks = self.quick_acks.saturating_sub(1);
                    if self.unacknowledged < SEGMENTS_PER_ACK && !at_once {
                        self.deadline.get_or_insert(now + delay);
                        return None;
                    }
                }
            }
            // RFC 5681 section 4.2: a segment that fills all or part of a gap is acknowledged at once.
            Arrival::Filled(_) => {
                self.runs = self.runs.map(|run| if run.1 > self.delivered() { run } else { (0, 0) });
                // RFC 2018 section 4: held data is reported with every acknowledgement.
                if self.runs == [(0, 0); 3]
                    && let Some((start, end)) = self.reassembly.highest_run()
                {
                    self.report(start, end);
                }
            }
            Arrival::Held { start, end } => self.report(start, end),
            Arrival::Duplicate => {
                self.duplicates += 1;
                if let Some((start, end)) = self.run_of(data.seq) {
                    self.report(start, end);
                }
                return Some(self.acknowledge_again(now, data.seq));
            }
        }
        Some(self.acknowledge(now))
    }

    /// When to call [`Receiver::on_timeout`].
    pub fn poll_timeout(&self) -> Option<Time> {
        self.deadline
    }

    /// The delayed acknowledgement, if it is due.
    pub fn on_timeout(&mut self, now: Time) -> Option<Ack> {
        self.deadline.is_some_and(|deadline| deadline <= now).then(|| self.acknowledge(now))
    }

    #[inline(always)] // the acknowledgement stays in registers
    fn acknowledge(&mut self, now: Time) -> Ack {
        self.unacknowledged = 0;
        self.deadline = None;
        let ack = self.reassembly.next();
        self.last_acked = ack;
        let mut flags = self.epoch;
        if self.echo_congestion {
            flags = flags.with(Flags::ECE);
        }
        let mut blocks = [SackBlock::default(); 3];
        if self.sack && self.reassembly.held() > 0 {
            let known = self.runs.iter().filter(|run| run.1 > ack);
            for (block, &(start, end)) in blocks.iter_mut().zip(known) {
                *block = SackBlock { offset: (start - ack) as u32, length: (end - start) as u32 };
            }
        }
        Ack { ack, sent_at: now, echo: self.recent, window: self.window, bytes: self.header, flags, blocks }
    }

    /// The acknowledgement of `seq`, which was already there: RFC 2883 section 4 reports it before the other
    /// SACK blocks.
    #[cold]
    fn acknowledge_again(&mut self, now: Time, seq: u64) -> Ack {
        let mut ack = self.acknowledge(now);
        if self.reports_duplicates {
            let again = SackBlock { offset: seq.wrapping_sub(ack.ack) as u32, length: 1 };
            ack.blocks = [again, ack.blocks[0], ack.blocks[1]];
        }
        ack
    }

    /// Puts the run `start..end` first, and removes runs inside it.
    fn report(&mut self, start: u64, end: u64) {
        let others = self.runs;
        let mut kept = 1;
        self.runs = [(start, end), (0, 0), (0, 0)];
        for run in others {
            let apart = run.1 < start || run.0 > end;
            if kept < self.runs.len() && run.1 > self.delivered() && apart {
                self.runs[kept] = run;
                kept += 1;
            }
        }
    }

    /// The run of a duplicate, if it is known without a search.
    fn run_of(&self, seq: u64) -> Option<(u64, u64)> {
        let reported = self.runs.into_iter().find(|&(start, end)| (start..end).contains(&seq));
        reported.or_else(|| if seq > self.delivered() { self.reassembly.run_at_end(seq) } else { None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(receiver: &mut Receiver, seq: u64) -> Option<Ack> {
        let data = Data { seq, sent_at: Time::from_nanos(seq + 1), bytes: 1000, ..Data::default() };
        receiver.on_data(Time::from_nanos(seq), &data)
    }

    fn blocks(ack: &Ack) -> Vec<(u64, u64)> {
        let known = ack.blocks.iter().filter(|block| block.length > 0);
        known.map(|b| (ack.ack + u64::from(b.offset), ack.ack + u64::from(b.offset + b.length))).collect()
    }

    /// RFC 2018 section 7, cases 2 and 3, with segment numbers for its byte numbers.
    #[test]
    fn the_examples_of_rfc_2018() {
        let mut receiver = Receiver::new(&Config::default(), 0);
        receive(&mut receiver, 0);
        for seq in 2..9 {
            let ack = receive(&mut receiver, seq).expect("out of order is acknowledged at once");
            assert_eq!((ack.ack, blocks(&ack)), (1, vec![(2, seq + 1)]));
        }
        let mut receiver = Receiver::new(&Config::default(), 0);
        let mut last = None;
        for seq in [0, 2, 4, 6] {
            last = receive(&mut receiver, seq);
        }
        assert_eq!(blocks(&last.expect("an acknowledgement")), vec![(6, 7), (4, 5), (2, 3)]);
        let ack = receive(&mut receiver, 3).expect("an acknowledgement"); // the fourth, late: joins two runs
        assert_eq!(blocks(&ack), vec![(2, 5), (6, 7)]);
        let ack = receive(&mut receiver, 1).expect("an acknowledgement");
        assert_eq!((ack.ack, blocks(&ack)), (5, vec![(6, 7)]));
    }

    #[test]
    fn delayed_acknowledgements_come_for_every_second_segment_or_in_time() {
        let config = Config { delayed_ack: Some(Duration::from_millis(100)), ..Config::default() };
        let mut receiver = Receiver::new(&config, 0);
        assert_eq!(receive(&mut receiver, 0), None);
        let ack = receive(&mut receiver, 1).expect("the second is acknowledged");
        assert_eq!((ack.ack, ack.echo), (2, Time::from_nanos(1))); // RFC 7323: the earlier one's time
        assert_eq!(receive(&mut receiver, 2), None);
        let due = receiver.poll_timeout().expect("a timer runs");
        assert_eq!(receiver.on_timeout(Time::ZERO), None);
        assert_eq!(receiver.on_timeout(due).map(|ack| ack.ack), Some(3));
        assert_eq!(receiver.poll_timeout(), None);
    }

    /// What comes out of order is acknowledged at once anyway, and spends none.
    #[test]
    fn the_first_segments_of_a_connection_are_acknowledged_at_once() {
        let delayed_ack = Some(Duration::from_millis(100));
        let mut receiver = Receiver::new(&Config { delayed_ack, quick_acks: 2, ..Config::default() }, 0);
        let acks = [0, 1, 2, 3, 4, 5].map(|seq| receive(&mut receiver, seq).map(|ack| ack.ack));
        assert_eq!(acks, [Some(1), Some(2), None, Some(4), None, Some(6)]);
        let mut receiver = Receiver::new(&Config { delayed_ack, quick_acks: 1, ..Config::default() }, 0);
        let acks = [1, 1, 0, 2, 3, 4].map(|seq| receive(&mut receiver, seq).map(|ack| ack.ack));
        assert_eq!(acks, [Some(0), Some(0), Some(2), Some(3), None, Some(5)]);
    }

    #[test]
    fn congestion_is_echoed_until_the_window_was_reduced() {
        let mut receiver = Receiver::new(&Config::default(), 0);
        let mut send = |seq, flags| {
            let data = Data { seq, flags, ..Data::default() };
            receiver.on_data(Time::ZERO, &data).expect("every segment is acknowledged").flags.has(Flags::ECE)
        };
        assert!(!send(0, Flags::ECT));
        assert!(send(1, Flags::ECT.with(Flags::CE)));
        assert!(send(2, Flags::ECT));
        assert!(!send(3, Flags::ECT.with(Flags::CWR)));
    }
}
