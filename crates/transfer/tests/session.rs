//! Sessions before a network and a peer that do anything: nobody without the ticket is answered, nothing
//! counts twice, and what is not authentic changes nothing.

use ackclock_rate::packet::{Ack, Report};
use ackclock_rate::xrtp::TRANSPORT;
use ackclock_transfer::channel::{Channel, Renewal, Why};
use ackclock_transfer::control::Terms;
use ackclock_transfer::handshake::{Dialer, Heard, Listener};
use ackclock_transfer::host::{ENTROPY, PACKET_BYTES};
use ackclock_transfer::noise::Identity;
use ackclock_transfer::receiving::Incoming;
use ackclock_transfer::sending::{End, Outgoing};
use ackclock_transfer::stream::{Discard, Extent, Zeros};
use ackclock_transfer::ticket::Ticket;
use ackclock_transfer::wire::{Envelope, Frame, HELLO_BYTES, Standing};
use ackclock_units::{Duration, Time};
use std::net::SocketAddr;

const SILENCE: Duration = Duration::from_secs(30);
const RTT: Duration = Duration::from_millis(20);

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn address(port: u16) -> SocketAddr {
    ([127, 0, 0, 1], port).into()
}

/// Of the sender, and of the receiver.
const PORTS: (u16, u16) = (1, 2);

struct Ends {
    sender: Identity,
    receiver: Identity,
    ticket: Ticket,
}

impl Ends {
    fn new() -> Ends {
        let (sender, receiver) = (Identity::new(ENTROPY), Identity::new(ENTROPY));
        Ends { ticket: Ticket::new(&receiver, ENTROPY), sender, receiver }
    }

    fn dialer(&self, ticket: &Ticket) -> Dialer {
        let terms = Terms { control: TRANSPORT.for_networks(), bytes: PACKET_BYTES }.to_text();
        let to = address(PORTS.1);
        Dialer::new(at(0), to, &self.sender, ticket, terms.as_bytes(), ENTROPY).expect("good keys")
    }

    fn listener(&self) -> Listener {
        Listener::new(&self.receiver, &self.ticket, None, ENTROPY)
    }
}

fn hello(dialer: &mut Dialer, now: Time) -> Vec<u8> {
    let mut out = Vec::new();
    assert!(dialer.poll_transmit(now, &mut out), "a hello is due");
    out
}

/// What a listener does with a datagram: the answer, or a session.
fn hear(listener: &mut Listener, datagram: &[u8]) -> (Option<Vec<u8>>, Option<Channel>) {
    let mut out = Vec::new();
    match listener.on_datagram(at(10), address(PORTS.0), datagram, &mut out) {
        Heard::Nothing => (None, None),
        Heard::Answer => (Some(out), None),
        Heard::Session(welcomed) => (None, Some(welcomed.channel)),
    }
}

/// Two ends of a session; the first packet of the sender is under way to nobody.
fn session() -> (Channel, Channel) {
    let ends = Ends::new();
    let (mut dialer, mut listener) = (ends.dialer(&ends.ticket), ends.listener());
    let (answer, _) = hear(&mut listener, &hello(&mut dialer, at(0)));
    let answer = answer.expect("the ticket is right");
    let mut sender = dialer.on_datagram(at(20), address(PORTS.1), &answer).expect("it is the answer");
    assert_eq!(sender.handshake(), RTT);
    let mut first = Vec::new();
    sender.seal_control(at(20), &Frame::Ping(Standing::default()), &mut first);
    let (_, receiver) = hear(&mut listener, &first);
    (sender, receiver.expect("a session"))
}

/// Gives a packet to a channel. True if there was a frame for its user.
fn give(channel: &mut Channel, now: Time, from: u16, datagram: &[u8]) -> bool {
    channel.on_datagram(now, address(from), datagram, &mut Vec::new()).is_some()
}

/// All packets of the session itself, with their ports.
fn packets(channel: &mut Channel, now: Time) -> Vec<(u16, Vec<u8>)> {
    let mut all = Vec::new();
    loop {
        let mut out = Vec::new();
        match channel.poll_control(now, RTT, Standing::default(), &mut out) {
            Some(to) => all.push((to.port(), out)),
            None => return all,
        }
    }
}

fn ping(channel: &mut Channel, now: Time) -> Vec<u8> {
    let mut out = Vec::new();
    channel.seal_control(now, &Frame::Ping(Standing::default()), &mut out);
    out
}

