//! Line charts as SVG.
//!
//! A drawing has two forms. As a file it has a white background and literal colours, so that it fits into a
//! paper. Inside the report the colours are variables of the page, which follow its theme.

use super::axis::{Axis, Ruled, TEXT, text_width, tidy};
use plotters::coord::Shift;
use plotters::element::DynElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::collections::HashSet;

/// A curve.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// Its name in the legend.
    pub label: String,
    /// Time in seconds and value, in order. A value that is not finite is a gap.
    pub points: Vec<(f64, f64)>,
    /// How its points are connected.
    pub style: Style,
    /// How its points are marked.
    pub mark: Mark,
    /// Time, lower bound and upper bound of the values behind the curve.
    pub band: Vec<(f64, f64, f64)>,
    /// How far a mark reaches above its point, which makes it a bar: one value for all points, or one for
    /// each.
    pub tall: Vec<f64>,
}

/// How the points of a curve are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// A line through all points.
    #[default]
    Line,
    /// A dot at each point.
    Dot,
    /// A ring at each point.
    Ring,
    /// A cross at each point.
    Cross,
}

/// The colour of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// One of the colours of the palette.
    Colour(usize),
    /// Thin and grey: a reference for the other curves.
    Aside,
}

impl Default for Style {
    fn default() -> Style {
        Style::Colour(0)
    }
}

/// A chart.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// The name of its file.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// The unit of its values; may be empty.
    pub unit: String,
    /// In the order of their colours.
    pub curves: Vec<Curve>,
    /// The horizontal axis.
    pub x: Axis,
    /// True if the vertical axis need not begin at zero.
    pub afloat: bool,
    /// Half the width, for many small charts.
    pub small: bool,
}

/// The largest number of curves in one chart that can be told apart.
pub const MAX_CURVES: usize = 8;

/// The palette of Okabe and Ito, whose colours people with colour blindness can tell apart. Their yellow is
/// too pale on white and is replaced by a wine red, their black by a grey that works on both backgrounds.
const PALETTE: [RGBColor; MAX_CURVES] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0xE6, 0x9F, 0x00),
    RGBColor(0x56, 0xB4, 0xE9),
    RGBColor(0x88, 0x22, 0x55),
    RGBColor(0x66, 0x66, 0x66),
];
const INK: RGBColor = RGBColor(0x1F, 0x23, 0x28);
const MUTED: RGBColor = RGBColor(0x59, 0x63, 0x6E);
const GRID: RGBColor = RGBColor(0xE1, 0xE5, 0xEA);
const SHADE: RGBColor = RGBColor(0xF2, 0xF5, 0xF9);

/// The backend has whole pixels only. Curves are drawn larger and scaled down.
pub(super) const SCALE: u32 = 4;
const WIDTH: u32 = 960;
const SMALL_WIDTH: u32 = 470;
const HEIGHT: u32 = 250;
const SMALL_HEIGHT: u32 = 180;
const ROW: u32 = 20;

/// A mark that reaches further than so many pixels is a bar.
const BAR: u32 = 3;

const LEFT: u32 = 62;
const RIGHT: u32 = 16;
/// The columns of a chart. If there are more than two points per column, they are thinned out.
const COLUMNS: usize = 900;

type Canvas<B> = DrawingArea<B, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

impl Curve {
    /// How far the mark of a point reaches above it.
    fn tall(&self, number: usize) -> f64 {
        self.tall.get(number).or(self.tall.first()).copied().unwrap_or(0.0)
    }

    /// Where marks end that reach above their points.
    fn tops(&self) -> impl Iterator<Item = f64> {
        let bars = if self.tall.is_empty() { &[] } else { &self.points[..] };
        bars.iter().enumerate().map(|(number, &(_, value))| value + self.tall(number))
    }
}

impl Style {
    fn colour(self) -> RGBColor {
        match self {
            Style::Colour(number) => PALETTE[number % PALETTE.len()],
            Style::Aside => MUTED,
        }
    }
}

fn px(units: u32) -> i32 {
    (units * SCALE) as i32
}

fn text(colour: &RGBColor, bold: bool) -> TextStyle<'_> {
    let style = if bold { FontStyle::Bold } else { FontStyle::Normal };
    let font = ("sans-serif", px(TEXT), style).into_font();
    TextStyle::from(font).color(colour).pos(Pos::new(HPos::Left, VPos::Center))
}

impl Chart {
    pub(super) fn size(&self) -> (u32, u32) {
        if self.small { (SMALL_WIDTH, SMALL_HEIGHT) } else { (WIDTH, HEIGHT) }
    }

