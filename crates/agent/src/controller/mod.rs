//! The controller: runs a script with the agents of its hosts.

mod board;
mod link;

use crate::protocol::{MAX_BATCH, Meeting, Refusal, Reply, Request};
use crate::report::Report;
use crate::script::{Address, End, Plan, Stage};
use crate::spec::MAX_DURATION;
use board::{Board, Key};
use link::Link;
use rustls::ClientConfig;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// So long sources may take to be connected with their sinks.
const OPENING: Duration = Duration::from_secs(30);
/// So long a sink over TCP may go on reading when its source has sent everything.
const READING: Duration = Duration::from_secs(30);
/// A sink over UDP waits so long for what is still on its way.
const DRAINING: Duration = Duration::from_secs(1);

/// What one end did.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EndOutcome {
    /// Its report.
    pub report: Report,
    /// Its time stamps: us since its first byte, and bytes so far.
    pub stamps: Vec<(u64, u64)>,
}

/// What became of a transfer.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outcome {
    /// The end that sent.
    pub source: EndOutcome,
    /// The end that received.
    pub sink: EndOutcome,
    /// Why it failed, if it did.
    pub failed: Option<Refusal>,
}

/// Tells those outside how far a run is.
pub struct Watch {
    /// Set from outside: everything ends.
    stop: AtomicBool,
    /// Everything ends after so long, too.
    limit: Duration,
    going_on: AtomicUsize,
    done: AtomicUsize,
}

impl Default for Watch {
    /// A test takes at most a day. An hour more is for its begin and its end.
    fn default() -> Watch {
        Watch::limited(Duration::from_micros(MAX_DURATION) + Duration::from_secs(3600))
    }
}

impl Watch {
    /// Of a run that ends after `limit` at the latest. An agent ends what takes longer than its policy
    /// allows, but a broken or hostile one may stay in touch for ever.
    pub fn limited(limit: Duration) -> Watch {
        Watch {
            stop: AtomicBool::new(false),
            limit,
            going_on: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
        }
    }

    /// Ends everything.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// True if everything shall end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The number of transfers that are going on, and of those that are done.
    pub fn seen(&self) -> (usize, usize) {
        (self.going_on.load(Ordering::Relaxed), self.done.load(Ordering::Relaxed))
    }
}

struct Run<'a> {
    plan: &'a Plan,
    agents: HashMap<Address, usize>,
    links: Vec<Link>,
    board: Arc<Board>,
    watch: &'a Watch,
    begun: Instant,
    outcomes: Mutex<Vec<Outcome>>,
}

/// A transfer in progress: its number, and its ends on the board. Sources have even numbers, sinks odd ones.
#[derive(Clone, Copy)]
struct Pair {
    transfer: usize,
    source: Key,
    sink: Key,
}

/// Runs `plan`. Returns what became of each transfer, in the order of the plan.
///
/// # Errors
///
/// If an agent cannot be reached, or does not trust this controller: then nothing has been sent.
pub fn run(plan: &Plan, config: &Arc<ClientConfig>, watch: &Watch) -> Result<Vec<Outcome>, Refusal> {
    let begun = Instant::now();
    let board = Arc::new(Board::new(2 * plan.transfers.len() as u32));
    let mut agents = HashMap::new();
    let addresses = plan.agents();
    for (number, agent) in addresses.iter().enumerate() {
        agents.insert(agent.clone(), number);
    }
    // All at once: hosts may be far away.
    let opened: Vec<Result<Link, Refusal>> = thread::scope(|scope| {
        let open = |(number, agent)| {
            let (config, board) = (config.clone(), board.clone());
            scope.spawn(move || Link::open(agent, number, config, board))
        };
        let opening: Vec<_> = addresses.iter().enumerate().map(open).collect();
        let broken = || Refusal::new("no_thread", "a thread ended", "please report it");
        opening.into_iter().map(|it| it.join().unwrap_or_else(|_| Err(broken()))).collect()
    });
    let links: Vec<Link> = opened.into_iter().collect::<Result<_, _>>()?;
    let outcomes = Mutex::new(vec![Outcome::default(); plan.transfers.len()]);
    let run = Run { plan, agents, links, board, watch, begun, outcomes };
    run.stage(&plan.stage);
    for link in &run.links {
        if run.is_over() {
            // The connection ends with this, and all traffic with it.
            let _ = link.ask(Request::Kill {});
        }
    }
    Ok(run.outcomes.into_inner().unwrap_or_else(PoisonError::into_inner))
}

