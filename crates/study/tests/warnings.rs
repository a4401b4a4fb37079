//! What results warn of, and what they do not.

mod common;

use common::{dumbbell, result};

const FLOWS: &str = "[[flows]]\ncontrol = \"compound\"\n[[flows]]\ncontrol = \"reno\"\n";

fn warnings(text: &str) -> Vec<String> {
    result(text).warnings
}

/// The sweep that README once showed: access links that are no faster than the bottleneck.
fn access_and_bottleneck(access: &str, bottleneck: &str, flows: &str) -> String {
    "duration = \"20 s\"\nmeasure = [\"5 s\", \"20 s\"]\n".to_owned()
        + &dumbbell(
            &format!("rate = \"{bottleneck}\", delay = \"10 ms\", queue = {{ droptail = \"1 bdp\" }}"),
            &format!("access = {{ rate = \"{access}\", delay = \"10 ms\" }}\n{flows}"),
        )
}

#[test]
fn a_queue_in_access_links_is_told() {
    // Nothing is ever lost, so the window grows for as long as the run lasts.
    let one = "[[flows]]\ncontrol = \"reno\"\ntcp = { initial_window = 1000 }\n";
    let told = warnings(&access_and_bottleneck("50 Mbit/s", "50 Mbit/s", one));
    assert!(
        told.iter().any(|it| it.contains("access links (50 Mbit/s), whose queues have no limit")),
        "{told:?}"
    );
    for flows in [one, FLOWS] {
        let wide = warnings(&access_and_bottleneck("500 Mbit/s", "50 Mbit/s", flows));
        assert!(wide.is_empty(), "{wide:?}");
    }
}

#[test]
fn a_narrowest_link_that_is_no_bottleneck_is_told() {
    let one = "[[flows]]\ncontrol = \"reno\"\n";
    let told = warnings(&access_and_bottleneck("10 Mbit/s", "50 Mbit/s", one));
    assert!(
        told[0].contains("\"bottleneck\" (50 Mbit/s) is the narrowest link, but not the bottleneck"),
        "{told:?}"
    );
    assert!(told[0].contains("carry 10 Mbit/s together"), "{told:?}");
    // Ten of them are more than it carries.
    let ten = "[[flows]]\ncontrol = \"reno\"\ncount = 10\n";
    let many = warnings(&access_and_bottleneck("10 Mbit/s", "50 Mbit/s", ten));
    assert!(!many.iter().any(|it| it.contains("not the bottleneck")), "{many:?}");
}

#[test]
fn a_flow_that_delivers_nothing_is_told() {
    let text = |loss: &str, flow: &str| {
        "duration = \"5 s\"\nmeasure = [\"1 s\", \"5 s\"]\n".to_owned()
            + &dumbbell(
                &format!(
                    "rate = \"10 Mbit/s\", delay = \"10 ms\", queue = {{ droptail = \"1 bdp\" }}, loss = {loss}"
                ),
                &format!("[[flows]]\ncontrol = \"reno\"\ncount = 2\n{flow}"),
            )
    };
    let told = warnings(&text("1.0", ""));
    assert_eq!(
        told,
        ["2 of the 2 flows of \"reno\" delivered nothing within the measuring window, and had data to send"]
    );
    assert_eq!(warnings(&text("0.0", "")), [""; 0]);
    // What was over before the window, or begins after it, had nothing to send.
    assert_eq!(warnings(&text("0.0", "size = \"5 kB\"\n")), [""; 0]);
    assert_eq!(warnings(&text("1.0", "start = \"4.99 s\"\n")), [""; 0]);
}

/// A limit at access links: segments are dropped there, and round trips stay short.
#[test]
fn access_links_may_have_a_queue() {
    let text = |queue: &str| {
        "duration = \"10 s\"\n".to_owned()
            + &dumbbell(
                "rate = \"50 Mbit/s\", delay = \"10 ms\", queue = { droptail = \"1 bdp\" }",
                &format!(
                    "access = {{ rate = \"20 Mbit/s\", delay = \"5 ms\"{queue} }}\n\
                     [[flows]]\ncontrol = \"reno\"\ntcp = {{ initial_window = 2000 }}\n\
                     [[traffic]]\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\n"
                ),
            )
    };
    let long = result(&text(""));
    for queue in ["{ droptail = \"0.5 bdp\" }", "{ codel = { limit = \"1 bdp\" } }", "\"fq_codel\""] {
        let short = result(&text(&format!(", queue = {queue}")));
        let (rtt, before) = (short.flows[0].rtt_mean_s, long.flows[0].rtt_mean_s);
        assert!(rtt < before.map(|it| it / 2.0), "{queue}: {rtt:?} and {before:?}");
        assert!(short.flows[0].retransmits > 0 && short.links[0].drops == 0, "{queue}");
        assert!(short.traffic[0].delivered > 1000, "{queue}");
    }
}
