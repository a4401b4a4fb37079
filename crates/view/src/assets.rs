//! Scripts and styles of pages with charts. They need no network, no other file and no `eval`: a page may
//! hold them, or a server may serve each at its name.

/// uPlot, which draws the frames of charts: a classic script that defines `uPlot`. Its licence, MIT, wants to
/// be in every copy.
pub const UPLOT_JS: &str = concat!(
    "/*!\n",
    include_str!("../assets/vendor/LICENSE-UPLOT"),
    "*/\n",
    include_str!("../assets/vendor/uPlot.iife.min.js")
);
/// The style that uPlot needs.
pub const UPLOT_CSS: &str = include_str!("../assets/vendor/uPlot.min.css");
/// The modules of charts, by the names under which they import each other: a server puts them side by side.
/// `charts.js` has `draw(figure, data, options)`, `Group` and `controls`, and needs `uPlot`. The data are
/// those of [`Chart::to_data`](crate::charts::chart::Chart::to_data). `packets.js` animates a queue,
/// `tables.js` sorts and copies tables. A module stands behind those that it imports.
pub const MODULES: [(&str, &str); 7] = [
    ("elements.js", include_str!("../assets/elements.js")),
    ("curves.js", include_str!("../assets/curves.js")),
    ("group.js", include_str!("../assets/group.js")),
    ("painting.js", include_str!("../assets/painting.js")),
    ("charts.js", include_str!("../assets/charts.js")),
    ("packets.js", include_str!("../assets/packets.js")),
    ("tables.js", include_str!("../assets/tables.js")),
];
/// The style of charts. The colours are those of [`STYLE_CSS`].
pub const CHARTS_CSS: &str = include_str!("../assets/charts.css");
/// The style of all pages, with the colours of light and dark.
pub const STYLE_CSS: &str = include_str!("style.css");
/// What a report does beside its charts.
const REPORT_JS: &str = include_str!("../assets/report.js");

/// A script without what only its readers need: comments that have lines of their own. Empty lines stay in
/// their places, so that errors name the lines of the source.
pub fn without_comments(script: &str) -> String {
    let mut within = false;
    let lines = script.lines().map(|line| {
        let text = line.trim();
        // A type before an expression stands in its line.
        let opens = text.starts_with("/**") && (text.ends_with("*/") || !text.contains("*/"));
        let comment = within || opens || text.starts_with("//");
        within = (within || opens) && !text.ends_with("*/");
        if comment { "\n".to_owned() } else { format!("{line}\n") }
    });
    lines.collect()
}

/// The script of a report: all modules as one, because a page has no other file to import from.
pub(crate) fn report_script() -> String {
    let modules = MODULES.iter().map(|&(_, module)| module).chain([REPORT_JS]);
    let text = modules.map(without_comments).collect::<String>();
    let own = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("import ") && !line.starts_with("export {"));
    own.map(|line| line.strip_prefix("export ").unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_left_out_and_lines_keep_their_numbers() {
        let script = "// one\n/** two\n * three */\nlet a = /** @type {any} */ (b);\n  /** @type {T} */ (c).d();\n\
                      /** four */\nlet e; // five\n";
        let bare = "\n\n\nlet a = /** @type {any} */ (b);\n  /** @type {T} */ (c).d();\n\nlet e; // five\n";
        assert_eq!(without_comments(script), bare);
    }

    /// What a page may carry, bytes.
    const MAX_SCRIPTS: usize = 150_000;

    #[test]
    fn the_scripts_of_a_page_are_small_and_import_nothing() {
        let script = report_script();
        assert!(!script.lines().any(|line| line.starts_with("import") || line.starts_with("export")));
        assert!(!script.contains("</script") && !UPLOT_JS.contains("</script"), "they stand in a page");
        let size = script.len() + UPLOT_JS.len();
        assert!(size <= MAX_SCRIPTS, "{size} bytes");
    }
}
