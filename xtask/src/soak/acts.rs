//! What a client of the soak does: one act per connection, each of which knows every byte of the
//! answers it may get.

use super::client::SoakResponse;
use super::random::SoakRandom;
use super::ranges;
use super::site::{BIG, CHANGING, SoakPage, SoakSite};
use super::visit::{Done, SoakVisit, check, difference, get, wrong};
use std::thread::sleep;
use std::time::Duration;

/// One row: a name for the report, how often it is chosen, and what is done.
pub(super) struct Act {
    pub(super) name: &'static str,
    weight: usize,
    pub(super) run: fn(&mut SoakVisit<'_>) -> Done,
}

const fn act(name: &'static str, weight: usize, run: fn(&mut SoakVisit<'_>) -> Done) -> Act {
    Act { name, weight, run }
}

// What takes seconds is rare, or all clients would soon do nothing else.
pub(super) const ACTS: &[Act] = &[
    act("keep-alive", 8, keep_alive),
    act("close", 6, close),
    act("HTTP/1.0", 3, old),
    act("pipeline", 5, pipeline),
    act("range", 5, ranges::one),
    act("ranges", 3, ranges::several),
    act("conditional", 4, conditional),
    act("resume", 4, resume),
    act("head", 3, head),
    act("made", 4, made),
    act("changing", 8, changing),
    act("abort", 3, abort),
    act("slow reader", 1, slow_reader),
    act("slow writer", 2, slow_writer),
    act("malformed", 4, malformed),
    act("post", 4, post),
    act("expect", 2, expect),
    act("silent", 1, silent),
];

/// An act by its weight.
pub(super) fn choose(random: &mut SoakRandom) -> &'static Act {
    let sum = ACTS.iter().map(|act| act.weight).sum();
    let mut left = random.below(sum);
    for act in ACTS {
        match left.checked_sub(act.weight) {
            Some(rest) => left = rest,
            None => return act,
        }
    }
    &ACTS[0]
}

/// Several requests on one connection, with pauses between some.
fn keep_alive(visit: &mut SoakVisit<'_>) -> Done {
    let mut connection = visit.open()?;
    for _ in 0..visit.random.within(2, 20) {
        let page = visit.random.pick(&visit.site.files);
        let request = get(&page.path, "");
        let response = visit.ask(&mut connection, &request)?;
        check(&request, &response, page.status, &page.body)?;
        // With restarts going on any answer may be the last one of its connection, but it has to
        // say so: an end without a word is a broken invariant.
        if response.closes() {
            return connection.expect_end();
        }
        if visit.random.once_in(4) {
            sleep(Duration::from_millis(visit.random.within(1, 30) as u64));
        }
    }
    Ok(())
}

fn close(visit: &mut SoakVisit<'_>) -> Done {
    let mut connection = visit.open()?;
    let page = visit.random.pick(&visit.site.files);
    let request = get(&page.path, "Connection: close\r\n");
    let response = visit.ask(&mut connection, &request)?;
    check(&request, &response, page.status, &page.body)?;
    connection.expect_end()
}

fn old(visit: &mut SoakVisit<'_>) -> Done {
    let mut connection = visit.open()?;
    let page = visit.random.pick(&visit.site.files);
    let request = format!("GET {} HTTP/1.0\r\n\r\n", page.path);
    let response = visit.ask(&mut connection, &request)?;
    check(&request, &response, page.status, &page.body)?;
    connection.expect_end()
}

/// All requests at once. After an answer that closes, the rest is not answered, as it may be.
fn pipeline(visit: &mut SoakVisit<'_>) -> Done {
    let mut connection = visit.open()?;
    let count = visit.random.within(2, 12);
    let pages: Vec<&SoakPage> = (0..count).map(|_| visit.random.pick(&visit.site.files)).collect();
    let requests: Vec<String> = pages.iter().map(|page| get(&page.path, "")).collect();
    connection.send(requests.concat().as_bytes())?;
    for (page, request) in pages.iter().zip(&requests) {
        let response = connection.read(false)?;
        check(request, &response, page.status, &page.body)?;
        visit.answers += 1;
        if response.closes() {
            return connection.expect_end();
        }
    }
    connection.expect_silence()
}

