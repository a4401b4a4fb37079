//! A controller's session: its requests, one after the other, and its tests.

use super::Agent;
use super::door::Door;
use super::slot::{Connection, Shared, Slot};
use super::{tcp, udp};
use crate::consent::{Secrets, unhex};
use crate::policy::Wish;
use crate::protocol::{MAX_BATCH, Meeting, Refusal, Reply, Request, VERSION};
use crate::spec::{Protocol, Spec};
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// So many connections are made at once.
const OPENERS: usize = 32;
/// So many changes or time stamps fit into a message with certainty.
const MAX_CHANGES: usize = 100;
const MAX_STAMPS: usize = 1200;

/// A session and its tests.
pub(super) struct Session {
    agent: Arc<Agent>,
    who: Vec<String>,
    shared: Arc<Shared>,
    tests: BTreeMap<u32, Kept>,
    initialized: bool,
}

struct Kept {
    slot: Arc<Slot>,
    /// A sink's door stays open with it.
    _door: Option<Arc<Door>>,
}

fn refused(error: &str, message: impl Into<String>, help: &str) -> Reply {
    Reply::Refused(Refusal::new(error, message, help))
}

const OURS: &str = "this is an error of the controller: please report it";

impl Session {
    pub(super) fn new(agent: Arc<Agent>, who: Vec<String>) -> Session {
        let shared = Arc::new(Shared::new(agent.clock));
        Session { agent, who, shared, tests: BTreeMap::new(), initialized: false }
    }

    /// The session's lease.
    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Answers a message. `None`: the session is over.
    pub(super) fn on_line(&mut self, line: &[u8]) -> Option<Reply> {
        self.shared.renew();
        let request: Request = match serde_json::from_slice(line) {
            Ok(request) => request,
            Err(error) => return Some(refused("bad_message", format!("this is no request: {error}"), OURS)),
        };
        if !self.initialized && !matches!(request, Request::Initialize { .. } | Request::Kill {}) {
            return Some(refused("not_initialized", "the first request is initialize", OURS));
        }
        let reply = self.on_request(request);
        // What took the agent long is no silence of the controller.
        self.shared.renew();
        reply
    }

    fn on_request(&mut self, request: Request) -> Option<Reply> {
        Some(match request {
            Request::Initialize { version: VERSION } => {
                self.initialized = true;
                Reply::Ready {
                    version: VERSION,
                    software: concat!("ackclock ", env!("CARGO_PKG_VERSION")).to_owned(),
                }
            }
            Request::Initialize { version } => refused(
                "wrong_version",
                format!("the controller has version {version} of the protocol, the agent {VERSION}"),
                "use the same version of ackclock at both ends",
            ),
            Request::Setup { test, spec, own, meeting, from } => {
                match self.setup(test, *spec, own, meeting, from) {
                    Ok(reply) => reply,
                    Err(refusal) => Reply::Refused(refusal),
                }
            }
            Request::Open { tests } => self.for_all(&tests, Session::open),
            Request::Run { tests } => self.for_all(&tests, Session::run),
            Request::Renew {} => {
                let (changes, more) = self.shared.changes(MAX_CHANGES);
                Reply::Changes { changes, more }
            }
            Request::Finish { tests } => {
                self.for_all(&tests, |_, slots| slots.iter().for_each(|slot| slot.stop()))
            }
            Request::Close { tests } => self.for_all(&tests, |session, slots| session.close(slots)),
            Request::Report { test, from } => self.report(test, from),
            Request::Teardown { tests } => {
                self.forget(&tests);
                Reply::Done {}
            }
            Request::Kill {} => return None,
        })
    }

    fn for_all(&self, tests: &[u32], work: impl FnOnce(&Session, Vec<Arc<Slot>>)) -> Reply {
        if tests.len() > MAX_BATCH {
            return refused("bad_message", "too many tests in one message", OURS);
        }
        let slots = tests.iter().filter_map(|test| self.tests.get(test)).map(|kept| kept.slot.clone());
        work(self, slots.collect());
        Reply::Done {}
    }

