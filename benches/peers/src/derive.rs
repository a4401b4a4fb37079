//! Derives the parameters of the ns-2 script from a plan of ackclock.

mod control;
mod path;
mod tfrc;

pub use path::{BOTTLENECK, hops, rtt};

use ackclock_net::{Limit, Link, Queue, RedConfig};
use ackclock_scenario::Control;
use ackclock_scenario::plan::Plan;
use ackclock_scenario::requests::Size;
use ackclock_tcp::{Config, Counting, detection, recovery};
use ackclock_units::{Duration, Time};
use miette::{Result, miette};

/// The parameters of the ns-2 script.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// The keys of the script with their values.
    pub keys: Vec<(&'static str, String)>,
    /// The positions of the packets that the bottleneck loses. The first packet there has position 0.
    pub losses: Vec<u64>,
    /// The start of the first rate-based flow, s.
    pub rate_start: Option<f64>,
    /// True if the queue draws random numbers: both sides need several seeds then.
    pub draws: bool,
}

/// The parameters with which ns-2 runs `plan`.
///
/// # Errors
///
/// If ns-2 cannot run this plan. The error tells why.
pub fn parameters(plan: &Plan) -> Result<Parameters> {
    let first = plan.flows.first().ok_or_else(|| miette!("there is no flow"))?;
    let tcp_flow = plan.flows.iter().find(|flow| flow.control.window().is_some());
    let bottleneck = &plan.links[BOTTLENECK];
    let mut ways = Vec::new();
    for flow in &plan.flows {
        let like = tcp_flow.unwrap_or(first);
        if format!("{:?}", flow.config) != format!("{:?}", like.config) {
            return Err(miette!(help = "make them differ in start and rtt only", "the flows differ"));
        }
        match flow.control.transport() {
            Some(transport) => tfrc::check(transport, flow.config.header)?,
            None if control::keys(&flow.control)? == control::keys(&like.control)? => {}
            None => return Err(miette!("the flows have different controllers")),
        }
        ways.push(path::way(plan, flow)?);
        if flow.requests.size != Size::Unlimited || flow.stop.is_some() {
            return Err(miette!(help = "leave out size and stop", "ns-2's flows have unlimited data"));
        }
    }
    let seconds = |span: Duration| format!("{:.9}", span.as_secs_f64());
    let moment = |time: Time| seconds(time.since(Time::ZERO));
    let list = |words: Vec<String>| words.join(",");
    let access = &plan.links[first.forward[0]];
    let routers =
        |of: fn(&(usize, usize)) -> usize| list(ways.iter().map(|way| of(way).to_string()).collect());
    let mut keys = vec![
        ("kinds", list(plan.flows.iter().map(|flow| kind(&flow.control).to_owned()).collect())),
        ("flows", plan.flows.len().to_string()),
        ("rate_bps", bottleneck.rate().bps().to_string()),
        ("access_bps", access.rate().bps().to_string()),
        ("bottleneck_delay_s", seconds(bottleneck.delay())),
        ("rtts", list(plan.flows.iter().map(|flow| seconds(rtt(plan, flow))).collect())),
        ("starts", list(plan.flows.iter().map(|flow| moment(flow.start)).collect())),
        ("duration_s", moment(plan.duration)),
        ("measure_from_s", moment(plan.measure.0)),
    ];
    let hops = path::check_hops(plan)?;
    if hops > 1 {
        let hops = ("hops", hops.to_string());
        keys.extend([hops, ("enters", routers(|way| way.0)), ("leaves", routers(|way| way.1))]);
    }
    if plan.measure.1 != plan.duration {
        return Err(miette!(help = "let it end with the run", "ns-2 measures to the end of the run"));
    }
    keys.extend(queue(bottleneck)?);
    keys.extend(tcp(&tcp_flow.unwrap_or(first).config)?);
    if let Some(flow) = tcp_flow {
        keys.extend(control::keys(&flow.control)?);
    }
    if bottleneck.impairments().is_some_and(|impairments| impairments.lost_behind) {
        keys.push(("loss_at", "after".to_owned()));
    }
    let rate_flow = plan.flows.iter().find(|flow| flow.control.transport().is_some());
    Ok(Parameters {
        keys,
        losses: losses(bottleneck, plan),
        rate_start: rate_flow.map(|flow| flow.start.since(Time::ZERO).as_secs_f64()),
        draws: matches!(bottleneck.queue(), Queue::Red(_)),
    })
}

fn kind(control: &Control) -> &'static str {
    if control.window().is_some() { "tcp" } else { "tfrc" }
}

