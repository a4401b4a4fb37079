use super::*;
use crate::{Given, scheme};

/// A connection with one acknowledgement per round trip.
struct Bench {
    bbr: Bbr,
    path: Path,
    w: Window,
    draw: f64,
}

impl Bench {
    fn with(set: &[(&str, Given<'_>)]) -> Bench {
        let mut settings = Settings::defaults(scheme("bbr").expect("bbr is there"));
        for &(name, given) in set {
            settings.set(name, given).expect("a setting");
        }
        let mut bench = Bench {
            bbr: Bbr::new(&settings),
            path: Path::default(),
            w: Window::starting_at(10.0),
            draw: 0.0,
        };
        bench.event(Event::Start);
        bench
    }

    fn new() -> Bench {
        Bench::with(&[])
    }

    fn event(&mut self, event: Event) {
        self.bbr.on_event(&self.path, event, &mut self.w);
    }

    /// An acknowledgement after `ms`, of the segments that `per_second` segments per second give in that
    /// time.
    fn hear(&mut self, per_second: f64, ms: u64, change: impl FnOnce(&mut Path, &mut Ack)) {
        let rtt = Duration::from_millis(ms);
        let acked = (per_second * rtt.as_secs_f64()) as u64;
        let prior_delivered = self.path.delivered;
        self.path.now += rtt;
        self.path.delivered += acked;
        self.path.una += acked;
        self.path.in_flight = acked as f64;
        self.path.srtt = rtt;
        let rate = RateSample {
            acked,
            delivered: acked,
            interval: rtt,
            prior_delivered,
            in_flight: acked,
            rtt: Some(rtt),
            ..RateSample::default()
        };
        let mut ack = Ack { rate: Some(rate), draw: self.draw, ..Ack::default() };
        let mut path = self.path;
        change(&mut path, &mut ack);
        self.path = path;
        self.bbr.on_sample(&self.path, &ack, &mut self.w);
    }

    fn round(&mut self, per_second: f64, ms: u64) {
        self.hear(per_second, ms, |_, _| {});
    }

    /// A connection past Startup, on a path of 1000 segments per second and 100 ms.
    fn steady() -> Bench {
        let mut bench = Bench::new();
        for _ in 0..4 {
            bench.round(1000.0, 100);
        }
        bench.hear(1000.0, 100, |path, _| path.in_flight = 50.0);
        assert_eq!(bench.bbr.mode, Mode::ProbeBw);
        bench
    }

    /// The pacing rate divided by the bandwidth estimate, without the margin.
    fn gain(&self) -> f64 {
        let bps = self.w.pacing.expect("it paces").bps_f64();
        bps / (0.99 * self.bbr.bw() * 12_000.0)
    }
}

#[test]
fn it_begins_with_the_first_window_over_the_round_trip() {
    let mut bench = Bench::new();
    // 10 segments of 12,000 bits in a millisecond, times 2.885 and 0.99.
    let mbps = |bench: &Bench| bench.w.pacing.expect("it paces").bps_f64() * 1e-6;
    assert!((mbps(&bench) - 342.738).abs() < 1e-5);
    bench.hear(10.0, 100, |_, ack| ack.rate = None);
    assert!((mbps(&bench) - 3.42738).abs() < 1e-5);
}

#[test]
fn startup_ends_after_three_round_trips_without_growth_by_a_quarter() {
    let mut bench = Bench::new();
    for bw in [100.0, 200.0, 400.0, 1000.0, 1240.0, 1249.0] {
        bench.round(bw, 100);
        assert_eq!(bench.bbr.mode, Mode::Startup);
        assert!((bench.gain() - 2.885).abs() < 1e-4, "{}", bench.gain());
    }
    bench.hear(1200.0, 100, |path, _| path.in_flight = 300.0);
    assert_eq!(bench.bbr.mode, Mode::Drain);
    assert!((bench.gain() - 1.0 / 2.885).abs() < 1e-4);
    bench.hear(1240.0, 100, |path, _| path.in_flight = 132.0);
    assert_eq!(bench.bbr.mode, Mode::Drain);
    // A window of 124 segments, and room for three bursts of two.
    bench.hear(1240.0, 100, |path, _| path.in_flight = 130.0);
    assert_eq!(bench.bbr.mode, Mode::ProbeBw);
}

#[test]
fn what_the_application_limits_ends_nothing_and_lowers_nothing() {
    let mut bench = Bench::new();
    bench.round(1000.0, 100);
    for _ in 0..20 {
        bench.hear(500.0, 100, |_, ack| {
            if let Some(rate) = &mut ack.rate {
                rate.app_limited = true;
            }
        });
    }
    assert_eq!((bench.bbr.mode, bench.bbr.bw()), (Mode::Startup, 1000.0));
}

#[test]
fn the_cycle_has_eight_phases() {
    let mut bench = Bench::steady();
    assert_eq!(bench.bbr.phase, 0);
    let mut gains = vec![bench.gain()];
    for _ in 0..8 {
        // More than a round-trip time has passed, and the flight has reached the target of the probe.
        bench.hear(1000.0, 101, |path, _| path.in_flight = 150.0);
        gains.push(bench.gain());
    }
    let expected = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.25];
    for (gain, expected) in gains.iter().zip(expected) {
        assert!((gain - expected).abs() < 1e-4, "{gains:?}");
    }
}

#[test]
fn a_probe_lasts_until_it_fills_the_path_or_something_is_lost() {
    let mut bench = Bench::steady();
    bench.hear(1000.0, 101, |path, _| path.in_flight = 0.0);
    assert_eq!(bench.bbr.phase, 0, "a quarter more than the path holds is not in flight yet");
    bench.hear(1000.0, 101, |path, ack| {
        path.in_flight = 0.0;
        ack.lost = 1;
    });
    assert_eq!(bench.bbr.phase, 1);
    // The phase ends early because the queue is drained.
    bench.hear(1000.0, 1, |path, _| path.in_flight = 100.0);
    assert_eq!(bench.bbr.phase, 2);
}

#[test]
fn the_first_phase_is_drawn_and_never_the_one_that_yields() {
    let first = |draw: f64| {
        let mut bench = Bench::new();
        bench.draw = draw;
        bench.bbr.draw = draw;
        bench.bbr.enter_probe_bw(Time::ZERO);
        bench.bbr.phase
    };
    let drawn: Vec<u64> = (0..7).map(|seventh| first((f64::from(seventh) + 0.5) / 7.0)).collect();
    assert_eq!(drawn, [0, 7, 6, 5, 4, 3, 2]);
}

#[test]
fn the_window_holds_two_products_and_three_quanta() {
    let mut bench = Bench::steady();
    for _ in 0..3 {
        bench.round(1000.0, 101);
    }
    // 2 * 1000 * 0.1, plus three times two segments (14.85 Mbit/s send one in 2^-10 s); twice as many in the
    // probing phase.
    bench.bbr.aggregation = Aggregation::default();
    bench.round(1000.0, 101);
    let aggregation = bench.bbr.aggregation_window();
    let expected = 2.0 * libm::ceil((200.0 + aggregation + 6.0) / 2.0);
    assert_eq!(bench.w.cwnd, expected);
    let mut exact = Bench::with(&[("quantum", Given::Word("segment")), ("aggregation", Given::Flag(false))]);
    for _ in 0..8 {
        exact.hear(1000.0, 100, |path, _| path.in_flight = 50.0);
    }
    assert_eq!(exact.w.cwnd, 204.0, "200 and three of one, even");
}

#[test]
fn an_old_round_trip_time_is_measured_anew() {
    let mut bench = Bench::steady();
    let cwnd = bench.w.cwnd;
    while bench.bbr.mode == Mode::ProbeBw {
        bench.round(1000.0, 120);
        assert!(bench.path.now < Time::ZERO + Duration::from_secs(11), "ten seconds after 100 ms were met");
    }
    assert_eq!((bench.bbr.mode, bench.w.cwnd), (Mode::ProbeRtt, 4.0));
    assert_eq!(bench.bbr.min_rtt, Duration::from_millis(120));
    let since = bench.path.now;
    while bench.bbr.mode == Mode::ProbeRtt {
        bench.hear(40.0, 80, |path, _| path.in_flight = 4.0);
    }
    let lasted = bench.path.now.since(since);
    assert!((0.2..0.5).contains(&lasted.as_secs_f64()), "{lasted}");
    assert!(bench.bbr.min_rtt == Duration::from_millis(80) && bench.w.cwnd > cwnd * 0.7);
    assert!((bench.bbr.bw() - 1000.0).abs() < 1e-6, "what four segments deliver is not the path's rate");
}

#[test]
fn the_first_round_trip_of_a_recovery_sends_what_is_acknowledged() {
    let mut bench = Bench::steady();
    let before = bench.w.cwnd;
    assert_eq!(bench.bbr.cut(&bench.path, &bench.w, Signal::Loss), None);
    bench.path.recovering = true;
    bench.hear(100.0, 10, |path, ack| {
        path.in_flight = 60.0;
        ack.lost = 3;
        if let Some(rate) = &mut ack.rate {
            rate.prior_delivered -= 10; // sent before the loss was detected
            rate.rtt = None;
        }
    });
    assert_eq!(bench.w.cwnd, 61.0);
    // After recovery the window grows again by what is acknowledged.
    bench.hear(1000.0, 101, |path, _| path.in_flight = 61.0);
    assert_eq!(bench.w.cwnd, 61.0 + 101.0);
    bench.path.recovering = false;
    bench.event(Event::Recovered);
    assert_eq!(bench.w.cwnd, before);
}

#[test]
fn a_timeout_starts_over_and_a_mark_does_nothing() {
    let mut bench = Bench::steady();
    let w = bench.w;
    assert_eq!(bench.bbr.cut(&bench.path, &w, Signal::Mark), None);
    assert!(bench.bbr.cut(&bench.path, &w, Signal::Timeout).is_some());
    bench.w.cwnd = 1.0;
    bench.path.recovering = true;
    bench.hear(10.0, 100, |path, _| path.in_flight = 0.0);
    assert_eq!(bench.w.cwnd, 4.0);
    bench.event(Event::Recovered);
    assert_eq!(bench.w.cwnd, w.cwnd);
}

#[test]
fn after_idleness_the_pace_is_the_bandwidth() {
    let mut bench = Bench::steady();
    assert!((bench.gain() - 1.25).abs() < 1e-4);
    bench.event(Event::Idle);
    assert!((bench.gain() - 1.0).abs() < 1e-4);
    // Ten seconds of silence count as a probe of the round-trip time.
    bench.path.now += Duration::from_secs(20);
    bench.round(1000.0, 130);
    assert_eq!((bench.bbr.mode, bench.bbr.min_rtt), (Mode::ProbeBw, Duration::from_millis(130)));
}

#[test]
fn a_policer_is_found_and_its_rate_held_for_48_round_trips() {
    let mut bench = Bench::steady();
    let lossy = |bench: &mut Bench| {
        for _ in 0..30 {
            bench.bbr.lost += 1;
        }
        bench.hear(800.0, 100, |_, ack| ack.lost = 30);
    };
    lossy(&mut bench);
    // Two intervals of four round trips.
    for _ in 0..7 {
        assert!(bench.bbr.policer.as_ref().is_some_and(|policer| policer.rate().is_none()));
        lossy(&mut bench);
    }
    assert!((bench.bbr.bw() - 800.0).abs() < 1.0, "{}", bench.bbr.bw());
    assert_eq!(bench.bbr.pacing_gain(), 1.0);
    let mut rounds = 0;
    while bench.bbr.policer.as_ref().is_some_and(|policer| policer.rate().is_some()) {
        bench.round(900.0, 100);
        rounds += 1;
    }
    assert_eq!(rounds, 48);
}
