//! The impairments of a link: `loss`, `loss_at`, `outages`, `correction`, `retransmission`, `jitter`,
//! `alternate`, `reorder`, `duplicate`.

use super::document::Value;
use super::reader::{At, Result, Table};
use super::variate::read_variate;
use ackclock_net::{
    BelowZero, Distribution, Impairments, Jitter, Loss, Multipath, Outages, Reorder, Retransmission, Rng,
    Share, Span,
};
use ackclock_units::{Duration, Rate};

/// The impairments of a link, as the file describes them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ImpairmentsSpec {
    loss: Option<LossSpec>,
    /// Starts and lengths.
    outages: Vec<(Duration, Duration)>,
    lost_behind: bool,
    correction: Option<CorrectionSpec>,
    retransmission: Option<RetransmissionSpec>,
    /// The longest delay by jitter; zero for none.
    jitter: Duration,
    alternate: Option<AlternateSpec>,
    reorder: Option<ReorderSpec>,
    duplicate: f64,
}

/// The losses of a link besides the overflows of its queue.
#[derive(Clone, Debug)]
enum LossSpec {
    /// Each packet with this probability.
    Random(f64),
    /// Every n-th packet.
    Every(u64),
    /// The packets at these positions, counted from 0.
    Packets(Vec<u64>),
    /// The probabilities of leaving the state, and of a loss: in the good state, and in the bad one.
    Gilbert([f64; 2], [f64; 2]),
    /// The mean lengths of periods without and with errors.
    Periods(Span, Span),
}

/// Forward error correction.
#[derive(Clone, Copy, Debug)]
struct CorrectionSpec {
    share: f64,
    overhead: f64,
}

/// Link-level retransmission.
#[derive(Clone, Copy, Debug)]
struct RetransmissionSpec {
    after: Duration,
    attempts: Option<u32>,
    /// True if a retransmission can be corrupted, too.
    corruptible: bool,
}

/// A second route.
#[derive(Clone, Copy, Debug)]
struct AlternateSpec {
    longer: Duration,
    /// `None`: every second packet.
    share: Option<f64>,
}

/// The share of packets that are delayed, and their delay.
#[derive(Clone, Copy, Debug)]
struct ReorderSpec {
    share: f64,
    delay: Late,
}

#[derive(Clone, Copy, Debug)]
enum Late {
    By(Distribution),
    /// Until this many later packets have passed.
    Packets(u64),
}

/// The link to which the impairments belong.
pub(crate) struct Medium {
    pub(crate) rate: Rate,
    /// The size of a full segment, bytes.
    pub(crate) segment: u32,
}

/// Reads the impairments of a link with this `delay`.
pub(crate) fn read_impairments(table: &Table<'_>, delay: Duration) -> Result<ImpairmentsSpec> {
    let spec = ImpairmentsSpec {
        loss: table.get("loss").map(|at| read_loss(&at)).transpose()?,
        outages: table.get("outages").map(|at| read_outages(&at)).transpose()?.unwrap_or_default(),
        lost_behind: table.get("loss_at").map(|at| read_loss_at(&at, table)).transpose()?.unwrap_or(false),
        correction: table.get("correction").map(|at| read_correction(&at)).transpose()?,
        retransmission: table
            .get("retransmission")
            .map(|at| read_retransmission(&at, delay))
            .transpose()?
            .flatten(),
        jitter: table.quantity("jitter")?.unwrap_or(Duration::ZERO),
        alternate: table.get("alternate").map(|at| read_alternate(&at, delay)).transpose()?,
        reorder: table.get("reorder").map(|at| read_reorder(&at)).transpose()?,
        duplicate: table.get("duplicate").map(|at| at.number(0.0, 1.0)).transpose()?.unwrap_or(0.0),
    };
    // A loss of zero is valid: a sweep may begin with it.
    for (key, given) in
        [("correction", spec.correction.is_some()), ("retransmission", spec.retransmission.is_some())]
    {
        if let (true, None, true, Some(at)) = (given, &spec.loss, spec.outages.is_empty(), table.get(key)) {
            return Err(at
                .error("nothing is corrupted on this link")
                .help(format!("give it errors, for example loss = 0.01, or remove {key}")));
        }
    }
    spec.gives_up(table)?;
    Ok(spec)
}

