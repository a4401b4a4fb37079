//! Rules that only a particular moment shows, one by one.

mod common;

use ackclock_cc::Event;
use ackclock_registry::Given;
use ackclock_tcp::{Config, Data, Flags, Receiver, SackBlock, State};
use ackclock_units::{Duration, Time};
use common::lab::{Lab, Recovery, Scripted, chosen, config, dupacks, made, recoveries, recovery, sack};

fn lab(config: Config, limit: u64) -> Lab {
    Lab::with(config, Scripted::boxed(true).0, limit)
}

fn newreno(impatient: bool, cautious_exit: bool) -> Recovery {
    let choices = [("impatient", Given::Flag(impatient)), ("cautious_exit", Given::Flag(cautious_exit))];
    chosen("newreno", &choices)
}

/// RFC 6582 section 3.2 step 2: after a timeout duplicates are believed only beyond what was sent before it;
/// they may come from segments that were sent again although they had arrived.
#[test]
fn stale_duplicates_are_not_believed() {
    for recovery in [newreno(true, true), recovery("reno"), recovery("tahoe")] {
        let mut lab = lab(config(&recovery, 8), 1000);
        lab.send();
        lab.expire();
        assert_eq!(lab.ack(8), vec![8]);
        assert_eq!(lab.sender.state(), State::Open);
        let sent: Vec<_> = (0..6).flat_map(|_| lab.ack(8)).collect();
        assert_eq!(sent, vec![9, 10], "limited transmit and nothing else");
        assert_eq!(lab.ack(11), vec![11]);
        let sent: Vec<_> = (0..3).flat_map(|_| lab.ack(11)).collect();
        assert!(sent.starts_with(&[12, 13, 11]), "{}", recovery.name());
    }
}

/// RFC 3042: the first two duplicates, however many are waited for.
#[test]
fn two_duplicates_let_out_a_segment_each() {
    for recovery in [newreno(true, true), recovery("reno"), recovery("tahoe")] {
        let mut lab = lab(Config { detection: dupacks(6), ..config(&recovery, 10) }, 1000);
        lab.send();
        let sent: Vec<_> = (0..6).map(|_| lab.ack(0)).collect();
        let none = Vec::<u64>::new;
        assert_eq!(sent, vec![vec![10], vec![11], none(), none(), none(), vec![0]]);
    }
}

/// RFC 3465: two segments count for an acknowledgement, one while a timeout is repaired.
#[test]
fn what_counts_towards_growth() {
    let (controller, told) = Scripted::boxed(true);
    let mut lab = Lab::with(config(sack(false), 12), controller, 1000);
    let grown = || told.lock().expect("one thread").grown;
    lab.send();
    lab.ack(2);
    assert_eq!(grown(), 2.0);
    lab.ack(5);
    assert_eq!(grown(), 4.0);
    lab.expire();
    lab.ack(9);
    assert_eq!(grown(), 5.0);
    lab.ack(lab.sender.nxt());
    assert_eq!((grown(), lab.sender.state()), (6.0, State::Open));
    lab.send();
    lab.ack(lab.sender.nxt());
    assert_eq!(grown(), 7.0, "a window of one");
}

/// RFC 5681 (4): the threshold is two segments at least.
#[test]
fn the_least_threshold() {
    for recovery in recoveries() {
        let mut lab = lab(Config { detection: dupacks(1), ..config(&recovery, 2) }, 1000);
        lab.send();
        assert_eq!(lab.sack(0, &[(1, 2)]).first(), Some(&0));
        assert_eq!(lab.sender.window().ssthresh, 2.0, "{}", recovery.name());
    }
}

/// What an earlier connection between the same hosts left in the network changes nothing.
#[test]
fn another_connection_is_not_heard() {
    let mut lab = lab(config(sack(false), 4), 1000);
    lab.send();
    lab.hear(made(2, &[(3, 4)]), Flags::of_epoch(1));
    assert_eq!((lab.sender.una(), lab.sender.board().sacked()), (0, 0));
    lab.hear(made(2, &[(3, 4)]), Flags::of_epoch(0));
    assert_eq!((lab.sender.una(), lab.sender.board().sacked()), (2, 1));
}

