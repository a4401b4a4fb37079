//! The engine as a Python module, `ackclock._native`. The package around it, in Python, gives it names, types
//! and documentation.

mod commands;
mod error;
mod interrupt;
mod listing;
mod memory;
mod pictures;
mod results;
mod rows;
mod scenario;
mod sweep;
mod tables;

use pyo3::prelude::*;

/// What can be chosen by name: the command line's list.
#[path = "../../cli/src/catalogue.rs"]
mod catalogue;

/// Reads a scenario file, as the command line does.
#[path = "../../cli/src/input.rs"]
mod input;

/// Pictures and names: what notebooks show of the command line's report.
#[allow(dead_code, reason = "the report uses more of it")]
#[path = "../../cli/src/view"]
mod view {
    pub(crate) mod charts;
    pub(crate) mod gallery;
    pub(crate) mod names;
    pub(crate) mod shown;
}

/// What the reader of files calls a failure.
mod failure {
    /// Bad input.
    pub(crate) enum Failure {
        /// What is wrong with it.
        Report(miette::Report),
    }
}

/// What the list calls its kinds.
mod args {
    /// A registry, or the published experiments.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Listed {
        Controls,
        Recoveries,
        Detections,
        SlowStarts,
        Stacks,
        Queues,
        Experiments,
    }
}

/// The engine.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Error", module.py().get_type::<error::Error>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<results::Results>()?;
    module.add_class::<sweep::Sweep>()?;
    module.add_class::<tables::Batch>()?;
    module.add_function(wrap_pyfunction!(results::run, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::build, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::locate, module)?)?;
    module.add_function(wrap_pyfunction!(commands::predict_capture, module)?)?;
    module.add_function(wrap_pyfunction!(commands::predict_scenario, module)?)?;
    module.add_function(wrap_pyfunction!(commands::trace, module)?)?;
    module.add_function(wrap_pyfunction!(commands::reproduce, module)?)?;
    module.add_function(wrap_pyfunction!(listing::list, module)?)?;
    module.add_function(wrap_pyfunction!(listing::show, module)?)?;
    Ok(())
}
