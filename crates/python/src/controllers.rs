//! Controllers that are classes in Python, for prototypes: what the engine calls, and what the class sees.
//!
//! A run with such controllers keeps the interpreter's lock, so that no call has to wait for it. An exception
//! ends the run.

use crate::error::wrong;
use ackclock_cc::blueprint::{Blueprint, scheme};
use ackclock_cc::{self as cc, Controller, Event, Lost, Needs, Signal};
use ackclock_rate::Transport;
use ackclock_registry::Listed;
use ackclock_units::{Duration, Rate, Time};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The state of the connection. Times are in seconds.
#[pyclass(module = "ackclock._native", get_all)]
#[derive(Default)]
pub(crate) struct Path {
    now: f64,
    srtt: f64,
    rtt_min: f64,
    in_flight: f64,
    una: u64,
    nxt: u64,
    delivered: u64,
    peer_window: f64,
    segment_bytes: u32,
    cwnd_limited: bool,
    recovering: bool,
}

/// An acknowledgement.
#[pyclass(module = "ackclock._native", get_all)]
#[derive(Default)]
pub(crate) struct Ack {
    acked: f64,
    sacked: u64,
    lost: u64,
    marked: u64,
    rtt: Option<f64>,
    draw: f64,
    forward: Option<f64>,
    /// Segments per second, delivered since the newest of the segments that this one acknowledges was sent.
    rate: Option<f64>,
    app_limited: bool,
}

/// What the controller decides.
#[pyclass(module = "ackclock._native", get_all, set_all)]
#[derive(Default)]
pub(crate) struct Window {
    cwnd: f64,
    ssthresh: f64,
    /// Bit/s.
    pacing: Option<f64>,
}

/// The first exception of a run.
#[derive(Default)]
pub(crate) struct Fault {
    happened: AtomicBool,
    first: Mutex<Option<PyErr>>,
    /// The simulated time of the last call of any controller, ns.
    now: AtomicU64,
}

impl Fault {
    /// True once a controller has raised.
    pub(crate) fn happened(&self) -> bool {
        self.happened.load(Ordering::Relaxed)
    }

    /// What it raised.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn raise(&self, error: PyErr) {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.happened.store(true, Ordering::Relaxed);
    }
}

/// A class, for the connections of a flow.
struct Class {
    name: &'static str,
    /// The number of the flow, and the label of its group. Of no flow before they are known.
    flow: usize,
    label: String,
    class: Py<PyAny>,
    needs: Needs,
    fault: Arc<Fault>,
}

impl fmt::Debug for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the class of {}", self.name)
    }
}

impl Class {
    /// Ends the run with this exception, and a note that says where it happened. `when` leads to the time.
    fn raise(&self, py: Python<'_>, error: PyErr, when: &str) {
        let Class { name, flow, label, .. } = self;
        let at = self.fault.now.load(Ordering::Relaxed) as f64 * 1e-9;
        let note = format!("in the controller \"{name}\" of flow {flow}, \"{label}\", {when} {at:.6} s");
        let noted = error.value(py).call_method1("add_note", (note,));
        self.fault.raise(noted.err().unwrap_or(error));
    }

    /// An instance for a connection. What makes it is not told the time.
    fn instance(&self, made: &str, make: impl FnOnce(Python<'_>) -> PyResult<Instance>) -> Option<Instance> {
        Python::attach(|py| {
            let instance = make(py);
            instance.map_err(|error| self.raise(py, error, &format!("as it was {made}, after"))).ok()
        })
    }
}

/// The settings of the controllers with these names and classes. What they raise is kept in `fault`.
pub(crate) fn brought(
    py: Python<'_>,
    classes: Vec<(String, Py<PyAny>)>,
    fault: &Arc<Fault>,
) -> PyResult<Vec<cc::Settings>> {
    let settings = classes.into_iter().map(|(name, class)| {
        if cc::scheme(&name).is_some() || Transport::find(&name).is_some() {
            return Err(wrong(format!("\"{name}\" is a controller already"), "give the class another name"));
        }
        for method in ["grow", "cut"] {
            if !class.bind(py).hasattr(method)? {
                let remedy = "a controller has grow(self, path, ack, w) and cut(self, path, w, why)";
                return Err(wrong(format!("the controller \"{name}\" has no method {method}"), remedy));
            }
        }
        let needs = needs(&name, class.bind(py))?;
        let scheme = known(&name);
        let (label, fault) = (String::new(), Arc::clone(fault));
        Ok(cc::Settings::brought(
            scheme,
            Arc::new(Class { name: scheme.name, flow: 0, label, class, needs, fault }),
        ))
    });
    settings.collect()
}

/// The description of a controller of this name. Each is kept for good, once.
fn known(name: &str) -> &'static cc::Scheme {
    static KNOWN: LazyLock<Mutex<HashMap<String, &'static cc::Scheme>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(name.to_owned()).or_insert_with(|| Box::leak(Box::new(scheme(name.to_owned().leak()))))
}

