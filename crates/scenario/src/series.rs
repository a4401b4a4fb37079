//! The samples of the probes. They are written and read back without losing a bit.

use crate::measured::sorted;
use ackclock_units::Time;
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// The samples of the probes, at a fixed interval from time zero on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The time of each sample.
    #[serde(with = "nanoseconds")]
    pub at: Vec<Time>,
    /// Per flow: one sample per time.
    pub flows: Vec<Vec<Sample>>,
    /// Per link: packets waiting, and the rate carried since the last sample, bit/s.
    pub links: Vec<Vec<(u32, f32)>>,
    /// Per stream: the rate delivered since the last sample, bit/s.
    pub streams: Vec<Vec<f32>>,
    /// Per flow: the names of the controller's own variables (for example a layered flow's layer), and their
    /// values, sample by sample.
    #[serde(with = "variables")]
    pub inner: Vec<(Vec<String>, Vec<f32>)>,
}

impl Series {
    /// Sorts the flows: entry n was sampled at the flow number `numbers[n]`.
    #[must_use]
    pub fn in_order(mut self, numbers: &[u32]) -> Series {
        self.flows = sorted(self.flows, numbers);
        self.inner = sorted(self.inner, numbers);
        self
    }
}

/// A sample of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "[Exact; 6]", from = "[Exact; 6]")]
pub struct Sample {
    /// Congestion window, segments.
    pub cwnd: f32,
    /// Slow-start threshold, segments; infinite before the first reduction.
    pub ssthresh: f32,
    /// Smoothed round-trip time, seconds.
    pub srtt_s: f32,
    /// Segments in flight.
    pub in_flight: f32,
    /// Segments delivered in order since the last sample.
    pub delivered: f32,
    /// Segments that reached the receiver since the last sample, duplicates included.
    pub arrived: f32,
}

/// A moment of a run in real time, for who watches it: a probe has looked at a flow or a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Glimpse {
    /// A flow.
    Flow {
        /// Its number.
        flow: usize,
        /// When it was due.
        at: Time,
        /// What was seen.
        sample: Sample,
    },
    /// A link.
    Link {
        /// Its number.
        link: usize,
        /// When it was due.
        at: Time,
        /// Packets that wait.
        waiting: u32,
        /// The rate carried since the last look, bit/s.
        rate: f32,
    },
}

impl From<Sample> for [Exact; 6] {
    fn from(s: Sample) -> [Exact; 6] {
        [s.cwnd, s.ssthresh, s.srtt_s, s.in_flight, s.delivered, s.arrived].map(Exact)
    }
}

impl From<[Exact; 6]> for Sample {
    fn from(values: [Exact; 6]) -> Sample {
        let [cwnd, ssthresh, srtt_s, in_flight, delivered, arrived] = values.map(|Exact(value)| value);
        Sample { cwnd, ssthresh, srtt_s, in_flight, delivered, arrived }
    }
}

/// A float that JSON keeps even if it has no number for it: "inf", "-inf" and "NaN" become texts.
struct Exact(f32);

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() { to.serialize_f32(self.0) } else { to.collect_str(&self.0) }
    }
}

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Exact, D::Error> {
        from.deserialize_any(ExactVisitor)
    }
}

struct ExactVisitor;

impl Visitor<'_> for ExactVisitor {
    type Value = Exact;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, \"inf\", \"-inf\" or \"NaN\"")
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Exact, E> {
        Ok(Exact(value as f32))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Exact, E> {
        Ok(Exact(value as f32))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Exact, E> {
        Ok(Exact(value as f32))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Exact, E> {
        text.parse().map(Exact).map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

mod nanoseconds {
    use super::*;

    pub(super) fn serialize<S: Serializer>(times: &[Time], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(times.iter().map(|time| time.as_nanos()))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Time>, D::Error> {
        Ok(Vec::<u64>::deserialize(from)?.into_iter().map(Time::from_nanos).collect())
    }
}

mod variables {
    use super::*;

    type Variables = Vec<(Vec<String>, Vec<f32>)>;

    pub(super) fn serialize<S: Serializer>(
        all: &[(Vec<String>, Vec<f32>)],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(
            all.iter().map(|(names, values)| (names, values.iter().copied().map(Exact).collect::<Vec<_>>())),
        )
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Variables, D::Error> {
        let all = Vec::<(Vec<String>, Vec<Exact>)>::deserialize(from)?;
        Ok(all
            .into_iter()
            .map(|(names, values)| (names, values.into_iter().map(|Exact(value)| value).collect()))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn there_and_back(series: &Series) -> Series {
        let text = serde_json::to_string(series).expect("a series can be written");
        serde_json::from_str(&text).expect("and read back")
    }

    proptest! {
        #[test]
        fn nothing_is_lost(bits in prop::collection::vec(any::<u32>(), 6)) {
            let values: Vec<f32> = bits.iter().map(|&bits| f32::from_bits(bits)).collect();
            let sample = Sample {
                cwnd: values[0], ssthresh: values[1], srtt_s: values[2], in_flight: values[3], delivered: values[4],
                arrived: values[5],
            };
            let series = Series {
                at: vec![Time::from_nanos(u64::from(bits[0]))],
                flows: vec![vec![sample]],
                inner: vec![(vec!["x".to_owned()], values)],
                ..Series::default()
            };
            // NaN is not equal to itself. As a text it is.
            prop_assert_eq!(format!("{:?}", there_and_back(&series)), format!("{series:?}"));
        }
    }

    #[test]
    fn infinity_stays_infinite() {
        let sample = Sample { ssthresh: f32::INFINITY, cwnd: 10.0, ..Sample::default() };
        let series = Series { flows: vec![vec![sample]], ..Series::default() };
        assert_eq!(there_and_back(&series), series);
    }
}
