//! The published analyses as functions: `ackclock_cc::analysis`, under names that tell the publication.

use super::call::{Arguments, add, add_numeric, refused, wrong};
use super::trace::Trace;
use super::values::{from_json, number};
use ackclock_cc::analysis::{self, compound, layered, pert, pipe};
use ackclock_cc::{Given, Settings, scheme, schemes};
use minijinja::{Environment, Error, Value};
use serde_json::json;

pub(super) fn add_all(env: &mut Environment<'static>, trace: &Trace) {
    add_laws(env, trace);
    add_compound(env, trace);
    add_layered(env, trace);
    add_pert(env, trace);
    add_pipe(env, trace);
    add_responses(env, trace);
}

type Formula = (&'static str, &'static [&'static str], fn(&[f64]) -> f64);

fn add_formulas(env: &mut Environment<'static>, trace: &Trace, formulas: &[Formula]) {
    for &(name, parameters, f) in formulas {
        add_numeric(env, Some(trace), name, parameters, f);
    }
}

fn add_laws(env: &mut Environment<'static>, trace: &Trace) {
    let formulas: &[Formula] = &[
        ("reno_window", &["p"], |x| analysis::reno_window(x[0])),
        ("reno_loss_rate", &["window"], |x| analysis::reno_loss_rate(x[0])),
        ("reno_loss_rate_of_peak", &["peak"], |x| analysis::reno_loss_rate_of_peak(x[0])),
        ("reno_rate", &["segment_bytes", "rtt_s", "p"], |x| analysis::reno_rate(x[0], x[1], x[2])),
        ("reno_required_loss_rate", &["rate_bps", "segment_bytes", "rtt_s"], |x| {
            analysis::reno_required_loss_rate(x[0], x[1], x[2])
        }),
        ("seconds_between_losses", &["rate_bps", "segment_bytes", "p"], |x| {
            analysis::seconds_between_losses(x[0], x[1], x[2])
        }),
        ("window_for", &["rate_bps", "segment_bytes", "rtt_s"], |x| analysis::window_for(x[0], x[1], x[2])),
        ("reno_fill_time", &["rate_bps", "segment_bytes", "rtt_s"], |x| {
            analysis::reno_fill_time(x[0], x[1], x[2])
        }),
        ("rtt_unfairness", &["d"], |x| analysis::rtt_unfairness(x[0])),
        ("buffer_for", &["beta"], |x| analysis::buffer_for(x[0])),
        ("scalable_window", &["a", "b", "p"], |x| analysis::scalable_window(x[0], x[1], x[2])),
    ];
    add_formulas(env, trace, formulas);
}

fn add_pipe(env: &mut Environment<'static>, trace: &Trace) {
    let formulas: &[Formula] = &[
        ("window_rate", &["window_bytes", "rtt_s"], |x| pipe::window_rate(x[0], x[1])),
        ("pipe_bytes", &["rate_bps", "rtt_s"], |x| pipe::pipe_bytes(x[0], x[1])),
        ("slow_start_time", &["rtt_s", "segments"], |x| pipe::slow_start_time(x[0], x[1])),
        ("slow_start_time_delayed", &["rtt_s", "segments"], |x| pipe::slow_start_time_delayed(x[0], x[1])),
        ("burst_load", &["burst_bytes", "period_s"], |x| pipe::burst_load(x[0], x[1])),
    ];
    add_formulas(env, trace, formulas);
}

fn add_compound(env: &mut Environment<'static>, trace: &Trace) {
    let formulas: &[Formula] = &[
        ("compound_response", &["alpha", "beta", "k", "p"], |x| compound::response(x[0], x[1], x[2], x[3])),
        ("compound_peak", &["alpha", "beta", "k", "p"], |x| compound::peak(x[0], x[1], x[2], x[3])),
        ("compound_low_window", &["alpha", "k"], |x| compound::low_window(x[0], x[1])),
        ("compound_exponent_for_slope", &["slope"], |x| compound::exponent_for_slope(x[0])),
        ("compound_backlog", &["window", "base_rtt_s", "rtt_s"], |x| compound::backlog(x[0], x[1], x[2])),
    ];
    add_formulas(env, trace, formulas);
    // A loss-free period: compound_period(p, rtt_s, base_rtt_s, gamma=30).peak and so on.
    let trace = trace.clone();
    add(env, "compound_period", move |arguments| {
        let mut rest = arguments.clone();
        let mut period = compound::Period::with_defaults(
            arguments.number(1, "rtt_s")?,
            arguments.number(2, "base_rtt_s")?,
        );
        for (name, place) in [
            ("alpha", &mut period.alpha),
            ("beta", &mut period.beta),
            ("gamma", &mut period.gamma),
            ("k", &mut period.k),
        ] {
            if let Some(value) = rest.take(name) {
                *place = number(&value).ok_or_else(|| wrong(format!("{name} must be a number")))?;
            }
        }
        if let Some((name, _)) = rest.named.first() {
            return Err(refused(format!("there is no {name}"), "there are alpha, beta, gamma, k"));
        }
        let value = period_value(&period, arguments.number(0, "p")?);
        trace.note(arguments.shown("compound_period"), &value, None);
        Ok(value)
    });
}

fn period_value(period: &compound::Period, p: f64) -> Value {
    let solved = period.solve(p);
    let (w_0, w_m) = (period.w_0(), solved.peak);
    from_json(&json!({
        "regime": format!("{:?}", solved.regime),
        "peak": w_m,
        "seconds": solved.seconds,
        "segments": solved.segments,
        "throughput": solved.throughput(),
        "w_0": w_0,
        "t_de": period.t_de(w_0, w_m),
        "n_de": period.n_de(w_0, w_m),
        "t_ef": period.t_ef(w_m),
        "n_ef": period.n_ef(w_m),
        "t_fg": period.t_fg(w_m),
        "n_fg": period.n_fg(w_m),
    }))
}

fn add_layered(env: &mut Environment<'static>, trace: &Trace) {
    let formulas: &[Formula] = &[
        ("layered_threshold", &["w_t", "k"], |x| layered::threshold(x[0], x[1])),
        ("layered_layer", &["w_t", "window"], |x| layered::layer_at(x[0], x[1])),
        ("layered_variable_beta", &["k"], |x| layered::variable_beta(x[0])),
        ("layered_compensation", &["rtt_s", "reference_rtt_s", "exponent"], |x| {
            layered::compensation(x[0], x[1], x[2])
        }),
        ("layered_claim_speedup", &["k"], |x| layered::claim_speedup(x[0] as u32).unwrap_or(f64::NAN)),
        ("layered_claim_rounds", &["w_t", "k"], |x| layered::claim_rounds(x[0], x[1])),
        ("layered_recovery_speedup", &["k", "beta"], |x| layered::recovery_speedup(x[0] as u32, x[1])),
        ("layered_beta_bound", &["k"], |x| layered::beta_bound(x[0])),
        ("layered_segments_between_losses", &["window", "beta", "k_r", "k"], |x| {
            layered::segments_between_losses(x[0], x[1], x[2], x[3])
        }),
        ("layered_response", &["w_t", "beta", "k_r", "p"], |x| layered::response(x[0], x[1], x[2], x[3])),
        ("layered_peak", &["w_t", "beta", "k_r", "p"], |x| layered::peak(x[0], x[1], x[2], x[3])),
        ("layered_response_variable", &["w_t", "k_r", "p"], |x| layered::response_variable(x[0], x[1], x[2])),
        ("layered_response_constant", &["w_t", "beta"], |x| layered::response_constant(x[0], x[1])),
        ("layered_response_constant_printed", &["w_t", "beta"], |x| {
            layered::response_constant_printed(x[0], x[1])
        }),
        ("layered_rtt_unfairness", &["alpha"], |x| layered::rtt_unfairness(x[0])),
        ("layered_throughput_ratio", &["rtt1_s", "k_r1", "rtt2_s", "k_r2"], |x| {
            layered::throughput_ratio(x[0], x[1], x[2], x[3])
        }),
        ("layered_exponent_bound", &["k", "rtt_ratio"], |x| layered::exponent_bound(x[0], x[1])),
    ];
    add_formulas(env, trace, formulas);
    for (name, variable) in [("layered_table_1", false), ("layered_table_10", true)] {
        let trace = trace.clone();
        add(env, name, move |arguments| {
            let row = if variable {
                layered::table_10(arguments.number(0, "w_t")?, arguments.number(1, "k")? as u32)
            } else {
                let (w_t, beta) = (arguments.number(0, "w_t")?, arguments.number(1, "beta")?);
                layered::table_1(w_t, beta, arguments.number(2, "k")? as u32)
            };
            let value = from_json(&json!({
                "layer": row.layer, "threshold": row.threshold, "beta": row.beta,
                "claim": row.claim, "recovery": row.recovery,
            }));
            trace.note(arguments.shown(name), &value, None);
            Ok(value)
        });
    }
}

fn add_pert(env: &mut Environment<'static>, trace: &Trace) {
    let formulas: &[Formula] = &[
        ("pert_probability", &["rtt_min_s", "delay_s"], |x| pert::response_probability(x[0], x[1], false)),
        ("pert_probability_literal", &["rtt_min_s", "delay_s"], |x| {
            pert::response_probability(x[0], x[1], true)
        }),
        ("pert_buffer", &["f"], |x| pert::buffer_for_decrease(x[0])),
    ];
    add_formulas(env, trace, formulas);
}

/// `response(scheme, p, rtt_s, parameter=value)` is a scheme's average window. `slope` is the exponent of p
/// between two loss rates.
fn add_responses(env: &mut Environment<'static>, trace: &Trace) {
    let noted = trace.clone();
    add(env, "response", move |arguments| {
        let (name, p) = (arguments.text(0, "a scheme's name")?, arguments.number(1, "a loss rate")?);
        let window = window(&name, p, arguments.number(2, "a round-trip time in seconds")?, arguments)?;
        let value = Value::from(window);
        noted.note(arguments.shown("response"), &value, None);
        Ok(value)
    });
    let trace = trace.clone();
    add(env, "slope", move |arguments| {
        let name = arguments.text(0, "a scheme's name")?;
        let (p, q) = (arguments.number(1, "a loss rate")?, arguments.number(2, "another loss rate")?);
        let rtt_s = arguments.number(3, "a round-trip time in seconds")?;
        let (at_p, at_q) = (window(&name, p, rtt_s, arguments)?, window(&name, q, rtt_s, arguments)?);
        let value = Value::from(libm::log(at_q / at_p) / libm::log(q / p));
        trace.note(arguments.shown("slope"), &value, None);
        Ok(value)
    });
}

fn window(name: &str, p: f64, rtt_s: f64, arguments: &Arguments) -> Result<f64, Error> {
    let scheme = scheme(name).ok_or_else(|| {
        let known: Vec<_> = schemes().iter().map(|scheme| scheme.name).collect();
        refused(format!("there is no control \"{name}\""), format!("there are {}", known.join(", ")))
    })?;
    let response =
        scheme.response.ok_or_else(|| wrong(format!("{name} has no response function in its source")))?;
    let mut settings = Settings::defaults(scheme);
    for (key, value) in &arguments.named {
        let given = match (number(value), value.as_str()) {
            (Some(number), _) => Given::Number(number),
            (_, Some(word)) => Given::Word(word),
            _ => Given::Flag(value.is_true()),
        };
        settings.set(key, given).map_err(|error| wrong(format!("{name}.{key}: {error}")))?;
    }
    Ok(response(&settings, p, rtt_s))
}
