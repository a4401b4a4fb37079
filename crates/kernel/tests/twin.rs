//! The Rust controllers and their C twins under the same random events. After every event both windows are
//! equal within one segment or 1 %, whichever is larger. The fraction of a segment in the C state counts.

use ackclock_cc::{Ack, Controller, Event, Given, Path, Settings, Signal, Window, scheme};
use ackclock_kernel::twin::Twin;
use ackclock_units::Duration;
use proptest::prelude::*;

/// An event of a connection.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// This many acknowledgements of `acked` segments each, with one round-trip time.
    Acks {
        count: u32,
        acked: u8,
        rtt_us: u32,
    },
    /// A whole window of acknowledgements.
    Round {
        rtt_us: u32,
    },
    Loss,
    Mark,
    Timeout,
    Idle,
    Spurious,
}

fn step() -> impl Strategy<Value = Step> {
    let rtt_us = || 10_000..120_000u32;
    prop_oneof![
        10 => (1..60u32, 1..4u8, rtt_us()).prop_map(|(count, acked, rtt_us)| Step::Acks { count, acked, rtt_us }),
        20 => rtt_us().prop_map(|rtt_us| Step::Round { rtt_us }),
        4 => Just(Step::Loss),
        1 => Just(Step::Mark),
        1 => Just(Step::Timeout),
        1 => Just(Step::Idle),
        1 => Just(Step::Spurious),
    ]
}

/// If a random number is nearer to the probability than this, rounding decides: the C steps are in fixed
/// point.
const DRAW_MARGIN: f64 = 1e-6;

/// A controller, and the window that a host keeps for it.
struct Side {
    controller: Box<dyn Controller>,
    window: Window,
    before: Window,
}

impl Side {
    fn new(controller: Box<dyn Controller>, path: &Path) -> Side {
        let window = Window::starting_at(10.0);
        let mut side = Side { controller, window, before: window };
        side.event(path, Event::Start);
        side
    }

    /// The value of one of the scheme's own variables.
    fn see(&self, wanted: &str) -> Option<f64> {
        let mut seen = None;
        self.controller.inspect(&mut |name, value| {
            if name == wanted {
                seen = Some(value);
            }
        });
        seen
    }

    fn event(&mut self, path: &Path, event: Event) {
        self.controller.on_event(path, event, &mut self.window);
    }

    fn ack(&mut self, path: &Path, ack: &Ack) {
        self.controller.on_sample(path, ack, &mut self.window);
        self.controller.grow(path, ack, &mut self.window);
    }

    fn cut(&mut self, path: &Path, why: Signal) {
        self.before = self.window;
        let Some(ssthresh) = self.controller.cut(path, &self.window, why) else { return };
        self.window.ssthresh = ssthresh.max(2.0);
        self.window.cwnd = if why == Signal::Timeout { 1.0 } else { self.window.ssthresh };
    }

    /// The window with the fraction of a segment that the C steps keep.
    fn whole(&self) -> f64 {
        self.window.cwnd + self.see("part").unwrap_or(0.0)
    }

    fn spurious(&mut self, path: &Path) {
        self.window = self.before;
        self.event(path, Event::Spurious);
    }
}

/// Both sides, and the connection that they see.
struct Pair {
    sides: [Side; 2],
    path: Path,
    cut: bool,
    /// The state of the random number generator.
    draws: u32,
    /// A third controller. It tells the probability before the number is drawn.
    shadow: Box<dyn Controller>,
}

impl Pair {
    fn new(settings: &Settings) -> Pair {
        let path = Path { peer_window: 100_000.0, nxt: 10, ..Path::default() };
        let twin = Twin::new(settings).expect("the scheme has a twin");
        Pair {
            sides: [Side::new(settings.build(), &path), Side::new(Box::new(twin), &path)],
            path,
            cut: false,
            draws: 1,
            shadow: settings.build(),
        }
    }

    fn acks(&mut self, count: u32, acked: u8, rtt_us: u32) -> Result<(), TestCaseError> {
        let rtt = Duration::from_micros(rtt_us.into());
        self.path.srtt = rtt;
        self.path.rtt_min = self.path.rtt_min.min(rtt);
        for _ in 0..count {
            self.path.una += u64::from(acked);
            self.path.nxt = self.path.nxt.max(self.path.una) + u64::from(acked);
            self.path.now += Duration::from_micros(u64::from(rtt_us) / 64);
            let mut ack = Ack { acked: acked.into(), rtt: Some(rtt), ..Ack::default() };
            ack.draw = self.draw(&ack);
            self.sides.iter_mut().for_each(|side| side.ack(&self.path, &ack));
            self.compare()?;
        }
        Ok(())
    }

