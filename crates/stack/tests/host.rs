//! What an application asks of a host besides bytes: ports, buffers, room, and what was known at the end.

mod common;

use ackclock_stack::{Event, Host, HostError, Limits, Options, Port, Refused, Tun};
use ackclock_tcp::Config;
use ackclock_units::{Duration, Time};
use common::{Law, PORT, Pipe, address, options, reno};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::cell::Cell;
use std::net::SocketAddr;
use std::sync::Arc;

const KIB: usize = 1 << 10;

fn with_buffers(send: usize, receive: usize) -> Arc<Options> {
    let all = options(Config::default(), "reno");
    Arc::new(Options { send_buffer: send, receive_buffer: receive, ..all })
}

#[test]
fn a_connection_has_the_port_that_was_asked_for() {
    let mut pipe = Pipe::new(Law::default(), 1);
    let (from, to) = (SocketAddr::new(address(0), 4000), SocketAddr::new(address(1), PORT));
    let id = pipe.hosts[0].connect(pipe.now, from, to, reno()).expect("it is free");
    assert_eq!(pipe.hosts[0].ends(id), Some((from, to)));
    let again = pipe.hosts[0].connect(pipe.now, from, to, reno());
    assert_eq!(again.err(), Some(HostError::InUse));
    let other = SocketAddr::new(address(1), PORT + 1);
    assert!(pipe.hosts[0].connect(pipe.now, from, other, reno()).is_ok());
}

/// Nobody reads: so much arrives, and then so much more, as the receive buffer holds.
#[test]
fn a_receive_buffer_grows() {
    let mut pipe = Pipe::new(Law::default(), 2);
    let [writer, reader] = pipe.opened([with_buffers(4 << 20, 4 << 20), with_buffers(32 * KIB, 32 * KIB)]);
    let bytes = vec![7; 2 << 20];
    assert_eq!(pipe.hosts[0].write(pipe.now, writer, &bytes), Ok(bytes.len()));
    pipe.run(Duration::from_secs(5));
    let unread = |pipe: &Pipe| pipe.hosts[1].info(reader).map_or(0, |info| info.unread as usize);
    // The window is told in units of 128 bytes, and ends within a segment.
    let filled = |pipe: &Pipe, buffer| (buffer - 1448..=buffer).contains(&unread(pipe));
    assert!(filled(&pipe, 32 * KIB), "{} bytes", unread(&pipe));
    pipe.hosts[1].enlarge_buffers(reader, 0, 1 << 20);
    pipe.run(Duration::from_secs(60)); // a probe of the closed window finds it open
    assert!(filled(&pipe, 1 << 20), "{} bytes", unread(&pipe));
    pipe.hosts[1].enlarge_buffers(reader, 0, 64 * KIB); // shrinks nothing
    pipe.run(Duration::from_secs(1));
    assert!(filled(&pipe, 1 << 20), "{} bytes", unread(&pipe));
}

#[test]
fn a_send_buffer_grows_and_tells_of_room() {
    let mut pipe = Pipe::new(Law::default(), 3);
    let [writer, _] = pipe.opened([with_buffers(32 * KIB, 32 * KIB), with_buffers(32 * KIB, 4 << 20)]);
    let room = |pipe: &Pipe| pipe.hosts[0].room(writer);
    assert_eq!(room(&pipe), 32 * KIB);
    pipe.hosts[0].enlarge_buffers(writer, 64 * KIB, 0);
    assert_eq!(room(&pipe), 64 * KIB);
    assert_eq!(pipe.hosts[0].write(pipe.now, writer, &vec![7; 64 * KIB]), Ok(64 * KIB));
    assert_eq!(room(&pipe), 0);
    pipe.hosts[0].want_room(writer);
    pipe.run(Duration::from_secs(1));
    assert_eq!(room(&pipe), 64 * KIB);
    let told = pipe.events[0].iter().filter(|event| **event == Event::Writable(writer)).count();
    assert_eq!(told, 1, "nobody has asked a second time");
}

#[test]
fn what_was_known_at_the_end_is_told_until_the_release() {
    let mut pipe = Pipe::new(Law { loss: 0.05, trains: false, ..Law::default() }, 4);
    let [first, second] = pipe.opened([reno(), reno()]);
    assert_eq!(pipe.hosts[0].write(pipe.now, first, &vec![7; 512 * KIB]), Ok(512 * KIB));
    pipe.hosts[0].close(pipe.now, first);
    let mut buffer = vec![0; 64 * KIB];
    for _ in 0..10_000 {
        pipe.step();
        while pipe.hosts[1].read(pipe.now, second, &mut buffer).is_ok_and(|bytes| bytes > 0) {}
        if pipe.hosts[1].peek(second).is_ok_and(|parts| parts.iter().all(|part| part.is_empty())) {
            pipe.hosts[1].close(pipe.now, second);
            break;
        }
    }
    pipe.run(Duration::from_secs(10));
    let ended = |host: usize| pipe.events[host].iter().any(|event| matches!(event, Event::Ended(..)));
    assert!(ended(0) && ended(1), "{:?}", pipe.events);
    let sender = pipe.hosts[0].info(first).and_then(|info| info.sender).expect("it has sent");
    assert!(sender.counters.retransmits > 0 && sender.rtt_min.is_some(), "{sender:?}");
    pipe.hosts[0].release(pipe.now, first);
    pipe.run(Duration::from_secs(120)); // TIME-WAIT
    assert!(pipe.hosts[0].info(first).is_none());
    assert_eq!(pipe.hosts[0].write(pipe.now, first, b"x"), Err(Refused::Unknown));
}

/// Found on the wire: a thread that slept between a look at its clock and a read took what had arrived
/// meanwhile for earlier, and round-trip times came out shorter than the path.
#[test]
fn what_arrives_has_the_time_at_which_it_is_read() {
    let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (near, far) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).expect("two sockets");
    let (mut port, far) = (Port::new(Tun::from(near)), Tun::from(far));
    let (mut here, mut there) = (Host::new(Limits::default(), 1), Host::new(Limits::default(), 2));
    let (from, to) = (SocketAddr::new(address(0), 0), SocketAddr::new(address(1), PORT));
    there.listen(to, reno(), 1).expect("nobody listens");
    let id = here.connect(at(1000), from, to, reno()).expect("there is room");
    let mut buffer = vec![0; 1 << 16];
    let mut answer = |now: u64| {
        while let Some(bytes) = far.read(&mut buffer).expect("a socket") {
            there.receive(at(now), &buffer[..bytes]);
        }
        while let Some(train) = there.transmit(at(now)) {
            far.write(&train.parts()).expect("a socket");
        }
    };
    port.send(&mut here, at(1000));
    answer(1050);
    port.turn(&mut here, || at(1100)).expect("a socket");
    here.write(at(1100), id, b"x").expect("there is room");
    port.send(&mut here, at(1100));
    answer(1150);
    // The clock says 1160, then the thread sleeps, and then it reads what came at 1200.
    let looks = Cell::new(0);
    let sleepy = || {
        looks.set(looks.get() + 1);
        at(if looks.get() == 1 { 1160 } else { 1200 })
    };
    port.turn(&mut here, sleepy).expect("a socket");
    let sender = here.info(id).and_then(|info| info.sender).expect("it is open");
    assert_eq!(sender.rtt_min, Some(Duration::from_millis(100)));
}
