//! The topology as ns-2 has it: a chain of equal bottlenecks, which is a dumbbell if there is one, and equal
//! access links.

use ackclock_net::Queue;
use ackclock_scenario::plan::{FlowPlan, Plan};
use ackclock_units::Duration;
use miette::{Result, miette};

/// The number of the first bottleneck among the plan's links. Bottleneck `h`, from 0, has the number 2h, and
/// its reverse link 2h + 1.
pub const BOTTLENECK: usize = 0;

/// The propagation delay of both directions together.
pub fn rtt(plan: &Plan, flow: &FlowPlan) -> Duration {
    let links = flow.forward.iter().chain(&flow.reverse);
    links.fold(Duration::ZERO, |sum, &link| sum + plan.links[link].delay())
}

/// The bottlenecks, by their numbers among the plan's links.
pub fn hops(plan: &Plan) -> impl Iterator<Item = usize> {
    let crossed = plan.flows.iter().flat_map(|flow| flow.forward.iter().skip(1).rev().skip(1));
    let last = crossed.max().copied().unwrap_or(BOTTLENECK);
    (BOTTLENECK..=last).step_by(2)
}

/// The number of bottlenecks.
///
/// # Errors
///
/// If they differ.
pub(super) fn check_hops(plan: &Plan) -> Result<usize> {
    if !plan.streams.is_empty() {
        return Err(miette!(help = "leave out [[traffic]]", "only TCP flows are compared"));
    }
    let first = &plan.links[BOTTLENECK];
    for hop in hops(plan) {
        let (there, back) = (&plan.links[hop], &plan.links[hop + 1]);
        if there.rate() != back.rate() || there.delay() != back.delay() {
            return Err(miette!(help = "leave out reverse", "the ns-2 script's bottleneck is symmetric"));
        }
        if there.rate() != first.rate() || there.delay() != first.delay() {
            return Err(miette!(help = "use parking_lot", "the ns-2 script's bottlenecks are equal"));
        }
        if hop > BOTTLENECK && !matches!(there.queue(), Queue::DropTail(_)) {
            return Err(miette!(
                help = "use droptail",
                "several bottlenecks are compared with DropTail only"
            ));
        }
    }
    Ok(hops(plan).count())
}

/// The routers, from 0, at which a flow enters the chain and leaves it.
///
/// # Errors
///
/// If it goes another way.
pub(super) fn way(plan: &Plan, flow: &FlowPlan) -> Result<(usize, usize)> {
    let ([up, crossed @ .., down], [back_up, crossed_back @ .., back_down]) =
        (&*flow.forward, &*flow.reverse)
    else {
        return Err(no_chain());
    };
    let (Some(first), Some(last)) = (crossed.first(), crossed.last()) else { return Err(no_chain()) };
    let there = (*first..=*last).step_by(2);
    let there_again = crossed_back.iter().rev().map(|&link| link.saturating_sub(1));
    if first % 2 != 0 || !crossed.iter().copied().eq(there.clone()) || !there_again.eq(there) {
        return Err(no_chain());
    }
    let equal = |a: usize, b: usize| {
        plan.links[a].rate() == plan.links[b].rate() && plan.links[a].delay() == plan.links[b].delay()
    };
    if !(equal(*up, *down) && equal(*up, *back_up) && equal(*up, *back_down)) {
        return Err(miette!("the ns-2 script has equal access links on both sides"));
    }
    Ok((first / 2, last / 2 + 1))
}

fn no_chain() -> miette::Report {
    miette!(
        help = "use [topology.dumbbell] or [topology.parking_lot] with access = { rate = \"10 Gbit/s\" }",
        "the ns-2 script knows chains of bottlenecks with access links only"
    )
}
