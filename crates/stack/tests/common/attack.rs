//! Any packets and any operations on a host: nothing panics, memory stays bounded, and everything ends.
//!
//! The fuzz target in `fuzz/` and the property tests run the same cases.

use ackclock_cc as cc;
use ackclock_net::Ecn;
use ackclock_stack::{ConnectionId, Event, Host, Limits, ListenerId, Options};
use ackclock_tcp::Config;
use ackclock_units::{Duration, Time};
use ackclock_wire::EchoedBytes;
use ackclock_wire::endpoint::{self, Arrival, Header, MAX_HEAD};
use ackclock_wire::offload::LENGTH;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The attacker's first port.
const PORT: u16 = 80;
/// The host under test, and the attacker.
const HOST: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
const ATTACKER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));
/// The connections that the host may have, and the bytes of its buffers.
const CONNECTIONS: usize = 50;
const SEND_BUFFER: usize = 200_000;
const RECEIVE_BUFFER: usize = 100_000;

/// A case: the settings, and what is done.
#[derive(Clone, Debug)]
pub struct Case {
    /// The number of every SYN.
    pub initial: u32,
    pub nagle: bool,
    pub selective: bool,
    /// 0: no ECN. 1: that of RFC 3168. 2: that of RFC 9768, with a controller that counts marks.
    pub ecn: u8,
    pub steps: Vec<Step>,
}

/// An operation on a host.
#[derive(Clone, Debug)]
pub enum Step {
    /// A packet that nobody checked.
    Bytes(Vec<u8>),
    /// A segment with these flags, near what a connection expects, with options of these bytes.
    Segment {
        from: u16,
        seq: i32,
        ack: i32,
        flags: u16,
        window: u16,
        payload: usize,
        sacks: Vec<(i32, i32)>,
        /// The codepoint in the IP header, and counters of bytes (RFC 9768).
        ecn: u8,
        echoed: Vec<u32>,
    },
    Write(usize),
    Read(usize),
    Close,
    Abort,
    Release,
    Connect,
    Wait(u64),
    TooBig(u16),
}

/// A frame with these headers and bytes.
fn frame(header: &Header, payload: &[u8]) -> Vec<u8> {
    let mut head = [0; MAX_HEAD];
    let place = endpoint::write(header, payload.len(), 0, &mut head);
    [&head[place], payload].concat()
}

/// The checksum of RFC 1071.
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let word = |two: &[u8]| u32::from(two[0]) << 8 | two.get(1).map_or(0, |&low| u32::from(low));
    let mut sum: u32 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

/// A message of ICMP that this packet was too big: `mtu` bytes at most.
pub fn too_big(about: &Header, mtu: u16) -> Vec<u8> {
    let packet = frame(about, &[]);
    let mut icmp = vec![3, 4, 0, 0, 0, 0];
    icmp.extend(mtu.to_be_bytes());
    icmp.extend(&packet[LENGTH..LENGTH + 28]);
    let check = checksum(&icmp);
    icmp[2..4].copy_from_slice(&check);
    let mut ip = vec![0x45, 0, 0, (20 + icmp.len()) as u8, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 9, 10, 0, 0, 1];
    let check = checksum(&ip);
    ip[10..12].copy_from_slice(&check);
    [&[0; LENGTH][..], &ip, &icmp].concat()
}

/// A host under test, and what an attacker who sees everything knows.
struct Attacked {
    host: Host,
    now: Time,
    ids: Vec<ConnectionId>,
    /// The last header that went to each port of the attacker.
    seen: [Option<Header>; 4],
    options: Arc<Options>,
}

