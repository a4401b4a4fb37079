//! The parts of XRTP as functions: its analytic model ([`ackclock_rate::model`]), jitter, loss labels, the
//! statistics of trip times, and the variants. Lists are measurements, in their order.

use super::call::{Arguments, add_numeric, refused, wrong};
use super::trace::Trace;
use super::values::number;
use ackclock_rate::jitter::{Change, Clock, Jitter};
use ackclock_rate::loss::{Arrival, Hybrid, HybridSettings, Label};
use ackclock_rate::model::Model;
use ackclock_rate::rott::Rott;
use ackclock_rate::variant::{Adaptation, Variant};
use ackclock_units::{Duration, Time};
use minijinja::value::{Kwargs, Rest};
use minijinja::{Environment, Error, Value};

pub(super) fn add_all(env: &mut Environment<'static>, trace: &Trace) {
    add_model(env, trace);
    add_over_lists(env, trace, "jitters(sent_s, arrived_s)", |args| {
        let all = jitters(&args.times(0)?, &args.times(1)?);
        Ok(Value::from(
            all.into_iter().flatten().map(|jitter| jitter.nanos() as f64 * 1e-9).collect::<Vec<_>>(),
        ))
    });
    add_over_lists(env, trace, "loss_label(sent_s, arrived_s, service_s)", |args| {
        let service = Duration::from_secs_f64(args.arguments.number(2, "a transmission time")?);
        Ok(Value::from(loss_label(&args.times(0)?, &args.times(1)?, service)?))
    });
    add_over_lists(env, trace, "trip_mean(trips_s, n)", |args| {
        let trips = args.times(0)?;
        let first = trips.first().map_or(f64::NAN, |first| first.as_nanos() as f64);
        Ok(Value::from((first + trips_after(&trips, args)?.mean()) * 1e-9))
    });
    add_over_lists(env, trace, "trip_variance(trips_s, n)", |args| {
        Ok(Value::from(trips_after(&args.times(0)?, args)?.variance() * 1e-18))
    });
    add_over_lists(env, trace, "variant_alpha(variant, losses, alpha, most)", |args| {
        let (alpha, most) = (args.arguments.number(2, "alpha")?, args.arguments.number(3, "alpha's bound")?);
        Ok(Value::from(adapted(args, alpha, most, 1.0)?.alpha()))
    });
    add_over_lists(env, trace, "variant_share(variant, losses, capacity_bps)", |args| {
        let capacity = args.arguments.number(2, "a capacity")?;
        Ok(Value::from(adapted(args, 0.8, 0.99, capacity)?.on_estimate(capacity)))
    });
}

/// The most probes of an epoch, or of a round trip, that are added up.
const MAX_PROBES: f64 = 1e6;

