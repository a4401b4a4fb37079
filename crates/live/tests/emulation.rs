//! Scenarios in real time, between hosts of the running kernel.
//!
//! Where the user's rights do not allow that, every test is reported as ignored, and the reason is part of
//! its name. Tolerances leave room for a machine that does other things besides; what a run says of its own
//! error is checked, too.

#[path = "emulation/paced.rs"]
mod paced;
#[path = "emulation/paths.rs"]
mod paths;

use ackclock_live::{LiveError, Load, Outcome, Program, Request, emulate, privilege};
use ackclock_scenario::Sweep;
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use libtest_mimic::{Arguments, Failed, Trial};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

type Checked = Result<(), Failed>;
/// A test's name, and the test.
type Named = (&'static str, fn() -> Checked);

fn main() {
    let lack = privilege::check().err().map(|error| error.to_string());
    let tests: &[Named] = &[
        ("a_flow_fills_its_bottleneck", fills),
        ("our_own_tcp_fills_its_bottleneck", own_host),
        ("marks_are_counted_where_our_own_tcp_receives", counted),
        ("a_policy_from_a_file_decides_on_the_wire", policy),
        ("losses_and_drops_are_the_links", losses),
        ("late_and_doubled_packets_arrive", disorder),
        ("red_marks_what_may_be_marked", marks),
        ("unresponsive_traffic_takes_its_share", traffic),
        ("transfers_of_a_size_are_timed", transfers),
        ("a_receive_window_is_kept", window),
        ("bursts_are_written_and_arrive", bursts),
        ("responses_are_asked_for", responses),
        ("a_send_buffer_makes_the_application_wait", send_buffer),
        ("flows_both_ways", both_ways),
        ("a_program_meets_the_paths_delay", program),
        ("a_program_that_is_not_there", no_program),
        ("a_host_that_is_not_there", no_host),
        ("a_controller_that_is_not_there", no_controller),
        ("captured_packets_are_whole", captures),
        ("a_handshake_does_not_outlast_its_run", late_start),
        ("short_transfers_end_with_their_run", short_transfers),
        ("a_path_that_loses_everything_has_results", nothing_arrives),
        ("what_cannot_be_carried_is_given_up", overload),
        ("nothing_that_a_program_starts_outlives_it", grandchildren),
        ("a_program_is_asked_to_end", asked),
        ("an_interrupted_run_ends_soon", interrupted),
        ("a_run_is_interrupted_whenever_it_is", interrupted_anywhere),
        ("nothing_is_left", nothing_left),
    ];
    let trial = |&(name, test): &Named| match &lack {
        None => Trial::test(name, test),
        Some(lack) => Trial::test(format!("{name} (skipped: {lack})"), test).with_ignored_flag(true),
    };
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1); // real time is for one at a time
    let tests = tests.iter().chain(paths::TESTS).chain(paced::TESTS);
    libtest_mimic::run(&arguments, tests.map(trial).collect()).exit();
}

fn ensure(holds: bool, otherwise: impl Into<String>) -> Checked {
    if holds { Ok(()) } else { Err(otherwise.into().into()) }
}

/// A 20 Mbit/s dumbbell with a round trip of 20 ms, for 3 s; `bottleneck` and `flow` add keys.
fn scenario(bottleneck: &str, flow: &str, rest: &str) -> String {
    format!(
        "duration = \"3 s\"\nmeasure = [\"1 s\", \"3 s\"]\nsegment = {{ payload = \"1448 B\", header = \"52 B\" }}\n\
         [topology.dumbbell]\nbottleneck = {{ rate = \"20 Mbit/s\", delay = \"5 ms\", queue = {{ droptail = \"1 bdp\" }} {bottleneck} }}\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"2.5 ms\" }}\n[[flows]]\ncontrol = \"reno\"\n{flow}\n{rest}"
    )
}

