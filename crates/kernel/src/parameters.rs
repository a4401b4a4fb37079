//! The settings of a scheme for its C twin: fixed point, in the layout of the structs in `src/bpf/*.h`.

use crate::programs::{names, program};
use ackclock_cc::Settings;
use bytemuck::{Pod, Zeroable};
use miette::Diagnostic;
use thiserror::Error;

/// The settings have no C twin, and therefore no eBPF program.
#[derive(Clone, PartialEq, Eq, Debug, Error, Diagnostic)]
pub enum NoTwin {
    /// The scheme has no C twin.
    #[error("there is no eBPF program for {scheme}")]
    #[diagnostic(help("there are programs for {}", names().join(", ")))]
    Scheme {
        /// The scheme.
        scheme: &'static str,
    },
    /// The scheme has a C twin, but not with this value.
    #[error("there is no eBPF program for {scheme} with {key} = \"{value}\"")]
    #[diagnostic(help("in the kernel {key} must be {known}; the simulator has all of them"))]
    Value {
        /// The scheme.
        scheme: &'static str,
        /// The parameter.
        key: &'static str,
        /// The value.
        value: &'static str,
        /// The values that the C twin knows.
        known: &'static str,
    },
}

/// The load-time data of a scheme.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Parameters {
    /// `struct ac_layered_parameters`.
    Layered(Layered),
    /// `struct ac_compound_parameters`.
    Compound(Compound),
    /// `struct ac_pert_parameters`.
    Pert(Pert),
    /// `struct ac_none_parameters`.
    None(Uncontrolled),
}

/// `struct ac_layered_parameters`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
pub struct Layered {
    w_t_q20: u64,
    rtt_reference_ns: u64,
    rtt_exponent_q20: u32,
    beta_q32: u32,
    decrease: u32,
    whole_layers: u32,
    smoothed_rtt: u32,
    tcp_below: u32,
    halve_in_slow_start: u32,
    reserved: u32,
}

/// `struct ac_compound_parameters`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
pub struct Compound {
    log2_alpha_q24: i64,
    gamma_q20: u64,
    lowwnd_q20: u64,
    k_q20: u32,
    beta_q32: u32,
    zeta_q20: u32,
    samples: u32,
    delta_us: u32,
    smoothed_rtt: u32,
    gate_loss_window: u32,
    clear_below: u32,
    no_window_reduction: u32,
    reserved: u32,
}

/// `struct ac_reno_parameters`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
pub struct Reno {
    increase_q20: u32,
    decrease_q32: u32,
    halve_flight: u32,
    reserved: u32,
}

/// `struct ac_pert_parameters`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
pub struct Pert {
    layered: Layered,
    reno: Reno,
    gain_q64: u64,
    max_probability_q32: u64,
    min_delay_us: u32,
    max_delay_us: u32,
    decrease_q32: u32,
    least_window: u32,
    samples: u32,
    over: u32,
    clock: u32,
    by_share: u32,
    below: u32,
    from_zero: u32,
    not_in_slow_start: u32,
    literal: u32,
}

/// `struct ac_none_parameters`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
pub struct Uncontrolled {
    cap: u32,
    reserved: u32,
}

/// `value` in fixed point with this number of binary places, rounded.
fn fixed(value: f64, places: u32) -> u64 {
    (value * (1u64 << places) as f64).round() as u64
}

/// A share in fixed point with 32 binary places. The whole is represented as 1 - 2^-32.
fn share_q32(value: f64) -> u32 {
    fixed(value, 32) as u32 // saturates
}

/// 1 if the choice `name` is `word`.
fn is(settings: &Settings, name: &str, word: &str) -> u32 {
    u32::from(settings.choice(name) == word)
}

impl Layered {
    pub(crate) fn new(settings: &Settings) -> Layered {
        let number = |name| settings.number(name);
        Layered {
            w_t_q20: fixed(number("w_t"), 20),
            rtt_reference_ns: fixed(number("rtt_reference") * 1e9, 0),
            rtt_exponent_q20: fixed(number("rtt_exponent"), 20) as u32,
            beta_q32: share_q32(number("beta")),
            decrease: match (settings.choice("decrease"), settings.choice("interpolation")) {
                ("variable", "linear") => 1,
                ("variable", _) => 2,
                _ => 0,
            },
            whole_layers: is(settings, "layers", "integer"),
            smoothed_rtt: is(settings, "min_rtt", "smoothed"),
            tcp_below: is(settings, "below_threshold", "tcp"),
            halve_in_slow_start: is(settings, "slow_start_cut", "half"),
            reserved: 0,
        }
    }
}

