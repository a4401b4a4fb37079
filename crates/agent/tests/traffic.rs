//! What is drawn follows the law that it claims: one-sample Kolmogorov-Smirnov tests over 1e5 draws against
//! distribution functions that are written here once more, and means of published models.

use ackclock_agent::spec::Number;
use ackclock_agent::traffic::{Draw, FUNCTIONS, Numbers, TYPES};
use ackclock_net::Rng;

const DRAWS: usize = 100_000;
/// The critical value of the statistic times the root of the number of draws, at a level of 0.1 %.
const CRITICAL: f64 = 1.949;

fn draws(function: &str, arguments: &[(&str, f64)]) -> Vec<f64> {
    let arguments = arguments.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let law = Draw { function: function.to_owned(), arguments }.law().expect("a law");
    let mut stream = Rng::new(1, function);
    let mut all: Vec<f64> = (0..DRAWS).map(|_| law.draw(&mut stream)).collect();
    all.sort_by(f64::total_cmp);
    all
}

/// The largest distance between the draws' distribution and `cdf`, which may jump at the largest draw.
fn statistic(draws: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
    let last = draws[draws.len() - 1];
    let inside = draws.iter().enumerate().filter(|(_, value)| **value < last);
    let n = draws.len() as f64;
    inside
        .map(|(at, &value)| (cdf(value) - at as f64 / n).abs().max((cdf(value) - (at + 1) as f64 / n).abs()))
        .fold(0.0, f64::max)
}

fn follows(function: &str, arguments: &[(&str, f64)], cdf: impl Fn(f64) -> f64) {
    let found = statistic(&draws(function, arguments), cdf) * (DRAWS as f64).sqrt();
    assert!(found < CRITICAL, "{function}: {found}");
}

fn normal(z: f64) -> f64 {
    0.5 * libm::erfc(-z / 2_f64.sqrt())
}

fn exponential(mean: f64) -> impl Fn(f64) -> f64 {
    move |x| 1.0 - (-x / mean).exp()
}

fn lognormal(mu: f64, sigma: f64, min: f64, max: f64) -> impl Fn(f64) -> f64 {
    let whole = move |x: f64| normal((x.ln() - mu) / sigma);
    move |x| (whole(x) - whole(min)) / (whole(max) - whole(min))
}

/// The mean of a log-normal law on condition that it is within bounds.
fn lognormal_mean(mu: f64, sigma: f64, min: f64, max: f64) -> f64 {
    let between =
        |shift: f64| normal((max.ln() - mu) / sigma - shift) - normal((min.ln() - mu) / sigma - shift);
    (mu + sigma * sigma / 2.0).exp() * between(sigma) / between(0.0)
}

/// The mean of a Pareto law whose values above `most` become `most`.
fn cut_pareto_mean(scale: f64, shape: f64, most: f64) -> f64 {
    (shape * scale - most * (scale / most).powf(shape)) / (shape - 1.0)
}

fn pareto(scale: f64, shape: f64) -> impl Fn(f64) -> f64 {
    move |x| 1.0 - (scale / x).powf(shape)
}

fn weibull(scale: f64, shape: f64) -> impl Fn(f64) -> f64 {
    move |x| 1.0 - (-(x / scale).powf(shape)).exp()
}

/// The regularised lower incomplete gamma function, by its series.
fn gamma(shape: f64, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0 / shape, 1.0 / shape);
    for n in 1..10_000 {
        term *= x / (shape + f64::from(n));
        sum += term;
        if term < sum * 1e-15 {
            break;
        }
    }
    (shape * x.ln() - x - libm::lgamma(shape)).exp() * sum
}

#[test]
fn general_laws_are_what_their_names_say() {
    follows("uniform", &[("from", 3.0), ("to", 7.0)], |x| (x - 3.0) / 4.0);
    follows("exponential", &[("mean", 5000.0)], exponential(5000.0));
    follows("exponential", &[("lambda", 0.01)], exponential(100.0));
    follows("normal", &[("mean", 50.0), ("deviation", 5.0)], |x| normal((x - 50.0) / 5.0));
    follows("lognormal", &[("mu", 2.0), ("sigma", 0.5)], lognormal(2.0, 0.5, 0.0, f64::INFINITY));
    // A mean of 30 and a shape of 1.5 begin at 10.
    follows("pareto", &[("mean", 30.0), ("shape", 1.5)], pareto(10.0, 1.5));
    follows("gamma", &[("mean", 100.0), ("deviation", 50.0)], |x| gamma(4.0, x / 25.0));
    follows("gamma", &[("mean", 5.0), ("deviation", 10.0)], |x| gamma(0.25, x / 20.0));
    follows("weibull", &[("scale", 10.0), ("shape", 2.5)], weibull(10.0, 2.5));
}

#[test]
fn bounds_make_the_law_conditional() {
    let e = exponential(1000.0);
    let inside = |x| (e(x) - e(500.0)) / (e(2000.0) - e(500.0));
    follows("exponential", &[("mean", 1000.0), ("min", 500.0), ("max", 2000.0)], inside);
}

