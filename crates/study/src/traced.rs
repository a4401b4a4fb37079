//! What `ackclock trace` tells of a flow's connection, while the flow runs: for expectations.
//!
//! A capture of one link goes through a pipe into the tracer, so a run needs no file and hardly any memory.

use crate::packets::ReadProblem;
use crate::trace::{Connection, Direction, Event, Times, trace};
use ackclock_net::Fate;
use ackclock_scenario::Built;
use ackclock_scenario::traced::{TracedAck, TracedFlow};
use ackclock_sim::engine::{Observer, PacketRef, SenderView};
use ackclock_sim::observers::{Tap, tap};
use ackclock_units::{Duration, Time};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, BufWriter, PipeWriter, Write, pipe};
use std::net::IpAddr;
use std::thread::{self, JoinHandle};

/// The number of first packets with data, and of first acknowledgements, that are kept of each connection.
const FIRST: usize = 64;
/// The addresses of senders and of receivers, in captures of the simulator and of the emulator, begin here.
const SENDERS: u32 = 0x0A00_0001;
const RECEIVERS: u32 = 0x0A80_0001;

/// The flow of a connection in a capture of ours, and the number of its end that sends the data.
pub(crate) fn flow(connection: &Connection) -> Option<(usize, usize)> {
    let sender = |end: usize| match connection.ends[end].ip() {
        IpAddr::V4(address) => {
            let number = address.to_bits().checked_sub(SENDERS)?;
            (address.to_bits() < RECEIVERS).then_some((number as usize, end))
        }
        IpAddr::V6(_) => None,
    };
    sender(0).or_else(|| sender(1))
}

/// Reads a capture that the simulator or the emulator wrote: the first connection of each flow.
///
/// # Errors
///
/// [`ReadProblem`] if it is no capture.
pub fn traced(capture: impl BufRead) -> Result<Vec<TracedFlow>, ReadProblem> {
    // Per connection and direction.
    let mut courses: Vec<[Course; 2]> = Vec::new();
    let told = trace(capture, &mut |number, direction, at, event| {
        if courses.len() <= number {
            courses.resize_with(number + 1, Default::default);
        }
        courses[number][direction].see(at, event);
    })?;
    let mut flows: BTreeMap<usize, TracedFlow> = BTreeMap::new();
    for connection in &told.connections {
        let Some((flow, end)) = flow(connection) else { continue };
        let course = courses.get_mut(connection.number).map(|it| std::mem::take(&mut it[end]));
        let Course { data, acks, .. } = course.unwrap_or_default();
        flows.entry(flow).or_insert_with(|| TracedFlow {
            flow,
            data: numbers(&connection.directions[end]),
            acknowledgements: numbers(&connection.directions[1 - end]),
            data_at_s: data,
            acks,
        });
    }
    Ok(flows.into_values().collect())
}

/// The beginning of a direction: what each acknowledgement let go.
#[derive(Default)]
struct Course {
    /// The last acknowledgement is one that is kept.
    counts: bool,
    sent: u64,
    acked: u64,
    data: Vec<f64>,
    acks: Vec<TracedAck>,
}

impl Course {
    fn see(&mut self, at: Time, event: Event) {
        match event {
            Event::Data { end, .. } => {
                self.sent = self.sent.max(end);
                if self.data.len() < FIRST {
                    self.data.push(at.as_secs_f64());
                }
                if let Some(last) = self.acks.last_mut().filter(|_| self.counts) {
                    last.sent += 1;
                }
            }
            // An acknowledgement of the SYN alone tells nothing. Bytes count from the SYN, as number 0.
            Event::Acked(bytes) if bytes > self.acked.max(1) && self.sent > 0 => {
                self.acked = bytes;
                // What follows the last one that is kept still counts for it, until the next one comes.
                self.counts = self.acks.len() < FIRST;
                if self.counts {
                    self.acks.push(TracedAck {
                        at_s: at.as_secs_f64(),
                        acked_bytes: bytes - 1,
                        outstanding_bytes: self.sent.saturating_sub(bytes),
                        sent: 0,
                    });
                }
            }
            _ => {}
        }
    }
}

/// The numbers of a direction by their names in JSON.
fn numbers(direction: &Direction) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    flatten("", &serde_json::to_value(direction).unwrap_or_default(), &mut all);
    all
}

fn flatten(name: &str, value: &Value, all: &mut BTreeMap<String, f64>) {
    match value {
        Value::Bool(flag) => drop(all.insert(name.to_owned(), f64::from(u8::from(*flag)))),
        Value::Number(number) => drop(number.as_f64().map(|it| all.insert(name.to_owned(), it))),
        Value::Object(fields) => {
            let within =
                |field: &str| if name.is_empty() { field.to_owned() } else { format!("{name}.{field}") };
            fields.iter().for_each(|(field, value)| flatten(&within(field), value, all));
        }
        _ => {}
    }
}

/// The numbers that a direction may have.
pub(crate) fn known() -> BTreeMap<String, f64> {
    let times = Times { samples: 1, min_s: 1.0, mean_s: 1.0, max_s: 1.0, sd_s: 1.0 };
    numbers(&Direction {
        window_scale: Some(1),
        mss: Some(1),
        stream_bytes: Some(1),
        missed_bytes: Some(1),
        rtt: Some(times),
        retransmission: Some(times),
        ..Direction::default()
    })
}

/// Traces a link while its scenario runs.
pub(crate) struct Tracer {
    tap: Tap<BufWriter<PipeWriter>>,
    reader: JoinHandle<Result<Vec<TracedFlow>, ReadProblem>>,
    end: Time,
}

impl Tracer {
    /// A tracer of the link with this number.
    pub(crate) fn new(built: &Built, link: usize) -> std::io::Result<Tracer> {
        let (from, to) = pipe()?;
        let reader = thread::Builder::new().spawn(move || traced(BufReader::new(from)))?;
        let tap = tap(built, &built.links[link].name, BufWriter::new(to))?;
        Ok(Tracer { tap, reader, end: built.plan.duration })
    }

    /// What was traced.
    pub(crate) fn finish(self) -> std::io::Result<Vec<TracedFlow>> {
        let mut written = self.tap.finish(self.end)?;
        written.flush()?;
        drop(written);
        let read = self.reader.join().map_err(|_| std::io::Error::other("the tracer panicked"))?;
        read.map_err(std::io::Error::other)
    }
}

impl Observer for Tracer {
    fn is_there(&self) -> bool {
        self.tap.is_there()
    }

    fn minds(&self, link: usize, packet: PacketRef<'_>) -> bool {
        self.tap.minds(link, packet)
    }

    fn minds_sender(&self, flow: usize) -> bool {
        self.tap.minds_sender(flow)
    }

    fn at_link(&mut self, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        self.tap.at_link(link, delay, packet, fate);
    }

    fn at_transmitter(&mut self, now: Time, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        self.tap.at_transmitter(now, link, delay, packet, fate);
    }

    fn at_sender(&mut self, now: Time, flow: usize, sender: &SenderView) {
        self.tap.at_sender(now, flow, sender);
    }
}
