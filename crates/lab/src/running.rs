//! Runs: one per tab, the newest wins, and each within its limits.

use crate::Emulator;
use crate::limits::{Limits, VARIANTS, resident};
use crate::pictures::{Shown, charts, findings, pictures};
use crate::problem::Problem;
use ackclock_scenario::results::{Expectation, PointResult};
use ackclock_scenario::series::Glimpse;
use ackclock_scenario::{Point, Sweep};
use ackclock_study::run::{RunError, SoFar, judge, judge_points, run_shown};
use ackclock_view::gallery::Gallery;
use ackclock_view::names::seconds;
use ackclock_view::report;
use ackclock_view::request::Request;
use ackclock_view::shown::shown;
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time between two pictures of what a run has so far.
const LOOK: Duration = Duration::from_millis(60);
/// The time before the first one: whoever moves a slider wants to see something at once.
const FIRST_LOOK: Duration = Duration::from_millis(15);
/// The time between two looks at the memory and at the clock.
const GUARD: Duration = Duration::from_millis(10);
/// The longest name of a variant, and of a tab, bytes.
const NAME: usize = 80;

/// A request for a run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    /// Whose run it is: a tab's newest run ends the one before.
    pub(crate) tab: String,
    pub(crate) variants: Vec<Variant>,
    /// True if each variant has a column of its own.
    #[serde(default)]
    pub(crate) beside: bool,
}

/// A scenario, and its name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Variant {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Asked {
    pub(crate) fn read(body: &[u8]) -> Result<Asked, Problem> {
        let wrong = |why: String| {
            Problem::new(format!("the request is not understood: {why}"), "load the page again")
        };
        let asked: Asked = serde_json::from_slice(body).map_err(|error| wrong(error.to_string()))?;
        let long = |text: &str| text.len() > NAME;
        if asked.variants.is_empty() || asked.variants.len() > VARIANTS {
            return Err(Problem::new(
                format!("{} variants are wanted, not {}", "1 to 6", asked.variants.len()),
                "remove some",
            ));
        }
        if long(&asked.tab) || asked.variants.iter().any(|it| long(&it.name)) {
            return Err(wrong("a name is too long".to_owned()));
        }
        Ok(asked)
    }

    /// The scenarios with their points, if they fit.
    pub(crate) fn sweeps(&self, limits: &Limits) -> Result<Vec<Sweep>, Refused> {
        let mut room = limits.points;
        let mut sweeps = Vec::new();
        for (variant, Variant { text, .. }) in self.variants.iter().enumerate() {
            let refused = |problem| Refused { variant, problem };
            let sweep = limits.read("scenario.toml", text, room).map_err(refused)?;
            room -= sweep.points.len();
            limits.check(&sweep.points).map_err(refused)?;
            sweeps.push(sweep);
        }
        Ok(sweeps)
    }
}

/// A variant that does not run, and why.
pub(crate) struct Refused {
    pub(crate) variant: usize,
    pub(crate) problem: Problem,
}

/// Something to tell the page: the name of the event, and its data.
pub(crate) type Told = (&'static str, Value);

pub(crate) fn refused(Refused { variant, problem }: &Refused) -> Told {
    ("refused", json!({"variant": variant, "problem": problem}))
}

/// Everything that is being computed.
pub(crate) struct Runs {
    limits: Limits,
    tabs: Mutex<HashMap<String, Tab>>,
    /// Runs that compute at this moment.
    computing: AtomicUsize,
    /// One emulation at a time.
    emulating: tokio::sync::Semaphore,
}

/// What a tab has asked for last.
struct Tab {
    stop: Arc<AtomicBool>,
    turn: Arc<tokio::sync::Mutex<()>>,
    tickets: usize,
}

/// A run of a tab that may begin when the one before has ended.
pub(crate) struct Ticket {
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) turn: Arc<tokio::sync::Mutex<()>>,
    pub(crate) place: Arc<Place>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// What keeps a tab: somebody reads its answer, or a run that was told to stop has not ended yet. So the next
/// run waits for it.
pub(crate) struct Place {
    runs: Arc<Runs>,
    tab: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut tabs = self.runs.tabs();
        if let Some(tab) = tabs.get_mut(&self.tab) {
            tab.tickets -= 1;
            if tab.tickets == 0 {
                tabs.remove(&self.tab);
            }
        }
    }
}

