//! A file with a distribution of transfer sizes: rows with a size in bytes, and the share of transfers that
//! are at most this large.

use super::reader::{At, Result};
use super::text_file::{TextFile, read_text_file};
use crate::sizes::SizeTable;

/// The largest file: a hundred times what measured distributions take.
const MAX_FILE: u64 = 1 << 20;
/// The largest number of rows.
const MAX_ROWS: usize = 10_000;
const HELP: &str =
    "each row is a size in bytes and the share of transfers that are no larger, such as 10000,0.5";

/// Reads the file with this name, relative to the scenario file.
pub(crate) fn read_size_file(at: &At<'_>) -> Result<SizeTable> {
    let TextFile { name, text } = read_text_file(at, MAX_FILE, HELP)?;
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
