//! `[segment]`: the size of a full segment.

use super::reader::{At, Result};
use ackclock_tcp::Config;
use ackclock_units::Bytes;

/// The largest segment with headers, bytes: an IP datagram (RFC 791).
const MAX_BYTES: u64 = 65_535;

/// Reads the sizes of payload and header.
pub(crate) fn read_segment(at: &At<'_>, config: &mut Config) -> Result<()> {
    let table = at.table()?;
    let bytes = |key: &'static str, place: &mut u16| -> Result<()> {
        let Some(at) = table.get(key) else { return Ok(()) };
        let Bytes(bytes) = at.quantity()?;
        if !(1..=MAX_BYTES).contains(&bytes) {
            return Err(at
                .error(format!("{bytes} B do not make a packet"))
                .help(format!("it must be 1 B to {MAX_BYTES} B")));
        }
        *place = bytes as u16;
        Ok(())
    };
    bytes("payload", &mut config.payload)?;
    bytes("header", &mut config.header)?;
    if u64::from(config.payload) + u64::from(config.header) > MAX_BYTES {
        return Err(at
            .error("payload and header together do not fit into a packet")
            .help(format!("at most {MAX_BYTES} B in all")));
    }
    table.finish()
}
