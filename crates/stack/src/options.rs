//! The settings of connections and of a host.

use ackclock_cc as cc;
use ackclock_tcp::Config;
use ackclock_units::Duration;

/// Probes of a connection on which nothing happens (RFC 9293 section 3.8.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeepAlive {
    /// The silence before the first probe (RFC 1122: two hours unless the application says otherwise).
    pub idle: Duration,
    /// The time from one probe to the next (Linux: 75 s).
    pub interval: Duration,
    /// The number of unanswered probes that end the connection (Linux: 9).
    pub probes: u32,
}

impl Default for KeepAlive {
    fn default() -> KeepAlive {
        KeepAlive { idle: Duration::from_secs(7200), interval: Duration::from_secs(75), probes: 9 }
    }
}

/// The settings of a connection.
#[derive(Clone, Debug)]
pub struct Options {
    /// Detection, recovery, timers, and what is offered in the handshake: selective acknowledgements if the
    /// recovery uses them, timestamps, ECN. The sizes of segments and of the receive window follow from the
    /// handshake, so `payload`, `header` and `peer_window` do not count.
    pub tcp: Config,
    /// The congestion controller.
    pub control: cc::Settings,
    /// The most bytes that wait to be sent or acknowledged. Memory is taken as needed.
    pub send_buffer: usize,
    /// The most bytes that wait to be read: the largest receive window. At most 2^30 (RFC 7323 section 2.3).
    pub receive_buffer: usize,
    /// True: a short segment waits while others are not acknowledged (RFC 9293 section 3.7.4).
    pub nagle: bool,
    /// The largest packet, bytes, from 576 for IPv4 and 1280 for IPv6 to 65,535.
    pub mtu: u32,
    /// Probes of an idle connection; `None`: none.
    pub keep_alive: Option<KeepAlive>,
    /// R2: the connection ends if the peer acknowledges nothing new for so long, and says nothing either (RFC
    /// 9293 section 3.8.3: at least 100 s).
    pub give_up: Duration,
    /// R2 for a SYN (RFC 9293 section 3.8.3: at least 3 min).
    pub give_up_opening: Duration,
}

impl Options {
    /// These settings of the endpoint and this controller, and for all else: buffers of 4 MiB, packets of
    /// 1500 bytes, no Nagle, no probes of an idle connection.
    pub fn new(tcp: Config, control: cc::Settings) -> Options {
        Options {
            tcp,
            control,
            send_buffer: 4 << 20,
            receive_buffer: 4 << 20,
            nagle: false,
            mtu: 1500,
            keep_alive: None,
            give_up: Duration::from_secs(300),
            give_up_opening: Duration::from_secs(180),
        }
    }
}

/// The bounds of a host.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections in all states. Beyond, SYNs are ignored, and `connect` is refused.
    pub connections: usize,
    /// Connections that peers have begun to open. Beyond, the oldest of them is forgotten (RFC 4987 section
    /// 3.4), so that a flood of SYNs costs bounded memory.
    pub half_open: usize,
    /// Connections in TIME-WAIT. Beyond, the oldest of them is forgotten.
    pub time_wait: usize,
    /// How long a connection stays there: two maximum segment lifetimes (RFC 9293: 4 min; Linux: 1 min).
    pub linger: Duration,
    /// How long a released connection waits for its peer's FIN (Linux: 1 min).
    pub abandoned: Duration,
    /// Answers to segments that may be forged, per second and host (RFC 5961 section 7).
    pub challenges: u32,
    /// The sequence number of every SYN. For tests only: whoever can guess it can forge segments. `None`:
    /// RFC 6528.
    pub initial_sequence: Option<u32>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 65_536,
            half_open: 1024,
            time_wait: 4096,
            linger: Duration::from_secs(60),
            abandoned: Duration::from_secs(60),
            challenges: 1000,
            initial_sequence: None,
        }
    }
}
