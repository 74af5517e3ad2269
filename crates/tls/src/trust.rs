//! Whose certificates are believed: the system's authorities and one file more, or everybody's.

use crate::options::{Options, Problem};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::pem::{PemObject, SectionKind};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::path::Path;

/// Certificates of a file and the key beside them, as ab's `-E` has them.
pub(crate) type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// The authorities that are believed.
///
/// # Errors
/// When the file holds none, or there are none at all.
pub(crate) fn roots(options: &Options) -> Result<RootCertStore, Problem> {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = &options.ca_file {
        let certificates = certificates(path)?;
        let (added, _) = store.add_parsable_certificates(certificates);
        if added == 0 {
            return Err(fault(path, "holds no certificate (PEM)"));
        }
    }
    if store.is_empty() {
        let text = "this system knows no certificate authority: install ca-certificates";
        return Err(Problem::Options(text.to_owned()));
    }
    Ok(store)
}

/// The certificate of a client, and its key.
///
/// # Errors
/// When one of them is missing.
pub(crate) fn identity(path: &Path) -> Result<Identity, Problem> {
    let chain = certificates(path)?;
    if chain.is_empty() {
        return Err(fault(path, "holds no certificate (PEM)"));
    }
    let key = PrivateKeyDer::from_pem_slice(&read(path)?);
    Ok((chain, key.map_err(|_| fault(path, "holds no private key (PEM, without a pass phrase)"))?))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Problem> {
    let text = read(path)?;
    let sections = <(SectionKind, Vec<u8>)>::pem_slice_iter(&text);
    let sections: Result<Vec<_>, _> = sections.collect();
    let sections = sections.map_err(|error| fault(path, &format!("is no PEM: {error}")))?;
    let of_kind = sections.into_iter().filter(|section| section.0 == SectionKind::Certificate);
    Ok(of_kind.map(|section| CertificateDer::from(section.1)).collect())
}

fn read(path: &Path) -> Result<Vec<u8>, Problem> {
    std::fs::read(path).map_err(|error| fault(path, &error))
}

fn fault(path: &Path, why: &(impl ToString + ?Sized)) -> Problem {
    Problem::File { path: path.to_owned(), why: why.to_string() }
}

/// Believes everybody. Signatures are not looked at either: whoever comes between can make both,
/// the certificate and the signature.
#[derive(Debug)]
pub(crate) struct Everybody(pub(crate) WebPkiSupportedAlgorithms);

impl ServerCertVerifier for Everybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
