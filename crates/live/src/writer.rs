//! The application of a flow: a program of the emulator, which writes into a real socket with the scenario's
//! buffer, all at once or bursts by the scenario's schedule, and records the result.

use crate::clock::PATIENCE;
use crate::flow::{CHUNK, Flow};
use ackclock_scenario::writing::{BurstTally, Bursts, Timetable};
use ackclock_sockets::{is_timeout, unacknowledged, write_bursts, write_in_bursts};
use ackclock_units::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::sendfile;
use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The wait for acknowledgements where the scenario's buffer is full and the kernel's, never smaller than
/// 4.5 KiB, is not (SOCK_MIN_SNDBUF).
const SOON: Duration = Duration::from_millis(1);

/// The state of a flow's bursts.
#[derive(Default)]
pub(crate) struct Bursting {
    timetable: Option<Timetable>,
    written: u64,
    /// When the writing or the run ended.
    until: Time,
    received: u64,
    arrivals: Option<(Time, Time)>,
}

impl Bursting {
    /// The receiving program has read `bytes` bytes in all. `reads`: the instants of the first and the last
    /// read.
    pub(crate) fn arrived(&mut self, bytes: u64, reads: Option<(Time, Time)>) {
        self.received = bytes;
        self.arrivals = reads;
    }

    /// The tally of the bursts, if there are any.
    pub(crate) fn tally(&self) -> Option<BurstTally> {
        let timetable = self.timetable.as_ref()?;
        Some(timetable.tally(self.until, self.written, self.received, self.arrivals))
    }
}

/// A socket that never holds more data than the scenario's buffer. The kernel's own limit lets up to half a
/// megabyte more pass ([`ackclock_sockets::set_send_buffer`]); when it has room again it wakes the writer.
struct Bounded<'a> {
    stream: &'a TcpStream,
    capacity: Option<u64>,
}

impl Bounded<'_> {
    /// Waits until the socket takes data, and returns how many bytes.
    fn room(&self) -> io::Result<usize> {
        let Some(capacity) = self.capacity else { return Ok(CHUNK) };
        let patience = Timespec { tv_sec: 0, tv_nsec: PATIENCE.as_nanos() as _ };
        let mut socket = [PollFd::new(self.stream, PollFlags::OUT)];
        if poll(&mut socket, Some(&patience))? == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        // What a broken connection holds stays. Writing says what is wrong.
        if socket[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) {
            return Ok(CHUNK);
        }
        let room = capacity.saturating_sub(unacknowledged(self.stream)?);
        if room == 0 {
            std::thread::sleep(SOON);
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok(room.min(CHUNK as u64) as usize)
    }
}

impl Write for Bounded<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let room = self.room()?;
        self.stream.write(&data[..data.len().min(room)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Flow<'_> {
    fn bounded<'a>(&self, stream: &'a TcpStream) -> Bounded<'a> {
        Bounded { stream, capacity: self.plan.writing.and_then(|writing| writing.buffer) }
    }

    /// Writes so many bytes, or until nobody wants more. True if all of them were written.
    pub(crate) fn write_all(&self, stream: &TcpStream, mut left: u64) -> io::Result<bool> {
        let socket = self.bounded(stream);
        while left > 0 && self.goes_on() {
            let write = |room: usize| {
                Ok(sendfile(stream, self.zeros, Some(&mut 0), (room as u64).min(left) as usize)?)
            };
            match socket.room().and_then(write) {
                Ok(bytes) => left -= bytes as u64,
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(left == 0)
    }

    /// Writes a transfer in bursts, until all are written, or nobody wants more; true if all are.
    pub(crate) fn answer_in_bursts(
        &self,
        stream: &TcpStream,
        bytes: u64,
        bursts: Bursts,
    ) -> io::Result<bool> {
        let (bursts, alarm) = (bursts.covering(bytes), self.clock.alarm()?);
        let socket = &mut self.bounded(stream);
        Ok(write_in_bursts(socket, &vec![0; CHUNK], bytes, bursts, &alarm, || self.goes_on())?.all())
    }

    /// Writes bursts until all are written, or nobody wants more; true if all are.
    pub(crate) fn write_bursts(&self, stream: &TcpStream, bursts: Bursts) -> io::Result<bool> {
        let alarm = self.clock.alarm()?;
        let socket = &mut self.bounded(stream);
        let written = write_bursts(socket, &vec![0; CHUNK], bursts, &alarm, || self.goes_on())?;
        let all = written.all();
        let bursting = &mut self.tracked().bursting;
        bursting.until = written.until;
        bursting.written = written.bytes;
        bursting.timetable = Some(written.timetable);
        Ok(all)
    }
}
