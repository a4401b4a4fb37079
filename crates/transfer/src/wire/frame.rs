//! What is sealed: one frame per packet.

use super::reader::Reader;
use ackclock_rate::packet::{Ack, Arrivals, Data, MAX_ARRIVALS, Report};
use ackclock_rate::pair::Slot;
use ackclock_units::{Duration, Time};

const DATA: u8 = 1;
const ACK: u8 = 2;
const MESSAGE: u8 = 3;
const MESSAGES_READ: u8 = 4;
const PATH_CHALLENGE: u8 = 5;
const PATH_RESPONSE: u8 = 6;
const PING: u8 = 7;
const REKEY: u8 = 8;
const REKEYED: u8 = 9;
const CLOSE: u8 = 10;
const PROBE: u8 = 11;
const PROBED: u8 = 12;

/// What stands before the payload of a data frame, bytes.
pub const DATA_HEADER: usize = 26;

/// How the receiver of data stands. Every acknowledgement and every ping has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    /// The last datum that it has room for. Its sender sends none after that.
    pub room: u64,
    /// Losses so far, as the receiver counts them.
    pub lost: u64,
    /// Those of them that it labels congestion.
    pub congestion: u64,
}

/// A frame.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Frame<'a> {
    /// A datum.
    Data(Data, &'a [u8]),
    /// An acknowledgement.
    Ack(Ack, Standing),
    /// A message: its number from 1, and itself. It is repeated until it is acknowledged.
    Message(u32, &'a [u8]),
    /// The last message that was read in order.
    MessagesRead(u32),
    /// Is this the address of the other end? To be answered with the same number.
    PathChallenge(u64),
    /// It is.
    PathResponse(u64),
    /// A sign of life.
    Ping(Standing),
    /// New keys: their epoch, and the first message of a handshake inside the session.
    Rekey(u8, &'a [u8]),
    /// The answer, with the second message.
    Rekeyed(u8, &'a [u8]),
    /// The sender of this has closed: why, and in words.
    Close(u8, &'a str),
    /// Does the path carry a packet of this size? What fills it means nothing.
    Probe(&'a [u8]),
    /// A probe of so many bytes on the wire arrived.
    Probed(u32),
}

impl<'a> Frame<'a> {
    /// Reads a frame. `number` is the packet's, `bytes` its size on the wire. `None` if it is not well
    /// formed.
    pub fn read(frame: &'a [u8], number: u64, bytes: u32) -> Option<Frame<'a>> {
        let mut from = Reader(frame);
        let kind = from.u8()?;
        let read = match kind {
            DATA => {
                let (datum, sent, srtt, flags) = (from.u64()?, from.u64()?, from.u64()?, from.u8()?);
                let slot = match flags >> 1 {
                    0 => Slot::Single,
                    1 => Slot::First,
                    2 => Slot::Second,
                    _ => return None,
                };
                let (sent, srtt) = (Time::from_nanos(sent), Duration::from_nanos(srtt));
                let data = Data { number, datum, bytes, sent, srtt, slot, last: flags & 1 == 1 };
                Frame::Data(data, from.rest())
            }
            ACK => {
                let (echo, cumulative, sack) = (from.u64()?, from.u64()?, from.u128()?);
                let (echoed, held) = (from.u64()?, Duration::from_nanos(from.u64()?));
                let echoed = (echoed != u64::MAX).then_some(Time::from_nanos(echoed));
                let standing = read_standing(&mut from)?;
                let report = read_report(&mut from)?;
                Frame::Ack(Ack { echo, cumulative, sack, bytes, echoed, held, report }, standing)
            }
            MESSAGE => Frame::Message(from.u32()?, from.rest()),
            MESSAGES_READ => Frame::MessagesRead(from.u32()?),
            PATH_CHALLENGE => Frame::PathChallenge(from.u64()?),
            PATH_RESPONSE => Frame::PathResponse(from.u64()?),
            PING => Frame::Ping(read_standing(&mut from)?),
            REKEY => Frame::Rekey(from.u8()?, from.rest()),
            REKEYED => Frame::Rekeyed(from.u8()?, from.rest()),
            CLOSE => Frame::Close(from.u8()?, std::str::from_utf8(from.rest()).ok()?),
            PROBE => Frame::Probe(from.rest()),
            PROBED => Frame::Probed(from.u32()?),
            _ => return None,
        };
        from.is_empty().then_some(read)
    }

    /// Appends the frame. What a packet's number and size tell is not written.
    pub fn put(&self, out: &mut Vec<u8>) {
        match self {
            Frame::Data(data, payload) => {
                let slot = match data.slot {
                    Slot::Single => 0,
                    Slot::First => 1,
                    Slot::Second => 2,
                };
                out.push(DATA);
                put_u64s(out, &[data.datum, data.sent.as_nanos(), data.srtt.as_nanos()]);
                out.push(slot << 1 | u8::from(data.last));
                out.extend(*payload);
            }
            Frame::Ack(ack, standing) => {
                out.push(ACK);
                put_u64s(out, &[ack.echo, ack.cumulative]);
                out.extend(ack.sack.to_le_bytes());
                put_u64s(out, &[ack.echoed.map_or(u64::MAX, Time::as_nanos), ack.held.as_nanos()]);
                put_standing(out, standing);
                put_report(out, &ack.report);
            }
            Frame::Message(number, text) => {
                out.push(MESSAGE);
                out.extend(number.to_le_bytes());
                out.extend(*text);
            }
            Frame::MessagesRead(number) => {
                out.push(MESSAGES_READ);
                out.extend(number.to_le_bytes());
            }
            Frame::PathChallenge(number) | Frame::PathResponse(number) => {
                let is_challenge = matches!(self, Frame::PathChallenge(_));
                out.push(if is_challenge { PATH_CHALLENGE } else { PATH_RESPONSE });
                put_u64s(out, &[*number]);
            }
            Frame::Ping(standing) => {
                out.push(PING);
                put_standing(out, standing);
            }
            Frame::Rekey(epoch, noise) | Frame::Rekeyed(epoch, noise) => {
                out.extend([if matches!(self, Frame::Rekey(..)) { REKEY } else { REKEYED }, *epoch]);
                out.extend(*noise);
            }
            Frame::Close(why, words) => {
                out.extend([CLOSE, *why]);
                out.extend(words.as_bytes());
            }
            Frame::Probe(filling) => {
                out.push(PROBE);
                out.extend(*filling);
            }
            Frame::Probed(bytes) => {
                out.push(PROBED);
                out.extend(bytes.to_le_bytes());
            }
        }
    }
}

fn put_u64s(out: &mut Vec<u8>, values: &[u64]) {
    values.iter().for_each(|value| out.extend(value.to_le_bytes()));
}

fn put_standing(out: &mut Vec<u8>, standing: &Standing) {
    put_u64s(out, &[standing.room, standing.lost, standing.congestion]);
}

fn read_standing(from: &mut Reader) -> Option<Standing> {
    Some(Standing { room: from.u64()?, lost: from.u64()?, congestion: from.u64()? })
}

fn put_report(out: &mut Vec<u8>, report: &Report) {
    match report {
        Report::Nothing => out.push(0),
        Report::Rate(rate) => {
            out.push(1);
            out.extend(rate.to_le_bytes());
        }
        Report::LossEvents { rate, received, new } => {
            out.extend([2, u8::from(*new)]);
            out.extend(rate.to_le_bytes());
            out.extend(received.to_le_bytes());
        }
        Report::Arrivals(arrivals) => {
            let (first, base, ticks) = arrivals.parts();
            out.extend([3, ticks.len() as u8]);
            put_u64s(out, &[first, base.as_nanos()]);
            ticks.iter().for_each(|tick| out.extend(tick.to_le_bytes()));
        }
    }
}

/// A rate that no transport can mean is read as it is: whoever uses it refuses it.
fn read_report(from: &mut Reader) -> Option<Report> {
    Some(match from.u8()? {
        0 => Report::Nothing,
        1 => Report::Rate(from.f64()?),
        2 => {
            let new = match from.u8()? {
                0 => false,
                1 => true,
                _ => return None,
            };
            Report::LossEvents { rate: from.f64()?, received: from.f64()?, new }
        }
        3 => {
            let count = usize::from(from.u8()?);
            let (first, base) = (from.u64()?, Time::from_nanos(from.u64()?));
            let mut ticks = [0; MAX_ARRIVALS];
            for tick in ticks.get_mut(..count)? {
                *tick = from.u16()?;
            }
            Report::Arrivals(Arrivals::from_parts(first, base, &ticks[..count])?)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn span() -> impl Strategy<Value = Duration> {
        any::<u64>().prop_map(Duration::from_nanos)
    }

    /// Any instant but that which stands for none.
    fn instant() -> impl Strategy<Value = Time> {
        (0..u64::MAX).prop_map(Time::from_nanos)
    }

    fn data() -> impl Strategy<Value = Data> {
        let slot = prop_oneof![Just(Slot::Single), Just(Slot::First), Just(Slot::Second)];
        (any::<(u64, u64, u32, bool)>(), instant(), span(), slot).prop_map(
            |((number, datum, bytes, last), sent, srtt, slot)| Data {
                number,
                datum,
                bytes,
                sent,
                srtt,
                slot,
                last,
            },
        )
    }

    fn report() -> impl Strategy<Value = Report> {
        let ticks = prop::collection::vec(any::<u16>(), 0..=MAX_ARRIVALS);
        prop_oneof![
            Just(Report::Nothing),
            (-1e20..1e20).prop_map(Report::Rate),
            (0.0..1.0, 0.0..1e12, any::<bool>()).prop_map(|(rate, received, new)| Report::LossEvents {
                rate,
                received,
                new
            }),
            (any::<u64>(), instant(), ticks).prop_map(|(first, base, ticks)| Report::Arrivals(
                Arrivals::from_parts(first, base, &ticks).expect("not too many")
            )),
        ]
    }

    fn ack() -> impl Strategy<Value = Ack> {
        (any::<(u64, u64, u128, u32)>(), prop::option::of(instant()), span(), report()).prop_map(
            |((echo, cumulative, sack, bytes), echoed, held, report)| Ack {
                echo,
                cumulative,
                sack,
                bytes,
                echoed,
                held,
                report,
            },
        )
    }

    fn standing() -> impl Strategy<Value = Standing> {
        any::<(u64, u64, u64)>().prop_map(|(room, lost, congestion)| Standing { room, lost, congestion })
    }

    fn round(frame: &Frame, number: u64, bytes: u32) {
        let mut out = Vec::new();
        frame.put(&mut out);
        assert_eq!(Frame::read(&out, number, bytes).as_ref(), Some(frame));
        // No part of it is a frame of another kind, unless its end is a text.
        let fixed = !matches!(
            frame,
            Frame::Data(..)
                | Frame::Message(..)
                | Frame::Rekey(..)
                | Frame::Rekeyed(..)
                | Frame::Close(..)
                | Frame::Probe(..)
        );
        if fixed {
            for length in 0..out.len() {
                assert_eq!(Frame::read(&out[..length], number, bytes), None);
            }
            out.push(0);
            assert_eq!(Frame::read(&out, number, bytes), None);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            data in data(),
            ack in ack(),
            standing in standing(),
            number in any::<u32>(),
            long in any::<u64>(),
            epoch in any::<u8>(),
            payload in prop::collection::vec(any::<u8>(), 0..1200),
            words in ".{0,100}",
        ) {
            round(&Frame::Data(data, &payload), data.number, data.bytes);
            round(&Frame::Ack(ack, standing), 1, ack.bytes);
            round(&Frame::Message(number, &payload), 1, 1);
            round(&Frame::MessagesRead(number), 1, 1);
            round(&Frame::PathChallenge(long), 1, 1);
            round(&Frame::PathResponse(long), 1, 1);
            round(&Frame::Ping(standing), 1, 1);
            round(&Frame::Rekey(epoch, &payload), 1, 1);
            round(&Frame::Rekeyed(epoch, &payload), 1, 1);
            round(&Frame::Close(epoch, &words), 1, 1);
            round(&Frame::Probe(&payload), 1, 1);
            round(&Frame::Probed(number), 1, 1);
        }

        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0..14_u8) {
            if let Some(first) = bytes.first_mut() {
                *first = kind;
            }
            if let Some(frame) = Frame::read(&bytes, 1, 1) {
                let mut again = Vec::new();
                frame.put(&mut again);
                assert_eq!(again, bytes, "there is one form only");
            }
        }
    }

    #[test]
    fn a_datum_has_twenty_six_bytes_before_it() {
        let mut out = Vec::new();
        Frame::Data(Data::default(), b"").put(&mut out);
        assert_eq!(out.len(), DATA_HEADER);
    }
}
