//! A chart as data, for the page's own script. The same values as in the picture, and all of them.
//!
//! Numbers are compact: a value is an `f32`, a time a `u32` on the axis between the first and the last, both
//! as base64. Few numbers are written as they are.

use super::axis::Axis;
use super::chart::{Chart, Curve, Mark, Style};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::Serialize;

/// So many numbers are written one by one.
const FEW: usize = 32;

#[derive(Serialize)]
struct Data<'a> {
    id: &'a str,
    title: &'a str,
    unit: &'a str,
    afloat: bool,
    small: bool,
    x: Horizontal<'a>,
    curves: Vec<Line<'a>>,
}

#[derive(Serialize)]
struct Horizontal<'a> {
    label: &'a str,
    log: bool,
    from: f64,
    to: f64,
    /// The values of a sweep.
    #[serde(skip_serializing_if = "Option::is_none")]
    ticks: Option<&'a [(f64, String)]>,
    /// What averages are taken over, if that is not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<[f64; 2]>,
}

#[derive(Serialize)]
struct Line<'a> {
    label: &'a str,
    /// A colour of the palette; none for what stands aside.
    colour: Option<usize>,
    mark: &'static str,
    xs: Places,
    ys: Values,
    #[serde(skip_serializing_if = "Option::is_none")]
    band: Option<Band>,
    /// How far each mark reaches above its point; one number: all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    tall: Option<Tall>,
}

#[derive(Serialize)]
struct Band {
    xs: Places,
    low: Values,
    high: Values,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Tall {
    All(f64),
    Each(Values),
}

/// Places along the horizontal axis, in order.
#[derive(Serialize)]
#[serde(untagged)]
enum Places {
    /// Those of an earlier curve.
    Same(usize),
    List {
        list: Vec<f64>,
    },
    Even {
        from: f64,
        step: f64,
        count: usize,
    },
    Counted {
        from: f64,
        step: f64,
        at: String,
    },
}

/// Values. One that is not finite is a gap.
#[derive(Serialize)]
#[serde(untagged)]
enum Values {
    List(Vec<Option<f64>>),
    Packed(String),
}

impl Chart {
    /// The chart as data for the scripts of [`MODULES`](crate::assets::MODULES).
    pub fn to_data(&self) -> impl Serialize {
        let mut lines: Vec<Line<'_>> = Vec::with_capacity(self.curves.len());
        for (number, curve) in self.curves.iter().enumerate() {
            let same = (0..number).find(|&before| same_places(&self.curves[before], curve));
            lines.push(line(curve, same));
        }
        Data {
            id: &self.id,
            title: &self.title,
            unit: &self.unit,
            afloat: self.afloat,
            small: self.small,
            x: horizontal(&self.x),
            curves: lines,
        }
    }

    /// The data as JSON that may stand in a `script` element: no `<` of a label ends it.
    pub fn to_script(&self) -> String {
        // Serialising into memory fails only for maps whose keys are no texts.
        serde_json::to_string(&self.to_data()).unwrap_or_default().replace('<', "\\u003c")
    }
}

fn same_places(one: &Curve, other: &Curve) -> bool {
    let mut pairs = one.points.iter().zip(&other.points);
    one.points.len() == other.points.len() && pairs.all(|(one, other)| one.0 == other.0)
}

fn horizontal(axis: &Axis) -> Horizontal<'_> {
    let (label, log, ticks, window) = match axis {
        Axis::Time { window, .. } => ("time (s)", false, None, *window),
        Axis::Span { .. } => ("time (s)", false, None, None),
        Axis::Values { label, log, ticks } => (label.as_str(), *log, Some(&ticks[..]), None),
        Axis::Log { label, ticks } => (*label, true, Some(&ticks[..]), None),
    };
    let range = axis.range();
    let [from, to] = [range.start, range.end].map(|place| if log { 10_f64.powf(place) } else { place });
    Horizontal { label, log, from, to, ticks, window }
}

fn line(curve: &Curve, same: Option<usize>) -> Line<'_> {
    let mark = match curve.mark {
        Mark::Line => "line",
        Mark::Dot => "dot",
        Mark::Ring => "ring",
        Mark::Cross => "cross",
    };
    let own = || places(curve.points.iter().map(|&(at, _)| at).collect());
    Line {
        label: &curve.label,
        colour: match curve.style {
            Style::Colour(number) => Some(number),
            Style::Aside => None,
        },
        mark,
        xs: same.map_or_else(own, Places::Same),
        ys: values(curve.points.iter().map(|&(_, value)| value)),
        band: (!curve.band.is_empty()).then(|| Band {
            xs: places(curve.band.iter().map(|&(at, ..)| at).collect()),
            low: values(curve.band.iter().map(|&(_, low, _)| low)),
            high: values(curve.band.iter().map(|&(.., high)| high)),
        }),
        tall: curve.tall.first().map(|&first| match curve.tall.iter().all(|&it| it == first) {
            true => Tall::All(first),
            false => Tall::Each(values(curve.tall.iter().copied())),
        }),
    }
}

