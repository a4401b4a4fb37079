//! The functions of scripts, and types of traffic that are made of them.

use super::Draw;
use super::law::{Law, Shape};
use crate::spec::{BurstPattern, Late, Number, Opening};

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
    BurstPattern {
        blocksize,
        repeats,
        period,
        duration: 0,
        late: Late::Queue,
        buffer: None,
        opening: None,
        apart: None,
        gaps: false,
    }
}

/// The same, where the period is the time that somebody takes between two bursts.
fn with_gaps(blocksize: Number, repeats: Number, period: Number) -> BurstPattern {
    BurstPattern { gaps: true, ..bursts(blocksize, repeats, period) }
}

/// The shares of the frames of a group: one I frame, and eleven P and B frames. The trace has groups of 12, a
/// coefficient of variation of 0.47 of groups and of 0.59 of frames. With an I frame of `a` times the mean
/// and others of `b` times, a + 11 b = 12 and (a^2 + 11 b^2) / 12 = (1 + 0.59^2) / (1 + 0.47^2).
const MPEG_SHARES: &[f64] =
    &[2.0705 / 12.0, OTHER, OTHER, OTHER, OTHER, OTHER, OTHER, OTHER, OTHER, OTHER, OTHER, OTHER];
const OTHER: f64 = (12.0 - 2.0705) / 11.0 / 12.0;

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
        source: "3GPP2 C.R1002-0, cdma2000 Evaluation Methodology, 2004, FTP traffic model; the same in NGMN, Radio \
                 Access Performance Evaluation Methodology, 2008, as ns-3's TrafficGeneratorNgmnFtpMulti has it",
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
        source: "3GPP2 C.R1002-0: the time of reading, from the end of a file to the next; the same in NGMN (2008); \
                 Paxson and Floyd (1995): FTP sessions come as a Poisson process",
        parameters: &[("mean", 180e6), ("lambda", f64::NAN)],
        build: |it| Law::new(Shape::Exponential(if it[1].is_nan() { it[0] } else { 1.0 / it[1] })),
    },
    Function {
        name: "weibull",
        about: "weibull (scale=, shape=)",
        source: "",
        parameters: &[("scale", f64::NAN), ("shape", f64::NAN)],
        build: |it| Law::new(Shape::Weibull { scale: it[0], shape: it[1] }),
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
        source: "3GPP2 C.R1002-0, HTTP traffic model; the same in IEEE 802.16m-08/004; ns-3's ThreeGppHttpVariables: \
                 mean 10,710 B, standard deviation 25,032 B, the same bounds",
        parameters: &[("mu", 8.37), ("sigma", 1.37)],
        build: |it| Law::new(Shape::Lognormal { mu: it[0], sigma: it[1] }).within(100.0, 2e6),
    },
    Function {
        name: "httpEmbeddedSize",
        about: "size of an embedded object, bytes: truncated log-normal (mu=6.17, sigma=2.36), 50 B to 2 MB",
        source: "3GPP2 C.R1002-0, HTTP traffic model; the same in IEEE 802.16m-08/004; ns-3's ThreeGppHttpVariables: \
                 mean 7,758 B, standard deviation 126,168 B, the same bounds",
        parameters: &[("mu", 6.17), ("sigma", 2.36)],
        build: |it| Law::new(Shape::Lognormal { mu: it[0], sigma: it[1] }).within(50.0, 2e6),
    },
    Function {
        name: "httpEmbeddedCount",
        about: "number of embedded objects: Pareto (shape=1.1, scale=2), cut at 55, less the scale: 0 to 53",
        source: "3GPP2 C.R1002-0, HTTP traffic model; the same in IEEE 802.16m-08/004. Its mean of 5.64 is that of \
                 values cut at 55; ns-3 draws what is above again, which gives 3.95",
        parameters: &[("shape", 1.1), ("scale", 2.0)],
        build: |it| Law::new(Shape::CutPareto { shape: it[0], scale: it[1], most: 55.0 }),
    },
    Function {
        name: "httpParsingTime",
        about: "time from a page's main object to the embedded ones, us: exponential (mean=130e3)",
        source: "3GPP2 C.R1002-0, HTTP traffic model; the same in IEEE 802.16m-08/004 and in ns-3",
        parameters: &[("mean", 130e3)],
        build: |it| Law::new(Shape::Exponential(it[0])),
    },
    Function {
        name: "httpReadingTime",
        about: "time from the end of a page to the next one, us: exponential (mean=30e6)",
        source: "3GPP2 C.R1002-0, HTTP traffic model; the same in IEEE 802.16m-08/004 and in ns-3",
        parameters: &[("mean", 30e6)],
        build: |it| Law::new(Shape::Exponential(it[0])),
    },
    Function {
        name: "videoPktSize",
        about: "size of a packet of streamed video, bytes: Pareto (shape=1.2, scale=20), cut at 125",
        source: "3GPP2 C.R1002-0, near real time video: eight packets each 100 ms, 32 kbit/s in the mean; NGMN \
                 (2008) and IEEE 802.16m-08/004 have twice the size and the cut",
        parameters: &[("shape", 1.2), ("scale", 20.0)],
        build: |it| Law::new(Shape::CappedPareto { shape: it[0], scale: it[1], most: 125.0 }),
    },
    Function {
        name: "videoPktInterarrival",
        about: "time between the packets of a frame of streamed video, us: Pareto (shape=1.2, scale=2500), cut at \
                12500",
        source: "3GPP2 C.R1002-0, near real time video: 6 ms in the mean; the same in NGMN (2008) and IEEE \
                 802.16m-08/004",
        parameters: &[("shape", 1.2), ("scale", 2500.0)],
        build: |it| Law::new(Shape::CappedPareto { shape: it[0], scale: it[1], most: 12_500.0 }),
    },
    Function {
        name: "mpegFrameSize",
        about: "size of a frame of MPEG-4 video, bytes: groups of 12 frames have a log-normal size together \
                (mean=46000, deviation=21620); the I frame that begins one has 2.07 times the mean frame",
        source: "F. Fitzek and M. Reisslein, MPEG-4 and H.263 video traces for network performance evaluation, IEEE \
                 Network 15(6), 2001: Jurassic Park in high quality, by the statistics of the trace library of Arizona \
                 State University: 25 frames a second, groups of 46 kB with a coefficient of variation of 0.47, frames \
                 with one of 0.59. Its extremes of groups, 2105 and 144,732 bytes, are no bounds here, which would \
                 change these. The log-normal law: Krunz and Tripathi (1997), for scenes",
        parameters: &[("mean", 46_000.0), ("deviation", 21_620.0)],
        build: |it| {
            // Mean m and coefficient of variation c: sigma^2 = ln(1 + c^2), mu = ln m - sigma^2 / 2.
            let variance = libm::log(1.0 + it[1] * it[1] / (it[0] * it[0]));
            let mu = libm::log(it[0]) - variance / 2.0;
            let shape = Shape::Lognormal { mu, sigma: libm::sqrt(variance) };
            Law::new(shape).shared(MPEG_SHARES)
        },
    },
    Function {
        name: "videoconferenceFrameSize",
        about: "size of a frame of a video conference, bytes: Weibull (scale=6950, shape=0.8099)",
        source: "IEEE 802.11-14/0571r12, 11ax Evaluation Methodology, table 5 (BV1, 2 Mbit/s), which its video \
                 conference uses in both directions; the same in ns-3's TgaxVideoTraffic",
        parameters: &[("scale", 6950.0), ("shape", 0.8099)],
        build: |it| Law::new(Shape::Weibull { scale: it[0], shape: it[1] }).within(1.0, f64::INFINITY),
    },
];

