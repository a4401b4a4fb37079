//! The Markdown page of a reproduction.

use super::emulated::{Emulated, Trust};
use super::files::Picture;
use super::shown::{counts, distance, in_doubt, measured, published, total, verdict};
use ackclock_study::reproduce::{Counts, Judged, Reproduction};
use std::fmt::Write;

/// What a page was made from.
pub(super) struct Origin {
    /// What was reproduced, with its options.
    pub(super) command: String,
    /// The build of the program.
    pub(super) build: String,
    /// A digest of the experiment files.
    pub(super) files: String,
}

impl Origin {
    /// The line by which a test finds out whether a page is older than the experiment files.
    pub(super) fn comment(&self) -> String {
        let Origin { command, build, files } = self;
        format!("<!-- ackclock reproduce {command}: build {build}, experiment files {files} -->")
    }
}

/// The whole page.
pub(super) fn page(
    origin: &Origin,
    reproductions: &[Reproduction],
    emulated: Option<&Emulated>,
    pictures: &[Picture],
) -> String {
    let mut page = format!(
        "# Published experiments, run again\n\n{}\n\n`ackclock reproduce {}`: {}.\n\n\
         A claim holds if its expression is true of the means over runs for every combination it names. What lies \
         within two standard errors of its line is undecided, with few runs within more of them. Combinations that \
         fail are marked ✗, undecided ones with a question mark. Numbers are means over runs, ± one standard \
         deviation between runs where there are several. Curves are means, bands reach from the least to the most. \
         Claims that count apart are calibrated (something was fitted so that they hold) or identities (true by \
         construction). Made by build `{:.12}` from experiment files `{:.12}`.\n\n",
        origin.comment(),
        origin.command,
        counts(total(reproductions)),
        origin.build,
        origin.files,
    );
    if let Some(emulated) = emulated {
        let found = counts(total(&emulated.reproductions));
        let _ = write!(
            page,
            "Every point was also emulated: the same flows over the same links in real time, by real connections ({}). \
             Judged by that {found}. A verdict is *in doubt* where the emulator says of \
             itself that it was too late in at least one run of the experiment; the reasons stand below the table. {}\n\n",
            emulated.place(),
            emulated.quality()
        );
    }
    let and_emulated = |text: &'static str| if emulated.is_some() { text } else { "" };
    let _ = writeln!(
        page,
        "| experiment | claims | hold | fail | undecided |{} untestable | apart | points |\n|---|---|---|---|---|---|---|---|{}",
        and_emulated(" emulated: hold | fail |"),
        and_emulated("---|---|")
    );
    for (number, reproduction) in reproductions.iter().enumerate() {
        let Reproduction { id, title, counts, points, claims, .. } = reproduction;
        let Counts { holds, fails, undecided, untestable, calibrated, identity } = counts;
        let _ = write!(
            page,
            "| [{id}](#{}): {} | {} | {holds} | {fails} | {undecided} |",
            anchor(id),
            cell(title),
            claims.len()
        );
        if let Some(emulated) = emulated {
            let Counts { holds, fails, .. } = emulated.reproductions[number].counts;
            let _ = write!(page, " {holds} | {fails} |");
        }
        let _ = writeln!(page, " {untestable} | {} | {points} |", calibrated + identity);
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
    if let Some(whose) = of(claim) {
        let _ = write!(text, "<br>{whose}");
    }
    let lines =
        |claim: &Judged| measured(claim, true).iter().map(|line| cell(line)).collect::<Vec<_>>().join("<br>");
    let bold = |claim: &Judged| verdict(claim).replace("FAILS", "**fails**");
    let with_distance = |claim: &Judged, word: String| match distance(claim) {
        Some(distance) => format!("{word}<br>{distance}"),
        None => word,
    };
    let simulated = with_distance(claim, bold(claim));
    let _ = match emulated {
        None => {
            writeln!(page, "| {text} | {simulated} | {} | {} |", cell(&published(claim)), lines(claim))
        }
        Some((emulated, trust)) => writeln!(
            page,
            "| {text} | {} | {simulated} | {} | {} | {} |",
            cell(&published(claim)),
            lines(claim),
            with_distance(emulated, in_doubt(&bold(emulated), emulated.verdict, trust)),
            lines(emulated)
        ),
    };
}

/// Which claims of the source it represents, or that it is ours.
fn of(claim: &Judged) -> Option<String> {
    let of = claim.of.join(", ");
    match (claim.ours, of.is_empty()) {
        (true, true) => Some("ours".to_owned()),
        (true, false) => Some(format!("ours, beside {of}")),
        (false, true) => None,
        (false, false) => Some(of),
    }
}

/// The anchor of a heading, as mdBook and GitHub generate it.
fn anchor(id: &str) -> String {
    id.replace('.', "")
}

/// Text that cannot break a table.
fn cell(text: &str) -> String {
    text.trim().replace('|', "\\|").replace('\n', "<br>")
}
