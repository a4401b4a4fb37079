//! A host: a network namespace with one TUN device.
//!
//! Namespace and device exist as long as this process holds their descriptors, and have no name outside of
//! it. So nothing is left, however the process ends.

use crate::error::LiveError;
use ackclock_stack::Tun;
use ackclock_stack::netlink::Netlink;
use ackclock_units::Duration;
use netlink_packet_route::link::LinkAttribute;
use netlink_packet_route::route::RouteMetric;
use rustix::net::sockopt::set_socket_send_buffer_size_force;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket, socketpair};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::thread;

/// The name of the device in its namespace.
const DEVICE: &str = "tun0";
/// The number of packets that the device can hold for the emulator. The emulator never lets so many wait.
const DEVICE_QUEUE: u32 = 20_000;
/// The bytes that a pair of sockets can hold for our own TCP, in either direction.
const OWN_QUEUE: usize = 32 << 20;
/// The smallest maximum packet size of an IPv6 path, bytes (RFC 8200 section 5).
const MIN_IPV6: u32 = 1280;

/// The settings of the host's kernel.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The largest packet, bytes.
    pub(crate) mtu: u32,
    /// The socket buffer of a connection at either end, bytes.
    pub(crate) buffer: u64,
    pub(crate) timestamps: bool,
    pub(crate) ecn: bool,
    /// The initial window, segments.
    pub(crate) initial_window: u32,
    /// The lower bound of the retransmission timeout.
    pub(crate) rto_min: Duration,
    /// True if every segment is acknowledged at once.
    pub(crate) quick_ack: bool,
}

/// A host.
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) address: Ipv4Addr,
    pub(crate) tun: Tun,
    /// The kernel's cookie of its network namespace (since Linux 5.14). No other namespace ever gets it.
    pub(crate) cookie: Option<u64>,
    kind: Kind,
}

/// What sends and receives there.
enum Kind {
    /// The kernel, in a network namespace.
    Kernel(File),
    /// Our own TCP: the end of a pair of sockets that stands for its device.
    Own(OwnedFd),
}

impl Host {
    /// Makes a host of this name and addresses.
    pub(crate) fn make(
        name: &str,
        address: Ipv4Addr,
        address6: Ipv6Addr,
        settings: &Settings,
    ) -> Result<Host, LiveError> {
        let made = in_a_thread(|| -> Result<_, LiveError> {
            enter_new_namespace().map_err(LiveError::kernel("a network namespace cannot be made"))?;
            let namespace = File::open("/proc/thread-self/ns/net")
                .map_err(LiveError::kernel("/proc/thread-self/ns/net cannot be opened"))?;
            let tun = Tun::make(DEVICE).map_err(|reason| LiveError::NoTun { reason })?;
            configure(address, address6, settings)
                .map_err(LiveError::kernel(format!("the host {name} cannot be set up")))?;
            Ok((namespace, tun, cookie().ok()))
        })?;
        let (namespace, tun, cookie) = made?;
        Ok(Host { name: name.to_owned(), address, tun, cookie, kind: Kind::Kernel(namespace) })
    }

    /// Makes a host for our own TCP. It has no namespace, and packets go through a pair of sockets.
    pub(crate) fn own(name: &str, address: Ipv4Addr) -> Result<Host, LiveError> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let pair = || -> io::Result<(OwnedFd, OwnedFd)> {
            let (near, far) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
            set_socket_send_buffer_size_force(&near, OWN_QUEUE)?;
            set_socket_send_buffer_size_force(&far, OWN_QUEUE)?;
            Ok((near, far))
        };
        let made = pair().map_err(LiveError::kernel(format!("the host {name} cannot be made")));
        let (near, far) = made?;
        Ok(Host { name: name.to_owned(), address, tun: near.into(), cookie: None, kind: Kind::Own(far) })
    }

    /// The device of a host for our own TCP.
    pub(crate) fn device(&self) -> Result<Tun, LiveError> {
        let Kind::Own(far) = &self.kind else {
            return Err(LiveError::Defect { what: format!("{} is the kernel's", self.name) });
        };
        let device = far.try_clone().map_err(LiveError::kernel(format!("{} has no device", self.name)))?;
        Ok(device.into())
    }

    /// Our own TCP sends and receives there.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self.kind, Kind::Own(_))
    }

    /// Runs `work` in the host's namespace.
    pub(crate) fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, LiveError> {
        in_a_thread(|| {
            self.enter().map_err(LiveError::kernel(format!("the host {} cannot be entered", self.name)))?;
            Ok(work())
        })?
    }

    /// Moves the calling thread into the host's namespace. The thread stays there.
    pub(crate) fn enter(&self) -> io::Result<()> {
        let Kind::Kernel(namespace) = &self.kind else {
            return Err(io::Error::other("our own TCP has no network namespace"));
        };
        Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
    }

    /// The number of packets that its device dropped because the emulator did not read them in time.
    pub(crate) fn lost(&self) -> Result<u64, LiveError> {
        if self.is_own() {
            return Ok(0); // the socket refuses what it cannot hold, and our TCP waits
        }
        let path = "/proc/thread-self/net/dev";
        let text = self.inside(|| fs::read_to_string(path))?.map_err(LiveError::kernel(path))?;
        Ok(sent_drops(&text, DEVICE).unwrap_or(0))
    }
}

