//! Embeds the experiment files into the library.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let set = |name: &str| env::var_os(name).map(PathBuf::from).ok_or(io::ErrorKind::NotFound);
    // A link to the workspace's directory; in a package it is a directory.
    let experiments = set("CARGO_MANIFEST_DIR")?.join("experiments").canonicalize()?;
    println!("cargo::rerun-if-changed={}", experiments.display());
    let mut code = String::from("&[\n");
    for work in sorted(&experiments)? {
        if !work.is_dir() {
            continue;
        }
        println!("cargo::rerun-if-changed={}", work.display());
        for file in sorted(&work)? {
            if file.extension().is_some_and(|extension| extension == "toml") {
                let name = file.strip_prefix(&experiments).unwrap_or(&file).display().to_string();
                code += &format!("    ({:?}, include_str!({:?})),\n", name.replace('\\', "/"), file);
            }
        }
    }
    code += "]\n";
    fs::write(set("OUT_DIR")?.join("experiments.rs"), code)
}

fn sorted(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths =
        fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
