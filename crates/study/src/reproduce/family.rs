//! Families of experiments: those of one scheme of a publication. `ltcp-dcr-fig-56` belongs to `ltcp-dcr`,
//! `ltcp-fig-26` to `ltcp`.

/// What stands between a family and the number of its figure, table or the like.
const MARKS: [&str; 8] = ["-fig-", "-table-", "-text-", "-app-", "-eq-", "-theorem-", "-section-", "-alg-"];

/// The family that an id names itself.
fn named(id: &str) -> Option<&str> {
    MARKS.iter().filter_map(|mark| id.find(mark)).min().map(|end| &id[..end])
}

/// The family of each of these ids. An id that names none (`ctcp-lowwnd`) belongs to the longest family that
/// it begins with, or to what stands before its first dash.
pub(super) fn families<'a>(ids: &[&'a str]) -> Vec<&'a str> {
    let known: Vec<&str> = ids.iter().filter_map(|id| named(id)).collect();
    let begins = |id: &str, family: &str| id.strip_prefix(family).is_some_and(|rest| rest.starts_with('-'));
    let family = |&id: &&'a str| {
        let longest = known.iter().filter(|family| begins(id, family)).map(|family| family.len()).max();
        let end = named(id).map(str::len).or(longest).or_else(|| id.find('-')).unwrap_or(id.len());
        &id[..end]
    };
    ids.iter().map(family).collect()
}

#[cfg(test)]
mod tests {
    use super::families;

    #[test]
    fn a_family_is_no_prefix() {
        let of = |ids: &[&'static str]| families(ids);
        assert_eq!(
            of(&["ltcp-fig-26", "ltcp-dcr-fig-56", "ltcp-pert-table-15", "ltcp-text-buffer"]),
            ["ltcp", "ltcp-dcr", "ltcp-pert", "ltcp"]
        );
        assert_eq!(of(&["ctcp-lowwnd", "ctcp-fig-1", "ctcp-tcp-fair"]), ["ctcp"; 3]);
        assert_eq!(of(&["a-fig-1", "a-b-fig-1", "a-b-other", "a-bother"]), ["a", "a-b", "a-b", "a"]);
        assert_eq!(of(&["nocc-fig-4.3", "fig-2", "one"]), ["nocc", "fig", "one"]);
    }
}
