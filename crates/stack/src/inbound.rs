//! The receiving half of a connection: reassembly of bytes, the receive window, and what an acknowledgement
//! says.
//!
//! The simulator's [receiver](ackclock_tcp::Receiver) counts in segments of one size. A peer cuts its stream
//! as it likes, so the same rules are applied to bytes here: RFC 5681 section 4.2, RFC 2018, RFC 2883, RFC
//! 3168, RFC 8257, RFC 7323.

use crate::ring::Ring;
use crate::sequence::difference;
use ackclock_tcp::Config;
use ackclock_units::{Duration, Time};
use ackclock_wire::MAX_SACKS;

/// RFC 5681 section 4.2: at least every second full segment is acknowledged.
const SEGMENTS_PER_ACK: u32 = 2;
/// The most runs above a hole that are kept. What would make another one is dropped, and not acknowledged.
const MAX_RUNS: usize = 1024;
/// RFC 7323 section 5.5: after so long a timestamp may be from before the clock wrapped.
const TIMESTAMP_LIFE: Duration = Duration::from_secs(24 * 86_400);

/// Data that has arrived: its first byte, and what came with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    pub(crate) start: u64,
    pub(crate) payload: &'a [u8],
    pub(crate) segments: u32,
    pub(crate) fin: bool,
    /// CE was set by the path.
    pub(crate) marked: bool,
    /// The peer has reduced its window.
    pub(crate) reduced: bool,
}

/// The receiving half.
pub(crate) struct Inbound {
    ring: Ring,
    /// The most bytes that wait to be read.
    capacity: u64,
    /// The bytes that the application has taken.
    read: u64,
    /// The next byte in order: RCV.NXT, without the FIN.
    next: u64,
    /// The byte at which the peer's FIN is, if it is known.
    fin: Option<u64>,
    /// Runs above a hole, in order and apart from each other.
    runs: Vec<(u64, u64)>,
    /// Those that changed last, the newest first (RFC 2018 section 4).
    recent: [(u64, u64); MAX_SACKS],
    /// What has arrived twice and was not reported yet (RFC 2883).
    again: Option<(u64, u64)>,
    /// The byte behind the window that was advertised.
    edge: u64,
    /// The peer's largest segment, bytes.
    segment: u64,
    /// What the last acknowledgement said.
    last_acked: u64,
    unacknowledged: u32,
    due: Option<Time>,
    delay: Option<Duration>,
    /// So many of the segments in order to come are acknowledged at once.
    quick_acks: u32,
    /// RFC 3168 section 6.1.3, or RFC 8257 section 3.2.
    echo: bool,
    exact_echo: bool,
    /// RFC 7323: the timestamp to echo, and when it came.
    stamp: Option<(u32, Time)>,
}

impl Inbound {
    pub(crate) fn new(config: &Config, capacity: usize) -> Inbound {
        Inbound {
            ring: Ring::default(),
            capacity: capacity as u64,
            read: 0,
            next: 0,
            fin: None,
            runs: Vec::new(),
            recent: [(0, 0); MAX_SACKS],
            again: None,
            edge: capacity as u64,
            segment: 536,
            last_acked: 0,
            unacknowledged: 0,
            due: None,
            delay: config.delayed_ack,
            quick_acks: config.quick_acks,
            echo: false,
            exact_echo: config.dctcp_echo,
            stamp: None,
        }
    }

    /// Without scaled windows the window has 16 bits (RFC 7323).
    pub(crate) fn limit_window(&mut self, most: u64) {
        self.capacity = self.capacity.min(most);
        self.edge = self.capacity;
    }

    /// A larger buffer, as far as a window of at most `most` bytes can tell of it.
    pub(crate) fn enlarge(&mut self, capacity: u64, most: u64) {
        self.capacity = self.capacity.max(capacity.min(most));
    }

    /// The memory that it holds for data, bytes.
    pub(crate) fn held(&self) -> usize {
        self.ring.held()
    }

