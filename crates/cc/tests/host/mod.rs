//! A host in miniature: enough of a TCP sender to call a controller in every order that the seam allows.

#![allow(dead_code)] // every test file takes the part it needs

use ackclock_cc::{Ack, Controller, Event, Lost, Needs, Path, RateSample, Scheme, Settings, Signal, Window};
use ackclock_units::{Duration, Time};

/// A sender whose segments are acknowledged, lost and marked as the test says.
pub struct Host {
    pub controller: Box<dyn Controller>,
    pub path: Path,
    pub w: Window,
    /// The window before the last cut, for a spurious one.
    undo: Window,
    after_timeout: bool,
    /// What the controller needs of its host.
    needs: Needs,
}

/// What can happen to it.
#[derive(Clone, Debug)]
pub enum Happening {
    /// An ACK for up to `acked` segments, `rtt_us` after the first of them was sent (0: no sample).
    Ack {
        acked: u32,
        rtt_us: u32,
        draw: f64,
        limited: bool,
    },
    /// A duplicate ACK that reports SACKed, lost and marked segments.
    Duplicate {
        sacked: u8,
        lost: u8,
        marked: u8,
    },
    Cut(Signal),
    Recovered,
    Spurious,
    Idle,
    /// The receiver opens its window to this many segments.
    Receiver(u32),
}

impl Host {
    /// A fresh connection with an initial window of ten segments.
    pub fn new(settings: &Settings) -> Host {
        let w = Window::starting_at(10.0);
        let (controller, needs) = (settings.build(), settings.needs());
        let path = Path::default();
        let mut host = Host { controller, path, w, undo: w, after_timeout: false, needs };
        host.path.peer_window = 1e6;
        host.event(Event::Start);
        host.send();
        host
    }

    fn event(&mut self, event: Event) {
        self.controller.on_event(&self.path, event, &mut self.w);
        self.clamp();
    }

    /// Hosts keep the window at one segment or above.
    fn clamp(&mut self) {
        self.w.cwnd = self.w.cwnd.max(1.0);
    }

    fn send(&mut self) {
        let allowed = self.w.cwnd.min(self.path.peer_window).min(1e12) as u64;
        self.path.nxt = self.path.nxt.max(self.path.una + allowed.max(1));
        self.path.in_flight = (self.path.nxt - self.path.una) as f64;
    }

    fn leave_recovery(&mut self) {
        if self.path.recovering {
            if !self.after_timeout && !self.needs.window {
                self.w.cwnd = self.w.ssthresh.max(1.0);
            }
            self.path.recovering = false;
            self.after_timeout = false;
            self.event(Event::Recovered);
        }
    }

    /// Lets one thing happen.
    pub fn step(&mut self, happening: &Happening) {
        match *happening {
            Happening::Ack { acked, rtt_us, draw, limited } => {
                let acked = u64::from(acked).min(self.path.nxt - self.path.una);
                self.path.una += acked;
                self.path.delivered += acked;
                self.path.cwnd_limited = limited;
                let rtt = (rtt_us > 0).then(|| Duration::from_micros(u64::from(rtt_us)));
                let rate = self.rate(acked, 0, rtt);
                self.acknowledge(Ack { acked: acked as f64, rtt, draw, rate, ..Ack::default() });
            }
            Happening::Duplicate { sacked, lost, marked } => {
                self.path.delivered += u64::from(sacked);
                let (sacked, lost, marked) = (u64::from(sacked), u64::from(lost), u64::from(marked));
                self.lose(lost);
                let rate = self.rate(sacked, lost, None);
                self.acknowledge(Ack { sacked, lost, marked, rate, ..Ack::default() });
            }
            Happening::Cut(why) => {
                if self.path.recovering && why != Signal::Timeout {
                    return; // once per episode
                }
                self.undo = self.w;
                let answer = self.controller.cut(&self.path, &self.w, why);
                if let Some(ssthresh) = answer {
                    assert!(ssthresh.is_finite() && ssthresh >= 0.0, "ssthresh {ssthresh} after {why:?}");
                    self.w.ssthresh = ssthresh;
                    self.w.cwnd = if why == Signal::Timeout { 1.0 } else { ssthresh };
                }
                if answer.is_some() || self.needs.window {
                    self.path.recovering = why != Signal::Mark;
                    self.after_timeout = why == Signal::Timeout;
                    self.clamp();
                }
            }
            Happening::Recovered => self.leave_recovery(),
            Happening::Spurious => {
                if self.path.recovering {
                    (self.path.recovering, self.after_timeout) = (false, false);
                    if !self.needs.window {
                        self.w = self.undo;
                    }
                    self.event(Event::Spurious);
                }
            }
            Happening::Idle => {
                self.leave_recovery();
                self.path.now += Duration::from_secs(3);
                self.event(Event::Idle);
            }
            Happening::Receiver(segments) => self.path.peer_window = f64::from(segments),
        }
        self.send();
    }

