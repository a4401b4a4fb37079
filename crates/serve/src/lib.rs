//! A web server (HTTP/1.1, RFC 9112) that writes its responses in periodic bursts, without an answer in the
//! network being waited for.
//!
//! Source: the modified Apache of A. Sundaresan's thesis (University of Kansas, 2001, sections 3.4 and 4.6).
//! There a timer fires every period; each time the server writes one burst of the document, and a timer that
//! fires during a write fails its cycle. A client chooses burst and period by two header fields of its
//! request.
//!
//! A response is bytes of a file beneath one directory. [`Server::bind`], then [`Server::run`].

mod body;
mod connection;
mod content;
mod directives;
mod files;
mod head;
mod log;
mod pacing;
mod server;
mod service;

pub use directives::{DirectiveError, Directives};
pub use head::Repair;
pub use log::Entry;
pub use pacing::{Burst, BurstError, Pacing};
pub use server::{ServeError, Server, Settings};
