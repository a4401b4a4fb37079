//! Finds the kernel's controller for a scenario's controller: the kernel's own of the same name, or an eBPF
//! program.

use crate::failure::Failure;
use ackclock_cc::Settings;
use ackclock_kernel::program;
use ackclock_live::Load;
use ackclock_scenario::{Control, Point};
use miette::{Report, miette};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};

/// The controllers that can be chosen in the kernel while this value lives.
pub(crate) struct Controllers {
    /// True if the user's programs choose controllers themselves.
    programs: bool,
    /// True if our own TCP sends in all groups of TCP flows.
    own_host: bool,
    #[cfg(feature = "kernel")]
    loaded: programs::Loaded,
}

/// The counters of an eBPF program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(not(feature = "kernel"), allow(dead_code, reason = "only the feature `kernel` loads anything"))]
pub(crate) struct Counts {
    /// The name in the kernel.
    pub(crate) name: String,
    pub(crate) scheme: &'static str,
    /// Connections that started to use it.
    pub(crate) opened: u64,
    /// Thresholds set after losses, marks and timeouts.
    pub(crate) cuts: u64,
    pub(crate) timeouts: u64,
    /// Reductions after marks.
    pub(crate) marks: u64,
    /// Early responses, before a loss.
    pub(crate) early_responses: u64,
}

impl Counts {
    /// The difference to `before`, earlier counters of the same program.
    pub(crate) fn since(&self, before: &Counts) -> Counts {
        Counts {
            name: self.name.clone(),
            scheme: self.scheme,
            opened: self.opened.saturating_sub(before.opened),
            cuts: self.cuts.saturating_sub(before.cuts),
            timeouts: self.timeouts.saturating_sub(before.timeouts),
            marks: self.marks.saturating_sub(before.marks),
            early_responses: self.early_responses.saturating_sub(before.early_responses),
        }
    }
}

impl Controllers {
    /// The present counters of all programs, always in the same order.
    #[cfg(feature = "kernel")]
    pub(crate) fn counts(&self) -> Vec<Counts> {
        self.loaded.counts()
    }

    /// Allows the hosts of these network namespaces, and no others, to use the programs.
    #[cfg(feature = "kernel")]
    pub(crate) fn admit(&self, namespaces: &[u64]) -> std::io::Result<()> {
        self.loaded.admit(namespaces).map_err(std::io::Error::other)
    }

    /// Does nothing: there are no programs.
    #[cfg(not(feature = "kernel"))]
    pub(crate) fn admit(&self, _: &[u64]) -> std::io::Result<()> {
        Ok(())
    }

    /// No counters: there are no programs.
    #[cfg(not(feature = "kernel"))]
    pub(crate) fn counts(&self) -> Vec<Counts> {
        Vec::new()
    }

    /// Loads the eBPF programs that the flows of the points need.
    /// `stop`: the user wants no more of it.
    pub(crate) fn load(
        points: &[Point],
        load: &Load,
        own_host: bool,
        stop: &AtomicBool,
    ) -> Result<Controllers, Failure> {
        let programs = !matches!(load, Load::Flows);
        let mut controllers = Controllers {
            programs,
            own_host,
            #[cfg(feature = "kernel")]
            loaded: programs::Loaded::none(),
        };
        for point in points.iter().filter(|_| !programs) {
            let own = controllers.own(point);
            let kernels = point.scenario.controls().zip(own).filter(|(_, own)| !own);
            for settings in kernels.filter_map(|(control, _)| control.window()) {
                if stop.load(Ordering::Relaxed) {
                    return Err(Failure::Interrupted("interrupted before anything was sent".to_owned()));
                }
                controllers.provide(settings)?;
            }
        }
        Ok(controllers)
    }

    /// The kernel's controller names for the groups of flows of a point; for rate-based transports, which
    /// need no controller, their own.
    pub(crate) fn names(&self, point: &Point) -> Result<Vec<String>, Failure> {
        let names = point.scenario.controls().zip(self.own(point)).map(|(control, own)| match control {
            _ if self.programs => Ok(String::new()),
            control if own => Ok(control.name().to_owned()),
            Control::Window(settings) => self.name(settings).map_err(Failure::from),
            Control::Rate(transport) => Ok(transport.name().to_owned()),
        });
        names.collect()
    }

