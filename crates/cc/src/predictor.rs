//! Congestion predictors: what an end host can conclude from its own round-trip times.
//!
//! A controller or a study feeds them one acknowledgement at a time. They have no clock, and use a fixed
//! amount of memory. The study of S. Bhandarkar (dissertation, Texas A&M University, 2006, section IV.A)
//! names most of them and gives few formulas. Each file cites its own source.

mod average;
mod ewma;
mod round;
mod trend;

pub use ewma::Ewma;

use ackclock_units::{Duration, Time};
use average::{Cim, MovingAverage};
use round::{Card, Dual, TriS, Vegas};
use trend::SyncTcp;

/// The state of the host at an acknowledgement with a round-trip time sample.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// The time of the acknowledgement.
    pub now: Time,
    /// The raw round-trip time.
    pub rtt: Duration,
    /// The first unacknowledged segment.
    pub una: u64,
    /// The next new segment to send.
    pub nxt: u64,
    /// The window, segments.
    pub window: f64,
}

/// A predictor: at each acknowledgement it says whether there is congestion.
pub trait Predictor {
    /// True if the predictor sees congestion.
    fn sense(&mut self, at: &Reading) -> bool;
}

/// A round-trip time above which a smoothed or raw sample counts as high.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Threshold {
    /// This much above the smallest sample so far.
    Above(Duration),
    /// An absolute round-trip time.
    At(Duration),
}

/// Options for predictors that use a threshold, or many samples.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The threshold. The study uses 65 ms for a flow of 60 ms.
    pub threshold: Threshold,
    /// The number of samples of the moving average. The study uses the router's buffer, 750 packets.
    pub samples: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { threshold: Threshold::Above(Duration::from_millis(5)), samples: 750 }
    }
}

/// A predictor's entry in the registry.
pub struct Entry {
    /// The name of the predictor.
    pub name: &'static str,
    /// The condition under which it sees congestion.
    pub rule: &'static str,
    /// The source of its definition.
    pub source: &'static str,
    /// Builds a predictor in its initial state.
    pub build: fn(&Options) -> Box<dyn Predictor>,
}

/// All predictors, in the order of the study.
pub fn predictors() -> &'static [Entry] {
    &[
        Entry {
            name: "card",
            rule: "the delay changes in the direction in which the window does",
            source: "Jain, ACM CCR 19(5), 1989",
            build: |_| Box::new(Card::default()),
        },
        Entry {
            name: "tri-s",
            rule: "the throughput gained by a change of the window is under half of the first window's",
            source: "Wang and Crowcroft, ACM CCR 21(1), 1991",
            build: |_| Box::new(TriS::default()),
        },
        Entry {
            name: "dual",
            rule: "the round-trip time is above the middle of the smallest and the largest",
            source: "Wang and Crowcroft, ACM CCR 22(2), 1992",
            build: |_| Box::new(Dual::default()),
        },
        Entry {
            name: "vegas",
            rule: "more than three segments are queued",
            source: "Brakmo and Peterson, IEEE JSAC 13(8), 1995",
            build: |_| Box::new(Vegas::default()),
        },
        Entry {
            name: "cim",
            rule: "the mean of 2 samples is above the mean of 20",
            source: "Martin, Nilsson and Rhee, IEEE/ACM ToN 11(3), 2003; the numbers are ours",
            build: |_| Box::new(Cim::new(2, 20)),
        },
        Entry {
            name: "instant",
            rule: "the sample is above the threshold",
            source: "Bhandarkar 2006, IV.A",
            build: |options| Box::new(High::new(options, Raw)),
        },
        Entry {
            name: "average",
            rule: "the mean of the last 750 samples is above the threshold",
            source: "Bhandarkar 2006, IV.A",
            build: |options| Box::new(High::new(options, MovingAverage::new(options.samples))),
        },
        Entry {
            name: "ewma-7/8",
            rule: "the average of weight 7/8 is above the threshold",
            source: "Bhandarkar 2006, IV.A",
            build: |options| Box::new(High::new(options, Ewma::new(0.875))),
        },
        Entry {
            name: "ewma-0.99",
            rule: "the average of weight 0.99 is above the threshold",
            source: "Bhandarkar 2006, IV.A",
            build: |options| Box::new(High::new(options, Ewma::new(0.99))),
        },
        Entry {
            name: "sync-tcp",
            rule: "the medians of three groups of three averaged delays rise",
            source: "Weigle, Jeffay and Smith, Computer Communications 28(14), 2005; with round-trip times here",
            build: |_| Box::new(SyncTcp::default()),
        },
    ]
}

