//! The receive window of a real connection, held at the scenario's.
//!
//! Linux takes a share of the socket's buffer for the window: half of it at first. From the first segments it
//! learns which share of its memory is data, which is less than half where segments are small, and takes that
//! instead. A limit of the window (TCP_WINDOW_CLAMP) is forgotten then. So at first the buffer is what gives
//! the window. As soon as data has come, the buffer has room for all of its memory and the limit gives the
//! window. Segments that arrive joined change the share again, so the limit is set again and again.

use ackclock_scenario::plan::FlowPlan;
use ackclock_sockets::{set_receive_buffer, set_tcp_option};
use ackclock_units::{Duration, Time};
use std::io;
use std::os::fd::AsFd;

/// Linux's memory for a segment beside its data is at most about this, bytes.
const OVERHEAD: u64 = 4096;
/// The most memory that a socket can have, bytes (an int in Linux).
const MOST: u64 = i32::MAX as u64;
/// The limit is set this often.
const INTERVAL: Duration = Duration::from_millis(10);

/// The window that the receiving end of one connection offers.
pub(crate) struct ReceiveWindow {
    /// Its size, bytes; `None`: no limit that real TCP can offer (RFC 7323: below 2^30).
    bytes: Option<i32>,
    /// The memory that so many segments take, bytes, as far as a socket can have it.
    memory: u64,
    /// When to set the limit again. `None`: no data has come.
    again: Option<Time>,
}

impl ReceiveWindow {
    /// That of a flow whose real segments have `payload` bytes.
    pub(crate) fn new(plan: &FlowPlan, payload: u32) -> ReceiveWindow {
        let (segments, payload) = (u64::from(plan.config.peer_window), u64::from(payload));
        let bytes = i32::try_from(segments * payload).ok().filter(|&bytes| bytes < 1 << 30);
        let memory = (segments * (payload + OVERHEAD)).min(MOST);
        ReceiveWindow { bytes, memory, again: None }
    }

    /// True if the scenario has a limit.
    pub(crate) fn is_limited(&self) -> bool {
        self.bytes.is_some()
    }

    /// Sets it for a connection to come. `socket` listens, or is not connected yet.
    pub(crate) fn announce(&self, socket: impl AsFd) -> io::Result<()> {
        // Linux doubles what it is asked for.
        self.bytes.map_or(Ok(()), |bytes| set_receive_buffer(socket, bytes as u64))
    }

    /// Holds it, after data was read at `now`.
    pub(crate) fn hold(&mut self, socket: impl AsFd, now: Time) -> io::Result<()> {
        let Some(bytes) = self.bytes.filter(|_| self.again.is_none_or(|again| again <= now)) else {
            return Ok(());
        };
        if self.again.is_none() {
            set_receive_buffer(&socket, self.memory / 2)?;
        }
        self.again = Some(now + INTERVAL);
        set_tcp_option(socket, libc::TCP_WINDOW_CLAMP, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_scenario::Sweep;
    use std::net::{TcpListener, TcpStream};

    fn window(segments: u32, payload: u32) -> ReceiveWindow {
        let text = format!(
            "duration = \"1 s\"\nsegment = {{ payload = \"{payload} B\" }}\ntcp = {{ receive_window = {segments} }}\n\
             [topology.dumbbell]\nbottleneck = {{ rate = \"1 Mbit/s\", delay = \"10 ms\" }}\n\
             [[flows]]\ncontrol = \"reno\"\n"
        );
        let sweep = Sweep::read("test.toml", &text, &[]).expect("a scenario");
        ReceiveWindow::new(&sweep.points[0].scenario.build().expect("a plan").plan.flows[0], payload)
    }

    /// Small segments in a window of nearly a gigabyte take more memory than a socket can have.
    #[test]
    fn any_window_can_be_held() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let socket = TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
        for (segments, payload) in [(1, 48), (30, 1000), (2_000_000, 500), (700_000, 1460)] {
            let mut window = window(segments, payload);
            assert_eq!(window.bytes, Some((segments * payload) as i32));
            window.announce(&socket).expect("the kernel takes it");
            window.hold(&socket, Time::ZERO).expect("the kernel takes it");
            assert_eq!(window.again, Some(Time::ZERO + INTERVAL));
        }
        let mut none = window(1 << 30, 1000);
        assert_eq!(none.bytes, None);
        none.hold(&socket, Time::ZERO).expect("nothing is done");
        assert_eq!(none.again, None);
    }
}
