//! Small exact scenarios, packet by packet, from the documents that define the behaviour.

mod common;

use ackclock_registry::Given;
use ackclock_tcp::{Config, Counting, Flags, State};
use ackclock_units::Duration;
use common::lab::{Lab, Recovery, Scripted, chosen, config, made, recoveries, recovery, sack};
use common::path::{Faults, Setup, Story, World};
use std::borrow::Borrow;

fn newreno(impatient: bool) -> Recovery {
    chosen("newreno", &[("impatient", Given::Flag(impatient))])
}

/// A transfer of 100 segments with a window of about 20 until a loss, over 100 ms and 1 ms per segment;
/// `drops` are the ordinals of the packets that are lost, which are segments' numbers until something is sent
/// again.
fn transfer(recovery: impl Borrow<Recovery>, drops: &[u64]) -> Story {
    transfer_with(recovery, drops, 1_000)
}

fn transfer_with(recovery: impl Borrow<Recovery>, drops: &[u64], rto_min_ms: u64) -> Story {
    let config = Config {
        initial_ssthresh: 20.0,
        limited_transmit: false,
        rto_min: Duration::from_millis(rto_min_ms),
        ..config(recovery, 20)
    };
    let forward = Faults { drops: drops.to_vec(), ..Faults::default() };
    World::run(&Setup { forward, ..Setup::new(config, "reno", 100) })
}

