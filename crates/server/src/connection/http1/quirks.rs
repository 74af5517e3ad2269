//! Variables of the environment that change how HTTP/1 is spoken with a client: `nokeepalive`,
//! `downgrade-1.0`, `force-response-1.0` (basic_http_header_check of http_filters.c,
//! ap_set_keepalive).

use crate::received_request::ReceivedRequest;
use crate::response::Response;
use crate::table::Table;
use message::{Known, Version, scan};

/// What a client is known to bear and to need, as httpd's special-purpose variables tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quirks {
    /// The version that the client is taken to understand.
    pub(crate) understood: Version,
    /// The version that the status line tells.
    pub(crate) told: Version,
    /// The connection ends with this response.
    pub(crate) must_close: bool,
}

impl Quirks {
    /// Without any variables.
    pub(crate) fn usual(version: Version) -> Self {
        Self { understood: version, told: Version::Http11, must_close: false }
    }

    /// What `env` asks for. `names_keep_alive` says whether the client asks for persistence.
    pub(crate) fn of(env: &Table, request: &ReceivedRequest, names_keep_alive: bool) -> Self {
        let view = request.view();
        let mut quirks = Self::usual(view.version());
        if env.is_empty() {
            return quirks;
        }
        let hides_vary = env.is_set("force-no-vary");
        if hides_vary || env.is_set("downgrade-1.0") {
            quirks.understood = Version::Http10;
            // A client of 1.0 has to ask for it.
            quirks.must_close = !names_keep_alive;
        }
        if quirks.understood == Version::Http10 && (hides_vary || env.is_set("force-response-1.0"))
        {
            quirks.told = Version::Http10;
            quirks.must_close = true;
        }
        quirks.must_close |= env.is_set("nokeepalive") && !view.has(Known::Via);
        quirks
    }
}

/// Whether the fields say that the connection ends; then they need not say it twice.
pub(crate) fn takes_close(response: &mut Response) -> bool {
    let says_close = response
        .get("Connection")
        .is_some_and(|value| scan::list(value).any(|token| token.eq_ignore_ascii_case(b"close")));
    if says_close {
        response.unset("Connection");
    }
    says_close
}
