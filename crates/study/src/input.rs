//! Reads a scenario file, and reports what is wrong before its first key.

use ackclock_scenario::Document;
use miette::{Report, miette};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// No real scenario is larger than this, bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Reads the text of a scenario file.
///
/// # Errors
///
/// With what to do: if the file cannot be read, is larger than 64 MiB, is a capture, or has no line of TOML.
pub fn read(path: &Path) -> Result<String, Report> {
    let name = path.display();
    let wrong = |help: &str, what: &str| miette!(help = help.to_owned(), "{name}: {what}");
    if path.is_dir() {
        return Err(wrong("name the scenario file in it", "this is a directory, not a file"));
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes));
    if let Err(error) = read {
        return Err(match error.kind() {
            ErrorKind::NotFound => wrong("check the path and the spelling", "there is no such file"),
            ErrorKind::PermissionDenied => wrong("give yourself the right to read it", "it may not be read"),
            _ => wrong("check the path and the medium", &format!("it cannot be read: {error}")),
        });
    }
    if bytes.len() as u64 > MAX_BYTES {
        return Err(wrong("check the path", &format!("more than {} MiB are no scenario", MAX_BYTES >> 20)));
    }
    if is_capture(&bytes) {
        return Err(wrong("`ackclock predict` reads captures", "this is a capture, not a scenario"));
    }
    if bytes.contains(&0) {
        return Err(wrong("a scenario is a text file (TOML)", "this is a binary file, not a scenario"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|&&byte| byte == b'\n').count();
        miette!(help = "save the file as UTF-8 in your editor", "{name}:{line}: the text is not UTF-8 here")
    })?;
    // An error in a foreign format would quote a line that nobody has got wrong.
    if Document::parse("", &text).is_err() && !text.lines().any(looks_like_toml) {
        let help =
            "a scenario is TOML: lines such as duration = \"60 s\", and tables such as [topology.dumbbell]";
        return Err(wrong(help, "this is not a scenario: no line of it is TOML"));
    }
    Ok(text)
}

/// True if a file begins like a capture: pcap in both byte orders and units of time, or pcapng.
pub fn is_capture(bytes: &[u8]) -> bool {
    const MAGIC: [[u8; 4]; 5] = [
        [0x0A, 0x0D, 0x0D, 0x0A],
        [0xA1, 0xB2, 0xC3, 0xD4],
        [0xD4, 0xC3, 0xB2, 0xA1],
        [0xA1, 0xB2, 0x3C, 0x4D],
        [0x4D, 0x3C, 0xB2, 0xA1],
    ];
    MAGIC.iter().any(|magic| bytes.starts_with(magic))
}

/// True if a line begins as a table or an entry of TOML does.
fn looks_like_toml(line: &str) -> bool {
    let line = line.trim_start();
    let key = line.split(['=', ':']).next().unwrap_or_default().trim();
    let part = |letter: char| letter.is_alphanumeric() || "_-.\"' ".contains(letter);
    let named = !key.is_empty() && key.chars().all(part);
    line.starts_with('[') || named && line.contains(['=', ':'])
}
