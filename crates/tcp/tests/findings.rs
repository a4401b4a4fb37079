//! Every fault that was found in the endpoint, as a test that failed before the repair.

mod common;

use ackclock_cc::{self as cc, Controller, Event, Path, Signal, Window};
use ackclock_tcp::{Config, Data, Flags, Receiver, SackBlock, State};
use ackclock_units::{Duration, Rate, Time};
use common::lab::{Lab, Scripted, config, dupacks, made, recoveries, recovery, sack};

fn lab(config: Config, limit: u64) -> Lab {
    Lab::with(config, Scripted::boxed(true).0, limit)
}

/// RFC 6675 section 4, NextSeg (4): "HighRxt MUST NOT be updated". The rescue passes over segments that were
/// not retransmitted; taking them for retransmitted made the pipe wrap around when they were acknowledged.
#[test]
fn a_rescue_leaves_the_edge_of_retransmissions_alone() {
    for proportional in [false, true] {
        let mut lab = lab(config(sack(proportional), 12), 12);
        lab.send();
        // 0 and 3 are lost, and the last three: 1, 2 and 4 to 8 arrive.
        for (run, retransmitted) in [((1, 2), None), ((1, 3), None), ((4, 5), Some(0))] {
            assert_eq!(lab.sack(0, &[run]).first().copied(), retransmitted);
        }
        for end in 6..10 {
            lab.sack(0, &[(4, end), (1, 3)]);
        }
        lab.sack(3, &[(4, 9)]);
        lab.sack(9, &[]);
        assert_eq!(lab.sender.in_flight(), 3);
        lab.ack(10);
        assert_eq!(lab.sender.in_flight(), 2);
    }
}

/// RFC 6675 section 5 (4.3): RescueRxt starts at the first retransmission, "to prevent ... a premature rescue
/// retransmission": nothing is rescued before that retransmission is acknowledged.
#[test]
fn nothing_is_rescued_before_the_first_retransmission_is_acknowledged() {
    let mut lab = lab(config(sack(false), 10), 10);
    lab.send();
    let mut sent = Vec::new();
    for end in 2..11 {
        sent.extend(lab.sack(0, &[(1, end)]));
    }
    assert_eq!(sent, vec![0]);
    assert_eq!(lab.sender.state(), State::Recovery);
}

/// The pacer may hold the first retransmission back until it is no longer wanted: the segment was only late.
#[test]
fn a_paced_retransmission_of_what_has_arrived_meanwhile_is_dropped() {
    for proportional in [false, true] {
        // One segment in 10 ms.
        let rate = Rate::from_bps(1_200_000);
        let mut lab = Lab::with(config(sack(proportional), 10), Scripted::paced(rate), 1000);
        assert_eq!(lab.send_paced(), (0..10).collect::<Vec<_>>());
        lab.wait(5);
        lab.sack(0, &[(1, 4)]);
        lab.sack(0, &[(1, 4), (6, 9)]);
        assert_eq!(lab.sender.state(), State::Recovery);
        assert_eq!(lab.sack(4, &[(6, 9)]), Vec::<u64>::new());
        assert_eq!(lab.send_paced().first(), Some(&4));
    }
}

/// RFC 6298 (5.4): the timer's retransmission leaves when the timer expires, at whatever pace the rest goes;
/// otherwise a pace slower than the timer lets it expire again and again with nothing sent.
#[test]
fn the_timer_does_not_wait_for_the_pacer() {
    let mut lab = Lab::with(config(sack(false), 10), Scripted::paced(Rate::from_bps(1_000)), 10);
    assert_eq!(lab.send(), vec![0]);
    assert_eq!(lab.expire(), vec![0]);
}

