//! One request: what the server's end makes of an application that behaves, and of those that do
//! not (garbage, half answers, records of others, leftovers).

use fastcgi::record::{EndRequest, ProtocolStatus, RecordHeader, RecordKind};
use fastcgi::*;

/// What came of an answer: output, text for the log, marks, and whether the connection may be used
/// again.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    marks: Vec<String>,
    may_reuse: bool,
}

/// Takes an answer; whole, split in two at every place, and byte by byte it must be the same.
fn outcome(answer: &[u8]) -> Outcome {
    outcome_of(&begun(true), answer)
}

fn outcome_of(exchange: &Exchange, answer: &[u8]) -> Outcome {
    let whole = receive(exchange.clone(), [answer]);
    for at in 0..answer.len() {
        let (one, other) = answer.split_at(at);
        assert_eq!(receive(exchange.clone(), [one, other]), whole, "split at {at}");
    }
    assert_eq!(receive(exchange.clone(), answer.chunks(1)), whole, "byte by byte");
    whole
}

fn receive<'b>(mut exchange: Exchange, pieces: impl IntoIterator<Item = &'b [u8]>) -> Outcome {
    let mut outcome = Outcome::default();
    for piece in pieces {
        let mut at = 0;
        loop {
            let step = match exchange.receive(&piece[at..]) {
                Ok(step) => step,
                Err(fault) => {
                    let id = fault.id().map_or(String::new(), |id| format!("AH{id:05}: "));
                    outcome.marks.push(format!("{id}{fault}"));
                    return outcome;
                }
            };
            at += step.used;
            match step.event {
                None => break,
                Some(ApplicationEvent::Stdout(piece)) => outcome.stdout.extend(piece),
                Some(ApplicationEvent::Stderr(piece)) => outcome.stderr.extend(piece),
                Some(other) => outcome.marks.push(format!("{other:?}")),
            }
        }
        assert_eq!(at, piece.len(), "input was left lying");
    }
    outcome.may_reuse = exchange.may_reuse();
    outcome
}

/// A request without a body that is sent.
fn begun(keep_conn: bool) -> Exchange {
    let (_, mut exchange) = Params::new(keep_conn).finish();
    assert_eq!(exchange.end_stdin(), [1, 5, 0, 1, 0, 0, 0, 0]);
    exchange
}

fn record(kind: RecordKind, request_id: u16, content: &[u8], padding: u8) -> Vec<u8> {
    let length = content.len() as u16;
    let header =
        RecordHeader { padding_bytes: padding, ..RecordHeader::new(kind, request_id, length) };
    [&header.encode(), content, &vec![0xaa; padding.into()][..]].concat()
}

fn stdout(content: &[u8]) -> Vec<u8> {
    record(RecordKind::STDOUT, 1, content, 0)
}

fn end(app_status: u32, protocol: u8) -> Vec<u8> {
    let end = EndRequest { app_status, protocol_status: ProtocolStatus(protocol) };
    record(RecordKind::END_REQUEST, 1, &end.encode(), 0)
}

const ENDED: &str = "End(EndRequest { app_status: 0, protocol_status: ProtocolStatus(0) })";

#[test]
fn an_answer_comes_in_pieces_with_padding_between() {
    let answer = [
        record(RecordKind::STDOUT, 1, b"Status: 200\n", 4),
        record(RecordKind::STDERR, 1, b"Notice", 255),
        stdout(b"\nbody"),
        record(RecordKind::STDERR, 1, b"", 0),
        record(RecordKind::STDOUT, 1, b"", 1),
        end(0, 0),
    ];
    let outcome = outcome(&answer.concat());
    assert_eq!(outcome.stdout, b"Status: 200\n\nbody");
    assert_eq!(outcome.stderr, b"Notice");
    assert_eq!(outcome.marks, ["StdoutEnd", ENDED]);
    assert!(outcome.may_reuse);
}

#[test]
fn an_answer_ends_with_the_request_if_not_before() {
    let outcome = outcome(&[stdout(b"x"), end(7, 0)].concat());
    assert_eq!(outcome.marks.len(), 1);
    assert!(outcome.marks[0].contains("app_status: 7"));
    assert!(outcome.may_reuse);
}

#[test]
fn a_record_may_have_the_greatest_length_and_padding() {
    let long = vec![b'x'; 65535];
    let answer = [record(RecordKind::STDOUT, 1, &long, 255), end(0, 0)].concat();
    for size in [1, 7, 8192, answer.len()] {
        let outcome = receive(begun(true), answer.chunks(size));
        assert_eq!((outcome.stdout.len(), outcome.may_reuse), (65535, true));
    }
}

