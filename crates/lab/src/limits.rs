//! What a run may take. What cannot fit is refused before it begins; what grows is stopped while it does.

use crate::problem::Problem;
use ackclock_scenario::{Document, Expansion, Point, Sweep};
use ackclock_study::run::check;
use std::time::Duration;

/// What each run may take.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// The time to compute it.
    pub time: Duration,
    /// The memory by which the process may grow, bytes.
    pub memory: u64,
    /// The points of all variants together.
    pub points: usize,
    /// The flows of one point.
    pub flows: usize,
    /// The content of a request, bytes.
    pub body: usize,
    /// Runs at the same time, each in another tab.
    pub runs: usize,
    /// The time of an emulated run.
    pub emulation: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            time: Duration::from_secs(60),
            memory: 1 << 30,
            points: 240,
            flows: 2000,
            body: 256 << 10,
            runs: 8,
            emulation: Duration::from_secs(120),
        }
    }
}

/// Variants side by side.
pub(crate) const VARIANTS: usize = 6;

/// What to do with a scenario that is too large for a page.
const ELSEWHERE: &str = "or save it, and run it with `ackclock run`";

impl Limits {
    /// Reads a scenario from anybody. No file is read, and no point is made before it is known how many there
    /// are.
    pub(crate) fn read(&self, name: &str, text: &str, room: usize) -> Result<Sweep, Problem> {
        let document = Document::parse(name, text)?.without_files();
        let count = Expansion::of(document.clone())?.count();
        if count > room {
            return Err(Problem::new(
                format!("{count} points are more than the {} that the lab runs at once", self.points),
                format!("sweep less, take fewer seeds or variants, {ELSEWHERE}"),
            ));
        }
        let sweep = Sweep::expand(document)?;
        for Point { scenario, .. } in &sweep.points {
            let flows = scenario.flows();
            if flows > self.flows {
                return Err(Problem::new(
                    format!("{flows} flows are more than the {} that the lab runs", self.flows),
                    format!("simulate fewer flows, {ELSEWHERE}"),
                ));
            }
        }
        Ok(sweep)
    }

    /// Refuses what cannot fit, and what the command line refuses.
    pub(crate) fn check(&self, points: &[Point]) -> Result<(), Problem> {
        let need = check(points, true)?;
        let at_once = rayon::current_num_threads().min(points.len());
        let total = need.running * at_once as f64 + need.kept;
        if total > self.memory as f64 {
            return Err(Problem::new(
                format!(
                    "this needs {:.0} MB of memory, and a run in the lab may take {:.0} MB",
                    total / 1e6,
                    self.memory as f64 / 1e6
                ),
                format!(
                    "shorten the longest queue, let probe be a longer time, simulate fewer flows, {ELSEWHERE}"
                ),
            ));
        }
        Ok(())
    }

    pub(crate) fn too_long(&self) -> Problem {
        Problem::new(
            format!("stopped after {} s: the lab computes no longer than that", self.time.as_secs_f64()),
            format!("shorten the duration, lower the rate, simulate fewer flows, {ELSEWHERE}"),
        )
    }

    pub(crate) fn too_large(&self) -> Problem {
        Problem::new(
            format!("stopped: the run took more than {:.0} MB of memory", self.memory as f64 / 1e6),
            format!("give every queue a limit, simulate fewer flows or a shorter time, {ELSEWHERE}"),
        )
    }
}

/// What this process has of memory, bytes. `None` where the system does not tell.
pub(crate) fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = "duration = \"1 s\"\n[topology.dumbbell]\n\
        bottleneck = { rate = \"1 Mbit/s\", delay = \"1 ms\", queue = { droptail = \"9 packets\" } }\n\
        [[flows]]\ncontrol = \"reno\"\n";

    fn read(text: &str) -> Result<Sweep, Problem> {
        Limits::default().read("scenario.toml", text, 240)
    }

    fn refused(text: &str) -> Problem {
        read(text).map(|_| ()).expect_err("it may not be read")
    }

    #[test]
    fn a_scenario_that_fits_is_read() {
        let sweep = read(SCENARIO).expect("it is right");
        Limits::default().check(&sweep.points).expect("it fits");
    }

    #[test]
    fn what_is_too_much_is_refused_with_its_number() {
        let many = refused(&format!("seeds = 1000000000\n{SCENARIO}"));
        assert!(many.message.contains("1000000000") || many.message.contains("seeds"), "{many:?}");
        let crowd = refused(&SCENARIO.replace("control", "count = 3000\ncontrol"));
        assert!(crowd.message.contains("3000 flows"), "{crowd:?}");
        let long = SCENARIO.replace("9 packets", "900000000 packets");
        let sweep = read(&long).expect("it is right");
        assert!(Limits::default().check(&sweep.points).is_err_and(|it| it.message.contains("MB")));
    }

    #[test]
    fn files_are_refused_where_they_are_named() {
        let traced = SCENARIO.replace("\"1 Mbit/s\"", "{ trace = \"/etc/passwd\" }");
        let problem = refused(&traced);
        assert_eq!(problem.line, Some(3));
        assert!(problem.message.contains("/etc/passwd") && problem.help.is_some(), "{problem:?}");
        let sized = format!("{SCENARIO}size = {{ file = \"/etc/passwd\" }}\n");
        let problem = refused(&sized);
        assert!(problem.message.contains("no file is read here"), "{problem:?}");
        let swept = format!(
            "{SCENARIO}[sweep]\n\"topology.dumbbell.bottleneck.rate\" = [{{ trace = \"/etc/shadow\" }}]\n"
        );
        assert!(read(&swept).is_err_and(|it| it.message.contains("no file is read here")));
    }
}
