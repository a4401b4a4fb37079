//! The C step functions, compiled natively, as a [`Controller`]. Everything that drives the Rust controllers
//! can drive them.
//!
//! What differs from the kernel: the host is the engine's. The steps are the same. They receive the window in
//! whole segments, as in tcp_sock, and keep the fraction of a segment in their own state.

use crate::parameters::{self, NoTwin, Parameters};
use ackclock_cc::{Ack, Controller, Event, Path, Settings, Signal};
use ackclock_units::Duration;

/// `struct ac_window`: whole segments.
#[repr(C)]
#[derive(Clone, Copy)]
struct Window {
    cwnd: u32,
    ssthresh: u32,
}

/// `AC_SSTHRESH_INFINITE`.
const SSTHRESH_INFINITE: u32 = 0x7fff_ffff;

/// icsk_ca_priv: 104 bytes, aligned to eight. The headers assert that the state of every scheme fits.
#[repr(C)]
#[derive(Clone, Default)]
struct Private([u64; 13]);

/// `struct ac_compound_path`.
#[repr(C)]
struct CompoundPath {
    una: u32,
    nxt: u32,
    srtt_us: u32,
    peer_window: u32,
    cwnd_limited: u32,
    recovering: u32,
}

/// `struct ac_pert_path`.
#[repr(C)]
struct PertPath {
    now_us: u64,
    una: u32,
    nxt: u32,
    srtt_us: u32,
    in_flight: u32,
    recovering: u32,
    draw_q32: u32,
}

// Invariant: each declaration has the types of its definition in src/twin.c. A test compares the sizes of the
// structs. The functions keep no pointer, and access only what they are given. So references of the stated
// types make every call sound. There is no safe way to call C.
#[allow(unsafe_code, reason = "the functions are defined in C")]
unsafe extern "C" {
    safe fn ac_twin_layered_start(s: &mut Private);
    safe fn ac_twin_layered_sample(p: &parameters::Layered, s: &mut Private, rtt_us: u32, srtt_us: u32);
    safe fn ac_twin_layered_grow(p: &parameters::Layered, s: &mut Private, w: &mut Window, acked: u32);
    safe fn ac_twin_layered_cut(p: &parameters::Layered, s: &mut Private, w: &Window) -> u32;
    safe fn ac_twin_layered_spurious(s: &mut Private);
    safe fn ac_twin_layered_part_q20(s: &Private) -> u32;
    safe fn ac_twin_compound_part_q20(s: &Private) -> u32;
    safe fn ac_twin_compound_start(s: &mut Private, w: &Window);
    safe fn ac_twin_compound_sample(
        p: &parameters::Compound,
        s: &mut Private,
        w: &mut Window,
        path: &CompoundPath,
        rtt_us: u32,
    );
    safe fn ac_twin_compound_grow(s: &mut Private, w: &mut Window, acked: u32);
    safe fn ac_twin_compound_cut(p: &parameters::Compound, s: &mut Private, w: &Window, peer: u32) -> u32;
    safe fn ac_twin_compound_timeout(s: &mut Private);
    safe fn ac_twin_compound_recovered(s: &mut Private, w: &Window);
    safe fn ac_twin_compound_spurious(s: &mut Private, w: &Window);
    safe fn ac_twin_compound_idle(s: &mut Private, w: &mut Window);
    safe fn ac_twin_pert_start(p: &parameters::Pert, s: &mut Private);
    safe fn ac_twin_pert_sample(
        p: &parameters::Pert,
        s: &mut Private,
        w: &mut Window,
        path: &PertPath,
        rtt_us: u32,
    ) -> u32;
    safe fn ac_twin_pert_grow(p: &parameters::Pert, s: &mut Private, w: &mut Window, acked: u32);
    safe fn ac_twin_pert_cut(p: &parameters::Pert, s: &mut Private, w: &Window, in_flight: u32) -> u32;
    safe fn ac_twin_pert_spurious(p: &parameters::Pert, s: &mut Private);
    safe fn ac_twin_pert_part_q20(p: &parameters::Pert, s: &Private) -> u32;
    safe fn ac_twin_pert_probability_q32(p: &parameters::Pert, s: &Private) -> u64;
    safe fn ac_twin_none_open(p: &parameters::Uncontrolled, w: &mut Window, peer: u32);
}

