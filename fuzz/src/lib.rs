//! Properties of the crate `message` for the fuzz targets: what every caller relies on, whatever
//! a client sends. Those of `http1` and `config` stand beside the code they check.

use message::condition::{self, Conditions, Outcome, Validators};
use message::path::{self, EncodedSlashes};
use message::range::{self, ByteRange, Plan, RangeLimits};
use message::{Host, Method, Target, etag as tags};

/// Splits off the bytes that choose the settings of a run.
fn choose<const N: usize>(data: &[u8]) -> Option<([u8; N], &[u8])> {
    let (choice, rest) = data.split_first_chunk::<N>()?;
    Some((*choice, rest))
}

/// The first byte chooses the settings. A decoded path is safe to walk, decoding its escaped form
/// gives the same path, and `is_plain` promises no more than it may.
pub fn path(data: &[u8]) {
    let Some(([choice], raw)) = choose(data) else { return };
    let merge_slashes = choice & 1 == 1;
    let encoded = [EncodedSlashes::Off, EncodedSlashes::On, EncodedSlashes::NoDecode]
        [usize::from(choice) % 3];
    let mut decoded = Vec::new();
    if path::decode_with(raw, &mut decoded, merge_slashes, encoded).is_err() {
        assert!(!path::is_plain(raw), "a plain path needs no decoding, so none can fail");
        return;
    }
    assert!(decoded.starts_with(b"/") && !decoded.contains(&0));
    assert!(!decoded.split(|&byte| byte == b'/').any(|part| matches!(part, b"." | b"..")));
    assert!(!merge_slashes || !decoded.windows(2).any(|two| two == b"//"));
    if path::is_plain(raw) {
        assert_eq!(decoded, raw);
    }
    let (mut escaped, mut again) = (Vec::new(), Vec::new());
    path::encode(&decoded, &mut escaped);
    assert!(escaped.iter().all(u8::is_ascii_graphic));
    assert_eq!(path::decode_with(&escaped, &mut again, merge_slashes, encoded), Ok(()));
    assert_eq!(decoded, again, "decoding is idempotent");
}

/// The first eight bytes are the length. A plan stays within the representation, within the
/// limits, and never sends more than the whole.
pub fn range(data: &[u8]) {
    let Some((length, value)) = choose(data) else { return };
    // The sign bit is cut off: no file of any system is longer than 2^63 - 1 bytes.
    let length = u64::from_le_bytes(length) >> 1;
    let limits = RangeLimits::default();
    let ranges = match range::plan(value, length, &limits) {
        Plan::Ignore => return,
        Plan::Unsatisfiable => return assert!(length > 0),
        Plan::One(one) => vec![one],
        Plan::Many(many) => {
            assert!(many.len() > 1);
            many
        }
    };
    assert!(ranges.iter().all(|range| range.first <= range.last && range.last < length));
    assert!(ranges.len() <= limits.max_ranges);
    let total = ranges.iter().try_fold(0u64, |sum, range| sum.checked_add(range.len()));
    assert!(total.is_some_and(|total| total <= length));
    check_replan(&ranges, length);
}

/// The ranges of a plan, asked for again, select the same bytes. They may come in fewer pieces.
fn check_replan(ranges: &[ByteRange], length: u64) {
    // Positions above are refused, because they have more than 18 digits.
    if length > 999_999_999_999_999_999 {
        return;
    }
    let specs: Vec<String> = ranges.iter().map(|r| format!("{}-{}", r.first, r.last)).collect();
    let value = format!("bytes={}", specs.join(","));
    let limits =
        RangeLimits { max_ranges: usize::MAX, max_overlaps: usize::MAX, max_reversals: usize::MAX };
    let again = match range::plan(value.as_bytes(), length, &limits) {
        Plan::One(one) => vec![one],
        Plan::Many(many) => many,
        other => panic!("{value} of {length} gives {other:?}"),
    };
    assert_eq!(bytes_of(ranges), bytes_of(&again), "{value} of {length}");
}

/// The ranges in order and joined where they touch: two plans with the same bytes are then equal.
fn bytes_of(ranges: &[ByteRange]) -> Vec<(u64, u64)> {
    let mut sorted: Vec<(u64, u64)> = ranges.iter().map(|r| (r.first, r.last)).collect();
    sorted.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (first, last) in sorted {
        match joined.last_mut() {
            Some(open) if first <= open.1.saturating_add(1) => open.1 = open.1.max(last),
            _ => joined.push((first, last)),
        }
    }
    joined
}

