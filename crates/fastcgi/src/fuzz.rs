//! What holds for any input: no split changes a result, what is written can be read, and nothing is
//! kept beyond its bound. For fuzz targets and for the tests of properties.

use crate::client::{ApplicationEvent, ApplicationFault, Exchange};
use crate::params::{DoesNotFit, Pairs, Params};
use crate::record::{EndRequest, RecordKind};
use crate::responder::{self, Responder};
use crate::script_fault::ScriptFault;
use crate::script_head::{Complete, ScriptHead, ScriptHeadParser};
use crate::values::{ApplicationValues, NoValues, ValuesReader};
use alloc::vec::Vec;
use message::{Status, limits, scan};

/// Records at both ends: `data` whole, and in pieces of the size that the first byte selects.
pub fn fuzz_records(data: &[u8]) {
    let Some((&size, input)) = data.split_first() else { return };
    let size = usize::from(size) + 1;
    let whole = exchange(input, input.len().max(1));
    assert_eq!(exchange(input, size), whole, "a split changes what the server's end sees");
    let pieces = whole.seen.iter().filter_map(Seen::bytes);
    assert!(pieces.sum::<usize>() <= input.len());
    assert!(!whole.may_reuse || whole.end.is_ok_and(|end| end.is_some()));

    let whole = respond(input, input.len().max(1));
    assert_eq!(respond(input, size), whole, "a split changes what the application's end sees");
    assert!(whole.2 <= limits::FASTCGI_PARAMS_BYTES.min(input.len()));

    let whole = values(input, input.len().max(1));
    assert_eq!(values(input, size), whole, "a split changes what the values are");
}

/// What one end sees; pieces of the same kind that follow one another are one.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Text(&'static str, Vec<u8>),
    Mark(&'static str, Option<RecordKind>),
}

impl Seen {
    fn bytes(&self) -> Option<usize> {
        match self {
            Self::Text(_, text) => Some(text.len()),
            Self::Mark(..) => None,
        }
    }

