//! Functions of results.

use super::call::{add, refused};
use super::functions::{FunctionRegistry, group_flows};
use super::select::axis;
use ackclock_cc::analysis;
use ackclock_scenario::results::{FlowResult, LinkResult};
use ackclock_scenario::suggest;

pub(super) fn add_all(words: &mut FunctionRegistry<'_>) {
    add_flow_functions(words);
    add_link_functions(words);
    let view = words.view.clone();
    add(words.env, "axis", move |arguments| {
        let mut arguments = arguments.clone();
        arguments.no_more_than("axis(name)")?;
        let scenario = arguments.take("in").map(|name| name.to_string());
        axis(view.set(scenario.as_deref())?.1, &arguments.text(0, "an axis")?)
    });
}

fn add_flow_functions(w: &mut FunctionRegistry<'_>) {
    macro_rules! total {
        ($($name:literal => $field:expr),* $(,)?) => {$(
            w.add(concat!($name, "(label)"), |point, args| {
                let value: fn(&FlowResult) -> f64 = $field;
                Ok(group_flows(point, &args.text(0, "a group's label")?)?.into_iter().map(value).sum())
            });
        )*};
    }
    total! {
        "goodput" => |flow| flow.goodput_bps,
        "throughput" => |flow| flow.throughput_bps,
        "sent" => |flow| flow.sent as f64,
        "delivered" => |flow| flow.delivered as f64,
        "retransmits" => |flow| flow.retransmits as f64,
        "duplicates" => |flow| flow.duplicates as f64,
        "fast_retransmits" => |flow| flow.fast_retransmits as f64,
        "timeouts" => |flow| flow.timeouts as f64,
        "cuts" => |flow| flow.window_cuts as f64,
        "transfers" => |flow| flow.completions_s.len() as f64,
    }
    macro_rules! mean {
        ($($name:literal => $field:expr),* $(,)?) => {$(
            w.add(concat!($name, "(label)"), |point, args| {
                let value: fn(&FlowResult) -> f64 = $field;
                let flows = group_flows(point, &args.text(0, "a group's label")?)?;
                Ok(flows.iter().map(|flow| value(flow)).sum::<f64>() / flows.len() as f64)
            });
        )*};
    }
    mean! {
        "cwnd_mean" => |flow| flow.cwnd_mean,
        "rtt_mean" => |flow| flow.rtt_mean_s.unwrap_or(f64::NAN),
        "rtt_min" => |flow| flow.rtt_min_s.unwrap_or(f64::NAN),
        "completion" => |flow| flow.completion_s.unwrap_or(f64::NAN),
    }
    // Loss episodes, as a share of all segments that a group sent.
    w.add("fast_retransmit_share(label)", |point, args| {
        let flows = group_flows(point, &args.text(0, "a group's label")?)?;
        let sum = |value: fn(&FlowResult) -> u64| flows.iter().map(|flow| value(flow)).sum::<u64>() as f64;
        Ok(sum(|flow| flow.fast_retransmits) / sum(|flow| flow.sent).max(1.0))
    });
    // Payload by the time of its arrival, whenever it is delivered: what waits behind a hole at an end of the
    // window is not counted in one piece.
    w.add("arrival_goodput(label)", |point, args| {
        let flows = group_flows(point, &args.text(0, "a group's label")?)?;
        let window_s = point.measure_s[1] - point.measure_s[0];
        let fresh_bps = |flow: &FlowResult| {
            let payload = f64::from(flow.payload_bytes);
            let again_bps = flow.duplicates as f64 * payload * 8.0 / window_s;
            flow.throughput_bps * payload / f64::from(flow.segment_bytes) - again_bps
        };
        Ok(flows.into_iter().map(fresh_bps).sum())
    });
    w.add("total_goodput()", |point, _| Ok(point.flows.iter().map(|flow| flow.goodput_bps).sum()));
    w.add("jain([label])", |point, args| {
        let index = match args.text(0, "a group's label") {
            Ok(label) => {
                let goodputs: Vec<_> =
                    group_flows(point, &label)?.iter().map(|flow| flow.goodput_bps).collect();
                analysis::jain(&goodputs)
            }
            Err(_) => point.jain,
        };
        Ok(index.unwrap_or(f64::NAN))
    });
    macro_rules! spread {
        ($($name:literal => $field:ident),* $(,)?) => {$(
            w.add(concat!($name, "(label)"), |point, args| {
                let label = args.text(0, "a group's label")?;
                group_flows(point, &label)?;
                let group = point.groups.iter().find(|group| group.label == label);
                Ok(group.map_or(f64::NAN, |group| group.goodput_bps.$field))
            });
        )*};
    }
    spread! { "goodput_mean" => mean, "goodput_min" => min, "goodput_max" => max, "goodput_std" => std }
}

fn add_link_functions(w: &mut FunctionRegistry<'_>) {
    macro_rules! links {
        ($($name:literal => $field:expr),* $(,)?) => {$(
            w.add(concat!($name, "(link)"), |point, args| {
                let name = args.text(0, "a link's name")?;
                let value: fn(&LinkResult) -> f64 = $field;
                point.links.iter().find(|link| link.name == name).map(value).ok_or_else(|| {
                    let known: Vec<_> = point.links.iter().map(|link| link.name.as_str()).collect();
                    refused(format!("there is no link called \"{name}\""), suggest(&name, &known))
                })
            });
        )*};
    }
    links! {
        "rate" => |link| link.rate_bps,
        "utilisation" => |link| link.utilisation,
        "arrivals" => |link| link.arrivals as f64,
        "drops" => |link| link.drops as f64,
        "drop_rate" => |link| link.drop_rate,
        "overflows" => |link| link.overflows as f64,
        "early_drops" => |link| link.early_drops as f64,
        "random_losses" => |link| link.random_losses as f64,
        "outage_losses" => |link| link.outage_losses as f64,
        "filtered" => |link| link.filtered as f64,
        "late" => |link| link.late as f64,
        "copies" => |link| link.copies as f64,
        "corrected" => |link| link.corrected as f64,
        "resent" => |link| link.resent as f64,
        "marks" => |link| link.marks as f64,
        "queue_mean" => |link| link.queue_mean,
        "queue_max" => |link| f64::from(link.queue_max),
    }
    w.add("traffic_throughput(label)", |point, args| {
        let label = args.text(0, "a stream's label")?;
        // A group of sources has its label and a number for each.
        let is_one = |of: &str| {
            let number = of.strip_prefix(&*label).and_then(|rest| rest.strip_prefix(' '));
            of == label || number.is_some_and(|number| number.parse::<u32>().is_ok())
        };
        let exact = point.traffic.iter().find(|stream| stream.label == label);
        let together = point.traffic.iter().filter(|stream| exact.is_none() && is_one(&stream.label));
        let of: Vec<f64> = exact.into_iter().chain(together).map(|stream| stream.throughput_bps).collect();
        let total = (!of.is_empty()).then(|| of.iter().sum::<f64>());
        total.ok_or_else(|| {
            let known: Vec<_> = point.traffic.iter().map(|stream| stream.label.as_str()).collect();
            refused(format!("there is no traffic called \"{label}\""), suggest(&label, &known))
        })
    });
}