/// With the validators of an answer, the next one is 304, or 412, or a whole file again.
fn conditional(visit: &mut SoakVisit<'_>) -> Done {
    let mut connection = visit.open()?;
    let page = visit.file();
    let (path, body) = (page.path.clone(), page.body.clone());
    let response = visit.ask(&mut connection, &get(&path, ""))?;
    check(&path, &response, 200, &body)?;
    let missing = || wrong(&path, "no validators");
    let etag = response.field("ETag").ok_or_else(missing)?.to_owned();
    let date = response.field("Last-Modified").ok_or_else(missing)?.to_owned();
    let rows = [
        (format!("If-None-Match: {etag}\r\n"), 304),
        (format!("If-None-Match: \"other\", {etag}\r\n"), 304),
        ("If-None-Match: \"other\"\r\n".to_owned(), 200),
        (format!("If-Modified-Since: {date}\r\n"), 304),
        ("If-Match: \"other\"\r\n".to_owned(), 412),
        ("If-Modified-Since: Sat, 01 Jan 2000 00:00:00 GMT\r\n".to_owned(), 200),
    ];
    let mut closes = response.closes();
    for (fields, status) in rows {
        if closes {
            return connection.expect_end();
        }
        let request = get(&path, &fields);
        let response = visit.ask(&mut connection, &request)?;
        let expected = if status == 200 { &body[..] } else { &response.body };
        check(&format!("{fields} on {path}"), &response, status, expected)?;
        closes = response.closes();
    }
    Ok(())
}

/// A download in two pieces with If-Range: both of one version, or the second is a whole file.
fn resume(visit: &mut SoakVisit<'_>) -> Done {
    let mut connection = visit.open()?;
    let request = get(CHANGING, "");
    let whole = visit.ask(&mut connection, &request)?;
    check_version(visit.site, &request, &whole)?;
    let etag = whole.field("ETag").unwrap_or_default();
    if whole.closes() || !etag.starts_with('"') {
        return Ok(()); // RFC 9110 section 13.1.5: a weak tag resumes nothing
    }
    let first = visit.random.below(whole.body.len());
    let request = get(CHANGING, &format!("Range: bytes={first}-\r\nIf-Range: {etag}\r\n"));
    let response = visit.ask(&mut connection, &request)?;
    match response.status {
        206 => check(&request, &response, 206, &whole.body[first..]),
        _ => check_version(visit.site, &request, &response),
    }
}

fn changing(visit: &mut SoakVisit<'_>) -> Done {
    let mut connection = visit.open()?;
    for _ in 0..visit.random.within(1, 10) {
        let request = get(CHANGING, "");
        let response = visit.ask(&mut connection, &request)?;
        check_version(visit.site, &request, &response)?;
        if response.closes() {
            return connection.expect_end();
        }
    }
    Ok(())
}

/// Any version will do, as long as it is one and whole.
fn check_version(site: &SoakSite, request: &str, response: &SoakResponse) -> Done {
    if response.status == 200 && site.versions.contains(&response.body) {
        return Ok(());
    }
    let what = format!("{}, {} bytes of no version", response.status, response.body.len());
    Err(wrong(request, &what))
}

fn head(visit: &mut SoakVisit<'_>) -> Done {
    let mut connection = visit.open()?;
    let page = visit.random.pick(&visit.site.files);
    let request = get(&page.path, "").replacen("GET", "HEAD", 1);
    let response = visit.ask(&mut connection, &request)?;
    check(&request, &response, page.status, b"")?;
    if response.field("Content-Length") != Some(&page.body.len().to_string()) {
        return Err(wrong(&request, "the length is not that of the file"));
    }
    if response.closes() {
        return connection.expect_end();
    }
    // Were a body sent, it would stand in front of this answer.
    let request = get(&page.path, "");
    let response = visit.ask(&mut connection, &request)?;
    check(&request, &response, page.status, &page.body)
}

/// Listings, redirects and error pages, as they were before anything was broken.
fn made(visit: &mut SoakVisit<'_>) -> Done {
    let mut connection = visit.open()?;
    for _ in 0..visit.random.within(1, 4) {
        let page = visit.random.pick(&visit.site.made);
        let request = get(&page.path, "");
        let response = visit.ask(&mut connection, &request)?;
        check(&request, &response, page.status, &page.body)?;
        if response.closes() {
            return connection.expect_end();
        }
    }
    Ok(())
}

/// Leaves in the middle of a download.
fn abort(visit: &mut SoakVisit<'_>) -> Done {
    read_big(visit, 3 << 20, Duration::ZERO)
}

/// Reads slowly enough that the server has to wait for room.
fn slow_reader(visit: &mut SoakVisit<'_>) -> Done {
    read_big(visit, usize::MAX, Duration::from_millis(8))
}

/// Reads the large file up to a random point below `most`, or to its end.
fn read_big(visit: &mut SoakVisit<'_>, most: usize, pause: Duration) -> Done {
    let mut connection = visit.open()?;
    let request = get(BIG, "");
    let all = &visit.site.big;
    let enough = if most < all.len() { visit.random.below(most) } else { all.len() };
    connection.send(request.as_bytes())?;
    connection.read_head()?;
    let mut at = 0;
    while at < enough {
        let bytes = connection.read_some(enough - at)?;
        if all.get(at..at + bytes.len()) != Some(&bytes[..]) {
            return Err(wrong(&request, &format!("wrong bytes from {at} on")));
        }
        at += bytes.len();
        sleep(pause);
    }
    if enough == all.len() {
        connection.expect_silence()?;
        visit.answers += 1;
    }
    Ok(())
}

