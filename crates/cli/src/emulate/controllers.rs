//! Which of the kernel's controllers stands for a scenario's: its own ones by name, eBPF programs where there are.

use super::is_default;
use crate::Failure;
use ackclock_cc::Settings;
use ackclock_live::Load;
use ackclock_sim::scenario::Point;
use miette::{Report, miette};

/// What can be chosen in the kernel while this lives.
pub(crate) struct Controllers {
    /// Whether programs choose for themselves.
    programs: bool,
    #[cfg(feature = "kernel")]
    loaded: programs::Loaded,
}

impl Controllers {
    /// Loads the eBPF programs that the points' flows need.
    pub(crate) fn load(points: &[Point], load: &Load) -> Result<Controllers, Failure> {
        let programs = !matches!(load, Load::Flows);
        let mut controllers = Controllers {
            programs,
            #[cfg(feature = "kernel")]
            loaded: programs::Loaded::none()?,
        };
        for settings in points.iter().filter(|_| !programs).flat_map(controls) {
            controllers.provide(&settings)?;
        }
        Ok(controllers)
    }

    /// The kernel's names for a point's groups of flows.
    pub(crate) fn names(&self, point: &Point) -> Result<Vec<String>, Failure> {
        let names = controls(point).into_iter().map(|settings| {
            if self.programs { Ok(String::new()) } else { self.name(&settings).map_err(Failure::from) }
        });
        names.collect()
    }

    #[cfg(feature = "kernel")]
    fn provide(&mut self, settings: &Settings) -> Result<(), Failure> {
        if ackclock_kernel::schemes().contains(&settings.scheme().name) {
            self.loaded.load(settings)?
        }
        Ok(())
    }

    #[cfg(not(feature = "kernel"))]
    fn provide(&mut self, _: &Settings) -> Result<(), Failure> {
        Ok(())
    }

    fn name(&self, settings: &Settings) -> Result<String, Report> {
        let scheme = settings.scheme().name;
        #[cfg(feature = "kernel")]
        if let Some(name) = self.loaded.name(settings) {
            return Ok(name.to_owned());
        }
        if matches!(scheme, "layered" | "compound" | "none") {
            return Err(miette!(
                help = "build ackclock with --features kernel, which needs clang, llvm, bpftool and libelf",
                "the kernel has no controller {scheme} of its own, and this ackclock was built without eBPF programs"
            ));
        }
        if !is_default(settings) {
            return Err(miette!(
                help = "leave the parameters out, or use layered, compound or none",
                "the parameters of the kernel's own {scheme} cannot be set for one connection"
            ));
        }
        let known = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
            .unwrap_or_default();
        let known: Vec<&str> = known.split_whitespace().collect();
        if known.contains(&scheme) {
            return Ok(scheme.to_owned());
        }
        Err(miette!(
            help =
                format!("this kernel has {}; others may be modules: modprobe tcp_{scheme}", known.join(", ")),
            "this kernel has no controller {scheme}"
        ))
    }
}

/// The control of each group of flows.
fn controls(point: &Point) -> Vec<Settings> {
    point.scenario.controls().cloned().collect()
}

#[cfg(feature = "kernel")]
mod programs {
    use ackclock_cc::Settings;
    use ackclock_kernel::load::{self, LoadError, Request};

    /// Names of eBPF programs that a run loads begin so; its process id and a number follow.
    const PREFIX: &str = "ace";
    /// Where `none` is without control: the emulation's receivers.
    const RECEIVERS: &str = "10.128.0.0/9";

    /// eBPF programs that are unloaded when this goes.
    pub(super) struct Loaded {
        programs: Vec<(Settings, String)>,
    }

    impl Loaded {
        /// Nothing yet; what earlier runs left that were killed is removed.
        pub(super) fn none() -> Result<Loaded, LoadError> {
            for entry in load::list().unwrap_or_default() {
                if owner(&entry.name)
                    .is_some_and(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists())
                {
                    load::unload(&entry.name)?;
                }
            }
            Ok(Loaded { programs: Vec::new() })
        }

        pub(super) fn load(&mut self, settings: &Settings) -> Result<(), LoadError> {
            if self.name(settings).is_some() {
                return Ok(());
            }
            let request = Request {
                name: Some(format!("{PREFIX}{}_{}", std::process::id(), self.programs.len())),
                settings: settings.clone(),
                allow: if settings.scheme().name == "none" { vec![RECEIVERS.parse()?] } else { Vec::new() },
                initial_window: None,
                everyone: false,
            };
            self.programs.push((settings.clone(), load::load(&request)?));
            Ok(())
        }

        pub(super) fn name(&self, settings: &Settings) -> Option<&str> {
            let same = |other: &Settings| {
                other.scheme().name == settings.scheme().name
                    && other.iter().zip(settings.iter()).all(|((_, one), (_, other))| one == other)
            };
            self.programs.iter().find(|(known, _)| same(known)).map(|(_, name)| name.as_str())
        }
    }

    impl Drop for Loaded {
        fn drop(&mut self) {
            for (_, name) in &self.programs {
                if let Err(error) = load::unload(name) {
                    eprintln!("{name} stays in the kernel: {error}");
                }
            }
        }
    }

    /// The process that loaded a program of this name for a run.
    fn owner(name: &str) -> Option<u32> {
        let (pid, number) = name.strip_prefix(PREFIX)?.split_once('_')?;
        number.parse::<u32>().ok()?;
        pid.parse().ok()
    }

    #[cfg(test)]
    mod tests {
        use super::owner;

        #[test]
        fn only_names_of_runs_have_an_owner() {
            assert_eq!(owner("ace123_0"), Some(123));
            for other in ["ac_none", "ace", "acelerate_1", "ace1_x", "ace12"] {
                assert_eq!(owner(other), None, "{other}");
            }
        }
    }
}
