use super::*;
use crate::scheme;

/// A connection with one acknowledgement per round trip.
struct Bench {
    bbr: Bbr3,
    path: Path,
    w: Window,
    draw: f64,
}

impl Bench {
    fn new() -> Bench {
        let settings = Settings::defaults(scheme("bbr3").expect("bbr3 is there"));
        let mut bench = Bench {
            bbr: Bbr3::new(&settings),
            path: Path { cwnd_limited: false, ..Path::default() },
            w: Window::starting_at(10.0),
            draw: 0.25,
        };
        bench.event(Event::Start);
        bench
    }

    fn event(&mut self, event: Event) {
        self.bbr.on_event(&self.path, event, &mut self.w);
    }

    /// An acknowledgement after `ms`, of the segments that `per_second` segments per second give in that
    /// time.
    fn hear(&mut self, per_second: f64, ms: u64, change: impl FnOnce(&mut Path, &mut RateSample)) {
        let rtt = Duration::from_millis(ms);
        let acked = (per_second * rtt.as_secs_f64()) as u64;
        let prior_delivered = self.path.delivered;
        self.path.now += rtt;
        self.path.delivered += acked;
        self.path.una += acked;
        self.path.in_flight = (acked as f64).min(self.w.cwnd);
        self.path.srtt = rtt;
        let mut rate = RateSample {
            acked,
            delivered: acked,
            interval: rtt,
            prior_delivered,
            in_flight: acked,
            rtt: Some(rtt),
            ..RateSample::default()
        };
        let mut path = self.path;
        change(&mut path, &mut rate);
        self.path = path;
        let ack = Ack { rate: Some(rate), draw: self.draw, ..Ack::default() };
        self.bbr.on_sample(&self.path, &ack, &mut self.w);
    }

    fn round(&mut self, per_second: f64, ms: u64) {
        self.hear(per_second, ms, |_, _| {});
    }

    /// Loses `count` separate segments, with `in_flight` in flight.
    fn lose(&mut self, count: u64, in_flight: u64) {
        for number in 1..=count {
            let seq = self.path.una + 2 * number;
            let lost = Lost { seq, in_flight, lost: number, app_limited: false };
            self.bbr.on_lost(&self.path, &lost, &self.w);
        }
    }

    /// A connection past Startup and Drain, on a path of 1000 segments per second and 100 ms.
    fn steady() -> Bench {
        let mut bench = Bench::new();
        for _ in 0..4 {
            bench.round(1000.0, 100);
        }
        bench.hear(1000.0, 100, |path, _| path.in_flight = 90.0);
        assert_eq!(bench.bbr.state, State::Cruise);
        bench
    }

    /// Runs until `state`.
    fn until(&mut self, state: State) {
        for _ in 0..200 {
            if self.bbr.state == state {
                return;
            }
            self.round(1000.0, 100);
        }
        panic!("{state:?} does not come, it is in {:?}", self.bbr.state);
    }

    fn gain(&self) -> f64 {
        let bps = self.w.pacing.expect("it paces").bps_f64();
        bps / (0.99 * self.bbr.model.bw * 12_000.0)
    }
}

#[test]
fn it_begins_with_the_first_window_over_the_round_trip() {
    let mut bench = Bench::new();
    // 10 segments of 12,000 bits in a millisecond, times 2.77 and 0.99.
    let mbps = |bench: &Bench| bench.w.pacing.expect("it paces").bps_f64() * 1e-6;
    assert!((mbps(&bench) - 329.076).abs() < 1e-5);
    bench.round(10.0, 100);
    assert!((mbps(&bench) - 3.29076).abs() < 1e-5);
}

/// Appendix A.1 and A.3.
#[test]
fn startup_ends_on_a_plateau_and_drain_when_the_queue_is_gone() {
    let mut bench = Bench::new();
    for bw in [100.0, 200.0, 400.0, 1000.0, 1240.0, 1249.0] {
        bench.round(bw, 100);
        assert_eq!(bench.bbr.state, State::Startup);
    }
    assert!((bench.gain() - 2.77).abs() < 1e-4, "{}", bench.gain());
    bench.hear(1200.0, 100, |path, _| path.in_flight = 250.0);
    assert_eq!(bench.bbr.state, State::Drain);
    assert!((bench.gain() - 0.5).abs() < 1e-4);
    bench.hear(1249.0, 100, |path, _| path.in_flight = 125.0);
    assert_eq!(bench.bbr.state, State::Drain, "124.9 segments are the product");
    bench.hear(1249.0, 100, |path, _| path.in_flight = 124.0);
    // There is nothing left to drain, so Down ends as it begins.
    assert!(matches!(bench.bbr.state, State::Down | State::Cruise));
}

