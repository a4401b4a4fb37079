//! The rate of delivery, losses one by one, and a window that the controller governs itself.

mod common;

use ackclock_cc::{Ack as Acked, Controller, Event, Lost, Needs, Path, RateSample, Signal, Window};
use ackclock_tcp::{Config, Flags, Undo};
use ackclock_units::Duration;
use common::lab::{Lab, config, made, recoveries, sack};
use std::sync::{Arc, Mutex};

/// What a [`Watching`] controller was told.
#[derive(Default)]
struct Told {
    samples: Vec<RateSample>,
    lost: Vec<Lost>,
    /// Of every acknowledgement: newly lost, in flight and whether something is repaired.
    states: Vec<(u64, f64, bool)>,
    events: Vec<Event>,
}

/// A controller that governs a window of constant size.
#[derive(Clone)]
struct Watching {
    cwnd: f64,
    told: Arc<Mutex<Told>>,
}

impl Watching {
    fn lab(config: Config, cwnd: f64, limit: u64) -> (Lab, Arc<Mutex<Told>>) {
        let told = Arc::<Mutex<Told>>::default();
        let needs = Needs { rate: true, window: true, ..Needs::NOTHING };
        (Lab::needing(config, Box::new(Watching { cwnd, told: told.clone() }), needs, limit), told)
    }

    fn told(&self) -> std::sync::MutexGuard<'_, Told> {
        self.told.lock().expect("one thread")
    }
}

impl Controller for Watching {
    fn on_sample(&mut self, path: &Path, ack: &Acked, w: &mut Window) {
        w.cwnd = self.cwnd;
        let mut told = self.told();
        told.samples.extend(ack.rate);
        told.states.push((ack.lost, path.in_flight, path.recovering));
    }

    fn grow(&mut self, _path: &Path, _ack: &Acked, _w: &mut Window) {}

    fn cut(&mut self, _path: &Path, w: &Window, why: Signal) -> Option<f64> {
        (why == Signal::Timeout).then_some(w.cwnd)
    }

    fn on_event(&mut self, _path: &Path, event: Event, _w: &mut Window) {
        self.told().events.push(event);
    }

    fn on_lost(&mut self, _path: &Path, lost: &Lost, _w: &Window) {
        self.told().lost.push(*lost);
    }
}

fn last(told: &Mutex<Told>) -> RateSample {
    *told.lock().expect("one thread").samples.last().expect("a sample")
}

#[test]
fn a_sample_compares_departure_and_arrival() {
    let (mut lab, told) = Watching::lab(config(sack(false), 4), 4.0, 1000);
    assert_eq!(lab.send(), [0, 1, 2, 3]);
    lab.wait(100);
    lab.ack(1);
    let first = last(&told);
    assert_eq!((first.acked, first.delivered, first.prior_delivered, first.in_flight), (1, 1, 0, 1));
    assert_eq!((first.interval, first.rtt), (Duration::from_millis(100), Some(Duration::from_millis(100))));
    assert_eq!(first.per_second(), 10.0);
    lab.wait(10);
    lab.ack(2); // segment 1 left at 0: both have been delivered since, in 110 ms
    let second = last(&told);
    assert_eq!((second.delivered, second.interval), (2, Duration::from_millis(110)));
    lab.wait(10);
    lab.ack(4);
    assert_eq!((last(&told).acked, last(&told).delivered, last(&told).in_flight), (2, 4, 4));
    // Segment 4 left when the first had been delivered, at 100 ms; four have been delivered since.
    lab.wait(80);
    lab.ack(5);
    let fifth = last(&told);
    assert_eq!((fifth.prior_delivered, fifth.delivered, fifth.interval), (1, 4, Duration::from_millis(100)));
}

#[test]
fn what_is_sent_slowly_is_not_delivered_faster() {
    let (mut lab, told) = Watching::lab(config(sack(false), 2), 2.0, 1000);
    lab.send();
    lab.wait(100);
    lab.ack(1); // lets out segment 2
    lab.wait(60);
    lab.ack(2); // lets out segment 3, 60 ms later
    lab.wait(110);
    lab.ack(4); // both arrive at once
    let sample = last(&told);
    // Two delivered since segment 3 left; acknowledged in 110 ms, sent in 160 (since segment 1 left).
    assert_eq!((sample.delivered, sample.interval), (2, Duration::from_millis(160)));
}

#[test]
fn a_sample_shorter_than_the_path_is_not_relied_upon() {
    let (mut lab, told) = Watching::lab(config(sack(false), 10), 10.0, 1000);
    lab.send();
    lab.wait(50);
    lab.ack(1); // echoes a time 100 ms ago: no round trip is shorter
    assert_eq!((last(&told).interval, last(&told).per_second()), (Duration::ZERO, 0.0));
}