/// Karn's algorithm (RFC 6298 section 5, last paragraph): without timestamps the back-off stays until a
/// segment that was sent once is acknowledged. It used to end with any new acknowledgement, so that on a path
/// longer than the timeout every segment was sent twice for ever and no sample was ever taken.
#[test]
fn the_back_off_stays_until_there_is_a_sample() {
    let config = Config { timestamps: false, ..config(sack(false), 1) };
    let mut lab = lab(config, 1000);
    assert_eq!(lab.send(), vec![0]);
    assert_eq!(lab.expire(), vec![0]);
    lab.wait(1_900);
    assert_eq!(lab.ack(1), vec![1]);
    assert_eq!(lab.until_timeout(), Duration::from_secs(2), "the first back-off still holds");
    assert_eq!(lab.expire(), vec![1]);
    lab.wait(900);
    assert_eq!(lab.ack(2), vec![2]);
    assert_eq!(lab.until_timeout(), Duration::from_secs(4));
    lab.wait(2_900);
    lab.ack(3);
    assert_eq!(lab.sender.counters().rtt_samples, 1);
    assert_eq!(lab.until_timeout(), Duration::from_millis(2_900 + 4 * 1_450));
}

/// RFC 5681 section 3.1: the threshold is held when a segment that the timer has resent times out again, and
/// only then.
#[test]
fn a_timeout_of_another_segment_is_another_loss() {
    let (controller, told) = Scripted::boxed(true);
    let config = Config { timestamps: false, ..config(sack(false), 16) };
    let mut lab = Lab::with(config, controller, 1000);
    lab.send();
    lab.expire();
    lab.expire();
    assert_eq!(told.lock().expect("one thread").cuts, vec![Signal::Timeout]);
    lab.ack(1);
    lab.expire();
    assert_eq!(told.lock().expect("one thread").cuts, vec![Signal::Timeout; 2]);
}

/// "None: no reaction" (the controller's seam): neither the window nor the slow-start threshold moves. The
/// threshold was set to the window, which ended slow start, and Tahoe started over all the same.
#[test]
fn a_loss_that_is_not_answered_changes_nothing() {
    for recovery in recoveries() {
        let (controller, told) = Scripted::boxed(false);
        let mut lab = Lab::with(config(&recovery, 12), controller, 1000);
        lab.send();
        let mut sent = Vec::new();
        for end in 2..13 {
            sent.extend(lab.sack(0, &[(1, end)]));
            assert_eq!(lab.sender.window().cwnd, 12.0, "{}", recovery.name());
        }
        assert!(sent.contains(&0));
        lab.ack(lab.sender.nxt());
        assert_eq!(lab.sender.state(), State::Open);
        assert_eq!((lab.sender.window().cwnd, lab.sender.window().ssthresh), (12.0, f64::INFINITY));
        assert_eq!(told.lock().expect("one thread").cuts, vec![Signal::Loss]);
        assert_eq!(lab.sender.counters().window_cuts, 0);
    }
}

/// The same for timeouts, in the open and in the middle of an episode.
#[test]
fn a_timeout_that_is_not_answered_changes_nothing() {
    for recovery in recoveries() {
        for duplicates in [0, 4] {
            let (controller, told) = Scripted::boxed(false);
            let mut lab = Lab::with(config(&recovery, 12), controller, 1000);
            lab.send();
            for end in 2..2 + duplicates {
                lab.sack(0, &[(1, end)]);
            }
            let missing =
                (0..12).filter(|seq| !recovery.scheme().selective || !(1..1 + duplicates).contains(seq));
            let again = lab.expire();
            assert!(again.starts_with(&missing.collect::<Vec<_>>()), "{}: {again:?}", recovery.name());
            lab.expire();
            assert_eq!((lab.sender.window().cwnd, lab.sender.window().ssthresh), (12.0, f64::INFINITY));
            lab.ack(lab.sender.nxt());
            assert_eq!((lab.sender.window().cwnd, lab.sender.window().ssthresh), (12.0, f64::INFINITY));
            assert_eq!(told.lock().expect("one thread").cuts.last(), Some(&Signal::Timeout));
        }
    }
}

