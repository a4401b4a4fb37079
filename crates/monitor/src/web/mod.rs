//! What a monitor publishes over HTTP: metrics, answers to the questions of ENABLE's clients, and a page.
//!
//! It only reads. Each connection carries one request and has one deadline. Names that are not ours are not
//! answered: a web page elsewhere whose name leads here (DNS rebinding) could read everything otherwise.

mod answer;
mod chart;
mod connection;
mod metrics;
mod page;
mod query;

use crate::plan::Publish;
use answer::{Answers, Reply};
use connection::Stream;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Connections at the same time. Others wait in the kernel's queue.
const CONNECTIONS: usize = 64;
/// How long a request's head may take.
const FOR_HEAD: Duration = Duration::from_secs(10);
/// How long a whole connection may take.
const DEADLINE: Duration = Duration::from_secs(60);
/// What is kept of a request's head, bytes.
const HEAD: usize = 16 << 10;
/// How often a server looks whether it should end.
const LOOK: Duration = Duration::from_millis(50);
/// Threads that read the archive or simulate.
const THREADS: usize = 4;

/// The answer to a request for `target`, as a client gets it: the status and the content.
#[cfg(fuzzing)]
pub fn answered(
    runtime: &tokio::runtime::Runtime,
    archive: &Path,
    target: &str,
    host: &[u8],
) -> (u16, usize) {
    let request = hyper::Request::builder().uri(target).header(hyper::header::HOST, host).body(());
    let Ok(request) = request else { return (400, 0) };
    let reply = runtime.block_on(Answers::new(archive, &[]).answer(&request));
    let response = Reply::response(reply, request.method());
    let length = hyper::body::Body::size_hint(response.body()).exact().expect("it is known");
    (response.status().as_u16(), length as usize)
}

/// A server that listens.
#[derive(Debug)]
pub(crate) struct Publishing {
    listener: TcpListener,
    answers: Arc<Answers>,
}

impl Publishing {
    pub(crate) fn begin(plan: &Publish, archive: &Path) -> io::Result<Publishing> {
        let listener = TcpListener::bind(plan.listen)?;
        listener.set_nonblocking(true)?;
        Ok(Publishing { listener, answers: Arc::new(Answers::new(archive, &plan.names)) })
    }

    #[cfg(test)]
    fn address(&self) -> std::net::SocketAddr {
        self.listener.local_addr().expect("it listens")
    }

    /// Serves until `stop` is set, in the calling thread. Without a runtime nothing is published, and the
    /// monitor goes on.
    pub(crate) fn run(self, stop: &AtomicBool) {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(THREADS).build();
        if let Ok(runtime) = runtime {
            // What fails here fails for one client.
            let _ = runtime.block_on(self.serve(stop));
            runtime.shutdown_background();
        }
    }

    async fn serve(self, stop: &AtomicBool) -> io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        while !stop.load(Ordering::Relaxed) {
            let Ok(Ok(place)) = timeout(LOOK, places.clone().acquire_owned()).await else { continue };
            match timeout(LOOK, listener.accept()).await {
                Err(_) => {}
                Ok(Ok((stream, _))) => {
                    let answers = self.answers.clone();
                    tokio::spawn(async move {
                        let _ = timeout(DEADLINE, answer(stream, answers)).await;
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
        async move { Ok::<_, Infallible>(Reply::response(answers.answer(&request).await, request.method())) }
    });
    let connection = http1::Builder::new()
        .header_read_timeout(None)
        .max_buf_size(HEAD)
        .keep_alive(false)
        .serve_connection(Stream(stream), service);
    let mut connection = std::pin::pin!(connection);
    // A head that comes byte by byte holds its place only for so long.
    if timeout(FOR_HEAD, &mut connection).await.is_err() && begun.load(Ordering::Relaxed) {
        let _ = connection.await;
    }
}

#[cfg(test)]
mod tests;
