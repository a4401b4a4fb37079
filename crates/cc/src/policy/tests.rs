use super::*;
use crate::{RateSample, Settings, scheme};
use ackclock_units::Time;

fn layer(weights: &[&[f64]], biases: &[f64], activation: Activation) -> Layer {
    Layer { weights: weights.iter().map(|row| row.to_vec()).collect(), biases: biases.to_vec(), activation }
}

/// A connection whose sender is always busy: an acknowledgement of one segment at a time.
struct Bench {
    policy: Policy,
    path: Path,
    w: Window,
}

impl Bench {
    fn new(mind: Mind, start: Start) -> Bench {
        let mut bench =
            Bench { policy: Policy::new(mind, start), path: Path::default(), w: Window::starting_at(10.0) };
        bench.policy.on_event(&bench.path, Event::Start, &mut bench.w);
        bench
    }

    fn constant(action: f64) -> Bench {
        let network = Network::new(vec![layer(&[&[0.0; 3]], &[action], Activation::Identity)], 1, 1.0, 0.025);
        Bench::new(Mind::Network(Arc::new(network.expect("a network"))), Start::Doubling)
    }

    /// A segment is acknowledged after `gap_ms`, and another one sent.
    fn hear(&mut self, gap_ms: u64, rtt_ms: u64) {
        self.path.srtt = Duration::from_millis(rtt_ms);
        self.report(gap_ms, 1, Some(self.path.srtt));
    }

    /// So many segments are acknowledged after `gap_ms`, with a round-trip time or without one.
    fn report(&mut self, gap_ms: u64, acked: u64, rtt: Option<Duration>) {
        self.path.now += Duration::from_millis(gap_ms);
        self.path.delivered += acked;
        self.path.in_flight = 10.0;
        let interval = self.path.srtt;
        let rate = RateSample { acked, delivered: acked, interval, rtt, ..RateSample::default() };
        self.policy.on_sample(&self.path, &Ack { rate: Some(rate), ..Ack::default() }, &mut self.w);
    }

    fn lose(&mut self) {
        self.policy.on_lost(&self.path, &Lost::default(), &self.w);
    }

    fn rate(&self) -> f64 {
        self.w.pacing.expect("it paces").bps_f64() / 12_000.0
    }

    /// Past the doubling, at 50 segments per second and 100 ms.
    fn steady(action: f64) -> Bench {
        let mut bench = Bench::constant(action);
        bench.hear(100, 100);
        bench.lose();
        while bench.policy.doubling {
            bench.hear(10, 100);
        }
        bench
    }
}

#[test]
fn the_rate_doubles_per_round_trip_until_something_is_lost() {
    let mut bench = Bench::constant(0.0);
    bench.hear(100, 100);
    assert!((bench.rate() - 100.0).abs() < 1.0, "ten segments in 100 ms, {}", bench.rate());
    for _ in 0..10 {
        bench.hear(10, 100);
    }
    assert!((bench.rate() - 200.0).abs() < 1.0, "{}", bench.rate());
    bench.lose();
    for _ in 0..10 {
        bench.hear(10, 100);
    }
    // Ten were delivered in 100 ms, of which the first starts the clock.
    assert!((bench.rate() - 90.0).abs() < 1.0, "{}", bench.rate());
    assert!(!bench.policy.doubling);
}

#[test]
fn a_queue_ends_the_doubling_too() {
    let mut bench = Bench::constant(0.0);
    bench.hear(100, 100);
    for _ in 0..10 {
        bench.hear(10, 100);
    }
    for _ in 0..10 {
        bench.hear(10, 130);
    }
    assert!(!bench.policy.doubling);
}

/// A recovery without SACK repairs for a long time: it hears duplicates, and takes no round-trip times.
#[test]
fn the_doubling_does_not_go_on_blindly() {
    let mut bench = Bench::constant(0.0);
    bench.hear(100, 100);
    for acked in [0, 0, 1, 0, 1].repeat(100) {
        bench.report(10, acked, None);
    }
    assert!((bench.rate() - 200.0).abs() < 1.0, "only the first interval had one: {}", bench.rate());
    for _ in 0..100 {
        bench.report(50, 1, Some(bench.path.srtt));
    }
    assert!(bench.policy.doubling && bench.rate() < 220.0, "20 are delivered per second: {}", bench.rate());
}

/// What the application did not send says nothing about the path.
#[test]
fn an_idle_interval_bounds_nothing() {
    let mut bench = Bench::steady(0.0);
    for _ in 0..30 {
        bench.hear(10, 100);
    }
    let most = bench.policy.most;
    bench.policy.on_event(&bench.path, Event::Idle, &mut bench.w);
    bench.hear(400, 100);
    assert!((bench.policy.most - most).abs() < 1e-9, "{most} became {}", bench.policy.most);
}

#[test]
fn an_action_multiplies_or_divides_with_the_next_acknowledgement() {
    for (action, factor) in
        [(1.0, 1.025), (2.0, 1.05), (-2.0, 1.0 / 1.05), (1e6, 2.0), (-1e6, 0.5), (0.0, 1.0)]
    {
        let mut bench = Bench::steady(action);
        let before = bench.policy.rate;
        for _ in 0..10 {
            bench.hear(10, 100);
        }
        assert_eq!(bench.policy.rate, before, "it is decided and not yet done");
        bench.hear(10, 100);
        assert!((bench.policy.rate - before * factor).abs() < 1e-9 * before, "{action}");
        assert!((bench.w.cwnd - (2.0 * bench.policy.rate * 0.1 + 10.0)).abs() < 1e-9);
    }
}