#[test]
fn garbage_is_a_fault_with_the_words_of_httpd() {
    let mut wrong_version = stdout(b"x");
    wrong_version[0] = 2;
    let rows: &[(&[u8], &str)] = &[
        (b"HTTP/1.1 400 Bad Request", "AH01068: Got bogus version 72"),
        (&wrong_version, "AH01068: Got bogus version 2"),
        (&[0; 8], "AH01068: Got bogus version 0"),
        (&record(RecordKind::STDOUT, 2, b"x", 0), "AH01069: Got bogus rid 2, expected 1"),
        (&record(RecordKind::STDOUT, 0x0100, b"x", 0), "AH01069: Got bogus rid 256, expected 1"),
        // Nothing of management was asked for.
        (&record(RecordKind::GET_VALUES_RESULT, 0, b"", 0), "AH01069: Got bogus rid 0, expected 1"),
        (&record(RecordKind::UNKNOWN_TYPE, 0, &[9; 8], 0), "AH01069: Got bogus rid 0, expected 1"),
    ];
    for (answer, fault) in rows {
        assert_eq!(outcome(answer).marks, [*fault], "{}", answer.escape_ascii());
        let behind = outcome(&[&stdout(b"before"), *answer, &end(0, 0)].concat());
        assert_eq!((&behind.stdout[..], behind.may_reuse), (&b"before"[..], false));
        assert_eq!(behind.marks, [*fault]);
    }
}

#[test]
fn records_of_other_kinds_are_passed_over() {
    let odd = record(RecordKind(99), 1, b"content", 3);
    let answer =
        [stdout(b"a"), odd, record(RecordKind::STDIN, 1, b"x", 0), stdout(b"b"), end(0, 0)];
    let outcome = outcome(&answer.concat());
    assert_eq!(outcome.stdout, b"ab");
    assert_eq!(outcome.marks, ["Unknown(RecordKind(99))", "Unknown(RecordKind(5))", ENDED]);
}

#[test]
fn output_behind_its_end_is_a_fault() {
    let outcome = outcome(&[stdout(b"a"), stdout(b""), stdout(b""), stdout(b"b")].concat());
    assert_eq!(outcome.stdout, b"a");
    assert_eq!(outcome.marks, ["StdoutEnd", "Got output behind the end of output"]);
}

#[test]
fn half_an_answer_has_no_end() {
    let answer = [stdout(b"x"), end(0, 0)].concat();
    for length in 0..answer.len() {
        let outcome = receive(begun(true), [&answer[..length]]);
        assert_eq!((outcome.marks.len(), outcome.may_reuse), (0, false), "{length}");
    }
    // The padding of the last record belongs to it.
    let end = record(RecordKind::END_REQUEST, 1, &[0; 8], 5);
    let outcome = outcome(&end[..end.len() - 1]);
    assert_eq!((outcome.marks.len(), outcome.may_reuse), (0, false));
}

#[test]
fn a_connection_is_used_again_after_a_clean_end_only() {
    let cleanly = end(0, 0);
    assert!(outcome(&cleanly).may_reuse);
    assert!(!outcome_of(&begun(false), &cleanly).may_reuse, "it was not to be kept");
    let (_, unsent) = Params::new(true).finish();
    assert!(!outcome_of(&unsent, &cleanly).may_reuse, "the body is not sent");
    let mut aborted = begun(true);
    assert_eq!(aborted.abort(), [1, 2, 0, 1, 0, 0, 0, 0]);
    assert!(!outcome_of(&aborted, &cleanly).may_reuse, "the request was given up");
    let wrong: &[(&str, Vec<u8>)] = &[
        ("output behind the end", [&cleanly[..], &stdout(b"late")].concat()),
        ("a byte behind the end", [&cleanly[..], b"\x01"].concat()),
        ("a second end", [&cleanly[..], &cleanly].concat()),
        ("an end without content", record(RecordKind::END_REQUEST, 1, b"", 0)),
        ("an end that is cut", record(RecordKind::END_REQUEST, 1, &[0; 7], 1)),
        ("an end that is long", record(RecordKind::END_REQUEST, 1, &[0; 300], 0)),
        ("an application that multiplexes", end(0, 1)),
        ("an application without resources", end(0, 2)),
        ("an application without the role", end(0, 3)),
        ("an application of another world", end(0, 200)),
    ];
    for (what, answer) in wrong {
        let outcome = outcome(answer);
        assert_eq!(outcome.marks.len(), 1, "{what}: {:?}", outcome.marks);
        assert!(!outcome.may_reuse, "{what}");
    }
}

#[test]
fn a_flood_costs_no_memory() {
    // Without a destructor there is no memory but its own.
    assert!(!std::mem::needs_drop::<Exchange>() && size_of::<Exchange>() <= 64);
    let flood =
        [record(RecordKind::STDERR, 1, &[b'x'; 60_000], 200), stdout(b"").repeat(1000)].concat();
    let outcome = receive(begun(true), std::iter::repeat_n(&flood[..], 100));
    assert_eq!((outcome.stderr.len(), outcome.marks.len()), (6_000_000, 1));
}

#[test]
fn a_body_is_sent_in_records() {
    let (_, mut exchange) = Params::new(false).finish();
    let mut out = Vec::new();
    exchange.stdin(&mut out, b"a=1");
    exchange.stdin(&mut out, b"");
    assert_eq!(out, b"\x01\x05\0\x01\0\x03\0\0a=1");
    assert_eq!(exchange.stdin_header(3).as_ref(), out.first_chunk());
    assert_eq!((exchange.stdin_header(0), exchange.stdin_header(65536)), (None, None));
    out.clear();
    exchange.stdin(&mut out, &vec![b'x'; 100_000]);
    assert_eq!(out.len(), 100_000 + 2 * 8);
    assert_eq!(exchange.end_stdin(), [1, 5, 0, 1, 0, 0, 0, 0]);
}
