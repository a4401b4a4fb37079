//! `queue = ...`: the queue of a link.

use super::aqm::{AqmSpec, read_aqm};
use super::document::Value;
use super::reader::{At, Result};
use super::stepped::{SteppedSpec, read_stepped};
use ackclock_net::{DropTail, Limit, Queue, Red, RedConfig, Stream};
use ackclock_units::{Bytes, Rate};

/// The capacity of a queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Room {
    Packets(f64),
    Bytes(u64),
    /// A multiple of the bandwidth-delay product.
    Bdp(f64),
}

/// A queue as the file describes it.
#[derive(Clone, Debug)]
pub(crate) enum QueueSpec {
    Unlimited,
    DropTail(Room),
    Red(Box<RedSpec>),
    Aqm(Box<AqmSpec>),
    Stepped(Box<SteppedSpec>),
}

#[derive(Clone, Debug)]
pub(crate) struct RedSpec {
    min: Option<Room>,
    max: Option<Room>,
    limit: Room,
    probability: Option<f64>,
    weight: Option<f64>,
    gentle: bool,
    wait: bool,
    adaptive: bool,
    mark: bool,
    /// The dotted path in the file.
    path: String,
}

const KINDS: &[&str] = &["droptail", "red", "rem", "pi", "pie", "codel", "fq_codel", "dualpi2", "unlimited"];
const MOST_PACKETS: f64 = 1e9;

pub(crate) fn read_queue(at: &At<'_>) -> Result<QueueSpec> {
    match at.choice_like("{ droptail = \"1 bdp\" }")? {
        ("unlimited", None) => Ok(QueueSpec::Unlimited),
        ("droptail", Some(inner)) => Ok(QueueSpec::DropTail(read_room(&inner)?)),
        ("droptail", None) => {
            Err(at.error("it is not said how much may wait").help("for example { droptail = \"1 bdp\" }"))
        }
        ("red", inner) => read_red(at, inner),
        (word @ ("rem" | "pi" | "pie"), inner) => {
            read_aqm(at, word, inner).map(|spec| QueueSpec::Aqm(Box::new(spec)))
        }
        (word @ ("codel" | "fq_codel" | "dualpi2"), inner) => {
            read_stepped(at, word, inner).map(|spec| QueueSpec::Stepped(Box::new(spec)))
        }
        (word, _) => Err(at.unknown("queue", word, KINDS)),
    }
}

/// Reads `"5000 packets"`, `"1 bdp"` or `"64 kB"`.
pub(crate) fn read_room(at: &At<'_>) -> Result<Room> {
    const HELP: &str = "write it as \"5000 packets\", \"1 bdp\" or \"64 kB\"";
    if let Value::Number(_) = at.node.value {
        return Err(at.error(format!("{} has no unit", at.node.value.plain())).help(HELP));
    }
    let text = at.text().map_err(|error| error.help(HELP))?.trim();
    let counted = |unit: &str| text.strip_suffix(unit).map(|number| number.trim().parse::<f64>());
    let (number, room): (_, fn(f64) -> Room) = if let Some(number) =
        counted("packets").or_else(|| counted("packet"))
    {
        (number, Room::Packets)
    } else if let Some(number) = counted("bdp") {
        (number, Room::Bdp)
    } else {
        return at.quantity::<Bytes>().map(|bytes| Room::Bytes(bytes.0)).map_err(|error| error.help(HELP));
    };
    match number.map(|number| (number, room(number))) {
        Ok((number, Room::Packets(_))) if number.fract() != 0.0 => {
            Err(at.error(format!("\"{text}\" is not a whole number of packets")).help(HELP))
        }
        Ok((number, room)) if (0.0..=MOST_PACKETS).contains(&number) => Ok(room),
        _ => Err(at
            .error(format!("\"{text}\" is not room in a queue"))
            .help(format!("{HELP}, with a number from 0 to {MOST_PACKETS:e}"))),
    }
}

