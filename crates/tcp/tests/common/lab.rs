//! A sender on the bench: acknowledgements are made by hand, time passes by hand.

use ackclock_cc::{Ack as Acked, Controller, Event, Needs, Path, Settings, Signal, Window, scheme};
use ackclock_registry::{Chosen, Given, Listed, variants};
use ackclock_tcp::{Ack, Config, Data, Flags, SackBlock, Sender, detection, recovery};
use ackclock_units::{Duration, Rate, Time};
use std::borrow::Borrow;
use std::sync::{Arc, Mutex};

/// The round-trip time that timestamps echo, unless a test says otherwise.
pub const RTT: Duration = Duration::from_millis(100);

/// A recovery with its choices.
pub type Recovery = recovery::Settings;
/// A detection with its choices.
pub type Detection = detection::Settings;

/// A window of `window` segments that does not move by itself, with this recovery.
pub fn config(recovery: impl Borrow<Recovery>, window: u32) -> Config {
    Config { recovery: recovery.borrow().clone(), initial_window: f64::from(window), ..Config::default() }
}

/// SACK, with or without proportional rate reduction.
pub fn sack(proportional_rate: bool) -> Recovery {
    chosen("sack", &[("proportional_rate", Given::Flag(proportional_rate))])
}

/// Robust Recovery with its defaults.
pub fn robust() -> Recovery {
    recovery("robust")
}

/// The recovery called `name`, with its defaults.
pub fn recovery(name: &str) -> Recovery {
    chosen(name, &[])
}

/// So many duplicates tell of a loss.
pub fn dupacks(threshold: u32) -> Detection {
    chosen("dupacks", &[("threshold", Given::Number(threshold.into()))])
}

