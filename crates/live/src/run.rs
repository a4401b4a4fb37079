//! An emulated run from beginning to end: hosts, parts of the path, flows or programs, results.

use crate::capture::{Captured, Captures};
use crate::clock::Clock;
use crate::crossings::{Crossings, longest};
use crate::error::LiveError;
use crate::fidelity::{Fidelity, Sensitivity};
use crate::flow::{Flow, zeros};
use crate::host::Host;
use crate::layout::{self, Layout};
use crate::looks::{Looks, Times};
use crate::own::Own;
use crate::paced::{Paced, Told};
use crate::program::{self, Program};
use crate::running::Running;
use crate::sample::{Due, Schedule, Watched};
use crate::schedule;
use crate::shard::{Route, Shard, ShardReport, Source, Stream};
use ackclock_files::Folder;
use ackclock_net::LinkTally;
use ackclock_net::{accesses, stages};
use ackclock_scenario::flow_trace::{Crossing, FlowTrace, Owner};
use ackclock_scenario::measured::{CbrTally, Measured};
use ackclock_scenario::plan::FlowPlan;
use ackclock_scenario::results::PointResult;
use ackclock_scenario::series::{Glimpse, Series};
use ackclock_scenario::{Built, Point};
use ackclock_sockets::raise_open_files;
use ackclock_units::{Duration, Time};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Instant;

/// The number of samples in a run without a probe interval.
const LOOKS: u64 = 500;
/// The longest sleep of the leading thread, and so the longest time until it notices an interruption.
const STEP: std::time::Duration = std::time::Duration::from_millis(20);
/// The interval of samples while programs run. How long they run is not known.
const PROGRAM_PROBE: Duration = Duration::from_millis(100);

/// The traffic of an emulation.
#[derive(Clone, Debug)]
pub enum Load {
    /// The scenario's flows.
    Flows,
    /// A program in the first flow's sending host, until it ends. Another one may run in the receiving host.
    Programs {
        /// The program in the receiving host. It is ended when the other one has ended.
        serve: Option<Program>,
        /// The program in the sending host.
        command: Program,
    },
    /// A program in a host of the user's choice, until it ends.
    Shell {
        /// The host.
        host: String,
        /// The program.
        shell: Program,
    },
}

/// A request for an emulation.
pub struct Request<'a> {
    /// The scenario.
    pub point: &'a Point,
    /// The controller's name in the kernel, for each group of flows.
    pub controls: Vec<String>,
    /// For each group of flows, true if our own TCP sends instead of the kernel's. Groups that are not there
    /// are the kernel's. Programs are always in hosts of the kernel.
    pub own: Vec<bool>,
    /// The traffic of an emulation.
    pub load: Load,
    /// Links to capture, and the directory for the files.
    pub captures: Option<(Vec<String>, Folder)>,
    /// Called with the cookies of the hosts' network namespaces before anything is sent there.
    pub admit: &'a (dyn Fn(&[u64]) -> io::Result<()> + Sync),
    /// Called with what each probe sees of the scenario's flows and links, as it sees it. It must not wait.
    pub see: Option<&'a (dyn Fn(Glimpse) + Sync)>,
}

/// The outcome of an emulation.
pub struct Outcome {
    /// The results, in the simulator's form. Expectations are not judged.
    pub result: PointResult,
    /// The emulator's own error.
    pub emulation: Fidelity,
    /// The exit status of the command or the shell.
    pub exit: Option<i32>,
}

/// Tells without making anything whether a scenario's flows can be emulated. `own`: as in [`Request`].
///
/// # Errors
///
/// [`LiveError`] if the scenario is not valid or cannot be emulated.
pub fn check(point: &Point, own: &[bool]) -> Result<(), LiveError> {
    Layout::new(&point.scenario.build()?, own).map(drop)
}

