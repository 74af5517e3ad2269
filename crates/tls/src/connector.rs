//! The client's end: from options to something that secures connections.

use crate::agreed;
use crate::buffers::Buffers;
use crate::options::{TlsOptions, TlsProblem, TlsVersion};
use crate::secured::Secured;
use crate::trust::{self, Everybody};
use runtime::Stream;
use rustls::client::{ClientConfig, Resumption, UnbufferedClientConnection};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::{SupportedProtocolVersion, version};
use std::io;
use std::rc::Rc;
use std::sync::Arc;

pub use rustls::pki_types::ServerName;

/// Secures connections to servers. Made once, shared by all threads.
///
/// Sessions are not resumed: a connection costs the server what it costs with a client that comes
/// for the first time, as with ab, wrk and h2load.
#[derive(Clone, Debug)]
pub struct Connector {
    config: Arc<ClientConfig>,
}

/// Both versions, the newer first.
const VERSIONS: [(TlsVersion, &SupportedProtocolVersion); 2] =
    [(TlsVersion::Tls13, &version::TLS13), (TlsVersion::Tls12, &version::TLS12)];

impl Connector {
    /// Reads the files that the options name.
    ///
    /// # Errors
    /// What cannot be done as they say.
    pub fn new(options: &TlsOptions) -> Result<Self, TlsProblem> {
        let provider = Arc::new(provider(options)?);
        let (lowest, highest) = options.versions;
        let asked = VERSIONS.iter().filter(|row| (lowest..=highest).contains(&row.0));
        let versions: Vec<_> = asked.map(|row| row.1).collect();
        let schemes = provider.signature_verification_algorithms;
        let verifier = match options.verifies {
            true => trust::verifier(options, &provider)?,
            false => Arc::new(Everybody(schemes)),
        };
        let builder = ClientConfig::builder_with_provider(provider);
        let builder = builder.with_protocol_versions(&versions).map_err(unfit)?;
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        let mut config = match &options.identity {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let (chain, key) = trust::identity(path)?;
                let fault = |why: rustls::Error| TlsProblem::File {
                    path: path.clone(),
                    why: format!("certificate and key cannot be used: {why}"),
                };
                builder.with_client_auth_cert(chain, key).map_err(fault)?
            }
        };
        config.enable_sni = options.sends_name;
        config.alpn_protocols = options.protocols.clone();
        config.resumption = Resumption::disabled();
        let made = Self { config: Arc::new(config) };
        made.prepare();
        Ok(made)
    }

    /// Does what the first connection would take longer for: aws-lc gathers entropy from the
    /// jitter of the processor, 50 ms once for a process and 0.2 ms for each thread. The load
    /// calls it before anything is measured.
    pub fn prepare(&self) {
        // The beginning of a handshake with nobody: random bytes and the key that is shared. What
        // cannot be begun here is said of the connection that needs it.
        if let Ok(name) = ServerName::try_from("localhost") {
            let _ = UnbufferedClientConnection::new(self.config.clone(), name);
        }
    }

    /// The same with other protocols to offer (ALPN).
    #[must_use]
    pub fn offering(&self, protocols: &[&[u8]]) -> Self {
        let mut config = ClientConfig::clone(&self.config);
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Self { config: Arc::new(config) }
    }

    /// Agrees with the server `name` at the other end of `stream`. This waits for as long as the
    /// server takes: the caller has the clock.
    ///
    /// # Errors
    /// [`crate::TlsRefused`] within an error of the kind `InvalidData` where nothing could be
    /// agreed on, else what the system says.
    pub async fn connect(
        &self,
        stream: Stream,
        name: ServerName<'static>,
        buffers: &Rc<Buffers>,
    ) -> io::Result<Secured> {
        let mut secured = Secured::new(stream, self.config.clone(), name, buffers.clone())?;
        std::future::poll_fn(|context| secured.poll_agree(context)).await?;
        Ok(secured)
    }
}

fn unfit(error: rustls::Error) -> TlsProblem {
    TlsProblem::Options(match error {
        rustls::Error::General(text) => text,
        other => other.to_string(),
    })
}

/// The cryptography, with only those cipher suites that are asked for.
fn provider(options: &TlsOptions) -> Result<CryptoProvider, TlsProblem> {
    let mut provider = aws_lc_rs::default_provider();
    let names = options.ciphers.split([':', ',']).filter(|name| !name.is_empty());
    // OpenSSL's words for what is secure; everything here is.
    let names: Vec<&str> = names.collect();
    let is_any = |name: &&str| ["ALL", "DEFAULT", "HIGH"].contains(name);
    if names.is_empty() || names.iter().any(is_any) {
        return Ok(provider);
    }
    let known = provider.cipher_suites;
    provider.cipher_suites = Vec::new();
    for name in names {
        let suite = known.iter().find(|suite| agreed::is_name_of(name, suite.suite()));
        let Some(suite) = suite else {
            let names = agreed::suite_names().join(", ");
            return Err(TlsProblem::Options(format!(
                "there is no cipher suite {name:?} here; there are {names}"
            )));
        };
        provider.cipher_suites.push(*suite);
    }
    Ok(provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(change: impl FnOnce(&mut TlsOptions)) -> Result<Connector, TlsProblem> {
        let mut options = TlsOptions { verifies: false, ..TlsOptions::default() };
        change(&mut options);
        Connector::new(&options)
    }

    #[test]
    fn suites_go_by_either_name() {
        let asked = "ECDHE-RSA-AES128-GCM-SHA256:TLS_AES_128_GCM_SHA256";
        let connector = with(|options| options.ciphers = asked.to_owned()).unwrap();
        assert_eq!(connector.config.crypto_provider().cipher_suites.len(), 2);
        let wrong = with(|options| options.ciphers = "RC4-MD5".to_owned()).err().unwrap();
        assert!(wrong.to_string().contains("\"RC4-MD5\""), "{wrong}");
        assert!(wrong.to_string().contains("ECDHE-RSA-AES256-GCM-SHA384"), "{wrong}");
    }

    #[test]
    fn a_version_without_a_suite_is_refused() {
        let wrong = with(|options| {
            options.ciphers = "ECDHE-RSA-AES128-GCM-SHA256".to_owned();
            options.versions = (TlsVersion::Tls13, TlsVersion::Tls13);
        });
        assert!(matches!(wrong, Err(TlsProblem::Options(_))));
    }

    #[test]
    fn a_file_that_is_missing_is_named() {
        let wrong = with(|options| options.identity = Some("/nowhere/client.pem".into()));
        assert!(wrong.err().unwrap().to_string().starts_with("/nowhere/client.pem: No such file"));
    }
}
