//! Reliability apart from rate control: packet numbers find losses, datum numbers name what is repaired.
//!
//! Source: S. Gaonkar, M.S. thesis, University of Illinois, 2003, section 3.4 and Figure 3.4.
//!
//! What differs: the source takes every packet that overtakes another for a loss. Here a packet is lost once
//! it is unreported and `reorder` numbers below the highest echo; 0 is the source. Acknowledgements that are
//! overtaken never undo what later ones told.

use crate::packet::Ack;
use std::collections::VecDeque;
use std::fmt;

/// How far ahead of the data in order a datum may be. No window is longer.
pub const MAX_AHEAD: u64 = 1 << 16;

/// How far ahead of the highest packet a packet number may be: more than any outage can swallow (a minute at
/// 100 Gbit/s), and far from where numbers end.
pub const MAX_LEAP: u64 = 1 << 32;

/// An acknowledgement names a packet or a datum that was never sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NeverSent;

impl fmt::Display for NeverSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the acknowledgement is of what was never sent: close the connection")
    }
}

impl std::error::Error for NeverSent {}

/// What an acknowledgement changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Packets newly reported as arrived.
    pub reported: u64,
    /// Data newly known to have arrived in order.
    pub delivered: u64,
    /// Packets newly found lost, whose data wait for retransmission.
    pub lost: u64,
}

/// What a sender has sent, and what became of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sent {
    /// Packets.
    pub sent: u64,
    /// Packets whose datum had been sent before.
    pub retransmitted: u64,
    /// Packets found lost, whose data were sent again or wait for it.
    pub lost: u64,
    /// Data acknowledged in order.
    pub acknowledged: u64,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    datum: u64,
    reported: bool,
}

#[derive(Clone, Copy, Debug)]
struct Datum {
    /// The number of its last transmission.
    number: u64,
    arrived: bool,
}

/// The sending half.
#[derive(Clone, Debug)]
pub struct Outbox {
    reorder: u64,
    /// Data to send in all; `None` for no end.
    total: Option<u64>,
    /// The last datum that may leave.
    limit: u64,
    /// Transmissions not decided yet; the first has the number `first_flight`.
    flights: VecDeque<Flight>,
    first_flight: u64,
    /// Data sent and not acknowledged in order; the first is `first_datum`.
    data: VecDeque<Datum>,
    first_datum: u64,
    /// Data to send again, in the order in which their losses were found.
    again: VecDeque<u64>,
    highest_echo: u64,
    retransmitted: u64,
    lost: u64,
}

impl Outbox {
    /// An outbox of `total` data, or of data without end.
    pub fn new(reorder: u64, total: Option<u64>) -> Outbox {
        Outbox {
            reorder,
            total,
            limit: u64::MAX,
            flights: VecDeque::new(),
            first_flight: 1,
            data: VecDeque::new(),
            first_datum: 1,
            again: VecDeque::new(),
            highest_echo: 0,
            retransmitted: 0,
            lost: 0,
        }
    }

    /// No datum after `last` leaves for the first time. It never falls, so what has been promised stays.
    pub fn allow(&mut self, last: u64) {
        self.limit = if self.limit == u64::MAX { last } else { self.limit.max(last) };
    }

    /// The number of the next transmission.
    pub fn next_number(&self) -> u64 {
        self.first_flight + self.flights.len() as u64
    }

    /// The datum to send next: one to repair, else a new one inside `window` data from the oldest.
    pub fn next(&self, window: u64) -> Option<u64> {
        if let Some(&datum) = self.again.front() {
            return Some(datum);
        }
        let next = self.first_datum + self.data.len() as u64;
        let inside = (self.data.len() as u64) < window.min(MAX_AHEAD);
        (inside && next <= self.limit && self.total.is_none_or(|total| next <= total)).then_some(next)
    }

    /// The oldest datum that was sent and is not acknowledged in order.
    pub fn oldest(&self) -> Option<u64> {
        (!self.data.is_empty()).then_some(self.first_datum)
    }

    /// True if `datum` is the last one.
    pub fn is_last(&self, datum: u64) -> bool {
        self.total == Some(datum)
    }

    /// True if all data are acknowledged.
    pub fn is_done(&self) -> bool {
        self.total.is_some_and(|total| self.first_datum > total)
    }

    /// Data acknowledged in order.
    pub fn delivered(&self) -> u64 {
        self.first_datum - 1
    }