    /// A random number for this acknowledgement that is not too near to the probability, so that rounding
    /// does not decide.
    fn draw(&mut self, ack: &Ack) -> f64 {
        let never = Ack { draw: 1.0, ..*ack };
        self.shadow.on_sample(&self.path, &never, &mut Window::starting_at(1.0));
        let mut probability = None;
        self.shadow.inspect(&mut |name, value| {
            if name == "probability" {
                probability = Some(value);
            }
        });
        let Some(probability) = probability else { return 0.0 };
        // A linear congruential generator: Numerical Recipes' constants.
        self.draws = self.draws.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let draw = f64::from(self.draws) / 2f64.powi(32);
        if (draw - probability).abs() > DRAW_MARGIN { draw } else { (probability + 0.5).fract() }
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        let [rust, c] = self.sides.each_ref().map(Side::whole);
        prop_assert!((rust - c).abs() <= (rust / 100.0).max(1.0), "{rust} and {c}");
        let [rust, c] = &self.sides;
        if let (Some(rust), Some(c)) = (rust.see("probability"), c.see("probability")) {
            prop_assert!((rust - c).abs() <= DRAW_MARGIN / 2.0, "probabilities {rust} and {c}");
        }
        prop_assert_eq!(rust.see("early_responses"), c.see("early_responses"));
        Ok(())
    }

    fn take(&mut self, step: Step) -> Result<(), TestCaseError> {
        let path = self.path;
        match step {
            Step::Acks { count, acked, rtt_us } => self.acks(count, acked, rtt_us)?,
            Step::Round { rtt_us } => {
                let window = self.sides[0].window.cwnd.min(5000.0) as u64;
                self.path.nxt = self.path.una + window;
                self.acks(window as u32, 1, rtt_us)?;
            }
            Step::Loss => self.cut_both(Signal::Loss),
            Step::Mark => self.cut_both(Signal::Mark),
            Step::Timeout => self.cut_both(Signal::Timeout),
            Step::Idle => self.sides.iter_mut().for_each(|side| side.event(&path, Event::Idle)),
            // Only a reduction can be spurious, and only once.
            Step::Spurious if std::mem::take(&mut self.cut) => {
                self.sides.iter_mut().for_each(|side| side.spurious(&path));
            }
            Step::Spurious => {}
        }
        self.compare()
    }

    fn cut_both(&mut self, why: Signal) {
        let path = self.path;
        self.sides.iter_mut().for_each(|side| side.cut(&path, why));
        self.cut = true;
        self.sides.iter_mut().for_each(|side| side.event(&path, Event::Recovered));
    }
}

