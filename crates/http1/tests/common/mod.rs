//! Runs one input through head, framing and body the way a server does: whole, and split in two at
//! every place. All runs must agree; the common result is what the tests compare.

#![allow(dead_code, reason = "each test file uses its part")]

use http1::*;

/// What became of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A complete request.
    Request(Seen),
    /// More input is wanted; `blank` says that a close now is silent.
    Partial { blank: bool },
    /// The status of the refusal.
    Refused(u16),
}

/// What is worth comparing of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) method: Vec<u8>,
    pub(crate) version: message::Version,
    pub(crate) path: Option<Vec<u8>>,
    pub(crate) host: Option<(Vec<u8>, Option<u16>)>,
    pub(crate) body: Vec<u8>,
    pub(crate) keep_alive: bool,
    pub(crate) keep_alive_named: bool,
    pub(crate) expect_continue: bool,
    pub(crate) fields: Vec<(Vec<u8>, Vec<u8>)>,
    /// What is left for the next request.
    pub(crate) rest: Vec<u8>,
}

/// The result for one status: `Ok` for a complete request.
pub(crate) fn verdict(input: &[u8]) -> Result<(), u16> {
    match outcome(input) {
        Outcome::Request(_) => Ok(()),
        Outcome::Refused(status) => Err(status),
        Outcome::Partial { .. } => panic!("incomplete: {}", input.escape_ascii()),
    }
}

/// The request that `input` must be.
pub(crate) fn request(input: &[u8]) -> Seen {
    match outcome(input) {
        Outcome::Request(seen) => seen,
        other => panic!("{other:?}: {}", input.escape_ascii()),
    }
}

/// Checks rows of (id, input, expected verdict).
pub(crate) fn check(rows: &[(&str, &[u8], Result<(), u16>)]) {
    for (id, input, expect) in rows {
        assert_eq!(&verdict(input), expect, "{id}: {}", input.escape_ascii());
    }
}

/// The outcome, which no split may change.
pub(crate) fn outcome(input: &[u8]) -> Outcome {
    let whole = run(&[input.len()], input);
    for at in 0..input.len() {
        let split = run(&[at, input.len()], input);
        assert_eq!(split, whole, "split at {at}: {}", input.escape_ascii());
    }
    let every: Vec<usize> = (0..=input.len()).collect();
    assert_eq!(run(&every, input), whole, "byte by byte: {}", input.escape_ascii());
    whole
}

/// The buffer a server holds, which grows up to each of `ends` in turn.
fn run(ends: &[usize], input: &[u8]) -> Outcome {
    let mut parser = HeadParser::new();
    let mut ends = ends.iter().copied();
    let (head_len, mut end) = loop {
        let Some(end) = ends.next() else {
            return Outcome::Partial { blank: parser.is_blank() };
        };
        match parser.advance(&input[..end], &HeadLimits::default()) {
            Ok(HeadProgress::Partial) => {}
            Ok(HeadProgress::Complete { len }) => break (len, end),
            Err(refusal) => return Outcome::Refused(refusal.status.code()),
        }
    };
    let request = parser.request(&input[..end]);
    let (framing, keep_alive) = match framing(&request, message::limits::LIMIT_REQUEST_BODY) {
        Ok(framing) => framing,
        Err(refusal) => return Outcome::Refused(refusal.status.code()),
    };
    let mut seen = Seen {
        method: request.method().to_vec(),
        version: request.version(),
        path: framing.target.path().map(<[u8]>::to_vec),
        host: framing.host.map(|host| (host.name.to_vec(), host.port)),
        body: Vec::new(),
        keep_alive: keep_alive.wanted,
        keep_alive_named: keep_alive.named,
        expect_continue: framing.expect_continue,
        fields: request.fields().map(|(name, value)| (name.to_vec(), value.to_vec())).collect(),
        rest: Vec::new(),
    };
    let mut decoder = BodyDecoder::new(framing.body, message::limits::LIMIT_REQUEST_BODY);
    let mut at = head_len;
    loop {
        let step = match decoder.decode(&input[at..end]) {
            Ok(step) => step,
            Err(refusal) => return Outcome::Refused(refusal.status.code()),
        };
        seen.body.extend(&input[at..end][step.data]);
        at += step.used;
        if step.done {
            seen.rest = input[at..].to_vec();
            return Outcome::Request(seen);
        }
        if at == end {
            match ends.next() {
                Some(next) => end = next,
                None => return Outcome::Partial { blank: false },
            }
        }
    }
}
