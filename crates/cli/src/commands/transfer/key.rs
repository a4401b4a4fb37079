//! `ackclock key`: the key that names this user to others.

use crate::args::{Key, KeyNew};
use crate::failure::Failure;
use ackclock_files::Folder;
use ackclock_transfer::host::ENTROPY;
use ackclock_transfer::noise::{self, Identity};
use ackclock_transfer::ticket::{hex, unhex};
use miette::{Context, IntoDiagnostic, Report, miette};
use serde_json::json;
use std::fs::Permissions;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const NAME: &str = "key";

pub(crate) fn run(command: &Key) -> Result<(), Failure> {
    match command {
        Key::New(command) => new(command),
        Key::Show(command) => {
            let identity = stored()?.ok_or_else(|| {
                miette!(help = "make one with `ackclock key new`", "there is no key in {}", place().display())
            })?;
            let public = hex(identity.public());
            if command.json {
                say!("{}", json!({ "public": public }))
            } else {
                say!("{public}")
            }
            Ok(())
        }
    }
}

fn new(command: &KeyNew) -> Result<(), Failure> {
    let path = place();
    let folder = Folder::own(&path).into_diagnostic().wrap_err_with(|| path.display().to_string())?;
    if command.replace {
        folder.remove(NAME).into_diagnostic().wrap_err_with(|| path.display().to_string())?;
    }
    let mut file = folder.create(NAME).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => miette!(
            help =
                "`ackclock key show` shows it; --replace throws it away, and nobody knows the new one then",
            "there is a key in {} already",
            path.display()
        ),
        _ => miette!("{}: {error}", path.join(NAME).display()),
    })?;
    let identity = Identity::new(ENTROPY);
    // Nobody else may read it, not even for a moment: the file is still empty.
    let written = file
        .set_permissions(Permissions::from_mode(0o600))
        .and_then(|()| writeln!(file, "{}", hex(identity.private())))
        .and_then(|()| file.sync_all());
    written.into_diagnostic().wrap_err_with(|| path.join(NAME).display().to_string())?;
    let public = hex(identity.public());
    if command.json {
        say!("{}", json!({ "public": public }));
    } else {
        say!("{public}");
        tell!(
            "the private key is in {}; give the line above to those who receive from you",
            path.join(NAME).display()
        );
    }
    Ok(())
}

/// The directory of the key.
fn place() -> PathBuf {
    let home = || std::env::home_dir().unwrap_or_default().join(".config");
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    config.unwrap_or_else(home).join("ackclock")
}

/// The user's key, if there is one.
fn stored() -> Result<Option<Identity>, Report> {
    let path = place();
    if !path.join(NAME).exists() {
        return Ok(None);
    }
    let named = || path.join(NAME).display().to_string();
    let folder = Folder::own(&path).into_diagnostic().wrap_err_with(named)?;
    let file = folder.open(NAME).into_diagnostic().wrap_err_with(named)?;
    let mode = file.metadata().into_diagnostic()?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(miette!(
            help = format!(
                "chmod 600 {}; if others could read it, make a new one: ackclock key new --replace",
                named()
            ),
            "{}: others may read this private key",
            named()
        ));
    }
    let mut text = String::new();
    file.take(1000).read_to_string(&mut text).into_diagnostic().wrap_err_with(named)?;
    let private: noise::Key = unhex(text.trim()).ok_or_else(|| {
        miette!(help = "make a new one with `ackclock key new --replace`", "{}: this is no key", named())
    })?;
    Ok(Some(Identity::from_private(private)))
}

/// The user's key, or one for this run only.
pub(super) fn mine() -> Result<Identity, Report> {
    Ok(stored()?.unwrap_or_else(|| Identity::new(ENTROPY)))
}

/// A public key from the command line.
pub(super) fn public(text: &str) -> Result<noise::Key, Report> {
    unhex(text.trim()).ok_or_else(|| {
        miette!(
            help = "the sender's `ackclock key show` prints it: 64 hexadecimal digits",
            "--from {text}: this is no public key"
        )
    })
}
