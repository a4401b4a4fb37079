//! The functions of scripts, and types of traffic that are made of them.

use super::Draw;
use super::law::{Law, Shape};
use crate::spec::{BurstPattern, Late, Number};

/// A function that may stand where a script has a number.
pub struct Function {
    /// Its name in scripts.
    pub name: &'static str,
    /// What it is, with its arguments.
    pub about: &'static str,
    /// Where its numbers are from.
    pub source: &'static str,
    /// Its arguments and their defaults. NaN: there is none. `min` and `max` are arguments of all functions.
    pub parameters: &'static [(&'static str, f64)],
    /// The law, for the values of the parameters. NaN: not given.
    pub build: fn(&[f64]) -> Law,
}

impl Function {
    /// The names of all arguments.
    pub fn arguments(&self) -> Vec<&'static str> {
        self.parameters.iter().map(|&(name, _)| name).chain(["min", "max"]).collect()
    }

    /// The law with these arguments, if it is one.
    pub fn law(&self, given: &[(String, f64)]) -> Option<Law> {
        let value = |name: &str| given.iter().find(|(known, _)| known == name).map(|&(_, value)| value);
        if given.iter().any(|(name, _)| !self.arguments().contains(&name.as_str())) {
            return None;
        }
        let values: Vec<f64> =
            self.parameters.iter().map(|&(name, default)| value(name).unwrap_or(default)).collect();
        let law = (self.build)(&values);
        let (min, max) = (value("min").unwrap_or(law.min), value("max").unwrap_or(law.max));
        Some(law.within(min, max)).filter(Law::is_sound)
    }
}

/// The function of this name.
pub fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|known| known.name == name)
}

/// A type of traffic: bursts whose sizes and times follow a published model.
pub struct TrafficType {
    /// Its name in scripts.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Its bursts; the script sets the duration.
    pub bursts: fn() -> BurstPattern,
}

/// What a script that uses only names says.
fn plain(function: &str) -> Number {
    Number::Drawn(Draw { function: function.to_owned(), arguments: Vec::new() })
}

/// Bursts of drawn sizes and times, none left out.
fn bursts(blocksize: Number, repeats: Number, period: Number) -> BurstPattern {
    BurstPattern { blocksize, repeats, period, duration: 0, late: Late::Queue, buffer: None }
}

