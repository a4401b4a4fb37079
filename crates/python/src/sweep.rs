//! Parts of a sweep: points by their numbers, made and run where they are wanted, and found again in a store.

use crate::error::{raised, wrong};
use crate::interrupt::{detached, stoppable};
use crate::memory;
use crate::rows::{columns, rows};
use crate::tables::{self, Axes, Batch};
use ackclock_scenario::results::PointResult;
use ackclock_scenario::{Expansion, Over, Point};
use ackclock_study::run::{RunError, check, run_point};
use ackclock_study::store::{Build, digest};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3_arrow::PyRecordBatch;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// A point without a result: its number, its parameters as JSON, its seed if it is known, and why.
type Failed = (u64, String, Option<u64>, String);
/// A range of points, the last one excluded.
type Range = (u64, u64);

/// The bytes of a point's digest.
const DIGEST: usize = 16;
/// What stands for the digest of a point that is not valid.
const NONE: [u8; DIGEST] = [0; DIGEST];

/// A sweep whose points are made when they are asked for.
#[pyclass(frozen, module = "ackclock._native")]
pub(crate) struct Sweep {
    expansion: Expansion,
    axes: Axes,
}

impl Sweep {
    pub(crate) fn new(expansion: Expansion) -> Sweep {
        Sweep { axes: Axes::of(&expansion), expansion }
    }

    /// Runs a point. `None`: interrupted.
    fn result(&self, number: u64, stop: &AtomicBool) -> Option<Result<(String, PointResult), Failed>> {
        let point = match self.expansion.point(number as usize) {
            Ok(point) => point,
            Err(error) => return Some(Err(self.invalid(number, error.to_string()))),
        };
        let failed = |why| (number, parameters_of(&point), Some(point.scenario.seed), why);
        // A point that fails must not take the others with it.
        match catch_unwind(AssertUnwindSafe(|| {
            fail_on_purpose(number);
            run_point(&point, false, stop)
        })) {
            Ok(Ok(result)) => Some(Ok((digest(&point), result))),
            Ok(Err(RunError::Interrupted)) => None,
            Ok(Err(error)) => Some(Err(failed(error.to_string()))),
            Err(panic) => Some(Err(failed(format!("the engine failed: {}", said(&*panic))))),
        }
    }

    /// A point that is not valid, with its settings.
    fn invalid(&self, number: u64, why: String) -> Failed {
        let (values, seed) = self.expansion.settings(number as usize);
        let values = values.into_iter().map(|(axis, value)| (axis.to_owned(), value.to_json()));
        let seed = seed.and_then(|seed| seed.to_json().as_u64());
        (number, serde_json::Value::Object(values.collect()).to_string(), seed, why)
    }

    fn digest(&self, number: u64) -> [u8; DIGEST] {
        self.expansion.point(number as usize).ok().and_then(|point| binary(&digest(&point))).unwrap_or(NONE)
    }
}

fn parameters_of(point: &Point) -> String {
    let parameters = point.parameters.iter().map(|(axis, value)| (axis.clone(), value.to_json()));
    serde_json::Value::Object(parameters.collect()).to_string()
}

/// In a build for tests the engine fails at the point with the number `ACKCLOCK_FAILS_AT`.
#[cfg(debug_assertions)]
fn fail_on_purpose(number: u64) {
    let at = std::env::var("ACKCLOCK_FAILS_AT").ok().and_then(|at| at.parse().ok());
    assert!(at != Some(number), "on purpose");
}

#[cfg(not(debug_assertions))]
fn fail_on_purpose(_: u64) {}

/// What a panic said.
fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

/// A digest in hexadecimal as bytes.
fn binary(hexadecimal: &str) -> Option<[u8; DIGEST]> {
    let byte = |at: usize| u8::from_str_radix(hexadecimal.get(2 * at..2 * at + 2)?, 16).ok();
    let mut bytes = NONE;
    for (at, place) in bytes.iter_mut().enumerate() {
        *place = byte(at)?;
    }
    Some(bytes)
}

fn pool(threads: usize) -> PyResult<ThreadPool> {
    let built = ThreadPoolBuilder::new().num_threads(threads).build();
    built.map_err(|error| wrong(format!("the threads cannot be started: {error}"), "ask for fewer threads"))
}

#[pymethods]
impl Sweep {
    /// The number of points.
    #[getter]
    fn count(&self) -> u64 {
        self.expansion.count() as u64
    }

    /// The name of each axis, and its values as JSON.
    #[getter]
    fn axes(&self) -> Vec<(String, String)> {
        let axes = self.expansion.axes().map(|(name, values)| {
            let values: serde_json::Value = values.iter().map(|value| value.to_json()).collect();
            (name.to_owned(), values.to_string())
        });
        axes.collect()
    }