/// The step functions of a scheme, with the state of one connection.
#[derive(Clone)]
pub struct Twin {
    parameters: Parameters,
    state: Private,
    /// Counted for schemes with early responses.
    early_responses: u64,
}

impl Twin {
    /// The twin of the scheme of the checked `settings`.
    ///
    /// # Errors
    ///
    /// [`NoTwin`] if the scheme, or one of its values, has no C twin.
    pub fn new(settings: &Settings) -> Result<Twin, NoTwin> {
        let parameters = Parameters::new(settings)?;
        let mut state = Private::default();
        match &parameters {
            Parameters::Layered(_) => ac_twin_layered_start(&mut state),
            Parameters::Compound(_) => {
                ac_twin_compound_start(&mut state, &Window { cwnd: 1, ssthresh: SSTHRESH_INFINITE });
            }
            Parameters::Pert(p) => ac_twin_pert_start(p, &mut state),
            Parameters::None(_) => {}
        }
        Ok(Twin { parameters, state, early_responses: 0 })
    }

    /// The fraction of a segment that the steps keep in addition to the host's window.
    pub fn part(&self) -> f64 {
        let part_q20 = match &self.parameters {
            Parameters::Layered(_) => ac_twin_layered_part_q20(&self.state),
            Parameters::Compound(_) => ac_twin_compound_part_q20(&self.state),
            Parameters::Pert(p) => ac_twin_pert_part_q20(p, &self.state),
            Parameters::None(_) => 0,
        };
        f64::from(part_q20) / f64::from(1 << 20)
    }
}

/// A window in the kernel's whole segments.
fn segments(window: f64) -> u32 {
    window as u32 // saturates
}

/// A round-trip time in the kernel's microseconds. A sample is at least 1, because 0 means that there is
/// none.
fn micros(rtt: Duration) -> u32 {
    u32::try_from(rtt.as_nanos() / 1000).unwrap_or(u32::MAX).max(1)
}

fn whole(w: &ackclock_cc::Window) -> Window {
    Window { cwnd: segments(w.cwnd).max(1), ssthresh: segments(w.ssthresh).min(SSTHRESH_INFINITE) }
}

/// Calls `step` with the window, and copies its changes back.
fn through(w: &mut ackclock_cc::Window, step: impl FnOnce(&mut Window)) {
    let before = whole(w);
    let mut after = before;
    step(&mut after);
    if after.cwnd != before.cwnd {
        w.cwnd = f64::from(after.cwnd);
    }
    if after.ssthresh != before.ssthresh {
        w.ssthresh = f64::from(after.ssthresh);
    }
}

impl Controller for Twin {
    fn on_sample(&mut self, path: &Path, ack: &Ack, w: &mut ackclock_cc::Window) {
        let rtt_us = ack.rtt.map_or(0, micros);
        let srtt_us = if path.srtt.is_zero() { 0 } else { micros(path.srtt) };
        match &self.parameters {
            Parameters::Layered(p) if rtt_us > 0 => {
                ac_twin_layered_sample(p, &mut self.state, rtt_us, srtt_us);
            }
            Parameters::Layered(_) => {}
            Parameters::Compound(p) => {
                let known = CompoundPath {
                    una: path.una as u32,
                    nxt: path.nxt as u32,
                    srtt_us,
                    peer_window: segments(path.peer_window),
                    cwnd_limited: path.cwnd_limited.into(),
                    recovering: path.recovering.into(),
                };
                through(w, |w| ac_twin_compound_sample(p, &mut self.state, w, &known, rtt_us));
            }
            Parameters::Pert(p) => {
                let known = PertPath {
                    now_us: path.now.as_nanos() / 1000,
                    una: path.una as u32,
                    nxt: path.nxt as u32,
                    srtt_us,
                    in_flight: segments(path.in_flight),
                    recovering: path.recovering.into(),
                    draw_q32: (ack.draw * (1u64 << 32) as f64) as u32,
                };
                let mut early = 0;
                through(w, |w| early = ac_twin_pert_sample(p, &mut self.state, w, &known, rtt_us));
                self.early_responses += u64::from(early);
            }
            Parameters::None(p) => through(w, |w| ac_twin_none_open(p, w, segments(path.peer_window))),
        }
    }

