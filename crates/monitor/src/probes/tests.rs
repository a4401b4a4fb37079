//! Transfers and searches over loopback, and what strangers and liars try.

use super::search::search;
use super::sink::{Listening, PROTOCOL};
use super::transfer::transfer;
use crate::plan::{Host, Plan, Sink};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

static GO_ON: AtomicBool = AtomicBool::new(false);

/// A sink that serves on a port of its own.
fn sink(search: &str, allow: &str) -> SocketAddr {
    let file = format!("[sink]\nlisten = \"127.0.0.1:0\"\nallow = [\"{allow}\"]\n{search}");
    let plan: Sink = Plan::read("m.toml", &file).expect("it is right").sink.expect("there is one");
    let listening = Listening::begin(&plan).expect("a port");
    let address = listening.address();
    spawn(move || listening.serve(&GO_ON));
    address
}

/// A host with probes to this port.
fn host(port: u16, most: &str) -> Host {
    let file = format!(
        "[[hosts]]\nname = \"far\"\naddress = \"127.0.0.1\"\n\
         transfer = {{ port = {port}, every = \"2 s\", length = \"600 ms\", most = \"1 MB\" }}\n\
         search = {{ port = {port}, most = \"{most}\" }}\n"
    );
    Plan::read("m.toml", &file).expect("it is right").hosts.remove(0)
}

fn searched(port: u16, most: &str) -> std::io::Result<super::search::Rates> {
    let host = host(port, most);
    search(host.address, host.search.as_ref().expect("it has one"), &GO_ON)
}

/// What a peer hears until the other end hangs up.
fn heard(mut stream: &TcpStream) -> String {
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("an option");
    let mut bytes = Vec::new();
    // A reset is an end, too.
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn a_path_that_carries_all_has_no_losses() {
    let port = sink("search = \"8 Mbit/s\"", "127.0.0.1").port();
    let rates = searched(port, "20 Mbit/s").expect("it is taken");
    // The smaller one of both limits.
    assert!(rates.clean.is_some_and(|it| it <= 8e6), "{rates:?}");
    let shown =
        transfer(Ipv4Addr::LOCALHOST.into(), host(port, "1 Mbit/s").transfer.as_ref().expect("one"), &GO_ON);
    assert_eq!(shown.expect("it is taken").bytes, 1e6);
}

#[test]
fn nobody_searches_where_none_is_taken() {
    let without = sink("", "127.0.0.1");
    let refused = searched(without.port(), "1 Mbit/s").expect_err("it is refused");
    assert!(refused.to_string().contains("takes no searches"), "{refused}");
    let with = sink("search = \"1 Mbit/s\"", "127.0.0.1");
    let mut first = TcpStream::connect(with).expect("a connection");
    first.write_all(b"ackclock-datagram/1\n").expect("taken");
    let mut lines = BufReader::new(first.try_clone().expect("a handle")).lines();
    lines.next().expect("a greeting").expect("a line");
    lines.next().expect("a cookie").expect("a line");
    let refused = searched(with.port(), "1 Mbit/s").expect_err("it is refused");
    assert!(refused.to_string().contains("busy with another"), "{refused}");
    let other = sink("search = \"1 Mbit/s\"", "192.0.2.1");
    let refused = searched(other.port(), "1 Mbit/s").expect_err("it is refused");
    assert!(matches!(refused.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset), "{refused}");
}

/// A sink that renews its consent once and then vanishes, although its connection stands.
#[test]
fn without_consent_datagrams_stop_within_two_seconds() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let datagrams = UdpSocket::bind(address).expect("the same port");
    let (tell, told) = channel();
    spawn(move || {
        let mut stream = listener.accept().expect("a source").0;
        let cookie = "07".repeat(16);
        writeln!(stream, "{PROTOCOL} 1000 1000").expect("taken");
        writeln!(stream, "ackclock-datagram/1 {cookie} 100000000").expect("taken");
        // It reports the first rounds as clean, so that the source goes on.
        let mut lines = BufReader::new(stream.try_clone().expect("a handle")).lines();
        lines.next().expect("a request").expect("a line");
        for _ in 0..2 {
            let line = lines.next().expect("a round").expect("a line");
            let mut words = line.split_whitespace().skip(1);
            let (round, sent) = (words.next().expect("a number"), words.next().expect("a number"));
            writeln!(stream, "consent\narrived {round} {sent} 1").expect("taken");
        }
        tell.send(Instant::now()).expect("it is awaited");
        sleep(Duration::from_secs(10));
        drop(stream);
    });
    let source = spawn(move || searched(address.port(), "100 Mbit/s"));
    let last_consent = told.recv().expect("the sink lives");
    datagrams.set_read_timeout(Some(Duration::from_millis(700))).expect("an option");
    let mut last = last_consent;
    while datagrams.recv(&mut [0; 2000]).is_ok() {
        last = Instant::now();
    }
    assert!(last - last_consent < Duration::from_secs(2), "{:?}", last - last_consent);
    assert!(last > last_consent, "it went on for a while");
    let error = source.join().expect("it ends").expect_err("the consent has run out");
    assert!(error.to_string().contains("consent has run out"), "{error}");
}

/// One byte now and then does not hold a place: the whole greeting must come in time.
#[test]
fn who_trickles_is_dropped() {
    let address = sink("", "127.0.0.1");
    let mut stream = TcpStream::connect(address).expect("a connection");
    let begun = Instant::now();
    let mut left = "ackclock-transfer/1\n".bytes();
    for byte in left.by_ref() {
        if stream.write_all(&[byte]).is_err() {
            break;
        }
        sleep(Duration::from_millis(600));
    }
    assert!(left.next().is_some(), "20 bytes at that pace are 12 s");
    // A busy machine may be late.
    assert!(begun.elapsed() < Duration::from_secs(11), "{:?}", begun.elapsed());
}

