//! The page for people: Markdown.

use super::shown::{measured, published, word};
use super::total;
use ackclock_sim::reproduce::{Counts, Reproduction, Verdict};
use std::fmt::Write;

/// A chart of an experiment.
pub(super) struct Picture {
    /// The experiment.
    pub(super) id: String,
    /// What it shows.
    pub(super) title: String,
    /// Its file, beside the page.
    pub(super) file: String,
    pub(super) svg: String,
}

/// The whole page.
pub(super) fn page(command: &str, reproductions: &[Reproduction], pictures: &[Picture]) -> String {
    let Counts { holds, fails, untestable } = total(reproductions);
    let mut page = format!(
        "# Published experiments, run again\n\n`{command}`: {holds} claims hold, {fails} fail, {untestable} cannot be tested here.\n\n\
         A claim holds if its expression is true for every combination it names; combinations in which it is not \
         are marked ✗. Numbers are means over runs, ± one standard deviation between runs where there are \
         several. Curves are means, bands reach from the least to the most.\n\n\
         | experiment | claims | hold | fail | untestable | points |\n|---|---|---|---|---|---|\n"
    );
    for reproduction in reproductions {
        let Reproduction { id, title, counts, points, claims, .. } = reproduction;
        let Counts { holds, fails, untestable } = counts;
        let _ = writeln!(
            page,
            "| [{id}](#{id}): {} | {} | {holds} | {fails} | {untestable} | {points} |",
            cell(title),
            claims.len()
        );
    }
    for reproduction in reproductions {
        section(&mut page, reproduction, pictures);
    }
    page
}

fn section(page: &mut String, reproduction: &Reproduction, pictures: &[Picture]) {
    let Reproduction { id, title, section, kind, summary, notes, work, .. } = reproduction;
    let _ = write!(
        page,
        "\n## {id}\n\n**{title}** ({work}, section {section}; {})\n\n{}\n",
        kind.word(),
        summary.trim()
    );
    for note in notes {
        let _ = write!(page, "\n- {}", note.trim().replace('\n', " "));
    }
    if !notes.is_empty() {
        page.push('\n');
    }
    for picture in pictures.iter().filter(|picture| picture.id == *id) {
        let _ = write!(page, "\n![{}]({})\n", picture.title, picture.file);
    }
    if reproduction.claims.is_empty() {
        page.push_str("\nNothing is claimed.\n");
        return;
    }
    page.push_str("\n| claim | verdict | published | measured |\n|---|---|---|---|\n");
    for claim in &reproduction.claims {
        let mut text = cell(&claim.text);
        if let Some(that) = &claim.that {
            let _ = write!(text, "<br>`{}`", cell(that));
        }
        if let Some(whose) = &claim.tolerance_from {
            let _ = write!(text, "<br>threshold: {}", cell(whose));
        }
        let lines: Vec<_> = measured(claim, true).iter().map(|line| cell(line)).collect();
        let verdict = if claim.verdict == Verdict::Fails { "**fails**" } else { word(claim.verdict) };
        let _ =
            writeln!(page, "| {text} | {verdict} | {} | {} |", cell(&published(claim)), lines.join("<br>"));
    }
}

/// Text that cannot break a table.
fn cell(text: &str) -> String {
    text.trim().replace('|', "\\|").replace('\n', "<br>")
}
