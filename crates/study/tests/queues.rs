//! What a followed flow's queue held, packet by packet, agrees with the meters of its link.

mod common;

use ackclock_scenario::flow_trace::{Crossing, EventKind, Owner};
use ackclock_scenario::results::PointResult;
use common::{dumbbell, result};

/// Two flows and a stream through a slow link, too short for the record to be full.
fn run(queue: &str) -> PointResult {
    let flows = "[[flows]]\ncontrol = \"reno\"\nfollow = 1\n[[flows]]\ncontrol = \"cubic\"\nstart = \"1 s\"\n\
        [[traffic]]\nkind = \"cbr\"\nrate = \"500 kbit/s\"\n";
    let link = format!("rate = \"5 Mbit/s\", delay = \"10 ms\", queue = {queue}");
    result(&("jitter = \"off\"\nduration = \"10 s\"\n".to_owned() + &dumbbell(&link, flows)))
}

fn packets(result: &PointResult) -> &[Crossing] {
    let queue = result.courses[0].queue.as_ref().expect("the flow met a queue");
    assert_eq!(result.links[queue.link].name, "bottleneck");
    &queue.packets
}

/// What holds for every queue.
fn agrees(result: &PointResult) {
    let packets = packets(result);
    assert!(packets.is_sorted_by_key(|packet| packet.came_ns));
    let dropped = packets.iter().filter(|packet| packet.dropped).count() as u64;
    assert!(dropped > 5 && dropped == result.links[0].drops, "{dropped}, and {}", result.links[0].drops);
    for owner in [Owner::Flow(0), Owner::Flow(1), Owner::Stream(0)] {
        assert!(packets.iter().any(|packet| packet.owner == owner), "{owner:?}");
    }
    let course = &result.courses[0];
    let own = packets.iter().filter(|packet| packet.owner == Owner::Flow(0)).count();
    let sent = course.segments.iter().map(|segment| 1 + segment.again as usize).sum::<usize>();
    assert!(own <= sent && own + 2 >= sent, "{own} of {sent}: what was sent last is still on its way");
    // One packet leaves at a time: the transmitter needs 8 x bytes / rate for each.
    let mut left: Vec<u64> =
        packets.iter().filter(|packet| !packet.dropped).filter_map(|it| it.ended_ns).collect();
    left.sort_unstable();
    let closest = left.windows(2).map(|pair| pair[1] - pair[0]).min().expect("packets left");
    assert!(closest > 500_000, "{closest} ns between two packets at 5 Mbit/s");
}

#[test]
fn a_fifo_queue_lets_packets_go_as_they_came() {
    let result = run("{ droptail = \"20 packets\" }");
    agrees(&result);
    let went: Vec<u64> =
        packets(&result).iter().filter(|it| !it.dropped).filter_map(|it| it.ended_ns).collect();
    assert!(went.is_sorted());
    let dropped = packets(&result).iter().filter(|packet| packet.dropped);
    assert!({ dropped }.all(|packet| packet.ended_ns == Some(packet.came_ns)), "the tail is dropped at once");
}

#[test]
fn a_queue_that_decides_later_drops_what_has_waited() {
    let result = run("{ codel = { limit = \"100 packets\" } }");
    agrees(&result);
    let dropped = packets(&result).iter().filter(|packet| packet.dropped);
    assert!({ dropped }.any(|packet| packet.ended_ns > Some(packet.came_ns + 5_000_000)));
}

#[test]
fn selective_acknowledgements_are_events() {
    let result = run("{ droptail = \"20 packets\" }");
    let events = &result.courses[0].events;
    let acked = |until: u64| {
        let earlier = events.iter().take_while(|event| event.at_ns <= until);
        earlier.filter(|event| event.what == EventKind::Acked).map(|event| event.segment).max()
    };
    let sacked: Vec<_> = events.iter().filter(|event| event.what == EventKind::Sacked).collect();
    assert!(sacked.len() > 10, "{}", sacked.len());
    assert!(
        sacked.iter().all(|event| Some(event.segment) >= acked(event.at_ns)),
        "beyond what is acknowledged"
    );
}