    fn heading(&self) -> String {
        if self.unit.is_empty() { self.title.clone() } else { format!("{} ({})", self.title, self.unit) }
    }

    /// The places of the legend's entries: (curve, x, row). The heading comes first.
    fn legend(&self) -> (Vec<(usize, u32, u32)>, u32) {
        let (width, _) = self.size();
        let (mut x, mut row) = (LEFT + text_width(&self.heading()) + 24, 0);
        let mut places = Vec::new();
        if self.curves.len() > 1 {
            for (number, curve) in self.curves.iter().enumerate() {
                let entry = 24 + text_width(&curve.label) + 12;
                if x + entry > width && x > LEFT {
                    (x, row) = (LEFT, row + 1);
                }
                places.push((number, x, row));
                x += entry;
            }
        }
        (places, row + 1)
    }

    /// The smallest and the largest value shown.
    fn range(&self) -> (f64, f64) {
        let (least, most) = self
            .values()
            .fold((0.0_f64, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
        if least == most {
            return (0.0, 1.0);
        }
        let lowest = self.values().fold(f64::INFINITY, f64::min);
        if self.afloat && lowest > most / 2.0 {
            return (lowest - (most - lowest) * 0.1, most + (most - lowest) * 0.1);
        }
        (least * 1.05, most * 1.05)
    }

    /// All values shown.
    fn values(&self) -> impl Iterator<Item = f64> {
        let values = self.curves.iter().flat_map(|curve| {
            let points = curve.points.iter().map(|&(_, value)| value).chain(curve.tops());
            points.chain(curve.band.iter().flat_map(|&(_, low, high)| [low, high]))
        });
        values.filter(|value| value.is_finite())
    }

    /// The chart as an SVG file.
    pub fn to_svg(&self) -> String {
        self.draw(Some(WHITE))
    }

    /// The chart as an element of the report, in the colours of the page.
    pub fn to_inline(&self) -> String {
        themed(&self.draw(None), &self.heading())
    }

    fn draw(&self, ground: Option<RGBColor>) -> String {
        let (width, height) = self.size();
        let mut svg = String::new();
        let canvas = SVGBackend::with_string(&mut svg, (width * SCALE, height * SCALE)).into_drawing_area();
        let drawn = self.draw_on(&canvas, ground);
        drop(canvas);
        // XML does not allow control characters, but a label may contain them.
        svg.retain(|letter| !letter.is_control() || letter == '\n');
        // Drawing into memory fails only if a range is empty, which `range` excludes.
        if let Err(error) = drawn {
            return format!("<!-- {} could not be drawn: {error} -->", self.id);
        }
        let large = format!("width=\"{}\" height=\"{}\"", width * SCALE, height * SCALE);
        svg.replacen(&large, &format!("width=\"{width}\" height=\"{height}\""), 1)
    }

    pub(super) fn draw_on<B>(&self, canvas: &Canvas<B>, ground: Option<RGBColor>) -> Drawn
    where
        B: DrawingBackend<ErrorType: 'static>,
    {
        if let Some(ground) = ground {
            canvas.fill(&ground)?;
        }
        let (places, rows) = self.legend();
        let (top, body) = canvas.split_vertically(px(rows * ROW + 6));
        let middle = |row: u32| px(ROW / 2 + row * ROW + 2);
        top.draw(&Text::new(self.heading(), (px(LEFT), middle(0)), text(&INK, true)))?;
        for (number, x, row) in places {
            let curve = &self.curves[number];
            let line = [(px(x), middle(row)), (px(x + 18), middle(row))];
            top.draw(&PathElement::new(line, curve.style.colour().stroke_width(3 * SCALE)))?;
            top.draw(&Text::new(curve.label.clone(), (px(x + 24), middle(row)), text(&INK, false)))?;
        }
        self.plot(&body)?;
        canvas.present()?;
        Ok(())
    }

    fn plot<B: DrawingBackend<ErrorType: 'static>>(&self, area: &Canvas<B>) -> Drawn {
        let (width, _) = self.size();
        let (least, most) = self.range();
        let ticks = self.x.ticks(width - LEFT - RIGHT);
        let places = ticks.iter().map(|&(place, _)| place).collect();
        let mut plot = ChartBuilder::on(area)
            .set_label_area_size(LabelAreaPosition::Left, px(LEFT))
            .set_label_area_size(LabelAreaPosition::Bottom, px(36))
            .margin_right(px(RIGHT))
            .margin_top(px(4))
            .build_cartesian_2d(Ruled::new(self.x.range(), places), least..most)?;
        if let Axis::Time { window: Some([from, to]), .. } = self.x {
            plot.draw_series([Rectangle::new([(from, least), (to, most)], SHADE.filled())])?;
        }
        let label = text(&MUTED, false);
        let named = |place: &f64| {
            let tick = ticks.iter().find(|(known, _)| known == place);
            tick.map_or_else(|| tidy(*place), |(_, text)| text.clone())
        };
        plot.configure_mesh()
            .disable_x_mesh()
            .bold_line_style(GRID.stroke_width(SCALE))
            .light_line_style(TRANSPARENT)
            .axis_style(MUTED.stroke_width(SCALE))
            .set_all_tick_mark_size(px(4))
            .x_labels(ticks.len().max(1))
            .y_labels(if self.small { 6 } else { 7 })
            .x_label_style(label.clone())
            .y_label_style(label.clone())
            .x_label_formatter(&named)
            .y_label_formatter(&|value| tidy(*value))
            .x_desc(match &self.x {
                Axis::Time { .. } | Axis::Span { .. } => "time (s)",
                Axis::Values { label, .. } => label,
                Axis::Log { label, .. } => label,
            })
            .axis_desc_style(label)
            .draw()?;
        for (number, curve) in self.curves.iter().enumerate() {
            // The first curves are slightly thicker, so that they are visible below others with the same
            // values.
            let above = (self.curves.len() - number - 1).min(4) as u32;
            for shape in self.shapes(curve, SCALE * 5 / 4 + above * SCALE / 4) {
                plot.draw_series([shape])?;
            }
        }
        Ok(())
    }

    /// The shapes of a curve: its band, its line, and marks if it stands for few values.
    fn shapes<B: DrawingBackend>(
        &self,
        curve: &Curve,
        thickness: u32,
    ) -> Vec<DynElement<'static, B, (f64, f64)>> {
        let colour = curve.style.colour();
        let place = |&(at, value): &(f64, f64)| (self.x.place(at), value);
        let mut shapes = Vec::new();
        if !curve.band.is_empty() {
            let below = curve.band.iter().map(|&(at, low, _)| (self.x.place(at), low));
            let above = curve.band.iter().rev().map(|&(at, _, high)| (self.x.place(at), high));
            shapes.push(
                Polygon::new(below.chain(above).collect::<Vec<_>>(), colour.mix(0.14).filled()).into_dyn(),
            );
        }
        if curve.mark != Mark::Line {
            let (least, most) = self.range();
            let bar = (most - least) / f64::from(HEIGHT) * f64::from(BAR);
            let marks = self.apart(curve).into_iter().map(|(at, tall)| match curve.mark {
                Mark::Ring => Circle::new(at, px(3), colour.stroke_width(SCALE)).into_dyn(),
                Mark::Cross => Cross::new(at, px(3), colour.stroke_width(SCALE)).into_dyn(),
                Mark::Dot | Mark::Line if tall > bar => {
                    let ends = vec![at, (at.0, at.1 + tall)];
                    PathElement::new(ends, colour.stroke_width(2 * SCALE)).into_dyn()
                }
                Mark::Dot | Mark::Line => Circle::new(at, SCALE as i32, colour.filled()).into_dyn(),
            });
            return marks.collect();
        }
        let thickness = if curve.style == Style::Aside { SCALE } else { thickness };
        for piece in curve.points.split(|(_, value)| !value.is_finite()).filter(|piece| !piece.is_empty()) {
            let piece: Vec<_> = thin(piece).iter().map(place).collect();
            if matches!(self.x, Axis::Values { .. }) {
                let marks = piece.iter().map(|&at| Circle::new(at, px(3), colour.filled()).into_dyn());
                shapes.extend(marks);
            }
            shapes.push(PathElement::new(piece, colour.stroke_width(thickness)).into_dyn());
        }
        shapes
    }
}

