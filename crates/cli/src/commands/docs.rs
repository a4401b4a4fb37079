//! `ackclock completions`, `ackclock man`, and the generated pages of the documentation.
//!
//! All of them come from the definitions of the flags and from the registries, so they agree with the
//! program.

use crate::args::{Arguments, Completions, Docs, Man};
use crate::failure::Failure;
use crate::view::matrix::Matrix;
use ackclock_cc::{Scheme, Settings, schemes, slow_start};
use ackclock_net::disciplines;
use ackclock_rate::Transport;
use ackclock_registry::{Entry, Listed as _};
use ackclock_scenario::stacks;
use ackclock_tcp::{detection, recovery};
use ackclock_view::catalogue::{kernel_usage, set_lines, unsaid_lines};
use clap::CommandFactory;
use miette::{IntoDiagnostic, WrapErr};
use std::fmt::Write as _;
use std::path::Path;

pub(crate) fn completions(command: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(command.shell, &mut Arguments::command(), "ackclock", &mut script);
    say!("{}", String::from_utf8_lossy(&script).trim_end());
    Ok(())
}

pub(crate) fn man(command: &Man) -> Result<(), Failure> {
    make(&command.dir)?;
    clap_mangen::generate_to(Arguments::command(), &command.dir).into_diagnostic()?;
    tell!("wrote the manual pages to {}", command.dir.display());
    Ok(())
}

/// A folder of pages, and the names of the entries that it holds.
type Folder = (&'static str, Vec<&'static str>);

/// Writes the generated pages into the book's source directory, and their names into its table of contents.
pub(crate) fn docs(command: &Docs) -> Result<(), Failure> {
    make(&command.dir.join("schemes"))?;
    put(&command.dir.join("command-line.md"), &command_line())?;
    put(&command.dir.join("hosts.md"), &format!("{GENERATED}{}", Matrix::new().page()))?;
    put(
        &command.dir.join("schemes.md"),
        &index("Controllers", "schemes", schemes().iter().map(|it| it.entry())),
    )?;
    for scheme in schemes() {
        put(&command.dir.join("schemes").join(format!("{}.md", scheme.name)), &scheme_page(scheme))?;
    }
    let controllers = ("schemes", schemes().iter().map(|it| it.name).collect());
    let transports = Transport::all().iter().map(|it| it.entry);
    let transports = folder(&command.dir, "Rate-based transports", "control", "transports", transports)?;
    let recoveries = recovery::schemes().iter().map(|it| it.entry);
    let recoveries = folder(&command.dir, "Recoveries", "recovery", "recoveries", recoveries)?;
    let detections = detection::schemes().iter().map(|it| it.entry);
    let detections = folder(&command.dir, "Detections", "detection", "detections", detections)?;
    let slow_starts = slow_start::schemes().iter().map(|it| it.entry);
    let slow_starts = folder(&command.dir, "Slow starts", "slow_start", "slow-starts", slow_starts)?;
    let stacks = stack_pages(&command.dir)?;
    make(&command.dir.join("queues"))?;
    put(&command.dir.join("queues.md"), &index("Queues", "queues", disciplines().iter().map(|it| it.entry)))?;
    for discipline in disciplines() {
        let usage = format!("queue = {}", discipline.example);
        let path = command.dir.join("queues").join(format!("{}.md", discipline.entry.name));
        put(&path, &page(&discipline.entry, &usage))?;
    }
    let queues = ("queues", disciplines().iter().map(|it| it.entry.name).collect());
    let path = command.dir.join("SUMMARY.md");
    if let Ok(contents) = std::fs::read_to_string(&path) {
        let folders = [controllers, transports, recoveries, detections, slow_starts, stacks, queues];
        put(&path, &summary(&contents, &folders))?;
    }
    Ok(())
}

/// The pages of stacks, which say what each sets.
fn stack_pages(dir: &Path) -> Result<Folder, Failure> {
    let pages = folder(dir, "Stacks", "stack", "stacks", stacks().iter().map(|it| it.entry))?;
    for stack in stacks() {
        let path = dir.join("stacks").join(format!("{}.md", stack.entry.name));
        let sets = settings("What it sets", &set_lines(stack));
        put(&path, &(page(&stack.entry, &format!("stack = \"{}\"", stack.entry.name)) + &sets))?;
    }
    Ok(pages)
}

/// The book's table of contents, with the present entries of each folder below the folder's own page.
fn summary(contents: &str, folders: &[Folder]) -> String {
    let (mut text, mut replaced) = (String::new(), false);
    for line in contents.lines() {
        if replaced && line.starts_with("  ") {
            continue;
        }
        let _ = writeln!(text, "{line}");
        let found = folders.iter().find(|(folder, _)| line.ends_with(&format!("]({folder}.md)")));
        replaced = found.is_some();
        for (folder, name) in
            found.iter().flat_map(|(folder, names)| names.iter().map(move |it| (folder, it)))
        {
            let _ = writeln!(text, "  - [{name}]({folder}/{name}.md)");
        }
    }
    text
}

