//! A scheme's settings as its C twin wants them: fixed point, in the layout of the structs in `src/bpf/*.h`.

use ackclock_cc::Settings;
use bytemuck::{Pod, Zeroable};

/// The schemes that have a twin in C, by the engine's names.
pub fn schemes() -> &'static [&'static str] {
    &["layered", "compound", "none"]
}

/// A scheme's load-time data.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Parameters {
    /// `struct ac_layered_parameters`.
    Layered(Layered),
    /// `struct ac_compound_parameters`.
    Compound(Compound),
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

/// `struct ac_none_parameters`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
pub struct Uncontrolled {
    cap: u32,
    reserved: u32,
}

/// `value` with `places` binary places, rounded.
fn fixed(value: f64, places: u32) -> u64 {
    (value * (1u64 << places) as f64).round() as u64
}

impl Parameters {
    /// From checked settings; `None` if the scheme has no twin in C.
    pub fn new(settings: &Settings) -> Option<Parameters> {
        let number = |name| settings.number(name);
        let is = |name, word| u32::from(settings.choice(name) == word);
        match settings.scheme().name {
            "layered" => Some(Parameters::Layered(Layered {
                w_t_q20: fixed(number("w_t"), 20),
                rtt_reference_ns: fixed(number("rtt_reference") * 1e9, 0),
                rtt_exponent_q20: fixed(number("rtt_exponent"), 20) as u32,
                beta_q32: fixed(number("beta"), 32) as u32,
                decrease: match (settings.choice("decrease"), settings.choice("interpolation")) {
                    ("variable", "linear") => 1,
                    ("variable", _) => 2,
                    _ => 0,
                },
                whole_layers: is("layers", "integer"),
                smoothed_rtt: is("min_rtt", "smoothed"),
                tcp_below: is("below_threshold", "tcp"),
            })),
            "compound" => Some(Parameters::Compound(Compound {
                log2_alpha_q24: (libm::log2(number("alpha")) * f64::from(1 << 24)).round() as i64,
                gamma_q20: fixed(number("gamma"), 20),
                lowwnd_q20: fixed(number("lowwnd"), 20),
                k_q20: fixed(number("k"), 20) as u32,
                beta_q32: fixed(number("beta"), 32) as u32,
                zeta_q20: fixed(number("zeta"), 20) as u32,
                samples: number("samples") as u32,
                delta_us: fixed(number("delta") * 1e6, 0) as u32,
                smoothed_rtt: is("mean", "smoothed"),
                gate_loss_window: is("gate", "loss_window"),
                clear_below: is("below_lowwnd", "clear"),
                no_window_reduction: u32::from(!settings.flag("window_reduction")),
                reserved: 0,
            })),
            "none" => Some(Parameters::None(Uncontrolled { cap: number("cap") as u32, reserved: 0 })),
            _ => None,
        }
    }

    /// As they lie in memory.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Parameters::Layered(it) => bytemuck::bytes_of(it),
            Parameters::Compound(it) => bytemuck::bytes_of(it),
            Parameters::None(it) => bytemuck::bytes_of(it),
        }
    }
}
