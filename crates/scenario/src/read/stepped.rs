//! `queue = { codel = ... }`, `"fq_codel"`, `"dualpi2"`: dequeue-driven disciplines.

use super::aqm::{number, time};
use super::queue::{Room, Scale, read_room};
use super::reader::{At, Result, Table};
use ackclock_net::{
    CoDel, CoDelConfig, DualPi2, DualPi2Config, FqCoDel, FqCoDelConfig, Limit, Queue, Scheme, Stepped, Stream,
};
use ackclock_units::{Bytes, Duration};

/// Such a discipline as the file describes it. A key that is not given has the RFC's default.
#[derive(Clone, Debug)]
pub(crate) struct SteppedSpec {
    limit: Option<Room>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    CoDel(LawSpec),
    FqCoDel { law: LawSpec, queues: Option<u64>, quantum: Option<Bytes> },
    DualPi2(DualSpec),
}

/// The keys of CoDel.
#[derive(Clone, Debug, Default)]
struct LawSpec {
    target: Option<Duration>,
    interval: Option<Duration>,
    mark: Option<bool>,
}

#[derive(Clone, Debug, Default)]
struct DualSpec {
    target: Option<Duration>,
    rtt_max: Option<Duration>,
    period: Option<Duration>,
    alpha: Option<f64>,
    beta: Option<f64>,
    coupling: Option<f64>,
    threshold: Option<Duration>,
    range: Option<Duration>,
    floor: Option<u64>,
    share: Option<f64>,
}

/// RFC 9332 figure 2: the capacity, as time at the rate of the link.
const DUAL_ROOM: Duration = Duration::from_millis(250);
/// RFC 8290 section 1.3: the largest number of queues in Linux.
const MOST_QUEUES: u64 = 65_535;
/// The largest quantum, bytes.
const MOST_QUANTUM: u64 = 1 << 30;

/// Reads the discipline called `word`, with its settings in `inner`.
pub(crate) fn read_stepped(at: &At<'_>, word: &str, inner: Option<At<'_>>) -> Result<SteppedSpec> {
    let example = format!("{{ {word} = {{ limit = \"1000 packets\" }} }}");
    let Some(inner) = inner else {
        let kind = match word {
            "fq_codel" => Kind::FqCoDel { law: LawSpec::default(), queues: None, quantum: None },
            "dualpi2" => Kind::DualPi2(DualSpec::default()),
            // RFC 8289 section 5.4 has a full buffer, but gives no size.
            _ => {
                return Err(at
                    .error(format!("the queue \"{word}\" needs a limit"))
                    .help(format!("for example {example}")));
            }
        };
        return Ok(SteppedSpec { limit: None, kind });
    };
    let table = inner.table_like(&example)?;
    let kind = match word {
        "fq_codel" => Kind::FqCoDel {
            law: LawSpec::read(&table)?,
            queues: table.get("queues").map(|at| at.count(1, MOST_QUEUES)).transpose()?,
            quantum: quantum(&table)?,
        },
        "dualpi2" => Kind::DualPi2(DualSpec::read(&table)?),
        _ => {
            table.need("limit", "\"1000 packets\"")?;
            Kind::CoDel(LawSpec::read(&table)?)
        }
    };
    let limit = table.get("limit").map(|at| read_room(&at)).transpose()?;
    table.finish()?;
    Ok(SteppedSpec { limit, kind })
}

fn quantum(table: &Table<'_>) -> Result<Option<Bytes>> {
    let quantum: Option<Bytes> = table.quantity("quantum")?;
    match (quantum, table.get("quantum")) {
        (Some(Bytes(bytes)), Some(at)) if !(1..=MOST_QUANTUM).contains(&bytes) => {
            Err(at.error(format!("a quantum of {bytes} B")).help("it must be from \"1 B\" to \"1 GiB\""))
        }
        _ => Ok(quantum),
    }
}

impl LawSpec {
    fn read(table: &Table<'_>) -> Result<LawSpec> {
        Ok(LawSpec {
            target: time(table, "target")?,
            interval: time(table, "interval")?,
            mark: table.get("mark").map(|at| at.flag()).transpose()?,
        })
    }

    fn over(&self, usual: CoDelConfig) -> CoDelConfig {
        CoDelConfig {
            target: self.target.unwrap_or(usual.target),
            interval: self.interval.unwrap_or(usual.interval),
            mark: self.mark.unwrap_or(usual.mark),
            ..usual
        }
    }
}

impl DualSpec {
    fn read(table: &Table<'_>) -> Result<DualSpec> {
        Ok(DualSpec {
            target: time(table, "target")?,
            rtt_max: time(table, "rtt_max")?,
            period: time(table, "period")?,
            alpha: number(table, "alpha", 0.0, 1e9)?,
            beta: number(table, "beta", 0.0, 1e9)?,
            coupling: number(table, "coupling", 0.01, 100.0)?,
            threshold: table.quantity("threshold")?,
            range: table.quantity("range")?,
            floor: table.get("floor").map(|at| at.count(0, 1_000_000)).transpose()?,
            share: number(table, "share", 0.001, 0.999)?,
        })
    }

    fn over(&self, usual: DualPi2Config) -> DualPi2Config {
        let target = self.target.unwrap_or(usual.target);
        let paths = usual.on_paths(target, self.rtt_max.unwrap_or(DualPi2Config::RTT_MAX));
        DualPi2Config {
            period: self.period.unwrap_or(paths.period),
            alpha: self.alpha.unwrap_or(paths.alpha),
            beta: self.beta.unwrap_or(paths.beta),
            coupling: self.coupling.unwrap_or(paths.coupling),
            threshold: self.threshold.unwrap_or(paths.threshold),
            range: self.range.unwrap_or(paths.range),
            floor: self.floor.map_or(paths.floor, |floor| floor as u32),
            share: self.share.unwrap_or(paths.share),
            ..paths
        }
    }
}

impl SteppedSpec {
    /// The largest number of waiting packets.
    pub(crate) fn most(&self, scale: &Scale) -> f64 {
        match self.limit(scale) {
            Limit::Packets(packets) => f64::from(packets),
            Limit::Bytes(bytes) => bytes as f64 / f64::from(scale.segment),
        }
    }

    fn limit(&self, scale: &Scale) -> Limit {
        match (self.limit, &self.kind) {
            (Some(room), _) => scale.limit(room),
            (None, Kind::DualPi2(_)) => Limit::Bytes(scale.rate.bytes_in(DUAL_ROOM) as u64),
            (None, _) => FqCoDelConfig::usual(scale.segment).limit,
        }
    }

    pub(crate) fn build(&self, scale: &Scale, stream: Stream) -> Queue {
        let limit = self.limit(scale);
        let scheme = match &self.kind {
            Kind::CoDel(law) => Scheme::CoDel(CoDel::new(law.over(CoDelConfig::usual(scale.segment)), limit)),
            Kind::FqCoDel { law, queues, quantum } => {
                let usual = FqCoDelConfig::usual(scale.segment);
                let config = FqCoDelConfig {
                    codel: law.over(usual.codel),
                    queues: queues.map_or(usual.queues, |queues| queues as u32),
                    quantum: quantum.map_or(usual.quantum, |Bytes(bytes)| bytes as u32),
                    limit,
                };
                Scheme::FqCoDel(FqCoDel::new(config, stream))
            }
            Kind::DualPi2(spec) => {
                Scheme::DualPi2(DualPi2::new(spec.over(DualPi2Config::usual(scale.segment, limit))))
            }
        };
        Queue::Stepped(Box::new(Stepped::from(scheme)))
    }
}
