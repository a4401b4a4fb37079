//! Accurate ECN (RFC 9768): a receiver tells how many packets the path has marked, in three bits of every
//! segment, and how many bytes, in an option.
//!
//! The sender of the marks' segments gets every mark by itself, which controllers such as `dctcp` and
//! `prague` need. Byte counters are sent on segments without data, where there is room for them.

use ackclock_net::Ecn;
use ackclock_tcp::Marks;
use ackclock_wire::EchoedBytes;
use ackclock_wire::endpoint::flag;

/// The three bits of the counter: ACE (section 3.2.2).
const ACE: u16 = flag::AE | flag::CWR | flag::ECE;
/// Section 3.2.1: where the counter of packets begins.
const FIRST: u8 = 5;
/// The counter on the wire has three bits.
const CYCLE: u8 = 8;
/// Section 3.2.2.5.1: so many new marks are told at once, with data that is not acknowledged and without.
const MARKS_WITH_DATA: u32 = 2;
const MARKS_WITHOUT: u32 = 3;
/// Byte counters have 24 bits on the wire.
const BYTES: u32 = 1 << 24;

/// How a receiver tells its sender of marks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum EcnFeedback {
    /// There is no ECN.
    #[default]
    None,
    /// ECE until the sender has answered with CWR (RFC 3168), or each mark by itself (RFC 8257).
    Classic,
    /// Counters of packets and bytes (RFC 9768).
    Accurate,
}

impl EcnFeedback {
    /// What a SYN with these flags asks for (table 2, section 3.1.3).
    pub(crate) fn asked(flags: u16) -> EcnFeedback {
        match counter(flags) {
            0b000 => EcnFeedback::None,
            0b011 => EcnFeedback::Classic,
            _ => EcnFeedback::Accurate,
        }
    }

    /// What the answer to a SYN that asked for this agrees to.
    pub(crate) fn confirmed(self, flags: u16) -> EcnFeedback {
        match (self, counter(flags)) {
            (EcnFeedback::Accurate, 0b000 | 0b111) => EcnFeedback::None, // 0b111: a broken reflection
            (EcnFeedback::Accurate, 0b001) => EcnFeedback::Classic,
            (EcnFeedback::Accurate, _) => EcnFeedback::Accurate,
            (EcnFeedback::Classic, _) if flags & (flag::ECE | flag::CWR) == flag::ECE => EcnFeedback::Classic,
            _ => EcnFeedback::None,
        }
    }

    /// The flags of a SYN that asks for it.
    pub(crate) fn request(self) -> u16 {
        match self {
            EcnFeedback::None => 0,
            EcnFeedback::Classic => flag::CWR | flag::ECE,
            EcnFeedback::Accurate => ACE,
        }
    }
}

/// The counter in these flags.
pub(crate) fn counter(flags: u16) -> u8 {
    let bit = |flag: u16, value: u8| if flags & flag != 0 { value } else { 0 };
    bit(flag::AE, 4) | bit(flag::CWR, 2) | bit(flag::ECE, 1)
}

/// The flags with this counter.
fn flags(counter: u8) -> u16 {
    let bit = |value: u8, flag: u16| if counter & value != 0 { flag } else { 0 };
    bit(4, flag::AE) | bit(2, flag::CWR) | bit(1, flag::ECE)
}

/// The flags that tell with which codepoint a SYN, or its answer, has arrived (tables 2 and 3).
pub(crate) fn arrived_with(ecn: Ecn) -> u16 {
    flags(match ecn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    })
}

/// What has arrived: the counters of a receiver (section 3.2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    /// Packets with CE: r.cep, as far as it is told.
    marked: u8,
    /// Bytes with ECT(0), CE and ECT(1): r.e0b, r.ceb, r.e1b.
    bytes: [u32; 3],
    /// Which of them have changed at some time.
    used: [bool; 3],
    /// The last packet had CE.
    was_marked: bool,
    /// Packets with CE, and whether any bytes were counted, since the last acknowledgement.
    unreported: u32,
    news: bool,
}