/// All functions.
pub const FUNCTIONS: &[Function] = &[
    Function {
        name: "uniform",
        about: "uniform (from=, to=)",
        source: "",
        parameters: &[("from", 0.0), ("to", f64::NAN)],
        build: |it| Law::new(Shape::Uniform(it[0], it[1])),
    },
    Function {
        name: "exponential",
        about: "exponential (mean=), or (lambda=), which is 1 / mean",
        source: "",
        parameters: &[("mean", f64::NAN), ("lambda", f64::NAN)],
        build: |it| Law::new(Shape::Exponential(if it[0].is_nan() { 1.0 / it[1] } else { it[0] })),
    },
    Function {
        name: "normal",
        about: "normal (mean=, deviation=)",
        source: "",
        parameters: &[("mean", f64::NAN), ("deviation", f64::NAN)],
        build: |it| Law::new(Shape::Normal { mean: it[0], deviation: it[1] }),
    },
    Function {
        name: "lognormal",
        about: "lognormal (mu=, sigma=), mean and standard deviation of the natural logarithm",
        source: "",
        parameters: &[("mu", f64::NAN), ("sigma", f64::NAN)],
        build: |it| Law::new(Shape::Lognormal { mu: it[0], sigma: it[1] }),
    },
    Function {
        name: "pareto",
        about: "pareto (mean=, shape=), shape above 1",
        source: "",
        parameters: &[("mean", f64::NAN), ("shape", f64::NAN)],
        // The mean is scale * shape / (shape - 1).
        build: |it| Law::new(Shape::Pareto { scale: it[0] * (it[1] - 1.0) / it[1], shape: it[1] }),
    },
    // FTP, by the names of the tool's own pages.
    Function {
        name: "ftpItemSize",
        about: "size of a file, bytes: truncated log-normal (mu=14.45, sigma=0.35), at most 5 MB",
        source: "3GPP2 C.R1002-0, cdma2000 Evaluation Methodology, 2004, FTP traffic model",
        parameters: &[("mu", 14.45), ("sigma", 0.35)],
        build: |it| Law::new(Shape::Lognormal { mu: it[0], sigma: it[1] }).within(1.0, 5e6),
    },
    Function {
        name: "ftpNOfItems",
        about: "number of files in a session (items=1)",
        source: "3GPP2 C.R1002-0: a session has one file at a time",
        parameters: &[("items", 1.0)],
        build: |it| Law::new(Shape::Fixed(it[0])),
    },
    Function {
        name: "ftpSessionInterarrival",
        about: "time between sessions, us: exponential (mean=180e6), or (lambda=), which is 1 / mean",
        source: "3GPP2 C.R1002-0: the time of reading between files; Paxson and Floyd (1995): FTP sessions \
                 come as a Poisson process",
        parameters: &[("mean", 180e6), ("lambda", f64::NAN)],
        build: |it| Law::new(Shape::Exponential(if it[1].is_nan() { it[0] } else { 1.0 / it[1] })),
    },
    Function {
        name: "gamma",
        about: "gamma (mean=, deviation=)",
        source: "",
        parameters: &[("mean", f64::NAN), ("deviation", f64::NAN)],
        build: |it| {
            let (mean, variance) = (it[0], it[1] * it[1]);
            Law::new(Shape::Gamma { shape: mean * mean / variance, scale: variance / mean })
        },
    },
    Function {
        name: "telnetPktInterarrival",
        about: "time between what somebody types, us: Pareto (shape=0.9, scale=121500), at most a minute",
        source: "Paxson and Floyd, Wide-area traffic: the failure of Poisson modeling, IEEE/ACM ToN 3(3), 1995, \
                 section IV: the body of the times is Pareto with exponent 0.9, and 15 % exceed 1 s, which gives the \
                 scale; the bound is ours, because this law has no mean",
        parameters: &[("shape", 0.9), ("scale", 121_500.0)],
        build: |it| Law::new(Shape::Pareto { scale: it[1], shape: it[0] }).within(0.0, 60e6),
    },
    Function {
        name: "httpMainSize",
        about: "size of a page's main object, bytes: truncated log-normal (mu=8.37, sigma=1.37), 100 B to 2 MB",
        source: "3GPP2 C.R1002-0, HTTP traffic model; the same in IEEE 802.16m-08/004",
        parameters: &[("mu", 8.37), ("sigma", 1.37)],
        build: |it| Law::new(Shape::Lognormal { mu: it[0], sigma: it[1] }).within(100.0, 2e6),
    },
    Function {
        name: "httpEmbeddedSize",
        about: "size of an embedded object, bytes: truncated log-normal (mu=6.17, sigma=2.36), 50 B to 2 MB",
        source: "3GPP2 C.R1002-0, HTTP traffic model; the same in IEEE 802.16m-08/004",
        parameters: &[("mu", 6.17), ("sigma", 2.36)],
        build: |it| Law::new(Shape::Lognormal { mu: it[0], sigma: it[1] }).within(50.0, 2e6),
    },
    Function {
        name: "httpEmbeddedCount",
        about: "number of embedded objects: Pareto (shape=1.1, scale=2), cut at 55, less the scale: 0 to 53",
        source: "3GPP2 C.R1002-0, HTTP traffic model; the same in IEEE 802.16m-08/004",
        parameters: &[("shape", 1.1), ("scale", 2.0)],
        build: |it| Law::new(Shape::CutPareto { shape: it[0], scale: it[1], most: 55.0 }),
    },
    Function {
        name: "httpReadingTime",
        about: "time between pages, us: exponential (mean=30e6)",
        source: "3GPP2 C.R1002-0, HTTP traffic model; the same in IEEE 802.16m-08/004",
        parameters: &[("mean", 30e6)],
        build: |it| Law::new(Shape::Exponential(it[0])),
    },
    Function {
        name: "videoPktSize",
        about: "size of a packet of streamed video, bytes: Pareto (shape=1.2, scale=20), cut at 125",
        source: "3GPP2 C.R1002-0, near real time video: eight packets each 100 ms, 32 kbit/s in the mean",
        parameters: &[("shape", 1.2), ("scale", 20.0)],
        build: |it| Law::new(Shape::CappedPareto { shape: it[0], scale: it[1], most: 125.0 }),
    },
];

/// All types.
pub const TYPES: &[TrafficType] = &[
    TrafficType {
        name: "ftp",
        about: "files one after the other, with a pause between their starts",
        bursts: || bursts(plain("ftpItemSize"), plain("ftpNOfItems"), plain("ftpSessionInterarrival")),
    },
    TrafficType {
        name: "telnet",
        about: "somebody types: single letters",
        bursts: || bursts(Number::Fixed(1), Number::Fixed(1), plain("telnetPktInterarrival")),
    },
    TrafficType {
        name: "http",
        about: "the embedded objects of a page at a time, and the time to read it",
        bursts: || bursts(plain("httpEmbeddedSize"), plain("httpEmbeddedCount"), plain("httpReadingTime")),
    },
    TrafficType {
        name: "video",
        about: "streamed video: ten frames a second of eight packets each",
        bursts: || bursts(plain("videoPktSize"), Number::Fixed(8), Number::Fixed(100_000)),
    },
    TrafficType {
        name: "voice",
        about: "constant bit rate: G.711 in RTP, 160 bytes every 20 ms behind a header of 12 (RFC 3551, RFC 3550)",
        bursts: || bursts(Number::Fixed(172), Number::Fixed(1), Number::Fixed(20_000)),
    },
];
