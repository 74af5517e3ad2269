//! The part of the command line that says how connections are secured, and HTTP/2.

use super::super::Exit;
use super::super::option::{CommandOption, OptionGroup};
use super::arguments::BenchArguments;
use super::fault::CommandFault;
use load::url::Scheme;
use tls::{Connector, TlsProblem, TlsVersion};

/// The options for TLS and HTTP/2.
pub(super) const GROUP: OptionGroup<BenchArguments> = OptionGroup {
    heading: "TLS and HTTP/2",
    rows: &[
        CommandOption {
            short: Some('k'),
            long: "insecure",
            value: "",
            help: "accept any server certificate",
            apply: |arguments, _| {
                arguments.tls.verifies = false;
                Ok(())
            },
        },
        CommandOption {
            short: None,
            long: "ca-file",
            value: "FILE",
            help: "also trust these certificates (PEM)",
            apply: |arguments, value| {
                arguments.tls.ca_file = Some(value.into());
                Ok(())
            },
        },
        CommandOption {
            short: Some('E'),
            long: "cert",
            value: "FILE",
            help: "present this client certificate; its key is in the same file (PEM)",
            apply: |arguments, value| {
                arguments.tls.identity = Some(value.into());
                Ok(())
            },
        },
        CommandOption {
            short: None,
            long: "tls",
            value: "VERSION",
            help: "allow this version only: 1.2 or 1.3",
            apply: |arguments, value| {
                let version = match value {
                    "1.2" => TlsVersion::Tls12,
                    "1.3" => TlsVersion::Tls13,
                    _ => return Err(format!("{value:?} is neither 1.2 nor 1.3")),
                };
                arguments.tls.versions = (version, version);
                Ok(())
            },
        },
        CommandOption {
            short: None,
            long: "ciphers",
            value: "NAME:...",
            help: "cipher suites, by their OpenSSL or standard names",
            apply: |arguments, value| {
                value.clone_into(&mut arguments.tls.ciphers);
                Ok(())
            },
        },
        CommandOption {
            short: None,
            long: "no-sni",
            value: "",
            help: "do not send the server name",
            apply: |arguments, _| {
                arguments.tls.sends_name = false;
                Ok(())
            },
        },
        CommandOption {
            short: None,
            long: "http2",
            value: "",
            help: "speak HTTP/2: over TLS if the server agrees, otherwise without asking",
            apply: |arguments, _| {
                arguments.options.http2 = true;
                Ok(())
            },
        },
        CommandOption {
            short: None,
            long: "streams",
            value: "N",
            help: "with --http2: N users share a connection (default: 1); h2load's\n\
                   -c 10 -m 10 is -c 100 --streams 10",
            apply: |arguments, value| {
                let streams = value.parse().ok().filter(|streams| *streams > 0);
                arguments.options.streams = streams.ok_or("expected a number above 0")?;
                Ok(())
            },
        },
    ],
};

impl BenchArguments {
    /// What secures connections, if any will be.
    ///
    /// # Errors
    /// What cannot be done as the options say.
    pub(super) fn connector<'a>(
        &self,
        mut schemes: impl Iterator<Item = &'a Scheme>,
    ) -> Result<Option<Connector>, CommandFault> {
        // A redirect may lead to https.
        if !self.options.follows && !schemes.any(|scheme| *scheme == Scheme::Https) {
            return Ok(None);
        }
        let mut options = self.tls.clone();
        if self.options.http2 {
            options.protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        }
        Connector::new(&options).map(Some).map_err(|problem| match problem {
            TlsProblem::File { .. } => (Exit::File, problem.to_string()),
            TlsProblem::Options(text) => (Exit::Usage, text),
        })
    }
}
