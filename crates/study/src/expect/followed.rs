//! Functions of the flows that are traced segment by segment.
//!
//! They use the traced flows of a group, or the first of them for a single instant. Segments count from 0.
//! Times are in seconds. A span includes its start, but not its end.

use super::call::{Arguments, refused, wrong};
use super::functions::{FunctionRegistry, group_flows};
use ackclock_scenario::flow_trace::{Estimate, EventKind, FlowTrace};
use ackclock_scenario::results::{PointResult, Spread, percentile};
use minijinja::Error;

pub(super) fn add_all(w: &mut FunctionRegistry<'_>) {
    // delivery_mean('flow'), delivery_mean('flow', 'resent'): the mean time from a segment's first sending to
    // its first arrival. It covers segments first sent in the measuring window: all, those sent once, or
    // those retransmitted.
    w.add("delivery_mean(label, ['once' or 'resent'])", |point, args| {
        Ok(Spread::of(&deliveries(point, args, 1)?).mean)
    });
    w.add("delivery_percentile(label, percentile, ['once' or 'resent'])", |point, args| {
        let mut times = deliveries(point, args, 2)?;
        times.sort_by(f64::total_cmp);
        Ok(percentile(&times, args.number(1, "a percentile")?))
    });
    // estimate_mean('flow', 'srtt'): the mean over all acknowledgements in the measuring window.
    w.add("estimate_mean(label, estimate)", |point, args| {
        let of = estimate(&args.text(1, WHICH_ESTIMATE)?)?;
        let within = |estimate: &&Estimate| is_measured(point, estimate.at_ns);
        let all = courses(point, args)?.into_iter().flat_map(|course| &course.estimates);
        let values: Vec<f64> = all.filter(within).map(of).filter(|value| value.is_finite()).collect();
        Ok(if values.is_empty() { f64::NAN } else { Spread::of(&values).mean })
    });
    // estimate_at('flow', 'cwnd', 2.88): the value after the last acknowledgement up to that time.
    w.add("estimate_at(label, estimate, at_s)", |point, args| {
        let of = estimate(&args.text(1, WHICH_ESTIMATE)?)?;
        let time = args.number(2, "a time in seconds")?;
        let estimates = &first(point, args)?.estimates;
        let before = estimates.iter().take_while(|estimate| seconds(estimate.at_ns) <= time).last();
        Ok(before.map_or(f64::NAN, of))
    });
    // events('flow', 'again', from_s, to_s): their number. event_time('flow', 'again', 1),
    // event_segment(...): of the n-th.
    w.add("events(label, event, from_s, to_s)", |point, args| {
        let what = what(args)?;
        let span = args.number(2, "a time in seconds")?..args.number(3, "a time in seconds")?;
        let all = courses(point, args)?.into_iter().flat_map(|course| &course.events);
        Ok(all.filter(|event| event.what == what && span.contains(&seconds(event.at_ns))).count() as f64)
    });
    // longest_pause('flow', 'new', from_s, to_s): the longest time within the span without such an event.
    w.add("longest_pause(label, event, from_s, to_s)", |point, args| {
        let what = what(args)?;
        let (from, to) = (args.number(2, "a time in seconds")?, args.number(3, "a time in seconds")?);
        let events = first(point, args)?.events.iter().filter(|event| event.what == what);
        let within = events.map(|event| seconds(event.at_ns)).filter(|at| (from..to).contains(at));
        let mut since = from;
        Ok(within.chain([to]).map(|at| at - std::mem::replace(&mut since, at)).fold(0.0, f64::max))
    });
    w.add("event_time(label, event, n)", |point, args| {
        Ok(event(point, args)?.map_or(f64::INFINITY, |(at_ns, _)| seconds(at_ns)))
    });
    w.add("event_segment(label, event, n)", |point, args| {
        Ok(event(point, args)?.map_or(f64::NAN, |(_, segment)| segment as f64))
    });
    // acked_by('flow', 2.87): the segments acknowledged cumulatively up to that time.
    w.add("acked_by(label, at_s)", |point, args| {
        let time = args.number(1, "a time in seconds")?;
        let acked = |course: &FlowTrace| {
            let events = course.events.iter().take_while(|event| seconds(event.at_ns) <= time);
            events
                .filter(|event| event.what == EventKind::Acked)
                .map(|event| event.segment)
                .max()
                .unwrap_or(0)
        };
        Ok(courses(point, args)?.into_iter().map(acked).sum::<u64>() as f64)
    });
    // episodes('flow'): the number of loss episodes. episode_begin('flow', 1), episode_end('flow', 1): of the
    // n-th.
    w.add("episodes(label)", |point, args| {
        Ok(courses(point, args)?.into_iter().map(|course| course.episodes.len()).sum::<usize>() as f64)
    });
    w.add("episode_begin(label, n)", |point, args| {
        let episodes = &first(point, args)?.episodes;
        Ok(episodes.get(index(args, 1)?).map_or(f64::INFINITY, |episode| seconds(episode.begins_ns)))
    });
    w.add("episode_end(label, n)", |point, args| {
        let episodes = &first(point, args)?.episodes;
        Ok(episodes.get(index(args, 1)?).and_then(|episode| episode.ends_ns).map_or(f64::INFINITY, seconds))
    });
}

