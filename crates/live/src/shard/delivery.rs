//! Delivery to hosts: segments of one train that are due one after the other are written together, as an
//! Ethernet driver with GRO hands them up.

use super::Shard;
use crate::lanes::Parcel;
use crate::trains::Trains;
use ackclock_lateness::Lateness;
use ackclock_units::Time;
use ackclock_wire::Head;

/// Segments of one train that are delivered to a host together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Batch {
    train: u32,
    first: u16,
    count: u16,
    marked: bool,
}

impl Batch {
    fn of(parcel: &Parcel) -> Batch {
        Batch { train: parcel.train, first: parcel.segment, count: 1, marked: parcel.marked }
    }

    /// True if this packet continues it.
    fn continues(&self, parcel: &Parcel) -> bool {
        (self.train, self.marked) == (parcel.train, parcel.marked)
            && self.first + self.count == parcel.segment
    }
}

/// What a host gets next, and when each packet of it is due.
#[derive(Default)]
struct Door {
    batch: Option<Batch>,
    due: Vec<Time>,
}

/// The doors of all hosts. Each host has a device of its own. So two trains that take turns at a link stay
/// trains if they go to different hosts.
struct Doors {
    doors: Vec<Door>,
    /// The hosts that have a batch, in the order in which the batches began.
    open: Vec<usize>,
}

impl Doors {
    fn of(hosts: usize) -> Doors {
        Doors { doors: std::iter::repeat_with(Door::default).take(hosts).collect(), open: Vec::new() }
    }

    /// A packet is due at host `to`. It joins the host's batch if it continues it. Otherwise the batch is
    /// delivered, and a new one begins.
    fn add(&mut self, to: usize, at: Time, parcel: &Parcel, deliver: impl FnOnce(usize, Batch, &[Time])) {
        let Door { batch, due } = &mut self.doors[to];
        match batch {
            Some(batch) if batch.continues(parcel) => batch.count += 1,
            Some(batch) => {
                deliver(to, std::mem::replace(batch, Batch::of(parcel)), due);
                due.clear();
            }
            None => {
                *batch = Some(Batch::of(parcel));
                self.open.push(to);
            }
        }
        due.push(at);
    }

    /// Delivers all batches.
    fn empty(&mut self, mut deliver: impl FnMut(usize, Batch, &[Time])) {
        for to in self.open.drain(..) {
            let Door { batch, due } = &mut self.doors[to];
            if let Some(batch) = batch.take() {
                deliver(to, batch, due);
            }
            due.clear();
        }
    }
}

/// Hands packets over to hosts, and knows how late that was.
pub(super) struct Delivery {
    doors: Doors,
    tally: Tally,
}

#[derive(Default)]
struct Tally {
    head: Head,
    lateness: Lateness,
    /// Packets that the receiving kernel did not accept.
    refused: u64,
}

impl Delivery {
    /// Delivery to so many hosts.
    pub(super) fn to(hosts: usize) -> Delivery {
        Delivery { doors: Doors::of(hosts), tally: Tally::default() }
    }

    /// A packet is due at host `to`. It waits for those that continue its train until
    /// [`Delivery::hand_over`].
    pub(super) fn add(&mut self, to: usize, at: Time, parcel: Parcel, trains: &mut Trains, part: &Shard<'_>) {
        let Delivery { doors, tally } = self;
        doors.add(to, at, &parcel, |to, batch, due| tally.write(to, batch, due, trains, part));
    }

    /// Everything that waits is written to the devices of its hosts.
    pub(super) fn hand_over(&mut self, trains: &mut Trains, part: &Shard<'_>) {
        let Delivery { doors, tally } = self;
        doors.empty(|to, batch, due| tally.write(to, batch, due, trains, part));
    }

    /// How late packets were, and how many the receiving kernel did not accept.
    pub(super) fn outcome(self) -> (Lateness, u64) {
        (self.tally.lateness, self.tally.refused)
    }
}

