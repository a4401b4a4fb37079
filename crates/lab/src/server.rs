//! The server: it listens, bounds the number and the time of its connections, and ends in order.
//!
//! Each connection carries one request and has one deadline, so whoever hangs up is noticed, and whoever is
//! slow holds a place only for so long.

use crate::Emulator;
use crate::answer::Answers;
use crate::connection::Connection;
use crate::gallery::Gallery;
use crate::guard::{Guard, Token};
use crate::limits::Limits;
use ackclock_study::reproduce::LibraryError;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Connections at the same time. Others wait in the kernel's queue.
const CONNECTIONS: usize = 64;
/// How long a request's head may take.
const FOR_HEAD: Duration = Duration::from_secs(10);
/// What is kept of a request's head, bytes.
const HEAD: usize = 16 << 10;
/// How often a server looks whether it should end.
const LOOK: Duration = Duration::from_millis(50);
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
        listener.set_nonblocking(true).map_err(wrong)?;
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
        let served = runtime.block_on(self.serve(stop));
        runs.stop();
        // An emulated run takes down what it has set up.
        runtime.shutdown_timeout(FOR_REST);
        served.map_err(LabError::System)
    }

    async fn serve(self, stop: &AtomicBool) -> io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        while !stop.load(Ordering::Relaxed) {
            let Ok(Ok(place)) = timeout(LOOK, places.clone().acquire_owned()).await else { continue };
            match timeout(LOOK, listener.accept()).await {
                Err(_) => {}
                Ok(Ok((stream, _))) => {
                    let (answers, longest) = (self.answers.clone(), self.longest);
                    // Events are small and must not wait for each other.
                    let _ = stream.set_nodelay(true);
                    tokio::spawn(async move {
                        let _ = timeout(longest, answer(stream, answers)).await;
                        drop(place);
                    });
                }
                // The connection is gone already, or there are too many files for the moment.
                Ok(Err(_)) => tokio::time::sleep(LOOK).await,
            }
        }
        Ok(())
    }
}

/// Answers one request.
async fn answer(stream: tokio::net::TcpStream, answers: Arc<Answers>) {
    let begun = Arc::new(AtomicBool::new(false));
    let noted = begun.clone();
    let service = service_fn(move |request| {
        noted.store(true, Ordering::Relaxed);
        let answers = answers.clone();
        async move { Ok::<_, Infallible>(answers.response(request).await) }
    });
    let connection = http1::Builder::new()
        .header_read_timeout(None)
        .max_buf_size(HEAD)
        .keep_alive(false)
        .serve_connection(Connection(stream), service);
    let mut connection = std::pin::pin!(connection);
    // A head that comes byte by byte holds its place only for so long.
    if timeout(FOR_HEAD, &mut connection).await.is_err() && begun.load(Ordering::Relaxed) {
        let _ = connection.await;
    }
}
