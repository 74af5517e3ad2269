//! Rows of section "Body framing" about chunks.

mod common;
use common::{Outcome, outcome};
use http1::*;

fn chunked(body: &[u8]) -> Vec<u8> {
    [b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", body].concat()
}

/// Row id, body, its data, what is left over.
type Row = (&'static str, &'static [u8], &'static [u8], &'static [u8]);

#[test]
fn accepted_bodies() {
    let rows: &[Row] = &[
        ("own", b"0\r\n\r\n", b"", b""),
        ("own", b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\nrest", b"hello world", b"rest"),
        ("own", b"0000000000000002\r\nab\r\n0\r\n\r\n", b"ab", b""),
        ("own", b"A\r\n0123456789\r\na\r\n0123456789\r\n000\r\n\r\n", b"01234567890123456789", b""),
        ("B13", b"A    \r\n0123456789\r\n0\r\n\r\n", b"0123456789", b""),
        ("B13", b"1          \r\nx\r\n0\r\n\r\n", b"x", b""),
        ("own: extension", b"1;a=\"b\t\xe9\"\r\nx\r\n0;z\r\n\r\n", b"x", b""),
        ("own: extension", b"1 ; a\r\nx\r\n0\r\n\r\n", b"x", b""),
        ("B17", b"0\r\nX-T: 1\r\nY:\r\n\r\nrest", b"", b"rest"),
        ("B18", b"0\r\n\r\n\x00", b"", b"\x00"),
        ("own: data may be anything", b"4\r\n\r\n0\n\r\n0\r\n\r\n", b"\r\n0\n", b""),
    ];
    for (id, body, data, rest) in rows {
        let Outcome::Request(seen) = outcome(&chunked(body)) else { panic!("{id}") };
        assert_eq!((&seen.body[..], &seen.rest[..]), (*data, *rest), "{id}");
    }
}

#[test]
fn refused_bodies() {
    let rows: &[(&str, &[u8])] = &[
        ("B11", b"0x5\r\nhello\r\n0\r\n\r\n"),
        ("B11", b"+5\r\nhello\r\n0\r\n\r\n"),
        ("B11", b"-0\r\n\r\n"),
        ("B11", b"5_0\r\n"),
        ("B11", b"g\r\n"),
        ("B11", b"\r\n"),
        ("B11", b";a\r\n"),
        ("B11", b"00000000000000005\r\nhello\r\n0\r\n\r\n"),
        ("B11", b"10000000000000000\r\n"),
        ("B11", b"FFFFFFFFFFFFFFFF\r\n"),
        ("B11", b"8000000000000000\r\n"),
        ("B12", b" 5\r\nhello\r\n0\r\n\r\n"),
        ("B12", b"\t5\r\n"),
        ("B13", b"1           \r\nx\r\n0\r\n\r\n"),
        ("B13", b"1 1\r\n"),
        ("B14", b"5;\x7f\r\n"),
        ("B14", b"5;a\rb\r\n"),
        ("B14", b"5;\n"),
        ("B14", b"5\r\r;ABCD\r\n"),
        ("B14", b"5;a\0\r\n"),
        ("B15", b"5\r\nhelloX\r\n0\r\n\r\n"),
        ("B15", b"5\r\nhello0\r\n\r\n"),
        ("B15", b"5\r\nhello\rX"),
        ("B16", b"5\nhello\r\n0\r\n\r\n"),
        ("B16", b"5\r\nhello\n0\r\n\r\n"),
        ("B16", b"0\n\r\n"),
        ("B16", b"0\r\n\n"),
        ("B16", b"0\r\nX: 1\n\r\n"),
        ("B17", b"0\r\n X: 1\r\n\r\n"),
        ("B17", b"0\r\nX : 1\r\n\r\n"),
        ("B17", b"0\r\nX\r\n\r\n"),
        ("B17", b"0\r\nX: \0\r\n\r\n"),
        ("B17", b"0\r\nX: a\rb\r\n\r\n"),
        ("B17", b"0\r\n\rX"),
    ];
    for (id, body) in rows {
        let got = outcome(&chunked(body));
        assert_eq!(got, Outcome::Refused(400), "{id}: {}", body.escape_ascii());
    }
}

/// Decodes in large steps; the helper's every-split runs would be too slow for these sizes.
fn decode(limit: u64, input: &[u8]) -> Result<usize, u16> {
    let mut decoder = ChunkedDecoder::new(limit);
    let (mut at, mut data) = (0, 0);
    loop {
        let step = decoder.decode(&input[at..]).map_err(|refusal| refusal.status.code())?;
        at += step.used;
        data += step.data.len();
        if step.done {
            return Ok(data);
        }
        assert!(at < input.len(), "incomplete");
    }
}

#[test]
fn cve_47_extensions_have_a_budget_for_the_whole_body() {
    let chunk = |bytes: usize| [b"1;", &b"x".repeat(bytes)[..], b"\r\ny\r\n"].concat();
    let body = |count: usize, bytes| [&chunk(bytes).repeat(count)[..], b"0\r\n\r\n"].concat();
    let budget = message::limits::CHUNK_EXTENSION_BYTES as usize;
    assert_eq!(decode(0, &body(1, budget)), Ok(1));
    assert_eq!(decode(0, &body(1, budget + 1)), Err(400));
    assert_eq!(decode(0, &body(8, budget / 8)), Ok(8));
    assert_eq!(decode(0, &body(9, budget / 8)), Err(400));
}

#[test]
fn trailers_have_a_budget() {
    let field = b"X: 12345\r\n";
    let body = |count: usize| [b"0\r\n", &field.repeat(count)[..], b"\r\n"].concat();
    let budget = message::limits::TRAILER_BYTES as usize;
    assert_eq!(decode(0, &body(budget / field.len() - 1)), Ok(0));
    assert_eq!(decode(0, &body(budget / field.len() + 1)), Err(400));
}

#[test]
fn the_limit_counts_all_chunks_and_acts_before_the_data() {
    let ten = b"5\r\nhello\r\n5\r\nhello\r\n0\r\n\r\n";
    assert_eq!(decode(10, ten), Ok(10));
    assert_eq!(decode(9, ten), Err(413));
    assert_eq!(decode(0, ten), Ok(10));
    assert_eq!(decode(9, b"A\r\n"), Err(413));
    assert_eq!(decode(9, b"7FFFFFFFFFFFFFFF\r\n"), Err(413));
}

#[test]
fn a_decoder_that_is_done_stays_done() {
    let mut decoder = ChunkedDecoder::new(0);
    assert!(decoder.decode(b"0\r\n\r\nmore").unwrap().done);
    let again = decoder.decode(b"more").unwrap();
    assert_eq!(again, ChunkStep { used: 0, data: 0..0, done: true });
}
