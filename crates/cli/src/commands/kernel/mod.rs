//! `ackclock kernel`.

use crate::args::Kernel;
use crate::failure::Failure;

/// Without the feature there is nothing to do it with.
#[cfg(not(feature = "kernel"))]
pub(crate) fn run(_command: &Kernel) -> Result<(), Failure> {
    Err(Failure::Report(miette::miette!(
        help = "build it in: cargo install --path crates/cli --features kernel (it needs clang, llvm, bpftool, libelf \
                and a kernel with BTF; Debian: apt-get install clang llvm bpftool libelf-dev zlib1g-dev)",
        "this ackclock was built without eBPF controllers"
    )))
}

#[cfg(feature = "kernel")]
mod cost;
#[cfg(feature = "kernel")]
mod options;
#[cfg(feature = "kernel")]
pub(crate) use with::run;

#[cfg(feature = "kernel")]
mod with {
    use super::{Failure, Kernel};
    use crate::args::{KernelCheck, KernelList, KernelLoad, KernelUnload};
    use crate::view::table::plain_table;
    use ackclock_cc::{Given, Scheme, Settings, SettingsError, scheme};
    use ackclock_kernel::load::{self, Entry, LoadError, Request};
    use ackclock_kernel::{NoTwin, Reach, names, program, programs};
    use ackclock_scenario::suggest;
    use miette::{Report, miette};
    use serde_json::{Value, json};

    pub(crate) fn run(command: &Kernel) -> Result<(), Failure> {
        match command {
            Kernel::Load(command) => load_one(command),
            Kernel::Options(command) => super::options::run(command),
            Kernel::List(command) => list(command),
            Kernel::Unload(command) => unload(command),
            Kernel::Check(command) => check(command),
            Kernel::Cost(command) => super::cost::run(command),
        }
    }

    fn load_one(command: &KernelLoad) -> Result<(), Failure> {
        let Some(program) = program(&command.scheme) else {
            if let Some(Scheme { name: scheme, .. }) = scheme(&command.scheme) {
                return Err(LoadError::from(NoTwin::Scheme { scheme }).into());
            }
            let help = suggest(&command.scheme, &names());
            return Err(miette!(help = help, "there is no eBPF program called \"{}\"", command.scheme).into());
        };
        let mut settings = Settings::defaults(program.scheme());
        for setting in &command.settings {
            set(&mut settings, setting)?;
        }
        let allow = command
            .allow
            .iter()
            .map(|prefix| prefix.parse())
            .collect::<Result<Vec<_>, _>>()
            .map_err(LoadError::from)?;
        if program.reach == Reach::Everyone && !allow.is_empty() {
            let without_control = programs().iter().filter(|it| it.reach == Reach::Allowed);
            let without_control: Vec<&str> = without_control.map(|it| it.name).collect();
            return Err(miette!(
                help = "leave it out",
                "--allow is for {}: {} is safe everywhere",
                without_control.join(", "),
                program.name
            )
            .into());
        }
        let request = Request {
            name: command.name.clone(),
            settings,
            allow,
            initial_window: command.initial_window,
            everyone: command.everyone,
            confined: false,
        };
        let name = load::load(&request)?;
        if command.json {
            let allow: Vec<String> = request.allow.iter().map(ToString::to_string).collect();
            say!("{}", json!({ "name": name, "scheme": program.name, "allow": allow }));
            return Ok(());
        }
        say!("{name} is loaded; a program chooses it with setsockopt(TCP_CONGESTION, \"{name}\")");
        if program.reach == Reach::Allowed && request.allow.is_empty() {
            say!("no destination is allowed: every connection is handed to reno; name some with --allow");
        }
        Ok(())
    }

    /// One `KEY=VALUE`.
    fn set(settings: &mut Settings, text: &str) -> Result<(), Report> {
        let Some((key, value)) = text.split_once('=') else {
            return Err(miette!(
                help = "write KEY=VALUE, for example decrease=variable",
                "--set {text}: no value"
            ));
        };
        let given = match (value, value.parse()) {
            ("true", _) => Given::Flag(true),
            ("false", _) => Given::Flag(false),
            (_, Ok(number)) => Given::Number(number),
            (word, Err(_)) => Given::Word(word),
        };
        // `over.beta` is a parameter of the controller underneath.
        let underneath = key.split_once('.').filter(|(over, _)| settings.takes_controller(over));
        let mut under = underneath.map(|_| settings.controller().clone());
        let (of, key) = match (&mut under, underneath) {
            (Some(under), Some((_, key))) => (under, key),
            _ => (&mut *settings, key),
        };
        let scheme = of.scheme().name;
        of.set(key, given).map_err(|error| match error {
            SettingsError::Unknown { known } => {
                miette!(help = suggest(key, &known), "--set {text}: {scheme} has no parameter \"{key}\"")
            }
            SettingsError::Outside { domain } => miette!(
                help = format!("ackclock show {scheme} explains the parameters"),
                "--set {text}: {key} must be {domain}"
            ),
        })?;
        if let (Some(under), Some((over, _))) = (under, underneath) {
            settings.set(over, Given::Control(&under)).expect("it was there");
        }
        Ok(())
    }

