//! A sender and a receiver of any transport under any sequence of operations, acknowledgements and data that
//! no peer would send included.
//!
//! The fuzz target in `fuzz/` and the property tests run the same cases. Nothing panics, no packet number is
//! used twice, rates keep their limits, and time never stands still. Where nothing was forged, a path that
//! loses no more must bring everything that is left.

use ackclock_rate::loss::Label;
use ackclock_rate::packet::{Ack, Arrivals, Data, Report};
use ackclock_rate::pair::Slot;
use ackclock_rate::{Receiver, Sender, Transport};
use ackclock_registry::{Chosen, Domain, Given, Listed};
use ackclock_units::{Duration, Time};

/// A transfer and what is done to it.
#[derive(Clone, Debug)]
pub struct Case {
    /// Which transport, modulo their number.
    pub transport: u8,
    /// What is chosen for each switch and each word, modulo their number; the default where this ends.
    pub switches: Vec<u8>,
    /// Data to send; 0 for no end.
    pub total: u8,
    /// What is done.
    pub steps: Vec<Step>,
}

/// One operation.
#[derive(Clone, Debug)]
pub enum Step {
    /// So many packets leave, as far as they may.
    Transmit(u8),
    /// So many tenths of a millisecond pass.
    Wait(u16),
    /// Time passes until the sender's timeout.
    Expire,
    /// Time passes until the receiver's timeout.
    Delay,
    /// A packet under way arrives.
    Deliver(u8),
    /// A packet under way arrives, and stays under way.
    Double(u8),
    /// A packet under way is lost.
    Lose(u8),
    /// An acknowledgement under way arrives.
    Acknowledge(u8),
    /// An acknowledgement under way is lost.
    LoseAck(u8),
    /// A packet arrives that was never sent.
    ForgeData(ForgedData),
    /// An acknowledgement arrives that no receiver has sent.
    ForgeAck(ForgedAck),
}

/// A number: some are small, some are in use, some are as large as can be.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    pub kind: u8,
    pub value: u64,
}

impl Number {
    fn around(self, used: u64) -> u64 {
        match self.kind % 5 {
            0 => self.value % 100,
            1 => used.saturating_sub(self.value % 20),
            2 => used.saturating_add(self.value % 200_000),
            3 => u64::MAX - self.value % 3,
            _ => self.value,
        }
    }
}

/// A packet that was never sent.
#[derive(Clone, Copy, Debug)]
pub struct ForgedData {
    pub number: Number,
    pub datum: Number,
    pub bytes: u32,
    pub sent: Number,
    pub srtt: Number,
    /// Its slot, modulo three, and above that whether it is the last one.
    pub flags: u8,
}

/// An acknowledgement that no receiver has sent.
#[derive(Clone, Copy, Debug)]
pub struct ForgedAck {
    pub echo: Number,
    pub cumulative: Number,
    pub sack: u128,
    pub echoed: Option<Number>,
    pub held: Number,
    /// Which report, and two of its values.
    pub report: u8,
    pub values: [f64; 2],
    /// A packet whose arrival is reported, and when it arrived; more follow.
    pub arrival: (Number, Number),
}

impl ForgedAck {
    fn report(&self, highest: u64, now: Time) -> Report {
        let [one, other] = self.values;
        match self.report % 4 {
            0 => Report::Nothing,
            1 => Report::Rate(one),
            2 => Report::LossEvents { rate: one, received: other, new: self.report > 127 },
            _ => {
                let mut arrivals = Arrivals::default();
                let first = self.arrival.0.around(highest);
                let mut at = Time::from_nanos(self.arrival.1.around(now.as_nanos()));
                for ahead in 0..u64::from(self.report / 16) {
                    arrivals.add(first.saturating_add(ahead), at, Duration::from_micros(250));
                    at += Duration::from_micros(u64::from(self.report) * 100);
                }
                Report::Arrivals(arrivals)
            }
        }
    }
}

/// A transfer under way.
struct World {
    now: Time,
    sender: Sender,
    receiver: Receiver,
    /// Data to send.
    total: Option<u64>,
    /// The highest packet number.
    highest: u64,
    packets: Vec<Data>,
    acks: Vec<Ack>,
    /// Something arrived that nobody has sent.
    forged: bool,
    /// What probes see.
    names: Vec<&'static str>,
}

