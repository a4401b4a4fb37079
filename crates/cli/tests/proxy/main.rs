//! `ackclock proxy` as a program, between unmodified peers: what passes it, what it bounds, and what is left
//! of it.

#[path = "../common/mod.rs"]
mod common;
mod far;
mod left;
mod peers;
mod place;
mod stolen;

use common::{Checked, Named, ensure, in_real_time_and_long, stderr};
use libtest_mimic::Failed;
use peers::{fill, pattern};
use place::{Relay, Way, ackclock, inside};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

fn main() {
    if let Some(status) = peers::as_program() {
        std::process::exit(status);
    }
    let always: &[Named] = &[("wrong_use_is_explained", wrong_use)];
    let privileged: &[Named] = &[
        ("bytes_arrive_both_ways", arrive),
        ("over_ipv6", six),
        ("either_side_may_stop_sending_first", half_closed),
        ("resets_are_passed_on", resets),
        ("a_server_that_is_not_there", refused),
        ("a_reader_that_sleeps_stops_the_writer", back_pressure),
        ("more_connections_than_allowed_wait", limit),
        ("a_client_cannot_have_all_connections", greedy),
        ("idle_connections_end", idle),
        ("a_thousand_connections_in_200_mib", thousand),
        ("a_killed_proxy_leaves_nothing", left::killed),
        ("two_proxies_in_front_of_a_port", taken),
        ("without_the_capability", unprivileged),
        ("over_a_path_that_reorders", far::reordered),
        ("errors_about_others_are_not_taken", stolen::errors),
    ];
    let long: &[Named] = &[("beside_the_kernel", far::beside_the_kernel)];
    in_real_time_and_long(always, privileged, long);
}

/// Runs a test in both ways, each in a network namespace of its own.
fn both(test: fn(Way) -> Checked) -> Checked {
    inside(|| test(Way::Server))?;
    inside(|| test(Way::Clients))
}

/// A listening server, a relay to it with these further arguments, and a client's connection with its other
/// end.
fn connected(way: Way, more: &[&str]) -> Result<(TcpListener, Relay, TcpStream, TcpStream), Failed> {
    let server = TcpListener::bind(way.server())?;
    let relay = Relay::start(way, server.local_addr()?, more)?;
    let client = relay.connect()?;
    let (served, _) = server.accept()?;
    served.set_read_timeout(Some(Duration::from_secs(20)))?;
    Ok((server, relay, client, served))
}

fn arrive() -> Checked {
    both(|way| {
        let (_server, relay, mut client, mut served) = connected(way, &[])?;
        const THERE: usize = 3_000_000;
        const BACK: usize = 2_000_001;
        let mut sending = client.try_clone()?;
        let writer = thread::spawn(move || fill(&mut sending, 1, THERE));
        let mut answering = served.try_clone()?;
        let answerer = thread::spawn(move || fill(&mut answering, 2, BACK));
        let reader = thread::spawn(move || -> std::io::Result<Vec<u8>> {
            let mut bytes = vec![0; THERE];
            served.read_exact(&mut bytes).map(|()| bytes)
        });
        let mut back = vec![0; BACK];
        client.read_exact(&mut back)?;
        let there = reader.join().map_err(|_| "the reader")??;
        writer.join().map_err(|_| "the writer")??;
        answerer.join().map_err(|_| "the answerer")??;
        ensure(there == pattern(1, THERE) && back == pattern(2, BACK), "other bytes arrived")?;
        let local = client.local_addr()?;
        drop(client);
        let log = relay.log()?;
        ensure(log.len() == 2, format!("{log:?}"))?;
        ensure(
            log[0]["to_server_bytes"] == THERE && log[0]["to_client_bytes"] == BACK,
            format!("{}", log[0]),
        )?;
        ensure(log[0]["end"] == "closed" && log[0]["client"] == local.to_string(), format!("{}", log[0]))?;
        ensure(log[0]["retransmissions"].is_u64() && log[0]["rtt_s"].is_f64(), format!("{}", log[0]))?;
        ensure(log[1]["connections"] == 1 && log[1]["limit"] == 1000, format!("{}", log[1]))
    })
}

