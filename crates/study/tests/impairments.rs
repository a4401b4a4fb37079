//! What links do to packets, as scenarios ask for it.

use ackclock_scenario::Sweep;
use ackclock_scenario::results::PointResult;
use ackclock_study::run::run_point;
use std::sync::atomic::AtomicBool;

fn scenario(keys: &str) -> Result<Sweep, String> {
    let text = format!(
        "duration = \"20 s\"\n[topology.dumbbell]\n\
         bottleneck = {{ rate = \"10 Mbit/s\", delay = \"5 ms\", {keys} }}\n\
         [[flows]]\ncontrol = \"reno\"\n"
    );
    Sweep::read("link.toml", &text, &[]).map_err(|error| {
        let help = miette::Diagnostic::help(&error).map(|help| help.to_string());
        format!("{error}: {}", help.unwrap_or_default())
    })
}

fn run(keys: &str) -> PointResult {
    let sweep = scenario(keys).expect("a scenario");
    run_point(&sweep.points[0], false, &AtomicBool::new(false)).expect("a run")
}

/// The scenario is refused, at its line and key, and with these words.
fn refused(keys: &str, words: &[&str]) {
    let error = scenario(keys).err().unwrap_or_else(|| panic!("{keys} is taken"));
    for word in ["link.toml:3", "topology.dumbbell.bottleneck."].iter().chain(words) {
        assert!(error.contains(word), "{keys}: {error} does not say {word}");
    }
}

#[test]
fn one_packet_in_so_many_is_lost() {
    let result = run("loss = { every = 100 }");
    let link = &result.links[0];
    assert_eq!(link.random_losses, link.arrivals / 100);
    assert_eq!(result.links[1].random_losses, 0, "acknowledgements are spared");
}

#[test]
fn other_losses_are_mistakes() {
    refused("loss = 1.5", &["loss", "from 0 to 1"]);
    refused("loss = { every = 0 }", &["every"]);
    refused("loss = { evry = 10 }", &["did you mean \"every\"?"]);
}

#[test]
fn the_share_that_was_asked_for_is_late() {
    let result = run("reorder = { share = 0.1, delay = { normal = [\"25 ms\", \"8 ms\"] } }");
    let link = &result.links[0];
    let share = link.late as f64 / link.arrivals as f64;
    assert!((share - 0.1).abs() < 0.02, "{share}");
    assert_eq!(link.drops, 0);
    assert_eq!(result.links[1].late, 0, "acknowledgements keep their order");
    assert!(result.flows[0].retransmits > 0, "duplicate acknowledgements are taken for losses");
}

#[test]
fn impossible_reordering_is_explained() {
    refused("reorder = 0.1", &["a table is wanted", "share = 0.1"]);
    refused("reorder = { share = 1.5, delay = \"25 ms\" }", &["reorder.share", "from 0 to 1"]);
    refused("reorder = { share = 0.1 }", &["\"delay\" is missing", "normal"]);
    refused("reorder = { share = 0.1, delay = 25 }", &["reorder.delay", "no unit", "ms"]);
    refused("reorder = { share = 0.1, delay = \"normal\" }", &["no mean", "[\"25 ms\", \"8 ms\"]"]);
    refused(
        "reorder = { share = 0.1, delay = { normal = [\"8 ms\"] } }",
        &["a mean and a standard deviation"],
    );
    refused("reorder = { share = 0.1, delay = { nromal = [\"8 ms\"] } }", &["did you mean \"normal\"?"]);
    refused("reorder = { share = 0.1, delay = { uniform = [\"8 ms\", \"1 ms\"] } }", &["shorter time first"]);
    refused("reorder = { share = 0.1, delay = \"0 ms\" }", &["delays nothing"]);
    refused("reorder = { share = 0.1, delay = { pareto = { shape = 1.5 } } }", &["needs a mean"]);
    refused(
        "reorder = { share = 0.1, delay = { pareto = { mean = \"1 ms\", shape = 1 } } }",
        &["shape 1 has no mean", "above 1"],
    );
    refused("reorder = { share = 0.1, delay = \"5 ms\", below_zero = \"zero\" }", &["only a normal variate"]);
}

#[test]
fn a_router_holds_packets_until_others_have_passed() {
    let result = run("reorder = { share = 0.01, delay = { packets = 2 } }");
    let (link, flow) = (&result.links[0], &result.flows[0]);
    assert!(link.late > 50, "{}", link.late);
    assert_eq!(flow.retransmits, 0, "two that pass make two duplicate acknowledgements");
    let result = run("reorder = { share = 0.01, delay = { packets = 3 } }");
    assert!(result.flows[0].retransmits > 0, "a third one is taken for a loss");
}

#[test]
fn errors_come_in_bursts() {
    let result = run("loss = { gilbert = { to_bad = 0.002, to_good = 0.2 } }");
    let link = &result.links[0];
    let share = link.random_losses as f64 / link.arrivals as f64;
    assert!((0.002..0.05).contains(&share), "{share}");
    assert!(run("loss = { exponential = { free = \"1 s\", error = \"20 ms\" } }").links[0].random_losses > 0);
    assert!(run("loss = { exponential = { free = 500, error = 4.5 } }").links[0].random_losses > 0);
    refused("loss = { gilbert = { to_bad = 0.1 } }", &["\"to_good\" is missing"]);
    refused("loss = { gilbert = { to_bad = 2, to_good = 1 } }", &["gilbert.to_bad", "from 0 to 1"]);
    refused("loss = \"gilbert\"", &["needs settings"]);
    refused("loss = { exponential = { free = 100, error = \"1 s\" } }", &["both as times"]);
    refused("loss = { exponential = { free = \"0 s\", error = \"1 s\" } }", &["free", "above zero"]);
}

