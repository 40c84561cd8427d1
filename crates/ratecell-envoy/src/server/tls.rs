//! TLS, with certificates of clients where they are asked for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use crate::error::EnvoyError;

/// The files for TLS, each in PEM.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The certificate, and those between it and the authority.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// The authorities of clients' certificates; with it only clients with a certificate are answered.
    pub clients: Option<PathBuf>,
}

type Wrong = Box<dyn core::error::Error + Send + Sync>;

impl Tls {
    pub(super) fn acceptor(&self) -> Result<TlsAcceptor, EnvoyError> {
        self.config().map(|config| TlsAcceptor::from(Arc::new(config))).map_err(EnvoyError::Tls)
    }

    fn config(&self) -> Result<ServerConfig, Wrong> {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let builder = match &self.clients {
            None => builder.with_no_client_auth(),
            Some(file) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(file)? {
                    roots.add(certificate).map_err(|error| of(file, error))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build()?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|error| of(&self.key, error))?;
        let mut config = builder.with_single_cert(certificates(&self.certificate)?, key)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(config)
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, Wrong> {
    let certificates = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let certificates: Vec<_> = certificates.map_err(|error| of(file, error))?;
    if certificates.is_empty() {
        return Err(format!("{}: no certificate", file.display()).into());
    }
    Ok(certificates)
}

fn of(file: &Path, error: impl core::fmt::Display) -> Wrong {
    format!("{}: {error}", file.display()).into()
}
