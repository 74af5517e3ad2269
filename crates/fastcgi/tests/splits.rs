//! Properties: no input panics, no split of the input changes the result, what is written can be
//! read. The checks themselves are the `fuzz_*` functions of the crate.

use fastcgi::record::{RecordHeader, RecordKind};
use fastcgi::*;
use proptest::prelude::*;

/// Records that mostly are what they should be, so that more than the first one is reached.
fn records() -> impl Strategy<Value = Vec<u8>> {
    let id = prop_oneof![20 => Just(1_u16), 3 => Just(0), 1 => any::<u16>()];
    let content = prop_oneof![
        3 => Just(Vec::new()),
        3 => proptest::collection::vec(any::<u8>(), 0..40),
        1 => Just(b"\0\x01\x01\0\0\0\0\0".to_vec()),
    ];
    let padding = prop_oneof![3 => Just(0_u8), 1 => 0..20_u8];
    let record = (0..12_u8, id, content, padding).prop_map(|(kind, id, content, padding)| {
        let length = content.len() as u16;
        let header = RecordHeader {
            padding_bytes: padding,
            ..RecordHeader::new(RecordKind(kind), id, length)
        };
        [&header.encode(), &content[..], &vec![7; padding.into()]].concat()
    });
    let tail = proptest::collection::vec(any::<u8>(), 0..20);
    (proptest::collection::vec(record, 0..12), tail)
        .prop_map(|(records, tail)| [records.concat(), tail].concat())
}

/// Variables with lengths of one byte and of four.
fn params() -> impl Strategy<Value = Params> {
    let pair = (0..140_usize, 0..140_usize, any::<u8>());
    proptest::collection::vec(pair, 0..8).prop_map(|pairs| {
        let mut params = Params::new(true);
        for (name, value, byte) in pairs {
            let fits = params.add(&vec![byte; name], &vec![!byte; value]);
            assert_eq!(fits, Ok(()));
        }
        params
    })
}

/// What a server sends, in the right order.
fn request() -> impl Strategy<Value = Vec<u8>> {
    let body = proptest::collection::vec(any::<u8>(), 0..100);
    (params(), body, records()).prop_map(|(params, body, behind)| {
        let (mut request, mut exchange) = params.finish();
        exchange.stdin(&mut request, &body);
        request.extend(exchange.end_stdin());
        request.extend(behind);
        request
    })
}

/// Pieces of heads that matter.
const PIECES: &[&str] = &[
    "Content-Type: text/html\r\n",
    "Status: 404 Not Here\r\n",
    "Status: 299\n",
    "Status: ",
    "Location: /a\n",
    "Location: http://a/\n",
    "Set-Cookie: a=1\n",
    "Transfer-Encoding: chunked\n",
    "Content-Length: 5\n",
    "Last-Modified: x\n",
    "Connection: close\n",
    "X: 1\n",
    "x: 2\r\n",
    "\n",
    "\r\n",
    "\r",
    ":",
    " ",
    "\0",
    "\x01",
    "99",
    "no colon\n",
    "0123456789",
];

fn head() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(proptest::sample::select(PIECES), 0..16)
        .prop_map(|pieces| pieces.concat().into_bytes())
}

/// Long heads of lines near the bounds.
fn long_head() -> impl Strategy<Value = Vec<u8>> {
    let line = (prop_oneof![0..40_usize, 8180..8195_usize], proptest::bool::ANY);
    proptest::collection::vec(line, 0..12).prop_map(|lines| {
        let line = |(length, cr): (usize, bool)| {
            let end: &[u8] = if cr { b"\r\n" } else { b"\n" };
            [b"X:", &vec![b'x'; length][..], end].concat()
        };
        lines.into_iter().flat_map(line).collect()
    })
}

fn with_size(size: u8, input: &[u8]) -> Vec<u8> {
    [&[size], input].concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn records_of_all_kinds(size in 0_u8..20, input in records()) {
        fuzz_records(&with_size(size, &input));
    }

    #[test]
    fn whole_requests(size in 0_u8..60, input in request()) {
        fuzz_records(&with_size(size, &input));
    }

    #[test]
    fn heads_of_scripts(size in 0_u8..20, input in head()) {
        fuzz_script_head(&with_size(size, &input));
    }

    #[test]
    fn variables(params in params()) {
        // The content of the one record, if there is one.
        let (request, _) = params.finish();
        fuzz_params(request.get(24..request.len() - 8).unwrap_or_default());
    }

    #[test]
    fn random_bytes(input: Vec<u8>) {
        fuzz_records(&input);
        fuzz_params(&input);
        fuzz_script_head(&input);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn long_heads_of_scripts(size: u8, input in long_head()) {
        fuzz_script_head(&with_size(size, &input));
    }

    /// Variables near the bound of a record.
    #[test]
    fn long_variables(lengths in proptest::collection::vec(0..20_000_usize, 0..6)) {
        let pair = |length: usize| {
            let value = length as u32 | 0x8000_0000;
            [b"\x01", &value.to_be_bytes()[..], b"N", &vec![b'v'; length]].concat()
        };
        let list: Vec<u8> = lengths.into_iter().flat_map(pair).collect();
        fuzz_params(&list);
    }
}
