//! The waterfall of one page as HAR 1.2, which the tools of browsers import.

use super::reference::{ResourceKind, find};
use crate::date;
use http1::OwnedAnswerHead;
use serde_json::{Value, json};

/// How one page was loaded. Moments are nanoseconds of one clock.
#[derive(Clone, Debug)]
pub struct Waterfall {
    /// The page.
    pub url: String,
    /// When the load of the page began, in microseconds since 1970.
    pub begun_unix_us: i64,
    /// When the load of the page began, on the clock of all the moments here.
    pub begun_ns: u64,
    /// When the page itself had come.
    pub content_ns: u64,
    /// When everything had.
    pub end_ns: u64,
    /// What was fetched, in the order in which it ended.
    pub steps: Vec<HarEntry>,
}

/// One request for a page and its answer.
#[derive(Clone, Debug)]
pub struct HarEntry {
    /// What was asked for.
    pub url: String,
    /// What the page needs it for.
    pub kind: ResourceKind,
    /// When the need for it became known.
    pub found_ns: u64,
    /// When the request had a connection, or began to make one.
    pub begun_ns: u64,
    /// Nanoseconds that it took to connect, if the request made a connection of its own.
    pub connect_ns: Option<u64>,
    /// When the request was sent.
    pub sent_ns: u64,
    /// When the answer began.
    pub first_byte_ns: u64,
    /// When the answer ended.
    pub end_ns: u64,
    /// A number for the connection.
    pub connection: u64,
    /// The request.
    pub request: Vec<u8>,
    /// The head of the answer.
    pub head: OwnedAnswerHead,
    /// Bytes of the answer, framing included.
    pub received_bytes: u64,
    /// Bytes of content as they came.
    pub body_bytes: u64,
}

/// The waterfall as one object of JSON.
pub fn har(waterfall: &Waterfall) -> String {
    let mut steps: Vec<&HarEntry> = waterfall.steps.iter().collect();
    steps.sort_by_key(|step| (step.begun_ns, step.found_ns));
    let ms = |ns: u64| ms(ns.saturating_sub(waterfall.begun_ns));
    let value = json!({ "log": {
        "version": "1.2",
        "creator": { "name": "trivet bench", "version": env!("CARGO_PKG_VERSION") },
        "pages": [{
            "startedDateTime": date::iso(waterfall.begun_unix_us),
            "id": "page_1",
            "title": waterfall.url,
            "pageTimings": {
                "onContentLoad": ms(waterfall.content_ns),
                "onLoad": ms(waterfall.end_ns),
            },
        }],
        "entries": steps.iter().map(|step| entry(step, waterfall)).collect::<Vec<Value>>(),
    }});
    let mut text = serde_json::to_string_pretty(&value).unwrap_or_default();
    text.push('\n');
    text
}

fn entry(step: &HarEntry, waterfall: &Waterfall) -> Value {
    let offset_us = step.found_ns.saturating_sub(waterfall.begun_ns) / 1000;
    let span = |from: u64, to: u64| ms(to.saturating_sub(from));
    let connect_ns = step.connect_ns.unwrap_or(0);
    // What HAR calls blocked is waiting in the browser: for a free connection, as there are few to
    // each server. Connecting is shown apart, and `connect` has TLS in it, so that `ssl` has no
    // figure (-1). Parts have to add up to `time`: importers draw them one behind the other.
    let blocked_ns = step.sent_ns.saturating_sub(step.found_ns).saturating_sub(connect_ns);
    json!({
        "pageref": "page_1",
        "startedDateTime": date::iso(waterfall.begun_unix_us.saturating_add_unsigned(offset_us)),
        "time": span(step.found_ns, step.end_ns),
        "request": request(step),
        "response": response(step),
        "cache": {},
        "timings": {
            "blocked": ms(blocked_ns),
            "dns": -1,
            "connect": step.connect_ns.map_or(json!(-1), |ns| json!(ms(ns))),
            "ssl": -1,
            "send": 0,
            "wait": span(step.sent_ns, step.first_byte_ns),
            "receive": span(step.first_byte_ns, step.end_ns),
        },
        "connection": step.connection.to_string(),
        "_resourceType": step.kind.name(),
    })
}

