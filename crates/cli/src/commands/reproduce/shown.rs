//! Verdicts and their numbers in words.

use super::emulated::Trust;
use ackclock_study::reproduce::{Case, Counts, Judged, Reproduction, Verdict};
use ackclock_view::seen::{measurements, number};
use serde_json::json;

/// A claim with more cases than this does not show all of them.
const MAX_CASES: usize = 12;

/// The sum over all verdicts.
pub(super) fn total<'a>(reproductions: impl IntoIterator<Item = &'a Reproduction>) -> Counts {
    Counts::of(reproductions.into_iter().flat_map(|reproduction| &reproduction.claims))
}

/// Numbers of claims in words. Those that count apart are told where there are any.
pub(super) fn counts(counts: Counts) -> String {
    let Counts { holds, fails, undecided, untestable, calibrated, identity } = counts;
    let mut text = format!("{holds} hold, {fails} fail, {undecided} undecided, {untestable} untestable");
    for (apart, word) in
        [(calibrated, "calibrated"), (identity, if identity == 1 { "identity" } else { "identities" })]
    {
        if apart > 0 {
            text += &format!(", {apart} {word}");
        }
    }
    text
}

pub(super) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Fails => "FAILS",
        Verdict::Undecided => "undecided",
        Verdict::Untestable => "untestable",
        Verdict::Calibrated => "calibrated",
        Verdict::Identity => "identity",
    }
}

/// The verdict, and for a claim that counts apart, what was found.
pub(super) fn verdict(claim: &Judged) -> String {
    match claim.verdict {
        apart @ (Verdict::Calibrated | Verdict::Identity) => {
            format!("{}, {}", word(apart), word(claim.found))
        }
        verdict => word(verdict).to_owned(),
    }
}

/// How far the case that decides is from its line, whose line that is, and how far that hangs on chance.
pub(super) fn distance(claim: &Judged) -> Option<String> {
    let case = &claim.cases[claim.deciding?];
    let whose = match claim.tolerance_from.as_deref().map(|from| from.starts_with("ours")) {
        Some(true) => "our line",
        Some(false) => "the paper's line",
        None => "the line",
    };
    let mut parts = Vec::new();
    if let Some(line) = &case.line {
        let side = if line.margin < 0.0 { "beyond" } else { "from" };
        parts.push(format!("{} {side} {whose}", number(&json!(line.margin.abs()))));
    }
    parts.push(chance(case));
    match (case.verdict, case.runs_to_decide) {
        (Verdict::Undecided, Some(runs)) => {
            parts.push(format!("some {} runs would decide", number(&json!(runs))))
        }
        (Verdict::Undecided, None) => parts.push("no number of runs is known to decide".to_owned()),
        _ => {}
    }
    Some(parts.join("; "))
}

/// How far a case hangs on chance.
fn chance(case: &Case) -> String {
    let many = if case.least_runs < case.runs {
        format!("{} to {} runs", case.least_runs, case.runs)
    } else {
        format!("{} runs", case.runs)
    };
    match (case.standard_errors, case.runs) {
        _ if case.reason.is_some() => "no value over these results".to_owned(),
        (_, 0) => "computed".to_owned(),
        _ if !case.drawn => "nothing drawn".to_owned(),
        (_, 1) => "one run, so no error; more seeds are needed".to_owned(),
        (Some(0.0), _) => format!("not the same without each of {many}"),
        (Some(errors), _) if case.verdict == Verdict::Undecided && errors.abs() > 2.0 => {
            let within = case.undecided_within;
            format!("{:.1} standard errors, {many} decide beyond {within:.1}", errors.abs())
        }
        (Some(errors), _) => format!("{:.1} standard errors, {many}", errors.abs()),
        (None, _) if case.line.as_ref().is_some_and(|line| line.standard_error.is_none()) => {
            format!("the same value is asked for; {many}")
        }
        (None, _) => format!("the same in each of {many}"),
    }
}

