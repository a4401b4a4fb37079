//! Results as Arrow: a row per point, and in it lists of flows, groups, links, streams and expectations. This
//! is what a store keeps. [`tables`](crate::tables) makes flat tables of it.
//!
//! What a run took of time is not in it: no two runs have that in common.

use crate::error::wrong;
use ackclock_scenario::results::{FlowResult, GroupResult, LinkResult, PointResult, TrafficResult};
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, StructArray, make_array};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use serde_arrow::schema::{SchemaLike, TracingOptions};
use std::sync::{Arc, OnceLock};

/// An expectation, and whether it holds.
#[derive(Serialize, Deserialize)]
struct Verdict {
    that: String,
    holds: bool,
    reason: Option<String>,
}

/// A point, as its columns are derived from it.
#[derive(Deserialize)]
#[allow(dead_code, reason = "its fields name the columns")]
struct Row {
    digest: String,
    parameters: String,
    seed: u64,
    drawn: bool,
    duration_s: f64,
    measure_from_s: f64,
    measure_to_s: f64,
    jain: Option<f64>,
    delivered_segments: u64,
    warnings: Vec<String>,
    flows: Vec<FlowResult>,
    groups: Vec<GroupResult>,
    links: Vec<LinkResult>,
    traffic: Vec<TrafficResult>,
    expectations: Vec<Verdict>,
}

/// The same, borrowed.
#[derive(Serialize)]
struct Written<'a> {
    digest: &'a str,
    parameters: String,
    seed: u64,
    drawn: bool,
    duration_s: f64,
    measure_from_s: f64,
    measure_to_s: f64,
    jain: Option<f64>,
    delivered_segments: u64,
    warnings: &'a [String],
    flows: &'a [FlowResult],
    groups: &'a [GroupResult],
    links: &'a [LinkResult],
    traffic: &'a [TrafficResult],
    expectations: Vec<Verdict>,
}

impl Written<'_> {
    fn of<'a>(digest: &'a str, point: &'a PointResult) -> Written<'a> {
        let verdict = |it: &ackclock_scenario::results::Expectation| Verdict {
            that: it.that.clone(),
            holds: it.holds,
            reason: it.reason.clone(),
        };
        Written {
            digest,
            parameters: serde_json::Value::Object(point.parameters.clone()).to_string(),
            seed: point.seed,
            drawn: point.drawn,
            duration_s: point.duration_s,
            measure_from_s: point.measure_s[0],
            measure_to_s: point.measure_s[1],
            jain: point.jain,
            delivered_segments: point.delivered_segments,
            warnings: &point.warnings,
            flows: &point.flows,
            groups: &point.groups,
            links: &point.links,
            traffic: &point.traffic,
            expectations: point.expectations.iter().map(verdict).collect(),
        }
    }
}

/// A mistake of this crate: its types have columns, and its values are of its types.
fn unexpected(error: impl std::fmt::Display) -> PyErr {
    wrong(format!("the results have no form as a table: {error}"), "please report this")
}

/// The columns as the types say: what is always there is never null.
pub(crate) fn columns() -> PyResult<&'static [FieldRef]> {
    static COLUMNS: OnceLock<Vec<FieldRef>> = OnceLock::new();
    if COLUMNS.get().is_none() {
        let options = TracingOptions::default().strings_as_large_utf8(false).sequence_as_large_list(false);
        let _ = COLUMNS.set(Vec::<FieldRef>::from_type::<Row>(options).map_err(unexpected)?);
    }
    Ok(COLUMNS.get().map_or(&[], Vec::as_slice))
}

/// Points as rows. Each comes with its digest.
pub(crate) fn rows(points: &[(String, PointResult)]) -> PyResult<RecordBatch> {
    let exact = columns()?;
    // The contract leaves out what is zero, false or empty. Here it is null at first.
    let loose: Vec<FieldRef> = exact.iter().map(nullable).collect();
    let written: Vec<Written> = points.iter().map(|(digest, point)| Written::of(digest, point)).collect();
    let arrays = serde_arrow::to_arrow(&loose, &written).map_err(unexpected)?;
    let arrays = arrays.iter().zip(exact).map(|(array, field)| filled(array, field));
    let arrays = arrays.collect::<Result<Vec<_>, _>>().map_err(unexpected)?;
    RecordBatch::try_new(Arc::new(Schema::new(exact.to_vec())), arrays).map_err(unexpected)
}

/// The same field with every part of it nullable.
fn nullable(field: &FieldRef) -> FieldRef {
    let kind = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(nullable).collect()),
        DataType::List(item) => DataType::List(nullable(item)),
        other => other.clone(),
    };
    Arc::new(Field::new(field.name(), kind, true))
}

/// Takes the nulls out of what is never null. Behind a null there is a zero, false, or nothing.
fn filled(array: &ArrayRef, field: &FieldRef) -> Result<ArrayRef, ArrowError> {
    let nulls = array.nulls().filter(|_| field.is_nullable()).cloned();
    match field.data_type() {
        DataType::Struct(fields) => {
            let parts = array.as_any().downcast_ref::<StructArray>();
            let parts = parts.ok_or_else(|| ArrowError::SchemaError(format!("{field} is no struct")))?;
            let inner = parts.columns().iter().zip(fields).map(|(part, field)| filled(part, field));
            let length = array.len();
            let inner = inner.collect::<Result<Vec<_>, _>>()?;
            Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), inner, nulls, length)?))
        }
        DataType::List(item) => {
            let list = array.as_any().downcast_ref::<ListArray>();
            let list = list.ok_or_else(|| ArrowError::SchemaError(format!("{field} is no list")))?;
            let values = filled(list.values(), item)?;
            Ok(Arc::new(ListArray::try_new(item.clone(), list.offsets().clone(), values, nulls)?))
        }
        _ => Ok(make_array(array.to_data().into_builder().nulls(nulls).build()?)),
    }
}
