//! Functions of time series: all samples as a list, and the time until a goodput or a fairness is reached.

use super::call::{Arguments, add, wrong};
use super::functions::{FunctionRegistry, meant};
use super::series::{Looks, flow_looks, named, within};
use ackclock_cc::analysis;
use ackclock_scenario::results::PointResult;
use minijinja::{Error, Value};

pub(super) fn add_all(w: &mut FunctionRegistry<'_>) {
    // looks('flow', 'cwnd', from_s, to_s): a list; several runs one after the other. A flow's own variables
    // have their names: 'layer'.
    let (view, trace) = (w.view.clone(), w.trace.clone());
    add(w.env, "looks", move |arguments| {
        arguments.no_more_than("looks(label, variable, [from_s, to_s])")?;
        let mut rest = arguments.clone();
        let mut values = Vec::new();
        for point in meant(&view, &mut rest, &trace)? {
            values.extend(within(point, named(point, &rest)?, &rest, 2)?);
        }
        let (least, most) = values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), &x| (least.min(x), most.max(x)));
        let noted = Value::from(format!("{} looks, {least} to {most}", values.len()));
        trace.note(arguments.shown("looks"), &noted, None);
        Ok(Value::from(values))
    });
    // time_to_goodput('flow', target_bps, after_s): seconds from after_s to the first sample at or above the
    // target; infinite if there is none.
    w.add("time_to_goodput(label, bps, after_s)", |point, args| {
        let (target, after) = (args.number(1, "a goodput in bit/s")?, args.number(2, "a time in seconds")?);
        let reached =
            flow_looks(point, args, "goodput")?.into_iter().find(|&(at, bps)| at > after && bps >= target);
        Ok(reached.map_or(f64::INFINITY, |(at, _)| at - after))
    });
    // time_to_fairness(index, from_s, to_s, 'a', 'b', ...): seconds from from_s until Jain's index of the
    // groups' goodput reaches `index` and stays there until to_s; infinite if it does not.
    w.add("time_to_fairness(index, from_s, to_s, label, ...)", |point, args| {
        let (jain, from) = jain_by_look(point, args)?;
        let index = args.number(0, "Jain's index")?;
        let fair_since = jain.iter().rposition(|&(_, jain)| jain < index).map_or(0, |last| last + 1);
        Ok(jain.get(fair_since).map_or(f64::INFINITY, |&(at, _)| at - from))
    });
    // time_to_shares(after_s, bps, bin_s, 'old', most, 'new', least): seconds from after_s until, for the
    // first time, the first group has at most and the second at least these shares of `bps`. Both are
    // averages over the last bin_s.
    w.add("time_to_shares(after_s, bps, bin_s, old_label, most, new_label, least)", |point, args| {
        let (after, bps) = (args.number(0, "a time in seconds")?, args.number(1, "a rate in bit/s")?);
        let bin = args.number(2, "a bin in seconds")?;
        let of = |at: usize| {
            let group =
                Arguments { given: args.given.iter().skip(at).take(1).cloned().collect(), named: Vec::new() };
            let looks = flow_looks(point, &group, "goodput")?;
            Ok::<_, Error>((binned(&looks, bin), args.number(at + 1, "a share")? * bps))
        };
        let ((old, most), (new, least)) = (of(3)?, of(5)?);
        let both = old.iter().zip(&new).find(|(old, new)| old.0 > after && old.1 <= most && new.1 >= least);
        Ok(both.map_or(f64::INFINITY, |(old, _)| old.0 - after))
    });
    // fairness_between(from_s, to_s, 'a', 'b', ...): the mean of Jain's index of the groups' goodput over all
    // samples.
    w.add("fairness_between(from_s, to_s, label, ...)", |point, args| {
        let mut args = args.clone();
        args.given.insert(0, Value::from(0));
        let (jain, _) = jain_by_look(point, &args)?;
        Ok(jain.iter().map(|(_, jain)| jain).sum::<f64>() / jain.len() as f64)
    });
}

/// At each sample: the mean over the time `bin` before it. Only whole samples count.
fn binned(looks: &Looks, bin: f64) -> Looks {
    let interval = looks.windows(2).next().map_or(bin, |pair| pair[1].0 - pair[0].0);
    let count = ((bin / interval).round() as usize).max(1);
    let means = looks.windows(count).filter_map(|window| {
        let mean = window.iter().map(|&(_, value)| value).sum::<f64>() / count as f64;
        window.last().map(|&(at, _)| (at, mean))
    });
    means.collect()
}

