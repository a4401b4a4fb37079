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
