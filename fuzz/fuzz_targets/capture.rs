//! Any bytes as a capture: reading it ends with what it tells or with a message, never with a panic, and what
//! it tells can be judged by every predictor.

#![no_main]

use ackclock_cc::predictor::Options;
use ackclock_scenario::Settle;
use ackclock_study::predict::{predictions, read_capture};
use libfuzzer_sys::fuzz_target;
use miette::NarratableReportHandler;

fuzz_target!(|bytes: &[u8]| {
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
