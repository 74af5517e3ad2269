//! What filters do to a response: heads as Apache 2.4.71 sent them, and content that comes back as
//! it was.

mod proxied;

use super::SETTINGS;
use super::*;
use config::directive::{ModuleDirectives, row};
use config::{Args, Scope};
use flate2::read::MultiGzDecoder;
use server::accounting::TimeSpent;
use server::response::{Body, BodyPiece, BodySource};
use server::site::settings as site;
use std::cell::Cell;
use std::future::poll_fn;
use std::io::{self, Read};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// A future that waits for nothing, or for a source that is polled again at once.
fn run<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        let mut task = Context::from_waker(Waker::noop());
        if let Poll::Ready(value) = future.as_mut().poll(&mut task) {
            return value;
        }
    }
}

/// The directive of core that these tests need; crate `modules` has its row.
static CORE: ModuleDirectives<Builder> = ModuleDirectives {
    name: "core_module",
    file: "core.c",
    directives: &[row("SetOutputFilter", Args::One, Scope::OR_FILEINFO, "", "", set_output_filter)],
};

/// Settings from configuration text, or the errors.
fn configure(text: &str) -> Result<site::Settings, String> {
    static ALL: &[&ModuleDirectives<Builder>] = &[
        &CORE,
        &smart::MODULE.table,
        &deflate::MODULE.table,
        &brotli::MODULE.table,
        &substitute::MODULE.table,
    ];
    let index = config::DirectiveIndex::new(ALL, &[]);
    let mut builder = Builder::default();
    let tree = config::parse("t.conf", text.as_bytes(), 1);
    let found = config::apply(&tree.nodes, &index, &mut builder);
    match found.first() {
        Some(diagnostic) => Err(diagnostic.text.clone()),
        None => Ok(builder.settings().clone()),
    }
}

/// A request: its Accept-Encoding, and its environment.
#[derive(Default)]
struct Asked<'a> {
    accept: Option<&'a str>,
    env: &'a [&'a str],
    /// Whether conditions hold.
    holds: bool,
    /// Whether another server has answered.
    is_proxied: bool,
    coders: CoderBudget,
    notes: Notes,
}

fn pass(text: &str, asked: &Asked<'_>, response: Response) -> Response {
    try_pass(text, asked, response).unwrap()
}

fn try_pass(text: &str, asked: &Asked<'_>, response: Response) -> Result<Response, Failure> {
    let settings = configure(text).unwrap();
    let mut env = Table::default();
    asked.env.iter().for_each(|name| env.set(name, "1"));
    let facts = FilterFacts {
        accept_encoding: asked.accept.map(str::as_bytes),
        is_subrequest: false,
        is_initial: true,
        path: b"/page",
        proxied: &|| asked.is_proxied.then(|| Some(b"a.example".to_vec())),
        env: &env,
        holds: &|_, response| response.status == Status::OK && asked.holds,
        deflate: deflate::SERVER.of(&settings),
        inflation: *deflate::INFLATION.of(&settings),
        brotli: brotli::SETTINGS.of(&settings),
        substitute: substitute::SETTINGS.of(&settings),
        coders: &asked.coders,
        notes: &asked.notes,
        spent: &Rc::new(TimeSpent::unmeasured(0)),
        log: &|_, _, _, text| panic!("logged: {text}"),
    };
    let mut response = response;
    if response.is_canned {
        return Ok(response);
    }
    for active in line_up(SETTINGS.of(&settings), &[], &|_| true, false, facts.log) {
        run(apply(&active, &facts, &mut response))?;
    }
    Ok(response)
}

fn gzip<'a>() -> Asked<'a> {
    Asked { accept: Some("gzip"), ..Asked::default() }
}

/// A page of text that compresses well.
fn page(length: usize) -> Response {
    let text: Vec<u8> = (0..length).map(|at| b"lorem ipsum dolor "[at * at % 18]).collect();
    Response::page("text/html", text).field("ETag", "\"1-2\"").field("Accept-Ranges", "bytes")
}

fn fields(response: &Response) -> String {
    let line = |f: &message::Field| format!("{}: {}\n", f.0, String::from_utf8_lossy(&f.1));
    response.fields.iter().map(line).collect()
}

/// All bytes of a body.
fn read(body: Body) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    for piece in body.pieces {
        match piece {
            BodyPiece::Bytes(bytes) => all.extend(bytes),
            BodyPiece::File { .. } => panic!("no files here"),
            BodyPiece::Stream(mut source) => {
                while let Some(bytes) = run(poll_fn(|task| source.poll_next(task)))? {
                    all.extend(bytes);
                }
            }
        }
    }
    Ok(all)
}

fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    MultiGzDecoder::new(bytes).read_to_end(&mut out).unwrap();
    out
}

const DEFLATE: &str = "SetOutputFilter DEFLATE\n";
const AS_IT_WAS: &str = "ETag: \"1-2\"\nAccept-Ranges: bytes\n";

#[test]
fn what_is_compressed_says_so_and_comes_back() {
    for length in [69, 1000, 20_000, 65_536, 65_537, 300_000] {
        let response = pass(DEFLATE, &gzip(), page(length));
        let wanted = "ETag: \"1-2-gzip\"\nAccept-Ranges: bytes\nVary: Accept-Encoding\n\
                      Content-Encoding: gzip\n";
        assert_eq!(fields(&response), wanted);
        assert_eq!(response.body.len().is_some(), length <= 65_536, "{length}");
        let coded = read(response.body).unwrap();
        assert_eq!(&coded[..10], b"\x1f\x8b\x08\0\0\0\0\0\0\x03");
        assert!(gunzip(&coded) == read(page(length).body).unwrap(), "{length}");
    }
    for length in [0, 1, 1000, 300_000] {
        let asked = Asked { accept: Some("br"), ..Asked::default() };
        let response = pass("SetOutputFilter BROTLI_COMPRESS", &asked, page(length));
        assert!(fields(&response).starts_with("ETag: \"1-2-br\"\n"));
        let mut out = Vec::new();
        let coded = read(response.body).unwrap();
        ::brotli::Decompressor::new(&coded[..], 4096).read_to_end(&mut out).unwrap();
        assert!(out == read(page(length).body).unwrap(), "{length}");
    }
}

#[test]
fn what_is_left_alone_says_what_httpd_says() {
    let varies = format!("{AS_IT_WAS}Vary: Accept-Encoding\n");
    let none = Asked::default;
    let env = |name: &'static [&'static str]| Asked { env: name, ..gzip() };
    let narrow = "SetOutputFilter DEFLATE\nDeflateWindowSize 8\n";
    for (why, text, asked, response, wanted) in [
        ("nothing accepted", DEFLATE, none(), page(100), varies.as_str()),
        ("too small", DEFLATE, gzip(), page(68), AS_IT_WAS),
        ("no-gzip", DEFLATE, env(&["no-gzip"]), page(100), AS_IT_WAS),
        ("no filter", "", gzip(), page(100), AS_IT_WAS),
        ("another type", "AddOutputFilterByType DEFLATE text/css", gzip(), page(100), AS_IT_WAS),
        (
            "no content",
            DEFLATE,
            gzip(),
            Response { status: Status::NO_CONTENT, ..page(100) },
            AS_IT_WAS,
        ),
        ("our page", DEFLATE, gzip(), Response { is_canned: true, ..page(100) }, AS_IT_WAS),
    ] {
        let length = response.body.len();
        let response = pass(text, &asked, response);
        assert_eq!(fields(&response), wanted, "{why}");
        assert_eq!(response.body.len(), length, "{why}");
    }
    // zlib takes no smaller window than 9 for the raw format: httpd logs that, and goes on.
    assert!(deflate::Gzip::new(deflate::SERVER.of(&configure(narrow).unwrap())).is_none());
    let partial = page(100).field("Content-Range", "bytes 0-99/200");
    assert!(!fields(&pass(DEFLATE, &gzip(), partial)).contains("Vary"));
    let coded = page(100).field("Content-Encoding", "x-gzip");
    assert!(!fields(&pass(DEFLATE, &gzip(), coded)).contains("Vary"));
}

#[test]
fn the_environment_decides() {
    let plain = || Response { content_type: Some("text/plain".into()), ..page(100) };
    let only = Asked { env: &["gzip-only-text/html"], ..gzip() };
    assert_eq!(fields(&pass(DEFLATE, &only, plain())), AS_IT_WAS);
    assert!(fields(&pass(DEFLATE, &only, page(100))).contains("gzip\n"));
    let forced = Asked { env: &["force-gzip"], ..Asked::default() };
    assert!(fields(&pass(DEFLATE, &forced, plain())).contains("Content-Encoding: gzip\n"));
    let no_brotli = Asked { accept: Some("br"), env: &["no-brotli"], ..Asked::default() };
    assert_eq!(fields(&pass("SetOutputFilter BROTLI_COMPRESS", &no_brotli, page(9))), AS_IT_WAS);
}

