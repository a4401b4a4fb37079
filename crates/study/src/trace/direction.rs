//! One direction of a connection, in numbers.
//!
//! Source: the fields of tcptrace (Ostermann, Ohio University), as the appendix of Sundaresan (M.S. thesis,
//! University of Kansas, 2001) prints them, and RFC 5681 for duplicate acknowledgements.
//!
//! What differs from tcptrace 6.6.7: means are not cut to whole numbers. An acknowledgement is a duplicate
//! only if it carries no data and something is outstanding. What is outstanding is exact; tcptrace adds one
//! byte. The window of a RST counts nowhere. The time from the last packet of a connection to the end of the
//! capture is not idle.

use super::moments::{Moments, Times};
use super::sent::Sent;
use ackclock_units::{Duration, Time};
use ackclock_wire::Segment;
use serde::Serialize;

/// What one end sent, and what was acknowledged of it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Direction {
    /// All packets.
    pub packets: u64,
    /// Those with the ACK flag.
    pub acks: u64,
    /// Those with the ACK flag and nothing else: no data, no SYN, FIN or RST.
    pub pure_acks: u64,
    /// Those with selective acknowledgements.
    pub sack_packets: u64,
    /// The most blocks in one of them.
    pub sack_blocks_max: u8,
    /// Packets with data.
    pub data_packets: u64,
    /// Their data, retransmissions included, bytes.
    pub data_bytes: u64,
    /// Data seen for the first time, bytes.
    pub unique_bytes: u64,
    /// Packets with data that were seen before.
    pub retransmitted_packets: u64,
    /// These data, bytes.
    pub retransmitted_bytes: u64,
    /// Packets with data that fill a gap.
    pub out_of_order: u64,
    /// Packets with data and the PSH flag.
    pub pushed: u64,
    /// Packets with SYN.
    pub syns: u64,
    /// Packets with FIN.
    pub fins: u64,
    /// Packets with RST.
    pub resets: u64,
    /// The shift that its SYN offers for its window (RFC 7323).
    pub window_scale: Option<u8>,
    /// Its SYN offers timestamps (RFC 7323).
    pub timestamps: bool,
    /// Its SYN permits selective acknowledgements (RFC 2018).
    pub sack_permitted: bool,
    /// The largest segment that its SYN asks for, bytes.
    pub mss: Option<u16>,
    /// The largest segment, bytes of data.
    pub segment_max: u32,
    /// The smallest segment with data, bytes; 0 without data.
    pub segment_min: u32,
    /// The largest receive window that it advertised, bytes.
    pub window_max: u64,
    /// The smallest one that is not zero, bytes; 0 if there is none.
    pub window_min: u64,
    /// The mean over its packets, bytes. A SYN counts only if windows are not scaled.
    pub window_mean: f64,
    /// Packets that close the window.
    pub window_zero: u64,
    /// The most bytes that were outstanding after a packet with new data.
    pub outstanding_max: u64,
    /// The least, bytes.
    pub outstanding_min: u64,
    /// The mean, bytes.
    pub outstanding_mean: f64,
    /// The data sent before the first acknowledgement of data, bytes.
    pub initial_window_bytes: u64,
    /// The packets with these data.
    pub initial_window_packets: u64,
    /// The bytes from SYN to FIN, if both were seen.
    pub stream_bytes: Option<u64>,
    /// Those of them that were not seen.
    pub missed_bytes: Option<u64>,
    /// Data that the capture left out, bytes.
    pub truncated_bytes: u64,
    /// Packets with such data.
    pub truncated_packets: u64,
    /// From the first packet with data to the last, s.
    pub data_s: f64,
    /// The longest time between two packets, s.
    pub idle_max_s: f64,
    /// Unique data over the time of the whole connection, bit/s.
    pub throughput_bps: f64,
    /// Round-trip times: from a piece that was sent once to the acknowledgement that points at its end.
    pub rtt: Option<Times>,
    /// Acknowledgements that point at a piece that was sent more than once.
    pub ambiguous_acks: u64,
    /// Acknowledgements of pieces before which others had been sent again.
    pub post_loss_acks: u64,
    /// Segments that an acknowledgement covered without pointing at their end.
    pub cumulatively_acked: u64,
    /// Duplicate acknowledgements that this end received.
    pub duplicate_acks: u64,
    /// Those of them that were the third in a row.
    pub triple_duplicates: u64,
    /// The most often that one segment was retransmitted before it was acknowledged.
    pub retransmissions_max: u32,
    /// The time from a segment to its retransmission.
    pub retransmission: Option<Times>,
}

/// Bytes count from here, for data that are captured before those with the first sequence number.
const BELOW: u64 = 1 << 32;

