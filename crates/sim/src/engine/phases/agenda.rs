//! When each flow has something to do. Most of many flows have nothing to do in most rounds, so they are
//! looked at in blocks.

use ackclock_units::Time;

/// Flows in a block.
const BLOCK: usize = 64;

/// The next instant of each flow.
pub(super) struct Agenda {
    due: Vec<Time>,
    /// Nothing in a block is due before this. It may be too early.
    blocks: Vec<Time>,
}

impl Agenda {
    /// So many flows, all due at `due`.
    pub(super) fn new(flows: usize, due: Time) -> Agenda {
        Agenda { due: vec![due; flows], blocks: vec![due; flows.div_ceil(BLOCK)] }
    }

    /// When a flow is due.
    pub(super) fn of(&self, flow: usize) -> Time {
        self.due[flow]
    }

    /// A flow is due at `due` at the latest.
    #[inline]
    pub(super) fn sooner(&mut self, flow: usize, due: Time) {
        self.due[flow] = self.due[flow].min(due);
        self.blocks[flow / BLOCK] = self.blocks[flow / BLOCK].min(due);
    }

    /// A flow is due at `due`, and not before.
    #[inline]
    pub(super) fn set(&mut self, flow: usize, due: Time) {
        self.due[flow] = due;
        self.blocks[flow / BLOCK] = self.blocks[flow / BLOCK].min(due);
    }

    /// No flow is due before this. It may be too early, by what [`Agenda::from`] has not looked at.
    pub(super) fn due(&self) -> Time {
        self.blocks.iter().copied().fold(Time::NEVER, Time::min)
    }

    /// The first flow from this number on that is due before `until`.
    pub(super) fn from(&mut self, flow: usize, until: Time) -> Option<usize> {
        let mut flow = flow;
        while flow < self.due.len() {
            let block = flow / BLOCK;
            let end = ((block + 1) * BLOCK).min(self.due.len());
            if self.blocks[block] < until {
                let found = self.due[flow..end].iter().position(|&due| due < until);
                if let Some(place) = found {
                    return Some(flow + place);
                }
                self.blocks[block] =
                    self.due[block * BLOCK..end].iter().copied().fold(Time::NEVER, Time::min);
            }
            flow = end;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_list(
            flows in 1_usize..200,
            steps in prop::collection::vec((0_usize..200, 0_u64..100, 0_u8..3), 1..200),
        ) {
            let mut agenda = Agenda::new(flows, Time::ZERO);
            let mut list = vec![0; flows];
            for (flow, due, step) in steps {
                let flow = flow % flows;
                match step {
                    0 => {
                        agenda.set(flow, Time::from_nanos(due));
                        list[flow] = due;
                    }
                    1 => {
                        prop_assert!(agenda.due().as_nanos() <= list.iter().copied().min().unwrap_or(0));
                        agenda.sooner(flow, Time::from_nanos(due));
                        list[flow] = list[flow].min(due);
                    }
                    _ => {
                        let first = (flow..flows).find(|&flow| list[flow] < due);
                        prop_assert_eq!(agenda.from(flow, Time::from_nanos(due)), first);
                    }
                }
            }
        }
    }
}