impl Default for Arrived {
    fn default() -> Arrived {
        Arrived {
            marked: FIRST,
            bytes: [1, 0, 1],
            used: [false; 3],
            was_marked: false,
            unreported: 0,
            news: false,
        }
    }
}

impl Arrived {
    /// Acceptable packets with this codepoint arrive, with so many bytes in all. True: they are to be
    /// acknowledged at once (section 3.2.2.5.1).
    pub(crate) fn take(&mut self, ecn: Ecn, packets: u32, payload: usize) -> bool {
        let marked = ecn == Ecn::Ce;
        let at = match ecn {
            Ecn::Ect0 => Some(0),
            Ecn::Ce => Some(1),
            Ecn::Ect1 => Some(2),
            Ecn::NotEct => None,
        };
        if let Some(at) = at.filter(|_| payload > 0) {
            self.bytes[at] = self.bytes[at].wrapping_add(payload as u32) % BYTES;
            (self.used[at], self.news) = (true, true);
        }
        let changed = marked && !self.was_marked && payload > 0;
        self.was_marked = marked;
        if marked {
            self.marked = (self.marked.wrapping_add(packets as u8)) % CYCLE;
            self.unreported = self.unreported.saturating_add(packets);
        }
        let most = if payload > 0 { MARKS_WITH_DATA } else { MARKS_WITHOUT };
        changed || self.unreported >= most
    }

    /// The answer to our SYN has arrived with this codepoint (section 3.2.2.2).
    pub(crate) fn take_answer(&mut self, ecn: Ecn) {
        if ecn == Ecn::Ce && self.marked == FIRST {
            self.marked = FIRST + 1;
        }
    }

    /// The flags of a segment that leaves now.
    pub(crate) fn flags(&self) -> u16 {
        flags(self.marked)
    }

    /// A segment with these flags leaves. The option that goes with it, if there is room.
    pub(crate) fn report(&mut self) -> Option<EchoedBytes> {
        self.unreported = 0;
        self.news.then(|| self.counters())
    }

    /// The option has left.
    pub(crate) fn reported(&mut self) {
        self.news = false;
    }

    /// Every counter that has changed at some time (section 3.2.3.3).
    fn counters(&self) -> EchoedBytes {
        let [ect0, ce, ect1] = self.used;
        let reversed = ect1 && !ect0;
        let count = match (ect0 && ect1, ce) {
            (true, _) => 3,
            (false, true) => 2,
            (false, false) => 1,
        };
        self.ordered(reversed, count)
    }

    /// All counters, for the handshake (section 3.2.3.2.1).
    pub(crate) fn all(&self) -> EchoedBytes {
        self.ordered(false, 3)
    }

    fn ordered(&self, reversed: bool, count: u8) -> EchoedBytes {
        let mut counters = self.bytes;
        if reversed {
            counters.reverse();
        }
        let absent = counters.iter_mut().skip(usize::from(count));
        absent.for_each(|counter| *counter = 0);
        EchoedBytes { reversed, counters, count }
    }
}

/// What an acknowledgement says of marks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Echo {
    pub(crate) counter: u8,
    pub(crate) bytes: Option<EchoedBytes>,
    /// The peer's timestamp.
    pub(crate) stamp: Option<u32>,
}

/// What a peer has told of our segments: the counters of a sender (section 3.2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    /// s.cep, as far as it is told.
    marked: u8,
    /// s.ceb.
    bytes: u32,
    /// The peer's newest timestamp.
    stamp: Option<u32>,
    /// The last acknowledgement told of marks.
    was_marked: bool,
    /// Table 4, note 1: the peer's counters mean nothing.
    pub(crate) ignored: bool,
    /// Section 3.2.3.2.4: somebody sets its option to zero.
    zeroed: bool,
    /// Section 3.2.3.2.5: marked bytes without marked packets. Nothing of ours may be marked any more.
    pub(crate) mangled: bool,
}

