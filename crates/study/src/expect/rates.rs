//! Functions of rate-based flows: how their losses were labelled, and how even a flow's throughput is.

use super::call::{Answer, Arguments, refused, wrong};
use super::functions::{FunctionRegistry, group_flows};
use super::series::{flow_looks, within};
use ackclock_scenario::results::{PointResult, RateResult, Spread};
use minijinja::Error;

pub(super) fn add_all(w: &mut FunctionRegistry<'_>) {
    w.add("lost(label)", |point, args| {
        Ok(rated(point, args)?.iter().map(|rate| rate.lost).sum::<u64>() as f64)
    });
    // labelled('xrtp', 'congestion', 'transmission', 'acted'): losses of the channel that halved the rate.
    w.add("labelled(label, what, cause, ['acted' or 'guarded'])", labelled);
    w.add("throughput_std(label, bin_s, [from_s, to_s])", throughput_std);
}

/// What only rate-based flows have, for the group that the first argument names.
fn rated<'a>(point: &'a PointResult, args: &Arguments) -> Result<Vec<&'a RateResult>, Error> {
    let label = args.text(0, "a group's label")?;
    let all: Vec<_> = group_flows(point, &label)?.into_iter().filter_map(|flow| flow.rate.as_ref()).collect();
    if all.is_empty() {
        return Err(refused(
            format!("\"{label}\" is not rate-based"),
            "name a group with control = \"xrtp\", for example",
        ));
    }
    Ok(all)
}

fn labelled(point: &PointResult, args: &Arguments) -> Answer {
    let rates = rated(point, args)?;
    let word = |at, known: &[&str]| {
        let word = args.text(at, "a label, a cause, or 'any'")?;
        let wanted = format!("there are {}", known.join(", "));
        if known.contains(&&*word) { Ok(word) } else { Err(refused(format!("'{word}' is unknown"), wanted)) }
    };
    let label = word(1, &["congestion", "transmission", "any"])?;
    let cause = word(2, &["congestion", "transmission", "unknown", "any"])?;
    let acted = match args.given.len() > 3 {
        true => Some(word(3, &["acted", "guarded"])? == "acted"),
        false => None,
    };
    let is = |wanted: &str, it: &str| wanted == "any" || wanted == it;
    let all = rates.iter().flat_map(|rate| &rate.labels);
    let meant = all.filter(|it| {
        is(&label, &it.label) && is(&cause, &it.cause) && acted.is_none_or(|acted| acted == it.acted)
    });
    Ok(meant.map(|it| it.count).sum::<u64>() as f64)
}

/// The standard deviation over time of what arrives per bin, bit/s on the wire. The group's flows together.
fn throughput_std(point: &PointResult, args: &Arguments) -> Answer {
    let bin = args.number(1, "a time in seconds")?;
    let label = args.text(0, "a group's label")?;
    let bits =
        group_flows(point, &label)?.first().map_or(f64::NAN, |flow| f64::from(flow.segment_bytes) * 8.0);
    let looks = flow_looks(point, args, "arrived")?;
    let interval = looks.get(1).map_or(f64::NAN, |(at, _)| *at);
    let each = (bin / interval).round();
    if each < 1.0 || (each * interval - bin).abs() > 1e-6 * bin {
        return Err(refused(
            format!("a bin of {bin} s is not a multiple of the probes' interval, {interval} s"),
            format!("set probe = \"{bin} s\" in the scenario"),
        ));
    }
    let arrived = within(point, looks, args, 2)?;
    let bins = arrived.chunks_exact(each as usize).map(|bin_of| bin_of.iter().sum::<f64>() * bits / bin);
    let bins: Vec<_> = bins.collect();
    if bins.len() < 2 {
        return Err(wrong(format!("there are fewer than two bins of {bin} s")));
    }
    Ok(Spread::of(&bins).std)
}