const WHICH_ESTIMATE: &str = "'rtt', 'srtt', 'rttvar' or 'cwnd'";

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn is_measured(point: &PointResult, at_ns: u64) -> bool {
    let [from, to] = point.measure_s;
    (from..=to).contains(&seconds(at_ns))
}

/// The traced flows of the group that the first argument names.
fn courses<'a>(point: &'a PointResult, args: &Arguments) -> Result<Vec<&'a FlowTrace>, Error> {
    let label = args.text(0, "a group's label")?;
    group_flows(point, &label)?;
    let of_group = |course: &&FlowTrace| point.flows.get(course.flow).is_some_and(|flow| flow.label == label);
    let whole = point.courses.iter().filter(|course| !course.tapped);
    let courses: Vec<_> = whole.filter(of_group).collect();
    if courses.is_empty() {
        return Err(refused(
            format!("no flow of \"{label}\" is followed"),
            "add follow = 1 to its [[flows]]",
        ));
    }
    Ok(courses)
}

fn first<'a>(point: &'a PointResult, args: &Arguments) -> Result<&'a FlowTrace, Error> {
    courses(point, args).map(|courses| courses[0])
}

/// An argument that counts from 1.
fn index(args: &Arguments, at: usize) -> Result<usize, Error> {
    let number = args.number(at, "a number from 1")?;
    if number < 1.0 || number.fract() != 0.0 {
        return Err(wrong(format!("a whole number from 1 is wanted, not {number}")));
    }
    Ok(number as usize - 1)
}

fn what(args: &Arguments) -> Result<EventKind, Error> {
    let word = args.text(1, "what happened")?;
    EventKind::ALL.iter().find(|(known, _)| *known == word).map(|&(_, what)| what).ok_or_else(|| {
        let known: Vec<_> = EventKind::ALL.iter().map(|(word, _)| format!("'{word}'")).collect();
        refused(format!("nothing is called '{word}'"), format!("there are {}", known.join(", ")))
    })
}

/// The time and the segment of the n-th event of a kind.
fn event(point: &PointResult, args: &Arguments) -> Result<Option<(u64, u64)>, Error> {
    let (what, number) = (what(args)?, index(args, 2)?);
    let mut events = first(point, args)?.events.iter().filter(|event| event.what == what);
    Ok(events.nth(number).map(|event| (event.at_ns, event.segment)))
}

fn estimate(word: &str) -> Result<fn(&Estimate) -> f64, Error> {
    Ok(match word {
        "rtt" => |estimate| estimate.rtt_s.unwrap_or(f64::NAN),
        "srtt" => |estimate| estimate.srtt_s,
        "rttvar" => |estimate| estimate.rttvar_s,
        "cwnd" => |estimate| estimate.cwnd,
        _ => {
            return Err(refused(
                format!("there is no estimate '{word}'"),
                format!("there are {WHICH_ESTIMATE}"),
            ));
        }
    })
}

/// The times from first sending to first arrival, s. The argument at `which` selects the segments.
fn deliveries(point: &PointResult, args: &Arguments, which: usize) -> Result<Vec<f64>, Error> {
    let word = if args.given.len() > which { args.text(which, "which segments")? } else { "all".to_owned() };
    let (once, resent) = match word.as_str() {
        "all" => (true, true),
        "once" => (true, false),
        "resent" => (false, true),
        _ => return Err(wrong(format!("there are 'all', 'once' and 'resent' segments, not '{word}'"))),
    };
    let lives = courses(point, args)?.into_iter().flat_map(|course| &course.segments);
    let wanted = lives.filter(|life| if life.again == 0 { once } else { resent });
    let times = wanted
        .filter(|life| is_measured(point, life.sent_ns))
        .filter_map(|life| Some(seconds(life.arrived_ns?.saturating_sub(life.sent_ns))));
    Ok(times.collect())
}