fn read_red(at: &At<'_>, inner: Option<At<'_>>) -> Result<QueueSpec> {
    let inner = inner
        .ok_or_else(|| at.error("RED needs a limit").help("for example { red = { limit = \"1 bdp\" } }"))?;
    let table = inner.table_like("{ red = { limit = \"1 bdp\" } }")?;
    let room = |key| table.get(key).map(|at| read_room(&at)).transpose();
    let spec = RedSpec {
        limit: read_room(&table.need("limit", "\"1 bdp\"")?)?,
        min: room("min")?,
        max: room("max")?,
        probability: table.get("probability").map(|at| at.number(1e-6, 1.0)).transpose()?,
        weight: table.get("weight").map(|at| at.number(1e-9, 1.0)).transpose()?,
        gentle: table.get("gentle").map(|at| at.flag()).transpose()?.unwrap_or(true),
        wait: table.get("wait").map(|at| at.flag()).transpose()?.unwrap_or(true),
        adaptive: table.get("adaptive").map(|at| at.flag()).transpose()?.unwrap_or(false),
        mark: table.get("mark").map(|at| at.flag()).transpose()?.unwrap_or(false),
        path: inner.path.clone(),
    };
    table.finish()?;
    if spec.min.is_some() != spec.max.is_some() {
        return Err(inner
            .error("RED takes both thresholds, min and max, or neither")
            .help("without them they are chosen automatically"));
    }
    Ok(QueueSpec::Red(Box::new(spec)))
}

/// The scale that converts descriptions to packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub(crate) rate: Rate,
    /// The bandwidth-delay product, bytes.
    pub(crate) bdp: f64,
    /// The size of a full segment on the wire, bytes.
    pub(crate) segment: u32,
}

impl Scale {
    pub(crate) fn packets(&self, room: Room) -> f64 {
        match room {
            Room::Packets(packets) => packets,
            Room::Bytes(bytes) => bytes as f64 / f64::from(self.segment),
            Room::Bdp(times) => times * self.bdp / f64::from(self.segment),
        }
    }

    pub(crate) fn limit(&self, room: Room) -> Limit {
        match room {
            Room::Bytes(bytes) => Limit::Bytes(bytes),
            // At least one packet may wait, however small the product is.
            Room::Bdp(_) => Limit::Packets((self.packets(room) + 0.5).max(1.0) as u32),
            Room::Packets(packets) => Limit::Packets(packets as u32),
        }
    }
}

impl QueueSpec {
    /// The largest number of waiting packets, if there is a limit.
    pub(crate) fn most(&self, scale: &Scale) -> Option<f64> {
        match self {
            QueueSpec::Unlimited => None,
            QueueSpec::DropTail(room) => Some(scale.packets(*room)),
            QueueSpec::Red(spec) => Some(scale.packets(spec.limit)),
            QueueSpec::Aqm(spec) => Some(scale.packets(spec.limit)),
            QueueSpec::Stepped(spec) => Some(spec.most(scale)),
        }
    }

    /// True for a dequeue-driven discipline.
    pub(crate) fn is_stepped(&self) -> bool {
        matches!(self, QueueSpec::Stepped(_))
    }

    /// RED's thresholds, unless it chooses them itself, and their path in the file.
    pub(crate) fn thresholds(&self, scale: &Scale) -> Option<(f64, f64, &str)> {
        let QueueSpec::Red(spec) = self else { return None };
        let (min, max) = spec.min.zip(spec.max)?;
        Some((scale.packets(min), scale.packets(max), &spec.path))
    }

    pub(crate) fn build(&self, scale: &Scale, stream: Stream) -> Queue {
        match self {
            QueueSpec::Unlimited => Queue::Unlimited,
            QueueSpec::DropTail(room) => Queue::DropTail(DropTail::new(scale.limit(*room))),
            QueueSpec::Red(spec) => {
                let transmission = scale.rate.time_for(u64::from(scale.segment));
                let mut config = RedConfig::automatic(transmission, scale.limit(spec.limit));
                if let Some((min, max, _)) = self.thresholds(scale) {
                    (config.min_threshold, config.max_threshold) = (min, max);
                }
                config.max_probability = spec.probability.unwrap_or(config.max_probability);
                config.weight = spec.weight.unwrap_or(config.weight);
                config.gentle = spec.gentle;
                config.wait = spec.wait;
                config.adaptive = spec.adaptive;
                config.mark = spec.mark;
                Queue::Red(Box::new(Red::new(config, stream)))
            }
            QueueSpec::Aqm(spec) => spec.build(scale, stream),
            QueueSpec::Stepped(spec) => spec.build(scale, stream),
        }
    }
}
