//! What is observed of a run in phases. Parts run one after the other, and observers see a run in order of
//! time. So what they mind is noted, and told when no part can do anything before it any more.

use super::cause::Cause;
use super::layout::Leg;
use crate::engine::forwarding::on_the_way;
use crate::engine::observe::{Observer, PacketRef, SenderView};
use crate::engine::owners::Owners;
use crate::engine::packets::Kind;
use ackclock_net::{Fate, Link};
use ackclock_tcp::{Ack, Data, Sender};
use ackclock_units::{Duration, Time};

/// An instant, and what set off what happens then.
pub(crate) type When = (Time, Cause);

/// Where something is seen.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(super) when: When,
    pub(super) link: usize,
    /// True if it is on the first leg of a path.
    pub(super) first: bool,
}

/// Who is told of a run.
pub(crate) trait Watch {
    /// As [`Observer::at_link`].
    fn at_link(&mut self, place: Place, delay: Duration, packet: PacketRef<'_>, fate: Fate);

    /// As [`Observer::at_transmitter`].
    fn at_transmitter(&mut self, place: Place, now: Time, delay: Duration, packet: PacketRef<'_>, fate: Fate);

    /// As [`Observer::at_sender`].
    fn at_sender(&mut self, when: When, flow: u32, sender: &Sender);

    /// The cause of what an acknowledgement sets off that an endpoint takes at `now`. Who watches tells it
    /// from those that the endpoint took before at the same instant.
    fn cause_of_ack(&mut self, now: Time, cause: Cause) -> Cause;

    /// All parts have done everything before `until`.
    fn tell(&mut self, until: Time);
}

/// What becomes of a packet on a leg, for who watches.
#[inline(always)]
pub(super) fn seen<'a, P: Kind, W: Watch>(
    watch: &'a mut W,
    when: When,
    leg: &'a Leg,
    owners: &'a Owners,
) -> impl FnMut(u32, &Link, &P, Fate) + 'a {
    move |link, over, packet, fate| {
        let place = Place { when, link: link as usize, first: leg.first };
        watch.at_link(place, on_the_way(over, fate), packet.seen(leg.end.owner as usize, owners), fate);
    }
}

/// Nobody.
pub(crate) struct Unwatched;

impl Watch for Unwatched {
    #[inline(always)]
    fn at_link(&mut self, _: Place, _: Duration, _: PacketRef<'_>, _: Fate) {}

    #[inline(always)]
    fn at_transmitter(&mut self, _: Place, _: Time, _: Duration, _: PacketRef<'_>, _: Fate) {}

    #[inline(always)]
    fn at_sender(&mut self, _: When, _: u32, _: &Sender) {}

    #[inline(always)]
    fn cause_of_ack(&mut self, _: Time, cause: Cause) -> Cause {
        cause
    }

    #[inline(always)]
    fn tell(&mut self, _: Time) {}
}

/// An observer, and what it is not told yet.
pub(crate) struct Watched<'a> {
    observer: &'a mut dyn Observer,
    /// When each note is told, and its place in `notes`.
    turns: Vec<(Time, u64, u32)>,
    notes: Vec<Note>,
    /// Room for those that stay.
    spare: Vec<Note>,
    /// The last acknowledgement that an endpoint took, and how many it had taken before at the same instant.
    last_ack: (When, u32),
}

/// Something that is told later.
#[derive(Clone, Copy)]
enum Note {
    Link(u32, Duration, Noted, Fate),
    Transmitter(Time, u32, Duration, Noted, Fate),
    Sender(u32, SenderView),
}

/// A [`PacketRef`] that is kept.
#[derive(Clone, Copy)]
enum Noted {
    Data(u32, Data),
    Ack(u32, Ack),
    Datagram(u32, Data),
    Report(u32, Ack),
    CbrPacket(u32, Data),
}

impl Noted {
    fn of(packet: PacketRef<'_>) -> Noted {
        match packet {
            PacketRef::Data(owner, packet) => Noted::Data(owner, *packet),
            PacketRef::Ack(owner, packet) => Noted::Ack(owner, *packet),
            PacketRef::Datagram(owner, packet) => Noted::Datagram(owner, *packet),
            PacketRef::Report(owner, packet) => Noted::Report(owner, *packet),
            PacketRef::CbrPacket(owner, packet) => Noted::CbrPacket(owner, *packet),
        }
    }