/// The largest mean number of transmissions of a packet on a link that never gives up. The link computes each
/// of them, and keeps the packet until it arrives.
const MAX_TRANSMISSIONS: f64 = 10_000.0;

/// The largest number of outages of a link.
const MAX_OUTAGES: usize = 100_000;

/// Reads `[["10 s", "2 s"], ["50 s", "500 ms"]]`: the start and the length of each outage.
fn read_outages(at: &At<'_>) -> Result<Vec<(Duration, Duration)>> {
    let mut outages: Vec<(Duration, Duration)> = Vec::new();
    for at in at.list()? {
        let [start_at, length_at] = &at.list()?[..] else {
            return Err(at
                .error("an outage has a start and a length")
                .help("for example outages = [[\"10 s\", \"2 s\"]]"));
        };
        let (start, length) = (start_at.quantity()?, length_at.quantity::<Duration>()?);
        if length.is_zero() {
            return Err(length_at.error("an outage of no length").help("for example [\"10 s\", \"2 s\"]"));
        }
        if let Some(&(before, long)) = outages.last()
            && start < before + long
        {
            return Err(start_at
                .error(format!("the outage before lasts until {}", before + long))
                .help("write outages in order of time, without overlaps"));
        }
        outages.push((start, length));
    }
    if outages.len() > MAX_OUTAGES {
        return Err(at
            .error(format!("{} outages are too many", outages.len()))
            .help(format!("at most {MAX_OUTAGES}; for random ones there is loss = {PERIODS}")));
    }
    Ok(outages)
}

/// Reads where packets are lost: `"before"` the queue, or `"after"` the transmitter.
fn read_loss_at(at: &At<'_>, table: &Table<'_>) -> Result<bool> {
    let behind = match at.text()? {
        "before" => false,
        "after" => true,
        word => return Err(at.unknown("place", word, &["before", "after"])),
    };
    if table.get("loss").is_none() && table.get("outages").is_none() {
        return Err(at.error("nothing is lost on this link").help("say what is, for example loss = 0.01"));
    }
    let retransmits =
        table.get("retransmission").is_some_and(|at| !matches!(at.node.value, Value::Flag(false)));
    if retransmits && !behind {
        return Err(at
            .error("a link that retransmits corrupts packets behind its transmitter")
            .help("remove loss_at, or retransmission"));
    }
    Ok(behind)
}

const LOSSES: &[&str] = &["every", "packets", "gilbert", "exponential"];
const GILBERT: &str = "{ gilbert = { to_bad = 0.001, to_good = 0.1 } }";
const PERIODS: &str = "{ exponential = { free = \"10 s\", error = \"100 ms\" } }";

/// Reads a loss: `1e-4`, `{ every = 10000 }`, or bursts.
fn read_loss(at: &At<'_>) -> Result<LossSpec> {
    let word = matches!(&at.node.value, Value::Text(text) if LOSSES.contains(&text.trim()));
    if !word && !matches!(at.node.value, Value::Table(_)) {
        return at.number(0.0, 1.0).map(LossSpec::Random);
    }
    match at.choice_like(&format!("1e-4, {{ every = 10000 }} or {GILBERT}"))? {
        ("every", Some(inner)) => inner.count(1, 1 << 53).map(LossSpec::Every),
        ("packets", Some(inner)) => {
            let positions = inner.list()?.iter().map(|at| at.count(0, 1 << 53)).collect::<Result<_>>()?;
            Ok(LossSpec::Packets(positions))
        }
        ("gilbert", Some(inner)) => {
            let table = inner.table_like(GILBERT)?;
            let probability = |key, default: f64| -> Result<f64> {
                Ok(table.get(key).map(|at| at.number(0.0, 1.0)).transpose()?.unwrap_or(default))
            };
            let change = [
                table.need("to_bad", "0.001")?.number(0.0, 1.0)?,
                table.need("to_good", "0.1")?.number(0.0, 1.0)?,
            ];
            let loss = [probability("loss_good", 0.0)?, probability("loss_bad", 1.0)?];
            table.finish()?;
            Ok(LossSpec::Gilbert(change, loss))
        }
        ("exponential", Some(inner)) => read_periods(&inner),
        (word, _) => Err(at.unknown("kind of loss", word, LOSSES)),
    }
}

