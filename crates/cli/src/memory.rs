//! Sees to it that a run has enough memory: before it, by an estimate, and during it, by a limit.

mod limit;

use ackclock_scenario::Point;
use ackclock_scenario::plan::Threads;
use ackclock_study::run::MemoryEstimate;
use miette::{Report, miette};
use std::borrow::Cow;
use std::sync::Arc;
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// The number of points that run at once if so many threads are wanted: at most one per core and point.
pub(crate) fn at_once(threads: Option<usize>, points: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    threads.unwrap_or(cores).min(cores).min(points).max(1)
}

/// The points of a run that needs so much memory, with the threads of each: those that are left over if there
/// are fewer points than threads.
pub(crate) fn divided<'a>(
    points: &'a [Point],
    threads: Option<usize>,
    need: MemoryEstimate,
) -> Cow<'a, [Point]> {
    let inside = inside(threads, points.len(), need, available().map_or(f64::INFINITY, |bytes| bytes as f64));
    if inside == Threads::One {
        return Cow::Borrowed(points);
    }
    let mut points = points.to_vec();
    points.iter_mut().for_each(|point| Arc::make_mut(&mut point.scenario).threads = inside);
    Cow::Owned(points)
}

/// The threads of each point, if there is memory for copies of it.
fn inside(threads: Option<usize>, points: usize, need: MemoryEstimate, available: f64) -> Threads {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let at_once = at_once(threads, points);
    let wanted = at_once as f64 * (need.running + Threads::COPIES as f64) + need.kept;
    match threads.unwrap_or(cores).min(cores) / at_once {
        several @ 2.. if wanted <= available => Threads::UpTo(several),
        _ => Threads::One,
    }
}

/// The memory that this process may still use: that of the machine, that of its control group, and what the
/// user's limits leave (`ulimit -v`). `None` if the system does not tell.
pub(crate) fn available() -> Option<u64> {
    let system = System::new_with_specifics(
        RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram()),
    );
    let machine = Some(system.available_memory()).filter(|&bytes| bytes > 0);
    // What a group's files take in the cache of the system counts as used, but is given back when it is
    // needed.
    let group = system.cgroup_limits().map(|limits| limits.total_memory.saturating_sub(limits.rss));
    machine.into_iter().chain(group).chain(limit::left()).min()
}

/// Prepares the allocator. Call it first.
pub(crate) fn prepare() {
    limit::return_large_blocks();
}

/// Gives what was freed back to the system, after much of it.
pub(crate) fn give_back() {
    limit::return_free();
}

/// From now on an allocation that finds no memory ends the program with a message and status 2.
pub(crate) fn limit() {
    if let Some(available) = available() {
        limit::set(available);
    }
}

/// Refuses a run if the memory is too small for this number of points at once.
pub(crate) fn check(need: MemoryEstimate, at_once: usize) -> Result<(), Report> {
    available().map_or(Ok(()), |available| fits(need, at_once, available as f64))
}

fn fits(
    MemoryEstimate { running, kept }: MemoryEstimate,
    at_once: usize,
    available: f64,
) -> Result<(), Report> {
    let total = running * at_once as f64 + kept;
    if total <= available {
        return Ok(());
    }
    let free = size(available);
    if kept > available / 2.0 {
        let help = "let probe in the scenario be a longer time, or run fewer points or flows";
        return Err(miette!(
            help = help,
            "the results of all points, with what the probes see, take {} of memory, and {free} are available",
            size(kept)
        ));
    }
    let fitting = ((available - kept) / running) as usize;
    if fitting == 0 {
        let help = "shorten the longest queue, give a limit to those without one, lower the rate or the round-trip time, or simulate \
             fewer flows";
        let running = size(running);
        return Err(miette!(
            help = help,
            "the packets of this scenario can take {running} of memory, and {free} are available"
        ));
    }
    let help = format!("run fewer points at once: --threads {fitting}");
    let total = size(total);
    Err(miette!(
        help = help,
        "the packets of the {at_once} points that run at once can take {total} of memory, and {free} are available"
    ))
}

fn size(bytes: f64) -> String {
    if bytes >= 1e9 { format!("{:.1} GB", bytes / 1e9) } else { format!("{:.1} MB", bytes / 1e6) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_both_numbers_and_the_remedy() {
        let need = |running, kept| MemoryEstimate { running, kept };
        assert!(fits(need(1e9, 0.0), 8, 8e9).is_ok());
        let many = fits(need(2e9, 0.0), 8, 5e9).expect_err("16 GB do not fit");
        assert!(many.to_string().contains("16.0 GB") && many.to_string().contains("5.0 GB"), "{many}");
        assert!(many.help().is_some_and(|help| help.to_string().contains("--threads 2")));
        let one = fits(need(9e9, 0.0), 8, 5e9).expect_err("not even one fits");
        assert!(one.to_string().contains("9.0 GB"), "{one}");
        assert!(one.help().is_some_and(|help| help.to_string().contains("queue")));
        let series = fits(need(1e6, 6e9), 8, 5e9).expect_err("nor do the series");
        assert!(series.to_string().contains("6.0 GB"), "{series}");
        assert!(series.help().is_some_and(|help| help.to_string().contains("probe")));
    }

    #[test]
    fn no_more_run_at_once_than_there_are_cores_and_points() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        assert_eq!((at_once(Some(1), 9), at_once(Some(4000), 1)), (1, 1));
        assert_eq!((at_once(Some(4000), 9000), at_once(None, 9000)), (cores, cores));
    }

    #[test]
    fn what_is_left_over_goes_into_runs_that_have_room() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let need = MemoryEstimate { running: 1e9, kept: 1e8 };
        let all = if cores > 1 { Threads::UpTo(cores) } else { Threads::One };
        assert_eq!(inside(None, 1, need, 1.4e9), all);
        assert_eq!(inside(None, 1, need, 1.3e9), Threads::One, "there is no room for a copy");
        assert_eq!(inside(Some(1), 1, need, 1e12), Threads::One);
        assert_eq!(inside(None, 9000, need, 1e15), Threads::One);
    }

    #[test]
    fn a_limit_of_our_own_is_none_of_the_users() {
        let before = limit::left();
        limit::set(1 << 45);
        assert!(limit::left().is_none_or(|left| before.is_some_and(|before| left <= before + (1 << 30))));
    }

    #[test]
    fn this_machine_has_some_memory() {
        assert!(available().is_none_or(|bytes| bytes > 1_000_000));
    }
}
