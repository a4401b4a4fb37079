//! The delay-based rate: additive or multiplicative increase, multiplicative decrease.
//!
//! Source: draft-ietf-rmcat-gcc-02 section 5.5.
//!
//! What differs: a decrease is made once, and the state is Hold then, as in libwebrtc; a further one comes no
//! sooner than a response time later. The draft does not say how the deviation of the average maximum is
//! computed. Here, as in libwebrtc, it is the root of a variance per kbit/s between 0.4 and 2.5.

use super::detector::Signal;
use crate::law::Limits;
use ackclock_units::{Duration, Time};

/// Smoothing of the average maximum: the share of the new value.
const SMOOTHING: f64 = 0.05;
/// The rate is at most this much above what arrives.
const ABOVE: f64 = 1.5;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Hold,
    Increase,
}

/// The average of the rates at which over-use was found, and their variance, kbit/s.
#[derive(Clone, Copy, Debug)]
struct Maximum {
    mean: f64,
    variance: f64,
}

impl Maximum {
    fn deviation(&self) -> f64 {
        libm::sqrt(self.variance * self.mean)
    }
}

/// The delay-based rate.
#[derive(Clone, Debug)]
pub struct Aimd {
    /// beta
    decrease: f64,
    /// eta, per second.
    increase: f64,
    limits: Limits,
    state: State,
    /// A(i), bit/s.
    rate: f64,
    maximum: Option<Maximum>,
    updated: Option<Time>,
    decreased: Option<Time>,
}

impl Aimd {
    /// From `rate` bit/s on, times `decrease` on over-use, times `increase` per second else.
    pub fn new(rate: f64, decrease: f64, increase: f64, limits: Limits) -> Aimd {
        let rate = limits.hold(rate);
        let (maximum, updated, decreased) = (None, None, None);
        Aimd { decrease, increase, limits, state: State::Increase, rate, maximum, updated, decreased }
    }

    /// A, bit/s.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Sets A, bit/s.
    pub fn set(&mut self, rate: f64) {
        self.rate = self.limits.hold(rate);
    }

    /// The path shows `signal` at `now`, and `incoming` bit/s arrive.
    pub fn on_signal(&mut self, now: Time, signal: Signal, incoming: Option<f64>, rtt: Duration) {
        let incoming = incoming.unwrap_or(self.rate);
        let response = Duration::from_millis(100) + rtt;
        match signal {
            Signal::Over => {
                self.state = State::Hold;
                if self.decreased.is_none_or(|at| now.since(at) >= response) {
                    self.decreased = Some(now);
                    self.set((self.decrease * incoming).min(self.rate));
                    self.remember(incoming / 1000.0);
                }
            }
            Signal::Under => self.state = State::Hold,
            Signal::Normal if self.state == State::Hold => self.state = State::Increase,
            Signal::Normal => self.grow(now, incoming, response),
        }
        self.updated = Some(now);
    }

    fn grow(&mut self, now: Time, incoming: f64, response: Duration) {
        let Some(updated) = self.updated else { return };
        let seconds = now.since(updated).as_secs_f64();
        let next = if self.is_near(incoming / 1000.0) {
            let share = (seconds / response.as_secs_f64()).min(1.0);
            self.rate + (0.5 * share * self.expected_bits()).max(1000.0 * share)
        } else {
            self.rate * libm::pow(self.increase, seconds.min(1.0))
        };
        self.set(next.min(ABOVE * incoming).max(self.rate));
    }

    /// The bits of an expected packet: 30 frames per second, packets of 1200 bytes.
    fn expected_bits(&self) -> f64 {
        let frame = self.rate / 30.0;
        frame / libm::ceil(frame / (1200.0 * 8.0)).max(1.0)
    }

    /// True if `incoming` kbit/s are within three deviations of the average maximum. What is above that
    /// forgets the maximum.
    fn is_near(&mut self, incoming: f64) -> bool {
        let Some(maximum) = self.maximum else { return false };
        let far = 3.0 * maximum.deviation();
        if incoming > maximum.mean + far {
            self.maximum = None;
        }
        (incoming - maximum.mean).abs() <= far
    }

    fn remember(&mut self, incoming: f64) {
        let maximum = self.maximum.get_or_insert(Maximum { mean: incoming, variance: 0.4 });
        let error = incoming - maximum.mean;
        maximum.mean += SMOOTHING * error;
        let variance = error * error / maximum.mean.max(1.0);
        maximum.variance = ((1.0 - SMOOTHING) * maximum.variance + SMOOTHING * variance).clamp(0.4, 2.5);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { least: 1e4, most: 1e11 };
    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn eight_percent_per_second_and_at_most_half_above_what_arrives() {
        let mut aimd = Aimd::new(1e6, 0.85, 1.08, LIMITS);
        (0..=10).for_each(|step| aimd.on_signal(at(100 * step), Signal::Normal, Some(1e6), RTT));
        assert!((aimd.rate() - 1.08e6).abs() < 1.0, "{}", aimd.rate());
        (11..=200).for_each(|step| aimd.on_signal(at(100 * step), Signal::Normal, Some(1e6), RTT));
        assert_eq!(aimd.rate(), 1.5e6);
        aimd.on_signal(at(20_100), Signal::Normal, Some(1e5), RTT); // the limit never lowers it
        assert_eq!(aimd.rate(), 1.5e6);
    }

    #[test]
    fn a_decrease_is_made_once_and_additive_increase_follows() {
        let mut aimd = Aimd::new(2e6, 0.85, 1.08, LIMITS);
        aimd.on_signal(at(0), Signal::Over, Some(1.9e6), RTT);
        assert_eq!(aimd.rate(), 0.85 * 1.9e6);
        aimd.on_signal(at(100), Signal::Over, Some(1.7e6), RTT);
        assert_eq!(aimd.rate(), 0.85 * 1.9e6);
        aimd.on_signal(at(200), Signal::Over, Some(1.7e6), RTT);
        assert_eq!(aimd.rate(), 0.85 * 1.7e6);
        aimd.on_signal(at(210), Signal::Under, Some(1.6e6), RTT);
        aimd.on_signal(at(220), Signal::Normal, Some(1.9e6), RTT); // Hold becomes Increase
        assert_eq!(aimd.rate(), 0.85 * 1.7e6);
        // Half a packet of 1445000 / 30 / 6 bits in a response time of 200 ms.
        aimd.on_signal(at(320), Signal::Normal, Some(1.88e6), RTT);
        assert!((aimd.rate() - (1.445e6 + 0.25 * 1.445e6 / 180.0)).abs() < 1.0, "{}", aimd.rate());
        // Far above the average maximum: the path has changed.
        aimd.on_signal(at(420), Signal::Normal, Some(4e6), RTT);
        assert!(aimd.rate() > 1.455e6);
        assert!(aimd.maximum.is_none());
    }
}