/// Reads mean lengths, both as times or both as numbers of packets.
fn read_periods(at: &At<'_>) -> Result<LossSpec> {
    let table = at.table_like(PERIODS)?;
    let span = |key| -> Result<Span> {
        let at = table.need_as(key, &format!("for example {PERIODS}"))?;
        let (span, zero) = match &at.node.value {
            Value::Number(_) => {
                let packets = at.number(0.0, 1e15)?;
                (Span::Packets(packets), packets == 0.0)
            }
            _ => {
                let time: Duration = at.quantity()?;
                (Span::Time(time), time.is_zero())
            }
        };
        match zero {
            true => Err(at.error("a mean length of zero").help("give it one above zero, or remove loss")),
            false => Ok(span),
        }
    };
    let (free, error) = (span("free")?, span("error")?);
    table.finish()?;
    match (free, error) {
        (Span::Time(_), Span::Time(_)) | (Span::Packets(_), Span::Packets(_)) => {
            Ok(LossSpec::Periods(free, error))
        }
        _ => Err(at
            .error("one period is given as a time, the other one as a number of packets")
            .help(format!("give both as times, or both as numbers: {PERIODS}"))),
    }
}

/// Reads `{ share = 0.9, overhead = 0.1 }`.
fn read_correction(at: &At<'_>) -> Result<CorrectionSpec> {
    let table = at.table_like("{ share = 0.9, overhead = 0.1 }")?;
    let share = table.need("share", "0.9")?.number(0.0, 1.0)?;
    let overhead = table.get("overhead").map(|at| at.number(0.0, 1e3)).transpose()?.unwrap_or(0.0);
    table.finish()?;
    Ok(CorrectionSpec { share, overhead })
}

/// Reads `true`, or `{ after = "40 ms", attempts = 3 }`, or `{ corruptible = false }`.
fn read_retransmission(at: &At<'_>, delay: Duration) -> Result<Option<RetransmissionSpec>> {
    let round_trip = delay.saturating_mul(2);
    let (after, attempts, corruptible) = match &at.node.value {
        Value::Flag(false) => return Ok(None),
        Value::Flag(true) => (round_trip, None, true),
        _ => {
            let table = at.table_like("true, or { after = \"40 ms\", attempts = 3 }")?;
            let after = table.quantity("after")?.unwrap_or(round_trip);
            let attempts = table.get("attempts").map(|at| at.count(1, 1_000_000)).transpose()?;
            let corruptible = table.get("corruptible").map(|at| at.flag()).transpose()?.unwrap_or(true);
            table.finish()?;
            (after, attempts.map(|attempts| attempts as u32), corruptible)
        }
    };
    if after < MIN_AFTER {
        return Err(at
            .error(format!("corrupted packets would be back after {after}"))
            .help(format!("give the link a delay, or say after = \"40 ms\"; at least {MIN_AFTER}")));
    }
    Ok(Some(RetransmissionSpec { after, attempts, corruptible }))
}

/// The shortest time until a corrupted packet is back. With zero, a dead channel would stop the clock.
const MIN_AFTER: Duration = Duration::from_micros(1);

/// Reads `{ delay = "80 ms" }`, with a share if not every second packet takes that route.
fn read_alternate(at: &At<'_>, delay: Duration) -> Result<AlternateSpec> {
    let table = at.table_like("{ delay = \"80 ms\" }")?;
    let other_at = table.need("delay", "\"80 ms\"")?;
    let other: Duration = other_at.quantity()?;
    if other <= delay {
        return Err(other_at
            .error(format!("the second route takes {other}, the link itself {delay}"))
            .help("the second route must be the longer one: exchange the delays"));
    }
    let share = table.get("share").map(|at| at.number(0.0, 1.0)).transpose()?;
    table.finish()?;
    Ok(AlternateSpec { longer: other - delay, share })
}

const LATE: &str = "{ normal = [\"25 ms\", \"8 ms\"] }";