    fn grow(&mut self, path: &Path, ack: &Ack, w: &mut ackclock_cc::Window) {
        let (state, acked) = (&mut self.state, segments(ack.acked));
        match &self.parameters {
            Parameters::Layered(p) => through(w, |w| ac_twin_layered_grow(p, state, w, acked)),
            Parameters::Compound(_) => through(w, |w| ac_twin_compound_grow(state, w, acked)),
            Parameters::Pert(p) => through(w, |w| ac_twin_pert_grow(p, state, w, acked)),
            Parameters::None(p) => through(w, |w| ac_twin_none_open(p, w, segments(path.peer_window))),
        }
    }

    fn cut(&mut self, path: &Path, w: &ackclock_cc::Window, why: Signal) -> Option<f64> {
        let w = whole(w);
        let ssthresh = match &self.parameters {
            Parameters::Layered(p) => ac_twin_layered_cut(p, &mut self.state, &w),
            Parameters::Compound(p) => {
                let cut = ac_twin_compound_cut(p, &mut self.state, &w, segments(path.peer_window));
                if why == Signal::Timeout {
                    ac_twin_compound_timeout(&mut self.state);
                }
                cut
            }
            Parameters::Pert(p) => ac_twin_pert_cut(p, &mut self.state, &w, segments(path.in_flight)),
            Parameters::None(_) => return None,
        };
        Some(f64::from(ssthresh))
    }