impl Chart {
    /// One of all points that would cover each other, and how far each reaches.
    fn apart(&self, curve: &Curve) -> Vec<((f64, f64), f64)> {
        let ((least, most), x) = (self.range(), self.x.range());
        let cell = |value: f64, from: f64, to: f64, count: u32| {
            ((value - from) / (to - from) * f64::from(count)) as i64
        };
        let mut taken = HashSet::new();
        let points = curve.points.iter().enumerate();
        let places = points.map(|(number, &(at, value))| ((self.x.place(at), value), curve.tall(number)));
        let free = places.filter(|&((at, value), _)| {
            taken.insert((cell(at, x.start, x.end, WIDTH), cell(value, least, most, HEIGHT)))
        });
        free.collect()
    }
}

/// Keeps the smallest and the largest value of every column, so that no peak is lost.
fn thin(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= 2 * COLUMNS {
        return points.to_vec();
    }
    let mut kept = Vec::with_capacity(2 * COLUMNS);
    for column in points.chunks(points.len().div_ceil(COLUMNS)) {
        let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let ends = column.iter().min_by(by_value).zip(column.iter().max_by(by_value));
        if let Some((&low, &high)) = ends {
            kept.extend(if low.0 <= high.0 { [low, high] } else { [high, low] });
        }
    }
    kept
}

