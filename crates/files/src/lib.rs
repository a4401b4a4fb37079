//! Directories that are opened once and reached by handle, never again by path.
//!
//! A path is looked up anew at every use. Whoever may write to a directory on the way can put a link in the
//! place of what was there a moment ago, and make another user's program overwrite or delete what that link
//! leads to. A [`Folder`] is looked up once. What lies below it is reached name by name from there: no link
//! is followed, a new file replaces nothing, and a directory that belongs to another user is refused.

mod folder;
mod unique;

pub use folder::{Folder, Kind};
pub use unique::unique;
