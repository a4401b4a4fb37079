//! Any bytes as what `ackclock serve` parses itself: a stream of request heads, cut anywhere, and a file of
//! directives. Repair changes nothing but the two names' lines, and does not depend on the cuts.

#![no_main]

use ackclock_serve::{Directives, Repair};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let whole = repaired(bytes, bytes.len().max(1));
    let cut = bytes.first().map_or(1, |&byte| usize::from(byte) % 7 + 1);
    assert_eq!(whole, repaired(bytes, cut), "cuts of {cut}");
    assert_eq!(whole.len(), bytes.len());
    for (line, was) in whole.split(|&it| it == b'\n').zip(bytes.split(|&it| it == b'\n')) {
        if line != was {
            let colon = line.iter().position(|&it| it == b':').expect("a colon");
            let name = line[..colon].to_ascii_lowercase();
            assert!(name == b"rate" || name == b"period", "{was:?}");
            assert!(was[colon..].trim_ascii_start().starts_with(b"="), "{was:?}");
        }
    }
    assert_eq!(repaired(&whole, cut), whole, "what is repaired needs no repair");
    if let Ok(text) = std::str::from_utf8(bytes) {
        match Directives::read(text) {
            Ok(directives) => drop(directives.pacing()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});

fn repaired(bytes: &[u8], cut: usize) -> Vec<u8> {
    let (mut repair, mut output) = (Repair::default(), Vec::new());
    for (number, piece) in bytes.chunks(cut).enumerate() {
        repair.pass(piece, &mut output);
        let passed = (number * cut + piece.len()).min(bytes.len());
        assert!(passed - output.len() <= 22, "{} bytes are held back", passed - output.len());
    }
    repair.end(&mut output);
    output
}
