//! What went wrong once, each case by itself.

mod common;

use ackclock_net::Fate;
use ackclock_scenario::flow_trace::EventKind;
use ackclock_scenario::{Sweep, Value};
use ackclock_sim::engine::{Engine, Observer, PacketRef, SenderView};
use ackclock_units::{Duration, Time};
use common::{audit, built, dumbbell, points, result, watched};

const FLOW: &str = "[[flows]]\ncontrol = \"reno\"\n";

fn refused(text: &str, settings: &[&str]) -> String {
    let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
    match Sweep::read("test.toml", text, &settings) {
        Ok(sweep) => match ackclock_study::run::check(&sweep.points, false) {
            Ok(_) => panic!("this is wrong, but nobody says so:\n{text}"),
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    }
}

/// Twenty thousand results without samples filled the memory, and the estimate before had nothing for them.
#[test]
fn results_without_samples_take_memory_too() {
    let kept = |flows: u32, seeds: u32| {
        let rest = format!("{FLOW}count = {flows}\n");
        let text = dumbbell("rate = \"1 Mbit/s\", delay = \"20 ms\"", &rest);
        ackclock_study::run::check(&points(&format!("duration = \"1 s\"\nseeds = {seeds}\n{text}")), false)
            .expect("they can run")
            .kept
    };
    let (one, flow) = (kept(1, 1), kept(2, 1) - kept(1, 1));
    assert!((kept(1, 50) / one - 50.0).abs() < 1e-9, "each run has a result");
    assert!(one > 4096.0 && flow > 200.0 && (kept(20, 1) - one - 19.0 * flow).abs() < 19.0 * flow / 2.0);
}

/// A look at a queue removed what had left it before the queue's periodic updates had seen it waiting.
#[test]
fn looks_do_not_change_what_periodic_updates_see() {
    let text = "seed = 27810534\nduration = \"3 s\"\n[topology.dumbbell]\n\
        bottleneck = { rate = \"1899 kbit/s\", delay = \"15584 us\", queue = { droptail = \"4 packets\" } }\n\
        reverse = { rate = \"1998 kbit/s\", delay = \"16577 us\", queue = { pie = { limit = \"1 bdp\" } } }\n\
        access = { rate = \"44 Mbit/s\", delay = \"16 ms\" }\n[[flows]]\nlabel = \"a\"\ncontrol = \"reno\"\n\
        recovery = \"tahoe\"\n[[flows]]\nlabel = \"b\"\ncontrol = \"fast\"\nreverse = true\n";
    let drops = |text: &str| result(text).links[1].drops;
    let (once, probed) = (drops(text), drops(&format!("probe = \"1 ms\"\n{text}")));
    assert!(once > 0 && once == probed, "{once} {probed}");
}

/// Jitter made packets of two flows arrive together behind a link, and who went first depended on who looked.
#[test]
fn packets_with_jitter_never_arrive_together() {
    let text = "duration = \"3 s\"\n[topology.parking_lot]\nhops = 3\n\
        link = { rate = \"766 kbit/s\", delay = \"7 ms\", queue = { droptail = \"13 packets\" }, jitter = \"20 ms\" }\n\
        [[flows]]\ncontrol = \"reno\"\n[[traffic]]\nkind = \"cbr\"\nrate = \"500 kbit/s\"\npacket = \"300 B\"\n";
    let links = |text: &str| serde_json::to_string(&result(text).links).expect("JSON");
    assert_eq!(links(text), links(&format!("probe = \"1 ms\"\n{text}")));
}

/// A straggler of an earlier connection reached its receiver, and was neither counted there nor in flight.
#[test]
fn stragglers_of_earlier_connections_arrive() {
    let text = "seed = 1485014193\nduration = \"3 s\"\n".to_owned()
        + &dumbbell(
            "rate = \"6454 kbit/s\", delay = \"4223 us\", loss = 0.02",
            "[[flows]]\nlabel = \"a\"\ncontrol = \"cubic\"\nrecovery = \"reno\"\n\
             [[flows]]\nlabel = \"b\"\ncontrol = \"reno\"\nrecovery = \"tahoe\"\nsize = \"50 kB\"\nrepeat = 5\n\
             pause = \"50 ms\"\ncount = 3\ntcp = { initial_window = 2, counting = \"acks\", timestamps = false }\n",
        );
    let built = built(&text);
    let (measured, watch) = watched(&built);
    audit(&built, &measured, &watch).unwrap_or_else(|wrong| panic!("{wrong}"));
}

/// At its first link a stream had the number 0, at further ones the number of flows more.
#[test]
fn datagrams_belong_to_the_same_stream_at_every_link() {
    struct Streams(Vec<(usize, u32)>);
    impl Observer for Streams {
        fn at_link(&mut self, link: usize, _: Duration, packet: PacketRef<'_>, _: Fate) {
            if let PacketRef::CbrPacket(stream, data) = packet
                && data.seq == 0
            {
                self.0.push((link, stream));
            }
        }
        fn at_transmitter(&mut self, _: Time, _: usize, _: Duration, _: PacketRef<'_>, _: Fate) {}
        fn at_sender(&mut self, _: Time, _: usize, _: &SenderView) {}
        fn is_there(&self) -> bool {
            true
        }
        fn minds(&self, _: usize, _: PacketRef<'_>) -> bool {
            true
        }
        fn minds_sender(&self, _: usize) -> bool {
            false
        }
    }
    let text = format!(
        "duration = \"1 s\"\n[topology.parking_lot]\nhops = 2\nlink = {{ rate = \"10 Mbit/s\", delay = \"1 ms\" }}\n\
         {FLOW}count = 3\n[[traffic]]\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\n"
    );
    let (_, Streams(seen)) = Engine::new(built(&text).plan, Streams(Vec::new())).run();
    assert_eq!(seen, [(0, 0), (2, 0)]);
}

/// What had its size cut short by `stop` counted as a finished transfer.
#[test]
fn a_transfer_that_was_stopped_is_not_complete() {
    let flow = format!("{FLOW}size = \"10 MB\"\nstop = \"2 s\"\n");
    let text =
        "duration = \"10 s\"\n".to_owned() + &dumbbell("rate = \"10 Mbit/s\", delay = \"10 ms\"", &flow);
    let flow = &result(&text).flows[0];
    assert!(flow.completion_s.is_none() && flow.delivered > 1000, "{flow:?}");
}

/// A queue that is as full at the end of the measuring window as at its beginning hid that waiting was
/// counted when it began: a short window in front of an overload saw nothing of it, or far too much.
#[test]
fn mean_queues_are_those_of_the_window() {
    let queue = |from: &str, to: &str| {
        let text = format!("duration = \"10 s\"\nmeasure = [\"{from}\", \"{to}\"]\n")
            + &dumbbell(
                "rate = \"1 Mbit/s\", delay = \"10 ms\", queue = { droptail = \"100 packets\" }",
                &format!(
                    "{FLOW}start = \"9 s\"\n[[traffic]]\nkind = \"cbr\"\nrate = \"2 Mbit/s\"\nstart = \"1 s\"\nstop = \"4 s\"\n"
                ),
            );
        result(&text).links[0].queue_mean
    };
    // 125 datagrams of 1000 B per second more than the link takes: full from 1.8 s on, empty again 0.8 s
    // after 4 s.
    assert!((99.0..=100.0).contains(&queue("2 s", "3 s")), "{}", queue("2 s", "3 s"));
    assert!((49.0..=51.0).contains(&queue("1 s", "1800 ms")), "{}", queue("1 s", "1800 ms"));
    assert!((49.0..=51.0).contains(&queue("4 s", "4800 ms")), "{}", queue("4 s", "4800 ms"));
    assert_eq!(queue("5 s", "6 s"), 0.0);
}

/// With a round trip of less than a nanosecond the clock stood still for ever.
#[test]
fn runs_that_cannot_advance_are_refused() {
    let text = "duration = \"1 s\"\nsegment = { payload = \"1 B\", header = \"1 B\" }\n".to_owned()
        + &dumbbell("rate = \"100 Tbit/s\", delay = \"0 s\"", FLOW);
    assert!(refused(&text, &[]).contains("less than a nanosecond"));
    let text = "duration = \"1 s\"\n".to_owned() + &dumbbell("rate = \"1 Gbit/s\", delay = \"1 ms\"", FLOW);
    let timers = "tcp.rto_min=0 s";
    assert!(refused(&text, &["tcp.clock_granularity=0 s", timers]).contains("without end"));
    let fast = "[[traffic]]\nkind = \"cbr\"\nrate = \"100 Tbit/s\"\npacket = \"1 B\"\n";
    assert!(refused(&(text + fast), &[]).contains("more than one in a nanosecond"));
}

/// A million flows, a hundred times, or a million looks at each of them took all memory before anything ran.
#[test]
fn enormous_scenarios_are_refused() {
    let start = "duration = \"1000 s\"\n[topology.parking_lot]\nhops = 1000\nlink = { rate = \"1 Gbit/s\", delay = \"1 ms\" }\n";
    let group = |label: u32, count: u32| format!("{FLOW}label = \"{label}\"\ncount = {count}\n");
    let twice = format!("{start}{}{}", group(1, 600_000), group(2, 600_000));
    assert!(refused(&twice, &[]).contains("1200000 flows"));
    assert!(refused(&format!("{start}{}", group(1, 100_000)), &[]).contains("all routes together"));
    let looks = dumbbell("rate = \"1 Gbit/s\", delay = \"1 ms\"", &group(1, 50_000));
    assert!(refused(&format!("duration = \"1000 s\"\nprobe = \"1 ms\"\n{looks}"), &[]).contains("looks"));
}

/// `--set` took the alphabetically first of several values, and could not name keys with dots.
#[test]
fn settings_are_read_as_they_are_written() {
    let text = "duration = \"1 s\"\nname = \"x\"\n".to_owned()
        + &dumbbell("rate = \"1 Gbit/s\", delay = \"1 ms\"", FLOW);
    let set = |settings: &[&str]| {
        let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
        Sweep::read("test.toml", &text, &settings).unwrap_or_else(|error| panic!("{error}"))
    };
    let name = |setting: &str| set(&[setting]).points[0].scenario.name.clone();
    assert_eq!(name("name=b\na = \"1\""), "b\na = \"1\"");
    assert_eq!(name("name=\"two words\""), "two words");
    assert_eq!(name(" name = two words "), "two words");
    assert_eq!(name("name=a=b"), "a=b");
    let swept = set(&["sweep.\"flows.0.count\"=[1, 2]"]);
    assert_eq!(swept.axes, ["flows.0.count"]);
    assert!(matches!(swept.points[1].parameters[0].1, Value::Number(2.0)));
    assert_eq!(set(&["flows.0.control.cubic={}"]).points.len(), 1);
}

/// Axis names whose dots were not quoted made tables, which were refused.
#[test]
fn axes_need_no_quotes() {
    let text = "duration = \"1 s\"\n".to_owned()
        + &dumbbell("rate = \"1 Gbit/s\", delay = \"1 ms\"", FLOW)
        + "[sweep]\nflows.0.count = [1, 2]\ntopology.dumbbell.bottleneck.rate = [\"1 Mbit/s\", \"2 Mbit/s\"]\n";
    let sweep = Sweep::read("test.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(sweep.axes, ["flows.0.count", "topology.dumbbell.bottleneck.rate"]);
    assert_eq!(sweep.points.len(), 4);
}

/// Whatever an editor writes: CRLF, a byte order mark, comments, tabs.
#[test]
fn editors_may_differ() {
    let text = "duration = \"1 s\"\t# a comment\n".to_owned()
        + &dumbbell("rate = \"1 Gbit/s\", delay = \"1 ms\"", FLOW);
    let odd = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(points(&odd)[0].scenario.duration, Duration::from_secs(1));
    let error = refused(&odd.replace("control", "contrl"), &[]);
    let line = 1 + odd[..odd.find("control").expect("it is there")].matches('\n').count();
    assert!(error.starts_with(&format!("test.toml:{line}: ")), "{error}");
}

/// Whole numbers became floats in JSON: `"count": 2.0`.
#[test]
fn whole_numbers_stay_whole() {
    let text = "duration = \"1 s\"\nseed = 3\n".to_owned()
        + &dumbbell("rate = \"1 Gbit/s\", delay = \"1 ms\", loss = 0.5", &format!("{FLOW}count = 2\n"));
    let json = points(&text)[0].scenario.to_json();
    assert_eq!(json["seed"].to_string(), "3");
    assert_eq!(json["flows"][0]["count"].to_string(), "2");
    assert_eq!(json["topology"]["dumbbell"]["bottleneck"]["loss"].to_string(), "0.5");
}

/// A stream whose on periods are shorter than one packet sent one in each of them, whatever its rate.
#[test]
fn short_on_periods_keep_the_rate() {
    let text = "duration = \"1 s\"\n".to_owned()
        + &dumbbell(
            "rate = \"1 Gbit/s\", delay = \"1 ms\"",
            &format!(
                "{FLOW}[[traffic]]\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\non = \"1 ms\"\noff = \"3 ms\"\n"
            ),
        );
    let (_, watch) = watched(&built(&text));
    // 8 ms of sending per datagram are eight on periods: 32 ms.
    let expected: Vec<_> = (0..32).map(|n| Time::from_nanos(n * 32_000_000)).collect();
    assert_eq!(watch.datagrams[0], expected);
}

/// What CoDel dropped was dated by its sending, and what it let go was never taken off the queue: a watcher
/// that is perhaps not there did not hear what became of packets that had waited.
#[test]
fn a_packet_that_codel_drops_is_dropped_when_it_has_waited() {
    let text = "duration = \"20 s\"\nmeasure = [\"5 s\", \"20 s\"]\n".to_owned()
        + &dumbbell(
            "rate = \"20 Mbit/s\", delay = \"10 ms\", queue = { codel = { limit = \"1000 packets\" } }",
            "[[flows]]\ncontrol = \"reno\"\ncount = 2\nfollow = 1\n[predict]\n",
        );
    let result = result(&text);
    assert!(result.links[0].drops > 20 && result.links[0].queue_mean < 50.0);
    let course = &result.courses[0];
    let dropped: Vec<_> = course.events.iter().filter(|event| event.what == EventKind::Dropped).collect();
    assert!(dropped.len() > 5, "{}", dropped.len());
    for event in dropped {
        let sent = course.segments[event.segment as usize].sent_ns;
        // RFC 8289: nothing is dropped that has not waited for the target of 5 ms.
        assert!(event.at_ns >= sent + 5_000_000, "{event:?}, sent at {sent} ns");
    }
    let predictions = result.predictions.expect("they were asked for");
    for predictor in &predictions.predictors {
        if let Some(at) = predictor.flow_losses.queue_at_false_positives {
            assert!(at[0] > 0.99, "{}: {at:?} of 1000 packets", predictor.name);
        }
    }
}

/// The learned policy doubled its rate once per round trip while it heard duplicates only, which say nothing
/// of the round trip: 33 million packets were on their way, and tests took all of a machine's memory.
#[test]
fn a_policy_does_not_double_its_rate_blindly() {
    let text = "seed = 1\nduration = \"3 s\"\n[topology.dumbbell]\n\
        bottleneck = { rate = \"18674 kbit/s\", delay = \"22307 us\", queue = { pi = { limit = \"1 bdp\" } }, \
        reorder = { share = 0.5882855153642493, delay = { pareto = { mean = \"12 ms\", shape = 1.2 } } } }\n\
        access = { rate = \"25 Mbit/s\", delay = \"13 ms\" }\n[[flows]]\ncontrol = \"dctcp\"\nrecovery = \"robust\"\n\
        bursts = { size = \"20 kB\", every = \"30 ms\", for = \"900 ms\" }\nsend_buffer = \"15 kB\"\nreverse = true\n\
        [[flows]]\ncontrol = \"policy\"\nrecovery = \"robust\"\njitter = \"3 ms\"\ncount = 3\n\
        start = { uniform = [\"0 s\", \"500 ms\"] }\n\
        tcp = { delayed_ack = true, initial_window = 2, counting = \"acks\", timestamps = false, ecn = true }\n";
    let sent: u64 = result(text).flows.iter().map(|flow| flow.sent).sum();
    assert!(sent < 50_000, "7,000 packets fit through the link: {sent}");
}
