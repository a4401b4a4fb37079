//! A UDP socket: many datagrams per call in both directions, with the kernel's times of arrival.
//!
//! The kernel may pass trains of packets at once, and deliver them so. That destroys their spacing, which
//! transports measure and keep. So packets leave singly, and arrive singly, until their rate is so high that
//! there is no other way.

use super::TransferError;
use super::clock::Clock;
use crate::wire::MAX_DATAGRAM;
use ackclock_units::{Duration, Time};
use nix::sys::socket::{
    setsockopt,
    sockopt::{RcvBufForce, UdpGroSegment},
};
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};

/// Above this rate packets leave and arrive in trains, bit/s.
const TRAINS: f64 = 1e9;
/// Over which a rate is measured.
const ROUND: Duration = Duration::from_millis(10);
/// The socket's buffers, bytes; the kernel may allow less.
const BUFFER: usize = 8 << 20;
/// The longest train, bytes: what one datagram of UDP can have.
const TRAIN: usize = 65_000;

/// The socket and its buffers.
pub(super) struct Socket {
    socket: UdpSocket,
    state: UdpSocketState,
    clock: Clock,
    read: Vec<Vec<u8>>,
    meta: Vec<RecvMeta>,
    /// The train that is not sent yet: its bytes, the size of its datagrams, where it goes.
    train: Vec<u8>,
    size: usize,
    to: Option<SocketAddr>,
    trains: bool,
    /// Bytes in both directions since the round began.
    bytes: u64,
    round: Time,
    /// Why the last datagram could not be sent.
    trouble: Option<io::Error>,
}

impl Socket {
    pub(super) fn new(socket: UdpSocket, clock: Clock) -> Result<Socket, TransferError> {
        let state = UdpSocketState::new((&socket).into()).map_err(TransferError::socket("the socket"))?;
        // What the kernel allows is enough; more lets a receiver pause longer. It allows root any size.
        if setsockopt(&socket, RcvBufForce, &BUFFER).is_err() {
            let _ = state.set_recv_buffer_size((&socket).into(), BUFFER);
        }
        let _ = state.set_send_buffer_size((&socket).into(), BUFFER);
        let _ = setsockopt(&socket, UdpGroSegment, &false);
        Ok(Socket {
            state,
            socket,
            clock,
            read: vec![vec![0; TRAIN + 535]; BATCH_SIZE],
            meta: vec![RecvMeta::default(); BATCH_SIZE],
            train: Vec::with_capacity(2 * TRAIN),
            size: 0,
            to: None,
            trains: false,
            bytes: 0,
            round: clock.now(),
            trouble: None,
        })
    }

    /// Reads what has arrived, and shows each datagram with its time of arrival. False if there is nothing.
    pub(super) fn receive(
        &mut self,
        mut see: impl FnMut(&mut Vec<u8>, Time, SocketAddr, &[u8]) -> Option<SocketAddr>,
    ) -> Result<bool, TransferError> {
        let mut slices: Vec<IoSliceMut> = self.read.iter_mut().map(|bytes| IoSliceMut::new(bytes)).collect();
        let count = match self.state.recv((&self.socket).into(), &mut slices, &mut self.meta) {
            Ok(count) => count,
            // The network's messages about what was sent: others say whether it arrived.
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(true),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => return Ok(true),
            Err(error) => return Err(TransferError::Socket("the socket cannot be read", error)),
        };
        let now = self.clock.now();
        let (read, meta) = (std::mem::take(&mut self.read), std::mem::take(&mut self.meta));
        for (bytes, meta) in read.iter().zip(&meta).take(count) {
            let at = self.clock.at(meta.timestamp, now);
            self.bytes += meta.len as u64;
            for datagram in bytes[..meta.len].chunks(meta.stride.max(1)) {
                let begin = self.train.len();
                if let Some(to) = see(&mut self.train, at, meta.addr, datagram) {
                    self.join(begin, to);
                }
            }
        }
        (self.read, self.meta) = (read, meta);
        self.flush();
        self.judge(now);
        Ok(true)
    }

    /// Sends what `write` appends, and answers where to, until it has nothing. Returns how many there were.
    pub(super) fn send(&mut self, mut write: impl FnMut(&mut Vec<u8>) -> Option<SocketAddr>) -> usize {
        let mut sent = 0;
        loop {
            let begin = self.train.len();
            let Some(to) = write(&mut self.train) else { break };
            self.join(begin, to);
            sent += 1;
        }
        self.flush();
        sent
    }

    /// The datagram from `begin` on is part of the train, or begins a new one.
    fn join(&mut self, begin: usize, to: SocketAddr) {
        let length = self.train.len() - begin;
        debug_assert!(length <= MAX_DATAGRAM);
        let fits = self.to == Some(to) && length == self.size && self.trains;
        if begin > 0 && !fits {
            let next = self.train.split_off(begin);
            self.flush();
            self.train = next;
        }
        (self.size, self.to) = (length, Some(to));
        let datagrams = self.train.len() / length.max(1);
        if !self.trains || self.train.len() + length > TRAIN || datagrams >= self.state.max_gso_segments() {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let Some(destination) = self.to.take().filter(|_| !self.train.is_empty()) else {
            return self.train.clear();
        };
        self.bytes += self.train.len() as u64;
        let segment_size = (self.train.len() > self.size).then_some(self.size);
        let transmit = Transmit { destination, ecn: None, contents: &self.train, segment_size, src_ip: None };
        loop {
            match self.state.try_send((&self.socket).into(), &transmit) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.clock.wait_to_send(&self.socket),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // As if the network had lost it.
                Err(error) => break self.trouble = Some(error),
                Ok(()) => break self.trouble = None,
            }
        }
        self.train.clear();
    }

    /// Trains or not?
    fn judge(&mut self, now: Time) {
        let round = now.since(self.round);
        if round < ROUND {
            return;
        }
        let trains = self.bytes as f64 * 8.0 / round.as_secs_f64() > TRAINS;
        (self.bytes, self.round) = (0, now);
        if trains != self.trains {
            self.trains = trains;
            let _ = setsockopt(&self.socket, UdpGroSegment, &trains);
        }
    }

    /// Waits until `until`, or until something arrives.
    pub(super) fn wait(&self, until: Time) {
        self.clock.wait(&self.socket, until);
    }

    /// Why the last datagram could not be sent, if it could not.
    pub(super) fn trouble(&mut self) -> Option<io::Error> {
        self.trouble.take()
    }
}
