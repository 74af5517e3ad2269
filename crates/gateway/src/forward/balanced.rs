//! A request to a group of backends: whose session it is, one member after the other until one
//! answers, and what that says about their health (mod_proxy_balancer.c).

use super::{balancer, member_job, no_protocol};
use crate::proxy::{self, Balancer, ProxyWorker};
use crate::proxy_fcgi::{FailedTry, FcgiTarget, FcgiWork};
use message::Status;
use server::failure::{Failure, Stop};
use server::handler::Handler;
use server::request_context::RequestContext;
use server::response::{Body, BodyPiece, BodySource, Response};
use server::script::environment::environment;
use server::waiting::{NowOrLater, Waiting};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;

/// The group, and what its members are asked for.
pub(crate) struct BalancerGroup {
    pub(super) balancer: Arc<Balancer>,
    /// What stands behind the host and the slash.
    pub(super) path: Vec<u8>,
    pub(super) is_raw: bool,
}

/// What a client brings that has been here before.
#[derive(Debug, Default, PartialEq, Eq)]
struct Session {
    /// What it was called.
    name: String,
    /// The member that it belongs to.
    route: String,
}

impl Handler for BalancerGroup {
    fn name(&self) -> &'static str {
        proxy::HANDLER
    }

    fn is_script(&self) -> bool {
        true
    }

    fn respond<'l>(self: Rc<Self>, request: &'l mut RequestContext<'_>) -> Waiting<'l, Response> {
        NowOrLater::boxed(|| async move { self.answer(request).await })
    }
}

impl BalancerGroup {
    /// One that a handler names: `proxy:balancer://name`.
    pub(crate) fn of_handler(request: &RequestContext<'_>, url: &str) -> Result<Self, Failure> {
        let balancer = balancer(request, url);
        let balancer = balancer.ok_or_else(|| no_protocol(request, "balancer"))?;
        let path = request.mapping.place.path();
        let path = path.strip_prefix(b"/").unwrap_or(&path).to_vec();
        Ok(Self { balancer: balancer.clone(), path, is_raw: true })
    }

    /// Answer with what one of them says.
    async fn answer(&self, request: &mut RequestContext<'_>) -> Result<Response, Stop> {
        let work = FcgiWork::of(request).await?;
        if request.is_explained() {
            let env = environment(request, request.settings.core.variables());
            let text = format!("a member of the group {} would be asked", self.balancer.name);
            return Ok(request.unasked(text, &env));
        }
        let session = self.session(request);
        let (mut tried, mut last) = (Vec::new(), None);
        loop {
            let next = match tried.len() > self.balancer.max_attempts() {
                true => None,
                false => self.next(request, session.as_ref(), &tried).await?,
            };
            let Some(nth) = next else {
                return Err(last.unwrap_or_else(|| self.nobody(session.as_ref())).into());
            };
            let member = self.balancer.members[nth].clone();
            self.tell(request, &member, session.as_ref());
            let busy = BusyMember::new(&self.balancer, nth, &work);
            match self.ask(request, &member, &work, busy).await {
                Ok(response) => return Ok(response),
                Err(MemberFailure::Stop(stop)) => return Err(stop),
                Err(MemberFailure::Failed(mut failed)) => {
                    failed.log(request);
                    let may_ask_another = self.judge(request, &member, &failed, &work);
                    if !may_ask_another {
                        return Err(failed.failure.into());
                    }
                    last = Some(failed.failure);
                    tried.push(nth);
                }
            }
        }
    }

    /// Who is next. Where nobody can be asked, and `timeout` says so, this waits for somebody.
    async fn next(
        &self,
        request: &mut RequestContext<'_>,
        session: Option<&Session>,
        tried: &[usize],
    ) -> Result<Option<usize>, Stop> {
        let balancer = &self.balancer;
        balancer.recover();
        if let Some(session) = session {
            if let Some(nth) = balancer.routed(&session.route, tried) {
                if balancer.members[nth].parameters.route != session.route {
                    request.tables.env.set("BALANCER_ROUTE_CHANGED", "1");
                }
                return Ok(Some(nth));
            }
            let is_ours =
                balancer.members.iter().any(|member| member.parameters.route == session.route);
            if balancer.rules.is_strict && is_ours {
                return Ok(None);
            }
        }
        if balancer.rules.sticky.is_some() {
            request.tables.env.set("BALANCER_ROUTE_CHANGED", "1");
        }
        let found = balancer.next(tried);
        let Some(wait_ms) = balancer.rules.wait_ms.filter(|_| found.is_none()) else {
            return Ok(found);
        };
        // httpd's steps (find_best_worker): nobody tells when a member comes back, as that may be
        // because a time has passed.
        for _ in 0..100 {
            runtime::timer::sleep(Duration::from_millis((wait_ms / 100).max(1))).await;
            if let Some(nth) = balancer.next(tried) {
                return Ok(Some(nth));
            }
        }
        Ok(None)
    }