impl Case {
    /// The transport with its switches.
    pub fn control(&self) -> Chosen<Transport> {
        let all = Transport::all();
        let mut control = Chosen::defaults(all[usize::from(self.transport) % all.len()]);
        let parameters: Vec<_> = control.settings().iter().map(|(parameter, _)| parameter).collect();
        let mut picks = self.switches.iter().map(|&pick| usize::from(pick));
        for parameter in parameters {
            let choices = match &parameter.domain {
                Domain::OnOff => 2,
                Domain::Words(words) => words.len(),
                _ => continue,
            };
            let Some(pick) = picks.next() else { break };
            let given = match &parameter.domain {
                Domain::Words(words) => Given::Word(words[pick % choices].0),
                _ => Given::Flag(pick % choices == 1),
            };
            control.set(parameter.name, given).expect("it is in the domain");
        }
        control
    }

    /// Runs it.
    pub fn run(&self) {
        let (control, now) = (self.control(), Time::from_nanos(1_000_000_000));
        let total = (self.total > 0).then_some(u64::from(self.total));
        let sender = Sender::new(&control, 1000, total, now, Duration::from_millis(80));
        let receiver = Receiver::new(&control, 1000);
        let mut world = World {
            now,
            names: names(&sender, &receiver),
            sender,
            receiver,
            total,
            highest: 0,
            packets: Vec::new(),
            acks: Vec::new(),
            forged: false,
        };
        for step in &self.steps {
            world.step(step);
            world.check();
        }
        if !world.forged && total.is_some() {
            world.finish();
        }
    }
}

impl World {
    fn step(&mut self, step: &Step) {
        match *step {
            Step::Transmit(count) => self.transmit(usize::from(count)),
            Step::Wait(tenths) => self.now += Duration::from_micros(100 * u64::from(tenths)),
            Step::Expire => self.expire(),
            Step::Delay => self.delay(),
            Step::Deliver(at) => {
                if let Some(data) = take(&mut self.packets, at) {
                    self.arrive(&data);
                }
            }
            Step::Double(at) => {
                if !self.packets.is_empty() {
                    let data = self.packets[usize::from(at) % self.packets.len()];
                    self.arrive(&data);
                }
            }
            Step::Lose(at) => {
                if let Some(data) = take(&mut self.packets, at) {
                    let cause = if at % 2 == 0 { Label::Congestion } else { Label::Transmission };
                    self.receiver.on_drop(data.number, cause);
                }
            }
            Step::Acknowledge(at) => {
                if let Some(ack) = take(&mut self.acks, at) {
                    let done = self.sender.on_ack(self.now, &ack);
                    assert!(done.is_ok() || self.forged, "only what was sent is acknowledged");
                }
            }
            Step::LoseAck(at) => {
                take(&mut self.acks, at);
            }
            Step::ForgeData(forged) => self.forge_data(&forged),
            Step::ForgeAck(forged) => self.forge_ack(&forged),
        }
    }

    fn transmit(&mut self, count: usize) {
        for _ in 0..count {
            let Some(data) = self.sender.poll_transmit(self.now) else { break };
            assert!(data.number == self.highest + 1, "{} after {}", data.number, self.highest);
            assert!(self.total.is_none_or(|total| data.datum <= total) && data.datum > 0);
            assert!(data.sent == self.now && data.bytes == 1000 && !data.srtt.is_zero());
            self.highest = data.number;
            self.packets.push(data);
        }
    }

    /// Time passes until the sender's timeout, and something happens then.
    fn expire(&mut self) {
        let Some(due) = self.sender.poll_timeout() else { return };
        if due.since(self.now) > Duration::from_secs(1_000_000) {
            return; // only a peer that lies about the round-trip time brings that about
        }
        self.now = self.now.max(due);
        self.sender.on_timeout(self.now);
        self.transmit(1 << 20);
        let next = self.sender.poll_timeout();
        assert!(next.is_none_or(|next| next > self.now), "time stands still: {:?}", self.sender);
    }

