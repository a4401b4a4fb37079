//! Records the numbers behind an expression: every function call with its value, and every published number.

use super::values::{from_json, number, shown_value};
use ackclock_scenario::results::Evidence;
use minijinja::Value;
use minijinja::value::{Enumerator, Object, ObjectRepr};
use serde_json::{Map, Value as Json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The value of a call as JSON. JSON has no infinite numbers.
fn as_json(value: &Value) -> Json {
    match number(value) {
        Some(number) if number.is_infinite() => "infinite".into(),
        _ => serde_json::to_value(value).unwrap_or(Json::Null),
    }
}

/// The record.
#[derive(Clone, Default)]
pub(crate) struct Trace(Arc<Inner>);

/// The runs that functions see. Only with all of them are calls recorded.
#[derive(Clone, PartialEq, Default)]
pub(crate) enum Runs {
    /// All.
    #[default]
    All,
    /// All, and only what is read is recorded.
    Again,
    /// That with this seed.
    Only(u64),
    /// All but that with this seed.
    Without(u64),
    /// All but one part of this point's runs: its number, and the number of parts.
    WithoutPart(usize, usize, Arc<Reading>),
}

impl Runs {
    /// True if functions see run number `at` of a point. Of a single run nothing can be left out.
    pub(crate) fn see(&self, at: usize, reading: &Reading) -> bool {
        let of = reading.seeds.len();
        match self {
            Runs::Only(only) if of > 1 => reading.seeds[at] == *only,
            Runs::Without(left_out) if of > 1 => reading.seeds[at] != *left_out,
            Runs::WithoutPart(part, parts, parted) if of > 1 && **parted == *reading => at % parts != *part,
            _ => true,
        }
    }
}

/// A point that an expression reads: the runs of one scenario that differ in their seed only.
#[derive(Clone, PartialEq, Debug)]
pub struct Reading {
    /// The name of the scenario, empty if there is only one.
    pub scenario: String,
    /// The values of its axes.
    pub parameters: Map<String, Json>,
    /// The seeds of its runs.
    pub seeds: Vec<u64>,
    /// True if the expression asks for this seed itself.
    pub chosen: bool,
    /// True if anything in the runs was drawn at random.
    pub drawn: bool,
    /// The largest number of segments that all flows of a run together delivered: what a run costs.
    pub segments: u64,
}

#[derive(Default)]
struct Inner {
    depth: AtomicUsize,
    /// The calls of definitions since the records were taken.
    calls: AtomicUsize,
    runs: Mutex<Runs>,
    seen: Mutex<Vec<Evidence>>,
    readings: Mutex<Vec<Reading>>,
}

impl Trace {
    /// Records a call and its value.
    pub(crate) fn note(&self, call: String, value: &Value, std: Option<f64>) {
        self.push(call, as_json(value), std, false);
    }

    fn push(&self, call: String, value: Json, std: Option<f64>, published: bool) {
        if self.runs() != Runs::All {
            return;
        }
        let depth = self.0.depth.load(Ordering::Relaxed);
        let seen = Evidence { call, value, std, depth, published };
        let mut all = self.0.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains(&seen) {
            all.push(seen);
        }
    }

    /// Runs `inside`. Calls recorded meanwhile are one level deeper.
    pub(crate) fn deeper<T>(&self, inside: impl FnOnce() -> T) -> T {
        self.0.depth.fetch_add(1, Ordering::Relaxed);
        let result = inside();
        self.0.depth.fetch_sub(1, Ordering::Relaxed);
        result
    }

    /// Counts a call of a definition. True if neither their depth nor their number exceeds these bounds.
    pub(crate) fn may_call(&self, depth: usize, calls: usize) -> bool {
        self.0.calls.fetch_add(1, Ordering::Relaxed) < calls && self.0.depth.load(Ordering::Relaxed) < depth
    }

    /// True in the claim's own text, false inside a definition.
    pub(crate) fn at_the_top(&self) -> bool {
        self.0.depth.load(Ordering::Relaxed) == 0 && self.runs() == Runs::All
    }

    /// The runs that functions see.
    pub(crate) fn runs(&self) -> Runs {
        self.0.runs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Evaluates `inside` over these runs. The calls of definitions count anew.
    pub(crate) fn over<T>(&self, runs: Runs, inside: impl FnOnce() -> T) -> T {
        let set =
            |runs| std::mem::replace(&mut *self.0.runs.lock().unwrap_or_else(PoisonError::into_inner), runs);
        let anew = runs != Runs::All;
        let before = set(runs);
        if before == Runs::All && anew {
            self.0.calls.store(0, Ordering::Relaxed);
        }
        let result = inside();
        set(before);
        result
    }

    /// Records what is read, unless runs are left out.
    pub(crate) fn read(&self, reading: impl FnOnce() -> Reading) {
        if matches!(self.runs(), Runs::All | Runs::Again) {
            let mut all = self.0.readings.lock().unwrap_or_else(PoisonError::into_inner);
            let reading = reading();
            if !all.contains(&reading) {
                all.push(reading);
            }
        }
    }

    /// Takes all readings since the last call.
    pub(crate) fn take_readings(&self) -> Vec<Reading> {
        std::mem::take(&mut *self.0.readings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes all records since the last call.
    pub(crate) fn take(&self) -> Vec<Evidence> {
        self.0.calls.store(0, Ordering::Relaxed);
        std::mem::take(&mut *self.0.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The published numbers: free nested data that records each lookup.
pub(crate) struct Published {
    path: String,
    data: Json,
    trace: Trace,
}

impl Published {
    pub(crate) fn value(data: &Json, trace: &Trace) -> Value {
        Published { path: "published".to_owned(), data: data.clone(), trace: trace.clone() }.into_value()
    }

    fn into_value(self) -> Value {
        match &self.data {
            Json::Object(_) => Value::from_object(self),
            plain => {
                self.trace.push(self.path.clone(), plain.clone(), None, true);
                from_json(plain)
            }
        }
    }
}

impl std::fmt::Debug for Published {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.path)
    }
}

impl Object for Published {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let key = shown_value(key);
        let data = self.data.get(key.trim_matches('\''))?.clone();
        let path = format!("{}.{}", self.path, key.trim_matches('\''));
        Some(Published { path, data, trace: self.trace.clone() }.into_value())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let keys = self.data.as_object().into_iter().flat_map(serde_json::Map::keys);
        Enumerator::Values(keys.map(Value::from).collect())
    }
}