    /// The bytes that have arrived in order.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// The next expected sequence number: RCV.NXT. A FIN has one, too.
    pub(crate) fn expected(&self) -> u64 {
        self.next + u64::from(self.is_finished())
    }

    /// The FIN has arrived, and all before it.
    pub(crate) fn is_finished(&self) -> bool {
        self.fin == Some(self.next)
    }

    /// Bytes that wait to be read.
    pub(crate) fn waiting(&self) -> u64 {
        self.next - self.read
    }

    /// The bytes that wait to be read.
    pub(crate) fn peek(&self) -> [&[u8]; 2] {
        self.ring.get(self.read, self.next)
    }

    /// True if all of an arriving `start..end` is outside the window (RFC 9293 section 3.10.7.4, first
    /// check). `end` counts SYN and FIN.
    pub(crate) fn is_outside(&self, start: u64, end: u64) -> bool {
        let (expected, edge) = (self.expected(), self.edge.max(self.expected()));
        match (end > start, edge > expected) {
            (false, false) => start != expected,
            (false, true) => start < expected || start >= edge,
            (true, false) => true,
            (true, true) => end <= expected || start >= edge,
        }
    }

    /// Something with this timestamp that begins at `start` is acceptable: RFC 7323 section 4.3 (2).
    pub(crate) fn note_stamp(&mut self, now: Time, start: u64, stamp: u32) {
        let newer = self.stamp.is_none_or(|(recent, _)| difference(stamp, recent) >= 0);
        if newer && start <= self.last_acked {
            self.stamp = Some((stamp, now));
        }
    }

    /// The timestamp to echo.
    pub(crate) fn stamp(&self) -> u32 {
        self.stamp.map_or(0, |(stamp, _)| stamp)
    }

    /// RFC 7323 section 5.3, R1: a segment with this timestamp is old.
    pub(crate) fn is_old(&self, now: Time, stamp: u32) -> bool {
        self.stamp.is_some_and(|(recent, at)| difference(stamp, recent) < 0 && now.since(at) < TIMESTAMP_LIFE)
    }

    /// Data arrives that is at least in part within the window. True: it is to be acknowledged at once.
    pub(crate) fn take(&mut self, now: Time, text: &Text<'_>) -> bool {
        let mut at_once = self.note_mark(text);
        let (start, end) = (text.start, text.start + text.payload.len() as u64);
        self.segment = self.segment.max(text.payload.len() as u64 / u64::from(text.segments.max(1)));
        if text.fin && self.fin.is_none() && end >= self.next {
            self.fin = Some(end);
            at_once = true;
        }
        if start < self.next && end > start {
            self.again = Some((start, end.min(self.next)));
            at_once = true;
        }
        let (from, to) = (start.max(self.next), end.min(self.edge).min(self.fin.unwrap_or(u64::MAX)));
        if from >= to {
            return at_once || end > to || start > self.next;
        }
        let held = !self.runs.is_empty();
        let data = &text.payload[(from - start) as usize..(to - start) as usize];
        if from > self.next {
            self.hold(from, to, data);
            return true;
        }
        self.put(from, data);
        self.next = to;
        if held {
            self.join();
            return true;
        }
        self.unacknowledged += text.segments;
        at_once |= self.quick_acks > 0;
        self.quick_acks = self.quick_acks.saturating_sub(text.segments);
        let Some(delay) = self.delay.filter(|_| self.unacknowledged < SEGMENTS_PER_ACK && !at_once) else {
            return true;
        };
        self.due.get_or_insert(now + delay);
        false
    }

    /// All of `start..end` was there already.
    pub(crate) fn repeat(&mut self, start: u64, end: u64) {
        self.again = Some((start, end.min(self.next)));
    }

    /// Congestion that the path has marked. True: the acknowledgement cannot wait.
    fn note_mark(&mut self, text: &Text<'_>) -> bool {
        if self.exact_echo {
            let changed = text.marked != self.echo;
            self.echo = text.marked;
            return changed;
        }
        self.echo = (self.echo && !text.reduced) || text.marked;
        text.marked
    }