/// Emulates a scenario. Calls `go_on` from time to time with the share of the time that has passed, and stops
/// if it returns false.
///
/// # Errors
///
/// [`LiveError`] if the scenario is not valid or cannot be emulated, the process lacks capabilities, the
/// kernel refuses an operation, or the run is interrupted.
pub fn emulate(request: &Request<'_>, go_on: &dyn Fn(f64) -> bool) -> Result<Outcome, LiveError> {
    crate::privilege::check()?;
    raise_open_files();
    let mut built = request.point.scenario.build()?;
    let own = if matches!(request.load, Load::Flows) { &*request.own } else { &[] };
    let layout = Layout::new(&built, own)?;
    let mut first = 0;
    for group in &mut built.groups {
        let own = layout.hosts[2 * first].own;
        let config = &built.plan.flows[first].config;
        // Real headers determine the payload of a segment, and the kernel handles TCP's losses.
        group.payload = layout::payload(&built.plan.flows[first]);
        if built.plan.flows[first].control.window().is_some() && !own {
            (group.recovery, group.detection, group.slow_start) = ("kernel", "kernel", "kernel");
        }
        group.segment = u32::from(config.segment_bytes());
        first += group.count;
    }
    let make = |host: &layout::HostPlan| {
        if !go_on(0.0) {
            return Err(LiveError::Interrupted);
        }
        if host.own {
            return Host::own(&host.name, host.address);
        }
        Host::make(&host.name, host.address, host.address6, &host.settings)
    };
    let hosts = layout.hosts.iter().map(make).collect::<Result<Vec<_>, _>>()?;
    let cookies: Vec<u64> = hosts.iter().filter_map(|host| host.cookie).collect();
    (request.admit)(&cookies).map_err(LiveError::kernel("the controllers cannot be told of the hosts"))?;
    let (clock, stop, closed) = (Clock::start(), AtomicBool::new(false), AtomicBool::new(false));
    let paced = |flow: &FlowPlan| flow.control.transport().map(|_| Arc::default());
    let told: Vec<Option<Arc<Told>>> = built.plan.flows.iter().map(paced).collect();
    let zeros = zeros().map_err(LiveError::kernel("a file in memory cannot be made"))?;
    let (built, layout, hosts, told) = (&built, &layout, &*hosts, &*told);
    let run = Run { request, built, layout, hosts, told, zeros: &zeros, clock, stop: &stop, closed: &closed };
    run.perform(go_on)
}

/// A run that is under way.
#[derive(Clone, Copy)]
struct Run<'a> {
    request: &'a Request<'a>,
    built: &'a Built,
    layout: &'a Layout,
    hosts: &'a [Host],
    /// For each rate-based flow, where its path tells of losses.
    told: &'a [Option<Arc<Told>>],
    /// What flows of the kernel's TCP send.
    zeros: &'a OwnedFd,
    clock: Clock,
    /// True when the run is over, so that flows and programs end.
    stop: &'a AtomicBool,
    /// True when no sender is left, so that the paths end. They end last.
    closed: &'a AtomicBool,
}

/// The results of the flows or programs.
struct Carried {
    watched: Vec<Watched>,
    exit: Option<i32>,
    end: Time,
}

impl<'a> Run<'a> {
    fn perform(self, go_on: &dyn Fn(f64) -> bool) -> Result<Outcome, LiveError> {
        let wall = Instant::now();
        let plan = &self.built.plan;
        let flows = self.flows();
        let (end, measure) = match self.request.load {
            Load::Flows => (plan.duration, plan.measure),
            _ => (Time::NEVER, (Time::ZERO, Time::NEVER)),
        };
        let probe = match self.request.load {
            Load::Flows => {
                plan.probe.unwrap_or(Duration::from_nanos((plan.duration.as_nanos() / LOOKS).max(1)))
            }
            _ => PROGRAM_PROBE,
        };
        let times = Times { from: measure.0, to: measure.1, probe };
        let captures = match &self.request.captures {
            Some((names, folder)) => Some(Captures::begin(names, &self.built.links, folder)?),
            None => None,
        };
        let captured = captures.as_ref().map(Captures::links).unwrap_or_default();
        let (passing, passed) = channel();
        let capture = captures.as_ref().map(|_| passing);
        let parts: Vec<Shard<'_>> = self
            .layout
            .parts
            .iter()
            .map(|paths| self.part(paths, times, &captured, capture.clone()))
            .collect();
        drop(capture);
        let (carried, parts, overrun) = thread::scope(|scope| {
            let writer = captures.map(|it| scope.spawn(move || it.write(&passed, || self.clock.now())));
            let parts: Vec<_> =
                parts.into_iter().map(|part| scope.spawn(move || self.ending(|| part.run()))).collect();
            let carried = match &self.request.load {
                Load::Flows => schedule::among_hosts(|| {
                    self.with_flows(&flows, end, Schedule::new(measure, probe), go_on)
                }),
                load => self.with_programs(load, go_on),
            };
            self.stop.store(true, Ordering::Relaxed);
            self.closed.store(true, Ordering::Relaxed);
            let parts = parts.into_iter().map(|part| joined(part, "a part of the path")).collect::<Vec<_>>();
            let written = writer.map_or(Ok(()), |writer| joined(writer, "the capture"));
            // For a run with a duration: how much later everything had ended.
            let overrun = self.clock.now().since(end);
            // Report what made the run end early, not what followed from it.
            let parts = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
            written?;
            Ok::<_, LiveError>((carried?, parts, overrun))
        })?;
        self.outcome(carried, parts, overrun, &flows, wall)
    }