#[test]
fn the_features_are_those_of_the_interval() {
    let seen = Seen {
        at: Time::ZERO,
        seconds: 0.5,
        sent: 60.0,
        acked: 51.0,
        lost: 17.0,
        latency_s: Some(0.12),
        increase_s: 0.01,
    };
    let features = seen.features(0.1);
    let expected = [0.02, 1.2, 1.2];
    assert!(features.iter().zip(expected).all(|(is, should)| (is - should).abs() < 1e-12), "{features:?}");
    assert_eq!((seen.throughput(), seen.loss()), (100.0, 0.25));
    let nothing = Seen { seconds: 0.5, sent: 60.0, ..Seen::default() };
    assert_eq!(nothing.features(0.1), NEUTRAL);
    let worst = Seen { latency_s: Some(1e9), increase_s: 1e9, ..seen };
    assert_eq!(worst.features(0.1)[..2], [10.0, 10_000.0]);
}

#[test]
fn the_oldest_interval_comes_first_and_layers_follow_each_other() {
    // Adds up the latency ratios of two intervals, the older one tenfold; then takes the tangent of a
    // hundredth.
    let sums = layer(&[&[0.0, 10.0, 0.0, 0.0, 1.0, 0.0], &[0.0; 6]], &[0.0, 3.0], Activation::Relu);
    let out = layer(&[&[0.01, 0.01]], &[0.0], Activation::Tanh);
    let network = Network::new(vec![sums, out], 2, 1.0, 0.025).expect("a network");
    let mut room = vec![0.0; 2 * network.width()];
    let action = network.decide(&[0.0, 1.5, 1.0, 0.0, 2.0, 1.0], &mut room);
    assert!((action - libm::tanh(0.01 * (15.0 + 2.0 + 3.0))).abs() < 1e-15);
}

#[test]
fn what_does_not_fit_together_is_refused_with_its_place() {
    let identity = Activation::Identity;
    let fits = || layer(&[&[0.0; 3]], &[0.0], identity);
    let cases = [
        (vec![fits()], 0, 1.0, "history"),
        (vec![fits()], 1, 0.0, "interval"),
        (vec![], 1, 1.0, "layers"),
        (vec![fits()], 2, 1.0, "layers.0.weights.0"),
        (vec![layer(&[&[0.0; 3]], &[], identity)], 1, 1.0, "layers.0.biases"),
        (vec![layer(&[&[0.0; 3]], &[0.0, 1.0], identity)], 1, 1.0, "layers.0.weights"),
        (vec![layer(&[&[0.0, f64::NAN, 0.0]], &[0.0], identity)], 1, 1.0, "layers.0.weights.0.1"),
        (vec![layer(&[&[0.0; 3]], &[f64::INFINITY], identity)], 1, 1.0, "layers.0.biases.0"),
        (vec![layer(&[&[0.0; 3], &[0.0; 3]], &[0.0, 0.0], identity)], 1, 1.0, "layers.0"),
    ];
    for (layers, history, interval, place) in cases {
        let error = Network::new(layers, history, interval, 0.025).expect_err(place);
        assert_eq!(error.place, place, "{error}");
    }
}

#[test]
fn outside_decides_between_two_acknowledgements() {
    let desk = Arc::new(Desk::default());
    let steered = Steered {
        desk: Arc::clone(&desk),
        start: Start::At { rate: 200.0, first: Duration::from_millis(300) },
        interval: 0.5,
        scale: 0.025,
        rates: (40.0, 1000.0),
    };
    let mut bench = Bench::new(
        Mind::Outside(Arc::new(steered)),
        Start::At { rate: 200.0, first: Duration::from_millis(300) },
    );
    assert!((bench.rate() - 200.0).abs() < 0.1);
    for _ in 0..30 {
        bench.hear(10, 100);
    }
    assert!(!desk.is_asked(), "the first interval is not shown");
    for _ in 0..5 {
        bench.hear(10, 100);
    }
    assert!(desk.is_asked());
    assert_eq!((desk.question().rate, desk.question().seen.acked), (200.0, 5.0));
    desk.answer(-4.0);
    bench.hear(10, 100);
    assert!(!desk.is_asked());
    assert!((bench.rate() - 200.0 / 1.1).abs() < 0.1, "{}", bench.rate());
}

#[test]
fn without_a_file_a_rule_decides() {
    let policy = scheme("policy").expect("policy is there");
    let mut settings = Settings::defaults(policy);
    let by_hand = Network::by_hand();
    let mut room = vec![0.0; 2];
    assert_eq!(by_hand.decide(&[0.0, 1.0, 1.0], &mut room), 1.0);
    assert!(by_hand.decide(&[0.0, 1.3, 1.0], &mut room) < 0.0);
    settings.build();
    let network = Network::new(vec![layer(&[&[0.0; 3]], &[1.0], Activation::Identity)], 1, 1.0, 0.025);
    let file: Arc<dyn crate::Blueprint> = Arc::new(network.expect("a network"));
    let defaults = settings.clone();
    settings.set("file", crate::Given::File(&file)).expect("a file");
    assert_ne!(settings, defaults);
    assert!(settings.set("file", crate::Given::Word("p.json")).is_err(), "who reads the settings reads it");
    let mut reno = Settings::defaults(scheme("reno").expect("reno is there"));
    assert!(reno.set("file", crate::Given::File(&file)).is_err());
}

#[test]
fn a_policy_that_only_rises_sends_ten_times_what_is_delivered_at_most() {
    let mut bench = Bench::steady(1e6);
    for _ in 0..1000 {
        bench.hear(10, 100);
    }
    assert!((bench.rate() - 1000.0).abs() < 110.0, "100 are delivered per second: {}", bench.rate());
}
