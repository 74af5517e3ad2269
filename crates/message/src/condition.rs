//! Conditional requests (RFC 9110 section 13), in the order of precedence of section 13.2.2.
//!
//! Dates come parsed; one that is no date is `None`, which means the field is ignored. A field sent
//! on several lines is joined with commas by the caller, as for any list.

use crate::etag;

/// The conditions of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conditions<'a> {
    /// If-Match, as sent.
    pub if_match: Option<&'a [u8]>,
    /// If-None-Match, as sent.
    pub if_none_match: Option<&'a [u8]>,
    /// If-Modified-Since, unix seconds.
    pub if_modified_since_s: Option<i64>,
    /// If-Unmodified-Since, unix seconds.
    pub if_unmodified_since_s: Option<i64>,
}

/// What is known about the representation that would be sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Validators<'a> {
    /// Its entity tag.
    pub etag: Option<&'a [u8]>,
    /// Its time of change, unix seconds.
    pub last_modified_s: Option<i64>,
}

/// What to do with the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionOutcome {
    /// Carry it out.
    Proceed,
    /// Answer 304.
    NotModified,
    /// Answer 412.
    PreconditionFailed,
}

/// Evaluates the conditions on an existing representation.
pub fn evaluate(
    conditions: &Conditions<'_>,
    validators: &Validators<'_>,
    method_is_get_or_head: bool,
) -> ConditionOutcome {
    // Steps 1 and 2: the client's guard against lost updates.
    let guard = match (conditions.if_match, conditions.if_unmodified_since_s) {
        (Some(value), _) => matches_strongly(value, validators.etag),
        (None, Some(date)) => validators.last_modified_s.is_none_or(|changed| changed <= date),
        (None, None) => true,
    };
    if !guard {
        return ConditionOutcome::PreconditionFailed;
    }
    // Step 3: If-None-Match. It also switches If-Modified-Since off, even when nothing matches.
    if let Some(value) = conditions.if_none_match {
        return match (matches_weakly(value, validators.etag), method_is_get_or_head) {
            (false, _) => ConditionOutcome::Proceed,
            (true, true) => ConditionOutcome::NotModified,
            (true, false) => ConditionOutcome::PreconditionFailed,
        };
    }
    // Step 4: If-Modified-Since, for GET and HEAD only.
    match (conditions.if_modified_since_s, validators.last_modified_s) {
        (Some(date), Some(changed)) if method_is_get_or_head && changed <= date => {
            ConditionOutcome::NotModified
        }
        _ => ConditionOutcome::Proceed,
    }
}

/// Step 5: whether a Range field applies, given the If-Range value and, if that is a date, its unix
/// seconds. Both kinds must match exactly (section 13.1.5): half a changed file is worse than all.
pub fn if_range_holds(value: &[u8], date_s: Option<i64>, validators: &Validators<'_>) -> bool {
    if value.starts_with(b"\"") || value.starts_with(b"W/") {
        return validators.etag.is_some_and(|tag| etag::strong_match(value, tag));
    }
    date_s.is_some() && date_s == validators.last_modified_s
}

fn matches_strongly(value: &[u8], tag: Option<&[u8]>) -> bool {
    let listed = |tag| etag::tags(value).any(|one| etag::strong_match(one, tag));
    etag::is_any(value) || tag.is_some_and(listed)
}

fn matches_weakly(value: &[u8], tag: Option<&[u8]>) -> bool {
    let listed = |tag| etag::tags(value).any(|one| etag::weak_match(one, tag));
    etag::is_any(value) || tag.is_some_and(listed)
}

#[cfg(test)]
mod tests {
    use super::ConditionOutcome::*;
    use super::*;

    const CHANGED: i64 = 1000;
    const STRONG: Validators<'_> =
        Validators { etag: Some(b"\"x\""), last_modified_s: Some(CHANGED) };
    const WEAK: Validators<'_> =
        Validators { etag: Some(b"W/\"x\""), last_modified_s: Some(CHANGED) };

