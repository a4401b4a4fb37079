//! The same acknowledgements give the same windows, whether the sender stands alone, as in the simulator, or
//! below a connection that counts in bytes.

mod common;

use ackclock_cc as cc;
use ackclock_registry::variants;
use ackclock_stack::{Host, Limits, Options};
use ackclock_tcp::{Ack, Config, Flags, SackBlock, Sender, detection, recovery};
use ackclock_units::{Duration, Time};
use ackclock_wire::endpoint::flag;
use common::address;
use common::hand::Peer;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

/// The payload of a segment: an Ethernet packet with timestamps.
const PAYLOAD: u32 = 1448;
/// So many segments fit into the peer's window, which never moves.
const WINDOW: u64 = 45;

/// A sender alone and one below a connection, and what both have sent.
struct Both {
    alone: Sender,
    peer: Peer,
    /// The number of the first byte.
    first: u32,
    una: u64,
    arrived: BTreeSet<u64>,
    /// Segments on the way, and the timestamps on them.
    flying: Vec<(u64, Time, u32)>,
    last: (Time, u32),
    /// The recovery uses selective acknowledgements.
    selective: bool,
}

impl Both {
    fn new(config: Config, control: &cc::Settings) -> Both {
        let selective = config.recovery.scheme().selective;
        let options = Options::new(config.clone(), control.clone());
        let mut host = Host::new(Limits { initial_sequence: Some(77), ..Limits::default() }, 1);
        let now = Time::from_nanos(1_000_000_000);
        let to = SocketAddr::new(address(1), common::PORT);
        let id =
            host.connect(now, SocketAddr::new(address(0), 0), to, Arc::new(options)).expect("there is room");
        let mut offers = ackclock_wire::Options::default();
        (offers.mss, offers.timestamps) = (Some(1460), Some((1, 0)));
        offers.sack_permitted = true;
        offers.window_scale = Some(1);
        let peer = Peer::answer(host, now, id, offers);
        // Until the first acknowledgement with a shift, the peer's window is that of its SYN.
        let header = 52;
        let config = Config { payload: PAYLOAD as u16, header, peer_window: 60_000 / PAYLOAD, ..config };
        let mut both = Both {
            alone: Sender::new(config.into(), control.build(), control.needs(), 0, 0, now),
            first: peer.ack,
            peer,
            una: 0,
            arrived: BTreeSet::new(),
            flying: Vec::new(),
            last: (now, 0),
            selective,
        };
        let all = vec![0; 2000 * PAYLOAD as usize];
        both.peer.host.write(now, both.peer.id, &all).expect("there is room");
        both.alone.supply(now, 2000);
        both
    }

    /// Both send what they may. What leaves must be the same.
    fn send(&mut self) {
        let now = self.peer.now;
        let mut alone = Vec::new();
        while let Some(data) = self.alone.poll_transmit(now) {
            alone.push(data.seq);
        }
        let mut below = Vec::new();
        for (header, payload) in self.peer.take() {
            let begin = u64::from(header.seq.wrapping_sub(self.first));
            let stamp = header.options.timestamps.expect("timestamps").0;
            for at in (0..payload.len() as u64).step_by(PAYLOAD as usize) {
                below.push((begin + at) / u64::from(PAYLOAD));
                self.flying.push(((begin + at) / u64::from(PAYLOAD), now, stamp));
            }
        }
        assert_eq!(alone, below, "at {now}");
    }

    /// The segment at this place on the way arrives, and is acknowledged.
    fn deliver(&mut self, place: usize) {
        if self.flying.is_empty() {
            return;
        }
        let (seq, sent, stamp) = self.flying.remove(place % self.flying.len());
        let new = seq >= self.una && self.arrived.insert(seq);
        if !new {
            return; // reports of duplicates are another test's
        }
        if seq == self.una {
            self.last = (sent, stamp); // RFC 7323 section 4.3
        }
        while self.arrived.remove(&self.una) {
            self.una += 1;
        }
        self.acknowledge(seq);
    }

