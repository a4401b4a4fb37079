//! How the application of a flow writes its data: `bursts`, `send_buffer`.

use super::reader::{At, Result, Table};
use crate::writing::{Bursts, Writing};
use ackclock_units::{Bytes, Duration};

/// The largest number of bursts of a flow. The end of each burst is recorded.
const MAX_BURSTS: u64 = 1_000_000;
/// The largest socket buffer, bytes (RFC 7323: no window is larger).
const MAX_BUFFER: u64 = 1 << 30;
const EXAMPLE: &str = "{ size = \"128 kB\", every = \"10 ms\", for = \"2 s\" }";

/// `asked`: the transfers are responses, so their sizes say how many bursts there are.
pub(crate) fn read_writing(table: &Table<'_>, payload: u16, asked: bool) -> Result<Option<Writing>> {
    let bursts = table.get("bursts").map(|at| match asked {
        true => read_bursts_of_responses(&at, payload),
        false => read_bursts(&at, table, payload),
    });
    let bursts = bursts.transpose()?;
    let buffer = table.get("send_buffer").map(|at| read_buffer(&at, payload)).transpose()?;
    Ok((asked || bursts.is_some() || buffer.is_some()).then_some(Writing { buffer, bursts }))
}

fn read_bursts_of_responses(at: &At<'_>, payload: u16) -> Result<Bursts> {
    let table = at.table_like("{ size = \"128 kB\", every = \"10 ms\" }")?;
    let (size, every) = read_burst(&table, payload)?;
    if let Some(at) = table.get("for") {
        let help = "remove it: a response is as long as its size";
        return Err(at.error("the bursts of a response end with it").help(help));
    }
    let queued = table.get("queued").map(|at| at.flag()).transpose()?.unwrap_or(false);
    table.finish()?;
    Ok(Bursts { size, every, count: 0, queued })
}

/// The size and the period of bursts.
fn read_burst(table: &Table<'_>, payload: u16) -> Result<(u64, Duration)> {
    let size = at_least_a_segment(&table.need("size", "\"128 kB\"")?, payload, "a burst")?;
    let every_at = table.need("every", "\"10 ms\"")?;
    let every: Duration = every_at.quantity()?;
    if every.is_zero() {
        return Err(every_at
            .error("bursts without end at one instant")
            .help("give a period, for example \"10 ms\""));
    }
    Ok((size, every))
}

fn read_bursts(at: &At<'_>, flow: &Table<'_>, payload: u16) -> Result<Bursts> {
    let other = ["size", "repeat", "interval", "pause", "page"].into_iter().find_map(|key| flow.get(key));
    if let Some(other) = other {
        return Err(other
            .error("a flow either writes bursts or makes transfers of a size")
            .help("remove this key, or bursts"));
    }
    let table = at.table_like(EXAMPLE)?;
    let (size, every) = read_burst(&table, payload)?;
    let span: Duration = table.need("for", "\"2 s\"")?.quantity()?;
    let count = 1 + span.as_nanos() / every.as_nanos();
    if count > MAX_BURSTS {
        return Err(at
            .error(format!("these are {count} bursts"))
            .help(format!("at most {MAX_BURSTS}: write for a shorter time, or less often")));
    }
    let queued = table.get("queued").map(|at| at.flag()).transpose()?.unwrap_or(false);
    table.finish()?;
    Ok(Bursts { size, every, count, queued })
}

fn read_buffer(at: &At<'_>, payload: u16) -> Result<u64> {
    let bytes = at_least_a_segment(at, payload, "a buffer")?;
    if bytes > MAX_BUFFER {
        return Err(at
            .error(format!("a buffer of {bytes} B is larger than any window"))
            .help(format!("it must be {MAX_BUFFER} B at most; leave it out for no limit")));
    }
    Ok(bytes)
}

/// Reads a size of at least one segment. Segments are sent only when they are full.
fn at_least_a_segment(at: &At<'_>, payload: u16, what: &str) -> Result<u64> {
    let Bytes(bytes) = at.quantity()?;
    if bytes < u64::from(payload) {
        return Err(at
            .error(format!("{what} of {bytes} B does not fill a segment"))
            .help(format!("it must be {payload} B at least, the payload of a segment")));
    }
    Ok(bytes)
}