#[test]
fn what_was_sent_twice_has_no_round_trip_time() {
    let (mut lab, told) = Watching::lab(config(sack(false), 10), 10.0, 1000);
    lab.send();
    lab.wait(100);
    assert_eq!(lab.sack(0, &[(1, 5)])[0], 0);
    assert_eq!((last(&told).delivered, last(&told).rtt), (4, Some(Duration::from_millis(100))));
    lab.wait(5);
    lab.ack(5);
    // It was sent 100 ms after what had been delivered before; acknowledged 5 ms later.
    let sample = last(&told);
    assert_eq!((sample.delivered, sample.interval, sample.rtt), (1, Duration::from_millis(100), None));
}

#[test]
fn nothing_new_is_no_sample() {
    let (mut lab, told) = Watching::lab(config(sack(false), 10), 10.0, 1000);
    lab.send();
    lab.wait(100);
    lab.sack(0, &[(3, 4)]);
    lab.sack(0, &[(3, 4)]);
    let told = told.lock().expect("one thread");
    assert_eq!((told.samples.len(), told.states.len()), (1, 2));
}

#[test]
fn losses_are_told_one_by_one_and_once() {
    let (mut lab, told) = Watching::lab(config(sack(false), 20), 20.0, 1000);
    lab.send();
    lab.wait(100);
    lab.sack(0, &[(3, 6)]);
    let seqs =
        |told: &Told| told.lost.iter().map(|lost| (lost.seq, lost.in_flight, lost.lost)).collect::<Vec<_>>();
    {
        let told = told.lock().expect("one thread");
        assert_eq!(seqs(&told), [(0, 1, 1), (1, 2, 2), (2, 3, 3)]);
        // The window is set last: when they are counted and the episode has begun.
        assert_eq!(told.states, [(3, 14.0, true)]);
    }
    lab.sack(0, &[(3, 7)]);
    assert_eq!(told.lock().expect("one thread").lost.len(), 3);
    assert_eq!(told.lock().expect("one thread").samples[1].lost, 3);
    // After a timeout all the rest is lost, and what was sent again once more.
    lab.expire();
    let told = told.lock().expect("one thread");
    let after: Vec<u64> = told.lost[3..].iter().map(|lost| lost.seq).collect();
    assert_eq!(&after[..4], [0, 1, 2, 7]);
    assert_eq!(after.len() as u64, lab.sender.nxt() - 4);
}

#[test]
fn the_last_data_are_limited_by_the_application() {
    let (mut lab, told) = Watching::lab(config(sack(false), 4), 4.0, 5);
    lab.send();
    lab.wait(100);
    lab.ack(1);
    lab.wait(20);
    lab.ack(4); // nothing was left to send when this came, but 4 had left before
    lab.wait(80);
    lab.ack(5);
    assert!(told.lock().expect("one thread").samples.iter().all(|sample| !sample.app_limited));
    assert!(told.lock().expect("one thread").events == [Event::Start]);
}

#[test]
fn the_window_is_the_controllers_in_every_state() {
    for recovery in recoveries() {
        let (mut lab, told) = Watching::lab(config(&recovery, 20), 20.0, 1000);
        lab.send();
        for end in 2..9 {
            lab.wait(1);
            lab.sack(0, &[(1, end)]);
            if recovery.name() != "tahoe" {
                assert_eq!(lab.sender.window().cwnd, 20.0, "{}", recovery.name());
            }
        }
        lab.wait(100);
        lab.ack(lab.sender.nxt());
        let (window, events) = (lab.sender.window(), &told.lock().expect("one thread").events);
        assert_eq!((window.cwnd, window.ssthresh), (20.0, f64::INFINITY), "{}", recovery.name());
        assert_eq!(events[..], [Event::Start, Event::Recovered], "{}", recovery.name());
    }
}

#[test]
fn a_repair_fills_the_window_and_not_a_share_of_it() {
    for proportional_rate in [false, true] {
        let (mut lab, _) = Watching::lab(config(sack(proportional_rate), 20), 20.0, 1000);
        lab.send();
        // Of 20 one is lost and three have arrived: 4 retransmitted or new segments fill the window.
        assert_eq!(lab.sack(0, &[(1, 4)]), [0, 20, 21, 22]);
        assert_eq!(lab.sender.in_flight(), 20);
    }
}

#[test]
fn a_spurious_repair_is_told_of() {
    let config = Config { undo: Undo::Eifel, ..config(sack(false), 10) };
    let (mut lab, told) = Watching::lab(config, 10.0, 1000);
    lab.send();
    lab.sack(0, &[(1, 5)]);
    lab.wait(5);
    lab.hear(made(10, &[]), Flags::default()); // echoes a time before the retransmission
    let told = told.lock().expect("one thread");
    assert_eq!(told.events, [Event::Start, Event::Recovered, Event::Spurious]);
    assert_eq!(lab.sender.window().cwnd, 10.0);
}
