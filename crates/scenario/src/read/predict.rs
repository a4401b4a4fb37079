//! `[predict]`: the flow for the congestion predictors, and the losses that they should predict.

use super::reader::{At, Result};
use ackclock_cc::predictor::{Options, Threshold};

/// When a loss is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Settle {
    /// One round trip after the last loss.
    #[default]
    RoundTrip,
    /// When the predictor says that the delay is low.
    Low,
}

/// The settings of `[predict]`. Names are resolved when the scenario is built.
#[derive(Clone)]
pub(crate) struct PredictSpec {
    /// The group whose first flow is recorded; `None`: the first group.
    pub(crate) flow: Option<String>,
    /// The link whose drops count; `None`: the first link with a limited queue on the flow's path.
    pub(crate) link: Option<String>,
    pub(crate) options: Options,
    pub(crate) settle: Settle,
}

/// The largest number of samples of a moving average. They are kept in memory.
const MAX_SAMPLES: u64 = 10_000_000;

pub(crate) fn read_predict(at: &At<'_>) -> Result<PredictSpec> {
    let table = at.table_like("{ threshold = \"65 ms\" }")?;
    let name = |key| table.get(key).map(|at| at.text().map(str::to_owned)).transpose();
    let (flow, link) = (name("flow")?, name("link")?);
    let mut options = Options::default();
    if let Some(rtt) = table.quantity("threshold")? {
        options.threshold = Threshold::At(rtt);
    }
    if let Some(at) = table.get("samples") {
        options.samples = at.count(1, MAX_SAMPLES)? as usize;
    }
    let until_low = table.get("until_low").map(|at| at.flag()).transpose()?.unwrap_or(false);
    table.finish()?;
    let settle = if until_low { Settle::Low } else { Settle::RoundTrip };
    Ok(PredictSpec { flow, link, options, settle })
}
