//! The server: it listens, and ends in order.

use crate::Emulator;
use crate::answer::Answers;
use crate::gallery::Gallery;
use crate::guard::{Guard, Token};
use crate::limits::Limits;
use ackclock_study::reproduce::LibraryError;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How long the rest of an answer may take when its run has ended.
const FOR_REST: Duration = Duration::from_secs(30);

/// A lab as it is asked for.
pub struct Settings {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The scenario with which a page begins.
    pub scenario: String,
    /// What each run may take.
    pub limits: Limits,
    /// What emulates; `None`: nothing may be emulated.
    pub emulator: Option<Arc<dyn Emulator>>,
}

/// Why there is no lab.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// Nothing can listen there.
    #[error("{address} cannot be listened at: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        error: io::Error,
    },
    /// The system has no random numbers, or no resources for a server.
    #[error("the server cannot be started: {0}")]
    System(io::Error),
    /// The built-in experiments are not valid.
    #[error(transparent)]
    Gallery(#[from] LibraryError),
}

/// A lab that listens.
pub struct Lab {
    listener: TcpListener,
    address: SocketAddr,
    answers: Arc<Answers>,
    longest: Duration,
}

impl Lab {
    /// Listens, with a token of its own.
    ///
    /// # Errors
    ///
    /// [`LabError`] if the address is taken, or the system has no resources.
    pub fn begin(settings: Settings) -> Result<Lab, LabError> {
        let Settings { listen, scenario, limits, emulator } = settings;
        let wrong = |error| LabError::Listen { address: listen, error };
        let listener = TcpListener::bind(listen).map_err(wrong)?;
        let address = listener.local_addr().map_err(wrong)?;
        let token = Token::new().map_err(|error| LabError::System(io::Error::other(error.to_string())))?;
        let guard = Guard::new(address, token);
        let longest = limits.time.max(limits.emulation * 2) + FOR_REST;
        let answers = Arc::new(Answers::new(guard, limits, Gallery::new()?, scenario, emulator));
        Ok(Lab { listener, address, answers, longest })
    }

    /// The address for a browser, with the token in it.
    pub fn address(&self) -> String {
        // An address that is all addresses is no address for a browser.
        let address = match self.address.ip() {
            ip if ip.is_unspecified() => SocketAddr::from(([127, 0, 0, 1], self.address.port())),
            _ => self.address,
        };
        format!("http://{address}/?token={}", self.answers.guard.token())
    }

    #[cfg(test)]
    pub(crate) fn runs(&self) -> Arc<crate::running::Runs> {
        self.answers.runs.clone()
    }

    /// Can only programs on this machine connect?
    pub fn is_local(&self) -> bool {
        self.address.ip().is_loopback()
    }

    /// Serves until `stop` is set, in the calling thread. Then every run is stopped, and waited for.
    ///
    /// # Errors
    ///
    /// [`LabError::System`] if the system has no resources for a server.
    pub fn run(self, stop: &AtomicBool) -> Result<(), LabError> {
        let threads = self.answers.runs.limits().runs * 2;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(threads)
            .build()
            .map_err(LabError::System)?;
        let runs = self.answers.runs.clone();
        let answers = self.answers;
        let answer = move |request| {
            let answers = answers.clone();
            async move { answers.response(request).await }
        };
        let served = runtime.block_on(ackclock_http::serve(self.listener, self.longest, stop, answer));
        runs.stop();
        // An emulated run takes down what it has set up.
        runtime.shutdown_timeout(FOR_REST);
        served.map_err(LabError::System)
    }
}