/// A host that is accepted holds no byte that means something in a URL, and its printed form is
/// the same host.
pub fn host(data: &[u8]) {
    let Ok(host) = Host::parse(data) else { return };
    check_host(&host);
    assert!(data.starts_with(host.name));
    assert_eq!(host.port.is_some(), data.len() > host.name.len());
}

fn check_host(host: &Host<'_>) {
    assert!(!host.name.is_empty() && host.port != Some(0));
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let literal = host.name.starts_with(b"[") && host.name.ends_with(b"]");
    let inside = if literal { &host.name[1..host.name.len() - 1] } else { host.name };
    assert!(inside.iter().all(|byte| plain(byte) || literal && *byte == b':'));
    let mut printed = host.name.to_vec();
    printed.extend(host.port.map(|port| format!(":{port}")).unwrap_or_default().bytes());
    assert_eq!(Host::parse(&printed).as_ref(), Ok(host));
}

/// The first byte chooses the method. The pieces of a target are pieces of the text, and hold
/// neither a fragment nor, in the path, a query.
pub fn target(data: &[u8]) {
    let Some(([choice], raw)) = choose(data) else { return };
    let methods = [None, Some(Method::Get), Some(Method::Options), Some(Method::Connect)];
    let method = methods[usize::from(choice) % methods.len()];
    let Ok(target) = Target::parse(method, raw) else { return };
    let query = target.query().map(|query| [b"?", query].concat()).unwrap_or_default();
    let tail = [target.path().unwrap_or_default(), &query].concat();
    assert!(!tail.contains(&b'#'));
    assert!(target.path().is_none_or(|path| path.starts_with(b"/") && !path.contains(&b'?')));
    match target {
        Target::Origin { .. } => assert_eq!(tail, raw),
        Target::Absolute { scheme, host, path, .. } => {
            assert!(scheme.eq_ignore_ascii_case(b"http") && raw.starts_with(scheme));
            assert!(raw.ends_with(&tail) || path == b"/" && raw.ends_with(&query));
            check_host(&host);
        }
        Target::Asterisk => assert!(raw == b"*" && method == Some(Method::Options)),
        Target::Authority(host) => {
            assert!(host.port.is_some() && method == Some(Method::Connect));
            check_host(&host);
        }
    }
}

/// Every tag of a list is a whole tag and found again in a list of the same tags; conditions made
/// of the list agree with comparing the tags one by one.
pub fn etag(data: &[u8]) {
    let found: Vec<&[u8]> = tags::tags(data).collect();
    let joined = found.join(&b", "[..]);
    assert_eq!(tags::tags(&joined).collect::<Vec<_>>(), found);
    for &tag in &found {
        let opaque = tag.strip_prefix(b"W/").unwrap_or(tag);
        assert!(opaque.len() >= 2 && opaque.starts_with(b"\"") && opaque.ends_with(b"\""));
        assert_eq!(opaque.iter().filter(|byte| **byte == b'"').count(), 2);
        assert!(tags::weak_match(tag, opaque));
        assert_eq!(tags::strong_match(tag, tag), !tags::is_weak(tag));
        check_conditions(data, tag);
    }
    assert!(!tags::is_any(data) || found.is_empty());
}

/// `tag` is one of the list: If-None-Match holds back what has it, If-Match passes it if strong.
fn check_conditions(list: &[u8], tag: &[u8]) {
    let validators = Validators { etag: Some(tag), last_modified_s: None };
    let none = Conditions { if_none_match: Some(list), ..Conditions::default() };
    assert_eq!(condition::evaluate(&none, &validators, true), Outcome::NotModified);
    assert_eq!(condition::evaluate(&none, &validators, false), Outcome::PreconditionFailed);
    let guard = Conditions { if_match: Some(list), ..Conditions::default() };
    let passes = condition::evaluate(&guard, &validators, true) == Outcome::Proceed;
    assert_eq!(passes, !tags::is_weak(tag));
    assert_eq!(condition::if_range_holds(tag, None, &validators), !tags::is_weak(tag));
}
