//! The TCP connections of all programs of this host, as the kernel knows them (sock_diag(7)): what they have
//! seen of the paths to the hosts that are watched.
//!
//! The kernel lists the connections that there are, and tells of each one that ends. Nothing is sent to
//! anybody.

use crate::plan::Host;
use crate::sample::Quantity;
use ackclock_sockets::{Prefix, covers};
use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkBuffer, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::nlas::{Nla, TcpInfo};
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags};
use netlink_sys::protocols::NETLINK_SOCK_DIAG;
use netlink_sys::{Socket, SocketAddr};
use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::IpAddr;

/// Groups of messages about TCP connections that have ended: IPv4, IPv6 (linux/sock_diag.h).
const ENDED: [u32; 2] = [1, 3];
/// A session that has sent less tells nothing by its window: it was never in its way. Bytes.
const TELLING: u64 = 100_000;
/// The buffer for one answer, which holds many messages.
const BUFFER: usize = 64 << 10;

/// A host whose path is watched.
pub(crate) struct Watched {
    id: i64,
    peers: Vec<Prefix>,
    /// Connections to these ports are the monitor's own.
    own: Vec<u16>,
}

impl Watched {
    pub(crate) fn new(id: i64, host: &Host) -> Watched {
        let ports = host.transfer.iter().map(|it| it.port).chain(host.search.iter().map(|it| it.port));
        Watched { id, peers: host.peers.clone(), own: ports.collect() }
    }

    fn is_about(&self, seen: &Seen) -> bool {
        covers(&self.peers, seen.peer) && !self.own.contains(&seen.port)
    }
}

/// What the kernel says of a connection.
#[derive(Clone, PartialEq, Debug)]
struct Seen {
    /// The kernel's number of the connection.
    cookie: [u8; 8],
    peer: IpAddr,
    port: u16,
    /// Smoothed round-trip time, us.
    rtt: u32,
    /// Segments.
    window: u32,
    retransmissions: u32,
    /// Bytes acknowledged.
    acked: u64,
}

/// The connections of this host.
pub(crate) struct Sessions {
    watched: Vec<Watched>,
    kernel: Option<Kernel>,
    /// What was known of each connection at the last look: retransmissions, bytes acknowledged.
    known: HashMap<[u8; 8], (u32, u64)>,
    /// How many transfers of ours had begun or ended then. `None`: there was no look yet.
    transfers: Option<u64>,
    /// Retransmissions of connections that have ended since.
    last_words: HashMap<i64, u64>,
}

/// Values of a host.
type Values = Vec<(i64, Quantity, f64)>;

impl Sessions {
    pub(crate) fn new(watched: Vec<Watched>) -> Sessions {
        let (known, last_words) = (HashMap::new(), HashMap::new());
        Sessions { watched, kernel: None, known, transfers: None, last_words }
    }

    /// The closing windows of the sessions that have ended since the last call.
    ///
    /// # Errors
    ///
    /// If the kernel cannot be asked.
    pub(crate) fn ended(&mut self) -> io::Result<Values> {
        let seen = self.asked(Kernel::ended)?;
        Ok(self.close(&seen))
    }

    /// What the connections have seen since the last call. `transfers` is how many transfers of ours have
    /// begun or ended: if that changed, or one runs, others have seen us, and there are no values.
    ///
    /// # Errors
    ///
    /// If the kernel cannot be asked.
    pub(crate) fn present(&mut self, transfers: u64) -> io::Result<Values> {
        let seen = self.asked(Kernel::present)?;
        Ok(self.compare(&seen, transfers))
    }

    /// Asks, by a socket that is opened again after an error.
    fn asked<T>(&mut self, ask: fn(&mut Kernel) -> io::Result<T>) -> io::Result<T> {
        let mut kernel = match self.kernel.take() {
            Some(kernel) => kernel,
            None => Kernel::open()?,
        };
        let answer = ask(&mut kernel)?;
        self.kernel = Some(kernel);
        Ok(answer)
    }

    fn close(&mut self, ended: &[Seen]) -> Values {
        let mut values = Values::new();
        for seen in ended {
            let before = self.known.remove(&seen.cookie).map_or(0, |(retransmissions, _)| retransmissions);
            for host in self.watched.iter().filter(|host| host.is_about(seen)) {
                let more = u64::from(seen.retransmissions.saturating_sub(before));
                *self.last_words.entry(host.id).or_default() += more;
                if seen.acked >= TELLING && seen.window > 0 {
                    values.push((host.id, Quantity::ClosingWindow, f64::from(seen.window)));
                }
            }
        }
        values
    }

