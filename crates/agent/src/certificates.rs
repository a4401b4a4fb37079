//! Certificates for agents and controllers: one authority, made here, that signs all of them.
//!
//! The authority's key stays in the directory. The certificate of a host is for servers only, that of a user
//! for clients only, so a stolen host's key controls no agent.

use ackclock_files::Folder;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use std::fs::Permissions;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use thiserror::Error;
use time::{Duration, OffsetDateTime};

/// The authority's certificate, in every directory of certificates.
pub const AUTHORITY: &str = "ca.pem";
const AUTHORITY_KEY: &str = "ca.key";
/// The name of the user whose certificate controllers use unless they are told another.
pub const CONTROLLER: &str = "controller";
/// The authority's name. It is always the same, so that its key alone is needed to sign more.
const NAME: &str = "ackclock agents";
/// Days that an authority lasts: ten years.
const AUTHORITY_DAYS: u32 = 3650;

/// Certificates cannot be made.
#[derive(Debug, Error, miette::Diagnostic)]
pub enum CertificateError {
    /// The directory or a file in it.
    #[error("{place}: {reason}")]
    #[diagnostic(help("give a directory of your own"))]
    File {
        /// The path.
        place: String,
        /// The system's error.
        reason: io::Error,
    },
    /// There is one of this name.
    #[error("{place} is there already")]
    #[diagnostic(help("remove it and its key first, if nobody needs them any more"))]
    There {
        /// The path.
        place: String,
    },
    /// The name cannot stand in a certificate, or in a file's name.
    #[error("\"{name}\" is no name for a certificate: {reason}")]
    #[diagnostic(help("write the name or the address by which controllers reach the host"))]
    Name {
        /// The name.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// The authority's key is not one.
    #[error("{place}: {reason}")]
    #[diagnostic(help("begin with a new directory"))]
    Key {
        /// The path.
        place: String,
        /// What is wrong.
        reason: String,
    },
}

/// A certificate and its key, both as PEM.
pub struct Made {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

/// What a certificate is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// An agent.
    Host,
    /// Who controls agents.
    User,
}

/// The authority.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
    key: String,
}

fn rcgen_words(error: &rcgen::Error) -> String {
    error.to_string()
}

fn authority_params(now: OffsetDateTime) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, NAME);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    (params.not_before, params.not_after) =
        (now - Duration::hours(1), now + Duration::days(AUTHORITY_DAYS.into()));
    params
}

impl Authority {
    /// A new authority.
    ///
    /// # Errors
    ///
    /// If there is no randomness for its key.
    pub fn new() -> Result<Authority, CertificateError> {
        let key = KeyPair::generate().map_err(|error| key_error(AUTHORITY_KEY, &error))?;
        let params = authority_params(OffsetDateTime::now_utc());
        let certificate = params.self_signed(&key).map_err(|error| key_error(AUTHORITY_KEY, &error))?.pem();
        let text = key.serialize_pem();
        Ok(Authority { issuer: Issuer::new(params, key), certificate, key: text })
    }

    /// Its certificate, as PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// The authority of this certificate and this key.
    fn known(certificate: String, key: String) -> Result<Authority, CertificateError> {
        let pair = KeyPair::from_pem(&key).map_err(|error| key_error(AUTHORITY_KEY, &error))?;
        let issuer = Issuer::new(authority_params(OffsetDateTime::now_utc()), pair);
        Ok(Authority { issuer, certificate, key })
    }

