//! Any datagrams to both ends of a session and to who waits for one, as they are, and sealed by a peer that
//! lies. Nothing panics, nobody without the ticket is answered, and no answer is longer than the hello.
#![no_main]

use ackclock_rate::Transport;
use ackclock_registry::Listed;
use ackclock_transfer::channel::Channel;
use ackclock_transfer::control::Terms;
use ackclock_transfer::handshake::{Dialer, Heard, Listener};
use ackclock_transfer::noise::Identity;
use ackclock_transfer::receiving::Incoming;
use ackclock_transfer::sending::Outgoing;
use ackclock_transfer::stream::{Discard, Extent, Zeros};
use ackclock_transfer::ticket::Ticket;
use ackclock_transfer::wire::{CONTROL, Envelope, Frame, Standing};
use ackclock_units::{Duration, Time};
use libfuzzer_sys::fuzz_target;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, Ordering};

/// The same bytes in every run would be best; that they differ changes no path.
fn entropy(bytes: &mut [u8]) {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    bytes.iter_mut().for_each(|byte| *byte = NEXT.fetch_add(1, Ordering::Relaxed));
}

fn address(port: u16) -> SocketAddr {
    ([127, 0, 0, 1], port).into()
}

/// Two ends that know each other.
fn session(terms: &Terms) -> (Channel, Channel) {
    let (sender, receiver) = (Identity::new(entropy), Identity::new(entropy));
    let ticket = Ticket::new(&receiver, entropy);
    let text = terms.to_text();
    let mut dialer =
        Dialer::new(Time::ZERO, address(2), &sender, &ticket, text.as_bytes(), entropy).expect("good keys");
    let mut listener = Listener::new(&receiver, &ticket, None, entropy);
    let (mut out, mut answer) = (Vec::new(), Vec::new());
    assert!(dialer.poll_transmit(Time::ZERO, &mut out));
    assert!(matches!(listener.on_datagram(Time::ZERO, address(1), &out, &mut answer), Heard::Answer));
    assert!(answer.len() <= out.len());
    let mut one = dialer.on_datagram(Time::ZERO, address(2), &answer).expect("the answer");
    out.clear();
    one.seal_control(Time::ZERO, &Frame::Ping(Standing::default()), &mut out);
    match listener.on_datagram(Time::ZERO, address(1), &out, &mut answer) {
        Heard::Session(welcomed) => (one, welcomed.channel),
        _ => panic!("it is the session"),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else { return };
    let transport = Transport::all()[usize::from(first) % Transport::all().len()];
    let terms = Terms { control: transport.for_networks(), bytes: 1228 };
    let (one, other) = session(&terms);
    let silence = Duration::from_secs(30);
    let mut outgoing = Outgoing::new(Time::ZERO, one, terms.clone(), 1e9, silence);
    let mut incoming = Incoming::new(Time::ZERO, other, &terms, silence);
    if first < 128 {
        outgoing.begin(Time::ZERO, Extent::Endless);
    } else {
        outgoing.probe(Time::ZERO, 9000);
    }
    let receiver = Identity::new(entropy);
    let mut listener = Listener::new(&receiver, &Ticket::new(&receiver, entropy), None, entropy);
    let (mut now, mut sink, mut source) = (Time::ZERO, Discard::default(), Zeros(Extent::Endless));
    // Each piece: what is done with it, its length, itself.
    let mut rest = rest;
    while let [what, length, more @ ..] = rest {
        let (piece, after) = more.split_at(usize::from(*length).min(more.len()));
        rest = after;
        now += Duration::from_micros(u64::from(*what) * 100);
        let mut out = Vec::new();
        assert!(!matches!(listener.on_datagram(now, address(1), piece, &mut out), Heard::Answer));
        let _ = Envelope::read(piece);
        match what % 6 {
            0 => outgoing.on_datagram(now, address(2), piece),
            1 => drop(incoming.on_datagram((now, now), address(1), piece, &mut sink, &mut out)),
            2 => {
                if let Some(frame) = Frame::read(piece, CONTROL, 100) {
                    incoming.channel.seal_control(now, &frame, &mut out);
                    outgoing.on_datagram(now, address(u16::from(*length)), &out);
                }
            }
            3 => {
                if let Some(frame) = Frame::read(piece, CONTROL, 100) {
                    let mut sealed = Vec::new();
                    outgoing.channel.seal_control(now, &frame, &mut sealed);
                    incoming.on_datagram((now, now), address(1), &sealed, &mut sink, &mut out);
                }
            }
            4 => {
                outgoing.on_timeout(now);
                incoming.on_timeout(now);
                if outgoing.poll_data(now, &mut source, &mut out).is_some() {
                    let mut ack = Vec::new();
                    if incoming.on_datagram((now, now), address(1), &out, &mut sink, &mut ack).is_some() {
                        outgoing.on_datagram(now, address(2), &ack);
                    }
                }
            }
            _ => {
                if outgoing.is_ready(now) {
                    outgoing.begin(now, Extent::Endless);
                }
                while incoming.poll_ack(now, &sink, &mut out).is_some() {}
                for _ in 0..64 {
                    let mut packet = Vec::new();
                    if outgoing.poll_control(now, &mut packet).is_none() {
                        break;
                    }
                    incoming.on_datagram((now, now), address(1), &packet, &mut sink, &mut out);
                }
                for _ in 0..64 {
                    let mut packet = Vec::new();
                    if incoming.poll_control(now, &sink, &mut packet).is_none() {
                        break;
                    }
                    outgoing.on_datagram(now, address(2), &packet);
                }
            }
        }
        assert!(outgoing.rate().is_finite() && outgoing.rate() >= 0.0);
    }
});
