//! Whose certificates are believed: the system's authorities and one file more, or everybody's.

use crate::options::{TlsOptions, TlsProblem};
use crate::{certificate, refused};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::pem::{PemObject, SectionKind};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Certificates of a file and the key beside them, as ab's `-E` has them.
pub(crate) type ClientIdentity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// Who believes the authorities of the system and those of the file, and the certificates of the
/// file themselves.
///
/// # Errors
/// When the file holds none, or there are none at all.
pub(crate) fn verifier(
    options: &TlsOptions,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, TlsProblem> {
    let (store, known) = roots(options)?;
    let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider.clone());
    let authorities = builder.build().map_err(|error| TlsProblem::Options(error.to_string()))?;
    Ok(Arc::new(KnownCertificates { authorities, known }))
}

/// The authorities that are believed, and the certificates of the file.
fn roots(
    options: &TlsOptions,
) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), TlsProblem> {
    let mut known = Vec::new();
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = &options.ca_file {
        known = certificates(path)?;
        let (added, _) = store.add_parsable_certificates(known.iter().cloned());
        if added == 0 {
            return Err(fault(path, "holds no certificate (PEM)"));
        }
    }
    if store.is_empty() {
        let text = "this system knows no certificate authority: install ca-certificates";
        return Err(TlsProblem::Options(text.to_owned()));
    }
    Ok((store, known))
}

/// The certificate of a client, and its key.
///
/// # Errors
/// When one of them is missing.
pub(crate) fn identity(path: &Path) -> Result<ClientIdentity, TlsProblem> {
    let chain = certificates(path)?;
    if chain.is_empty() {
        return Err(fault(path, "holds no certificate (PEM)"));
    }
    let key = PrivateKeyDer::from_pem_slice(&read(path)?);
    Ok((chain, key.map_err(|_| fault(path, "holds no private key (PEM, without a pass phrase)"))?))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsProblem> {
    let text = read(path)?;
    let sections = <(SectionKind, Vec<u8>)>::pem_slice_iter(&text);
    let sections: Result<Vec<_>, _> = sections.collect();
    let sections = sections.map_err(|error| fault(path, &format!("is no PEM: {error}")))?;
    let of_kind = sections.into_iter().filter(|section| section.0 == SectionKind::Certificate);
    Ok(of_kind.map(|section| CertificateDer::from(section.1)).collect())
}

fn read(path: &Path) -> Result<Vec<u8>, TlsProblem> {
    std::fs::read(path).map_err(|error| fault(path, &error))
}

fn fault(path: &Path, why: &(impl ToString + ?Sized)) -> TlsProblem {
    TlsProblem::File { path: path.to_owned(), why: why.to_string() }
}

/// Believes authorities, and whoever shows a certificate that is known: a server that vouches for
/// itself has none but its own, which says as often as not that it is an authority, and rustls
/// takes no such for a server's. curl's `--cacert` takes any certificate that is in the file.
#[derive(Debug)]
struct KnownCertificates {
    authorities: Arc<WebPkiServerVerifier>,
    known: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for KnownCertificates {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let authorities = &self.authorities;
        match authorities.verify_server_cert(end_entity, intermediates, name, ocsp_response, now) {
            Err(Error::InvalidCertificate(error))
                if is_of_nobody(&error) && self.known.contains(end_entity) =>
            {
                check_validity(end_entity, now)?;
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}

/// Whether all that is wrong is that nobody vouches for the certificate but itself.
fn is_of_nobody(error: &CertificateError) -> bool {
    *error == CertificateError::UnknownIssuer || refused::is_of_issuer(error)
}

/// A certificate that is in the file may have expired since.
fn check_validity(certificate: &CertificateDer<'_>, now: UnixTime) -> Result<(), Error> {
    let (from_s, until_s) =
        certificate::validity(certificate).ok_or(CertificateError::BadEncoding)?;
    let at = |s: i64| UnixTime::since_unix_epoch(Duration::from_secs(s.max(0).cast_unsigned()));
    let now_s = now.as_secs().cast_signed();
    if now_s < from_s {
        return Err(
            CertificateError::NotValidYetContext { time: now, not_before: at(from_s) }.into()
        );
    }
    if now_s > until_s {
        return Err(CertificateError::ExpiredContext { time: now, not_after: at(until_s) }.into());
    }
    Ok(())
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
