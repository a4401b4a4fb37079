//! Congestion predictors: what an end host can conclude from its own round-trip times.
//!
//! Parts that a controller or a study feeds one acknowledgement at a time. None has a clock, none needs more than a fixed
//! amount of memory. The study of S. Bhandarkar (dissertation, Texas A&M University, 2006, section IV.A) names most of them and
//! gives the formulas of few; each file cites where its own comes from.

mod average;
mod ewma;
mod round;
mod trend;

pub use ewma::Ewma;

use ackclock_units::{Duration, Time};
use average::{Cim, MovingAverage};
use round::{Card, Dual, TriS, Vegas};
use trend::SyncTcp;

/// What a host knows at an acknowledgement that gave a sample.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// When.
    pub now: Time,
    /// The raw round-trip time.
    pub rtt: Duration,
    /// First unacknowledged segment.
    pub una: u64,
    /// Next new segment to send.
    pub nxt: u64,
    /// The window, segments.
    pub window: f64,
}

/// Something that says at each acknowledgement whether there is congestion.
pub trait Predictor {
    /// Is there?
    fn sense(&mut self, at: &Reading) -> bool;
}

/// A round-trip time above which a smoothed or raw sample is high.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Threshold {
    /// So much above the smallest sample so far.
    Above(Duration),
    /// This round-trip time.
    At(Duration),
}

/// What the predictors that compare with a threshold, or with many samples, need to know.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The threshold; the study's is 65 ms for a flow of 60 ms.
    pub threshold: Threshold,
    /// Samples of the moving average; the study's is the router's buffer, 750 packets.
    pub samples: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { threshold: Threshold::Above(Duration::from_millis(5)), samples: 750 }
    }
}

/// A predictor's entry.
pub struct Entry {
    /// Its word.
    pub name: &'static str,
    /// What makes it say that there is congestion.
    pub rule: &'static str,
    /// Where its definition comes from.
    pub source: &'static str,
    /// A fresh one.
    pub build: fn(&Options) -> Box<dyn Predictor>,
}

/// Every predictor, in the order of the study.
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

/// A filtered sample against a threshold.
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

    /// Readings of these round-trip times, in milliseconds, one per round trip with these windows.
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
        /// On a path whose delay never changes nobody sees congestion, and nobody panics whatever the samples are.
        #[test]
        fn a_constant_delay_is_no_congestion(ms in 1u64..1000, windows in prop::collection::vec(1.0f64..1e4, 1..200)) {
            for entry in predictors() {
                let samples: Vec<_> = windows.iter().map(|&window| (ms, window)).collect();
                let mut one = (entry.build)(&Options::default());
                let expects_queue = entry.name == "tri-s"; // looks at throughput, not at delay
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
