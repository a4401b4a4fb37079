//! Encrypted bulk data on loopback: a session of ackclock and one of quinn, alternately, so that both meet
//! the same machine. No files and no hashes on either side: zeros go out, and nobody keeps them.
//!
//! `ackclock-bench-quic [MEGABYTES [ROUNDS]]`, 1000 MB and 5 rounds if it is not said.

use ackclock_rate::tfrc;
use ackclock_transfer::host::{self, ENTROPY, SILENCE, Sending, Watch};
use ackclock_transfer::noise::Identity;
use ackclock_transfer::stream::{Discard, Extent, Zeros};
use ackclock_transfer::ticket::Ticket;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint, ServerConfig};
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const ANY: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);
/// Written at once into a stream of QUIC, bytes.
const CHUNK: usize = 1 << 20;

/// Bits per second of payload from the first byte to the last, handshake included.
fn rate(bytes: u64, since: Instant) -> f64 {
    bytes as f64 * 8.0 / since.elapsed().as_secs_f64()
}

/// A session of ackclock with packets of at most `largest` bytes on the wire.
fn ackclock(bytes: u64, largest: u32) -> Outcome<f64> {
    let (me, peer) = (Identity::new(ENTROPY), Identity::new(ENTROPY));
    let ticket = Ticket::new(&peer, ENTROPY);
    let socket = UdpSocket::bind(ANY)?;
    let to = socket.local_addr()?;
    std::thread::scope(|scope| {
        let receiving = scope.spawn(|| {
            let mut sink = |_| Box::new(Discard::default()) as Box<_>;
            host::receive(socket, &peer, &ticket, None, &mut sink, SILENCE, &Watch::default())
        });
        let options = Sending { largest, ..Sending::with(tfrc::TRANSPORT.for_networks()) };
        let begin = Instant::now();
        let mut zeros = Zeros(Extent::Bytes(bytes));
        host::send(UdpSocket::bind(ANY)?, to, &me, &ticket, &mut zeros, &options, &Watch::default())?;
        let rate = rate(bytes, begin);
        receiving.join().expect("the receiver does not panic")?;
        Ok(rate)
    })
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// A connection of quinn with one stream, as it comes: CUBIC, packets as large as its own search finds.
fn quinn(bytes: u64) -> Outcome<f64> {
    let certificate = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(certificate.signing_key.serialize_der().into());
    let chain = vec![certificate.cert.der().clone()];
    let mut roots = rustls::RootCertStore::empty();
    roots.add(chain[0].clone())?;
    let (told, heard) = std::sync::mpsc::channel::<SocketAddr>();
    std::thread::scope(|scope| {
        let receiving = scope.spawn(move || -> Outcome<u64> {
            runtime()?.block_on(async {
                let server = Endpoint::server(ServerConfig::with_single_cert(chain, key)?, ANY.into())?;
                told.send(server.local_addr()?)?;
                let connection = server.accept().await.ok_or("nobody came")?.await?;
                let mut stream = connection.accept_uni().await?;
                let mut all = 0;
                while let Some(chunk) = stream.read_chunk(usize::MAX, true).await? {
                    all += chunk.bytes.len() as u64;
                }
                connection.close(0_u32.into(), b"");
                server.wait_idle().await;
                Ok(all)
            })
        });
        let to = heard.recv()?;
        let rate = runtime()?.block_on(async {
            let mut client = Endpoint::client(ANY.into())?;
            let tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
            client.set_default_client_config(ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?)));
            let begin = Instant::now();
            let connection = client.connect(to, "localhost")?.await?;
            let mut stream = connection.open_uni().await?;
            let chunk = vec![0; CHUNK];
            let mut left = bytes;
            while left > 0 {
                let length = left.min(CHUNK as u64);
                stream.write_all(&chunk[..length as usize]).await?;
                left -= length;
            }
            stream.finish()?;
            connection.closed().await; // the receiver has read all
            Outcome::Ok(rate(bytes, begin))
        })?;
        let received = receiving.join().expect("the receiver does not panic")?;
        assert_eq!(received, bytes, "quinn delivers what was written");
        Ok(rate)
    })
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let bytes = arguments.next().transpose()?.unwrap_or(1000) * 1_000_000;
    let rounds = arguments.next().transpose()?.unwrap_or(5);
    rustls::crypto::ring::default_provider().install_default().map_err(|_| "a provider is there already")?;
    println!("{} MB on loopback, Gbit/s of payload", bytes / 1_000_000);
    println!("{:>16} {:>16} {:>16}", "ackclock, 9000 B", "ackclock, 1500 B", "quinn");
    for _ in 0..rounds {
        let row = [ackclock(bytes, 9000)?, ackclock(bytes, 1500)?, quinn(bytes)?].map(|rate| rate / 1e9);
        println!("{:>16.2} {:>16.2} {:>16.2}", row[0], row[1], row[2]);
    }
    Ok(())
}