/// A segment of data that was sent at `sent_ns`.
fn data(seq: u64, sent_ns: u64) -> Data {
    Data { seq, sent_at: Time::from_nanos(sent_ns), bytes: 1500, ..Data::default() }
}

/// RFC 7323 section 4.3 (2): TS.Recent never goes back. A copy of an old segment that arrived late used to
/// set it back, and the next sample was too long by as much as the copy was late.
#[test]
fn an_old_copy_does_not_set_the_echo_back() {
    let mut receiver = Receiver::new(&Config::default(), 0);
    for (seq, sent_ns) in [(0, 10), (1, 50), (0, 10)] {
        receiver.on_data(Time::from_nanos(sent_ns), &data(seq, sent_ns));
    }
    let ack =
        receiver.on_data(Time::from_nanos(100), &data(3, 60)).expect("out of order: acknowledged at once");
    assert_eq!(ack.echo, Time::from_nanos(50));
}

/// RFC 2018 section 4: every acknowledgement below the highest segment held carries SACK. Four runs are held,
/// three are remembered; when these are delivered the fourth was not reported any more.
#[test]
fn what_is_held_is_reported_to_the_last_run() {
    let mut receiver = Receiver::new(&Config::default(), 0);
    let mut last = None;
    for seq in [0, 8, 6, 4, 2, 1, 3, 5] {
        last = receiver.on_data(Time::ZERO, &data(seq, 0));
    }
    let last = last.expect("a hole was filled");
    assert_eq!((last.ack, last.blocks[0]), (7, SackBlock { offset: 1, length: 1 }));
}

/// RFC 2018 section 8: a receiver may drop what it has reported. An acknowledgement that ends at a reported
/// segment says so; that segment was passed over by every retransmission, after timeouts too, and the
/// connection stood still.
#[test]
fn a_receiver_that_drops_what_it_reported_is_sent_it_again() {
    for proportional in [false, true] {
        let mut lab = lab(config(sack(proportional), 10), 10);
        lab.send();
        lab.sack(0, &[(5, 8)]);
        lab.sack(6, &[]);
        assert_eq!(lab.sender.board().sacked(), 0);
        let mut sent = lab.expire();
        for ack in 7..=10 {
            sent.extend(lab.ack(ack));
        }
        assert_eq!(sent, (6..10).collect::<Vec<_>>());
        assert!(lab.sender.is_done());
    }
}

/// The same in the middle of an episode, with the next loss right at the dropped segment.
#[test]
fn reneging_in_an_episode_ends_with_the_timer() {
    let mut lab = lab(config(sack(false), 20), 20);
    lab.send();
    lab.sack(0, &[(5, 8)]);
    lab.sack(6, &[]);
    for end in 8..20 {
        lab.sack(6, &[(7, end)]);
    }
    let mut rounds = 0;
    while !lab.sender.is_done() {
        lab.expire();
        lab.ack(lab.sender.una() + 1);
        rounds += 1;
        assert!(rounds < 30, "{} is never acknowledged", lab.sender.una());
    }
}

/// RFC 9293 section 3.8.6.1: a window of nothing is probed, or its opening may be missed for ever.
#[test]
fn a_closed_window_is_probed() {
    let mut lab = lab(Config { ecn: true, ..config(sack(false), 4) }, 100);
    lab.send();
    lab.advertise(0);
    assert_eq!(lab.ack(4), Vec::<u64>::new());
    let first = lab.until_timeout();
    let cwnd = lab.sender.window().cwnd;
    assert_eq!(lab.expire(), vec![4], "one segment probes");
    assert_eq!(lab.ack(4), Vec::<u64>::new());
    assert_eq!(lab.expire(), vec![4]);
    assert!(lab.until_timeout() > first, "probes back off");
    assert_eq!(lab.sender.window().cwnd, cwnd, "a closed window is not congestion");
    lab.advertise(100);
    assert_eq!(lab.ack(4).first(), Some(&4));
    lab.ack(lab.sender.nxt());
    assert_eq!(lab.sender.counters().window_cuts, 0);
}

