//! A module for tests of connections: files, and below `/diagnostic` a handler that sends back what
//! it is sent: the body of the request, or with `?upgrade` what comes after it. The responses for
//! some names tell what the client has sent.

use crate::failure::{Failure, Stop};
use crate::handler::Handler;
use crate::hook::{Decision, Hook};
use crate::module::{Hooks, Module};
use crate::representation::{Origin, Representation};
use crate::request_body::RequestBody;
use crate::request_context::RequestContext;
use crate::response::{Body, BodySource, Response, Upgraded};
use crate::site::Site as CompiledSite;
use crate::waiting::{NowOrLater, Waiting};
use message::Status;
use runtime::file::Errno;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{self, Poll};

pub(super) static MODULE: Module = Module::new(
    "test_module",
    "mod_test.c",
    &[],
    Hooks {
        read: Some(Hook::Now(read)),
        grant: Some(Hook::Now(|_| Ok(Decision::Accepted))),
        finish: Some(finish),
        resolve: Some(Hook::Waits(resolve)),
        open: Some(open),
        ..Hooks::NONE
    },
);

/// Accounts are kept.
fn open(site: &mut CompiledSite) -> Result<(), String> {
    site.extended_status = true;
    Ok(())
}

/// What a variable is set to is told by a field of the request.
fn read(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    if request.path == b"/http1/mod.rs" {
        let value = request.field("X-Ask").unwrap_or_default().to_vec();
        request.tables.env.set("ASKED", value);
    }
    Ok(())
}

fn finish(request: &mut RequestContext<'_>, response: &mut Response) -> Result<(), Failure> {
    let said = match request.path.as_slice() {
        b"/mod.rs" => format!("{:?}", request.method()).into_bytes(),
        b"/tests.rs" => request.query().unwrap_or_default().to_vec(),
        b"/toy_tests.rs" => format!("{:?}", request.exact_method()).into_bytes(),
        b"/http1/mod.rs" => request.tables.env.get("ASKED").unwrap_or_default().to_vec(),
        _ => return Ok(()),
    };
    response.set("X-Said", said);
    Ok(())
}

fn resolve<'l>(request: &'l mut RequestContext<'_>) -> Waiting<'l, Option<Rc<dyn Handler>>> {
    match request.path.starts_with(b"/diagnostic") {
        true => NowOrLater::Now(Ok(Some(Rc::new(Echo)))),
        false => NowOrLater::later(file(request)),
    }
}

async fn file(request: &mut RequestContext<'_>) -> Result<Option<Rc<dyn Handler>>, Stop> {
    let entry = std::mem::replace(&mut request.found, Err(Errno::NOENT))
        .map_err(|errno| request.open_failure(errno))?;
    let origin = Origin {
        root: request.mapping.place.root.clone(),
        below: request.mapping.place.below.clone(),
        links: request.mapping.links,
    };
    Ok(Some(Rc::new(Representation::new(entry, request, origin).await?)))
}

struct Echo;

impl Handler for Echo {
    fn name(&self) -> &'static str {
        "echo"
    }

    fn respond<'l>(self: Rc<Self>, request: &'l mut RequestContext<'_>) -> Waiting<'l, Response> {
        NowOrLater::later(async {
            let mut response = Response::new(Status::OK);
            if request.query() == Some(b"upgrade") {
                response.status = Status::SWITCHING_PROTOCOLS;
                response = response.field("Upgrade", "echo").field("Connection", "Upgrade");
                response.takes_over = Some(Box::new(|upgraded| Box::pin(back(upgraded))));
                return Ok(response);
            }
            if let Some(incoming) = request.received().incoming.clone() {
                incoming.want(u64::MAX);
                let first = incoming.read().await.map_err(Failure::from)?;
                response.body = Body::stream(Back { first, rest: incoming });
            }
            Ok(response)
        })
    }
}

/// The body of a request, as it comes.
struct Back {
    first: Option<Vec<u8>>,
    rest: Rc<RequestBody>,
}

impl BodySource for Back {
    fn poll_next(&mut self, _: &mut task::Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Ok(Some(first)));
        }
        self.rest.poll_read().map_err(|refusal| io::Error::other(refusal.why))
    }
}

async fn back(Upgraded { mut transport, mut input }: Upgraded) -> u64 {
    let mut sent = 0;
    while transport.send_all(&input).await.is_ok() {
        sent += input.len() as u64;
        input.resize(1024, 0);
        match poll_fn(|task| transport.poll_read(task, &mut input)).await {
            Ok(length) if length > 0 => input.truncate(length),
            _ => break,
        }
    }
    transport.shutdown_write();
    sent
}
