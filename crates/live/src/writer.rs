//! The application of a flow that writes bursts: a program of the emulator, which writes by the schedule of
//! the scenario into a real socket, and records the result.

use crate::flow::{CHUNK, Flow, is_timeout};
use ackclock_scenario::writing::{BurstTally, Bursts, Timetable};
use ackclock_units::Time;
use std::io::{self, Write};
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
        let mut timetable = Timetable::new(bursts, self.clock.now());
        let chunk = vec![0; CHUNK];
        let mut written = 0;
        while let Some(due) = timetable.next() {
            self.sleep_until(due);
            let mut left = bursts.size;
            while left > 0 && self.goes_on() {
                match stream.write(&chunk[..(CHUNK as u64).min(left) as usize]) {
                    Ok(bytes) => (left, written) = (left - bytes as u64, written + bytes as u64),
                    Err(error) if is_timeout(&error) => {}
                    Err(error) => return Err(error),
                }
            }
            if left > 0 {
                break;
            }
            timetable.finished(self.clock.now());
        }
        let all = timetable.next().is_none();
        let bursting = &mut self.tracked().bursting;
        (bursting.until, bursting.written, bursting.timetable) = (self.clock.now(), written, Some(timetable));
        Ok(all)
    }
}