fn settings(name: &str, given: &[(&str, Given<'_>)]) -> Settings {
    let mut settings = Settings::defaults(scheme(name).expect("a known scheme"));
    for &(key, value) in given {
        settings.set(key, value).expect("a known setting");
    }
    settings
}

fn drive(settings: &Settings, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut pair = Pair::new(settings);
    steps.iter().try_for_each(|&step| pair.take(step))
}

/// The threshold is 2.99... here. In an earlier version slow start ended 0.99... segments early, and growth
/// was more than a segment per acknowledged segment.
#[test]
fn slow_start_ends_at_a_part_of_a_segment() -> Result<(), TestCaseError> {
    let given = [
        ("w_t", Given::Number(27.98894273787144)),
        ("rtt_exponent", Given::Number(0.48099009409280735)),
        ("decrease", Given::Word("variable")),
        ("interpolation", Given::Word("linear")),
        ("slow_start_cut", Given::Word("law")),
    ];
    let steps = [Step::Loss, Step::Timeout, Step::Acks { count: 1, acked: 2, rtt_us: 65011 }];
    drive(&settings("layered", &given), &steps)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn layered(
        steps in steps(),
        w_t in 5.0..100.0f64,
        beta in 0.05..0.5f64,
        exponent in 0.0..0.5f64,
        decrease in prop::sample::select(vec!["fixed", "variable"]),
        interpolation in prop::sample::select(vec!["linear", "reciprocal"]),
        min_rtt in prop::sample::select(vec!["raw", "smoothed"]),
    ) {
        // Without the jump at the end of slow start (halving before, 0.15 after), which is at a whole segment
        // in C, and at a fraction in Rust.
        drive(&settings("layered", &[
            ("w_t", Given::Number(w_t)),
            ("beta", Given::Number(beta)),
            ("rtt_exponent", Given::Number(exponent)),
            ("decrease", Given::Word(decrease)),
            ("interpolation", Given::Word(interpolation)),
            ("min_rtt", Given::Word(min_rtt)),
            ("slow_start_cut", Given::Word("law")),
        ]), &steps)?;
    }

    #[test]
    fn layered_like_tcp_below(steps in steps()) {
        // One layer, without the jump at w_t, where a millionth of a segment decides.
        let given = [("w_t", Given::Number(1e6)), ("below_threshold", Given::Word("tcp"))];
        drive(&settings("layered", &given), &steps)?;
    }

    #[test]
    fn layered_in_its_first_slow_start(steps in steps()) {
        // No other slow start: see above.
        let steps: Vec<Step> =
            steps.into_iter().filter(|step| !matches!(step, Step::Timeout | Step::Idle)).collect();
        drive(&settings("layered", &[]), &steps)?;
    }

    #[test]
    fn compound(
        steps in steps(),
        alpha in 0.05..1.0f64,
        beta in 0.2..0.8f64,
        k in 0.5..0.9f64,
        zeta in 0.0..3.0f64,
        gamma in prop::sample::select(vec![0.1, 1e6]),
        reduction in any::<bool>(),
    ) {
        // Without the jumps at which a millionth of a segment decides over a round's growth: at lowwnd, in
        // the number of samples, at gamma, and at the end of slow start. So gamma is out of reach, or nearly
        // always reached. Timeouts and idle times are left out: after them slow start ends at a whole segment
        // in C, and at a fraction in Rust. The golden traces cover timeouts and the jumps.
        let steps: Vec<Step> =
            steps.into_iter().filter(|step| !matches!(step, Step::Timeout | Step::Idle)).collect();
        drive(&settings("compound", &[
            ("lowwnd", Given::Number(0.0)),
            ("delta", Given::Number(0.0)),
            ("gamma", Given::Number(gamma)),
            ("alpha", Given::Number(alpha)),
            ("beta", Given::Number(beta)),
            ("k", Given::Number(k)),
            ("zeta", Given::Number(zeta)),
            ("window_reduction", Given::Flag(reduction)),
        ]), &steps)?;
    }

    #[test]
    fn pert(
        steps in steps(),
        seed in any::<u32>(),
        // The first threshold, and how far the second one is from it. They are in microseconds in C. Where
        // they are in reverse order the curve jumps, and a delay that equals a threshold is on either side of
        // it.
        delays in (0..20_000u32, 1..40_000u32),
        most in 0.0..=1.0f64,
        weight in 0.0..0.999f64,
        decrease in 0.1..0.9f64,
        samples in 0..100u32,
        // Without the clock "average": elapsed times are compared with it, and the last digit would decide.
        clock in prop::sample::select(vec!["srtt", "base", "window"]),
        words in (
            prop::sample::select(vec!["source", "share", "inner"]),
            prop::sample::select(vec!["average", "below"]),
            prop::sample::select(vec!["sample", "zero"]),
            prop::sample::select(vec!["delay", "literal"]),
            prop::sample::select(vec!["reno", "layered"]),
        ),
    ) {
        let (cut, follow, initial, ramp, over) = words;
        // Without the jump at the end of slow start, as above.
        let mut under = settings(over, &[]);
        if over == "layered" {
            under.set("slow_start_cut", Given::Word("law")).expect("a known setting");
        }
        let settings = settings("pert", &[
            ("over", Given::Control(&under)),
            ("min_delay", Given::Number(f64::from(delays.0) * 1e-6)),
            ("max_delay", Given::Number(f64::from(delays.0 + delays.1) * 1e-6)),
            ("max_probability", Given::Number(most)),
            ("weight", Given::Number(weight)),
            ("decrease", Given::Number(decrease)),
            ("samples", Given::Number(samples.into())),
            ("clock", Given::Word(clock)),
            ("cut", Given::Word(cut)),
            ("follow", Given::Word(follow)),
            ("initial", Given::Word(initial)),
            ("ramp", Given::Word(ramp)),
            // Slow start ends at a whole segment in C, and at a fraction in Rust. The response to an
            // acknowledgement between the two would depend on that fraction.
            ("slow_start", Given::Word("respond")),
        ]);
        let mut pair = Pair::new(&settings);
        pair.draws = seed;
        steps.iter().try_for_each(|&step| pair.take(step))?;
    }

    #[test]
    fn none(steps in steps(), cap in 1.0..1e5f64) {
        drive(&settings("none", &[("cap", Given::Number(cap.floor()))]), &steps)?;
    }
}
