//! What to send over a path, from what was measured on it.
//!
//! The questions are those of Sundaresan's thesis on TCP without congestion control (2001, section 3.6, with
//! ENABLE): how large a buffer, which first window, with or without congestion control, which bursts. It
//! leaves the rules open. These are ours, and each constant stands below.

use crate::forecast::{HEADER, PAYLOAD};
use crate::sample::{Moment, Sample};
use crate::statistics::{Basis, Summary, Unknown, joint, oldest, summary};
use ackclock_units::{Bytes, Duration};

/// So many of the newest samples tell of the path's present load. Two high ones among 20 raise the 95th
/// percentile, so a competing flow shows within two periods; a single one does not.
pub const PRESENT: usize = 20;
/// So many of the newest sessions tell of the first window.
pub const SESSIONS: usize = 20;
/// How far back median round-trip times and capacities look.
pub const SPAN: Duration = Duration::from_secs(24 * 3600);
/// Without a loss for so long the path is taken for uncongested.
pub const LOSSLESS: Duration = Duration::from_secs(600);
/// In an uncongested path round-trip times vary less, s.
pub const STEADY: f64 = 2e-3;
/// An uncongested path is used less than this share.
pub const IDLE: f64 = 0.5;
/// The share of the capacity that bursts may take.
pub const BURST_SHARE: f64 = 0.8;

/// The samples of a path that advice is derived from, each list from oldest to newest.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Round-trip times of the last [`SPAN`], s.
    pub rtt: Vec<Sample>,
    /// Lost echo requests of the last [`SPAN`]: 1 or 0.
    pub lost: Vec<Sample>,
    /// Retransmissions of the host during the last [`LOSSLESS`], segments.
    pub retransmissions: Vec<Sample>,
    /// Capacities of the last [`SPAN`], bit/s.
    pub capacity: Vec<Sample>,
    /// The longest waiting times in the transfers of the last [`SPAN`], s.
    pub waiting: Vec<Sample>,
    /// Closing windows of the last [`SESSIONS`], segments.
    pub closing_window: Vec<Sample>,
    /// What the host sent, the last [`PRESENT`], bit/s.
    pub sent: Vec<Sample>,
}

/// What is known of a path without measuring.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stated {
    /// May this path bear TCP without congestion control?
    pub uncontrolled: bool,
    /// The period of echo requests.
    pub ping: Duration,
    /// The period of transfers.
    pub transfer: Duration,
    /// The period of bursts that is asked about.
    pub burst: Duration,
}

/// A value, and what it was derived from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Advised<T> {
    /// The value.
    pub value: T,
    /// What it was derived from.
    pub basis: Basis,
}

/// An advice, or why there is none.
pub type Advice<T> = Result<Advised<T>, Unknown>;

/// Why congestion control must stay.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
pub enum Against {
    /// The monitor's file does not allow it.
    #[error("the monitor's file does not allow it for this host")]
    NotAllowed,
    /// Something is not known.
    #[error("not enough is known: {0}")]
    Unknown(#[from] Unknown),
    /// Something was lost.
    #[error("something was lost {} s ago", .0.as_nanos() / 1_000_000_000)]
    Loss(Duration),
    /// The path was not watched for long enough.
    #[error("the path is watched for {} s, and 600 s without a loss are needed", .0.as_nanos() / 1_000_000_000)]
    Watched(Duration),
    /// Round-trip times vary, s.
    #[error("round-trip times vary by {:.1} ms, and less than 2 ms are needed", .0 * 1e3)]
    Varies(f64),
    /// The path is used.
    #[error("{:.0} % of the capacity are used, and less than 50 % are needed", .0 * 100.0)]
    Used(f64),
}

/// All advice on a path.
#[derive(Clone, Debug)]
pub struct PathAdvice {
    /// The socket's buffer: capacity (p90) times round-trip time (p50).
    pub buffer: Advice<Bytes>,
    /// The first window, segments: the median of the closing windows of the last sessions, but at most the
    /// bandwidth-delay product, if that is known.
    pub first_window: Advice<u64>,
    /// The largest window without congestion control, or why it must stay.
    pub without_control: Result<Advised<Bytes>, Against>,
    /// The burst for the period that was asked about.
    pub burst: Advice<Bytes>,
    /// The path for a simulation.
    pub path: Advice<Path>,
}

/// A measured path, for a simulation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Path {
    /// What it carries, bit/s.
    pub capacity: f64,
    /// The smallest round-trip time, s.
    pub rtt: f64,
    /// The queue before the bottleneck, bytes.
    pub queue: f64,
    /// Was the queue seen by transfers? If not, it is one bandwidth-delay product.
    pub queue_seen: bool,
    /// The share of packets that are lost without congestion.
    pub loss: f64,
}

/// Lost echo requests below this number say nothing of a share.
const FEWEST_LOST: f64 = 5.0;

