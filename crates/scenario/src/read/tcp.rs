//! `[tcp]`, and the TCP keys of a flow.

use super::reader::{At, Result, Table};
use ackclock_tcp::detection::{DelayedConfig, Form, NcrConfig, RackConfig};
use ackclock_tcp::recovery::{Counted, First, NewRenoConfig, RobustConfig, SackConfig};
use ackclock_tcp::{Config, Counting, Detection, PacedRtt, Pacing, RecoveryKind, Undo};
use ackclock_units::{Bytes, Duration};

/// The names of recoveries.
pub const RECOVERIES: &[(&str, &str)] = &[
    ("tahoe", "start over from one segment after a fast retransmit (Jacobson 1988)"),
    ("reno", "fast recovery that ends with the first new acknowledgement (RFC 2581)"),
    ("newreno", "fast recovery over a whole window of losses, one per round trip (RFC 6582)"),
    ("sack", "pipe-controlled repair from selective acknowledgements (RFC 6675)"),
    ("robust", "new segments in flight are counted and govern the episode (Wang and Shin 2001)"),
    ("hoe", "one new segment for every second duplicate (Hoe 1996)"),
    ("right-edge", "one new segment for each duplicate (Balakrishnan et al. 1998)"),
    ("lin-kung", "one new segment for each of the first two duplicates, then for two (Lin and Kung 1998)"),
];

/// A timer that fires every nanosecond would keep a run from ending.
const LEAST_RTO: Duration = Duration::from_micros(1);

/// Reads the keys of a `[tcp]` table, or of a flow's `tcp = { ... }`. A key that is not given is taken from
/// `base`.
pub(crate) fn read_tcp(at: &At<'_>, base: &Config) -> Result<Config> {
    let table = at.table_like("{ recovery = \"newreno\", initial_window = 2 }")?;
    let mut config = base.clone();
    if let Some(at) = table.get("recovery") {
        config.recovery = read_recovery(&at)?;
    }
    if let Some(at) = table.get("detection") {
        config.detection = read_detection(&at)?;
    }
    if let Some(at) = table.get("undo") {
        config.undo = match at.text()? {
            "never" => Undo::Never,
            "duplicates" => Undo::Duplicates,
            "eifel" => Undo::Eifel,
            word => return Err(at.unknown("way to undo", word, &["never", "duplicates", "eifel"])),
        };
    }
    if let Some(at) = table.get("initial_window") {
        config.initial_window = at.number(1.0, 1e6)?;
    }
    if let Some(at) = table.get("initial_ssthresh") {
        config.initial_ssthresh = at.number(2.0, 1e9)?;
    }
    if let Some(at) = table.get("receive_window") {
        config.peer_window = read_window(&at, &config)?;
    }
    if let Some(at) = table.get("delayed_ack") {
        config.delayed_ack = read_delayed_ack(&at)?;
    }
    if let Some(at) = table.get("counting") {
        config.counting = read_counting(&at)?;
    }
    if let Some(at) = table.get("pacing") {
        config.pacing = read_pacing(&at)?;
    }
    if let Some(at) = table.get("ecn") {
        (config.ecn, config.l4s) = read_ecn(&at)?;
    }
    for (key, place) in
        [("limited_transmit", &mut config.limited_transmit), ("timestamps", &mut config.timestamps)]
    {
        if let Some(at) = table.get(key) {
            *place = at.flag()?;
        }
    }
    for (key, place) in [
        ("rto_min", &mut config.rto_min),
        ("rto_max", &mut config.rto_max),
        ("rto_initial", &mut config.rto_initial),
        ("clock_granularity", &mut config.clock_granularity),
    ] {
        if let Some(duration) = table.quantity(key)? {
            *place = duration;
        }
    }
    if let Some(at) = table.get("undo") {
        check_undo(&at, &config)?;
    }
    if config.rto_min > config.rto_max {
        let (min, max) = (config.rto_min, config.rto_max);
        return Err(at
            .error(format!("rto_min ({min}) is above rto_max ({max})"))
            .help("lower rto_min or raise rto_max; without a value rto_min is 200 ms and rto_max 60 s"));
    }
    // RFC 6298 (2.2): the timeout is at least one clock tick above the round-trip time.
    let least = config.rto_min.max(config.clock_granularity).min(config.rto_max).min(config.rto_initial);
    if least < LEAST_RTO {
        return Err(at.error(format!("a retransmission timeout of {least} would fire without end")).help(
            format!("rto_initial, rto_max, and rto_min or clock_granularity must be {LEAST_RTO} at least"),
        ));
    }
    if let Some(at) = table.get("detection").or_else(|| table.get("recovery")) {
        check_pair(&at, &config)?;
    }
    table.finish()?;
    Ok(config)
}

