//! Moves packets between a host and a device, in real time.

use crate::host::Host;
use crate::tun::Tun;
use ackclock_units::{Duration, Time};
use ackclock_wire::MAX_BYTES;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// The packets or trains that are read before departures have their turn.
const READ_AT_ONCE: usize = 64;

/// A device, and what it did not take yet.
pub struct Port {
    device: Tun,
    buffer: Vec<u8>,
    /// A packet for which the device had no room.
    waiting: Vec<u8>,
    refused: u64,
}

impl Port {
    /// The port of a device.
    pub fn new(device: Tun) -> Port {
        Port { device, buffer: vec![0; MAX_BYTES], waiting: Vec::new(), refused: 0 }
    }

    /// True if the device has no room. It is writable when it has.
    pub fn is_blocked(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The packets that the device did not accept.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Passes what has arrived to the host, up to 64 packets or trains, fires its timers, and sends what may
    /// leave. True: more may have arrived. `clock` tells the time. It is asked after each read: if the thread
    /// sleeps before a read, an earlier time would make round-trip times too short.
    ///
    /// # Errors
    ///
    /// If the device cannot be read.
    pub fn turn(&mut self, host: &mut Host, clock: impl Fn() -> Time) -> io::Result<bool> {
        // What was due before is sent before what has arrived changes it.
        let mut now = clock();
        host.on_timeout(now);
        self.send(host, now);
        let mut more = true;
        for _ in 0..READ_AT_ONCE {
            let Some(bytes) = self.device.read(&mut self.buffer)? else {
                more = false;
                break;
            };
            now = clock();
            host.receive(now, &self.buffer[..bytes]);
        }
        self.send(host, now);
        Ok(more)
    }

    /// Sleeps until something arrives, the host's next timer, or for `most`.
    ///
    /// # Errors
    ///
    /// If the device cannot be watched.
    pub fn wait(&self, host: &Host, now: Time, most: Duration) -> io::Result<()> {
        let sleep = host.poll_timeout().map_or(most, |at| at.since(now).min(most));
        let timeout = Timespec {
            tv_sec: (sleep.as_nanos() / 1_000_000_000) as _,
            tv_nsec: (sleep.as_nanos() % 1_000_000_000) as _,
        };
        let events = if self.is_blocked() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        match poll(&mut [PollFd::new(&self.device, events)], Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends what may leave.
    pub fn send(&mut self, host: &mut Host, now: Time) {
        if !self.waiting.is_empty() {
            if is_full(&self.device.write(&[&self.waiting])) {
                return;
            }
            self.waiting.clear();
        }
        while let Some(train) = host.transmit(now) {
            let written = self.device.write(&train.parts());
            if is_full(&written) {
                self.waiting = train.to_vec();
                return;
            }
            self.refused += u64::from(written.is_err());
        }
    }
}

/// True if the device has no room now.
fn is_full(written: &io::Result<()>) -> bool {
    written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}
