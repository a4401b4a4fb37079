//! The threads that measure: one for each probe of each host, and one for the sockets of all programs.

use super::clock::{Clock, LOOK, Trouble};
use super::{Event, News};
use crate::archive::Row;
use crate::plan::{Host, Period};
use crate::probes::counters::Counters;
use crate::probes::ping::Pinger;
use crate::probes::route::route;
use crate::probes::search::search;
use crate::probes::sessions::{Sessions, Watched};
use crate::probes::transfer::{Shown, transfer};
use crate::sample::{Moment, Quantity, Sample};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration as Span;

/// How long a reply to an echo request is waited for.
const PATIENCE: Span = Span::from_secs(2);
/// How often sessions that have ended are fetched from the kernel, which keeps only so many.
const FETCH: Span = Span::from_millis(250);

/// What the probes of a monitor share.
pub(super) struct Shared {
    pub(super) events: Sender<Event>,
    pub(super) stop: &'static AtomicBool,
    /// One transfer or search at a time.
    pub(super) loading: Mutex<()>,
    /// How many of them have begun or ended. While it is odd, one runs.
    pub(super) transfers: AtomicU64,
}

impl Shared {
    /// Sends echo requests, and reads the host's counters as often.
    pub(super) fn ping(&self, id: i64, host: &Host) {
        let mut clock = Clock::new(host.ping);
        let mut state = Trouble::new(&host.name, "ping");
        let (mut pinger, mut counters) = (None, Counters::open().ok());
        while clock.wait(self.stop) {
            let transfers = self.transfers.load(Ordering::Acquire);
            let mut rows = Vec::new();
            let mut add = |quantity, value| {
                rows.push(Row { host: id, quantity, sample: Sample { at: Moment::now(), value } });
            };
            if let Some(Ok(Some(between))) = counters.as_mut().map(|it| it.read(transfers)) {
                add(Quantity::Sent, between.sent);
                add(Quantity::Retransmissions, between.retransmitted);
            }
            // During a transfer an echo request would measure our own queue.
            if transfers.is_multiple_of(2) {
                let opened = pinger.take().map_or_else(|| Pinger::open(host.address), Ok);
                let answer = opened.and_then(|mut it| {
                    let answer = it.ping(PATIENCE)?;
                    pinger = Some(it);
                    Ok(answer)
                });
                let undisturbed = self.transfers.load(Ordering::Acquire) == transfers;
                match &answer {
                    Ok(Some(rtt)) if undisturbed => {
                        add(Quantity::Rtt, rtt.as_secs_f64());
                        add(Quantity::Lost, 0.0);
                    }
                    Ok(None) if undisturbed => add(Quantity::Lost, 1.0),
                    Ok(_) | Err(_) => {}
                }
                self.tell(state.after(answer.err()));
            }
            let _ = self.events.send(Event::Rows(rows));
        }
    }

    /// Sends to the sink.
    pub(super) fn transfer(&self, id: i64, host: &Host) {
        let Some(plan) = &host.transfer else { return };
        let probe = || transfer(host.address, plan, self.stop).map(|shown| values(&shown).collect());
        self.load((id, host, "transfer"), plan.period, probe);
    }

    /// Searches for the rate at which losses begin.
    pub(super) fn search(&self, id: i64, host: &Host) {
        let Some(plan) = &host.search else { return };
        let probe = || {
            let rates = search(host.address, plan, self.stop)?;
            let both = [(Quantity::LossFree, rates.clean), (Quantity::Lossy, rates.lossy)];
            Ok(both.into_iter().filter_map(|(quantity, rate)| Some((quantity, rate?))).collect())
        };
        self.load((id, host, "search"), plan.period, probe);
    }

    /// Runs a probe that loads the path. No other one runs meanwhile.
    fn load(
        &self,
        (id, host, name): (i64, &Host, &'static str),
        period: Period,
        probe: impl Fn() -> io::Result<Vec<(Quantity, f64)>>,
    ) {
        let (mut clock, mut state) = (Clock::new(period), Trouble::new(&host.name, name));
        while clock.wait(self.stop) {
            let alone = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
            self.transfers.fetch_add(1, Ordering::AcqRel);
            let shown = probe();
            self.transfers.fetch_add(1, Ordering::AcqRel);
            drop(alone);
            let at = Moment::now();
            if let Ok(values) = &shown {
                let row = |&(quantity, value)| Row { host: id, quantity, sample: Sample { at, value } };
                let _ = self.events.send(Event::Rows(values.iter().map(row).collect()));
            }
            if !self.stop.load(Ordering::Relaxed) {
                self.tell(state.after(shown.err()));
            }
        }
    }

    /// Finds the routers on the way.
    pub(super) fn route(&self, id: i64, host: &Host) {
        let Some(period) = host.route else { return };
        let (mut clock, mut state) = (Clock::new(period), Trouble::new(&host.name, "route"));
        while clock.wait(self.stop) {
            let found = route(host.address, self.stop);
            if let Ok(found) = &found {
                let _ = self.events.send(Event::Route(id, Moment::now(), found.clone()));
            }
            if !self.stop.load(Ordering::Relaxed) {
                self.tell(state.after(found.err()));
            }
        }
    }

    /// Asks the kernel about the sockets of all programs.
    pub(super) fn sessions(&self, hosts: &[(i64, Host)], period: Period) {
        let (mut clock, mut state) = (Clock::new(period), Trouble::new("this host", "sockets"));
        let watched = hosts.iter().map(|(id, host)| Watched::new(*id, host)).collect();
        let mut sessions = Sessions::new(watched);
        while !self.stop.load(Ordering::Relaxed) {
            let transfers = self.transfers.load(Ordering::Acquire);
            let mut values = sessions.ended();
            if clock.is_due() {
                values = values.and_then(|mut values| {
                    values.extend(sessions.present(transfers)?);
                    Ok(values)
                });
                self.tell(
                    state.after(values.as_ref().err().map(|error| io::Error::other(error.to_string()))),
                );
            }
            let at = Moment::now();
            let row = |(host, quantity, value)| Row { host, quantity, sample: Sample { at, value } };
            let rows: Vec<Row> = values.into_iter().flatten().map(row).collect();
            if !rows.is_empty() {
                let _ = self.events.send(Event::Rows(rows));
            }
            thread::sleep(FETCH.max(LOOK));
        }
    }

    fn tell(&self, news: Option<News>) {
        if let Some(news) = news {
            let _ = self.events.send(Event::News(news));
        }
    }
}

/// The samples of a transfer. If it was too short for a capacity, it has none.
fn values(shown: &Shown) -> impl Iterator<Item = (Quantity, f64)> {
    let all = [
        (Quantity::Throughput, shown.throughput),
        (Quantity::Transferred, shown.bytes),
        (Quantity::ClosingWindow, shown.closing_window),
        (Quantity::Waiting, shown.waiting),
    ];
    let capacity = (shown.capacity > 0.0).then_some((Quantity::Capacity, shown.capacity));
    all.into_iter().chain(capacity)
}
