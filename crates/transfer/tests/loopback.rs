//! Both hosts over loopback: what is sent arrives.

use ackclock_rate::Transport;
use ackclock_registry::Listed;
use ackclock_transfer::host::{
    ENTROPY, Guest, SILENCE, Sending, Stage, Summary, TransferError, Watch, receive, send,
};
use ackclock_transfer::noise::Identity;
use ackclock_transfer::stream::{Discard, Extent, Sink, Source, Stop, Zeros};
use ackclock_transfer::ticket::Ticket;
use std::net::UdpSocket;
use std::sync::{Arc, Mutex};

type Outcome = Result<Summary, TransferError>;

fn socket() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").expect("a socket")
}

/// A session over loopback. `act` runs meanwhile.
fn run(
    options: &Sending,
    source: &mut (dyn Source + Send),
    open: &mut (dyn FnMut(Guest) -> Box<dyn Sink> + Send),
    act: impl FnOnce(&Watch),
) -> (Outcome, Outcome, Watch, Watch) {
    let (sender, receiver) = (Identity::new(ENTROPY), Identity::new(ENTROPY));
    let ticket = Ticket::new(&receiver, ENTROPY);
    let (here, there) = (socket(), socket());
    let to = there.local_addr().expect("bound");
    let (out, back) = (Watch::default(), Watch::default());
    let (sent, received) = std::thread::scope(|scope| {
        let received = scope.spawn(|| receive(there, &receiver, &ticket, None, open, SILENCE, &back));
        let sent = scope.spawn(|| send(here, to, &sender, &ticket, source, options, &out));
        act(&out);
        (sent.join().expect("no panic"), received.join().expect("no panic"))
    });
    (sent, received, out, back)
}

/// Bytes that differ from place to place.
fn byte(offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

struct Pattern(u64);

impl Source for Pattern {
    fn extent(&self) -> Option<Extent> {
        Some(Extent::Bytes(self.0))
    }

    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), Stop> {
        (offset..).zip(into).for_each(|(at, place)| *place = byte(at));
        Ok(())
    }
}

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Sink for Kept {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        self.0.lock().expect("no panic").extend(bytes);
        Ok(())
    }

    fn room(&self) -> u64 {
        1 << 20
    }

    fn is_done(&self) -> bool {
        false
    }
}

#[test]
fn what_is_sent_arrives_with_every_transport() {
    for &transport in Transport::all() {
        let options = Sending { most: 1e8, ..Sending::with(transport.for_networks()) };
        for bytes in [0, 1, 100_003] {
            let kept = Kept::default();
            let mut open = |_| Box::new(kept.clone()) as Box<dyn Sink>;
            let (sent, received, out, _) = run(&options, &mut Pattern(bytes), &mut open, |_| {});
            let (sent, received) = (sent.expect("sent"), received.expect("received"));
            assert_eq!((sent.bytes, received.bytes), (bytes, bytes), "{transport:?}");
            assert_eq!(out.seen().stage, Stage::Over);
            let kept = kept.0.lock().expect("no panic");
            assert_eq!(kept.len() as u64, bytes);
            assert!((0..).zip(kept.iter()).all(|(at, &found)| found == byte(at)), "{transport:?}");
        }
    }
}

#[test]
fn a_flow_without_end_ends_when_it_is_told_to() {
    let options = Sending { most: 2e7, ..Sending::with(ackclock_transfer::control::standard()) };
    let mut open = |_| Box::new(Discard::default()) as Box<dyn Sink>;
    let (sent, received, out, back) = run(&options, &mut Zeros(Extent::Endless), &mut open, |watch| {
        while watch.seen().bytes < 1_000_000 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        watch.stop();
    });
    let (sent, received) = (sent.expect("it ends well"), received.expect("it ends well"));
    assert!(sent.bytes >= 1_000_000 && received.bytes >= sent.bytes);
    assert!(out.seen().rate > 0.0 && back.seen().packets > 0 && sent.counters.sent > 0);
    let rate = sent.bytes as f64 * 8.0 / sent.elapsed.as_secs_f64();
    assert!(rate < 2.1e7, "it keeps to the user's limit: {rate}");
}