/// A probe that finds the window open again is a segment like any other.
#[test]
fn a_probe_may_be_taken() {
    let mut lab = lab(config(sack(false), 4), 6);
    lab.send();
    lab.advertise(0);
    lab.ack(4);
    assert_eq!(lab.expire(), vec![4]);
    assert_eq!(lab.ack(6), Vec::<u64>::new(), "5 was never sent");
    assert_eq!(lab.sender.una(), 4);
    lab.ack(5);
    assert_eq!((lab.sender.una(), lab.sender.nxt()), (5, 5));
    assert_eq!(lab.expire(), vec![5], "the window is closed once more");
    lab.sender.stop();
    assert!(!lab.sender.is_done(), "what was sent is still to be acknowledged");
    lab.ack(6);
    assert!(lab.sender.is_done());
    assert_eq!(lab.sender.poll_timeout(), None);
}

/// The opening may also come without a probe; and nothing is left to probe once the application has stopped.
#[test]
fn a_window_that_opens_by_itself_ends_the_probing() {
    let mut lab = lab(config(sack(false), 4), 100);
    lab.send();
    lab.advertise(0);
    lab.ack(4);
    lab.advertise(100);
    assert_eq!(lab.ack(4), vec![4, 5, 6, 7]);
    lab.advertise(0);
    lab.ack(8);
    assert!(lab.sender.poll_timeout().is_some());
    lab.sender.stop();
    assert!(lab.sender.is_done());
    lab.sender.on_timeout(lab.now + Duration::from_secs(100));
    assert_eq!(lab.send(), Vec::<u64>::new());
    assert_eq!(lab.sender.poll_timeout(), None);
}

/// A controller that writes nonsense into the window.
#[derive(Clone)]
struct Broken(f64);

impl Broken {
    fn scribble(&self, w: &mut Window) {
        (w.cwnd, w.ssthresh) = (self.0, self.0);
    }
}

impl Controller for Broken {
    fn on_sample(&mut self, _path: &Path, _ack: &cc::Ack, w: &mut Window) {
        self.scribble(w);
    }
    fn grow(&mut self, _path: &Path, _ack: &cc::Ack, w: &mut Window) {
        self.scribble(w);
    }
    fn cut(&mut self, _path: &Path, _w: &Window, _why: Signal) -> Option<f64> {
        (self.0 != 0.0).then_some(self.0)
    }
    fn on_event(&mut self, _path: &Path, event: Event, w: &mut Window) {
        if event == Event::Start {
            self.scribble(w);
        }
    }
}

/// The seam says that hosts keep the window at one segment or above; a lower one stopped the connection for
/// ever.
#[test]
fn no_controller_closes_the_window() {
    for nonsense in [0.0, -5.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for recovery in recoveries() {
            let mut lab = Lab::with(
                Config { peer_window: 8, ecn: true, ..config(&recovery, 8) },
                Box::new(Broken(nonsense)),
                40,
            );
            for step in 0_u64.. {
                if lab.sender.is_done() {
                    break;
                }
                let cwnd = lab.sender.window().cwnd;
                assert!((1.0..1e10).contains(&cwnd), "{nonsense} makes {cwnd}");
                lab.wait(1);
                if lab.send().is_empty() && lab.sender.una() == lab.sender.nxt() {
                    panic!("{nonsense} stops {}", recovery.name());
                }
                let (una, nxt) = (lab.sender.una(), lab.sender.nxt());
                match step % 11 {
                    6 => drop(lab.expire()),
                    8 => lab.hear(made(nxt, &[]), Flags::ECE),
                    10 => lab.hear(made(nxt, &[]), Flags::default()),
                    at if nxt > una + at => lab.hear(made(una, &[(una + 1, una + 1 + at)]), Flags::default()),
                    _ => lab.hear(made(una, &[]), Flags::default()),
                }
            }
        }
    }
}