/// Writes the page that lists a registry's entries, and a page for each; `key` is the key of a scenario that
/// takes them.
fn folder(
    dir: &Path,
    title: &str,
    key: &str,
    name: &'static str,
    entries: impl Iterator<Item = Entry> + Clone,
) -> Result<Folder, Failure> {
    make(&dir.join(name))?;
    put(&dir.join(format!("{name}.md")), &index(title, name, entries.clone()))?;
    for entry in entries.clone() {
        let usage = format!("{key} = \"{}\"", entry.name);
        put(&dir.join(name).join(format!("{}.md", entry.name)), &page(&entry, &usage))?;
    }
    Ok((name, entries.map(|it| it.name).collect()))
}

fn make(dir: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(dir)
        .into_diagnostic()
        .wrap_err_with(|| format!("{} cannot be made", dir.display()))?;
    Ok(())
}

fn put(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .into_diagnostic()
        .wrap_err_with(|| format!("{} cannot be written", path.display()))?;
    Ok(())
}

const GENERATED: &str = "<!-- Generated by `make docs`; edits are lost. -->\n\n";

fn command_line() -> String {
    let options = clap_markdown::MarkdownOptions::new().title("Command line".to_owned()).show_footer(false);
    // Help texts mark values with <...>, which a browser would take for tags.
    let text = clap_markdown::help_markdown_command_custom(&Arguments::command(), &options);
    format!("{GENERATED}{text}\n")
}

/// The page that lists the entries of a registry; their own pages are in `folder`.
fn index(title: &str, folder: &str, entries: impl Iterator<Item = Entry>) -> String {
    let mut text = format!("{GENERATED}# {title}\n\n| name | what it does | source |\n|---|---|---|\n");
    for Entry { name, summary, source, .. } in entries {
        let _ = writeln!(text, "| [{name}]({folder}/{name}.md) | {} | {} |", cell(summary), cell(source));
    }
    text
}

/// A controller's page: what all entries have, how it gets into the kernel, and its response function.
fn scheme_page(scheme: &'static Scheme) -> String {
    let mut text = page(&scheme.entry(), &format!("control = \"{}\"", scheme.name));
    text += &settings("Where a scenario says nothing", &unsaid_lines(scheme));
    if let Some(kernel) = kernel_usage(scheme.name) {
        let _ = writeln!(
            text,
            "\n## In the Linux kernel\n\n`{kernel}`; see [In the Linux kernel](../kernel.md)."
        );
    }
    if let Some(response) = scheme.response {
        text += "\n## Response function\n\nAverage window in segments at loss probability p, round-trip time 100 ms, with the defaults:\n\n| p | window |\n|---|---|\n";
        let settings = Settings::defaults(scheme);
        for exponent in [2, 3, 4, 5, 6, 7] {
            let p = 10_f64.powi(-exponent);
            let _ = writeln!(text, "| 1e-{exponent} | {:.1} |", response(&settings, p, 0.1));
        }
    }
    text
}

/// A section with lines of a scenario's `[tcp]`.
fn settings(title: &str, lines: &[String]) -> String {
    format!("\n## {title}\n\n```text\n{}\n```\n", lines.join("\n"))
}

/// An entry's page: laws, notes, parameters.
fn page(entry: &Entry, usage: &str) -> String {
    let Entry { title, source, summary, equations, notes, parameters, .. } = *entry;
    let mut text = format!("{GENERATED}# {title}\n\n{summary}\n\n`{usage}`\n");
    if !source.is_empty() {
        let _ = writeln!(text, "\nSource: {source}");
    }
    if !equations.is_empty() {
        text += "\n## Laws\n\n```text\n";
        for equation in equations {
            let _ = writeln!(text, "{equation}");
        }
        text += "```\n";
    }
    if !notes.is_empty() {
        text += "\n## What this implementation chooses\n\n";
        for note in notes {
            let _ = writeln!(text, "- {note}");
        }
    }
    if !parameters.is_empty() {
        text += "\n## Parameters\n\n| key | default | unit | may be | what it is, and where from |\n|---|---|---|---|---|\n";
        for p in parameters {
            let words = p
                .words()
                .iter()
                .fold(String::new(), |text, (word, meaning)| format!("{text}<br>`\"{word}\"`: {meaning}"));
            let _ = writeln!(
                text,
                "| `{}` | `{}` | {} | {} | {}{} |",
                p.name,
                p.default,
                p.unit,
                cell(&p.domain_text()),
                cell(p.about),
                cell(&words)
            );
        }
    }
    text
}

/// Text that does not break a row of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