/// Reads `{ share = 0.1, delay = { normal = ["25 ms", "8 ms"] } }`.
fn read_reorder(at: &At<'_>) -> Result<ReorderSpec> {
    let table = at.table_like(&format!("{{ share = 0.1, delay = {LATE} }}"))?;
    let share = table.need("share", "0.1")?.number(0.0, 1.0)?;
    let delay = read_late(&table.need("delay", LATE)?, table.get("below_zero"))?;
    table.finish()?;
    Ok(ReorderSpec { share, delay })
}

fn read_late(at: &At<'_>, below_zero: Option<At<'_>>) -> Result<Late> {
    let packets = match &at.node.value {
        Value::Table(entries) if entries.iter().any(|(key, _)| key == "packets") => {
            at.choice()?.1.map(|inner| inner.count(1, 1_000_000)).transpose()?
        }
        _ => None,
    };
    let mut delay = match packets {
        Some(packets) => Late::Packets(packets),
        None => Late::By(read_variate(at, LATE)?),
    };
    if let Late::By(variate) = &delay
        && variate.mean().is_zero()
    {
        return Err(at
            .error("a mean of zero delays nothing")
            .help("give it a mean above zero, or remove reorder"));
    }
    let Some(at) = below_zero else { return Ok(delay) };
    let Late::By(Distribution::Normal { below_zero, .. }) = &mut delay else {
        return Err(at
            .error("only a normal variate can be below zero")
            .help(format!("remove this key, or let the delay be {LATE}")));
    };
    *below_zero = match at.text()? {
        "zero" => BelowZero::Zero,
        "redraw" => BelowZero::Redraw,
        word => return Err(at.unknown("way to treat what is below zero", word, &["zero", "redraw"])),
    };
    Ok(delay)
}

impl ImpairmentsSpec {
    /// Refuses a link that would hardly ever bring a packet over its channel, and would never give it up.
    fn gives_up(&self, table: &Table<'_>) -> Result<()> {
        let (Some(retransmission), Some(at)) = (&self.retransmission, table.get("retransmission")) else {
            return Ok(());
        };
        let uncorrected = 1.0 - self.correction.map_or(0.0, |correction| correction.share);
        let by_loss = match &self.loss {
            Some(loss) if retransmission.corruptible => {
                loss.mean_transmissions(uncorrected, retransmission.after)
            }
            Some(_) => 2.0,
            None => 1.0,
        };
        let longest = self.outages.iter().map(|&(_, length)| length).max().unwrap_or(Duration::ZERO);
        let times = by_loss + longest.as_secs_f64() / retransmission.after.as_secs_f64();
        if retransmission.attempts.is_some() || times <= MAX_TRANSMISSIONS {
            return Ok(());
        }
        let times = if times.is_finite() { format!("{times:.0} times") } else { "without end".to_owned() };
        Err(at
            .error(format!("with this loss a packet could be sent {times} until it arrives"))
            .help("let the link give up, for example retransmission = { attempts = 10 }, or lower the loss"))
    }

    /// Only jitter of at most `most`.
    pub(crate) fn only_jitter(most: Duration) -> ImpairmentsSpec {
        ImpairmentsSpec { jitter: most, ..ImpairmentsSpec::default() }
    }

    /// True if the link retransmits corrupted packets.
    pub(crate) fn retransmits(&self) -> bool {
        self.retransmission.is_some()
    }

    /// Builds the impairments of a link, if there are any. `stream` gives each its own random numbers.
    pub(crate) fn build(&self, medium: &Medium, stream: impl Fn(&str) -> Rng) -> Option<Impairments> {
        let impairments = Impairments {
            loss: self.loss.as_ref().and_then(|loss| loss.build(stream("loss"))),
            outages: (!self.outages.is_empty()).then(|| Outages::new(self.outages.iter().copied())),
            lost_behind: self.lost_behind,
            correction: self.correction.map(|correction| Share::new(correction.share, stream("correction"))),
            retransmission: self.retransmission.map(|spec| spec.build()),
            jitter: (!self.jitter.is_zero()).then(|| Jitter::new(self.jitter, stream("jitter"))),
            alternate: self.alternate.map(|alternate| match alternate.share {
                None => Multipath::in_turn(alternate.longer),
                Some(share) => Multipath::at_random(alternate.longer, Share::new(share, stream("alternate"))),
            }),
            reorder: self.reorder.filter(|reorder| reorder.share > 0.0).map(|reorder| {
                let share = Share::new(reorder.share, stream("reorder"));
                Reorder::new(share, reorder.delay.on(medium), stream("reorder delay"))
            }),
            duplicate: (self.duplicate > 0.0).then(|| Share::new(self.duplicate, stream("duplicate"))),
        };
        let any = impairments.loss.is_some()
            || impairments.outages.is_some()
            || impairments.retransmission.is_some()
            || impairments.jitter.is_some()
            || impairments.alternate.is_some()
            || impairments.reorder.is_some()
            || impairments.duplicate.is_some();
        any.then_some(impairments)
    }