/// The predictor called `name`.
pub fn predictor(name: &str) -> Option<&'static Entry> {
    predictors().iter().find(|entry| entry.name == name)
}

/// A filter of samples, nanoseconds in and out.
trait Filter {
    fn filtered(&mut self, rtt: Duration) -> f64;
}

/// The sample itself.
struct Raw;

impl Filter for Raw {
    fn filtered(&mut self, rtt: Duration) -> f64 {
        rtt.as_nanos() as f64
    }
}

impl Filter for Ewma {
    fn filtered(&mut self, rtt: Duration) -> f64 {
        self.add(rtt);
        self.nanos()
    }
}

/// Compares a filtered sample with a threshold.
struct High<F> {
    threshold: Threshold,
    smallest: Duration,
    filter: F,
}

impl<F> High<F> {
    fn new(options: &Options, filter: F) -> High<F> {
        High { threshold: options.threshold, smallest: Duration::MAX, filter }
    }
}

impl<F: Filter> Predictor for High<F> {
    fn sense(&mut self, at: &Reading) -> bool {
        self.smallest = self.smallest.min(at.rtt);
        let threshold = match self.threshold {
            Threshold::Above(span) => self.smallest + span,
            Threshold::At(rtt) => rtt,
        };
        self.filter.filtered(at.rtt) > threshold.as_nanos() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Readings with these round-trip times (ms) and windows, one per round trip.
    pub(super) fn readings(samples: &[(u64, f64)]) -> impl Iterator<Item = Reading> + '_ {
        samples.iter().enumerate().map(|(at, &(ms, window))| {
            let at = at as u64;
            let now = Time::from_nanos(at * 100_000_000);
            Reading { now, rtt: Duration::from_millis(ms), una: 100 * at, nxt: 100 * at + 99, window }
        })
    }

    pub(super) fn says(predictor: &mut dyn Predictor, samples: &[(u64, f64)]) -> Vec<bool> {
        readings(samples).map(|reading| predictor.sense(&reading)).collect()
    }

    #[test]
    fn the_instantaneous_one_compares_with_its_threshold() {
        let samples = [(60, 1.0), (65, 1.0), (66, 1.0), (64, 1.0)];
        let mut above = (predictor("instant").expect("it is there").build)(&Options::default());
        assert_eq!(says(&mut *above, &samples), [false, false, true, false]);
        let at = Options { threshold: Threshold::At(Duration::from_millis(63)), ..Options::default() };
        let mut absolute = (predictor("instant").expect("it is there").build)(&at);
        assert_eq!(says(&mut *absolute, &samples), [false, true, true, true]);
    }

    #[test]
    fn the_longer_the_memory_the_later_it_notices() {
        let samples: Vec<_> = (0..3000).map(|at| (if at < 1000 { 60 } else { 90 }, 10.0)).collect();
        let first = |name: &str| {
            let mut one = (predictor(name).expect("it is there").build)(&Options::default());
            says(&mut *one, &samples).iter().position(|&high| high)
        };
        // 30 (1 - 7/8^n) > 5 at n = 2; 30 (1 - 0.99^n) at n = 19; 30 n / 750 at n = 126.
        assert_eq!(first("instant"), Some(1000));
        assert_eq!(first("ewma-7/8"), Some(1001));
        assert_eq!(first("ewma-0.99"), Some(1018));
        assert_eq!(first("average"), Some(1125));
    }

    #[test]
    fn names_are_unique() {
        for (at, one) in predictors().iter().enumerate() {
            assert!(predictors()[..at].iter().all(|other| other.name != one.name), "{}", one.name);
        }
    }

    proptest! {
        /// On a path with a constant delay no predictor sees congestion. No predictor panics, whatever the
        /// samples are.
        #[test]
        fn a_constant_delay_is_no_congestion(ms in 1u64..1000, windows in prop::collection::vec(1.0f64..1e4, 1..200)) {
            for entry in predictors() {
                let samples: Vec<_> = windows.iter().map(|&window| (ms, window)).collect();
                let mut one = (entry.build)(&Options::default());
                let expects_queue = entry.name == "tri-s"; // it looks at throughput, not at delay
                if !expects_queue {
                    prop_assert!(!says(&mut *one, &samples).contains(&true), "{}", entry.name);
                }
            }
        }

        #[test]
        fn any_samples_are_taken(samples in prop::collection::vec((0u64..10_000, 0.0f64..1e9), 1..300)) {
            for entry in predictors() {
                let mut one = (entry.build)(&Options { samples: 3, ..Options::default() });
                says(&mut *one, &samples);
            }
        }
    }
}
