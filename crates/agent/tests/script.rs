//! Scripts: what is read, and what is said about what is not.

use ackclock_agent::script::{self, MAX_BYTES, Stage};
use ackclock_agent::spec::{Late, Number, Pattern, Protocol, Role};
use miette::Diagnostic;
use proptest::prelude::*;
use std::path::Path;

fn example(name: &str) -> script::Plan {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/generate").join(name);
    let text = std::fs::read_to_string(&path).expect("an example");
    script::read(name, &text).unwrap_or_else(|error| panic!("{error}"))
}

/// What appendix A.5 of the thesis has, value by value.
#[test]
fn the_scripts_of_the_thesis_are_read() {
    let full = example("full-blast.netspec");
    let [transfer] = &full.transfers[..] else { panic!("one transfer") };
    let window = Some(1_048_576);
    let tcp = |no_control| Protocol::Tcp { window, control: None, no_control, rate: None };
    let source = &transfer.source;
    let pattern = Pattern::Full { blocksize: 32_000, duration: 10_000_000, buffer: None };
    assert_eq!(source.spec.role, Role::Source(pattern));
    assert_eq!((source.spec.stamps, &source.spec.protocol), (50_000, &tcp(false)));
    assert_eq!(source.agent.to_string(), "omega.cairn.net:42010");
    assert_eq!(source.own.as_ref().expect("an address").to_string(), "omega.cairn.net:42015");
    assert_eq!(transfer.sink.own.as_ref().expect("an address").to_string(), "iss-p4.lbl.gov:42015");
    assert_eq!(transfer.sink.spec.stamps, 100_000);

    let burst = example("burst.netspec");
    let transfer = &burst.transfers[0];
    assert_eq!(transfer.source.spec.protocol, tcp(true));
    assert_eq!(transfer.sink.spec.protocol, tcp(false), "only the end that sends goes without control");
    let pattern = transfer.pattern().expect("a source");
    assert_eq!(pattern.offered(), Some(102_400_000));
    assert_eq!(pattern.bytes(), Some(128_000 * 1001));

    let udp = example("udp.netspec");
    let transfer = &udp.transfers[0];
    assert_eq!(transfer.sink.agent.to_string(), "dpsslx03.lbl.gov:42030");
    assert_eq!(transfer.pattern().and_then(Pattern::bytes), Some(2 * 50_000 * 32_000));
    assert!(transfer.source.spec.protocol.is_udp());
}

/// Appendices A.2 and A.4: 128,000 bytes every 5 ms for 2 s are 51,328,000 bytes.
#[test]
fn a_duration_gives_one_burst_more_than_periods() {
    let plan =
        script::read("s", &pair("burst (blocksize=128000, period=5000, duration=2)", "tcp")).expect("a plan");
    let Some(Pattern::Bursts(bursts)) = plan.transfers[0].pattern() else { panic!("bursts") };
    let fixed = bursts.fixed().expect("always the same");
    assert_eq!((fixed.count, fixed.bytes()), (401, 51_328_000));
}

/// A script of one transfer: the type of its source, and the protocol of both ends.
fn pair(kind: &str, protocol: &str) -> String {
    format!(
        "cluster {{\n test a {{ type = {kind}; protocol = {protocol}; peer = b:42015; }}\n test b {{ type = sink; \
         protocol = {protocol}; own = b:42015; }}\n}}"
    )
}

#[test]
fn quantities_may_have_units_and_numbers_may_be_functions() {
    let text = pair(
        "burst (blocksize=\"128 kB\", period=exponential (mean=5000, min=1000), repeats=3, duration=\"1500 ms\", \
         late=skip, buffer=\"1 MiB\")",
        "tcp (window=\"2 MB\", control=cubic, rate=\"50 Mbit/s\")",
    );
    let plan = script::read("s", &text).expect("a plan");
    let Some(Pattern::Bursts(bursts)) = plan.transfers[0].pattern() else { panic!("bursts") };
    assert_eq!((bursts.blocksize.fixed(), bursts.repeats.fixed()), (Some(128_000), Some(3)));
    assert_eq!((bursts.duration, bursts.late, bursts.buffer), (1_500_000, Late::Skip, Some(1 << 20)));
    let Number::Drawn(draw) = &bursts.period else { panic!("drawn") };
    assert_eq!(draw.law().expect("a law").min, 1000.0);
    assert_eq!(plan.transfers[0].source.spec.protocol.rate(), Some(50_000_000));
    // As the tool's own pages have it.
    let ftp = "burstq (blocksize=ftpItemSize(min=8), repeats=ftpNOfItems(min=1), \
               period=ftpSessionInterarrival(lambda=0.00001,min=1000))";
    let plan = script::read("s", &pair(ftp, "tcp")).expect("a plan");
    let Some(Pattern::Bursts(bursts)) = plan.transfers[0].pattern() else { panic!("bursts") };
    assert_eq!(bursts.late, Late::Queue);
}

