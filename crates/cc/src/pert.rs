//! PERT, Probabilistic Early Response TCP: another controller, plus an early response to delay.
//!
//! Source: S. Bhandarkar, "Congestion Control Algorithms of TCP in Emerging Networks" (dissertation, Texas
//! A&M University, 2006), chapter IV: the predictor srtt_0.99 (IV.A), RED's response curve and the decrease
//! (IV.B), REM's curve (IV.C.8). Section V.B.2 has Layered TCP underneath (LTCP-PERT). Section V.C has the
//! conservative predictor, and the variants that wait for samples (TCP-LDP). The controller underneath grows
//! the window, and reacts to losses, marks and timeouts as usual.
//!
//! What differs: where the source is open, there is a switch: the initial average, slow start, the clock of
//! "once per round trip", the least window, the end of the second ramp, and REM's units and decay.

mod curve;
mod pi;
mod red;
mod rem;
mod seen;

use crate::predictor::Ewma;
use crate::{Ack, Controller, Event, Given, Lost, Needs, Parameter, Path, Scheme, Settings, Signal, Window};
use ackclock_units::{Duration, Time};
use curve::Curve;
use seen::Seen;

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    name: "pert",
    title: "PERT",
    source: "Bhandarkar 2006, chapter IV; with layered underneath V.B (LTCP-PERT) and V.C (TCP-LDP)",
    summary: "Another controller, plus an early random reduction when the smoothed delay shows that a queue \
              builds.",
    equations: &[
        "on every ACK with a sample r: P = min(P, r); s = weight * s + (1 - weight) * r (IV.A)",
        "on every ACK, with probability p(s) and at most once per round trip: cwnd = (1 - f) * cwnd (IV.B)",
        "f = decrease, or the share that the controller underneath gives up (V.B.2: beta_K)",
        "curve red: p = 0 for s - P < min_delay; rises to max_probability at max_delay, then to 1 at the end \
         of the second ramp",
        "curve rem: price = max(0, price + gamma * (alpha * (r - P - target) + r - r_before)) (4.1); p = 1 - phi^(-price) (4.2)",
        "curve rem, price unchanged n times in a row: price = price * decay^n",
        "curve pi, once per period: p += a * (s - P - target) - b * (s_before - P - target)",
        "losses, marks and timeouts: the controller underneath reacts",
    ],
    notes: &[
        "what the controller underneath asks of the endpoint holds",
        "ramp: the source has 2 * maxthresh, with maxthresh = P + 10 ms; it is read as twice the queueing \
         delay, because RED's thresholds are queue lengths; read literally it would depend on P",
        "cut: the source reduces by 0.35 over TCP, and by the layer's own share over Layered TCP; the \
         default does both",
        "the controller underneath sees an early response as a mark, so that its own clocks restart; its \
         answer is used or ignored; if it gives none, there is no response",
        "acknowledgements without a sample count, too: with delayed detection the average is then stale \
         (V.C.2.a)",
        "there is no early response during recovery",
        "rem: delays are those of single acknowledgements; the resolution is the mean of the fullest \
         histogram bin (a quarter octave) of the positive changes",
        "pi: not in the source, which names other curves as future work",
    ],
    parameters: &[
        Parameter::controller("over", "reno", "the controller underneath; IV.B: standard TCP"),
        Parameter::choice(
            "curve",
            "red",
            &[
                ("red", "gentle RED (IV.B)"),
                ("rem", "REM (IV.C.8)"),
                ("pi", "proportional-integral (Hollot et al. 2001)"),
            ],
            "the response curve",
        ),
        Parameter::choice(
            "cut",
            "source",
            &[
                ("source", "share over reno, inner over any other"),
                ("share", "the share `decrease`"),
                ("inner", "the share that the controller underneath gives up"),
            ],
            "the size of an early reduction",
        ),
        Parameter::number(
            "decrease",
            0.35,
            "share of the window",
            0.01..=0.99,
            "IV.B: from B > f / (1 - f) BDP, with half of a buffer of one BDP",
        ),
        Parameter::choice(
            "delay",
            "round-trip",
            &[
                ("round-trip", "round-trip times"),
                (
                    "forward",
                    "one-way delays from the receiver's timestamps; congestion on the reverse path does not \
                     affect them",
                ),
            ],
            "the delays of which s is the average and P the minimum; the source has round-trip times and \
             names the other as a remedy",
        ),
        Parameter::number("weight", 0.99, "", 0.0..=1.0, "IV.A: srtt_0.99"),
        Parameter::choice(
            "follow",
            "average",
            &[
                ("average", "s is the average (IV.A)"),
                ("below", "s is never above the last sample (V.C.1: the conservative predictor of TCP-LDP)"),
            ],
            "how s follows the samples",
        ),
        Parameter::choice(
            "initial",
            "sample",
            &[("sample", "the first sample"), ("zero", "zero: the average must rise first")],
            "the initial value of s; not in the source",
        ),
        Parameter::choice(
            "slow_start",
            "respond",
            &[
                ("respond", "an early response also ends slow start"),
                ("ignore", "no early response in slow start"),
            ],
            "slow start; the source says every acknowledgement",
        ),
        Parameter::choice(
            "clock",
            "srtt",
            &[
                ("srtt", "the host's smoothed round-trip time (RFC 6298)"),
                ("average", "s"),
                ("base", "P"),
                ("window", "until a segment is acknowledged that was sent after the response"),
            ],
            "how a round trip is measured, in which there is at most one early response; not in the source",
        ),
        Parameter::number(
            "samples",
            0.0,
            "samples",
            0.0..=1e6,
            "V.C.2.a: samples needed before the next early response; 1 and 100 in LDP-1Sample and LDP-100Sample",
        ),
        Parameter::number(
            "least_window",
            2.0,
            "segments",
            1.0..=1e6,
            "no early response goes below this; not in the source; RFC 5681 (4) has 2 for thresholds",
        ),
        Parameter::number("min_delay", 0.005, "s", 0.0..=10.0, "IV.B: minthresh - P"),
        Parameter::number("max_delay", 0.010, "s", 0.0..=10.0, "IV.B: maxthresh - P"),
        Parameter::number("max_probability", 0.05, "", 0.0..=1.0, "IV.B: maxP, at max_delay"),
        Parameter::choice(
            "ramp",
            "delay",
            &[("delay", "at 2 * max_delay above P"), ("literal", "at 2 * (P + max_delay)")],
            "the end of red's second ramp",
        ),
        Parameter::number("rem_gamma", 0.02, "", 0.0..=1e3, "IV.C.8"),
        Parameter::number("rem_alpha", 0.8, "", 0.0..=1e3, "IV.C.8"),
        Parameter::number("rem_phi", 1.001, "", 1.0..=10.0, "IV.C.8"),
        Parameter::number(
            "rem_target",
            2.0,
            "resolutions of the RTT",
            0.0..=1e6,
            "IV.C.8: the target delay is twice the resolution",
        ),
        Parameter::number("rem_decay", 0.999, "", 0.0..=1.0, "IV.C.8"),
        Parameter::choice(
            "rem_unit",
            "milliseconds",
            &[
                ("milliseconds", "milliseconds of delay"),
                (
                    "packets",
                    "multiples of the resolution, which is the transmission time of a packet at the \
                             bottleneck",
                ),
            ],
            "the unit of equation 4.1 at the sender; not in the source",
        ),
        Parameter::choice(
            "rem_below",
            "hold",
            &[
                ("hold", "counts as the target: the price does not change, and then decays"),
                ("lower", "lowers the price, as in equation 4.1"),
            ],
            "the effect of a delay below the target; if it lowered the price, the decay would hardly ever \
             begin",
        ),
        Parameter::number(
            "pi_a",
            0.06833,
            "1/s",
            0.0..=1e3,
            "Hollot et al.: 1.822e-5 per packet, 3750 packets/s",
        ),
        Parameter::number("pi_b", 0.06810, "1/s", 0.0..=1e3, "Hollot et al.: 1.816e-5 per packet"),
        Parameter::number("pi_target", 0.005, "s", 0.0..=10.0, "ours: red's min_delay"),
        Parameter::number("pi_period", 1.0 / 170.0, "s", 1e-4..=10.0, "Hollot et al.: 170 Hz"),
    ],
    endpoint: &[],
    needs: |settings| {
        let inner = settings.controller().needs();
        Needs { draw: true, forward: inner.forward || settings.choice("delay") == "forward", ..inner }
    },
    build: |settings| Box::new(Pert::new(settings)),
    response: None,
};