impl Runs {
    pub(crate) fn new(limits: Limits) -> Runs {
        let emulating = tokio::sync::Semaphore::new(1);
        Runs { limits, tabs: Mutex::default(), computing: AtomicUsize::new(0), emulating }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    fn tabs(&self) -> MutexGuard<'_, HashMap<String, Tab>> {
        self.tabs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops what this tab had asked for, and takes its place. `None` if there are too many tabs.
    pub(crate) fn ticket(self: &Arc<Runs>, tab: &str) -> Option<Ticket> {
        let mut tabs = self.tabs();
        if !tabs.contains_key(tab) && tabs.len() >= self.limits.runs {
            return None;
        }
        let entry = tabs.entry(tab.to_owned()).or_insert_with(|| Tab {
            stop: Arc::default(),
            turn: Arc::default(),
            tickets: 0,
        });
        entry.stop.store(true, Ordering::Relaxed);
        entry.stop = Arc::default();
        entry.tickets += 1;
        let (stop, turn) = (entry.stop.clone(), entry.turn.clone());
        drop(tabs);
        let place = Arc::new(Place { runs: self.clone(), tab: tab.to_owned() });
        Some(Ticket { stop, turn, place })
    }

    /// Ends everything.
    pub(crate) fn stop(&self) {
        self.tabs().values().for_each(|tab| tab.stop.store(true, Ordering::Relaxed));
    }

    #[cfg(test)]
    pub(crate) fn computing(&self) -> (usize, usize) {
        (self.computing.load(Ordering::Relaxed), self.tabs().len())
    }

    /// Computes what is asked for, and tells what there is: pictures while it runs, and all at the end.
    pub(crate) fn compute(&self, asked: &Asked, stop: &AtomicBool, tell: &(dyn Fn(Told, bool) + Sync)) {
        let begun = Instant::now();
        let sweeps = match asked.sweeps(&self.limits) {
            Ok(sweeps) => sweeps,
            Err(refusal) => return tell(refused(&refusal), true),
        };
        self.computing.fetch_add(1, Ordering::Relaxed);
        let run = Run::new(&self.limits, asked, &sweeps, stop, begun);
        let outcome = run.all(&|told| tell(told, false));
        self.computing.fetch_sub(1, Ordering::Relaxed);
        match outcome {
            Ok(results) => tell(run.complete(results), true),
            Err(Stopped::Quietly) => {}
            Err(Stopped::By(problem)) => {
                tell(run.so_far(1.0), true);
                tell(refused(&Refused { variant: 0, problem }), true);
            }
        }
    }

    /// A file with the results: a report, or a picture of all variants.
    pub(crate) fn export(&self, asked: &Asked, what: &str, stop: &AtomicBool) -> Result<String, Problem> {
        let sweeps = asked.sweeps(&self.limits).map_err(|it| it.problem)?;
        let run = Run::new(&self.limits, asked, &sweeps, stop, Instant::now());
        let results = run.all(&|_| {}).map_err(|stopped| match stopped {
            Stopped::By(problem) => problem,
            Stopped::Quietly => Problem::new("interrupted", "ask again"),
        })?;
        let defect = |error: miette::Report| Problem::new(error.to_string(), "please report this");
        let nothing = || Problem::new(format!("there is no picture \"{what}\""), "load the page again");
        if what != "report" {
            let known: Vec<Vec<Option<PointResult>>> =
                results.into_iter().map(|results| results.into_iter().map(Some).collect()).collect();
            let (charts, _) = charts(&run.variants(&known), sweeps.len() > 1);
            let chart = charts.into_iter().find(|chart| chart.id == what).ok_or_else(nothing)?;
            return Ok(chart.to_svg());
        }
        let (sweep, results) = (&sweeps[0], results.into_iter().next().unwrap_or_default());
        let (results, over_points) = judge_points(&sweep.points, results);
        let gallery = Gallery::new(sweep, &results, &shown(&results));
        let request = Request {
            text: asked.variants[0].text.clone(),
            settings: Vec::new(),
            command: "ackclock run scenario.toml --out DIR".to_owned(),
            captured: false,
        };
        report::page(&request, sweep, &results, &over_points, &gallery).map_err(defect)
    }

    /// Emulates the first variant, and tells what is seen as it happens.
    pub(crate) fn emulate(
        &self,
        emulator: &dyn Emulator,
        asked: &Asked,
        stop: &AtomicBool,
        tell: &(dyn Fn(Told, bool) + Sync),
    ) {
        let problem = |problem| tell(refused(&Refused { variant: 0, problem }), true);
        let Ok(_alone) = self.emulating.try_acquire() else {
            return problem(Problem::new(
                "another emulated run is under way",
                "wait for its end, or stop it",
            ));
        };
        let sweeps = match asked.sweeps(&self.limits) {
            Ok(sweeps) => sweeps,
            Err(refusal) => return tell(refused(&refusal), true),
        };
        let [point] = &sweeps[0].points[..] else {
            return problem(Problem::new(
                format!("{} points cannot be emulated at once", sweeps[0].points.len()),
                "an emulated run has one point: take out [sweep] and seeds",
            ));
        };
        let longest = self.limits.emulation;
        if point.scenario.duration.as_secs_f64() > longest.as_secs_f64() {
            return problem(Problem::new(
                format!("an emulated run in the lab takes {} s at most", longest.as_secs()),
                "shorten the duration, or use `ackclock emulate`",
            ));
        }
        let names = match names(point) {
            Ok(names) => names,
            Err(error) => return problem(error),
        };
        tell(("emulating", names), true);
        // Real time: twice what it should take is enough to set up and to take down.
        let deadline = Instant::now() + longest * 2;
        let go_on = |_: f64| !stop.load(Ordering::Relaxed) && Instant::now() < deadline;
        let delivered: Mutex<HashMap<usize, f64>> = Mutex::default();
        let see = |glimpse: Glimpse| tell(("glimpse", glimpsed(&glimpse, &delivered)), false);
        match emulator.emulate(point, &go_on, &see) {
            Err(error) => problem(error),
            Ok((mut result, fidelity)) => {
                result.expectations = judge(&point.scenario, &result);
                let results = vec![Some(result.clone())];
                let name = &*asked.variants[0].name;
                let columns = pictures(&[Shown { name, sweep: &sweeps[0], results: &results }], false);
                let found = findings(&[(name, &sweeps[0], &[result], &[])]);
                tell(("emulated", json!({"columns": columns, "found": found, "emulation": fidelity})), true);
            }
        }
    }
}

/// What the page must know before an emulated run begins.
fn names(point: &Point) -> Result<Value, Problem> {
    let built = point.scenario.build()?;
    let groups = built.groups.iter().flat_map(|group| {
        (0..group.count).map(move |number| match group.count {
            1 => group.label.clone(),
            _ => format!("{} {}", group.label, number + 1),
        })
    });
    let links: Vec<&str> = built.links.iter().map(|link| link.name.as_str()).collect();
    Ok(json!({
        "flows": groups.collect::<Vec<_>>(), "links": links,
        "payload": built.groups.iter().flat_map(|it| std::iter::repeat_n(it.payload, it.count)).collect::<Vec<_>>(),
        "duration": point.scenario.duration.as_secs_f64(),
    }))
}

/// A glimpse for the page. A slow page misses some, so it is told what each flow has `delivered` since the
/// run began, segments.
fn glimpsed(glimpse: &Glimpse, delivered: &Mutex<HashMap<usize, f64>>) -> Value {
    match glimpse {
        Glimpse::Flow { flow, at, sample } => {
            let mut all = delivered.lock().unwrap_or_else(PoisonError::into_inner);
            let sum = all.entry(*flow).or_default();
            *sum += f64::from(sample.delivered);
            json!({
                "flow": flow, "at": seconds(*at), "cwnd": sample.cwnd, "rtt": sample.srtt_s, "delivered": *sum,
                "in_flight": sample.in_flight,
            })
        }
        Glimpse::Link { link, at, waiting, rate } => {
            json!({"link": link, "at": seconds(*at), "waiting": waiting, "rate": rate})
        }
    }
}

/// Why a run has no results.
enum Stopped {
    /// Nobody waits for them any more.
    Quietly,
    By(Problem),
}

/// A run that is under way.
struct Run<'a> {
    limits: &'a Limits,
    asked: &'a Asked,
    sweeps: &'a [Sweep],
    stop: &'a AtomicBool,
    begun: Instant,
    /// The memory of the process before it, bytes.
    before: u64,
    /// True if it has taken too much, or too long.
    over: AtomicBool,
    large: AtomicBool,
    /// What is known of each point of each variant, and when the page is told again.
    known: Mutex<(Vec<Vec<Option<PointResult>>>, Instant)>,
    /// The share of each point that is done, in thousandths.
    shares: Vec<Vec<AtomicUsize>>,
}