#[test]
fn nobody_without_the_ticket_is_answered() {
    let ends = Ends::new();
    let mut listener = ends.listener();
    let other = Ticket::new(&ends.receiver, ENTROPY);
    let wrong = hello(&mut ends.dialer(&other), at(0));
    assert!(matches!(hear(&mut listener, &wrong), (None, None)), "another secret");
    let right = hello(&mut ends.dialer(&ends.ticket), at(0));
    for at in [0, 1, 4, 8, 100, HELLO_BYTES - 1] {
        let mut tampered = right.clone();
        tampered[at] ^= 1;
        assert!(matches!(hear(&mut listener, &tampered), (None, None)), "byte {at} was changed");
    }
    for length in [0, 1, 100, HELLO_BYTES - 1] {
        assert!(matches!(hear(&mut listener, &right[..length]), (None, None)), "{length} bytes");
    }
    assert!(hear(&mut listener, &right).0.is_some());
    let only = Some(*ends.receiver.public());
    let mut listener = Listener::new(&ends.receiver, &ends.ticket, only, ENTROPY);
    assert!(
        matches!(hear(&mut listener, &right), (None, None)),
        "another sender than the one that is let in"
    );
    let only = Some(*ends.sender.public());
    let mut listener = Listener::new(&ends.receiver, &ends.ticket, only, ENTROPY);
    assert!(hear(&mut listener, &right).0.is_some());
}

#[test]
fn no_answer_is_longer_than_what_asked_for_it() {
    let ends = Ends::new();
    let (mut dialer, mut listener) = (ends.dialer(&ends.ticket), ends.listener());
    let hello = hello(&mut dialer, at(0));
    let answer = hear(&mut listener, &hello).0.expect("answered");
    assert_eq!(hello.len(), HELLO_BYTES);
    assert!(answer.len() * 8 < hello.len(), "{}", answer.len());
}

#[test]
fn a_hello_is_answered_again_until_the_session_begins_and_never_after() {
    let ends = Ends::new();
    let (mut dialer, mut listener) = (ends.dialer(&ends.ticket), ends.listener());
    let first = hello(&mut dialer, at(0));
    let lost = hear(&mut listener, &first).0.expect("answered");
    let second = hello(&mut dialer, at(500));
    let answer = hear(&mut listener, &second).0.expect("answered again");
    let mut forged = answer.clone();
    *forged.last_mut().expect("not empty") ^= 1;
    assert!(dialer.on_datagram(at(510), address(PORTS.1), &forged).is_none());
    assert!(dialer.on_datagram(at(510), address(9), &answer).is_none(), "from elsewhere");
    let mut sender = dialer.on_datagram(at(520), address(PORTS.1), &answer).expect("the answer");
    assert_eq!(sender.handshake(), Duration::from_millis(20), "of the second hello");
    assert!(dialer.on_datagram(at(530), address(PORTS.1), &lost).is_none(), "once is enough");
    let (_, session) = hear(&mut listener, &ping(&mut sender, at(520)));
    assert!(session.is_some());
    for replayed in [first, second] {
        assert!(matches!(hear(&mut listener, &replayed), (Some(_), None)), "a copy makes no second session");
    }
    assert!(matches!(hear(&mut listener, &ping(&mut sender, at(530))), (None, None)));
}

#[test]
fn what_is_changed_repeated_or_from_elsewhere_changes_nothing() {
    let (mut sender, mut receiver) = session();
    let packet = ping(&mut sender, at(30));
    for at_byte in 0..packet.len() {
        let mut tampered = packet.clone();
        tampered[at_byte] ^= 0x10;
        assert!(!give(&mut receiver, at(40), PORTS.0, &tampered), "byte {at_byte}");
    }
    assert_eq!(receiver.heard(), at(10), "nothing of it was a sign of life");
    assert!(give(&mut receiver, at(50), PORTS.0, &packet));
    assert!(!give(&mut receiver, at(60), PORTS.0, &packet), "replayed");
    assert_eq!(receiver.heard(), at(50));
    assert!(!give(&mut sender, at(60), PORTS.1, &packet), "reflected");
    let (mut other, _) = session();
    assert!(!give(&mut receiver, at(60), PORTS.0, &ping(&mut other, at(60))), "of another session");
}

