//! Why a server and we do not understand each other, in words that people can act on.

use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible};
use std::fmt;
use std::io;

/// The reason for which a connection could not be secured, or is no longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsRefused {
    /// The reason.
    pub text: String,
    /// Whether it is the server's certificate: whoever does not care may go on without checking.
    pub is_of_certificate: bool,
}

impl TlsRefused {
    /// The reason within an error, if it is one of these.
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    /// As an error of the kind `InvalidData`.
    pub(crate) fn error(error: &Error) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, Self::new(error))
    }

    fn new(error: &Error) -> Self {
        let is_of_certificate = matches!(error, Error::InvalidCertificate(_));
        Self { text: text(error), is_of_certificate }
    }
}

impl fmt::Display for TlsRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for TlsRefused {}

fn text(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(error) => of_certificate(error),
        Error::AlertReceived(alert) => of_alert(*alert),
        Error::InvalidMessage(
            InvalidMessage::InvalidContentType
            | InvalidMessage::UnknownProtocolVersion
            | InvalidMessage::MessageTooLarge
            | InvalidMessage::InvalidEmptyPayload,
        ) => "what the server says is not TLS".to_owned(),
        Error::PeerIncompatible(
            PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
            | PeerIncompatible::Tls12NotOffered
            | PeerIncompatible::Tls12NotOfferedOrEnabled,
        ) => "no common version of TLS".to_owned(),
        other => other.to_string(),
    }
}

/// What the server says of us (RFC 8446 section 6.2).
fn of_alert(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::ProtocolVersion => "no common version of TLS".to_owned(),
        AlertDescription::HandshakeFailure => {
            "the server refuses: no common cipher suite or version".to_owned()
        }
        AlertDescription::CertificateRequired => "the server wants a certificate of us".to_owned(),
        AlertDescription::UnrecognisedName => "the server does not know this name".to_owned(),
        AlertDescription::NoApplicationProtocol => "no common protocol (ALPN)".to_owned(),
        other => format!("the server refuses: {other:?}"),
    }
}

fn of_certificate(error: &CertificateError) -> String {
    match error {
        CertificateError::NotValidForNameContext { expected, presented } => format!(
            "the certificate is not valid for {}: it is for {}",
            expected.to_str(),
            names(presented)
        ),
        CertificateError::ExpiredContext { time, not_after } => {
            format!("the certificate expired {} ago", apart(*time, *not_after))
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            format!("the certificate is not valid before {} from now", apart(*not_before, *time))
        }
        CertificateError::UnknownIssuer => {
            "the certificate is from an issuer that is not trusted here".to_owned()
        }
        CertificateError::Expired => "the certificate has expired".to_owned(),
        CertificateError::BadEncoding => "the certificate cannot be read".to_owned(),
        other if is_of_issuer(other) => {
            "the certificate is one of an issuer, not of a server (self-signed)".to_owned()
        }
        other => format!("the certificate is not valid: {other}"),
    }
}

/// Whether a certificate that issues others was shown as that of a server, for which rustls has no
/// word of its own.
pub(crate) fn is_of_issuer(error: &CertificateError) -> bool {
    let CertificateError::Other(other) = error else { return false };
    other.to_string().contains("CaUsedAsEndEntity")
}

/// At most this many names are listed: certificates may have hundreds.
const NAMES_MAX: usize = 5;

fn names(presented: &[String]) -> String {
    if presented.is_empty() {
        return "no name at all".to_owned();
    }
    let mut names: Vec<&str> = presented.iter().map(|name| name_of(name)).collect();
    let more = names.len().saturating_sub(NAMES_MAX);
    names.truncate(NAMES_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    names.join(", ") + &more
}

/// rustls writes `DnsName("example.org")` and `IpAddress(127.0.0.1)`.
fn name_of(presented: &str) -> &str {
    let inside = presented.split_once('(').map_or(presented, |(_, inside)| inside);
    inside.trim_end_matches(')').trim_matches('"')
}

/// Days between two moments, or hours if it is less than two of them.
fn apart(later: UnixTime, earlier: UnixTime) -> String {
    let seconds = later.as_secs().saturating_sub(earlier.as_secs());
    match seconds / 86_400 {
        0 | 1 => format!("{} hours", seconds / 3600),
        days => format!("{days} days"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::ServerName;
    use std::time::Duration;

    fn at(seconds: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(seconds))
    }

    #[test]
    fn reasons_name_what_is_wrong() {
        let of = |error| text(&Error::InvalidCertificate(error));
        let expired = CertificateError::ExpiredContext { time: at(864_010), not_after: at(10) };
        assert_eq!(of(expired), "the certificate expired 10 days ago");
        let early = CertificateError::NotValidYetContext { time: at(0), not_before: at(7300) };
        assert_eq!(of(early), "the certificate is not valid before 2 hours from now");
        let name = CertificateError::NotValidForNameContext {
            expected: ServerName::try_from("x.test").unwrap(),
            presented: (0..6).map(|n| format!("DnsName(\"y{n}.test\")")).collect(),
        };
        assert_eq!(
            of(name),
            "the certificate is not valid for x.test: it is for \
             y0.test, y1.test, y2.test, y3.test, y4.test and 1 more"
        );
        assert_eq!(name_of("IpAddress(127.0.0.1)"), "127.0.0.1");
    }

    #[test]
    fn a_reason_is_found_in_its_error() {
        let error = TlsRefused::error(&Error::InvalidCertificate(CertificateError::UnknownIssuer));
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(TlsRefused::of(&error).is_some_and(|refused| refused.is_of_certificate));
        assert!(TlsRefused::of(&io::ErrorKind::NotFound.into()).is_none());
    }
}
