//! Response heads and canned pages.

use http1::*;
use message::{BodyLength, Status};

fn head(write: impl FnOnce(HeadWriter<'_>) -> HeadWriter<'_>) -> String {
    let mut out = b"kept".to_vec();
    write(HeadWriter::start(&mut out, Status::OK)).end();
    let text = String::from_utf8(out).expect("ASCII");
    let text = text.strip_prefix("keptHTTP/1.1 200 OK\r\n").expect("status line");
    text.strip_suffix("\r\n").expect("empty line").to_owned()
}

#[test]
fn fields() {
    let text = head(|head| head.field("A", b"b c").number("N", 0).number("M", u64::MAX));
    assert_eq!(text, "A: b c\r\nN: 0\r\nM: 18446744073709551615\r\n");
}

#[test]
fn cve_35_fields_that_would_split_the_response_are_left_out() {
    let values: &[&[u8]] = &[b"a\rb", b"a\nb", b"a\0b", b"\r\n\r\nHTTP/1.1 200", b"\n"];
    for value in values {
        assert_eq!(head(|head| head.field("A", value)), "", "{}", value.escape_ascii());
    }
    for name in ["", "A B", "A:", "A\r\nB", "\u{e9}"] {
        assert_eq!(head(|head| head.field(name, b"x")), "", "{name:?}");
    }
}

#[test]
fn chunks_are_framed_as_they_are_read() {
    for length in [1usize, 9, 15, 16, 255, 256, 4096, 70_000] {
        let mut out = Vec::new();
        chunk_start(length as u64, &mut out);
        assert_eq!(out, format!("{length:x}\r\n").into_bytes());
        out.resize(out.len() + length, b'x');
        out.extend([CHUNK_END, LAST_CHUNK].concat());
        let (mut decoder, mut data, mut at) = (BodyDecoder::new(BodyLength::Unknown, 0), 0, 0);
        loop {
            let step = decoder.decode(&out[at..]).expect("well framed");
            data += step.data.len();
            at += step.used;
            if step.done {
                break;
            }
        }
        assert_eq!((data, at), (length, out.len()));
    }
    let mut longest = Vec::new();
    chunk_start(u64::MAX, &mut longest);
    assert_eq!(longest, b"ffffffffffffffff\r\n");
    let chunked = [chunked_field()];
    assert_eq!(head(|head| head.fields(&chunked)), "Transfer-Encoding: chunked\r\n");
}

#[test]
fn persistence_fields_are_those_of_httpd() {
    let text = |persist: Persist| {
        let written = head(|head| head.persist(persist, 5));
        let fields: Vec<_> = persist.fields(5).collect();
        assert_eq!(head(|head| head.fields(&fields)), written);
        written
    };
    assert_eq!(text(Persist::Close), "Connection: close\r\n");
    assert_eq!(text(Persist::Keep { named: false, remaining: Some(3) }), "");
    assert_eq!(
        text(Persist::Keep { named: true, remaining: Some(100) }),
        "Keep-Alive: timeout=5, max=100\r\nConnection: Keep-Alive\r\n"
    );
    assert_eq!(
        text(Persist::Keep { named: true, remaining: None }),
        "Keep-Alive: timeout=5\r\nConnection: Keep-Alive\r\n"
    );
}

fn page(code: u16, facts: &PageFacts<'_>) -> String {
    let mut out = Vec::new();
    error_page(Status::new(code).expect("three digits"), facts, &mut out);
    String::from_utf8(out).expect("ASCII")
}

const START: &str = "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\" \
                     \"http://www.w3.org/TR/html4/strict.dtd\">\n<html><head>\n<title>";

/// Whole pages as httpd 2.4.71 sent them.
#[test]
fn whole_pages() {
    let facts = PageFacts { method: b"GET", ..PageFacts::default() };
    assert_eq!(
        page(404, &facts),
        format!(
            "{START}404 Not Found</title>\n</head><body>\n<h1>Not Found</h1>\n\
             <p>The requested URL was not found on this server.</p>\n</body></html>\n"
        )
    );
    assert_eq!(
        page(405, &facts),
        format!(
            "{START}405 Method Not Allowed</title>\n</head><body>\n<h1>Method Not Allowed</h1>\n\
             <p>The requested method GET is not allowed for this URL.</p>\n</body></html>\n"
        )
    );
    assert_eq!(
        page(414, &facts),
        format!(
            "{START}414 Request-URI Too Long</title>\n</head><body>\n<h1>Request-URI Too Long</h1>\
             \n<p>The requested URL's length exceeds the capacity\nlimit for this server.<br />\n\
             </p>\n</body></html>\n"
        )
    );
}

/// Code and bytes.
const PAGE_LENGTHS: &[(u16, usize)] = &[
    (301, 262),
    (302, 238),
    (303, 261),
    (305, 304),
    (307, 264),
    (308, 264),
    (400, 266),
    (401, 421),
    (402, 557),
    (403, 239),
    (404, 236),
    (405, 260),
    (406, 289),
    (407, 455),
    (408, 261),
    (409, 541),
    (410, 322),
    (411, 278),
    (412, 273),
    (413, 355),
    (414, 288),
    (415, 303),
    (416, 354),
    (417, 352),
    (421, 362),
    (422, 325),
    (423, 317),
    (424, 340),
    (426, 425),
    (428, 255),
    (429, 267),
    (431, 313),
    (451, 289),
    (500, 567),
    (501, 242),
    (502, 272),
    (503, 339),
    (504, 287),
    (505, 577),
    (507, 429),
    (508, 272),
    (510, 287),
    (511, 289),
];

/// Lengths of the pages httpd 2.4.71 sent for `GET` with `ServerAdmin me@example.org`.
#[test]
fn page_lengths() {
    let facts = PageFacts {
        method: b"GET",
        location: Some(b"http://e.org/a"),
        admin: Some(b"me@example.org"),
        ..PageFacts::default()
    };
    for (code, len) in PAGE_LENGTHS {
        assert_eq!(page(*code, &facts).len(), *len, "{code}");
    }
}

#[test]
fn cve_49_client_bytes_are_escaped() {
    let facts = PageFacts {
        method: b"<M>",
        location: Some(b"http://e.org/\"><script>&"),
        expect: Some(b"<E>"),
        admin: Some(b"<A>"),
        ..PageFacts::default()
    };
    for code in 100..=599 {
        let page = page(code, &facts);
        for piece in ["<M>", "<E>", "<A>", "<script>"] {
            assert!(!page.contains(piece), "{code} {piece}");
        }
    }
    assert!(page(301, &facts).contains("http://e.org/&quot;&gt;&lt;script&gt;&amp;"));
    assert!(page(417, &facts).contains("Expect: &lt;E&gt;\n"));
}

#[test]
fn codes_without_a_phrase_are_shown_as_500() {
    let facts = PageFacts::default();
    assert_eq!(page(599, &facts), page(500, &facts));
    assert!(page(500, &facts).contains("[no address given]"));
}
