//! Users and a server that is a few lines long.

use super::super::{LoadJob, RunOptions, RunSecond, Witness, run};
use super::*;
use crate::pacer::Pacer;
use crate::pattern::LoadPattern;
use crate::plan::{Expect, Plan, RequestDefaults, RequestOrder, RequestSpec, Variables};
use crate::recorder::Window;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Nobody;

impl Witness for Nobody {
    fn second(&mut self, _: &RunSecond, _: &Window) {}
}

/// The address of a server that gives all requests of one connection the same answer.
fn server(answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        for line in lines.map_while(Result::ok) {
            if line.is_empty() {
                stream.write_all(answer.as_bytes()).unwrap();
            }
        }
    });
    address
}

#[test]
fn what_was_shown_of_an_answer_is_there_for_expectations() {
    static SHOWN: AtomicUsize = AtomicUsize::new(0);
    let address = server("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright");
    let url = format!("http://{address}/");
    let spec = RequestSpec { url: &url, ..RequestSpec::default() };
    let (variables, defaults) = (Variables::default(), RequestDefaults::default());
    let mut entry = PlanEntry::new(&spec, &variables, &defaults).unwrap();
    entry.expect = Some(Expect::parse("body==right").unwrap());
    let options = RunOptions {
        requests: Some(3),
        inspect: Inspect::Every(|_, _, body| {
            SHOWN.fetch_add(body.len(), Relaxed);
        }),
        ..RunOptions::default()
    };
    let plan = Plan::new(vec![entry], RequestOrder::InTurn).unwrap();
    let pacer = Pacer::new(LoadPattern::arriving(1, 0).unwrap());
    let outcome = run(LoadJob { plan, pacer, which: None, options }, &mut Nobody).unwrap();
    let first = outcome.total.firsts.first().map(|first| first.text.as_str());
    assert_eq!((outcome.total.answers, outcome.total.failed(), first), (3, 0, None));
    assert_eq!(SHOWN.load(Relaxed), 3 * "right".len());
}
