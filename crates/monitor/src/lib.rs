//! Measures paths over time, keeps what it measured, and advises what to send over them.
//!
//! [`Plan`] is the monitor's file, [`Monitor`] measures after it, [`Archive`] is what is kept. [`advise`] and
//! [`forecast()`] tell from the samples what to send: the first by rules, the second by simulating the
//! measured path. A monitor may publish all of it over HTTP, where [`ask`] asks for it.

mod advice;
mod archive;
mod asking;
mod document;
mod forecast;
mod monitor;
mod plan;
mod probes;
mod reading;
mod sample;
mod statistics;
mod web;

/// What fuzz targets reach beside the public interface: whatever a stranger's bytes reach.
#[cfg(fuzzing)]
pub mod fuzzing {
    pub use crate::probes::search::lines::{Lines, Said};
    pub use crate::probes::sink::words;
    pub use crate::web::answered;
}

pub use advice::{
    Advice, Advised, Against, BURST_SHARE, IDLE, LOSSLESS, Measured, PRESENT, Path, PathAdvice, SESSIONS,
    SPAN, STEADY, Stated, advise,
};
pub use archive::{Archive, ArchiveError, Hour, Known, MEANS, Mean, RAW, Row};
pub use asking::{AskError, ask, encoded};
pub use document::{advice_document, forecast_document};
pub use forecast::{Forecast, HEADER, PAYLOAD, SEEDS, controls, forecast};
pub use monitor::{Monitor, MonitorError, News};
pub use plan::{ARCHIVE, Host, PORT, PUBLISH, Period, Plan, Publish, Search, Sink, Transfer};
pub use reading::{Report, measured, report};
pub use sample::{Moment, Quantity, Route, Sample};
pub use statistics::{Basis, FEWEST, OLDEST, Summary, Unknown, oldest, summary};