fn request(step: &HarEntry) -> Value {
    let end = find(&step.request, b"\r\n\r\n").unwrap_or(step.request.len());
    let head = String::from_utf8_lossy(&step.request[..end]);
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let method = words.next().unwrap_or_default();
    let version = words.nth(1).unwrap_or("HTTP/1.1");
    let fields: Vec<Value> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect();
    let query = step.url.split_once('?').map_or("", |parts| parts.1);
    let query: Vec<Value> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect();
    json!({
        "method": method,
        "url": step.url,
        "httpVersion": version,
        "cookies": [],
        "headers": fields,
        "queryString": query,
        "headersSize": (end + 4).min(step.request.len()),
        "bodySize": step.request.len().saturating_sub(end + 4),
    })
}

fn response(step: &HarEntry) -> Value {
    let head = step.head.bytes();
    if head.is_empty() {
        // A status of 0 is how browsers write down that there was none.
        return json!({
            "status": 0, "statusText": "", "httpVersion": "", "cookies": [], "headers": [],
            "content": { "size": 0, "mimeType": "" }, "redirectURL": "", "headersSize": -1,
            "bodySize": -1,
        });
    }
    let answer = step.head.view();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let field = |name: &[u8]| answer.get_by_name(name).map(text).unwrap_or_default();
    let fields: Vec<Value> = answer
        .fields()
        .map(|(name, value)| json!({ "name": text(name), "value": text(value) }))
        .collect();
    json!({
        "status": answer.status(),
        "statusText": text(answer.reason()),
        "httpVersion": text(head.get(..8).unwrap_or_default()),
        "cookies": [],
        "headers": fields,
        "content": { "size": step.body_bytes, "mimeType": field(b"content-type") },
        "redirectURL": field(b"location"),
        "headersSize": head.len(),
        "bodySize": step.received_bytes.saturating_sub(head.len() as u64),
    })
}

/// Milliseconds with their microseconds.
fn ms(ns: u64) -> f64 {
    (ns / 1000) as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use http1::{AnswerParser, HeadLimits};

    fn head(text: &[u8]) -> OwnedAnswerHead {
        let (mut head, mut parser) = (OwnedAnswerHead::default(), AnswerParser::new());
        parser.advance(text, &HeadLimits::OF_ANSWERS).unwrap();
        head.copy_from(&parser.answer(text));
        head
    }

    #[test]
    fn times_of_an_entry_add_up() {
        let step = HarEntry {
            url: "http://a/b?c=d&e".to_owned(),
            kind: ResourceKind::Image,
            found_ns: 1_000_000,
            begun_ns: 2_000_000,
            connect_ns: Some(500_000),
            sent_ns: 2_500_000,
            first_byte_ns: 4_000_000,
            end_ns: 9_000_000,
            connection: 3,
            request: b"GET /b?c=d&e HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            head: head(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n"),
            received_bytes: 144,
            body_bytes: 100,
        };
        let broken = HarEntry { head: OwnedAnswerHead::default(), ..step.clone() };
        let waterfall = Waterfall {
            url: "http://a/".to_owned(),
            begun_unix_us: 0,
            begun_ns: 0,
            content_ns: 1_000_000,
            end_ns: 9_000_000,
            steps: vec![step, broken],
        };
        let log: Value = serde_json::from_str(&har(&waterfall)).unwrap();
        let log = &log["log"];
        let entry = &log["entries"][0];
        assert_eq!(log["pages"][0]["pageTimings"]["onLoad"], 9.0);
        assert_eq!(entry["startedDateTime"], "1970-01-01T00:00:00.001000Z");
        let parts = ["blocked", "connect", "send", "wait", "receive"];
        let sum: f64 = parts.iter().map(|part| entry["timings"][part].as_f64().unwrap()).sum();
        assert!((sum - entry["time"].as_f64().unwrap()).abs() < 1e-9, "{entry}");
        assert_eq!(entry["request"]["queryString"][1]["name"], "e");
        assert_eq!(entry["response"]["content"]["mimeType"], "image/png");
        assert_eq!(entry["response"]["bodySize"], 100);
        assert_eq!(log["entries"][1]["response"]["status"], 0);
    }
}