fn request<T>(text: &str, load: Load, then: impl FnOnce(&Request<'_>) -> T) -> Result<T, Failed> {
    let sweep = Sweep::read("test.toml", text, &[]).map_err(|error| error.to_string())?;
    let controls = sweep.points[0].scenario.controls().map(|control| control.name().to_owned()).collect();
    let own: Vec<bool> = sweep.points[0].scenario.own_hosts().collect();
    Ok(then(&Request {
        point: &sweep.points[0],
        controls,
        own,
        load,
        captures: None,
        admit: &|_| Ok(()),
        see: None,
    }))
}

fn run(text: &str, load: Load) -> Result<Outcome, Failed> {
    let outcome = request(text, load, |request| emulate(request, &|_| true))?;
    outcome.map_err(|error| error.to_string().into())
}

fn flows(text: &str) -> Result<Outcome, Failed> {
    run(text, Load::Flows)
}

fn error(text: &str, load: Load) -> Result<LiveError, Failed> {
    match request(text, load, |request| emulate(request, &|_| true))? {
        Ok(_) => Err("it went well".into()),
        Err(error) => Ok(error),
    }
}

fn fills() -> Checked {
    let outcome = flows(&scenario("", "", ""))?;
    let (result, own) = (&outcome.result, &outcome.emulation);
    let flow = &result.flows[0];
    // 20 Mbit/s are 19.3 Mbit/s of payload.
    ensure((14e6..19.4e6).contains(&flow.goodput_bps), format!("{flow:?}"))?;
    ensure((0.02..0.1).contains(&flow.rtt_min_s.unwrap_or(0.0)), format!("{flow:?}"))?;
    ensure(flow.cwnd_mean > 10.0 && flow.sent > 1000 && flow.recovery == "kernel", format!("{flow:?}"))?;
    let link = &result.links[0];
    ensure(link.arrivals > 2000 && link.queue_max > 0 && link.utilisation > 0.7, format!("{link:?}"))?;
    ensure(own.lateness.count > 5000 && own.busy.len() == 1, format!("{own:?}"))?;
    ensure(own.trusted == own.doubts.is_empty(), format!("{own:?}"))
}

/// Our own TCP, with a recovery and a detection that no kernel has, beside the kernel's CUBIC.
fn own_host() -> Checked {
    let own = "host = \"own\"\nlabel = \"ours\"\nrecovery = \"robust\"\ndetection = \"delayed\"\n\
               [[flows]]\ncontrol = \"cubic\"";
    let outcome = flows(&scenario("", own, ""))?;
    let [ours, kernels] = &outcome.result.flows[..] else { return Err("two flows".into()) };
    ensure((ours.recovery.as_ref(), kernels.recovery.as_ref()) == ("robust", "kernel"), format!("{ours:?}"))?;
    let both = ours.throughput_bps + kernels.throughput_bps;
    ensure((14e6..20.1e6).contains(&both) && ours.goodput_bps > 1e6, format!("{ours:?} {kernels:?}"))?;
    ensure((0.02..0.1).contains(&ours.rtt_min_s.unwrap_or(0.0)), format!("{ours:?}"))?;
    ensure(ours.cwnd_mean > 3.0 && ours.sent > 300 && ours.rtt_mean_s > Some(0.02), format!("{ours:?}"))?;
    // Transfers of a size, one after the other, over a path that loses and reorders.
    let keys = ", loss = 0.01, reorder = { share = 0.05, delay = \"3 ms\" }";
    let transfers = "host = \"own\"\nsize = \"100 kB\"\nrepeat = 1000";
    let outcome = flows(&scenario(keys, transfers, ""))?;
    let flow = &outcome.result.flows[0];
    let transfers = flow.transfers.as_ref().ok_or("transfers have a size")?;
    ensure(transfers.finished > 5 && flow.retransmits > 0, format!("{flow:?}"))
}

/// DCTCP and Prague count marks, so our own TCP receives, too: short queues, and no loss.
fn counted() -> Checked {
    let step = "{ red = { min = \"20 packets\", max = \"20 packets\", weight = 1.0, limit = \"200 packets\", mark = true } }";
    let queues = [("dctcp", step), ("prague", "\"dualpi2\"")];
    for (control, queue) in queues {
        let text = scenario("", "host = \"own\"", "");
        let text =
            text.replace("{ droptail = \"1 bdp\" }", queue).replace("\"reno\"", &format!("\"{control}\""));
        let outcome = flows(&text)?;
        let (flow, link) = (&outcome.result.flows[0], &outcome.result.links[0]);
        ensure((10e6..19.4e6).contains(&flow.goodput_bps), format!("{flow:?}"))?;
        ensure(link.marks > 20 && link.drops == 0 && flow.window_cuts > 5, format!("{flow:?} {link:?}"))?;
        ensure(flow.retransmits < 5, format!("{flow:?}"))?;
    }
    let transfers = "host = \"own\"\nsize = \"100 kB\"\nrepeat = 1000";
    let text = scenario("", transfers, "").replace("\"reno\"", "\"dctcp\"");
    let flow = &flows(&text)?.result.flows[0];
    let finished = flow.transfers.as_ref().map_or(0, |transfers| transfers.finished);
    ensure(finished > 5, format!("{flow:?}"))
}

/// Networks that see nothing and always say the same: one raises the rate until it is ten times what arrives,
/// the other lowers it. Only the files differ.
fn policy() -> Checked {
    let directory = tempfile::tempdir()?;
    let goodput = |name: &str, bias: f64| -> Result<f64, Failed> {
        let file = directory.path().join(name);
        let network = format!(
            "{{\"format\": \"ackclock policy\", \"version\": 1, \"features\": [\"latency inflation\", \"latency ratio\", \"send ratio\"], \"history\": 1, \"interval\": 1, \"scale\": 0.2, \
             \"layers\": [{{\"weights\": [[0, 0, 0]], \"biases\": [{bias}], \"activation\": \"tanh\"}}]}}"
        );
        fs::write(&file, network)?;
        let control = format!("control = {{ policy = {{ file = {file:?} }} }}");
        let outcome = flows(&scenario("", "host = \"own\"", "").replace("control = \"reno\"", &control))?;
        let flow = &outcome.result.flows[0];
        ensure(flow.control == "policy" && flow.recovery == "sack", format!("{flow:?}"))?;
        Ok(flow.goodput_bps)
    };
    let (up, down) = (goodput("up.json", 5.0)?, goodput("down.json", -5.0)?);
    ensure(up > 14e6 && down < 5e6, format!("{up} bit/s and {down} bit/s"))
}

fn losses() -> Checked {
    let outcome = flows(&scenario(", loss = 0.01", "", ""))?;
    let (flow, link) = (&outcome.result.flows[0], &outcome.result.links[0]);
    ensure(link.random_losses > 5, format!("{link:?}"))?;
    let expected = link.drops as f64;
    ensure(
        (0.7 * expected..1.5 * expected + 5.0).contains(&(flow.retransmits as f64)),
        format!("{flow:?} {link:?}"),
    )?;
    ensure(flow.fast_retransmits > 0 && flow.window_cuts >= flow.fast_retransmits, format!("{flow:?}"))
}

fn disorder() -> Checked {
    let keys = ", reorder = { share = 0.05, delay = \"3 ms\" }, duplicate = 0.02";
    let outcome = flows(&scenario(keys, "", ""))?;
    let link = &outcome.result.links[0];
    ensure(link.late > 50 && link.copies > 20, format!("{link:?}"))?;
    ensure(outcome.result.flows[0].goodput_bps > 5e6, format!("{:?}", outcome.result.flows[0]))
}

fn marks() -> Checked {
    let text = scenario("", "tcp = { ecn = true }", "").replace(
        "{ droptail = \"1 bdp\" }",
        "{ red = { min = \"5 packets\", max = \"15 packets\", limit = \"200 packets\", mark = true } }",
    );
    let outcome = flows(&text)?;
    let (flow, link) = (&outcome.result.flows[0], &outcome.result.links[0]);
    // Each mark halves the window, so there are only a few.
    ensure(link.marks > 0 && flow.goodput_bps > 10e6, format!("{flow:?} {link:?}"))?;
    ensure(flow.retransmits <= link.drops + 2, format!("{flow:?} {link:?}"))
}

fn traffic() -> Checked {
    let outcome = flows(&scenario("", "", "[[traffic]]\nkind = \"cbr\"\nrate = \"10 Mbit/s\"\n"))?;
    let (flow, stream) = (&outcome.result.flows[0], &outcome.result.traffic[0]);
    ensure(stream.delivered > 2000, format!("{stream:?}"))?;
    ensure((5e6..10.5e6).contains(&flow.goodput_bps), format!("{flow:?}"))
}

fn transfers() -> Checked {
    let outcome = flows(&scenario("", "size = \"200 kB\"\nrepeat = 3\npause = \"100 ms\"", ""))?;
    let flow = &outcome.result.flows[0];
    ensure(flow.completions_s.len() == 3, format!("{flow:?}"))?;
    // 200 kB take 83 ms on the wire, and a handshake and slow start some round trips besides.
    ensure(flow.completions_s.iter().all(|took| (0.1..0.6).contains(took)), format!("{flow:?}"))?;
    let transfers = flow.transfers.ok_or("transfers have a size")?;
    ensure((transfers.started, transfers.unfinished) == (3, 0), format!("{transfers:?}"))?;
    ensure(flow.sizes_bytes == [139 * 1448; 3], format!("{flow:?}"))?;
    // The shortest time is a round trip and 139 segments at 20 Mbit/s, 103 ms.
    ensure(flow.slowdowns.iter().all(|slowdown| (1.0..6.0).contains(slowdown)), format!("{flow:?}"))
}

/// 20 segments per round trip, large ones and small ones. The kernel counts the memory that they take: a
/// small one takes twice its size and more.
fn window() -> Checked {
    for payload in [1448, 500] {
        let text = scenario("", "tcp = { receive_window = 20 }", "");
        let outcome = flows(&text.replace("1448 B", &format!("{payload} B")))?;
        let (flow, link) = (&outcome.result.flows[0], &outcome.result.links[0]);
        let round_trip = flow.rtt_mean_s.ok_or("it has round trips")?;
        let in_flight = flow.goodput_bps * round_trip / 8.0 / f64::from(flow.payload_bytes);
        ensure((18.5..20.5).contains(&in_flight), format!("{in_flight} segments: {flow:?}"))?;
        ensure(link.drops == 0, format!("{link:?}"))?;
    }
    Ok(())
}

/// 16 Mbit/s of bursts through 20 Mbit/s: all of it is written on time, but for slow start, and all of it
/// arrives.
fn bursts() -> Checked {
    let keys = "bursts = { size = \"20 kB\", every = \"10 ms\", for = \"1 s\" }\nsend_buffer = \"200 kB\"";
    let outcome = flows(&scenario("", keys, ""))?;
    let flow = &outcome.result.flows[0];
    let seen = flow.bursts.as_ref().ok_or("it writes bursts")?;
    ensure((seen.due, seen.written, seen.written_bytes) == (101, 101, 2_020_000), format!("{seen:?}"))?;
    ensure(seen.received_bytes == seen.written_bytes && flow.completions_s.len() == 1, format!("{seen:?}"))?;
    ensure((1.0..2.0).contains(&seen.writing_s) && seen.ends_s.is_sorted(), format!("{seen:?}"))?;
    let (transmitted, received) = (seen.transmitted_bps.unwrap_or(0.0), seen.received_bps.unwrap_or(0.0));
    ensure((8e6..16.4e6).contains(&transmitted) && (8e6..17e6).contains(&received), format!("{seen:?}"))
}

/// A round trip of 20 ms: over one connection a response saves it. Five bursts wait four periods.
fn responses() -> Checked {
    let run = |keys: &str| -> Result<Vec<f64>, Failed> {
        let keys = format!("size = \"7240 B\"\nrepeat = 9\n{keys}\ntcp = {{ initial_window = 10 }}");
        let outcome = flows(&scenario("", &keys, ""))?;
        let mut times = outcome.result.flows[0].completions_s.clone();
        ensure(times.len() == 9, format!("{times:?}"))?;
        times.remove(0);
        times.sort_by(f64::total_cmp);
        Ok(times)
    };
    let (one, each) = (run("http = {}")?, run("http = { persistent = false }")?);
    let saved = each[4] - one[4];
    ensure((0.016..0.026).contains(&saved), format!("{saved}: {one:?} {each:?}"))?;
    let paced = run("http = {}\nbursts = { size = \"1448 B\", every = \"10 ms\" }")?;
    let waited = paced[4] - one[4];
    ensure((0.034..0.046).contains(&waited), format!("{waited}: {one:?} {paced:?}"))
}

/// A socket of 40 kB holds 27 segments. No more are ever queued, and the application waits until nearly all
/// of its data have arrived, so that most cycles fail. Without a limit the kernel takes the data sooner, and
/// the queue overflows.
fn send_buffer() -> Checked {
    let bursts = "bursts = { size = \"100 kB\", every = \"5 ms\", for = \"100 ms\" }";
    let seen = |flow: &str| -> Result<_, Failed> {
        let scenario =
            scenario("", flow, "").replace("[\"1 s\", ", "[\"0 s\", ").replace("1 bdp", "200 packets");
        let mut result = flows(&scenario)?.result;
        Ok((result.flows.remove(0).bursts.ok_or("it writes bursts")?, result.links.remove(0)))
    };
    let (with, link) = seen(&format!("{bursts}\nsend_buffer = \"40 kB\""))?;
    let (without, free) = seen(bursts)?;
    let said = format!("{with:?} {link:?} {without:?} {free:?}");
    ensure((with.written, without.written) == (21, 21) && with.failed_cycles > 20, &*said)?;
    ensure(with.writing_s > 0.8 * with.receiving_s && without.writing_s < 0.5 * without.receiving_s, &*said)?;
    ensure(link.queue_max <= 28 && link.drops == 0 && free.drops > 0, &*said)
}

fn both_ways() -> Checked {
    let rest = "[[flows]]\nlabel = \"back\"\ncontrol = \"cubic\"\nreverse = true\n";
    let outcome = flows(&scenario("", "label = \"there\"", rest))?;
    let all: Vec<f64> = outcome.result.groups.iter().map(|group| group.goodput_bps.total).collect();
    ensure(all.len() == 2 && all.iter().all(|&goodput| goodput > 8e6), format!("{all:?}"))
}

fn words(line: &str) -> Program {
    Program { words: line.split_whitespace().map(str::to_owned).collect(), quiet: true }
}

/// The path's delay as a program of the kernel's own sees it.
fn program() -> Checked {
    let file = std::env::temp_dir().join(format!("ackclock-delay-{}", std::process::id()));
    let shell = format!(
        "exec 3<>/dev/tcp/{{receiver}}/7777; sleep 0.3; ss -tinH dst {{receiver}} > {}; test {{sender}} = 10.0.0.1",
        file.display()
    );
    let command = Program { words: vec!["bash".to_owned(), "-c".to_owned(), shell], quiet: true };
    let serve = words("python3 -c import(socket)");
    let listening = "import socket,time\ns=socket.create_server(('0.0.0.0',7777))\ns.accept()\ntime.sleep(9)";
    let serve = Program { words: vec!["python3".to_owned(), "-c".to_owned(), listening.to_owned()], ..serve };
    let shell = command.words[2].replacen("exec", "sleep 1; exec", 1);
    let command = Program { words: vec!["bash".to_owned(), "-c".to_owned(), shell], ..command };
    let outcome = run(&scenario("", "", ""), Load::Programs { serve: Some(serve), command })?;
    let seen = fs::read_to_string(&file)?;
    let _ = fs::remove_file(&file);
    ensure(outcome.exit == Some(0), format!("{:?}", outcome.exit))?;
    let rtt = seen.split_whitespace().find_map(|word| word.strip_prefix("minrtt:")?.parse::<f64>().ok());
    ensure(rtt.is_some_and(|ms| (20.0..40.0).contains(&ms)), seen)?;
    let said = &outcome.result.warnings;
    ensure(said.is_empty(), format!("flows that are not there are warned of: {said:?}"))?;
    ensure(outcome.result.flows.is_empty() && outcome.result.links[0].arrivals > 0, "the links saw nothing")
}

fn no_program() -> Checked {
    let load = Load::Programs { serve: None, command: words("no-such-program-here") };
    let error = error(&scenario("", "", ""), load)?;
    ensure(
        matches!(&error, LiveError::Program { program, .. } if program == "no-such-program-here"),
        error.to_string(),
    )
}

fn no_host() -> Checked {
    let load = Load::Shell { host: "left".to_owned(), shell: words("true") };
    let error = error(&scenario("", "", ""), load)?;
    ensure(
        matches!(&error, LiveError::NoHost { known, .. } if known.contains("sender, receiver")),
        error.to_string(),
    )
}

fn no_controller() -> Checked {
    let outcome = request(&scenario("", "", ""), Load::Flows, |request| {
        let controls = vec!["no_such_control".to_owned()];
        emulate(
            &Request { controls, own: Vec::new(), load: Load::Flows, captures: None, ..*request },
            &|_| true,
        )
    })?;
    match outcome {
        Err(LiveError::Control { name, .. }) => ensure(name == "no_such_control", name),
        Err(other) => Err(other.to_string().into()),
        Ok(_) => Err("it went well".into()),
    }
}

fn captures() -> Checked {
    let directory = std::env::temp_dir().join(format!("ackclock-capture-{}", std::process::id()));
    let text = scenario("", "size = \"300 kB\"", "");
    let folder = ackclock_files::Folder::own(&directory)?;
    let outcome = request(&text, Load::Flows, |request| {
        let captures = Some((vec!["bottleneck".to_owned()], folder.clone()));
        emulate(
            &Request {
                captures,
                load: Load::Flows,
                controls: request.controls.clone(),
                own: Vec::new(),
                ..*request
            },
            &|_| true,
        )
    })?;
    let outcome = outcome.map_err(|error| error.to_string())?;
    let checked = check_capture(&directory.join("bottleneck.pcapng"));
    let _ = fs::remove_dir_all(&directory);
    let (data, acks) = checked?;
    let (there, back) = (&outcome.result.links[0], &outcome.result.links[1]);
    ensure(data >= 200 && acks > 50, format!("{data} {acks} {there:?} {back:?}"))
}

/// Packets each way, which must be in order of time and have headers that any receiver would accept.
fn check_capture(path: &Path) -> Result<(u64, u64), Failed> {
    use pcap_file::pcapng::{Block, PcapNgReader};
    let mut reader = PcapNgReader::new(fs::File::open(path)?).map_err(|error| error.to_string())?;
    let (mut counts, mut last) = ([0, 0], std::time::Duration::ZERO);
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.map_err(|error| error.to_string())? else { continue };
        ensure(packet.timestamp >= last, "the packets are not in order of time")?;
        last = packet.timestamp;
        let sliced = SlicedPacket::from_ip(&packet.data);
        let from_sender = match &sliced {
            Ok(sliced) => match (&sliced.net, &sliced.transport) {
                (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Tcp(tcp))) => {
                    let header = ip.header().to_header();
                    ensure(
                        header.header_checksum == header.calc_header_checksum(),
                        "a wrong header checksum",
                    )?;
                    if packet.original_len as usize == packet.data.len() {
                        let sum = tcp.to_header().calc_checksum_ipv4(&header, tcp.payload());
                        ensure(sum == Ok(tcp.checksum()), "a wrong TCP checksum")?;
                    }
                    header.source[1] == 0
                }
                _ => return Err("no TCP over IPv4".into()),
            },
            // Of longer packets only the beginning is kept.
            Err(_) => packet.data[13] == 0,
        };
        counts[usize::from(!from_sender)] += 1;
    }
    Ok((counts[0], counts[1]))
}