/// What the class attribute `needs` names.
fn needs(name: &str, class: &Bound<'_, PyAny>) -> PyResult<Needs> {
    let mut needs = Needs::NOTHING;
    if !class.hasattr("needs")? {
        return Ok(needs);
    }
    for need in class.getattr("needs")?.try_iter()? {
        let word: String = need?.extract()?;
        let known = [
            ("draw", &mut needs.draw),
            ("forward", &mut needs.forward),
            ("rate", &mut needs.rate),
            ("marks", &mut needs.marks),
            ("l4s", &mut needs.l4s),
            ("window", &mut needs.window),
            ("pacing", &mut needs.pacing),
        ];
        let words = known.each_ref().map(|(word, _)| *word).join(", ");
        match known.into_iter().find(|(known, _)| *known == word) {
            Some((_, need)) => *need = true,
            None => {
                return Err(wrong(
                    format!("the controller \"{name}\" needs \"{word}\""),
                    &format!("there are {words}"),
                ));
            }
        }
    }
    Ok(needs)
}

impl Blueprint for Class {
    fn needs(&self) -> Needs {
        self.needs
    }

    fn build(self: Arc<Self>) -> Box<dyn Controller> {
        let instance = self.instance("made", |py| Instance::new(py, self.class.bind(py).call0()?));
        Box::new(InPython { class: self, instance })
    }

    fn checksum(&self) -> u64 {
        0 // nothing is kept of what a class has computed
    }

    fn of_flow(self: Arc<Self>, number: usize, label: &str) -> Arc<dyn Blueprint> {
        let class = Python::attach(|py| self.class.clone_ref(py));
        let (label, fault) = (label.to_owned(), Arc::clone(&self.fault));
        Arc::new(Class { flow: number, label, class, fault, ..*self })
    }
}

/// A controller of one connection. Without an instance its class has raised, and the run is about to end.
struct InPython {
    class: Arc<Class>,
    instance: Option<Instance>,
}

/// An instance of the class, its methods, and what it is shown.
struct Instance {
    instance: Py<PyAny>,
    grow: Py<PyAny>,
    cut: Py<PyAny>,
    on_sample: Option<Py<PyAny>>,
    on_event: Option<Py<PyAny>>,
    on_lost: Option<Py<PyAny>>,
    path: Py<Path>,
    ack: Py<Ack>,
    w: Py<Window>,
}

impl Instance {
    fn new(py: Python<'_>, instance: Bound<'_, PyAny>) -> PyResult<Instance> {
        let optional = |name: &str| instance.getattr_opt(name).map(|found| found.map(Bound::unbind));
        Ok(Instance {
            grow: instance.getattr("grow")?.unbind(),
            cut: instance.getattr("cut")?.unbind(),
            on_sample: optional("on_sample")?,
            on_event: optional("on_event")?,
            on_lost: optional("on_lost")?,
            path: Py::new(py, Path::default())?,
            ack: Py::new(py, Ack::default())?,
            w: Py::new(py, Window::default())?,
            instance: instance.unbind(),
        })
    }

    fn show(&self, py: Python<'_>, path: &cc::Path, w: &cc::Window) {
        let mut shown = self.path.borrow_mut(py);
        shown.now = seconds(path.now.since(Time::ZERO));
        shown.srtt = seconds(path.srtt);
        shown.rtt_min = if path.rtt_min == Duration::MAX { f64::INFINITY } else { seconds(path.rtt_min) };
        shown.in_flight = path.in_flight;
        shown.una = path.una;
        shown.nxt = path.nxt;
        shown.delivered = path.delivered;
        shown.peer_window = path.peer_window;
        shown.segment_bytes = path.segment_bytes;
        shown.cwnd_limited = path.cwnd_limited;
        shown.recovering = path.recovering;
        let mut shown = self.w.borrow_mut(py);
        shown.cwnd = w.cwnd;
        shown.ssthresh = w.ssthresh;
        shown.pacing = w.pacing.map(Rate::bps_f64);
    }

    fn show_ack(&self, py: Python<'_>, ack: &cc::Ack) {
        let mut shown = self.ack.borrow_mut(py);
        shown.acked = ack.acked;
        shown.sacked = ack.sacked;
        shown.lost = ack.lost;
        shown.marked = ack.marked;
        shown.rtt = ack.rtt.map(seconds);
        shown.draw = ack.draw;
        shown.forward = ack.forward.map(seconds);
        shown.rate = ack.rate.map(|rate| rate.per_second());
        shown.app_limited = ack.rate.is_some_and(|rate| rate.app_limited);
    }

