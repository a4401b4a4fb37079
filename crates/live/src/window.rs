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
/// The limit is set this often.
const INTERVAL: Duration = Duration::from_millis(10);

/// The window that the receiving end of one connection offers.
pub(crate) struct ReceiveWindow {
    /// Its size, bytes; `None`: no limit that real TCP can offer (RFC 7323: below 2^30).
    bytes: Option<i32>,
    /// The memory that so many segments take, bytes.
    memory: u64,
    /// When to set the limit again. `None`: no data has come.
    again: Option<Time>,
}

impl ReceiveWindow {
    /// That of a flow whose real segments have `payload` bytes.
    pub(crate) fn new(plan: &FlowPlan, payload: u32) -> ReceiveWindow {
        let (segments, payload) = (u64::from(plan.config.peer_window), u64::from(payload));
        let bytes = i32::try_from(segments * payload).ok().filter(|&bytes| bytes < 1 << 30);
        ReceiveWindow { bytes, memory: segments * (payload + OVERHEAD), again: None }
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
