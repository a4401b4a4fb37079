//! ECN by RFC 3168 section 6.1: one reaction per window of data, announced.

mod common;

use ackclock_cc::Signal;
use ackclock_tcp::{Config, Data, Flags, Receiver};
use ackclock_units::{Duration, Time};
use common::lab::{Lab, Scripted, config, made, recovery, sack};

fn lab(config: Config, limit: u64) -> Lab {
    Lab::with(Config { ecn: true, ..config }, Scripted::boxed(true).0, limit)
}

/// A mark used to move `recover`, below which duplicates are not believed without SACK: a segment lost in the
/// marked window was left to the timer.
#[test]
fn a_loss_in_a_marked_window_is_retransmitted_and_not_answered_twice() {
    for recovery in [sack(false), recovery("newreno"), recovery("reno")] {
        let mut lab = lab(config(&recovery, 20), 1000);
        lab.send();
        lab.hear(made(1, &[]), Flags::ECE);
        assert_eq!((lab.sender.window().cwnd, lab.send()), (10.0, vec![]));
        for end in 4..8 {
            lab.hear(made(2, &[(3, end)]), Flags::ECE);
        }
        assert_eq!(lab.send().first(), Some(&2), "{}", recovery.name());
        // RFC 3168 section 6.1.2: one reaction to a window's losses and marks.
        assert_eq!((lab.sender.counters().window_cuts, lab.sender.window().cwnd), (1, 10.0));
    }
}

/// RFC 8257 section 3.5: a loss is answered as by any other TCP. The marks before it have cost only their
/// share.
#[test]
fn a_loss_in_a_marked_window_is_answered_where_marks_cost_a_share() {
    let config = Config { ecn: true, dctcp_echo: true, ..config(sack(false), 20) };
    let mut lab = Lab::new(config, "dctcp", 1000);
    lab.send();
    for ack in 1..=20 {
        lab.hear(made(ack, &[]), Flags::default());
        lab.send();
    }
    lab.hear(made(21, &[]), Flags::ECE);
    let after_mark = lab.sender.window().cwnd;
    for end in 24..28 {
        lab.hear(made(22, &[(23, end)]), Flags::default());
    }
    assert_eq!(lab.sender.counters().window_cuts, 2);
    assert!(lab.sender.window().ssthresh < 0.55 * after_mark, "{:?}", lab.sender.window());
}

/// The echo lasts until CWR has arrived, and CWR is on the first segment after the cut: the acknowledgement
/// of all that was sent before still carries the echo of the mark that was answered.
#[test]
fn the_echo_of_an_answered_mark_is_not_another() {
    let mut lab = lab(config(sack(false), 8), 1000);
    lab.send();
    lab.hear(made(1, &[]), Flags::ECE);
    for ack in 2..8 {
        lab.hear(made(ack, &[]), Flags::ECE);
        lab.send();
    }
    let nxt = lab.sender.nxt();
    assert!(nxt > 8);
    lab.hear(made(8, &[]), Flags::ECE);
    assert_eq!(lab.sender.counters().window_cuts, 1);
    // The echo that outlasts CWR is of a new mark.
    lab.hear(made(9, &[]), Flags::ECE);
    assert_eq!(lab.sender.counters().window_cuts, 2);
}

/// RFC 3168 section 6.1.2: CWR announces every reduction, whatever for; without it the receiver goes on
/// echoing, and the echo of a mark from before the loss is answered once more.
#[test]
fn every_cut_is_announced() {
    for recovery in [sack(false), recovery("newreno"), recovery("tahoe")] {
        let mut lab = lab(config(&recovery, 8), 1000);
        let first: Vec<_> = lab.send_all();
        assert!(first.iter().all(|data| data.flags.has(Flags::ECT) && !data.flags.has(Flags::CWR)));
        for end in 2..9 {
            lab.hear(made(0, &[(1, end)]), Flags::default());
        }
        let mut sent = lab.send_all();
        lab.hear(made(8, &[]), Flags::default());
        sent.extend(lab.send_all());
        let again: Vec<_> = sent.iter().filter(|data| data.flags.has(Flags::RETRANSMISSION)).collect();
        assert!(!again.is_empty());
        assert!(again.iter().all(|data| !data.flags.has(Flags::ECT) && !data.flags.has(Flags::CWR)));
        let fresh: Vec<_> = sent.iter().filter(|data| !data.flags.has(Flags::RETRANSMISSION)).collect();
        assert!(fresh[0].flags.has(Flags::CWR), "{}", recovery.name());
        assert!(fresh[1..].iter().all(|data| !data.flags.has(Flags::CWR)));
    }
}

