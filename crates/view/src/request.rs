//! The user's request.

/// The request, in the words of the user.
pub struct Request {
    /// The text of the scenario as given.
    pub text: String,
    /// All `--set` options.
    pub settings: Vec<String>,
    /// The command line.
    pub command: String,
    /// True if there are captures.
    pub captured: bool,
}
