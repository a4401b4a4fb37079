//! A run on several threads from outside: it goes on in steps, ends half-way, tells what it has so far, and
//! passes on panics. That its results are those of one thread is shown beside the engines.

mod common;

use ackclock_cc::blueprint::{Blueprint, scheme};
use ackclock_cc::{Ack, Controller, Needs, Path, Scheme, Settings, Signal, Window};
use ackclock_scenario::Control;
use ackclock_scenario::plan::{Plan, Threads};
use ackclock_sim::engine::Simulation;
use ackclock_study::run::run_point;
use ackclock_units::Time;
use common::{built, points};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn scenario(rate: &str, more: &str) -> String {
    format!(
        "duration = \"2 s\"\nprobe = \"100 ms\"\n[topology.dumbbell]\n\
         bottleneck = {{ rate = \"{rate}\", delay = \"10 ms\", queue = {{ droptail = \"1 bdp\" }} }}\n\
         access = {{ rate = \"10 Gbit/s\" }}\n[[flows]]\ncount = 6\ncontrol = \"cubic\"\n{more}"
    )
}

fn plan(threads: Threads) -> Plan {
    let mut plan = built(&scenario("100 Mbit/s", "")).plan;
    plan.threads = threads;
    plan
}

#[test]
fn large_runs_take_the_threads_that_they_may_have() {
    let threads = |rate: &str, threads| {
        let mut plan = built(&scenario(rate, "")).plan;
        plan.threads = threads;
        Simulation::new(&plan, None).expect("a run").threads()
    };
    assert_eq!(threads("1 Gbit/s", Threads::One), 1);
    assert_eq!(threads("1 Gbit/s", Threads::UpTo(1)), 1);
    assert_eq!(threads("1 Gbit/s", Threads::UpTo(3)), 3);
    assert_eq!(threads("1 Gbit/s", Threads::UpTo(300)), 4, "more would wait for the gates");
    assert_eq!(threads("1 Gbit/s", Threads::Exactly(300)), 7, "one for the gates, and one for each flow");
    assert_eq!(threads("1 Mbit/s", Threads::UpTo(3)), 1, "some packets in a round");
    assert_eq!(threads("1 Mbit/s", Threads::Exactly(3)), 3);
}

/// Each thread after the first has a copy of all flows. What takes too much memory has fewer threads.
#[test]
fn copies_have_a_limit() {
    let of = |flows| Threads::UpTo(4).most(flows);
    assert_eq!((of(1000), of(20_000), of(30_000), of(60_000)), (4, 3, 2, 1));
    assert_eq!((Threads::Exactly(4).most(60_000), Threads::One.most(1)), (4, 1));
}

#[test]
fn it_goes_on_in_steps_and_tells_what_it_has() {
    let one = Simulation::new(&plan(Threads::One), None).expect("a run").run();
    let mut several = Simulation::new(&plan(Threads::Exactly(3)), None).expect("a run");
    let (mut before, mut looks) = (Time::ZERO, 0);
    while several.run_some(500) {
        assert!(several.now() >= before);
        before = several.now();
        let series = several.series().expect("probes are on");
        let all = one.series.as_ref().expect("probes are on");
        assert!(series.at.len() >= looks && all.at.starts_with(&series.at));
        assert!(all.flows.iter().zip(&series.flows).all(|(all, flow)| all.starts_with(flow)));
        looks = series.at.len();
    }
    assert!(looks > 10);
    assert_eq!(format!("{:?}", several.run()), format!("{one:?}"));
}

#[test]
fn it_may_end_half_way() {
    for packets in [0, 1, 1000] {
        let mut run = Simulation::new(&plan(Threads::Exactly(3)), None).expect("a run");
        assert!(run.run_some(packets));
        drop(run);
    }
}

/// A number that a sender draws in another thread counts as drawn.
#[test]
fn what_other_threads_draw_is_seen() {
    let drawn = |more: &str, threads| {
        let mut point = points(&format!("jitter = \"off\"\n{}", scenario("100 Mbit/s", more)))[0].clone();
        Arc::make_mut(&mut point.scenario).threads = threads;
        run_point(&point, false, &AtomicBool::new(false)).expect("a run").drawn
    };
    for threads in [Threads::One, Threads::Exactly(2)] {
        assert!(!drawn("", threads));
        assert!(drawn("\n[[flows]]\ncontrol = \"pert\"", threads), "{threads:?}");
    }
}

/// A controller that panics at its hundredth acknowledgement.
#[derive(Clone, Debug)]
struct Faulty(u32);

static FAULTY: Scheme = scheme("faulty");

impl Controller for Faulty {
    fn grow(&mut self, _: &Path, ack: &Ack, w: &mut Window) {
        self.0 += 1;
        assert!(self.0 < 100, "as it was made");
        w.cwnd += ack.acked;
    }

    fn cut(&mut self, _: &Path, _: &Window, _: Signal) -> Option<f64> {
        None
    }
}

impl Blueprint for Faulty {
    fn needs(&self) -> Needs {
        Needs::NOTHING
    }

    fn build(self: Arc<Self>) -> Box<dyn Controller> {
        Box::new((*self).clone())
    }

    fn checksum(&self) -> u64 {
        0
    }

    fn of_flow(self: Arc<Self>, _number: usize, _label: &str) -> Arc<dyn Blueprint> {
        self
    }
}

#[test]
fn a_panic_of_another_thread_is_one_of_the_run() {
    for flow in [0, 5] {
        let mut plan = plan(Threads::Exactly(3));
        plan.flows[flow].control = Control::Window(Settings::brought(&FAULTY, Arc::new(Faulty(0))));
        let run = Simulation::new(&plan, None).expect("a run");
        let panic = catch_unwind(AssertUnwindSafe(|| run.run())).expect_err("it panics");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"as it was made"));
    }
}