/// Reads whether segments are ECN-capable, and whether they are ECT(1).
fn read_ecn(at: &At<'_>) -> Result<(bool, bool)> {
    match &at.node.value {
        super::Value::Text(text) if text != "true" && text != "false" => match text.as_str() {
            "classic" => Ok((true, false)),
            "l4s" => Ok((true, true)),
            word => Err(at.unknown("kind of ECN", word, &["classic", "l4s"])),
        },
        _ => Ok((at.flag()?, false)),
    }
}

/// Reads `true`, or a table.
fn read_pacing(at: &At<'_>) -> Result<Option<Pacing>> {
    const EXAMPLE: &str = "true, or { rtt = \"smoothed\", gain = 1.0, burst = 1 }";
    if matches!(at.node.value, super::Value::Flag(_)) {
        return Ok(at.flag()?.then(Pacing::default));
    }
    let table = at.table_like(EXAMPLE)?;
    let mut pacing = Pacing::default();
    if let Some(at) = table.get("rtt") {
        pacing.rtt = match at.text()? {
            "smoothed" => PacedRtt::Smoothed,
            "least" => PacedRtt::Least,
            "latest" => PacedRtt::Latest,
            word => return Err(at.unknown("round-trip time", word, &["smoothed", "least", "latest"])),
        };
    }
    if let Some(at) = table.get("gain") {
        pacing.gain = at.number(0.01, 100.0)?;
    }
    if let Some(at) = table.get("burst") {
        pacing.burst = at.count(1, 1_000_000)? as u32;
    }
    table.finish()?;
    Ok(Some(pacing))
}

pub(crate) fn read_recovery(at: &At<'_>) -> Result<RecoveryKind> {
    let (word, inner) = at.choice_like("\"sack\" or { sack = { proportional_rate = true } }")?;
    let example = "{ sack = { proportional_rate = true } }";
    let table = inner.map(|inner| inner.table_like(example)).transpose()?;
    let flag = |key, default| match &table {
        Some(table) => Table::get(table, key).map_or(Ok(default), |at| at.flag()),
        None => Ok(default),
    };
    let kind = match word {
        "tahoe" => RecoveryKind::Tahoe,
        "reno" => RecoveryKind::Reno,
        "newreno" => {
            let default = NewRenoConfig::default();
            RecoveryKind::NewReno(NewRenoConfig {
                impatient: flag("impatient", default.impatient)?,
                cautious_exit: flag("cautious_exit", default.cautious_exit)?,
            })
        }
        "sack" => RecoveryKind::Sack(SackConfig { proportional_rate: flag("proportional_rate", false)? }),
        "hoe" => RecoveryKind::Hoe,
        "right-edge" => RecoveryKind::RightEdge,
        "lin-kung" => RecoveryKind::LinKung,
        "robust" => RecoveryKind::Robust(read_robust(table.as_ref())?),
        _ => {
            let known: Vec<_> = RECOVERIES.iter().map(|&(word, _)| word).collect();
            return Err(at.unknown("recovery", word, &known));
        }
    };
    table.map_or(Ok(()), |table| table.finish())?;
    Ok(kind)
}

fn read_robust(table: Option<&Table<'_>>) -> Result<RobustConfig> {
    let mut config = RobustConfig::default();
    if let Some(at) = table.and_then(|table| table.get("first")) {
        config.first = match at.text()? {
            "retransmission" => First::Retransmission,
            "new" => First::NewSegment,
            word => return Err(at.unknown("order", word, &["retransmission", "new"])),
        };
    }
    if let Some(at) = table.and_then(|table| table.get("counted")) {
        config.counted = match at.text()? {
            "retreat" => Counted::Retreat,
            "all" => Counted::All,
            word => return Err(at.unknown("count of duplicates", word, &["retreat", "all"])),
        };
    }
    Ok(config)
}

