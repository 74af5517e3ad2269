//! The application's end, and what it is asked about itself.

use fastcgi::record::{BadVersion, EndRequest, ProtocolStatus, RecordHeader, RecordKind};
use fastcgi::responder::{Responder, ServerEvent, ServerFault};
use fastcgi::values::{ApplicationValues, NoValues, ValuesReader, ask};
use fastcgi::*;
use message::limits;

/// Everything that comes of `input`, as text; the same however it is split.
fn heard(responder: &mut Responder, input: &[u8]) -> Result<Vec<String>, ServerFault> {
    let mut bytewise = responder.clone();
    let (mut events, mut body) = (Vec::new(), Vec::new());
    listen(responder, input, &mut events, &mut body)?;
    let (mut split_events, mut split_body) = (Vec::new(), Vec::new());
    for byte in input.chunks(1) {
        listen(&mut bytewise, byte, &mut split_events, &mut split_body)?;
    }
    assert_eq!((&split_events, &split_body), (&events, &body));
    if !body.is_empty() {
        events.push(body.escape_ascii().to_string());
    }
    Ok(events)
}

fn listen(
    responder: &mut Responder,
    input: &[u8],
    events: &mut Vec<String>,
    body: &mut Vec<u8>,
) -> Result<(), ServerFault> {
    let mut at = 0;
    loop {
        let (used, event) = responder.receive(&input[at..])?;
        at += used;
        match event {
            None => return Ok(()),
            Some(ServerEvent::Stdin(piece)) => body.extend(piece),
            Some(ServerEvent::Begin(begin)) => events.push(format!("begin {}", begin.keep_conn)),
            Some(other) => events.push(format!("{other:?}")),
        }
    }
}

fn request(keep_conn: bool, body: &[u8]) -> Vec<u8> {
    let mut params = Params::new(keep_conn);
    assert_eq!(params.add(b"REQUEST_METHOD", b"POST"), Ok(()));
    let (mut request, mut exchange) = params.finish();
    exchange.stdin(&mut request, body);
    request.extend(exchange.end_stdin());
    request
}

const COMPLETE: EndRequest =
    EndRequest { app_status: 0, protocol_status: ProtocolStatus::REQUEST_COMPLETE };

#[test]
fn requests_follow_one_another_on_a_connection() {
    let mut responder = Responder::default();
    for body in ["a=1", "b=22"] {
        let events = heard(&mut responder, &request(true, body.as_bytes())).unwrap();
        assert_eq!(events, ["begin true", "Params", "StdinEnd", body]);
        let params: Result<Vec<_>, _> = responder.params().collect();
        assert_eq!(params, Ok(vec![(&b"REQUEST_METHOD"[..], &b"POST"[..])]));
        let mut answer = Vec::new();
        responder.stdout(&mut answer, b"X: 1\n\nbody");
        responder.stderr(&mut answer, b"note");
        responder.end_stdout(&mut answer);
        responder.end_request(&mut answer, COMPLETE);
        let wanted = b"\x01\x06\0\x01\0\x0a\0\0X: 1\n\nbody\x01\x07\0\x01\0\x04\0\0note\
                       \x01\x06\0\x01\0\0\0\0\x01\x03\0\x01\0\x08\0\0\0\0\0\0\0\0\0\0";
        assert_eq!(answer.escape_ascii().to_string(), wanted.escape_ascii().to_string());
    }
}

#[test]
fn an_answer_may_come_before_all_of_the_request() {
    let mut responder = Responder::default();
    let request = request(true, b"0123456789");
    let (before, behind) = request.split_at(request.len() - 12);
    heard(&mut responder, before).unwrap();
    responder.end_request(&mut Vec::new(), COMPLETE);
    assert_eq!(heard(&mut responder, behind), Ok(vec!["StdinEnd".to_owned()]));
    assert_eq!(heard(&mut responder, &request).unwrap().len(), 4);
}

#[test]
fn a_request_can_be_given_up() {
    let (mut request, mut exchange) = Params::new(true).finish();
    request.extend(exchange.abort());
    let events = heard(&mut Responder::default(), &request).unwrap();
    assert_eq!(events, ["begin true", "Params", "Abort"]);
}

