//! Verdicts and their numbers in words.

use super::emulated::Trust;
use crate::view::seen::{measurements, number};
use ackclock_study::reproduce::{Case, Counts, Judged, Reproduction, Verdict};

/// The sum over all verdicts.
pub(super) fn total<'a>(reproductions: impl IntoIterator<Item = &'a Reproduction>) -> Counts {
    Counts::of(reproductions.into_iter().flat_map(|reproduction| &reproduction.claims))
}

pub(super) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Fails => "FAILS",
        Verdict::Untestable => "untestable",
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
    parts.join("\n")
}

/// The measured values, one line per case, and what was tried.
pub(super) fn measured(claim: &Judged, markdown: bool) -> Vec<String> {
    let mut lines: Vec<String> =
        claim.cases.iter().map(|case| case_line(case, claim.cases.len() > 1, markdown)).collect();
    lines.retain(|line| !line.is_empty());
    lines.extend(claim.untestable.clone());
    if claim.verdict == Verdict::Fails {
        lines.extend(claim.tried.iter().map(|tried| format!("tried: {tried}")));
    }
    lines
}

fn case_line(case: &Case, several: bool, markdown: bool) -> String {
    let mark = if !several || case.holds { "" } else { "✗ " };
    format!("{mark}{}", measurements(&case.seen, markdown))
}
