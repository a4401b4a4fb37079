//! The same with s2n-quic, whose interface is its own.

use super::{ANY, BYTES, Outcome, runtime, within};
use s2n_quic::client::Connect;
use s2n_quic::provider::congestion_controller::{Cubic, Provider};
use s2n_quic::{Client, Connection, Server};
use std::error::Error;

/// A client and a server with these controllers, and the two ends of a connection.
async fn connected(
    client: impl Provider<Error: Error>,
    server: impl Provider<Error: Error>,
) -> Outcome<(Client, Server, Connection, Connection)> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let server = Server::builder()
        .with_tls((chain.as_str(), key.as_str()))?
        .with_io(ANY)?
        .with_congestion_controller(server)?;
    let mut server = server.start()?;
    let client =
        Client::builder().with_tls(chain.as_str())?.with_io(ANY)?.with_congestion_controller(client)?;
    let client = client.start()?;
    let to = Connect::new(server.local_addr()?).with_server_name("localhost");
    let (near, far) = tokio::join!(client.connect(to), server.accept());
    Ok((client, server, near?, far.ok_or("nobody came")?))
}

/// Sends over a stream; returns how much of it arrives.
async fn carry(from: &mut Connection, to: &mut Connection) -> Outcome<usize> {
    let sending = async {
        let mut stream = from.open_send_stream().await?;
        stream.send(vec![7; BYTES].into()).await?;
        stream.close().await?;
        Outcome::Ok(())
    };
    let receiving = async {
        let mut stream = to.accept_receive_stream().await?.ok_or("no stream came")?;
        let mut count = 0;
        while let Some(chunk) = stream.receive().await? {
            count += chunk.iter().filter(|byte| **byte == 7).count();
        }
        Outcome::Ok(count)
    };
    let (sent, received) = tokio::join!(sending, receiving);
    sent?;
    received
}

/// Every scheme that the stack can run, as a client and as a server, towards the stack as it comes.
#[test]
fn every_scheme_sends_to_unmodified_peers() -> Outcome<()> {
    let mut run = 0;
    for scheme in ackclock_cc::schemes() {
        if ackclock_quic::controller(scheme.name)?.s2n_quic().is_err() {
            continue;
        }
        let ours = || ackclock_quic::controller(scheme.name).and_then(|control| control.s2n_quic());
        runtime()?.block_on(within(async {
            let (_client, _server, mut near, mut far) = connected(ours()?, Cubic::default()).await?;
            assert_eq!(carry(&mut near, &mut far).await?, BYTES, "{}", scheme.name);
            let (_client, _server, mut near, mut far) = connected(Cubic::default(), ours()?).await?;
            assert_eq!(carry(&mut far, &mut near).await?, BYTES, "{}", scheme.name);
            Ok(())
        }))?;
        run += 1;
    }
    assert!(run >= 15, "only {run}");
    Ok(())
}
