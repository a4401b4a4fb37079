//! The sending half of a connection: bytes, the segments that carry them, and the sender that counts these.
//!
//! Bytes are cut into segments when they are sent for the first time, so that small writes share a segment.
//! The sender is told how many segments the unsent bytes make. That number never falls, because a segment is
//! never larger than was assumed. A FIN is the byte behind the last one, and rides on the last segment.

use crate::accurate::{Echo, Told};
use crate::knowledge::SenderInfo;
use crate::ring::Ring;
use crate::segments::Segments;
use ackclock_tcp::{Ack, Flags, SackBlock, Sender};
use ackclock_units::{Duration, Time};
use std::collections::VecDeque;

/// How much later than its pacing says a segment may leave without a loss of rate. A host sleeps too long by
/// tens of microseconds; the departures that it missed have their ideal times.
const MOST_LATE: Duration = Duration::from_millis(2);

/// What is to be sent next: the bytes `start..end`, and perhaps the FIN behind them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) fin: bool,
    /// Nothing more is waiting: the receiver is to hand it over (RFC 9293 section 3.9.1).
    pub(crate) push: bool,
    /// ECT and CWR (RFC 3168).
    pub(crate) flags: Flags,
}

/// What an arriving segment says of what was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report<'a> {
    /// Every byte below has arrived.
    pub(crate) acked: u64,
    /// The receiver's window, bytes beyond `acked`. `None`: an older segment has told a newer one.
    pub(crate) window: Option<u64>,
    /// The echoed timestamp, and the time of that tick.
    pub(crate) echo: Option<(u32, Time)>,
    /// The receiver's own timestamp in this host's time, give or take a constant.
    pub(crate) sent_at: Time,
    /// ECE is set, where that means congestion.
    pub(crate) congestion: bool,
    /// What it says of marks by RFC 9768.
    pub(crate) echo_of_marks: Option<Echo>,
    /// The reported runs of bytes.
    pub(crate) runs: &'a [(u64, u64)],
    /// It carries nothing but the acknowledgement (RFC 5681 section 2 (b), (c)).
    pub(crate) pure: bool,
}

/// What exists from the handshake on.
pub(crate) struct Flight {
    pub(crate) sender: Sender,
    segments: Segments,
    /// The most bytes of a segment.
    payload: u64,
    /// The handshake permitted selective acknowledgements, and the recovery uses them.
    selective: bool,
    nagle: bool,
    /// The byte behind the receiver's window, and the largest window so far.
    edge: u64,
    most_window: u64,
    /// The last window in bytes, and in segments as the sender was told.
    told: (u64, u32),
    /// The byte behind the probe of a closed window, its time and its timestamp.
    probe: Option<(u64, Time, u32)>,
    /// Segments that were too big for the path.
    again: VecDeque<u64>,
    /// The rest of a segment that leaves in parts.
    rest: Option<(u64, u64)>,
    /// The window was open, and pacing held the next segment back until then.
    held: Option<Time>,
    /// RFC 9768: what the peer has told of marks.
    marks: Option<Told>,
}

/// What the handshake has agreed on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    /// The most bytes of a segment.
    pub(crate) payload: u64,
    /// Selective acknowledgements are permitted, and the recovery uses them.
    pub(crate) selective: bool,
    pub(crate) nagle: bool,
    /// The receiver's window, bytes.
    pub(crate) window: u64,
    /// RFC 9768: the peer counts marks.
    pub(crate) marks: Option<Told>,
}

/// Room in the receiver's window for new segments.
struct Room {
    /// Bytes that are not sent yet.
    waiting: u64,
    /// Bytes of room, and the most so far.
    room: u64,
    most: u64,
    payload: u64,
}

impl Room {
    /// RFC 9293 section 3.8.6.2.1: whole segments. A smaller one, if it is all that waits, or fills at least
    /// half of the largest window.
    fn segments(&self) -> u32 {
        let whole = self.room / self.payload;
        let worth = self.room > 0 && (self.waiting <= self.room || 2 * self.room >= self.most);
        whole.max(u64::from(worth)).min(u64::from(u32::MAX)) as u32
    }
}