    fn setup(
        &mut self,
        test: u32,
        spec: Spec,
        own: Option<(String, u16)>,
        meeting: Option<Meeting>,
        from: Option<String>,
    ) -> Result<Reply, Refusal> {
        let bad = |message: String| Refusal::new("bad_message", message, OURS);
        if let Some(fault) = spec.fault() {
            return Err(bad(format!("a test with {fault}")));
        }
        if self.tests.contains_key(&test) {
            return Err(bad(format!("test {test} is there already")));
        }
        let is_source = matches!(spec.role, crate::spec::Role::Source(_));
        let towards = match (&meeting, &from) {
            (Some(meeting), _) if is_source => meeting.address.ip(),
            (None, Some(host)) if !is_source => resolve(host, 0, None)?.ip(),
            _ => return Err(bad("a source needs its sink, and a sink its source".to_owned())),
        };
        let grant = self.agent.ledger.decide(
            &self.agent,
            &Wish { who: &self.who, towards, spec: &spec, sockets: 0, tests_today: 0, minute: 0 },
        )?;
        let stamps = spec.stamps;
        self.shared.sockets.fetch_add(1, Ordering::Relaxed);
        let made = self.make(test, spec, grant, (own, meeting), towards);
        match made {
            Ok((kept, reply)) => {
                self.tests.insert(test, kept);
                Ok(reply)
            }
            Err(refusal) => {
                self.shared.sockets.fetch_sub(1, Ordering::Relaxed);
                self.agent.ledger.give_back(&self.who, 1, stamps.into());
                Err(refusal)
            }
        }
    }

    fn make(
        &self,
        test: u32,
        spec: Spec,
        grant: crate::policy::Grant,
        (own, meeting): (Option<(String, u16)>, Option<Meeting>),
        towards: IpAddr,
    ) -> Result<(Kept, Reply), Refusal> {
        let own = own.map(|(host, port)| resolve(&host, port, Some(towards))).transpose()?;
        if let Some(meeting) = meeting {
            let word = |text: &str| {
                unhex(text).ok_or_else(|| Refusal::new("bad_message", "a cookie or key is not one", OURS))
            };
            let secrets = Secrets { cookie: word(&meeting.cookie)?, key: word(&meeting.key)? };
            let meeting = (Some(meeting.address), secrets);
            let slot = Slot::new(test, spec, grant, own, meeting, self.shared.clone());
            return Ok((Kept { slot: Arc::new(slot), _door: None }, Reply::Done {}));
        }
        let own = own.ok_or_else(|| Refusal::new("bad_message", "a sink has no own address", OURS))?;
        let in_use = |error: std::io::Error| {
            let help = "choose another port for `own`, or an address that this host has";
            Refusal::new("address_in_use", format!("the sink cannot listen on {own}: {error}"), help)
        };
        let mut secrets = Secrets { cookie: [0; 16], key: [0; 16] };
        let random =
            |word: &mut [u8]| getrandom::fill(word).map_err(|error| in_use(std::io::Error::other(error)));
        random(&mut secrets.cookie)?;
        random(&mut secrets.key)?;
        let slot =
            |spec| Arc::new(Slot::new(test, spec, grant, Some(own), (None, secrets), self.shared.clone()));
        if let Protocol::Tcp { window, .. } = spec.protocol {
            let door = self.agent.doors.at(own, window).map_err(in_use)?;
            let slot = slot(spec);
            self.agent.doors.wait(&slot);
            let reply = Reply::Meeting(slot.meeting(door.address));
            Ok((Kept { slot, _door: Some(door) }, reply))
        } else {
            let socket = udp::listen(own, &spec.protocol).map_err(in_use)?;
            let address = socket.local_addr().map_err(in_use)?;
            let slot = slot(spec);
            slot.spawn(move |slot| udp::receive(slot, socket));
            let reply = Reply::Meeting(slot.meeting(address));
            Ok((Kept { slot, _door: None }, reply))
        }
    }

