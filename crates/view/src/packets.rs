//! The queue of a link, packet by packet, as data for the page's animation.

use super::charts::chart::MAX_CURVES;
use super::charts::data::counted;
use super::shown::PointView;
use ackclock_scenario::flow_trace::{Crossing, FlowTrace, Owner, QueueTrace};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::Serialize;

/// A packet that was dropped. The rest of its byte is the number of its owner.
const DROPPED: u8 = 0x80;

#[derive(Serialize)]
struct Packets<'a> {
    /// The name of the link, and its rate.
    link: &'a str,
    rate_bps: f64,
    /// Whose packets there are, each with its colour of the palette; none for unresponsive traffic.
    owners: Vec<(String, Option<usize>)>,
    /// All times are `from` and so many times `step`, s.
    from: f64,
    step: f64,
    /// When each packet came, and when it left or was dropped: base64 of little-endian u32. One that waited
    /// at the end has the greatest number.
    came: String,
    ended: String,
    /// Base64: the owner of each, and in the highest bit, whether it was dropped.
    whose: String,
}

/// The animations of a point as JSON that may stand in a `script` element, one for each queue that was
/// followed.
pub(crate) fn animations(shown: &PointView<'_>) -> Vec<String> {
    let queues = shown.result.courses.iter().filter_map(|course: &FlowTrace| course.queue.as_ref());
    queues.filter(|queue| !queue.packets.is_empty()).map(|queue| animation(shown, queue)).collect()
}

fn animation(shown: &PointView<'_>, QueueTrace { link, packets }: &QueueTrace) -> String {
    let result = shown.result;
    let mut ids: Vec<Owner> = packets.iter().map(|packet| packet.owner).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut owners: Vec<(String, Option<usize>)> = ids.iter().map(|&owner| named(shown, owner)).collect();
    let names = owners.clone();
    owners.dedup();
    let owner = |packet: &Crossing| {
        let name = ids.binary_search(&packet.owner).ok().map(|place| &names[place]);
        let number = owners.iter().position(|known| Some(known) == name).unwrap_or(0);
        number.min(usize::from(DROPPED) - 1) as u8 | if packet.dropped { DROPPED } else { 0 }
    };
    let seconds = |ns: u64| ns as f64 / 1e9;
    let from = packets.first().map_or(0.0, |packet| seconds(packet.came_ns));
    let last = packets.iter().filter_map(|packet| packet.ended_ns).max().map_or(from, seconds);
    let came_last = packets.last().map_or(from, |packet| seconds(packet.came_ns));
    let step = (last.max(came_last) - from).max(1e-9) / f64::from(u32::MAX - 1);
    let data = Packets {
        link: result.links.get(*link).map_or("", |link| &link.name),
        rate_bps: result.links.get(*link).map_or(0.0, |link| link.rate_bps),
        from,
        step,
        owners: owners.clone(),
        came: counted(packets.iter().map(|packet| Some(seconds(packet.came_ns))), from, step),
        ended: counted(packets.iter().map(|packet| packet.ended_ns.map(seconds)), from, step),
        whose: BASE64_STANDARD.encode(packets.iter().map(owner).collect::<Vec<u8>>()),
    };
    // Serialising into memory fails only for maps whose keys are no texts.
    serde_json::to_string(&data).unwrap_or_default().replace('<', "\\u003c")
}

/// The name of an owner and its colour, as in the charts: many flows go by their groups.
fn named(shown: &PointView<'_>, owner: Owner) -> (String, Option<usize>) {
    match owner {
        Owner::Flow(flow) if shown.result.flows.len() <= MAX_CURVES => {
            (shown.flow_name(flow as usize), Some(flow as usize))
        }
        Owner::Flow(flow) => {
            let group = shown.groups().enumerate().find(|(_, (_, flows))| flows.contains(&(flow as usize)));
            group.map_or_else(Default::default, |(number, (label, _))| (label.to_owned(), Some(number)))
        }
        Owner::Stream(stream) => {
            let traffic = shown.result.traffic.get(stream as usize);
            (traffic.map_or_else(|| "traffic".to_owned(), |it| it.label.clone()), None)
        }
    }
}