/// RFC 3042 may be switched off; with SACK it was in force all the same, because what was reported left the
/// pipe.
#[test]
fn without_limited_transmit_the_first_duplicates_let_out_nothing() {
    for recovery in recoveries() {
        for limited_transmit in [false, true] {
            let mut lab = lab(Config { limited_transmit, ..config(&recovery, 10) }, 1000);
            lab.send();
            let mut sent = lab.sack(0, &[(1, 2)]);
            sent.extend(lab.sack(0, &[(1, 3)]));
            assert_eq!(sent, if limited_transmit { vec![10, 11] } else { vec![] }, "{}", recovery.name());
            assert!(lab.sack(0, &[(1, 4)]).starts_with(&[0]));
        }
    }
}

/// RFC 5681 section 2, definition of a duplicate, (e): an acknowledgement that changes the window is none.
#[test]
fn a_window_update_is_not_a_duplicate() {
    let mut lab = lab(config(recovery("reno"), 4), 1000);
    lab.send();
    for window in 100..110 {
        lab.advertise(window);
        assert_eq!(lab.ack(0), Vec::<u64>::new());
    }
    assert_eq!(lab.sender.counters().fast_retransmits, 0);
}

/// The inflation stands for the duplicates that have left the network (RFC 5681 section 3.2 (3)), however
/// many they are.
#[test]
fn the_inflation_is_the_threshold() {
    for threshold in [1, 2, 3, 6] {
        for recovery in [recovery("reno"), recovery("newreno")] {
            let mut lab = lab(
                Config { detection: dupacks(threshold), limited_transmit: false, ..config(&recovery, 12) },
                1000,
            );
            lab.send();
            for _ in 1..threshold {
                assert_eq!(lab.ack(0), Vec::<u64>::new());
            }
            assert_eq!(lab.ack(0), vec![0]);
            // ssthresh 6, 12 in flight: new data from the seventh duplicate on, whatever the threshold.
            for _ in threshold..6 {
                assert_eq!(lab.ack(0), Vec::<u64>::new(), "{} {threshold}", recovery.name());
            }
            assert_eq!(lab.ack(0), vec![12], "{} {threshold}", recovery.name());
        }
    }
}

/// RFC 2581 has no `recover`: Reno's third duplicate for the first segment after an episode is a loss too.
#[test]
fn reno_believes_the_duplicates_after_an_episode() {
    let mut lab = lab(config(recovery("reno"), 12), 1000);
    lab.send();
    for _ in 0..11 {
        lab.ack(0);
    }
    let (recover, nxt) = (12, lab.sender.nxt());
    assert!(nxt > recover + 3);
    lab.ack(recover);
    assert_eq!(lab.sender.state(), State::Open);
    for _ in 0..2 {
        lab.ack(recover);
    }
    assert!(lab.ack(recover).starts_with(&[recover]));
}

/// What was lost among the segments sent during an episode is known when it ends, and repaired from that very
/// acknowledgement on: there may be no other.
#[test]
fn a_loss_known_at_the_end_of_an_episode_begins_the_next() {
    for proportional in [false, true] {
        let mut lab = lab(Config { limited_transmit: false, ..config(sack(proportional), 12) }, 16);
        lab.send();
        for end in 2..13 {
            lab.sack(0, &[(1, end)]);
        }
        assert_eq!(lab.sender.nxt(), 16);
        lab.sack(0, &[(13, 16), (1, 12)]);
        assert_eq!(lab.sender.state(), State::Recovery);
        let sent = lab.sack(12, &[(13, 16)]);
        assert_eq!((lab.sender.state(), sent.first()), (State::Recovery, Some(&12)));
        assert_eq!(lab.sender.counters().window_cuts, 2);
    }
}
