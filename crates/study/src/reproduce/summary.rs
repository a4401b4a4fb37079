//! One table of all works: how many claims are published, how many of them are represented, and what was
//! found. It counts claims of the source. One that several claims of a file represent holds if all of them
//! do.

use super::claim::{Observation, Origin};
use super::family::families;
use super::library::Library;
use super::verdict::{Counts, Judged, Reproduction, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;

/// The row of a family.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Row {
    /// The family of experiments.
    pub family: String,
    /// The key of the publication.
    pub work: String,
    /// Published claims.
    pub published: usize,
    /// Those that a claim here represents.
    pub represented: usize,
    /// What was found about them.
    #[serde(flatten)]
    pub counts: Counts,
    /// Those that fail and that the source itself contradicts.
    pub contradicted: usize,
    /// Claims of our own.
    pub ours: usize,
    /// Claims whose file does not say whose they are.
    pub unlinked: usize,
}

impl Row {
    /// The sum of two rows, without a name.
    #[must_use]
    pub fn plus(&self, other: &Row) -> Row {
        Row {
            family: String::new(),
            work: String::new(),
            published: self.published + other.published,
            represented: self.represented + other.represented,
            counts: self.counts.plus(other.counts),
            contradicted: self.contradicted + other.contradicted,
            ours: self.ours + other.ours,
            unlinked: self.unlinked + other.unlinked,
        }
    }
}

/// A row for each family of these experiments. If all experiments of a family are there, it counts all claims
/// that are published about the family, otherwise those about these experiments.
pub fn summary(library: &Library, reproductions: &[Reproduction]) -> Vec<Row> {
    let published: Vec<_> = library.published().experiments().collect();
    let ids: Vec<&str> = published
        .iter()
        .map(|(_, id, _)| *id)
        .chain(library.experiments().iter().map(|it| it.id.as_str()))
        .collect();
    let family_of: BTreeMap<&str, &str> = ids.iter().copied().zip(families(&ids)).collect();
    let judged = |id: &str| reproductions.iter().any(|reproduction| reproduction.id == id);
    let mut rows: Vec<Row> = Vec::new();
    for (family, work, members) in library.families() {
        if !members.iter().any(|experiment| judged(&experiment.id)) {
            continue;
        }
        let whole = members.iter().all(|experiment| judged(&experiment.id));
        let counted = published
            .iter()
            .filter(|(of, id, _)| *of == work && family_of.get(id) == Some(&family) && (whole || judged(id)));
        rows.push(Row {
            family: family.to_owned(),
            work: work.to_owned(),
            published: counted.map(|(_, _, claims)| claims).sum(),
            ..Row::default()
        });
    }
    let row_of = |id: &str| {
        let family = family_of.get(id)?;
        rows.iter().position(|row| row.family == *family)
    };
    let mut found: BTreeMap<(String, usize), Vec<&Judged>> = BTreeMap::new();
    let mut apart = vec![(0, 0); rows.len()];
    for (reproduction, claim) in reproductions
        .iter()
        .flat_map(|reproduction| reproduction.claims.iter().map(move |it| (reproduction, it)))
    {
        match &claim.origin {
            Origin::Source(of) => {
                for Observation { experiment, number } in of {
                    let id = experiment.as_ref().unwrap_or(&reproduction.id);
                    found.entry((id.clone(), *number)).or_default().push(claim);
                }
            }
            Origin::Ours(_) => row_of(&reproduction.id).into_iter().for_each(|row| apart[row].0 += 1),
            Origin::Unlinked => row_of(&reproduction.id).into_iter().for_each(|row| apart[row].1 += 1),
        }
    }
    let mut verdicts = vec![Vec::new(); rows.len()];
    let mut contradicted = vec![0; rows.len()];
    for ((id, _), parts) in &found {
        let Some(row) = row_of(id) else { continue };
        let all: Vec<Verdict> = parts.iter().map(|part| part.verdict).collect();
        verdicts[row].push(together(&all));
        let mut fail = parts.iter().filter(|part| part.verdict == Verdict::Fails).peekable();
        let fails = fail.peek().is_some();
        contradicted[row] += usize::from(fails && fail.all(|part| part.contradicted.is_some()));
    }
    let found = verdicts.into_iter().zip(contradicted);
    for ((row, (verdicts, contradicted)), (ours, unlinked)) in rows.iter_mut().zip(found).zip(apart) {
        row.represented = verdicts.len();
        row.contradicted = contradicted;
        row.counts = Counts::of_verdicts(verdicts);
        (row.ours, row.unlinked) = (ours, unlinked);
    }
    rows
}

/// The verdict of a claim of the source from those of its parts. Parts that count apart decide only if there
/// are no others.
fn together(parts: &[Verdict]) -> Verdict {
    let order = [
        Verdict::Fails,
        Verdict::Undecided,
        Verdict::Untestable,
        Verdict::Holds,
        Verdict::Calibrated,
        Verdict::Identity,
    ];
    order.into_iter().find(|verdict| parts.contains(verdict)).unwrap_or(Verdict::Untestable)
}

impl Judged {
    /// True if its file does not say whose claim it is.
    pub fn is_unlinked(&self) -> bool {
        self.origin == Origin::Unlinked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_claim_holds_if_all_its_parts_do() {
        use Verdict::{Calibrated, Fails, Holds, Identity, Undecided, Untestable};
        for (parts, expected) in [
            (&[Holds, Holds][..], Holds),
            (&[Holds, Undecided, Fails], Fails),
            (&[Holds, Undecided], Undecided),
            (&[Holds, Untestable], Untestable),
            (&[Holds, Calibrated], Holds),
            (&[Identity, Calibrated], Calibrated),
            (&[Identity], Identity),
        ] {
            assert_eq!(together(parts), expected, "{parts:?}");
        }
    }
}
