//! CSV files in the output directory.

use super::directory::{OutputDirectory, cannot};
use crate::failure::Failure;
use csv::Writer;
use std::borrow::Cow;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// A file, row by row. Labels and names come from scenarios; no spreadsheet takes one for a formula.
pub(super) struct Csv {
    file: Writer<BufWriter<File>>,
    /// For messages.
    path: PathBuf,
}

impl Csv {
    /// A new file with this header.
    pub(super) fn open(
        to: &OutputDirectory,
        folder: &Path,
        name: &str,
        header: &[impl AsRef<str>],
    ) -> Result<Csv, Failure> {
        let name = folder.join(name);
        let file = Writer::from_writer(to.create(&name)?);
        let mut csv = Csv { file, path: to.partial().join(name) };
        csv.row(header)?;
        Ok(csv)
    }

    /// Writes a row.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>) -> Result<(), Failure> {
        let written = cells.into_iter().try_for_each(|cell| self.file.write_field(&*harmless(cell.as_ref())));
        // An empty record ends the row.
        let written = written.and_then(|()| self.file.write_record(None::<&[u8]>));
        written.map_err(|error| cannot("written", &self.path, &error.into()))
    }

    /// Writes what is not yet in the file.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        self.file.flush().map_err(|error| cannot("written", &self.path, &error))
    }
}

/// A text that no spreadsheet takes for a formula. Numbers stay as they are.
fn harmless(text: &str) -> Cow<'_, str> {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    if formula { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn what_is_not_a_number_is_no_formula() {
        for (text, cell) in [
            ("=1+1", "'=1+1"),
            ("@a", "'@a"),
            ("-a", "'-a"),
            ("-1.5e-3", "-1.5e-3"),
            ("-inf", "-inf"),
            ("a=b", "a=b"),
        ] {
            assert_eq!(harmless(text), cell);
        }
    }
}