    /// Connects sources, several at once, in the background.
    fn open(&self, slots: Vec<Arc<Slot>>) {
        let slots: Vec<Arc<Slot>> = slots.into_iter().filter(|slot| slot.is_source()).collect();
        let share = slots.len().div_ceil(OPENERS).max(1);
        for some in slots.chunks(share) {
            let some = some.to_vec();
            // The first one keeps the thread, which opens the others, too.
            some[0].clone().spawn(move |_| {
                for slot in &some {
                    if slot.spec.protocol.is_udp() { udp::open(slot) } else { tcp::open(slot) }
                }
            });
        }
    }

    fn run(&self, slots: Vec<Arc<Slot>>) {
        for slot in slots.into_iter().filter(|slot| slot.is_source()) {
            slot.spawn(|slot| if slot.spec.protocol.is_udp() { udp::run(slot) } else { tcp::run(slot) });
            // A thousand threads may take longer to begin than the lease lasts, and the first look at it.
            self.shared.renew();
        }
    }

    /// Closes connections. A source that has sent everything resets the connection, which its sink has read
    /// to its end: so neither end keeps the port for minutes (TIME-WAIT).
    fn close(&self, slots: Vec<Arc<Slot>>) {
        for slot in slots {
            slot.stop();
            self.agent.doors.spend(&slot);
            let connection = std::mem::take(&mut slot.inner().connection);
            if let Connection::Tcp(stream) = &connection {
                tcp::end_abruptly(stream);
            }
        }
    }

    fn report(&self, test: u32, from: u32) -> Reply {
        let Some(kept) = self.tests.get(&test) else {
            return refused("bad_message", format!("there is no test {test}"), OURS);
        };
        let inner = kept.slot.inner();
        let rest = inner.stamps.get(from as usize..).unwrap_or(&[]);
        let stamps = rest[..rest.len().min(MAX_STAMPS)].to_vec();
        let more = stamps.len() < rest.len();
        Reply::Report { report: Box::new(inner.report.clone()), stamps, more }
    }

    fn forget(&mut self, tests: &[u32]) {
        let kept: HashMap<u32, Kept> =
            tests.iter().filter_map(|test| Some((*test, self.tests.remove(test)?))).collect();
        let slots: Vec<Arc<Slot>> = kept.values().map(|kept| kept.slot.clone()).collect();
        let count = slots.len();
        let stamps = slots.iter().map(|slot| u64::from(slot.spec.stamps)).sum();
        self.close(slots.clone());
        for slot in slots {
            let threads = std::mem::take(&mut slot.inner().threads);
            for thread in threads {
                // A thread that panicked has said so.
                let _ = thread.join();
            }
            // What a thread put back when it ended.
            if let Connection::Tcp(stream) = std::mem::take(&mut slot.inner().connection) {
                tcp::end_abruptly(&stream);
            }
        }
        self.shared.sockets.fetch_sub(count as u64, Ordering::Relaxed);
        self.agent.ledger.give_back(&self.who, count, stamps);
    }
}

impl Drop for Session {
    /// Stops all traffic.
    fn drop(&mut self) {
        let tests: Vec<u32> = self.tests.keys().copied().collect();
        // All stop at once, and only then the first one is waited for.
        self.tests.values().for_each(|kept| kept.slot.stop());
        self.forget(&tests);
    }
}

/// The address of a host, of the same family as `like` if that is given.
fn resolve(host: &str, port: u16, like: Option<IpAddr>) -> Result<SocketAddr, Refusal> {
    let unknown = |why: String| {
        Refusal::new(
            "unknown_host",
            format!("the agent does not find {host}: {why}"),
            "write an address instead",
        )
    };
    let mut found = (host, port).to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
    let fits = |address: &SocketAddr| like.is_none_or(|like| like.is_ipv4() == address.is_ipv4());
    found.find(fits).ok_or_else(|| unknown("it has no address of the right family".to_owned()))
}