/// A direction that is being followed.
#[derive(Clone, Debug, Default)]
pub(super) struct Follower {
    counted: Direction,
    sent: Sent,
    /// The sequence number that counts as 0, and the end of what was sent.
    origin: Option<u32>,
    nxt: u64,
    syn: Option<u64>,
    fin: Option<u64>,
    /// The highest acknowledgement that this end received, and how many duplicates of it.
    una: u64,
    duplicates: u64,
    data_acked: bool,
    windows: u64,
    outstanding: u64,
    /// Of packets, and of packets with data.
    last: Option<Time>,
    data: Option<(Time, Time)>,
    rtt: Moments,
    repeated: Moments,
}

/// What a packet did, for who draws it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// Data left: bytes from the first sequence number on, and whether some were seen before.
    Data {
        /// The first byte.
        start: u64,
        /// The byte after the last.
        end: u64,
        /// Some were seen before.
        again: bool,
    },
    /// All bytes before this one are acknowledged.
    Acked(u64),
    /// These bytes are acknowledged selectively.
    Sacked(u64, u64),
    /// The receiver takes bytes up to this one.
    Window(u64),
    /// A round-trip time.
    Rtt(Duration),
    /// So many bytes are outstanding.
    Outstanding(u64),
}

impl Follower {
    /// The byte that a sequence number means: the one nearest to what was sent last.
    fn byte(&mut self, seq: u32) -> u64 {
        let origin = *self.origin.get_or_insert(seq);
        if self.nxt == 0 {
            self.nxt = BELOW;
        }
        let near = (BELOW as u32).wrapping_add(seq.wrapping_sub(origin));
        let distance = near.wrapping_sub(self.nxt as u32) as i32;
        self.nxt.saturating_add_signed(i64::from(distance))
    }

    /// True if `segment` begins another connection between the same ports.
    pub(super) fn is_begun_again(&self, segment: &Segment) -> bool {
        let ended = self.fin.is_some() || self.counted.resets > 0;
        segment.syn && segment.ack.is_none() && ended && self.origin != Some(segment.seq)
    }

    /// Its SYN offered to scale windows.
    pub(super) fn scales(&self) -> bool {
        self.counted.window_scale.is_some()
    }

    /// This end sends `segment`. `scaled`: both ends scale windows.
    pub(super) fn on_sent(&mut self, now: Time, segment: &Segment, scaled: bool, see: &mut dyn FnMut(Event)) {
        self.count_flags(now, segment, scaled);
        let start = self.byte(segment.seq);
        let data = start + u64::from(segment.syn);
        let data_end = data + u64::from(segment.payload);
        let end = data_end + u64::from(segment.fin);
        if segment.syn {
            self.syn = Some(start);
        }
        if segment.fin {
            self.fin = Some(data_end);
        }
        let added = self.sent.add(now, start, end);
        self.nxt = self.nxt.max(end);
        if let Some((times, after)) = added.repeated {
            self.counted.retransmissions_max = self.counted.retransmissions_max.max(times);
            self.repeated.add(after);
        }
        let again = added.again > 0;
        if segment.payload > 0 {
            self.count_data(now, segment, again, added.again, added.out_of_order);
            see(Event::Data { start: shown(data), end: shown(data_end), again });
        }
        if !segment.syn && !added.out_of_order && !again {
            let outstanding = end.saturating_sub(self.una.max(self.syn.unwrap_or(start)));
            self.count_outstanding(outstanding);
            if segment.payload > 0 {
                see(Event::Outstanding(outstanding));
            }
        }
    }

    fn count_flags(&mut self, now: Time, segment: &Segment, scaled: bool) {
        let counted = &mut self.counted;
        counted.packets += 1;
        counted.acks += u64::from(segment.ack.is_some());
        counted.pure_acks += u64::from(is_pure(segment));
        counted.syns += u64::from(segment.syn);
        counted.fins += u64::from(segment.fin);
        counted.resets += u64::from(segment.reset);
        let blocks = segment.sacks().len() as u8;
        counted.sack_packets += u64::from(blocks > 0);
        counted.sack_blocks_max = counted.sack_blocks_max.max(blocks);
        if segment.syn {
            counted.mss = segment.mss.or(counted.mss);
            counted.window_scale = segment.window_scale.or(counted.window_scale);
            counted.timestamps |= segment.timestamps.is_some();
            counted.sack_permitted |= segment.sack_permitted;
        }
        if let Some(last) = self.last.replace(now) {
            counted.idle_max_s = counted.idle_max_s.max(now.since(last).as_secs_f64());
        }
        if segment.reset || (segment.syn && self.scales()) {
            return; // the window of a RST means nothing, and that of a SYN has another scale
        }
        let window = self.window(segment, scaled);
        let counted = &mut self.counted;
        self.windows += 1;
        counted.window_mean += (window as f64 - counted.window_mean) / self.windows as f64;
        counted.window_max = counted.window_max.max(window);
        if window == 0 {
            counted.window_zero += 1;
        } else if counted.window_min == 0 || window < counted.window_min {
            counted.window_min = window;
        }
    }

