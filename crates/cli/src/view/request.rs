//! What was asked for.

/// What was asked for, in the words of the user.
pub(crate) struct Request {
    /// The scenario's text as given.
    pub(crate) text: String,
    /// Every `--set`.
    pub(crate) settings: Vec<String>,
    /// The command line.
    pub(crate) command: String,
    /// Are there captures, too?
    pub(crate) captured: bool,
}

impl Request {
    /// With the command line of this process.
    pub(crate) fn new(text: &str, settings: &[String]) -> Request {
        let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
        let quoted = words.map(|word| match shlex::try_quote(&word) {
            Ok(quoted) => quoted.into_owned(),
            Err(_) => word, // only a zero byte cannot be quoted, and no argument has one
        });
        let command = std::iter::once("ackclock".to_owned()).chain(quoted).collect::<Vec<_>>().join(" ");
        Request { text: text.to_owned(), settings: settings.to_vec(), command, captured: false }
    }
}
