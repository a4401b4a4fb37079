//! TFRC as ns-2 has it: which switches make ours comparable.

use ackclock_rate::Transport;
use ackclock_registry::{Chosen, Value};
use ackclock_units::Duration;
use miette::{Result, miette};

/// Checks that `chosen` is TFRC with the switches of Agent/TFRC's defaults, for packets with a header of
/// `header` bytes.
///
/// # Errors
///
/// If it is another transport, or a switch differs. The error tells which.
pub fn check(chosen: &Chosen<Transport>, header: u16) -> Result<()> {
    if chosen.name() != "tfrc" {
        return Err(miette!(help = "tfrc has one", "\"{}\" has no counterpart in ns-2", chosen.name()));
    }
    let wanted = [
        ("header", Value::Count(u64::from(header))),       // headersize_
        ("rtt_memory", Value::Number(0.95)),               // df_
        ("tick", Value::Time(Duration::from_millis(100))), // tcp_tick_
        ("least_timeout", Value::Time(Duration::ZERO)),    // minrto_
        ("damped", Value::Flag(true)),                     // ca_
        ("gradual", Value::Flag(true)),
        ("ramped", Value::Flag(true)), // slow_increase_
        ("patience", Value::Number(2.0)),
        ("reorder", Value::Count(1)),     // numPkts_
        ("discount", Value::Number(0.5)), // minDiscountRatio_
        ("ack", Value::Count(40)),        // packetSize_ of the sink
    ];
    for (name, value) in wanted {
        let found = chosen.settings().iter().find(|(parameter, _)| parameter.name == name);
        let found = found.map(|(_, found)| found);
        if found != Some(value) {
            return Err(miette!(
                help = format!("set it to {value}"),
                "ns-2's TFRC has another {name}: {found:?}"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_registry::Listed;

    #[test]
    fn what_ns_2_has_not_is_refused() {
        let refused = |chosen: &Chosen<Transport>| check(chosen, 32).expect_err("it differs").to_string();
        let defaults = |name: &str| Chosen::defaults(Transport::find(name).expect("it is registered"));
        assert!(refused(&defaults("xrtp")).contains("no counterpart"));
        assert!(refused(&defaults("tfrc")).contains("another header"));
    }
}
