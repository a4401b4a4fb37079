//! A run in phases on several threads.
//!
//! A path is a loop, and packets need a round-trip time for it. So two halves of it can be computed at the
//! same time, if one is half a round ahead of the other: what the senders do now reaches the gates later, and
//! what leaves the gates now reaches the senders later. One thread computes all gates, and the receivers
//! behind them. Each other one computes the senders of some flows.
//!
//! Each thread has a copy of the run, in which only the parts are alive that it computes. So nothing is
//! shared. Between two steps they exchange segments for gates, mail for senders, and clocks. At a barrier
//! what lives elsewhere comes into the copy that looks.

use super::inbox::Gate;
use super::layout::{FLOWS, Layout, Leg};
use super::post::Post;
use super::watch::Unwatched;
use super::worker::Worker;
use super::{FULL, Phases, fastest};
use crate::engine::flow::Flow;
use ackclock_net::Rng;
use ackclock_scenario::measured::Measured;
use ackclock_scenario::plan::{Plan, Threads};
use ackclock_scenario::series::Series;
use ackclock_units::{Duration, Time};
use std::mem::{swap, take};
use std::ops::Range;

/// To wake and to await others takes as long as some packets. Where fewer than this were taken in a step, one
/// thread does the next one.
const ENOUGH: u64 = 1000;

/// A pipeline runs empty at each barrier: so many steps at least are between two of them.
const STEPS: u64 = 4;

/// A run on several threads.
pub(crate) struct Crew {
    /// Gates, and receivers that run ahead. Barriers are here.
    home: Phases,
    hands: Vec<Hand>,
    /// Packets that were taken in the last step.
    last: u64,
    /// With fewer than this, one thread does everything.
    enough: u64,
}

/// Another thread.
struct Hand {
    /// `None` while the thread works on it.
    share: Option<Box<Share>>,
    /// Segments from there that the gates have not seen.
    segments: Vec<Gate>,
    worker: Worker<Share>,
}

/// The senders of some flows.
struct Share {
    /// A copy of the run.
    run: Phases,
    flows: Range<usize>,
    /// The links that belong to these senders and are measured.
    links: Vec<u32>,
    /// Mail that has come since the last step.
    mail: Post,
    /// The next barrier.
    barrier: Time,
    /// True if a random number was drawn.
    drawn: bool,
}

impl Crew {
    /// Prepares a run of `plan` on several threads. `None` if `one` thread suits it better, or must do.
    pub(crate) fn new(plan: &Plan, one: &Phases) -> Option<Crew> {
        let most = plan.threads.most(one.flows.len());
        let enough = if matches!(plan.threads, Threads::Exactly(_)) { 0 } else { ENOUGH };
        // Each packet is taken at a gate at least.
        let pays = || fastest(plan).is_some_and(|rate| rate.time_for(FULL * ENOUGH / 4) <= stride(one, plan));
        if most < 2 || enough > 0 && (one.gates.is_empty() || !pays()) {
            return None;
        }
        let mut home = Phases::new(plan, Layout::of(plan, true).ok()?, Unwatched);
        let stride = stride(&home, plan);
        if stride.is_zero() {
            return None;
        }
        let flows = home.flows.len();
        let shares = flows.min(most - 1);
        let ranges = (0..shares).map(|share| share * flows / shares..(share + 1) * flows / shares);
        let hands: Option<Vec<Hand>> = ranges.map(|flows| Hand::new(plan, &home, flows, stride)).collect();
        home.order.retain(|&part| part != FLOWS);
        home.post = Post::new(flows, Time::NEVER);
        home.sources.iter_mut().for_each(|source| source.next = Time::NEVER);
        Some(Crew { home, hands: hands.filter(|hands| !hands.is_empty())?, last: 0, enough })
    }

    /// How many threads there are.
    pub(crate) fn threads(&self) -> usize {
        1 + self.hands.len()
    }

    /// As [`Phases::run_some`].
    pub(crate) fn run_some(&mut self, packets: u32) -> bool {
        let enough = self.home.taken + u64::from(packets);
        while self.home.taken < enough {
            if !self.step() {
                return false;
            }
        }
        true
    }

    /// As [`Phases::now`].
    pub(crate) fn now(&self) -> Time {
        self.home.now()
    }

    /// As [`Phases::series`].
    pub(crate) fn series(&self) -> Option<Series> {
        self.home.series()
    }

    /// As [`Phases::run`].
    pub(crate) fn run(mut self) -> Measured {
        while self.step() {}
        self.exchange_state();
        self.home.into_measured()
    }

    /// All threads do what they can. False when the run is over.
    fn step(&mut self) -> bool {
        let (barrier, before) = (self.home.looks.next, self.home.taken);
        self.exchange(barrier);
        if self.last >= self.enough {
            self.hands.iter_mut().for_each(Hand::begin);
        }
        self.take_segments();
        self.home.turn(barrier);
        for hand in &mut self.hands {
            let mut share = hand.finish();
            self.home.taken += take(&mut share.run.taken);
            self.home.clocks[FLOWS] = share.run.clocks[FLOWS]; // the same in all of them
            if take(&mut share.drawn) {
                Rng::note_drawn();
            }
            hand.share = Some(share);
        }
        self.last = self.home.taken - before;
        if self.last == 0 {
            self.leap(barrier);
            self.home.taken += 1; // a round without packets takes time, too
        }
        if self.home.clocks.iter().any(|&clock| clock < barrier) {
            return true;
        }
        if barrier == self.home.looks.over {
            return false;
        }
        self.look(barrier);
        true
    }