/// How a round trip is measured. There is at most one early response per round trip.
#[derive(Clone, Copy, PartialEq)]
enum Clock {
    Srtt,
    Average,
    Base,
    Window,
}

/// The last early response.
#[derive(Clone, Copy)]
struct Response {
    at: Time,
    /// The next segment to send at that time.
    nxt: u64,
}

/// The controller.
#[derive(Clone)]
pub struct Pert {
    inner: Box<dyn Controller>,
    average: Ewma,
    /// The smallest one-way delay, if one-way delays are used.
    forward: Option<Duration>,
    conservative: bool,
    curve: Curve,
    /// The decrease as a share of the window. `None`: the controller underneath decides.
    decrease: Option<f64>,
    in_slow_start: bool,
    clock: Clock,
    samples: u64,
    least_window: f64,
    last: Option<Response>,
    /// The samples since the last response.
    fresh: u64,
    responses: u64,
    probability: f64,
}

impl Pert {
    /// A controller with checked `settings`.
    pub fn new(settings: &Settings) -> Pert {
        let over = settings.controller();
        let weight = settings.number("weight");
        let by_share = match settings.choice("cut") {
            "share" => true,
            "inner" => false,
            _ => over.scheme().name == "reno",
        };
        Pert {
            inner: over.build(),
            average: match settings.choice("initial") {
                "zero" => Ewma::starting_at(weight, Duration::ZERO),
                _ => Ewma::new(weight),
            },
            forward: (settings.choice("delay") == "forward").then_some(Duration::MAX),
            conservative: settings.choice("follow") == "below",
            curve: match settings.choice("curve") {
                "rem" => Curve::Rem(Box::new(rem::Rem::new(settings))),
                "pi" => Curve::Pi(pi::Pi::new(settings)),
                _ => Curve::Red(red::Red::new(settings)),
            },
            decrease: by_share.then(|| settings.number("decrease")),
            in_slow_start: settings.choice("slow_start") == "respond",
            clock: match settings.choice("clock") {
                "average" => Clock::Average,
                "base" => Clock::Base,
                "window" => Clock::Window,
                _ => Clock::Srtt,
            },
            samples: settings.number("samples") as u64,
            least_window: settings.number("least_window"),
            last: None,
            fresh: 0,
            responses: 0,
            probability: 0.0,
        }
    }

