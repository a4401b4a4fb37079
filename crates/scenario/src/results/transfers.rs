//! Transfers of a size: how many, how long, how slow.

use super::flow::FlowResult;
use super::is_zero;
use super::statistics::Percentiles;
use serde::{Deserialize, Serialize};

/// Transfers of a size, over the whole run. Times are from the first segment's sending to the last one's
/// acknowledgement, and only those of finished transfers are known: where many are unfinished, the longest
/// are missing.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Transfers {
    /// Transfers that began.
    pub started: u64,
    /// Transfers that were complete before the run, or the application, ended.
    pub finished: u64,
    /// Transfers that were not.
    pub unfinished: u64,
    /// The same as `finished`.
    pub count: usize,
    /// With a load: transfers that came while the one before on the same flow was under way, and began when
    /// it was over.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited: u64,
    /// Mean payload of the finished ones, bytes; this and everything below is null if none finished.
    pub mean_bytes: Option<f64>,
    /// Mean, s.
    pub mean_s: Option<f64>,
    /// Median, s.
    pub p50_s: Option<f64>,
    /// Nine tenths took no longer, s.
    pub p90_s: Option<f64>,
    /// 95 % took no longer, s.
    pub p95_s: Option<f64>,
    /// 99 % took no longer, s.
    pub p99_s: Option<f64>,
    /// The longest, s.
    pub max_s: Option<f64>,
    /// How many times the [ideal time](FlowResult::ideal_s) they took; null, too, if the application writes
    /// bursts.
    pub slowdown: Option<Percentiles>,
}

impl Transfers {
    /// Of all transfers of these flows, `started` of them, of which `waited` waited.
    pub(super) fn of(flows: &[FlowResult], started: u64, waited: u64) -> Transfers {
        let times = Percentiles::of(flows.iter().flat_map(|flow| flow.completions_s.iter().copied()));
        let sizes = flows.iter().flat_map(|flow| &flow.sizes_bytes);
        let count = sizes.clone().count();
        let bytes: f64 = sizes.map(|&bytes| bytes as f64).sum();
        Transfers {
            started,
            finished: count as u64,
            unfinished: started.saturating_sub(count as u64),
            count,
            waited,
            mean_bytes: (count > 0).then(|| bytes / count as f64),
            mean_s: times.map(|it| it.mean),
            p50_s: times.map(|it| it.p50),
            p90_s: times.map(|it| it.p90),
            p95_s: times.map(|it| it.p95),
            p99_s: times.map(|it| it.p99),
            max_s: times.map(|it| it.max),
            slowdown: Percentiles::of(flows.iter().flat_map(|flow| flow.slowdowns.iter().copied())),
        }
    }

    /// Of a group's flows; `None` if their data has no end.
    pub(super) fn of_group(flows: &[FlowResult]) -> Option<Transfers> {
        let own = flows.iter().filter_map(|flow| flow.transfers.as_ref()).map(|it| (it.started, it.waited));
        let total = own.reduce(|sum, more| (sum.0 + more.0, sum.1 + more.1));
        total.map(|(started, waited)| Transfers::of(flows, started, waited))
    }
}

/// The finished transfers of a group whose sizes are in one range.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct SizeClass {
    /// They are larger than this, bytes.
    pub above_bytes: u64,
    /// They are at most this large, bytes; null for the largest.
    pub to_bytes: Option<u64>,
    /// How many finished.
    pub finished: u64,
    /// Their times, s.
    pub time_s: Percentiles,
    /// Their slowdowns; null if the application writes bursts.
    pub slowdown: Option<Percentiles>,
}

/// The bounds of the classes, bytes.
const BOUNDS: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

impl SizeClass {
    /// The classes in which transfers of these flows finished; none if there is only one.
    pub(super) fn all(flows: &[FlowResult]) -> Vec<SizeClass> {
        let froms = [0].into_iter().chain(BOUNDS);
        let tos = BOUNDS.into_iter().map(Some).chain([None]);
        let classes: Vec<_> =
            froms.zip(tos).filter_map(|(from, to)| SizeClass::of(flows, from, to)).collect();
        if classes.len() > 1 { classes } else { Vec::new() }
    }

    fn of(flows: &[FlowResult], above_bytes: u64, to_bytes: Option<u64>) -> Option<SizeClass> {
        let within = |bytes: u64| bytes > above_bytes && to_bytes.is_none_or(|most| bytes <= most);
        let values = |pick: fn(&FlowResult) -> &Vec<f64>| {
            let all = flows.iter().flat_map(move |flow| pick(flow).iter().zip(&flow.sizes_bytes));
            all.filter(|(_, bytes)| within(**bytes)).map(|(value, _)| *value)
        };
        let finished = values(|flow| &flow.completions_s).count() as u64;
        let time_s = Percentiles::of(values(|flow| &flow.completions_s))?;
        let slowdown = Percentiles::of(values(|flow| &flow.slowdowns));
        Some(SizeClass { above_bytes, to_bytes, finished, time_s, slowdown })
    }
}
