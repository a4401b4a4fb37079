//! Reads a scenario file, and reports what is wrong before its first key.

use crate::failure::Failure;
use miette::{Report, miette};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// No real scenario is larger than this, bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Reads the text of a file.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    text(path).map_err(Failure::Report)
}

fn text(path: &Path) -> Result<String, Report> {
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
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|&&byte| byte == b'\n').count();
        miette!(help = "save the file as UTF-8 in your editor", "{name}:{line}: the text is not UTF-8 here")
    })
}