    /// What a host that measures the rate would say: everything in flight was sent a round-trip time ago.
    fn rate(&self, acked: u64, lost: u64, rtt: Option<Duration>) -> Option<RateSample> {
        let in_flight = self.path.in_flight as u64;
        let delivered = in_flight.min(self.path.delivered);
        (self.needs.rate && acked > 0).then(|| RateSample {
            acked,
            delivered,
            interval: rtt.unwrap_or_default(),
            prior_delivered: self.path.delivered - delivered,
            in_flight,
            lost,
            app_limited: !self.path.cwnd_limited,
            rtt,
        })
    }

    fn lose(&mut self, lost: u64) {
        for seq in 0..if self.needs.rate { lost } else { 0 } {
            let in_flight = self.path.in_flight as u64;
            let lost = Lost { seq: self.path.una + seq, in_flight, lost: seq + 1, app_limited: false };
            self.controller.on_lost(&self.path, &lost, &self.w);
        }
    }

    fn acknowledge(&mut self, ack: Ack) {
        self.path.now += Duration::from_micros(100);
        if let Some(rtt) = ack.rtt {
            let srtt = self.path.srtt.as_nanos();
            let smoothed = if srtt == 0 { rtt.as_nanos() } else { srtt - srtt / 8 + rtt.as_nanos() / 8 };
            self.path.srtt = Duration::from_nanos(smoothed);
            self.path.rtt_min = self.path.rtt_min.min(rtt);
        }
        self.controller.on_sample(&self.path, &ack, &mut self.w);
        self.clamp();
        // After a timeout hosts let the controller grow the window while they repair.
        let may_grow = !self.path.recovering || self.after_timeout;
        if ack.acked > 0.0 && may_grow && self.path.cwnd_limited && !self.needs.window {
            self.controller.grow(&self.path, &ack, &mut self.w);
            self.clamp();
        }
    }

    /// One of the controller's own variables.
    pub fn inspect(&self, name: &str) -> f64 {
        let mut found = f64::NAN;
        self.controller.inspect(&mut |known, value| {
            if known == name {
                found = value;
            }
        });
        found
    }
}

/// The average window, over time, of a controller that loses every (1/p)th segment on a path of `rtt` without
/// a queue. Recovery takes no time.
pub fn average_window(
    scheme: &Scheme,
    settings: &ackclock_cc::Settings,
    p: f64,
    rtt: Duration,
    periods: u32,
) -> f64 {
    let start = scheme.response.map_or(100.0, |response| response(settings, p, rtt.as_secs_f64()));
    let mut host = Host::new(settings);
    host.path = Path { srtt: rtt, rtt_min: rtt, ..Path::default() };
    host.w = Window { cwnd: start, ssthresh: start.min(2.0), pacing: None };
    let period = (1.0 / p + 0.5) as u64;
    let (mut segments, mut round_trips) = (0.0, 0.0);
    let mut elapsed = 0.0;
    for at in 0..u64::from(2 * periods) {
        for _ in 0..period {
            host.path.una += 1;
            host.path.nxt = host.path.una + host.w.cwnd as u64;
            host.path.delivered += 1;
            elapsed += rtt.as_secs_f64() / host.w.cwnd;
            host.path.now = Time::ZERO + Duration::from_secs_f64(elapsed);
            let ack = Ack { acked: 1.0, rtt: Some(rtt), ..Ack::default() };
            host.controller.on_sample(&host.path, &ack, &mut host.w);
            host.controller.grow(&host.path, &ack, &mut host.w);
            host.clamp();
            // The first half brings the sawtooth into its steady state.
            if at >= u64::from(periods) {
                segments += 1.0;
                round_trips += 1.0 / host.w.cwnd;
            }
        }
        host.step(&Happening::Cut(Signal::Loss));
        host.step(&Happening::Recovered);
    }
    segments / round_trips
}
