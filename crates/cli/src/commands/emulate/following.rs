//! Emulation of a scenario with `follow`: the segments of a flow are those of a capture of a link on its way.

use crate::failure::Failure;
use ackclock_files::Folder;
use ackclock_scenario::Point;
use ackclock_scenario::capture_file::file_name;
use ackclock_scenario::results::PointResult;
use ackclock_study::sequences::sequences;
use miette::{IntoDiagnostic, WrapErr};
use std::io::BufReader;

/// Adds the segments of the point's followed flows to its result, from the first capture that has them. Says
/// which flows have none.
pub(crate) fn follow(
    point: &Point,
    captures: Option<&(Vec<String>, Folder)>,
    result: &mut PointResult,
) -> Result<(), Failure> {
    let mut wanted = point.scenario.build()?.followed;
    let unreadable = |link: &str| format!("the capture of {link} cannot be read");
    for (link, folder) in captures.iter().flat_map(|(links, folder)| links.iter().map(move |it| (it, folder)))
    {
        let open = || folder.open(file_name(link)).map(BufReader::new);
        let read = sequences(open, &wanted, result).into_diagnostic().wrap_err_with(|| unreadable(link))?;
        let courses = read.into_diagnostic().wrap_err_with(|| unreadable(link))?;
        wanted.retain(|&flow| courses.iter().all(|course| course.flow != flow));
        for mut course in courses {
            match result.courses.iter_mut().find(|known| known.flow == course.flow) {
                Some(known) => {
                    course.queue = known.queue.take();
                    *known = course;
                }
                None => result.courses.push(course),
            }
        }
    }
    result.courses.sort_by_key(|course| course.flow);
    let mut labels: Vec<&str> = wanted.iter().map(|&flow| &*result.flows[flow].label).collect();
    labels.dedup();
    let warnings: Vec<String> = labels.into_iter().map(without).collect();
    result.warnings.extend(warnings);
    Ok(())
}

/// What to say of a group whose flows are to be followed, and are not.
fn without(label: &str) -> String {
    format!(
        "\"{label}\": follow shows no segments. An emulation takes them from a capture: \
         `ackclock emulate --capture` names a link on their way"
    )
}