fn places(at: Vec<f64>) -> Places {
    let (Some(&from), Some(&to)) = (at.first(), at.last()) else { return Places::List { list: at } };
    if at.len() <= FEW || to <= from {
        return Places::List { list: at };
    }
    let even = (to - from) / (at.len() - 1) as f64;
    let off = |(number, at): (usize, &f64)| (from + even * number as f64 - at).abs();
    if at.iter().enumerate().map(off).fold(0.0, f64::max) < even * 1e-6 {
        return Places::Even { from, step: even, count: at.len() };
    }
    let step = (to - from) / f64::from(u32::MAX);
    let at = counted(at.into_iter().map(Some), from, step);
    Places::Counted { from, step, at }
}

/// Base64 of little-endian u32 that count `step` from `from`; the greatest one for none.
pub(crate) fn counted(at: impl Iterator<Item = Option<f64>>, from: f64, step: f64) -> String {
    let count = |at: f64| ((at - from) / step).round() as u32;
    let bytes = at.flat_map(|at| at.map_or(u32::MAX, count).to_le_bytes());
    BASE64_STANDARD.encode(bytes.collect::<Vec<u8>>())
}

fn values(values: impl ExactSizeIterator<Item = f64>) -> Values {
    if values.len() <= FEW {
        return Values::List(values.map(|value| value.is_finite().then_some(value)).collect());
    }
    let bytes = values.flat_map(|value| (value as f32).to_le_bytes());
    Values::Packed(BASE64_STANDARD.encode(bytes.collect::<Vec<u8>>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn data(chart: &Chart) -> Value {
        serde_json::to_value(chart.to_data()).expect("a chart is data")
    }

    fn curve(label: &str, points: Vec<(f64, f64)>) -> Curve {
        Curve { label: label.to_owned(), points, ..Curve::default() }
    }

    #[test]
    fn few_values_are_written_and_a_gap_is_null() {
        let mut chart =
            Chart { curves: vec![curve("a", vec![(0.0, 1.5), (1.0, f64::NAN)])], ..Chart::default() };
        chart.curves[0].band = vec![(0.0, 1.0, 2.0)];
        chart.curves[0].tall = vec![1.5, 1.5];
        chart.x = Axis::Time { duration: 2.0, window: Some([0.5, 2.0]) };
        let data = data(&chart);
        assert_eq!(
            data["x"],
            json!({"label": "time (s)", "log": false, "from": 0.0, "to": 2.0, "window": [0.5, 2.0]})
        );
        assert_eq!(
            data["curves"][0],
            json!({
                "label": "a", "colour": 0, "mark": "line", "xs": {"list": [0.0, 1.0]}, "ys": [1.5, null],
                "band": {"xs": {"list": [0.0]}, "low": [1.0], "high": [2.0]}, "tall": 1.5,
            })
        );
    }

    #[test]
    fn many_values_are_packed_and_equal_places_are_shared() {
        let even: Vec<_> = (0..1000).map(|at| (f64::from(at) * 0.1, f64::from(at))).collect();
        let uneven: Vec<_> = (0..1000).map(|at| (f64::from(at * at), 2.0)).collect();
        let curves = vec![curve("a", even.clone()), curve("b", even), curve("c", uneven)];
        let data = data(&Chart { curves, ..Chart::default() });
        assert_eq!(data["curves"][0]["xs"]["count"], 1000);
        assert_eq!(data["curves"][1]["xs"], 0, "those of the first curve");
        let packed = &data["curves"][2]["xs"];
        let bytes = BASE64_STANDARD.decode(packed["at"].as_str().expect("base64")).expect("base64");
        let counted = u32::from_le_bytes(bytes[4 * 500..][..4].try_into().expect("four bytes"));
        let at = packed["step"].as_f64().expect("a step") * f64::from(counted);
        assert!((at - 250_000.0).abs() < 1e-3, "{at}");
    }

    #[test]
    fn a_label_does_not_end_the_script() {
        let chart = Chart { curves: vec![curve("</script><b>", vec![(0.0, 1.0)])], ..Chart::default() };
        let script = chart.to_script();
        assert!(!script.contains('<'), "{script}");
        let read: Value = serde_json::from_str(&script).expect("JSON");
        assert_eq!(read["curves"][0]["label"], "</script><b>");
    }
}
