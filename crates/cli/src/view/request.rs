//! The user's request.

/// The request, in the words of the user.
pub(crate) struct Request {
    /// The text of the scenario as given.
    pub(crate) text: String,
    /// All `--set` options.
    pub(crate) settings: Vec<String>,
    /// The command line.
    pub(crate) command: String,
    /// True if there are captures.
    pub(crate) captured: bool,
}

impl Request {
    /// The request with the command line of this process.
    pub(crate) fn new(text: &str, settings: &[String]) -> Request {
        let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
        let quoted = words.map(|word| match shlex::try_quote(&word) {
            Ok(quoted) => quoted.into_owned(),
            Err(_) => word, // only a zero byte cannot be quoted, and arguments contain none
        });
        let command = std::iter::once("ackclock".to_owned()).chain(quoted).collect::<Vec<_>>().join(" ");
        Request { text: text.to_owned(), settings: settings.to_vec(), command, captured: false }
    }
}