/// Appendix A.4.
#[test]
fn drain_lasts_three_round_trips_at_most() {
    let mut bench = Bench::new();
    for _ in 0..4 {
        bench.hear(1000.0, 100, |path, _| path.in_flight = 200.0);
    }
    assert_eq!(bench.bbr.state, State::Drain);
    for _ in 0..3 {
        bench.hear(900.0, 100, |path, _| path.in_flight = 200.0);
        assert_eq!(bench.bbr.state, State::Drain);
    }
    bench.hear(900.0, 100, |path, _| path.in_flight = 200.0);
    assert_eq!(bench.bbr.state, State::Down);
}

/// Appendix A.2 and A.7.
#[test]
fn what_the_application_limits_leaves_startup_only_with_losses() {
    let limited = |rate: &mut RateSample| rate.app_limited = true;
    let mut bench = Bench::new();
    for _ in 0..20 {
        bench.hear(1000.0, 100, |_, rate| limited(rate));
    }
    assert_eq!(bench.bbr.state, State::Startup);
    bench.bbr.cut(&bench.path, &bench.w, Signal::Loss);
    bench.path.recovering = true;
    // Five runs are not enough. Six are, once the recovery has lasted for a round trip.
    for runs in [5, 6] {
        bench.lose(runs, 100);
        assert_eq!(bench.bbr.state, State::Startup);
        bench.hear(1000.0, 100, |path, rate| {
            limited(rate);
            rate.lost = runs;
            path.in_flight = 300.0;
        });
    }
    assert_eq!((bench.bbr.state, bench.bbr.model.full), (State::Drain, true));
    assert_eq!(bench.bbr.bounds.inflight_longterm, 100.0);
}

/// Appendix A.5 and A.8: the whole cycle, without losses.
#[test]
fn the_cycle_goes_up_down_and_cruises() {
    let mut bench = Bench::steady();
    let began = bench.path.now;
    bench.until(State::Refill);
    // The random number 1/4 means no extra round trip and half a second. Reno would need 100 round trips, but
    // at most 63 count.
    let waited = bench.path.now.since(began).as_secs_f64();
    assert!((2.5..2.7).contains(&waited), "{waited}");
    assert!((bench.gain() - 1.0).abs() < 1e-4);
    bench.round(1000.0, 100);
    assert_eq!(bench.bbr.state, State::Up);
    assert!((bench.gain() - 1.25).abs() < 1e-4);
    for _ in 0..3 {
        assert_eq!(bench.bbr.state, State::Up);
        bench.hear(1000.0, 100, |path, _| path.in_flight = 125.0);
    }
    assert_eq!(bench.bbr.state, State::Down);
    assert!((bench.gain() - 0.9).abs() < 1e-4);
    bench.hear(1000.0, 100, |path, _| path.in_flight = 110.0);
    assert_eq!(bench.bbr.state, State::Down, "more than the product is in flight");
    bench.hear(1000.0, 100, |path, _| path.in_flight = 100.0);
    assert_eq!(bench.bbr.state, State::Cruise);
}

#[test]
fn on_a_short_path_reno_sets_the_time_of_the_next_probe() {
    let mut bench = Bench::new();
    for _ in 0..5 {
        bench.hear(10_000.0, 1, |path, _| path.in_flight = 5.0);
    }
    assert_eq!(bench.bbr.state, State::Cruise);
    let mut rounds = 0;
    while bench.bbr.state == State::Cruise {
        bench.hear(10_000.0, 1, |path, _| path.in_flight = 8.0);
        rounds += 1;
    }
    // The bandwidth-delay product is ten segments. The round trip that ended Drain is the first.
    assert!((9..=11).contains(&rounds), "{rounds}");
}

