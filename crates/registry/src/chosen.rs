//! An entry that was chosen, with its settings.

use crate::{Entry, Given, Settings, SettingsError, settings::FromValue};
use std::fmt;

/// Something that a registry lists.
pub trait Listed: Sized + 'static {
    /// The key of a scenario that takes such a name, for example `recovery`.
    const KIND: &'static str;

    /// All entries, in the order of the documentation.
    fn all() -> &'static [&'static Self];

    /// The description.
    fn entry(&self) -> &Entry;

    /// The entry with this name.
    fn find(name: &str) -> Option<&'static Self> {
        Self::all().iter().copied().find(|it| it.entry().name == name)
    }

    /// All names, in the order of the documentation.
    fn names() -> Vec<&'static str> {
        Self::all().iter().map(|it| it.entry().name).collect()
    }
}

/// An entry that was chosen, with a valid value for every parameter.
pub struct Chosen<S: Listed> {
    scheme: &'static S,
    settings: Settings,
}

impl<S: Listed> Chosen<S> {
    /// `scheme` with its defaults.
    pub fn defaults(scheme: &'static S) -> Chosen<S> {
        Chosen { scheme, settings: Settings::defaults(scheme.entry().parameters) }
    }

    /// `scheme` with these settings, which are settings of its parameters.
    pub fn with(scheme: &'static S, settings: Settings) -> Chosen<S> {
        Chosen { scheme, settings }
    }

    /// What was chosen.
    pub fn scheme(&self) -> &'static S {
        self.scheme
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.scheme.entry().name
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Sets a parameter, and checks its name and domain.
    ///
    /// # Errors
    ///
    /// [`SettingsError::Unknown`] if there is no such parameter, [`SettingsError::Outside`] if it does not
    /// allow the value.
    pub fn set(&mut self, name: &str, given: Given<'_>) -> Result<(), SettingsError> {
        self.settings.set(name, given)
    }

    /// The value of parameter `name`.
    ///
    /// # Panics
    ///
    /// If there is no such parameter, or it has no value of this type.
    pub fn get<T: FromValue>(&self, name: &str) -> T {
        self.settings.get(name)
    }
}

// Derived, these would ask the same of `S`.
impl<S: Listed> Clone for Chosen<S> {
    fn clone(&self) -> Chosen<S> {
        Chosen { scheme: self.scheme, settings: self.settings.clone() }
    }
}

impl<S: Listed> PartialEq for Chosen<S> {
    /// Equal if entry and values are equal.
    fn eq(&self, other: &Chosen<S>) -> bool {
        self.name() == other.name() && self.settings == other.settings
    }
}

impl<S: Listed> fmt::Debug for Chosen<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.name())?;
        f.debug_map().entries(self.settings.iter().map(|(parameter, value)| (parameter.name, value))).finish()
    }
}
