//! `jitter`: how late the packets of a flow leave their host.

use super::document::Value;
use super::reader::{At, Result};
use ackclock_units::Duration;

/// The longest delay by jitter, as the file gives it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum JitterSpec {
    /// A time; zero is none.
    Time(Duration),
    /// So many times the transmission time of a segment at the narrowest link on the flow's way.
    Packets(f64),
}

/// The longest jitter, in transmission times.
const MAX_PACKETS: f64 = 1000.0;
const HELP: &str = "write \"off\", \"1 packet\" or a time, for example \"100 us\"";

/// Reads `"off"`, `"1 packet"`, `"0.5 packets"` or `"100 us"`.
pub(crate) fn read_jitter(at: &At<'_>) -> Result<JitterSpec> {
    let Value::Text(text) = &at.node.value else { return Err(at.error("this is no jitter").help(HELP)) };
    let text = text.trim();
    if text == "off" {
        return Ok(JitterSpec::Time(Duration::ZERO));
    }
    let Some(number) = text.strip_suffix("packets").or_else(|| text.strip_suffix("packet")) else {
        return at.quantity().map(JitterSpec::Time).map_err(|error| error.help(HELP));
    };
    match number.trim().parse::<f64>() {
        Ok(packets) if (0.0..=MAX_PACKETS).contains(&packets) => Ok(JitterSpec::Packets(packets)),
        _ => Err(at
            .error(format!("\"{text}\" is no jitter"))
            .help(format!("{HELP}; at most {MAX_PACKETS} packets"))),
    }
}

impl JitterSpec {
    /// The longest delay, where a segment takes `transmission` at the narrowest link.
    pub(crate) fn most(self, transmission: Duration) -> Duration {
        match self {
            JitterSpec::Time(time) => time,
            JitterSpec::Packets(packets) => Duration::from_secs_f64(transmission.as_secs_f64() * packets),
        }
    }
}
