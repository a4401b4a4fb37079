//! The Markdown page of a reproduction.

use super::emulated::{Emulated, Trust};
use super::shown::{in_doubt, measured, published, total, word};
use ackclock_study::reproduce::{Counts, Judged, Reproduction, Verdict};
use std::fmt::Write;

/// A chart of an experiment.
pub(super) struct Picture {
    /// The experiment.
    pub(super) id: String,
    /// The title.
    pub(super) title: String,
    /// The file, next to the page.
    pub(super) file: String,
    pub(super) svg: String,
}

/// The whole page.
pub(super) fn page(
    command: &str,
    reproductions: &[Reproduction],
    emulated: Option<&Emulated>,
    pictures: &[Picture],
) -> String {
    let Counts { holds, fails, untestable } = total(reproductions);
    let mut page = format!(
        "# Published experiments, run again\n\n`{command}`: {holds} claims hold, {fails} fail, {untestable} cannot be tested here.\n\n\
         A claim holds if its expression is true for every combination it names; combinations in which it is not \
         are marked ✗. Numbers are means over runs, ± one standard deviation between runs where there are \
         several. Curves are means, bands reach from the least to the most.\n\n"
    );
    if let Some(emulated) = emulated {
        let Counts { holds, fails, .. } = total(&emulated.reproductions);
        let _ = write!(
            page,
            "Every point was also emulated: the same flows as connections of {}'s TCP, over the same links in real time. \
             Judged by that {holds} claims hold and {fails} fail. A verdict is *in doubt* where the emulator says of \
             itself that it was too late in at least one run of the experiment; the reasons stand below the table. {}\n\n",
            emulated.place(),
            emulated.quality()
        );
    }
    let and_emulated = |text: &'static str| if emulated.is_some() { text } else { "" };
    let _ = writeln!(
        page,
        "| experiment | claims | hold | fail |{} untestable | points |\n|---|---|---|---|---|---|{}",
        and_emulated(" emulated: hold | fail |"),
        and_emulated("---|---|")
    );
    for (number, reproduction) in reproductions.iter().enumerate() {
        let Reproduction { id, title, counts, points, claims, .. } = reproduction;
        let Counts { holds, fails, untestable } = counts;
        let _ = write!(
            page,
            "| [{id}](#{}): {} | {} | {holds} | {fails} |",
            anchor(id),
            cell(title),
            claims.len()
        );
        if let Some(emulated) = emulated {
            let Counts { holds, fails, .. } = emulated.reproductions[number].counts;
            let _ = write!(page, " {holds} | {fails} |");
        }
        let _ = writeln!(page, " {untestable} | {points} |");
    }
    for (number, reproduction) in reproductions.iter().enumerate() {
        let beside = emulated.map(|emulated| Beside {
            place: emulated.place(),
            claims: &emulated.reproductions[number].claims,
            trust: emulated.trust(number),
        });
        section(&mut page, reproduction, beside.as_ref(), pictures);
    }
    page
}

/// The verdicts of an experiment in emulation.
struct Beside<'a> {
    place: String,
    claims: &'a [Judged],
    trust: Trust,
}

fn section(
    page: &mut String,
    reproduction: &Reproduction,
    beside: Option<&Beside<'_>>,
    pictures: &[Picture],
) {
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
    match beside {
        None => page.push_str("\n| claim | verdict | published | measured |\n|---|---|---|---|\n"),
        Some(beside) => {
            let _ = write!(
                page,
                "\n| claim | published | simulator | measured | {} | measured |\n|---|---|---|---|---|---|\n",
                beside.place
            );
        }
    }
    for (number, claim) in reproduction.claims.iter().enumerate() {
        row(page, claim, beside.map(|beside| (&beside.claims[number], &beside.trust)));
    }
    if let Some(Beside { trust, .. }) = beside.filter(|beside| beside.trust.doubted > 0) {
        let _ = write!(page, "\nThe emulator doubts {} of {} runs:\n\n", trust.doubted, trust.points);
        trust.doubts.iter().for_each(|doubt| {
            let _ = writeln!(page, "- {doubt}");
        });
    }
}

/// The row of a claim, with its verdict in emulation if there is one.
fn row(page: &mut String, claim: &Judged, emulated: Option<(&Judged, &Trust)>) {
    let mut text = cell(&claim.text);
    if let Some(that) = &claim.that {
        let _ = write!(text, "<br>`{}`", cell(that));
    }
    if let Some(whose) = &claim.tolerance_from {
        let _ = write!(text, "<br>threshold: {}", cell(whose));
    }
    let lines =
        |claim: &Judged| measured(claim, true).iter().map(|line| cell(line)).collect::<Vec<_>>().join("<br>");
    let verdict = |claim: &Judged| {
        if claim.verdict == Verdict::Fails { "**fails**" } else { word(claim.verdict) }
    };
    let _ = match emulated {
        None => {
            writeln!(page, "| {text} | {} | {} | {} |", verdict(claim), cell(&published(claim)), lines(claim))
        }
        Some((emulated, trust)) => writeln!(
            page,
            "| {text} | {} | {} | {} | {} | {} |",
            cell(&published(claim)),
            verdict(claim),
            lines(claim),
            in_doubt(verdict(emulated), emulated.verdict, trust),
            lines(emulated)
        ),
    };
}

/// The anchor of a heading, as mdBook and GitHub generate it.
fn anchor(id: &str) -> String {
    id.replace('.', "")
}

/// Text that cannot break a table.
fn cell(text: &str) -> String {
    text.trim().replace('|', "\\|").replace('\n', "<br>")
}