/// Each segment is delivered once, whether SACK or the cumulative acknowledgement says so first.
#[test]
fn a_segment_counts_as_delivered_once() {
    let (controller, told) = Scripted::boxed(true);
    let mut lab = Lab::with(config(sack(false), 10), controller, 1000);
    lab.send();
    let delivered = [(0, vec![(1, 3)]), (0, vec![(1, 3)]), (3, vec![(5, 6)]), (6, vec![]), (6, vec![])].map(
        |(ack, runs)| {
            lab.sack(ack, &runs);
            told.lock().expect("one thread").delivered
        },
    );
    assert_eq!(delivered, [2, 2, 4, 6, 6]);
}

/// An episode, a timeout in it, and its repair: one event at the very end.
#[test]
fn recovered_is_told_once() {
    for recovery in recoveries() {
        let (controller, told) = Scripted::boxed(true);
        let mut lab = Lab::with(config(&recovery, 10), controller, 1000);
        lab.send();
        for end in 2..6 {
            lab.sack(0, &[(1, end)]);
        }
        lab.expire();
        lab.ack(lab.sender.nxt());
        let told = told.lock().expect("one thread");
        assert_eq!(told.events, vec![Event::Start, Event::Recovered], "{}", recovery.name());
    }
}

/// RFC 9937 section 6.2 below the threshold: what is delivered is sent; one more while holes close; not while
/// new ones become known.
#[test]
fn proportional_rate_reduction_below_the_threshold() {
    let mut lab = lab(Config { limited_transmit: false, ..config(sack(true), 40) }, 1000);
    lab.send();
    // 0 to 25 are lost, and 32 to 34: 11 in flight when the first losses are known, and the threshold is 20.
    let late = |end| vec![(35, end), (26, 32)];
    let steps = [
        (0, vec![(26, 27)], vec![]),
        (0, vec![(26, 28)], vec![]),
        (0, vec![(26, 29)], vec![0]),
        (0, vec![(26, 30)], vec![1]),
        (0, vec![(26, 31)], vec![2]),
        (0, vec![(26, 32)], vec![3]),
        (1, vec![(26, 32)], vec![4, 5]),
        (1, late(36), vec![6]),
        (1, late(37), vec![7]),
        (2, late(38), vec![8, 9]),
        (3, late(38), vec![10, 11]),
    ];
    for (at, (ack, runs, expected)) in steps.into_iter().enumerate() {
        assert_eq!(lab.sack(ack, &runs), expected, "step {at}");
    }
}

/// RFC 6675 NextSeg (3): with nothing else to send, a hole that is not yet known to be lost.
#[test]
fn a_hole_that_may_be_lost_is_sent_last() {
    let mut lab = lab(config(sack(false), 10), 10);
    lab.send();
    let mut sent = Vec::new();
    for end in 2..=7 {
        sent.extend(lab.sack(0, &[(1, end)]));
    }
    assert_eq!(sent, vec![0]);
    assert_eq!(lab.sack(0, &[(8, 9), (1, 7)]), vec![7]);
    assert_eq!(lab.sender.board().lost(), 1);
}

/// RFC 6675 NextSeg (4): the lost end of the data is sent again without a timeout, once.
#[test]
fn the_tail_is_rescued() {
    for proportional in [false, true] {
        let mut lab = lab(config(sack(proportional), 10), 10);
        lab.send();
        let mut sent = Vec::new();
        for end in 2..=8 {
            sent.extend(lab.sack(0, &[(1, end)]));
        }
        assert_eq!(sent, vec![0]);
        // 8 and 9 are lost: the higher is sent, for the pipe has room, and then nothing until the timer.
        assert_eq!(lab.ack(8), vec![9]);
        assert_eq!(lab.sack(8, &[(9, 10)]), vec![8]);
        lab.ack(10);
        assert_eq!((lab.sender.counters().timeouts, lab.sender.is_done()), (0, true));
    }
}

/// RFC 6582 section 3.2 step 3: out of an episode with min(ssthresh, flight + 1), or with ssthresh.
#[test]
fn newreno_leaves_without_a_burst_or_with_one() {
    for (cautious, cwnd) in [(true, 2.0), (false, 10.0)] {
        let mut lab = lab(Config { limited_transmit: false, ..config(newreno(true, cautious), 20) }, 1000);
        lab.send();
        for _ in 0..10 {
            lab.ack(0);
        }
        lab.ack(lab.sender.nxt());
        assert_eq!(lab.sender.window().cwnd, cwnd);
    }
}