#[test]
fn an_address_counts_once_it_has_answered() {
    let (mut sender, mut receiver) = session();
    let packet = ping(&mut sender, at(30));
    assert!(give(&mut receiver, at(40), 7, &packet));
    assert_eq!(receiver.address(), address(PORTS.0));
    let challenges = packets(&mut receiver, at(40));
    assert_eq!(challenges.iter().map(|(to, _)| *to).collect::<Vec<_>>(), [7]);
    assert!(challenges[0].1.len() <= packet.len(), "it is no longer than what asked for it");
    // The packet was diverted by an observer: the sender is where it was.
    give(&mut sender, at(50), PORTS.1, &challenges[0].1);
    let answers = packets(&mut sender, at(50));
    assert_eq!(answers.len(), 1);
    give(&mut receiver, at(60), PORTS.0, &answers[0].1);
    assert_eq!(receiver.address(), address(PORTS.0), "the answer came from the old one");
    // The sender has moved.
    let repeated = packets(&mut receiver, at(200));
    assert_eq!(repeated.len(), 1);
    give(&mut sender, at(210), PORTS.1, &repeated[0].1);
    let answers = packets(&mut sender, at(210));
    give(&mut receiver, at(220), 7, &answers[0].1);
    assert_eq!(receiver.address(), address(7));
    // An address that never answers is given up, and so it cannot be flooded.
    assert!(give(&mut receiver, at(300), 8, &ping(&mut sender, at(300))));
    let count: usize = (3..100)
        .map(|step| packets(&mut receiver, at(step * 100)).iter().filter(|(to, _)| *to == 8).count())
        .sum();
    assert_eq!((count, receiver.address()), (3, address(7)));
}

#[test]
fn keys_are_renewed_whatever_is_lost() {
    let (mut sender, mut receiver) = session();
    sender.renew(Renewal { packets: 100, time: Duration::from_secs(1) });
    let mut lost = 0;
    let mut old: Option<Vec<u8>> = None;
    for step in 2..200 {
        let now = at(step * 100);
        // Every third packet is lost.
        for (_, packet) in packets(&mut sender, now) {
            lost += 1;
            if lost % 3 != 0 {
                give(&mut receiver, now, PORTS.0, &packet);
            }
        }
        for (_, packet) in packets(&mut receiver, now) {
            lost += 1;
            if lost % 3 != 0 {
                give(&mut sender, now, PORTS.1, &packet);
            }
        }
        if let Some(old) = old.take() {
            assert!(give(&mut receiver, now, PORTS.0, &old), "what was under way is read with the old keys");
        }
        old = Some(ping(&mut sender, now));
        assert!(give(&mut receiver, now, PORTS.0, &ping(&mut sender, now)), "step {step}");
        assert!(give(&mut sender, now, PORTS.1, &ping(&mut receiver, now)), "step {step}");
    }
    assert!(sender.epoch() > 8, "{}", sender.epoch());
    assert_eq!(sender.epoch(), receiver.epoch());
}

/// A sender and a receiver of data without end, and a first packet that both know.
fn transfer() -> (Outgoing, Incoming, Vec<u8>) {
    let (sender, receiver) = session();
    let terms = Terms { control: TRANSPORT.for_networks(), bytes: PACKET_BYTES };
    let mut incoming = Incoming::new(at(20), receiver, &terms, SILENCE);
    let mut outgoing = Outgoing::new(at(20), sender, terms, f64::INFINITY, SILENCE);
    outgoing.begin(at(20), Extent::Endless);
    let mut packet = Vec::new();
    let departure = outgoing.poll_data(at(20), &mut Zeros(Extent::Endless), &mut packet);
    assert_eq!(departure.map(|it| it.to.port()), Some(PORTS.1));
    assert_eq!(packet.len() + 28, PACKET_BYTES as usize);
    let mut ack = Vec::new();
    let to =
        incoming.on_datagram((at(30), at(30)), address(PORTS.0), &packet, &mut Discard::default(), &mut ack);
    assert_eq!(to, Some(address(PORTS.0)));
    (outgoing, incoming, ack)
}

/// Carries what the ends of a session say beside data, as far as the path carries it: so many bytes on the
/// wire.
fn converse(outgoing: &mut Outgoing, incoming: &mut Incoming, now: Time, carried: usize) {
    let mut out = Vec::new();
    while outgoing.poll_control(now, &mut out).is_some() {
        if out.len() + 28 <= carried {
            incoming.on_datagram(
                (now, now),
                address(PORTS.0),
                &out,
                &mut Discard::default(),
                &mut Vec::new(),
            );
        }
        out.clear();
    }
    while incoming.poll_control(now, &Discard::default(), &mut out).is_some() {
        outgoing.on_datagram(now, address(PORTS.1), &out);
        out.clear();
    }
}

