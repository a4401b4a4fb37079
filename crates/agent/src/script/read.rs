//! Types, protocols and their arguments: from words and numbers to what an end does.

use super::error::Fault;
use super::lexer::short;
use super::parser::{Argument, Call, Value};
use crate::spec::{
    BurstPattern, Late, MAX_BURST, MAX_DATAGRAM, MAX_DURATION, MAX_STAMPS, MIN_PERIOD, Number, Pattern,
    Protocol, Role, Spec,
};
use crate::traffic::{Draw, FUNCTIONS, TYPES, function};
use ackclock_scenario::suggest;
use ackclock_units::{Bytes, Duration, Rate};

/// The size of a block where a script names none, bytes: that of the thesis's full blast.
const BLOCKSIZE: u64 = 32_000;
/// The time that a test takes where a script names none, us.
const DURATION: u64 = 10_000_000;

const KINDS: [&str; 4] = ["full", "burst", "burstq", "sink"];

/// The arguments of a call, each to be taken once.
struct Arguments<'a> {
    call: &'a Call,
    known: Vec<&'static str>,
}

impl<'a> Arguments<'a> {
    fn of(call: &'a Call, known: &[&'static str]) -> Result<Arguments<'a>, Fault> {
        for (number, argument) in call.arguments.iter().enumerate() {
            let name = argument.name.as_str();
            if !known.contains(&name) {
                let message = format!("{} has no argument \"{}\"", call.name, short(name));
                return Err(Fault::new(argument.span, message, suggest(name, known)));
            }
            if call.arguments[..number].iter().any(|before| before.name == name) {
                return Err(Fault::new(argument.span, format!("{name} stands twice"), "remove one of them"));
            }
        }
        Ok(Arguments { call, known: known.to_vec() })
    }

    /// Which of two words for the same stands here; the first one if none does.
    fn either(&self, word: &'static str, other: &'static str) -> Result<&'static str, Fault> {
        match (self.find(word), self.find(other)) {
            (Some(_), Some(argument)) => {
                let message = format!("{word} and {other} mean the same");
                Err(Fault::new(argument.span, message, "remove one of them"))
            }
            (None, Some(_)) => Ok(other),
            (_, None) => Ok(word),
        }
    }

    fn find(&self, name: &str) -> Option<&'a Argument> {
        debug_assert!(self.known.contains(&name), "{name} is not among the known arguments");
        self.call.arguments.iter().find(|argument| argument.name == name)
    }

    /// A whole number from `least` to `most`, or a text that `quantity` reads.
    fn whole(
        &self,
        name: &str,
        (least, most): (u64, u64),
        quantity: Option<Quantity>,
    ) -> Result<Option<u64>, Fault> {
        self.find(name).map(|argument| whole(argument, (least, most), quantity)).transpose()
    }

    fn number(
        &self,
        name: &str,
        range: (u64, u64),
        quantity: Option<Quantity>,
    ) -> Result<Option<Number>, Fault> {
        let Some(argument) = self.find(name) else { return Ok(None) };
        match &argument.value {
            Value::Call(call) => draw(call).map(|draw| Some(Number::Drawn(draw))),
            _ => whole(argument, range, quantity).map(|value| Some(Number::Fixed(value))),
        }
    }

    fn word(&self, name: &str, known: &[&str]) -> Result<Option<&'a str>, Fault> {
        let Some(argument) = self.find(name) else { return Ok(None) };
        match &argument.value {
            Value::Call(call) if call.arguments.is_empty() && known.contains(&call.name.as_str()) => {
                Ok(Some(&call.name))
            }
            Value::Call(call) => {
                let message = format!("{name} cannot be \"{}\"", short(&call.name));
                Err(Fault::new(argument.at, message, suggest(&call.name, known)))
            }
            _ => Err(Fault::new(argument.at, format!("{name} is a word"), suggest("", known))),
        }
    }
}

