//! Flat tables of results: a row per flow, group, link, stream, expectation or point. Every row begins with
//! the parameters and the seed of its point. Fields of fields have dotted names: `goodput_bps.total`.

use crate::error::wrong;
use ackclock_scenario::results::PointResult;
use ackclock_scenario::{Expansion, Value};
use ackclock_view::shown::PointView;
use arrow_array::builder::{
    BooleanBuilder, Float32Builder, Float64Builder, StringBuilder, UInt32Builder, UInt64Builder,
};
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, StructArray,
    UInt64Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema};
use arrow_select::take::take;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use pyo3_arrow::PyRecordBatch;
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::ffi::{ArrayIterator, to_array_pycapsules, to_stream_pycapsule};
use std::sync::Arc;

/// A column: its name and type, and its values.
type Column = (FieldRef, ArrayRef);

/// Lists of a point that are tables of their own.
pub(crate) const LISTS: [&str; 5] = ["flows", "groups", "links", "traffic", "expectations"];

/// What a point's row has that its parameters say better.
const HIDDEN: [&str; 2] = ["digest", "parameters"];

fn unexpected(error: impl std::fmt::Display) -> PyErr {
    wrong(format!("the results have no form as a table: {error}"), "please report this")
}

/// The axes of a sweep, each with its values as an array.
pub(crate) struct Axes {
    axes: Vec<Column>,
    seeds: u64,
}

impl Axes {
    pub(crate) fn of(expansion: &Expansion) -> Axes {
        let axes: Vec<Column> = expansion.axes().map(|(name, values)| axis(name, &values)).collect();
        let combinations: usize = axes.iter().map(|(_, values)| values.len()).product();
        Axes { axes, seeds: (expansion.count() / combinations.max(1)) as u64 }
    }

    /// The parameters of these points.
    fn parameters(&self, numbers: &[u64]) -> Result<Vec<Column>, ArrowError> {
        let mut every = self.seeds;
        let mut columns = Vec::new();
        for (field, values) in self.axes.iter().rev() {
            let picks = numbers.iter().map(|number| number / every % values.len() as u64);
            columns.push((field.clone(), take(values, &UInt64Array::from_iter_values(picks), None)?));
            every *= values.len() as u64;
        }
        columns.reverse();
        Ok(columns)
    }
}

/// The values of an axis: numbers, truths, or else texts.
fn axis(name: &str, values: &[&Value]) -> Column {
    let numbers: Option<Vec<f64>> = values
        .iter()
        .map(|value| if let Value::Number(number) = value { Some(*number) } else { None })
        .collect();
    let flags: Option<Vec<bool>> =
        values.iter().map(|value| if let Value::Flag(flag) = value { Some(*flag) } else { None }).collect();
    let whole = |numbers: &[f64]| numbers.iter().all(|it| it.fract() == 0.0 && it.abs() < 9e15);
    let values: ArrayRef = match (numbers, flags) {
        (Some(numbers), _) if whole(&numbers) => {
            Arc::new(Int64Array::from_iter_values(numbers.iter().map(|&number| number as i64)))
        }
        (Some(numbers), _) => Arc::new(Float64Array::from(numbers)),
        (_, Some(flags)) => Arc::new(BooleanArray::from(flags)),
        _ => Arc::new(StringArray::from_iter_values(values.iter().map(|value| value.plain()))),
    };
    (Arc::new(Field::new(name, values.data_type().clone(), false)), values)
}

/// True if the table of this name is made of this column of points' rows, too.
pub(crate) fn needs(name: &str, column: &str) -> bool {
    match LISTS.contains(&name) {
        true => [name, "seed"].contains(&column),
        false => !HIDDEN.contains(&column) && !LISTS.contains(&column),
    }
}

/// The table of this name: of [`LISTS`], or `points`. `numbers` are those of the points in the sweep.
pub(crate) fn table(name: &str, points: &RecordBatch, axes: &Axes, numbers: &[u64]) -> PyResult<RecordBatch> {
    flat(name, points, axes, numbers).map_err(unexpected)
}

fn flat(name: &str, points: &RecordBatch, axes: &Axes, numbers: &[u64]) -> Result<RecordBatch, ArrowError> {
    let mut own: Vec<Column> = Vec::new();
    let mut first = axes.parameters(numbers)?;
    if LISTS.contains(&name) {
        let list = points
            .column_by_name(name)
            .and_then(|column| column.as_list_opt::<i32>())
            .ok_or_else(|| ArrowError::SchemaError(format!("there is no list {name}")))?;
        let seed = points.column_by_name("seed").cloned();
        own.extend(
            seed.map(|seed| (Arc::new(Field::new("seed", DataType::UInt64, false)) as FieldRef, seed)),
        );
        let lengths = list.offsets().lengths().enumerate();
        let parents: UInt64Array =
            lengths.flat_map(|(row, length)| std::iter::repeat_n(row as u64, length)).collect();
        for (_, values) in first.iter_mut().chain(&mut own) {
            *values = take(values, &parents, None)?;
        }
        let (from, to) = (list.offsets()[0] as usize, list.offsets()[list.len()] as usize);
        let values = list.values().slice(from, to - from);
        let field = Field::new("", values.data_type().clone(), false);
        flatten("", &field, &values, None, &mut own)?;
    } else {
        for (field, values) in points.schema().fields().iter().zip(points.columns()) {
            if needs(name, field.name()) {
                own.push((field.clone(), values.clone()));
            }
        }
    }
    batch(first, own)
}

