//! The server: its socket, its limits, its end.

use crate::connection::{Shared, Socket};
use crate::files::Tree;
use crate::log::{Entry, Log};
use crate::pacing::Pacing;
use crate::service::Answers;
use ackclock_sockets::{Prefix, covers, raise_open_files, set_controller, set_pacing_rate, set_send_buffer};
use ackclock_units::Rate;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Sleep, sleep, timeout};

/// What hyper may keep of a request's head, and how much of a response may wait beside the piece that is
/// being written, bytes.
const BUFFER: usize = 16 << 10;
/// Connections that the kernel may keep for the server while it is busy.
const BACKLOG: i32 = 4096;
/// How often a running server looks whether it should end.
const LOOK: Duration = Duration::from_millis(50);
/// How long a server that ends lets responses go on.
const FAREWELL: Duration = Duration::from_secs(5);
/// How long the first alarm of a connection sleeps: longer than any deadline.
const IDLE: Duration = Duration::from_secs(3600);
/// Open files that are no connections: the program's own.
const OWN_FILES: u64 = 64;

/// What a server serves, and how.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The directory. Nothing above it is served, and no link is followed.
    pub directory: PathBuf,
    /// Where it listens.
    pub listen: SocketAddr,
    /// The bursts of responses.
    pub pacing: Pacing,
    /// The rate at which the kernel sends at most, on each connection.
    pub rate: Option<Rate>,
    /// The congestion controller, by the kernel's name. `None`: the system's.
    pub control: Option<String>,
    /// The networks towards which `control` is used. `None`: all.
    pub allow: Option<Vec<Prefix>>,
    /// The capacity of each socket, bytes. `None`: the system adapts it.
    pub send_buffer: Option<u64>,
    /// Are header lines with an equals sign repaired?
    pub thesis_headers: bool,
    /// The largest number of connections.
    pub connections: usize,
    /// How long a connection may be idle between requests.
    pub idle: Duration,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The directory cannot be opened.
    #[error("{} cannot be served: {error}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The address cannot be listened on.
    #[error("nothing can listen on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// The controller cannot be chosen.
    #[error("the kernel's controller {name} cannot be chosen: {error}")]
    Control {
        /// Its name.
        name: String,
        /// Why.
        error: io::Error,
    },
    /// The kernel lacks something.
    #[error("the server cannot run: {0}")]
    Kernel(#[from] io::Error),
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    settings: Arc<Settings>,
    tree: Arc<Tree>,
    listener: TcpListener,
}

impl Server {
    /// Opens the directory, and listens.
    ///
    /// # Errors
    ///
    /// If the directory, the address or the controller cannot be used.
    pub fn bind(settings: Settings) -> Result<Server, ServeError> {
        let tree = Tree::open(&settings.directory)
            .map_err(|error| ServeError::Directory { path: settings.directory.clone(), error })?;
        let listener = listen(settings.listen)
            .map_err(|error| ServeError::Listen { address: settings.listen, error })?;
        if let Some(name) = &settings.control {
            let unusable = |error| ServeError::Control { name: name.clone(), error };
            let trial = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None);
            set_controller(trial.map_err(io::Error::from)?, name).map_err(unusable)?;
        }
        let connections = settings.connections.min(possible());
        let settings = Settings { connections, ..settings };
        Ok(Server { settings: Arc::new(settings), tree: Arc::new(tree), listener })
    }

    /// Where it listens: with the port that the system chose, if it was asked to choose one.
    ///
    /// # Errors
    ///
    /// If the kernel does not tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The largest number of connections: the one that was asked for, or what the limit of open files allows.
    pub fn connections(&self) -> usize {
        self.settings.connections
    }

    /// Serves until `stop` is set, which is noticed within 50 ms. Responses that are being written then have
    /// 5 s to end. `log` is told of every response. It is called by the threads that serve, so it must not
    /// block.
    ///
    /// # Errors
    ///
    /// If the kernel gives no threads or no events.
    pub fn run(
        self,
        stop: &'static AtomicBool,
        log: impl Fn(Entry) + Send + Sync + 'static,
    ) -> Result<(), ServeError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let served = runtime.block_on(self.serve(stop, Arc::new(log)));
        runtime.shutdown_background();
        Ok(served?)
    }

    async fn serve(self, stop: &'static AtomicBool, log: Arc<Log>) -> io::Result<()> {
        self.listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let open = Arc::new(AtomicUsize::new(0));
        let (end, ends) = watch::channel(false);
        while !stop.load(Ordering::Relaxed) {
            if open.load(Ordering::Relaxed) >= self.settings.connections {
                sleep(LOOK / 10).await;
                continue;
            }
            match timeout(LOOK, listener.accept()).await {
                Err(_) => {}
                Ok(Ok((stream, peer))) => {
                    let guest = Guest::new(&open);
                    let connection = Connection {
                        settings: self.settings.clone(),
                        tree: self.tree.clone(),
                        log: log.clone(),
                        ends: ends.clone(),
                    };
                    tokio::spawn(async move {
                        connection.serve(stream, peer).await;
                        drop(guest);
                    });
                }
                // The connection is gone already, or there are too many files for the moment.
                Ok(Err(_)) => sleep(LOOK / 10).await,
            }
        }
        drop(listener);
        end.send_replace(true);
        let farewell = Instant::now() + FAREWELL + LOOK;
        while open.load(Ordering::Relaxed) > 0 && Instant::now() < farewell {
            sleep(LOOK / 10).await;
        }
        Ok(())
    }
}