/// C, S, gamma, alpha and k stand in this order where an equation has them. What is outside of its range has
/// no value, and neither has what would take too long to add up.
fn add_model(env: &mut Environment<'static>, trace: &Trace) {
    type Formula = (&'static str, &'static [&'static str], fn(&[f64]) -> f64);
    let formulas: &[Formula] = &[
        ("xrtp_probes", &["gamma", "alpha"], |x| of(model(&[1.0, 1.0, x[0], x[1], 4.0]), |it| it.probes())),
        ("xrtp_rate", &["capacity_bps", "size_bits", "gamma", "alpha", "x"], |x| {
            of(model(&[x[0], x[1], x[2], x[3], 4.0]), |it| it.rate(x[4]))
        }),
        ("xrtp_epoch", &["capacity_bps", "size_bits", "gamma", "alpha", "k"], |x| {
            of(model(x).filter(ends), |it| it.epoch(libm::floor(it.probes())))
        }),
        ("xrtp_throughput", &["capacity_bps", "gamma", "alpha"], |x| {
            let model = model(&[x[0], 1.0, x[1], x[2], 4.0]);
            of(model.filter(|it| it.gamma == 1.0 || ends(it)), |it| it.throughput())
        }),
        ("xrtp_throughput_at", &["capacity_bps", "size_bits", "gamma", "alpha", "k", "rtt_s"], |x| {
            // No rate exceeds C/S.
            let few = |it: &Model| x[5] * it.capacity <= MAX_PROBES * it.every * it.size;
            let model = model(x).filter(|it| it.gamma == 1.0 || ends(it));
            of(model.filter(few), |it| it.throughput_at(x[5]))
        }),
        (
            "xrtp_rate_with_jitter",
            &["capacity_bps", "size_bits", "gamma", "alpha", "k", "x", "jitter_s"],
            |x| of(model(x), |it| it.rate_with_jitter(x[5], x[6])),
        ),
        ("xrtp_probes_with_jitter", &["capacity_bps", "size_bits", "gamma", "alpha", "k", "jitter_s"], |x| {
            of(model(x), |it| it.probes_with_jitter(x[5]).unwrap_or(f64::NAN))
        }),
    ];
    for &(name, parameters, f) in formulas {
        add_numeric(env, Some(trace), name, parameters, f);
    }
}

/// The model with these C, S, gamma, alpha and k, if all are in their ranges.
fn model(x: &[f64]) -> Option<Model> {
    let model = Model { capacity: x[0], size: x[1], gamma: x[2], alpha: x[3], every: x[4] };
    let valid = x[0] > 0.0 && x[1] > 0.0 && x[2] >= 1.0 && x[3] > 0.0 && x[3] < 1.0 && x[4] >= 1.0;
    (valid && x[..5].iter().all(|it| it.is_finite())).then_some(model)
}

/// A value of the model, if there is a model.
fn of(model: Option<Model>, value: impl FnOnce(Model) -> f64) -> f64 {
    model.map_or(f64::NAN, value)
}

/// True if an epoch has few enough probes to add them up.
fn ends(model: &Model) -> bool {
    model.probes() <= MAX_PROBES
}

/// A call whose arguments may be lists of measurements.
struct OverLists {
    arguments: Arguments,
}

impl OverLists {
    /// The list at `at`, in its order.
    fn list(&self, at: usize) -> Result<Vec<f64>, Error> {
        let value = self.arguments.given.get(at).ok_or_else(|| wrong("a list is missing"))?;
        let entries = value.try_iter()?.map(|entry| {
            number(&entry).ok_or_else(|| wrong(format!("a list of numbers is wanted, not {value}")))
        });
        let all = entries.collect::<Result<Vec<_>, _>>()?;
        if all.is_empty() { Err(wrong("the list is empty")) } else { Ok(all) }
    }

    /// A list of seconds, from 0 on.
    fn times(&self, at: usize) -> Result<Vec<Time>, Error> {
        let one = |seconds: f64| match (0.0..1e9).contains(&seconds) {
            true => Ok(Time::ZERO + Duration::from_secs_f64(seconds)),
            false => Err(wrong(format!("a time is from 0 s to 1e9 s, not {seconds}"))),
        };
        self.list(at)?.into_iter().map(one).collect()
    }
}

/// Adds a function for which a list is one argument, not several calls.
fn add_over_lists<F>(env: &mut Environment<'static>, trace: &Trace, written: &'static str, f: F)
where
    F: Fn(&OverLists) -> Result<Value, Error> + Send + Sync + 'static,
{
    let trace = trace.clone();
    let name = written.split('(').next().unwrap_or(written);
    env.add_function(name, move |given: Rest<Value>, kwargs: Kwargs| -> Result<Value, Error> {
        let arguments = Arguments::new(&given, &kwargs)?;
        arguments.no_more_than(written)?;
        if !arguments.named.is_empty() {
            return Err(refused(format!("{name} takes no keywords"), format!("it is written {written}")));
        }
        let call = OverLists { arguments };
        let value = f(&call)?;
        trace.note(call.arguments.shown(name), &value, None);
        Ok(value)
    });
}

/// The jitter of each packet (equation 3.12), nanoseconds; none for the first.
fn jitters(sent: &[Time], arrived: &[Time]) -> Vec<Option<Change>> {
    let mut jitter = Jitter::new(Clock::Fine, true, Duration::ZERO);
    let packets = sent.iter().zip(arrived);
    packets.map(|(&sent, &arrived)| jitter.on_packet(sent, arrived, false, 0, Duration::ZERO)).collect()
}

/// The hybrid heuristic's label of a packet that is missing before the last one.
fn loss_label(sent: &[Time], arrived: &[Time], service: Duration) -> Result<&'static str, Error> {
    if sent.len() != arrived.len() {
        return Err(wrong("as many arrivals as departures are wanted"));
    }
    let mut heuristic = Hybrid::new(HybridSettings::default());
    let mut label = Label::Transmission;
    for (at, jitter) in jitters(sent, arrived).into_iter().enumerate() {
        let missing = u64::from(at + 1 == sent.len());
        let (sent, arrived) = (sent[at], arrived[at]);
        label = heuristic.on_packet(&Arrival { sent, arrived, missing, jitter, service });
    }
    Ok(match label {
        Label::Congestion => "congestion",
        Label::Transmission => "transmission",
    })
}

fn trips_after(trips: &[Time], call: &OverLists) -> Result<Rott, Error> {
    let length = call.arguments.number(1, "the length of the window")?;
    if !(1.0..=1e4).contains(&length) {
        return Err(wrong("the window has 1 to 10,000 packets"));
    }
    let mut rott = Rott::new(length as usize);
    trips.iter().for_each(|&trip| rott.on_packet(Time::ZERO, trip));
    Ok(rott)
}

/// A variant after round trips with these numbers of losses, the second argument.
fn adapted(call: &OverLists, alpha: f64, most: f64, capacity: f64) -> Result<Adaptation, Error> {
    let variant = match call.arguments.text(0, "a variant")?.as_str() {
        "n" => Variant::N,
        "a" => Variant::A,
        "b" => Variant::B,
        "c" => Variant::C,
        other => {
            return Err(refused(format!("there is no variant '{other}'"), "there are 'n', 'a', 'b', 'c'"));
        }
    };
    let rtt = Duration::from_millis(100);
    let mut it = Adaptation::new(variant, alpha, most);
    let mut now = Time::ZERO;
    it.on_estimate(capacity);
    it.on_packet(now, rtt);
    for losses in call.list(1)? {
        if !(0.0..=1000.0).contains(&losses) {
            return Err(wrong(format!("a round trip has up to 1000 losses, not {losses}")));
        }
        (0..losses as u64).for_each(|_| it.on_loss());
        now += rtt;
        it.on_packet(now, rtt);
    }
    Ok(it)
}
