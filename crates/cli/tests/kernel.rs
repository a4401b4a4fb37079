//! `ackclock kernel` in a build without eBPF controllers says how to get one with them.
#![cfg(not(feature = "kernel"))]

use std::process::Command;

#[test]
fn without_the_feature_it_says_how_to_get_it() {
    for arguments in [&["kernel", "check"][..], &["kernel", "list"], &["kernel", "load", "layered"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_ackclock")).args(arguments).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains("--features kernel") && text.contains("clang"), "{text}");
        assert!(output.stdout.is_empty());
    }
}