    /// The window that `segment` advertises, bytes.
    pub(super) fn window(&self, segment: &Segment, scaled: bool) -> u64 {
        let shift = self.counted.window_scale.filter(|_| scaled && !segment.syn).unwrap_or(0);
        u64::from(segment.window) << shift.min(14) // RFC 7323 section 2.3: at most 14
    }

    fn count_data(&mut self, now: Time, segment: &Segment, again: bool, bytes: u64, out_of_order: bool) {
        let counted = &mut self.counted;
        let payload = u64::from(segment.payload);
        counted.data_packets += 1;
        counted.data_bytes += payload;
        counted.retransmitted_packets += u64::from(again);
        counted.retransmitted_bytes += bytes.min(payload);
        counted.out_of_order += u64::from(out_of_order);
        counted.pushed += u64::from(segment.push);
        counted.segment_max = counted.segment_max.max(segment.payload);
        counted.segment_min = match counted.segment_min {
            0 => segment.payload,
            least => least.min(segment.payload),
        };
        let left_out = segment.payload.saturating_sub(segment.captured);
        counted.truncated_bytes += u64::from(left_out);
        counted.truncated_packets += u64::from(left_out > 0);
        if !self.data_acked && !again {
            counted.initial_window_bytes += payload;
            counted.initial_window_packets += 1;
        }
        self.data = Some((self.data.map_or(now, |(first, _)| first), now));
    }

    fn count_outstanding(&mut self, bytes: u64) {
        let counted = &mut self.counted;
        self.outstanding += 1;
        counted.outstanding_mean += (bytes as f64 - counted.outstanding_mean) / self.outstanding as f64;
        counted.outstanding_max = counted.outstanding_max.max(bytes);
        if bytes > 0 && (counted.outstanding_min == 0 || bytes < counted.outstanding_min) {
            counted.outstanding_min = bytes;
        }
    }

    /// The other end acknowledges in `segment`, which advertises `window` bytes.
    pub(super) fn on_ack(&mut self, now: Time, segment: &Segment, window: u64, see: &mut dyn FnMut(Event)) {
        let Some(number) = segment.ack else { return };
        if self.origin.is_none() {
            return; // nothing of this direction was captured so far
        }
        let ack = self.byte(number);
        for &(left, right) in segment.sacks() {
            let (left, right) = (self.byte(left), self.byte(right));
            see(Event::Sacked(shown(left), shown(right)));
        }
        let covered = self.sent.acknowledge(now, ack);
        self.data_acked |= self.syn.map_or(covered.bytes > 0, |syn| ack > syn + 1);
        if let Some(rtt) = covered.rtt {
            self.rtt.add(rtt);
            see(Event::Rtt(rtt));
        }
        self.counted.ambiguous_acks += u64::from(covered.ambiguous);
        self.counted.post_loss_acks += u64::from(covered.after_loss);
        self.counted.cumulatively_acked += covered.others;
        if ack > self.una {
            (self.una, self.duplicates) = (ack, 0);
        } else if ack == self.una && is_pure(segment) && self.nxt > ack {
            self.duplicates += 1;
            self.counted.duplicate_acks += 1;
            self.counted.triple_duplicates += u64::from(self.duplicates == 3);
        }
        see(Event::Acked(shown(ack)));
        see(Event::Window(shown(ack + window)));
    }

    /// The numbers, for a connection that lasted so long.
    pub(super) fn finish(&self, lasted: Duration) -> Direction {
        let mut counted = self.counted.clone();
        counted.unique_bytes = counted.data_bytes - counted.retransmitted_bytes;
        counted.stream_bytes = self.syn.zip(self.fin).and_then(|(syn, fin)| fin.checked_sub(syn + 1));
        counted.missed_bytes = counted.stream_bytes.map(|stream| stream.saturating_sub(counted.unique_bytes));
        counted.data_s = self.data.map_or(0.0, |(first, last)| last.since(first).as_secs_f64());
        let seconds = lasted.as_secs_f64();
        if seconds > 0.0 {
            counted.throughput_bps = 8.0 * counted.unique_bytes as f64 / seconds;
        }
        counted.rtt = self.rtt.times();
        counted.retransmission = self.repeated.times();
        counted
    }
}

/// A byte's distance from the first sequence number.
fn shown(byte: u64) -> u64 {
    byte.saturating_sub(BELOW)
}

/// True if it only acknowledges.
fn is_pure(segment: &Segment) -> bool {
    segment.ack.is_some() && segment.payload == 0 && !segment.syn && !segment.fin && !segment.reset
}
