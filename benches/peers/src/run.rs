//! Runs the cases. The simulators take turns, so that other load on the machine slows all.

use crate::cases::{Case, Way};
use crate::derive::{BOTTLENECK, parameters, rtt};
use crate::htsim::{Htsim, Measured, Style};
use crate::ns2::Prepared;
use crate::outcome::Outcome;
use crate::own;
use crate::report::{CaseReport, PointReport};
use ackclock_net::{Limit, Queue};
use ackclock_scenario::Point;
use ackclock_scenario::plan::Plan;
use ackclock_units::Duration;
use miette::{Result, miette};

/// Runs a case. `repeats` overrides the number in the case. Without a copy of htsim its side is left out.
///
/// # Errors
///
/// If the scenario is not valid, ns-2 or htsim cannot run it, or a run fails.
pub fn run(case: &Case, repeats: Option<usize>, htsim: Option<&Htsim>) -> Result<CaseReport> {
    let repeats = repeats.unwrap_or(case.repeats).max(1);
    let points = case.points()?;
    let mut reports = Vec::new();
    for (number, point) in points.iter().enumerate() {
        eprintln!("{}: point {} of {}", case.id, number + 1, points.len());
        reports.push(run_point(case, number, point, repeats, htsim)?);
    }
    Ok(CaseReport {
        id: case.id.clone(),
        title: case.title.clone(),
        kind: case.kind,
        scenario: case.scenario.display().to_string(),
        speed_target: case.speed,
        htsim_target: case.htsim,
        memory_mb: case.memory_mb,
        note: case.note.clone(),
        limit_s: case.limit_s,
        repeats,
        points: reports,
    })
}

fn run_point(
    case: &Case,
    number: usize,
    point: &Point,
    repeats: usize,
    htsim: Option<&Htsim>,
) -> Result<PointReport> {
    let plan = point.scenario.build()?.plan;
    let ns2 = if case.ns2.is_empty() {
        None
    } else {
        let parameters = parameters(&plan)?;
        let prepared = Prepared::new(&parameters)?;
        // Seed 0 of ns-2 is the time of day.
        Some(if parameters.draws { prepared.with("seed", point.scenario.seed + 1) } else { prepared })
    };
    let htsim = htsim.filter(|_| case.htsim.is_some());
    let (mut own, mut stock, mut tuned) = (Vec::new(), Vec::new(), Vec::new());
    let (mut links, mut lean) = (Vec::new(), Vec::new());
    let mut given_up = Vec::new();
    for _ in 0..repeats {
        own.push(own::run(&case.file(), number)?);
        if let Some(htsim) = htsim {
            links.push(htsim.run(&plan, Style::Links)?);
            lean.push(htsim.run(&plan, Style::Lean)?);
        }
        for &way in &case.ns2 {
            let Some(ns2) = ns2.as_ref().filter(|_| !given_up.contains(&way)) else { continue };
            let runs = match way {
                Way::Stock => &mut stock,
                Way::Tuned => &mut tuned,
            };
            match ns2.run(way, case.limit_s)? {
                Some(outcome) => runs.push(outcome),
                None => given_up.push(way),
            }
        }
    }
    let words = point.parameters.iter().map(|(axis, value)| {
        let axis = axis.rsplit('.').next().unwrap_or(axis);
        (axis.to_owned(), value.plain())
    });
    Ok(PointReport {
        parameters: words.collect(),
        seed: point.scenario.seed,
        ns2_arguments: ns2.iter().flat_map(|ns2| ns2.arguments()).map(str::to_owned).collect(),
        chosen_losses: plan.links[BOTTLENECK]
            .impairments()
            .is_some_and(|impairments| impairments.loss.is_some()),
        flows: plan.flows.len(),
        most_in_flight: most_in_flight(&plan),
        own: median(own).ok_or_else(|| miette!("nothing was run"))?,
        ns2_stock: median(stock),
        ns2_tuned: median(tuned),
        htsim_links: middle(links),
        htsim_lean: middle(lean),
        given_up,
    })
}

/// The median of the values that vary between runs: times and memory. All other values are equal.
fn median(mut outcomes: Vec<Outcome>) -> Option<Outcome> {
    let middle = outcomes.len() / 2;
    let by = |outcomes: &mut Vec<Outcome>, key: fn(&Outcome) -> f64| {
        outcomes.sort_by(|a, b| key(a).total_cmp(&key(b)));
        outcomes.get(middle).map(key)
    };
    let cpu_s = by(&mut outcomes, |outcome| outcome.cpu_s)?;
    let peak = by(&mut outcomes, |outcome| outcome.peak_rss_kb as f64)?;
    let wall_s = by(&mut outcomes, |outcome| outcome.wall_s)?;
    let outcome = outcomes.into_iter().next()?;
    Some(Outcome { wall_s, cpu_s, peak_rss_kb: peak as u64, ..outcome })
}

/// The run of htsim with the median of processor time. All counts are equal.
fn middle(mut runs: Vec<Measured>) -> Option<Measured> {
    runs.sort_by(|a, b| a.cpu_s.total_cmp(&b.cpu_s));
    runs.get(runs.len() / 2).copied()
}

/// The number of segments that fit into the longest path and its queue.
fn most_in_flight(plan: &Plan) -> u64 {
    let link = &plan.links[BOTTLENECK];
    let longest = plan.flows.iter().map(|flow| rtt(plan, flow)).max().unwrap_or(Duration::ZERO);
    let segment = plan.flows.first().map_or(1, |flow| flow.config.segment_bytes());
    let queued = match link.queue() {
        Queue::DropTail(queue) => match queue.limit() {
            Limit::Packets(packets) => f64::from(packets),
            Limit::Bytes(bytes) => bytes as f64 / f64::from(segment),
        },
        _ => 0.0,
    };
    (link.rate().bytes_in(longest) / f64::from(segment) + queued) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_has_its_own_median() {
        let runs = [(1.0, 9.0), (2.0, 7.0), (3.0, 8.0)];
        let runs = runs.map(|(wall_s, cpu_s)| Outcome { wall_s, cpu_s, drops: 5, ..Outcome::default() });
        let middle = median(runs.to_vec()).expect("there are runs");
        assert_eq!((middle.wall_s, middle.cpu_s, middle.drops), (2.0, 8.0, 5));
        assert!(median(Vec::new()).is_none());
    }
}
