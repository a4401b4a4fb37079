//! Pictures as PNG, for slides and for places that do not take SVG.
//!
//! The letters are those of DejaVu Sans, which the program brings along, so that a picture looks the same on
//! every machine.

use miette::{IntoDiagnostic, Result, miette};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use std::sync::Arc;

/// Pixels per unit of the drawing.
const DENSITY: f32 = 2.0;

/// Turns SVG into PNG.
pub(crate) struct Painter {
    options: Options<'static>,
}

impl Painter {
    pub(crate) fn new() -> Painter {
        let mut options = Options::default();
        let fonts = Arc::make_mut(&mut options.fontdb);
        fonts.load_font_data(dejavu::sans::regular().to_vec());
        fonts.load_font_data(dejavu::sans::bold().to_vec());
        fonts.set_sans_serif_family("DejaVu Sans");
        Painter { options }
    }

    /// The picture's file.
    pub(crate) fn paint(&self, svg: &str) -> Result<Vec<u8>> {
        let tree = Tree::from_str(svg, &self.options).into_diagnostic()?;
        let [width, height] = [tree.size().width(), tree.size().height()].map(|side| (side * DENSITY) as u32);
        let mut pixels =
            Pixmap::new(width, height).ok_or_else(|| miette!("a picture of {width} by {height} pixels"))?;
        resvg::render(&tree, Transform::from_scale(DENSITY, DENSITY), &mut pixels.as_mut());
        pixels.encode_png().into_diagnostic()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::charts::chart::Chart;

    #[test]
    fn letters_leave_traces() {
        let painter = Painter::new();
        let chart = Chart::default().to_svg();
        let with = painter.paint(&chart).expect("a picture");
        let named = Chart { title: "Throughput".to_owned(), ..Chart::default() };
        let named = painter.paint(&named.to_svg()).expect("a picture");
        assert!(with.starts_with(b"\x89PNG") && named.len() > with.len() + 500, "a heading is drawn");
    }
}