#[test]
fn garbage_and_strangers_get_a_greeting_at_most() {
    let address = sink("search = \"1 Mbit/s\"", "127.0.0.1");
    for garbage in [&b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"[..], &[0xff; 5000], b"ackclock-transfer/2\n"] {
        let mut stream = TcpStream::connect(address).expect("a connection");
        // It may hang up before all is written.
        let _ = stream.write_all(garbage);
        let heard = heard(&stream);
        assert!(heard.is_empty() || heard.starts_with(PROTOCOL) && heard.lines().count() == 1, "{heard}");
    }
    for garbage in ["round 5 5\n", "round\n", "hello\n", "round 0 1\nround 0 1\n", "round -1 0\n", "\n"] {
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.write_all(b"ackclock-datagram/1\n").expect("taken");
        stream.write_all(garbage.as_bytes()).expect("taken");
        let heard = heard(&stream);
        assert!(!heard.contains("arrived"), "{garbage}: {heard}");
    }
    let closed = sink("", "192.0.2.1");
    assert_eq!(heard(&TcpStream::connect(closed).expect("a connection")), "");
}

/// More at once than there are places for are sent away, and those who come later are served again.
#[test]
fn a_crowd_is_sent_away_and_goes() {
    let address = sink("", "127.0.0.1");
    let crowd: Vec<TcpStream> = (0..50).map(|_| TcpStream::connect(address).expect("a connection")).collect();
    let mut greeted = 0;
    for stream in &crowd {
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("an option");
        greeted += usize::from((&*stream).read(&mut [0; 1]).is_ok_and(|bytes| bytes == 1));
    }
    assert_eq!(greeted, 4);
    drop(crowd);
    let begun = Instant::now();
    let host = host(address.port(), "1 Mbit/s");
    while transfer(host.address, host.transfer.as_ref().expect("it has one"), &GO_ON).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the places are not free again");
        sleep(Duration::from_millis(100));
    }
}

/// Datagrams beyond the rate, or with another cookie, end a search or do not count.
#[test]
fn a_source_that_sends_too_much_is_cut_off() {
    let address = sink("search = \"100 kbit/s\"", "127.0.0.1");
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.write_all(b"ackclock-datagram/1\n").expect("taken");
    let mut lines = BufReader::new(stream.try_clone().expect("a handle")).lines();
    lines.next().expect("a greeting").expect("a line");
    let offer = lines.next().expect("a cookie").expect("a line");
    let cookie = offer.split_whitespace().nth(1).expect("a cookie");
    let cookie = u128::from_str_radix(cookie, 16).expect("digits").to_be_bytes();
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let mut datagram = vec![0; 1400];
    for _ in 0..50 {
        socket.send_to(&datagram, address).expect("sent");
    }
    writeln!(stream, "round 0 50").expect("taken");
    let report = lines.find(|line| line.as_ref().is_ok_and(|it| it.starts_with("arrived")));
    assert_eq!(report.expect("a report").expect("a line"), "arrived 0 0 0", "they show no cookie");
    datagram[..16].copy_from_slice(&cookie);
    let begun = Instant::now();
    while stream.write_all(b"").is_ok() && begun.elapsed() < Duration::from_secs(20) {
        let _ = socket.send_to(&datagram, address);
        stream.set_nonblocking(true).expect("an option");
        if matches!(stream.read(&mut [0; 100]), Ok(0)) {
            return;
        }
        stream.set_nonblocking(false).expect("an option");
    }
    panic!("it may go on");
}

/// A sink that lies about a transfer: nobody can have got more than was sent.
#[test]
fn a_lying_sink_is_not_believed() {
    for report in ["1e300 5", "999999999999 5", "5 1e300", "NaN 5", "-1 5", "5", "inf inf"] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        spawn(move || {
            let mut stream = listener.accept().expect("a source").0;
            writeln!(stream, "{PROTOCOL} 600 100000").expect("taken");
            stream.read_to_end(&mut Vec::new()).expect("all of it");
            writeln!(stream, "{PROTOCOL} {report}").expect("taken");
        });
        let host = host(port, "1 Mbit/s");
        let shown = transfer(host.address, host.transfer.as_ref().expect("it has one"), &GO_ON);
        assert_eq!(shown.expect_err(report).kind(), ErrorKind::InvalidData, "{report}");
    }
}

/// A sink whose offer makes no sense gets no datagram.
#[test]
fn an_offer_of_nothing_is_refused() {
    let cookie = "07".repeat(16);
    for offer in [
        format!("{cookie} 0"),
        format!("{cookie} -1"),
        cookie.clone(),
        "07 5000000".to_owned(),
        String::new(),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let sent = offer.clone();
        spawn(move || {
            let mut stream = listener.accept().expect("a source").0;
            writeln!(stream, "{PROTOCOL} 600 100000\nackclock-datagram/1 {sent}").expect("taken");
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let error = searched(port, "1 Mbit/s").expect_err(&offer);
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{offer}");
    }
}

/// A sink that greets byte by byte does not hold a probe for ever.
#[test]
fn a_sink_that_trickles_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    spawn(move || {
        let mut stream = listener.accept().expect("a source").0;
        while stream.write_all(b"x").is_ok() && !GO_ON.load(Ordering::Relaxed) {
            sleep(Duration::from_millis(300));
        }
    });
    let (begun, host) = (Instant::now(), host(port, "1 Mbit/s"));
    assert!(transfer(host.address, host.transfer.as_ref().expect("it has one"), &GO_ON).is_err());
    assert!(begun.elapsed() < Duration::from_secs(20), "200 bytes at that pace are a minute");
}