    /// The rate that remains beside the overhead of error correction.
    pub(crate) fn coded(&self, rate: Rate) -> Rate {
        let overhead = self.correction.map_or(0.0, |correction| correction.overhead);
        if overhead > 0.0 {
            Rate::from_bps(((rate.bps_f64() / (1.0 + overhead)) as u64).max(1))
        } else {
            rate
        }
    }

    /// The mean delay of a delayed packet, s.
    pub(crate) fn lateness(&self, medium: &Medium) -> f64 {
        let reorder =
            self.reorder.map_or(0.0, |reorder| reorder.share * reorder.delay.on(medium).mean().as_secs_f64());
        let alternate = self
            .alternate
            .map_or(0.0, |alternate| alternate.share.unwrap_or(0.5) * alternate.longer.as_secs_f64());
        reorder + alternate + self.jitter.as_secs_f64()
    }
}

impl RetransmissionSpec {
    fn build(self) -> Retransmission {
        let retransmission = Retransmission::new(self.after, self.attempts);
        if self.corruptible { retransmission } else { retransmission.intact() }
    }
}

impl Late {
    fn on(self, medium: &Medium) -> Distribution {
        match self {
            Late::By(variate) => variate,
            // Half a packet more, so that on a busy link the last of them has certainly passed.
            Late::Packets(packets) => {
                let time = medium.rate.time_for(u64::from(medium.segment));
                Distribution::Fixed(time.saturating_mul(packets) + Duration::from_nanos(time.as_nanos() / 2))
            }
        }
    }
}

impl LossSpec {
    /// The mean number of transmissions until a packet arrives, if the first one falls into the worst time
    /// and the packet is back a time `after` each. Of what is corrupted, only the share `uncorrected` counts.
    fn mean_transmissions(&self, uncorrected: f64, after: Duration) -> f64 {
        let random = |loss: f64| 1.0 / (1.0 - loss * uncorrected);
        match *self {
            LossSpec::Random(share) => random(share),
            LossSpec::Every(period) => random(1.0 / period as f64),
            LossSpec::Packets(ref positions) => 1.0 + positions.len() as f64,
            LossSpec::Gilbert([0.0, _], [good, _]) => random(good),
            LossSpec::Gilbert(change, loss) => {
                // The means M from either state: M = 1 + loss ((1 - change) M + change M'), and the same with
                // M and M' exchanged. Two linear equations; without a solution there is no end.
                let again = loss.map(|loss| loss * uncorrected);
                let [a, b] = [0, 1].map(|at| 1.0 - again[at] * (1.0 - change[at]));
                let [c, d] = [0, 1].map(|at| again[at] * change[at]);
                let determinant = a * b - c * d;
                if determinant > f64::EPSILON { (b + c).max(a + d) / determinant } else { f64::INFINITY }
            }
            LossSpec::Periods(_, Span::Packets(packets)) => 1.0 + packets * uncorrected,
            LossSpec::Periods(_, Span::Time(time)) => {
                1.0 + time.as_secs_f64() / after.as_secs_f64() * uncorrected
            }
        }
    }

    fn build(&self, stream: Rng) -> Option<Loss> {
        match *self {
            LossSpec::Random(0.0) => None,
            LossSpec::Random(share) => Some(Loss::new(share, stream)),
            LossSpec::Every(period) => Some(Loss::every(period)),
            LossSpec::Packets(ref positions) => Some(Loss::of_packets(positions.iter().copied())),
            LossSpec::Gilbert(change, loss) => Some(Loss::gilbert(change, loss, stream)),
            LossSpec::Periods(free, error) => Some(Loss::periods(free, error, stream)),
        }
    }
}