/// Far more than what is left of a run when it is over, and far less than the 135 s after which the kernel
/// gives up a handshake.
const SOON: Duration = Duration::from_secs(20);

/// The outcome of a run of 3 s, which must not take much longer.
fn soon(text: &str) -> Result<Outcome, Failed> {
    let began = Instant::now();
    let outcome = flows(text)?;
    ensure(began.elapsed() < SOON, format!("it took {:?}", began.elapsed()))?;
    Ok(outcome)
}

/// It begins less than a round trip before the end.
fn late_start() -> Checked {
    let rest = "[[flows]]\nlabel = \"late\"\ncontrol = \"reno\"\nstart = \"2.99 s\"\n";
    let outcome = soon(&scenario("", "label = \"early\"", rest))?;
    let (early, late) = (&outcome.result.flows[0], &outcome.result.flows[1]);
    ensure(early.goodput_bps > 10e6 && late.goodput_bps == 0.0, format!("{early:?} {late:?}"))
}

/// Some of twenty flows are always in a handshake. Each may lose a SYN, and waits a second for the next one
/// (RFC 6298 section 2). So all together are held to the link, not each one: it carries 723 transfers of
/// 10364 B in 3 s at most, and some 500 are usual.
fn short_transfers() -> Checked {
    let outcome = soon(&scenario("", "count = 20\nsize = \"10 kB\"\nrepeat = 100000", ""))?;
    let completed: Vec<usize> = outcome.result.flows.iter().map(|flow| flow.completions_s.len()).collect();
    let all: usize = completed.iter().sum();
    ensure(completed.len() == 20 && (300..=723).contains(&all), format!("{all}: {completed:?}"))
}

