//! Properties: no input panics, and no split of the input changes the result (row B26). The checks
//! themselves are the `fuzz_*` functions beside the code.

use http1::*;
use proptest::prelude::*;

/// Requests made of pieces that matter, so that more than the first line is reached.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = proptest::sample::select(
        &[
            "GET / HTTP/1.1\r\n",
            "POST /a?b HTTP/1.0\r\n",
            "Host: a\r\n",
            "Content-Length: 5\r\n",
            "Transfer-Encoding: chunked\r\n",
            "Expect: 100-continue\r\n",
            "Connection: close\r\n",
            "\r\n",
            "5\r\nhello\r\n",
            "5;a=b\r\n",
            "0\r\n",
            "X: 1\r\n",
            "hello",
            "\r",
            "\n",
            " ",
            "\t",
            ":",
            "\0",
            "x",
            "GET",
            "HTTP/1.",
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.0 404\n",
            "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
            "A : b\n",
            " folded\r\n",
            "long-line-of-more-than-sixty-four-bytes-without-any-end-to-it-at-all",
        ][..],
    );
    proptest::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat().into_bytes())
}

/// Once the reason of the refusal depended on how much came after the short line.
#[test]
fn a_short_line_is_refused_alike_whatever_follows() {
    fuzz_head(b"\0x Host: a\r\nGET / HTTP/1.1\r\n");
}

/// How headers of the PROXY protocol begin.
const PROXY_BEGINNINGS: &[&[u8]] = &[b"PROXY ", b"PROXY TCP4 ", b"\r\n\r\n\0\r\nQUIT\n", b""];

/// Pieces of headers of the PROXY protocol, binary ones too.
const PROXY_PIECES: &[&[u8]] = &[
    b"PROXY ",
    b"TCP4 ",
    b"TCP6 ",
    b"UNKNOWN",
    b"10.9.9.9 ",
    b"2001:db8::9 ",
    b"5555",
    b" ",
    b"\r\n",
    b"\r",
    b"\n",
    b"\0",
    b"\r\n\r\n\0\r\nQUIT\n",
    b"\x21\x11\0\x0c",
    b"\x21\x21\0\x24",
    b"\x20\0\0\0",
    b"\x21\x11\0\xd8",
    b"\x21\x11\xff\xff",
    b"0123456789ab",
    b"long-line-of-more-than-sixty-four-bytes-without-any-end-to-it-at-all",
];

fn proxy_pieces() -> impl Strategy<Value = Vec<u8>> {
    let begin = proptest::sample::select(PROXY_BEGINNINGS);
    let pieces = proptest::collection::vec(proptest::sample::select(PROXY_PIECES), 0..16);
    (begin, pieces).prop_map(|(begin, pieces)| [begin, &pieces.concat()].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn heads(step in 0u8..20, input in pieces()) {
        fuzz_head(&[&[step], &input[..]].concat());
    }

    #[test]
    fn answers(step in 0u8..20, input in pieces()) {
        fuzz_answer(&[&[step], &input[..]].concat());
        fuzz_answer(&[&[step], &b"HTTP/1.1 200 OK\r\n"[..], &input].concat());
    }

    #[test]
    fn proxy_protocol(input in proxy_pieces()) {
        http1::proxy_protocol::fuzz_proxy_protocol(&input);
    }

    #[test]
    fn framings(input in pieces()) {
        fuzz_framing(&input);
        fuzz_framing(&[b"POST / HTTP/1.1\r\nHost: a\r\n", &input[..]].concat());
    }

    #[test]
    fn chunks(input in pieces()) {
        fuzz_chunked(&input);
    }

    #[test]
    fn bodies(kind: u8, length in 0u8..40, input in pieces()) {
        fuzz_body(&[&[kind, length], &input[..]].concat());
    }

    #[test]
    fn random_bytes(input: Vec<u8>) {
        fuzz_answer(&input);
        fuzz_head(&input);
        fuzz_framing(&input);
        fuzz_chunked(&input);
        fuzz_body(&input);
    }
}
