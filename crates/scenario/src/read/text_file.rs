//! Text files that a scenario names.

use super::reader::{At, Result};
use std::fs::{self, File};
use std::io::{ErrorKind, Read};

/// A file that was read: its path as messages name it, and its text.
pub(crate) struct TextFile {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Reads the file with the name at `at`, relative to the scenario file, of at most `most` bytes. `help` says
/// what the file must be like.
pub(crate) fn read_text_file(at: &At<'_>, most: u64, help: &str) -> Result<TextFile> {
    let path = at.beside(at.text()?);
    if !at.may_name_files() {
        let name = at.text()?;
        return Err(at
            .error(format!("this names the file {name}, and no file is read here"))
            .help("save the scenario beside that file, and run it with `ackclock run`"));
    }
    let name = path.display().to_string();
    // Reading something other than a plain file, for example a pipe, could block for ever.
    let is_file = fs::metadata(&path).map(|found| found.is_file());
    let mut bytes = Vec::new();
    let read = match is_file {
        Ok(true) => File::open(&path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes)),
        Ok(false) => return Err(at.error(format!("{name} is no file")).help(help)),
        Err(error) => Err(error),
    };
    if let Err(error) = read {
        return Err(match error.kind() {
            ErrorKind::NotFound => at
                .error(format!("there is no file {name}"))
                .help("the path is relative to the scenario file's directory"),
            _ => at.error(format!("{name} cannot be read: {error}")).help("check its rights and the medium"),
        });
    }
    if bytes.len() as u64 > most {
        return Err(at.error(format!("{name} is larger than {} kB", most / 1024)).help(help));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(TextFile { name, text }),
        Err(_) => Err(at.error(format!("{name} is no text in UTF-8")).help(help)),
    }
}
