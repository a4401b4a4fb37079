//! What an agent tells who runs it.

use crate::protocol::Refusal;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// A line of the log.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Note {
    /// Whom it is about, if it is about one peer.
    pub peer: Option<SocketAddr>,
    /// The error's name, if it is one.
    pub error: Option<String>,
    /// What is told.
    pub text: String,
    /// Of a test with a client of iperf3 that went well: bytes received and sent.
    pub bytes: Option<(u64, u64)>,
}

/// Takes the notes.
pub type Log = Arc<dyn Fn(Note) + Send + Sync>;

impl Note {
    /// The same about this peer.
    pub(crate) fn of(self, peer: SocketAddr) -> Note {
        Note { peer: Some(peer), ..self }
    }
}

impl From<String> for Note {
    fn from(text: String) -> Note {
        Note { text, ..Note::default() }
    }
}

impl From<&Refusal> for Note {
    fn from(refusal: &Refusal) -> Note {
        Note { error: Some(refusal.error.clone()), text: refusal.message.clone(), ..Note::default() }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(peer) = self.peer {
            write!(f, "{peer}: ")?;
        }
        if let Some(error) = &self.error {
            write!(f, "{error}: ")?;
        }
        f.write_str(&self.text)
    }
}
