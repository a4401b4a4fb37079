//! No congestion control: the receiver's window is the only limit.
//!
//! Source: A. Sundaresan's thesis on TCP without congestion control (University of Kansas, 2001). A
//! connection sends what the advertised window allows, from its first segment on, also after losses and
//! timeouts.
//!
//! The scheme exists for comparisons, and for paths with reserved capacity. It does not react to congestion.
//! It can starve every other flow and keep a queue full. A host that offers it on a shared network must limit
//! it, by the receiver's window or by its own pacing rate.
//!
//! What differs: some hosts have no flow control. An unlimited receiver would mean an unlimited window, so
//! `cap` limits it. Idle times and repairs do not change the window: it is always open.

use crate::{Ack, Controller, Event, Needs, Parameter, Path, Scheme, Settings, Signal, Window};

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    name: "none",
    title: "No congestion control",
    source: "A. Sundaresan, M.S. thesis, University of Kansas, 2001",
    summary: "Sends what the receiver's window allows, and never slows down. Can starve other flows.",
    equations: &["cwnd = min(receiver's window, cap), always", "on loss, mark or timeout: no reaction"],
    notes: &[
        "meant for comparison and for reserved capacity: on a shared network the host must limit it",
        "the retransmission timer still backs off: it belongs to the host",
    ],
    parameters: &[Parameter::number(
        "cap",
        1e6,
        "segments",
        1.0..=1e9,
        "the limit if the receiver's window is larger or unknown; TCP cannot advertise more than 2^30 bytes \
         (RFC 7323)",
    )],
    endpoint: &[],
    needs: |_| Needs::NOTHING,
    build: |settings| Box::new(Uncontrolled::new(settings)),
    response: None,
};

/// The controller.
#[derive(Clone)]
pub struct Uncontrolled {
    cap: f64,
}

impl Uncontrolled {
    /// A controller with checked `settings`.
    pub fn new(settings: &Settings) -> Uncontrolled {
        Uncontrolled { cap: settings.number("cap") }
    }

    fn open(&self, path: &Path, w: &mut Window) {
        // With a closed window the connection still needs one segment to probe it.
        w.cwnd = path.peer_window.min(self.cap).max(1.0);
    }
}

impl Controller for Uncontrolled {
    fn on_sample(&mut self, path: &Path, _ack: &Ack, w: &mut Window) {
        self.open(path, w);
    }

    fn grow(&mut self, path: &Path, _ack: &Ack, w: &mut Window) {
        self.open(path, w);
    }

    fn cut(&mut self, _path: &Path, _w: &Window, _why: Signal) -> Option<f64> {
        None
    }

    fn on_event(&mut self, path: &Path, _event: Event, w: &mut Window) {
        self.open(path, w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme;

    #[test]
    fn the_receiver_is_the_only_limit() {
        let mut none = Uncontrolled::new(&Settings::defaults(scheme("none").expect("none is there")));
        let path = |peer_window| Path { peer_window, ..Path::default() };
        let mut w = Window::starting_at(2.0);
        none.on_event(&path(724.0), Event::Start, &mut w);
        assert_eq!(w.cwnd, 724.0);
        for why in [Signal::Loss, Signal::Mark, Signal::Timeout] {
            assert_eq!(none.cut(&path(724.0), &w, why), None);
        }
        none.on_sample(&path(300.0), &Ack::default(), &mut w);
        assert_eq!(w.cwnd, 300.0);
        none.on_sample(&path(0.0), &Ack::default(), &mut w);
        assert_eq!(w.cwnd, 1.0);
        none.on_sample(&path(f64::INFINITY), &Ack::default(), &mut w);
        assert_eq!(w.cwnd, 1e6);
    }
}
