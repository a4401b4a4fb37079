//! BIC: a binary search for the largest window that fits the path.
//!
//! Source: L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance
//! Networks", INFOCOM 2004, section III.
//!
//! What differs: the paper's pseudo-code forgets the last maximum while it probes beyond it, so that every
//! probing would be followed by fast convergence. Here, as in Linux, the last maximum is kept for that
//! comparison. The paper reacts to fast recovery only; here a timeout sets the maximum in the same way. The
//! pseudo-code never ends the search, but the text ends it at Smin; here the increment is at least Smin.
//! Linux has beta = 0.2 (205 of 1024), max_increment = 16 and divisor = 4, which are parameters here. Linux
//! also searches more slowly near the maximum, which is left out.

use crate::{Ack, Controller, Event, Needs, Parameter, Path, Scheme, Settings, Signal, Window, slow_start};

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    name: "bic",
    title: "BIC",
    source: "Xu, Harfoush and Rhee, INFOCOM 2004",
    summary: "Halves the distance to the window of the last loss each round, then probes beyond it with \
              growing steps.",
    equations: &[
        "below low_window: as Reno",
        "below the maximum: cwnd += min(max(\
         (maximum - cwnd) / divisor, min_increment), max_increment) / cwnd per segment acknowledged",
        "beyond it: 1, 2, 4 ... segments per round trip up to max_increment",
        "on loss, mark or timeout: maximum = cwnd, or cwnd (2 - beta) / 2 if below the last maximum; \
         ssthresh = (1 - beta) * cwnd",
        "average window at loss rate p: that of an epoch that reaches its maximum again in 1/p segments",
    ],
    notes: &[
        "fast convergence compares with the last maximum, also after probing beyond it, as in Linux",
        "a timeout sets the maximum like a loss; the paper leaves this open",
        "response: derived from the growth per segment; a round multiplies the distance by exp(-1/divisor)",
    ],
    parameters: &[
        Parameter::number(
            "max_increment",
            32.0,
            "segments per round trip",
            1.0..=10_000.0,
            "Smax of the paper's section IV; 16 in Linux",
        ),
        Parameter::number(
            "min_increment",
            0.01,
            "segments per round trip",
            1e-4..=1.0,
            "Smin of the paper's section IV",
        ),
        Parameter::number(
            "beta",
            0.125,
            "share of the window that a loss takes",
            0.01..=0.9,
            "the paper's section IV; 205/1024 in Linux",
        ),
        Parameter::number(
            "low_window",
            14.0,
            "segments",
            0.0..=1e6,
            "the paper's section IV: below it, the scheme is Reno",
        ),
        Parameter::number(
            "divisor",
            2.0,
            "parts of the distance to the maximum",
            1.0..=64.0,
            "the paper's section III: a binary search; 4 in Linux",
        ),
        Parameter::number("low_decrease", 0.5, "share of the window", 0.01..=1.0, "below low_window: Reno's"),
        Parameter::flag(
            "fast_convergence",
            true,
            "the paper's section III: lower the maximum further if it falls from loss to loss",
        ),
    ],
    endpoint: &[],
    needs: |_| Needs::NOTHING,
    build: |settings| Box::new(Bic::new(settings)),
    response: Some(|settings, p, _rtt_s| Bic::new(settings).response(p)),
};

/// The controller.
#[derive(Clone)]
pub struct Bic {
    max_increment: f64,
    min_increment: f64,
    beta: f64,
    low_window: f64,
    divisor: f64,
    low_decrease: f64,
    fast_convergence: bool,
    search: Search,
    /// The search before the last reduction. It is restored if that reduction was spurious.
    undo: Search,
}

/// The state of the search.
#[derive(Clone, Copy)]
struct Search {
    /// The maximum to search for, segments. Infinite before the first loss, and while probing beyond the last
    /// maximum.
    max: f64,
    /// The last maximum, segments; zero before the first loss.
    last_max: f64,
    /// While probing beyond the maximum: segments per round trip, and the window at which that number
    /// doubles.
    probe: Option<(f64, f64)>,
}