    /// Takes over what was decided.
    fn decide(&self, py: Python<'_>, w: &mut cc::Window) -> PyResult<()> {
        let decided = self.w.borrow(py);
        usable("cwnd", decided.cwnd, false)?;
        usable("ssthresh", decided.ssthresh, true)?;
        (w.cwnd, w.ssthresh) = (decided.cwnd, decided.ssthresh);
        if let Some(rate) = decided.pacing {
            usable("pacing", rate, false)?;
        }
        w.pacing = decided.pacing.map(|rate| Rate::from_bps(rate.max(1.0) as u64));
        Ok(())
    }
}

/// Refuses a decision that is no number of segments, or no rate.
fn usable(what: &str, number: f64, may_be_infinite: bool) -> PyResult<()> {
    if number >= 0.0 && (may_be_infinite || number.is_finite()) {
        return Ok(());
    }
    let message = format!("{what} became {number}");
    Err(pyo3::exceptions::PyValueError::new_err(message))
}

fn seconds(span: Duration) -> f64 {
    span.as_nanos() as f64 * 1e-9
}

impl InPython {
    /// Calls the instance. After an exception it is not called again.
    fn call<T>(
        &mut self,
        path: &cc::Path,
        calling: impl FnOnce(Python<'_>, &Instance) -> PyResult<T>,
    ) -> Option<T> {
        let instance = self.instance.as_ref()?;
        self.class.fault.now.store(path.now.since(Time::ZERO).as_nanos(), Ordering::Relaxed);
        let value = Python::attach(|py| {
            calling(py, instance).map_err(|error| self.class.raise(py, error, "at")).ok()
        });
        if value.is_none() {
            self.instance = None;
        }
        value
    }
}

impl Controller for InPython {
    fn on_sample(&mut self, path: &cc::Path, ack: &cc::Ack, w: &mut cc::Window) {
        if self.instance.as_ref().is_none_or(|instance| instance.on_sample.is_none()) {
            return;
        }
        self.call(path, |py, instance| {
            instance.show(py, path, w);
            instance.show_ack(py, ack);
            if let Some(on_sample) = &instance.on_sample {
                on_sample.call1(py, (&instance.path, &instance.ack, &instance.w))?;
            }
            instance.decide(py, w)
        });
    }

    fn grow(&mut self, path: &cc::Path, ack: &cc::Ack, w: &mut cc::Window) {
        self.call(path, |py, instance| {
            instance.show(py, path, w);
            instance.show_ack(py, ack);
            instance.grow.call1(py, (&instance.path, &instance.ack, &instance.w))?;
            instance.decide(py, w)
        });
    }

    fn cut(&mut self, path: &cc::Path, w: &cc::Window, why: Signal) -> Option<f64> {
        let word = match why {
            Signal::Loss => "loss",
            Signal::Mark => "mark",
            Signal::Timeout => "timeout",
        };
        let answer = self.call(path, |py, instance| {
            instance.show(py, path, w);
            let answer: Option<f64> =
                instance.cut.call1(py, (&instance.path, &instance.w, word))?.extract(py)?;
            answer.map_or(Ok(()), |ssthresh| usable("the answer of cut", ssthresh, false))?;
            Ok(answer)
        });
        answer.unwrap_or(Some(w.cwnd / 2.0))
    }

    fn on_event(&mut self, path: &cc::Path, event: Event, w: &mut cc::Window) {
        let word = match event {
            Event::Start => "start",
            Event::Recovered => "recovered",
            Event::Spurious => "spurious",
            Event::Idle => "idle",
        };
        if self.instance.as_ref().is_none_or(|instance| instance.on_event.is_none()) {
            return;
        }
        self.call(path, |py, instance| {
            instance.show(py, path, w);
            if let Some(on_event) = &instance.on_event {
                on_event.call1(py, (&instance.path, word, &instance.w))?;
            }
            instance.decide(py, w)
        });
    }

    fn on_lost(&mut self, path: &cc::Path, lost: &Lost, w: &cc::Window) {
        if self.instance.as_ref().is_none_or(|instance| instance.on_lost.is_none()) {
            return;
        }
        self.call(path, |py, instance| {
            instance.show(py, path, w);
            if let Some(on_lost) = &instance.on_lost {
                on_lost.call1(py, (&instance.path, lost.seq, &instance.w))?;
            }
            Ok(())
        });
    }
}

impl Clone for InPython {
    fn clone(&self) -> InPython {
        let instance = self.instance.as_ref().and_then(|instance| {
            self.class.instance("copied", |py| {
                let copy = py.import("copy")?.call_method1("deepcopy", (&instance.instance,))?;
                Instance::new(py, copy)
            })
        });
        InPython { class: Arc::clone(&self.class), instance }
    }
}
