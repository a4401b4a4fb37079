//! Warnings about results that differ from what the scenario seems to ask for.
//!
//! A warning is certain. If a rule cannot know, it says nothing: users do not read a warning again that was
//! wrong once.

use crate::measured::Measured;
use crate::plan::{FlowPlan, Plan};
use crate::read::Built;
use crate::requests::Size;
use crate::results::FlowResult;
use ackclock_net::Link;
use ackclock_units::{Duration, Rate};
use std::collections::BTreeMap;

/// The warnings about a run, each a sentence without a full stop.
pub(crate) fn warnings(built: &Built, flows: &[FlowResult], measured: &Measured) -> Vec<String> {
    let mut warnings = Vec::new();
    not_the_bottleneck(built, &mut warnings);
    queues_elsewhere(built, flows, &mut warnings);
    nothing_delivered(built, flows, measured, &mut warnings);
    warnings
}

/// The access link of a flow, if it has one.
fn access<'a>(plan: &'a Plan, flow: &FlowPlan) -> Option<&'a Link> {
    flow.forward.first().filter(|&&link| link >= plan.measured).map(|&link| &plan.links[link])
}

/// Links that look like bottlenecks, although the access links of their flows together are no faster.
fn not_the_bottleneck(built: &Built, warnings: &mut Vec<String>) {
    let plan = &built.plan;
    let streams = plan.streams.iter().flat_map(|stream| &stream.route);
    let other: Vec<usize> =
        plan.flows.iter().flat_map(|flow| &flow.reverse).chain(streams).copied().collect();
    for (number, link) in plan.links.iter().enumerate().take(plan.measured) {
        // A changing rate may be lower than those of the access links at times.
        if link.queue().is_unlimited() || link.variable_rate().is_some() || other.contains(&number) {
            continue;
        }
        let mut carried = 0.0;
        let mut is_narrowest = true;
        for flow in plan.flows.iter().filter(|flow| flow.forward.contains(&number)) {
            let core = flow.forward.iter().filter(|&&hop| hop < plan.measured);
            is_narrowest &= core.map(|&hop| plan.links[hop].rate()).min() == Some(link.rate());
            carried += access(plan, flow).map_or(f64::INFINITY, |access| access.rate().bps_f64());
        }
        if is_narrowest && carried > 0.0 && carried <= link.rate().bps_f64() {
            warnings.push(format!(
                "\"{}\" ({}) is the narrowest link, but not the bottleneck: the access links of its flows carry {} \
                 together, so nothing waits at it",
                built.links[number].name,
                link.rate(),
                Rate::from_bps(carried as u64)
            ));
        }
    }
}

/// Flows whose round trips take longer than all limited queues on their way can hold: their segments wait in
/// their own access links.
fn queues_elsewhere(built: &Built, flows: &[FlowResult], warnings: &mut Vec<String>) {
    let plan = &built.plan;
    // For each group: the flow that waits longest, and the number of such flows.
    let mut groups: BTreeMap<&str, (usize, Duration, Rate)> = BTreeMap::new();
    for (flow, result) in plan.flows.iter().zip(flows) {
        let (Some(access), Some(mean_s)) = (access(plan, flow), result.rtt_mean_s) else { continue };
        let Some(held_s) = held(plan, flow, result.segment_bytes) else { continue };
        let waited_s = mean_s - result.propagation_rtt_s - held_s;
        let delayed = flow.config.delayed_ack.unwrap_or(Duration::ZERO).as_secs_f64();
        if access.queue().is_unlimited() && waited_s > delayed + result.propagation_rtt_s {
            let entry = groups.entry(&result.label).or_insert((0, Duration::ZERO, access.rate()));
            entry.0 += 1;
            entry.1 = entry.1.max(Duration::from_secs_f64(mean_s));
        }
    }
    for (label, (count, rtt, rate)) in groups {
        let flows = if count == 1 { "a flow".to_owned() } else { format!("{count} flows") };
        warnings.push(format!(
            "{flows} of \"{label}\": round trips take up to {:.3} s on average, longer than all limited queues on the way \
             can hold: segments wait in the flows' own access links ({rate}), whose queues have no limit",
            rtt.as_secs_f64()
        ));
    }
}

/// The longest time for which packets can wait and be transmitted on a flow's path and back, without its
/// access links, s. `None` if it is not known: a queue of the topology has no limit, or a link delays packets
/// in other ways.
fn held(plan: &Plan, flow: &FlowPlan, segment: u32) -> Option<f64> {
    if flow.forward.iter().filter(|&&link| link >= plan.measured).count() > 2 {
        return None;
    }
    flow.forward.iter().chain(&flow.reverse).try_fold(0.0, |sum, &number| {
        let link = &plan.links[number];
        let packets = match link.queue().capacity(segment) {
            _ if !link.keeps_order() || link.variable_rate().is_some() => return None,
            Some(packets) => packets,
            None if number >= plan.measured => 0.0,
            None => return None,
        };
        Some(sum + (packets + 1.0) * link.rate().time_for(u64::from(segment)).as_secs_f64())
    })
}

/// Flows that had data to send within the measuring window and delivered none of it.
fn nothing_delivered(built: &Built, flows: &[FlowResult], measured: &Measured, warnings: &mut Vec<String>) {
    let plan = &built.plan;
    let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
    for ((flow, result), tally) in plan.flows.iter().zip(flows).zip(&measured.flows) {
        let (from, to) = plan.measure;
        // The flow itself may need a few round trips of the window.
        let needed = Duration::from_secs_f64(4.0 * result.propagation_rtt_s);
        let begins = from.max(flow.start);
        let ends = flow.stop.map_or(to, |stop| stop.min(to));
        let has_data = flow.requests.size == Size::Unlimited
            && flow.writing.is_none_or(|it| it.bursts.is_none())
            || tally.transfers.iter().any(|transfer| transfer.took.is_none() && transfer.begun <= begins);
        if result.delivered == 0 && has_data && ends.since(begins) > needed {
            *groups.entry(&result.label).or_default() += 1;
        }
    }
    for (label, count) in groups {
        let all = flows.iter().filter(|flow| flow.label == label).count();
        let who = match (count, all) {
            (1, 1) => format!("\"{label}\""),
            _ => format!("{count} of the {all} flows of \"{label}\""),
        };
        warnings.push(format!("{who} delivered nothing within the measuring window, and had data to send"));
    }
}
