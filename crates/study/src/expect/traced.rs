//! Functions of the capture that is traced, for scenarios with `trace`.
//!
//! They use the first flow of a group, and its first connection.

use super::call::{Answer, Arguments, refused, wrong};
use super::functions::{FunctionRegistry, group_flows};
use crate::traced::known;
use ackclock_scenario::results::PointResult;
use ackclock_scenario::suggest;
use ackclock_scenario::traced::TracedFlow;
use minijinja::Error;

pub(super) fn add_all(w: &mut FunctionRegistry<'_>) {
    // traced('flow', 'initial_window_packets'): a number of the direction of its data, by its name in JSON.
    // traced('flow', 'pure_acks', 'acknowledgements'): one of the other direction.
    w.add("traced(label, number, ['data' or 'acknowledgements'])", number);
    // traced_ack('flow', 3, 'in_flight'): of the third acknowledgement of data.
    // traced_data('flow', 30): when the thirtieth packet with data passed, s since the connection began.
    w.add("traced_data(label, n)", |point, args| {
        let traced = connection(point, args)?;
        Ok(traced.data_at_s.get(nth(args)? - 1).copied().unwrap_or(f64::NAN))
    });
    // traced_acks('flow', 0.1): how many acknowledgements of data have passed by then.
    w.add("traced_acks(label, by_s)", |point, args| {
        let traced = connection(point, args)?;
        let by = args.number(1, "a time in seconds")?;
        Ok(traced.acks.iter().filter(|ack| ack.at_s <= by).count() as f64)
    });
    w.add("traced_ack(label, n, 'at', 'acked', 'in_flight' or 'sent')", ack);
}

fn connection<'a>(point: &'a PointResult, args: &Arguments) -> Result<&'a TracedFlow, Error> {
    let label = args.text(0, "a group's label")?;
    let flow = group_flows(point, &label)?[0].id;
    point.traced.iter().find(|traced| traced.flow == flow).ok_or_else(|| {
        refused(
            format!("no capture tells of \"{label}\""),
            "add trace = \"bottleneck\" to the scenario: a link on the flow's way",
        )
    })
}

/// A number that the capture does not tell has no value.
fn number(point: &PointResult, args: &Arguments) -> Answer {
    let traced = connection(point, args)?;
    let name = args.text(1, "the name of a number")?;
    let numbers = match args.given.len() {
        ..=2 => &traced.data,
        _ => match args.text(2, "'data' or 'acknowledgements'")?.as_str() {
            "data" => &traced.data,
            "acknowledgements" => &traced.acknowledgements,
            other => return Err(wrong(format!("'data' or 'acknowledgements' is wanted, not '{other}'"))),
        },
    };
    let known = known();
    if !known.contains_key(&name) {
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        return Err(refused(format!("there is no number \"{name}\""), suggest(&name, &names)));
    }
    Ok(numbers.get(&name).copied().unwrap_or(f64::NAN))
}

/// The second argument: 1 is the first.
fn nth(args: &Arguments) -> Result<usize, Error> {
    let n = args.number(1, "the number of a packet")?;
    if n < 1.0 || n.fract() != 0.0 {
        return Err(wrong(format!("packets count from 1, not {n}")));
    }
    Ok(n as usize)
}

/// In flight are segments of the largest size that the capture has. Of an acknowledgement that did not come,
/// nothing has a value.
fn ack(point: &PointResult, args: &Arguments) -> Answer {
    let traced = connection(point, args)?;
    let segment = traced.data.get("segment_max").copied().unwrap_or(f64::NAN);
    let ack = traced.acks.get(nth(args)? - 1);
    let value = |of: fn(&ackclock_scenario::traced::TracedAck) -> f64| Ok(ack.map_or(f64::NAN, of));
    match args.text(2, "'at', 'acked', 'in_flight' or 'sent'")?.as_str() {
        "at" => value(|ack| ack.at_s),
        "acked" => value(|ack| ack.acked_bytes as f64),
        "in_flight" => Ok(value(|ack| ack.outstanding_bytes as f64)? / segment),
        "sent" => value(|ack| ack.sent as f64),
        other => Err(wrong(format!("'at', 'acked', 'in_flight' or 'sent' is wanted, not '{other}'"))),
    }
}