    fn delay(&mut self) {
        let Some(due) = self.receiver.poll_timeout() else { return };
        if due.since(self.now) > Duration::from_secs(1_000_000) {
            return;
        }
        self.now = self.now.max(due);
        for _ in 0..1 << 16 {
            if self.receiver.poll_timeout().is_none_or(|due| due > self.now) {
                return;
            }
            self.acks.extend(self.receiver.on_timeout(self.now));
        }
        panic!("time stands still: {:?}", self.receiver);
    }

    fn arrive(&mut self, data: &Data) {
        let before = self.receiver.delivered();
        self.acks.extend(self.receiver.on_packet(self.now, data));
        assert!(self.receiver.delivered() >= before);
    }

    fn forge_data(&mut self, forged: &ForgedData) {
        self.forged = true;
        let slots = [Slot::Single, Slot::First, Slot::Second];
        self.arrive(&Data {
            number: forged.number.around(self.highest),
            datum: forged.datum.around(self.receiver.delivered()),
            bytes: forged.bytes,
            sent: Time::from_nanos(forged.sent.around(self.now.as_nanos())),
            srtt: Duration::from_nanos(forged.srtt.around(80_000_000)),
            slot: slots[usize::from(forged.flags) % 3],
            last: forged.flags > 127,
        });
    }

    fn forge_ack(&mut self, forged: &ForgedAck) {
        self.forged = true;
        let ack = Ack {
            echo: forged.echo.around(self.highest),
            cumulative: forged.cumulative.around(self.sender.counters().acknowledged),
            sack: forged.sack,
            bytes: 40,
            echoed: forged.echoed.map(|echoed| Time::from_nanos(echoed.around(self.now.as_nanos()))),
            held: Duration::from_nanos(forged.held.around(0)),
            report: forged.report(self.highest, self.now),
        };
        let before = self.sender.counters();
        let done = self.sender.on_ack(self.now, &ack);
        assert!(ack.echo <= self.highest || done.is_err(), "it was never sent");
        assert!(done.is_ok() || self.sender.counters() == before, "what is refused changes nothing");
    }

    fn check(&self) {
        let within = |rate: f64| rate > 0.0 && rate < 1.1e11;
        assert!(within(self.sender.rate()), "{:?}", self.sender);
        assert!(self.receiver.rate().is_none_or(within), "{:?}", self.receiver);
        let counters = self.sender.counters();
        assert!(counters.sent == self.highest && counters.retransmitted <= counters.sent);
        assert!(self.forged || counters.acknowledged <= self.receiver.delivered());
        assert_eq!(
            names(&self.sender, &self.receiver),
            self.names,
            "probes see the same names at every call"
        );
    }

    /// Whatever is under way arrives, and nothing is lost any more.
    fn finish(&mut self) {
        for _ in 0..100_000 {
            while !self.packets.is_empty() {
                let data = self.packets.remove(0);
                self.arrive(&data);
            }
            while !self.acks.is_empty() {
                let ack = self.acks.remove(0);
                self.sender.on_ack(self.now, &ack).expect("only what was sent");
            }
            if self.sender.is_finished() {
                assert_eq!(Some(self.receiver.delivered()), self.total);
                return;
            }
            let due = [self.sender.poll_timeout(), self.receiver.poll_timeout()].into_iter().flatten().min();
            self.now = self.now.max(due.expect("something is due while data are not acknowledged"));
            self.now += Duration::from_millis(1);
            self.delay();
            self.expire();
            self.check();
        }
        panic!("it never ends: {:?} {:?}", self.sender, self.receiver);
    }
}

fn names(sender: &Sender, receiver: &Receiver) -> Vec<&'static str> {
    let mut names = Vec::new();
    sender.inspect(&mut |name, _| names.push(name));
    receiver.inspect(&mut |name, _| names.push(name));
    assert!((1..names.len()).all(|at| !names[..at].contains(&names[at])), "one name, one value: {names:?}");
    names
}

/// Takes the element at `at`, modulo their number.
fn take<T>(all: &mut Vec<T>, at: u8) -> Option<T> {
    (!all.is_empty()).then(|| all.remove(usize::from(at) % all.len()))
}
