//! `[tcp]` and the TCP keys of a flow.

use super::reader::{At, Result, Table};
use ackclock_tcp::recovery::{NewRenoConfig, SackConfig};
use ackclock_tcp::{Config, Counting, Detection, RecoveryKind};
use ackclock_units::{Bytes, Duration};

/// Words for recoveries.
pub const RECOVERIES: &[(&str, &str)] = &[
    ("tahoe", "start over from one segment after a fast retransmit (Jacobson 1988)"),
    ("reno", "fast recovery that ends with the first new acknowledgement (RFC 2581)"),
    ("newreno", "fast recovery over a whole window of losses, one per round trip (RFC 6582)"),
    ("sack", "pipe-controlled repair from selective acknowledgements (RFC 6675)"),
];

/// Reads the keys of a `[tcp]` table or of a flow's `tcp = { ... }` over `base`.
pub(crate) fn read_tcp(at: &At<'_>, base: &Config) -> Result<Config> {
    let table = at.table()?;
    let mut config = base.clone();
    if let Some(at) = table.get("recovery") {
        config.recovery = read_recovery(&at)?;
    }
    if let Some(at) = table.get("detection") {
        config.detection = read_detection(&at)?;
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
    for (key, place) in [
        ("limited_transmit", &mut config.limited_transmit),
        ("timestamps", &mut config.timestamps),
        ("ecn", &mut config.ecn),
    ] {
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
    if config.rto_min > config.rto_max {
        return Err(at
            .error("rto_min is above rto_max")
            .help("rto_min must not exceed rto_max, which is 60 s by default"));
    }
    if config.rto_initial.is_zero() || config.rto_max.is_zero() {
        return Err(at
            .error("a retransmission timeout of zero would fire for ever")
            .help("give it a positive time"));
    }
    table.finish()?;
    Ok(config)
}

pub(crate) fn read_recovery(at: &At<'_>) -> Result<RecoveryKind> {
    let (word, inner) = at.choice()?;
    let table = inner.map(|inner| inner.table()).transpose()?;
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
        _ => {
            let known: Vec<_> = RECOVERIES.iter().map(|&(word, _)| word).collect();
            return Err(at.unknown("recovery", word, &known));
        }
    };
    table.map_or(Ok(()), |table| table.finish())?;
    Ok(kind)
}

pub(crate) fn read_detection(at: &At<'_>) -> Result<Detection> {
    match at.choice()? {
        ("dupacks", None) => Ok(Detection::DupAcks(3)),
        ("dupacks", Some(inner)) => {
            let table = inner.table()?;
            let threshold = table.get("threshold").map(|at| at.count(1, 1_000_000)).transpose()?.unwrap_or(3);
            table.finish()?;
            Ok(Detection::DupAcks(threshold as u32))
        }
        (word, _) => Err(at.unknown("detection", word, &["dupacks"])),
    }
}

/// A receiver's window: so many segments, or an amount of data.
fn read_window(at: &At<'_>, config: &Config) -> Result<u32> {
    let most = f64::from(1_u32 << 30);
    let segments = match at.text() {
        Err(_) => at.number(1.0, most)?,
        Ok(text) => match text.trim().strip_suffix("segments") {
            Some(number) => number.trim().parse().map_err(|_| {
                at.error(format!("\"{text}\" is not a window")).help("for example \"64 segments\"")
            })?,
            None => (at.quantity::<Bytes>()?.0 / u64::from(config.payload)) as f64,
        },
    };
    if !(1.0..=most).contains(&segments) {
        return Err(at
            .error("a receiver needs room for at least one segment")
            .help("for example \"64 kB\" or 64 (segments)"));
    }
    Ok(segments as u32)
}

fn read_delayed_ack(at: &At<'_>) -> Result<Option<Duration>> {
    match at.flag() {
        Ok(false) => Ok(None),
        // RFC 5681 section 4.2 allows up to 500 ms; 200 ms is the customary choice (RFC 1122 section 4.2.3.2).
        Ok(true) => Ok(Some(Duration::from_millis(200))),
        Err(_) => {
            at.quantity().map(Some).map_err(|error| error.help("true, false or a time such as \"100 ms\""))
        }
    }
}

fn read_counting(at: &At<'_>) -> Result<Counting> {
    match at.choice()? {
        ("acks", None) => Ok(Counting::Acks),
        ("segments", None) => Ok(Counting::Segments(2)),
        ("segments", Some(inner)) => Ok(Counting::Segments(inner.count(1, 1_000_000)?)),
        (word, _) => Err(at.unknown("way of counting", word, &["acks", "segments"])),
    }
}