fn nothing_arrives() -> Checked {
    let outcome = soon(&scenario(", loss = 1.0", "", ""))?;
    let (flow, link) = (&outcome.result.flows[0], &outcome.result.links[0]);
    ensure(flow.goodput_bps == 0.0 && link.random_losses > 0, format!("{flow:?} {link:?}"))
}

/// 125 million packets per second. Meanwhile no thread keeps the machine for itself, and a run can be
/// interrupted.
fn overload() -> Checked {
    let cbr = "[[traffic]]\nkind = \"cbr\"\nrate = \"100 Gbit/s\"\npacket = \"100 B\"\n";
    let text =
        scenario("", "", cbr).replace("rate = \"20 Mbit/s\"", "rate = \"100 Gbit/s\"").replace("3 s", "60 s");
    let gave_way = std::cell::Cell::new(false);
    let began = Instant::now();
    let outcome = request(&text, Load::Flows, |request| {
        emulate(request, &|_| {
            // The other one has nothing to do, and keeps its priority.
            let one = began.elapsed() > Duration::from_secs(1) && real_time_threads() == 1;
            gave_way.set(gave_way.get() || one);
            true
        })
    })?;
    let late = matches!(outcome, Err(LiveError::Overloaded { behind_s }) if behind_s > 2.0);
    ensure(late && began.elapsed() < SOON, format!("{late}, after {:?}", began.elapsed()))?;
    ensure(gave_way.get(), "threads ahead of all programs took whole processors")?;
    let began = Instant::now();
    let outcome = request(&text, Load::Flows, |request| emulate(request, &|share| share < 0.01))?;
    ensure(matches!(outcome, Err(LiveError::Interrupted)), "it was not interrupted")?;
    ensure(began.elapsed() < SOON, format!("it took {:?}", began.elapsed()))
}

