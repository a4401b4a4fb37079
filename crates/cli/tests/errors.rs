//! What a user is told about wrong scenarios. Every message can be read in `snapshots/`: it must name the
//! file, the line and the key, say what is wrong, and say what would be right.

mod common;

use common::{SCENARIO, ackclock, and, stderr, stdout, with};
use std::fmt::Write;

/// A wrong scenario, the command line's further arguments, and the heading under which its message is shown.
type Case = (&'static str, String, &'static [&'static str]);

/// What the program says about each case, which must be refused without a trace.
fn messages(cases: Vec<Case>) -> String {
    let mut all = String::new();
    for (heading, text, arguments) in cases {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("case.toml"), text).expect("a file");
        let mut line = vec!["run", "case.toml", "--json", "--out", "out"];
        line.extend(arguments);
        let output = ackclock(directory.path(), &line);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{heading}: {said}");
        assert_eq!(stdout(&output), "", "{heading}");
        assert!(!directory.path().join("out").exists(), "{heading}: files were written");
        assert!(said.contains("help:"), "{heading}: no remedy:\n{said}");
        writeln!(all, "## {heading}\n{said}").expect("a text grows");
    }
    all
}

/// Compares with the snapshot of the test that calls.
macro_rules! shown {
    ($messages:expr) => {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($messages) })
    };
}

fn case(heading: &'static str, text: String) -> Case {
    (heading, text, &[])
}

fn replaced(heading: &'static str, old: &str, new: &str) -> Case {
    (heading, with(old, new), &[])
}