/// A request in pieces of a few bytes.
fn slow_writer(visit: &mut SoakVisit<'_>) -> Done {
    let mut connection = visit.open()?;
    let page = visit.random.pick(&visit.site.files);
    let request = get(&page.path, "User-Agent: soak\r\nAccept: */*\r\nConnection: close\r\n");
    let mut rest = request.as_bytes();
    while !rest.is_empty() {
        let (piece, tail) = rest.split_at(visit.random.within(1, 20).min(rest.len()));
        connection.send(piece)?;
        rest = tail;
        sleep(Duration::from_millis(2));
    }
    let response = connection.read(false)?;
    check(&request, &response, page.status, &page.body)?;
    visit.answers += 1;
    connection.expect_end()
}

/// Requests that are none, with the status that each gets. The server closes after them, as it
/// cannot know where the next one starts.
const MALFORMED: &[(&str, u16)] = &[
    ("GARBAGE\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nName : x\r\n\r\n", 400),
    ("GET / HTTP/3.1\r\n\r\n", 400),
    ("GET /../x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", 400),
];

fn malformed(visit: &mut SoakVisit<'_>) -> Done {
    let (request, status) = visit.random.pick(MALFORMED);
    let mut connection = visit.open()?;
    let response = visit.ask(&mut connection, request)?;
    if response.status != *status {
        return Err(wrong(request, &difference(&response, *status, b"")));
    }
    if response.closes() { connection.expect_end() } else { Ok(()) }
}

/// A body of either kind, which a file does not want; the next request must be found behind it.
fn post(visit: &mut SoakVisit<'_>) -> Done {
    let mut connection = visit.open()?;
    let page = visit.random.pick(&visit.site.files);
    let body = body(visit.random);
    let request = request_with_body(&page.path, &body, visit.random);
    connection.send(&request)?;
    let response = connection.read(false)?;
    check(&format!("POST {}", page.path), &response, page.status, &page.body)?;
    visit.answers += 1;
    if response.closes() {
        return connection.expect_end();
    }
    let request = get(&page.path, "Connection: close\r\n");
    let response = visit.ask(&mut connection, &request)?;
    check(&request, &response, page.status, &page.body)?;
    connection.expect_end()
}

fn body(random: &mut SoakRandom) -> Vec<u8> {
    let most = *random.pick(&[10, 3000, 100_000]);
    let count = random.within(1, most);
    random.bytes(count)
}

fn request_with_body(path: &str, body: &[u8], random: &mut SoakRandom) -> Vec<u8> {
    let start = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n");
    if random.once_in(2) {
        let head = format!("{start}Content-Length: {}\r\n\r\n", body.len());
        return [head.as_bytes(), body].concat();
    }
    let mut bytes = format!("{start}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    for chunk in body.chunks(random.within(1, 20_000)) {
        bytes.extend(format!("{:x}\r\n", chunk.len()).bytes());
        bytes.extend(chunk);
        bytes.extend(b"\r\n");
    }
    bytes.extend(b"0\r\n\r\n");
    bytes
}

/// Sends the body only when told to go on; the server may as well answer at once.
fn expect(visit: &mut SoakVisit<'_>) -> Done {
    let mut connection = visit.open()?;
    let page = visit.random.pick(&visit.site.files);
    let body = body(visit.random);
    let request = format!(
        "POST {} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n",
        page.path,
        body.len()
    );
    connection.send(request.as_bytes())?;
    let mut response = connection.read(false)?;
    if response.status == 100 {
        connection.send(&body)?;
        response = connection.read(false)?;
    }
    check(&request, &response, page.status, &page.body)?;
    visit.answers += 1;
    connection.expect_end()
}

/// Connects, says nothing or only half of something, and leaves.
fn silent(visit: &mut SoakVisit<'_>) -> Done {
    let mut connection = visit.open()?;
    if visit.random.once_in(2) {
        connection.send(b"GET / HTTP/1.1\r\nHo")?;
    }
    sleep(Duration::from_millis(visit.random.within(0, 300) as u64));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_act_is_chosen_and_none_beyond_its_weight() {
        let mut random = SoakRandom::new(3);
        let mut counts = vec![0usize; ACTS.len()];
        for _ in 0..7000 {
            let chosen = choose(&mut random);
            counts[ACTS.iter().position(|act| act.name == chosen.name).unwrap()] += 1;
        }
        let sum: usize = ACTS.iter().map(|act| act.weight).sum();
        for (act, count) in ACTS.iter().zip(counts) {
            let expected = 7000 * act.weight / sum;
            assert!(count > expected / 2 && count < expected * 2, "{}: {count}", act.name);
        }
    }
}
