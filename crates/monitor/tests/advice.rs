//! The rules of advice, by small examples with exact answers.

use ackclock_monitor::{
    Against, Measured, Moment, Sample, Stated, Unknown, advise, forecast, oldest, summary,
};
use ackclock_units::{Bytes, Duration};
use proptest::prelude::*;
use std::sync::atomic::AtomicBool;

const NOW: Moment = Moment(1_000_000_000_000_000);
const MINUTES: Duration = Duration::from_secs(900);

/// Samples, the last of them `age` s before now, one every `every` s.
fn series(age: u64, every: u64, values: &[f64]) -> Vec<Sample> {
    let ago = |at: usize| Duration::from_secs(age + every * (values.len() - 1 - at) as u64);
    values.iter().enumerate().map(|(at, &value)| Sample { at: NOW.before(ago(at)), value }).collect()
}

/// The path of the thesis: 622 Mbit/s, 67 ms, watched for 20 minutes.
fn quiet() -> Measured {
    Measured {
        rtt: series(5, 10, &[0.067; 121]),
        lost: series(5, 10, &[0.0; 121]),
        retransmissions: series(5, 10, &[0.0; 60]),
        capacity: series(60, 3600, &[610e6, 622e6, 600e6, 622e6, 622e6, 622e6]),
        waiting: series(60, 3600, &[0.067; 6]),
        closing_window: series(60, 3600, &[3000.0, 3100.0, 3200.0, 3600.0, 3700.0, 9000.0, 1.0]),
        sent: series(5, 10, &[1e6; 20]),
    }
}

fn stated() -> Stated {
    Stated {
        uncontrolled: true,
        ping: Duration::from_secs(10),
        transfer: Duration::from_secs(3600),
        burst: Duration::from_millis(10),
    }
}

#[test]
fn the_path_of_the_thesis() {
    let advice = advise(&quiet(), &stated(), NOW);
    let buffer = advice.buffer.expect("capacity and round-trip time are known");
    // 622 Mbit/s * 67 ms / 8.
    assert_eq!(buffer.value, Bytes(5_209_250));
    assert_eq!((buffer.basis.samples, buffer.basis.age), (6, Duration::from_secs(60)));
    assert_eq!(buffer.basis.interval, Duration::from_secs(5 * 3600));
    // 0.8 * 622 Mbit/s * 10 ms / 8.
    assert_eq!(advice.burst.expect("the capacity is known").value, Bytes(622_000));
    assert_eq!(advice.first_window.expect("there were sessions").value, 3200);
    // Half of a queue of one product is less than the product.
    assert_eq!(advice.without_control.expect("nothing is against it").value, Bytes(2_604_625));
    let path = advice.path.expect("it is measured").value;
    assert_eq!((path.capacity, path.rtt, path.queue, path.loss), (622e6, 0.067, 5_209_250.0, 0.0));
}

#[test]
fn a_deep_queue_leaves_the_product() {
    let measured = Measured { waiting: series(60, 3600, &[0.2; 6]), ..quiet() };
    let window = advise(&measured, &stated(), NOW).without_control.expect("nothing is against it");
    assert_eq!(window.value, Bytes(5_209_250));
}

#[test]
fn a_first_window_is_at_most_the_product() {
    let full = series(60, 3600, &[10_300.0; 6]);
    let measured = Measured { closing_window: full.clone(), ..quiet() };
    // 5209250 B are 3472.8 segments of 1500 B.
    assert_eq!(advise(&measured, &stated(), NOW).first_window.expect("there were sessions").value, 3473);
    let measured = Measured { closing_window: full, ..Measured::default() };
    assert_eq!(advise(&measured, &stated(), NOW).first_window.expect("there were sessions").value, 10_300);
}

#[test]
fn what_speaks_against_doing_without_control() {
    let against =
        |measured: Measured| advise(&measured, &stated(), NOW).without_control.expect_err("against");
    let not_allowed = advise(&quiet(), &Stated { uncontrolled: false, ..stated() }, NOW);
    assert_eq!(not_allowed.without_control, Err(Against::NotAllowed));
    let mut measured = quiet();
    measured.lost[118].value = 1.0;
    assert_eq!(against(measured), Against::Loss(Duration::from_secs(25)));
    let mut measured = quiet();
    measured.retransmissions[59].value = 3.0;
    assert_eq!(against(measured), Against::Loss(Duration::from_secs(5)));
    let mut measured = quiet();
    measured.lost[40].value = 1.0;
    assert!(advise(&measured, &stated(), NOW).without_control.is_ok(), "that was longer ago");
    let measured = Measured { lost: series(5, 10, &[0.0; 30]), ..quiet() };
    assert_eq!(against(measured), Against::Watched(Duration::from_secs(295)));
    let measured = Measured { waiting: Vec::new(), ..quiet() };
    assert_eq!(against(measured), Against::Unknown(Unknown::Few { there: 0 }));
}

