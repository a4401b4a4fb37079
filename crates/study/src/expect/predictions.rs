//! Functions of predictions, for scenarios with `[predict]`.

use super::call::{Arguments, refused, wrong};
use super::functions::FunctionRegistry;
use ackclock_scenario::predictions::{BINS, Outcome};
use ackclock_scenario::results::PointResult;
use ackclock_scenario::suggest;
use minijinja::Error;

pub(super) fn add_all(w: &mut FunctionRegistry<'_>) {
    // predicted('vegas', 'queue', 'efficiency'): a share of the periods of high delay, or of the losses. NaN
    // without any.
    w.add("predicted(predictor, 'flow' or 'queue', share)", |point, args| {
        let outcome = outcome(point, args)?;
        let share = match args.text(2, SHARES)?.as_str() {
            "efficiency" => outcome.efficiency,
            "false_positives" => outcome.false_positives,
            "false_negatives" => outcome.false_negatives,
            other => {
                return Err(refused(format!("there is no share '{other}'"), format!("there are {SHARES}")));
            }
        };
        Ok(share.unwrap_or(f64::NAN))
    });
    // transitions('vegas', 'queue', 2): how often this transition happened. The numbers are those of the
    // source's Figure 37.
    w.add("transitions(predictor, 'flow' or 'queue', 1 to 6)", |point, args| {
        let counts = outcome(point, args)?.transitions;
        let number = args.number(2, "the number of a transition")?;
        let all = [
            counts.low_to_high,
            counts.high_to_loss,
            counts.loss_to_low,
            counts.low_to_loss,
            counts.high_to_low,
            counts.loss_to_high,
        ];
        let known = (1..).zip(all).find(|&(known, _)| f64::from(known) == number);
        let (_, count) = known.ok_or_else(|| wrong(format!("transitions are 1 to 6, not {number}")))?;
        Ok(count as f64)
    });
    // false_positive_queue('ewma-0.99', 'queue', 0, 0.5): the share of false positives with the queue between
    // these shares of its capacity, in tenths. NaN without any.
    w.add("false_positive_queue(predictor, 'flow' or 'queue', from, to)", |point, args| {
        Ok(false_positives_between(outcome(point, args)?, args)?.unwrap_or(f64::NAN))
    });
    // false_positives_at('ewma-0.99', 'queue', 0, 0.5): how many they are. Runs without any can be added to
    // others.
    w.add("false_positives_at(predictor, 'flow' or 'queue', from, to)", |point, args| {
        let outcome = outcome(point, args)?;
        let share = false_positives_between(outcome, args)?.unwrap_or(0.0);
        Ok((share * outcome.transitions.high_to_low as f64).round())
    });
}

/// The share of the false positives with the queue between the third and the fourth argument, shares of its
/// capacity in tenths. None without any false positive.
fn false_positives_between(outcome: &Outcome, args: &Arguments) -> Result<Option<f64>, Error> {
    let tenth = |at| {
        let share = args.number(at, "a share of the queue's room")?;
        let tenths = (share * BINS as f64).round();
        if (tenths / BINS as f64 - share).abs() > 1e-9 || !(0.0..=1.0).contains(&share) {
            return Err(wrong(format!("the queue is known in tenths of its room, not to {share}")));
        }
        Ok(tenths as usize)
    };
    let (from, to) = (tenth(2)?, tenth(3)?);
    let Some(bins) = outcome.queue_at_false_positives else { return Ok(None) };
    let within = bins.get(from..to).ok_or_else(|| wrong("the queue's range ends before it begins"))?;
    Ok(Some(within.iter().sum()))
}

const SHARES: &str = "'efficiency', 'false_positives', 'false_negatives'";

/// The result of the predictor that the first argument names, compared with the losses that the second one
/// names.
fn outcome<'a>(point: &'a PointResult, args: &Arguments) -> Result<&'a Outcome, Error> {
    let name = args.text(0, "a predictor's name")?;
    let all = point.predictions.as_ref();
    let all = all.ok_or_else(|| refused("no predictors were tried", "add [predict] to the scenario"))?;
    let of = all.predictors.iter().find(|it| it.name == name).ok_or_else(|| {
        let known: Vec<_> = all.predictors.iter().map(|it| it.name.as_str()).collect();
        refused(format!("there is no predictor called \"{name}\""), suggest(&name, &known))
    })?;
    match args.text(1, "'flow' or 'queue'")?.as_str() {
        "flow" => Ok(&of.flow_losses),
        "queue" => of.queue_losses.as_ref().ok_or_else(|| wrong("the bottleneck's drops are not known")),
        other => Err(wrong(format!("there are losses of the 'flow' and of the 'queue', not of '{other}'"))),
    }
}
