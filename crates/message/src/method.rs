//! The request methods httpd registers. Any other token is a valid method on the wire, and a
//! handler may take it, but the server itself answers 501.
// tidy: table

/// A method known by name. The order is httpd's order of registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each name is the method itself, see NAMES")]
pub enum Method {
    Get,
    Head,
    Put,
    Post,
    Delete,
    Connect,
    Options,
    Trace,
    Patch,
    Propfind,
    Proppatch,
    Mkcol,
    Copy,
    Move,
    Lock,
    Unlock,
    VersionControl,
    Checkout,
    Uncheckout,
    Checkin,
    Update,
    Label,
    Report,
    Mkworkspace,
    Mkactivity,
    BaselineControl,
    Merge,
}

/// Every method with its name on the wire.
pub const NAMES: &[(Method, &str)] = &[
    (Method::Get, "GET"),
    (Method::Head, "HEAD"),
    (Method::Put, "PUT"),
    (Method::Post, "POST"),
    (Method::Delete, "DELETE"),
    (Method::Connect, "CONNECT"),
    (Method::Options, "OPTIONS"),
    (Method::Trace, "TRACE"),
    (Method::Patch, "PATCH"),
    (Method::Propfind, "PROPFIND"),
    (Method::Proppatch, "PROPPATCH"),
    (Method::Mkcol, "MKCOL"),
    (Method::Copy, "COPY"),
    (Method::Move, "MOVE"),
    (Method::Lock, "LOCK"),
    (Method::Unlock, "UNLOCK"),
    (Method::VersionControl, "VERSION-CONTROL"),
    (Method::Checkout, "CHECKOUT"),
    (Method::Uncheckout, "UNCHECKOUT"),
    (Method::Checkin, "CHECKIN"),
    (Method::Update, "UPDATE"),
    (Method::Label, "LABEL"),
    (Method::Report, "REPORT"),
    (Method::Mkworkspace, "MKWORKSPACE"),
    (Method::Mkactivity, "MKACTIVITY"),
    (Method::BaselineControl, "BASELINE-CONTROL"),
    (Method::Merge, "MERGE"),
];

impl Method {
    /// The method of this name. Names are case-sensitive (RFC 9110 section 9.1): `get` is unknown.
    #[inline]
    pub fn parse(name: &[u8]) -> Option<Self> {
        // The three that make up nearly all traffic are compared first.
        match name {
            b"GET" => Some(Self::Get),
            b"POST" => Some(Self::Post),
            b"HEAD" => Some(Self::Head),
            _ => NAMES.iter().find(|row| row.1.as_bytes() == name).map(|row| row.0),
        }
    }

    /// The name as it stands on the wire.
    pub const fn as_str(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// Whether conditions on this method answer 304 rather than 412 (RFC 9110 section 13.1.2).
    pub const fn is_get_or_head(self) -> bool {
        matches!(self, Self::Get | Self::Head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_enum_order_and_round_trip() {
        for (index, (method, name)) in NAMES.iter().enumerate() {
            assert_eq!(*method as usize, index, "{name}");
            assert_eq!(method.as_str(), *name);
            assert_eq!(Method::parse(name.as_bytes()), Some(*method));
        }
    }

    #[test]
    fn names_are_case_sensitive() {
        assert_eq!(Method::parse(b"get"), None);
        assert_eq!(Method::parse(b"Get"), None);
        assert_eq!(Method::parse(b""), None);
        assert_eq!(Method::parse(b"GETT"), None);
    }
}
