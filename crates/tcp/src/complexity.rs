//! The work per segment stays constant, whatever is lost. ns-3 and others take minutes for these cases.
//!
//! The tests count entries of the scoreboard and of the reassembly, not seconds, so the bound is exact on
//! every machine.

use crate::{Ack, Config, Data, Receiver, Sender, recovery};
use ackclock_cc::{Needs, Settings, scheme};
use ackclock_registry::Given;
use ackclock_units::{Duration, Time};
use std::collections::VecDeque;

/// The window after slow start overshoots at 10 Gbit/s and 150 ms, segments.
const WINDOW: u64 = 130_000;
/// The largest number of entries that are read per arriving packet.
const STEPS_PER_PACKET: u64 = 16;

/// A connection that has just sent a whole window.
struct Run {
    sender: Sender,
    receiver: Receiver,
    now: Time,
    sent: VecDeque<Data>,
    packets: u64,
}

impl Run {
    fn new(proportional_rate: bool) -> Run {
        let mut recovery = recovery::Settings::defaults(&recovery::SACK);
        recovery.set("proportional_rate", Given::Flag(proportional_rate)).expect("a switch");
        let config = Config { recovery, initial_window: WINDOW as f64, ..Config::default() };
        let controller = Settings::defaults(scheme("reno").expect("reno is there")).build();
        let mut run = Run {
            sender: Sender::new(config.clone().into(), controller, Needs::NOTHING, 0, 2 * WINDOW, Time::ZERO),
            receiver: Receiver::new(&config, 0),
            now: Time::ZERO,
            sent: VecDeque::new(),
            packets: 0,
        };
        run.transmit();
        assert_eq!(run.sent.len() as u64, WINDOW);
        run
    }

    fn transmit(&mut self) {
        while let Some(data) = self.sender.poll_transmit(self.now) {
            self.sent.push_back(data);
        }
    }

    fn arrive(&mut self, data: Data) {
        self.packets += 1;
        self.now += Duration::from_micros(1);
        if let Some(ack) = self.receiver.on_data(self.now, &data) {
            self.hear(&ack);
        }
    }

    fn hear(&mut self, ack: &Ack) {
        self.sender.on_ack(self.now, ack, || 0.5);
        self.transmit();
    }

    /// All segments sent from now on arrive.
    fn finish(mut self) {
        while !self.sender.is_done() {
            if let Some(data) = self.sent.pop_front() {
                self.arrive(data);
            } else {
                self.now = self.sender.poll_timeout().expect("a timer runs");
                self.sender.on_timeout(self.now);
                self.transmit();
            }
            assert!(self.packets < 4 * WINDOW, "the repair goes on and on");
        }
        let steps = [&self.sender.board().steps, &self.receiver.reassembly.steps].map(|steps| steps.get());
        let most = STEPS_PER_PACKET * self.packets;
        assert!(steps.iter().all(|&steps| steps <= most), "{steps:?} steps for {} packets", self.packets);
    }
}

#[test]
fn every_second_segment_is_lost() {
    for proportional_rate in [false, true] {
        let mut run = Run::new(proportional_rate);
        for data in std::mem::take(&mut run.sent) {
            if data.seq % 2 == 1 {
                run.arrive(data);
            }
        }
        assert_eq!(run.receiver.held(), WINDOW / 2);
        run.finish();
    }
}

#[test]
fn the_first_half_is_lost() {
    for proportional_rate in [false, true] {
        let mut run = Run::new(proportional_rate);
        for data in std::mem::take(&mut run.sent).into_iter().skip(WINDOW as usize / 2) {
            run.arrive(data);
        }
        run.finish();
    }
}

/// The worst order for runs: the window arrives from the end to the beginning, so each arrival joins the run
/// above it.
#[test]
fn the_window_arrives_in_reverse() {
    let mut run = Run::new(false);
    for data in std::mem::take(&mut run.sent).into_iter().rev() {
        run.arrive(data);
    }
    run.finish();
}

/// First the even segments arrive, then the odd ones from the end: every arrival joins two runs.
#[test]
fn runs_are_joined_two_by_two() {
    let mut run = Run::new(false);
    let sent: Vec<_> = std::mem::take(&mut run.sent).into_iter().skip(1).collect();
    for data in sent.iter().filter(|data| data.seq % 2 == 0) {
        run.arrive(*data);
    }
    for data in sent.iter().rev().filter(|data| data.seq % 2 == 1) {
        run.arrive(*data);
    }
    run.finish();
}

/// A third of the segments is lost, and one acknowledgement in about a hundred gets through.
#[test]
fn acknowledgements_are_lost() {
    let mut run = Run::new(true);
    for data in std::mem::take(&mut run.sent).into_iter().filter(|data| data.seq % 3 != 0) {
        run.packets += 1;
        let ack = run.receiver.on_data(run.now, &data).expect("a hole is open: acknowledged at once");
        if data.seq % 100 == 1 {
            run.hear(&ack);
        }
    }
    assert!(run.receiver.held() > WINDOW / 2);
    run.finish();
}

/// A timeout during the repair.
#[test]
fn the_timer_expires_over_a_window_full_of_holes() {
    let mut run = Run::new(false);
    for data in std::mem::take(&mut run.sent) {
        if data.seq % 2 == 1 {
            run.arrive(data);
        }
    }
    run.sent.clear(); // the repair is lost, too
    run.finish();
}