    fn document(entry: &Entry) -> Value {
        json!({
            "name": entry.name,
            "scheme": entry.scheme,
            "registered": entry.registered,
            "sockets": entry.statistics.map(|it| it.sockets()),
            "opened": entry.statistics.map(|it| it.opened),
            "cuts": entry.statistics.map(|it| it.cuts),
            "timeouts": entry.statistics.map(|it| it.timeouts),
            "marks": entry.statistics.map(|it| it.marks),
            "early_responses": entry.statistics.map(|it| it.early),
            "refused": entry.statistics.map(|it| it.refused),
            "held": entry.statistics.map(|it| it.held),
            "allow": entry.allow.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "cgroup": entry.cgroup.as_ref().map(|path| path.display().to_string()),
        })
    }

    fn list(command: &KernelList) -> Result<(), Failure> {
        let entries = load::list()?;
        if command.json {
            say!("{}", json!(entries.iter().map(document).collect::<Vec<_>>()));
            return Ok(());
        }
        if entries.is_empty() {
            say!("nothing is loaded");
            return Ok(());
        }
        let groups = entries.iter().any(|entry| entry.cgroup.is_some());
        let rows = entries.iter().map(|entry| {
            let state = if entry.registered { "loaded" } else { "left over; unload it" };
            let mut row =
                vec![entry.name.clone(), entry.scheme.clone().unwrap_or_default(), state.to_owned()];
            let counts = entry.statistics.unwrap_or_default();
            let counts = [
                counts.sockets(),
                counts.opened,
                counts.cuts,
                counts.timeouts,
                counts.marks,
                counts.early,
                counts.refused,
                counts.held,
            ];
            row.extend(counts.iter().map(u64::to_string));
            row.push(entry.allow.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
            if groups {
                row.push(entry.cgroup.as_ref().map(|path| path.display().to_string()).unwrap_or_default());
            }
            row
        });
        let mut head = vec![
            "name", "scheme", "state", "sockets", "opened", "cuts", "timeouts", "marks", "early", "to reno",
            "held", "allowed",
        ];
        if groups {
            head.push("options for");
        }
        say!("{}", plain_table(&head, rows));
        Ok(())
    }

    fn unload(command: &KernelUnload) -> Result<(), Failure> {
        let names = match &command.name {
            Some(name) => vec![name.clone()],
            None => load::list()?.into_iter().map(|entry| entry.name).collect(),
        };
        let mut unloaded = Vec::new();
        for name in names {
            let found = load::unload(&name)?;
            if command.json {
                unloaded.push(json!({
                    "name": found.name, "leftover": found.leftover, "sockets": found.sockets,
                }));
                continue;
            }
            match (found.leftover, found.sockets) {
                (true, _) => say!("what was left of {} is removed", found.name),
                (false, 0) => say!("{} is unloaded", found.name),
                (false, some) => {
                    say!(
                        "{} is unloaded; open connections that keep it until they close: {some}",
                        found.name
                    );
                }
            }
        }
        if command.json {
            say!("{}", json!({ "unloaded": unloaded }));
        }
        Ok(())
    }

    fn check(command: &KernelCheck) -> Result<(), Failure> {
        let all = load::check();
        if command.json {
            let list =
                all.iter().map(|it| json!({"what": it.what, "met": it.lack.is_none(), "lack": it.lack}));
            say!("{}", json!(list.collect::<Vec<_>>()));
        } else {
            for it in &all {
                match &it.lack {
                    None => say!("yes  {}", it.what),
                    Some(lack) => say!("NO   {}\n     {lack}", it.what),
                }
            }
        }
        if all.iter().all(|it| it.lack.is_none()) { Ok(()) } else { Err(Failure::Expectation) }
    }
}
