//! CSV files in the output directory.

use super::directory::OutputDirectory;
use crate::failure::Failure;
use csv::Writer;
use miette::IntoDiagnostic;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// A file, row by row.
pub(super) type Csv = Writer<BufWriter<File>>;

/// A new file with this header.
pub(super) fn open(to: &OutputDirectory, folder: &Path, name: &str, header: &[&str]) -> Result<Csv, Failure> {
    let mut file = Writer::from_writer(to.create(folder.join(name))?);
    file.write_record(header).into_diagnostic()?;
    Ok(file)
}