/// Puts parameters before other columns. A parameter with the name of such a column is called `sweep.NAME`.
fn batch(first: Vec<Column>, own: Vec<Column>) -> Result<RecordBatch, ArrowError> {
    let taken = |name: &str| own.iter().any(|(field, _)| field.name() == name);
    let renamed = |(field, values): Column| match taken(field.name()) {
        true => (Arc::new(field.as_ref().clone().with_name(format!("sweep.{}", field.name()))), values),
        false => (field, values),
    };
    let first: Vec<Column> = first.into_iter().map(renamed).collect();
    let (fields, columns): (Vec<FieldRef>, Vec<ArrayRef>) = first.into_iter().chain(own).unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}

/// Adds a column, or those inside it, to `columns`. What is inside something null is null.
fn flatten(
    before: &str,
    field: &Field,
    values: &ArrayRef,
    outer: Option<&NullBuffer>,
    columns: &mut Vec<Column>,
) -> Result<(), ArrowError> {
    let nulls = NullBuffer::union(outer, values.nulls());
    if let Some(parts) = values.as_struct_opt() {
        for (inner, part) in parts.fields().iter().zip(parts.columns()) {
            let name =
                if before.is_empty() { inner.name().clone() } else { format!("{before}.{}", inner.name()) };
            flatten(&name, inner, part, nulls.as_ref(), columns)?;
        }
        return Ok(());
    }
    let nullable = field.is_nullable() || nulls.is_some();
    let values = arrow_array::make_array(values.to_data().into_builder().nulls(nulls).build()?);
    columns.push((Arc::new(Field::new(before, values.data_type().clone(), nullable)), values));
    Ok(())
}

/// Builds a table row by row, with the parameters of each row's point.
struct Rows {
    points: Vec<u64>,
    seeds: UInt64Builder,
}

impl Rows {
    fn new() -> Rows {
        Rows { points: Vec::new(), seeds: UInt64Builder::new() }
    }

    fn add(&mut self, number: usize, seed: u64) {
        self.points.push(number as u64);
        self.seeds.append_value(seed);
    }

    fn finish(mut self, axes: &Axes, own: Vec<(&str, ArrayRef)>) -> PyResult<RecordBatch> {
        let column = |(name, values): (&str, ArrayRef)| -> Column {
            (Arc::new(Field::new(name, values.data_type().clone(), values.null_count() > 0)), values)
        };
        let first = axes.parameters(&self.points).map_err(unexpected)?;
        let seed: (&str, ArrayRef) = ("seed", Arc::new(self.seeds.finish()));
        let own = std::iter::once(seed).chain(own);
        batch(first, own.map(column).collect()).map_err(unexpected)
    }
}

/// What probes saw of flows: a row per look and flow.
pub(crate) fn series(points: &[PointResult], axes: &Axes) -> PyResult<RecordBatch> {
    let mut rows = Rows::new();
    let (mut time, mut flow, mut label) = (Float64Builder::new(), UInt64Builder::new(), StringBuilder::new());
    let mut values: [Float32Builder; 4] = Default::default();
    let mut rates: [Float64Builder; 2] = Default::default();
    for (number, point) in points.iter().enumerate() {
        let Some(series) = &point.series else { continue };
        let view = PointView { result: point, name: String::new(), folder: String::new() };
        for (id, samples) in series.flows.iter().enumerate() {
            for (look, sample) in samples.iter().enumerate() {
                rows.add(number, point.seed);
                time.append_value(series.at[look].as_nanos() as f64 / 1e9);
                flow.append_value(id as u64);
                label.append_value(&point.flows[id].label);
                let seen = [sample.cwnd, sample.ssthresh, sample.srtt_s, sample.in_flight];
                values.iter_mut().zip(seen).for_each(|(column, value)| column.append_value(value));
                let (goodput, throughput) = view.rates(series, id, look);
                rates[0].append_value(goodput);
                rates[1].append_value(throughput);
            }
        }
    }
    let [mut cwnd, mut ssthresh, mut srtt, mut in_flight] = values;
    let [mut goodput, mut throughput] = rates;
    let own: Vec<(&str, ArrayRef)> = vec![
        ("time_s", Arc::new(time.finish())),
        ("flow", Arc::new(flow.finish())),
        ("label", Arc::new(label.finish())),
        ("cwnd", Arc::new(cwnd.finish())),
        ("ssthresh", Arc::new(ssthresh.finish())),
        ("srtt_s", Arc::new(srtt.finish())),
        ("in_flight", Arc::new(in_flight.finish())),
        ("goodput_bps", Arc::new(goodput.finish())),
        ("throughput_bps", Arc::new(throughput.finish())),
    ];
    rows.finish(axes, own)
}

