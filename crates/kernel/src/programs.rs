//! The registry of controllers that run in the kernel: what each program is for, and its load-time data.
//!
//! An entry belongs to a controller of the same name in the registry of controllers, whose parameters it has.
//! Its C files are `src/bpf/NAME.bpf.c` and `src/bpf/NAME.h`.

use crate::parameters::{Compound, Layered, NoTwin, Parameters, Pert, Uncontrolled};
use ackclock_cc::{Given, Scheme, Settings, scheme};

/// A program's entry in the registry.
pub struct Program {
    /// The name of the controller.
    pub name: &'static str,
    /// The connections that it may serve.
    pub reach: Reach,
    /// Its load-time data, from checked settings.
    pub parameters: fn(&Settings) -> Result<Parameters, NoTwin>,
    /// Words for parameters that enable other code paths than the defaults do, so that
    /// `ackclock kernel check` can show those paths to the verifier, too.
    pub variants: &'static [(&'static str, &'static str)],
    /// The object file.
    #[cfg(feature = "load")]
    pub(crate) object: &'static [u8],
}

/// The connections that a program may serve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// All: it reacts to congestion.
    Everyone,
    /// Only those to destinations that were named when it was loaded: it does not react to congestion.
    Allowed,
}

#[cfg(feature = "load")]
macro_rules! object {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o"))
    };
}

const LAYERED: Program = Program {
    name: "layered",
    reach: Reach::Everyone,
    parameters: |settings| Ok(Parameters::Layered(Layered::new(settings))),
    variants: &[],
    #[cfg(feature = "load")]
    object: object!("layered"),
};

const COMPOUND: Program = Program {
    name: "compound",
    reach: Reach::Everyone,
    parameters: |settings| Ok(Parameters::Compound(Compound::new(settings))),
    variants: &[],
    #[cfg(feature = "load")]
    object: object!("compound"),
};

const PERT: Program = Program {
    name: "pert",
    reach: Reach::Everyone,
    parameters: |settings| Pert::new(settings).map(Parameters::Pert),
    variants: &[("over", "layered")],
    #[cfg(feature = "load")]
    object: object!("pert"),
};

const NONE: Program = Program {
    name: "none",
    reach: Reach::Allowed,
    parameters: |settings| Ok(Parameters::None(Uncontrolled::new(settings))),
    variants: &[],
    #[cfg(feature = "load")]
    object: object!("none"),
};

/// All programs, in the order of the documentation.
pub const fn programs() -> &'static [&'static Program] {
    &[&LAYERED, &COMPOUND, &PERT, &NONE]
}

/// The program of the controller called `name`.
pub fn program(name: &str) -> Option<&'static Program> {
    programs().iter().copied().find(|program| program.name == name)
}

/// The names of all programs.
pub fn names() -> Vec<&'static str> {
    programs().iter().map(|program| program.name).collect()
}

impl Program {
    /// The controller.
    ///
    /// # Panics
    ///
    /// If there is no controller of this name. That is a mistake in this file, and a test finds it.
    pub fn scheme(&self) -> &'static Scheme {
        scheme(self.name).expect("a program has the name of a controller")
    }

    /// The settings that differ in their code paths: the defaults, and each variant.
    ///
    /// # Panics
    ///
    /// If the controller has no such parameter or word. That is a mistake in this file, and a test finds it.
    pub fn settings(&self) -> Vec<Settings> {
        let defaults = Settings::defaults(self.scheme());
        let with = |&(key, word): &(&str, &str)| {
            let mut settings = defaults.clone();
            settings
                .set(key, Given::Word(word))
                .expect("a variant has a parameter and a word of the controller");
            settings
        };
        std::iter::once(defaults.clone()).chain(self.variants.iter().map(with)).collect()
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_program_has_data_for_all_its_code_paths() {
        for program in programs() {
            for settings in program.settings() {
                Parameters::new(&settings).unwrap_or_else(|error| panic!("{program:?}: {error}"));
            }
        }
    }

    /// The registry lists what the build compiles.
    #[test]
    fn every_program_has_its_file_and_every_file_its_program() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bpf");
        let files = std::fs::read_dir(directory).expect("src/bpf is there").map(|file| {
            file.expect("a readable entry").file_name().into_string().expect("our names are UTF-8")
        });
        let files: BTreeSet<String> =
            files.filter_map(|file| Some(file.strip_suffix(".bpf.c")?.to_owned())).collect();
        let listed: BTreeSet<String> = names().into_iter().map(str::to_owned).collect();
        assert_eq!(listed.len(), programs().len(), "two have the same name");
        assert_eq!(files, listed);
    }
}
