//! A server that receives and a client that sends, with s2n-quic. Only `send` has to do with ackclock.
//!
//! ```sh
//! run="cargo run --release --features s2n-quic-programs --example s2n-quic --"
//! $run server 127.0.0.1:4433 /tmp/s2n.pem &
//! $run client 127.0.0.1:4433 /tmp/s2n.pem compound 100
//! ```

mod common;

use common::{CHUNK, FLOW_CONTROL, Outcome, Task, new_certificate, pieces, report, task};
use s2n_quic::client::Connect;
use s2n_quic::provider::congestion_controller::{Bbr, Cubic, Provider};
use s2n_quic::provider::event::{ConnectionInfo, ConnectionMeta, Subscriber, events};
use s2n_quic::provider::limits::Limits;
use s2n_quic::{Client, Connection, Server};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Flow control that leaves the path to the controller.
fn limits() -> Outcome<Limits> {
    let window = u64::from(FLOW_CONTROL);
    Ok(Limits::new()
        .with_data_window(window)?
        .with_bidirectional_local_data_window(window)?
        .with_bidirectional_remote_data_window(window)?
        .with_max_send_buffer_size(FLOW_CONTROL)?)
}

/// Counts lost packets.
#[derive(Clone, Default)]
struct Losses(Arc<AtomicU64>);

impl Subscriber for Losses {
    type ConnectionContext = ();

    fn create_connection_context(&mut self, _meta: &ConnectionMeta, _info: &ConnectionInfo) {}

    fn on_packet_lost(&mut self, _context: &mut (), _meta: &ConnectionMeta, _event: &events::PacketLost) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

async fn serve(at: SocketAddr, certificate: &Path) -> Outcome<()> {
    let (chain, key) = new_certificate(Some(&certificate.to_owned()))?;
    let tls = (chain.as_str(), key.as_str());
    let mut server = Server::builder().with_tls(tls)?.with_io(at)?.with_limits(limits()?)?.start()?;
    while let Some(connection) = server.accept().await {
        tokio::spawn(async move {
            if let Err(error) = receive(connection).await {
                eprintln!("a connection failed: {error}");
            }
        });
    }
    Ok(())
}

async fn receive(mut connection: Connection) -> Outcome<()> {
    let stream = connection.accept_bidirectional_stream().await?.ok_or("no stream came")?;
    let (mut stream, mut answer) = stream.split();
    let mut bytes = 0u64;
    while let Some(chunk) = stream.receive().await? {
        bytes += chunk.len() as u64;
    }
    answer.send(bytes.to_be_bytes().to_vec().into()).await?;
    answer.close().await?;
    Ok(())
}

/// The controller of a connection: one of ackclock's, or one of s2n-quic's own.
async fn send(to: SocketAddr, certificate: &Path, control: &str, bytes: u64) -> Outcome<()> {
    match control {
        "own-cubic" => send_with(to, certificate, control, Cubic::default(), bytes).await,
        "own-bbr" => send_with(to, certificate, control, Bbr::default(), bytes).await,
        ours => {
            send_with(to, certificate, control, ackclock_quic::controller(ours)?.s2n_quic()?, bytes).await
        }
    }
}

async fn send_with(
    to: SocketAddr,
    certificate: &Path,
    name: &str,
    control: impl Provider<Error: std::error::Error>,
    bytes: u64,
) -> Outcome<()> {
    let losses = Losses::default();
    let any: SocketAddr = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }.parse()?;
    let client = Client::builder()
        .with_tls(certificate)?
        .with_io(any)?
        .with_limits(limits()?)?
        .with_event(losses.clone())?
        .with_congestion_controller(control)?
        .start()?;
    let begin = Instant::now();
    let mut connection = client.connect(Connect::new(to).with_server_name("localhost")).await?;
    let (mut answer, mut stream) = connection.open_bidirectional_stream().await?.split();
    let zeros = bytes::Bytes::from(vec![0; CHUNK]);
    for length in pieces(bytes) {
        stream.send(zeros.slice(..length)).await?;
    }
    stream.finish()?;
    let mut arrived = Vec::new();
    while let Some(chunk) = answer.receive().await? {
        arrived.extend_from_slice(&chunk);
    }
    if arrived != bytes.to_be_bytes() {
        return Err("the server has received something else".into());
    }
    report(name, bytes, begin, losses.0.load(Ordering::Relaxed));
    connection.close(0u32.into());
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    match task()? {
        Task::Server { at, certificate } => serve(at, &certificate).await,
        Task::Client { to, certificate, control, bytes } => send(to, &certificate, &control, bytes).await,
    }
}