    /// There is nobody to ask.
    fn nobody(&self, session: Option<&Session>) -> Failure {
        let name = &self.balancer.name;
        let (id, text) = match session {
            _ if self.balancer.members.is_empty() => {
                (1171, format!("{name}: No workers in balancer"))
            }
            Some(session) if self.balancer.rules.is_strict => {
                let route = &session.route;
                (1167, format!("{name}: All workers are in error state for route ({route})"))
            }
            _ => (1170, format!("{name}: All workers are in error state")),
        };
        let failure = Failure::new(Status::SERVICE_UNAVAILABLE, "proxy_balancer", text);
        failure.id(id).at_error()
    }

    /// Tell logs and scripts who it is.
    fn tell(
        &self,
        request: &mut RequestContext<'_>,
        member: &ProxyWorker,
        session: Option<&Session>,
    ) {
        request.tables.env.set("BALANCER_NAME", self.balancer.name.as_str());
        request.tables.env.set("BALANCER_WORKER_NAME", member.name.as_str());
        request.tables.env.set("BALANCER_WORKER_ROUTE", member.parameters.route.as_str());
        if let Some(session) = session {
            request.tables.env.set("BALANCER_SESSION_STICKY", session.name.as_str());
            request.tables.env.set("BALANCER_SESSION_ROUTE", session.route.as_str());
        }
    }

    /// Ask one member.
    async fn ask(
        &self,
        request: &mut RequestContext<'_>,
        member: &Arc<ProxyWorker>,
        work: &FcgiWork,
        busy: BusyMember,
    ) -> Result<Response, MemberFailure> {
        let (authority, base) = self.address(request, member)?;
        let target = FcgiTarget::new(member.socket.clone(), &authority).map_err(|text| {
            let text = format!("error parsing URL {}: {text}", member.name);
            MemberFailure::Stop(
                Failure::new(Status::BAD_REQUEST, "proxy_fcgi", text).id(1059).into(),
            )
        })?;
        let path = [base.as_bytes(), &self.path[..]].concat();
        let job = member_job(request, (member, target), &path, self.is_raw);
        let job = job.await.map_err(MemberFailure::Stop)?;
        let answer = job.attempt(request, work).await.map_err(MemberFailure::Failed)?;
        member.recover();
        self.fail_on_status(request, member, answer.status().code());
        let response = answer.respond(request).await.map_err(MemberFailure::Stop)?;
        Ok(busy.until_the_end_of(response))
    }

    /// The host of a member, and the path that its name has, for what follows.
    fn address(
        &self,
        request: &RequestContext<'_>,
        member: &ProxyWorker,
    ) -> Result<(String, String), MemberFailure> {
        let Some(rest) = member.name.strip_prefix("fcgi://") else {
            let scheme = member.name.split(':').next().unwrap_or_default();
            return Err(MemberFailure::Stop(no_protocol(request, scheme).into()));
        };
        let (authority, base) = rest.split_once('/').unwrap_or((rest, ""));
        // What is put together is the name, a slash and the path.
        let base = match rest.contains('/') {
            true => format!("{base}/"),
            false => String::new(),
        };
        Ok((authority.to_owned(), base))
    }

    fn fail_on_status(&self, request: &RequestContext<'_>, member: &ProxyWorker, status: u16) {
        if member.may_fail() && self.balancer.rules.fail_on.contains(&status) {
            let text = format!(
                "{}: Forcing worker ({}) into error state due to status code {status} matching \
                 'failonstatus' balancer parameter",
                self.balancer.name, member.name
            );
            request.log(logging::level::Level::Error, "proxy_balancer", Some(1174), &text);
            member.fail();
        }
    }

    /// What a failure says about a member, and whether another one may be asked instead: if nothing
    /// of the request was sent, or if to ask again does no harm.
    fn judge(
        &self,
        request: &RequestContext<'_>,
        member: &ProxyWorker,
        failed: &FailedTry,
        work: &FcgiWork,
    ) -> bool {
        let status = failed.failure.status.code();
        if failed.is_unreachable {
            member.leave_alone(request);
        }
        if failed.is_unsent {
            return true;
        }
        self.fail_on_status(request, member, status);
        if status == Status::GATEWAY_TIMEOUT.code() {
            if member.may_fail() && self.balancer.rules.fails_on_timeout {
                let text = format!(
                    "{}: Forcing worker ({}) into error state due to timeout and 'failontimeout' \
                     parameter being set",
                    self.balancer.name, member.name
                );
                request.log(logging::level::Level::Error, "proxy_balancer", Some(2460), &text);
                member.fail();
            }
            return false;
        }
        status == Status::SERVICE_UNAVAILABLE.code() && work.is_safe()
    }

