//! A file with a distribution of transfer sizes: rows with a size in bytes, and the share of transfers that
//! are at most this large.

use super::reader::{At, Result};
use crate::sizes::SizeTable;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};

/// The largest file: a hundred times what measured distributions take.
const MAX_FILE: u64 = 1 << 20;
/// The largest number of rows.
const MAX_ROWS: usize = 10_000;
const HELP: &str =
    "each row is a size in bytes and the share of transfers that are no larger, such as 10000,0.5";

/// Reads the file with this name, relative to the scenario file.
pub(crate) fn read_size_file(at: &At<'_>) -> Result<SizeTable> {
    let path = at.beside(at.text()?);
    let name = path.display();
    // Reading something other than a plain file, for example a pipe, could block for ever.
    let is_file = fs::metadata(&path).map(|found| found.is_file());
    let mut bytes = Vec::new();
    let read = match is_file {
        Ok(true) => File::open(&path).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes)),
        Ok(false) => return Err(at.error(format!("{name} is no file")).help("name a file of sizes")),
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
    if bytes.len() as u64 > MAX_FILE {
        return Err(at.error(format!("{name} is larger than {} kB", MAX_FILE / 1024)).help(HELP));
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(at.error(format!("{name} is no text in UTF-8")).help(HELP));
    };
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let numbers: Vec<f64> = cells.iter().filter_map(|cell| cell.parse().ok()).collect();
        match (&cells[..], &numbers[..]) {
            ([""], _) => {}
            ([_, _], &[size, share]) => {
                rows.push((size, share));
                lines.push(number + 1);
            }
            ([_, _], []) if rows.is_empty() => {} // names of the columns
            _ => {
                let message =
                    format!("{name}:{}: two numbers with a comma between them are wanted", number + 1);
                return Err(at.error(message).help(HELP));
            }
        }
        if rows.len() > MAX_ROWS {
            return Err(at.error(format!("{name} has more than {MAX_ROWS} rows")).help("thin it out"));
        }
    }
    SizeTable::new(rows).map_err(|error| {
        let line = lines.get(error.row).map_or(String::new(), |line| format!(":{line}"));
        at.error(format!("{name}{line}: {}", error.problem)).help(error.remedy)
    })
}
