//! Prints what parsing one request head costs, nanoseconds: the best of several rounds, because the
//! disturbances of a shared machine only ever add.
//!
//! Run with `cargo run --release -p http1 --example head_cost`.

#![expect(clippy::disallowed_macros, reason = "it prints its figures")]

use http1::{HeadLimits, HeadParser, HeadProgress, framing};
use std::hint::black_box;
use std::time::Instant;

const SMALL: &[u8] = b"GET /index.html?x=123456789 HTTP/1.1\r\nHost: example.org\r\n\r\n";

const BROWSER: &[u8] = b"GET /articles/2026/11/a-title-of-some-length.html?from=front HTTP/1.1\r\n\
Host: www.example.org\r\n\
User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n\
Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8\r\n\
Accept-Language: en-US,en;q=0.5\r\n\
Accept-Encoding: gzip, deflate, br, zstd\r\n\
Referer: https://www.example.org/articles/2026/11/\r\n\
Cookie: session=0123456789abcdef0123456789abcdef; theme=dark\r\n\
Upgrade-Insecure-Requests: 1\r\n\
Sec-Fetch-Dest: document\r\n\
Sec-Fetch-Mode: navigate\r\n\
Sec-Fetch-Site: same-origin\r\n\
Priority: u=0, i\r\n\r\n";

const ROUNDS: usize = 40;
const REPEATS: u32 = 20_000;

/// Best time of one call, nanoseconds.
fn cost_ns(mut call: impl FnMut()) -> f64 {
    let round = |call: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..REPEATS).for_each(|_| call());
        start.elapsed().as_nanos() as f64 / f64::from(REPEATS)
    };
    (0..ROUNDS).map(|_| round(&mut call)).fold(f64::INFINITY, f64::min)
}

fn main() {
    let limits = HeadLimits::default();
    for (name, input) in [("small", SMALL), ("browser", BROWSER)] {
        let mut parser = HeadParser::new();
        let parse = cost_ns(|| {
            parser.reset();
            let progress = parser.advance(black_box(input), &limits);
            assert!(matches!(black_box(progress), Ok(HeadProgress::Complete { .. })));
        });
        let framed = cost_ns(|| {
            black_box(framing(&parser.request(black_box(input)), 1 << 30)).expect("a good head");
        });
        let mut end = 0;
        let bytewise = cost_ns(|| {
            parser.reset();
            while end < input.len() {
                end += 1;
                let _ = black_box(parser.advance(&black_box(input)[..end], &limits));
            }
            end = 0;
        });
        println!(
            "{name:8} {:4} bytes: head {parse:6.1} ns, framing {framed:5.1} ns, \
             head byte by byte {bytewise:8.1} ns",
            input.len()
        );
    }
}