    /// Hands over segments, mail and clocks.
    fn exchange(&mut self, barrier: Time) {
        let Crew { home, hands, .. } = self;
        for Hand { share, segments, .. } in hands {
            let Some(share) = share else { continue };
            share.mail.swap(&mut home.post, share.flows.clone());
            swap(segments, &mut share.run.gates);
            share.run.clocks.copy_from_slice(&home.clocks);
            share.barrier = barrier;
        }
    }

    /// The gates get the segments that were handed over.
    fn take_segments(&mut self) {
        for hand in &mut self.hands {
            for (gate, more) in self.home.gates.iter_mut().zip(&mut hand.segments) {
                gate.append(more);
            }
        }
    }

    /// Nothing has moved: all go on to the instant at which something will.
    fn leap(&mut self, barrier: Time) {
        self.exchange(barrier);
        self.take_segments();
        let mut due = barrier.min(self.home.due());
        for share in shares(&mut self.hands) {
            share.run.post.append(&mut share.mail);
            due = due.min(share.run.due());
        }
        self.home.go_on(due);
    }

    /// All stand at a barrier.
    fn look(&mut self, barrier: Time) {
        self.exchange_state();
        self.home.look(barrier);
        self.exchange_state();
        for share in shares(&mut self.hands) {
            share.run.looks = self.home.looks;
            share.run.tally.measures_as(&self.home.tally);
            share.run.release();
        }
    }

    /// What lives in the shares changes places with what stands for it at home. Twice, and it is back.
    fn exchange_state(&mut self) {
        let home = &mut self.home;
        for Share { run, flows, links, .. } in shares(&mut self.hands) {
            for flow in flows.clone() {
                exchange_flow(&mut home.flows[flow], &mut run.flows[flow], home.ends[flow].ahead);
                home.tally.exchange(&mut run.tally, flow);
            }
            for &link in &*links {
                swap(&mut home.links[link as usize], &mut run.links[link as usize]);
            }
            if flows.start == 0 {
                for (here, there) in home.sources.iter_mut().zip(&mut run.sources) {
                    here.stream.gather(&mut there.stream);
                }
            }
        }
    }
}

/// All shares. Between two steps they are here.
fn shares(hands: &mut [Hand]) -> impl Iterator<Item = &mut Share> {
    hands.iter_mut().filter_map(|hand| hand.share.as_deref_mut())
}

/// A flow changes places with what stands for it, but for its receiver, if that runs ahead. What both count
/// is counted here.
fn exchange_flow(here: &mut Flow, there: &mut Flow, ahead: bool) {
    swap(here, there);
    if ahead {
        swap(&mut here.receiver, &mut there.receiver);
    }
    here.beyond_the_end += take(&mut there.beyond_the_end);
}

/// The links that packets of these flows pass before any gate, and those of all streams, if they are with
/// them. Nobody else's packets pass these links: each of them has a single source.
fn links_of_senders(run: &Phases, flows: Range<usize>) -> impl Iterator<Item = u32> {
    let streams = if flows.start == 0 { &run.sources[..] } else { &[] };
    let out = run.flows[flows.clone()].iter().map(|flow| &flow.out);
    let out = out.chain(streams.iter().map(|source| &source.stream.out));
    let out = out.filter(|start| start.alone).map(|start| &run.data[start.exit]);
    let in_turn = flows.filter(|&flow| !run.ends[flow].ahead).map(|flow| &run.flows[flow].back);
    let back = in_turn.filter(|start| start.alone).map(|start| &run.acks[start.exit]);
    out.chain(back).flat_map(|Leg { stage, .. }| stage.gate.into_iter().chain(stage.along.iter().copied()))
}

/// How far senders go at once: half a round, so that the other half is computed meanwhile.
fn stride(home: &Phases, plan: &Plan) -> Duration {
    let between = plan.probe.map_or(u64::MAX, |probe| probe.as_nanos() / STEPS);
    Duration::from_nanos((home.round.as_nanos() / 2).min(between))
}

impl Hand {
    /// A thread for the senders of these flows. `stride`: how far they go at once.
    fn new(plan: &Plan, home: &Phases, flows: Range<usize>, stride: Duration) -> Option<Hand> {
        let mut run = Phases::new(plan, Layout::of(plan, true).ok()?, Unwatched);
        run.order = vec![FLOWS];
        run.feeders[FLOWS].push((FLOWS, stride));
        run.delaying.clear();
        run.post = Post::new(run.flows.len(), Time::NEVER);
        flows.clone().for_each(|flow| run.post.agenda.set(flow, Time::ZERO));
        if flows.start > 0 {
            run.sources.iter_mut().for_each(|source| source.next = Time::NEVER);
        }
        let share = Share {
            links: links_of_senders(&run, flows.clone())
                .filter(|&link| (link as usize) < plan.measured)
                .collect(),
            mail: Post::new(run.flows.len(), Time::NEVER),
            barrier: Time::ZERO,
            drawn: false,
            flows,
            run,
        };
        let segments = home.gates.iter().map(|_| Gate::default()).collect();
        Some(Hand { share: Some(Box::new(share)), segments, worker: Worker::new(Share::step)? })
    }

    /// The thread begins a step.
    fn begin(&mut self) {
        if let Some(share) = self.share.take() {
            self.worker.begin(share);
        }
    }

    /// The share after a step. If the thread has not begun one, it is done here.
    fn finish(&mut self) -> Box<Share> {
        let Some(mut share) = self.share.take() else { return self.worker.finish() };
        share.step();
        share
    }
}

impl Share {
    /// The senders do what they can.
    fn step(&mut self) {
        let ((), drawn) = Rng::watched(|| {
            self.run.post.append(&mut self.mail);
            self.run.turn(self.barrier);
            self.run.sort_segments();
        });
        self.drawn = drawn;
    }
}