#[test]
fn what_no_server_sends_is_a_fault() {
    let begin = &request(true, b"")[..16];
    let record = |kind, id, content: &[u8]| {
        let length = u16::try_from(content.len()).unwrap();
        [&RecordHeader::new(kind, id, length).encode(), content].concat()
    };
    let rows = [
        (b"GET / HTTP/1.1\r\n".to_vec(), ServerFault::Version(BadVersion(b'G'))),
        (record(RecordKind::PARAMS, 1, b""), ServerFault::Unexpected(RecordKind::PARAMS, 1)),
        (
            record(RecordKind::BEGIN_REQUEST, 1, &[0; 7]),
            ServerFault::Length(RecordKind::BEGIN_REQUEST, 7),
        ),
        ([begin, begin].concat(), ServerFault::Unexpected(RecordKind::BEGIN_REQUEST, 1)),
        (
            [begin, &record(RecordKind::STDIN, 1, b"")].concat(),
            ServerFault::Unexpected(RecordKind::STDIN, 1),
        ),
        (
            [begin, &record(RecordKind::PARAMS, 2, b"")].concat(),
            ServerFault::Unexpected(RecordKind::PARAMS, 2),
        ),
        (
            [begin, &record(RecordKind::STDOUT, 1, b"")].concat(),
            ServerFault::Unexpected(RecordKind::STDOUT, 1),
        ),
    ];
    for (input, fault) in rows {
        assert_eq!(heard(&mut Responder::default(), &input), Err(fault));
    }
}

#[test]
fn variables_have_a_bound() {
    let mut responder = Responder::default();
    let (request, _) = Params::new(true).finish();
    responder.receive(&request[..16]).unwrap();
    let record =
        [&RecordHeader::new(RecordKind::PARAMS, 1, 0xffff).encode()[..], &[0; 0xffff]].concat();
    let mut events = Vec::new();
    for _ in 0..limits::FASTCGI_PARAMS_BYTES / 0xffff {
        listen(&mut responder, &record, &mut events, &mut Vec::new()).unwrap();
    }
    let last = listen(&mut responder, &record, &mut events, &mut Vec::new());
    assert_eq!(last, Err(ServerFault::TooLong));
}

#[test]
fn an_application_says_what_it_is_able_to() {
    let mut question = Vec::new();
    ask(&mut question);
    let mut responder = Responder::default();
    // In the middle of a request it is no part of that.
    let whole = request(true, b"");
    let (begin, rest) = whole.split_at(16);
    let events = heard(&mut responder, &[begin, &question, rest].concat()).unwrap();
    assert_eq!(events, ["begin true", "GetValues", "Params", "StdinEnd"]);
    assert_eq!(responder.params().count(), 1);

    let known: &[(&[u8], &[u8])] = &[(b"FCGI_MAX_CONNS", b"10"), (b"FCGI_MPXS_CONNS", b"0")];
    let mut answer = Vec::new();
    responder.values(&mut answer, known).unwrap();
    let values = ApplicationValues {
        max_connections: Some(10),
        max_requests: None,
        multiplexes: Some(false),
    };
    assert_eq!(read(&answer), Ok(Some(values)));
    assert_eq!(read(&answer[..answer.len() - 1]), Ok(None));
    // Each question is one of its own.
    let mut again = Vec::new();
    assert_eq!(heard(&mut responder, &question).unwrap(), ["GetValues"]);
    responder.values(&mut again, known).unwrap();
    assert_eq!(again, answer);
}

/// The values, which no split may change.
fn read(answer: &[u8]) -> Result<Option<ApplicationValues>, NoValues> {
    let whole = ValuesReader::default().receive(answer).map(|(_, values)| values);
    let mut reader = ValuesReader::default();
    let mut last = Ok(None);
    for byte in answer.chunks(1) {
        last = reader.receive(byte).map(|(_, values)| values);
        if last != Ok(None) {
            break;
        }
    }
    assert_eq!(last, whole);
    whole
}

#[test]
fn an_answer_that_is_none_is_a_failure() {
    let mut unknown = Vec::new();
    Responder::default().unknown(&mut unknown, RecordKind::GET_VALUES);
    assert_eq!(read(&unknown), Err(NoValues::Kind(RecordKind::UNKNOWN_TYPE)));
    let record = |id, content: &[u8]| {
        let length = u16::try_from(content.len()).unwrap();
        [&RecordHeader::new(RecordKind::GET_VALUES_RESULT, id, length).encode(), content].concat()
    };
    assert_eq!(read(&record(0, b"")), Ok(Some(ApplicationValues::default())));
    assert_eq!(read(&record(1, b"")), Err(NoValues::Kind(RecordKind::GET_VALUES_RESULT)));
    assert_eq!(read(&record(0, b"\x05\x01FCGI")), Err(NoValues::Malformed));
    assert_eq!(read(&record(0, &[0; 1025])), Err(NoValues::TooLong));
    assert_eq!(read(b"HTTP/1.1 "), Err(NoValues::Version(BadVersion(b'H'))));
    // Numbers that are none are not said.
    let odd = record(0, b"\x0e\x02FCGI_MAX_CONNS-1\x0d\0FCGI_MAX_REQS\x01\x01XY");
    assert_eq!(read(&odd), Ok(Some(ApplicationValues::default())));
}
