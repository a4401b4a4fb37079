//! Chosen drop patterns: ackclock's packets compared with recorded packets of ns-2. The test does not need
//! ns-2.

use ackclock_peers::golden::{Golden, Run, read};

fn both(id: &str) -> (Vec<Run>, Vec<Run>) {
    let golden: Golden = read()
        .expect("golden.toml is right")
        .into_iter()
        .find(|golden| golden.id == id)
        .expect("it is there");
    (golden.own().expect("it runs"), golden.recorded().expect("it was recorded"))
}

fn segments(runs: &[Run]) -> Vec<(u64, u64)> {
    runs.iter().map(|run| (run.from, run.to)).collect()
}

/// One loss. Every segment leaves in the same order and, to the microsecond, at the same time: slow start,
/// congestion avoidance, fast retransmit, the pause, and the growth afterwards.
#[test]
fn one_loss_is_the_same_packet_by_packet() {
    let (own, ns2) = both("one");
    assert_eq!(segments(&own), segments(&ns2));
    for (own, ns2) in own.iter().zip(&ns2) {
        assert!((own.begins_s - ns2.begins_s).abs() < 1e-6, "{own:?} {ns2:?}");
        assert!((own.ends_s - ns2.ends_s).abs() < 1e-6, "{own:?} {ns2:?}");
    }
}

/// Four losses in a window. The order is the same, but ns-2 repairs the second, third and fourth loss later.
///
/// ns-2 counts lost segments in its pipe until they are acknowledged. RFC 6675 does not (IsLost). So when the
/// window is halved, ns-2 waits for as many more duplicates as segments are still missing: three here. The
/// window does not fill the path, so acknowledgements come in one burst per round trip. The burst is over at
/// that moment, so the three come 9.4 ms later.
#[test]
fn four_losses_leave_in_the_same_order() {
    let (own, ns2) = both("four");
    let first_time_differs =
        own.iter().zip(&ns2).position(|(own, ns2)| (own.begins_s - ns2.begins_s).abs() > 1e-6);
    assert_eq!(first_time_differs, Some(2), "up to the first retransmission all is the same");
    let last = own.len() - 1;
    assert_eq!(segments(&own)[..last], segments(&ns2)[..last]);
    assert_eq!(own[last].from, ns2[last].from);
    for (own, ns2) in own[2..last].iter().zip(&ns2[2..last]) {
        assert!((ns2.begins_s - own.begins_s - 9.43328e-3).abs() < 1e-6, "{own:?} {ns2:?}");
    }
    assert!(own[last].to >= ns2[last].to, "who repairs sooner has sent more in the end");
}

/// HighSpeed TCP: halving in slow start, then a(w), later 1 - b(w). The order is the same. The sums of
/// increments agree within two segments after 10,000.
#[test]
fn highspeed_grows_and_falls_alike() {
    let (own, ns2) = both("highspeed");
    assert_eq!(own.len(), ns2.len(), "{own:?} {ns2:?}");
    for (own, ns2) in own.iter().zip(&ns2) {
        assert!(own.from.abs_diff(ns2.from) <= 2 && own.to.abs_diff(ns2.to) <= 2, "{own:?} {ns2:?}");
        assert!((own.begins_s - ns2.begins_s).abs() < 1e-3, "{own:?} {ns2:?}");
    }
    // The retransmissions are of the segments that were lost.
    assert_eq!((own[1].from, own[3].from), (600, 7000));
    assert_eq!((ns2[1].from, ns2[3].from), (600, 7000));
}

fn same_times(own: &[Run], ns2: &[Run]) {
    assert_eq!(segments(own), segments(ns2));
    for (own, ns2) in own.iter().zip(ns2) {
        assert!((own.begins_s - ns2.begins_s).abs() < 1e-6, "{own:?} {ns2:?}");
        assert!((own.ends_s - ns2.ends_s).abs() < 1e-6, "{own:?} {ns2:?}");
    }
}

/// NewReno, one loss: the same segments at the same times.
#[test]
fn newreno_repairs_one_loss_packet_by_packet() {
    let (own, ns2) = both("newreno-one");
    same_times(&own, &ns2);
}

/// NewReno, four losses: the same until the end of the episode. Each partial acknowledgement releases one
/// retransmission, and what the deflated window allows. ns-2 leaves with half the window. ackclock leaves
/// with the flight plus one segment (RFC 6582 section 3.2 step 3, option 1), and is a few segments behind at
/// the end.
#[test]
fn newreno_repairs_four_losses_packet_by_packet() {
    let (own, ns2) = both("newreno-four");
    let last = own.len() - 1;
    same_times(&own[..last], &ns2[..last]);
    assert_eq!(own[last].from, ns2[last].from);
    assert!((own[last].begins_s - ns2[last].begins_s).abs() < 1e-6);
    assert!((1..=5).contains(&(ns2[last].to - own[last].to)), "{:?} {:?}", own[last], ns2[last]);
}

/// Robust Recovery, which ns-2 does not have. It makes the same four repairs at the same times as ns-2's
/// NewReno, because both need one round trip for each. Between them Robust Recovery sends more. It leaves
/// with its flight as the window.
#[test]
fn robust_recovery_repairs_when_newreno_does_and_sends_more_meanwhile() {
    let ns2 = both("newreno-four").1;
    let robust =
        Golden { id: "robust".to_owned(), scenario: "robust.toml".into(), drop: vec![200, 203, 204, 210] };
    let own = robust.own().expect("it runs");
    let repairs = |runs: &[Run]| -> Vec<(u64, f64)> {
        let again = runs.iter().filter(|run| robust.drop.contains(&run.from));
        again.map(|run| (run.from, run.begins_s)).collect()
    };
    let (ours, theirs) = (repairs(&own), repairs(&ns2));
    assert_eq!(ours.len(), 4);
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert!(ours.0 == theirs.0 && (ours.1 - theirs.1).abs() < 1e-6, "{ours:?} {theirs:?}");
    }
    let most = |runs: &[Run]| runs.iter().map(|run| run.to).max();
    assert!(most(&own) > most(&ns2), "{:?} {:?}", most(&own), most(&ns2));
}
