//! Records the numbers behind an expression: every function call with its value, and every published number.

use super::values::{from_json, number, shown_value};
use ackclock_scenario::results::Evidence;
use minijinja::Value;
use minijinja::value::{Enumerator, Object, ObjectRepr};
use serde_json::Value as Json;
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

#[derive(Default)]
struct Inner {
    depth: AtomicUsize,
    /// The calls of definitions since the records were taken.
    calls: AtomicUsize,
    /// While this is set, functions see this seed only, and nothing is recorded.
    only: Mutex<Option<u64>>,
    seen: Mutex<Vec<Evidence>>,
}

impl Trace {
    /// Records a call and its value.
    pub(crate) fn note(&self, call: String, value: &Value, std: Option<f64>) {
        self.push(call, as_json(value), std, false);
    }

    fn push(&self, call: String, value: Json, std: Option<f64>, published: bool) {
        if self.only().is_some() {
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
        self.0.depth.load(Ordering::Relaxed) == 0 && self.only().is_none()
    }

    /// The seed to which functions are restricted.
    pub(crate) fn only(&self) -> Option<u64> {
        *self.0.only.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `inside` with functions restricted to this seed. Nothing is recorded meanwhile.
    pub(crate) fn with_only<T>(&self, seed: u64, inside: impl FnOnce() -> T) -> T {
        *self.0.only.lock().unwrap_or_else(PoisonError::into_inner) = Some(seed);
        let result = inside();
        *self.0.only.lock().unwrap_or_else(PoisonError::into_inner) = None;
        result
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
