//! Delivery to hosts: segments of one train that are due one after the other are written together, as an
//! Ethernet driver with GRO hands them up.

use super::Shard;
use crate::lanes::Parcel;
use crate::trains::Trains;
use ackclock_lateness::Lateness;
use ackclock_units::Time;
use ackclock_wire::Head;

/// Segments of one train that are delivered to a host together.
struct Batch {
    to: usize,
    train: u32,
    first: u16,
    count: u16,
    marked: bool,
}

/// What is delivered together, and how late it is.
#[derive(Default)]
pub(super) struct Delivery {
    batch: Option<Batch>,
    /// When each packet of the batch is due.
    due: Vec<Time>,
    head: Head,
    pub(super) lateness: Lateness,
    /// Packets that the receiving kernel did not accept.
    pub(super) refused: u64,
}

impl Delivery {
    /// A packet is due at host `to`. It joins the batch if it continues it. Otherwise it starts a new one.
    pub(super) fn add(&mut self, to: usize, at: Time, parcel: Parcel, trains: &mut Trains, part: &Shard<'_>) {
        let follows = |batch: &Batch| {
            (batch.to, batch.train, batch.marked) == (to, parcel.train, parcel.marked)
                && batch.first + batch.count == parcel.segment
        };
        match &mut self.batch {
            Some(batch) if follows(batch) => batch.count += 1,
            _ => {
                self.hand_over(trains, part);
                let (train, first, marked) = (parcel.train, parcel.segment, parcel.marked);
                self.batch = Some(Batch { to, train, first, count: 1, marked });
            }
        }
        self.due.push(at);
    }

    /// Delivers the batch to its host.
    pub(super) fn hand_over(&mut self, trains: &mut Trains, part: &Shard<'_>) {
        let Some(batch) = self.batch.take() else { return };
        let now = part.clock.now();
        for at in self.due.drain(..) {
            self.lateness.note(now.since(at));
        }
        if let Some(train) = trains.get(batch.train) {
            let rest = train.write(batch.first, batch.count, batch.marked, &mut self.head);
            if part.hosts[batch.to].tun.write(&[self.head.bytes(), rest]).is_err() {
                self.refused += u64::from(batch.count);
            }
        }
        for _ in 0..batch.count {
            trains.release(batch.train);
        }
    }
}