impl Told {
    /// Before the peer has told anything.
    pub(crate) fn new() -> Told {
        Told {
            marked: FIRST,
            bytes: 0,
            stamp: None,
            was_marked: false,
            ignored: false,
            zeroed: false,
            mangled: false,
        }
    }

    /// The first acknowledgement of a connection that the peer has opened: what its flags mean by table 4.
    pub(crate) fn begin(&mut self, counter: u8) {
        match counter {
            0b000 => self.ignored = true,
            0b110 => self.marked = FIRST + 1,
            _ => {}
        }
    }

    /// What an acknowledgement newly says of marks; `None`: nothing. All segments that have arrived since the
    /// last one are among `covered`, if that is known. They have at most `payload` bytes.
    pub(crate) fn read(&mut self, echo: &Echo, covered: Option<u64>, payload: u64) -> Option<Marks> {
        let older = |stamp: u32| self.stamp.is_some_and(|known| (stamp.wrapping_sub(known) as i32) < 0);
        if self.ignored || echo.stamp.is_some_and(older) {
            return None; // superseded (appendix A.1)
        }
        let bytes = self.new_bytes(echo.bytes);
        if bytes.is_some_and(|bytes| bytes >= BYTES / 2) {
            return None; // superseded: the counter runs backwards
        }
        self.stamp = echo.stamp.or(self.stamp);
        let least = echo.counter.wrapping_sub(self.marked) % CYCLE;
        self.marked = echo.counter;
        let about = bytes.map(|bytes| {
            self.bytes = (self.bytes + bytes) % BYTES;
            u64::from(bytes).div_ceil(payload.max(1)) as u32
        });
        let cycled = covered.is_none_or(|covered| covered >= u64::from(CYCLE));
        self.mangled |= least == 0 && about.is_some_and(|about| about > 0) && !cycled;
        let runs = std::mem::replace(&mut self.was_marked, least > 0 || about.is_some_and(|about| about > 0));
        let any = self.was_marked || about.is_none() && runs;
        any.then_some(Marks { least, about, runs })
    }

    /// The bytes that were newly marked, if the option says so.
    fn new_bytes(&mut self, option: Option<EchoedBytes>) -> Option<u32> {
        let option = option?;
        self.zeroed |= option.count > 0 && option.counters[0] == 0;
        if self.zeroed || option.count == 0 {
            return None;
        }
        // A counter that is left out has not changed (section 3.2.3).
        let marked = option.marked().unwrap_or(self.bytes);
        Some(marked.wrapping_sub(self.bytes) % BYTES)
    }
}