    /// What was sent, and what became of it.
    pub fn sent(&self) -> Sent {
        Sent {
            sent: self.next_number() - 1,
            retransmitted: self.retransmitted,
            lost: self.lost,
            acknowledged: self.delivered(),
        }
    }

    /// `datum`, which [`Outbox::next`] or [`Outbox::oldest`] named, leaves now. Returns the packet's number.
    pub fn send(&mut self, datum: u64) -> u64 {
        let number = self.next_number();
        self.flights.push_back(Flight { datum, reported: false });
        if self.again.front() == Some(&datum) {
            self.again.pop_front();
            self.skip_arrived(); // what stood behind it may be there by now
        }
        match self.at(datum) {
            Some(at) => {
                self.data[at].number = number;
                self.retransmitted += 1;
            }
            None => self.data.push_back(Datum { number, arrived: false }),
        }
        number
    }

    /// Processes an acknowledgement.
    ///
    /// # Errors
    ///
    /// [`NeverSent`] if it names a packet or a datum that was never sent. Nothing has changed then.
    pub fn on_ack(&mut self, ack: &Ack) -> Result<Progress, NeverSent> {
        let sent = self.first_datum + self.data.len() as u64 - 1;
        if ack.echo >= self.next_number() || ack.cumulative > sent {
            return Err(NeverSent);
        }
        let mut progress = Progress::default();
        self.report(ack.echo, &mut progress);
        // Flights below the first one are decided.
        let open = ack.echo.saturating_sub(self.first_flight);
        let mut bits = ack.sack & shift(1, u128::checked_shl, open).wrapping_sub(1);
        while bits != 0 {
            let below = u64::from(bits.trailing_zeros()) + 1;
            self.report(ack.echo.saturating_sub(below), &mut progress);
            bits &= bits - 1;
        }
        while self.first_datum <= ack.cumulative {
            self.data.pop_front();
            self.first_datum += 1;
            progress.delivered += 1;
        }
        self.highest_echo = self.highest_echo.max(ack.echo);
        self.find_losses(&mut progress);
        self.lost += progress.lost;
        self.skip_arrived();
        Ok(progress)
    }

    fn report(&mut self, number: u64, progress: &mut Progress) {
        let Some(at) = number.checked_sub(self.first_flight) else { return };
        let Some(flight) = usize::try_from(at).ok().and_then(|at| self.flights.get_mut(at)) else { return };
        if !flight.reported {
            flight.reported = true;
            progress.reported += 1;
            let datum = flight.datum;
            if let Some(at) = self.at(datum) {
                self.data[at].arrived = true;
            }
        }
    }

    /// Decides flights that are reported, or low enough to be lost.
    fn find_losses(&mut self, progress: &mut Progress) {
        while let Some(&flight) = self.flights.front() {
            let number = self.first_flight;
            if !flight.reported && number + self.reorder > self.highest_echo {
                break;
            }
            self.flights.pop_front();
            self.first_flight += 1;
            if flight.reported {
                continue;
            }
            // A datum that was sent again since then has a flight of its own.
            if let Some(at) = self.at(flight.datum)
                && !self.data[at].arrived
                && self.data[at].number == number
            {
                self.again.push_back(flight.datum);
                progress.lost += 1;
            }
        }
    }

    /// What arrived after all is not sent again.
    fn skip_arrived(&mut self) {
        while let Some(&datum) = self.again.front() {
            if self.at(datum).is_some_and(|at| !self.data[at].arrived) {
                break;
            }
            self.again.pop_front();
        }
    }

    fn at(&self, datum: u64) -> Option<usize> {
        let at = usize::try_from(datum.checked_sub(self.first_datum)?).ok()?;
        (at < self.data.len()).then_some(at)
    }
}

/// What a packet is to the receiving half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Accepted {
    /// Its number has not been seen before.
    pub fresh: bool,
    /// Its datum has not been seen before.
    pub useful: bool,
    /// Its number follows that of the highest packet.
    pub consecutive: bool,
    /// Numbers between the highest packet and this one: (first, count).
    pub missing: (u64, u64),
}

/// The receiving half.
#[derive(Clone, Debug, Default)]
pub struct Inbox {
    /// Data delivered in order.
    delivered: u64,
    /// Whether datum `delivered + 1 + i` is held.
    held: VecDeque<bool>,
    /// The highest packet number that has arrived; 0 for none.
    highest: u64,
    /// Bit i: packet number `highest - 1 - i` has arrived.
    recent: u128,
}