    fn compare(&mut self, present: &[Seen], transfers: u64) -> Values {
        let tells = self.transfers == Some(transfers) && transfers.is_multiple_of(2);
        let first = self.transfers.replace(transfers).is_none();
        let last_words = std::mem::take(&mut self.last_words);
        let mut values = Values::new();
        for host in self.watched.iter().filter(|_| tells) {
            let mut retransmitted = last_words.get(&host.id).copied().unwrap_or(0);
            let mut rtts = Vec::new();
            for seen in present.iter().filter(|seen| host.is_about(seen)) {
                let (before, acked) = self.known.get(&seen.cookie).copied().unwrap_or_default();
                retransmitted += u64::from(seen.retransmissions.saturating_sub(before));
                // An idle connection tells of the past.
                if seen.acked > acked && seen.rtt > 0 {
                    rtts.push(f64::from(seen.rtt) * 1e-6);
                }
            }
            if !rtts.is_empty() || retransmitted > 0 {
                values.push((host.id, Quantity::SocketRetransmissions, retransmitted as f64));
            }
            if !rtts.is_empty() {
                rtts.sort_by(f64::total_cmp);
                let median = ackclock_scenario::results::percentile(&rtts, 50.0);
                values.push((host.id, Quantity::SocketRtt, median));
            }
        }
        debug_assert!(!first || values.is_empty());
        let known = |seen: &Seen| (seen.cookie, (seen.retransmissions, seen.acked));
        self.known = present.iter().map(known).collect();
        values
    }
}

/// The kernel's two sockets.
struct Kernel {
    asks: Socket,
    hears: Socket,
    buffer: Vec<u8>,
}

impl Kernel {
    fn open() -> io::Result<Kernel> {
        let mut asks = Socket::new(NETLINK_SOCK_DIAG)?;
        asks.bind_auto()?;
        asks.connect(&SocketAddr::new(0, 0))?;
        let mut hears = Socket::new(NETLINK_SOCK_DIAG)?;
        hears.bind_auto()?;
        for group in ENDED {
            hears.add_membership(group)?;
        }
        // Where more ends than there is room for, some sessions are missed.
        hears.set_no_enobufs(true)?;
        hears.set_non_blocking(true)?;
        Ok(Kernel { asks, hears, buffer: vec![0; BUFFER] })
    }

    /// The connections that there are.
    fn present(&mut self) -> io::Result<Vec<Seen>> {
        let mut all = Vec::new();
        for (family, like) in [(AF_INET, SocketId::new_v4()), (AF_INET6, SocketId::new_v6())] {
            let mut header = NetlinkHeader::default();
            header.flags = NLM_F_REQUEST | NLM_F_DUMP;
            let request = InetRequest {
                family,
                protocol: IPPROTO_TCP,
                extensions: ExtensionFlags::INFO,
                states: StateFlags::ESTABLISHED | StateFlags::FIN_WAIT1 | StateFlags::CLOSE_WAIT,
                socket_id: like,
            };
            let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(request).into());
            message.finalize();
            let mut bytes = vec![0; message.buffer_len()];
            message.serialize(&mut bytes);
            self.asks.send(&bytes, 0)?;
            while !self.read_answer(&mut all)? {}
        }
        Ok(all)
    }

    /// Reads a piece of the kernel's answer. True if it was the last one.
    fn read_answer(&mut self, all: &mut Vec<Seen>) -> io::Result<bool> {
        let length = self.asks.recv(&mut &mut self.buffer[..], 0)?;
        let mut ends = false;
        each(&self.buffer[..length], |payload| {
            match payload {
                NetlinkPayload::Done(_) => ends = true,
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(it)) => all.extend(seen(&it)),
                _ => {}
            }
            Ok(())
        })?;
        Ok(ends)
    }

    /// The connections that have ended.
    fn ended(&mut self) -> io::Result<Vec<Seen>> {
        let mut all = Vec::new();
        loop {
            let length = match self.hears.recv(&mut &mut self.buffer[..], 0) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(all),
                other => other?,
            };
            each(&self.buffer[..length], |payload| {
                if let NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(it)) = payload {
                    all.extend(seen(&it));
                }
                Ok(())
            })?;
        }
    }
}

