//! A server that receives and a client that sends, with quinn. Only `transport` has to do with ackclock.
//!
//! ```sh
//! run="cargo run --release --features quinn-programs --example quinn --"
//! $run server 127.0.0.1:4433 /tmp/quinn.pem &
//! $run client 127.0.0.1:4433 /tmp/quinn.pem compound 100
//! ```

mod common;

use common::{CHUNK, FLOW_CONTROL, Outcome, Task, new_certificate, pieces, report, task};
use quinn::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The controller of a connection: one of ackclock's, or one of quinn's own.
fn transport(control: &str) -> Outcome<Arc<TransportConfig>> {
    let mut transport = TransportConfig::default();
    match control {
        "own-cubic" => transport.congestion_controller_factory(Arc::new(CubicConfig::default())),
        "own-bbr" => transport.congestion_controller_factory(Arc::new(BbrConfig::default())),
        "own-reno" => transport.congestion_controller_factory(Arc::new(NewRenoConfig::default())),
        ours => transport.congestion_controller_factory(ackclock_quic::controller(ours)?.quinn()?),
    };
    transport.send_window(FLOW_CONTROL.into());
    transport.receive_window(FLOW_CONTROL.into()).stream_receive_window(FLOW_CONTROL.into());
    Ok(Arc::new(transport))
}

/// Receives from whoever comes.
///
/// # Errors
///
/// What the certificate or the socket says.
pub async fn serve(at: SocketAddr, certificate: &Path) -> Outcome<()> {
    let (chain, key) = new_certificate(Some(&certificate.to_owned()))?;
    let chain = vec![CertificateDer::from_pem_slice(chain.as_bytes())?];
    let mut config = ServerConfig::with_single_cert(chain, PrivateKeyDer::from_pem_slice(key.as_bytes())?)?;
    config.transport_config(transport("own-cubic")?);
    let server = Endpoint::server(config, at)?;
    while let Some(incoming) = server.accept().await {
        tokio::spawn(async move {
            if let Err(error) = receive(incoming).await {
                eprintln!("a connection failed: {error}");
            }
        });
    }
    Ok(())
}

async fn receive(incoming: quinn::Incoming) -> Outcome<()> {
    let connection = incoming.await?;
    let (mut answer, mut stream) = connection.accept_bi().await?;
    let mut bytes = 0u64;
    while let Some(chunk) = stream.read_chunk(usize::MAX, true).await? {
        bytes += chunk.bytes.len() as u64;
    }
    answer.write_all(&bytes.to_be_bytes()).await?;
    answer.finish()?;
    connection.closed().await;
    Ok(())
}

/// Sends `bytes` and returns the goodput, Mbit/s.
///
/// # Errors
///
/// What the certificate, the controller or the connection says.
pub async fn send(to: SocketAddr, certificate: &Path, control: &str, bytes: u64) -> Outcome<f64> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate)?)?;
    let tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.transport_config(transport(control)?);
    let client = Endpoint::client(if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }.parse()?)?;
    let begin = Instant::now();
    let connection = client.connect_with(config, to, "localhost")?.await?;
    let (mut stream, mut answer) = connection.open_bi().await?;
    let zeros = vec![0; CHUNK];
    for length in pieces(bytes) {
        stream.write_all(&zeros[..length]).await?;
    }
    stream.finish()?;
    let arrived = answer.read_to_end(8).await?;
    if arrived != bytes.to_be_bytes() {
        return Err("the server has received something else".into());
    }
    let rate = report(control, bytes, begin, connection.stats().path.lost_packets);
    connection.close(0_u32.into(), b"");
    client.wait_idle().await;
    Ok(rate)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    rustls::crypto::ring::default_provider().install_default().map_err(|_| "a provider is there already")?;
    match task()? {
        Task::Server { at, certificate } => serve(at, &certificate).await,
        Task::Client { to, certificate, control, bytes } => {
            send(to, &certificate, &control, bytes).await.map(drop)
        }
    }
}
