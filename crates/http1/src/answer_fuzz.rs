//! Answers that nobody has thought of: what the parser of answers and the templates of their heads
//! promise, whatever they are given.

use crate::answer::AnswerParser;
use crate::answer_template::fuzz_template;
use crate::head::{HeadLimits, HeadProgress};
use alloc::vec::Vec;
use message::scan;

/// For fuzz targets: parses `data` whole, and in steps of the size that the first byte selects;
/// both must agree, and so must what a template learns from it.
pub fn fuzz_answer(data: &[u8]) {
    let Some((&step, input)) = data.split_first() else { return };
    let limits = HeadLimits { request_line_bytes: 64, field_bytes: 64, fields: 8 };
    let mut whole = AnswerParser::new();
    let expect = whole.advance(input, &limits);
    let mut split = AnswerParser::new();
    let mut got = Ok(HeadProgress::Partial);
    let mut end = 0;
    while got == Ok(HeadProgress::Partial) && end < input.len() {
        end = input.len().min(end + 1 + usize::from(step));
        got = split.advance(&input[..end], &limits);
    }
    assert_eq!(got, expect, "the result depends on how the input was split");
    let Ok(HeadProgress::Complete { len }) = expect else { return };
    assert!(len <= input.len() && input[..len].ends_with(b"\n"));
    let (answer, other) = (whole.answer(input), split.answer(input));
    let fields: Vec<(&[u8], &[u8])> = answer.fields().collect();
    assert_eq!(fields, other.fields().collect::<Vec<_>>());
    assert_eq!((answer.status(), answer.reason()), (other.status(), other.reason()));
    assert!((100..1000).contains(&answer.status()) && fields.len() <= limits.fields);
    for (name, value) in fields {
        assert!(scan::is_token(name) && answer.get_by_name(name).is_some());
        assert!(!value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)), "a line end inside");
        assert_eq!(scan::trim_ows(value), value);
    }
    fuzz_template(&answer, step, &limits);
}
