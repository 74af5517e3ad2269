//! What a user has seen before, with `cache = true`: how long it is fresh, and by what the server
//! can say that it has not changed. Contents are not kept.

use super::compose::Extras;
use load::url::Url;

/// URLs that a user remembers.
const URLS_MAX: usize = 1000;

/// The memory of one user.
#[derive(Debug, Default)]
pub(super) struct SiegeCache {
    copies: Vec<Copy>,
}

#[derive(Debug)]
struct Copy {
    url: Url,
    etag: Option<Vec<u8>>,
    modified: Option<Vec<u8>>,
    fresh_until_s: i64,
}

impl SiegeCache {
    /// Remembers an answer with these fields.
    pub(super) fn store<'a>(
        &mut self,
        url: &Url,
        fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
        now_s: i64,
    ) {
        let mut copy = Copy { url: url.clone(), etag: None, modified: None, fresh_until_s: 0 };
        for (name, value) in fields {
            match name.to_ascii_lowercase().as_slice() {
                b"etag" => copy.etag = Some(value.to_vec()),
                b"last-modified" => copy.modified = Some(value.to_vec()),
                b"cache-control" => copy.fresh_until_s = now_s.saturating_add(max_age_s(value)),
                _ => {}
            }
        }
        self.copies.retain(|known| known.url != *url);
        if self.copies.len() >= URLS_MAX {
            self.copies.remove(0);
        }
        self.copies.push(copy);
    }

    /// Whether it need not be asked for.
    pub(super) fn is_fresh(&self, url: &Url, now_s: i64) -> bool {
        self.copies.iter().any(|copy| copy.url == *url && copy.fresh_until_s > now_s)
    }

    /// Lets a request ask whether it has changed (RFC 9110 section 13.1).
    pub(super) fn conditions(&self, url: &Url, extras: &mut Extras) {
        if let Some(copy) = self.copies.iter().find(|copy| copy.url == *url) {
            extras.if_none_match.clone_from(&copy.etag);
            extras.if_modified_since.clone_from(&copy.modified);
        }
    }
}

/// The seconds of `max-age`; none where nothing may be kept (RFC 9111 section 5.2.2).
fn max_age_s(value: &[u8]) -> i64 {
    let text = String::from_utf8_lossy(value).to_ascii_lowercase();
    let words = || text.split(',').map(str::trim);
    if words().any(|word| matches!(word, "no-store" | "no-cache")) {
        return 0;
    }
    words().find_map(|word| word.strip_prefix("max-age=")?.parse().ok()).unwrap_or(0).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_fresh_for_as_long_as_it_says() {
        let url = Url::parse("http://a/x").unwrap();
        let mut cache = SiegeCache::default();
        let fields = [
            (&b"ETag"[..], &b"\"v\""[..]),
            (b"Cache-Control", b"public, max-age=10"),
            (b"Last-Modified", b"Mon"),
        ];
        cache.store(&url, fields.into_iter(), 100);
        assert!(cache.is_fresh(&url, 109) && !cache.is_fresh(&url, 110));
        let mut extras = Extras::default();
        cache.conditions(&url, &mut extras);
        assert_eq!(extras.if_none_match.as_deref(), Some(&b"\"v\""[..]));
        assert_eq!(extras.if_modified_since.as_deref(), Some(&b"Mon"[..]));
        cache.store(&url, [(&b"cache-control"[..], &b"no-store, max-age=9"[..])].into_iter(), 0);
        assert!(!cache.is_fresh(&url, 1));
    }
}
