//! The messages.

use crate::report::Report;
use crate::spec::Spec;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// The version of the protocol. Both ends must have the same.
pub const VERSION: u32 = 1;

/// What a controller asks. Tests have numbers that the controller chooses.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// The first message.
    Initialize {
        /// The controller's version of the protocol.
        version: u32,
    },
    /// Prepares a test. A sink listens from now on.
    Setup {
        /// The test's number.
        test: u32,
        /// What it does.
        spec: Box<Spec>,
        /// Its own address: host and port.
        own: Option<(String, u16)>,
        /// For a source: where its sink is, and what lets it in there.
        meeting: Option<Meeting>,
        /// For a sink: the host that will send.
        from: Option<String>,
    },
    /// Connects sources with their sinks.
    Open {
        /// The sources.
        tests: Vec<u32>,
    },
    /// Begins to send.
    Run {
        /// The sources.
        tests: Vec<u32>,
    },
    /// Says that the controller lives, and asks what has changed.
    Renew {},
    /// Ends tests that still go on: sources stop, sinks wait no longer.
    Finish {
        /// The tests.
        tests: Vec<u32>,
    },
    /// Closes the connections of tests.
    Close {
        /// The tests.
        tests: Vec<u32>,
    },
    /// Asks for a test's report, and for its time stamps from this one on.
    Report {
        /// The test.
        test: u32,
        /// The number of the first time stamp that is wanted.
        from: u32,
    },
    /// Forgets tests.
    Teardown {
        /// The tests.
        tests: Vec<u32>,
    },
    /// Ends everything at once.
    Kill {},
}

/// Where a sink is, and what lets a source in there. Only the two agents and their controller know it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Meeting {
    /// The sink's address.
    pub address: SocketAddr,
    /// The sink's cookie, 128 bits as hexadecimal digits. It opens one connection, once.
    pub cookie: String,
    /// The key of the sink's consent, 128 bits as hexadecimal digits. It is never sent over the connection.
    pub key: String,
}

/// What an agent answers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case", deny_unknown_fields)]
pub enum Reply {
    /// To `initialize`.
    Ready {
        /// The agent's version of the protocol.
        version: u32,
        /// The agent's program and its version.
        software: String,
    },
    /// To `setup` of a sink.
    Meeting(Meeting),
    /// It is done, or has begun.
    Done {},
    /// To `renew`: what has changed since the last answer to one.
    Changes {
        /// The changes, in order.
        changes: Vec<Change>,
        /// True if there are more.
        more: bool,
    },
    /// To `report`.
    Report {
        /// The report.
        report: Box<Report>,
        /// Time stamps from the one that was asked for on: us since the start, and bytes so far.
        stamps: Vec<(u64, u64)>,
        /// True if there are more time stamps.
        more: bool,
    },
    /// It is not done.
    Refused(Refusal),
}

/// Why something is not done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// The error's name.
    pub error: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl Refusal {
    /// A refusal with this name, message and remedy.
    pub fn new(error: &str, message: impl Into<String>, help: impl Into<String>) -> Refusal {
        Refusal { error: error.to_owned(), message: message.into(), help: help.into() }
    }
}

/// A change of a test.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The test.
    pub test: u32,
    /// What it is now.
    pub state: State,
}

/// What a test is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Its connection stands.
    Opened,
    /// It has sent or received everything, or was told to end.
    Finished,
    /// It ended before its end.
    Failed(Refusal),
}
