//! Directories that are opened once, and are then reached by handle, never again by path.
//!
//! A path is looked up again at every use. If another user may write to a directory on the way, that user can
//! replace an entry by a link at any time. A program would then overwrite or delete the target of the link. A
//! [`Folder`] is looked up once. What lies below it is reached name by name from there. No link is followed,
//! a new file replaces nothing, and a directory of another user is refused.

mod folder;
mod unique;

pub use folder::{Folder, Kind};
pub use unique::unique;