#[test]
fn the_first_filter_that_the_client_takes_is_the_only_one() {
    let both = "SetOutputFilter BROTLI_COMPRESS;DEFLATE";
    for (accept, coding) in [("gzip, br", "br"), ("br;q=0, gzip", "gzip")] {
        let asked = Asked { accept: Some(accept), ..Asked::default() };
        let response = pass(both, &asked, page(100));
        assert_eq!(response.get("Content-Encoding"), Some(coding.as_bytes()));
        assert_eq!(response.get("Vary"), Some(&b"Accept-Encoding"[..]));
    }
}

#[test]
fn a_304_has_its_fields_changed_by_brotli_alone() {
    let response = || Response { body: Body::default(), status: Status::NOT_MODIFIED, ..page(0) };
    assert_eq!(fields(&pass(DEFLATE, &gzip(), response())), AS_IT_WAS);
    let asked = Asked { accept: Some("br"), ..Asked::default() };
    let changed = pass("SetOutputFilter BROTLI_COMPRESS", &asked, response());
    assert!(fields(&changed).ends_with("Vary: Accept-Encoding\nContent-Encoding: br\n"));
    assert_eq!(changed.body.len(), Some(0));
}

#[test]
fn entity_tags_are_altered_as_told() {
    for (how, tag) in
        [("AddSuffix", Some("\"1-2-gzip\"")), ("nochange", Some("\"1-2\"")), ("Remove", None)]
    {
        let text = format!("{DEFLATE}DeflateAlterEtag {how}\n");
        let response = pass(&text, &gzip(), page(100));
        assert_eq!(response.get("ETag"), tag.map(str::as_bytes), "{how}");
    }
}

#[test]
fn smart_filters_look_at_type_status_and_condition() {
    let is_coded = |text: &str, response: Response, env: &[&str]| {
        let asked = Asked { env, ..gzip() };
        pass(text, &asked, response).get("Content-Encoding").is_some()
    };
    let html = "AddOutputFilterByType DEFLATE text/plain text/html";
    assert!(is_coded(html, page(100), &[]));
    let missing = || Response { status: Status::NOT_FOUND, ..page(100) };
    assert!(!is_coded(html, missing(), &[]));
    assert!(is_coded(html, missing(), &["filter-errordocs"]));
    assert!(is_coded(DEFLATE, missing(), &[]), "SetOutputFilter looks at nothing");
    let chosen = "FilterProvider f DEFLATE \"-n '%{REMOTE_USER}'\"\nFilterChain f\n";
    for holds in [true, false] {
        let response = pass(chosen, &Asked { holds, ..gzip() }, page(100));
        assert_eq!(response.get("Content-Encoding").is_some(), holds);
    }
    let flagged = format!("{chosen}FilterProtocol f DEFLATE change=yes;cache=no\n");
    let response =
        pass(&flagged, &Asked { holds: true, ..gzip() }, page(100).field("Last-Modified", "x"));
    assert_eq!(response.get("ETag"), None);
    assert_eq!(response.get("Last-Modified"), None);
    assert_eq!(response.get("Cache-Control"), Some(&b"no-cache"[..]));
}

#[test]
fn sizes_are_noted() {
    let text = format!(
        "{DEFLATE}DeflateFilterNote Input in\nDeflateFilterNote Output out\nDeflateFilterNote r\n"
    );
    for length in [1000, 100_000] {
        let asked = gzip();
        let coded = read(pass(&text, &asked, page(length)).body).unwrap().len() - 18;
        let note = |name: &str, value: usize| (name.to_owned(), value.to_string());
        let ratio = note("r", coded * 100 / length);
        assert_eq!(*asked.notes.borrow(), [note("in", length), note("out", coded), ratio]);
    }
}

