//! Seeded random streams, one per element. Adding an element never changes the draws of another one.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cell::Cell;

thread_local! {
    /// True once a number was drawn in this thread.
    static DRAWN: Cell<bool> = const { Cell::new(false) };
}

/// A stream of pseudo-random numbers that belongs to one element of a run.
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// Runs `inside`, and says whether a number was drawn in this thread meanwhile. Without any, another seed
    /// gives the same results.
    pub fn watched<T>(inside: impl FnOnce() -> T) -> (T, bool) {
        let before = DRAWN.replace(false);
        let result = inside();
        let drawn = DRAWN.replace(before);
        DRAWN.set(before || drawn);
        (result, drawn)
    }

    /// A number was drawn in another thread that works for this one.
    pub fn note_drawn() {
        DRAWN.set(true);
    }

    /// The stream of the element called `name` in a run with this `seed`.
    pub fn new(seed: u64, name: &str) -> Rng {
        // FNV-1a hashes the name. The generator's own seeding (SplitMix64) does the rest.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Rng(Xoshiro256PlusPlus::seed_from_u64(hash ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// A uniform number in [0, 1).
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        DRAWN.set(true);
        // The 53 highest bits fill a double's significand.
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// A uniform 64-bit word.
    pub fn word(&mut self) -> u64 {
        DRAWN.set(true);
        self.0.next_u64()
    }

    /// A word that tells its element from others, and does not count as drawn: nothing depends on it but
    /// hashes with a salt, which is.
    pub fn identity(mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform number in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// An exponential random number with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }

    /// A standard normal random number (Box and Muller, 1958). The second number of each pair is not used.
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.uniform()));
        radius * libm::cos(2.0 * std::f64::consts::PI * self.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_is_seen() {
        let draw = || Rng::new(1, "a").uniform();
        assert!(!Rng::watched(|| Rng::new(1, "a").identity()).1);
        assert!(Rng::watched(draw).1 && Rng::watched(|| Rng::new(1, "a").word()).1);
        // A look inside another one takes nothing from it.
        assert!(Rng::watched(|| (Rng::watched(draw), Rng::watched(|| ()).1)).1);
        assert!(!Rng::watched(|| ()).1);
    }

    #[test]
    fn streams_differ_by_seed_and_by_name_and_repeat() {
        let first = |seed, name| Rng::new(seed, name).uniform();
        assert_eq!(first(1, "a"), first(1, "a"));
        assert_ne!(first(1, "a"), first(2, "a"));
        assert_ne!(first(1, "a"), first(1, "b"));
    }

    #[test]
    fn uniform_has_the_right_mean() {
        let mut stream = Rng::new(7, "mean");
        let mean = (0..100_000).map(|_| stream.uniform()).sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
    }
}