impl Inbox {
    /// A packet arrived. `None` if its number or its datum is too far ahead to be accepted, or 0.
    pub fn on_packet(&mut self, number: u64, datum: u64) -> Option<Accepted> {
        let ahead = |value: u64, of: u64, most: u64| value > of.saturating_add(most);
        if number == 0 || datum == 0 {
            return None;
        }
        if ahead(number, self.highest, MAX_LEAP) || ahead(datum, self.delivered, MAX_AHEAD) {
            return None;
        }
        let (first, ahead) = (self.highest.saturating_add(1), number > self.highest);
        let missing = if ahead { (first, number - first) } else { (first, 0) };
        let consecutive = ahead && number == first;
        Some(Accepted { fresh: self.note(number), useful: self.take(datum), consecutive, missing })
    }

    /// The highest packet number that has arrived; 0 for none.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// Data delivered in order.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The bitmap of packet numbers below `echo`, which has arrived.
    pub fn sack(&self, echo: u64) -> u128 {
        shift(self.recent, u128::checked_shr, self.highest - echo.min(self.highest))
    }

    fn note(&mut self, number: u64) -> bool {
        if number == self.highest + 1 && self.highest > 0 {
            (self.recent, self.highest) = (self.recent << 1 | 1, number);
            return true;
        }
        if number > self.highest {
            let ahead = number - self.highest;
            self.recent = shift(self.recent, u128::checked_shl, ahead);
            if self.highest > 0 {
                self.recent |= shift(1, u128::checked_shl, ahead - 1);
            }
            self.highest = number;
            return true;
        }
        let Some(below) = (self.highest - number).checked_sub(1) else { return false };
        let bit = shift(1, u128::checked_shl, below); // 0 for what is too old to be told from a duplicate
        let fresh = bit & !self.recent != 0;
        self.recent |= bit;
        fresh
    }

    fn take(&mut self, datum: u64) -> bool {
        let Some(at) = datum.checked_sub(self.delivered + 1) else { return false };
        if at == 0 && self.held.is_empty() {
            self.delivered += 1;
            return true;
        }
        let at = at as usize; // at most MAX_AHEAD
        if self.held.len() <= at {
            self.held.resize(at + 1, false);
        }
        if std::mem::replace(&mut self.held[at], true) {
            return false;
        }
        while self.held.front() == Some(&true) {
            self.held.pop_front();
            self.delivered += 1;
        }
        true
    }
}