/// The threads of this process with real-time priority: field 41 of proc_pid_stat(5) is the policy.
fn real_time_threads() -> usize {
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return 0 };
    let is_real_time = |thread: &fs::DirEntry| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
        behind.split_whitespace().nth(41 - 3) == Some("1")
    };
    threads.flatten().filter(is_real_time).count()
}

/// True if a process runs whose command line is this.
fn runs(line: &str) -> Result<bool, Failed> {
    let found = Command::new("pgrep").args(["-fx", line]).output()?;
    Ok(!found.stdout.is_empty())
}

fn shell(script: &str) -> Program {
    Program { words: vec!["sh".to_owned(), "-c".to_owned(), script.to_owned()], quiet: true }
}

/// In the background, in a session of its own, and with all signals ignored; of the command as of what serves
/// it.
fn grandchildren() -> Checked {
    for line in ["{} &", "setsid {} &", "trap '' TERM INT HUP; (setsid {} &) &"] {
        for serves in [false, true] {
            let mark = format!("sleep 1000.{}{}", std::process::id(), u8::from(serves));
            let script = format!("{} sleep 0.2; exit 3", line.replace("{}", &mark));
            let (serve, command) = if serves {
                (Some(shell(&script)), shell("sleep 0.5; exit 3"))
            } else {
                (None, shell(&script))
            };
            let outcome = run(&scenario("", "", ""), Load::Programs { serve, command })?;
            ensure(outcome.exit == Some(3), format!("{line}: {:?}", outcome.exit))?;
            ensure(!runs(&mark)?, format!("{line}: it runs on"))?;
        }
    }
    Ok(())
}

