//! Embeds the scenario files into the gallery.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let set = |name: &str| env::var_os(name).map(PathBuf::from).ok_or(io::ErrorKind::NotFound);
    // A link to the workspace's directory; in a package it is a directory.
    let scenarios = set("CARGO_MANIFEST_DIR")?.join("scenarios").canonicalize()?;
    let mut code = String::from("&[\n");
    for file in files_in(&scenarios)? {
        let name = file.strip_prefix(&scenarios).unwrap_or(&file).display().to_string();
        code += &format!("    ({:?}, include_str!({:?})),\n", name.replace('\\', "/"), file);
    }
    code += "]\n";
    fs::write(set("OUT_DIR")?.join("scenarios.rs"), code)
}

/// The scenarios of a folder, then those of the folders in it.
fn files_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let (folders, files): (Vec<_>, Vec<_>) = sorted(folder)?.into_iter().partition(|path| path.is_dir());
    let mut found: Vec<PathBuf> =
        files.into_iter().filter(|file| file.extension().is_some_and(|it| it == "toml")).collect();
    for folder in folders {
        found.extend(files_in(&folder)?);
    }
    Ok(found)
}

fn sorted(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths =
        fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
