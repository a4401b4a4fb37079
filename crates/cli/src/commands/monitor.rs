//! `ackclock monitor`.

use crate::args::Monitor;
use crate::failure::Failure;
use crate::interrupt;
use ackclock_monitor::{ArchiveError, MonitorError, News, Plan};
use ackclock_study::input;
use miette::{Report, miette};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

pub(crate) fn run(command: &Monitor) -> Result<(), Failure> {
    let text = input::read(&command.file)?;
    let plan = Plan::read(&command.file.display().to_string(), &text)?;
    let monitor = ackclock_monitor::Monitor::new(&plan).map_err(|error| match error {
        MonitorError::Archive(error) => explained(&error),
        MonitorError::Listen { .. } => {
            miette!(
                help = "another program may be listening there; listen in [sink] or [publish] chooses another port",
                "{error}"
            )
        }
    })?;
    let stop = interrupt::listen()?;
    if let Some(length) = command.length {
        thread::spawn(move || {
            thread::sleep(Duration::from_nanos(length.as_nanos()));
            stop.store(true, Ordering::Relaxed);
        });
    }
    for host in &plan.hosts {
        let transfers = host.transfer.as_ref().map_or(String::new(), |it| {
            format!(", a transfer of {} every {} to port {}", it.length, it.period.every, it.port)
        });
        let searches = host.search.as_ref().map_or(String::new(), |it| {
            format!(", a search up to {} every {} to port {}", it.most, it.period.every, it.port)
        });
        let route = host.route.map_or(String::new(), |it| format!(", the route every {}", it.every));
        let (name, address, every) = (&host.name, host.address, host.ping.every);
        tell!("{name} ({address}): an echo request every {every}{transfers}{searches}{route}");
    }
    if let Some(sink) = &plan.sink {
        let searches = sink.search.map_or(String::new(), |it| format!(", and searches up to {it}"));
        tell!("taking transfers on {}{searches}", sink.listen);
    }
    if let Some(publish) = &plan.publish {
        tell!("publishing on http://{}", publish.listen);
    }
    tell!("writing {}", plan.archive.display());
    let tell = |news: News| {
        if command.json {
            say!("{}", document(&news));
        } else {
            tell!("{}", line(&news));
        }
    };
    monitor.run(stop, tell).map_err(|error| explained(&error))?;
    Ok(())
}

/// The news as a line of text.
fn line(news: &News) -> String {
    match news {
        News::Fails { host, probe, reason } => format!("{host}: {probe} fails: {reason}"),
        News::Works { host, probe } => format!("{host}: {probe} works again"),
        News::Waiting(reason) => format!("samples wait: {reason}"),
        News::Written => "all samples that waited are written".to_owned(),
        News::Dropped(samples) => format!("{samples} samples were dropped while there was no room"),
        News::Step(us) => format!("the system's clock was set by {} s", *us as f64 * 1e-6),
    }
}

/// The news as a JSON document.
fn document(news: &News) -> Value {
    match news {
        News::Fails { host, probe, reason } => {
            json!({ "news": "fails", "host": host, "probe": probe, "reason": reason })
        }
        News::Works { host, probe } => json!({ "news": "works", "host": host, "probe": probe }),
        News::Waiting(reason) => json!({ "news": "waiting", "reason": reason }),
        News::Written => json!({ "news": "written" }),
        News::Dropped(samples) => json!({ "news": "dropped", "samples": samples }),
        News::Step(us) => json!({ "news": "clock_set", "by_s": *us as f64 * 1e-6 }),
    }
}

/// The error with a remedy.
pub(super) fn explained(error: &ArchiveError) -> Report {
    let help = match error {
        ArchiveError::Missing(_) => {
            "name the archive of a monitor: --archive FILE; `ackclock monitor` makes one"
        }
        ArchiveError::Foreign(_) => "nothing was changed; name another file",
        ArchiveError::Later { .. } => "use the program that wrote it, or a later one",
        ArchiveError::Damaged { .. } => {
            "keep a copy, and let the monitor begin a new one; `sqlite3 FILE .recover` saves what can be read"
        }
        ArchiveError::Full { .. } => "make room on this disk",
        ArchiveError::Busy(_) => "two monitors need two archives",
        ArchiveError::Other { .. } => "check the path and the rights to it",
    };
    miette!(help = help, "{error}")
}