/// Derives all advice.
pub fn advise(measured: &Measured, stated: &Stated, now: Moment) -> PathAdvice {
    let rtt = summary(&measured.rtt, now, oldest(stated.ping));
    let capacity = summary(&measured.capacity, now, oldest(stated.transfer));
    let product = product(capacity, rtt);
    PathAdvice {
        buffer: product.map(|it| Advised { value: Bytes(it.value.round() as u64), basis: it.basis }),
        first_window: first_window(measured, product, now),
        without_control: without_control(measured, stated, now),
        burst: capacity.map(|capacity| Advised {
            value: Bytes((BURST_SHARE * capacity.p90 * stated.burst.as_secs_f64() / 8.0).round() as u64),
            basis: capacity.basis,
        }),
        path: path(measured, stated, now),
    }
}

/// Capacity times round-trip time, bytes (equation 3.3 of the thesis).
fn product(capacity: Result<Summary, Unknown>, rtt: Result<Summary, Unknown>) -> Advice<f64> {
    let (capacity, rtt) = (capacity?, rtt?);
    Ok(Advised { value: capacity.p90 * rtt.p50 / 8.0, basis: joint(capacity.basis, rtt.basis) })
}

/// A closing window may hold a full queue, too. Sent at once at the start, that much would be lost.
fn first_window(measured: &Measured, product: Advice<f64>, now: Moment) -> Advice<u64> {
    // Windows of sessions are a trend, not the present: sessions are as rare as the applications want.
    let windows = summary(newest(&measured.closing_window, SESSIONS), now, SPAN)?;
    let most = product.map_or(f64::INFINITY, |it| it.value / (PAYLOAD + HEADER) as f64);
    Ok(Advised { value: windows.p50.min(most).round().max(1.0) as u64, basis: windows.basis })
}

fn path(measured: &Measured, stated: &Stated, now: Moment) -> Advice<Path> {
    let capacity = summary(&measured.capacity, now, oldest(stated.transfer))?;
    let rtt = summary(&measured.rtt, now, oldest(stated.ping))?;
    let waiting = summary(&measured.waiting, now, oldest(stated.transfer));
    let queue = waiting.map(|waiting| waiting.p90 * capacity.p90 / 8.0);
    let lost: f64 = measured.lost.iter().map(|sample| sample.value).sum();
    let loss = if lost < FEWEST_LOST { 0.0 } else { lost / measured.lost.len() as f64 };
    let value = Path {
        capacity: capacity.p90,
        rtt: rtt.least,
        queue: queue.unwrap_or(capacity.p90 * rtt.least / 8.0),
        queue_seen: queue.is_ok(),
        loss,
    };
    Ok(Advised { value, basis: joint(capacity.basis, rtt.basis) })
}

/// The newest so many of a list.
fn newest(samples: &[Sample], most: usize) -> &[Sample] {
    &samples[samples.len().saturating_sub(most)..]
}

/// Without congestion control only if that is allowed, nothing was lost, round-trip times do not vary, and
/// the path is little used. The window is then at most the bandwidth-delay product, so that no queue stands,
/// and half the queue, so that a whole window at once fits in.
fn without_control(measured: &Measured, stated: &Stated, now: Moment) -> Result<Advised<Bytes>, Against> {
    if !stated.uncontrolled {
        return Err(Against::NotAllowed);
    }
    let lost = measured.lost.iter().chain(&measured.retransmissions);
    if let Some(last) = lost.filter(|it| it.value > 0.0 && it.at <= now).map(|it| it.at).max()
        && now.since(last) < LOSSLESS
    {
        return Err(Against::Loss(now.since(last)));
    }
    let present = |samples| summary(newest(samples, PRESENT), now, oldest(stated.ping));
    let (echoes, sent) = (present(&measured.rtt)?, present(&measured.sent)?);
    let pings = summary(&measured.lost, now, oldest(stated.ping))?;
    // The first echo request was one period after the watch began, at most.
    let watched = pings.basis.interval + pings.basis.age;
    if watched < LOSSLESS {
        return Err(Against::Watched(watched));
    }
    let varies = echoes.p95 - echoes.least;
    if varies >= STEADY {
        return Err(Against::Varies(varies));
    }
    let capacity = summary(&measured.capacity, now, oldest(stated.transfer))?;
    let used = sent.p95 / capacity.p90;
    if used >= IDLE {
        return Err(Against::Used(used));
    }
    let rtt = summary(&measured.rtt, now, oldest(stated.ping))?;
    let waiting = summary(&measured.waiting, now, oldest(stated.transfer))?;
    let product = product(Ok(capacity), Ok(rtt))?;
    let queue = waiting.p90 * capacity.p90 / 8.0;
    let value = Bytes(product.value.min(queue / 2.0) as u64);
    Ok(Advised { value, basis: joint(product.basis, joint(waiting.basis, echoes.basis)) })
}