impl Run<'_> {
    fn stage(&self, stage: &Stage) {
        match stage {
            Stage::InTurn(stages) => stages.iter().for_each(|stage| self.stage(stage)),
            Stage::Together(transfers, stages) => thread::scope(|scope| {
                for stage in stages {
                    scope.spawn(|| self.stage(stage));
                }
                self.group(transfers);
            }),
        }
    }

    fn key(&self, end: &End, number: usize) -> Key {
        (self.agents.get(&end.agent).copied().unwrap_or(0), number as u32)
    }

    fn is_late(&self) -> bool {
        self.begun.elapsed() >= self.watch.limit
    }

    /// True if everything shall end.
    fn is_over(&self) -> bool {
        self.watch.is_stopped() || self.is_late()
    }

    /// Notes of these transfers that the time was over, if it is.
    fn fail_late(&self, transfers: impl Iterator<Item = usize>) {
        if self.is_late() {
            let message = format!("the script was not over after {} s", self.watch.limit.as_secs());
            let why = Refusal::new("limit", message, "raise --limit, or look why an agent does not end");
            transfers.for_each(|transfer| self.fail(transfer, why.clone()));
        }
    }

    fn fail(&self, transfer: usize, why: Refusal) {
        let mut outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        outcomes[transfer].failed.get_or_insert(why);
    }

    /// All transfers of a block go through the phases in step.
    fn group(&self, transfers: &[usize]) {
        if transfers.is_empty() || self.is_over() {
            self.fail_late(transfers.iter().copied());
            return;
        }
        self.watch.going_on.fetch_add(transfers.len(), Ordering::Relaxed);
        let all: Vec<Pair> = transfers.iter().map(|&transfer| self.pair(transfer)).collect();
        let mut alive: Vec<Pair> = Vec::new();
        for pair in &all {
            match self.setup(pair) {
                Ok(()) => alive.push(*pair),
                Err(refusal) => self.fail(pair.transfer, refusal),
            }
            if self.is_over() {
                break;
            }
        }
        let sources = |pairs: &[Pair]| -> Vec<Key> { pairs.iter().map(|pair| pair.source).collect() };
        let sinks = |pairs: &[Pair]| -> Vec<Key> { pairs.iter().map(|pair| pair.sink).collect() };
        self.ask_all(&sources(&alive), |tests| Request::Open { tests });
        self.wait(&sources(&alive), OPENING, |progress| progress.opened);
        alive.retain(|pair| self.opened(pair));
        self.ask_all(&sources(&alive), |tests| Request::Run { tests });
        // Agents end what takes longer than their policies allow.
        self.wait_for_sources(&alive);
        let going_on = alive.iter().filter(|pair| !self.board.progress(pair.source).ended);
        self.fail_late(going_on.map(|pair| pair.transfer));
        let (udp, tcp): (Vec<Pair>, Vec<Pair>) =
            alive.iter().partition(|pair| self.plan.transfers[pair.transfer].sink.spec.protocol.is_udp());
        let failed = |pair: &&Pair| self.board.progress(pair.source).failed.is_none();
        let whole: Vec<Pair> = tcp.iter().filter(failed).copied().collect();
        self.wait(&sinks(&whole), READING, |_| false);
        self.wait(&sinks(&udp), DRAINING, |_| false);
        let ends: Vec<Key> = [sources(&all), sinks(&all)].concat();
        self.ask_all(&ends, |tests| Request::Finish { tests });
        // Both: an end whose connection broke may be heard before the one that broke it and knows why.
        self.wait(&[sources(&alive), sinks(&alive)].concat(), DRAINING, |_| false);
        // Sources first: see the agent's `close`.
        self.ask_all(&sources(&all), |tests| Request::Close { tests });
        self.ask_all(&sinks(&all), |tests| Request::Close { tests });
        for pair in &alive {
            self.collect(pair);
        }
        self.ask_all(&ends, |tests| Request::Teardown { tests });
        self.watch.going_on.fetch_sub(transfers.len(), Ordering::Relaxed);
        self.watch.done.fetch_add(transfers.len(), Ordering::Relaxed);
    }

    fn pair(&self, transfer: usize) -> Pair {
        let ends = &self.plan.transfers[transfer];
        let (source, sink) = (self.key(&ends.source, 2 * transfer), self.key(&ends.sink, 2 * transfer + 1));
        Pair { transfer, source, sink }
    }

    /// Prepares the sink, then the source, which learns from the sink where to go.
    fn setup(&self, pair: &Pair) -> Result<(), Refusal> {
        let ends = &self.plan.transfers[pair.transfer];
        let own = |end: &End| end.own.as_ref().map(|own| (own.host.clone(), own.port));
        let from = ends.source.own.as_ref().map_or(&ends.source.agent.host, |own| &own.host);
        let request = |end: &End, (_, test): Key, meeting: Option<Meeting>, from: Option<String>| {
            Request::Setup { test, spec: Box::new(end.spec.clone()), own: own(end), meeting, from }
        };
        let told = self.links[pair.sink.0].ask(request(&ends.sink, pair.sink, None, Some(from.clone())))?;
        let Reply::Meeting(meeting) = told else {
            return Err(Refusal::new(
                "bad_message",
                "a sink does not say where it is",
                "is it the same version?",
            ));
        };
        self.links[pair.source.0].ask(request(&ends.source, pair.source, Some(meeting), None))?;
        Ok(())
    }

    /// Asks the agents of all these tests at once.
    fn ask_all(&self, tests: &[Key], request: impl Fn(Vec<u32>) -> Request) {
        let mut by_agent: HashMap<usize, Vec<u32>> = HashMap::new();
        for &(agent, test) in tests {
            by_agent.entry(agent).or_default().push(test);
        }
        let asked: Vec<(usize, Request)> = by_agent
            .iter()
            .flat_map(|(&agent, tests)| tests.chunks(MAX_BATCH).map(move |some| (agent, some.to_vec())))
            .map(|(agent, some)| (agent, request(some)))
            .collect();
        thread::scope(|scope| {
            for (agent, request) in asked {
                // An agent that is lost is on the board.
                scope.spawn(move || self.links[agent].ask(request).map(drop));
            }
        });
    }

    /// Waits until all tests have ended, or are as far as they need to be.
    fn wait(&self, tests: &[Key], patience: Duration, far_enough: impl Fn(&board::Progress) -> bool) {
        let begun = Instant::now();
        let mut next = 0;
        while next < tests.len() && begun.elapsed() < patience && !self.is_over() {
            let progress = self.board.progress(tests[next]);
            if progress.ended || far_enough(&progress) {
                next += 1;
            } else {
                self.board.wait();
            }
        }
    }

    /// Waits until each source has ended, or its sink has failed: then the source will be told to end.
    fn wait_for_sources(&self, pairs: &[Pair]) {
        let mut next = 0;
        while next < pairs.len() && !self.is_over() {
            let over = self.board.progress(pairs[next].source).ended;
            if over || self.board.progress(pairs[next].sink).failed.is_some() {
                next += 1;
            } else {
                self.board.wait();
            }
        }
    }

    /// Is its source connected with its sink? If not, why.
    fn opened(&self, pair: &Pair) -> bool {
        let progress = self.board.progress(pair.source);
        if progress.opened && !progress.ended {
            return true;
        }
        let late = || {
            Refusal::new("connection", "the source was not connected in time", "are both hosts reachable?")
        };
        self.fail(pair.transfer, progress.failed.unwrap_or_else(late));
        false
    }

    /// Fetches both reports, and notes why the transfer failed, if it did.
    fn collect(&self, pair: &Pair) {
        let ends = &self.plan.transfers[pair.transfer];
        let source = self.fetch(pair.source, ends.source.spec.stamps);
        let sink = self.fetch(pair.sink, ends.sink.spec.stamps);
        let mut failed: Vec<Refusal> =
            [pair.source, pair.sink].into_iter().filter_map(|end| self.board.progress(end).failed).collect();
        let mut take = |told: Result<EndOutcome, Refusal>| {
            told.unwrap_or_else(|why| {
                failed.push(why);
                EndOutcome::default()
            })
        };
        let (source, sink) = (take(source), take(sink));
        // An end that gives up breaks the connection of the other one, and knows why.
        failed.sort_by_key(|why| why.error == "connection");
        let failed = failed.into_iter().next();
        let mut outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = &mut outcomes[pair.transfer];
        (outcome.source, outcome.sink) = (source, sink);
        // Datagrams that were lost behind the last one that arrived.
        if let (Some(sent), Some(got)) =
            (&outcome.source.report.datagrams, &mut outcome.sink.report.datagrams)
        {
            got.lost = got.lost.max(sent.count.saturating_sub(got.count));
        }
        if outcome.failed.is_none() {
            outcome.failed =
                failed.or_else(|| contradiction(outcome).filter(|_| !ends.sink.spec.protocol.is_udp()));
        }
    }

    /// The report of a test, and as many time stamps as were asked for.
    fn fetch(&self, (agent, test): Key, most: u32) -> Result<EndOutcome, Refusal> {
        let mut outcome = EndOutcome::default();
        loop {
            let from = outcome.stamps.len() as u32;
            match self.links[agent].ask(Request::Report { test, from })? {
                Reply::Report { report, stamps, more } => {
                    let none = stamps.is_empty();
                    outcome.stamps.extend(stamps);
                    outcome.stamps.truncate(most as usize);
                    outcome.report = *report;
                    if !more || none || outcome.stamps.len() == most as usize {
                        return Ok(outcome);
                    }
                }
                _ => {
                    let message = "an agent answers something else than a report";
                    return Err(Refusal::new("bad_message", message, "is it the same version?"));
                }
            }
        }
    }
}

/// Why the reports of a transfer over TCP that went well cannot both be true, if they cannot. Over UDP
/// datagrams may be lost, and networks may double them.
fn contradiction(outcome: &Outcome) -> Option<Refusal> {
    let (sent, got) = (outcome.source.report.bytes, outcome.sink.report.bytes);
    (got != sent).then(|| {
        let message = format!("the source reports {sent} bytes, the sink {got}");
        let help = "one of the agents is wrong: are both the program that they should be?";
        Refusal::new("reports_differ", message, help)
    })
}