impl<'a> Run<'a> {
    fn new(
        limits: &'a Limits,
        asked: &'a Asked,
        sweeps: &'a [Sweep],
        stop: &'a AtomicBool,
        begun: Instant,
    ) -> Run<'a> {
        let nothing = sweeps.iter().map(|sweep| vec![None; sweep.points.len()]).collect();
        let shares = sweeps.iter().map(|sweep| sweep.points.iter().map(|_| AtomicUsize::new(0)).collect());
        Run {
            limits,
            asked,
            sweeps,
            stop,
            begun,
            before: resident().unwrap_or(0),
            over: AtomicBool::new(false),
            large: AtomicBool::new(false),
            known: Mutex::new((nothing, Instant::now() + FIRST_LOOK)),
            shares: shares.collect(),
        }
    }

    fn known(&self) -> MutexGuard<'_, (Vec<Vec<Option<PointResult>>>, Instant)> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs every point of every variant.
    fn all(&self, tell: &(dyn Fn(Told) + Sync)) -> Result<Vec<Vec<PointResult>>, Stopped> {
        let points: Vec<(usize, usize)> = self
            .sweeps
            .iter()
            .enumerate()
            .flat_map(|(variant, sweep)| (0..sweep.points.len()).map(move |point| (variant, point)))
            .collect();
        let results: Vec<Result<PointResult, Stopped>> =
            points.par_iter().map(|&(variant, point)| self.one(variant, point, tell)).collect();
        let mut results = results.into_iter();
        self.sweeps.iter().map(|sweep| results.by_ref().take(sweep.points.len()).collect()).collect()
    }

    fn one(
        &self,
        variant: usize,
        number: usize,
        tell: &(dyn Fn(Told) + Sync),
    ) -> Result<PointResult, Stopped> {
        let point = &self.sweeps[variant].points[number];
        let guarded = std::cell::Cell::new(Instant::now());
        let go_on = |so_far: &SoFar<'_>| {
            if self.stop.load(Ordering::Relaxed) || self.over.load(Ordering::Relaxed) {
                return false;
            }
            let now = Instant::now();
            if now.duration_since(guarded.get()) >= GUARD {
                guarded.set(now);
                self.shares[variant][number].store((so_far.share * 1000.0) as usize, Ordering::Relaxed);
                self.guard(now);
                self.show(variant, number, so_far, now, tell);
            }
            true
        };
        match run_shown(point, true, None, &go_on) {
            Ok(result) => {
                self.shares[variant][number].store(1000, Ordering::Relaxed);
                self.known().0[variant][number] = Some(result.clone());
                Ok(result)
            }
            Err(RunError::Interrupted) if self.over.load(Ordering::Relaxed) => {
                let large = self.large.load(Ordering::Relaxed);
                Err(Stopped::By(if large { self.limits.too_large() } else { self.limits.too_long() }))
            }
            Err(RunError::Interrupted) => Err(Stopped::Quietly),
            Err(error) => Err(Stopped::By(error.into())),
        }
    }

    /// Stops a run that takes too much.
    fn guard(&self, now: Instant) {
        if resident().is_some_and(|bytes| bytes > self.before + self.limits.memory) {
            self.large.store(true, Ordering::Relaxed);
            self.over.store(true, Ordering::Relaxed);
        }
        if now.duration_since(self.begun) > self.limits.time {
            self.over.store(true, Ordering::Relaxed);
        }
    }

    /// Tells what there is so far, if the last time is long enough ago.
    fn show(
        &self,
        variant: usize,
        number: usize,
        so_far: &SoFar<'_>,
        now: Instant,
        tell: &(dyn Fn(Told) + Sync),
    ) {
        {
            let mut known = self.known();
            if now < known.1 {
                return;
            }
            known.1 = now + LOOK;
            if let Some(result) = so_far.result() {
                known.0[variant][number] = Some(result);
            }
        }
        let done: usize = self.shares.iter().flatten().map(|share| share.load(Ordering::Relaxed)).sum();
        let count = self.shares.iter().flatten().count();
        tell(self.so_far(done as f64 / (count * 1000) as f64));
        // What the picture took does not count as time between two of them.
        self.known().1 = Instant::now() + LOOK;
    }

    fn variants<'b>(&'b self, known: &'b [Vec<Option<PointResult>>]) -> Vec<Shown<'b>> {
        let named = self.asked.variants.iter().zip(self.sweeps).zip(known);
        named.map(|((variant, sweep), results)| Shown { name: &variant.name, sweep, results }).collect()
    }

    fn so_far(&self, share: f64) -> Told {
        let known = self.known();
        let columns = pictures(&self.variants(&known.0), self.asked.beside);
        ("pictures", json!({"share": share, "columns": columns}))
    }

    fn complete(&self, results: Vec<Vec<PointResult>>) -> Told {
        let wall = self.begun.elapsed().as_secs_f64();
        let columns = pictures(&self.variants(&self.known().0), self.asked.beside);
        let judged: Vec<(Vec<PointResult>, Vec<Expectation>)> = results
            .into_iter()
            .zip(self.sweeps)
            .map(|(results, sweep)| judge_points(&sweep.points, results))
            .collect();
        let named = self.asked.variants.iter().zip(self.sweeps).zip(&judged);
        let all: Vec<_> = named
            .map(|((variant, sweep), (results, over))| (&*variant.name, sweep, &results[..], &over[..]))
            .collect();
        let segments: u64 =
            judged.iter().flat_map(|(results, _)| results).map(|it| it.delivered_segments).sum();
        (
            "results",
            json!({"columns": columns, "found": findings(&all), "wall_s": wall, "segments": segments}),
        )
    }
}