/// The column `drop` of sent packets in /proc/net/dev. Eight columns about received packets come first.
fn sent_drops(text: &str, device: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(device)?.strip_prefix(':'))?;
    line.split_whitespace().nth(8 + 3)?.parse().ok()
}

/// A namespace belongs to a thread. So work in another namespace is done in a thread of its own, which ends
/// there.
fn in_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, LiveError> {
    thread::scope(|scope| scope.spawn(work).join())
        .map_err(|_| LiveError::Defect { what: "a thread panicked inside a host".to_owned() })
}

#[allow(unsafe_code, reason = "unshare is unsafe for file descriptors, which are not unshared here")]
fn enter_new_namespace() -> io::Result<()> {
    // SAFETY: only CLONE_FILES can take descriptors away from other threads.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?)
}

/// The cookie of the calling thread's network namespace.
#[allow(unsafe_code, reason = "rustix has no wrapper for SO_NETNS_COOKIE")]
fn cookie() -> io::Result<u64> {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, Some(ipproto::TCP))?;
    let (mut cookie, mut length) = (0_u64, size_of::<u64>() as libc::socklen_t);
    // SAFETY: the kernel writes at most `length` bytes, which is the size of `cookie`.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &mut length,
        )
    };
    if status == 0 { Ok(cookie) } else { Err(io::Error::last_os_error()) }
}

fn configure(address: Ipv4Addr, address6: Ipv6Addr, settings: &Settings) -> io::Result<()> {
    let set = |key: &str, value: String| {
        let path = format!("/proc/sys/net/{key}");
        fs::write(&path, value).map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))
    };
    let six = settings.mtu >= MIN_IPV6 && set("ipv6/conf/default/accept_dad", "0".to_owned()).is_ok();
    let _ = set("ipv6/conf/tun0/addr_gen_mode", "1".to_owned()); // no link-local address of its own making
    let _ = set("ipv6/conf/tun0/router_solicitations", "0".to_owned());
    let flag = |on: bool| u8::from(on).to_string();
    let buffers = format!("4096 {0} {0}", settings.buffer);
    set("ipv4/tcp_rmem", buffers.clone())?;
    set("ipv4/tcp_wmem", buffers)?;
    set("ipv4/tcp_timestamps", flag(settings.timestamps))?;
    set("ipv4/tcp_ecn", if settings.ecn { "1".to_owned() } else { "0".to_owned() })?;
    set("ipv4/tcp_no_metrics_save", flag(true))?;
    let netlink = Netlink::open()?;
    netlink.up(netlink.index("lo")?, Vec::new())?;
    let tun = netlink.index(DEVICE)?;
    netlink.up(tun, vec![LinkAttribute::Mtu(settings.mtu), LinkAttribute::TxQueueLen(DEVICE_QUEUE)])?;
    let metrics = || {
        let mut metrics = vec![
            RouteMetric::InitCwnd(settings.initial_window),
            RouteMetric::RtoMin((settings.rto_min.as_millis_f64() as u32).max(1)),
        ];
        if settings.quick_ack {
            metrics.push(RouteMetric::QuickAck(1));
        }
        metrics
    };
    let addresses = [IpAddr::from(address), IpAddr::from(address6)];
    for address in addresses.into_iter().take(1 + usize::from(six)) {
        netlink.address(tun, address)?;
        netlink.default_route(tun, address, metrics())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_found_in_their_column() {
        let text = "Inter-|   Receive                                                |  Transmit\n \
                    face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo\n    \
                    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13\n  tun0: 1 2 3 4 5 6 7 8 9 10 11 77 13\n";
        assert_eq!(sent_drops(text, "tun0"), Some(77));
        assert_eq!(sent_drops(text, "tun1"), None);
    }
}