/// Milliseconds from one retransmission to the next.
fn gaps_ms(story: &Story) -> Vec<u64> {
    let times: Vec<_> = story.again().iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect();
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn numbers(story: &Story) -> Vec<u64> {
    story.again().iter().map(|(_, seq)| *seq).collect()
}

/// RFC 5681 section 3.2: the third duplicate, not the second, and not a fourth time.
#[test]
fn fast_retransmit_on_the_third_duplicate() {
    for recovery in recoveries() {
        let config = Config { limited_transmit: false, ..config(&recovery, 10) };
        let mut lab = Lab::with(config, Scripted::boxed(true).0, 100);
        assert_eq!(lab.send(), (0..10).collect::<Vec<_>>());
        assert_eq!(lab.sack(4, &[]), vec![10, 11, 12, 13]);
        assert_eq!(lab.sack(4, &[(5, 6)]), Vec::<u64>::new());
        assert_eq!(lab.sack(4, &[(5, 7)]), Vec::<u64>::new());
        assert_eq!(lab.sender.state(), State::Open);
        assert_eq!(lab.sack(4, &[(5, 8)]), vec![4], "{}", recovery.name());
        assert_ne!(lab.sender.state(), State::Open);
        assert!(!lab.sack(4, &[(5, 9)]).contains(&4));
        assert_eq!(lab.sender.counters().fast_retransmits, 1);
    }
}

/// RFC 6675 section 5 (2): with SACK the loss may be known before the third duplicate, when acknowledgements
/// are lost.
#[test]
fn one_acknowledgement_may_tell_of_three_segments() {
    let mut lab = Lab::new(config(sack(false), 10), "reno", 100);
    lab.send();
    assert_eq!(lab.sack(0, &[(2, 5)]).first(), Some(&0));
    // 1 is lost too: three segments above it have arrived.
    assert_eq!(lab.sender.board().lost(), 2);
}

/// RFC 3042: each of the first two duplicates lets out a new segment, the window stays.
#[test]
fn limited_transmit() {
    for recovery in recoveries() {
        let mut lab = Lab::with(config(&recovery, 10), Scripted::boxed(true).0, 100);
        lab.send();
        assert_eq!(lab.sack(0, &[(1, 2)]), vec![10]);
        assert_eq!(lab.sack(0, &[(1, 3)]), vec![11]);
        assert_eq!(lab.sender.window().cwnd, 10.0);
        assert_eq!(lab.sack(0, &[(1, 4)]), vec![0], "{}", recovery.name());
    }
    // Not beyond the receiver's window.
    let mut lab = Lab::new(Config { peer_window: 11, ..config(sack(false), 10) }, "reno", 100);
    lab.send();
    assert_eq!((lab.sack(0, &[(1, 2)]), lab.sack(0, &[(1, 3)])), (vec![10], vec![]));
}

/// RFC 2581 section 3.2 with numbers: window 20, threshold 10, one new segment per duplicate once 10 have
/// left.
#[test]
fn reno_inflates_and_deflates() {
    let mut lab = Lab::with(
        Config { limited_transmit: false, ..config(recovery("reno"), 20) },
        Scripted::boxed(true).0,
        100,
    );
    lab.send();
    let mut sent = Vec::new();
    for _ in 1..=19 {
        sent.push(lab.ack(0));
        assert!(lab.sender.window().cwnd <= 20.0, "the inflation is not shown");
    }
    let expected = (1..=19).map(|duplicate| match duplicate {
        3 => vec![0],
        11.. => vec![duplicate + 9],
        _ => vec![],
    });
    assert_eq!(sent, expected.collect::<Vec<_>>());
    assert_eq!(lab.ack(20), vec![29]);
    assert_eq!((lab.sender.window().cwnd, lab.sender.state()), (10.0, State::Open));
}

/// K. Fall, S. Floyd, "Simulation-based Comparisons of Tahoe, Reno, and SACK TCP", 1996, section 4 (one
/// loss): every kind but Tahoe repairs it with one retransmission, no timeout and one cut.
#[test]
fn one_loss() {
    for recovery in recoveries() {
        let story = transfer(&recovery, &[14]);
        assert_eq!((story.counters.timeouts, story.counters.window_cuts), (0, 1), "{}", recovery.name());
        assert_eq!(story.again()[0].1, 14);
        if recovery.name() != "tahoe" {
            assert_eq!(story.again().len(), 1, "{}", recovery.name());
        }
    }
}

/// The same paper: Tahoe slow-starts from the hole, and sends again what had arrived (without limited
/// knowledge).
#[test]
fn tahoe_starts_over() {
    let mut lab = Lab::with(config(recovery("tahoe"), 16), Scripted::boxed(true).0, 100);
    lab.send();
    for _ in 0..2 {
        lab.ack(0);
    }
    assert_eq!(lab.ack(0), vec![0]);
    assert_eq!((lab.sender.window().cwnd, lab.sender.window().ssthresh), (1.0, 8.0));
    for _ in 0..10 {
        assert_eq!(lab.ack(0), Vec::<u64>::new(), "duplicates let out nothing");
    }
    assert_eq!(lab.ack(5), vec![5], "the next hole");
    assert_eq!(lab.ack(18), vec![18], "all that was sent has arrived, nothing more is sent again");
    assert_eq!(lab.sender.state(), State::Open);
}

/// RFC 2581: Reno takes a second loss in the window for a new one, and halves twice.
#[test]
fn reno_with_two_losses() {
    let story = transfer(recovery("reno"), &[14, 28]);
    assert_eq!(numbers(&story), vec![14, 28]);
    assert_eq!((story.counters.timeouts, story.counters.window_cuts), (0, 2));
}

/// RFC 6582: three losses in one window, one retransmission per round trip, one cut, no timeout.
#[test]
fn newreno_repairs_one_hole_per_round_trip() {
    for impatient in [false, true] {
        let story = transfer(newreno(impatient), &[20, 23, 27]);
        assert_eq!(numbers(&story), vec![20, 23, 27]);
        assert_eq!((story.counters.timeouts, story.counters.window_cuts), (0, 1));
        assert!(gaps_ms(&story).iter().all(|gap| (100..=130).contains(gap)), "{:?}", gaps_ms(&story));
    }
}

/// RFC 6582 section 4: with many losses the impatient variant, whose timer is restarted only once, ends in a
/// timeout; slow but steady repairs them all.
#[test]
fn impatient_or_slow_but_steady() {
    let drops: Vec<_> = (20..36).step_by(2).collect();
    let [impatient, steady] = [true, false].map(|impatient| transfer_with(newreno(impatient), &drops, 200));
    assert_eq!((impatient.counters.timeouts, steady.counters.timeouts), (1, 0));
    assert_eq!(numbers(&steady), drops);
}

/// RFC 6675: scattered losses of one window are repaired within about one round trip, each sent once.
#[test]
fn sack_repairs_scattered_losses_at_once() {
    for proportional in [false, true] {
        let story = transfer(sack(proportional), &[20, 23, 27, 30]);
        assert_eq!(numbers(&story), vec![20, 23, 27, 30]);
        assert_eq!((story.counters.timeouts, story.counters.window_cuts), (0, 1));
        let total: u64 = gaps_ms(&story).iter().sum();
        assert!(total < 40, "{:?}", gaps_ms(&story));
        let newreno = transfer(newreno(true), &[20, 23, 27, 30]);
        assert!(story.done < newreno.done);
    }
}

/// Fall and Floyd's pipe: what is lost stays in it, a partial acknowledgement takes two. By hand: 0, 5, 6 and
/// 7 of 20 are lost, the threshold is 10, and the pipe is 17 after the third duplicate.
#[test]
fn sack1_counts_what_is_lost_until_it_is_acknowledged() {
    let config = Config { limited_transmit: false, ..config(recovery("sack1"), 20) };
    let mut lab = Lab::with(config, Scripted::boxed(true).0, 100);
    lab.send();
    let mut sent: Vec<Vec<u64>> = (2..=5).map(|end| lab.sack(0, &[(1, end)])).collect();
    sent.extend((9..=20).map(|end| lab.sack(0, &[(8, end), (1, 5)])));
    let nothing = vec![vec![]; 6];
    let after_the_third = [vec![vec![], vec![], vec![0], vec![]], nothing].concat();
    // With 14 the pipe is 9: holes come first, then new segments.
    let below = [5, 6, 7, 20, 21, 22].map(|seq| vec![seq]).to_vec();
    assert_eq!(sent, [after_the_third, below].concat());
    assert_eq!(lab.sack(5, &[(8, 20)]), vec![23, 24], "a partial acknowledgement takes two");
    assert_eq!(lab.sack(6, &[(8, 20)]), vec![25, 26]);
    assert_eq!(lab.sack(7, &[(8, 20)]), vec![27, 28]);
    lab.ack(20);
    assert_eq!((lab.sender.window().cwnd, lab.sender.state()), (10.0, State::Open));
}

/// If more than half of a window is lost, that pipe does not fall below the new window, and the timer must
/// help. By hand: 12 of 20 are lost, the threshold is 10. The pipe is 12 after the last duplicate, and 10
/// after the acknowledgement of the first retransmission.
#[test]
fn sack1_stalls_where_more_than_half_is_lost() {
    for (recovery, stalls) in [(recovery("sack1"), true), (sack(false), false)] {
        let config = Config { limited_transmit: false, ..config(recovery, 20) };
        let mut lab = Lab::with(config, Scripted::boxed(true).0, 100);
        lab.send();
        let mut sent: Vec<u64> = (13..=20).flat_map(|end| lab.sack(0, &[(12, end)])).collect();
        sent.extend(lab.sack(1, &[(12, 20)]));
        assert_eq!(sent == [0], stalls, "{sent:?}");
    }
}

/// RFC 6675 section 5.1 and RFC 2018 section 8 as amended by practice: after a timeout everything is sent
/// again, except what is known to have arrived; the timer doubles.
#[test]
fn after_a_timeout_what_was_reported_is_not_sent_again() {
    let mut lab = Lab::with(config(sack(false), 12), Scripted::boxed(true).0, 14);
    lab.send();
    assert_eq!(lab.sack(0, &[(2, 3), (6, 8)]), vec![0]);
    assert_eq!((lab.expire(), lab.sender.window().cwnd), (vec![0], 1.0));
    let mut sent = Vec::new();
    for (ack, runs) in [(1, vec![(2, 3), (6, 8)]), (3, vec![(6, 8)]), (4, vec![(6, 8)]), (5, vec![(6, 8)])] {
        sent.extend(lab.sack(ack, &runs));
    }
    assert_eq!(sent, vec![1, 3, 4, 5], "a window of one, which this controller does not open");
    assert_eq!(lab.ack(8), vec![8]);
    assert_eq!(lab.sender.state(), State::Loss);
}

/// The same without SACK: everything again, in slow start; an acknowledgement that covers more passes it
/// over.
#[test]
fn after_a_timeout_without_sack_everything_is_sent_again() {
    let mut lab = Lab::new(Config { counting: Counting::Acks, ..config(recovery("reno"), 12) }, "reno", 100);
    lab.send();
    assert_eq!(lab.expire(), vec![0]);
    assert_eq!(lab.ack(1), vec![1, 2]);
    assert_eq!(lab.ack(2), vec![3, 4]);
    assert_eq!(lab.ack(9), vec![9, 10, 11, 12]);
    assert_eq!(lab.ack(11), vec![13, 14, 15]);
    assert_eq!(lab.ack(12), vec![16, 17]);
    assert_eq!(lab.sender.state(), State::Open);
}

/// RFC 6298 (5.5): each expiry doubles the timeout, up to the bound; the threshold is set once (RFC 5681
/// section 3.1).
#[test]
fn the_timeout_doubles() {
    let mut lab =
        Lab::new(Config { rto_max: Duration::from_secs(20), ..config(sack(false), 16) }, "reno", 100);
    lab.send();
    lab.wait(100);
    lab.ack(2);
    assert_eq!(lab.until_timeout(), Duration::from_millis(300), "100 ms and 4 times 50 ms");
    for ms in [600, 1_200, 2_400, 4_800, 9_600, 19_200, 20_000, 20_000] {
        assert_eq!(lab.expire(), vec![2]);
        assert_eq!(lab.until_timeout(), Duration::from_millis(ms));
        assert_eq!((lab.sender.window().cwnd, lab.sender.window().ssthresh), (1.0, 9.0));
    }
    assert_eq!(lab.sender.counters().timeouts, 8);
}

/// RFC 6298 (5.2), (5.3): an acknowledgement of new data restarts the timer, of everything stops it; a
/// duplicate does neither.
#[test]
fn the_timer_follows_new_data() {
    let mut lab = Lab::with(config(recovery("reno"), 4), Scripted::boxed(true).0, 4);
    lab.send();
    let started = lab.until_timeout();
    lab.wait(100);
    lab.ack(0);
    assert_eq!(lab.until_timeout() + Duration::from_millis(100), started);
    lab.ack(1);
    let rto = lab.sender.rtt().rto();
    assert_eq!(lab.until_timeout(), rto);
    lab.wait(50);
    lab.ack(2);
    assert_eq!(lab.until_timeout(), lab.sender.rtt().rto());
    lab.ack(4);
    assert_eq!(lab.sender.poll_timeout(), None);
}

/// P. Karn, C. Partridge, SIGCOMM 1987: what was sent twice gives no sample, nor does what was timed before
/// it.
#[test]
fn karn() {
    let untimed = Config { timestamps: false, ..config(recovery("reno"), 6) };
    let mut lab = Lab::with(untimed, Scripted::boxed(true).0, 100);
    lab.send(); // 0 is timed
    lab.wait(80);
    lab.ack(1);
    assert_eq!((lab.sender.counters().rtt_samples, lab.sender.rtt().srtt()), (1, Duration::from_millis(80)));
    lab.ack(1); // 6 was let out by the first acknowledgement and is timed; 1 is lost
    lab.ack(1);
    lab.wait(40);
    assert_eq!(lab.ack(1).first(), Some(&1));
    lab.wait(300);
    lab.ack(7);
    assert_eq!(lab.sender.counters().rtt_samples, 1, "6 waited for the retransmission");
    lab.wait(60);
    lab.ack(lab.sender.nxt());
    assert_eq!(lab.sender.counters().rtt_samples, 2);
}

/// With timestamps every acknowledgement of new data is a sample, also of a retransmission (RFC 7323 section
/// 4.1).
#[test]
fn timestamps_time_retransmissions() {
    let mut lab = Lab::with(config(recovery("reno"), 6), Scripted::boxed(true).0, 100);
    lab.send();
    lab.expire();
    lab.wait(70);
    lab.ack(3);
    assert_eq!(lab.sender.counters().rtt_samples, 1);
    assert_eq!(lab.sender.rtt().backoff(), 0);
}

/// RFC 9937: while the pipe is above the threshold, sending is proportional: ceil(delivered * ssthresh /
/// RecoverFS) in all; at the end as much is in flight as the threshold says. Without it nothing is sent for
/// half a round trip.
#[test]
fn proportional_rate_reduction_spreads_the_reduction() {
    let run = |proportional| {
        let config = Config { limited_transmit: false, ..config(sack(proportional), 22) };
        let mut lab = Lab::with(config, Scripted::boxed(true).0, 1000);
        lab.send();
        let mut steps = Vec::new();
        let mut out = 0;
        for end in 2..=22 {
            lab.hear(made(0, &[(1, end)]), Flags::default());
            let pipe = lab.sender.in_flight();
            out += lab.send().len();
            steps.push((pipe, out));
        }
        let in_flight = lab.sender.in_flight();
        lab.ack(22);
        assert_eq!(lab.sender.window().cwnd, 11.0);
        (steps, in_flight)
    };
    // RecoverFS is 20, for two segments were SACKed before; the threshold is 11.
    let (steps, in_flight) = run(true);
    let proportional = steps.iter().enumerate().skip(2).filter(|(_, (pipe, _))| *pipe > 11);
    for (at, &(_, out)) in proportional.clone() {
        let delivered = at - 1;
        assert_eq!(out, (delivered * 11).div_ceil(20), "after {delivered} are delivered: {steps:?}");
    }
    assert!(proportional.count() > 12);
    assert_eq!(in_flight, 11);
    // Without it: the retransmission, silence until half has left, then one for one.
    let (steps, in_flight) = run(false);
    assert_eq!(in_flight, 11);
    let silence = steps.iter().filter(|(_, out)| *out == 1).count();
    assert!((9..=11).contains(&silence), "{steps:?}");
}

/// RFC 3168: a path that marks every segment makes the sender cut once per round trip, each cut announced.
#[test]
fn marks_cut_once_per_round_trip() {
    for recovery in recoveries() {
        let forward = Faults { mark: 1.0, ..Faults::default() };
        let config = Config { ecn: true, ..config(recovery, 64) };
        let story = World::run(&Setup { forward, ..Setup::new(config, "reno", 400) });
        assert_eq!((story.again(), story.counters.timeouts), (vec![], 0));
        let announced: Vec<_> = story.sent.iter().filter(|sent| sent.data.flags.has(Flags::CWR)).collect();
        let cuts = story.counters.window_cuts as usize;
        assert!(announced.len() == cuts || announced.len() + 1 == cuts, "{} of {cuts}", announced.len());
        let apart = announced.windows(2).map(|pair| pair[1].at.since(pair[0].at));
        assert!(apart.min() >= Some(Duration::from_millis(100)));
        let round_trips = story.done.as_secs_f64() / 0.101;
        assert!((cuts as f64) > round_trips / 2.0 - 1.0, "{cuts} in {round_trips}");
    }
}

/// RFC 5681 section 4.1: after an idle time longer than the timeout the window starts again, the threshold
/// stays.
#[test]
fn idleness_closes_the_window() {
    let mut lab = Lab::new(config(sack(false), 4), "reno", 1_000_000);
    for _ in 0..4 {
        lab.send();
        lab.wait(100);
        lab.ack(lab.sender.nxt());
    }
    let grown = lab.sender.window().cwnd;
    assert!(grown > 8.0);
    lab.advertise(0);
    lab.send();
    lab.hear(made(lab.sender.nxt(), &[]), Flags::default());
    lab.wait(5_000);
    lab.advertise(1_000);
    lab.hear(made(lab.sender.nxt(), &[]), Flags::default());
    assert_eq!(lab.send().len(), 4);
}
