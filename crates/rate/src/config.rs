//! What both endpoints of a connection need to know, whatever the transport.

use ackclock_registry::{Parameter, Settings};
use std::marker::PhantomData;

/// A transport, as far as its configuration is concerned.
pub trait Configured {
    /// All parameters that may be set.
    const PARAMETERS: &'static [Parameter];
}

/// The parameters of the transport `T`, and the size of its packets.
#[derive(Clone, Debug)]
pub struct Config<T> {
    pub(crate) settings: Settings,
    /// The size of a packet on the wire, bytes.
    pub(crate) bytes: u32,
    transport: PhantomData<T>,
}

impl<T: Configured> Config<T> {
    /// These settings, for packets of `bytes` on the wire, which are at least 1.
    pub fn new(settings: Settings, bytes: u32) -> Config<T> {
        Config { settings, bytes: bytes.max(1), transport: PhantomData }
    }

    /// The defaults, for packets of `bytes`.
    pub fn defaults(bytes: u32) -> Config<T> {
        Config::new(Settings::defaults(T::PARAMETERS), bytes)
    }

    pub(crate) fn number(&self, name: &str) -> f64 {
        self.settings.get(name)
    }

    pub(crate) fn count(&self, name: &str) -> u64 {
        self.settings.get(name)
    }

    pub(crate) fn is(&self, name: &str, word: &str) -> bool {
        self.settings.get::<&'static str>(name) == word
    }

    /// The size of a packet on the wire, bits.
    pub(crate) fn bits(&self) -> f64 {
        f64::from(self.bytes) * 8.0
    }
}
