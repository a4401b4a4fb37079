//! One flow over one FIFO link, packet by packet, for tests of delay-based schemes.

use crate::{Ack, Controller, Event, Path, Window};
use ackclock_units::{Duration, Time};
use std::collections::VecDeque;

/// A sender with unlimited data, a link with an unlimited queue, and a receiver that acknowledges every
/// segment.
pub struct OneFlow {
    /// The input of the controller.
    pub path: Path,
    /// The output of the controller.
    pub w: Window,
    /// The transmission time of a segment on the link, seconds.
    service: f64,
    /// The round-trip time without queueing, seconds.
    base: f64,
    /// The time at which the link becomes free, seconds.
    free_at: f64,
    /// Segments in flight: when sent, and when acknowledged, seconds.
    flying: VecDeque<(f64, f64)>,
}

impl OneFlow {
    /// A link of `rate` segments per second, and `base` seconds of propagation delay for both directions
    /// together.
    pub fn new(rate: f64, base: f64, w: Window) -> OneFlow {
        let (service, free_at) = (1.0 / rate, 0.0);
        OneFlow { path: Path::default(), w, service, base, free_at, flying: VecDeque::new() }
    }

    /// Runs for `seconds`. Calls the controller as a host does.
    pub fn run(&mut self, controller: &mut dyn Controller, seconds: f64) {
        let mut now = self.path.now.as_secs_f64();
        let end = now + seconds;
        if self.flying.is_empty() {
            controller.on_event(&self.path, Event::Start, &mut self.w);
            self.send(now);
        }
        while let Some(&(sent, back)) = self.flying.front().filter(|&&(_, back)| back <= end) {
            self.flying.pop_front();
            now = back;
            let rtt = Duration::from_secs_f64(now - sent);
            self.path.now = Time::from_nanos((now * 1e9) as u64);
            self.path.una += 1;
            self.path.delivered += 1;
            self.path.in_flight = self.flying.len() as f64;
            self.path.srtt = rtt;
            self.path.rtt_min = self.path.rtt_min.min(rtt);
            let ack = Ack { acked: 1.0, rtt: Some(rtt), ..Ack::default() };
            controller.on_sample(&self.path, &ack, &mut self.w);
            controller.grow(&self.path, &ack, &mut self.w);
            self.send(now);
        }
        self.path.now = Time::from_nanos((end * 1e9) as u64);
    }

    /// The queue in segments: what is in flight beyond the bandwidth-delay product.
    pub fn queue(&self) -> f64 {
        self.flying.len() as f64 - self.base / self.service
    }

    fn send(&mut self, now: f64) {
        while (self.flying.len() as f64) < self.w.cwnd.floor() {
            self.free_at = self.free_at.max(now) + self.service;
            self.flying.push_back((now, self.free_at - self.service + self.base));
            self.path.nxt += 1;
        }
    }
}