    /// Both hear the same. The run of segment `seq` is reported first.
    fn acknowledge(&mut self, seq: u64) {
        let run = |seq: u64| {
            let (mut start, mut end) = (seq, seq + 1);
            while start > 0 && self.arrived.contains(&(start - 1)) {
                start -= 1;
            }
            while self.arrived.contains(&end) {
                end += 1;
            }
            (start, end)
        };
        let (now, una) = (self.peer.now, self.una);
        let block = (self.selective && self.arrived.contains(&seq)).then(|| run(seq));
        let mut header = self.peer.header(flag::ACK);
        header.ack = self.first.wrapping_add((una * u64::from(PAYLOAD)) as u32);
        header.window = (WINDOW * u64::from(PAYLOAD) / 2) as u16;
        header.options.timestamps = Some((1000, self.last.1));
        let mut blocks = [SackBlock::default(); 3];
        if let Some((start, end)) = block {
            let edge = |segment: u64| self.first.wrapping_add((segment * u64::from(PAYLOAD)) as u32);
            header.options.add_sack(edge(start), edge(end));
            blocks[0] = SackBlock { offset: (start - una) as u32, length: (end - start) as u32 };
        }
        let ack = Ack {
            ack: una,
            sent_at: self.peer.now,
            echo: self.last.0,
            window: WINDOW as u32,
            bytes: 0,
            flags: Flags::default(),
            blocks,
        };
        self.alone.on_ack(now, &ack, || 0.5);
        self.peer.give(&header, &[]);
        self.compare();
    }

    fn compare(&self) {
        let info = self.peer.host.info(self.peer.id).expect("it is there");
        let below = info.sender.expect("there is a sender");
        let window = self.alone.window();
        assert_eq!((below.cwnd, below.ssthresh), (window.cwnd, window.ssthresh));
        assert_eq!(below.srtt, self.alone.rtt().srtt());
        assert_eq!(below.in_flight, self.alone.in_flight());
        assert_eq!(below.counters, *self.alone.counters());
    }

    /// Time passes, and timers that are due go off.
    fn wait(&mut self, time: Duration) {
        let end = self.peer.now + time;
        while let Some(at) = self.alone.poll_timeout().filter(|&at| at <= end) {
            // Timestamps on the wire tick each millisecond. What leaves at whole ones is told apart by them.
            let tick = Time::from_nanos(at.as_nanos().div_ceil(1_000_000) * 1_000_000);
            self.peer.now = self.peer.now.max(tick);
            self.alone.on_timeout(self.peer.now);
            self.peer.host.on_timeout(self.peer.now);
            self.compare();
            self.send();
        }
        self.peer.now = end;
    }
}

/// Controllers that set no rate and draw nothing: the times of departures are then those of acknowledgements.
fn unpaced() -> Vec<&'static cc::Scheme> {
    let plain = |scheme: &&'static cc::Scheme| {
        let needs = cc::Settings::defaults(scheme).needs();
        !(needs.draw || needs.rate || needs.marks || needs.window || needs.forward)
    };
    cc::schemes().iter().copied().filter(plain).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(300), max_shrink_iters: 500, max_global_rejects: 1 << 20, ..ProptestConfig::default() })]

    #[test]
    fn windows_are_those_of_the_simulator(
        control in proptest::sample::select(unpaced()),
        recovery in proptest::sample::select(variants::<recovery::Scheme>()),
        detection in proptest::sample::select(variants::<detection::Scheme>()),
        steps in proptest::collection::vec((0_u8..10, any::<u16>(), 1_u64..30), 50..400),
    ) {
        prop_assume!(recovery.scheme().selective || !detection.scheme().selective);
        let config = Config { recovery, detection, ..Config::default() };
        let mut both = Both::new(config, &cc::Settings::defaults(control));
        both.send();
        for (what, place, ms) in steps {
            match what {
                0..7 => both.deliver(if place % 8 == 0 { usize::from(place) } else { 0 }),
                7 if !both.flying.is_empty() => {
                    both.flying.remove(usize::from(place) % both.flying.len());
                }
                _ => both.wait(Duration::from_millis(ms)),
            }
            both.send();
        }
    }
}