    /// A certificate in this name that is valid for these hours, before and behind now.
    ///
    /// # Errors
    ///
    /// If the name cannot stand in a certificate.
    pub fn sign(
        &self,
        name: &str,
        purpose: Purpose,
        before: i64,
        behind: i64,
    ) -> Result<Made, CertificateError> {
        let wrong = |error: rcgen::Error| CertificateError::Name {
            name: name.to_owned(),
            reason: rcgen_words(&error),
        };
        let mut params = CertificateParams::new(vec![name.to_owned()]).map_err(wrong)?;
        params.distinguished_name.push(DnType::CommonName, name);
        let now = OffsetDateTime::now_utc();
        (params.not_before, params.not_after) =
            (now - Duration::hours(before), now + Duration::hours(behind));
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![match purpose {
            Purpose::Host => ExtendedKeyUsagePurpose::ServerAuth,
            Purpose::User => ExtendedKeyUsagePurpose::ClientAuth,
        }];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(wrong)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(wrong)?;
        Ok(Made { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

fn key_error(place: &str, error: &rcgen::Error) -> CertificateError {
    CertificateError::Key { place: place.to_owned(), reason: rcgen_words(error) }
}

/// Makes certificates for `hosts` and `users` in `directory`, which last `days`. The first call makes the
/// authority; later ones use it. Returns the names of the files.
///
/// # Errors
///
/// If a name is not one, if a file is there already, or if the directory cannot be used. Then nothing is
/// made.
pub fn make(
    directory: &Path,
    hosts: &[String],
    users: &[String],
    days: u32,
) -> Result<Vec<String>, CertificateError> {
    let shown = |name: &str| directory.join(name).display().to_string();
    let file = |name: &str, reason: io::Error| CertificateError::File { place: shown(name), reason };
    let folder = Folder::own(directory).map_err(|error| file("", error))?;
    let all: Vec<(&String, Purpose)> = hosts
        .iter()
        .map(|name| (name, Purpose::Host))
        .chain(users.iter().map(|name| (name, Purpose::User)))
        .collect();
    for (number, (name, _)) in all.iter().enumerate() {
        check_name(name)?;
        if folder.kind(format!("{name}.pem").as_ref() as &Path).is_some()
            || all[..number].iter().any(|(it, _)| it == name)
        {
            return Err(CertificateError::There { place: shown(&format!("{name}.pem")) });
        }
    }
    let mut made = Vec::new();
    let authority = if folder.kind(AUTHORITY_KEY).is_some() {
        let read = |name: &str| {
            let mut text = String::new();
            folder
                .open(name)
                .and_then(|file| file.take(100_000).read_to_string(&mut text))
                .map_err(|error| file(name, error))?;
            Ok::<_, CertificateError>(text)
        };
        Authority::known(read(AUTHORITY)?, read(AUTHORITY_KEY)?)?
    } else {
        let authority = Authority::new()?;
        write(&folder, AUTHORITY_KEY, &authority.key, 0o600).map_err(|error| file(AUTHORITY_KEY, error))?;
        write(&folder, AUTHORITY, &authority.certificate, 0o644).map_err(|error| file(AUTHORITY, error))?;
        made.extend([AUTHORITY.to_owned(), AUTHORITY_KEY.to_owned()]);
        authority
    };
    for (name, purpose) in all {
        let Made { certificate, key } = authority.sign(name, purpose, 1, i64::from(days) * 24)?;
        let names = [format!("{name}.pem"), format!("{name}.key")];
        write(&folder, &names[1], &key, 0o600).map_err(|error| file(&names[1], error))?;
        write(&folder, &names[0], &certificate, 0o644).map_err(|error| file(&names[0], error))?;
        made.extend(names);
    }
    Ok(made)
}

/// Writes a new file; nobody else may read it, not even for a moment, unless the mode lets them.
fn write(folder: &Folder, name: &str, text: &str, mode: u32) -> io::Result<()> {
    let mut file = folder.create(name)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn check_name(name: &str) -> Result<(), CertificateError> {
    let wrong = |reason: &str| CertificateError::Name { name: name.to_owned(), reason: reason.to_owned() };
    if name.is_empty() || name.len() > 200 {
        return Err(wrong("it is empty or too long"));
    }
    if name.starts_with(['.', '-']) || name == "ca" {
        return Err(wrong("it begins with a dot or a dash, or is the authority's own"));
    }
    if name.chars().any(|letter| !(letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_' | ':')))
    {
        return Err(wrong("it has other letters than a host's name"));
    }
    Ok(())
}

/// Reads a file of PEM, of a limited size.
///
/// # Errors
///
/// If there is none, with the path in the message.
pub fn read(directory: &Path, name: &str) -> io::Result<Vec<u8>> {
    let path = directory.join(name);
    let with_path = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let mut bytes = Vec::new();
    std::fs::File::open(&path)
        .and_then(|file| file.take(100_001).read_to_end(&mut bytes))
        .map_err(with_path)?;
    if bytes.len() > 100_000 {
        return Err(with_path(io::Error::new(ErrorKind::InvalidData, "too large")));
    }
    Ok(bytes)
}
