//! Measures paths over time, keeps what it measured, and advises what to send over them.
//!
//! [`Plan`] is the monitor's file, [`Monitor`] measures after it, [`Archive`] is what is kept. [`advise`] and
//! [`forecast()`] tell from the samples what to send: the first by rules, the second by simulating the
//! measured path.

mod advice;
mod archive;
mod forecast;
mod monitor;
mod plan;
mod probes;
mod reading;
mod sample;
mod statistics;

pub use advice::{
    Advice, Advised, Against, BURST_SHARE, IDLE, LOSSLESS, Measured, PRESENT, Path, PathAdvice, SESSIONS,
    SPAN, STEADY, Stated, advise,
};
pub use archive::{Archive, ArchiveError, Hour, Known, MEANS, RAW, Row};
pub use forecast::{Forecast, HEADER, PAYLOAD, SEEDS, controls, forecast};
pub use monitor::{Monitor, MonitorError, News};
pub use plan::{ARCHIVE, Host, PORT, Period, Plan, Sink, Transfer};
pub use reading::measured;
pub use sample::{Moment, Quantity, Sample};
pub use statistics::{Basis, FEWEST, OLDEST, Summary, Unknown, oldest, summary};