#[test]
fn the_link_repairs_what_the_channel_corrupts() {
    let lossy = run("loss = 0.02");
    let repaired = run("loss = 0.02, retransmission = true");
    let link = &repaired.links[0];
    assert_eq!((link.drops, lossy.links[0].resent), (0, 0));
    let share = link.resent as f64 / link.arrivals as f64;
    assert!((share - 0.02 / 0.98).abs() < 0.01, "{share}");
    assert_eq!(run("loss = 0, retransmission = true").links[0].resent, 0);
    let spared = &run("loss = 0.3, retransmission = { corruptible = false }").links[0];
    let share = spared.resent as f64 / spared.arrivals as f64;
    assert!((share - 0.3).abs() < 0.05 && spared.drops == 0, "each is sent again once at most: {share}");
    let given_up = run("loss = 0.3, retransmission = { after = \"5 ms\", attempts = 1 }");
    let link = &given_up.links[0];
    let share = link.random_losses as f64 / link.arrivals as f64;
    assert!((share - 0.09).abs() < 0.04, "{share}");
    let corrected = run("loss = 0.02, correction = { share = 0.9, overhead = 0.25 }");
    assert!(corrected.links[0].corrected > 4 * corrected.links[0].random_losses);
    assert!(corrected.flows[0].goodput_bps < 8e6 && corrected.links[0].rate_bps == 1e7);
}

#[test]
fn impossible_repairs_are_explained() {
    refused("retransmission = true", &["retransmission", "nothing is corrupted", "loss = 0.01"]);
    refused("correction = { share = 0.5 }", &["correction", "nothing is corrupted"]);
    refused("loss = 0.1, correction = { share = 5 }", &["correction.share", "from 0 to 1"]);
    refused("loss = 0.1, retransmission = { after = \"0 s\" }", &["would be back after", "40 ms"]);
    refused("loss = 0.1, retransmission = { attempts = 0 }", &["attempts", "from 1"]);
    refused("loss = 0.1, retransmission = 3", &["a table is wanted", "true"]);
    refused("loss = 0.1, retransmission = { corruptible = 0 }", &["corruptible", "true or false"]);
    refused("loss = 1, retransmission = true", &["could be sent without end"]);
    assert!(scenario("loss = 1, retransmission = { corruptible = false }").is_ok());
    assert!(scenario("retransmission = false").is_ok());
}

#[test]
fn two_routes_and_copies() {
    let result = run("alternate = { delay = \"25 ms\" }");
    let link = &result.links[0];
    assert!(link.late.abs_diff(link.arrivals / 2) <= 1, "{} of {}", link.late, link.arrivals);
    let result = run("duplicate = 0.1");
    let link = &result.links[0];
    let share = link.copies as f64 / link.arrivals as f64;
    assert!((share - 0.1).abs() < 0.02, "{share}");
    refused("duplicate = 2", &["duplicate", "from 0 to 1"]);
    refused("alternate = { delay = \"5 ms\" }", &["the longer one"]);
    refused("alternate = { share = 0.5 }", &["\"delay\" is missing"]);
}

#[test]
fn losses_behind_the_transmitter_take_its_time() {
    let [before, behind] =
        ["before", "after"].map(|place| run(&format!("loss = 0.3, loss_at = \"{place}\"")));
    for (point, lost_share) in [(&before, 0.0), (&behind, 0.3)] {
        let link = &point.links[0];
        assert!(link.random_losses > 50 && link.drops == link.random_losses, "{link:?}");
        // Every packet takes 0.832 ms.
        let carried = link.utilisation * 20.0 / 832e-6;
        let expected = (link.arrivals - link.drops) as f64 + lost_share / 0.3 * link.drops as f64;
        assert!((carried - expected).abs() < 2.0, "{carried} {expected}");
    }
}

#[test]
fn all_is_lost_in_an_outage_and_causes_add_up() {
    let keys = "queue = { droptail = \"20 packets\" }, loss = 0.001, outages = [[\"5 s\", \"100 ms\"], [\"10 s\", \"3 s\"]]";
    let point = run(keys);
    let link = &point.links[0];
    assert!(link.outage_losses > 10 && link.random_losses > 0 && link.overflows > 0, "{link:?}");
    let sum: u64 = ackclock_scenario::results::CAUSES.iter().map(|(_, count)| count(link)).sum();
    assert_eq!(sum, link.drops);
    assert!(point.flows[0].timeouts > 0);
}

#[test]
fn impossible_outages_and_places_are_explained() {
    refused("loss = 0.1, loss_at = \"behind\"", &["loss_at", "before, after"]);
    refused("loss_at = \"after\"", &["nothing is lost"]);
    refused("loss = 0.1, retransmission = true, loss_at = \"before\"", &["behind its transmitter"]);
    refused("outages = [\"10 s\"]", &["outages"]);
    refused("outages = [[\"10 s\"]]", &["a start and a length"]);
    refused("outages = [[\"10 s\", \"0 s\"]]", &["no length"]);
    refused(
        "outages = [[\"10 s\", \"5 s\"], [\"12 s\", \"1 s\"]]",
        &["lasts until 15 s", "in order of time"],
    );
    refused("outages = [[\"1 s\", \"1 h\"]], retransmission = { after = \"1 ms\" }", &["attempts = 10"]);
}