impl Attacked {
    fn act(&mut self, step: &Step, listener: ListenerId) {
        let (now, id) = (self.now, self.ids.last().copied());
        match (step, id) {
            (Step::Bytes(bytes), _) => self.host.receive(now, bytes),
            (Step::Segment { from, seq, ack, flags, window, payload, sacks, ecn, echoed }, _) => {
                let mut forged = Header {
                    from: SocketAddr::new(ATTACKER, PORT + from),
                    to: SocketAddr::new(HOST, PORT),
                    seq: *seq as u32,
                    ack: *ack as u32,
                    flags: *flags,
                    window: *window,
                    ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][usize::from(ecn % 4)],
                    identification: 0,
                    options: ackclock_wire::Options::default(),
                };
                if let Some(seen) = &self.seen[usize::from(*from)] {
                    forged.to = seen.from;
                    forged.seq = seen.ack.wrapping_add(*seq as u32);
                    forged.ack = seen.seq.wrapping_add(1).wrapping_add(*ack as u32);
                    forged.options.timestamps = seen.options.timestamps.map(|(stamp, echo)| (echo, stamp));
                }
                if flags & 2 != 0 {
                    forged.options.mss = Some(*window);
                    forged.options.window_scale = Some(*from as u8 * 7);
                    forged.options.sack_permitted = seq % 2 == 0;
                }
                if !echoed.is_empty() {
                    let mut counters = [0; 3];
                    counters.iter_mut().zip(echoed).for_each(|(counter, told)| *counter = told % (1 << 24));
                    let count = echoed.len().min(3) as u8;
                    forged.options.echoed = Some(EchoedBytes { reversed: ecn & 4 != 0, counters, count });
                }
                for (start, end) in sacks {
                    let edge = |by: i32| forged.ack.wrapping_add(by as u32);
                    forged.options.add_sack(edge(*start), edge(*end));
                }
                self.host.receive(now, &frame(&forged, &vec![7; *payload]));
            }
            (Step::Write(bytes), Some(id)) => {
                let _ = self.host.write(now, id, &vec![1; *bytes]);
            }
            (Step::Read(bytes), Some(id)) => {
                let _ = self.host.read(now, id, &mut vec![0; *bytes]);
            }
            (Step::Close, Some(id)) => self.host.close(now, id),
            (Step::Abort, Some(id)) => self.host.abort(now, id),
            (Step::Release, Some(id)) => {
                self.host.release(now, id);
                self.ids.pop();
            }
            (Step::Connect, _) => {
                let to = SocketAddr::new(ATTACKER, PORT + self.ids.len() as u16 % 4);
                self.ids.extend(self.host.connect(now, SocketAddr::new(HOST, 0), to, self.options.clone()));
            }
            (Step::Wait(ms), _) => {
                self.now += Duration::from_millis(*ms);
                self.host.on_timeout(self.now);
            }
            (Step::TooBig(mtu), Some(id)) => {
                let about = |seen: &&Header| self.host.ends(id) == Some((seen.from, seen.to));
                if let Some(seen) = self.seen.iter().flatten().find(about) {
                    self.host.receive(now, &too_big(seen, *mtu));
                }
            }
            (_, None) => {}
        }
        self.ids.extend(self.host.accept(listener));
        while let Some(event) = self.host.poll_event() {
            if let Event::Readable(id) | Event::Writable(id) | Event::Ended(id, _) = event {
                assert!(self.host.info(id).is_some(), "an event of a connection that is not there");
            }
        }
        let mut packets = 0;
        while let Some(train) = self.host.transmit(self.now) {
            let frame = train.to_vec();
            let Ok(Arrival::Segment { header, .. }) = endpoint::read(&frame) else {
                panic!("the host has sent no segment");
            };
            if let Some(place) = header.to.port().checked_sub(PORT).filter(|&place| place < 4) {
                self.seen[usize::from(place)] = Some(header);
            }
            packets += 1;
            assert!(packets < 10_000, "the host does not stop");
        }
    }
}

impl Case {
    /// Runs the case.
    pub fn run(&self) {
        let half_open = 5;
        let initial_sequence = Some(self.initial);
        let limits = Limits { initial_sequence, connections: CONNECTIONS, half_open, ..Limits::default() };
        let recovery = if self.selective { "sack" } else { "robust" };
        let recovery = ackclock_tcp::recovery::scheme(recovery).expect("it is in the registry");
        let recovery = ackclock_tcp::recovery::Settings::defaults(recovery);
        let (ecn, dctcp_echo) = (self.ecn > 0, self.ecn > 1);
        let tcp = Config { recovery, ecn, dctcp_echo, ..Config::default() };
        let control = if dctcp_echo { "dctcp" } else { "reno" };
        let control = cc::Settings::defaults(cc::scheme(control).expect("it is in the registry"));
        let options = Arc::new(Options {
            send_buffer: SEND_BUFFER,
            receive_buffer: RECEIVE_BUFFER,
            nagle: self.nagle,
            ..Options::new(tcp, control)
        });
        let mut host = Host::new(limits, 1);
        let at = SocketAddr::new(HOST, PORT);
        let listener = host.listen(at, options.clone(), 3).expect("nobody listens");
        let now = Time::from_nanos(1_000_000_000);
        let mut attacked = Attacked { host, now, ids: Vec::new(), seen: [None; 4], options };
        for step in &self.steps {
            attacked.act(step, listener);
            assert!(attacked.host.connections() <= CONNECTIONS);
            // Each ring is a power of two.
            let most = SEND_BUFFER.next_power_of_two() + RECEIVE_BUFFER.next_power_of_two();
            assert!(attacked.host.memory() <= (CONNECTIONS + self.steps.len()) * most);
        }
        attacked.let_go(listener);
    }
}

impl Attacked {
    /// The application lets go, and nobody answers: everything ends.
    fn let_go(&mut self, listener: ListenerId) {
        for id in std::mem::take(&mut self.ids) {
            self.host.abort(self.now, id);
            self.host.release(self.now, id);
        }
        self.host.stop_listening(self.now, listener);
        for _ in 0..200 {
            self.now += Duration::from_secs(5);
            self.host.on_timeout(self.now);
            while self.host.transmit(self.now).is_some() {}
        }
        let left = (self.host.connections(), self.host.memory());
        assert_eq!(left, (0, 0), "{}", self.host.describe());
    }
}
