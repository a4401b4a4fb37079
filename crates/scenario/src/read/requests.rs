//! The transfers of a flow: `size`, `repeat`, `pause`, `interval`, and `page` for transfers that belong
//! together.

use super::document::Value;
use super::reader::{At, Result, Table};
use super::size_file::read_size_file;
use super::variate::read_variate;
use crate::requests::{Count, Gap, Page, Size};
use ackclock_net::Distribution;
use ackclock_units::{Bytes, Duration};
use std::sync::Arc;

/// The transfers of each flow of a group.
#[derive(Clone, Debug)]
pub(crate) struct TransferSpec {
    pub(crate) size: Size,
    pub(crate) repeat: u64,
    pub(crate) gap: Gap,
    pub(crate) page: Option<Page>,
    /// Set if transfers come at random, all of them together with this share of the narrowest link's rate.
    pub(crate) load: Option<f64>,
}

/// The largest number of transfers that `repeat` can give.
const MAX_TRANSFERS: u64 = 1_000_000;
/// The largest number of segments of a transfer, or of objects of a page, that can be drawn.
const MAX_COUNT: u64 = 1 << 40;

pub(crate) fn read_requests(table: &Table<'_>, payload: u16) -> Result<TransferSpec> {
    let size = table.get("size").map(|at| read_size(&at, payload)).transpose()?.unwrap_or(Size::Unlimited);
    let repeat = table.get("repeat").map(|at| at.count(1, MAX_TRANSFERS)).transpose()?;
    let (pause, interval) = (table.get("pause"), table.get("interval"));
    if let Some(at) = table.get("load") {
        return read_load(&at, table, size);
    }
    let pause_alone = || table.get("pause").filter(|_| table.get("page").is_none());
    let again = table.get("repeat").or_else(|| table.get("interval")).or_else(pause_alone);
    if let (Size::Unlimited, Some(at)) = (&size, again) {
        return Err(at
            .error("unlimited transfers cannot be repeated")
            .help("give the transfer a size, for example size = \"2 GB\""));
    }
    if let (Some(_), Some(at)) = (&pause, &interval) {
        return Err(at
            .error("the next transfer comes either so long after the end of the last one, or after its start")
            .help("remove pause, or interval"));
    }
    let page = table.get("page").map(|at| read_page(&at, &size, pause.is_some())).transpose()?;
    let ever = pause.is_some() || interval.is_some();
    let gap = match (pause, interval) {
        (_, Some(at)) => Gap::AfterStart(read_variate(&at, THINKING)?),
        (Some(at), None) => Gap::AfterEnd(read_variate(&at, THINKING)?),
        (None, None) => Gap::AfterEnd(Distribution::Fixed(Duration::ZERO)),
    };
    Ok(TransferSpec {
        size,
        repeat: repeat.unwrap_or(if ever { u64::MAX } else { 1 }),
        gap,
        page,
        load: None,
    })
}

/// The largest load: ten times what fits on the link.
const MAX_LOAD: f64 = 10.0;

/// Reads transfers that come as a Poisson process. How often, the route decides when the scenario is built.
fn read_load(at: &At<'_>, table: &Table<'_>, size: Size) -> Result<TransferSpec> {
    let load = at.number(0.0, MAX_LOAD)?;
    if load == 0.0 {
        return Err(at.error("with a load of 0 nothing would ever come").help("for example load = 0.6"));
    }
    if size == Size::Unlimited {
        return Err(at
            .error("a load is made of transfers that have a size")
            .help("for example size = \"100 kB\" or size = { file = \"sizes.csv\" }"));
    }
    let other = ["repeat", "pause", "interval", "page", "bursts"].into_iter().find_map(|key| table.get(key));
    if let Some(other) = other {
        return Err(other
            .error("with a load transfers come at random, as often as the load says")
            .help("remove this key, or load"));
    }
    let gap = Gap::Arrivals(Distribution::Fixed(Duration::ZERO));
    Ok(TransferSpec { size, repeat: u64::MAX, gap, page: None, load: Some(load) })
}

