//! Which controller runs where: controllers by hosts, from what the ones need and the others give.

use ackclock_cc::{Domain, Given, Host, Settings, hosts, schemes};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A cell: what is missing, with the defaults.
const RUNS: &str = "yes";
const DOES_NOT: &str = "no";

/// The matrix.
pub(crate) struct Matrix {
    defaults: Vec<Settings>,
}

/// Settings in which one word differs from the default, and the word as a scenario writes it.
fn variants(defaults: &Settings) -> Vec<(String, Settings)> {
    let mut variants = Vec::new();
    for parameter in defaults.scheme().parameters {
        let Domain::Words(words) = &parameter.domain else { continue };
        for (word, _) in *words {
            let mut settings = defaults.clone();
            if settings.set(parameter.name, Given::Word(word)).is_ok() {
                variants.push((format!("{} = \"{word}\"", parameter.name), settings));
            }
        }
    }
    variants
}

impl Matrix {
    /// Of all controllers and hosts.
    pub(crate) fn new() -> Matrix {
        Matrix { defaults: schemes().iter().map(|scheme| Settings::defaults(scheme)).collect() }
    }

    /// The heads of the columns.
    pub(crate) fn header(&self) -> Vec<&'static str> {
        std::iter::once("controller").chain(hosts().iter().map(|host| host.name)).collect()
    }

    /// A row for each controller.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Vec<String>> {
        self.defaults.iter().map(|settings| {
            let cells = hosts().iter().map(|host| cell(host, settings).to_owned());
            std::iter::once(settings.scheme().name.to_owned()).chain(cells).collect()
        })
    }

    /// What is missing where, and where a parameter decides.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for settings in &self.defaults {
            let name = settings.scheme().name;
            for host in hosts().iter().filter(|host| host.has(settings)) {
                let missing = host.missing(settings);
                if !missing.is_empty() {
                    lines.push(format!("{name} on {} lacks {}", host.name, missing.join(", and ")));
                }
                for (word, variant) in variants(settings) {
                    let with = host.missing(&variant);
                    if with.is_empty() != missing.is_empty() {
                        let verb = if with.is_empty() { "runs" } else { "does not run" };
                        lines.push(format!("{name} on {}: {verb} with {word}", host.name));
                    }
                }
            }
        }
        lines
    }

    /// The matrix as one JSON document: for each controller, what is missing on each host.
    pub(crate) fn json(&self) -> Value {
        let controllers = self.defaults.iter().map(|settings| {
            let hosts = hosts().iter().map(|host| {
                let missing = host.missing(settings);
                json!({"host": host.name, "runs": missing.is_empty(), "missing": missing})
            });
            json!({"controller": settings.scheme().name, "hosts": hosts.collect::<Vec<_>>()})
        });
        json!(controllers.collect::<Vec<_>>())
    }

    /// The page of the book.
    pub(crate) fn page(&self) -> String {
        let mut text = String::from(
            "# Which controller runs where\n\nA controller needs something of its host: random numbers, delivery \
             rates, marks by number. A host that\ncannot give it refuses the controller by name. \
             `ackclock list --hosts` prints this table.\n\n",
        );
        let header = self.header();
        let _ = writeln!(text, "| {} |\n|{}", header.join(" | "), "---|".repeat(header.len()));
        for row in self.rows() {
            let _ = writeln!(text, "| [{0}](schemes/{0}.md) | {1} |", row[0], row[1..].join(" | "));
        }
        text += "\n";
        for line in self.remarks() {
            let _ = writeln!(text, "- {line}");
        }
        text += "\n## Hosts\n";
        for host in hosts() {
            let _ = writeln!(text, "\n**{}**: {}.\n", host.name, host.title);
            for note in host.notes {
                let _ = writeln!(text, "- {note}");
            }
        }
        text
    }
}

fn cell(host: &Host, settings: &Settings) -> &'static str {
    if host.missing(settings).is_empty() { RUNS } else { DOES_NOT }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_of_the_kernel_are_those_of_its_column() {
        let column = hosts().iter().find(|host| host.name == "eBPF").and_then(|host| host.only);
        let mut there = ackclock_kernel::names();
        there.sort_unstable();
        assert_eq!(column, Some(there.as_slice()));
    }

    #[test]
    fn a_parameter_may_decide() {
        let remarks = Matrix::new().remarks();
        assert!(
            remarks.contains(&"pert on quinn: does not run with delay = \"forward\"".to_owned()),
            "{remarks:?}"
        );
        assert!(
            remarks.contains(&"ledbat on noq: runs with variant = \"plus-plus\"".to_owned()),
            "{remarks:?}"
        );
    }
}
