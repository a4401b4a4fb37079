//! TLS 1.3 with certificates on both sides, and names for what can go wrong with it.

use crate::certificates::{AUTHORITY, read};
use crate::protocol::Refusal;
use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{AlertDescription, CertificateError, ClientConfig, RootCertStore, ServerConfig};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A certificate, its key, and the authority that both ends trust.
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    roots: RootCertStore,
}

impl Identity {
    /// The one of this name in a directory that `ackclock certificates` has made.
    ///
    /// # Errors
    ///
    /// If a file is missing or is not what it should be.
    pub fn read(directory: &Path, name: &str) -> io::Result<Identity> {
        let (certificate, key) = (format!("{name}.pem"), format!("{name}.key"));
        Identity::from_pem(
            &read(directory, AUTHORITY)?,
            &read(directory, &certificate)?,
            &read(directory, &key)?,
        )
    }

    /// From PEM: the authority's certificate, one's own, and its key.
    ///
    /// # Errors
    ///
    /// If one of them is not what it should be.
    pub fn from_pem(authority: &[u8], certificate: &[u8], key: &[u8]) -> io::Result<Identity> {
        let wrong = |what: &str, error: String| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{what}: {error}"))
        };
        let chain = |what: &str, pem: &[u8]| {
            let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
            found.map_err(|error| wrong(what, error.to_string()))
        };
        let mut roots = RootCertStore::empty();
        for root in chain("the authority's certificate", authority)? {
            roots.add(root).map_err(|error| wrong("the authority's certificate", error.to_string()))?;
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| wrong("the key", error.to_string()))?;
        Ok(Identity { chain: chain("the certificate", certificate)?, key, roots })
    }

    /// For an agent: clients need a certificate of the same authority.
    ///
    /// # Errors
    ///
    /// If certificate and key do not belong together.
    pub fn server(self) -> io::Result<Arc<ServerConfig>> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(self.roots), provider.clone());
        let verifier = verifier.build().map_err(io::Error::other)?;
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(io::Error::other)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(self.chain, self.key)
            .map_err(io::Error::other)?;
        Ok(Arc::new(config))
    }

    /// For a controller.
    ///
    /// # Errors
    ///
    /// If certificate and key do not belong together.
    pub fn client(self) -> io::Result<Arc<ClientConfig>> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(self.roots), provider.clone());
        let verifier = verifier.build().map_err(io::Error::other)?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(io::Error::other)?
            .with_webpki_verifier(verifier)
            .with_client_auth_cert(self.chain, self.key)
            .map_err(io::Error::other)?;
        Ok(Arc::new(config))
    }
}

/// The name that an agent's certificate must have.
///
/// # Errors
///
/// If it is neither the name nor the address of a host.
pub fn server_name(host: &str) -> Result<ServerName<'static>, Refusal> {
    ServerName::try_from(host.to_owned()).map_err(|_| {
        Refusal::new("wrong_name", format!("{host} is no host"), "write a name or an address after `test`")
    })
}

/// The names in a client's certificate.
pub fn names(certificates: Option<&[CertificateDer<'_>]>) -> Vec<String> {
    let Some(first) = certificates.and_then(<[_]>::first) else { return Vec::new() };
    webpki::EndEntityCert::try_from(first)
        .map(|certificate| certificate.valid_dns_names().map(str::to_owned).collect())
        .unwrap_or_default()
}

/// What a failure of TLS is called, and what to do about it. `other`: who is at the other end.
pub fn named(error: &io::Error, other: &str) -> Refusal {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let ours = "make both ends' certificates with `ackclock certificates` in one directory";
    let purpose = "agents have certificates of hosts, and controllers those of users (`--user`)";
    let again = "make a new one with `ackclock certificates`, after removing the old one";
    match tls {
        Some(rustls::Error::InvalidCertificate(why)) => match why {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => Refusal::new(
                "wrong_ca",
                format!("another authority has signed the certificate of {other}"),
                ours,
            ),
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                Refusal::new("expired_certificate", format!("the certificate of {other} has expired"), again)
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => Refusal::new(
                "not_yet_valid",
                format!("the certificate of {other} is not valid yet"),
                "compare the clocks of both hosts, and of the one that made the certificate",
            ),
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
                let message = format!("the certificate of {other} is for the other end");
                Refusal::new("wrong_purpose", message, purpose)
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Refusal::new(
                    "wrong_name",
                    format!("the certificate of {other} is for another host"),
                    "write the host in the script as it was written for `ackclock certificates`",
                )
            }
            why => Refusal::new("bad_certificate", format!("the certificate of {other}: {why}"), ours),
        },
        Some(rustls::Error::AlertReceived(alert)) => match alert {
            AlertDescription::UnknownCA | AlertDescription::DecryptError => Refusal::new(
                "wrong_ca",
                format!("{other} does not know the authority of this certificate"),
                ours,
            ),
            // TLS has one alert for both (RFC 8446, section 6.2).
            AlertDescription::CertificateExpired => Refusal::new(
                "expired_certificate",
                format!("{other} says that this certificate has expired, or is not valid yet"),
                again,
            ),
            AlertDescription::UnsupportedCertificate => {
                Refusal::new("wrong_purpose", "this certificate is for the other end", purpose)
            }
            AlertDescription::CertificateRequired => {
                Refusal::new("no_certificate", format!("{other} wants a certificate"), ours)
            }
            alert => Refusal::new("tls", format!("{other} refuses the connection: {alert:?}"), ours),
        },
        Some(rustls::Error::NoCertificatesPresented) => {
            Refusal::new("no_certificate", format!("{other} shows no certificate"), ours)
        }
        Some(why) => {
            Refusal::new("tls", format!("{other}: {why}"), "is this the port of an `ackclock agent`?")
        }
        None => Refusal::new(
            "connection",
            format!("{other}: {error}"),
            "is the agent running, and does a firewall let it be reached?",
        ),
    }
}