/// Reads a page: transfers that belong together, with a pause after them.
fn read_page(at: &At<'_>, size: &Size, pause: bool) -> Result<Page> {
    if *size == Size::Unlimited {
        return Err(at
            .error("the objects of a page have a size")
            .help("for example size = { lomax = { mean = 12, shape = 1.2 } }"));
    }
    if !pause {
        return Err(at
            .error("nothing says when the next page comes")
            .help("add pause = { exponential = \"15 s\" }"));
    }
    let table = at.table_like("{ objects = 4, between = \"10 ms\" }")?;
    let objects = read_count(&table.need("objects", "4")?, "4 or { pareto = { mean = 4, shape = 1.2 } }")?;
    let between =
        table.get("between").map(|at| read_variate(&at, "\"10 ms\" or { exponential = \"10 ms\" }"));
    table.finish()?;
    Ok(Page::new(objects, between.transpose()?.unwrap_or(Distribution::Fixed(Duration::ZERO))))
}

const THINKING: &str = "\"15 s\" or { pareto = { mean = \"15 s\", shape = 1.5 } }";

/// Reads an amount of data, or a random number of segments.
fn read_size(at: &At<'_>, payload: u16) -> Result<Size> {
    if let Value::Table(entries) = &at.node.value {
        if let [(key, _)] = &entries[..]
            && key == "file"
        {
            let file = at.table()?.need("file", "\"sizes.csv\"")?;
            return Ok(Size::Table(Arc::new(read_size_file(&file)?), payload));
        }
        return read_count(at, "\"1 MB\" or { uniform = [10, 20] }").map(Size::Segments);
    }
    let Bytes(bytes) = at.quantity()?;
    if bytes == 0 {
        return Err(at
            .error("a transfer of nothing would never be sent")
            .help("give it a size such as \"1 MB\", or leave size out for unlimited data"));
    }
    Ok(Size::Segments(Count::Fixed(bytes.div_ceil(u64::from(payload)))))
}

/// Reads a number from 1 on, or a table with the name of a distribution.
fn read_count(at: &At<'_>, example: &str) -> Result<Count> {
    if matches!(at.node.value, Value::Number(_)) {
        return at.count(1, MAX_COUNT).map(Count::Fixed);
    }
    match at.choice_like(example)? {
        ("uniform", Some(inner)) => {
            let bounds = inner.list()?;
            let [least, most] = &bounds[..] else {
                return Err(inner
                    .error("the least and the most are wanted here")
                    .help("for example { uniform = [10, 20] }"));
            };
            let (least, most) = (least.count(1, MAX_COUNT)?, most.count(1, MAX_COUNT)?);
            if most < least {
                return Err(inner
                    .error("the upper bound is below the lower one")
                    .help("write the smaller number first"));
            }
            Ok(Count::Uniform(least, most))
        }
        ("pareto", Some(inner)) => read_tail(&inner).map(|(mean, shape)| Count::Pareto { mean, shape }),
        ("lomax", Some(inner)) => read_tail(&inner).map(|(mean, shape)| Count::Lomax { mean, shape }),
        (word, _) => Err(at.unknown("distribution of numbers", word, &["uniform", "pareto", "lomax"])),
    }
}

fn read_tail(at: &At<'_>) -> Result<(f64, f64)> {
    let table = at.table_like("{ mean = 12, shape = 1.2 }")?;
    let mean = table.need("mean", "12")?.number(1.0, 1e9)?;
    let shape_at = table.need("shape", "1.2")?;
    let shape = shape_at.number(0.0, 1e3)?;
    if shape <= 1.0 {
        return Err(shape_at
            .error(format!("a tail of shape {shape} has no mean"))
            .help("its shape must be above 1; heavy tails begin below 2"));
    }
    table.finish()?;
    Ok((mean, shape))
}