/// Calls `take` with each message of a piece.
fn each(
    mut bytes: &[u8],
    mut take: impl FnMut(NetlinkPayload<SockDiagMessage>) -> io::Result<()>,
) -> io::Result<()> {
    while !bytes.is_empty() {
        let length = NetlinkBuffer::new_checked(bytes).map_err(io::Error::other)?.length() as usize;
        let message = NetlinkMessage::<SockDiagMessage>::deserialize(bytes).map_err(io::Error::other)?;
        take(message.payload)?;
        // Messages begin at multiples of four bytes (netlink(7), NLMSG_ALIGN).
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(())
}

/// What a message says, if it has the state of a connection.
fn seen(message: &InetResponse) -> Option<Seen> {
    let info: &TcpInfo = message.nlas.iter().find_map(|nla| match nla {
        Nla::TcpInfo(info) => Some(info),
        _ => None,
    })?;
    let id = &message.header.socket_id;
    Some(Seen {
        cookie: id.cookie,
        peer: id.destination_address.to_canonical(),
        port: id.destination_port,
        rtt: info.rtt,
        window: info.snd_cwnd,
        retransmissions: info.total_retrans,
        acked: info.bytes_acked,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    fn sessions() -> Sessions {
        let plan = "[[hosts]]\nname = \"far\"\naddress = \"10.0.0.1\"\npeers = [\"10.0.0.0/24\"]\n\
            transfer = { port = 99 }\n";
        let plan = Plan::read("m.toml", plan).expect("it is right");
        Sessions::new(vec![Watched::new(7, &plan.hosts[0])])
    }

    fn seen(cookie: u8, peer: [u8; 4], rtt: u32, retransmissions: u32, acked: u64) -> Seen {
        let (cookie, peer) = ([cookie; 8], IpAddr::from(peer));
        Seen { cookie, peer, port: 80, rtt, window: 33, retransmissions, acked }
    }

    #[test]
    fn what_has_happened_since_the_last_look_counts() {
        let mut sessions = sessions();
        let first = [seen(1, [10, 0, 0, 9], 50_000, 4, 1000), seen(2, [10, 0, 1, 9], 9000, 0, 10)];
        assert_eq!(sessions.compare(&first, 0), [], "what was before is not known");
        assert_eq!(sessions.compare(&first, 0), [], "idle, and elsewhere");
        let second = [
            seen(1, [10, 0, 0, 9], 60_000, 6, 2000),
            seen(3, [10, 0, 0, 5], 40_000, 1, 10),
            seen(4, [10, 0, 0, 5], 50_000, 0, 10),
        ];
        let expected = [(7, Quantity::SocketRetransmissions, 3.0), (7, Quantity::SocketRtt, 50_000.0 * 1e-6)];
        assert_eq!(sessions.compare(&second, 0), expected);
        assert_eq!(sessions.compare(&second[..1], 1), [], "a transfer of ours has begun");
        assert_eq!(sessions.compare(&second[..1], 2), [], "and has ended");
    }

    #[test]
    fn a_session_that_ends_has_last_words() {
        let mut sessions = sessions();
        sessions.compare(&[seen(1, [10, 0, 0, 9], 50_000, 4, 1000)], 0);
        let mut own = seen(3, [10, 0, 0, 1], 1000, 0, 1 << 30);
        own.port = 99;
        let ended = [seen(1, [10, 0, 0, 9], 50_000, 5, TELLING), seen(2, [10, 0, 0, 9], 50_000, 0, 99), own];
        assert_eq!(
            sessions.close(&ended),
            [(7, Quantity::ClosingWindow, 33.0)],
            "neither a short one, nor one of ours"
        );
        assert_eq!(sessions.compare(&[], 0), [(7, Quantity::SocketRetransmissions, 1.0)]);
    }

    /// The kernel lists a connection, and tells its window when it has ended.
    #[test]
    fn the_kernel_knows_our_connections() {
        let mut kernel = Kernel::open().expect("every kernel has it");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let mut near = TcpStream::connect(address).expect("a connection");
        let mut far = listener.accept().expect("its other end").0;
        let sender = std::thread::spawn(move || {
            near.write_all(&vec![1; 300_000]).expect("taken");
            near
        });
        far.read_exact(&mut vec![0; 300_000]).expect("all of it");
        let near = sender.join().expect("it has sent");
        let find = |all: Vec<Seen>| all.into_iter().find(|it| it.port == address.port());
        let there = find(kernel.present().expect("it answers")).expect("it is listed");
        assert!(there.acked >= 300_000, "{there:?}");
        drop(near);
        drop(far);
        let begun = Instant::now();
        let gone = loop {
            if let Some(gone) = find(kernel.ended().expect("it answers")) {
                break gone;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "the kernel does not tell of it");
            std::thread::sleep(Duration::from_millis(20));
        };
        assert_eq!((gone.cookie, gone.peer), (there.cookie, address.ip()));
        assert!(gone.window > 0 && gone.acked >= 300_000, "{gone:?}");
    }
}