    fn on_event(&mut self, path: &Path, event: Event, w: &mut ackclock_cc::Window) {
        let state = &mut self.state;
        match (&self.parameters, event) {
            (Parameters::Layered(_), Event::Spurious) => ac_twin_layered_spurious(state),
            (Parameters::Layered(_), _) => {}
            (Parameters::Compound(_), Event::Start) => ac_twin_compound_start(state, &whole(w)),
            (Parameters::Compound(_), Event::Recovered) => ac_twin_compound_recovered(state, &whole(w)),
            (Parameters::Compound(_), Event::Spurious) => ac_twin_compound_spurious(state, &whole(w)),
            (Parameters::Compound(_), Event::Idle) => through(w, |w| ac_twin_compound_idle(state, w)),
            (Parameters::Pert(p), Event::Spurious) => ac_twin_pert_spurious(p, state),
            (Parameters::Pert(_), _) => {}
            (Parameters::None(p), _) => through(w, |w| ac_twin_none_open(p, w, segments(path.peer_window))),
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("part", self.part());
        if let Parameters::Pert(p) = &self.parameters {
            let probability_q32 = ac_twin_pert_probability_q32(p, &self.state);
            see("probability", probability_q32 as f64 / (1u64 << 32) as f64);
            see("early_responses", self.early_responses as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Invariant: as above; these take and return plain numbers.
    #[allow(unsafe_code, reason = "the functions are defined in C")]
    unsafe extern "C" {
        safe fn ac_twin_size_layered_parameters() -> u32;
        safe fn ac_twin_size_compound_parameters() -> u32;
        safe fn ac_twin_size_pert_parameters() -> u32;
        safe fn ac_twin_size_pert_path() -> u32;
        safe fn ac_twin_size_none_parameters() -> u32;
        safe fn ac_twin_size_compound_path() -> u32;
        safe fn ac_twin_none_hold(s: &mut Private, w: &mut Window, acked: u32, reducing: bool, limited: bool);
        safe fn ac_twin_none_cut(s: &mut Private, w: &Window) -> u32;
        safe fn ac_twin_cube_root(x: u64) -> u32;
        safe fn ac_twin_log2_q24(x: u64) -> u32;
        safe fn ac_twin_exp2_q20(y_q24: i64) -> u64;
    }

    #[test]
    fn both_sides_agree_on_sizes() {
        let size = |of: usize| u32::try_from(of).expect("small");
        assert_eq!(ac_twin_size_layered_parameters(), size(size_of::<parameters::Layered>()));
        assert_eq!(ac_twin_size_compound_parameters(), size(size_of::<parameters::Compound>()));
        assert_eq!(ac_twin_size_pert_parameters(), size(size_of::<parameters::Pert>()));
        assert_eq!(ac_twin_size_pert_path(), size(size_of::<PertPath>()));
        assert_eq!(ac_twin_size_none_parameters(), size(size_of::<parameters::Uncontrolled>()));
        assert_eq!(ac_twin_size_compound_path(), size(size_of::<CompoundPath>()));
    }

    /// Slow start, a cut, the repair, a window of growth, and nothing while the window is not what limits.
    #[test]
    fn what_must_not_be_without_control_has_renos_window() {
        let (mut state, mut w) = (Private::default(), Window { cwnd: 10, ssthresh: SSTHRESH_INFINITE });
        for _ in 0..30 {
            ac_twin_none_hold(&mut state, &mut w, 1, false, true);
        }
        assert_eq!(w.cwnd, 40);
        w.ssthresh = ac_twin_none_cut(&mut state, &w);
        assert_eq!((w.cwnd, w.ssthresh), (40, 20));
        ac_twin_none_hold(&mut state, &mut w, 0, true, false);
        assert_eq!(w.cwnd, 20);
        ac_twin_none_hold(&mut state, &mut w, 5, true, true);
        assert_eq!(w.cwnd, 20, "it grows while losses are repaired");
        for _ in 0..21 {
            ac_twin_none_hold(&mut state, &mut w, 1, false, true);
        }
        assert_eq!(w.cwnd, 21);
        ac_twin_none_hold(&mut state, &mut w, 100, false, false);
        assert_eq!(w.cwnd, 21, "it grows while something else limits");
        let least = Window { cwnd: 1, ssthresh: 20 };
        assert_eq!(ac_twin_none_cut(&mut state, &least), 2);
    }

    #[test]
    fn the_cube_root_is_exact() {
        for root in (0..2000).chain([1_000_000, 2_097_151]) {
            let cube = root * root * root;
            assert_eq!(u64::from(ac_twin_cube_root(cube)), root);
            if root > 0 {
                assert_eq!(u64::from(ac_twin_cube_root(cube - 1)), root - 1);
            }
        }
    }

    #[test]
    fn logarithm_and_exponential_are_good_to_a_millionth() {
        let mut x = 1u64;
        while x < 1 << 60 {
            let log2 = f64::from(ac_twin_log2_q24(x)) / f64::from(1 << 24);
            assert!((log2 - (x as f64).log2()).abs() < 1e-6, "log2 {x}: {log2}");
            x += x / 7 + 1;
        }
        for at in -60..310 {
            let y = f64::from(at) / 10.0;
            let power = ac_twin_exp2_q20((y * f64::from(1 << 24)) as i64) as f64 / f64::from(1 << 20);
            // The tolerance: half a unit of the last place, and the 24 places of the exponent.
            assert!((power - y.exp2()).abs() < 1e-6 + 1e-6 * y.exp2(), "2^{y}: {power}");
        }
    }
}
