//! Tests of URL files.

use super::*;
use crate::plan::PlanValues;

fn load(name: &str) -> Result<Vec<u8>, String> {
    match name {
        "form.txt" | "x.json" | "data" => Ok(format!("<{name}>$(x)\n").into_bytes()),
        _ => Err(format!("{name}: no such file")),
    }
}

fn read(text: &str) -> Result<Vec<PlanEntry>, String> {
    let options = RequestDefaults { user_agent: String::new(), ..RequestDefaults::default() };
    parse("urls.txt", text, &mut Variables::default(), &options, &mut load)
        .map_err(|fault| fault.to_string())
}

/// Name, weight and body of each request.
fn rows(text: &str) -> Vec<String> {
    let entries = read(text).unwrap_or_else(|fault| panic!("{fault}"));
    let row = |entry: &PlanEntry| {
        let mut body = Vec::new();
        entry.write_body(&PlanValues::new(1, 1), &mut body);
        format!("{} {} {}", entry.weight, entry.name, String::from_utf8(body).unwrap())
    };
    entries.iter().map(|entry| row(entry).trim_end().to_owned()).collect()
}

#[test]
fn lines_of_siege_are_read() {
    let text = "# comment\n\nHOST=example.org:81\nPATH = /a/b\r\n\
        http://$(HOST)/\n${HOST}$(PATH)?x=1\n\
        https://example.org/form POST a=b&c=d e\nhttp://$(HOST)/f POST <form.txt\n\
        http://h/p PUT < data\nh/d DELETE\nh/o OPTIONS\n\
        localhost:8080/x=y#z\nh/a b c\nh/hash # comment\nh/i\tPOST\tk POST\n";
    assert_eq!(
        rows(text),
        [
            "1 GET http://example.org:81/",
            "1 GET http://example.org:81/a/b?x=1",
            "1 POST https://example.org/form a=b&c=d e",
            "1 POST http://example.org:81/f <form.txt>$(x)",
            "1 PUT http://h/p <data>$(x)",
            "1 DELETE http://h/d",
            "1 OPTIONS http://h/o",
            "1 GET http://localhost:8080/x=y",
            "1 GET http://h/a%20b%20c",
            "1 GET http://h/hash",
            "1 POST http://h/i k POST",
        ]
    );
}

#[test]
fn weights_methods_and_indented_lines_are_read() {
    let text = "5 PUT http://h/x @x.json\n  X-Y: z=1\n\tthink=0.5-2s expect=200,3xx\n\n\
        \x20 # a comment between\n  Accept:\n7 h/a\nHEAD h/b\n\
        POST h/c k=v\n  weight=0\nPROPFIND h/d\nHOST POST x\n";
    assert_eq!(
        rows(text),
        [
            "5 PUT http://h/x <x.json>$(x)",
            "7 GET http://h/a",
            "1 HEAD http://h/b",
            "0 POST http://h/c k=v",
            "1 PROPFIND http://h/d",
            "1 POST http://host/ x",
        ]
    );
    let first = &read(text).unwrap()[0];
    assert_eq!(first.think, Some(Think { from_ns: 500_000_000, to_ns: 2_000_000_000 }));
    assert!(first.expect.as_ref().is_some_and(|expect| {
        expect.allows(304) == Some(true) && expect.allows(404) == Some(false)
    }));
    let bytes = String::from_utf8(first.fixed().unwrap().to_vec()).unwrap();
    assert!(bytes.contains("Content-Type: application/json\r\n") && bytes.contains("X-Y: z=1\r\n"));
    assert!(!bytes.contains("Accept"), "an empty value takes a field away: {bytes}");
}

#[test]
fn variables_of_the_file_change_from_request_to_request() {
    let entries = read("ID = number[1,1000000]\nh/item/#{ID} POST id=$(ID)\n").unwrap();
    assert_eq!(entries[0].name, "POST http://h/item/$(ID)");
    let mut values = PlanValues::new(1, 1);
    let mut seen = Vec::new();
    for _ in 0..5 {
        let mut out = Vec::new();
        entries[0].write(&mut values, None, &mut out);
        let text = String::from_utf8(out).unwrap();
        let id = text["POST /item/".len()..].split(' ').next().unwrap().to_owned();
        assert!(text.ends_with(&format!("\r\n\r\nid={id}")));
        seen.push(id);
        values.advance();
    }
    seen.dedup();
    assert_eq!(seen.len(), 5);
}

#[test]
fn faults_name_file_line_and_the_nearest_word() {
    let rows = [
        ("h/\nftp://h/\n", "urls.txt:2:", "only http and https"),
        ("HOST=a\nh/\nh/$(HSOT)\n\n# end", "urls.txt:3:", "did you mean HOST?"),
        ("h/ POST <missing", "urls.txt:1:", "no such file"),
        ("h/\n  epxect=200", "urls.txt:2:", "did you mean expect?"),
        ("h/\n  expect=20", "urls.txt:2:", "a status"),
        ("h/\n  think=2-1s", "urls.txt:2:", "the shorter time"),
        ("h/\n  A B: x\n\n\nh/", "urls.txt:1:", "a field name"),
        ("9999999 h/", "urls.txt:1:", "a weight"),
        ("A=alpha[5,1]\nh/", "urls.txt:1:", "[min,max]"),
        ("h/ POST $(", "urls.txt:1:", "a name and )"),
    ];
    for (text, place, what) in rows {
        let fault = read(text).unwrap_err();
        assert!(fault.starts_with(place) && fault.contains(what), "{text:?}: {fault}");
    }
    assert!(read(&format!("h/{}", "x".repeat(70_000))).is_err());
    assert!(["# only\n", ""].iter().all(|text| read(text).is_ok_and(|all| all.is_empty())));
}

#[test]
fn times_to_think_have_units() {
    let rows: &[(&str, Option<(u64, u64)>)] = &[
        ("1", Some((1_000_000_000, 1_000_000_000))),
        ("10-20ms", Some((10_000_000, 20_000_000))),
        ("10ms-2s", Some((10_000_000, 2_000_000_000))),
        ("0-1s", Some((0, 1_000_000_000))),
        ("0", Some((0, 0))),
        ("", None),
        ("-", None),
        ("1-", None),
        ("x-1", None),
    ];
    for (text, expect) in rows {
        let think = Think::parse(text).ok().map(|think| (think.from_ns, think.to_ns));
        assert_eq!(think, *expect, "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text: String, more in "[a-zA-Z0-9$(){}#:=<@/ \t\n\\[\\],-]{0,80}") {
        let _ = read(&text);
        let _ = read(&more);
        let _ = read(&format!("h/\n {more}"));
    }
}