    fn none_match(value: &[u8]) -> Conditions<'_> {
        Conditions { if_none_match: Some(value), ..Conditions::default() }
    }

    fn if_match(value: &[u8]) -> Conditions<'_> {
        Conditions { if_match: Some(value), ..Conditions::default() }
    }

    #[test]
    fn m9_if_none_match() {
        for value in [&b"*"[..], b"\"a\" ,\t\"x\"", b"W/\"x\"", b"\"x\""] {
            assert_eq!(evaluate(&none_match(value), &STRONG, true), NotModified);
            assert_eq!(evaluate(&none_match(value), &WEAK, true), NotModified);
            assert_eq!(evaluate(&none_match(value), &STRONG, false), PreconditionFailed);
        }
        assert_eq!(evaluate(&none_match(b"\"y\""), &STRONG, true), Proceed);
        assert_eq!(evaluate(&none_match(b"\"x\""), &Validators::default(), true), Proceed);
    }

    #[test]
    fn m10_if_match() {
        assert_eq!(evaluate(&if_match(b"\"y\""), &STRONG, true), PreconditionFailed);
        assert_eq!(evaluate(&if_match(b"*"), &STRONG, true), Proceed);
        assert_eq!(evaluate(&if_match(b"\"y\", \"x\""), &STRONG, true), Proceed);
        assert_eq!(evaluate(&if_match(b"W/\"x\""), &STRONG, true), PreconditionFailed);
        assert_eq!(evaluate(&if_match(b"\"x\""), &WEAK, true), PreconditionFailed);
        assert_eq!(evaluate(&if_match(b"\"x\""), &Validators::default(), true), PreconditionFailed);
    }

    #[test]
    fn m11_if_modified_since() {
        let since = |date| Conditions { if_modified_since_s: date, ..Conditions::default() };
        assert_eq!(evaluate(&since(Some(CHANGED)), &STRONG, true), NotModified);
        assert_eq!(evaluate(&since(Some(CHANGED - 1)), &STRONG, true), Proceed);
        assert_eq!(evaluate(&since(Some(i64::MAX)), &STRONG, true), NotModified);
        assert_eq!(evaluate(&since(None), &STRONG, true), Proceed);
        assert_eq!(evaluate(&since(Some(CHANGED)), &STRONG, false), Proceed);
        assert_eq!(evaluate(&since(Some(CHANGED)), &Validators::default(), true), Proceed);
    }

    #[test]
    fn if_unmodified_since() {
        let since = |date| Conditions { if_unmodified_since_s: date, ..Conditions::default() };
        assert_eq!(evaluate(&since(Some(CHANGED)), &STRONG, false), Proceed);
        assert_eq!(evaluate(&since(Some(CHANGED - 1)), &STRONG, false), PreconditionFailed);
        assert_eq!(evaluate(&since(Some(0)), &Validators::default(), false), Proceed);
    }

    #[test]
    fn precedence() {
        // If-None-Match that does not match switches a matching If-Modified-Since off.
        let both = Conditions { if_modified_since_s: Some(CHANGED), ..none_match(b"\"y\"") };
        assert_eq!(evaluate(&both, &STRONG, true), Proceed);
        // If-Match that holds switches a failing If-Unmodified-Since off.
        let guards = Conditions { if_unmodified_since_s: Some(0), ..if_match(b"\"x\"") };
        assert_eq!(evaluate(&guards, &STRONG, true), Proceed);
        // A failed guard wins over a match that would give 304.
        let mixed = Conditions { if_none_match: Some(b"*"), ..if_match(b"\"y\"") };
        assert_eq!(evaluate(&mixed, &STRONG, true), PreconditionFailed);
    }

    #[test]
    fn m8_if_range() {
        assert!(if_range_holds(b"\"x\"", None, &STRONG));
        assert!(!if_range_holds(b"W/\"x\"", None, &WEAK));
        assert!(!if_range_holds(b"W/\"x\"", None, &STRONG));
        assert!(!if_range_holds(b"\"x\"", None, &WEAK));
        assert!(!if_range_holds(b"\"y\"", None, &STRONG));
        assert!(if_range_holds(b"(date)", Some(CHANGED), &STRONG));
        assert!(!if_range_holds(b"(date)", Some(CHANGED + 1), &STRONG));
        assert!(!if_range_holds(b"(garbage)", None, &Validators::default()));
    }
}
