//! Leaf-spine fabrics with equal-cost multipath.

mod common;

use ackclock_scenario::{Built, Sweep};
use common::{built, bytes, result};
use std::collections::BTreeSet;

const FABRIC: &str = "[topology.leaf_spine]\nleaves = 3\nspines = 4\nhosts = 2\n\
     edge = { rate = \"100 Mbit/s\", delay = \"5 us\", queue = { droptail = \"100 packets\" } }\n\
     fabric = { rate = \"40 Mbit/s\", delay = \"10 us\", queue = { droptail = \"100 packets\" } }\n";

fn text(seed: u64, flows: &str) -> String {
    format!("duration = \"1 s\"\nseed = {seed}\n{FABRIC}{flows}")
}

fn between(from: &str, to: &str, count: usize) -> String {
    format!(
        "[[flows]]\nlabel = \"{from} {to}\"\ncontrol = \"reno\"\ncount = {count}\nfrom = \"{from}\"\nto = \"{to}\"\njitter = \"off\"\n"
    )
}

/// The names of the links on each flow's way, there and back.
fn names(built: &Built) -> Vec<(Vec<&str>, Vec<&str>)> {
    let of = |path: &[usize]| path.iter().map(|&link| built.links[link].name.as_str()).collect();
    built.plan.flows.iter().map(|flow| (of(&flow.forward), of(&flow.reverse))).collect()
}

#[test]
fn every_leaf_meets_every_spine_and_its_hosts() {
    let built = built(&text(1, &between("h1.1", "h3.2", 1)));
    assert_eq!(built.links.len(), 2 * 3 * (4 + 2));
    let rate = |name: &str| built.links.iter().find(|link| link.name == name).expect(name).rate.bps();
    assert_eq!((rate("h2.1-leaf2"), rate("leaf2-h2.1")), (100_000_000, 100_000_000));
    assert_eq!((rate("leaf3-spine4"), rate("spine4-leaf3")), (40_000_000, 40_000_000));
}

#[test]
fn a_flow_keeps_to_one_path_and_flows_spread_over_all() {
    let built = built(&text(1, &between("h1.1", "h3.2", 200)));
    let (mut there, mut back) = ([0; 4], [0; 4]);
    for (forward, reverse) in names(&built) {
        let spine = |name: &str| name[name.len() - 1..].parse::<usize>().expect("a number") - 1;
        let [first, up, down, last] = forward[..] else { panic!("{forward:?}") };
        assert_eq!((first, last), ("h1.1-leaf1", "leaf3-h3.2"));
        let of = spine(up);
        assert_eq!(down, format!("spine{}-leaf3", of + 1));
        there[of] += 1;
        back[spine(reverse[1])] += 1;
    }
    // A binomial distribution of mean 50; five standard deviations are 31.
    assert!(there.iter().chain(&back).all(|count| (19..=81).contains(count)), "{there:?} {back:?}");
    assert_ne!(there, back, "acknowledgements have a hash of their own");
}

#[test]
fn hosts_of_one_leaf_need_no_spine() {
    let built = built(&text(1, &between("h2.1", "h2.2", 3)));
    for (forward, reverse) in names(&built) {
        assert_eq!(forward, ["h2.1-leaf2", "leaf2-h2.2"]);
        assert_eq!(reverse, ["h2.2-leaf2", "leaf2-h2.1"]);
    }
}

#[test]
fn paths_depend_on_the_seed_and_on_nothing_else() {
    let paths = |seed, more: &str| {
        let flows = between("h1.1", "h3.2", 20) + more;
        let built = built(&text(seed, &flows));
        names(&built).iter().take(20).map(|path| format!("{path:?}")).collect::<Vec<_>>()
    };
    let other = between("h2.1", "h3.1", 5);
    assert_eq!(paths(1, ""), paths(1, &other));
    assert_ne!(paths(1, ""), paths(2, ""));
    let point = text(3, &between("h1.1", "h3.2", 20));
    assert_eq!(bytes(&result(&point)), bytes(&result(&point)));
}

#[test]
fn colliding_flows_share_a_link_of_the_fabric() {
    // Two flows with links to the hosts of 100 Mbit/s; those of the fabric have 40. Some seeds let them
    // collide.
    let totals: BTreeSet<bool> = (1..=12)
        .map(|seed| {
            let flows = between("h1.1", "h3.1", 1) + &between("h1.2", "h3.2", 1);
            let point = result(&text(seed, &flows));
            let total: f64 = point.flows.iter().map(|flow| flow.throughput_bps).sum();
            assert!((30e6..80.1e6).contains(&total), "{total}");
            total > 45e6
        })
        .collect();
    assert_eq!(totals.len(), 2, "some share a spine, others do not");
}

#[test]
fn a_graph_spreads_flows_if_it_is_told() {
    let graph = |ecmp: &str| {
        let link = |from, to| {
            format!("{{ from = \"{from}\", to = \"{to}\", rate = \"10 Mbit/s\", delay = \"1 ms\" }}")
        };
        let links = [link("a", "x"), link("a", "y"), link("x", "b"), link("y", "b")].join(", ");
        let flows = between("a", "b", 40);
        let built = built(&format!("duration = \"1 s\"\n[topology.graph]\n{ecmp}links = [{links}]\n{flows}"));
        names(&built).iter().map(|(forward, _)| forward.join(" ")).collect::<BTreeSet<_>>()
    };
    assert_eq!(graph("").into_iter().collect::<Vec<_>>(), ["a-x x-b"]);
    assert_eq!(graph("ecmp = true\n").into_iter().collect::<Vec<_>>(), ["a-x x-b", "a-y y-b"]);
}

#[test]
fn mistakes_are_explained() {
    let error = |text: &str| {
        let sweep = Sweep::read("fabric.toml", text, &[]);
        let error = match sweep {
            Err(error) => error,
            Ok(sweep) => sweep.points[0].scenario.build().err().expect("a mistake"),
        };
        let help = miette::Diagnostic::help(&error).map(|help| help.to_string());
        format!("{error}: {}", help.unwrap_or_default())
    };
    let flows = between("h1.1", "h3.2", 1);
    let says = |text: String, words: &[&str]| {
        let error = error(&text);
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    };
    says(text(1, &flows).replace("spines = 4", "spines = 0"), &["spines", "from 1 to 1000"]);
    says(text(1, &flows).replace("spines = 4\n", ""), &["spines", "missing"]);
    says(
        text(1, &flows).replace("hosts = 2", "hosts = 1000").replace("leaves = 3", "leaves = 900"),
        &["903600", "at most 20000"],
    );
    says(text(1, &between("h1.1", "h4.1", 1)), &["no node called \"h4.1\"", "h1.1"]);
    says(text(1, "[[flows]]\ncontrol = \"reno\"\n"), &["\"from\" is missing"]);
    says(text(1, &flows).replace("fabric =", "fabrik ="), &["fabrik", "did you mean \"fabric\"?"]);
}
