use super::*;
use crate::bottleneck::OneFlow;
use crate::{Controller, scheme as control};
use ackclock_registry::Given;
use ackclock_units::Time;
use hystart::HyStart;
use hystart_plus_plus::HyStartPlusPlus;
use proptest::prelude::*;

fn chosen(name: &str) -> Settings {
    Settings::defaults(scheme(name).expect("it is in the registry"))
}

fn plus_plus() -> HyStartPlusPlus {
    HyStartPlusPlus::new(&chosen("hystart++"))
}

/// A connection that sends a window per round trip, and the slow start that watches it.
struct Bench<S: SlowStart> {
    start: S,
    path: Path,
    w: Window,
    paced: bool,
}

impl<S: SlowStart> Bench<S> {
    fn new(start: S) -> Bench<S> {
        let path = Path { nxt: 10, ..Path::default() };
        Bench { start, path, w: Window::starting_at(10.0), paced: false }
    }

    /// One segment is acknowledged after `rtt_us`, and `sent` segments are sent. Returns what counted.
    fn ack(&mut self, rtt_us: u64, sent: u64) -> f64 {
        let rtt = Duration::from_micros(rtt_us);
        self.path.rtt_min = self.path.rtt_min.min(rtt);
        self.path.una += 1;
        let ack = Ack { acked: 1.0, rtt: Some(rtt), ..Ack::default() };
        let share = self.start.on_ack(&self.path, &ack, self.paced, &mut self.w);
        self.path.nxt += sent;
        self.w.cwnd += share;
        share
    }

    /// A whole round: what was sent when it began is acknowledged, and so is the segment after it, which ends
    /// it. So the next round begins with one sample of this round-trip time.
    fn round(&mut self, rtt_us: u64) -> Vec<f64> {
        let count = self.path.nxt - self.path.una;
        (0..count).map(|_| self.ack(rtt_us, 1)).collect()
    }

    fn is_over(&self) -> bool {
        !self.w.in_slow_start()
    }
}

#[test]
fn every_slow_start_builds_from_its_defaults() {
    assert_eq!(ackclock_registry::mistakes::<Scheme>(), Vec::<String>::new());
    for scheme in schemes() {
        assert_eq!((scheme.build)(&Settings::defaults(scheme)).is_none(), scheme.entry.name == "standard");
    }
}

/// RFC 9406 section 4.3.
#[test]
fn the_constants_of_the_rfc() {
    let settings = chosen("hystart++");
    assert_eq!(settings.get::<Duration>("min_rtt_thresh"), Duration::from_millis(4));
    assert_eq!(settings.get::<Duration>("max_rtt_thresh"), Duration::from_millis(16));
    assert_eq!(settings.get::<f64>("min_rtt_divisor"), 8.0);
    assert_eq!(settings.get::<u64>("n_rtt_sample"), 8);
    assert_eq!(settings.get::<f64>("css_growth_divisor"), 4.0);
    assert_eq!(settings.get::<u64>("css_rounds"), 5);
}

/// Section 4.2: RttThresh is an eighth of the last round's, and 4 ms to 16 ms.
#[test]
fn the_rise_that_counts_is_an_eighth_within_bounds() {
    let rise =
        |ms| threshold(Duration::from_millis(ms), 8.0, Duration::from_millis(4), Duration::from_millis(16));
    assert_eq!([8, 32, 80, 128, 800].map(rise), [4, 4, 10, 16, 16].map(Duration::from_millis));
}

/// Section 4.2: eight samples of the second round are 10 ms above the first round's 80 ms. Seven are not
/// enough, and 9.999 ms are not.
#[test]
fn eight_samples_that_are_an_eighth_higher_begin_conservative_slow_start() {
    for (rise_us, counted) in [(10_000, 0.25), (9_999, 1.0)] {
        let mut bench = Bench::new(plus_plus());
        assert_eq!(bench.round(80_000), [1.0; 10], "the first round has none before it");
        // The first round lasts until segment 10 is acknowledged: this one still belongs to it.
        assert_eq!(bench.path.una, 10);
        let counts: Vec<_> = (0..8).map(|_| bench.ack(80_000 + rise_us, 1)).collect();
        assert_eq!(counts, [[1.0; 7].to_vec(), vec![counted]].concat());
        assert!(!bench.is_over());
    }
}

