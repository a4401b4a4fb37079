//! Which transport a session has, as text: the sender chooses it and tells the receiver.
//!
//! ```text
//! 1 1228 xrtp
//! reorder=3
//! ```
//!
//! The first line has the version, the size of packets on the wire in bytes, and the transport. The others
//! have what is not its default.

use ackclock_rate::Transport;
use ackclock_registry::{Chosen, Domain, Given, Listed, Value};
use ackclock_units::Duration;

const VERSION: &str = "1";
/// The smallest packet on the wire, bytes: a datum needs room.
pub const LEAST_BYTES: u32 = 200;
/// The largest.
pub const MOST_BYTES: u32 = 1500;

/// What a sender asks of a receiver.
#[derive(Clone, PartialEq, Debug)]
pub struct Terms {
    /// The transport.
    pub control: Chosen<Transport>,
    /// The size of a data packet on the wire, bytes.
    pub bytes: u32,
}

impl Terms {
    /// The terms as text.
    pub fn to_text(&self) -> String {
        let mut text = format!("{VERSION} {} {}", self.bytes, self.control.name());
        let defaults = Chosen::defaults(self.control.scheme());
        for ((parameter, value), (_, default)) in
            self.control.settings().iter().zip(defaults.settings().iter())
        {
            let value = match value {
                _ if value == default => continue,
                Value::Number(number) => format!("{number:?}"),
                Value::Count(count) => count.to_string(),
                Value::Flag(on) => on.to_string(),
                Value::Choice(word) => word.to_owned(),
                Value::Time(time) => format!("{} ns", time.as_nanos()),
                // No transport has others.
                Value::Size(_) | Value::Room(_) | Value::File(_) | Value::Otherwise(_) | Value::Needed => {
                    continue;
                }
            };
            text.push_str(&format!("\n{}={value}", parameter.name));
        }
        text
    }

    /// Terms from text. `None` if they are none, or if this version does not know something of them.
    pub fn from_text(text: &str) -> Option<Terms> {
        let mut lines = text.lines();
        let mut words = lines.next()?.split(' ');
        let (version, bytes, name) = (words.next()?, words.next()?, words.next()?);
        let bytes = bytes.parse().ok().filter(|bytes| (LEAST_BYTES..=MOST_BYTES).contains(bytes))?;
        if version != VERSION || words.next().is_some() {
            return None;
        }
        let mut control = Chosen::defaults(Transport::find(name)?);
        for line in lines {
            set(&mut control, line).ok()?;
        }
        Some(Terms { control, bytes })
    }
}

/// The transport that is used if none is chosen.
pub fn standard() -> Chosen<Transport> {
    ackclock_rate::tfrc::TRANSPORT.for_networks()
}

/// Sets `KEY=VALUE`.
///
/// # Errors
///
/// What is wrong with it, and what would be right.
pub fn set(control: &mut Chosen<Transport>, text: &str) -> Result<(), String> {
    let (name, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    let time = |text: &str| text.parse::<Duration>().map_err(|error| error.to_string());
    let given = match (control.settings().parameter(name).map(|it| &it.domain), value.parse()) {
        (Some(Domain::Time(_)), _) => Given::Time(time(value)?),
        (Some(Domain::OnOff), _) if value == "true" => Given::Flag(true),
        (Some(Domain::OnOff), _) if value == "false" => Given::Flag(false),
        (Some(Domain::Range(_) | Domain::Count(_)), Ok(number)) => Given::Number(number),
        _ => Given::Word(value),
    };
    control.set(name, given).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_read_as_they_were_written() {
        for &transport in Transport::all() {
            let mut terms = Terms { control: transport.for_networks(), bytes: 1228 };
            assert_eq!(terms.control.settings().given::<u64>("reorder"), Some(3), "{transport:?}");
            assert_eq!(Terms::from_text(&terms.to_text()).as_ref(), Some(&terms));
            let most = set(&mut terms.control, "most_rate=1.5e6");
            assert_eq!(most, Ok(()), "{transport:?}");
            assert_eq!(Terms::from_text(&terms.to_text()), Some(terms));
        }
        let mut control = Chosen::defaults(Transport::find("xrtp").expect("there"));
        for line in ["loss=zigzag", "tick=5 ms", "skip_pairs=false", "alpha=0.7"] {
            assert_eq!(set(&mut control, line), Ok(()), "{line}");
        }
        let terms = Terms { control, bytes: 600 };
        assert_eq!(Terms::from_text(&terms.to_text()), Some(terms));
    }

    #[test]
    fn what_is_unknown_is_refused() {
        for text in [
            "",
            "1",
            "1 1228",
            "2 1228 xrtp",
            "1 0 xrtp",
            "1 1501 xrtp",
            "1 1228 reno",
            "1 1228 xrtp x",
            "1 1228 xrtp\nx=1",
            "1 1228 xrtp\nalpha=NaN",
            "1 1228 xrtp\nalpha=2",
            "1 1228 xrtp\nalpha",
        ] {
            assert_eq!(Terms::from_text(text), None, "{text}");
        }
    }
}
