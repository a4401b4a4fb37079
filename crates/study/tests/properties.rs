//! What holds in every scenario: books balance, time runs forward, links keep their rates, results repeat.

mod common;

use ackclock_study::run::run_point;
use common::random::{config, controls, flows, link, names, recoveries, scenario, transports};
use common::{audit, built, bytes, points, result, run_all, watched};
use proptest::prelude::*;
use std::sync::atomic::AtomicBool;

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn books_balance(text in scenario(), from in 0_u32..2000, length in 1_u32..1000) {
        let measure = format!("measure = [\"{from} ms\", \"{} ms\"]\n", from + length);
        for text in [text.clone(), measure + &text] {
            let built = built(&text);
            let (measured, watch) = watched(&built);
            if let Err(wrong) = audit(&built, &measured, &watch) {
                return Err(TestCaseError::fail(format!("{wrong}\n{text}")));
            }
        }
    }

    #[test]
    fn goodput_fits_through_the_links(text in scenario()) {
        let result = result(&text);
        // Each direction of a topology is one chain of links; the flows that use one have `reverse` in
        // common.
        for reverse in [false, true] {
            let flows = result.flows.iter().filter(|flow| {
                let group = flow.label.strip_prefix("group ").and_then(|number| number.parse().ok()).unwrap_or(0);
                let own = text.split("[[flows]]").nth(1 + group).unwrap_or_default();
                own.contains("reverse = true") == reverse
            });
            let goodput: f64 = flows.map(|flow| flow.goodput_bps).sum();
            let narrowest = result
                .links
                .iter()
                .filter(|link| link.name.contains("reverse") == reverse)
                .map(|link| link.rate_bps)
                .fold(f64::INFINITY, f64::min);
            prop_assert!(goodput <= narrowest * (1.0 + 1e-9), "{goodput} > {narrowest}\n{text}");
        }
        for link in &result.links {
            prop_assert!((0.0..=1.0).contains(&link.utilisation), "{} of {}", link.utilisation, link.name);
            prop_assert!((0.0..=1.0).contains(&link.drop_rate));
        }
    }

}

proptest! {
    #![proptest_config(config(12))]

    #[test]
    fn results_repeat_and_probes_do_not_disturb(text in scenario()) {
        let stop = AtomicBool::new(false);
        let one = &points(&text)[0];
        let once = bytes(&run_point(one, false, &stop).expect("a result"));
        prop_assert_eq!(&once, &bytes(&run_point(one, false, &stop).expect("a result")));
        prop_assert_eq!(&once, &bytes(&run_point(one, true, &stop).expect("a result")), "probes disturb\n{}", &text);
        let often = format!("probe = \"1 ms\"\n{text}");
        prop_assert_eq!(&once, &bytes(&result(&often)), "frequent probes disturb\n{}", &text);
    }

    #[test]
    fn any_number_of_threads_gives_the_same(
        text in scenario(),
        controls in prop::sample::subsequence(names(), 4),
    ) {
        let sweep = format!("{text}[sweep]\n\"flows.0.control\" = {controls:?}\nseed = [1, 2]\n");
        let points = points(&sweep);
        let run = |threads| run_all(&points, Some(threads)).iter().map(bytes).collect::<Vec<_>>();
        let alone = run(1);
        prop_assert_eq!(&alone, &run(2));
        prop_assert_eq!(&alone, &run(5));
    }

    /// Every finite transfer comes to its end, whatever is lost on the way, if only it has the time.
    #[test]
    fn nothing_stalls(
        seed in any::<u32>(),
        control in controls(),
        recovery in recoveries(),
        loss in 0.0_f64..0.2,
        back in 0.0_f64..0.2,
        packets in 1_u32..30,
        delayed in any::<bool>(),
        kilobytes in 1_u32..200,
    ) {
        let text = format!(
            "seed = {seed}\nduration = \"3000 s\"\ntcp = {{ delayed_ack = {delayed} }}\n[topology.dumbbell]\n\
             bottleneck = {{ rate = \"5 Mbit/s\", delay = \"10 ms\", queue = {{ droptail = \"{packets} packets\" }}, loss = {loss:?} }}\n\
             reverse = {{ loss = {back:?} }}\n\
             [[flows]]\ncontrol = \"{control}\"\nrecovery = \"{recovery}\"\nsize = \"{kilobytes} kB\"\nrepeat = 3\npause = \"1 s\"\n"
        );
        let result = result(&text);
        prop_assert_eq!(result.flows[0].completions_s.len(), 3, "{}", &text);
        prop_assert_eq!(result.flows[0].delivered, 3 * u64::from(kilobytes));
    }

    /// The same for every rate-based transport.
    #[test]
    fn no_transport_stalls(
        seed in any::<u32>(),
        control in transports(),
        loss in 0.0_f64..0.2,
        back in 0.0_f64..0.2,
        packets in 1_u32..30,
        late in 0.0_f64..0.3,
        kilobytes in 1_u32..200,
    ) {
        let text = format!(
            "seed = {seed}\nduration = \"3000 s\"\n[topology.dumbbell]\n\
             bottleneck = {{ rate = \"5 Mbit/s\", delay = \"10 ms\", queue = {{ droptail = \"{packets} packets\" }}, \
             loss = {loss:?}, duplicate = {late:?}, reorder = {{ share = {late:?}, delay = \"7 ms\" }} }}\n\
             reverse = {{ loss = {back:?} }}\n\
             [[flows]]\ncontrol = \"{control}\"\nsize = \"{kilobytes} kB\"\nrepeat = 3\npause = \"1 s\"\n"
        );
        let result = result(&text);
        prop_assert_eq!(result.flows[0].completions_s.len(), 3, "{}", &text);
        prop_assert_eq!(result.flows[0].delivered, 3 * u64::from(kilobytes));
    }

    /// A flow does not notice what happens on a path that has nothing in common with its own.
    #[test]
    fn disjoint_paths_do_not_meet(
        seed in any::<u32>(), near in link(), far in link(), first in flows(), second in flows(), before in any::<bool>()
    ) {
        let graph = format!(
            "seed = {seed}\nduration = \"3 s\"\n[topology.graph]\nlinks = [\n\
             {{ from = \"a\", to = \"b\", {near} }},\n{{ from = \"c\", to = \"d\", {far} }}]\n"
        );
        let watched = format!("[[flows]]\nlabel = \"watched\"\nfrom = \"a\"\nto = \"b\"\n{first}");
        let other = format!("[[flows]]\nlabel = \"other\"\nfrom = \"c\"\nto = \"d\"\n{second}");
        let alone = result(&format!("{graph}{watched}"));
        let both = result(&if before { format!("{graph}{other}{watched}") } else { format!("{graph}{watched}{other}") });
        let flows = |result: &ackclock_scenario::results::PointResult| {
            let own = result.flows.iter().filter(|flow| flow.label == "watched").cloned();
            own.map(|flow| serde_json::to_string(&ackclock_scenario::results::FlowResult { id: 0, ..flow })).collect::<Result<Vec<_>, _>>()
        };
        prop_assert_eq!(flows(&alone).expect("JSON"), flows(&both).expect("JSON"), "{}{}{}", graph, watched, other);
        let link = |result: &ackclock_scenario::results::PointResult| serde_json::to_string(&result.links[0]);
        prop_assert_eq!(link(&alone).expect("JSON"), link(&both).expect("JSON"));
    }
}
