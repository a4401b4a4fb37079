//! Loss that does not depend on the queue: independent loss, chosen packets, every n-th packet, or bursts.
//!
//! Sources of the burst models: E. N. Gilbert, "Capacity of a Burst-Noise Channel", 1960, and E. O. Elliott,
//! "Estimates of Error Rates for Codes on Burst-Noise Channels", 1963 (a Markov chain of two states that
//! moves with every packet); the two-state error models of ns-2 (exponential periods with and without
//! errors).

use crate::{Rng, Share};
use ackclock_units::{Duration, Time};

/// A loss model: decides which packets are lost.
#[derive(Clone, Debug)]
pub struct Loss(Pattern);

#[derive(Clone, Debug)]
enum Pattern {
    /// Each packet is lost with the same probability, independently.
    Share(Share),
    /// Packets that pass before the next chosen one, and the gaps after it.
    Chosen(u64, std::vec::IntoIter<u64>),
    /// Packets that pass before the next loss, and the number of packets between two losses.
    Periodic(u64, u64),
    /// A Markov chain of two states.
    Gilbert(Gilbert),
    /// Alternating periods with and without errors.
    Periods(Periods),
}

#[derive(Clone, Debug)]
struct Gilbert {
    /// The probability of leaving the good state, and of leaving the bad state.
    change: [f64; 2],
    /// The probability of a loss in the good state, and in the bad state.
    loss: [f64; 2],
    bad: bool,
    stream: Rng,
}

/// The length of a period.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Span {
    /// A time.
    Time(Duration),
    /// A number of offered packets.
    Packets(f64),
}

#[derive(Clone, Debug)]
struct Periods {
    /// The mean length of a period without errors, and of one with errors, in seconds or packets.
    mean: [f64; 2],
    /// The number of packets offered so far, if periods are counted in packets.
    packets: Option<u64>,
    /// The clock at the last packet (seconds or packets), and whether errors were on then.
    last: (f64, bool),
    stream: Rng,
}

impl Loss {
    /// Each packet is lost with `probability` in [0, 1], drawn from `stream`.
    pub fn new(probability: f64, stream: Rng) -> Loss {
        Loss(Pattern::Share(Share::new(probability, stream)))
    }

    /// The packets at these positions are lost. The first packet has position 0.
    pub fn of_packets(positions: impl IntoIterator<Item = u64>) -> Loss {
        let mut positions: Vec<u64> = positions.into_iter().collect();
        positions.sort_unstable();
        positions.dedup();
        let mut passed = 0;
        for position in &mut positions {
            let gap = *position - passed;
            passed = *position + 1;
            *position = gap;
        }
        let mut gaps = positions.into_iter();
        Loss(Pattern::Chosen(gaps.next().unwrap_or(u64::MAX), gaps))
    }

    /// Every `period`-th packet is lost; all packets if `period` is 0 or 1.
    pub fn every(period: u64) -> Loss {
        let gap = period.saturating_sub(1);
        Loss(Pattern::Periodic(gap, gap))
    }

    /// The Gilbert-Elliott model. Before each packet the chain leaves its state with the probability in
    /// `change` (good, bad). Then it loses the packet with the probability in `loss` (good, bad). It begins
    /// in the good state.
    pub fn gilbert(change: [f64; 2], loss: [f64; 2], stream: Rng) -> Loss {
        Loss(Pattern::Gilbert(Gilbert { change, loss, bad: false, stream }))
    }

    /// Every packet in a period with errors is lost. Periods are exponential: those with errors have the mean
    /// length `error`, those without have the mean `free`. The first period is without errors. Both means
    /// must be positive and of the same kind.
    pub fn periods(free: Span, error: Span, stream: Rng) -> Loss {
        let mean = [free, error].map(|span| match span {
            Span::Time(time) => time.as_secs_f64(),
            Span::Packets(packets) => packets,
        });
        let packets = matches!(free, Span::Packets(_)).then_some(0);
        Loss(Pattern::Periods(Periods { mean, packets, last: (0.0, false), stream }))
    }

