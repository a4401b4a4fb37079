//! `[tcp]`, and the TCP keys of a flow.

use super::reader::{At, Result, Table};
use super::settings::read_settings;
use ackclock_registry::{Chosen, Listed};
use ackclock_tcp::{Config, Counting, PacedRtt, Pacing, RtoLaw, Undo, detection, recovery};
use ackclock_units::{Bytes, Duration};

/// A timer that fires every nanosecond would keep a run from ending.
const MIN_RTO: Duration = Duration::from_micros(1);

/// Reads the keys that are in both a `[tcp]` table and a stack.
pub(crate) fn read_keys(table: &Table<'_>, config: &mut Config) -> Result<()> {
    if let Some(at) = table.get("recovery") {
        config.recovery = read_recovery(&at)?;
    }
    if let Some(at) = table.get("detection") {
        config.detection = read_detection(&at)?;
    }
    if let Some(at) = table.get("slow_start") {
        config.slow_start = read_chosen(&at, "\"hystart++\" or { hystart = { detect = \"delay\" } }")?;
    }
    if let Some(at) = table.get("undo") {
        config.undo = match at.text()? {
            "never" => Undo::Never,
            "duplicates" => Undo::Duplicates,
            "eifel" => Undo::Eifel,
            word => return Err(at.unknown("way to undo", word, &["never", "duplicates", "eifel"])),
        };
    }
    if let Some(at) = table.get("rto") {
        config.rto = match at.text()? {
            "rfc6298" => RtoLaw::Rfc6298,
            "linux" => RtoLaw::Linux,
            word => return Err(at.unknown("way to set the timeout", word, &["rfc6298", "linux"])),
        };
    }
    if let Some(at) = table.get("initial_window") {
        config.initial_window = at.number(1.0, 1e6)?;
    }
    if let Some(at) = table.get("initial_ssthresh") {
        config.initial_ssthresh = at.number(2.0, 1e9)?;
    }
    if let Some(at) = table.get("receive_window") {
        config.peer_window = read_window(&at, config)?;
    }
    if let Some(at) = table.get("delayed_ack") {
        config.delayed_ack = read_delayed_ack(&at)?;
    }
    if let Some(at) = table.get("quick_acks") {
        config.quick_acks = at.count(0, 1_000_000)? as u32;
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
    for (key, place) in [
        ("limited_transmit", &mut config.limited_transmit),
        ("local_congestion", &mut config.local_congestion),
        ("timestamps", &mut config.timestamps),
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
    Ok(())
}

/// Checks that the retransmission timer can work. `at` is the table that sets it.
pub(crate) fn check_timeouts(at: &At<'_>, config: &Config) -> Result<()> {
    if config.rto_min > config.rto_max {
        let (min, max) = (config.rto_min, config.rto_max);
        return Err(at
            .error(format!("rto_min ({min}) is above rto_max ({max})"))
            .help("lower rto_min or raise rto_max; without a value rto_min is 200 ms and rto_max 60 s"));
    }
    // RFC 6298 (2.2): the timeout is at least one clock tick above the round-trip time.
    let least = config.rto_min.max(config.clock_granularity).min(config.rto_max).min(config.rto_initial);
    if least < MIN_RTO {
        return Err(at.error(format!("a retransmission timeout of {least} would fire without end")).help(
            format!("rto_initial, rto_max, and rto_min or clock_granularity must be {MIN_RTO} at least"),
        ));
    }
    Ok(())
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

pub(crate) fn read_recovery(at: &At<'_>) -> Result<recovery::Settings> {
    read_chosen(at, "\"sack\" or { sack = { proportional_rate = true } }")
}

pub(crate) fn read_detection(at: &At<'_>) -> Result<detection::Settings> {
    read_chosen(at, "\"dupacks\" or { delayed = { form = \"timer\" } }")
}

/// Reads an entry of a registry: its name, or its name with parameters, as in `example`.
pub(crate) fn read_chosen<S: Listed>(at: &At<'_>, example: &str) -> Result<Chosen<S>> {
    let (word, inner) = at.choice_like(example)?;
    let scheme = S::find(word).ok_or_else(|| at.unknown(S::KIND, word, &S::names()))?;
    let Some(inner) = inner else { return Ok(Chosen::defaults(scheme)) };
    let parameters = scheme.entry().parameters;
    let example = match parameters.first() {
        Some(parameter) => format!("{{ {word} = {{ {} = {} }} }}", parameter.name, parameter.default),
        None => format!("\"{word}\", which has no parameters"),
    };
    let table = inner.table_like(&example)?;
    let settings = read_settings(&table, parameters)?;
    table.finish()?;
    Ok(Chosen::with(scheme, settings))
}

/// Checks that detection and recovery fit together. They come from different keys; `at` is one of them.
pub(crate) fn check_pair(at: &At<'_>, config: &Config) -> Result<()> {
    let (detection, recovery) = (config.detection.scheme(), config.recovery.scheme());
    if detection.selective && !recovery.selective {
        return Err(at
            .error(format!(
                "the detection \"{}\" needs selective acknowledgements, and with the recovery \"{}\" there are none",
                detection.entry.name, recovery.entry.name
            ))
            .help("write recovery = \"sack\", or detection = \"dupacks\" or \"delayed\", which go with every recovery"));
    }
    Ok(())
}

/// Checks that the prerequisites of `undo` are met.
pub(crate) fn check_undo(at: &At<'_>, config: &Config) -> Result<()> {
    match config.undo {
        Undo::Duplicates if !config.recovery.scheme().selective => Err(at
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
const MAX_WINDOW: u32 = 1 << 30;

/// Reads a receive window: a number of segments, or an amount of data.
fn read_window(at: &At<'_>, config: &Config) -> Result<u32> {
    const HELP: &str = "for example \"64 kB\", \"64 segments\" or 64";
    let Ok(text) = at.text() else {
        return at
            .count(1, u64::from(MAX_WINDOW))
            .map(|segments| segments as u32)
            .map_err(|error| error.help(HELP));
    };
    let counted = text.trim().strip_suffix("segments").or_else(|| text.trim().strip_suffix("segment"));
    let segments = match counted {
        Some(number) => number.trim().parse::<u32>().ok(),
        None => {
            let Bytes(bytes) = at.quantity().map_err(|error| error.help(HELP))?;
            Some((bytes / u64::from(config.payload)).min(u64::from(MAX_WINDOW)) as u32)
        }
    };
    match segments {
        Some(segments @ 1..=MAX_WINDOW) => Ok(segments),
        _ => Err(at
            .error(format!("\"{text}\" is not a receiver's window"))
            .help(format!("room for 1 to {MAX_WINDOW} segments of {} B; {HELP}", config.payload))),
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