/// Section 4.2: a round ends when the segment is acknowledged that was SND.NXT at its start.
#[test]
fn a_round_ends_with_the_first_segment_sent_in_it() {
    let mut bench = Bench::new(plus_plus());
    for _ in 0..9 {
        bench.ack(80_000, 2);
    }
    // The last of the ten is late. It still belongs to the first round, whose smallest value is 80 ms.
    bench.ack(200_000, 2);
    assert_eq!((bench.path.una, bench.path.nxt), (10, 30));
    // Segment 10 begins the second round, which then ends with segment 30.
    for _ in 0..7 {
        assert_eq!(bench.ack(90_000, 2), 1.0);
    }
    assert_eq!(bench.ack(90_000, 2), 0.25);
}

/// Section 4.2: five rounds, the partial one counted; then the threshold is the window.
#[test]
fn conservative_slow_start_ends_after_five_rounds() {
    let mut bench = Bench::new(plus_plus());
    bench.round(80_000);
    let mut rounds = 0;
    while !bench.is_over() {
        let counts = bench.round(95_000);
        rounds += 1;
        assert!(rounds < 10, "it does not end");
        let grown: f64 = counts.iter().sum();
        assert!(grown <= counts.len() as f64);
    }
    // The round in which it began, and four more; the first acknowledgement of the sixth ends it.
    assert_eq!(rounds, 6);
    assert!(bench.w.ssthresh <= bench.w.cwnd && bench.w.ssthresh > 10.0);
}

/// Section 4.2: a smaller round-trip time than at its start shows that it was jitter.
#[test]
fn slow_start_resumes_when_the_round_trip_time_falls_again() {
    let mut bench = Bench::new(plus_plus());
    bench.round(80_000);
    bench.round(95_000);
    let counts = bench.round(94_000);
    // Not before eight samples of the round: the first acknowledgement still ended the round before.
    assert_eq!(counts.iter().position(|&share| share == 1.0), Some(7), "{counts:?}");
    assert!(bench.round(94_000).iter().all(|&share| share == 1.0), "it is slow start again");
    // And the next rise is compared with the round before it, not with the first.
    assert!(bench.round(110_000).contains(&0.25));
}

/// Growth at a quarter of the speed: 20 segments of a round add 5.
#[test]
fn conservative_growth_is_a_quarter() {
    let mut reno = crate::Reno::new(&crate::Settings::defaults(control("reno").expect("reno is there")));
    let mut bench = Bench::new(plus_plus());
    bench.round(80_000);
    bench.round(95_000);
    let mut w = Window::starting_at(20.0);
    for _ in 0..20 {
        let share = bench.ack(95_000, 1);
        reno.grow(&Path::default(), &Ack { acked: share, ..Ack::default() }, &mut w);
    }
    assert_eq!(w.cwnd, 25.0);
}

/// The paper, section 4.1, with Linux's limits: acknowledgements 1 ms apart for more than half of 40 ms.
#[test]
fn a_train_of_half_a_round_trip_ends_slow_start() {
    for (paced, at) in [(false, 21), (true, 41)] {
        let mut bench = Bench { paced, ..Bench::new(HyStart::new(&chosen("hystart"))) };
        (bench.path.nxt, bench.w.cwnd) = (100, 100.0);
        let mut acks = 0;
        while !bench.is_over() && acks < 90 {
            bench.path.now = Time::ZERO + Duration::from_millis(acks);
            bench.ack(40_000, 0);
            acks += 1;
        }
        assert_eq!(acks - 1, at);
    }
    // A gap of 3 ms ends the train, and what comes later does not count.
    let mut bench = Bench::new(HyStart::new(&chosen("hystart")));
    (bench.path.nxt, bench.w.cwnd) = (100, 100.0);
    for at in (0..10).chain(13..90) {
        bench.path.now = Time::ZERO + Duration::from_millis(at);
        bench.ack(40_000, 0);
    }
    assert!(!bench.is_over());
}

