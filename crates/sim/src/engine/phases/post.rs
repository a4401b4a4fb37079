//! What is on its way to the flows' senders, and when each of them has something to do.

use super::agenda::Agenda;
use super::mail::Mail;
use crate::engine::packets::{Acknowledgement, Segment};
use ackclock_units::Time;
use std::ops::Range;

/// The mail of one flow.
#[derive(Default)]
pub(super) struct Mailbox {
    pub(super) acks: Mail<Acknowledgement>,
    /// Segments for a receiver that takes turns with its sender.
    pub(super) data: Mail<Segment>,
}

/// The mail of all flows.
pub(super) struct Post {
    pub(super) boxes: Vec<Mailbox>,
    /// When each flow has something to do as a sender.
    pub(super) agenda: Agenda,
}

impl Post {
    /// So many flows without mail, and when they have something to do.
    pub(super) fn new(flows: usize, due: Time) -> Post {
        Post { boxes: (0..flows).map(|_| Mailbox::default()).collect(), agenda: Agenda::new(flows, due) }
    }

    /// Takes the mail of these flows from another post that has collected it, in exchange for what is there:
    /// empty boxes.
    pub(super) fn swap(&mut self, other: &mut Post, flows: Range<usize>) {
        if flows.len() == self.boxes.len() {
            return std::mem::swap(self, other);
        }
        let mut from = flows.start;
        while let Some(flow) = other.agenda.from(from, Time::NEVER).filter(|flow| flows.contains(flow)) {
            std::mem::swap(&mut self.boxes[flow], &mut other.boxes[flow]);
            self.agenda.set(flow, other.agenda.of(flow));
            other.agenda.set(flow, Time::NEVER);
            from = flow + 1;
        }
    }

    /// Adds all of another post behind what is here, and empties it.
    pub(super) fn append(&mut self, later: &mut Post) {
        let mut from = 0;
        while let Some(flow) = later.agenda.from(from, Time::NEVER) {
            let (here, there) = (&mut self.boxes[flow], &mut later.boxes[flow]);
            here.acks.append(&mut there.acks);
            here.data.append(&mut there.data);
            self.agenda.sooner(flow, later.agenda.of(flow));
            later.agenda.set(flow, Time::NEVER);
            from = flow + 1;
        }
    }
}