pub(crate) fn read_detection(at: &At<'_>) -> Result<Detection> {
    let (word, inner) = at.choice_like("\"dupacks\" or { delayed = { form = \"timer\" } }")?;
    let example = match word {
        "delayed" => "{ delayed = { form = \"timer\" } }",
        "ncr" => "{ ncr = { aggressive = true } }",
        "rack" => "{ rack = { tail_loss_probe = false } }",
        _ => "{ dupacks = { threshold = 6 } }",
    };
    let table = inner.map(|inner| inner.table_like(example)).transpose()?;
    let get = |key| table.as_ref().and_then(|table| table.get(key));
    let detection = match word {
        "dupacks" => {
            let threshold = get("threshold").map(|at| at.count(1, 1_000_000)).transpose()?.unwrap_or(3);
            Detection::DupAcks(threshold as u32)
        }
        "delayed" => {
            let mut config = DelayedConfig::default();
            if let Some(at) = get("form") {
                config.form = match at.text()? {
                    "timer" => Form::Timer,
                    "count" => Form::Count,
                    word => return Err(at.unknown("form of delay", word, &["timer", "count"])),
                };
            }
            if let Some(at) = get("growth") {
                config.growth = at.flag()?;
            }
            Detection::Delayed(config)
        }
        "ncr" => {
            let aggressive = get("aggressive").map(|at| at.flag()).transpose()?.unwrap_or(false);
            Detection::Ncr(NcrConfig { aggressive })
        }
        "rack" => {
            let tail_loss_probe = get("tail_loss_probe").map(|at| at.flag()).transpose()?.unwrap_or(true);
            Detection::Rack(RackConfig { tail_loss_probe })
        }
        _ => return Err(at.unknown("detection", word, &["dupacks", "delayed", "ncr", "rack"])),
    };
    table.map_or(Ok(()), |table| table.finish())?;
    Ok(detection)
}

/// Checks that detection and recovery fit together. They come from different keys; `at` is one of them.
pub(crate) fn check_pair(at: &At<'_>, config: &Config) -> Result<()> {
    let (detection, recovery) = (config.detection, config.recovery);
    if detection.needs_sack() && !recovery.uses_sack() {
        return Err(at
            .error(format!(
                "the detection \"{}\" needs selective acknowledgements, and with the recovery \"{}\" there are none",
                detection.name(),
                recovery.name()
            ))
            .help("write recovery = \"sack\", or detection = \"dupacks\" or \"delayed\", which go with every recovery"));
    }
    Ok(())
}

/// Checks that the prerequisites of `undo` are met.
pub(crate) fn check_undo(at: &At<'_>, config: &Config) -> Result<()> {
    match config.undo {
        Undo::Duplicates if !config.recovery.uses_sack() => Err(at
            .error(format!(
                "reports of duplicates are selective acknowledgements, and with the recovery \"{}\" there are none",
                config.recovery.name()
            ))
            .help("write recovery = \"sack\" beside it, or undo = \"eifel\"")),
        Undo::Eifel if !config.timestamps => Err(at
            .error("Eifel compares times that acknowledgements echo, and timestamps are off")
            .help("write timestamps = true, or undo = \"duplicates\"")),
        _ => Ok(()),
    }
}

/// The largest receive window, segments.
const MOST_WINDOW: u32 = 1 << 30;

/// Reads a receive window: a number of segments, or an amount of data.
fn read_window(at: &At<'_>, config: &Config) -> Result<u32> {
    const HELP: &str = "for example \"64 kB\", \"64 segments\" or 64";
    let Ok(text) = at.text() else {
        return at
            .count(1, u64::from(MOST_WINDOW))
            .map(|segments| segments as u32)
            .map_err(|error| error.help(HELP));
    };
    let counted = text.trim().strip_suffix("segments").or_else(|| text.trim().strip_suffix("segment"));
    let segments = match counted {
        Some(number) => number.trim().parse::<u32>().ok(),
        None => {
            let Bytes(bytes) = at.quantity().map_err(|error| error.help(HELP))?;
            Some((bytes / u64::from(config.payload)).min(u64::from(MOST_WINDOW)) as u32)
        }
    };
    match segments {
        Some(segments @ 1..=MOST_WINDOW) => Ok(segments),
        _ => Err(at
            .error(format!("\"{text}\" is not a receiver's window"))
            .help(format!("room for 1 to {MOST_WINDOW} segments of {} B; {HELP}", config.payload))),
    }
}

fn read_delayed_ack(at: &At<'_>) -> Result<Option<Duration>> {
    match at.flag() {
        Ok(false) => Ok(None),
        // RFC 5681 section 4.2 allows up to 500 ms. 200 ms is usual (RFC 1122 section 4.2.3.2).
        Ok(true) => Ok(Some(Duration::from_millis(200))),
        Err(_) => at
            .quantity()
            .map(Some)
            .map_err(|error| error.help("true or false without quotes, or a time such as \"100 ms\"")),
    }
}

fn read_counting(at: &At<'_>) -> Result<Counting> {
    match at.choice_like("\"acks\" or { segments = 2 }")? {
        ("acks", None) => Ok(Counting::Acks),
        ("segments", None) => Ok(Counting::Segments(2)),
        ("segments", Some(inner)) => Ok(Counting::Segments(inner.count(1, 1_000_000)?)),
        (word, _) => Err(at.unknown("way of counting", word, &["acks", "segments"])),
    }
}
