//! Robust Recovery, segment by segment: the episode of figure 9(d) of the paper, in which slow start loses
//! every second segment of a window of 16, and what becomes of it when new segments are lost as well.
//!
//! Times are those of the figure: its first acknowledgement of segment 15 arrives at 1.150 s. What was not
//! published was worked out by hand from the published rules, on a path of 212.064 ms and 10 ms per segment
//! that nobody else uses.

mod common;

use ackclock_registry::Given;
use ackclock_tcp::{Config, Counting, Flags, State};
use ackclock_units::{Duration, Time};
use common::lab::{Lab, Recovery, Scripted, chosen, config, recovery};
use common::path::{Faults, Setup, Story, World};

/// The round-trip time of a segment that does not queue.
const RTT: Duration = Duration::from_micros(212_064);
/// The bottleneck takes 1000 bytes at 0.8 Mbit/s.
const SPACING: Duration = Duration::from_millis(10);
/// Slow start from one segment: the acknowledgement of segment 15 comes after five round trips, in the figure
/// at 1.150 s.
const SHIFT: Duration = Duration::from_micros(1_150_000 - 5 * 212_064);

fn first(word: &str) -> Recovery {
    chosen("robust", &[("first", Given::Word(word))])
}

/// The figure's transfer, in which the new segments `further` are lost as well.
fn figure_9(recovery: Recovery, further: &[u64]) -> Story {
    let config = Config {
        recovery,
        initial_window: 1.0,
        counting: Counting::Acks,
        limited_transmit: false,
        rto_min: Duration::from_secs(1),
        ..Config::default()
    };
    let lost: Vec<u64> = (16..=30).step_by(2).chain(further.iter().copied()).collect();
    let forward = Faults { lost_segments: lost, ..Faults::default() };
    let delay = Duration::from_nanos((RTT.as_nanos() - SPACING.as_nanos()) / 2);
    World::run(&Setup { spacing: SPACING, delay, forward, ..Setup::new(config, "reno", 400) })
}

/// When, in the figure, rounded to a tenth of a millisecond.
fn figure_ms(at: Time) -> f64 {
    ((at + SHIFT).as_nanos() as f64 / 1e5).round() / 10.0
}

/// When the episode was over, and the window that it left.
fn exit(story: &Story) -> (f64, f64) {
    let open = |sent: &&common::path::Sent| sent.state == State::Open;
    let episode = story.sent.iter().position(|sent| sent.state == State::Recovery).expect("an episode");
    let after = story.sent[episode..].iter().find(open).expect("it ends");
    let cwnd = story.cwnd.iter().find(|(at, _)| *at == after.at).expect("the window is noted");
    (figure_ms(after.at), cwnd.1)
}

fn again(story: &Story) -> Vec<(f64, u64)> {
    story.again().iter().map(|&(at, seq)| (figure_ms(at), seq)).collect()
}

/// New segments sent from one retransmission to the next, until the episode is over.
fn new_between_retransmissions(story: &Story) -> Vec<u64> {
    let episode = story.sent.iter().skip_while(|sent| sent.state != State::Recovery);
    let mut counts = Vec::new();
    for sent in episode.take_while(|sent| sent.state == State::Recovery) {
        match sent.data.flags.has(Flags::RETRANSMISSION) {
            true => counts.push(0),
            false => *counts.last_mut().expect("the episode begins with a retransmission") += 1,
        }
    }
    counts
}

#[test]
fn the_episode_of_figure_9_segment_by_segment() {
    let story = figure_9(first("retransmission"), &[]);
    // Slow start's two, the fast retransmit on the third duplicate, and retreat: one for two duplicates.
    let entry = [(1150.0, 31), (1150.0, 32), (1180.0, 16), (1200.0, 33), (1220.0, 34), (1372.1, 35)];
    // Each round trip of probe: when it begins, its retransmission, and its new segments: one more each time.
    let rounds = [
        (1392.1, 18, 36..=38),
        (1604.1, 20, 39..=42),
        (1816.2, 22, 43..=47),
        (2028.3, 24, 48..=53),
        (2240.3, 26, 54..=60),
        (2452.4, 28, 61..=68),
        (2664.4, 30, 69..=77),
    ];
    let start = story.sent.iter().position(|sent| sent.data.seq == 31).expect("31 is sent");
    let mut sent = story.sent[start..].iter().map(|sent| (figure_ms(sent.at), sent.data.seq));
    assert_eq!(sent.by_ref().take(entry.len()).collect::<Vec<_>>(), entry);
    for (number, (at, hole, new)) in rounds.into_iter().enumerate() {
        assert_eq!(sent.next(), Some((at, hole)));
        for seq in new.clone() {
            let (when, sent) = sent.next().expect("a new segment");
            assert_eq!(sent, seq);
            // From the second round trip on, the extra segment leaves with the retransmission.
            assert_eq!(when == at, number > 0 && seq == *new.start(), "{seq} at {when}");
        }
    }
    // The exit: 69 to 77 are in flight, cwnd is 10, and one segment leaves.
    assert_eq!(exit(&story), (2876.5, 10.0));
    assert_eq!(sent.next(), Some((2876.5, 78)));
    assert!(sent.next().is_some_and(|(at, seq)| at > 2876.5 && seq == 79));
    assert_eq!(story.counters.timeouts, 0);
    assert_eq!(again(&story).len(), 8);
}