/// The entry called `name` with these choices.
pub fn chosen<S: Listed>(name: &str, choices: &[(&str, Given<'_>)]) -> Chosen<S> {
    let mut settings = Chosen::defaults(S::find(name).expect("it is in the registry"));
    for &(parameter, value) in choices {
        settings.set(parameter, value).expect("it may be chosen");
    }
    settings
}

/// Every kind of recovery that leaves the first two duplicates to RFC 3042.
pub fn recoveries() -> Vec<Recovery> {
    let all = variants::<recovery::Scheme>().into_iter();
    all.filter(|recovery| !recovery.scheme().serves_first_duplicates).collect()
}

/// A sender and its clock.
pub struct Lab {
    /// The time.
    pub now: Time,
    /// The sender.
    pub sender: Sender,
    window: u32,
}

impl Lab {
    /// A sender of `limit` segments under the scheme called `name`, with its defaults.
    pub fn new(config: Config, name: &str, limit: u64) -> Lab {
        let settings = Settings::defaults(scheme(name).expect("a known scheme"));
        Lab::needing(config, settings.build(), settings.needs(), limit)
    }

    /// A sender of `limit` segments under `controller`, which needs nothing more.
    pub fn with(config: Config, controller: Box<dyn Controller>, limit: u64) -> Lab {
        Lab::needing(config, controller, Needs::NOTHING, limit)
    }

    /// A sender of `limit` segments under `controller` with its `needs`.
    pub fn needing(config: Config, controller: Box<dyn Controller>, needs: Needs, limit: u64) -> Lab {
        let now = Time::ZERO + Duration::from_secs(10);
        let window = config.peer_window;
        Lab { now, sender: Sender::new(config.into(), controller, needs, 0, limit, now), window }
    }

    /// Everything that may be sent now.
    pub fn send_all(&mut self) -> Vec<Data> {
        let mut sent = Vec::new();
        while let Some(data) = self.sender.poll_transmit(self.now) {
            sent.push(data);
            assert!(sent.len() < 1_000_000, "the sender does not stop");
            assert!(self.sender.poll_timeout().is_some(), "data is outstanding and no timer runs");
        }
        sent
    }

    /// The numbers of everything that may be sent now.
    pub fn send(&mut self) -> Vec<u64> {
        self.send_all().iter().map(|data| data.seq).collect()
    }

    /// The numbers of everything that may be sent, each when the pacing rate lets it go.
    pub fn send_paced(&mut self) -> Vec<u64> {
        let mut sent = self.send();
        while let Some(at) = self.sender.poll_pacing(self.now) {
            let before = std::mem::replace(&mut self.now, at);
            let more = self.send();
            if more.is_empty() {
                self.now = before;
                break;
            }
            sent.extend(more);
        }
        sent
    }

    /// Lets `ms` milliseconds pass.
    pub fn wait(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
    }

    /// A cumulative acknowledgement; returns what it lets out.
    pub fn ack(&mut self, ack: u64) -> Vec<u64> {
        self.sack(ack, &[])
    }

    /// An acknowledgement that reports `runs` (each start..end); returns what it lets out.
    pub fn sack(&mut self, ack: u64, runs: &[(u64, u64)]) -> Vec<u64> {
        self.hear(made(ack, runs), Flags::default());
        self.send()
    }

    /// An acknowledgement with `flags`; nothing is sent yet.
    pub fn hear(&mut self, ack: Ack, flags: Flags) {
        let echo = Time::from_nanos(self.now.as_nanos() - RTT.as_nanos());
        let whole = Ack { echo, window: self.window, flags: ack.flags.with(flags), ..ack };
        self.hear_exactly(&whole);
    }

    /// An acknowledgement as it stands; nothing is sent yet.
    pub fn hear_exactly(&mut self, ack: &Ack) {
        self.sender.on_ack(self.now, ack, || 0.5);
        let outstanding = self.sender.una() < self.sender.nxt();
        assert!(
            !outstanding || self.sender.poll_timeout().is_some(),
            "data is outstanding and no timer runs"
        );
    }

    /// From now on acknowledgements advertise `window` segments.
    pub fn advertise(&mut self, window: u32) {
        self.window = window;
    }

    /// Lets time pass until the retransmission timer expires; returns what is sent then.
    pub fn expire(&mut self) -> Vec<u64> {
        self.now = self.sender.poll_timeout().expect("a timer runs");
        self.sender.on_timeout(self.now);
        self.send()
    }

    /// How long the retransmission timer has to run.
    pub fn until_timeout(&self) -> Duration {
        self.sender.poll_timeout().expect("a timer runs").since(self.now)
    }
}

/// An acknowledgement of everything below `ack` that reports `runs` (each start..end).
pub fn made(ack: u64, runs: &[(u64, u64)]) -> Ack {
    let mut blocks = [SackBlock::default(); 3];
    for (block, &(start, end)) in blocks.iter_mut().zip(runs) {
        *block = SackBlock { offset: (start - ack) as u32, length: (end - start) as u32 };
    }
    Ack { ack, blocks, ..Ack::default() }
}

/// What a [`Scripted`] controller was told.
#[derive(Default)]
pub struct Told {
    /// Every signal that it was asked to answer.
    pub cuts: Vec<Signal>,
    /// Segments that counted towards growth.
    pub grown: f64,
    /// Segments delivered, as the host counts them.
    pub delivered: u64,
    /// Events.
    pub events: Vec<Event>,
}

/// A controller that never grows, halves (or not) when asked, and remembers what it was told.
#[derive(Clone)]
pub struct Scripted {
    /// Does it answer signals at all?
    pub answers: bool,
    /// The pacing rate that it sets at the start.
    pub pacing: Option<Rate>,
    /// What it has been told so far.
    pub told: Arc<Mutex<Told>>,
}

impl Scripted {
    /// The controller, and what it will have been told.
    pub fn boxed(answers: bool) -> (Box<dyn Controller>, Arc<Mutex<Told>>) {
        let told = Arc::new(Mutex::new(Told::default()));
        (Box::new(Scripted { answers, pacing: None, told: told.clone() }), told)
    }

    /// One that paces.
    pub fn paced(rate: Rate) -> Box<dyn Controller> {
        Box::new(Scripted { answers: true, pacing: Some(rate), told: Arc::default() })
    }

    fn told(&self) -> std::sync::MutexGuard<'_, Told> {
        self.told.lock().expect("one thread")
    }
}

impl Controller for Scripted {
    fn on_sample(&mut self, path: &Path, _ack: &Acked, _w: &mut Window) {
        self.told().delivered = path.delivered;
    }

    fn grow(&mut self, _path: &Path, ack: &Acked, _w: &mut Window) {
        self.told().grown += ack.acked;
    }

    fn cut(&mut self, _path: &Path, w: &Window, why: Signal) -> Option<f64> {
        self.told().cuts.push(why);
        self.answers.then_some(w.cwnd / 2.0)
    }

    fn on_event(&mut self, _path: &Path, event: Event, w: &mut Window) {
        w.pacing = self.pacing;
        self.told().events.push(event);
    }
}