#[test]
fn a_competing_flow_shows_within_two_periods() {
    let mut measured = quiet();
    measured.rtt[120].value = 0.08;
    assert!(advise(&measured, &stated(), NOW).without_control.is_ok(), "one may be an accident");
    measured.rtt[119].value = 0.08;
    match advise(&measured, &stated(), NOW).without_control {
        Err(Against::Varies(by)) => assert!((by - 0.013).abs() < 1e-12),
        other => panic!("{other:?}"),
    }
    let mut measured = quiet();
    (measured.sent[18].value, measured.sent[19].value) = (311e6, 400e6);
    assert_eq!(
        advise(&measured, &stated(), NOW).without_control,
        Err(Against::Used(0.5)),
        "the smaller of two high ones is the 95th percentile of 20"
    );
}

#[test]
fn little_and_old_say_nothing() {
    let most = MINUTES;
    assert_eq!(summary(&[], NOW, most), Err(Unknown::Few { there: 0 }));
    assert_eq!(summary(&series(0, 1, &[1.0; 4]), NOW, most), Err(Unknown::Few { there: 4 }));
    assert!(summary(&series(900, 1, &[1.0; 5]), NOW, most).is_ok());
    let age = Duration::from_secs(901);
    assert_eq!(summary(&series(901, 1, &[1.0; 5]), NOW, most), Err(Unknown::Old { age, most }));
    // The clock was set back: what it showed before does not count.
    let mut samples = series(0, 1, &[1.0; 6]);
    (samples[4].at, samples[5].at) = (NOW.after(age), NOW.after(age));
    assert_eq!(summary(&samples, NOW, most), Err(Unknown::Few { there: 4 }));
    assert_eq!(oldest(Duration::from_secs(10)), MINUTES);
    assert_eq!(oldest(Duration::from_secs(3600)), Duration::from_secs(9000));
    let old = Measured { rtt: series(901, 10, &[0.067; 121]), ..quiet() };
    assert_eq!(advise(&old, &stated(), NOW).buffer, Err(Unknown::Old { age, most }));
}

#[test]
fn few_lost_requests_are_no_share() {
    let mut measured = quiet();
    measured.lost.iter_mut().take(4).for_each(|it| it.value = 1.0);
    assert_eq!(advise(&measured, &stated(), NOW).path.expect("it is measured").value.loss, 0.0);
    measured.lost[4].value = 1.0;
    assert_eq!(advise(&measured, &stated(), NOW).path.expect("it is measured").value.loss, 5.0 / 121.0);
}

#[test]
fn a_small_transfer_takes_its_round_trips() {
    let path = advise(&quiet(), &stated(), NOW).path.expect("it is measured").value;
    let size = Bytes(14_480);
    let forecasts =
        forecast(&path, size, &["reno", "none"], &AtomicBool::new(false)).expect("the path can be simulated");
    // Ten segments are one window: half a round trip there, half a round trip back.
    for forecast in &forecasts {
        let seconds = size.0 as f64 * 8.0 / forecast.p50;
        assert!(forecast.complete && (0.0335..0.0675).contains(&seconds), "{forecast:?}");
    }
    let larger = Bytes(422_000);
    let forecasts = forecast(&path, larger, &["reno", "none"], &AtomicBool::new(false))
        .expect("the path can be simulated");
    // 292 segments: 10, 20, 40, 80 and the rest are five rounds; without control they are one.
    let seconds = |at: usize| larger.0 as f64 * 8.0 / forecasts[at].p50;
    assert!((4.0 * 0.067..6.0 * 0.067).contains(&seconds(0)), "{forecasts:?}");
    assert!(seconds(1) < 0.067 + 0.01, "{forecasts:?}");
}

proptest! {
    /// Percentiles are samples, in order, and the numbers are those of the list.
    #[test]
    fn a_summary_is_of_its_samples(values in prop::collection::vec(0.0f64..1e9, 5..200)) {
        let it = summary(&series(3, 2, &values), NOW, MINUTES).expect("enough, and new");
        prop_assert_eq!(it.basis.samples, values.len());
        prop_assert_eq!(it.basis.age, Duration::from_secs(3));
        prop_assert!(it.least <= it.p50 && it.p50 <= it.p90 && it.p90 <= it.p95 && it.p95 <= it.greatest);
        for value in [it.least, it.p50, it.p90, it.p95, it.greatest] {
            prop_assert!(values.contains(&value));
        }
        let below = values.iter().filter(|&&value| value <= it.p50).count();
        prop_assert!(2 * below + 1 >= values.len());
    }
}