    /// For each group of flows of a point, true if our own TCP sends.
    pub(crate) fn own(&self, point: &Point) -> Vec<bool> {
        own_hosts(point, self.own_host)
    }

    #[cfg(feature = "kernel")]
    fn provide(&mut self, settings: &Settings) -> Result<(), Failure> {
        if let Some(program) = program(settings.scheme().name) {
            self.loaded.load(program, settings)?
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
        if program(scheme).is_some() {
            return Err(miette!(
                help = "build ackclock with --features kernel, which needs clang, llvm, bpftool and libelf",
                "the kernel has no controller {scheme} of its own, and this ackclock was built without eBPF programs"
            ));
        }
        if !is_default(settings) {
            return Err(miette!(
                help = format!(
                    "leave the parameters out, or use one of {}",
                    ackclock_kernel::names().join(", ")
                ),
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

/// For each group of flows of a point, true if our own TCP sends. `all`: in all groups of TCP flows.
pub(crate) fn own_hosts(point: &Point, all: bool) -> Vec<bool> {
    let groups = point.scenario.controls().zip(point.scenario.own_hosts());
    groups.map(|(control, own)| (own || all) && control.window().is_some()).collect()
}

/// True if all parameters have their defaults.
fn is_default(settings: &Settings) -> bool {
    *settings == Settings::defaults(settings.scheme())
}

#[cfg(feature = "kernel")]
mod programs {
    use super::Counts;
    use ackclock_cc::Settings;
    use ackclock_kernel::load::{self, LoadError, OfRun, Request};
    use ackclock_kernel::{Program, Reach};

    /// The destinations for programs without congestion control: the receivers of the emulation.
    const RECEIVERS: &str = "10.128.0.0/9";

    /// The eBPF programs of a run. They are unloaded when this value is dropped.
    pub(super) struct Loaded {
        programs: Vec<(Settings, OfRun)>,
    }

    impl Loaded {
        /// No programs yet. Removes what earlier runs left behind when they were killed.
        pub(super) fn none() -> Loaded {
            // A run that needs no program goes on without, and one that does says then what is wrong.
            let _ = load::remove_abandoned();
            Loaded { programs: Vec::new() }
        }

        pub(super) fn load(&mut self, program: &Program, settings: &Settings) -> Result<(), LoadError> {
            if self.name(settings).is_some() {
                return Ok(());
            }
            let request = Request {
                name: None,
                settings: settings.clone(),
                allow: match program.reach {
                    Reach::Everyone => Vec::new(),
                    Reach::Allowed => vec![RECEIVERS.parse().map_err(LoadError::from)?],
                },
                initial_window: None,
                everyone: false,
                confined: true,
            };
            self.programs.push((settings.clone(), load::load_for_run(&request)?));
            Ok(())
        }

        /// Allows the hosts of these network namespaces to use the loaded programs.
        pub(super) fn admit(&self, namespaces: &[u64]) -> Result<(), LoadError> {
            self.programs.iter().try_for_each(|(_, program)| load::admit(program.name(), namespaces))
        }

        pub(super) fn counts(&self) -> Vec<Counts> {
            let entries = load::list().unwrap_or_default();
            let counts = self.programs.iter().map(|(settings, program)| {
                let name = program.name();
                let entry = entries.iter().find(|entry| entry.name == name);
                let seen = entry.and_then(|entry| entry.statistics).unwrap_or_default();
                Counts {
                    name: name.to_owned(),
                    scheme: settings.scheme().name,
                    opened: seen.opened,
                    cuts: seen.cuts,
                    timeouts: seen.timeouts,
                    marks: seen.marks,
                    early_responses: seen.early,
                }
            });
            counts.collect()
        }

        pub(super) fn name(&self, settings: &Settings) -> Option<&str> {
            self.programs.iter().find(|(known, _)| known == settings).map(|(_, program)| program.name())
        }
    }

    impl Drop for Loaded {
        fn drop(&mut self) {
            for (_, program) in &self.programs {
                if let Err(error) = load::unload(program.name()) {
                    tell!("{} stays in the kernel: {error}", program.name());
                }
            }
        }
    }
}
