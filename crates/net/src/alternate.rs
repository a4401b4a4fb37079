//! Two routes of different length between the same nodes, and packets that are spread over both.
//!
//! Source: S. Bhandarkar, "Congestion Control Algorithms of TCP in Emerging Networks", 2006, section II.B.2.b: a
//! router sends packets alternately over two routes. Left open there: the routes' rates; here one transmitter
//! feeds both.

use crate::Share;
use ackclock_units::Duration;

/// Sends some of the packets the longer way.
#[derive(Clone, Debug)]
pub struct Alternate {
    longer: Duration,
    choice: Choice,
}

#[derive(Clone, Debug)]
enum Choice {
    /// Every second one: is it the next?
    InTurn(bool),
    /// At random.
    Share(Share),
}

impl Alternate {
    /// Every second packet goes the way that takes so much `longer`; the first one does not.
    pub fn in_turn(longer: Duration) -> Alternate {
        Alternate { longer, choice: Choice::InTurn(false) }
    }

    /// A random share goes the way that takes so much `longer`.
    pub fn at_random(longer: Duration, share: Share) -> Alternate {
        Alternate { longer, choice: Choice::Share(share) }
    }

    /// By how much longer the next packet is under way, if it goes the longer way.
    pub fn detour(&mut self) -> Option<Duration> {
        let longer_way = match &mut self.choice {
            Choice::InTurn(next) => std::mem::replace(next, !*next),
            Choice::Share(share) => share.takes(),
        };
        longer_way.then_some(self.longer)
    }
}