/// All types.
pub const TYPES: &[TrafficType] = &[
    TrafficType {
        name: "ftp",
        about: "files one after the other, with a pause between them",
        bursts: || with_gaps(plain("ftpItemSize"), plain("ftpNOfItems"), plain("ftpSessionInterarrival")),
    },
    TrafficType {
        name: "telnet",
        about: "somebody types: single letters",
        bursts: || bursts(Number::Fixed(1), Number::Fixed(1), plain("telnetPktInterarrival")),
    },
    TrafficType {
        name: "http",
        about: "pages: the main object, the time to parse it, all embedded objects, and the time to read the page",
        bursts: || BurstPattern {
            opening: Some(Box::new(Opening { size: plain("httpMainSize"), pause: plain("httpParsingTime") })),
            ..with_gaps(plain("httpEmbeddedSize"), plain("httpEmbeddedCount"), plain("httpReadingTime"))
        },
    },
    TrafficType {
        name: "video",
        about: "streamed video: ten frames a second of eight packets each",
        bursts: || BurstPattern {
            apart: Some(Box::new(plain("videoPktInterarrival"))),
            ..bursts(plain("videoPktSize"), Number::Fixed(8), Number::Fixed(100_000))
        },
    },
    TrafficType {
        name: "mpeg",
        about: "MPEG-4 video with groups of pictures: 25 frames a second",
        bursts: || bursts(plain("mpegFrameSize"), Number::Fixed(1), Number::Fixed(40_000)),
    },
    TrafficType {
        name: "videoconference",
        about: "one direction of a video conference of 2 Mbit/s: a frame of 7806 bytes in the mean every 31.225 ms",
        bursts: || bursts(plain("videoconferenceFrameSize"), Number::Fixed(1), Number::Fixed(31_225)),
    },
    TrafficType {
        name: "voice",
        about: "constant bit rate: G.711 in RTP, 160 bytes every 20 ms behind a header of 12 (RFC 3551, RFC 3550)",
        bursts: || bursts(Number::Fixed(172), Number::Fixed(1), Number::Fixed(20_000)),
    },
];