/// RFC 6582 section 3.2 step 3: the impatient variant restarts the timer with the first partial
/// acknowledgement only.
#[test]
fn which_partial_acknowledgements_restart_the_timer() {
    for impatient in [true, false] {
        let mut lab = lab(config(newreno(impatient, true), 20), 1000);
        lab.send();
        for _ in 0..3 {
            lab.ack(0);
        }
        lab.wait(50);
        lab.ack(5);
        assert_eq!(lab.until_timeout(), lab.sender.rtt().rto());
        let deadline = lab.sender.poll_timeout();
        lab.wait(70);
        lab.ack(10);
        assert_eq!(lab.sender.state(), State::Recovery);
        assert_eq!(lab.sender.poll_timeout() == deadline, impatient);
    }
}

/// RFC 6675 section 6 lets a retransmission restart the timer; the first of an episode does, later ones do
/// not.
#[test]
fn the_first_retransmission_has_a_whole_timeout() {
    for recovery in recoveries() {
        let mut lab = lab(config(&recovery, 20), 1000);
        lab.send();
        for end in 2..=4 {
            lab.wait(20);
            lab.sack(0, &[(1, end)]);
        }
        assert_ne!(lab.sender.state(), State::Open);
        assert_eq!(lab.until_timeout(), lab.sender.rtt().rto(), "{}", recovery.name());
        lab.wait(20);
        lab.sack(0, &[(1, 5)]);
        assert!(lab.until_timeout() < lab.sender.rtt().rto());
    }
}

/// RFC 2018 section 4: the first block is the run of the segment that has just arrived, of a copy too.
#[test]
fn a_copy_reports_its_run_first() {
    let mut receiver = Receiver::new(&Config::default(), 0);
    let mut arrive = |seq| receiver.on_data(Time::ZERO, &Data { seq, ..Data::default() });
    for seq in [0, 3, 4, 8] {
        arrive(seq);
    }
    let ack = arrive(3).expect("a copy is acknowledged at once");
    assert_eq!(ack.blocks[..2], [SackBlock { offset: 2, length: 2 }, SackBlock { offset: 7, length: 1 }]);
    assert_eq!((ack.blocks[2].length, receiver.duplicates()), (0, 1));
}

/// A mark is not held back with a delayed acknowledgement.
#[test]
fn a_mark_is_echoed_at_once() {
    let config = Config { ecn: true, delayed_ack: Some(Duration::from_millis(100)), ..Config::default() };
    let mut receiver = Receiver::new(&config, 0);
    let mut arrive = |seq, flags| receiver.on_data(Time::ZERO, &Data { seq, flags, ..Data::default() });
    assert_eq!(arrive(0, Flags::ECT), None);
    assert!(arrive(1, Flags::ECT).is_some());
    let ack = arrive(2, Flags::ECT.with(Flags::CE)).expect("at once");
    assert!(ack.flags.has(Flags::ECE));
    assert_eq!(arrive(3, Flags::ECT.with(Flags::CWR)), None);
    assert!(!arrive(4, Flags::ECT).expect("the second").flags.has(Flags::ECE));
}

/// Linux's `tcp_enter_cwr`: the queue of the sender's own host is full.
#[test]
fn a_full_queue_of_the_host_costs_a_window_one_reduction_and_nothing_is_lost() {
    let mut lab = Lab::new(config(sack(false), 16), "reno", 1000);
    let heard = |lab: &mut Lab, ack| lab.hear(made(ack, &[]), Flags::default());
    lab.send();
    assert!(!lab.sender.is_about_to_send(lab.now), "the window is full");
    heard(&mut lab, 2);
    assert!(lab.sender.is_about_to_send(lab.now));
    lab.sender.on_local_congestion(lab.now);
    let window = *lab.sender.window();
    assert_eq!((window.cwnd, window.ssthresh), (9.0, 9.0), "half of 18");
    assert!(!lab.sender.is_about_to_send(lab.now));
    heard(&mut lab, 12);
    assert!(lab.sender.is_about_to_send(lab.now));
    lab.sender.on_local_congestion(lab.now);
    assert_eq!(lab.sender.counters().window_cuts, 1, "the same window of data");
    assert_eq!(lab.send().first(), Some(&16), "what was not taken leaves next");
    heard(&mut lab, 17);
    lab.sender.on_local_congestion(lab.now);
    let counters = lab.sender.counters();
    assert_eq!((counters.window_cuts, counters.retransmits, lab.sender.state()), (2, 0, State::Open));
}