/// At each sample within (argument 1, argument 2]: Jain's index over the groups named from argument 3 on.
fn jain_by_look(point: &PointResult, args: &Arguments) -> Result<(Looks, f64), Error> {
    let (from, to) = (args.number(1, "a time in seconds")?, args.number(2, "a time in seconds")?);
    let groups =
        args.given.iter().skip(3).map(|label| Arguments { given: vec![label.clone()], ..args.clone() });
    let series =
        groups.map(|group| flow_looks(point, &group, "goodput")).collect::<Result<Vec<_>, Error>>()?;
    let Some(first) = series.first() else {
        return Err(wrong("whose fairness? Name the groups"));
    };
    let index = |(look, &(at, _)): (usize, &(f64, f64))| {
        let shares: Vec<f64> = series.iter().map(|one| one[look].1).collect();
        (at, analysis::jain(&shares).unwrap_or(0.0))
    };
    let all: Vec<_> = first.iter().enumerate().map(index).filter(|&(at, _)| at > from && at <= to).collect();
    if all.is_empty() {
        return Err(wrong(format!("no probe looked between {from} s and {to} s")));
    }
    Ok((all, from))
}

#[cfg(test)]
mod tests {
    use crate::expect::{View, evaluate};
    use crate::run::run_point;
    use ackclock_scenario::Sweep;
    use std::sync::atomic::AtomicBool;

    const TWO_FLOWS: &str = r#"
        duration = "40 s"
        measure = ["10 s", "40 s"]
        probe = "1 s"
        [topology.dumbbell]
        bottleneck = { rate = "10 Mbit/s", delay = "10 ms", queue = { droptail = "1 bdp" } }
        [[flows]]
        label = "early"
        control = { layered = { w_t = 5 } }
        [[flows]]
        label = "late"
        control = { layered = { w_t = 5 } }
        start = "10 s"
    "#;

    fn ask(expression: &str) -> Result<serde_json::Value, String> {
        let sweep = Sweep::read("two", TWO_FLOWS, &[]).expect("a scenario");
        let result = run_point(&sweep.points[0], false, &AtomicBool::new(false)).expect("a run");
        evaluate(expression, &View::new(vec![result]), &Default::default())
            .map_err(|error| format!("{}; {}", error.reason, error.remedy))
    }

    fn number(expression: &str) -> f64 {
        ask(expression).expect("a value").as_f64().unwrap_or(f64::INFINITY)
    }

    #[test]
    fn a_look_is_taken_every_interval() {
        assert_eq!(number("looks('early', 'cwnd', 20, 30)|length"), 10.0);
        assert_eq!(number("looks('early', 'cwnd')|length"), 30.0);
        assert!(number("mean(looks('early', 'goodput', 2, 10)) / 1e6") > 9.0);
        // The layer of a layered flow follows from its window, without the fraction.
        let (layer, expected) =
            ("max(looks('early', 'layer'))", "max(layered_layer(5, looks('early', 'cwnd')))");
        assert_eq!(number(layer).floor(), number(expected));
    }

    #[test]
    fn times_count_from_the_moment_that_is_asked_about() {
        let within = number("time_to_goodput('early', 9e6, 0)");
        assert!((1.0..=5.0).contains(&within), "{within}");
        assert_eq!(number("time_to_goodput('early', 11e6, 0)"), f64::INFINITY);
    }

    #[test]
    fn fairness_comes_and_is_told() {
        let fair = number("time_to_fairness(0.6, 10, 40, 'early', 'late')");
        assert!((1.0..=30.0).contains(&fair), "{fair}");
        assert_eq!(number("time_to_fairness(1.1, 10, 40, 'early', 'late')"), f64::INFINITY);
        assert!(number("fairness_between(0, 10, 'early', 'late')") < 0.51);
        assert!(number("fairness_between(10, 40, 'early', 'late')") > 0.51);
    }

    #[test]
    fn a_newcomer_takes_its_share() {
        let shared = number("time_to_shares(10, 9.6e6, 1, 'early', 0.9, 'late', 0.1)");
        assert!((1.0..=30.0).contains(&shared), "{shared}");
        assert!(number("time_to_shares(10, 9.6e6, 5, 'early', 0.9, 'late', 0.1)") >= shared);
        assert_eq!(number("time_to_shares(10, 9.6e6, 1, 'early', 0, 'late', 1)"), f64::INFINITY);
    }

    #[test]
    fn mistakes_are_told() {
        let reason = |expression: &str| ask(expression).expect_err("wrong");
        assert!(reason("looks('early', 'layr')").contains("layer"));
        assert!(reason("looks('early', 'cwnd', 50, 60)").contains("no probe"));
        assert!(reason("time_to_fairness(0.9, 0, 40)").contains("whose fairness"));
    }
}