/// The scenario as it is, under these settings.
fn set(heading: &'static str, arguments: &'static [&'static str]) -> Case {
    (heading, SCENARIO.to_owned(), arguments)
}

#[test]
fn toml() {
    shown!(messages(vec![
        case("empty file", String::new()),
        case("not TOML", "duration: 60 s\n".to_owned()),
        case("a bracket that stays open", "duration = \"60 s\"\nmeasure = [\"1 s\", \"2 s\"\n".to_owned()),
        case("the same key twice", and("[topology.dumbbell]\n")),
        case("a value without quotes", "duration = 60 s\n".to_owned()),
        case("CRLF, a BOM and comments", format!("\u{feff}# comment\r\n{}", and("durations = 1\r\n"))),
        case("nested too deeply", format!("{}{}{}", "x = ", "[".repeat(60), "]".repeat(60))),
        case("nested far too deeply", format!("{}{}{}", "x = ", "[".repeat(100_000), "]".repeat(100_000))),
        case("a key of very many parts", format!("{}x = 1", "a.".repeat(100_000))),
        case("a list without double brackets", "duration = \"1 s\"\n[topology.dumbbell]\nbottleneck = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n[flows]\ncontrol = \"reno\"\n".to_owned()),
    ]));
}

#[test]
fn keys() {
    shown!(messages(vec![
        replaced("misspelt needed key", "duration =", "durations ="),
        replaced("misspelt optional key", "measure =", "mesure ="),
        replaced("misspelt key of a flow", "stop =", "stopp ="),
        replaced("misspelt key of a link", "loss = 0", "los = 0"),
        replaced("misspelt key in tcp", "rto_min", "min_rto"),
        replaced("a key that no one would guess", "seed = 7", "zzz = 7"),
        replaced("missing key of a link", "rate = \"10 Mbit/s\", ", ""),
        replaced("missing key of traffic", "rate = \"1 Mbit/s\"\n", ""),
        replaced("missing control", "control = \"reno\"\n", ""),
        replaced("unknown topology", "topology.dumbbell", "topology.dumbell"),
        case("two topologies", and("[topology.parking_lot]\nhops = 2\n")),
        replaced("unknown control", "\"reno\"", "\"rno\""),
        replaced("unknown parameter", "beta = 0.5", "betta = 0.5"),
        replaced("parameter out of range", "beta = 0.5", "beta = 1.5"),
        replaced("parameter of the wrong kind", "beta = 0.5", "beta = [0.5]"),
        replaced(
            "parameters of a control without any",
            "control = \"reno\"",
            "control = { none = { beta = 0.5 } }"
        ),
        replaced(
            "unknown control underneath",
            "control = \"reno\"",
            "control = { pert = { over = \"layred\" } }"
        ),
        replaced(
            "unknown parameter underneath",
            "control = \"reno\"",
            "control = { pert = { over = { layered = { wt = 5 } } } }"
        ),
        replaced(
            "a wrapper around a wrapper",
            "control = \"reno\"",
            "control = { pert = { over = \"pert\" } }"
        ),
        replaced("a number for a control", "control = \"reno\"", "control = { pert = { over = 5 } }"),
        replaced("two controls", "control = \"reno\"", "control = { reno = {}, cubic = {} }"),
        replaced("unknown recovery", "recovery = \"sack\"", "recovery = \"sacks\""),
        replaced("unknown detection", "recovery = \"sack\"", "detection = \"dupack\""),
        replaced("unknown queue", "droptail = \"1 bdp\"", "drop_tail = \"1 bdp\""),
        replaced("a queue that takes no settings", "{ droptail = \"1 bdp\" }", "{ unlimited = {} }"),
        replaced("a queue without its settings", "{ droptail = \"1 bdp\" }", "\"droptail\""),
        replaced("unknown traffic", "\"cbr\"", "\"vbr\""),
        replaced("two groups of one name", "\"second\"", "\"first\""),
        case(
            "two streams of one name",
            and("[[traffic]]\nlabel = \"noise\"\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\n")
        ),
    ]));
}

#[test]
fn values() {
    shown!(messages(vec![
        replaced("no unit", "\"10 s\"\nmeasure", "10\nmeasure"),
        replaced("no unit in the text", "\"60 ms\"", "\"60\""),
        replaced("ambiguous unit", "\"10 Mbit/s\"", "\"10 Mb/s\""),
        replaced("wrong case", "\"10 Mbit/s\"", "\"10 mbit/s\""),
        replaced("unit of something else", "\"60 ms\"", "\"60 Mbit/s\""),
        replaced("no number", "\"60 ms\"", "\"sixty ms\""),
        replaced("negative", "delay = \"10 ms\"", "delay = \"-10 ms\""),
        replaced("not a number", "loss = 0", "loss = nan"),
        replaced("infinite", "\"60 ms\"", "\"inf ms\""),
        replaced("too large a probability", "loss = 0", "loss = 1.5"),
        replaced("a percentage", "loss = 0", "loss = \"1 %\""),
        replaced("a number in quotes", "loss = 0", "loss = \"0.1\""),
        replaced("rate of zero", "\"10 Mbit/s\"", "\"0 Mbit/s\""),
        replaced("enormous rate", "\"10 Mbit/s\"", "\"1e30 Gbit/s\""),
        replaced("duration of zero", "\"10 s\"\nmeasure", "\"0 s\"\nmeasure"),
        replaced("enormous duration", "\"10 s\"\nmeasure", "\"1e6 h\"\nmeasure"),
        replaced("a seed beyond counting", "seed = 7", "seed = 99999999999999999999999"),
        replaced("a seed that is lost in a float", "seed = 7", "seed = 9007199254740993"),
    ]));
}

/// Applications that write bursts.
#[test]
fn bursts() {
    let bursts = |heading, keys: &str| replaced(heading, "rtt = \"60 ms\"", &format!("bursts = {keys}"));
    shown!(messages(vec![
        bursts("bursts that are no table", "\"128 kB\""),
        bursts("bursts without a size", "{ every = \"10 ms\", for = \"2 s\" }"),
        bursts("bursts without a period", "{ size = \"128 kB\", for = \"2 s\" }"),
        bursts("bursts without end", "{ size = \"128 kB\", every = \"10 ms\" }"),
        bursts("bursts at one instant", "{ size = \"128 kB\", every = \"0 ms\", for = \"2 s\" }"),
        bursts("a burst below a segment", "{ size = \"100 B\", every = \"10 ms\", for = \"2 s\" }"),
        bursts("very many bursts", "{ size = \"1 kB\", every = \"1 ns\", for = \"2 s\" }"),
        bursts("a misspelt key", "{ size = \"1 kB\", every = \"1 ms\", for = \"2 s\", queue = true }"),
        bursts(
            "bursts of a size of their own",
            "{ size = \"1 kB\", every = \"1 ms\", for = \"2 s\" }\nsize = \"3 kB\""
        ),
        replaced("a buffer without a unit", "rtt = \"60 ms\"", "send_buffer = 1000000"),
        replaced("a buffer below a segment", "rtt = \"60 ms\"", "send_buffer = \"999 B\""),
        replaced("a buffer beyond all windows", "rtt = \"60 ms\"", "send_buffer = \"2 GB\""),
        replaced("asked for bursts that nobody writes", "goodput('first')", "transmitted('first')"),
    ]));
}

/// Transfers that the receiving host asks for.
#[test]
fn responses() {
    let http = |heading, keys: &str| replaced(heading, "rtt = \"60 ms\"", keys);
    shown!(messages(vec![
        http("responses without a size", "http = {}"),
        http("responses that are no table", "http = true\nsize = \"3 kB\""),
        http("responses as a load", "http = {}\nsize = \"3 kB\"\nload = 0.5"),
        http(
            "bursts beyond a response",
            "http = {}\nsize = \"3 kB\"\nbursts = { size = \"1 kB\", every = \"1 ms\", for = \"2 s\" }"
        ),
        http("a misspelt key of responses", "http = { persistant = true }\nsize = \"3 kB\""),
    ]));
}

#[test]
fn counts_and_kinds() {
    shown!(messages(vec![
        replaced("half a flow", "count = 2", "count = 2.5"),
        replaced("no flows", "count = 2", "count = 0"),
        replaced("very many flows", "count = 2", "count = 1e300"),
        replaced("a number for a text", "\"an example\"", "2024"),
        replaced("half a packet", "\"1 bdp\"", "\"2.5 packets\""),
        replaced("a queue without a unit", "\"1 bdp\"", "100"),
        replaced("a queue in an unknown unit", "\"1 bdp\"", "\"1 BDP\""),
        replaced("a negative queue", "\"1 bdp\"", "\"-1 packets\""),
        replaced("a segment of nothing", "\"1000 B\"", "\"0 B\""),
        replaced("a segment that no packet holds", "\"1000 B\"", "\"70 kB\""),
        replaced("a transfer of nothing", "rtt = \"60 ms\"", "size = \"0 B\""),
        replaced("a size with one end", "rtt = \"60 ms\"", "size = { uniform = [10] }"),
        replaced("a size from large to small", "rtt = \"60 ms\"", "size = { uniform = [20, 10] }"),
        replaced("a size of nothing", "rtt = \"60 ms\"", "size = { uniform = [0, 10] }"),
        replaced("a tail without a mean", "rtt = \"60 ms\"", "size = { lomax = { mean = 12, shape = 1 } }"),
        replaced(
            "a page of unlimited objects",
            "rtt = \"60 ms\"",
            "page = { objects = 4 }\npause = \"15 s\""
        ),
        replaced("pages without a pause", "rtt = \"60 ms\"", "size = \"9 kB\"\npage = { objects = 4 }"),
        replaced(
            "a page of nothing",
            "rtt = \"60 ms\"",
            "size = \"9 kB\"\npause = \"15 s\"\npage = { objects = 0 }"
        ),
        replaced("an unknown kind of size", "rtt = \"60 ms\"", "size = { normal = [10, 20] }"),
        replaced("more followed than there are", "count = 2", "count = 2\nfollow = 3"),
        replaced("a start without a unit", "{ uniform = [\"0 s\", \"1 s\"] }", "5"),
        replaced("an unknown kind of start", "uniform", "normal"),
        replaced("an interval with one end", "[\"0 s\", \"1 s\"]", "[\"1 s\"]"),
        replaced("a flag for a table", "{ compound = { beta = 0.5 } }", "{ compound = true }"),
        replaced("a list for a quantity", "\"60 ms\"", "[\"60 ms\"]"),
        replaced("a window of nothing", "rto_min = \"200 ms\"", "receive_window = \"1 B\""),
        replaced("a pace by an unknown time", "rto_min = \"200 ms\"", "pacing = { rtt = \"mean\" }"),
        replaced("a pace of nothing", "rto_min = \"200 ms\"", "pacing = { gain = 0 }"),
        replaced("an unknown kind of ECN", "rto_min = \"200 ms\"", "ecn = \"l5s\""),
        replaced("a pace by word", "rto_min = \"200 ms\"", "pacing = \"smoothed\""),
        replaced("a word where times or flags stand", "rto_min = \"200 ms\"", "delayed_ack = \"yes\""),
    ]));
}

#[test]
fn contradictions() {
    shown!(messages(vec![
        replaced("measured backwards", "[\"2 s\", \"10 s\"]", "[\"10 s\", \"2 s\"]"),
        replaced("measured after the end", "[\"2 s\", \"10 s\"]", "[\"2 s\", \"20 s\"]"),
        replaced("stopped before the start", "stop = \"9 s\"", "stop = \"0 s\""),
        replaced("traffic stopped before its start", "on = \"1 s\"\n", "on = \"1 s\"\nstart = \"5 s\"\nstop = \"4 s\"\n"),
        replaced("started after the end", "start = { uniform = [\"0 s\", \"1 s\"] }\nstop = \"9 s\"", "start = \"20 s\""),
        replaced("started one by one beyond the end", "rtt = \"60 ms\"", "start = { every = \"10 s\" }"),
        replaced("on without off", "off = \"1 s\"\n", ""),
        replaced("an rtt that light cannot make", "rtt = \"60 ms\"", "rtt = \"15 ms\""),
        replaced("repeated without end", "rtt = \"60 ms\"", "repeat = 3"),
        replaced("a pause before nothing", "rtt = \"60 ms\"", "pause = \"3 s\""),
        replaced("two ways to come again", "rtt = \"60 ms\"", "size = \"1 kB\"\nrepeat = 2\npause = \"1 s\"\ninterval = \"1 s\""),
        replaced("an interval without end", "rtt = \"60 ms\"", "interval = \"3 s\""),
        replaced("thinking without a mean", "rtt = \"60 ms\"", "size = \"1 kB\"\ninterval = { pareto = { shape = 1.5 } }"),
        replaced("a detection by SACK without SACK", "rtt = \"60 ms\"", "recovery = \"newreno\"\ndetection = \"rack\""),
        replaced("undone by reports that nobody sends", "recovery = \"sack\"", "recovery = \"robust\", undo = \"duplicates\""),
        case("a flow's recovery that cannot undo", with("rto_min = \"200 ms\"", "undo = \"duplicates\"").replacen("rtt = \"60 ms\"", "recovery = \"reno\"", 1)),
        replaced("least timeout above the largest", "rto_min = \"200 ms\"", "rto_max = \"100 ms\""),
        replaced("a timeout of zero", "rto_min = \"200 ms\"", "rto_min = \"0 s\", clock_granularity = \"0 s\""),
        replaced("RED with one threshold", "{ droptail = \"1 bdp\" }", "{ red = { limit = \"1 bdp\", min = \"2 packets\" } }"),
        replaced("a discipline without its limit", "{ droptail = \"1 bdp\" }", "{ rem = { target = \"5 packets\" } }"),
        replaced("a discipline without settings", "{ droptail = \"1 bdp\" }", "\"pie\""),
        replaced("a misspelt key of a discipline", "{ droptail = \"1 bdp\" }", "{ pi = { limit = \"1 bdp\", targt = \"5 packets\" } }"),
        replaced("a target in the wrong unit", "{ droptail = \"1 bdp\" }", "{ pie = { limit = \"1 bdp\", target = \"5 packets\" } }"),
        replaced("a clock that stands still", "{ droptail = \"1 bdp\" }", "{ rem = { limit = \"1 bdp\", period = \"0 s\" } }"),
        replaced("CoDel without its limit", "{ droptail = \"1 bdp\" }", "\"codel\""),
        replaced("CoDel with other settings", "{ droptail = \"1 bdp\" }", "{ codel = { target = \"5 ms\" } }"),
        replaced("a misspelt key of FQ-CoDel", "{ droptail = \"1 bdp\" }", "{ fq_codel = { quantums = \"300 B\" } }"),
        replaced("no queue for any flow", "{ droptail = \"1 bdp\" }", "{ fq_codel = { queues = 0 } }"),
        replaced("turns of nothing", "{ droptail = \"1 bdp\" }", "{ fq_codel = { quantum = \"0 B\" } }"),
        replaced("a delay that is none", "{ droptail = \"1 bdp\" }", "{ dualpi2 = { target = \"0 s\" } }"),
        replaced("a share of the whole", "{ droptail = \"1 bdp\" }", "{ dualpi2 = { share = 1.0 } }"),
        replaced("marking switched off where it cannot be", "{ droptail = \"1 bdp\" }", "{ dualpi2 = { mark = false } }"),
        replaced("a link that retransmits and decides late", "{ droptail = \"1 bdp\" }, loss = 0", "\"fq_codel\", loss = 0.01, retransmission = true"),
        replaced("a link that never gives up a dead channel", "loss = 0", "loss = 1.0, retransmission = true"),
        replaced("a link that never gives up in a state for ever", "loss = 0", "loss = { gilbert = { to_bad = 0.01, to_good = 0 } }, retransmission = true"),
        replaced("a link that never gives up in two dead states", "loss = 0", "loss = { gilbert = { to_bad = 0.3, to_good = 0.1, loss_good = 1 } }, retransmission = true"),
        replaced("a link that never gives up any packet", "loss = 0", "loss = { every = 1 }, retransmission = true"),
        replaced("a link that never gives up for an hour", "loss = 0", "loss = { exponential = { free = \"10 s\", error = \"1 h\" } }, retransmission = true"),
        replaced("RED with its thresholds swapped", "{ droptail = \"1 bdp\" }", "{ red = { limit = \"1 bdp\", min = \"9 packets\", max = \"8 kB\" } }"),
        replaced("too many looks", "seed = 7", "probe = \"1 ns\""),
        case("a run that could not advance", "duration = \"1 s\"\nsegment = { payload = \"1 B\", header = \"1 B\" }\n[topology.dumbbell]\nbottleneck = { rate = \"100 Gbit/s\", delay = \"0 s\" }\n[[flows]]\ncontrol = \"reno\"\n".to_owned()),
        case("no way back", "duration = \"1 s\"\n[[topology.graph.links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nboth = false\n[[flows]]\ncontrol = \"reno\"\nfrom = \"a\"\nto = \"b\"\n".to_owned()),
        case("no such node", "duration = \"1 s\"\n[[topology.graph.links]]\nfrom = \"paris\"\nto = \"rome\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[[flows]]\ncontrol = \"reno\"\nfrom = \"pari\"\nto = \"rome\"\n".to_owned()),
        case("no ends in a graph", "duration = \"1 s\"\n[[topology.graph.links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[[flows]]\ncontrol = \"reno\"\n".to_owned()),
        case("a link to itself", "duration = \"1 s\"\n[[topology.graph.links]]\nfrom = \"a\"\nto = \"a\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[[flows]]\ncontrol = \"reno\"\n".to_owned()),
        case("the same link twice", "duration = \"1 s\"\n[topology.graph]\nlinks = [{ from = \"a\", to = \"b\", rate = \"1 Mbit/s\", delay = \"1 ms\" },\n         { from = \"b\", to = \"a\", rate = \"1 Mbit/s\", delay = \"1 ms\" }]\n[[flows]]\ncontrol = \"reno\"\n".to_owned()),
        case("a flow from a node to itself", "duration = \"1 s\"\n[topology.parking_lot]\nhops = 2\nlink = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n[[flows]]\ncontrol = \"reno\"\nto = \"r1\"\n".to_owned()),
    ]));
}

#[test]
fn sweeps() {
    shown!(messages(vec![
        case("an axis without values", and("[sweep]\n\"flows.0.count\" = []\n")),
        case("an axis that is no list", and("[sweep]\n\"flows.0.count\" = 3\n")),
        case("an unknown key", and("[sweep]\n\"flows.0.counts\" = [1, 2]\n")),
        case(
            "a free name without its word",
            and("[sweep]\nload = [{ \"flows.0.count\" = 1 }, { \"flows.0.count\" = 2 }]\n")
        ),
        case("a word that is a table", and("[sweep]\nload = [{ is = {}, \"flows.0.count\" = 1 }]\n")),
        case(
            "a wrong value",
            and("[sweep]\ntopology.dumbbell.bottleneck.rate = [\"1 Mbit/s\", \"2 Mb/s\"]\n")
        ),
        case("a value twice", and("[sweep]\n\"flows.0.count\" = [1, 2, 1]\n")),
        case("a list entry that is not there", and("[sweep]\n\"flows.7.count\" = [1, 2]\n")),
        case(
            "an axis that replaces another",
            and(
                "[sweep]\n\"flows.0.control.compound.beta\" = [0.2, 0.5]\n\"flows.0.control\" = [\"reno\", \"cubic\"]\n"
            )
        ),
        case(
            "too many points",
            and(&format!(
                "[sweep]\nseed = {0:?}\n\"flows.0.count\" = {0:?}\n",
                (1..1000).collect::<Vec<_>>()
            ))
        ),
        case("a seed and seeds", format!("seeds = 3\n{SCENARIO}")),
        case("no seeds", with("seed = 7", "seeds = 0")),
        case("a seed twice", with("seed = 7", "seeds = [1, 2, 1]")),
        case("half a seed", with("seed = 7", "seeds = [1, 1.5]")),
    ]));
}

/// Two points, and this about both of them together.
fn over_points(heading: &'static str, that: &str) -> Case {
    let text =
        with("that = \"goodput('first') > 1000000\"", &format!("over = \"points\"\nthat = \"{that}\""));
    case(heading, text + "[sweep]\n\"flows.0.count\" = [1, 2]\n")
}

#[test]
fn expectations() {
    let that = |heading, that| replaced(heading, "goodput('first') > 1000000", that);
    shown!(messages(vec![
        that("not an expression", "goodput('first') >"),
        that("an unknown function", "goodputs('first') > 1"),
        that("an unknown label", "goodput('frist') > 1"),
        that("an unknown label behind an and", "goodput('first') < 0 and goodput('third') > 1"),
        that("an unknown label behind an or", "goodput('first') > 0 or goodput('third') > 1"),
        that("an unknown link", "utilisation('botleneck') > 0.9"),
        that("an unknown stream", "traffic_throughput('voice') > 1"),
        that("a label without quotes", "goodput(first) > 1"),
        that("a number", "goodput('first')"),
        that("a text", "'goodput'"),
        that("no argument", "goodput() > 1"),
        that("an argument too many", "goodput('first', 'second') > 1"),
        that("an argument behind what may be left out", "jain('first', 'second') > 0.9"),
        that("an argument too many for a link", "utilisation('bottleneck', 3) > 0.9"),
        that("predictors without a [predict]", "predicted('vegas', 'queue', 'efficiency') > 0.5"),
        that("an axis that there is not", "goodput('first', rate='1 Gbit/s') > 1"),
        that("probes that are off", "cwnd_max('first') > 1"),
        case(
            "no probe within",
            format!(
                "probe = \"1 s\"\n{}",
                with("goodput('first') > 1000000", "cwnd_max('first', 3.2, 3.8) > 1")
            )
        ),
        case(
            "an unknown predictor",
            format!(
                "{}[predict]\n",
                with("goodput('first') > 1000000", "predicted('vega', 'queue', 'efficiency') > 0.5")
            )
        ),
        case(
            "a hundredth of the queue",
            format!(
                "{}[predict]\n",
                with("goodput('first') > 1000000", "false_positive_queue('vegas', 'flow', 0, 0.55) > 0.5")
            )
        ),
        replaced("a misspelt that", "that =", "taht ="),
        replaced("an unknown scope", "that =", "over = \"sweep\"\nthat ="),
        over_points("which of several points", "goodput('first') > 1"),
        over_points("a point that there is not", "goodput('first', count=3) > goodput('first', count=1)"),
        over_points("an axis that is none", "rises(goodput('first', rate=axis('rate')))"),
        over_points("a list where a verdict is wanted", "goodput('first', count=axis('count'))"),
    ]));
}

#[test]
fn settings() {
    shown!(messages(vec![
        set("no value", &["--set", "seed"]),
        set("nothing at all", &["--set", ""]),
        set("no key", &["--set", "=5"]),
        set("an empty part", &["--set", "flows..count=5"]),
        set("an unknown key", &["--set", "flows.0.cuont=5"]),
        set("an unknown table", &["--set", "floes.0.count=5"]),
        set("a list entry that is not there", &["--set", "flows.2.count=5"]),
        set("a name in a list", &["--set", "flows.first.count=5"]),
        set("a list that is none", &["--set", "measure=5 s"]),
        set("an empty list", &["--set", "flows=[]"]),
        set("an empty value", &["--set", "flows.0.control="]),
        set("two values in one", &["--set", "seed=1\nabc=2"]),
        set("a value of another kind", &["--set", "name=2024"]),
        set("a quote that stays open", &["--set", "\"flows.0.count=3"]),
        set("a wrong quantity", &["--set", "topology.dumbbell.bottleneck.rate=1 Mb/s"]),
        (
            "part of a key that an axis sets",
            and(
                "[sweep]\n\"topology.dumbbell.bottleneck.queue\" = [{ droptail = \"1 bdp\" }, \"unlimited\"]\n"
            ),
            &["--set", "topology.dumbbell.bottleneck.queue.droptail=5 packets"],
        ),
    ]));
}

/// Files that cannot be read at all.
#[test]
fn files() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("latin.toml"), b"# ok\nname = \"Z\xfcrich\"\n").expect("a file");
    std::fs::create_dir(directory.path().join("folder")).expect("a directory");
    let mut all = String::new();
    let foreign: [(&str, &[u8]); 5] = [
        ("capture.pcap", &[0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0]),
        ("program", b"\x7fELF\x02\x01\x01\0\0\0\0\0"),
        ("table.csv", b"time_s,flow,goodput_bps\n0.1,0,100\n"),
        ("results.json", b"{\"points\": []}\n"),
        ("letter.txt", b"Dear reader,\nthis is no scenario.\n"),
    ];
    for (name, bytes) in foreign {
        std::fs::write(directory.path().join(name), bytes).expect("a file");
    }
    let names = ["missing.toml", "folder", "latin.toml", "folder/missing.toml"];
    for name in names.into_iter().chain(foreign.map(|(name, _)| name)) {
        let output = ackclock(directory.path(), &["run", name, "--json"]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert_eq!(stdout(&output), "", "{name}");
        writeln!(all, "## {name}\n{}", stderr(&output)).expect("a text grows");
    }
    shown!(all);
}
