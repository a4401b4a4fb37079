//! Controllers as ns-2 has them: which of ours have a counterpart there, with which parameters.

use ackclock_cc::Value;
use ackclock_scenario::Control;
use miette::{Result, miette};

/// The loss rate at 38 segments for HighSpeed TCP: ns-2 uses 1.5 / 38^2, RFC 3649 has 1e-3.
const NS2_LOW_P: f64 = 1.5 / (38.0 * 38.0);
/// Agent/TCP/Vegas reduces its window by a quarter on a loss. It rounds the segments in the queue to a whole
/// number before it compares them with 1, 3 and 1, so it compares with half a segment less or more.
const NS2_VEGAS: &[(&str, f64)] = &[("alpha", 0.5), ("beta", 3.5), ("gamma", 1.5), ("decrease", 0.25)];

/// The keys of the ns-2 script for this controller. They override those of the endpoint.
///
/// # Errors
///
/// If ns-2 has no such controller, or another form of it. The error tells which.
pub(super) fn keys(control: &Control) -> Result<Vec<(&'static str, String)>> {
    let name = control.name();
    let (key, value, wanted): (_, _, &[(&str, f64)]) = match name {
        "reno" => ("window_option", "1", &[]),
        "highspeed" => ("window_option", "8", &[("low_p", NS2_LOW_P)]),
        "vegas" => ("agent", "Vegas", NS2_VEGAS),
        _ => {
            return Err(miette!(
                help = "reno, highspeed and vegas have one",
                "\"{name}\" has no counterpart in the ns-2 script"
            ));
        }
    };
    for (parameter, value) in control.window().into_iter().flat_map(|settings| settings.iter()) {
        let other = wanted.iter().find(|(name, _)| *name == parameter.name);
        let (wanted, same) = match (other, value) {
            (Some(&(_, wanted)), Value::Number(given)) => {
                (Value::Number(wanted), (given / wanted - 1.0).abs() < 1e-6)
            }
            _ => (parameter.default, value == parameter.default),
        };
        if !same {
            return Err(miette!(
                help = format!("set it to {wanted}"),
                "ns-2's {name} has another {} than {value}",
                parameter.name
            ));
        }
    }
    Ok(vec![(key, value.to_owned())])
}
