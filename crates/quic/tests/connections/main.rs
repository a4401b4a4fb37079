//! Real connections over loopback, with unmodified peers on the other side, both ways: quinn, noq, s2n-quic.
#![cfg(any(feature = "quinn-programs", feature = "noq-programs", feature = "s2n-quic-programs"))]

#[cfg(feature = "s2n-quic-programs")]
mod over_s2n_quic;

use std::error::Error;
use std::net::Ipv4Addr;
use std::time::Duration;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const ANY: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);
const BYTES: usize = 1_000_000;

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// A connection that stalls is an error, not a test without end.
async fn within(task: impl Future<Output = Outcome<()>>) -> Outcome<()> {
    tokio::time::timeout(Duration::from_secs(60), task).await?
}

/// The tests of quinn or noq, whose interfaces are alike; `remote` tells where the peer is.
#[cfg(any(feature = "quinn-programs", feature = "noq-programs"))]
macro_rules! connections {
    ($name:ident, $stack:ident, $remote:expr) => {
        mod $name {
            use super::*;
            use ::$stack::congestion::{Controller, ControllerFactory, CubicConfig};
            use ::$stack::crypto::rustls::QuicClientConfig;
            use ::$stack::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig};
            use std::net::{SocketAddr, UdpSocket};
            use std::sync::Arc;
            use std::sync::atomic::{AtomicUsize, Ordering};
            use std::time::Instant;

            type Factory = Arc<dyn ControllerFactory + Send + Sync>;

            fn ours(control: &str) -> Factory {
                ackclock_quic::controller(control).expect("it is there").$stack().expect("it runs")
            }

            fn cubic() -> Factory {
                Arc::new(CubicConfig::default())
            }

            /// Counts the controllers that are built.
            struct Counted(Factory, Arc<AtomicUsize>);

            impl ControllerFactory for Counted {
                fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
                    self.1.fetch_add(1, Ordering::Relaxed);
                    Arc::clone(&self.0).build(now, current_mtu)
                }
            }

            fn transport(control: Factory) -> Arc<TransportConfig> {
                let mut transport = TransportConfig::default();
                transport.congestion_controller_factory(control);
                Arc::new(transport)
            }

            /// A client and a server with these controllers, and the two ends of a connection.
            async fn connected(
                client: Factory,
                server: Factory,
            ) -> Outcome<(Endpoint, Endpoint, Connection, Connection)> {
                let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
                let key = rustls::pki_types::PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
                let chain = vec![made.cert.der().clone()];
                let mut roots = rustls::RootCertStore::empty();
                roots.add(chain[0].clone())?;
                let mut config = ServerConfig::with_single_cert(chain, key)?;
                config.transport_config(transport(server));
                let server = Endpoint::server(config, ANY.into())?;
                let tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
                let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
                config.transport_config(transport(client));
                let client = Endpoint::client(ANY.into())?;
                let connecting = client.connect_with(config, server.local_addr()?, "localhost")?;
                let accepting = async {
                    let incoming = server.accept().await.ok_or("nobody came")?;
                    Outcome::Ok(incoming.await?)
                };
                let (near, far) = tokio::join!(connecting, accepting);
                let (near, far) = (near?, far?);
                Ok((client, server, near, far))
            }

            /// Sends over a stream; returns how much of it arrives.
            async fn carry(from: &Connection, to: &Connection) -> Outcome<usize> {
                let sending = async {
                    let mut stream = from.open_uni().await?;
                    stream.write_all(&vec![7; BYTES]).await?;
                    stream.finish()?;
                    Outcome::Ok(())
                };
                let receiving = async {
                    let mut stream = to.accept_uni().await?;
                    let all = stream.read_to_end(BYTES + 1).await?;
                    Outcome::Ok(all.iter().filter(|byte| **byte == 7).count())
                };
                let (sent, received) = tokio::join!(sending, receiving);
                sent?;
                received
            }

            /// Every scheme that the stack can run, as a client and as a server, towards the stack as it
            /// comes.
            #[test]
            fn every_scheme_sends_to_unmodified_peers() -> Outcome<()> {
                let mut run = 0;
                for scheme in ackclock_cc::schemes() {
                    if ackclock_quic::controller(scheme.name)?.$stack().is_err() {
                        continue;
                    }
                    runtime()?.block_on(within(async {
                        let (_client, _server, near, far) = connected(ours(scheme.name), cubic()).await?;
                        assert_eq!(carry(&near, &far).await?, BYTES, "{}", scheme.name);
                        let (_client, _server, near, far) = connected(cubic(), ours(scheme.name)).await?;
                        assert_eq!(carry(&far, &near).await?, BYTES, "{}", scheme.name);
                        Ok(())
                    }))?;
                    run += 1;
                }
                assert!(run >= 13, "only {run}");
                Ok(())
            }

            /// A client moves to another port: the server's controller goes on as it was, and so does the
            /// data.
            #[test]
            fn a_new_port_keeps_the_controller() -> Outcome<()> {
                let built = Arc::new(AtomicUsize::new(0));
                let counted = Arc::new(Counted(ours("compound"), Arc::clone(&built)));
                runtime()?.block_on(within(async {
                    let (client, _server, near, far) = connected(cubic(), counted).await?;
                    assert_eq!(carry(&far, &near).await?, BYTES);
                    let remote: fn(&Connection) -> Option<SocketAddr> = $remote;
                    let before = (built.load(Ordering::Relaxed), remote(&far));
                    client.rebind(UdpSocket::bind(ANY)?)?;
                    assert_eq!(carry(&near, &far).await?, BYTES);
                    assert_eq!(carry(&far, &near).await?, BYTES);
                    let after = (built.load(Ordering::Relaxed), remote(&far));
                    assert_ne!(before.1, after.1, "the server sees the new port");
                    assert_eq!(before.0, after.0, "no controller is built anew");
                    Ok(())
                }))
            }
        }
    };
}

#[cfg(feature = "quinn-programs")]
connections!(over_quinn, quinn, |connection| Some(connection.remote_address()));
#[cfg(feature = "noq-programs")]
connections!(over_noq, noq, |connection| connection.path(::noq::PathId::ZERO)?.remote_address().ok());