    /// True if the next packet, which comes at `now`, is lost.
    #[inline]
    pub fn strikes(&mut self, now: Time) -> bool {
        match &mut self.0 {
            Pattern::Share(share) => share.takes(),
            Pattern::Chosen(left, gaps) => counts_down(left, || gaps.next().unwrap_or(u64::MAX)),
            Pattern::Periodic(left, gap) => counts_down(left, || *gap),
            Pattern::Gilbert(gilbert) => gilbert.strikes(),
            Pattern::Periods(periods) => periods.strikes(now),
        }
    }
}

impl Gilbert {
    fn strikes(&mut self) -> bool {
        self.bad ^= self.stream.uniform() < self.change[usize::from(self.bad)];
        self.stream.uniform() < self.loss[usize::from(self.bad)]
    }
}

impl Periods {
    /// Exponential periods have no memory, so only the time since the last packet matters. The state is a
    /// Markov chain in continuous time. It tends to the mean share of errors as exp(-t (1/free + 1/error)).
    fn strikes(&mut self, now: Time) -> bool {
        let clock = match &mut self.packets {
            Some(packets) => {
                *packets += 1;
                *packets as f64
            }
            None => now.as_secs_f64(),
        };
        let [free, error] = self.mean;
        let (last, bad) = self.last;
        let share = error / (free + error);
        let memory = libm::exp(-(clock - last) * (1.0 / free + 1.0 / error));
        let probability = share + (f64::from(u8::from(bad)) - share) * memory;
        self.last = (clock, self.stream.uniform() < probability);
        self.last.1
    }
}

/// Counts down; true at the end. The count then starts again from `next`.
fn counts_down(left: &mut u64, next: impl FnOnce() -> u64) -> bool {
    let over = *left == 0;
    *left = if over { next() } else { *left - 1 };
    over
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loses_the_packets_that_were_chosen() {
        let mut loss = Loss::of_packets([7, 0, 3, 4, 7]);
        let lost: Vec<u32> = (0..20).filter(|_| loss.strikes(Time::ZERO)).collect();
        assert_eq!(lost, [0, 3, 4, 7]);
    }

    #[test]
    fn loses_one_packet_in_so_many() {
        let mut loss = Loss::every(4);
        let lost: Vec<u32> = (0..13).filter(|_| loss.strikes(Time::ZERO)).collect();
        assert_eq!(lost, [3, 7, 11]);
        assert!(Loss::every(1).strikes(Time::ZERO));
    }

    /// The losses of a sequence of packets, one per millisecond.
    fn losses(mut loss: Loss, packets: u64) -> Vec<bool> {
        (0..packets).map(|n| loss.strikes(Time::ZERO + Duration::from_millis(n))).collect()
    }

    /// The share of lost packets, and the mean length of a run of losses.
    fn share_and_run(losses: &[bool]) -> (f64, f64) {
        let lost = losses.iter().filter(|&&lost| lost).count() as f64;
        let runs = losses.windows(2).filter(|pair| pair[0] && !pair[1]).count() as f64;
        (lost / losses.len() as f64, lost / runs)
    }

    #[test]
    fn a_gilbert_channel_loses_in_bursts() {
        let loss = Loss::gilbert([0.01, 0.25], [0.0, 1.0], Rng::new(4, "loss"));
        let (share, run) = share_and_run(&losses(loss, 400_000));
        assert!((share - 0.01 / 0.26).abs() < 0.002, "{share}");
        assert!((run - 4.0).abs() < 0.2, "{run}");
        let loss = Loss::gilbert([0.5, 0.5], [0.1, 0.3], Rng::new(4, "loss"));
        let (share, _) = share_and_run(&losses(loss, 400_000));
        assert!((share - 0.2).abs() < 0.005, "{share}");
    }

    #[test]
    fn exponential_periods_last_as_long_as_they_should() {
        let time = |ms| Span::Time(Duration::from_millis(ms));
        for (free, error) in [(time(1000), time(100)), (Span::Packets(1000.0), Span::Packets(100.0))] {
            let (share, run) =
                share_and_run(&losses(Loss::periods(free, error, Rng::new(4, "loss")), 2_000_000));
            assert!((share - 1.0 / 11.0).abs() < 0.006, "{share}");
            // Sampled once per unit, a run of mean length m takes 1 / (1 - exp(-1 / m)) samples. Now and then
            // a run continues over a period without errors that no sample fell into.
            assert!((run - 100.5).abs() < 6.0, "{run}");
        }
    }
}
