//! Small examples whose outcome is known from arithmetic or from a published law.

mod common;

use ackclock_study::expect::{Names, View, evaluate};
use ackclock_units::{Duration, Time};
use common::{built, dumbbell, result, watched};

/// One segment and its acknowledgement over a dumbbell, to the nanosecond.
#[test]
fn one_segment_and_its_acknowledgement() {
    // 1000 B take 0.1 ms at 80 Mbit/s and 1 ms at 8 Mbit/s; an ACK of 40 B takes 4 us and 40 us.
    let text = "duration = \"1 s\"\nsegment = { payload = \"960 B\", header = \"40 B\" }\n".to_owned()
        + &dumbbell(
            "rate = \"8 Mbit/s\", delay = \"10 ms\"",
            "access = { rate = \"80 Mbit/s\", delay = \"1 ms\" }\n[[flows]]\ncontrol = \"reno\"\nsize = \"960 B\"\n",
        );
    let out = 100_000 + 1_000_000 + 1_000_000 + 10_000_000 + 100_000 + 1_000_000;
    let back = 4_000 + 1_000_000 + 40_000 + 10_000_000 + 4_000 + 1_000_000;
    let (measured, watch) = watched(&built(&text));
    assert_eq!(measured.flows[0].completions(), [Duration::from_nanos(out + back)]);
    assert_eq!(measured.flows[0].rtt_min, Some(Duration::from_nanos(out + back)));
    assert_eq!((watch.flows[0].sent, watch.flows[0].acks), (1, 1));
}

/// The same at a rate that takes a fraction of a nanosecond for each bit, and three segments: each of them
/// ends at the whole nanosecond before.
#[test]
fn three_segments_in_a_row() {
    let text = "duration = \"1 s\"\nsegment = { payload = \"960 B\", header = \"40 B\" }\n".to_owned()
        + &dumbbell(
            "rate = \"7 Mbit/s\", delay = \"1 ms\"",
            "[[flows]]\ncontrol = \"reno\"\nsize = \"2880 B\"\n",
        );
    // 8000 bit at 7 Mbit/s are 1142857.14 ns; three of them 3428571.43 ns; an ACK 45714.29 ns.
    let (measured, _) = watched(&built(&text));
    assert_eq!(measured.flows[0].completions(), [Duration::from_nanos(3_428_571 + 45_714 + 2_000_000)]);
}

/// Without loss the window doubles every round trip: 2, 4, 8, ... segments leave per round.
#[test]
fn slow_start_doubles_every_round() {
    let text = "duration = \"750 ms\"\ntcp = { initial_window = 2 }\n".to_owned()
        + &dumbbell("rate = \"10 Gbit/s\", delay = \"50 ms\"", "[[flows]]\ncontrol = \"reno\"\n");
    let (_, watch) = watched(&built(&text));
    let mut rounds = [0; 8];
    for left in &watch.flows[0].left {
        rounds[(left.as_secs_f64() / 0.1).floor() as usize] += 1;
    }
    assert_eq!(rounds, [2, 4, 8, 16, 32, 64, 128, 256]);
}

/// RFC 9406: with a queue of one bandwidth-delay product (504 segments), standard slow start doubles a window
/// that fills both, and loses 1008 segments. HyStart++ sees the queue one round after it begins to grow, and
/// loses less than half of that.
#[test]
fn hystart_plus_plus_drops_less_in_slow_start() {
    let drops = |slow_start: &str| {
        let text = format!("duration = \"3 s\"\ntcp = {{ slow_start = \"{slow_start}\" }}\n")
            + &dumbbell(
                "rate = \"100 Mbit/s\", delay = \"21 ms\", queue = { droptail = \"1 bdp\" }",
                "[[flows]]\ncontrol = \"reno\"\n",
            );
        let result = result(&text);
        assert_eq!(result.flows[0].slow_start, slow_start);
        assert!(result.links[0].utilisation > 0.8, "{}", result.links[0].utilisation);
        result.links[0].drops
    };
    let [standard, hystart, plus_plus] = ["standard", "hystart", "hystart++"].map(drops);
    assert!((1000..1020).contains(&standard), "{standard}");
    assert!(plus_plus < standard / 2, "{plus_plus} of {standard}");
    assert_eq!(hystart, 0);
}

