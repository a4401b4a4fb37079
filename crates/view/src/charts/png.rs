//! Pictures as PNG, for slides and for places that do not take SVG.
//!
//! The letters are those of DejaVu Sans, which the program brings along, so that a picture looks the same on
//! every machine. They are set one after the other, without ligatures or kerning.

use super::chart::{Chart, SCALE};
use miette::{IntoDiagnostic, Result, miette};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingErrorKind, FontStyle, FontTransform,
};
use std::convert::Infallible;
use std::sync::LazyLock;
use tiny_skia::{Color, FillRule, Paint, PathBuilder, Pixmap, Rect, Stroke, Transform};
use ttf_parser::{Face, OutlineBuilder};

/// The pixels per unit of the drawing.
const DENSITY: f32 = 2.0;

/// Plotters' font sizes are heights of lines; the letters' size is this share of them, as in SVG.
const LINE_HEIGHT: f32 = 1.24;

/// The chart as a PNG file.
///
/// # Errors
///
/// If the picture has no area, or cannot be encoded.
pub fn paint(chart: &Chart) -> Result<Vec<u8>> {
    let (width, height) = chart.size();
    let [across, down] = [width, height].map(|side| (side as f32 * DENSITY) as u32);
    let mut pixels =
        Pixmap::new(across, down).ok_or_else(|| miette!("a picture of {across} by {down} pixels"))?;
    let backend = Pixels { pixels: &mut pixels, size: (width * SCALE, height * SCALE) };
    let drawn = chart.draw_on(&backend.into_drawing_area(), Some(WHITE));
    drawn.map_err(|error| miette!("{} could not be drawn: {error}", chart.id))?;
    pixels.encode_png().into_diagnostic()
}

/// What plotters draws on; coordinates are those of the SVG.
struct Pixels<'a> {
    pixels: &'a mut Pixmap,
    size: (u32, u32),
}

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

impl Pixels<'_> {
    fn stroke(&mut self, path: PathBuilder, style: &impl BackendStyle) {
        let stroke = Stroke { width: style.stroke_width() as f32, ..Stroke::default() };
        if let Some(path) = path.finish() {
            self.pixels.stroke_path(&path, &ink(style.color()), &stroke, to_pixels(), None);
        }
    }

    fn fill(&mut self, path: PathBuilder, colour: BackendColor, place: Transform) {
        if let Some(path) = path.finish() {
            let place = place.post_concat(to_pixels());
            self.pixels.fill_path(&path, &ink(colour), FillRule::Winding, place, None);
        }
    }
}

fn to_pixels() -> Transform {
    Transform::from_scale(DENSITY / SCALE as f32, DENSITY / SCALE as f32)
}

fn ink(colour: BackendColor) -> Paint<'static> {
    let (red, green, blue) = colour.rgb;
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    let mut opaque = Color::from_rgba8(red, green, blue, u8::MAX);
    opaque.set_alpha(colour.alpha as f32);
    paint.set_color(opaque);
    paint
}

/// The lines from point to point.
fn lines(points: impl IntoIterator<Item = BackendCoord>) -> PathBuilder {
    let mut path = PathBuilder::new();
    for (number, (x, y)) in points.into_iter().enumerate() {
        if number == 0 { path.move_to(x as f32, y as f32) } else { path.line_to(x as f32, y as f32) }
    }
    path
}