/// Replaces literal colours by variables of the page, and adds a text for screen readers.
fn themed(svg: &str, heading: &str) -> String {
    let mut themed = svg.to_owned();
    let named = [(INK, "ink"), (MUTED, "muted"), (GRID, "grid"), (SHADE, "shade")];
    let palette = PALETTE.iter().enumerate().map(|(number, &colour)| (colour, format!("c{number}")));
    for (colour, name) in named.map(|(colour, name)| (colour, name.to_owned())).into_iter().chain(palette) {
        let RGBColor(r, g, b) = colour;
        themed = themed.replace(&format!("\"#{r:02X}{g:02X}{b:02X}\""), &format!("\"var(--{name})\""));
    }
    let heading = heading.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    themed.replacen("<svg ", &format!("<svg role=\"img\" aria-label=\"{heading}\" "), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Chart {
        let curve = |number: usize| Curve {
            label: format!("flow <{number}>"),
            points: (0..100).map(|x| (f64::from(x), f64::from(x) * number as f64)).collect(),
            style: Style::Colour(number),
            ..Curve::default()
        };
        Chart {
            id: "cwnd".to_owned(),
            title: "cwnd".to_owned(),
            unit: "segments".to_owned(),
            curves: (0..8).map(curve).collect(),
            x: Axis::Time { duration: 100.0, window: Some([10.0, 100.0]) },
            ..Chart::default()
        }
    }

    #[test]
    fn a_picture_stands_alone_and_its_inline_twin_follows_the_page() {
        let (file, inline) = (chart().to_svg(), chart().to_inline());
        assert!(file.starts_with("<svg width=\"960\""), "{}", &file[..60]);
        assert!(file.contains("xmlns=\"http://www.w3.org/2000/svg\"") && file.contains("#0072B2"));
        assert!(!file.contains("var(--"));
        for variable in ["ink", "muted", "grid", "shade", "c0", "c7"] {
            assert!(inline.contains(&format!("var(--{variable})")), "{variable}");
        }
        assert!(!inline.contains("\"#"), "every colour is the page's");
        assert!(!file.contains("<0>"), "labels are escaped");
    }

    #[test]
    fn any_label_makes_a_well_formed_picture() {
        let curves = ["bell\u{7}", "]]>", "a & b", "\"'", "漢字", ""].map(|label| Curve {
            label: label.to_owned(),
            points: vec![(0.0, 1.0), (1.0, 2.0)],
            ..Curve::default()
        });
        let labelled = Chart { curves: curves.into(), ..chart() };
        let svg = labelled.to_svg();
        assert!(!svg.contains('\u{7}') && svg.contains("a &amp; b") && svg.contains("漢字"));
        #[cfg(feature = "png")]
        assert!(crate::charts::png::paint(&labelled).is_ok());
    }

    #[test]
    fn an_empty_chart_and_gaps_are_drawn() {
        let mut chart = Chart { curves: vec![Curve::default()], ..chart() };
        assert!(chart.to_svg().contains("</svg>"));
        chart.curves[0].points =
            vec![(0.0, f64::INFINITY), (1.0, 2.0), (2.0, f64::NAN), (3.0, 4.0), (4.0, 5.0)];
        assert!(chart.to_svg().contains("</svg>"));
    }

    #[test]
    fn thinning_keeps_peaks() {
        let mut points: Vec<_> = (0..100_000).map(|x| (f64::from(x), 1.0)).collect();
        points[54_321].1 = 99.0;
        points[54_400].1 = -7.0;
        let thinned = thin(&points);
        assert!(thinned.len() <= 2 * COLUMNS);
        assert!(thinned.contains(&(54_321.0, 99.0)) && thinned.contains(&(54_400.0, -7.0)));
        assert!(thinned.is_sorted_by(|a, b| a.0 <= b.0));
    }
}