/// Section 5.5.10.2: more than 2 % of 200 in flight are more than four.
#[test]
fn a_probe_that_loses_too_much_sets_the_bound_and_goes_down() {
    let mut bench = Bench::steady();
    bench.until(State::Up);
    bench.lose(4, 200);
    assert!(bench.bbr.state == State::Up && bench.bbr.bounds.inflight_longterm.is_infinite());
    let lost = Lost { seq: 1_000_000, in_flight: 200, lost: 5, app_limited: false };
    bench.bbr.on_lost(&bench.path, &lost, &bench.w);
    assert_eq!(bench.bbr.state, State::Down);
    // Before it: 199, of which 4 were lost. 199 + (0.02 * 199 - 4) / 0.98.
    let bound = bench.bbr.bounds.inflight_longterm;
    assert!((bound - (199.0 - 0.02 / 0.98)).abs() < 1e-9, "{bound}");
    // Once per probe only.
    bench.lose(50, 60);
    assert_eq!(bench.bbr.bounds.inflight_longterm, bound);
    // Cruise leaves 15 % of the bound to other flows.
    bench.hear(1000.0, 100, |path, _| path.in_flight = 90.0);
    bench.hear(1000.0, 100, |path, _| path.in_flight = 90.0);
    assert_eq!(bench.bbr.state, State::Cruise);
    assert!(bench.w.cwnd <= 0.85 * bound + 1e-9);
    // The next probe ends as soon as the flight reaches the bound. If nothing is lost, the one after it
    // continues.
    bench.until(State::Up);
    bench.hear(1000.0, 100, |path, _| path.in_flight = 200.0);
    assert_eq!(bench.bbr.state, State::Down);
    bench.round(1000.0, 100);
    assert_eq!(bench.bbr.state, State::Refill);
}

#[test]
fn the_bound_rises_by_one_two_four() {
    let mut bench = Bench::steady();
    bench.until(State::Up);
    bench.bbr.bounds.inflight_longterm = 150.0;
    bench.bbr.cycle.prev_too_high = false;
    bench.w.cwnd = 160.0;
    (bench.bbr.cycle.up_acked_per_step, bench.bbr.cycle.up_acked) = (160.0, 0.0);
    let mut bounds = vec![];
    for _ in 0..4 {
        bench.w.cwnd = 160.0;
        bench.hear(1600.0, 100, |path, rate| {
            path.cwnd_limited = true;
            rate.in_flight = 100;
        });
        bounds.push(bench.bbr.bounds.inflight_longterm);
    }
    let steps: Vec<f64> = bounds.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!((bounds[0], &steps[..]), (151.0, &[2.0, 4.0, 8.0][..]));
}

/// Section 5.5.10.3.
#[test]
fn losses_while_cruising_cost_a_part_of_rate_and_volume() {
    let mut bench = Bench::steady();
    for _ in 0..2 {
        bench.round(1000.0, 100);
    }
    let cwnd = bench.w.cwnd;
    bench.lose(1, 100);
    bench.hear(600.0, 100, |_, _| {});
    let bounds = bench.bbr.bounds;
    // The round trip began with 1000 segments per second and delivered 600.
    assert_eq!((bounds.bw_shortterm, bounds.inflight_shortterm), (1000.0, (0.7 * cwnd).max(100.0)));
    bench.lose(1, 100);
    bench.round(600.0, 100);
    assert_eq!(bench.bbr.bounds.bw_shortterm, 700.0);
    assert!((bench.gain() - 1.0).abs() < 1e-4 && bench.bbr.model.bw == 700.0);
    bench.until(State::Refill);
    assert!(bench.bbr.bounds.bw_shortterm.is_infinite());
}

/// Appendix A.10.
#[test]
fn every_five_seconds_half_of_the_path_is_emptied() {
    let mut bench = Bench::steady();
    let since = bench.path.now;
    while bench.bbr.state != State::ProbeRtt {
        bench.round(1000.0, 110);
    }
    let waited = bench.path.now.since(since).as_secs_f64();
    assert!((4.4..5.2).contains(&waited), "{waited}");
    assert!(bench.w.cwnd <= 50.0 + 1e-9, "{}", bench.w.cwnd);
    let since = bench.path.now;
    while bench.bbr.state == State::ProbeRtt {
        bench.hear(500.0, 90, |path, _| path.in_flight = 45.0);
    }
    let lasted = bench.path.now.since(since).as_secs_f64();
    assert!((0.2..0.5).contains(&lasted), "{lasted}");
    assert_eq!((bench.bbr.state, bench.bbr.model.min_rtt), (State::Cruise, Duration::from_millis(90)));
    assert_eq!(bench.bbr.model.max_bw.get(), 1000.0);
}

/// Appendix A.18.
#[test]
fn a_spurious_loss_is_undone() {
    let mut bench = Bench::steady();
    bench.until(State::Up);
    bench.bbr.cut(&bench.path, &bench.w, Signal::Loss);
    let cwnd = bench.w.cwnd;
    bench.lose(50, 200);
    assert_eq!(bench.bbr.state, State::Down);
    assert!(bench.bbr.bounds.inflight_longterm.is_finite());
    bench.w.cwnd = 20.0;
    bench.event(Event::Spurious);
    assert_eq!((bench.bbr.state, bench.w.cwnd), (State::Refill, cwnd));
    assert!(bench.bbr.bounds.inflight_longterm.is_infinite());
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
