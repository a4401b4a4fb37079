//! Any text as a script of `ackclock generate`. Nothing panics, errors are within the text, and what is read
//! keeps its limits.
#![no_main]

use ackclock_agent::script::{self, MAX_TESTS};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match script::read("script", text) {
        Ok(plan) => {
            assert!(2 * plan.transfers.len() <= MAX_TESTS);
            for transfer in &plan.transfers {
                assert_eq!(transfer.source.spec.fault(), None);
                assert_eq!(transfer.sink.spec.fault(), None);
                let _ = transfer.pattern().map(|pattern| (pattern.bytes(), pattern.offered()));
            }
        }
        Err(error) => {
            let lines = text.matches('\n').count() + 1;
            assert!(error.line() >= 1 && error.line() <= lines && error.column() >= 1);
            let report = miette::Report::new(error);
            let _ = format!("{report:?}");
        }
    }
});
