//! Variants of XRTP: once per round trip the losses change alpha (A), the estimate (C), both (B) or nothing
//! (N).
//!
//! Source: S. Gaonkar, M.S. thesis, University of Illinois, 2003, section 5.4, Figures 5.5 and 5.6.
//!
//! What differs: the bounds of alpha are not stated: here the least is the initial alpha and the highest a
//! setting. Round trips in which no packet arrived do not count. B never exceeds the estimate of today.

use ackclock_units::{Duration, Time};

/// Which variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    /// Neither changes.
    N,
    /// The weight of the old rate changes.
    A,
    /// The estimate of the available bandwidth changes.
    C,
    /// Both change.
    B,
}

/// The state of a variant.
#[derive(Clone, Debug)]
pub struct Adaptation {
    variant: Variant,
    /// a and b, the bounds of alpha.
    bounds: (f64, f64),
    alpha: f64,
    /// C and B, bit/s.
    capacity: Option<f64>,
    share: f64,
    /// Losses of this round trip, and its end.
    losses: u64,
    end: Option<Time>,
}

impl Adaptation {
    /// A variant whose alpha begins at `alpha`, its least value, and never exceeds `most`.
    pub fn new(variant: Variant, alpha: f64, most: f64) -> Adaptation {
        let bounds = (alpha, most.max(alpha));
        Adaptation { variant, bounds, alpha, capacity: None, share: 0.0, losses: 0, end: None }
    }

    /// The weight of the old rate.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// B, the estimate of the available bandwidth, bit/s; zero before the first estimate of the capacity.
    /// `None` for variants that do not use it.
    pub fn share(&self) -> Option<f64> {
        matches!(self.variant, Variant::C | Variant::B).then_some(self.share)
    }

    /// The filter gave the estimate `capacity`, bit/s. Returns the rate to rise towards.
    pub fn on_estimate(&mut self, capacity: f64) -> f64 {
        self.share = if self.capacity.is_none() { capacity } else { self.share.min(capacity) };
        self.capacity = Some(capacity);
        if matches!(self.variant, Variant::C | Variant::B) { self.share } else { capacity }
    }

    /// A loss that counts.
    pub fn on_loss(&mut self) {
        self.losses += 1;
    }

    /// A packet arrived at `now`. Ends the round trip if `srtt` has passed.
    pub fn on_packet(&mut self, now: Time, srtt: Duration) {
        let end = *self.end.get_or_insert(now + srtt);
        if now < end {
            return;
        }
        self.end = Some(now + srtt);
        let losses = std::mem::take(&mut self.losses);
        if matches!(self.variant, Variant::A | Variant::B) {
            self.alpha = match losses {
                0 => (self.alpha + self.bounds.0) / 2.0,
                1 => self.alpha,
                _ => (self.alpha + self.bounds.1) / 2.0,
            };
        }
        if let Some(capacity) = self.capacity {
            self.share = match losses {
                0 => capacity.min(2.0 * self.share),
                1 => self.share,
                _ => self.share / 2.0,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Alpha and the target after round trips with so many losses.
    fn after(variant: Variant, losses: &[u64]) -> (f64, f64) {
        let mut it = Adaptation::new(variant, 0.8, 0.99);
        let rtt = Duration::from_millis(100);
        let mut now = Time::ZERO;
        it.on_estimate(2e6);
        it.on_packet(now, rtt);
        for &count in losses {
            (0..count).for_each(|_| it.on_loss());
            it.on_packet(now + Duration::from_millis(99), rtt); // not yet
            now += rtt;
            it.on_packet(now, rtt);
        }
        (it.alpha(), it.on_estimate(2e6))
    }

    #[test]
    fn losses_of_a_round_trip_decide() {
        let close = |(alpha, target): (f64, f64), wanted: (f64, f64)| {
            assert!((alpha - wanted.0).abs() < 1e-12 && (target - wanted.1).abs() < 1e-6, "{alpha} {target}");
        };
        close(after(Variant::N, &[2, 2]), (0.8, 2e6));
        close(after(Variant::A, &[2]), (0.895, 2e6));
        close(after(Variant::A, &[2, 1, 3]), (0.9425, 2e6));
        close(after(Variant::A, &[2, 0]), (0.8475, 2e6));
        close(after(Variant::C, &[2, 5]), (0.8, 0.5e6));
        close(after(Variant::C, &[2, 5, 1, 0, 0, 0]), (0.8, 2e6));
        close(after(Variant::B, &[2]), (0.895, 1e6));
    }

    #[test]
    fn the_share_follows_an_estimate_that_falls() {
        let mut it = Adaptation::new(Variant::C, 0.8, 0.99);
        assert_eq!([2e6, 1e6, 2e6].map(|estimate| it.on_estimate(estimate)), [2e6, 1e6, 1e6]);
    }
}