/// The sending half.
#[derive(Default)]
pub(crate) struct Outbound {
    ring: Ring,
    /// The bytes that were written so far.
    written: u64,
    /// A FIN follows them.
    closed: bool,
    /// Every byte below has arrived. The FIN is a byte.
    acked: u64,
    flight: Option<Box<Flight>>,
    /// What the sender knew at its end.
    last: Option<Box<SenderInfo>>,
}

impl Flight {
    fn new(opened: &Opened, waiting: u64, build: impl FnOnce(u32) -> Sender) -> Flight {
        let (payload, window) = (opened.payload, opened.window);
        let room = Room { waiting, room: window, payload, most: window }.segments();
        Flight {
            sender: build(room),
            segments: Segments::default(),
            payload,
            selective: opened.selective,
            nagle: opened.nagle,
            edge: window,
            most_window: window,
            told: (window, room),
            probe: None,
            again: VecDeque::new(),
            rest: None,
            held: None,
            marks: opened.marks,
        }
    }

    /// The first byte that was never sent.
    fn sent(&self) -> u64 {
        let cut = self.segments.start(self.segments.next());
        self.probe.map_or(cut, |(end, ..)| end.max(cut))
    }

    /// The segments that the receiver has room for, from the first unacknowledged one on. `waiting` bytes
    /// are not sent yet.
    fn room(&self, waiting: u64) -> u32 {
        let next = self.segments.next();
        let room = self.edge.saturating_sub(self.segments.start(next));
        let more = Room { waiting, room, payload: self.payload, most: self.most_window }.segments();
        ((next - self.segments.una()) as u32).saturating_add(more)
    }

    /// The time that counts for the next departure: the ideal one if this host was late.
    fn departure(&mut self, now: Time) -> Time {
        let least = Time::from_nanos(now.as_nanos().saturating_sub(MOST_LATE.as_nanos()));
        self.held.take().filter(|&due| due <= now).map_or(now, |due| due.max(least))
    }

    /// Notes whether it is pacing that holds the next segment back. The last one left at `at`.
    fn hold(&mut self, at: Time) {
        let open = self.sender.in_flight() as f64 + 1.0 <= self.sender.window().cwnd;
        self.held = self.sender.poll_pacing(at).filter(|_| open);
    }
}

impl Outbound {
    /// The handshake is complete. `build` makes the sender from the segments that the receiver has room for.
    pub(crate) fn begin(&mut self, now: Time, opened: &Opened, build: impl FnOnce(u32) -> Sender) {
        self.flight = Some(Box::new(Flight::new(opened, self.written, build)));
        self.supply(now);
    }

    pub(crate) fn flight(&self) -> Option<&Flight> {
        self.flight.as_deref()
    }

    /// What the sender knows, or knew when it was needed for the last time.
    pub(crate) fn knowledge(&self) -> Option<SenderInfo> {
        let known = |flight: &Flight| SenderInfo::of(&flight.sender, flight.payload);
        self.flight.as_deref().map(known).or(self.last.as_deref().copied())
    }

    /// The sender is not needed any more.
    pub(crate) fn retire(&mut self) {
        self.last = self.knowledge().map(Box::new);
        (self.flight, self.ring) = (None, Ring::default());
    }

    /// The memory that it holds for data, bytes.
    pub(crate) fn held(&self) -> usize {
        self.ring.held()
    }

    /// The first byte that is still needed.
    fn base(&self) -> u64 {
        let needed = match &self.flight {
            Some(flight) => flight.segments.start(flight.segments.una()),
            None => self.acked,
        };
        needed.min(self.written)
    }

    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Bytes that have arrived at the peer, without the FIN.
    pub(crate) fn arrived(&self) -> u64 {
        self.acked.min(self.written)
    }

