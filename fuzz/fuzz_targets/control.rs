//! Any bytes from a controller, an agent, a source, a sink, or a peer of iperf3. Nothing panics, what is read can
//! be written again and is the same, and nobody who lacks the key gives consent.
#![no_main]

use ackclock_agent::consent::{Consent, Cookies, Secrets, Verdict, read_hello};
use ackclock_agent::iperf3::message::{Parameters, Results, State, read_document, read_header};
use ackclock_agent::policy::{Policy, Wish};
use ackclock_agent::protocol::{Lines, MAX_LINE, Reply, Request, to_line};
use ackclock_agent::spec::{Role, Spec};
use ackclock_units::Time;
use libfuzzer_sys::fuzz_target;

/// What is found to be right keeps its limits, whatever the policy asks of it.
fn look(spec: &Spec) {
    if spec.fault().is_some() {
        return;
    }
    if let Role::Source(pattern) = &spec.role {
        let _ = (pattern.bytes(), pattern.offered(), pattern.duration());
    }
    let (who, towards) = ([String::new()], [127, 0, 0, 1].into());
    let wish = Wish { who: &who, towards, spec, sockets: 0, tests_today: 0, minute: 0 };
    if let Ok(grant) = Policy::default().decide(&wish) {
        assert!(!spec.protocol.no_control(), "nobody has allowed it");
        assert_eq!(grant.duration, 3_600_000_000);
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut lines = Lines::default();
    // In pieces, as they come.
    for piece in bytes.chunks(7) {
        lines.push(piece);
        while let Ok(Some(line)) = lines.next_line() {
            assert!(line.len() < MAX_LINE);
            if let Ok(request) = serde_json::from_slice::<Request>(&line) {
                if let Request::Setup { spec, .. } = &request {
                    look(spec);
                }
                let again = to_line(&request).expect("not much longer than it came");
                assert_eq!(serde_json::from_slice::<Request>(&again).expect("our own"), request);
            }
            let _ = serde_json::from_slice::<Reply>(&line);
        }
    }
    let secrets = Secrets { cookie: [1; 16], key: [2; 16] };
    assert_ne!(secrets.read_answer([3; 16], bytes), Some(Verdict::Welcome));
    let mut consent = Consent::new(secrets, Time::ZERO);
    consent.on_datagram(Time::from_nanos(1_400_000_000), bytes);
    assert!(!consent.holds(Time::from_nanos(1_500_000_000)));
    if let Some((cookie, _)) = read_hello(bytes) {
        let mut cookies = Cookies::<()>::default();
        assert_eq!(cookies.take(cookie), Err(Verdict::Unknown));
    }
    for wide in [false, true] {
        let _ = read_header(bytes, wide);
    }
    let _ = bytes.first().map(|&byte| State::of(byte));
    let _ = read_document::<Results>(&mut &bytes[..]);
    if let Ok(asked) = read_document::<Parameters>(&mut &bytes[..]) {
        let _ = (asked.fault(), asked.limit(), asked.span());
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Policy::read("policy", text);
    }
});
