//! Two routes of different length between the same two nodes. Packets are spread over both.
//!
//! Source: S. Bhandarkar, "Congestion Control Algorithms of TCP in Emerging Networks", 2006, section
//! II.B.2.b: a router sends packets alternately over two routes. The source leaves the rates of the routes
//! open. Here one transmitter feeds both routes.

use crate::Share;
use ackclock_units::Duration;

/// Sends some of the packets over the longer route.
#[derive(Clone, Debug)]
pub struct Multipath {
    longer: Duration,
    choice: Choice,
}

#[derive(Clone, Debug)]
enum Choice {
    /// Every second packet takes the longer route. True if the next packet does.
    InTurn(bool),
    /// A random share of the packets takes the longer route.
    Share(Share),
}

impl Multipath {
    /// Every second packet takes a route that is `longer` by this delay. The first packet takes the short
    /// route.
    pub fn in_turn(longer: Duration) -> Multipath {
        Multipath { longer, choice: Choice::InTurn(false) }
    }

    /// A random share of the packets takes a route that is `longer` by this delay.
    pub fn at_random(longer: Duration, share: Share) -> Multipath {
        Multipath { longer, choice: Choice::Share(share) }
    }

    /// The additional delay of the next packet, if it takes the longer route.
    pub fn detour(&mut self) -> Option<Duration> {
        let longer_way = match &mut self.choice {
            Choice::InTurn(next) => std::mem::replace(next, !*next),
            Choice::Share(share) => share.takes(),
        };
        longer_way.then_some(self.longer)
    }
}