/// True if somebody has changed the codepoint of a SYN, or of the answer to one: they leave without ECN
/// (section 3.2.2.3). What means nothing yet is no sign of it.
pub(crate) fn was_mangled(counter: u8) -> bool {
    matches!(counter, 0b011 | 0b100 | 0b110)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn flags_and_counters_are_those_of_the_tables() {
        // RFC 9768 table 2, (AE, CWR, ECE).
        assert_eq!(EcnFeedback::Accurate.request(), flag::AE | flag::CWR | flag::ECE);
        assert_eq!(EcnFeedback::Classic.request(), flag::CWR | flag::ECE);
        assert_eq!(arrived_with(Ecn::NotEct), flag::CWR);
        assert_eq!(arrived_with(Ecn::Ect1), flag::CWR | flag::ECE);
        assert_eq!(arrived_with(Ecn::Ect0), flag::AE);
        assert_eq!(arrived_with(Ecn::Ce), flag::AE | flag::CWR);
        let answers = [(0b000, 0), (0b001, 1), (0b010, 2), (0b101, 2), (0b110, 2), (0b111, 0)];
        let modes = [EcnFeedback::None, EcnFeedback::Classic, EcnFeedback::Accurate];
        for (answer, mode) in answers {
            assert_eq!(EcnFeedback::Accurate.confirmed(flags(answer)), modes[mode], "{answer:03b}");
        }
        assert_eq!(EcnFeedback::asked(flags(0b011)), EcnFeedback::Classic);
        assert_eq!(EcnFeedback::asked(flags(0b100)), EcnFeedback::Accurate); // section 3.1.3
        for value in 0..8 {
            assert_eq!(counter(flags(value)), value);
        }
    }

    #[test]
    fn the_first_mark_and_every_second_are_told_at_once() {
        let mut arrived = Arrived::default();
        assert!(!arrived.take(Ecn::Ect0, 1, 1000));
        assert!(arrived.take(Ecn::Ce, 1, 1000));
        arrived.report();
        assert!(!arrived.take(Ecn::Ce, 1, 1000));
        assert!(arrived.take(Ecn::Ce, 1, 1000));
        // Without data the third, and none because of a change.
        let mut arrived = Arrived::default();
        assert!(!arrived.take(Ecn::Ce, 1, 0) && !arrived.take(Ecn::Ce, 1, 0) && arrived.take(Ecn::Ce, 1, 0));
    }

    #[test]
    fn counters_that_never_changed_are_left_out() {
        // The examples of section 3.2.3.3.
        let mut arrived = Arrived::default();
        assert_eq!(arrived.report(), None);
        arrived.take(Ecn::Ect0, 1, 1000);
        assert_eq!(
            arrived.report().map(|it| (it.reversed, it.count, it.counters[0])),
            Some((false, 1, 1001))
        );
        arrived.take(Ecn::Ce, 2, 500);
        assert_eq!(arrived.report().map(|it| (it.count, it.marked())), Some((2, Some(500))));
        let mut arrived = Arrived::default();
        arrived.take(Ecn::Ect1, 1, 10);
        assert_eq!(arrived.report().map(|it| (it.reversed, it.counters)), Some((true, [11, 0, 0])));
    }

    #[test]
    fn zeros_and_bytes_without_packets_are_noticed() {
        let echo = |counter, counters, count| {
            let bytes = Some(EchoedBytes { reversed: false, counters, count });
            Echo { counter, bytes, stamp: None }
        };
        let mut told = Told::new();
        assert_eq!(told.read(&echo(5, [0, 0, 0], 3), Some(1), 1000), None);
        let marks = told.read(&echo(6, [0, 9000, 0], 3), Some(1), 1000).expect("a mark");
        assert_eq!((marks.least, marks.about), (1, None));
        let mut told = Told::new();
        told.read(&echo(5, [1000, 1000, 1], 3), None, 1000);
        assert!(!told.mangled, "the counter may have cycled");
        told.read(&echo(5, [1000, 2000, 1], 3), Some(2), 1000);
        assert!(told.mangled);
        let mut told = Told::new();
        told.begin(0b000);
        assert!(told.ignored);
        assert_eq!(told.read(&echo(7, [1, 2000, 1], 3), Some(2), 1000), None);
    }

    proptest! {
        /// However many marks there are, the sender learns their number where no acknowledgement is lost, and
        /// all of them with the next one where some are.
        #[test]
        fn every_mark_is_told(
            packets in proptest::collection::vec((any::<bool>(), any::<bool>()), 1..400),
            option: bool,
        ) {
            let (mut arrived, mut told) = (Arrived::default(), Told::new());
            let (mut marked, mut heard, mut since) = (0_u64, 0, 0);
            for (mark, lost) in packets {
                let ecn = if mark { Ecn::Ce } else { Ecn::Ect0 };
                arrived.take(ecn, 1, 1000);
                marked += u64::from(mark);
                since += 1;
                let echoed = arrived.report();
                arrived.reported();
                // Without the option, no more is lost than three bits can tell.
                if lost && (option || since < 7) {
                    continue;
                }
                let bytes = echoed.filter(|_| option);
                let echo = Echo { counter: counter(arrived.flags()), bytes, stamp: None };
                heard += told.read(&echo, Some(since), 1000).map_or(0, |marks| marks.of(since));
                prop_assert_eq!(heard, marked);
                since = 0;
            }
            prop_assert!(!told.mangled);
        }
    }
}