impl Tally {
    /// Writes a batch, whose packets were due at these instants, to the device of its host.
    fn write(&mut self, to: usize, batch: Batch, due: &[Time], trains: &mut Trains, part: &Shard<'_>) {
        let now = part.clock.now();
        for &at in due {
            self.lateness.note(now.since(at));
        }
        if let Some(train) = trains.get(batch.train) {
            let rest = train.write(batch.first, batch.count, batch.marked, &mut self.head);
            if part.hosts[to].tun.write(&[self.head.bytes(), rest]).is_err() {
                self.refused += u64::from(batch.count);
            }
        }
        for _ in 0..batch.count {
            trains.release(batch.train);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_net::Ecn;
    use proptest::prelude::*;

    fn parcel(train: u32, segment: u16, marked: bool) -> Parcel {
        Parcel { train, segment, ecn: Ecn::NotEct, marked, bytes: 1500 }
    }

    /// What is delivered of these packets, and in which order: host, batch, and when its packets were due.
    fn delivered(hosts: usize, packets: &[(usize, u64, Parcel)]) -> Vec<(usize, Batch, Vec<u64>)> {
        let mut doors = Doors::of(hosts);
        let mut all = Vec::new();
        let mut note = |to: usize, batch: Batch, due: &[Time]| {
            all.push((to, batch, due.iter().map(|at| at.as_nanos()).collect()));
        };
        for (to, at, parcel) in packets {
            doors.add(*to, Time::from_nanos(*at), parcel, &mut note);
        }
        doors.empty(&mut note);
        doors.empty(|_, batch, _| panic!("{batch:?} is delivered twice"));
        all
    }

    #[test]
    fn trains_that_take_turns_stay_trains() {
        let turns = (0..40).map(|turn: u16| {
            let host = turn % 2;
            (host.into(), u64::from(turn), parcel(host.into(), turn / 2, false))
        });
        let batch = |train| Batch { train, first: 0, count: 20, marked: false };
        assert_eq!(
            delivered(2, &turns.collect::<Vec<_>>()),
            [
                (0, batch(0), (0..40).step_by(2).collect::<Vec<u64>>()),
                (1, batch(1), (1..40).step_by(2).collect()),
            ]
        );
    }

    #[test]
    fn a_gap_a_mark_or_another_train_ends_a_batch() {
        let packets = [(7, 0, false), (7, 1, false), (7, 3, false), (7, 4, true), (7, 5, true), (8, 6, true)];
        let packets = packets.map(|(train, segment, marked)| (0, 0, parcel(train, segment, marked)));
        let batches = delivered(1, &packets).into_iter().map(|(_, batch, _)| batch);
        let batch = |train, first, count, marked| Batch { train, first, count, marked };
        let expected =
            [batch(7, 0, 2, false), batch(7, 3, 1, false), batch(7, 4, 2, true), batch(8, 6, 1, true)];
        assert!(batches.eq(expected));
    }

    proptest! {
        #[test]
        fn each_host_gets_its_packets_once_and_in_order(
            packets in prop::collection::vec((0_usize..3, 0_u32..3, 0_u16..4, any::<bool>()), 0..60),
        ) {
            let packets: Vec<(usize, u64, Parcel)> = (0..)
                .zip(packets)
                .map(|(at, (to, train, segment, marked))| (to, at, parcel(train, segment, marked)))
                .collect();
            let delivered = delivered(3, &packets);
            for host in 0..3 {
                let mine = packets.iter().filter(|(to, ..)| *to == host);
                let expected = mine.map(|&(_, at, it)| (at, it.train, it.segment, it.marked));
                let got = delivered.iter().filter(|(to, ..)| *to == host).flat_map(|(_, batch, due)| {
                    assert_eq!(due.len(), usize::from(batch.count));
                    (batch.first..).zip(due).map(|(segment, &at)| (at, batch.train, segment, batch.marked))
                });
                prop_assert!(got.eq(expected));
            }
        }
    }
}