/// RFC 3168 section 6.1.1: an echo means nothing to a sender that did not negotiate ECN.
#[test]
fn an_echo_without_negotiation_means_nothing() {
    let mut lab = Lab::with(config(sack(false), 8), Scripted::boxed(true).0, 1000);
    lab.send();
    lab.hear(made(1, &[]), Flags::ECE);
    assert_eq!((lab.sender.counters().window_cuts, lab.sender.window().cwnd), (0, 8.0));
}

/// RFC 3168 section 6.1.2: "SHOULD NOT increase the congestion window in response to the receipt of an
/// ECN-Echo ACK".
#[test]
fn an_echo_lets_nothing_grow() {
    let (controller, told) = Scripted::boxed(true);
    let mut lab = Lab::with(Config { ecn: true, ..config(sack(false), 8) }, controller, 1000);
    lab.send();
    lab.ack(1);
    assert_eq!(told.lock().expect("one thread").grown, 1.0);
    lab.hear(made(2, &[]), Flags::ECE);
    lab.hear(made(3, &[]), Flags::ECE);
    assert_eq!(told.lock().expect("one thread").grown, 1.0);
}

/// The threshold is two segments or more, a window of one is not raised to it by a mark.
#[test]
fn a_mark_does_not_open_the_window() {
    let mut lab = lab(config(sack(false), 1), 1000);
    lab.send();
    lab.hear(made(1, &[]), Flags::ECE);
    assert_eq!((lab.sender.counters().window_cuts, lab.sender.window().cwnd), (1, 1.0));
}

/// And for marks: the controller is asked once per window of data, and grows as if there were none.
#[test]
fn a_mark_that_is_not_answered_changes_nothing() {
    let (controller, told) = Scripted::boxed(false);
    let mut lab = Lab::with(Config { ecn: true, ..config(sack(false), 10) }, controller, 1000);
    lab.send();
    for ack in 1..=15 {
        lab.hear(made(ack, &[]), Flags::ECE);
        assert!(lab.send_all().iter().all(|data| !data.flags.has(Flags::CWR)), "nothing to announce");
    }
    let told = told.lock().expect("one thread");
    assert_eq!((&told.cuts[..], told.grown), (&[Signal::Mark; 2][..], 15.0));
    assert_eq!(lab.sender.window().ssthresh, f64::INFINITY);
}

/// RFC 8257 section 3.2: the echo says whether the last segment was marked, and every change is acknowledged
/// at once.
#[test]
fn an_exact_echo_follows_every_mark() {
    let config = Config {
        ecn: true,
        dctcp_echo: true,
        delayed_ack: Some(Duration::from_millis(100)),
        ..Config::default()
    };
    let mut receiver = Receiver::new(&config, 0);
    let mut seq = 0;
    let mut send = |marked: bool, cwr: bool| {
        let mut flags = Flags::ECT;
        for (on, flag) in [(marked, Flags::CE), (cwr, Flags::CWR)] {
            flags = if on { flags.with(flag) } else { flags };
        }
        let data = Data { seq, flags, ..Data::default() };
        seq += 1;
        receiver.on_data(Time::ZERO, &data).map(|ack| (ack.ack, ack.flags.has(Flags::ECE)))
    };
    assert_eq!(send(false, false), None);
    assert_eq!(send(false, false), Some((2, false)));
    assert_eq!(send(false, false), None);
    assert_eq!(send(true, false), Some((4, true)), "a change is told at once");
    assert_eq!(send(true, false), None, "what stays the same is not");
    assert_eq!(send(true, true), Some((6, true)), "and CWR does not end it");
    assert_eq!(send(false, false), Some((7, false)));
}

/// RFC 8257 section 3.3: of what an echo acknowledges all was marked; the window is cut once for a window of
/// data.
#[test]
fn an_exact_echo_counts_what_it_acknowledges() {
    let config = Config { ecn: true, dctcp_echo: true, ..config(sack(false), 10) };
    let mut lab = Lab::new(config, "dctcp", 1000);
    let alpha = |lab: &Lab| {
        let mut alpha = f64::NAN;
        lab.sender.controller().inspect(&mut |name, value| {
            if name == "alpha" {
                alpha = value
            }
        });
        alpha
    };
    lab.send();
    lab.hear(made(1, &[]), Flags::default());
    assert_eq!(alpha(&lab), 1.0 - 1.0 / 16.0, "the first window is over, without a mark");
    lab.send();
    lab.hear(made(6, &[]), Flags::ECE);
    let cwnd = lab.sender.window().cwnd;
    assert_eq!(cwnd, 11.0 * (1.0 - 0.9375 / 2.0));
    lab.hear(made(12, &[]), Flags::ECE);
    assert_eq!((lab.sender.counters().window_cuts, lab.sender.window().cwnd), (1, cwnd));
    // 11 acknowledged since the first, all of them marked.
    assert_eq!(alpha(&lab), 0.9375 + (1.0 - 0.9375) / 16.0);
    assert!(lab.send_all().iter().all(|data| data.flags.has(Flags::ECT)));
}
