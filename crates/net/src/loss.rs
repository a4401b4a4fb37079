//! Loss that owes nothing to the queue: every packet with the same probability, whatever happened before,
//! chosen packets, one packet in so many, or in bursts.
//!
//! Sources of the bursts: E. N. Gilbert, "Capacity of a Burst-Noise Channel", 1960, and E. O. Elliott, "Estimates of
//! Error Rates for Codes on Burst-Noise Channels", 1963 (a chain of two states that moves with every packet);
//! exponential periods with and without errors, as the two-state error models of ns-2 have them.

use crate::{Share, Stream};
use ackclock_units::{Duration, Time};

/// Which packets are lost.
#[derive(Clone, Debug)]
pub struct Loss(Pattern);

#[derive(Clone, Debug)]
enum Pattern {
    /// Independent trials.
    Share(Share),
    /// Packets that still pass before the next chosen one, and the gaps between those after it.
    Chosen(u64, std::vec::IntoIter<u64>),
    /// Packets that still pass before the next loss, and how many pass between any two.
    Periodic(u64, u64),
    /// A chain of two states.
    Gilbert(Gilbert),
    /// Periods of two kinds.
    Periods(Periods),
}

#[derive(Clone, Debug)]
struct Gilbert {
    /// Probability of a change, out of the good state and out of the bad one.
    change: [f64; 2],
    /// Probability of a loss, in the good state and in the bad one.
    loss: [f64; 2],
    bad: bool,
    stream: Stream,
}

/// How long a period is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Span {
    /// So long in time.
    Time(Duration),
    /// As long as so many packets are offered.
    Packets(f64),
}

#[derive(Clone, Debug)]
struct Periods {
    /// Mean length of a period without errors and of one with errors, seconds or packets.
    mean: [f64; 2],
    /// Packets that were offered, if it is them that count.
    packets: Option<u64>,
    /// What the clock said at the last packet, and whether errors were on.
    last: (f64, bool),
    stream: Stream,
}

impl Loss {
    /// Loss of each packet with `probability` in [0, 1], drawn from `stream`.
    pub fn new(probability: f64, stream: Stream) -> Loss {
        Loss(Pattern::Share(Share::new(probability, stream)))
    }

    /// Loss of the packets at these positions, the first packet that is offered being at 0.
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

    /// Loss of every `period`-th packet; of all of them if it is 0 or 1.
    pub fn every(period: u64) -> Loss {
        let gap = period.saturating_sub(1);
        Loss(Pattern::Periodic(gap, gap))
    }

    /// Loss by a chain that moves from good to bad and back with the probabilities in `change` before each packet,
    /// and loses with those in `loss` in the good state and in the bad one. It begins in the good state.
    pub fn gilbert(change: [f64; 2], loss: [f64; 2], stream: Stream) -> Loss {
        Loss(Pattern::Gilbert(Gilbert { change, loss, bad: false, stream }))
    }

    /// Loss of everything in periods with errors of mean length `error`, between periods without errors of mean
    /// length `free`, both exponential. It begins without errors. Both spans must be of the same kind, and not zero.
    pub fn periods(free: Span, error: Span, stream: Stream) -> Loss {
        let mean = [free, error].map(|span| match span {
            Span::Time(time) => time.as_secs_f64(),
            Span::Packets(packets) => packets,
        });
        let packets = matches!(free, Span::Packets(_)).then_some(0);
        Loss(Pattern::Periods(Periods { mean, packets, last: (0.0, false), stream }))
    }

    /// Is the next packet lost, which comes at `now`?
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
    /// Exponential periods forget how long they have lasted, so that only the time since the last packet matters: a
    /// Markov chain in continuous time, which tends to its mean share of errors as exp(-t (1/free + 1/error)).
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

/// True when nothing is left to count; then it begins again at what is `next`.
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

    /// Which packets are lost, when one comes every millisecond.
    fn losses(mut loss: Loss, packets: u64) -> Vec<bool> {
        (0..packets).map(|n| loss.strikes(Time::ZERO + Duration::from_millis(n))).collect()
    }

    /// Share of packets lost, and the mean length of a run of losses.
    fn share_and_run(losses: &[bool]) -> (f64, f64) {
        let lost = losses.iter().filter(|&&lost| lost).count() as f64;
        let runs = losses.windows(2).filter(|pair| pair[0] && !pair[1]).count() as f64;
        (lost / losses.len() as f64, lost / runs)
    }

    #[test]
    fn a_gilbert_channel_loses_in_bursts() {
        let loss = Loss::gilbert([0.01, 0.25], [0.0, 1.0], Stream::new(4, "loss"));
        let (share, run) = share_and_run(&losses(loss, 400_000));
        assert!((share - 0.01 / 0.26).abs() < 0.002, "{share}");
        assert!((run - 4.0).abs() < 0.2, "{run}");
        let loss = Loss::gilbert([0.5, 0.5], [0.1, 0.3], Stream::new(4, "loss"));
        let (share, _) = share_and_run(&losses(loss, 400_000));
        assert!((share - 0.2).abs() < 0.005, "{share}");
    }

    #[test]
    fn exponential_periods_last_as_long_as_they_should() {
        let time = |ms| Span::Time(Duration::from_millis(ms));
        for (free, error) in [(time(1000), time(100)), (Span::Packets(1000.0), Span::Packets(100.0))] {
            let (share, run) =
                share_and_run(&losses(Loss::periods(free, error, Stream::new(4, "loss")), 2_000_000));
            assert!((share - 1.0 / 11.0).abs() < 0.006, "{share}");
            // Seen once in a unit, a run of losses of mean length m takes 1 / (1 - exp(-1 / m)) of them, and now and
            // then one goes on over a period without errors that nobody has seen.
            assert!((run - 100.5).abs() < 6.0, "{run}");
        }
    }
}