    fn packet(&self) -> PacketRef<'_> {
        match self {
            Noted::Data(owner, packet) => PacketRef::Data(*owner, packet),
            Noted::Ack(owner, packet) => PacketRef::Ack(*owner, packet),
            Noted::Datagram(owner, packet) => PacketRef::Datagram(*owner, packet),
            Noted::Report(owner, packet) => PacketRef::Report(*owner, packet),
            Noted::CbrPacket(owner, packet) => PacketRef::CbrPacket(*owner, packet),
        }
    }
}

impl<'a> Watched<'a> {
    pub(crate) fn new(observer: &'a mut dyn Observer) -> Watched<'a> {
        Watched {
            observer,
            turns: Vec::new(),
            notes: Vec::new(),
            spare: Vec::new(),
            last_ack: ((Time::NEVER, Cause::ack(0)), 0),
        }
    }

    fn note(&mut self, (at, cause): When, rank: u64, note: Note) {
        let turn = u64::from(cause.number()) << 2 | rank;
        self.turns.push((at, turn, self.notes.len() as u32));
        self.notes.push(note);
    }
}

impl Place {
    /// A sender is seen after the links at which its packets enter the network. What else an acknowledgement
    /// set off at the same instant comes after that.
    fn rank(&self) -> u64 {
        if self.when.1.is_ack() && !self.first { AFTER_SENDER } else { 0 }
    }
}

/// Turns of what has the same cause.
const SENDER: u64 = 1;
const AFTER_SENDER: u64 = 2;

impl Watch for Watched<'_> {
    fn at_link(&mut self, place: Place, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        if self.observer.minds(place.link, packet) {
            let note = Note::Link(place.link as u32, delay, Noted::of(packet), fate);
            self.note(place.when, place.rank(), note);
        }
    }

    fn at_transmitter(
        &mut self,
        place: Place,
        now: Time,
        delay: Duration,
        packet: PacketRef<'_>,
        fate: Fate,
    ) {
        if self.observer.minds(place.link, packet) {
            let note = Note::Transmitter(now, place.link as u32, delay, Noted::of(packet), fate);
            self.note(place.when, place.rank(), note);
        }
    }

    fn at_sender(&mut self, when: When, flow: u32, sender: &Sender) {
        if self.observer.minds_sender(flow as usize) {
            self.note(when, SENDER, Note::Sender(flow, SenderView::of(sender)));
        }
    }

    fn cause_of_ack(&mut self, now: Time, cause: Cause) -> Cause {
        let ((last, of), before) = self.last_ack;
        let before = if (last, of) == (now, cause) { before + 1 } else { 0 };
        self.last_ack = ((now, cause), before);
        cause.after(before)
    }

    fn tell(&mut self, until: Time) {
        // Mostly runs that are in order. What has the same turn stays in the order in which it was noted.
        self.turns.sort();
        let told = self.turns.partition_point(|&(at, ..)| at < until);
        for &(at, _, place) in &self.turns[..told] {
            match &self.notes[place as usize] {
                Note::Link(link, delay, noted, fate) => {
                    self.observer.at_link(*link as usize, *delay, noted.packet(), *fate);
                }
                Note::Transmitter(now, link, delay, noted, fate) => {
                    self.observer.at_transmitter(*now, *link as usize, *delay, noted.packet(), *fate);
                }
                Note::Sender(flow, sender) => self.observer.at_sender(at, *flow as usize, sender),
            }
        }
        self.turns.drain(..told);
        self.spare.clear();
        for (place, (.., old)) in self.turns.iter_mut().enumerate() {
            self.spare.push(self.notes[*old as usize]);
            *old = place as u32;
        }
        std::mem::swap(&mut self.notes, &mut self.spare);
    }
}
