//! Any bytes as a capture: reading it ends with what it tells or with a message, never with a panic, and what
//! it tells can be judged by every predictor. Its connections are traced, and their numbers fit together.

#![no_main]

use ackclock_cc::predictor::Options;
use ackclock_scenario::Settle;
use ackclock_study::predict::{predictions, read_capture};
use ackclock_study::trace::{Event, trace};
use libfuzzer_sys::fuzz_target;
use miette::NarratableReportHandler;

fuzz_target!(|bytes: &[u8]| {
    follow(bytes);
    let recording = match read_capture(bytes, None) {
        Ok(captured) => captured.recording,
        Err(error) => {
            let mut shown = String::new();
            NarratableReportHandler::new().render_report(&mut shown, &error).expect("a message");
            assert!(shown.len() < 10_000, "{shown}");
            return;
        }
    };
    assert!(recording.readings.len() <= bytes.len());
    for settle in [Settle::RoundTrip, Settle::Low] {
        let predictions = predictions(&recording, &Options::default(), settle);
        assert_eq!(predictions.samples, recording.readings.len());
        for predictor in &predictions.predictors {
            let shares = [
                predictor.flow_losses.efficiency,
                predictor.flow_losses.false_positives,
                predictor.flow_losses.false_negatives,
            ];
            assert!(shares.into_iter().flatten().all(|share| (0.0..=1.0).contains(&share)), "{shares:?}");
        }
    }
});

fn follow(bytes: &[u8]) {
    let mut data = 0;
    let Ok(traced) =
        trace(bytes, &mut |_, _, _, event| data += u64::from(matches!(event, Event::Data { .. })))
    else {
        return;
    };
    let directions = || traced.connections.iter().flat_map(|connection| &connection.directions);
    assert_eq!(directions().map(|it| it.packets).sum::<u64>(), traced.tcp_packets);
    assert_eq!(directions().map(|it| it.data_packets).sum::<u64>(), data);
    for direction in directions() {
        assert_eq!(direction.unique_bytes + direction.retransmitted_bytes, direction.data_bytes);
        assert!(direction.retransmitted_packets <= direction.data_packets);
        assert!(direction.pure_acks <= direction.acks && direction.acks <= direction.packets);
        assert!(direction.triple_duplicates <= direction.duplicate_acks);
        assert!(direction.outstanding_min <= direction.outstanding_max);
        assert!(direction.rtt.is_none_or(|rtt| rtt.min_s <= rtt.max_s && rtt.sd_s.is_finite()));
    }
}