/// A program hears that it is to end, and its status is a shell's; its processes are numbered from one.
fn asked() -> Checked {
    let file = std::env::temp_dir().join(format!("ackclock-asked-{}", std::process::id()));
    let serve =
        shell(&format!("trap 'echo asked > {}; exit 0' TERM; while :; do sleep 0.1; done", file.display()));
    let command = shell("sleep 0.5; test $$ -lt 10 && test -d /proc/$$ && kill -9 $$");
    let outcome = run(&scenario("", "", ""), Load::Programs { serve: Some(serve), command })?;
    let said = fs::read_to_string(&file);
    let _ = fs::remove_file(&file);
    ensure(said? == "asked\n" && outcome.exit == Some(137), format!("{:?}", outcome.exit))
}

/// At any time from before the first host to the end, on a path that carries everything or nothing.
fn interrupted_anywhere() -> Checked {
    let text = scenario(
        ", loss = 1.0",
        "count = 3",
        "[[flows]]\nlabel = \"back\"\ncontrol = \"reno\"\nreverse = true\n",
    );
    for looks in [0_u32, 1, 5, 9, 12, 20, 40] {
        let (began, left) = (Instant::now(), std::cell::Cell::new(looks));
        let go_on = |_| left.replace(left.get().saturating_sub(1)) > 0;
        let outcome = request(&text, Load::Flows, |request| emulate(request, &go_on))?;
        ensure(matches!(outcome, Err(LiveError::Interrupted)), format!("not interrupted at {looks}"))?;
        ensure(began.elapsed() < SOON, format!("{looks}: it took {:?}", began.elapsed()))?;
    }
    Ok(())
}

