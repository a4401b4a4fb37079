//! Emulation of a scenario with `trace`: the capture of one link, which is read when the run is over.

use crate::failure::Failure;
use ackclock_files::Folder;
use ackclock_scenario::Point;
use ackclock_scenario::capture_file::file_name;
use ackclock_scenario::results::PointResult;
use ackclock_study::traced::traced;
use miette::{IntoDiagnostic, Report, WrapErr, miette};
use std::ffi::OsString;
use std::io::BufReader;

/// The capture of a point that is to be traced. What nobody else wants of it goes with this value.
pub(crate) struct Tracing {
    file: OsString,
    folder: Folder,
    /// What to remove: an entry of a directory.
    unwanted: Option<(Folder, OsString)>,
}

impl Drop for Tracing {
    fn drop(&mut self) {
        if let Some((folder, name)) = &self.unwanted {
            let _ = folder.remove(name); // in the way of nobody
        }
    }
}

impl Tracing {
    /// Adds the link that the point's scenario traces, if it does, to what is captured.
    pub(crate) fn begin(
        point: &Point,
        captures: &mut Option<(Vec<String>, Folder)>,
    ) -> Result<Option<Tracing>, Failure> {
        let built = point.scenario.build()?;
        let Some(link) = built.traced.map(|link| built.links[link].name.clone()) else { return Ok(None) };
        let file = OsString::from(file_name(&link));
        if let Some((links, folder)) = captures {
            let unwanted = (!links.contains(&link)).then(|| (folder.clone(), file.clone()));
            if unwanted.is_some() {
                links.push(link);
            }
            return Ok(Some(Tracing { file, folder: folder.clone(), unwanted }));
        }
        let made = Folder::at(std::env::temp_dir())
            .and_then(|place| Ok((place.fresh("ackclock-trace-")?, place)))
            .into_diagnostic()
            .wrap_err("there is no room for the capture that is traced")?;
        let ((name, folder), place) = made;
        *captures = Some((vec![link], folder.clone()));
        Ok(Some(Tracing { file, folder, unwanted: Some((place, name.into())) }))
    }

    /// Adds what the capture tells to the result.
    pub(crate) fn finish(self, result: &mut PointResult) -> Result<(), Failure> {
        let unreadable = |error: Report| miette!("the capture that is traced cannot be read: {error}");
        let open = self.folder.open(&self.file).into_diagnostic().map_err(unreadable)?;
        result.traced = traced(BufReader::new(open)).map_err(|error| unreadable(error.into()))?;
        Ok(())
    }
}
