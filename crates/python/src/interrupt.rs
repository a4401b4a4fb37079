//! Long work without the interpreter's lock, which Ctrl-C ends.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// The time between two looks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// Does the work in a thread of its own, without the interpreter's lock. The flag that the work is given
/// becomes true when a signal handler raises, which Ctrl-C's does; the exception is then returned when the
/// work has ended.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce(&AtomicBool) -> T + Send) -> PyResult<T> {
    stoppable(py, None, work)
}

/// The same, also ended by `stop`, a `threading.Event`. Signal handlers run in the main thread only: what
/// works in another one has to be told.
pub(crate) fn stoppable<T: Send>(
    py: Python<'_>,
    told: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&AtomicBool) -> T + Send,
) -> PyResult<T> {
    let told = told.map(|event| event.clone().unbind());
    let look = |py: Python<'_>| -> PyResult<()> {
        py.check_signals()?;
        match &told {
            Some(event) if event.call_method0(py, "is_set")?.extract(py)? => {
                Err(PyKeyboardInterrupt::new_err(()))
            }
            _ => Ok(()),
        }
    };
    let stop = AtomicBool::new(false);
    py.detach(|| {
        thread::scope(|scope| {
            let (ended, end) = channel::<()>();
            let worker = scope.spawn(|| {
                let _ended = ended; // dropped at the end, even at a panic
                work(&stop)
            });
            let mut raised = None;
            while end.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if raised.is_none() {
                    raised = Python::attach(look).err();
                    stop.store(raised.is_some(), Ordering::Relaxed);
                }
            }
            let result = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            raised.map_or(Ok(result), Err)
        })
    })
}