/// Two ends that looked for the largest packets of a path, and what there is to send.
fn probed(carried: usize, extent: Extent) -> (Outgoing, Incoming) {
    let (sender, receiver) = session();
    let terms = Terms { control: TRANSPORT.for_networks(), bytes: PACKET_BYTES };
    let mut incoming = Incoming::new(at(20), receiver, &terms, SILENCE);
    let mut outgoing = Outgoing::new(at(20), sender, terms, f64::INFINITY, SILENCE);
    outgoing.probe(at(20), 9000);
    for ms in [20, 40, 70, 120] {
        converse(&mut outgoing, &mut incoming, at(ms), carried);
    }
    assert!(outgoing.is_ready(at(120)));
    outgoing.begin(at(120), extent);
    (outgoing, incoming)
}

/// The next data packet, and what the receiver answers.
fn next(outgoing: &mut Outgoing, now: Time) -> Vec<u8> {
    let mut packet = Vec::new();
    let mut source = Zeros(Extent::Endless);
    outgoing.poll_data(now, &mut source, &mut packet).expect("a packet is due");
    packet
}

fn is_taken(incoming: &mut Incoming, now: Time, packet: &[u8]) -> bool {
    let sink = &mut Discard::default();
    incoming.on_datagram((now, now), address(PORTS.0), packet, sink, &mut Vec::new()).is_some()
}

#[test]
fn packets_are_as_large_as_the_path_carries() {
    for (carried, bytes) in [(9000, 9000), (8999, 1500), (1499, 1400), (1300, PACKET_BYTES)] {
        let (mut outgoing, mut incoming) = probed(carried, Extent::Endless);
        assert_eq!(outgoing.bytes(), bytes);
        next(&mut outgoing, at(120)); // lost
        let packet = next(&mut outgoing, at(300));
        assert_eq!(packet.len() + 28, bytes as usize);
        assert!(is_taken(&mut incoming, at(310), &packet));
    }
}

#[test]
fn the_last_datum_of_several_does_not_tell_their_size() {
    let chunk = ackclock_transfer::sending::payload(1500) as u64;
    let (mut outgoing, mut incoming) = probed(1500, Extent::Bytes(chunk + 100));
    let first = next(&mut outgoing, at(120));
    let last = next(&mut outgoing, at(300));
    assert!(!is_taken(&mut incoming, at(310), &last));
    assert!(is_taken(&mut incoming, at(320), &first));
    let (mut outgoing, mut incoming) = probed(1500, Extent::Bytes(chunk - 1));
    assert!(is_taken(&mut incoming, at(310), &next(&mut outgoing, at(300))), "it is the only one");
    assert!(incoming.is_complete());
}

#[test]
fn a_sender_cannot_settle_what_it_did_not_probe() {
    let (sender, receiver) = session();
    let terms = Terms { control: TRANSPORT.for_networks(), bytes: PACKET_BYTES };
    let mut incoming = Incoming::new(at(20), receiver, &terms, SILENCE);
    let large = Terms { bytes: 1500, ..terms };
    let mut outgoing = Outgoing::new(at(20), sender, large, f64::INFINITY, SILENCE);
    outgoing.begin(at(20), Extent::Endless);
    assert!(!is_taken(&mut incoming, at(310), &next(&mut outgoing, at(300))));
}

fn forge(incoming: &mut Incoming, ack: Ack) -> Vec<u8> {
    let mut out = Vec::new();
    let standing = Standing { room: 1000, ..Standing::default() };
    incoming.channel.seal_control(at(40), &Frame::Ack(ack, standing), &mut out);
    out
}

#[test]
fn an_acknowledgement_of_what_was_never_sent_ends_the_session() {
    for ack in [Ack { echo: 1000, ..Ack::default() }, Ack { echo: 1, cumulative: 1000, ..Ack::default() }] {
        let (mut outgoing, mut incoming, real) = transfer();
        outgoing.on_datagram(at(40), address(PORTS.1), &real);
        assert!(outgoing.end().is_none());
        let forged = forge(&mut incoming, ack);
        outgoing.on_datagram(at(50), address(PORTS.1), &forged);
        assert!(matches!(outgoing.end(), Some(End::Stopped(stop)) if stop.why == Why::Broken), "{ack:?}");
        let mut out = Vec::new();
        outgoing.poll_control(at(50), &mut out).expect("the other end is told");
        incoming.on_datagram(
            (at(60), at(60)),
            address(PORTS.0),
            &out,
            &mut Discard::default(),
            &mut Vec::new(),
        );
        let told = matches!(incoming.end(), Some(End::Closed(farewell)) if farewell.why == Why::Broken);
        assert!(told);
    }
}

