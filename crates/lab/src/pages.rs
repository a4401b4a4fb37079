//! The page's own files. They are the same for everybody and say nothing of anybody.

use ackclock_view::assets::{CHARTS_CSS, MODULES, STYLE_CSS, UPLOT_CSS, UPLOT_JS, without_comments};
use std::sync::LazyLock;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

const OWN: [(&str, &str, &str); 10] = [
    ("/", HTML, include_str!("../assets/lab.html")),
    ("/lab.css", CSS, include_str!("../assets/lab.css")),
    ("/icon.svg", "image/svg+xml", include_str!("../assets/icon.svg")),
    ("/lab.js", JS, include_str!("../assets/lab.js")),
    ("/address.js", JS, include_str!("../assets/address.js")),
    ("/asking.js", JS, include_str!("../assets/asking.js")),
    ("/form.js", JS, include_str!("../assets/form.js")),
    ("/gallery.js", JS, include_str!("../assets/gallery.js")),
    ("/results.js", JS, include_str!("../assets/results.js")),
    ("/live.js", JS, include_str!("../assets/live.js")),
];
const OTHERS: [(&str, &str, &str); 4] = [
    ("/style.css", CSS, STYLE_CSS),
    ("/charts.css", CSS, CHARTS_CSS),
    ("/uPlot.css", CSS, UPLOT_CSS),
    ("/uPlot.js", JS, UPLOT_JS),
];

/// The modules of charts that the page imports: it animates no queue.
fn modules() -> impl Iterator<Item = (&'static str, &'static str)> {
    MODULES.into_iter().filter(|(name, _)| *name != "packets.js")
}

/// All files: their paths, media types and texts. Scripts come without their comments.
static FILES: LazyLock<Vec<(String, &str, String)>> = LazyLock::new(|| {
    let bare = |&(path, kind, text): &(&str, &'static str, &str)| {
        let text = if kind == JS { without_comments(text) } else { text.to_owned() };
        (path.to_owned(), kind, text)
    };
    let whole = |&(path, kind, text): &(&str, &'static str, &str)| (path.to_owned(), kind, text.to_owned());
    let modules = modules().map(|(name, text)| (format!("/{name}"), JS, without_comments(text)));
    OWN.iter().map(bare).chain(OTHERS.iter().map(whole)).chain(modules).collect()
});

/// The media type and the text of a file, by its path.
pub(crate) fn page(path: &str) -> Option<(&'static str, &'static str)> {
    FILES.iter().find(|(known, ..)| known == path).map(|(_, kind, text)| (*kind, &**text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the scripts of the page may take, bytes.
    const MAX_SCRIPTS: usize = 150_000;

    #[test]
    fn the_scripts_are_small_and_all_that_is_named_is_there() {
        let scripts = FILES.iter().filter(|(_, kind, _)| *kind == JS);
        let size = scripts.map(|(.., text)| text.len()).sum::<usize>();
        assert!(size <= MAX_SCRIPTS, "{size} bytes");
        for (name, _, text) in OWN {
            let quoted = text.split(['"', '\'']).filter(|it| it.ends_with(".js") || it.ends_with(".css"));
            for named in quoted {
                let path = format!("/{}", named.trim_start_matches("./").trim_start_matches('/'));
                assert!(page(&path).is_some(), "{name} names {named}");
            }
        }
    }

    /// The policy allows none of it.
    #[test]
    fn nothing_is_inline_and_nothing_comes_from_elsewhere() {
        let html = OWN[0].2;
        for word in ["<script>", "style=", "onclick", "http://", "https://"] {
            assert!(!html.contains(word), "{word}");
        }
        for (name, kind, text) in OWN {
            if kind == "image/svg+xml" {
                continue;
            }
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
                assert!(!text.contains(word), "{name}: {word}");
            }
        }
    }
}