    /// The session in the URL or in a cookie (find_session_route).
    fn session(&self, request: &RequestContext<'_>) -> Option<Session> {
        let rules = &self.balancer.rules;
        let (cookie, parameter) = rules.sticky.as_ref()?;
        let query = request.query().unwrap_or_default();
        let url = [&self.path[..], b"?", query].concat();
        let url = String::from_utf8_lossy(&url);
        let in_url = in_url(&url, parameter, rules.ends_at_semicolon);
        let in_cookie = || {
            let cookies = String::from_utf8_lossy(request.field("Cookie")?).into_owned();
            in_cookie(&cookies, cookie).map(str::to_owned)
        };
        let (name, value) = match in_url {
            Some(value) => (parameter, value.to_owned()),
            None => (cookie, in_cookie()?),
        };
        let route = match rules.separator {
            Some(separator) => value.split_once(char::from(separator))?.1,
            None => &value,
        };
        let session = Session { name: name.clone(), route: route.to_owned() };
        (!route.is_empty()).then_some(session)
    }
}

/// Why a member has not answered.
enum MemberFailure {
    Stop(Stop),
    Failed(FailedTry),
}

/// The value of a parameter in a URL (get_path_param).
fn in_url<'u>(url: &'u str, name: &str, ends_at_semicolon: bool) -> Option<&'u str> {
    let ends = |byte: char| matches!(byte, '?' | '&') || ends_at_semicolon && byte == ';';
    let values =
        url.match_indices(name).filter_map(|(at, _)| url[at + name.len()..].strip_prefix('='));
    let value =
        values.map(|value| value.trim_start_matches(ends)).find(|value| !value.is_empty())?;
    value.split(ends).next()
}

/// The value of a cookie (get_cookie_param).
fn in_cookie<'c>(cookies: &'c str, name: &str) -> Option<&'c str> {
    let begins = |at: usize| {
        let before = cookies[..at].chars().next_back();
        before.is_none_or(|byte| matches!(byte, ';' | ',') || byte.is_ascii_whitespace())
    };
    let starts = cookies.match_indices(name).map(|row| row.0).filter(|at| begins(*at));
    let value = |at: usize| cookies[at + name.len()..].trim_start().strip_prefix('=');
    let value = starts.filter_map(value).find(|value| !value.is_empty())?;
    value.split([';', ',']).next()
}

/// A request in work at a member.
struct BusyMember {
    balancer: Arc<Balancer>,
    nth: usize,
}

impl BusyMember {
    fn new(balancer: &Arc<Balancer>, nth: usize, work: &FcgiWork) -> Self {
        let busy = Self { balancer: balancer.clone(), nth };
        busy.add(work.length());
        if let Some(share) = balancer.shares().get_mut(nth) {
            share.busy += 1;
        }
        busy
    }

    fn add(&self, bytes: u64) {
        if let Some(share) = self.balancer.shares().get_mut(self.nth) {
            share.bytes = share.bytes.saturating_add(bytes);
        }
    }

    /// It is in work until the last byte of the response is there.
    fn until_the_end_of(self, mut response: Response) -> Response {
        self.add(response.body.len().unwrap_or(0));
        let mut pieces = std::mem::take(&mut response.body.pieces);
        if let Some(BodyPiece::Stream(source)) =
            pieces.pop_if(|it| matches!(it, BodyPiece::Stream(_)))
        {
            pieces.push(BodyPiece::Stream(Box::new(Counted { source, busy: self })));
        }
        response.body = Body { pieces };
        response
    }
}

impl Drop for BusyMember {
    fn drop(&mut self) {
        if let Some(share) = self.balancer.shares().get_mut(self.nth) {
            share.busy = share.busy.saturating_sub(1);
        }
    }
}

/// A body whose bytes are counted.
struct Counted {
    source: Box<dyn BodySource>,
    busy: BusyMember,
}

impl BodySource for Counted {
    fn pause(&mut self) {
        self.source.pause();
    }

    fn poll_next(&mut self, task: &mut task::Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>> {
        let polled = self.source.poll_next(task);
        if let Poll::Ready(Ok(Some(bytes))) = &polled {
            self.busy.add(bytes.len() as u64);
        }
        polled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_stands_in_the_url_or_in_a_cookie() {
        for (url, name, semicolon, expected) in [
            ("a.php?sid=x.r1&b", "sid", false, Some("x.r1")),
            ("a;sid=x.r1?b", "sid", true, Some("x.r1")),
            ("a;sid=x.r1;b", "sid", false, Some("x.r1;b")),
            ("a?sid=&b", "sid", false, Some("b")),
            ("a?side=1&sid=2", "sid", false, Some("2")),
            ("a?b", "sid", false, None),
        ] {
            assert_eq!(in_url(url, name, semicolon), expected, "{url}");
        }
        for (cookies, expected) in [
            ("SID=x.a", Some("x.a")),
            ("a=b; SID=x.a; c=d", Some("x.a")),
            ("XSID=1; SID = 2", Some(" 2")),
            ("SIDE=1", None),
            ("", None),
        ] {
            assert_eq!(in_cookie(cookies, "SID"), expected, "{cookies}");
        }
    }
}
