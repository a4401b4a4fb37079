//! Reading the settings of a registry's entry: keys, units and ranges come from its parameters.

use super::reader::{At, Result, Table};
use ackclock_registry::{Domain, Parameter, Settings, Value};
use ackclock_units::{Bytes, Duration, Room};

/// Reads `parameters` from a table. Other keys are left to the caller.
pub(crate) fn read_settings(table: &Table<'_>, parameters: &'static [Parameter]) -> Result<Settings> {
    let mut settings = Settings::defaults(parameters);
    for parameter in parameters {
        let given = match parameter.default {
            Value::Needed => Some(table.need(parameter.name, example(parameter))?),
            _ => table.get(parameter.name),
        };
        if let Some(at) = given {
            settings.put(parameter.name, read_value(&at, parameter)?);
        }
    }
    Ok(settings)
}

/// A value of this parameter.
pub(crate) fn read_value(at: &At<'_>, parameter: &'static Parameter) -> Result<Value> {
    match &parameter.domain {
        Domain::Range(range) => at.number(*range.start(), *range.end()).map(Value::Number),
        Domain::Count(range) => at.count(*range.start(), *range.end()).map(Value::Count),
        Domain::OnOff => at.flag().map(Value::Flag),
        Domain::Words(words) => {
            let given = at.text()?;
            let known = words.iter().find(|(word, _)| *word == given);
            known.map(|&(word, _)| Value::Choice(word)).ok_or_else(|| {
                let words: Vec<_> = words.iter().map(|&(word, _)| word).collect();
                at.unknown(parameter.name, given, &words)
            })
        }
        Domain::Time(least) => {
            let time: Duration = at.quantity()?;
            if time < *least {
                return Err(at
                    .error(format!("{time} is too short a time"))
                    .help(format!("it must be at least \"{least}\"")));
            }
            Ok(Value::Time(time))
        }
        Domain::Size(range) => {
            let size: Bytes = at.quantity()?;
            if !range.contains(&size.0) {
                let (least, most) = (Bytes(*range.start()), Bytes(*range.end()));
                return Err(at
                    .error(format!("{size} is out of range"))
                    .help(format!("it must be from \"{least}\" to \"{most}\"")));
            }
            Ok(Value::Size(size))
        }
        Domain::Room => read_room(at).map(Value::Room),
        Domain::Controller => Err(at.error("a controller cannot be set here")),
        Domain::File => Err(at.error("a file cannot be set here")),
    }
}

/// `"5000 packets"`, `"1 bdp"` or `"64 kB"`.
fn read_room(at: &At<'_>) -> Result<Room> {
    const HELP: &str = "write it as \"5000 packets\", \"1 bdp\" or \"64 kB\"";
    match &at.node.value {
        super::Value::Text(_) => at.quantity(),
        super::Value::Number(_) => Err(at.error(format!("{} has no unit", at.node.value.plain())).help(HELP)),
        _ => at.text().map_err(|error| error.help(HELP)).and_then(|_| at.quantity()),
    }
}

/// What may stand behind the equals sign.
fn example(parameter: &Parameter) -> &'static str {
    match parameter.domain {
        Domain::Range(_) | Domain::Count(_) => "1",
        Domain::OnOff => "true",
        Domain::Words(words) => words.first().map_or("\"\"", |(word, _)| word),
        Domain::Time(_) => "\"10 ms\"",
        Domain::Size(_) => "\"1500 B\"",
        Domain::Room => "\"1 bdp\"",
        Domain::Controller => "\"reno\"",
        Domain::File => "\"policy.json\"",
    }
}