/// The far side speaks IPv6, the near side either.
fn six() -> Checked {
    for (way, listen, far) in
        [(Way::Server, "127.0.0.1:0", "[fd00:9::1]:0"), (Way::Clients, "[fd00:9::1]:0", "127.0.0.1:0")]
    {
        inside(|| {
            let server = TcpListener::bind(far)?;
            let relay = Relay::start(way, server.local_addr()?, &["--listen", listen])?;
            let mut client = relay.connect()?;
            let (mut served, _) = server.accept()?;
            let writer = thread::spawn(move || fill(&mut client, 8, 300_000));
            let mut bytes = vec![0; 300_000];
            served.read_exact(&mut bytes)?;
            writer.join().map_err(|_| "the writer")??;
            ensure(bytes == pattern(8, 300_000), "other bytes arrived")?;
            drop(served);
            let log = relay.log()?;
            ensure(log[0]["to_server_bytes"] == 300_000, format!("{}", log[0]))
        })?;
    }
    Ok(())
}

fn half_closed() -> Checked {
    both(|way| {
        let (server, relay, mut client, mut served) = connected(way, &[])?;
        client.write_all(b"that is all")?;
        client.shutdown(Shutdown::Write)?;
        let mut asked = String::new();
        served.read_to_string(&mut asked)?;
        ensure(asked == "that is all", asked)?;
        fill(&mut served, 3, 1_000_000)?;
        drop(served);
        let mut answer = Vec::new();
        client.read_to_end(&mut answer)?;
        ensure(answer == pattern(3, 1_000_000), "another answer")?;
        // The other way round: the server stops first, and the client goes on.
        let mut client = relay.connect()?;
        let (mut served, _) = server.accept()?;
        served.shutdown(Shutdown::Write)?;
        ensure(client.read(&mut [0])? == 0, "the end does not arrive")?;
        fill(&mut client, 4, 1_000_000)?;
        client.shutdown(Shutdown::Write)?;
        let mut sent = Vec::new();
        served.read_to_end(&mut sent)?;
        ensure(sent == pattern(4, 1_000_000), "other bytes")?;
        drop((client, served));
        let log = relay.log()?;
        ensure(log[..2].iter().all(|entry| entry["end"] == "closed"), format!("{log:?}"))
    })
}

/// Closes with a reset.
fn reset(stream: TcpStream) -> Checked {
    Ok(rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO))?)
}

fn resets() -> Checked {
    both(|way| {
        let (server, relay, client, mut served) = connected(way, &[])?;
        reset(client)?;
        let told = served.read(&mut [0]).map_err(|error| error.kind());
        ensure(told == Err(ErrorKind::ConnectionReset), format!("the server is told {told:?}"))?;
        let mut client = relay.connect()?;
        let (served, _) = server.accept()?;
        reset(served)?;
        let told = client.read(&mut [0]).map_err(|error| error.kind());
        ensure(told == Err(ErrorKind::ConnectionReset), format!("the client is told {told:?}"))?;
        let log = relay.log()?;
        ensure(log[0]["end"] == "reset-by-client", format!("{}", log[0]))?;
        ensure(log[1]["end"] == "reset-by-server", format!("{}", log[1]))
    })
}

fn refused() -> Checked {
    both(|way| {
        let free = TcpListener::bind(way.server())?.local_addr()?;
        let relay = Relay::start(way, free, &[])?;
        // Until the proxy has asked the server, the client is connected.
        let told = relay.connect().and_then(|mut client| Ok(client.read(&mut [0])?));
        ensure(told.is_err(), format!("the client is told {told:?}"))?;
        let log = relay.log()?;
        ensure(log[0]["end"] == "refused", format!("{log:?}"))
    })
}