/// M. Mathis et al., "The macroscopic behavior of the TCP congestion avoidance algorithm", 1997: the mean
/// window is sqrt(3/2 / p) segments where each acknowledgement is counted.
#[test]
fn reno_follows_the_square_root_law() {
    for (p, duration) in [(1e-3_f64, 3000), (1e-2, 600)] {
        let text = format!("duration = \"{duration} s\"\ntcp = {{ counting = \"acks\" }}\n")
            + &dumbbell(
                &format!("rate = \"1 Gbit/s\", delay = \"50 ms\", loss = {p:?}"),
                "[[flows]]\ncontrol = \"reno\"\nrecovery = \"sack\"\n",
            );
        let flow = &result(&text).flows[0];
        let window = flow.delivered as f64 * 0.1 / f64::from(duration);
        let law = (1.5 / p).sqrt();
        assert!((0.9..1.1).contains(&(window / law)), "p = {p}: {window} segments, the law says {law}");
    }
}

#[test]
fn two_equal_flows_share_fairly() {
    let text = "duration = \"300 s\"\nmeasure = [\"50 s\", \"300 s\"]\nseed = 3\n".to_owned()
        + &dumbbell(
            "rate = \"10 Mbit/s\", delay = \"20 ms\", queue = { droptail = \"1 bdp\" }",
            "[[flows]]\ncontrol = \"reno\"\ncount = 2\nstart = { uniform = [\"0 s\", \"5 s\"] }\n",
        );
    let result = result(&text);
    assert!(result.jain.is_some_and(|jain| jain > 0.95), "{:?}", result.jain);
    assert!(result.links[0].utilisation > 0.98, "{}", result.links[0].utilisation);
}

/// Half a window fills the path if the buffer holds another path full of it; without a buffer a Reno flow
/// goes back and forth between a half and a whole window, which is three quarters on average.
#[test]
fn a_buffer_of_one_bdp_is_full_utilisation() {
    let utilisation = |queue: &str| {
        let text = "duration = \"200 s\"\nmeasure = [\"50 s\", \"200 s\"]\ntcp = { counting = \"acks\" }\n"
            .to_owned()
            + &dumbbell(
                &format!("rate = \"20 Mbit/s\", delay = \"50 ms\", queue = {{ droptail = \"{queue}\" }}"),
                "[[flows]]\ncontrol = \"reno\"\n",
            );
        result(&text).links[0].utilisation
    };
    let full = utilisation("1 bdp");
    assert!(full > 0.999, "{full}");
    let none = utilisation("1 packet");
    assert!((0.73..0.80).contains(&none), "{none}");
}

#[test]
fn delayed_acknowledgements_halve_their_number() {
    let acks = |delayed: bool| {
        let text = format!("duration = \"20 s\"\ntcp = {{ delayed_ack = {delayed}, receive_window = 20 }}\n")
            + &dumbbell("rate = \"10 Mbit/s\", delay = \"10 ms\"", "[[flows]]\ncontrol = \"reno\"\n");
        let (measured, watch) = watched(&built(&text));
        (watch.flows[0].acks as f64 / watch.flows[0].sent as f64, measured.flows[0].counters.timeouts)
    };
    let (each, _) = acks(false);
    assert!((0.99..=1.0).contains(&each), "{each}");
    let (every_second, timeouts) = acks(true);
    assert!((0.49..0.51).contains(&every_second), "{every_second}");
    assert_eq!(timeouts, 0);
}

/// Marks instead of drops: the window is cut, nothing is lost, nothing is sent twice.
#[test]
fn ecn_cuts_without_losses() {
    let text = "duration = \"30 s\"\ntcp = { ecn = true }\n".to_owned()
        + &dumbbell(
            "rate = \"10 Mbit/s\", delay = \"10 ms\", queue = { red = { limit = \"10000 packets\", min = \"10 packets\", max = \"400 packets\", mark = true } }",
            "[[flows]]\ncontrol = \"reno\"\ncount = 2\n",
        );
    let result = result(&text);
    let link = &result.links[0];
    assert!(link.marks > 10 && link.drops == 0, "{link:?}");
    assert!(link.utilisation > 0.95, "{link:?}");
    for flow in &result.flows {
        assert!(flow.window_cuts > 2 && flow.retransmits == 0 && flow.timeouts == 0, "{flow:?}");
    }
}

