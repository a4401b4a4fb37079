//! Congestion predictors: what an end host can conclude from its own round-trip times.
//!
//! Parts that a controller or a study feeds one sample at a time. None keeps more than it needs, none has a clock.

mod ewma;

pub use ewma::Ewma;
