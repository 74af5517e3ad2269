//! The field names the server itself looks at. The head parser recognises them once, so that later
//! a lookup is an array index and "none of these" is one AND.
// tidy: table

/// A field name known to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "each name is the field itself, see NAMES")]
pub enum Known {
    Accept,
    AcceptCharset,
    AcceptEncoding,
    AcceptLanguage,
    Authorization,
    CacheControl,
    Connection,
    ContentEncoding,
    ContentLength,
    ContentType,
    Cookie,
    Date,
    Destination,
    Expect,
    Forwarded,
    From,
    Host,
    Http2Settings,
    IfMatch,
    IfModifiedSince,
    IfNoneMatch,
    IfRange,
    IfUnmodifiedSince,
    KeepAlive,
    MaxForwards,
    Origin,
    Pragma,
    Proxy,
    ProxyAuthorization,
    ProxyConnection,
    Range,
    Referer,
    Te,
    Trailer,
    TransferEncoding,
    Upgrade,
    UserAgent,
    Via,
    XForwardedFor,
    XForwardedProto,
    XRequestedWith,
}

/// How many names there are.
pub(crate) const COUNT: usize = Known::XRequestedWith as usize + 1;

/// Every name in lower case, in the order of the enum.
pub(crate) const NAMES: [(Known, &str); COUNT] = [
    (Known::Accept, "accept"),
    (Known::AcceptCharset, "accept-charset"),
    (Known::AcceptEncoding, "accept-encoding"),
    (Known::AcceptLanguage, "accept-language"),
    (Known::Authorization, "authorization"),
    (Known::CacheControl, "cache-control"),
    (Known::Connection, "connection"),
    (Known::ContentEncoding, "content-encoding"),
    (Known::ContentLength, "content-length"),
    (Known::ContentType, "content-type"),
    (Known::Cookie, "cookie"),
    (Known::Date, "date"),
    (Known::Destination, "destination"),
    (Known::Expect, "expect"),
    (Known::Forwarded, "forwarded"),
    (Known::From, "from"),
    (Known::Host, "host"),
    (Known::Http2Settings, "http2-settings"),
    (Known::IfMatch, "if-match"),
    (Known::IfModifiedSince, "if-modified-since"),
    (Known::IfNoneMatch, "if-none-match"),
    (Known::IfRange, "if-range"),
    (Known::IfUnmodifiedSince, "if-unmodified-since"),
    (Known::KeepAlive, "keep-alive"),
    (Known::MaxForwards, "max-forwards"),
    (Known::Origin, "origin"),
    (Known::Pragma, "pragma"),
    (Known::Proxy, "proxy"),
    (Known::ProxyAuthorization, "proxy-authorization"),
    (Known::ProxyConnection, "proxy-connection"),
    (Known::Range, "range"),
    (Known::Referer, "referer"),
    (Known::Te, "te"),
    (Known::Trailer, "trailer"),
    (Known::TransferEncoding, "transfer-encoding"),
    (Known::Upgrade, "upgrade"),
    (Known::UserAgent, "user-agent"),
    (Known::Via, "via"),
    (Known::XForwardedFor, "x-forwarded-for"),
    (Known::XForwardedProto, "x-forwarded-proto"),
    (Known::XRequestedWith, "x-requested-with"),
];

impl Known {
    /// The name in lower case.
    pub const fn as_str(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// Recognises a field name in any case. `name` is a token.
    #[inline]
    pub fn recognise(name: &[u8]) -> Option<Self> {
        // The slot names the one candidate; the full compare makes the answer exact.
        let slot = SLOTS[slot_of(name)?];
        let (known, lower) = NAMES.get(usize::from(slot))?;
        name.eq_ignore_ascii_case(lower.as_bytes()).then_some(*known)
    }
}

/// Slots of the perfect hash: a power of two, large enough that no two names share one.
const SLOT_COUNT: usize = 128;

/// The slot of a name: from its length and its first, middle and last byte. Setting bit 0x20 lowers
/// letters and leaves digits and hyphens alone. `None` for names shorter than two bytes: those are
/// all unknown.
#[inline(always)]
const fn slot_of(name: &[u8]) -> Option<usize> {
    let [first, .., last] = name else { return None };
    let middle = name[name.len() / 2];
    let mix = (*first | 0x20) as usize * HASH[0]
        + (middle | 0x20) as usize * HASH[1]
        + (*last | 0x20) as usize * HASH[2]
        + name.len() * HASH[3];
    Some((mix ^ (mix >> 8)) % SLOT_COUNT)
}

/// Multipliers for which [`SLOTS`] has no collision; the compiler refuses to build otherwise.
const HASH: [usize; 4] = [145, 53, 129, 147];

static SLOTS: [u8; SLOT_COUNT] = slots();

const fn slots() -> [u8; SLOT_COUNT] {
    let mut slots = [u8::MAX; SLOT_COUNT];
    let mut index = 0;
    while index < COUNT {
        let name = NAMES[index].1.as_bytes();
        let Some(slot) = slot_of(name) else { panic!("name too short") };
        assert!(slots[slot] == u8::MAX, "two names share a slot: choose other multipliers");
        assert!(NAMES[index].0 as usize == index, "NAMES is not in the order of the enum");
        slots[slot] = index as u8;
        index += 1;
    }
    slots
}

/// A set of known names, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownSet(u64);

const _: () = assert!(COUNT <= 64);

impl KnownSet {
    /// The set without members.
    pub const EMPTY: Self = Self(0);

    /// The set of `names`, for constants.
    pub const fn of(names: &[Known]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < names.len() {
            bits |= 1 << names[index] as u8;
            index += 1;
        }
        Self(bits)
    }

    /// Whether `name` is a member.
    #[inline]
    pub const fn has(self, name: Known) -> bool {
        self.0 & (1 << name as u8) != 0
    }

    /// Whether the two sets have a member in common.
    #[inline]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Adds a member; tells whether it was one already.
    #[inline]
    pub const fn insert(&mut self, name: Known) -> bool {
        let had = self.has(name);
        self.0 |= 1 << name as u8;
        had
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_recognised_in_any_case() {
        for (known, name) in NAMES {
            assert_eq!(known.as_str(), name);
            assert_eq!(Known::recognise(name.as_bytes()), Some(known));
            assert_eq!(Known::recognise(name.to_ascii_uppercase().as_bytes()), Some(known));
        }
    }

    #[test]
    fn similar_names_are_not() {
        for name in
            ["", "h", "hosts", "hos", "content_length", "content-lengt", "x-foo", "ho\u{53}p"]
        {
            assert_eq!(Known::recognise(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn sets() {
        const BODY: KnownSet = KnownSet::of(&[Known::ContentLength, Known::XRequestedWith]);
        let mut seen = KnownSet::EMPTY;
        assert!(!seen.intersects(BODY));
        assert!(!seen.insert(Known::ContentLength) && seen.insert(Known::ContentLength));
        assert!(seen.has(Known::ContentLength) && !seen.has(Known::Host));
        assert!(seen.intersects(BODY));
    }
}
