//! `[predict]`: which flow the congestion predictors are tried on, and against whose losses.

use super::reader::{At, Result};
use ackclock_cc::predictor::{Options, Threshold};

/// When a loss is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Settle {
    /// One round trip after the last one.
    #[default]
    RoundTrip,
    /// Once the predictor says that delay is low.
    Low,
}

/// What is asked of the predictors; names are looked up when the scenario is built.
#[derive(Clone)]
pub(crate) struct PredictSpec {
    /// The group whose first flow is recorded; the first group if not given.
    pub(crate) flow: Option<String>,
    /// The link whose drops count; the first with a limited queue on the flow's way if not given.
    pub(crate) link: Option<String>,
    pub(crate) options: Options,
    pub(crate) settle: Settle,
}

/// Most samples of a moving average: they are kept.
const MOST_SAMPLES: u64 = 10_000_000;

pub(crate) fn read_predict(at: &At<'_>) -> Result<PredictSpec> {
    let table = at.table_like("{ threshold = \"65 ms\" }")?;
    let name = |key| table.get(key).map(|at| at.text().map(str::to_owned)).transpose();
    let (flow, link) = (name("flow")?, name("link")?);
    let mut options = Options::default();
    if let Some(rtt) = table.quantity("threshold")? {
        options.threshold = Threshold::At(rtt);
    }
    if let Some(at) = table.get("samples") {
        options.samples = at.count(1, MOST_SAMPLES)? as usize;
    }
    let until_low = table.get("until_low").map(|at| at.flag()).transpose()?.unwrap_or(false);
    table.finish()?;
    let settle = if until_low { Settle::Low } else { Settle::RoundTrip };
    Ok(PredictSpec { flow, link, options, settle })
}