    /// Ends the run if the work ends early, by an error or a panic. The paths go on until flows and programs
    /// have noticed.
    fn ending<T>(self, work: impl FnOnce() -> Result<T, LiveError>) -> Result<T, LiveError> {
        struct Ends<'a>(&'a AtomicBool, bool);
        impl Drop for Ends<'_> {
            fn drop(&mut self) {
                if self.1 {
                    self.0.store(true, Ordering::Relaxed);
                }
            }
        }
        let mut ends = Ends(self.stop, true);
        let outcome = work();
        ends.1 = outcome.is_err();
        outcome
    }

    fn flows(self) -> Vec<Running<'a>> {
        let groups = self.built.groups.iter().zip(&self.request.controls);
        let members = groups.flat_map(|(group, control)| std::iter::repeat_n((group, control), group.count));
        let flows = self.built.plan.flows.iter().zip(members).enumerate();
        flows
            .map(|(number, (plan, (group, control)))| {
                let ends = (&self.hosts[2 * number], &self.hosts[2 * number + 1]);
                let (payload, clock, stop) = (group.payload, self.clock, self.stop);
                match plan.control.transport() {
                    Some(transport) => {
                        let told = self.told[number].clone().unwrap_or_default();
                        Running::Paced(Paced::new(plan, transport, ends, payload, told, clock, stop))
                    }
                    None => {
                        let flow = Flow::new(plan, ends, control, payload, clock, stop, self.zeros);
                        match plan.control.window().filter(|_| self.layout.hosts[2 * number].own) {
                            Some(control) => Running::Own(Box::new(Own::new(flow, control))),
                            None => Running::Tcp(flow),
                        }
                    }
                }
            })
            .collect()
    }

    fn part(
        self,
        paths: &[usize],
        times: Times,
        captured: &[usize],
        capture: Option<Sender<Captured>>,
    ) -> Shard<'a> {
        let plan = &self.built.plan;
        let all: Vec<&[usize]> = self.layout.paths.iter().map(|path| &*path.links).collect();
        let accesses = accesses(&plan.links, plan.measured, &all, &[]);
        let place = |path: usize| paths.iter().position(|&it| it == path).expect("it is of this part");
        let first_stream = 2 * plan.flows.len();
        let ways = paths.iter().map(|&number| {
            let path = &self.layout.paths[number];
            let told = path.flow.and_then(|flow| self.told[flow].clone());
            let stream = number.checked_sub(first_stream).map(|stream| Owner::Stream(stream as u32));
            let owner = path.flow.map(|flow| Owner::Flow(flow as u32)).or(stream);
            Route { stages: stages(&path.links, &accesses, &plan.links), to: path.to, told, owner }
        });
        let mut from: Vec<usize> = paths.iter().filter_map(|&path| self.layout.paths[path].from).collect();
        from.sort_unstable();
        from.dedup();
        let sources = from.into_iter().map(|host| {
            let reached = self.layout.reached(host, paths).into_iter();
            Source {
                host,
                zeros: self.sends_zeros(host),
                ways: reached.map(|(address, path)| (address, place(path))).collect(),
            }
        });
        let streams = paths.iter().enumerate().filter(|(_, path)| **path >= first_stream);
        let streams = streams.map(|(way, path)| {
            let number = path - first_stream;
            Stream::new(plan.streams[number].clone(), way, number)
        });
        let mut measured: Vec<usize> =
            paths.iter().flat_map(|&path| self.layout.paths[path].links.clone()).collect();
        measured.retain(|&link| link < plan.measured);
        measured.sort_unstable();
        measured.dedup();
        let streams: Vec<Stream> = streams.collect();
        Shard {
            clock: self.clock,
            hosts: self.hosts,
            links: plan.links.clone(),
            ways: ways.collect(),
            sources: sources.collect(),
            looks: Looks::new(times, &measured, streams.len(), self.request.see),
            streams,
            crossings: Crossings::new(&self.watched(&measured)),
            captured: captured.to_vec(),
            capture,
            stop: self.closed,
        }
    }

    /// True if nobody looks at what this host sends: data of one of the kernel's flows, or acknowledgements
    /// of it. A client's requests are looked at.
    fn sends_zeros(self, host: usize) -> bool {
        let plan = &self.built.plan.flows[host / 2];
        matches!(self.request.load, Load::Flows)
            && !self.hosts[host].is_own()
            && plan.control.window().is_some()
            && plan.asking.is_none()
    }

    /// Those of these links that are on the way of a followed flow.
    fn watched(self, links: &[usize]) -> Vec<usize> {
        let flows = self.followed().map(|flow| &self.built.plan.flows[flow].forward);
        let ways: Vec<&Vec<usize>> = flows.collect();
        links.iter().copied().filter(|link| ways.iter().any(|way| way.contains(link))).collect()
    }

    /// The flows that are followed. Where programs run there are none.
    fn followed(self) -> impl Iterator<Item = usize> + 'a {
        let flows = if matches!(self.request.load, Load::Flows) { &*self.built.followed } else { &[] };
        flows.iter().copied()
    }

    /// The queues that the followed flows met.
    fn courses(self, mut queues: BTreeMap<usize, Vec<Crossing>>) -> Vec<FlowTrace> {
        let plan = &self.built.plan;
        let course = |flow: usize| {
            let queue = longest(&mut queues, &plan.flows[flow].forward, plan.duration)?;
            Some(FlowTrace { flow, tapped: true, queue: Some(queue), ..FlowTrace::default() })
        };
        self.followed().filter_map(course).collect()
    }

    /// Runs the scenario's flows.
    fn with_flows(
        self,
        flows: &[Running<'_>],
        end: Time,
        mut schedule: Schedule,
        go_on: &dyn Fn(f64) -> bool,
    ) -> Result<Carried, LiveError> {
        thread::scope(|scope| {
            let threads: Vec<_> = flows.iter().flat_map(|flow| self.spawn(scope, flow)).collect();
            let mut watched: Vec<Watched> = flows.iter().map(|_| Watched::default()).collect();
            let mut interrupted = false;
            loop {
                let (at, due) = schedule.next();
                if !self.wait_until(at.min(end), end, go_on) {
                    interrupted = !self.stop.load(Ordering::Relaxed);
                    break;
                }
                if at > end || (at == end && due == Due::Look) {
                    break;
                }
                let measuring = schedule.measuring();
                for (number, (watched, flow)) in watched.iter_mut().zip(flows).enumerate() {
                    match due {
                        Due::Begin => watched.begin(flow),
                        Due::End => watched.end(flow),
                        Due::Look => {
                            let sample = watched.look(flow, measuring);
                            if let Some(see) = self.request.see {
                                see(Glimpse::Flow { flow: number, at, sample });
                            }
                        }
                    }
                }
                schedule.done(due);
            }
            self.stop.store(true, Ordering::Relaxed);
            let ended: Vec<_> = threads.into_iter().map(|thread| joined(thread, "a flow")).collect();
            ended.into_iter().collect::<Result<Vec<()>, _>>()?;
            if interrupted { Err(LiveError::Interrupted) } else { Ok(Carried { watched, exit: None, end }) }
        })
    }

    /// The two programs of a flow, each in a thread of its own.
    fn spawn<'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
        flow: &'scope Running<'_>,
    ) -> [ScopedJoinHandle<'scope, Result<(), LiveError>>; 2]
    where
        'a: 'scope,
    {
        match flow {
            Running::Tcp(flow) => {
                let ((listens, listening), (complete, completion)) = (channel(), channel());
                let receiving = move || self.ending(|| flow.receive(&listens, &complete));
                let sending = move || self.ending(|| flow.send(&listening, &completion));
                [scope.spawn(receiving), scope.spawn(sending)]
            }
            Running::Own(flow) => {
                let ((listens, listening), (complete, completion)) = (channel(), channel());
                let receiving = move || self.ending(|| flow.receive(&listens, &complete));
                let sending = move || self.ending(|| flow.send(&listening, &completion));
                [scope.spawn(receiving), scope.spawn(sending)]
            }
            Running::Paced(flow) => {
                let (invite, invitations) = channel();
                let receiving = move || self.ending(|| flow.receive(&invitations));
                let sending = move || self.ending(|| flow.send(&invite));
                [scope.spawn(receiving), scope.spawn(sending)]
            }
        }
    }

    /// Sleeps. False if the run ends before.
    fn wait_until(self, at: Time, end: Time, go_on: &dyn Fn(f64) -> bool) -> bool {
        loop {
            let now = self.clock.now();
            let share = now.as_secs_f64() / end.as_secs_f64().max(1e-9);
            if self.stop.load(Ordering::Relaxed) || !go_on(share.min(1.0)) {
                return false;
            }
            let left = at.since(now);
            if left.is_zero() {
                return true;
            }
            thread::sleep(std::time::Duration::from_nanos(left.as_nanos()).min(STEP));
        }
    }

    /// Runs the user's programs.
    fn with_programs(self, load: &Load, go_on: &dyn Fn(f64) -> bool) -> Result<Carried, LiveError> {
        let (sender, receiver) = (&self.hosts[0], &self.hosts[1]);
        let (host, program, serve) = match load {
            Load::Programs { serve, command } => (sender, command, serve.as_ref()),
            Load::Shell { host, shell } => (self.host(host)?, shell, None),
            Load::Flows => return Err(LiveError::Defect { what: "flows are no programs".to_owned() }),
        };
        let program = program.addressed(sender, receiver);
        let serve = serve.map(|serve| serve.addressed(sender, receiver));
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            let over = move || self.stop.load(Ordering::Relaxed);
            let interrupted_or = move |grace| over().then_some(program::SHORT).or(grace);
            let served = serve.map(|serve| {
                let ended = &ended;
                scope.spawn(move || {
                    let grace = || ended.load(Ordering::Relaxed).then_some(program::GRACE);
                    self.ending(|| serve.run(receiver, &|| interrupted_or(grace())))
                })
            });
            let running = scope.spawn(move || self.ending(|| program.run(host, &|| interrupted_or(None))));
            while !running.is_finished() && go_on(0.0) && !over() {
                thread::sleep(STEP);
            }
            let interrupted = !running.is_finished() && !over();
            let end = self.clock.now();
            if interrupted {
                self.stop.store(true, Ordering::Relaxed);
            }
            let status = joined(running, "a program");
            ended.store(true, Ordering::Relaxed);
            if let Some(served) = served {
                joined(served, "a program")?;
            }
            let exit = Some(program::code(status?));
            if interrupted {
                Err(LiveError::Interrupted)
            } else {
                Ok(Carried { watched: Vec::new(), exit, end })
            }
        })
    }

    fn host(&self, name: &str) -> Result<&Host, LiveError> {
        self.hosts.iter().find(|host| host.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.hosts.iter().map(|host| host.name.as_str()).collect();
            LiveError::NoHost { name: name.to_owned(), known: format!("there are {}", known.join(", ")) }
        })
    }

    /// Puts everything together.
    fn outcome(
        self,
        carried: Carried,
        mut parts: Vec<ShardReport>,
        overrun: Duration,
        flows: &[Running<'_>],
        wall: Instant,
    ) -> Result<Outcome, LiveError> {
        let lost = self.hosts.iter().map(Host::lost).sum::<Result<u64, _>>()?;
        let senders = flows.iter().filter_map(Running::lateness).reduce(|mut all, more| {
            all.add(&more);
            all
        });
        let (path, controls) = (self.sensitivity(), &self.request.controls);
        let mut emulation = Fidelity::new(&parts, senders.as_ref(), lost, overrun, &path, controls);
        emulation.gave_up = flows.iter().filter_map(Running::gave_up).collect();
        let queues = parts.iter_mut().flat_map(|part| std::mem::take(&mut part.queues)).collect();
        let measured = self.measured(&carried, parts, flows);
        let scenario = &self.request.point.scenario;
        let seconds = |span: Duration| span.as_secs_f64();
        let span = match self.request.load {
            Load::Flows => {
                (seconds(scenario.duration), [seconds(scenario.measure.0), seconds(scenario.measure.1)])
            }
            _ => (carried.end.as_secs_f64(), [0.0, carried.end.as_secs_f64()]),
        };
        let parameters = &self.request.point.parameters;
        let wall_s = wall.elapsed().as_secs_f64();
        let mut result = PointResult::new(parameters, self.built, scenario.seed, span, measured, wall_s);
        result.courses = self.courses(queues);
        Ok(Outcome { result, emulation, exit: carried.exit })
    }

    fn sensitivity(self) -> Sensitivity {
        let links = self.built.plan.links.iter().zip(&self.built.links);
        let mtu = self.layout.hosts.first().map_or(0, |host| host.settings.mtu);
        let fills = links.filter_map(|(link, info)| {
            let seconds = layout::room(link, mtu, f64::INFINITY) * 8.0 / link.rate().bps_f64();
            (seconds > 0.0 && seconds.is_finite()).then(|| (info.name.clone(), seconds))
        });
        Sensitivity { rtt: self.shortest(), queues: fills.collect() }
    }

    /// The shortest propagation round-trip time of a flow.
    fn shortest(self) -> Duration {
        let plan = &self.built.plan;
        let delay =
            |links: &[usize]| links.iter().fold(Duration::ZERO, |sum, &link| sum + plan.links[link].delay());
        plan.flows
            .iter()
            .map(|flow| delay(&flow.forward) + delay(&flow.reverse))
            .min()
            .unwrap_or(Duration::MAX)
    }

    fn measured(self, carried: &Carried, parts: Vec<ShardReport>, flows: &[Running<'_>]) -> Measured {
        let plan = &self.built.plan;
        let mut links: BTreeMap<usize, (LinkTally, Vec<(u32, f32)>)> = BTreeMap::new();
        let mut streams = vec![(CbrTally::default(), Vec::new()); plan.streams.len()];
        for part in parts {
            links.extend(part.links.into_iter().map(|(link, tally, series)| (link, (tally, series))));
            part.streams.into_iter().for_each(|(number, tally, series)| streams[number] = (tally, series));
        }
        // A link that no flow uses carried nothing.
        let mut of_link = |link| links.remove(&link).unwrap_or_default();
        let (links, mut seen): (Vec<_>, Vec<_>) = (0..plan.measured).map(&mut of_link).unzip();
        let (streams, mut delivered): (Vec<_>, Vec<_>) = streams.into_iter().unzip();
        let watched = carried.watched.iter().zip(flows);
        let mut of_flows: Vec<_> = carried.watched.iter().map(|watched| watched.series.clone()).collect();
        let looks =
            of_flows.iter().map(Vec::len).chain(seen.iter().map(Vec::len).filter(|&looks| looks > 0)).min();
        let looks = looks.unwrap_or(0);
        let inner = carried.watched.iter().map(|watched| {
            let (names, values) = &watched.inner;
            (names.clone(), values[..values.len().min(looks * names.len())].to_vec())
        });
        let inner = inner.chain(std::iter::repeat_with(Default::default)).take(flows.len()).collect();
        of_flows.iter_mut().for_each(|series| series.truncate(looks));
        seen.iter_mut().for_each(|series| series.resize(looks, (0, 0.0)));
        delivered.iter_mut().for_each(|series| series.resize(looks, 0.0));
        let probe = plan.probe.unwrap_or(Duration::from_nanos((plan.duration.as_nanos() / LOOKS).max(1)));
        let series = Series {
            at: (0..looks as u64).map(|look| Time::ZERO + probe.saturating_mul(look)).collect(),
            flows: of_flows,
            links: seen,
            streams: delivered,
            inner,
        };
        Measured {
            // Programs report their results themselves, and nobody watches a flow then.
            flows: watched.clone().map(|(watched, flow)| watched.tally(flow, plan.measure)).collect(),
            streams,
            links,
            delivered_segments: watched.map(|(watched, flow)| watched.delivered(flow)).sum(),
            series: (matches!(self.request.load, Load::Flows)).then_some(series),
        }
    }
}

/// The result of a thread. A panic in it is a defect, and is passed on.
fn joined<T>(thread: ScopedJoinHandle<'_, Result<T, LiveError>>, what: &str) -> Result<T, LiveError> {
    thread.join().unwrap_or_else(|_| Err(LiveError::Defect { what: format!("{what} panicked") }))
}
