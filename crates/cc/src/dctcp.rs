//! DCTCP, Data Center TCP: Reno, but the reduction after marks is proportional to the share of marked
//! segments.
//!
//! Source: RFC 8257; M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010.
//!
//! What differs: the RFC reduces the window at the end of its observation window, Linux at the first echo in
//! a window. Here it is the first echo, because hosts call `cut` then. Either way there is at most one
//! reduction per window of data. Counts are in segments, not bytes. DCTCP is meant for data centres, where
//! all flows use it and queues mark early.

use crate::{Ack, Controller, Event, Needs, Parameter, Path, Scheme, Settings, Signal, Window, slow_start};

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    name: "dctcp",
    title: "DCTCP",
    source: "RFC 8257; Alizadeh et al., SIGCOMM 2010",
    summary: "Like Reno, but marks reduce the window by half of the share of marked segments.",
    equations: &[
        "once per window of data: M = marked / acknowledged; alpha = (1 - g) alpha + g M",
        "on the first mark of a window: cwnd = (1 - alpha / 2) cwnd",
        "on loss or timeout: ssthresh = cwnd / 2",
    ],
    notes: &[
        "the connection uses ECN even if the scenario does not ask for it; its receiver echoes each mark (RFC 8257 \
         section 3.2)",
        "retransmissions are ECN-capable, too, as in Linux: a queue with a marking threshold would otherwise \
         drop them",
        "it needs a queue that marks above a threshold of its present length: a RED queue with one threshold \
         and weight 1",
        "a segment counts when it is acknowledged cumulatively (RFC 8257 section 3.3: SACK is ignored)",
    ],
    parameters: &[
        Parameter::number(
            "g",
            0.0625,
            "",
            0.0001..=1.0,
            "RFC 8257 gives no value; 1/16 in the paper and in Linux",
        ),
        Parameter::number("initial_alpha", 1.0, "", 0.0..=1.0, "Linux: 1, so that the first mark halves"),
        Parameter::number(
            "increase",
            1.0,
            "segments per round trip",
            0.01..=100.0,
            "RFC 5681 section 3.1: one SMSS",
        ),
        Parameter::number(
            "decrease",
            0.5,
            "share of the window",
            0.01..=1.0,
            "RFC 5681 equation 4: one half",
        ),
    ],
    endpoint: &[],
    needs: |_| Needs { marks: true, ..Needs::NOTHING },
    build: |settings| Box::new(Dctcp::new(settings)),
    response: None,
};

/// The controller.
#[derive(Clone)]
pub struct Dctcp {
    g: f64,
    increase: f64,
    decrease: f64,
    /// DCTCP.Alpha: the estimated share of marked segments, in [0, 1].
    alpha: f64,
    /// `una` after the last acknowledgement.
    una: u64,
    acked: u64,
    marked: u64,
    /// DCTCP.WindowEnd.
    window_end: u64,
}

impl Dctcp {
    /// A controller with checked `settings`.
    pub fn new(settings: &Settings) -> Dctcp {
        Dctcp {
            g: settings.number("g"),
            increase: settings.number("increase"),
            decrease: settings.number("decrease"),
            alpha: settings.number("initial_alpha"),
            una: 0,
            acked: 0,
            marked: 0,
            window_end: 0,
        }
    }
}

impl Controller for Dctcp {
    /// RFC 8257 section 3.3, (1) to (8).
    fn on_sample(&mut self, path: &Path, ack: &Ack, _w: &mut Window) {
        self.acked += path.una.saturating_sub(self.una);
        self.marked += ack.marked;
        self.una = path.una;
        if path.una > self.window_end && self.acked > 0 {
            let share = (self.marked as f64 / self.acked as f64).min(1.0);
            self.alpha += self.g * (share - self.alpha);
            self.window_end = path.nxt;
            (self.acked, self.marked) = (0, 0);
        }
    }

    fn grow(&mut self, _path: &Path, ack: &Ack, w: &mut Window) {
        let acked = slow_start(ack.acked, w);
        w.cwnd += self.increase * acked / w.cwnd; // section 3.4: as RFC 5681
    }

    fn cut(&mut self, _path: &Path, w: &Window, why: Signal) -> Option<f64> {
        let share = if why == Signal::Mark { self.alpha / 2.0 } else { self.decrease };
        Some(w.cwnd * (1.0 - share)) // sections 3.3 (9) and 3.5
    }

    fn on_event(&mut self, path: &Path, event: Event, _w: &mut Window) {
        if event == Event::Start {
            (self.una, self.window_end) = (path.una, path.una); // section 3.3: WindowEnd is SND.UNA at first
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("alpha", self.alpha);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme;

    fn dctcp() -> Dctcp {
        Dctcp::new(&Settings::defaults(scheme("dctcp").expect("dctcp is there")))
    }

    fn at(una: u64, nxt: u64) -> Path {
        Path { una, nxt, ..Path::default() }
    }

    #[test]
    fn alpha_follows_the_share_of_marks_once_per_window() {
        let mut dctcp = dctcp();
        let mut w = Window { cwnd: 10.0, ssthresh: 10.0, pacing: None };
        dctcp.on_event(&at(0, 0), Event::Start, &mut w);
        let mut hear = |una, nxt, marked| {
            dctcp.on_sample(&at(una, nxt), &Ack { marked, ..Ack::default() }, &mut w);
            dctcp.alpha
        };
        // The first acknowledgement ends the first window. All of it marked keeps 1; nothing marked reduces
        // alpha by a sixteenth.
        assert_eq!(hear(1, 11, 1), 1.0);
        assert_eq!(hear(6, 16, 0), 1.0);
        assert_eq!(hear(11, 21, 5), 1.0, "up to the end of the window and not beyond it");
        // 11 segments acknowledged since then, 5 of them marked.
        assert_eq!(hear(12, 22, 0), 1.0 + (5.0 / 11.0 - 1.0) / 16.0);
        assert_eq!(dctcp.window_end, 22);
    }

    #[test]
    fn a_mark_costs_half_of_the_share_and_a_loss_half() {
        let mut dctcp = dctcp();
        let w = Window { cwnd: 100.0, ssthresh: 50.0, pacing: None };
        let mut cut = |alpha, why| {
            dctcp.alpha = alpha;
            dctcp.cut(&Path::default(), &w, why)
        };
        assert_eq!(cut(1.0, Signal::Mark), Some(50.0));
        assert_eq!(cut(0.25, Signal::Mark), Some(87.5));
        assert_eq!(cut(0.25, Signal::Loss), Some(50.0));
        assert_eq!(cut(0.25, Signal::Timeout), Some(50.0));
    }
}