/// A verdict in emulation. It is marked if the emulator doubts the result.
pub(super) fn in_doubt(word: &str, verdict: Verdict, trust: &Trust) -> String {
    let doubted = trust.doubted > 0 && verdict != Verdict::Untestable;
    if doubted { format!("{word}, in doubt") } else { word.to_owned() }
}

/// What the source says: in words, and the numbers that were compared.
pub(super) fn published(claim: &Judged) -> String {
    let mut parts: Vec<String> = claim.published.iter().cloned().collect();
    for seen in claim.cases.iter().flat_map(|case| &case.seen).filter(|seen| seen.published) {
        let text = format!("{} = {}", seen.call.trim_start_matches("published."), number(&seen.value));
        if !parts.contains(&text) {
            parts.push(text);
        }
    }
    cut(&mut parts, 0);
    parts.join("\n")
}

/// The measured values, one line per case, then the comparison that decides, and what was tried.
pub(super) fn measured(claim: &Judged, markdown: bool) -> Vec<String> {
    let several = claim.cases.len() > 1;
    let mut cases: Vec<&Case> = claim.cases.iter().collect();
    if cases.len() > MAX_CASES {
        // The least true first: these are the ones that are shown.
        cases.sort_by_key(|case| case.verdict == Verdict::Holds);
    }
    let mut lines: Vec<String> = cases.into_iter().map(|case| case_line(case, several, markdown)).collect();
    lines.retain(|line| !line.is_empty());
    cut(&mut lines, claim.cases.len());
    lines.extend(deciding(claim, markdown));
    lines.extend(claim.untestable.clone());
    lines.extend(claim.calibrated.iter().map(|what| format!("calibrated: {what}")));
    lines.extend(claim.identity.iter().map(|why| format!("identity: {why}")));
    lines.extend(claim.contradicted.iter().map(|by| format!("the source contradicts it: {by}")));
    if matches!(claim.found, Verdict::Fails | Verdict::Undecided) {
        lines.extend(claim.tried.iter().map(|tried| format!("tried: {tried}")));
    }
    lines
}

/// The comparison that decides, if the claim has more than that one.
fn deciding(claim: &Judged, markdown: bool) -> Option<String> {
    let case = &claim.cases[claim.deciding?];
    let line = case.line.as_ref()?;
    if claim.cases.len() == 1 && claim.that.as_deref().is_some_and(|that| that.trim() == line.comparison) {
        return None;
    }
    let quote = if markdown { "`" } else { "" };
    let with = if case.with.is_empty() { String::new() } else { format!(" with {}", with(case)) };
    let error = line.standard_error.filter(|&error| error > 0.0);
    let error = error.map(|error| format!(" ± {}", number(&json!(error)))).unwrap_or_default();
    Some(format!(
        "nearest line: {quote}{}{quote}{with}, by {}{error}",
        line.comparison,
        number(&json!(line.margin))
    ))
}

/// Cuts a list that is too long. `all`: the number of entries that there were.
fn cut(lines: &mut Vec<String>, all: usize) {
    let count = lines.len().max(all);
    if lines.len() > MAX_CASES {
        lines.truncate(MAX_CASES);
        lines.push(format!("and {} more", count - MAX_CASES));
    }
}

/// The values of a case.
fn with(case: &Case) -> String {
    let with = case.with.iter().map(|(name, value)| format!("{name} = {}", number(value)));
    with.collect::<Vec<_>>().join(", ")
}

/// A case: its numbers, or why it has no value.
fn case_line(case: &Case, several: bool, markdown: bool) -> String {
    let mark = match case.verdict {
        Verdict::Fails if several => "✗ ",
        Verdict::Undecided if several => "? ",
        _ => "",
    };
    match &case.reason {
        Some(reason) if several => format!("{mark}with {}: no value, {reason}", with(case)),
        Some(reason) => format!("no value, {reason}"),
        None => format!("{mark}{}", measurements(&case.seen, markdown)),
    }
}