/// A limit in bytes counts bytes: five segments of 1040 B wait in 5200 B, and only four in one byte less.
#[test]
fn droptail_in_bytes() {
    let longest = |bytes: u32| {
        let text = "duration = \"10 s\"\n".to_owned()
            + &dumbbell(
                &format!("rate = \"1 Mbit/s\", delay = \"10 ms\", queue = {{ droptail = \"{bytes} B\" }}"),
                "[[flows]]\ncontrol = \"reno\"\n",
            );
        let result = result(&text);
        assert!(result.links[0].drops > 0);
        result.links[0].queue_max
    };
    assert_eq!((longest(5200), longest(5199), longest(1040), longest(1039)), (5, 4, 1, 0));
}

/// `rtt` is the propagation round-trip time; serialisation comes on top.
#[test]
fn a_flow_has_the_round_trip_time_it_asks_for() {
    for (rtt, access) in
        [("60 ms", ""), ("20 ms", ""), ("60 ms", "access = { rate = \"100 Mbit/s\", delay = \"1 s\" }\n")]
    {
        let flows = format!("{access}[[flows]]\ncontrol = \"reno\"\nrtt = \"{rtt}\"\nsize = \"100 kB\"\n");
        let text =
            "duration = \"20 s\"\n".to_owned() + &dumbbell("rate = \"10 Mbit/s\", delay = \"10 ms\"", &flows);
        let wanted: Duration = rtt.parse().expect("a duration");
        let least = watched(&built(&text)).0.flows[0].rtt_min.expect("samples");
        // A segment of 1040 B takes 832 us at the bottleneck and 83 us at each access link; an ACK 32 us and
        // 3 us.
        let most = wanted + Duration::from_micros(832 + 2 * 84 + 32 + 2 * 4);
        assert!(wanted <= least + Duration::from_nanos(4) && least <= most, "{rtt}: {least}");
    }
}