/// The words of scenarios mean what the thesis's mean.
#[test]
fn bursts_have_the_words_of_scenarios_too() {
    let role = |kind: &str| {
        let plan = script::read("s", &pair(kind, "tcp")).unwrap_or_else(|error| panic!("{kind}: {error}"));
        plan.transfers[0].source.spec.role.clone()
    };
    let same = [
        (
            "burst (blocksize=128000, period=10000, duration=2)",
            "burst (size=\"128 kB\", every=\"10 ms\", for=\"2 s\")",
        ),
        (
            "burst (blocksize=128000, period=10000, duration=2)",
            "burst (size=128000, every=10000, for=2, queued=false)",
        ),
        (
            "burstq (blocksize=128000, period=10000, duration=2)",
            "burst (size=128000, every=10000, for=2, queued=true)",
        ),
        (
            "burst (blocksize=1000, period=10000, late=skip)",
            "burst (size=1000, every=10000, late=skip, queued=false)",
        ),
        ("full (duration=2)", "full (for=2)"),
        ("voice (duration=2)", "voice (for=2)"),
    ];
    for (theirs, ours) in same {
        assert_eq!(role(theirs), role(ours), "{theirs} and {ours}");
    }
    let wrong = [
        ("burst (size=1000, blocksize=1000, every=10000)", "blocksize and size mean the same"),
        ("burst (size=1000, every=10000, period=10000)", "period and every mean the same"),
        ("full (duration=2, for=2)", "duration and for mean the same"),
        ("burst (size=1000, repeats=2, every=10000)", "size is that of the whole burst"),
        ("burst (size=1000, every=10000, queued=true, late=skip)", "either queued or skipped"),
        ("burst (size=1000, every=10000, queued=1)", "queued is a word"),
        ("burstq (size=1000, every=10000, queued=true)", "no argument \"queued\""),
    ];
    for (kind, message) in wrong {
        let error = script::read("s", &pair(kind, "tcp")).expect_err(kind);
        assert!(error.to_string().contains(message), "{kind}: {error}");
    }
}

#[test]
fn blocks_say_what_follows_what() {
    let cluster = |port| {
        format!(
            "test a {{ type = full; protocol = tcp; peer = b:{port}; }} test b {{ type = sink; protocol = tcp; own = \
             b:{port}; }}"
        )
    };
    let text = format!(
        "serial {{ {} cluster {{ {} {} }} parallel {{ {} serial {{ {} {} }} }} }}",
        cluster(1),
        cluster(2),
        cluster(3),
        cluster(4),
        cluster(5),
        cluster(6)
    );
    let plan = script::read("s", &text).expect("a plan");
    assert_eq!(plan.transfers.len(), 6);
    let one = |number| Stage::Together(vec![number], vec![]);
    let wanted = Stage::InTurn(vec![
        one(0),
        Stage::Together(vec![1, 2], vec![]),
        Stage::Together(vec![3], vec![Stage::InTurn(vec![one(4), one(5)])]),
    ]);
    assert_eq!(plan.stage, wanted);
    assert_eq!(plan.agents().len(), 2);
}