    fn put(&mut self, at: u64, data: &[u8]) {
        let top = self.runs.last().map_or(self.next, |run| run.1);
        self.ring.put(self.read, top, at, data);
    }

    /// Keeps `start..end`, which is above a hole.
    fn hold(&mut self, start: u64, end: u64, data: &[u8]) {
        let first = self.runs.partition_point(|run| run.1 < start);
        let past = self.runs.partition_point(|run| run.0 <= end);
        if first == past && self.runs.len() >= MAX_RUNS {
            return;
        }
        if let Some(twice) = self.runs[first..past].iter().find_map(|run| {
            let (from, to) = (run.0.max(start), run.1.min(end));
            (from < to).then_some((from, to))
        }) {
            self.again = Some(twice);
        }
        self.put(start, data);
        let mut run = (start, end);
        if first < past {
            run = (start.min(self.runs[first].0), end.max(self.runs[past - 1].1));
        }
        self.runs.splice(first..past, [run]);
        self.note_recent(run);
    }

    /// Puts a run first, and forgets those within it.
    fn note_recent(&mut self, run: (u64, u64)) {
        let others = std::mem::replace(&mut self.recent, [(0, 0); MAX_SACKS]);
        self.recent[0] = run;
        let apart = others.into_iter().filter(|it| it.1 < run.0 || it.0 > run.1);
        for (place, other) in self.recent[1..].iter_mut().zip(apart) {
            *place = other;
        }
    }

    /// A hole was filled: what follows it is in order, too.
    fn join(&mut self) {
        let joined = self.runs.partition_point(|run| run.0 <= self.next);
        if let Some(&(start, end)) = self.runs.first().filter(|run| run.0 < self.next) {
            self.again = Some((start, end.min(self.next)));
        }
        if let Some(last) = self.runs[..joined].last() {
            self.next = self.next.max(last.1);
        }
        self.runs.drain(..joined);
    }

    /// The application takes bytes. True: the peer must hear of the room at once (RFC 9293 section
    /// 3.8.6.2.2).
    pub(crate) fn consume(&mut self, bytes: u64) -> bool {
        self.read += bytes.min(self.waiting());
        if self.read == self.next && self.runs.is_empty() {
            self.ring.empty();
        }
        let gained = (self.read + self.capacity).saturating_sub(self.edge);
        let narrow = 2 * (self.edge - self.next) < self.capacity;
        narrow && gained >= (2 * self.segment).min(self.capacity / 2) && self.fin.is_none()
    }

    /// An acknowledgement leaves: the next expected sequence number, and the window behind it, bytes.
    pub(crate) fn acknowledge(&mut self) -> (u64, u64) {
        (self.unacknowledged, self.due) = (0, None);
        let edge = self.read + self.capacity;
        // No silly window: the edge moves by a whole segment, or half of the buffer.
        if edge >= self.edge + self.segment.min(self.capacity / 2) {
            self.edge = edge;
        }
        self.last_acked = self.next;
        (self.expected(), self.edge.saturating_sub(self.expected()))
    }

    /// The runs to report, the newest first: a report of a duplicate (RFC 2883), then what is above a hole.
    pub(crate) fn report(&mut self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (next, again) = (self.next, self.again.take());
        let recent = self.recent.iter().copied().filter(move |run| run.1 > next);
        let others = self.runs.iter().rev().copied().filter(|run| !self.recent.contains(run));
        again.into_iter().chain(recent).chain(others)
    }

    /// ECE is due.
    pub(crate) fn echoes(&self) -> bool {
        self.echo
    }

    /// When a delayed acknowledgement is due.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.due
    }

    /// The application is gone: what waits is not needed.
    pub(crate) fn discard(&mut self) {
        self.ring = Ring::default();
        self.runs = Vec::new();
        self.read = self.next;
    }
}