fn shift(bits: u128, by: fn(u128, u32) -> Option<u128>, places: u64) -> u128 {
    u32::try_from(places).ok().and_then(|places| by(bits, places)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(echo: u64, cumulative: u64, sack: u128) -> Ack {
        Ack { echo, cumulative, sack, ..Ack::default() }
    }

    /// An outbox that has sent `data` data.
    fn sent(reorder: u64, data: u64) -> Outbox {
        let mut outbox = Outbox::new(reorder, None);
        for _ in 0..data {
            let datum = outbox.next(100).expect("the window is open");
            outbox.send(datum);
        }
        outbox
    }

    #[test]
    fn what_arrived_while_another_datum_waited_is_not_sent_again() {
        let mut outbox = Outbox::new(0, Some(5));
        let send = |outbox: &mut Outbox| outbox.next(5).map(|datum| (outbox.send(datum), datum));
        for number in 1..=5 {
            assert_eq!(send(&mut outbox), Some((number, number)));
        }
        let ack = |echo, cumulative| Ack { echo, cumulative, ..Ack::default() };
        outbox.on_ack(&ack(2, 0)).expect("it was sent"); // 1 is lost
        assert_eq!(send(&mut outbox), Some((6, 1)));
        outbox.on_ack(&ack(5, 0)).expect("it was sent"); // 3 and 4 are lost
        assert_eq!(send(&mut outbox), Some((7, 3)));
        outbox.on_ack(&ack(7, 0)).expect("it was sent"); // 1 is lost again, and waits behind 4
        outbox.on_ack(&ack(1, 3)).expect("it was sent"); // its first packet was only late
        assert_eq!(send(&mut outbox), Some((8, 4)));
        assert_eq!(send(&mut outbox), None);
        outbox.on_ack(&ack(8, 5)).expect("it was sent");
        assert!(outbox.is_done());
    }

    #[test]
    fn what_is_at_or_below_the_echo_and_unreported_is_lost() {
        let mut outbox = sent(0, 5);
        let progress = outbox.on_ack(&ack(4, 1, 0b100)).expect("it was sent"); // 4 and 1 arrived
        assert_eq!(progress, Progress { reported: 2, delivered: 1, lost: 2 });
        assert_eq!((outbox.next(100), outbox.send(2)), (Some(2), 6));
        assert_eq!((outbox.next(100), outbox.send(3)), (Some(3), 7));
        assert_eq!(outbox.next(100), Some(6));
        assert_eq!(outbox.sent(), Sent { sent: 7, retransmitted: 2, lost: 2, acknowledged: 1 });
    }

    #[test]
    fn reordering_is_tolerated_up_to_a_number_of_packets() {
        let mut outbox = sent(3, 6);
        assert_eq!(outbox.on_ack(&ack(4, 0, 0b11)).expect("sent").lost, 1); // 1; 2 and 3 arrived
        assert_eq!(outbox.on_ack(&ack(6, 0, 0)).expect("sent").lost, 0);
        let mut outbox = sent(3, 4);
        assert_eq!(outbox.on_ack(&ack(3, 0, 0b10)).expect("sent").lost, 0); // 2 is only one below
    }

    #[test]
    fn a_lost_acknowledgement_is_made_up_for_by_the_bitmap() {
        let mut outbox = sent(0, 3);
        assert_eq!(outbox.on_ack(&ack(3, 3, 0b11)).expect("sent").lost, 0);
        assert_eq!((outbox.oldest(), outbox.delivered()), (None, 3));
    }

    #[test]
    fn an_acknowledgement_of_what_was_never_sent_is_refused() {
        let mut outbox = sent(0, 3);
        assert_eq!(outbox.on_ack(&ack(4, 0, 0)), Err(NeverSent));
        assert_eq!(outbox.on_ack(&ack(3, 4, 0)), Err(NeverSent));
    }

    #[test]
    fn the_window_counts_from_the_oldest_datum() {
        let mut outbox = sent(0, 4);
        assert_eq!((outbox.next(4), outbox.next(5)), (None, Some(5)));
        outbox.on_ack(&ack(1, 1, 0)).expect("sent");
        assert_eq!(outbox.next(4), Some(5));
    }

    #[test]
    fn what_the_receiver_has_no_room_for_waits() {
        let mut outbox = Outbox::new(0, Some(5));
        outbox.allow(2);
        for _ in 0..2 {
            let datum = outbox.next(100).expect("it is allowed");
            outbox.send(datum);
        }
        assert_eq!(outbox.next(100), None);
        outbox.on_ack(&ack(2, 0, 0)).expect("sent"); // 1 is lost: repairs are not held back
        assert_eq!(outbox.next(100), Some(1));
        outbox.send(1);
        outbox.allow(1); // an overtaken promise
        outbox.allow(3);
        assert_eq!((outbox.next(100), outbox.send(3), outbox.next(100)), (Some(3), 4, None));
    }

    #[test]
    fn an_inbox_knows_what_is_new() {
        let mut inbox = Inbox::default();
        let of = |fresh, useful, consecutive, missing| Some(Accepted { fresh, useful, consecutive, missing });
        assert_eq!(inbox.on_packet(1, 1), of(true, true, true, (1, 0)));
        assert_eq!(inbox.on_packet(4, 4), of(true, true, false, (2, 2)));
        assert_eq!((inbox.sack(4), inbox.delivered()), (0b100, 1));
        assert_eq!(inbox.on_packet(4, 4), of(false, false, false, (5, 0)));
        assert_eq!(inbox.on_packet(2, 2), of(true, true, false, (5, 0)));
        assert_eq!(inbox.on_packet(5, 3), of(true, true, true, (5, 0)));
        assert_eq!((inbox.delivered(), inbox.sack(5), inbox.sack(2)), (4, 0b1101, 0b1));
        assert_eq!(inbox.on_packet(6, 5 + MAX_AHEAD), None);
        assert_eq!(inbox.on_packet(1000, 6), of(true, true, false, (6, 994)));
        assert_eq!(inbox.sack(1000), 0);
    }
}
