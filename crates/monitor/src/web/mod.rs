//! What a monitor publishes over HTTP: metrics, answers to the questions of ENABLE's clients, and a page.
//!
//! It only reads. Names that are not ours are not answered: a web page elsewhere whose name leads here (DNS
//! rebinding) could read everything otherwise.

mod answer;
mod chart;
mod metrics;
mod page;
mod query;

use crate::plan::Publish;
use answer::{Answers, Reply};
use hyper::Request;
use hyper::body::Incoming;
use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How long a whole connection may take.
const DEADLINE: Duration = Duration::from_secs(60);
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
        let answers = Arc::new(Answers::new(archive, &plan.names));
        Ok(Publishing { listener: TcpListener::bind(plan.listen)?, answers })
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
            let answers = self.answers;
            let answer = move |request: Request<Incoming>| {
                let answers = answers.clone();
                async move { Reply::response(answers.answer(&request).await, request.method()) }
            };
            // What fails here fails for one client.
            let _ = runtime.block_on(ackclock_http::serve(self.listener, DEADLINE, stop, answer));
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests;