#[test]
fn parking_lots_and_graphs_are_crossed_the_right_way() {
    let lot = "duration = \"2 s\"\n[topology.parking_lot]\nhops = 3\nlink = { rate = \"10 Mbit/s\", delay = \"5 ms\" }\n\
        [[flows]]\ncontrol = \"reno\"\nlabel = \"long\"\n\
        [[flows]]\ncontrol = \"reno\"\nlabel = \"middle\"\nfrom = \"r2\"\nto = \"r3\"\n\
        [[flows]]\ncontrol = \"reno\"\nlabel = \"back\"\nfrom = \"r4\"\nto = \"r2\"\n";
    let laid = built(lot);
    let names = |route: &[usize]| route.iter().map(|&link| laid.links[link].name.clone()).collect::<Vec<_>>();
    let (_, watch) = watched(&laid);
    assert_eq!(names(&watch.flows[0].route), ["hop 1", "hop 2", "hop 3"]);
    assert_eq!(names(&watch.flows[1].route), ["hop 2"]);
    assert_eq!(names(&watch.flows[2].route), ["hop 3 reverse", "hop 2 reverse"]);
    assert_eq!(names(&laid.plan.flows[0].reverse), ["hop 3 reverse", "hop 2 reverse", "hop 1 reverse"]);

    // The quicker way has one node more; the way back is another one, because it is quicker there.
    let graph = "duration = \"2 s\"\n[topology.graph]\naccess = { delay = \"1 ms\" }\nlinks = [\n\
        { from = \"a\", to = \"c\", rate = \"10 Mbit/s\", delay = \"30 ms\", both = false, name = \"direct\" },\n\
        { from = \"a\", to = \"b\", rate = \"10 Mbit/s\", delay = \"10 ms\", both = false },\n\
        { from = \"b\", to = \"c\", rate = \"10 Mbit/s\", delay = \"10 ms\", both = false },\n\
        { from = \"c\", to = \"a\", rate = \"10 Mbit/s\", delay = \"5 ms\", both = false }]\n\
        [[flows]]\ncontrol = \"reno\"\nfrom = \"a\"\nto = \"c\"\n";
    let laid = built(graph);
    let (measured, watch) = watched(&laid);
    let core = |route: &[usize]| {
        route
            .iter()
            .filter_map(|&link| laid.links.get(link))
            .map(|link| link.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(core(&watch.flows[0].route), ["a-b", "b-c"]);
    assert_eq!(core(&laid.plan.flows[0].reverse), ["c-a"]);
    let rtt = measured.flows[0].rtt_min.expect("samples");
    assert!(rtt >= Duration::from_millis(29) && rtt < Duration::from_millis(33), "{rtt}");
}

/// Whatever the lengths of the periods and of the packets: so many bits in so much time.
#[test]
fn on_and_off_traffic_keeps_its_rate() {
    for (rate, packet, on, off) in [
        (1000, 1000, 1000_u32, 1000_u32),
        (1000, 1000, 1, 1),
        (800, 1000, 25, 10),
        (3000, 700, 10, 0),
        (500, 1500, 13, 7),
    ] {
        let text = "duration = \"20 s\"\n".to_owned()
            + &dumbbell(
                "rate = \"100 Mbit/s\", delay = \"10 ms\"",
                &format!(
                    "[[flows]]\ncontrol = \"reno\"\nsize = \"1 kB\"\n[[traffic]]\nkind = \"cbr\"\nrate = \"{rate} kbit/s\"\n\
                     packet = \"{packet} B\"\non = \"{on} ms\"\noff = \"{off} ms\"\n"
                ),
            );
        let (_, watch) = watched(&built(&text));
        let left = &watch.datagrams[0];
        let on_ms = 20_000 / (on + off) * on + (20_000 % (on + off)).min(on);
        let wanted = f64::from(rate) * f64::from(on_ms) / (8.0 * f64::from(packet));
        assert!(
            (left.len() as f64 - wanted).abs() <= 1.0,
            "{} datagrams, not {wanted}, at {rate} kbit/s on {on} off {off}",
            left.len()
        );
        let period = u64::from(on + off) * 1_000_000;
        let outside = left.iter().filter(|at| at.as_nanos() % period >= u64::from(on) * 1_000_000).count();
        assert_eq!(outside, 0, "datagrams leave in off periods of {off} ms");
    }
}

#[test]
fn flows_keep_their_hours() {
    let text = "duration = \"10 s\"\n".to_owned()
        + &dumbbell(
            "rate = \"10 Mbit/s\", delay = \"10 ms\", queue = { droptail = \"1 bdp\" }",
            "[[flows]]\nlabel = \"early\"\ncontrol = \"reno\"\nstop = \"3 s\"\n\
             [[flows]]\nlabel = \"late\"\ncontrol = \"cubic\"\nstart = \"5 s\"\n\
             [[flows]]\nlabel = \"one by one\"\ncontrol = \"reno\"\ncount = 3\nstart = { every = \"2 s\" }\n\
             [[traffic]]\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\nstart = \"1 s\"\nstop = \"2 s\"\n",
        );
    let (measured, watch) = watched(&built(&text));
    let seconds = |time: Time| time.as_secs_f64();
    let sent = |flow: usize| watch.flows[flow].new_data.map(|(first, last)| (seconds(first), seconds(last)));
    let (first, last) = sent(0).expect("data");
    assert!(first == 0.0 && (2.9..=3.0).contains(&last), "{first} to {last}");
    assert_eq!(sent(1).expect("data").0, 5.0);
    assert_eq!([2, 3, 4].map(|flow| sent(flow).expect("data").0), [0.0, 2.0, 4.0]);
    let datagrams = &watch.datagrams[0];
    assert_eq!((seconds(datagrams[0]), datagrams.len()), (1.0, 125));
    // Who stops in the middle of unlimited data has completed no transfer.
    assert!(measured.flows[0].completions().is_empty());
}

/// Every one of several transfers is complete, and the next starts a pause after the last ACK of the one
/// before.
#[test]
fn transfers_repeat_after_their_pause() {
    let text = "duration = \"60 s\"\n".to_owned()
        + &dumbbell(
            "rate = \"8 Mbit/s\", delay = \"10 ms\"",
            "[[flows]]\ncontrol = \"reno\"\nsize = \"1 kB\"\nrepeat = 10\npause = \"1 s\"\n",
        );
    let (measured, watch) = watched(&built(&text));
    // 1040 B take 1.04 ms, an ACK 40 us, the way 20 ms.
    let took = Duration::from_micros(1040 + 40 + 20_000);
    assert_eq!(measured.flows[0].completions(), vec![took; 10]);
    let starts: Vec<_> =
        (0..10).map(|n| Time::ZERO + Duration::from_nanos(n * (took.as_nanos() + 1_000_000_000))).collect();
    assert_eq!(watch.flows[0].left, starts);
}

/// What happens at a link is counted when packets reach it, not when their way there is known.
#[test]
fn links_are_measured_in_their_own_time() {
    let text = "duration = \"4 s\"\nmeasure = [\"1 s\", \"1500 ms\"]\n".to_owned()
        + &dumbbell(
            "rate = \"10 Mbit/s\", delay = \"0 s\"",
            "access = { delay = \"500 ms\" }\n[[flows]]\ncontrol = \"reno\"\nstart = \"3 s\"\n\
             [[traffic]]\nkind = \"cbr\"\nrate = \"5 Mbit/s\"\non = \"1 s\"\noff = \"1 s\"\n",
        );
    // Datagrams leave up to 1 s and arrive up to 1.5 s: all the while the link works half the time.
    let link = &result(&text).links[0];
    assert!((0.499..=0.501).contains(&link.utilisation), "{link:?}");
    assert!((312..=313).contains(&link.arrivals), "{link:?}");
}

/// The mean window is taken over the time in which the flow runs.
#[test]
fn mean_windows_are_those_of_running_flows() {
    let mean = |seconds: u32, flow: &str| {
        let text = format!("duration = \"{seconds} s\"\n")
            + &dumbbell(
                "rate = \"10 Mbit/s\", delay = \"20 ms\", queue = { droptail = \"1 bdp\" }",
                &format!("[[flows]]\ncontrol = \"reno\"\n{flow}"),
            );
        result(&text).flows[0].cwnd_mean
    };
    let alone = mean(5, "");
    assert_eq!(mean(10, "start = \"5 s\"\n"), alone);
    assert!((mean(10, "stop = \"5 s\"\n") / alone - 1.0).abs() < 0.02, "{alone}");
    let short = mean(1, "size = \"100 kB\"\n");
    assert_eq!(mean(9, "size = \"100 kB\"\n"), short);
    assert!(
        (mean(9, "size = \"100 kB\"\nrepeat = 5\npause = \"1 s\"\n") / short - 1.0).abs() < 1e-9,
        "{short}"
    );
}

/// Packet 250 is missing for a round trip. A window that begins meanwhile: goodput counts what waits behind
/// the hole, `arrival_goodput` does not.
#[test]
fn what_waits_behind_a_hole_counts_where_it_arrives() {
    let path = "rate = \"8 Mbit/s\", delay = \"50 ms\", loss = { packets = [250] }";
    let flow = "[[flows]]\nlabel = \"flow\"\ncontrol = \"reno\"\n";
    let waiting = [0.6, 0.7, 0.8, 0.9, 1.0].map(|from| {
        let top = format!(
            "duration = \"3 s\"\nmeasure = [\"{from} s\", \"3 s\"]\nprobe = \"100 ms\"\n\
             segment = {{ payload = \"960 B\", header = \"40 B\" }}\n\
             tcp = {{ receive_window = 50, recovery = \"sack\" }}\n"
        );
        let view = View::new(vec![result(&(top + &dumbbell(path, flow)))]);
        let number = |expression: &str| {
            let value = evaluate(expression, &view, &Names::new()).unwrap_or_else(|error| panic!("{error}"));
            value.as_f64().expect("a number").round()
        };
        let segments = |measure: &str| number(&format!("{measure}('flow') * (3 - {from}) / 7680"));
        let arrived = segments("arrival_goodput");
        assert_eq!(arrived, number(&format!("looks('flow', 'arrived', {from}, 3)|sum")));
        segments("goodput") - arrived
    });
    assert!(waiting.iter().any(|&segments| (1.0..50.0).contains(&segments)), "{waiting:?}");
}
