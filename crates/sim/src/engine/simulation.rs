//! The seam between the two engines: which of them computes a run.

use super::phases::{Phases, Unfit};
use super::{Engine, Observer};
use ackclock_scenario::measured::Measured;
use ackclock_scenario::plan::{EngineKind, Plan};
use ackclock_scenario::series::Series;
use ackclock_units::Time;

/// A run, by the engine that suits it or was asked for.
pub struct Simulation<O: Observer>(By<O>);

enum By<O: Observer> {
    Phases(Box<Phases>, O),
    Events(Box<Engine<O>>),
}

impl<O: Observer> Simulation<O> {
    /// Prepares a run of `plan` with `observer`.
    ///
    /// # Errors
    ///
    /// [`Unfit`] if the plan asks for the engine in phases, and the results would not be exact. This engine
    /// has no observers.
    pub fn new(plan: &Plan, observer: O) -> Result<Simulation<O>, Unfit> {
        let events = |observer| Simulation(By::Events(Box::new(Engine::new(plan.clone(), observer))));
        let phases = || if O::IS_NONE { Phases::new(plan) } else { Err(Unfit::OBSERVED) };
        match plan.engine {
            Some(EngineKind::Phases) => Ok(Simulation(By::Phases(Box::new(phases()?), observer))),
            Some(EngineKind::Events) => Ok(events(observer)),
            None => Ok(match phases() {
                Ok(phases) if phases.pays(plan) => Simulation(By::Phases(Box::new(phases), observer)),
                _ => events(observer),
            }),
        }
    }

    /// The engine that computes it.
    pub fn kind(&self) -> EngineKind {
        match self.0 {
            By::Phases(..) => EngineKind::Phases,
            By::Events(_) => EngineKind::Events,
        }
    }

    /// Takes so many packets or a little more, then returns. False when the run is over. For progress
    /// displays and interruption: a number of packets takes about the same wall time however busy the
    /// scenario is.
    pub fn run_some(&mut self, packets: u32) -> bool {
        match &mut self.0 {
            By::Phases(phases, _) => phases.run_some(packets),
            By::Events(engine) => engine.run_some(packets),
        }
    }

    /// The present virtual time.
    pub fn now(&self) -> Time {
        match &self.0 {
            By::Phases(phases, _) => phases.now(),
            By::Events(engine) => engine.now(),
        }
    }

    /// The probes' samples so far, if probes are on.
    pub fn series(&self) -> Option<Series> {
        match &self.0 {
            By::Phases(phases, _) => phases.series(),
            By::Events(engine) => engine.series(),
        }
    }

    /// Runs to the end. Returns the measurements, and the observer.
    pub fn run(self) -> (Measured, O) {
        match self.0 {
            By::Phases(phases, observer) => (phases.run(), observer),
            By::Events(engine) => engine.run(),
        }
    }
}
