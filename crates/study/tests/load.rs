//! Transfers that come at random with a load, their sizes from a table.

mod common;

use ackclock_scenario::Sweep;
use common::{bytes, result};
use std::fs;

const FLOWS: &str = "[[flows]]\nlabel = \"web\"\ncontrol = \"cubic\"\nload = 0.5\n";

fn run(duration: &str, keys: &str) -> ackclock_scenario::results::PointResult {
    let bottleneck = "rate = \"50 Mbit/s\", delay = \"5 ms\", queue = { droptail = \"4 bdp\" }";
    result(&format!(
        "duration = \"{duration}\"\n[topology.dumbbell]\nbottleneck = {{ {bottleneck} }}\n{FLOWS}{keys}\n"
    ))
}

#[test]
fn the_link_carries_the_load_and_arrivals_are_poisson() {
    let point = run("40 s", "size = { uniform = [1, 39] }");
    // 20 segments of 1040 B on the average at 25 Mbit/s: 150.2 a second, 6010 in all.
    let transfers = point.groups[0].transfers.expect("transfers");
    assert!((5700..6300).contains(&transfers.started), "{transfers:?}");
    assert!((0.47..0.53).contains(&point.links[0].utilisation), "{:?}", point.links[0]);
    assert!(transfers.unfinished < 20 && transfers.waited < transfers.started / 50, "{transfers:?}");
    assert!(point.flows.iter().flat_map(|flow| &flow.slowdowns).all(|&slowdown| slowdown >= 1.0));
    // The numbers that come in each tenth of a second have a variance like their mean.
    let mut counts = vec![0.0; 400];
    for begin in point.flows.iter().flat_map(|flow| &flow.begins_s) {
        counts[((begin * 10.0) as usize).min(399)] += 1.0;
    }
    let mean = counts.iter().sum::<f64>() / 400.0;
    let variance = counts.iter().map(|count| (count - mean) * (count - mean)).sum::<f64>() / 399.0;
    assert!((0.75..1.3).contains(&(variance / mean)), "{variance} against {mean}");
}

#[test]
fn the_same_transfers_come_whatever_the_network_does() {
    let sizes = |keys: &str| {
        let point = run("4 s", &format!("size = {{ uniform = [1, 39] }}\n{keys}"));
        let mut all: Vec<(u64, u64)> = Vec::new();
        for flow in &point.flows {
            all.extend(flow.sizes_bytes.first().map(|&size| (flow.id as u64, size)));
        }
        (all, bytes(&point))
    };
    assert_eq!(sizes("").1, sizes("").1);
    let (reno, cubic) = (sizes("tcp = { initial_window = 2 }").0, sizes("").0);
    let both = reno.iter().filter(|first| cubic.contains(first)).count();
    assert!(both as f64 > 0.95 * cubic.len() as f64, "{both} of {}", cubic.len());
}

#[test]
fn sizes_come_from_a_file_beside_the_scenario() {
    let home = tempfile::tempdir().expect("a directory");
    let name = home.path().join("case.toml").display().to_string();
    let text = format!(
        "duration = \"10 s\"\n[topology.dumbbell]\nbottleneck = {{ rate = \"50 Mbit/s\", delay = \"5 ms\" }}\n{FLOWS}\
         size = {{ file = \"sizes.csv\" }}\n"
    );
    let read = |table: &str| {
        fs::write(home.path().join("sizes.csv"), table).expect("a file");
        Sweep::read(&name, &text, &[])
    };
    let sweep =
        read("# made up\nbytes,share\n2000,0.5\n\n10000,1\n").unwrap_or_else(|error| panic!("{error}"));
    let scenario = &sweep.points[0].scenario;
    assert_eq!(
        scenario.to_json()["flows"][0]["size"]["table"],
        serde_json::json!([[2000.0, 0.5], [10000.0, 1.0]])
    );
    let plan = scenario.build().expect("a plan").plan;
    let mut requests = plan.flows[0].requests.clone();
    let sizes: Vec<u64> = (0..1000).filter_map(|_| requests.next_size()).collect();
    let small = sizes.iter().filter(|&&size| size == 2).count();
    assert!((440..560).contains(&small) && sizes.iter().all(|size| (2..=10).contains(size)), "{small}");
    for (table, said) in [
        ("2000,0.5\n10000,0.9\n", "sizes.csv:2: the last share is not 1"),
        ("bytes,share\n2000,0.5\n1000,1\n", "sizes.csv:3: a size or a share is below the one before"),
        ("2000,50\n10000,100\n", "sizes.csv:1: this is no share"),
        ("2000 0.5\n", "sizes.csv:1: two numbers with a comma"),
        ("2000,0.5\nmuch,1\n", "sizes.csv:2: two numbers with a comma"),
        ("", "there are no rows"),
    ] {
        let error = read(table).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(
            error.contains(said) && error.contains("case.toml:8: flows.0.size.file"),
            "{table:?}: {error}"
        );
    }
    fs::remove_file(home.path().join("sizes.csv")).expect("it was there");
    let error = Sweep::read(&name, &text, &[]).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("there is no file"), "{error}");
    fs::create_dir(home.path().join("sizes.csv")).expect("a directory");
    let error = Sweep::read(&name, &text, &[]).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("is no file"), "{error}");
}

#[test]
fn a_load_that_makes_no_sense_is_refused() {
    for (keys, said) in [
        ("", "transfers that have a size"),
        ("size = \"1 MB\"\npause = \"1 s\"", "transfers come at random"),
        ("size = \"1 MB\"\nrepeat = 3", "transfers come at random"),
    ] {
        let bottleneck = "rate = \"50 Mbit/s\", delay = \"5 ms\"";
        let text = format!(
            "duration = \"1 s\"\n[topology.dumbbell]\nbottleneck = {{ {bottleneck} }}\n{FLOWS}{keys}\n"
        );
        let error =
            Sweep::read("case.toml", &text, &[]).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(said), "{keys}: {error}");
    }
    let text = format!(
        "duration = \"1000000 s\"\n[topology.dumbbell]\nbottleneck = {{ rate = \"50 Mbit/s\", delay = \"5 ms\" }}\n{FLOWS}size = \"1 kB\"\n"
    );
    let sweep = Sweep::read("case.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let error = sweep.points[0].scenario.build().err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("transfers would come"), "{error}");
}