/// What a text in quotes stands for, as a number of the unit that numbers without one have.
#[derive(Clone, Copy)]
enum Quantity {
    /// In bytes.
    Size,
    /// In us.
    Micros,
    /// In us; numbers without a unit are seconds.
    Seconds,
    /// In bit/s.
    Speed,
}

impl Quantity {
    fn read(self, text: &str) -> Result<f64, (String, String)> {
        let wrong = |error: ackclock_units::QuantityError| (error.problem(), error.remedy().to_owned());
        match self {
            Quantity::Size => text.parse::<Bytes>().map(|size| size.0 as f64).map_err(wrong),
            Quantity::Speed => text.parse::<Rate>().map(Rate::bps_f64).map_err(wrong),
            Quantity::Micros | Quantity::Seconds => {
                text.parse::<Duration>().map(|span| (span.as_nanos() / 1000) as f64).map_err(wrong)
            }
        }
    }

    fn example(self) -> &'static str {
        match self {
            Quantity::Size => "128000 or \"128 kB\"",
            Quantity::Micros => "10000 (us) or \"10 ms\"",
            Quantity::Seconds => "10 (s) or \"10 s\"",
            Quantity::Speed => "\"50 Mbit/s\"",
        }
    }
}

fn whole(argument: &Argument, (least, most): (u64, u64), quantity: Option<Quantity>) -> Result<u64, Fault> {
    let name = &argument.name;
    let example = quantity.map_or("a whole number", Quantity::example);
    let value = match (&argument.value, quantity) {
        (Value::Number(number), Some(Quantity::Seconds)) => number * 1e6,
        (Value::Number(_), Some(Quantity::Speed)) => {
            return Err(Fault::new(argument.at, format!("{name} needs a unit"), format!("write {example}")));
        }
        (Value::Number(number), _) => *number,
        (Value::Text(text), Some(quantity)) => {
            quantity.read(text).map_err(|(problem, help)| Fault::new(argument.at, problem, help))?
        }
        (Value::Text(_), None) => {
            return Err(Fault::new(argument.at, format!("{name} has no unit"), "write a whole number"));
        }
        (Value::Call(_), _) => {
            return Err(Fault::new(
                argument.at,
                format!("{name} is always the same"),
                format!("write {example}"),
            ));
        }
    };
    let exact = matches!(quantity, Some(Quantity::Seconds)) || value.fract() == 0.0;
    if !exact || value < least as f64 || value > most as f64 {
        let scale = if matches!(quantity, Some(Quantity::Seconds)) { 1_000_000 } else { 1 };
        let message = format!("{name} must be a whole number from {} to {}", least / scale, most / scale);
        return Err(Fault::new(argument.at, message, format!("write {example}")));
    }
    Ok(value as u64)
}

/// A function as a value.
fn draw(call: &Call) -> Result<Draw, Fault> {
    let Some(known) = function(&call.name) else {
        let names: Vec<&str> = FUNCTIONS.iter().map(|known| known.name).collect();
        let message = format!("there is no function \"{}\"", short(&call.name));
        return Err(Fault::new(call.span, message, suggest(&call.name, &names)));
    };
    let mut arguments = Vec::new();
    for argument in &call.arguments {
        let name = argument.name.as_str();
        let names = known.arguments();
        if !names.contains(&name) {
            let message = format!("{} has no argument \"{}\"", known.name, short(name));
            return Err(Fault::new(argument.span, message, suggest(name, &names)));
        }
        if arguments.iter().any(|(before, _)| before == name) {
            return Err(Fault::new(argument.span, format!("{name} stands twice"), "remove one of them"));
        }
        let Value::Number(value) = argument.value else {
            return Err(Fault::new(argument.at, format!("{name} is a number"), known.about));
        };
        arguments.push((name.to_owned(), value));
    }
    let draw = Draw { function: known.name.to_owned(), arguments };
    if draw.law().is_none() {
        let message = format!("{} has no values with these arguments", known.name);
        return Err(Fault::new(call.span, message, known.about));
    }
    Ok(draw)
}