/// What probes saw of links: a row per look and link.
pub(crate) fn link_series(points: &[PointResult], axes: &Axes) -> PyResult<RecordBatch> {
    let mut rows = Rows::new();
    let (mut time, mut name) = (Float64Builder::new(), StringBuilder::new());
    let (mut queue, mut rate) = (UInt32Builder::new(), Float32Builder::new());
    for (number, point) in points.iter().enumerate() {
        let Some(series) = &point.series else { continue };
        for (link, looks) in point.links.iter().zip(&series.links) {
            for (at, &(waiting, carried)) in series.at.iter().zip(looks) {
                rows.add(number, point.seed);
                time.append_value(at.as_nanos() as f64 / 1e9);
                name.append_value(&link.name);
                queue.append_value(waiting);
                rate.append_value(carried);
            }
        }
    }
    let own: Vec<(&str, ArrayRef)> = vec![
        ("time_s", Arc::new(time.finish())),
        ("link", Arc::new(name.finish())),
        ("queue", Arc::new(queue.finish())),
        ("throughput_bps", Arc::new(rate.finish())),
    ];
    rows.finish(axes, own)
}

/// The controllers' own variables: a row per look, flow and variable.
pub(crate) fn variables(points: &[PointResult], axes: &Axes) -> PyResult<RecordBatch> {
    let mut rows = Rows::new();
    let (mut time, mut flow) = (Float64Builder::new(), UInt64Builder::new());
    let (mut name, mut value) = (StringBuilder::new(), Float32Builder::new());
    for (number, point) in points.iter().enumerate() {
        let Some(series) = &point.series else { continue };
        for (id, (names, values)) in series.inner.iter().enumerate() {
            for (at, seen) in series.at.iter().zip(values.chunks(names.len().max(1))) {
                for (variable, &is) in names.iter().zip(seen) {
                    rows.add(number, point.seed);
                    time.append_value(at.as_nanos() as f64 / 1e9);
                    flow.append_value(id as u64);
                    name.append_value(variable);
                    value.append_value(is);
                }
            }
        }
    }
    let own: Vec<(&str, ArrayRef)> = vec![
        ("time_s", Arc::new(time.finish())),
        ("flow", Arc::new(flow.finish())),
        ("name", Arc::new(name.finish())),
        ("value", Arc::new(value.finish())),
    ];
    rows.finish(axes, own)
}

/// How long each point took, and whether all that was expected of it holds.
pub(crate) fn timing(points: &[PointResult], axes: &Axes) -> PyResult<RecordBatch> {
    let mut rows = Rows::new();
    let (mut wall, mut speed, mut holds) =
        (Float64Builder::new(), Float64Builder::new(), BooleanBuilder::new());
    for (number, point) in points.iter().enumerate() {
        rows.add(number, point.seed);
        wall.append_value(point.wall_s);
        speed.append_value(point.segments_per_wall_s);
        holds.append_value(point.expectations.iter().all(|expectation| expectation.holds));
    }
    let own: Vec<(&str, ArrayRef)> = vec![
        ("wall_s", Arc::new(wall.finish())),
        ("segments_per_wall_s", Arc::new(speed.finish())),
        ("holds", Arc::new(holds.finish())),
    ];
    rows.finish(axes, own)
}

/// An Arrow record batch. What speaks Arrow's C data interface takes it without copying.
#[pyclass(frozen, module = "ackclock._native")]
pub(crate) struct Batch(pub(crate) RecordBatch);

impl Batch {
    fn field(&self) -> FieldRef {
        Arc::new(Field::new_struct("", self.0.schema().fields().clone(), false))
    }
}

#[pymethods]
impl Batch {
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyTuple>> {
        to_array_pycapsules(py, self.field(), &StructArray::from(self.0.clone()), requested_schema)
    }

    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyCapsule>> {
        let whole: ArrayRef = Arc::new(StructArray::from(self.0.clone()));
        let stream = ArrayIterator::new(std::iter::once(Ok(whole)), self.field());
        to_stream_pycapsule(py, Box::new(stream), requested_schema)
    }

    /// The number of rows.
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Rows as JSON, for what shows a few of them.
    fn records(&self, from: usize, most: usize) -> PyResult<String> {
        let from = from.min(self.0.num_rows());
        let slice = self.0.slice(from, most.min(self.0.num_rows() - from));
        let rows: Vec<serde_json::Value> = serde_arrow::from_record_batch(&slice).map_err(unexpected)?;
        serde_json::to_string(&rows).map_err(unexpected)
    }

    /// A batch that something else made.
    #[staticmethod]
    fn of(batch: PyRecordBatch) -> Batch {
        Batch(batch.into_inner())
    }
}