impl Compound {
    pub(crate) fn new(settings: &Settings) -> Compound {
        let number = |name| settings.number(name);
        Compound {
            log2_alpha_q24: (libm::log2(number("alpha")) * f64::from(1 << 24)).round() as i64,
            gamma_q20: fixed(number("gamma"), 20),
            lowwnd_q20: fixed(number("lowwnd"), 20),
            k_q20: fixed(number("k"), 20) as u32,
            beta_q32: share_q32(number("beta")),
            zeta_q20: fixed(number("zeta"), 20) as u32,
            samples: number("samples") as u32,
            delta_us: fixed(number("delta") * 1e6, 0) as u32,
            smoothed_rtt: is(settings, "mean", "smoothed"),
            gate_loss_window: is(settings, "gate", "loss_window"),
            clear_below: is(settings, "below_lowwnd", "clear"),
            no_window_reduction: u32::from(!settings.flag("window_reduction")),
            reserved: 0,
        }
    }
}

impl Reno {
    fn new(settings: &Settings) -> Reno {
        Reno {
            increase_q20: fixed(settings.number("increase"), 20) as u32,
            decrease_q32: share_q32(settings.number("decrease")),
            halve_flight: is(settings, "halve", "flight"),
            reserved: 0,
        }
    }
}

impl Uncontrolled {
    pub(crate) fn new(settings: &Settings) -> Uncontrolled {
        Uncontrolled { cap: settings.number("cap") as u32, reserved: 0 }
    }
}

impl Pert {
    pub(crate) fn new(settings: &Settings) -> Result<Pert, NoTwin> {
        let number = |name| settings.number(name);
        let without =
            |key, value, known| Err(NoTwin::Value { scheme: settings.scheme().name, key, value, known });
        let mut reno = Reno::zeroed();
        let mut layered = Layered::zeroed();
        let under = settings.controller();
        let over = match under.scheme().name {
            "reno" => {
                reno = Reno::new(under);
                0
            }
            "layered" => {
                layered = Layered::new(under);
                1
            }
            other => return without("over", other, "\"reno\" or \"layered\""),
        };
        if settings.choice("delay") != "round-trip" {
            return without("delay", settings.choice("delay"), "\"round-trip\"");
        }
        if settings.choice("curve") != "red" {
            return without("curve", settings.choice("curve"), "\"red\"");
        }
        Ok(Pert {
            layered,
            reno,
            gain_q64: ((1.0 - number("weight")) * (u64::MAX as f64)) as u64, // saturates
            max_probability_q32: fixed(number("max_probability"), 32),
            min_delay_us: fixed(number("min_delay") * 1e6, 0) as u32,
            max_delay_us: fixed(number("max_delay") * 1e6, 0) as u32,
            decrease_q32: share_q32(number("decrease")),
            least_window: number("least_window").round() as u32,
            samples: number("samples").ceil() as u32,
            over,
            clock: match settings.choice("clock") {
                "average" => 1,
                "base" => 2,
                "window" => 3,
                _ => 0,
            },
            by_share: match settings.choice("cut") {
                "share" => 1,
                "inner" => 0,
                _ => u32::from(over == 0),
            },
            below: is(settings, "follow", "below"),
            from_zero: is(settings, "initial", "zero"),
            not_in_slow_start: is(settings, "slow_start", "ignore"),
            literal: is(settings, "ramp", "literal"),
        })
    }
}

impl Parameters {
    /// The load-time data of checked settings.
    ///
    /// # Errors
    ///
    /// [`NoTwin`] if the scheme, or one of its values, has no C twin.
    pub fn new(settings: &Settings) -> Result<Parameters, NoTwin> {
        let scheme = settings.scheme().name;
        let program = program(scheme).ok_or(NoTwin::Scheme { scheme })?;
        (program.parameters)(settings)
    }

    /// The bytes of the struct in memory.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Parameters::Layered(it) => bytemuck::bytes_of(it),
            Parameters::Compound(it) => bytemuck::bytes_of(it),
            Parameters::Pert(it) => bytemuck::bytes_of(it),
            Parameters::None(it) => bytemuck::bytes_of(it),
        }
    }
}