impl DrawingBackend for Pixels<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, colour: BackendColor) -> Drawn {
        let corners = [(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1)];
        self.fill(lines(corners), colour, Transform::identity());
        Ok(())
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Drawn {
        self.stroke(lines([from, to]), style);
        Ok(())
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        (left, top): BackendCoord,
        (right, bottom): BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let mut path = PathBuilder::new();
        // One without an area has no traces, as in SVG.
        if let Some(rect) = Rect::from_ltrb(left as f32, top as f32, right as f32, bottom as f32) {
            path.push_rect(rect);
        }
        if fill {
            self.fill(path, style.color(), Transform::identity());
        } else {
            self.stroke(path, style);
        }
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        self.stroke(lines(path), style);
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        (x, y): BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let mut path = PathBuilder::new();
        path.push_circle(x as f32, y as f32, radius as f32);
        if fill {
            self.fill(path, style.color(), Transform::identity());
        } else {
            self.stroke(path, style);
        }
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        let mut path = lines(path);
        path.close();
        self.fill(path, style.color(), Transform::identity());
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, (x, y): BackendCoord) -> Drawn {
        let face = if matches!(style.style(), FontStyle::Bold) { &FONTS.bold } else { &FONTS.regular };
        let size = style.size() as f32 / LINE_HEIGHT;
        let scale = size / f32::from(face.units_per_em());
        let mut line = Line { path: PathBuilder::new(), pen: 0.0, scale };
        // A label may hold control characters, which have no letters.
        for letter in text.chars().filter(|letter| !letter.is_control()) {
            let glyph = face.glyph_index(letter).unwrap_or_default();
            face.outline_glyph(glyph, &mut line);
            line.pen += f32::from(face.glyph_hor_advance(glyph).unwrap_or(0)) * scale;
        }
        let left = match style.anchor().h_pos {
            HPos::Left => 0.0,
            HPos::Center => -line.pen / 2.0,
            HPos::Right => -line.pen,
        };
        // In ems below the point, as plotters' SVG has them; an ex is half an em.
        let down = size
            * match style.anchor().v_pos {
                VPos::Top => 0.76,
                VPos::Center => 0.25,
                VPos::Bottom => -0.25,
            };
        let turn = match style.transform() {
            FontTransform::Rotate90 => 90.0,
            FontTransform::Rotate180 => 180.0,
            FontTransform::Rotate270 => 270.0,
            _ => 0.0,
        };
        let place = Transform::from_translate(left, down)
            .post_concat(Transform::from_rotate(turn))
            .post_translate(x as f32, y as f32);
        self.fill(line.path, style.color(), place);
        Ok(())
    }
}

struct Fonts {
    regular: Face<'static>,
    bold: Face<'static>,
}

static FONTS: LazyLock<Fonts> = LazyLock::new(|| {
    let face = |data| Face::parse(data, 0).expect("the font that comes with the program is whole");
    Fonts { regular: face(dejavu::sans::regular()), bold: face(dejavu::sans::bold()) }
});

/// A line of letters: their outlines, with the y axis downwards.
struct Line {
    path: PathBuilder,
    /// Where the next letter begins.
    pen: f32,
    /// Of the font's units.
    scale: f32,
}

impl Line {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.pen + x * self.scale, -y * self.scale)
    }
}

impl OutlineBuilder for Line {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::chart::Curve;

    /// The pixels of a chart that are not those of `other`.
    fn differing(chart: &Chart, other: &Chart) -> Vec<(u32, u32)> {
        let [one, two] = [chart, other].map(|chart| {
            let file = paint(chart).expect("a picture");
            Pixmap::decode_png(&file).expect("a PNG file")
        });
        let all = (0..one.height()).flat_map(|y| (0..one.width()).map(move |x| (x, y)));
        all.filter(|&(x, y)| one.pixel(x, y) != two.pixel(x, y)).collect()
    }

    #[test]
    fn a_heading_is_drawn_above_the_plot_from_its_left_edge_on() {
        let named = Chart { title: "Throughput".to_owned(), ..Chart::default() };
        let traces = differing(&named, &Chart::default());
        let bounds = |of: fn(&(u32, u32)) -> u32| {
            let each = || traces.iter().map(of);
            (each().min().unwrap_or(0), each().max().unwrap_or(0))
        };
        let ((left, right), (top, bottom)) = (bounds(|&(x, _)| x), bounds(|&(_, y)| y));
        assert!(traces.len() > 500, "{} pixels", traces.len());
        assert!((120..130).contains(&left) && (220..320).contains(&right), "from {left} to {right}");
        assert!(top < bottom && bottom < 2 * 30, "from {top} to {bottom}");
    }

    #[test]
    fn a_curve_goes_where_its_values_are() {
        let with = |points| Chart { curves: vec![Curve { points, ..Curve::default() }], ..Chart::default() };
        let traces = differing(&with(vec![(0.0, 1.0), (1.0, 1.0)]), &with(vec![(0.0, 1.0)]));
        assert!(!traces.is_empty());
        let (first, last) = (traces[0].1, traces[traces.len() - 1].1);
        assert!(last - first < 10, "a level line, from row {first} to {last}");
    }
}