#[test]
fn with_the_new_segment_first_every_repair_waits() {
    let story = figure_9(first("new"), &[]);
    assert_eq!(exit(&story), (2936.5, 10.0));
    assert_eq!(new_between_retransmissions(&story), [3, 4, 5, 6, 7, 8, 9, 9]);
}

/// The further losses are found a round trip later, the window shrinks by just them, and the episode lasts
/// longer.
#[test]
fn further_losses() {
    for (order, further, expected) in [
        ("retransmission", &[41][..], (3088.6, 9.0)),
        ("new", &[41], (3148.6, 9.0)),
        ("retransmission", &[41, 45, 46], (3512.7, 8.0)),
        ("new", &[41, 45, 46], (3582.7, 8.0)),
    ] {
        let story = figure_9(first(order), further);
        assert_eq!(exit(&story), expected, "{order:?} {further:?}");
        assert_eq!(story.counters.timeouts, 0);
        assert_eq!(story.counters.fast_retransmits, 1);
        let repaired: Vec<_> = again(&story).iter().map(|&(_, seq)| seq).collect();
        let lost: Vec<_> = (16..=30).step_by(2).chain(further.iter().copied()).collect();
        assert_eq!(repaired, lost);
    }
}

/// With the duplicates that began the episode counted, actnum is larger than what is in flight, and stays so.
#[test]
fn the_first_value_of_actnum() {
    let story = figure_9(chosen("robust", &[("counted", Given::Word("all"))]), &[]);
    assert_eq!(exit(&story), (2876.5, 10.0)); // nine are in flight, whatever was counted
    let mut lab = Lab::with(config(recovery("robust"), 20), Scripted::boxed(true).0, 1000);
    lab.send();
    let sent: Vec<_> = (1..20).flat_map(|_| lab.ack(0)).collect();
    // Limited transmit, the hole, and one for two of the other 16 duplicates.
    assert_eq!(sent, [20, 21, 0, 22, 23, 24, 25, 26, 27, 28, 29]);
    assert_eq!((lab.sender.window().cwnd, lab.sender.window().ssthresh), (20.0, 10.0));
    assert_eq!(lab.ack(22), vec![]); // what was sent before the episode; eight are in flight
    assert_eq!((lab.sender.window().cwnd, lab.sender.window().ssthresh), (8.0, 8.0));
    assert_eq!(lab.sender.state(), State::Open);
}

/// Without new data a round trip repairs one loss and sends nothing else; the exit does not let out a burst.
#[test]
fn limited_data() {
    let mut lab = Lab::with(config(recovery("robust"), 12), Scripted::boxed(true).0, 12);
    lab.send();
    assert_eq!([lab.ack(0), lab.ack(0), lab.ack(0)].concat(), [0]);
    for _ in 0..5 {
        assert_eq!(lab.ack(0), vec![]);
    }
    assert_eq!(lab.ack(3), [3]);
    assert_eq!(lab.ack(5), [5]);
    assert_eq!(lab.ack(9), [9]);
    assert_eq!(lab.ack(12), vec![]);
    assert_eq!(lab.sender.window().cwnd, 1.0); // nothing is in flight
}

/// A lost retransmission is the timer's: one threshold for the whole episode, and slow start.
#[test]
fn a_lost_retransmission_times_out() {
    let mut lab = Lab::with(config(recovery("robust"), 20), Scripted::boxed(true).0, 1000);
    lab.send();
    for _ in 0..10 {
        lab.ack(0);
    }
    assert_eq!(lab.expire(), [0]);
    assert_eq!((lab.sender.state(), lab.sender.window().cwnd), (State::Loss, 1.0));
    assert_eq!(lab.sender.window().ssthresh, 10.0); // half of cwnd, which had stayed
}

/// A controller that does not answer a loss finds its window as it was.
#[test]
fn a_window_without_an_answer_stays() {
    let mut lab = Lab::with(config(recovery("robust"), 20), Scripted::boxed(false).0, 1000);
    lab.send();
    for _ in 0..10 {
        lab.ack(0);
    }
    lab.ack(20);
    assert_eq!(lab.sender.window().cwnd, 20.0);
}

/// The comparators: what they send, and what they do not see.
#[test]
fn one_for_each_duplicate_or_one_for_two() {
    for (recovery, in_the_episode) in
        [(recovery("right-edge"), 1), (recovery("lin-kung"), 2), (recovery("hoe"), 2)]
    {
        // Hoe's is silent about the first two duplicates, the others serve them by their own rules.
        let config = Config { limited_transmit: recovery.name() == "hoe", ..config(&recovery, 20) };
        let mut lab = Lab::with(config, Scripted::boxed(true).0, 1000);
        lab.send();
        assert_eq!([lab.ack(0), lab.ack(0)].concat(), [20, 21], "the first two");
        let third = lab.ack(0);
        assert_eq!(third[0], 0);
        let sent: usize = (0..16).map(|_| lab.ack(0).len()).sum();
        assert_eq!(sent, 16 / in_the_episode);
        assert_eq!(third.len(), if recovery.name() == "right-edge" { 2 } else { 1 });
        assert_eq!(lab.ack(10), [10], "a partial acknowledgement repairs one hole");
        // 17 or 8 are in flight, for a window of ten.
        assert_eq!(lab.ack(22).len(), in_the_episode - 1, "no burst");
        assert_eq!(lab.sender.state(), State::Open);
    }
}
