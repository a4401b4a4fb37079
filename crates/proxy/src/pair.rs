//! One relayed connection: a socket of the kernel on the near side, a connection of our stack on the far
//! side.
//!
//! Nothing is kept in between. What the near side sends is read only as far as the stack has room, and what
//! the far side sends stays in the stack until the near socket takes it. So either reader slows the other
//! side's sender down through the windows of TCP.

use crate::budget::Share;
use crate::entry::End;
use crate::near;
use ackclock_stack::{ConnectionId, Host, Refused};
use ackclock_units::Time;
use std::io;
use std::net::{SocketAddr, TcpStream};

/// Bytes that are moved at a time.
pub(crate) const PIECE: usize = 64 << 10;

/// Which side of a pair failed, and how.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The near side: the kernel's error.
    Near(io::Error),
    /// The far side has ended; the stack tells why with an event.
    Far,
}

/// A relayed connection.
pub(crate) struct Pair {
    pub(crate) near: TcpStream,
    pub(crate) far: ConnectionId,
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
    /// The port of our stack that is reserved for it, if it has one.
    pub(crate) port: Option<Reserved>,
    pub(crate) share: Share,
    pub(crate) begun: Time,
    /// When something was last moved.
    pub(crate) moved: Time,
    /// Bytes from the near side that the stack has taken, and bytes that the near side has taken.
    pub(crate) to_far: u64,
    pub(crate) to_near: u64,
    near_open: bool,
    far_open: bool,
    /// The near socket may have something, or take something. It is asked until it says no.
    readable: bool,
    writable: bool,
    /// The end of this side's stream was passed on.
    near_ended: bool,
    far_ended: bool,
    /// The far connection has ended in order. What it has received may still wait for the near side.
    far_closed: bool,
}

/// A port of the stack that the kernel gives to nobody else.
pub(crate) struct Reserved {
    pub(crate) port: u16,
    pub(crate) _socket: std::os::fd::OwnedFd,
}

/// What a connection begins with.
pub(crate) struct Begin {
    pub(crate) near: TcpStream,
    pub(crate) far: ConnectionId,
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
    pub(crate) port: Option<Reserved>,
    pub(crate) share: Share,
    /// True if the near side is connected and the far side is not yet; otherwise the other way round.
    pub(crate) near_first: bool,
}

impl Pair {
    pub(crate) fn new(begin: Begin, now: Time) -> Pair {
        let Begin { near, far, client, server, port, share, near_first } = begin;
        Pair {
            near,
            far,
            client,
            server,
            port,
            share,
            begun: now,
            moved: now,
            to_far: 0,
            to_near: 0,
            near_open: near_first,
            far_open: !near_first,
            readable: false,
            writable: near_first,
            near_ended: false,
            far_ended: false,
            far_closed: false,
        }
    }

    /// True as long as the server has not answered.
    pub(crate) fn is_opening(&self) -> bool {
        !(self.near_open && self.far_open)
    }

    /// The far side is connected.
    pub(crate) fn far_connected(&mut self) {
        self.far_open = true;
    }

    /// The far side has ended in order.
    pub(crate) fn far_closed(&mut self) {
        self.far_closed = true;
    }

    /// True if both streams were passed on to their ends.
    pub(crate) fn is_complete(&self) -> bool {
        self.far_closed && self.near_ended && self.far_ended
    }

    /// The kernel has told something about the near socket.
    ///
    /// # Errors
    ///
    /// If it has failed.
    pub(crate) fn near_told(&mut self, readable: bool, writable: bool, failed: bool) -> Result<(), Failure> {
        if failed && let Some(error) = near::fault(&self.near) {
            return Err(Failure::Near(error));
        }
        self.readable |= readable;
        self.writable |= writable;
        self.near_open |= writable;
        Ok(())
    }

    /// Moves what can be moved, both ways.
    ///
    /// # Errors
    ///
    /// If a side has failed. The pair is then to be ended.
    pub(crate) fn pump(&mut self, stack: &mut Host, now: Time, scratch: &mut [u8]) -> Result<(), Failure> {
        if self.is_opening() {
            return Ok(());
        }
        self.near_to_far(stack, now, scratch)?;
        self.far_to_near(stack, now)
    }

    fn near_to_far(&mut self, stack: &mut Host, now: Time, scratch: &mut [u8]) -> Result<(), Failure> {
        while self.readable && !self.near_ended {
            let room = stack.room(self.far).min(scratch.len());
            if room == 0 {
                stack.want_room(self.far);
                return Ok(());
            }
            let Some(bytes) = near::read(&self.near, &mut scratch[..room]).map_err(Failure::Near)? else {
                self.readable = false;
                return Ok(());
            };
            self.moved = now;
            if bytes == 0 {
                self.near_ended = true;
                stack.close(now, self.far);
                return Ok(());
            }
            let taken = stack.write(now, self.far, &scratch[..bytes]).map_err(|_| Failure::Far)?;
            assert_eq!(taken, bytes, "the stack takes what it has room for");
            self.to_far += bytes as u64;
        }
        Ok(())
    }

    fn far_to_near(&mut self, stack: &mut Host, now: Time) -> Result<(), Failure> {
        while self.writable && !self.far_ended {
            let parts = match stack.peek(self.far) {
                Ok(parts) => parts,
                Err(Refused::Empty) => return Ok(()),
                Err(_) => return Err(Failure::Far),
            };
            if parts.iter().all(|part| part.is_empty()) {
                self.far_ended = true;
                self.moved = now;
                return near::finish(&self.near).map_err(Failure::Near);
            }
            let Some(bytes) = near::write(&self.near, parts).map_err(Failure::Near)? else {
                self.writable = false;
                return Ok(());
            };
            stack.consume(now, self.far, bytes);
            self.moved = now;
            self.to_near += bytes as u64;
        }
        Ok(())
    }

    /// Why it ended, if the near side failed in this way.
    pub(crate) fn near_failed(error: &io::Error, near_is_client: bool) -> End {
        match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe if near_is_client => {
                End::ResetByClient
            }
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => End::ResetByServer,
            io::ErrorKind::ConnectionRefused => End::Refused,
            io::ErrorKind::TimedOut => End::TimedOut,
            _ => End::Unreachable,
        }
    }
}