/// Linux: more than eight samples, all of them more than 5 ms above the smallest of 40 ms; at once.
#[test]
fn a_late_round_ends_slow_start() {
    let mut settings = chosen("hystart");
    settings.set("detect", Given::Word("delay")).expect("a known word");
    for (late_us, ends) in [(45_000, false), (45_001, true)] {
        let mut bench = Bench::new(HyStart::new(&settings));
        bench.round(40_000);
        bench.w.cwnd = 20.0;
        let before = (0..8).all(|_| bench.ack(late_us, 1) == 1.0 && !bench.is_over());
        bench.ack(late_us, 1);
        assert_eq!((before, bench.is_over()), (true, ends));
    }
    // Not below 16 segments.
    let mut bench = Bench::new(HyStart::new(&settings));
    bench.round(40_000);
    bench.w.cwnd = 3.0;
    for _ in 0..12 {
        bench.ack(90_000, 1);
    }
    assert!(!bench.is_over());
}

/// How large the queue becomes before slow start ends, in segments: 1000 segments per second, 100 ms.
fn overshoot(start: Option<Box<dyn SlowStart>>) -> f64 {
    #[derive(Clone)]
    struct Watched(Box<dyn Controller>, Option<Box<dyn SlowStart>>);
    impl Controller for Watched {
        fn grow(&mut self, path: &Path, ack: &Ack, w: &mut Window) {
            let share = match &mut self.1 {
                Some(start) if w.in_slow_start() => start.on_ack(path, ack, false, w),
                _ => 1.0,
            };
            self.0.grow(path, &Ack { acked: ack.acked * share, ..*ack }, w);
        }
        fn cut(&mut self, path: &Path, w: &Window, why: crate::Signal) -> Option<f64> {
            self.0.cut(path, w, why)
        }
    }
    let inner = crate::Settings::defaults(control("reno").expect("reno is there")).build();
    let mut watched = Watched(inner, start);
    let mut flow = OneFlow::new(1000.0, 0.1, Window::starting_at(10.0));
    flow.run(&mut watched, 2.0);
    flow.queue()
}

/// Over an unlimited queue, with a bandwidth-delay product of 100 segments. HyStart ends slow start at half
/// of the product. HyStart++ sees the rise of 12.5 ms at 112.5 segments or in the round after, with at most
/// twice as many, and multiplies that by at most 1.25^5 in five rounds.
#[test]
fn the_queue_stays_small() {
    let [standard, hystart, plus_plus] = ["standard", "hystart", "hystart++"]
        .map(|name| overshoot((chosen(name).scheme().build)(&chosen(name))));
    assert!(hystart < 100.0, "{hystart}");
    assert!(plus_plus < 225.0 * 1.25_f64.powi(5) - 100.0, "{plus_plus}");
    assert!(standard > 2.0 * plus_plus, "{standard}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the samples are: an acknowledgement counts in full or for a quarter, the window never
    /// becomes smaller, and slow start ends only from conservative slow start, with the window as threshold.
    #[test]
    fn nothing_but_a_quarter_or_all(rtts in prop::collection::vec(1_u64..200_000, 1..400)) {
        let mut bench = Bench::new(plus_plus());
        let mut before = 1.0;
        for rtt in rtts {
            let cwnd = bench.w.cwnd;
            let share = bench.ack(rtt, 1);
            prop_assert!(bench.w.cwnd > cwnd);
            if bench.is_over() {
                prop_assert_eq!((before, bench.w.ssthresh), (0.25, cwnd));
                break;
            }
            prop_assert!(share == 1.0 || share == 0.25);
            before = share;
        }
    }

    /// A path without a queue never ends slow start, whatever its round-trip time is.
    #[test]
    fn a_constant_round_trip_time_ends_nothing(rtt_us in 1_000_u64..500_000, rounds in 1_usize..8) {
        let mut bench = Bench::new(plus_plus());
        for _ in 0..rounds {
            prop_assert!(bench.round(rtt_us).iter().all(|&share| share == 1.0));
        }
        prop_assert!(!bench.is_over());
    }
}