#[cfg(test)]
mod tests {
    use crate::expect::{View, evaluate};
    use crate::run::run_point;
    use ackclock_scenario::Sweep;
    use std::sync::atomic::AtomicBool;

    /// Ten segments fit into the path. The fifth packet is lost once.
    const ONE_LOSS: &str = r#"
        duration = "3 s"
        tcp = { recovery = "newreno", receive_window = 10 }
        [topology.dumbbell]
        bottleneck = { rate = "8 Mbit/s", delay = "50 ms", loss = { every = 30 } }
        [[flows]]
        label = "one"
        control = "reno"
        size = "55 kB"
        follow = true
        [[flows]]
        label = "other"
        control = "reno"
        start = "2.9 s"
    "#;

    fn ask(expression: &str) -> Result<serde_json::Value, String> {
        let sweep = Sweep::read("one", ONE_LOSS, &[]).expect("a scenario");
        let result = run_point(&sweep.points[0], false, &AtomicBool::new(false)).expect("a run");
        evaluate(expression, &View::new(vec![result]), &Default::default())
            .map_err(|error| format!("{}; {}", error.reason, error.remedy))
    }

    fn number(expression: &str) -> f64 {
        ask(expression).expect("a value").as_f64().unwrap_or(f64::INFINITY)
    }

    #[test]
    fn a_loss_shows_in_events_episodes_and_delivery_times() {
        assert_eq!(number("events('one', 'dropped', 0, 3)"), 1.0);
        let lost = number("event_segment('one', 'dropped', 1)");
        assert_eq!(lost, 29.0); // every thirtieth packet, from 0
        assert_eq!(number("event_segment('one', 'again', 1)"), lost);
        assert_eq!(number("events('one', 'new', 0, 3)"), 55.0);
        assert_eq!(number("events('one', 'arrived', 0, 3)"), 55.0);
        assert_eq!(number("episodes('one')"), 1.0);
        // The longer of the pauses before and after it, and a span in which nothing is sent again.
        let resent = number("event_time('one', 'again', 1)");
        let pause = |from: f64, to: f64| number(&format!("longest_pause('one', 'again', {from}, {to})"));
        assert!((pause(0.0, 3.0) - (3.0 - resent)).abs() < 1e-9);
        assert!((pause(0.0, resent + 0.1) - resent).abs() < 1e-9);
        assert!((pause(resent + 0.1, 3.0) - (2.9 - resent)).abs() < 1e-9);
        let (begins, ends) = (number("episode_begin('one', 1)"), number("episode_end('one', 1)"));
        assert_eq!(begins, number("event_time('one', 'again', 1)"));
        assert_eq!(number("acked_by('one', episode_begin('one', 1))"), lost);
        // The repair takes one round trip: 100 ms of propagation, and 1.04 ms and 0.04 ms at the bottlenecks.
        assert!((ends - begins - 0.10108).abs() < 1e-6, "{}", ends - begins);
        assert_eq!(number("acked_by('one', 3)"), 55.0);
        assert_eq!(number("episode_end('one', 2)"), f64::INFINITY);
    }

    #[test]
    fn a_segment_that_is_sent_again_takes_longer() {
        let once = number("delivery_mean('one', 'once')");
        assert!((0.05104..0.062).contains(&once), "{once}");
        let (again, sent) = (number("delivery_mean('one', 'resent')"), number("episode_begin('one', 1)"));
        assert!(again > 0.15 && again < sent, "{again}");
        assert_eq!(number("delivery_percentile('one', 100)"), again);
        assert!(number("estimate_mean('one', 'rtt')") > 0.101);
        assert!(number("estimate_at('one', 'cwnd', 0.2)") > 10.0);
    }

    #[test]
    fn mistakes_are_told() {
        let reason = |expression: &str| ask(expression).expect_err("wrong");
        assert!(reason("delivery_mean('other')").contains("follow = 1"));
        assert!(reason("events('one', 'lost', 0, 1)").contains("'dropped'"));
        assert!(reason("event_time('one', 'new', 0)").contains("from 1"));
        assert!(reason("estimate_mean('one', 'rto')").contains("'srtt'"));
        assert!(reason("delivery_mean('one', 'late')").contains("'resent'"));
    }
}