    /// Bytes that are written and have not arrived.
    pub(crate) fn waiting(&self) -> u64 {
        self.written - self.base()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The FIN has arrived, and all before it.
    pub(crate) fn is_finished(&self) -> bool {
        self.closed && self.acked > self.written
    }

    /// The first unacknowledged byte: SND.UNA.
    pub(crate) fn acked(&self) -> u64 {
        self.acked
    }

    /// The first byte that was never sent: SND.NXT.
    pub(crate) fn sent(&self) -> u64 {
        self.flight.as_ref().map_or(0, |flight| flight.sent())
    }

    /// The largest window of the receiver so far.
    pub(crate) fn most_window(&self) -> u64 {
        self.flight.as_ref().map_or(0, |flight| flight.most_window)
    }

    /// Something is sent and not acknowledged, or a closed window is probed.
    pub(crate) fn is_outstanding(&self) -> bool {
        let waits =
            |flight: &Flight| flight.segments.una() < flight.segments.next() || flight.probe.is_some();
        self.flight.as_deref().is_some_and(waits)
    }

    /// Our segments may say that they can be marked: nothing is known to spoil the marks (RFC 9768 sections
    /// 3.2.2.1 and 3.2.3.2.5).
    pub(crate) fn may_be_marked(&self) -> bool {
        let marks = self.flight.as_ref().and_then(|flight| flight.marks);
        marks.is_none_or(|marks| !marks.ignored && !marks.mangled)
    }

    /// The most bytes of a segment.
    pub(crate) fn payload(&self) -> u64 {
        self.flight.as_ref().map_or(0, |flight| flight.payload)
    }

    /// Takes as much of `bytes` as fits below `most` bytes in all. Returns how much.
    pub(crate) fn write(&mut self, now: Time, bytes: &[u8], most: usize) -> usize {
        let free = (most as u64).saturating_sub(self.waiting());
        let taken = (bytes.len() as u64).min(free) as usize;
        if taken > 0 {
            self.ring.put(self.base(), self.written, self.written, &bytes[..taken]);
            self.written += taken as u64;
            self.supply(now);
        }
        taken
    }

    /// No more bytes: a FIN follows.
    pub(crate) fn close(&mut self, now: Time) {
        self.closed = true;
        self.supply(now);
    }

    /// Tells the sender how many segments there are.
    fn supply(&mut self, now: Time) {
        let Some(flight) = &mut self.flight else { return };
        let next = flight.segments.next();
        let cut = flight.segments.start(next);
        let unsent = self.written.saturating_sub(cut);
        let (whole, short) = (unsent / flight.payload, !unsent.is_multiple_of(flight.payload));
        // RFC 9293 section 3.7.4: a short segment waits while anything is outstanding.
        let waits = flight.nagle && !self.closed && flight.segments.una() < next;
        let fin = self.closed && cut <= self.written;
        let count = (whole + u64::from(short && !waits)).max(u64::from(fin));
        flight.sender.supply(now, next + count);
    }

    /// Cuts the next segment, or a probe of a closed window. Returns its bytes, and whether a FIN is behind.
    fn cut(&self, flight: &Flight) -> (u64, u64, bool) {
        let start = flight.segments.start(flight.segments.next());
        let unsent = self.written.saturating_sub(start);
        let room = flight.edge.saturating_sub(start);
        // RFC 9293 section 3.8.6.1: a probe has at least one byte.
        let size = unsent.min(flight.payload).min(room.max(1));
        let end = start + size;
        (start, end, self.closed && end == self.written)
    }

    /// What may be sent now. Call it until it returns `None`. Segments carry the timestamp `tick`.
    pub(crate) fn next(&mut self, now: Time, tick: u32) -> Option<Piece> {
        let mut flight = self.flight.take()?;
        let piece = self.pick(&mut flight, now, tick);
        self.flight = Some(flight);
        let piece = piece?;
        if piece.end - piece.start < self.payload() && !piece.push {
            self.supply(now); // the window cut it short, so that there are more segments now
        }
        Some(piece)
    }

    fn pick(&mut self, flight: &mut Flight, now: Time, tick: u32) -> Option<Piece> {
        if let Some((start, end)) = flight.rest.take() {
            return Some(self.part(flight, start, end, Flags::default()));
        }
        while let Some(number) = flight.again.pop_front() {
            if let Some((start, end)) =
                flight.segments.bytes(number).filter(|_| number >= flight.segments.una())
            {
                flight.segments.resent(number, now, tick);
                return Some(self.part(flight, start, end, Flags::default()));
            }
        }
        let at = flight.departure(now);
        let Some(data) = flight.sender.poll_transmit(at) else {
            flight.hold(at);
            return None;
        };
        flight.hold(at);
        if let Some((start, end)) = flight.segments.bytes(data.seq) {
            flight.segments.resent(data.seq, at, tick);
            return Some(self.part(flight, start, end, data.flags));
        }
        debug_assert_eq!(data.seq, flight.segments.next(), "segments are sent in their order");
        let (start, end, fin) = self.cut(flight);
        debug_assert!(end > start || fin, "the sender was promised more than there is");
        let behind = end + u64::from(fin);
        if flight.sender.nxt() > data.seq {
            flight.segments.cut(behind, at, tick);
            flight.probe = None;
        } else {
            flight.probe = Some((behind, at, tick));
        }
        Some(Piece { start, end, fin, push: end == self.written, flags: data.flags })
    }

    /// The bytes `start..end` of a segment, or as many as now fit into one.
    fn part(&self, flight: &mut Flight, start: u64, end: u64, flags: Flags) -> Piece {
        let last = end.min(start + flight.payload);
        let fin = self.closed && end > self.written && last >= self.written;
        if last < end && !(fin && last == self.written) {
            flight.rest = Some((last, end));
        }
        let data = last.min(self.written);
        Piece { start: start.min(data), end: data, fin, push: data == self.written, flags }
    }

    /// The bytes of a piece, in up to two parts.
    pub(crate) fn bytes(&self, piece: &Piece) -> [&[u8]; 2] {
        self.ring.get(piece.start, piece.end)
    }

    /// Something arrived from the receiver. `draw` returns a uniform number for controllers that want one.
    pub(crate) fn on_report(&mut self, now: Time, report: &Report<'_>, draw: impl FnOnce() -> f64) {
        let Some(mut flight) = self.flight.take() else { return };
        let (before, acked) = (flight.segments.una(), report.acked.max(self.acked));
        let progress = acked > self.acked;
        self.acked = acked;
        let echo = report.echo.and_then(|(tick, told)| flight.segments.echoed(before, tick, told));
        let una = flight.segments.acknowledge(acked);
        let same_window = report.window.is_none_or(|window| window == flight.told.0);
        if let Some(window) = report.window {
            flight.edge = report.acked + window;
            flight.most_window = flight.most_window.max(window);
        }
        let waiting = self.written.saturating_sub(flight.segments.start(flight.segments.next()));
        // RFC 5681 section 2: what counts as a duplicate without selective acknowledgements changes nothing,
        // neither in bytes nor in segments.
        let duplicate = !progress && same_window;
        let room = if duplicate && !flight.selective { flight.told.1 } else { flight.room(waiting) };
        // With a hole, what lies above it may have been reported by acknowledgements that were lost.
        let covered = report.runs.is_empty().then_some(una - before);
        let marks = flight.marks.as_mut().zip(report.echo_of_marks);
        let marks = marks.and_then(|(marks, echo)| marks.read(&echo, covered, flight.payload));
        let congestion = report.congestion || marks.is_some();
        let told = !report.runs.is_empty() || congestion || duplicate && report.pure;
        // An acknowledged probe is news, even if the window stays closed: the next probe is the next byte.
        let probed = progress && flight.probe.is_some_and(|(end, ..)| acked >= end);
        let news = una > before || room != flight.told.1 || told || probed;
        flight.told = (report.window.unwrap_or(flight.told.0), room);
        if news {
            if let Some(marks) = marks {
                flight.sender.tell_marks(marks);
            }
            let blocks = if flight.selective { flight.blocks(una, report.runs) } else { Default::default() };
            let flags = if congestion { Flags::ECE } else { Flags::default() };
            let ack = Ack {
                ack: una,
                sent_at: report.sent_at,
                echo: echo.unwrap_or(now),
                window: room,
                bytes: 0,
                flags,
                blocks,
            };
            flight.tell(now, acked, ack, draw);
        }
        self.flight = Some(flight);
        let base = self.base();
        if base == self.written {
            self.ring.empty();
        }
        self.supply(now);
    }

    /// A router cannot forward segments with more than `payload` bytes. What was lost for this is sent again
    /// at once: it is no sign of congestion (RFC 1191 section 6.5).
    pub(crate) fn shrink(&mut self, now: Time, payload: u64) {
        let written = self.written;
        let Some(flight) = self.flight.as_mut().filter(|flight| payload < flight.payload) else { return };
        flight.payload = payload;
        let outstanding = flight.segments.una()..flight.segments.next();
        let too_big = outstanding.filter(|&number| {
            let bytes = flight.segments.bytes(number);
            let large = bytes.is_some_and(|(start, end)| end.min(written) > start + payload);
            large && !flight.sender.board().is_sacked(number)
        });
        flight.again = too_big.collect();
        self.supply(now);
    }

    /// When to call [`Outbound::on_timeout`], or [`Outbound::next`] once more.
    pub(crate) fn deadline(&self, now: Time) -> Option<Time> {
        let flight = self.flight.as_ref()?;
        let paced = flight.sender.poll_pacing(now);
        [flight.sender.poll_timeout(), paced].into_iter().flatten().min()
    }

    /// Fires the sender's timers that are due. True if there was one.
    pub(crate) fn on_timeout(&mut self, now: Time) -> bool {
        let Some(flight) = &mut self.flight else { return false };
        let due = flight.sender.poll_timeout().is_some_and(|at| at <= now);
        if due {
            flight.sender.on_timeout(now);
        }
        due
    }
}

impl Flight {
    /// Passes an acknowledgement on. One that covers the probe of a closed window makes the probe a segment,
    /// unless the sender has heard since that the window is open.
    fn tell(&mut self, now: Time, acked: u64, ack: Ack, draw: impl FnOnce() -> f64) {
        match self.probe {
            Some((end, at, tick)) if acked >= end && ack.ack == self.segments.next() => {
                let mut draw = Some(draw);
                let mut draw = || draw.take().map_or(0.0, |draw| draw());
                let taken = Ack { ack: ack.ack + 1, echo: at, ..ack };
                self.sender.on_ack(now, &taken, &mut draw);
                if self.sender.nxt() == taken.ack {
                    self.segments.cut(end, at, tick);
                    self.segments.acknowledge(acked);
                    self.probe = None;
                } else {
                    self.sender.on_ack(now, &ack, &mut draw);
                }
            }
            _ => self.sender.on_ack(now, &ack, draw),
        }
    }

    /// Runs of bytes as runs of segments, relative to `una`. There is room for three. Of four, the one is
    /// left out that tells nothing new, or the last.
    fn blocks(&self, una: u64, runs: &[(u64, u64)]) -> [SackBlock; 3] {
        let mut blocks = [SackBlock::default(); 3];
        let board = self.sender.board();
        let mapped = |&(start, end): &(u64, u64)| self.segments.within(start, end);
        // Of what is acknowledged the board knows nothing any more.
        let told = |&(start, end): &(u64, u64)| {
            let start = start.max(board.una());
            start >= end || board.is_sacked(start) && board.is_sacked(end - 1)
        };
        let count = runs.iter().filter_map(mapped).count();
        let mut spare = count.saturating_sub(blocks.len());
        let mut at = 0;
        for (place, run) in runs.iter().filter_map(mapped).enumerate() {
            if spare > 0 && place > 0 && told(&run) {
                spare -= 1;
            } else if let Some(block) = blocks.get_mut(at) {
                *block = SackBlock { offset: run.0.wrapping_sub(una) as u32, length: (run.1 - run.0) as u32 };
                at += 1;
            }
        }
        blocks
    }
}
