//! A small HTTP/1.1 server for pages and questions. Its connections are bounded in number and time.
//!
//! Each connection carries one request and has one deadline, so whoever hangs up is noticed, and whoever is
//! slow holds a place only for so long.

mod connection;

use connection::Connection;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::net::TcpListener;
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

/// Serves at `listener` until `stop` is set. A connection that lasts for more than `longest` is cut. It runs
/// in a runtime of tokio with I/O and time.
///
/// # Errors
///
/// If `listener` cannot be made part of the runtime. What fails later fails for one client.
pub async fn serve<A, R, B>(
    listener: TcpListener,
    longest: Duration,
    stop: &AtomicBool,
    answer: A,
) -> io::Result<()>
where
    A: Fn(Request<Incoming>) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Response<B>> + Send,
    B: Body<Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
    B::Data: Send,
{
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    while !stop.load(Ordering::Relaxed) {
        let Ok(Ok(place)) = timeout(LOOK, places.clone().acquire_owned()).await else { continue };
        match timeout(LOOK, listener.accept()).await {
            Err(_) => {}
            Ok(Ok((stream, _))) => {
                // Events of a stream are small and must not wait for each other.
                let _ = stream.set_nodelay(true);
                let answer = answer.clone();
                tokio::spawn(async move {
                    let _ = timeout(longest, one(Connection(stream), answer)).await;
                    drop(place);
                });
            }
            // The connection is gone already, or there are too many files for the moment.
            Ok(Err(_)) => tokio::time::sleep(LOOK).await,
        }
    }
    Ok(())
}

/// Answers one request.
async fn one<A, R, B>(connection: Connection, answer: A)
where
    A: Fn(Request<Incoming>) -> R,
    R: Future<Output = Response<B>>,
    B: Body<Error: Into<Box<dyn Error + Send + Sync>>> + 'static,
{
    let begun = AtomicBool::new(false);
    let service = service_fn(|request| {
        begun.store(true, Ordering::Relaxed);
        let response = answer(request);
        async { Ok::<_, Infallible>(response.await) }
    });
    let connection = http1::Builder::new()
        .header_read_timeout(None)
        .max_buf_size(HEAD)
        .keep_alive(false)
        .serve_connection(connection, service);
    let mut connection = std::pin::pin!(connection);
    // A head that comes byte by byte holds its place only for so long.
    if timeout(FOR_HEAD, &mut connection).await.is_err() && begun.load(Ordering::Relaxed) {
        let _ = connection.await;
    }
}