#[test]
fn published_models_are_followed() {
    follows("ftpItemSize", &[], lognormal(14.45, 0.35, 1.0, 5e6));
    follows("ftpSessionInterarrival", &[], exponential(180e6));
    let p = pareto(121_500.0, 0.9);
    follows("telnetPktInterarrival", &[], |x| p(x) / p(60e6));
    follows("httpMainSize", &[], lognormal(8.37, 1.37, 100.0, 2e6));
    follows("httpEmbeddedSize", &[], lognormal(6.17, 2.36, 50.0, 2e6));
    follows("httpParsingTime", &[], exponential(130e3));
    follows("httpReadingTime", &[], exponential(30e6));
    // Hardly anything is below one byte, which is drawn again.
    let w = weibull(6950.0, 0.8099);
    follows("videoconferenceFrameSize", &[], |x| (w(x) - w(1.0)) / (1.0 - w(1.0)));
    // Cut laws jump at their largest value.
    follows("httpEmbeddedCount", &[], |x| pareto(2.0, 1.1)(x + 2.0));
    follows("videoPktSize", &[], pareto(20.0, 1.2));
    follows("videoPktInterarrival", &[], pareto(2500.0, 1.2));
    let most = |function: &str| *draws(function, &[]).last().expect("draws");
    assert_eq!((most("httpEmbeddedCount"), most("videoPktSize")), (53.0, 125.0));
    assert_eq!(most("videoPktInterarrival"), 12_500.0);
}

/// Groups of pictures follow their law, and the frames have the moments of the trace.
#[test]
fn frames_of_a_group_share_its_size() {
    let law = Draw { function: "mpegFrameSize".to_owned(), arguments: vec![] }.law().expect("a law");
    let mut numbers = Numbers::new(law, Rng::new(1, "frames"));
    let frames: Vec<f64> = (0..12 * DRAWS).map(|_| numbers.draw()).collect();
    let mut groups: Vec<f64> = frames.chunks(12).map(|group| group.iter().sum()).collect();
    let i_frames = frames.iter().step_by(12).sum::<f64>();
    let all: f64 = frames.iter().sum();
    assert!((i_frames / all - 2.0705 / 12.0).abs() < 1e-9, "an I frame begins each group");
    let moments = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / values.len() as f64;
        (mean, variance.sqrt() / mean)
    };
    // As printed: 3.8e3 bytes and 0.59 of frames, 4.6e4 bytes and 0.47 of groups, 7.7e5 bit/s.
    let ((frame, of_frames), (group, of_groups)) = (moments(&frames), moments(&groups));
    assert!((3750.0..3850.0).contains(&frame) && (0.585..0.595).contains(&of_frames), "{frame} {of_frames}");
    assert!(
        (45_500.0..46_500.0).contains(&group) && (0.465..0.475).contains(&of_groups),
        "{group} {of_groups}"
    );
    assert!((7.65e5..7.75e5).contains(&(frame * 8.0 * 25.0)), "{frame}");
    let sigma = (1.0_f64 + 0.47 * 0.47).ln().sqrt();
    let cdf = lognormal(46_000_f64.ln() - sigma * sigma / 2.0, sigma, 0.0, f64::INFINITY);
    groups.sort_by(f64::total_cmp);
    let found = statistic(&groups, cdf) * (DRAWS as f64).sqrt();
    assert!(found < CRITICAL, "{found}");
}

/// The means of the laws by their formulas, within five standard errors. The ratio says how far the mean that
/// a source prints is from that of the law that it prints: bounds move the mean of a wide law, and printed
/// means seem to be without them.
#[test]
fn means_are_those_of_the_laws_and_near_those_of_the_sources() {
    for (function, exact, printed, ratio) in [
        ("ftpItemSize", lognormal_mean(14.45, 0.35, 1.0, 5e6), 2e6, 0.998),
        ("httpMainSize", lognormal_mean(8.37, 1.37, 100.0, 2e6), 10_710.0, 1.032),
        ("httpEmbeddedSize", lognormal_mean(6.17, 2.36, 50.0, 2e6), 7_758.0, 1.057),
        ("httpEmbeddedCount", cut_pareto_mean(2.0, 1.1, 55.0) - 2.0, 5.64, 1.0),
        ("videoPktSize", cut_pareto_mean(20.0, 1.2, 125.0), 50.0, 1.014),
        ("videoPktInterarrival", cut_pareto_mean(2500.0, 1.2, 12_500.0), 6000.0, 0.990),
        // 2 Mbit/s with a frame every 31.225 ms.
        ("videoconferenceFrameSize", 6950.0 * libm::tgamma(1.0 + 1.0 / 0.8099), 2e6 * 31.225e-3 / 8.0, 1.0),
    ] {
        let all = draws(function, &[]);
        let n = DRAWS as f64;
        let mean = all.iter().sum::<f64>() / n;
        let error = (all.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / n / n).sqrt();
        assert!((mean - exact).abs() < 5.0 * error, "{function}: {mean}, by the formula {exact}");
        assert!((exact / printed - ratio).abs() < 0.001, "{function}: {exact}, printed {printed}");
    }
    let typed = draws("telnetPktInterarrival", &[]);
    let slow = typed.iter().filter(|us| **us > 1e6).count() as f64 / DRAWS as f64;
    assert!((slow - 0.15).abs() < 0.01, "{slow} of the times exceed 1 s");
}

#[test]
fn every_type_is_made_of_known_functions_and_every_model_has_a_source() {
    for model in TYPES {
        let bursts = (model.bursts)();
        let opening = bursts.opening.iter().flat_map(|opening| [&opening.size, &opening.pause]);
        let usual = [&bursts.blocksize, &bursts.repeats, &bursts.period];
        for number in usual.into_iter().chain(bursts.apart.as_deref()).chain(opening) {
            if let Number::Drawn(draw) = number {
                assert!(draw.law().is_some(), "{}: {}", model.name, draw.function);
            }
        }
    }
    let models = FUNCTIONS.iter().filter(|it| it.name.chars().any(|letter| letter.is_ascii_uppercase()));
    for function in models {
        assert!(!function.source.is_empty() && function.law(&[]).is_some(), "{}", function.name);
    }
}
