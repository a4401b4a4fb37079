//! A relay for TCP connections ([`Proxy`]). One side of each is a socket of the kernel, the other a
//! connection of our own TCP ([`ackclock_stack`]), so that a path is crossed under any controller, recovery
//! and detection, whatever the programs at its ends are.
//!
//! One thread does everything. [`Proxy::open`] makes a TUN device and a table of the packet filter. Both
//! belong to descriptors of the process and vanish with them. No address is translated, no route and no
//! setting of the machine is changed.

mod budget;
mod device;
mod entry;
mod error;
mod far;
mod files;
mod handover;
mod near;
mod nftables;
mod pair;
mod privilege;
mod proxy;
mod settings;

pub use entry::{End, Entry, Path, Totals};
pub use error::ProxyError;
pub use proxy::Proxy;
pub use settings::{Settings, Towards};