fn queue(link: &Link) -> Result<Vec<(&'static str, String)>> {
    match link.queue() {
        Queue::DropTail(queue) => match queue.limit() {
            // ns-2 counts the packet in transmission. ackclock counts waiting packets only.
            Limit::Packets(packets) => Ok(vec![("queue_packets", (packets + 1).to_string())]),
            Limit::Bytes(_) => Err(miette!(help = "count packets", "ns-2's DropTail counts packets")),
        },
        Queue::Red(queue) => red(queue.config()),
        _ => Err(miette!(help = "use droptail or red", "this queue is not compared")),
    }
}

fn red(config: &RedConfig) -> Result<Vec<(&'static str, String)>> {
    let Limit::Packets(packets) = config.limit else {
        return Err(miette!(help = "count packets", "ns-2's RED counts packets"));
    };
    if !config.wait || config.adaptive {
        return Err(miette!(help = "leave out wait and adaptive", "ns-2's RED is run with wait_ only"));
    }
    Ok(vec![
        ("queue", "RED".to_owned()),
        ("queue_packets", packets.to_string()), // the packet in transmission does not count here
        ("thresh", config.min_threshold.to_string()),
        ("maxthresh", config.max_threshold.to_string()),
        ("q_weight", config.weight.to_string()),
        ("linterm", (1.0 / config.max_probability).to_string()),
        ("gentle", u8::from(config.gentle).to_string()),
        ("setbit", u8::from(config.mark).to_string()),
    ])
}

fn tcp(config: &Config) -> Result<Vec<(&'static str, String)>> {
    let need = |holds: bool, help: &'static str| {
        if holds { Ok(()) } else { Err(miette!(help = help, "ns-2's TCP cannot be told so")) }
    };
    need(config.counting == Counting::Acks, "counting = \"acks\": ns-2 grows by acknowledgements")?;
    let duplicates = detection::Settings::defaults(&detection::DUPACKS);
    need(config.detection == duplicates, "leave out detection: ns-2 counts three duplicates")?;
    need(config.rto_initial == Duration::from_secs(3), "rto_initial = \"3 s\", as in ns-2")?;
    need(config.rto_max == Duration::from_secs(60), "rto_max = \"60 s\", as in ns-2")?;
    need(!config.local_congestion, "leave out local_congestion: ns-2's queues tell their senders nothing")?;
    need(config.initial_window.fract() == 0.0, "give initial_window in whole segments")?;
    let usual = config.recovery == recovery::Settings::defaults(config.recovery.scheme());
    let agent = match config.recovery.name() {
        "tahoe" => "Tahoe",
        "reno" => "Reno",
        "newreno" if usual => "Newreno",
        "sack" if usual => "Sack1",
        _ => return Err(miette!(help = "use its default form", "ns-2 has no such form of this recovery")),
    };
    let switch = |on: bool| u8::from(on).to_string();
    let mut keys = vec![
        ("agent", agent.to_owned()),
        ("payload", config.payload.to_string()),
        ("header", config.header.to_string()),
        ("ack_bytes", config.header.to_string()),
        ("iw", config.initial_window.to_string()),
        ("minrto_s", config.rto_min.as_secs_f64().to_string()),
        ("tick_s", config.clock_granularity.as_secs_f64().to_string()),
        ("timestamps", switch(config.timestamps)),
        ("singledup", switch(config.limited_transmit)),
        ("delack", switch(config.delayed_ack.is_some())),
    ];
    if config.ecn {
        keys.push(("ecn", switch(true)));
    }
    if config.initial_ssthresh.is_finite() {
        keys.push(("ssthresh", config.initial_ssthresh.to_string()));
    }
    if let Some(delay) = config.delayed_ack {
        keys.push(("delack_s", delay.as_secs_f64().to_string()));
    }
    Ok(keys)
}

/// The packets that the bottleneck loses at random, independent of its queue.
fn losses(link: &Link, plan: &Plan) -> Vec<u64> {
    let Some(loss) = link.impairments().and_then(|impairments| impairments.loss.as_ref()) else {
        return Vec::new();
    };
    let mut loss = loss.clone();
    let config = &plan.flows[0].config;
    let span = plan.duration.since(Time::ZERO);
    // The packets offered are those that pass plus those that the queue drops. Twice the capacity is enough.
    let most = 2.0 * link.rate().bytes_in(span) / f64::from(config.segment_bytes());
    (0..most as u64).filter(|_| loss.strikes(Time::ZERO)).collect()
}
