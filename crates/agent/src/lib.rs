//! Traffic between many hosts from one script.
//!
//! From the inside out: [`script`] reads what is to be done, [`spec`] is what one end does, with numbers that
//! are drawn from [`traffic`]. [`protocol`] has the messages between a controller and its agents, [`policy`]
//! says what an agent does for whom, [`consent`] who may send where, and [`report`] counts. None of these has
//! a clock or I/O of its own. [`tls`] and [`certificates`] say who is who. [`agent`] serves controllers over
//! sockets, in real time, and tells a [`log`] what happens; [`controller`] runs a script. [`iperf3`] speaks
//! the protocol of that program.
//!
//! Everything blocks, in threads. Bursts need a thread and a timer of their own to be in time, and a
//! controller has one connection to each host: there is nothing here for an async runtime to do.

pub mod agent;
pub mod certificates;
pub mod consent;
pub mod controller;
pub mod iperf3;
mod listening;
pub mod log;
pub mod policy;
pub mod protocol;
pub mod report;
pub mod script;
pub mod spec;
pub mod tls;
pub mod traffic;