/// What an end does: its type and its protocol.
pub(super) fn spec(kind: &Call, protocol: &Call) -> Result<Spec, Fault> {
    let protocol_at = protocol.span;
    let protocol = read_protocol(protocol)?;
    let (role, stamps) = read_type(kind)?;
    if protocol.no_control() && matches!(role, Role::Sink { .. }) {
        let help = "only the end that sends has a congestion control: leave nocc out here";
        return Err(Fault::new(protocol_at, "a sink controls no congestion", help));
    }
    let spec = Spec { role, protocol, stamps };
    match spec.fault() {
        None => Ok(spec),
        Some(fault) => {
            let udp = spec.protocol.is_udp();
            let help = match fault {
                _ if udp && fault.ends_with("without a rate") => {
                    "UDP has no control of its own: say udp (rate=\"50 Mbit/s\"), or write bursts".to_owned()
                }
                _ if udp => format!("a block is one datagram, of at most {MAX_DATAGRAM} bytes"),
                _ => format!("a burst has at most {MAX_BURST} bytes"),
            };
            Err(Fault::new(kind.span, format!("{fault} cannot be sent"), help))
        }
    }
}

fn read_type(call: &Call) -> Result<(Role, u32), Fault> {
    let size = Some(Quantity::Size);
    if let Some(model) = TYPES.iter().find(|model| model.name == call.name) {
        let arguments = Arguments::of(call, &["duration", "for", "stamps", "buffer"])?;
        let (duration, stamps, buffer) = common(&arguments)?;
        let bursts = (model.bursts)();
        return Ok((Role::Source(Pattern::Bursts(BurstPattern { duration, buffer, ..bursts })), stamps));
    }
    match call.name.as_str() {
        "full" => {
            let arguments = Arguments::of(call, &["blocksize", "duration", "for", "stamps", "buffer"])?;
            let blocksize = arguments.whole("blocksize", (1, MAX_BURST), size)?.unwrap_or(BLOCKSIZE);
            let (duration, stamps, buffer) = common(&arguments)?;
            Ok((Role::Source(Pattern::Full { blocksize, duration, buffer }), stamps))
        }
        "sink" => {
            let arguments = Arguments::of(call, &["blocksize", "duration", "for", "stamps", "buffer"])?;
            let blocksize = arguments.whole("blocksize", (1, MAX_BURST), size)?.unwrap_or(BLOCKSIZE);
            let (duration, stamps, _) = common(&arguments)?;
            Ok((Role::Sink { blocksize, duration }, stamps))
        }
        "burst" | "burstq" => read_bursts(call),
        other => {
            let known: Vec<&str> =
                KINDS.iter().copied().chain(TYPES.iter().map(|model| model.name)).collect();
            let message = format!("there is no type \"{}\"", short(other));
            Err(Fault::new(call.span, message, suggest(other, &known)))
        }
    }
}

/// Bursts, in the thesis's words or in those of scenarios: size, every, for, queued.
fn read_bursts(call: &Call) -> Result<(Role, u32), Fault> {
    let mut known =
        vec!["blocksize", "size", "repeats", "period", "every", "duration", "for", "stamps", "buffer"];
    if call.name != "burstq" {
        known.extend(["late", "queued"]);
    }
    let arguments = Arguments::of(call, &known)?;
    let late = late(&arguments)?;
    let size = arguments.either("blocksize", "size")?;
    if let ("size", Some(repeats)) = (size, arguments.find("repeats")) {
        let help = "say blocksize for the size of a block";
        return Err(Fault::new(repeats.span, "size is that of the whole burst", help));
    }
    let blocksize = arguments.number(size, (1, MAX_BURST), Some(Quantity::Size))?;
    let repeats = arguments.number("repeats", (1, MAX_BURST), None)?;
    let every = arguments.either("period", "every")?;
    let period = arguments.number(every, (MIN_PERIOD, MAX_DURATION), Some(Quantity::Micros))?;
    let Some(period) = period else {
        let help = "say for example every=\"10 ms\", or period=10000 (us)";
        return Err(Fault::new(call.span, format!("{} has no period", call.name), help));
    };
    let (duration, stamps, buffer) = common(&arguments)?;
    let pattern = BurstPattern {
        blocksize: blocksize.unwrap_or(Number::Fixed(BLOCKSIZE)),
        repeats: repeats.unwrap_or(Number::Fixed(1)),
        period,
        duration,
        late,
        buffer,
        opening: None,
        apart: None,
        gaps: false,
    };
    Ok((Role::Source(Pattern::Bursts(pattern)), stamps))
}

