//! The engine as a Python module, `ackclock._native`. The package around it, in Python, gives it names, types
//! and documentation.

mod commands;
mod controllers;
mod error;
mod interrupt;
mod listing;
mod memory;
mod pictures;
mod results;
mod rows;
mod scenario;
mod steered;
mod sweep;
mod tables;

use pyo3::prelude::*;

/// The engine.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Error", module.py().get_type::<error::Error>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<results::Results>()?;
    module.add_class::<sweep::Sweep>()?;
    module.add_class::<tables::Batch>()?;
    module.add_class::<steered::Environments>()?;
    module.add_class::<controllers::Path>()?;
    module.add_class::<controllers::Ack>()?;
    module.add_class::<controllers::Window>()?;
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