    /// Updates the predictor, and returns the probability of an early response.
    #[inline]
    fn follow(&mut self, path: &Path, ack: &Ack) -> f64 {
        let (sample, base) = match &mut self.forward {
            None => (ack.rtt, path.rtt_min),
            Some(least) => {
                *least = ack.forward.map_or(*least, |delay| delay.min(*least));
                (ack.forward, *least)
            }
        };
        let base = base.as_nanos() as i64 as f64; // before the first sample the average is NaN
        let mut raw = f64::NAN;
        if let Some(rtt) = sample {
            self.fresh += 1;
            raw = rtt.as_nanos() as i64 as f64 - base;
            if self.conservative {
                self.average.add_conservatively(rtt);
            } else {
                self.average.add(rtt);
            }
        }
        let delay = self.average.nanos() - base;
        self.curve.probability(&Seen { now: path.now, base, delay, raw })
    }

    /// True if an early response is allowed: at most one per round trip (IV.B), none during recovery, and
    /// only after enough samples.
    fn may_respond(&self, path: &Path, w: &Window) -> bool {
        if path.recovering || !self.in_slow_start && w.in_slow_start() {
            return false;
        }
        let Some(last) = self.last else { return true };
        let elapsed = path.now.since(last.at);
        let round_trip = match self.clock {
            Clock::Srtt => elapsed >= path.srtt,
            Clock::Average => elapsed.as_nanos() as f64 >= self.average.nanos(),
            Clock::Base => elapsed >= path.rtt_min,
            Clock::Window => path.una > last.nxt,
        };
        round_trip && self.fresh >= self.samples
    }

    #[cold]
    fn respond(&mut self, path: &Path, w: &mut Window) {
        // The share is that of congestion avoidance (V.B.2), also where the response ends slow start.
        let avoiding = Window { ssthresh: w.ssthresh.min(w.cwnd), ..*w };
        let Some(asked) = self.inner.cut(path, &avoiding, Signal::Mark) else { return };
        let after = self.decrease.map_or(asked, |share| w.cwnd * (1.0 - share));
        w.cwnd = after.max(self.least_window).min(w.cwnd);
        w.ssthresh = w.cwnd;
        self.last = Some(Response { at: path.now, nxt: path.nxt });
        self.fresh = 0;
        self.responses += 1;
    }
}

impl Controller for Pert {
    #[inline]
    fn on_sample(&mut self, path: &Path, ack: &Ack, w: &mut Window) {
        self.inner.on_sample(path, ack, w);
        self.probability = self.follow(path, ack);
        if ack.draw < self.probability && self.may_respond(path, w) {
            self.respond(path, w);
        }
    }

    fn grow(&mut self, path: &Path, ack: &Ack, w: &mut Window) {
        self.inner.grow(path, ack, w);
    }

    fn cut(&mut self, path: &Path, w: &Window, why: Signal) -> Option<f64> {
        self.inner.cut(path, w, why)
    }

    fn on_event(&mut self, path: &Path, event: Event, w: &mut Window) {
        self.inner.on_event(path, event, w);
    }

    fn on_lost(&mut self, path: &Path, lost: &Lost, w: &Window) {
        self.inner.on_lost(path, lost, w);
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.inner.inspect(see);
        let average = self.average.nanos();
        see("srtt_99_ms", if average.is_nan() { 0.0 } else { average * 1e-6 });
        see("probability", self.probability);
        see("early_responses", self.responses as f64);
        if let Curve::Rem(rem) = &self.curve {
            see("price", rem.price());
        }
    }
}

/// The curve `red` with its defaults: the probability at a delay of `delay_s` seconds above `rtt_min_s`.
pub(crate) fn red_curve(literal: bool, rtt_min_s: f64, delay_s: f64) -> f64 {
    let mut settings = Settings::defaults(&SCHEME);
    let ramp = Given::Word(if literal { "literal" } else { "delay" });
    settings.set("ramp", ramp).map_or(f64::NAN, |()| {
        let (base, delay) = (rtt_min_s * 1e9, delay_s * 1e9);
        red::Red::new(&settings).probability(&Seen { now: Time::ZERO, base, delay, raw: delay })
    })
}

#[cfg(test)]
mod tests;
