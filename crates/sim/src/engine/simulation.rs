//! The seam between the two engines: which of them computes a run. Both are compiled here, and not by every
//! caller.

use super::phases::{Crew, Layout, Phases, Unfit, Unwatched, Watched};
use super::{Engine, NoObserver, Observer};
use ackclock_net::Link;
use ackclock_scenario::measured::Measured;
use ackclock_scenario::plan::{EngineKind, Plan};
use ackclock_scenario::series::Series;
use ackclock_units::Time;

/// A run, by the engine that suits it or was asked for.
pub struct Simulation<'a>(By<'a>);

enum By<'a> {
    Phases(Box<Phases>),
    Crew(Box<Crew>),
    Watched(Box<Phases<Watched<'a>>>),
    Events(Box<Engine<NoObserver>>),
    Observed(Box<Engine<&'a mut dyn Observer>>),
}

impl By<'_> {
    /// In phases, by one thread or several.
    fn phases(plan: &Plan, one: Phases) -> Self {
        Crew::new(plan, &one).map_or_else(|| By::Phases(Box::new(one)), |crew| By::Crew(Box::new(crew)))
    }
}

impl<'a> Simulation<'a> {
    /// Prepares a run of `plan`, with an observer if it has one.
    ///
    /// # Errors
    ///
    /// [`Unfit`] if the plan asks for the engine in phases, and the results would not be exact.
    pub fn new(plan: &Plan, observer: Option<&'a mut dyn Observer>) -> Result<Simulation<'a>, Unfit> {
        let layout = || match observer {
            Some(_) if plan.links.iter().any(Link::duplicates) => Err(Unfit::TWICE),
            _ => Layout::of(plan, false),
        };
        let layout = match plan.engine {
            Some(EngineKind::Phases) => Some(layout()?),
            Some(EngineKind::Events) => None,
            None => layout().ok().filter(|layout| layout.pays(plan)),
        };
        Ok(Simulation(match (layout, observer) {
            (Some(layout), None) => By::phases(plan, Phases::new(plan, layout, Unwatched)),
            (Some(layout), Some(observer)) => {
                By::Watched(Box::new(Phases::new(plan, layout, Watched::new(observer))))
            }
            (None, None) => By::Events(Box::new(Engine::new(plan.clone(), NoObserver))),
            (None, Some(observer)) => By::Observed(Box::new(Engine::new(plan.clone(), observer))),
        }))
    }

    /// The engine that computes it.
    pub fn kind(&self) -> EngineKind {
        match self.0 {
            By::Phases(_) | By::Crew(_) | By::Watched(_) => EngineKind::Phases,
            By::Events(_) | By::Observed(_) => EngineKind::Events,
        }
    }

    /// The number of threads that compute it.
    pub fn threads(&self) -> usize {
        if let By::Crew(crew) = &self.0 { crew.threads() } else { 1 }
    }

    /// Takes so many packets or a little more, then returns. False when the run is over. For progress
    /// displays and interruption: a number of packets takes about the same wall time however busy the
    /// scenario is.
    pub fn run_some(&mut self, packets: u32) -> bool {
        match &mut self.0 {
            By::Phases(phases) => phases.run_some(packets),
            By::Crew(crew) => crew.run_some(packets),
            By::Watched(phases) => phases.run_some(packets),
            By::Events(engine) => engine.run_some(packets),
            By::Observed(engine) => engine.run_some(packets),
        }
    }

    /// The present virtual time.
    pub fn now(&self) -> Time {
        match &self.0 {
            By::Phases(phases) => phases.now(),
            By::Crew(crew) => crew.now(),
            By::Watched(phases) => phases.now(),
            By::Events(engine) => engine.now(),
            By::Observed(engine) => engine.now(),
        }
    }

    /// The probes' samples so far, if probes are on.
    pub fn series(&self) -> Option<Series> {
        match &self.0 {
            By::Phases(phases) => phases.series(),
            By::Crew(crew) => crew.series(),
            By::Watched(phases) => phases.series(),
            By::Events(engine) => engine.series(),
            By::Observed(engine) => engine.series(),
        }
    }

    /// Runs to the end. Returns the measurements.
    pub fn run(self) -> Measured {
        match self.0 {
            By::Phases(phases) => phases.run(),
            By::Crew(crew) => crew.run(),
            By::Watched(phases) => phases.run(),
            By::Events(engine) => engine.run().0,
            By::Observed(engine) => engine.run().0,
        }
    }
}