#[test]
fn inflate_undoes_what_was_done_before() {
    let original = read(page(50_000).body).unwrap();
    let coded = read(pass(DEFLATE, &gzip(), page(50_000)).body).unwrap();
    let packed = |bytes: Vec<u8>| {
        Response { body: Body::bytes(bytes), ..page(0) }.field("Content-Encoding", "x-gzip")
    };
    let inflate = "SetOutputFilter INFLATE";
    let response = pass(inflate, &gzip(), packed(coded.clone()));
    assert_eq!(fields(&response), "ETag: \"1-2-gunzip\"\nAccept-Ranges: bytes\n");
    assert!(read(response.body).unwrap() == original);
    for (at, why) in [(0, "header"), (coded.len() - 1, "Length"), (coded.len() - 8, "Checksum")] {
        let mut broken = coded.clone();
        broken[at] ^= 1;
        let error = read(pass(inflate, &gzip(), packed(broken)).body).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    let cut = coded[..coded.len() - 4].to_vec();
    let error = read(pass(inflate, &gzip(), packed(cut)).body).unwrap_err();
    assert!(error.to_string().contains("Validation"), "{error}");
}

/// Inflate `coded` in pieces of `size` bytes.
fn inflate_in_pieces(coded: &[u8], size: usize) -> io::Result<Vec<u8>> {
    let mut coder =
        deflate::Gunzip::new(&deflate::HostSettings::default(), deflate::Inflation::default());
    let mut out = Vec::new();
    coded.chunks(size).try_for_each(|piece| coder.write(piece, &mut out))?;
    coder.finish(&mut out)?;
    Ok(out)
}

#[test]
fn any_header_and_any_split_of_gzip_is_read() {
    let coded = read(pass(DEFLATE, &gzip(), page(500)).body).unwrap();
    let extras = [&b"\x02\x00ab"[..], b"name\0", b"comment\0", b"\x12\x34"].concat();
    let with_all = [&coded[..3], &[2 + 4 + 8 + 16], &coded[4..10], &extras, &coded[10..]].concat();
    let behind = [&coded[..], b"what comes behind is dropped"].concat();
    for whole in [&coded, &with_all, &behind] {
        for size in [1, 2, 3, 7, 11, 100, 1000] {
            assert!(inflate_in_pieces(whole, size).unwrap() == read(page(500).body).unwrap());
        }
    }
}

#[test]
fn broken_gzip_is_an_error_and_nothing_else() {
    let coded = read(pass(DEFLATE, &gzip(), page(500)).body).unwrap();
    for at in 0..coded.len() {
        assert!(inflate_in_pieces(&coded[..at], 13).is_err(), "cut at {at}");
        for bit in 0..8 {
            let mut broken = coded.clone();
            broken[at] ^= 1 << bit;
            // Time, flags of the compressor and system do not matter; of the rest most bits do.
            let _ = inflate_in_pieces(&broken, 13);
        }
    }
}

#[test]
fn a_few_bytes_that_become_very_many_are_refused() {
    let zeros = Response::page("text/html", vec![0; 4_000_000]);
    let bomb = read(pass(DEFLATE, &gzip(), zeros).body).unwrap();
    assert!(bomb.len() < 6_000, "{}", bomb.len());
    let packed = Response::page("x", bomb).field("Content-Encoding", "gzip");
    let BodyPiece::Stream(mut source) =
        pass("SetOutputFilter INFLATE", &gzip(), packed).body.pieces.remove(0)
    else {
        panic!("its length is not known")
    };
    let mut made = 0;
    let error = loop {
        match run(poll_fn(|task| source.poll_next(task))) {
            Ok(bytes) => made += bytes.expect("it is refused before it ends").len(),
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("ratio is larger"), "{error}");
    assert!(made < 100_000, "{made}");
}

/// Words that come one by one, with nothing between them.
struct Words(Vec<&'static str>, Rc<Cell<usize>>);

impl BodySource for Words {
    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>> {
        self.1.set(self.1.get() + 1);
        match self.0.pop() {
            Some("") => Poll::Pending,
            word => Poll::Ready(Ok(word.map(|word| word.as_bytes().to_vec()))),
        }
    }
}

#[test]
fn a_slow_source_is_sent_on_without_waiting_for_more() {
    const LONG: &str = "long enough to be worth it: long enough to be worth it, certainly so";
    let polls = Rc::new(Cell::new(0));
    let words = Words(vec!["end", "", LONG, "", LONG], polls.clone());
    let response = Response { body: Body::stream(words), ..page(0) };
    let response = pass(DEFLATE, &gzip(), response);
    let Some(BodyPiece::Stream(mut source)) = response.body.pieces.into_iter().next() else {
        panic!("its length is not known")
    };
    let mut seen = Vec::new();
    let mut next = || run(poll_fn(|task| source.poll_next(task))).unwrap();
    while polls.get() < 4 {
        seen.extend(next().unwrap());
    }
    let mut decoder = flate2::Decompress::new(false);
    let mut out = Vec::with_capacity(1000);
    decoder.decompress_vec(&seen[10..], &mut out, flate2::FlushDecompress::Sync).unwrap();
    assert_eq!(out, [LONG, LONG].concat().as_bytes(), "before the end has come");
    while let Some(bytes) = next() {
        seen.extend(bytes);
    }
    assert_eq!(gunzip(&seen), [LONG, LONG, "end"].concat().as_bytes());
}

#[test]
fn with_too_many_coders_at_work_the_next_response_is_sent_as_it_is() {
    let asked = gzip();
    let mut slow = Vec::new();
    loop {
        let response = pass(DEFLATE, &asked, page(70_000));
        if response.get("Content-Encoding").is_none() {
            assert_eq!((response.get("Vary").is_some(), response.body.len()), (true, Some(70_000)));
            break;
        }
        slow.push(response);
        assert!(slow.len() < 1000);
    }
    slow.pop();
    read(slow.pop().unwrap().body).unwrap();
    for _ in 0..2 {
        slow.push(pass(DEFLATE, &asked, page(70_000)));
        assert!(slow.last().unwrap().body.len().is_none(), "there is room again");
    }
    assert!(pass(DEFLATE, &asked, page(70_000)).body.len().is_some());
}

#[test]
fn a_short_stream_is_not_compressed_and_its_length_is_known() {
    let stream = |words: &[&'static str]| {
        let words = Words(words.to_vec(), Rc::default());
        pass(DEFLATE, &gzip(), Response { body: Body::stream(words), ..page(0) })
    };
    let response = stream(&["world", "hello "]);
    assert_eq!((fields(&response).as_str(), response.body.len()), (AS_IT_WAS, Some(11)));
    // What is not there yet is not waited for.
    let response = stream(&["world", "", "hello "]);
    assert!(response.get("Content-Encoding").is_some() && response.body.len().is_none());
}

#[test]
fn mistakes_are_reported_in_the_words_of_httpd() {
    for (line, said) in [
        ("AddOutputFilterByType NOSUCH text/html", "Unknown filter provider NOSUCH"),
        ("AddOutputFilterByType DEFLATE", "AddOutputFilterByType requires at least two arguments"),
        ("FilterProvider f NOSUCH true", "Unknown filter provider NOSUCH"),
        ("FilterProtocol f change=yes", "FilterProtocol: No such filter"),
        ("FilterTrace f 1", "Undeclared smart filter f"),
        ("DeflateWindowSize 16", "DeflateWindowSize must be between 1 and 15"),
        ("DeflateMemLevel x", "DeflateMemLevel must be between 1 and 9"),
        ("DeflateCompressionLevel 0", "Compression Level must be between 1 and 9"),
        ("DeflateFilterNote a b", "Unknown note type a"),
        ("BrotliFilterNote a b", "Unknown BrotliFilterNote type 'a'"),
        ("BrotliCompressionQuality 12", "BrotliCompressionQuality must be between 0 and 11"),
    ] {
        assert_eq!(configure(line).err().as_deref(), Some(said));
    }
    assert!(configure("FilterChain nobody\nDeflateWindowSize 9x").is_ok(), "known per request");
}

#[test]
fn what_may_be_kept_ready_is_known_beforehand() {
    let kept = |text: &str, response: &Response| {
        codings(SETTINGS.of(&configure(text).unwrap()), &[], &|_| true, response)
    };
    let both = "AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html";
    assert_eq!(kept(both, &page(100)), Ok(vec![Coding::Brotli, Coding::Gzip]));
    assert_eq!(kept(both, &page(60)), Ok(vec![Coding::Brotli]));
    assert_eq!(kept(both, &Response { content_type: None, ..page(100) }), Ok(vec![]));
    let coded = page(100).field("Content-Encoding", "gzip");
    assert_eq!(kept(both, &coded), Ok(vec![]));
    assert_eq!(kept("SetOutputFilter INFLATE", &coded), Err(Uncertain));
    let chosen = "FilterProvider f DEFLATE true\nFilterChain f";
    assert_eq!(kept(chosen, &page(100)), Err(Uncertain));
    let choice = choose(&[Coding::Brotli, Coding::Gzip], Some(b"gzip, br"));
    assert_eq!(choice, Some(Coding::Brotli));
}

#[test]
fn a_line_that_is_too_long_is_no_response_if_it_is_found_in_time() {
    let text = "SetOutputFilter SUBSTITUTE\nSubstitute s/lorem/LOREM/\nSubstituteMaxLineLength 99";
    let replaced = pass(text, &Asked::default(), page(99));
    assert_eq!(fields(&replaced), AS_IT_WAS);
    assert_eq!(replaced.body.len(), Some(99));
    let failure = try_pass(text, &Asked::default(), page(100)).err().unwrap();
    assert_eq!((failure.status, failure.id), (Status::INTERNAL_SERVER_ERROR, Some(1328)));
    assert_eq!(failure.text, "Line too long, URI /page");
    // What is large is on its way by then.
    let large = pass(text, &Asked::default(), page(100_000));
    assert!(read(large.body).is_err());
}
