//! Registries: entries that users choose by name, and their parameters.
//!
//! Controllers, recoveries, detections and queue disciplines describe themselves with an [`Entry`] and its
//! [`Parameter`]s, as data beside their code. The scenario reader, `ackclock list`, `ackclock show`, the
//! documentation's pages and the tests all use these descriptions.
//!
//! ```
//! use ackclock_registry::{Given, Parameter, Settings};
//! use ackclock_units::Duration;
//!
//! const PARAMETERS: &[Parameter] = &[
//!     Parameter::time("target", Duration::from_millis(5), Duration::from_micros(1), "the accepted delay"),
//!     Parameter::flag("mark", false, "mark instead of dropping"),
//! ];
//!
//! let mut settings = Settings::defaults(PARAMETERS);
//! settings.set("target", Given::Time(Duration::from_millis(1))).unwrap();
//! assert_eq!(settings.get::<Duration>("target"), Duration::from_millis(1));
//! assert!(!settings.get::<bool>("mark"));
//! assert!(settings.set("targt", Given::Flag(true)).is_err());
//! ```

mod check;
mod chosen;
mod entry;
mod parameter;
mod settings;

pub use check::{mistakes, variants};
pub use chosen::{Chosen, Listed};
pub use entry::Entry;
pub use parameter::{Domain, Parameter, Value};
pub use settings::{FromValue, Given, Settings, SettingsError};