    fn piece(seen: &mut Vec<Self>, of: &'static str, bytes: &[u8]) {
        assert!(!bytes.is_empty(), "a piece is not empty");
        match seen.last_mut() {
            Some(Self::Text(last, text)) if *last == of => text.extend_from_slice(bytes),
            _ => seen.push(Self::Text(of, bytes.to_vec())),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Exchanged {
    seen: Vec<Seen>,
    end: Result<Option<EndRequest>, ApplicationFault>,
    may_reuse: bool,
}

fn exchange(input: &[u8], size: usize) -> Exchanged {
    let (_, mut exchange) = Params::new(true).finish();
    let _ = exchange.end_stdin();
    let (mut seen, mut end) = (Vec::new(), Ok(None));
    for piece in input.chunks(size) {
        if let Err(fault) = receive(&mut exchange, piece, &mut seen, &mut end) {
            assert_eq!(exchange.receive(input), Err(fault), "a fault stays");
            end = Err(fault);
            break;
        }
    }
    assert!(end.is_err() || exchange.is_ended() == end.is_ok_and(|end| end.is_some()));
    Exchanged { seen, end, may_reuse: exchange.may_reuse() }
}

fn receive(
    exchange: &mut Exchange,
    input: &[u8],
    seen: &mut Vec<Seen>,
    end: &mut Result<Option<EndRequest>, ApplicationFault>,
) -> Result<(), ApplicationFault> {
    let mut at = 0;
    loop {
        let step = exchange.receive(&input[at..])?;
        at += step.used;
        match step.event {
            None => break,
            Some(ApplicationEvent::Stdout(piece)) => Seen::piece(seen, "stdout", piece),
            Some(ApplicationEvent::Stderr(piece)) => Seen::piece(seen, "stderr", piece),
            Some(ApplicationEvent::StdoutEnd) => seen.push(Seen::Mark("end of stdout", None)),
            Some(ApplicationEvent::Unknown(kind)) => seen.push(Seen::Mark("unknown", Some(kind))),
            Some(ApplicationEvent::End(last)) => {
                assert_eq!(*end, Ok(None), "there is one end");
                *end = Ok(Some(last));
            }
        }
    }
    assert_eq!(at, input.len(), "input was left lying");
    Ok(())
}

/// What the application's end sees, what it cannot understand, and how many bytes of variables it
/// keeps.
type Responded = (Vec<Seen>, Option<responder::ServerFault>, usize);

fn respond(input: &[u8], size: usize) -> Responded {
    let (mut responder, mut seen) = (Responder::default(), Vec::new());
    for piece in input.chunks(size) {
        let mut at = 0;
        loop {
            let (used, event) = match responder.receive(&piece[at..]) {
                Ok(received) => received,
                Err(fault) => return (seen, Some(fault), 0),
            };
            at += used;
            let mark = match event {
                None => break,
                Some(responder::ServerEvent::Stdin(piece)) => {
                    Seen::piece(&mut seen, "stdin", piece);
                    continue;
                }
                Some(responder::ServerEvent::Begin(_)) => ("begin", None),
                Some(responder::ServerEvent::Params) => ("params", None),
                Some(responder::ServerEvent::StdinEnd) => ("end of stdin", None),
                Some(responder::ServerEvent::Abort) => ("abort", None),
                Some(responder::ServerEvent::GetValues) => ("values", None),
                Some(responder::ServerEvent::Unknown(kind)) => ("unknown", Some(kind)),
            };
            seen.push(Seen::Mark(mark.0, mark.1));
        }
        assert_eq!(at, piece.len(), "input was left lying");
    }
    let kept =
        responder.params().map_while(Result::ok).map(|(name, value)| name.len() + value.len());
    (seen, None, kept.sum())
}

fn values(input: &[u8], size: usize) -> Result<Option<(usize, ApplicationValues)>, NoValues> {
    let (mut reader, mut at) = (ValuesReader::default(), 0);
    for piece in input.chunks(size) {
        let (used, values) = reader.receive(piece)?;
        at += used;
        if let Some(values) = values {
            return Ok(Some((at, values)));
        }
        assert_eq!(used, piece.len(), "input was left lying");
    }
    Ok(None)
}

/// Variables: `data` as a list of pairs, which is sent and read again.
pub fn fuzz_params(data: &[u8]) {
    let mut params = Params::new(false);
    let mut sent = Vec::new();
    for (name, value) in Pairs::new(data).map_while(Result::ok) {
        match params.add(name, value) {
            Ok(()) => sent.push((name, value)),
            Err(DoesNotFit) => {
                // Both lengths take at least a byte.
                assert!(name.len() + value.len() + 2 + 3 > limits::FASTCGI_PARAMS_RECORD_BYTES);
            }
        }
    }
    let (request, _) = params.finish();
    let (mut responder, mut at) = (Responder::default(), 0);
    loop {
        let received = responder.receive(&request[at..]);
        let Ok((used, event)) = received else { panic!("{received:?}") };
        at += used;
        match event {
            Some(responder::ServerEvent::Params) => break,
            Some(responder::ServerEvent::Begin(_)) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(at, request.len());
    let read: Result<Vec<_>, _> = responder.params().collect();
    assert_eq!(read, Ok(sent));
}

/// A head of a script: `data` whole, and in pieces of the size that the first byte selects.
pub fn fuzz_script_head(data: &[u8]) {
    let Some((&size, input)) = data.split_first() else { return };
    let whole = parse(input, input.len().max(1));
    assert_eq!(parse(input, usize::from(size) + 1), whole, "a split changes the head");
    match whole {
        Ok((head, used)) => {
            assert!(used <= input.len().min(limits::SCRIPT_HEAD_BYTES));
            assert_eq!(input[used - 1], b'\n');
            check(&head, used);
        }
        Err(fault) => {
            assert!(fault.status().is_error());
            assert!(!fault.message(b"x.cgi").is_empty());
        }
    }
}

fn check(head: &ScriptHead, used: usize) {
    assert!(head.status() >= Status::OK);
    let line = head.status.as_ref().map(|status| status.line().into_owned());
    let line = line.unwrap_or(b"200 OK".to_vec());
    assert!(line.len() >= 4 && line[3] == b' ' && scan::is_field_content(&line));
    let mut bytes = 0;
    for (name, value) in [&head.lasting, &head.fields, &head.hop_by_hop].into_iter().flatten() {
        assert!(scan::is_token(name) && scan::is_field_content(value));
        assert!(!name.eq_ignore_ascii_case(b"Transfer-Encoding"));
        bytes += name.len() + value.len();
    }
    assert!(head.content_type.as_ref().is_none_or(|value| scan::is_field_content(value)));
    // Each line has a colon and an end, which is what joining two of them takes.
    assert!(bytes <= used, "{bytes} of {used}");
    let location = head.fields.iter().find(|field| field.0.eq_ignore_ascii_case(b"Location"));
    assert!(head.redirect().is_none() || location.is_some());
}

/// The head and where it ends.
fn parse(input: &[u8], size: usize) -> Result<(ScriptHead, usize), ScriptFault> {
    let (mut parser, mut at) = (ScriptHeadParser::new(), 0);
    for piece in input.chunks(size) {
        match parser.advance(piece)? {
            None => at += piece.len(),
            Some(Complete { head, used }) => return Ok((head, at + used)),
        }
    }
    Err(parser.end_of_output())
}