/// What becomes of late bursts.
fn late(arguments: &Arguments<'_>) -> Result<Late, Fault> {
    if arguments.call.name == "burstq" {
        return Ok(Late::Queue);
    }
    let skip = arguments.word("late", &["delay", "skip"])? == Some("skip");
    match (arguments.word("queued", &["true", "false"])? == Some("true"), skip) {
        (true, true) => {
            let message = "a late burst is either queued or skipped";
            Err(Fault::new(arguments.call.span, message, "leave queued or late out"))
        }
        (true, false) => Ok(Late::Queue),
        (false, true) => Ok(Late::Skip),
        (false, false) => Ok(Late::Delay),
    }
}

/// Duration, stamps and buffer, which all types have.
fn common(arguments: &Arguments<'_>) -> Result<(u64, u32, Option<u64>), Fault> {
    let length = arguments.either("duration", "for")?;
    let duration = arguments.whole(length, (1, MAX_DURATION), Some(Quantity::Seconds))?;
    let stamps = arguments.whole("stamps", (0, u64::from(MAX_STAMPS)), None)?;
    let buffer = arguments.whole("buffer", (1, 1 << 30), Some(Quantity::Size))?;
    Ok((duration.unwrap_or(DURATION), stamps.unwrap_or(0) as u32, buffer))
}

fn read_protocol(call: &Call) -> Result<Protocol, Fault> {
    let size = Some(Quantity::Size);
    match call.name.as_str() {
        "tcp" => {
            let arguments = Arguments::of(call, &["window", "nocc", "control", "rate"])?;
            let window = arguments.whole("window", (1, 1 << 30), size)?;
            let nocc = arguments.whole("nocc", (0, 1), None)? == Some(1);
            let rate = arguments.whole("rate", (1, u64::MAX >> 12), Some(Quantity::Speed))?;
            let control = match arguments.find("control") {
                None => None,
                Some(Argument { value: Value::Call(call), at, .. }) => {
                    let letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
                    if !call.arguments.is_empty() || call.name.len() > 15 || !call.name.chars().all(letter) {
                        let help = "write its name in the kernel, for example cubic, or none";
                        return Err(Fault::new(*at, "no controller has this name", help));
                    }
                    Some(call.name.clone())
                }
                Some(other) => {
                    let help = "write its name in the kernel, for example cubic, or none";
                    return Err(Fault::new(other.at, "control is a word", help));
                }
            };
            if nocc && control.as_deref().is_some_and(|name| name != "none") {
                let help = "nocc=1 means control=none: leave one of them out";
                return Err(Fault::new(call.span, "nocc=1 contradicts this control", help));
            }
            let no_control = nocc || control.as_deref() == Some("none");
            Ok(Protocol::Tcp { window, control: control.filter(|_| !no_control), no_control, rate })
        }
        "udp" => {
            let arguments = Arguments::of(call, &["window", "rate"])?;
            let window = arguments.whole("window", (1, 1 << 30), size)?;
            let rate = arguments.whole("rate", (1, u64::MAX >> 12), Some(Quantity::Speed))?;
            Ok(Protocol::Udp { window, rate })
        }
        other => {
            let message = format!("there is no protocol \"{}\"", short(other));
            Err(Fault::new(call.span, message, suggest(other, &["tcp", "udp"])))
        }
    }
}