impl Bic {
    /// A controller with checked `settings`.
    pub fn new(settings: &Settings) -> Bic {
        // The paper's default maximum is "large": additive increase until the first loss.
        let search = Search { max: f64::INFINITY, last_max: 0.0, probe: None };
        let min_increment = settings.number("min_increment");
        Bic {
            max_increment: settings.number("max_increment"),
            min_increment,
            beta: settings.number("beta"),
            low_window: settings.number("low_window"),
            divisor: settings.number("divisor"),
            low_decrease: settings.number("low_decrease"),
            fast_convergence: settings.flag("fast_convergence"),
            search,
            undo: search,
        }
    }

    /// The growth per round trip at `cwnd`, segments.
    fn increment(&mut self, cwnd: f64) -> f64 {
        let s = &mut self.search;
        if cwnd >= s.max {
            // The window passed the maximum: "slow start" from one segment per round trip.
            s.max = f64::INFINITY;
            s.probe = Some((1.0, cwnd + 1.0));
        }
        if let Some((step, until)) = s.probe {
            if cwnd < until {
                return step.min(self.max_increment);
            }
            let step = 2.0 * step;
            s.probe = (step < self.max_increment).then_some((step, cwnd + step));
            return step.min(self.max_increment);
        }
        ((s.max - cwnd) / self.divisor).max(self.min_increment).min(self.max_increment)
    }

    /// The average window (segments) under periodic loss of probability `p`.
    ///
    /// The window grows from (1 - beta) W back to W. While the distance to W exceeds divisor * Smax, growth
    /// is additive. Then the distance shrinks exponentially, then the window grows by Smin per round. The
    /// paper assumes that every epoch reaches its peak again. Shorter epochs keep an earlier peak for a long
    /// time, so at high loss rates the window depends on the flow's past.
    pub fn response(&self, p: f64) -> f64 {
        let reno = libm::sqrt(1.5 / p);
        if reno < self.low_window {
            return reno;
        }
        let (mut low, mut high) = (1.0, 1e15);
        for _ in 0..100 {
            let middle = libm::sqrt(low * high);
            if self.epoch(middle).0 * p < 1.0 { low = middle } else { high = middle }
        }
        let (segments, rounds) = self.epoch(low);
        segments / rounds
    }

    /// The segments and the round trips between two losses, with windows that peak at `peak`.
    fn epoch(&self, peak: f64) -> (f64, f64) {
        let (d, fast, slow) =
            (self.divisor, self.divisor * self.max_increment, self.divisor * self.min_increment);
        let far = self.beta * peak;
        // The distances to the peak at which each phase begins.
        let (near, last) = (far.min(fast), far.min(slow));
        let additive = (far - near) / self.max_increment;
        let binary = d * libm::log(near / last);
        let ending = last / self.min_increment;
        let rounds = additive + binary + ending;
        // The sum over all phases of the average distance to the peak.
        let missing = additive * (far + near) / 2.0 + d * (near - last) + ending * last / 2.0;
        (rounds * peak - missing, rounds)
    }
}

impl Controller for Bic {
    fn grow(&mut self, _path: &Path, ack: &Ack, w: &mut Window) {
        let acked = slow_start(ack.acked, w);
        if acked > 0.0 {
            let increment = if w.cwnd < self.low_window { 1.0 } else { self.increment(w.cwnd) };
            w.cwnd += increment * acked / w.cwnd;
        }
    }

    fn cut(&mut self, _path: &Path, w: &Window, _why: Signal) -> Option<f64> {
        self.undo = self.search;
        let s = &mut self.search;
        s.probe = None;
        let falling = self.fast_convergence && w.cwnd < s.last_max;
        // The middle between the window before and after the reduction.
        s.max = if falling { w.cwnd * (2.0 - self.beta) / 2.0 } else { w.cwnd };
        s.last_max = s.max;
        let decrease = if w.cwnd < self.low_window { self.low_decrease } else { self.beta };
        Some(w.cwnd * (1.0 - decrease))
    }