#[test]
fn absurd_rates_are_refused_and_high_ones_are_only_wishes() {
    let (mut outgoing, mut incoming, real) = transfer();
    outgoing.on_datagram(at(40), address(PORTS.1), &real);
    let before = outgoing.rate();
    let absurd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, -1.0, 1e300];
    for rate in absurd {
        let ack = Ack { echo: 1, cumulative: 1, report: Report::Rate(rate), ..Ack::default() };
        let forged = forge(&mut incoming, ack);
        outgoing.on_datagram(at(41), address(PORTS.1), &forged);
        assert!((outgoing.rate() - before).abs() < 1e-9, "{rate}");
    }
    assert_eq!((outgoing.absurd(), outgoing.end()), (absurd.len() as u64, None));
    let ack = Ack { echo: 1, cumulative: 1, report: Report::Rate(1e13), ..Ack::default() };
    let forged = forge(&mut incoming, ack);
    outgoing.on_datagram(at(42), address(PORTS.1), &forged);
    let ten_packets = 10.0 * f64::from(PACKET_BYTES) * 8.0 / RTT.as_secs_f64();
    assert!(outgoing.rate() <= 1.01 * ten_packets, "no more than twice what arrives: {}", outgoing.rate());
}

#[test]
fn silence_ends_a_session_and_a_ping_does_not_let_it() {
    let (mut outgoing, mut incoming, _) = transfer();
    for step in 1..60 {
        let now = at(step * 1000);
        outgoing.on_timeout(now);
        incoming.on_timeout(now);
        converse(&mut outgoing, &mut incoming, now, usize::MAX);
    }
    assert_eq!((outgoing.end(), incoming.end()), (None, None));
    outgoing.on_timeout(at(59_000 + 29_999));
    assert_eq!(outgoing.end(), None);
    outgoing.on_timeout(at(59_000 + 30_000));
    incoming.on_timeout(at(59_000 + 30_000));
    assert_eq!((outgoing.end(), incoming.end()), (Some(&End::Silent), Some(&End::Silent)));
}

#[test]
fn a_receiver_takes_no_more_than_it_has_room_for() {
    let (_, mut incoming, _) = transfer();
    let (mut sender, receiver) = session();
    incoming.channel = receiver;
    let data = ackclock_rate::packet::Data { number: 9, datum: 600, ..Default::default() };
    let mut packet = Vec::new();
    let payload = vec![0; ackclock_transfer::sending::payload(PACKET_BYTES)];
    sender.seal_data(at(50), &Frame::Data(data, &payload), &mut packet);
    assert!(matches!(Envelope::read(&packet), Some(Envelope::Sealed { number: 9, .. })));
    struct Full;
    impl ackclock_transfer::stream::Sink for Full {
        fn write(&mut self, _: &[u8]) -> Result<(), ackclock_transfer::stream::Stop> {
            panic!("nothing is in order")
        }
        fn room(&self) -> u64 {
            0
        }
        fn is_done(&self) -> bool {
            false
        }
    }
    let (now, from, arrived) = (at(60), address(PORTS.0), incoming.arrived());
    let ack = incoming.on_datagram((now, now), from, &packet, &mut Full, &mut Vec::new());
    // The first acknowledgement has promised room for 64 MiB, so it is accepted; a promise is kept.
    assert!(ack.is_some() && incoming.arrived() == arrived + 1);
    let data = ackclock_rate::packet::Data { number: 10, datum: 1 << 40, ..Default::default() };
    let mut packet = Vec::new();
    sender.seal_data(at(50), &Frame::Data(data, &payload), &mut packet);
    let ack = incoming.on_datagram((now, now), from, &packet, &mut Full, &mut Vec::new());
    assert!(ack.is_none() && incoming.arrived() == arrived + 1);
}

#[test]
#[should_panic(expected = "a packet number is used once")]
fn no_number_is_sealed_twice() {
    let (mut sender, _) = session();
    let data = ackclock_rate::packet::Data { number: 9, datum: 1, ..Default::default() };
    for _ in 0..2 {
        sender.seal_data(at(50), &Frame::Data(data, b"x"), &mut Vec::new());
    }
}