/// A script, the line and the column of its error, a part of the message, a part of the remedy.
#[test]
fn errors_have_line_column_and_remedy() {
    let cases: &[(&str, (usize, usize), &str, &str)] = &[
        ("", (1, 1), "cluster, parallel or serial", "cluster {"),
        ("cluster", (1, 8), "\"{\" is wanted", "braces"),
        ("cluster {", (1, 10), "the end of the script", "close the block"),
        ("cluster {\n  tset a { }\n}", (2, 3), "a test or a block", "test"),
        ("cluster { } cluster { }", (1, 13), "the end of the script", "into one"),
        ("cluster { test a:70000 { } }", (1, 18), "no port", "65535"),
        ("cluster { test a { typ = full; } }", (1, 20), "no statement \"typ\"", "\"type\""),
        ("cluster { test a { type = full }", (1, 32), "\";\" is wanted", "ends with ;"),
        ("cluster { test a { type = full; } }", (1, 16), "no protocol", "protocol = tcp"),
        ("cluster { test a { type = flul; protocol = tcp; } }", (1, 27), "no type \"flul\"", "\"full\""),
        ("cluster { test a { type = full; protocol = tpc; } }", (1, 44), "no protocol \"tpc\"", "\"tcp\""),
        (
            "cluster { test a { type = full (duratoin=1); protocol = tcp; } }",
            (1, 33),
            "duratoin",
            "\"duration\"",
        ),
        ("cluster { test a { type = full (duration=0); protocol = tcp; } }", (1, 42), "duration", "10 s"),
        (
            "cluster { test a { type = full (duration=10ms); protocol = tcp; } }",
            (1, 42),
            "no number",
            "double quotes",
        ),
        ("cluster { test a { type = full (blocksize=\"5\"); protocol = tcp; } }", (1, 43), "\"5\"", "unit"),
        ("cluster { test a { type = burst; protocol = tcp; } }", (1, 27), "no period", "period=10000"),
        ("cluster { test a { type = burst (period=5); protocol = tcp; } }", (1, 41), "100", "10 ms"),
        (
            "cluster { test a { type = burst (period=exponentail(mean=1)); protocol = tcp; } }",
            (1, 41),
            "exponentail",
            "exponential",
        ),
        (
            "cluster { test a { type = full; protocol = udp; peer = b:1; } }",
            (1, 27),
            "without a rate",
            "udp (rate=",
        ),
        ("cluster { test a { type = full; protocol = tcp; } }", (1, 16), "no peer", "peer = "),
        ("cluster { test a { type = sink; protocol = tcp; } }", (1, 16), "no own", "own = "),
        (
            "cluster { test a { type = sink; protocol = tcp (nocc=1); own = a:1; } }",
            (1, 44),
            "sink",
            "leave nocc out",
        ),
        ("cluster { test a { type = sink; protocol = tcp; own = a:1; } }", (1, 16), "nobody sends", "peer"),
        ("cluster { test a { type = full; protocol = tcp; peer = b:1; } }", (1, 16), "no sink", "own ="),
        ("cluster { }", (1, 1), "no tests", "type = sink"),
        ("cluster { é }", (1, 11), "means nothing", "words"),
    ];
    for &(text, place, message, remedy) in cases {
        let error = script::read("s", text).expect_err(text);
        assert_eq!((error.line(), error.column()), place, "{text}: {error}");
        assert!(error.to_string().contains(message), "{text}: {error}");
        assert!(error.remedy().contains(remedy), "{text}: {}", error.remedy());
        assert!(error.labels().is_some() && error.source_code().is_some());
    }
}

#[test]
fn limits_are_kept() {
    let deep = |depth| format!("{}{}", "serial {".repeat(depth), "}".repeat(depth));
    assert!(script::read("s", &deep(16)).expect_err("no tests").to_string().contains("no tests"));
    assert!(script::read("s", &deep(17)).expect_err("too deep").to_string().contains("16 deep"));
    assert!(script::read("s", &deep(100_000)).expect_err("too deep").to_string().contains("16 deep"));
    let large = format!("#{}", "x".repeat(MAX_BYTES));
    assert!(script::read("s", &large).expect_err("too large").to_string().contains("at most"));
    let test = "test a{type=full;protocol=tcp;peer=b:1;}test b{type=sink;protocol=tcp;own=b:1;}";
    let many = |transfers: usize| script::read("s", &format!("cluster{{{}}}", test.repeat(transfers)));
    assert_eq!(many(5000).expect("as many as there may be").transfers.len(), 5000);
    assert!(many(5001).expect_err("too many").to_string().contains("10000 tests"));
}

proptest! {
    #[test]
    fn nothing_that_is_read_panics(text in "(cluster|serial|test|type|=|\\{|\\}|\\(|\\)|;|,|:|\"|burst|sink|full|[a-z0-9. #\n]|é){0,60}") {
        if let Err(error) = script::read("s", &text) {
            let _ = (error.to_string(), error.line(), error.column());
        }
    }
}
