//! The output directory: the page, its pictures, the verdicts, and the results of every point.

use super::emulated::Emulated;
use ackclock_files::Folder;
use ackclock_scenario::Sweep;
use ackclock_scenario::results::PointResult;
use ackclock_study::reproduce::{Pictured, Plan, Planned, Reproduction, Source};
use ackclock_view::gallery::picture;
use miette::miette;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The directory of charts, next to the page.
const PICTURES: &str = "pictures";

/// A chart of an experiment.
pub(super) struct Picture {
    /// The experiment.
    pub(super) id: String,
    /// The title.
    pub(super) title: String,
    /// The file, next to the page.
    pub(super) file: String,
}

/// The output directory.
#[derive(Clone)]
pub(super) struct Files {
    folder: Folder,
    path: PathBuf,
}

impl Files {
    /// Opens it, making it if need be.
    pub(super) fn open(path: &Path) -> miette::Result<Files> {
        let help = "give --out another directory, one of your own";
        let folder = Folder::own(path)
            .map_err(|error| miette!(help = help, "{} cannot be used: {error}", path.display()))?;
        Ok(Files { folder, path: path.to_owned() })
    }

    /// Opens a directory in it, making it if need be. It follows no link.
    pub(super) fn within(&self, name: &str) -> miette::Result<Files> {
        let help = "give --out another directory, one of your own";
        let folder = self.folder.folders(name);
        let folder = folder
            .map_err(|error| miette!(help = help, "{} cannot be used: {error}", self.path(name).display()))?;
        Ok(Files { folder, path: self.path(name) })
    }

    /// The path of a file in it.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file.
    pub(super) fn save(&self, name: &str, text: &str) -> miette::Result<()> {
        let help = "give --out another directory, one of your own";
        let written = self.folder.replace(name, |file| file.write_all(text.as_bytes()));
        written
            .map_err(|error| miette!(help = help, "{} cannot be written: {error}", self.path(name).display()))
    }

    /// Writes a file, and says where it is.
    pub(super) fn save_and_tell(&self, name: &str, text: &str) -> miette::Result<()> {
        self.save(name, text)?;
        tell!("wrote {}", self.path(name).display());
        Ok(())
    }

    /// Writes the pictures and the points of some experiments, and returns the pictures.
    pub(super) fn results(
        &self,
        plan: &Plan<'_>,
        reproductions: &[Reproduction],
        emulated: Option<(&Plan<'_>, &Emulated)>,
    ) -> miette::Result<Vec<Picture>> {
        let mut all = pictures(plan, reproductions, "");
        self.points(reproductions, "points")?;
        if let Some((plan, emulated)) = emulated {
            all.extend(pictures(plan, &emulated.reproductions, "emulated"));
            self.points(&emulated.reproductions, "emulated")?;
        }
        for (picture, svg) in &all {
            self.save(&picture.file, svg)?;
        }
        Ok(all.into_iter().map(|(picture, _)| picture).collect())
    }

    fn points(&self, reproductions: &[Reproduction], suffix: &str) -> miette::Result<()> {
        for reproduction in reproductions.iter().filter(|reproduction| reproduction.points > 0) {
            let sets =
                reproduction.results.iter().map(|(name, points)| json!({"scenario": name, "points": points}));
            let sets: Vec<_> = sets.collect();
            self.save(&format!("{}.{suffix}.json", reproduction.id), &format!("{}\n", json!(sets)))?;
        }
        Ok(())
    }
}

/// The pictures that each experiment asks for, for each of its own scenarios. `place` names where the results
/// were measured.
fn pictures(plan: &Plan<'_>, reproductions: &[Reproduction], place: &str) -> Vec<(Picture, String)> {
    let mut pictures = Vec::new();
    for ((experiment, scenarios), reproduction) in plan.scenarios().zip(reproductions) {
        let sets = experiment.scenarios.iter().zip(scenarios).zip(&reproduction.results);
        for (((name, source), planned), (_, results)) in sets {
            // A scenario of another experiment has its pictures there, unless this experiment asks for other
            // pictures.
            if matches!(source, Source::Of(..)) && experiment.pictures == [Pictured::Goodput] {
                continue;
            }
            for &what in &experiment.pictures {
                let Some((title, svg)) = drawn(planned, results, what) else { continue };
                let word = if what == Pictured::Goodput { "" } else { what.word() };
                let parts = [&experiment.id, name.as_str(), word, place];
                let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
                let notes: Vec<&str> =
                    [name.as_str(), place].into_iter().filter(|it| !it.is_empty()).collect();
                let colon = if notes.is_empty() { "" } else { ": " };
                let picture = Picture {
                    id: experiment.id.clone(),
                    title: format!("{title}{colon}{}", notes.join(", ")),
                    file: format!("{PICTURES}/{}.svg", parts.join("-")),
                };
                pictures.push((picture, svg));
            }
        }
    }
    pictures
}

/// A picture and its title. Over time it shows the runs for which the file asks: many more would hide each
/// other. Against an axis all count.
fn drawn(planned: &Planned, results: &[PointResult], what: Pictured) -> Option<(String, String)> {
    if !matches!(what, Pictured::Throughput | Pictured::InFlight) {
        return picture(&planned.sweep, results, what);
    }
    let asked = || planned.asked.iter().enumerate().filter(|&(_, asked)| *asked).map(|(at, _)| at);
    let points = asked().map(|at| planned.sweep.points[at].clone()).collect();
    let sweep = Sweep { points, axes: planned.sweep.axes.clone() };
    picture(&sweep, &asked().map(|at| results[at].clone()).collect::<Vec<_>>(), what)
}