/// Writes until nothing is taken for half a second: how much that was.
fn stuff(stream: &mut TcpStream) -> Result<usize, Failed> {
    stream.set_write_timeout(Some(Duration::from_millis(500)))?;
    let (bytes, mut written) = (pattern(5, 1 << 20), 0);
    while written < 1 << 28 {
        match stream.write(&bytes[written % bytes.len()..]) {
            Ok(more) => written += more,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(written)
}

/// Two sockets of the kernel and two buffers of 256 KiB are all that a writer can fill. Then everything
/// arrives.
fn back_pressure() -> Checked {
    both(|way| {
        for from_client in [true, false] {
            let (_server, relay, client, served) = connected(way, &["--buffer", "256 KiB"])?;
            let (mut writer, mut reader) = if from_client { (client, served) } else { (served, client) };
            let written = stuff(&mut writer)?;
            // Linux lets a socket have at most 4 MiB to send and 6 MiB received by default.
            ensure(written < 24 << 20, format!("{written} B were taken, and nobody read them"))?;
            let memory = relay.memory("VmRSS")?;
            ensure(memory < 100 << 20, format!("{memory} B of memory"))?;
            writer.shutdown(Shutdown::Write)?;
            let mut read = Vec::new();
            reader.read_to_end(&mut read)?;
            let expected = pattern(5, 1 << 20);
            let right = read.iter().enumerate().all(|(at, byte)| *byte == expected[at % expected.len()]);
            ensure(read.len() == written && right, format!("{} B of {written} arrived", read.len()))?;
        }
        Ok(())
    })
}

fn limit() -> Checked {
    both(|way| {
        let server = TcpListener::bind(way.server())?;
        let relay = Relay::start(way, server.local_addr()?, &["--connections", "2"])?;
        let echo = || -> Result<(TcpStream, TcpStream), Failed> {
            let client = relay.connect()?;
            Ok((client, server.accept()?.0))
        };
        let (first, second) = (echo()?, echo()?);
        let mut third = relay.connect()?;
        third.write_all(b"?")?;
        server.set_nonblocking(true)?;
        sleep(Duration::from_millis(300));
        ensure(server.accept().is_err(), "the third connection does not wait")?;
        server.set_nonblocking(false)?;
        drop(first);
        let (mut served, _) = server.accept()?;
        served.set_nonblocking(false)?;
        let mut byte = [0];
        served.read_exact(&mut byte)?;
        drop((second, third, served));
        let log = relay.log()?;
        let end = log.last().ok_or("no end")?;
        ensure(end["most_at_once"] == 2 && end["limit"] == 2 && end["connections"] == 3, format!("{end}"))?;
        ensure(end["waited"].as_u64() >= Some(1), format!("{end}"))
    })
}

/// Addresses of loopback have no limit, so the client has another one.
fn greedy() -> Checked {
    both(|way| {
        let server = TcpListener::bind(way.server())?;
        let arguments = ["--per-client", "2", "--listen", "10.9.9.1:0"];
        let relay = Relay::start(way, server.local_addr()?, &arguments)?;
        let _held = [relay.connect()?, relay.connect()?];
        let _served = [server.accept()?, server.accept()?];
        let told = relay.connect().and_then(|mut client| Ok(client.read(&mut [0])?));
        ensure(told.is_err(), format!("a third connection is told {told:?}"))?;
        drop((_held, _served));
        let log = relay.log()?;
        let end = log.last().ok_or("no end")?;
        ensure(end["refused"] == 1 && log.iter().any(|entry| entry["end"] == "too-many"), format!("{log:?}"))
    })
}

fn idle() -> Checked {
    both(|way| {
        let (_server, relay, mut client, mut served) = connected(way, &["--idle", "1 s"])?;
        for stream in [&mut client, &mut served] {
            let told = stream.read(&mut [0]).map_err(|error| error.kind());
            ensure(told == Err(ErrorKind::ConnectionReset), format!("told {told:?}"))?;
        }
        let log = relay.log()?;
        ensure(log[0]["end"] == "idle", format!("{log:?}"))
    })
}

/// A thousand at once, each of which has bytes on its way in both directions.
fn thousand() -> Checked {
    const COUNT: usize = 1000;
    const BYTES: usize = 20_000;
    peers::many_files()?;
    both(|way| {
        let server = TcpListener::bind(way.server())?;
        let relay = Relay::start(way, server.local_addr()?, &["--per-client", "1000"])?;
        let answering = thread::spawn(move || -> std::io::Result<Vec<TcpStream>> {
            let mut served = Vec::new();
            for _ in 0..COUNT {
                served.push(server.accept()?.0);
            }
            for stream in &mut served {
                let mut bytes = vec![0; BYTES];
                stream.read_exact(&mut bytes)?;
                stream.write_all(&bytes)?;
            }
            Ok(served)
        });
        let mut clients = Vec::new();
        for seed in 0..COUNT {
            let mut client = relay.connect()?;
            fill(&mut client, seed as u64, BYTES)?;
            clients.push(client);
        }
        for (seed, client) in clients.iter_mut().enumerate() {
            let mut bytes = vec![0; BYTES];
            client.read_exact(&mut bytes)?;
            ensure(bytes == pattern(seed as u64, BYTES), "other bytes")?;
        }
        let memory = relay.memory("VmHWM")?;
        ensure(memory < 200 << 20, format!("{memory} B of memory"))?;
        let served = answering.join().map_err(|_| "the server")??;
        drop((clients, served));
        let log = relay.log()?;
        let end = log.last().ok_or("no end")?;
        ensure(end["most_at_once"] == COUNT && end["connections"] == COUNT, format!("{end}"))
    })
}

fn taken() -> Checked {
    inside(|| {
        let server = TcpListener::bind(Way::Clients.server())?.local_addr()?;
        let relay = Relay::start(Way::Clients, server, &[])?;
        let listen = relay.address.to_string();
        let second = ["proxy", "--towards", "clients", "--listen", &listen, "--to", "127.0.0.1:9"];
        let said = stderr(&ackclock(&second)?);
        ensure(said.contains("another ackclock proxy stands in front of port"), said)?;
        // A socket of the kernel cannot have it either, and the other way round.
        ensure(TcpListener::bind(relay.address).is_err(), "the kernel gives the port away")?;
        let other = TcpListener::bind("127.0.0.1:0")?;
        let listen = other.local_addr()?.to_string();
        let third = ["proxy", "--towards", "clients", "--listen", &listen, "--to", "127.0.0.1:9"];
        let said = stderr(&ackclock(&third)?);
        ensure(said.contains("cannot be listened on"), said)
    })
}

fn unprivileged() -> Checked {
    use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};
    let begun = Instant::now();
    thread::spawn(|| -> Checked {
        // A root's program gets what the bounding set of its starter has (capabilities(7)).
        remove_capability_from_bounding_set(CapabilitySet::NET_ADMIN)?;
        let output = ackclock(&["proxy", "--listen", "0", "--to", "127.0.0.1:9"])?;
        ensure(output.status.code() == Some(2), format!("{}", output.status))?;
        ensure(stderr(&output).contains("CAP_NET_ADMIN"), stderr(&output))
    })
    .join()
    .map_err(|_| format!("panicked after {:?}", begun.elapsed()))?
}

fn wrong_use() -> Checked {
    let cases: &[(&[&str], &str)] = &[
        (&["--listen", "0", "--to", "nowhere"], "--to takes HOST:PORT"),
        (&["--listen", "there", "--to", "127.0.0.1:9"], "a port on loopback"),
        (&["--listen", "0", "--to", "127.0.0.1:9", "--control", "xrtp"], "a transport of its own"),
        (&["--listen", "0", "--to", "127.0.0.1:9", "--control", "renno"], "reno"),
        (&["--listen", "0", "--to", "127.0.0.1:9", "--detection", "ncr", "--recovery", "robust"], "ncr"),
        (&["--listen", "0", "--to", "127.0.0.1:9", "--buffer", "1 kB"], "32 KiB to 1 GiB"),
        (&["--listen", "0", "--to", "127.0.0.1:9", "--set", "flows=[]"], "flows"),
    ];
    for (arguments, wanted) in cases {
        let output = ackclock(&[&["proxy"], *arguments].concat())?;
        let said = stderr(&output);
        ensure(output.status.code() == Some(2) && said.contains(wanted), format!("{arguments:?}: {said}"))?;
    }
    Ok(())
}
