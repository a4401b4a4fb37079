//! What a flow is asked for: `size`, `repeat`, `pause`, `interval`.

use super::document::Value;
use super::reader::{At, Result, Table};
use super::variate::read_variate;
use crate::requests::{Gap, Size};
use ackclock_net::Variate;
use ackclock_units::{Bytes, Duration};

/// The transfers of each flow of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asks {
    pub(crate) size: Size,
    pub(crate) repeat: u64,
    pub(crate) gap: Gap,
}

/// Most transfers of a flow that are asked for by number.
const MOST_TRANSFERS: u64 = 1_000_000;
/// Most segments of a transfer whose size is drawn.
const MOST_SEGMENTS: u64 = 1 << 40;

pub(crate) fn read_requests(table: &Table<'_>, payload: u16) -> Result<Asks> {
    let size = table.get("size").map(|at| read_size(&at, payload)).transpose()?.unwrap_or(Size::Unlimited);
    let repeat = table.get("repeat").map(|at| at.count(1, MOST_TRANSFERS)).transpose()?;
    let (pause, interval) = (table.get("pause"), table.get("interval"));
    if let (Size::Unlimited, Some(at)) = (size, table.get("repeat").or_else(|| table.get("interval"))) {
        return Err(at
            .error("unlimited transfers cannot be repeated")
            .help("give the transfer a size, for example size = \"2 GB\""));
    }
    if let (Some(_), Some(at)) = (&pause, &interval) {
        return Err(at
            .error("the next transfer comes either so long after the end of the last one, or after its start")
            .help("remove pause, or interval"));
    }
    if let (None, Some(at)) = (repeat, &pause) {
        return Err(at
            .error("there is no next transfer to pause before")
            .help("add repeat = 10, or remove pause"));
    }
    let gap = match (pause, interval) {
        (_, Some(at)) => Gap::AfterStart(read_variate(&at, THINKING)?),
        (Some(at), None) => Gap::AfterEnd(read_variate(&at, THINKING)?),
        (None, None) => Gap::AfterEnd(Variate::Fixed(Duration::ZERO)),
    };
    let once = if matches!(gap, Gap::AfterStart(_)) { u64::MAX } else { 1 };
    Ok(Asks { size, repeat: repeat.unwrap_or(once), gap })
}

const THINKING: &str = "\"15 s\" or { pareto = { mean = \"15 s\", shape = 1.5 } }";

/// An amount of data, or a number of segments that is drawn.
fn read_size(at: &At<'_>, payload: u16) -> Result<Size> {
    if !matches!(at.node.value, Value::Table(_)) {
        let Bytes(bytes) = at.quantity()?;
        if bytes == 0 {
            return Err(at
                .error("a transfer of nothing would never be sent")
                .help("give it a size such as \"1 MB\", or leave size out for unlimited data"));
        }
        return Ok(Size::Segments(bytes.div_ceil(u64::from(payload))));
    }
    let example = "\"1 MB\" or { uniform = [10, 20] }";
    match at.choice_like(example)? {
        ("uniform", Some(inner)) => {
            let bounds = inner.list()?;
            let [least, most] = &bounds[..] else {
                return Err(inner
                    .error("the least and the most segments are wanted here")
                    .help("for example { uniform = [10, 20] }"));
            };
            let (least, most) = (least.count(1, MOST_SEGMENTS)?, most.count(1, MOST_SEGMENTS)?);
            if most < least {
                return Err(inner
                    .error("the upper bound is below the lower one")
                    .help("write the smaller number first"));
            }
            Ok(Size::Uniform(least, most))
        }
        (word, _) => Err(at.unknown("kind of size", word, &["uniform"])),
    }
}