fn interrupted() -> Checked {
    let began = std::time::Instant::now();
    let text = scenario("", "", "").replace("\"3 s\"\nmeasure", "\"60 s\"\nmeasure");
    let outcome = request(&text, Load::Flows, |request| emulate(request, &|share| share < 0.005))?;
    ensure(matches!(outcome, Err(LiveError::Interrupted)), "it was not interrupted")?;
    ensure(began.elapsed().as_secs() < 5, "it took its time")
}

/// What there is of namespaces and devices.
fn traces() -> Result<String, Failed> {
    let links = Command::new("ip").args(["-o", "link"]).output()?;
    let names = Command::new("ip").args(["netns", "list"]).output()?;
    let names: Vec<String> = String::from_utf8_lossy(&links.stdout)
        .lines()
        .filter_map(|line| line.split(':').nth(1).map(str::to_owned))
        .chain([String::from_utf8_lossy(&names.stdout).into_owned()])
        .collect();
    let descriptors = fs::read_dir("/proc/self/fd")?.count();
    let threads = fs::read_dir("/proc/self/task")?.count();
    Ok(format!("{names:?}, {descriptors} descriptors, {threads} threads"))
}

fn nothing_left() -> Checked {
    let before = traces()?;
    flows(&scenario("", "stop = \"2 s\"", ""))?;
    error(&scenario("", "", ""), Load::Shell { host: "nowhere".to_owned(), shell: words("true") })?;
    let after = traces()?;
    ensure(before == after, format!("before: {before}\nafter: {after}"))
}
