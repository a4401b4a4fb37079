//! What a capture shows of followed flows is what they did, as far as the captured link saw it.

mod common;

use ackclock_scenario::flow_trace::{EventKind, FlowTrace};
use ackclock_sim::observers::tap;
use ackclock_study::run::run_observed;
use ackclock_study::sequences::sequences;
use common::{dumbbell, points};
use std::sync::atomic::AtomicBool;

/// A long flow that is dropped from, and one whose transfers are connections of their own.
const FLOWS: &str = "[[flows]]\nlabel = \"long\"\ncontrol = \"reno\"\nfollow = 1\n\
    [[flows]]\nlabel = \"short\"\ncontrol = \"cubic\"\nfollow = 1\nsize = \"40 kB\"\nrepeat = 3\npause = \"100 ms\"\n";

/// The segments of these events, in order.
fn of(course: &FlowTrace, kinds: &[EventKind]) -> Vec<u64> {
    course.events.iter().filter(|event| kinds.contains(&event.what)).map(|event| event.segment).collect()
}

#[test]
fn a_capture_shows_what_the_flows_did() {
    let link = "rate = \"4 Mbit/s\", delay = \"10 ms\", queue = { droptail = \"12 packets\" }";
    let point = points(&("duration = \"6 s\"\n".to_owned() + &dumbbell(link, FLOWS))).remove(0);
    let built = point.scenario.build().expect("it was laid out before");
    let watch = tap(&built, "bottleneck", Vec::new()).expect("a link");
    let (mut result, watch) = run_observed(&point, true, &AtomicBool::new(false), watch).expect("it runs");
    let capture = watch.finish(built.plan.duration).expect("memory");
    let followed = std::mem::take(&mut result.courses);
    let flows: Vec<usize> = followed.iter().map(|course| course.flow).collect();
    let shown = sequences(|| Ok(&*capture), &flows, &result).expect("memory").expect("a capture");
    assert_eq!(shown.len(), 2);
    for (did, shown) in followed.iter().zip(&shown) {
        assert!(shown.tapped && shown.flow == did.flow);
        let sent = [EventKind::New, EventKind::Again];
        let dropped = of(did, &[EventKind::Dropped]).len();
        assert!(dropped > 2, "{dropped} drops");
        // What is dropped there is not captured, and what was sent last is still on its way.
        let (all, passed) = (of(did, &sent).len() - dropped, of(shown, &sent).len());
        assert!(passed <= all && all <= passed + 12, "{passed} of {all}");
        let again = of(shown, &[EventKind::Again]);
        assert!(!again.is_empty() && again.iter().all(|it| of(did, &[EventKind::Again]).contains(it)));
        let (acked, seen) = (of(did, &[EventKind::Acked]), of(shown, &[EventKind::Acked]));
        assert_eq!(acked[..], seen[..acked.len()], "acknowledgements pass the link on the way back");
        let sacked = of(shown, &[EventKind::Sacked]);
        assert!(of(did, &[EventKind::Sacked]).iter().all(|segment| sacked.contains(segment)));
        assert!(!shown.estimates.is_empty() && shown.estimates.is_sorted_by_key(|it| it.at_ns));
    }
    assert!(sequences(|| Ok(&b"no capture"[..]), &flows, &result).expect("memory").is_err());
}