/// A socket that listens, with room for many that come at once.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_reuseaddr(&socket, true)?;
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

/// So many connections are possible with the open files that this process may have. A quarter is left for
/// what they are sent; a request that finds none left is refused.
fn possible() -> usize {
    let most = raise_open_files().saturating_sub(OWN_FILES) / 4 * 3;
    usize::try_from(most).unwrap_or(usize::MAX).max(1)
}

/// Counts a connection while it lives.
struct Guest(Arc<AtomicUsize>);

impl Guest {
    fn new(open: &Arc<AtomicUsize>) -> Guest {
        open.fetch_add(1, Ordering::Relaxed);
        Guest(open.clone())
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a connection needs of the server.
struct Connection {
    settings: Arc<Settings>,
    tree: Arc<Tree>,
    log: Arc<Log>,
    /// Becomes true when the server ends.
    ends: watch::Receiver<bool>,
}

impl Connection {
    async fn serve(mut self, stream: TcpStream, peer: SocketAddr) {
        // A client that has gone already, or a controller that somebody has unloaded, is nobody else's
        // trouble.
        let _ = self.equip(&stream, peer);
        let stream = Arc::new(stream);
        let shared = Shared::new(self.settings.idle, self.log.clone());
        let answers = Answers {
            tree: self.tree.clone(),
            pacing: self.settings.pacing,
            peer,
            stream: stream.clone(),
            shared: shared.clone(),
        };
        let service = service_fn(move |request| {
            let answers = answers.clone();
            async move {
                poll_fn(|context| answers.shared.poll_idle(context)).await;
                Ok::<_, Infallible>(answers.answer(&request))
            }
        });
        let socket = Socket::new(stream, shared.clone(), self.settings.thesis_headers);
        let connection = http1::Builder::new()
            .header_read_timeout(None)
            .max_buf_size(BUFFER)
            .half_close(true)
            .serve_connection(socket, service);
        let mut connection = pin!(connection);
        let mut ends = pin!(async {
            let _ = self.ends.wait_for(|&end| end).await;
        });
        let mut alarm = pin!(sleep(IDLE));
        let mut ending = None;
        poll_fn(|context| {
            if ending.is_none() && ends.as_mut().poll(context).is_ready() {
                ending = Some(Instant::now() + FAREWELL);
                connection.as_mut().graceful_shutdown();
            }
            if connection.as_mut().poll(context).is_ready() {
                return Poll::Ready(());
            }
            let deadline = shared.state().deadline;
            let deadline = ending.map_or(deadline, |end| deadline.min(end));
            awaited(alarm.as_mut(), deadline, context)
        })
        .await;
    }

    /// Sets the options of a socket.
    fn equip(&self, stream: &TcpStream, peer: SocketAddr) -> io::Result<()> {
        // The rest of a burst is sent with it, and not with an acknowledgement (RFC 896).
        stream.set_nodelay(true)?;
        if let Some(rate) = self.settings.rate {
            set_pacing_rate(stream, rate)?;
        }
        if let Some(bytes) = self.settings.send_buffer {
            set_send_buffer(stream, bytes)?;
        }
        let allowed = self.settings.allow.as_ref().is_none_or(|networks| covers(networks, peer.ip()));
        match &self.settings.control {
            Some(name) if allowed => set_controller(stream, name),
            _ => Ok(()),
        }
    }
}

/// Ready when the deadline has passed. The alarm is only set again if it is late, or if it rings too early.
fn awaited(mut alarm: Pin<&mut Sleep>, deadline: Instant, context: &mut Context<'_>) -> Poll<()> {
    if deadline < alarm.deadline().into_std() {
        alarm.as_mut().reset(deadline.into());
    }
    while alarm.as_mut().poll(context).is_ready() {
        if Instant::now() >= deadline {
            return Poll::Ready(());
        }
        alarm.as_mut().reset(deadline.into());
    }
    Poll::Pending
}
