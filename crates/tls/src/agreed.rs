//! What client and server have agreed on, in the words that OpenSSL has for it: reports of ab are
//! read by scripts.

use crate::certificate;
use rustls::{CipherSuite, CommonState, NamedGroup, ProtocolVersion};

/// Facts about a secured connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// `TLSv1.3`.
    pub version: &'static str,
    /// `TLS_AES_256_GCM_SHA384`, `ECDHE-RSA-AES128-GCM-SHA256`.
    pub suite: &'static str,
    /// Bits of the key that encrypts.
    pub suite_bits: u32,
    /// Bits of the public key in the server's certificate; 0 if it is of an unknown kind.
    pub key_bits: u32,
    /// The key that was made for this connection: `X25519 253 bits`, `ECDH prime256v1 256 bits`;
    /// the name of what was encapsulated: `X25519MLKEM768`.
    pub temporary_key: &'static str,
    /// The protocol that the server chose (ALPN).
    pub protocol: Option<Vec<u8>>,
}

/// The suites that there are: the name in OpenSSL, bits of the key.
const SUITES: &[(CipherSuite, &str, u32)] = &[
    (CipherSuite::TLS13_AES_256_GCM_SHA384, "TLS_AES_256_GCM_SHA384", 256),
    (CipherSuite::TLS13_AES_128_GCM_SHA256, "TLS_AES_128_GCM_SHA256", 128),
    (CipherSuite::TLS13_CHACHA20_POLY1305_SHA256, "TLS_CHACHA20_POLY1305_SHA256", 256),
    (CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, "ECDHE-ECDSA-AES256-GCM-SHA384", 256),
    (CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, "ECDHE-ECDSA-AES128-GCM-SHA256", 128),
    (
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        "ECDHE-ECDSA-CHACHA20-POLY1305",
        256,
    ),
    (CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, "ECDHE-RSA-AES256-GCM-SHA384", 256),
    (CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "ECDHE-RSA-AES128-GCM-SHA256", 128),
    (CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, "ECDHE-RSA-CHACHA20-POLY1305", 256),
];

/// Groups of the key agreement in the words of ab (ab.c, `ssl_proceed_handshake`), which has none
/// for the last.
const GROUPS: &[(NamedGroup, &str)] = &[
    (NamedGroup::X25519, "X25519 253 bits"),
    (NamedGroup::secp256r1, "ECDH prime256v1 256 bits"),
    (NamedGroup::secp384r1, "ECDH secp384r1 384 bits"),
    (NamedGroup::X25519MLKEM768, "X25519MLKEM768"),
];

impl Agreed {
    /// Of a connection whose handshake has ended.
    pub(crate) fn of(state: &CommonState) -> Self {
        let suite = state.negotiated_cipher_suite().map(|suite| suite.suite());
        let row = suite.and_then(|suite| SUITES.iter().find(|row| row.0 == suite));
        let group = state.negotiated_key_exchange_group().map(|group| group.name());
        let group = group.and_then(|group| GROUPS.iter().find(|row| row.0 == group));
        let certificate = state.peer_certificates().and_then(|chain| chain.first());
        Self {
            version: match state.protocol_version() {
                Some(ProtocolVersion::TLSv1_3) => "TLSv1.3",
                _ => "TLSv1.2",
            },
            suite: row.map_or("unknown", |row| row.1),
            suite_bits: row.map_or(0, |row| row.2),
            key_bits: certificate.and_then(|der| certificate::key_bits(der)).unwrap_or(0),
            temporary_key: group.map_or("unknown", |row| row.1),
            protocol: state.alpn_protocol().map(<[u8]>::to_vec),
        }
    }
}

/// Whether this is the name of a suite, as OpenSSL or the standards have it.
pub(crate) fn is_name_of(name: &str, suite: CipherSuite) -> bool {
    let standard = suite.as_str().unwrap_or_default().replacen("TLS13_", "TLS_", 1);
    let openssl = SUITES.iter().find(|row| row.0 == suite).map(|row| row.1);
    name.eq_ignore_ascii_case(&standard) || openssl.is_some_and(|it| name.eq_ignore_ascii_case(it))
}

/// Every name that [`is_name_of`] knows, in OpenSSL's form.
pub(crate) fn suite_names() -> Vec<&'static str> {
    SUITES.iter().map(|row| row.1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_that_can_be_agreed_on_has_a_row_and_both_names() {
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        for suite in provider.cipher_suites {
            let row = SUITES.iter().find(|row| row.0 == suite.suite());
            let row = row.unwrap_or_else(|| panic!("{suite:?}"));
            assert!(is_name_of(&row.1.to_lowercase(), row.0));
            assert!(!is_name_of("AES", row.0));
        }
        let rsa = CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384;
        assert!(is_name_of("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", rsa));
        assert_eq!(suite_names().len(), 9);
    }
}
