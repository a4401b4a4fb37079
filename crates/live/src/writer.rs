//! The application of a flow that writes bursts: a program of the emulator, which writes by the schedule of
//! the scenario into a real socket, and records the result.

use crate::flow::{CHUNK, Flow};
use ackclock_scenario::writing::{BurstTally, Bursts, Timetable};
use ackclock_sockets::write_bursts;
use ackclock_units::Time;
use std::io;
use std::net::TcpStream;

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

impl Flow<'_> {
    /// Writes bursts until all are written, or nobody wants more; true if all are.
    pub(crate) fn write_bursts(&self, stream: &mut TcpStream, bursts: Bursts) -> io::Result<bool> {
        let alarm = self.clock.alarm()?;
        let written = write_bursts(stream, &vec![0; CHUNK], bursts, &alarm, || self.goes_on())?;
        let all = written.all();
        let bursting = &mut self.tracked().bursting;
        bursting.until = written.until;
        bursting.written = written.bytes;
        bursting.timetable = Some(written.timetable);
        Ok(all)
    }
}
