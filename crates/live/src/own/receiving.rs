//! The receiving host of a flow. It is the kernel's, unless the controller counts marks. Linux tells of each
//! mark by itself only with accurate ECN, which 6.18 does not take (`tcp_ecn = 3`), or if its own controller
//! on the connection is `dctcp`. So our own TCP receives, too, and counts them (RFC 9768).

use super::{LONGEST_SLEEP, Line, Own};
use crate::error::LiveError;
use crate::flow::{CHUNK, PORT};
use crate::schedule;
use ackclock_stack::{ConnectionId, Host, Limits, ListenerId, Port};
use ackclock_units::Time;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::Sender;

/// Connections that wait to be accepted. A flow has one after the other.
const BACKLOG: usize = 16;
/// The largest receive window (RFC 7323 section 2.3), bytes.
const MAX_WINDOW: u64 = 1 << 30;

/// What has arrived at a receiving host of our own.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrived {
    /// Bytes in order, those of ended connections included.
    pub(super) bytes: u64,
    /// Segments, those of handshakes included.
    pub(super) segments: u64,
}

impl Own<'_> {
    /// The receiving program. It needs a thread of its own. It reports when it listens, and when each
    /// transfer is complete.
    pub(crate) fn receive(&self, listens: &Sender<()>, complete: &Sender<Time>) -> Result<(), LiveError> {
        let flow = &self.kernel;
        if !flow.receiver.is_own() {
            return flow.receive(listens, complete);
        }
        schedule::ahead();
        schedule::sharp();
        let seed = flow.plan.draws.clone().word().wrapping_add(1);
        let port = Port::new(flow.receiver.device()?);
        let mut line = Line { port, host: Host::new(Limits::default(), seed) };
        let here = SocketAddr::new(IpAddr::V4(flow.receiver.address), PORT);
        let mut options = self.options();
        let window = u64::from(flow.plan.config.peer_window).saturating_mul(flow.payload.into());
        options.receive_buffer = window.min(MAX_WINDOW) as usize;
        let listener = line.host.listen(here, options.into(), BACKLOG);
        let listener = listener.map_err(|error| LiveError::Defect { what: error.to_string() })?;
        // The sender may have ended. Then nobody needs the report.
        let _ = listens.send(());
        let mut ended = 0;
        while !flow.over() {
            let Some(id) = self.accept(&mut line, listener)? else { continue };
            let (bytes, whole) = self.drain(&mut line, id, ended)?;
            ended += bytes;
            if whole {
                let _ = complete.send(flow.clock.now());
            }
        }
        Ok(())
    }

    /// The next connection, if there is one soon.
    fn accept(&self, line: &mut Line, listener: ListenerId) -> Result<Option<ConnectionId>, LiveError> {
        self.move_on(line)?;
        let next = line.host.accept(listener);
        if next.is_none() {
            self.rest(line)?;
        }
        Ok(next)
    }

    /// Reads one connection to its end. Returns its bytes, and whether it was closed. `before`: the bytes of
    /// connections that have ended.
    fn drain(&self, line: &mut Line, id: ConnectionId, before: u64) -> Result<(u64, bool), LiveError> {
        let mut buffer = vec![0; CHUNK];
        let mut bytes = 0;
        let whole = loop {
            self.move_on(line)?;
            let now = self.kernel.clock.now();
            let end = loop {
                match line.host.read(now, id, &mut buffer) {
                    Ok(0) => break Some(true),
                    Ok(_) => {}
                    Err(_) => {
                        break line.host.info(id).is_none_or(|info| info.why.is_some()).then_some(false);
                    }
                }
            };
            bytes = line.host.info(id).map_or(bytes, |info| info.received);
            let segments = line.host.counts().segments_in;
            self.seen().arrived = Arrived { bytes: before + bytes, segments };
            line.port.send(&mut line.host, now);
            match end {
                Some(whole) => break whole,
                None if self.kernel.over() => break false,
                None => self.rest(line)?,
            }
        };
        line.host.close(self.kernel.clock.now(), id);
        line.host.release(self.kernel.clock.now(), id);
        Ok((bytes, whole))
    }

    /// Moves packets. What happens is asked for.
    fn move_on(&self, line: &mut Line) -> Result<(), LiveError> {
        let clock = || self.kernel.clock.now();
        while line.port.turn(&mut line.host, clock).map_err(self.cannot_receive())? && !self.kernel.over() {}
        while line.host.poll_event().is_some() {}
        Ok(())
    }

    fn rest(&self, line: &Line) -> Result<(), LiveError> {
        line.port.wait(&line.host, self.kernel.clock.now(), LONGEST_SLEEP).map_err(self.cannot_receive())
    }

    fn cannot_receive(&self) -> impl FnOnce(std::io::Error) -> LiveError {
        LiveError::kernel(format!("{} cannot receive", self.kernel.receiver.name))
    }
}