    fn on_event(&mut self, _path: &Path, event: Event, _w: &mut Window) {
        if event == Event::Spurious {
            self.search = self.undo;
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("maximum", self.search.max);
        see("last_maximum", self.search.last_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme;

    fn bic() -> Bic {
        Bic::new(&Settings::defaults(scheme("bic").expect("bic is there")))
    }

    fn at(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: cwnd, pacing: None }
    }

    fn grown(bic: &mut Bic, cwnd: f64) -> f64 {
        let mut w = at(cwnd);
        bic.grow(&Path::default(), &Ack { acked: 1.0, ..Ack::default() }, &mut w);
        (w.cwnd - cwnd) * cwnd
    }

    #[test]
    fn a_loss_gives_up_an_eighth() {
        let mut b = bic();
        assert_eq!(b.cut(&Path::default(), &at(1000.0), Signal::Loss), Some(875.0));
        assert_eq!(b.search.max, 1000.0);
        // The window falls: the maximum is the middle of 900 and 787.5.
        assert_eq!(b.cut(&Path::default(), &at(900.0), Signal::Loss), Some(787.5));
        assert_eq!(b.search.max, 843.75);
        // The window rises again.
        b.cut(&Path::default(), &at(844.0), Signal::Loss);
        assert_eq!(b.search.max, 844.0);
    }

    #[test]
    fn below_fourteen_segments_it_is_reno() {
        let mut b = bic();
        assert_eq!(b.cut(&Path::default(), &at(10.0), Signal::Loss), Some(5.0));
        assert!((grown(&mut b, 5.0) - 1.0).abs() < 1e-12);
        assert!((grown(&mut b, 13.9) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_search_is_additive_then_binary_then_smallest() {
        let mut b = bic();
        b.cut(&Path::default(), &at(1000.0), Signal::Loss);
        for (cwnd, increment) in [(875.0, 32.0), (936.0, 32.0), (940.0, 30.0), (990.0, 5.0), (999.99, 0.01)] {
            assert!((grown(&mut b, cwnd) - increment).abs() < 1e-6, "{cwnd}");
        }
    }

    #[test]
    fn probing_beyond_the_maximum_doubles_its_step() {
        let mut b = bic();
        b.cut(&Path::default(), &at(1000.0), Signal::Loss);
        let mut seen = Vec::new();
        for cwnd in [1000.0, 1000.5, 1001.0, 1002.9, 1003.0, 1007.0, 1015.0, 1031.0, 2000.0] {
            seen.push((grown(&mut b, cwnd) + 0.5).floor());
        }
        assert_eq!(seen, [1.0, 1.0, 2.0, 2.0, 4.0, 8.0, 16.0, 32.0, 32.0]);
        // Fast convergence still uses the last maximum.
        b.cut(&Path::default(), &at(2000.0), Signal::Loss);
        assert_eq!(b.search.max, 2000.0);
    }

    #[test]
    fn before_the_first_loss_it_is_additive() {
        assert!((grown(&mut bic(), 100.0) - 32.0).abs() < 1e-9);
    }

    #[test]
    fn a_spurious_cut_is_forgotten() {
        let mut b = bic();
        b.cut(&Path::default(), &at(1000.0), Signal::Loss);
        b.cut(&Path::default(), &at(900.0), Signal::Timeout);
        b.on_event(&Path::default(), Event::Spurious, &mut at(900.0));
        assert_eq!(b.search.max, 1000.0);
    }

    #[test]
    fn the_response_is_that_of_the_law() {
        for peak in [50.0, 200.0, 1000.0, 20_000.0] {
            // The controller itself, from the window after a loss until the search ends.
            let mut b = bic();
            b.cut(&Path::default(), &at(peak), Signal::Loss);
            let mut w = at(0.875 * peak);
            let (mut segments, mut rounds) = (0.0, 0.0);
            while w.cwnd < peak {
                segments += 1.0;
                rounds += 1.0 / w.cwnd;
                b.grow(&Path::default(), &Ack { acked: 1.0, ..Ack::default() }, &mut w);
            }
            let (expected_segments, expected_rounds) = b.epoch(peak);
            assert!((segments / expected_segments - 1.0).abs() < 0.01, "{peak}: {segments}");
            assert!((rounds / expected_rounds - 1.0).abs() < 0.01, "{peak}: {rounds}");
            let average = segments / rounds;
            assert!((b.response(1.0 / segments) / average - 1.0).abs() < 0.01, "{peak}: {average}");
        }
        assert!((bic().response(0.02) - 8.66).abs() < 0.01, "Reno where windows are small");
    }
}
