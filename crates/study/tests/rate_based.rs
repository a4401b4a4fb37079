//! Controllers that measure the path, and those that count marks, on whole paths.

mod common;

use ackclock_scenario::results::PointResult;
use common::{dumbbell, result};

/// Flows on 50 Mbit/s with a propagation round-trip time of 40 ms: 240 packets of 1040 bytes are one product.
fn run(bottleneck: &str, flows: &str) -> PointResult {
    let text = "duration = \"60 s\"\nmeasure = [\"15 s\", \"60 s\"]\n".to_owned()
        + &dumbbell(&format!("rate = \"50 Mbit/s\", delay = \"20 ms\"{bottleneck}"), flows);
    result(&text)
}

fn flows(controls: &[&str]) -> String {
    let each = |control: &&str| format!("[[flows]]\nlabel = \"{control}\"\ncontrol = \"{control}\"\n");
    controls.iter().map(each).collect()
}

fn mbps(result: &PointResult, group: usize) -> f64 {
    result.groups[group].goodput_bps.total * 1e-6
}

#[test]
fn alone_a_model_fills_the_link_and_not_the_buffer() {
    for control in ["bbr", "bbr3"] {
        let result = run(", queue = { droptail = \"5 bdp\" }", &flows(&[control]));
        let link = &result.links[0];
        println!("{control}: {} of the link, {} packets wait", link.utilisation, link.queue_mean);
        assert!(link.utilisation > 0.95, "{control}: {}", link.utilisation);
        assert!(link.queue_mean < 60.0, "{control}: {} packets wait", link.queue_mean);
        assert_eq!(result.flows[0].timeouts, 0);
    }
}

#[test]
fn random_losses_hardly_hurt_a_model() {
    let reno = run(", loss = 0.01", &flows(&["reno"]));
    assert!(mbps(&reno, 0) < 6.0);
    for (control, least) in [("bbr", 45.0), ("bbr3", 25.0)] {
        let result = run(", loss = 0.01, queue = { droptail = \"1 bdp\" }", &flows(&[control]));
        println!("{control} with 1 % of losses: {} Mbit/s", mbps(&result, 0));
        assert!(mbps(&result, 0) > least, "{control}: {} Mbit/s", mbps(&result, 0));
    }
}

/// Version 3 probes every two or three seconds only, and takes the more of them to even out.
#[test]
fn two_models_share() {
    for (control, least) in [("bbr", 0.95), ("bbr3", 0.85)] {
        let rest = format!("[[flows]]\ncontrol = \"{control}\"\ncount = 2\nstart = {{ every = \"3 s\" }}\n");
        let result = run(", queue = { droptail = \"2 bdp\" }", &rest);
        let jain = result.jain.expect("two flows");
        println!("two {control}: {jain}, {} of the link", result.links[0].utilisation);
        assert!(jain > least && result.links[0].utilisation > 0.95, "{control}: {jain}");
    }
}

/// What is known of version 1: in a shallow buffer it takes most, in a deep one the buffer is Reno's.
#[test]
fn beside_reno_the_buffer_decides() {
    let shallow = run(", queue = { droptail = \"0.5 bdp\" }", &flows(&["bbr", "reno"]));
    let deep = run(", queue = { droptail = \"8 bdp\" }", &flows(&["bbr", "reno"]));
    println!("shallow: {} and {} Mbit/s", mbps(&shallow, 0), mbps(&shallow, 1));
    println!("deep: {} and {} Mbit/s", mbps(&deep, 0), mbps(&deep, 1));
    assert!(mbps(&shallow, 0) > 3.0 * mbps(&shallow, 1));
    assert!(mbps(&deep, 0) < mbps(&deep, 1));
}

/// Alizadeh et al. 2010: the queue oscillates below K + N, and K > BDP / 7 keeps the link busy.
#[test]
fn dctcp_keeps_the_queue_near_the_threshold() {
    let step = ", queue = { red = { limit = \"2 bdp\", min = \"40 packets\", max = \"40 packets\", probability = 1.0, \
                weight = 1.0, mark = true } }";
    let result = run(step, "[[flows]]\ncontrol = \"dctcp\"\ncount = 2\n");
    let link = &result.links[0];
    println!(
        "dctcp: {} packets wait, at most {}, {} of the link",
        link.queue_mean, link.queue_max, link.utilisation
    );
    assert!(link.utilisation > 0.98, "{}", link.utilisation);
    assert!((20.0..45.0).contains(&link.queue_mean), "{} packets wait", link.queue_mean);
    assert!(link.marks > 0 && link.drops == 0 && result.jain.is_some_and(|jain| jain > 0.95));
    // Reno, which halves for any mark, leaves the same queue empty half of the time.
    let reno = run(step, "[[flows]]\ncontrol = \"reno\"\ncount = 2\ntcp = { ecn = true }\n");
    assert!(reno.links[0].utilisation < link.utilisation);
}

/// Packets that are squeezed together behind the bottleneck tell an enormous capacity.
#[test]
fn jitter_behind_the_bottleneck_does_not_make_xrtp_flood_the_path() {
    let text = "duration = \"20 s\"\n".to_owned()
        + &dumbbell(
            "rate = \"2 Mbit/s\", delay = \"40 ms\", queue = { droptail = \"20 packets\" }, jitter = \"20 ms\"",
            &flows(&["xrtp"]),
        );
    let result = result(&text);
    let link = &result.links[0];
    println!("{} of the packets are dropped, {} Mbit/s", link.drop_rate, mbps(&result, 0));
    assert!(link.drop_rate < 0.2 && mbps(&result, 0) > 1.5);
}