    /// Checks the first and the last point with everything that is expected of them, so that most mistakes
    /// show before anything runs.
    fn check(&self, at_once: usize) -> PyResult<()> {
        let last = self.expansion.count() - 1;
        for number in if last == 0 { vec![0] } else { vec![0, last] } {
            let point = self.expansion.point(number).map_err(raised)?;
            if point.scenario.expects.iter().any(|expect| expect.over == Over::Points) {
                return Err(wrong(
                    "what is expected over all points needs all of them in memory at once",
                    "leave out expectations with over = \"points\", or use ackclock.run",
                ));
            }
            memory::check(check(&[point], false).map_err(raised)?, at_once)?;
        }
        Ok(())
    }

    /// Runs the points in these ranges. Returns their rows, the points that failed, and the seconds that it
    /// took. `stop` is a `threading.Event` that ends it, as Ctrl-C does.
    #[pyo3(signature = (ranges, threads, stop = None))]
    fn compute(
        &self,
        py: Python<'_>,
        ranges: Vec<Range>,
        threads: usize,
        stop: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Batch, Vec<Failed>, f64)> {
        let begun = Instant::now();
        let pool = pool(threads)?;
        let numbers: Vec<u64> = ranges.iter().flat_map(|&(from, to)| from..to).collect();
        let outcomes: Vec<_> = stoppable(py, stop, |stop| {
            pool.install(|| numbers.par_iter().map(|&number| self.result(number, stop)).collect())
        })?;
        let (mut kept, mut failed) = (Vec::new(), Vec::new());
        for outcome in outcomes.into_iter().flatten() {
            match outcome {
                Ok(row) => kept.push(row),
                Err(why) => failed.push(why),
            }
        }
        let batch = py.detach(|| rows(&kept))?;
        Ok((Batch(batch), failed, begun.elapsed().as_secs_f64()))
    }

    /// The digests of points, 16 bytes each: zeros for those that are not valid.
    fn digests<'py>(&self, py: Python<'py>, from: u64, to: u64) -> PyResult<Bound<'py, PyBytes>> {
        let pool = pool(0)?;
        let mut digests = vec![NONE; to.saturating_sub(from) as usize];
        detached(py, |_| {
            pool.install(|| {
                let numbered = digests.par_iter_mut().enumerate();
                numbered.for_each(|(at, place)| *place = self.digest(from + at as u64));
            });
        })?;
        Ok(PyBytes::new(py, digests.as_flattened()))
    }

    /// The columns of points' rows that the table of this name is made of.
    fn columns(&self, name: &str) -> PyResult<Vec<String>> {
        let names = columns()?.iter().map(|field| field.name().clone());
        Ok(names.filter(|column| tables::needs(name, column)).collect())
    }

    /// The table of this name, of points with these numbers, from their rows.
    fn table(&self, name: &str, points: PyRecordBatch, numbers: Vec<u64>) -> PyResult<Batch> {
        Ok(Batch(tables::table(name, &points.into_inner(), &self.axes, &numbers)?))
    }
}

/// Where points are: for each digest the number of a part and of a row in it, as two native 32-bit numbers.
/// `parts` are the digests of each part's rows. Also returns the ranges of points that are in no part.
#[pyfunction]
pub(crate) fn locate<'py>(
    py: Python<'py>,
    digests: &[u8],
    parts: Vec<Vec<u8>>,
) -> (Bound<'py, PyBytes>, Vec<Range>) {
    let mut known: HashMap<[u8; DIGEST], [u32; 2]> = HashMap::new();
    for (part, rows) in parts.iter().enumerate() {
        for (row, digest) in rows.as_chunks::<DIGEST>().0.iter().enumerate() {
            known.entry(*digest).or_insert([part as u32, row as u32]);
        }
    }
    let mut places = Vec::with_capacity(digests.len() / 2);
    let mut missing: Vec<Range> = Vec::new();
    for (number, digest) in (0..).zip(digests.as_chunks::<DIGEST>().0) {
        let place = known.get(digest).copied();
        for half in place.unwrap_or([u32::MAX; 2]) {
            places.extend(half.to_ne_bytes());
        }
        match (place, missing.last_mut()) {
            (Some(_), _) => {}
            (None, Some((_, to))) if *to == number => *to += 1,
            (None, _) => missing.push((number, number + 1)),
        }
    }
    (PyBytes::new(py, &places), missing)
}

/// The identity of the build: a digest of the library that computes.
#[pyfunction]
pub(crate) fn build(library: &str) -> PyResult<String> {
    let build = Build::of_file(library.as_ref())
        .map_err(|error| wrong(format!("{library}: {error}"), "install it again"))?;
    Ok(build.word().to_owned())
}
