//! What the rules do (do_headers_fixup of mod_headers.c), and when: early, as a fixup of the
//! request, and on a response before it is sent.

use super::{Edit, HeaderAction, HeaderCondition, HeaderRule, HeaderValue, SETTINGS};
use logging::level::Level;
use message::{Field, Method, Status, scan};
use pattern::{EXPANSION_MAX_BYTES, Regex, Replacement};
use server::failure::{Failure, Stop};
use server::fields;
use server::phase::condition;
use server::request_context::{Because, RequestContext};
use server::response::Response;
use server::sharing;
use server::waiting::{self, Waiting};
use std::sync::Arc;

/// Post-read-request hook: rules with `early`, which only the main server and hosts can have.
pub(crate) fn early(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    let settings = request.settings.clone();
    let rules = SETTINGS.of(&settings);
    // None of these has a condition that could be waited for.
    let mut done = ended(change_request(request, &rules.request, true));
    for (rules, list) in [(&rules.always, FieldList::Always), (&rules.success, FieldList::Success)]
    {
        let mut work = HeaderWork { request, response: None, list, may_wait: false };
        done = done.and_then(|()| ended(work.run(rules, true)));
    }
    done.map_err(|ValueTooLong| {
        let text = "Regular expression replacement failed (replacement too long?)";
        let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "headers", text);
        failure.id(1504).level(Level::Crit).into()
    })
}

/// Fixup hook: `RequestHeader`.
pub(crate) fn fixup<'l>(request: &'l mut RequestContext<'_>) -> Waiting<'l, ()> {
    let settings = request.settings.clone();
    let may_wait = SETTINGS.of(&settings).request.iter().any(|rule| rule.condition.may_wait());
    Waiting::only_if(may_wait, async move {
        // As in httpd a replacement that is too long ends the work without an error.
        let _ = change_request(request, &SETTINGS.of(&settings).request, false).await;
        Ok(())
    })
}

/// Finish hook: `Header`.
pub(crate) fn finish(
    request: &mut RequestContext<'_>,
    response: &mut Response,
) -> Result<(), Failure> {
    let settings = request.settings.clone();
    let rules = SETTINGS.of(&settings);
    let is_error = response.is_canned;
    let has_rules = !rules.always.is_empty() || (!rules.success.is_empty() && !is_error);
    if !has_rules || (!is_error && !has_filters(request)) {
        return Ok(());
    }
    let origin: Vec<Field> = request.output.always.extract_if(.., is_of_origin).collect();
    if is_error {
        on_error(request, response, &rules.always);
    } else {
        on_success(request, response, &rules.always, &rules.success);
    }
    // The server says these itself, or the one that it has asked, whatever rules say
    // (basic_http_header).
    for name in ["Date", "Server", "Transfer-Encoding"] {
        fields::unset(&mut request.output.always, name);
        fields::unset(&mut response.fields, name);
    }
    request.output.always.extend(origin);
    check(&request.output.always).and_then(|()| check(&response.fields))
}

/// Whether it says who has made the response, or when.
fn is_of_origin(field: &mut Field) -> bool {
    ["Date", "Server"].iter().any(|name| field.0.eq_ignore_ascii_case(name))
}

/// No filter is inserted for the answers to TRACE and to `OPTIONS *`, which no handler gives.
fn has_filters(request: &RequestContext<'_>) -> bool {
    request.method() != Some(Method::Trace) && !request.is_for_server()
}

/// The filter FIXUP_HEADERS_ERR. An error page forgets what the handler has set; what was there
/// for all responses stays out of reach of the rules (ap_send_error_response).
fn on_error(request: &mut RequestContext<'_>, response: &mut Response, rules: &[Arc<HeaderRule>]) {
    let apart = std::mem::take(&mut request.output.always);
    run_on(request, response, FieldList::Always, rules);
    request.output.always.extend(apart);
}

/// The filter FIXUP_HEADERS_OUT.
fn on_success(
    request: &mut RequestContext<'_>,
    response: &mut Response,
    always: &[Arc<HeaderRule>],
    success: &[Arc<HeaderRule>],
) {
    // httpd keeps these two elsewhere until all fields are known.
    let is_apart = |field: &Field| {
        ["Content-Encoding", "Content-Language"].iter().any(|it| field.0.eq_ignore_ascii_case(it))
    };
    let fields = std::mem::take(&mut response.fields);
    let (apart, fields): (Vec<Field>, _) = fields.into_iter().partition(is_apart);
    response.fields = fields;
    run_on(request, response, FieldList::Always, always);
    run_on(request, response, FieldList::Success, success);
    for (name, value) in apart {
        fields::set(&mut response.fields, &name, value);
    }
}

fn run_on(
    request: &mut RequestContext<'_>,
    response: &mut Response,
    list: FieldList,
    rules: &[Arc<HeaderRule>],
) {
    // A replacement that is too long ends the work here as in httpd, without an error.
    let mut work = HeaderWork { request, response: Some(response), list, may_wait: false };
    let _ = ended(work.run(rules, false));
}

/// check_headers of http_filters.c: what no client could read is an error of the server.
fn check(fields: &[Field]) -> Result<(), Failure> {
    for (name, value) in fields {
        let (id, text) = if !scan::is_token(name.as_bytes()) {
            let text = format!(
                "Response header name '{name}' contains invalid characters, aborting request"
            );
            (2429, text)
        } else if value.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
            let value = String::from_utf8_lossy(value);
            let text = format!(
                "Response header '{name}' value of '{value}' contains invalid characters, aborting \
                 request"
            );
            (2430, text)
        } else {
            continue;
        };
        let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "http", text);
        return Err(failure.id(id).at_error());
    }
    Ok(())
}

/// The fields of the request, as later phases, handlers and logs see them. How the bytes on the
/// connection are read has been decided, and stays.
async fn change_request(
    request: &mut RequestContext<'_>,
    rules: &[Arc<HeaderRule>],
    is_early: bool,
) -> Result<(), ValueTooLong> {
    let counts =
        |rule: &Arc<HeaderRule>| matches!(rule.condition, HeaderCondition::Early) == is_early;
    if !rules.iter().any(counts) {
        return Ok(());
    }
    // Conditions and ranges are answered from what is prepared, too, but not as they came.
    let is_unusual = |rule: &Arc<HeaderRule>| sharing::is_unusual(rule.name.as_bytes());
    // The others do nothing to a request that lacks the field, which the fast path makes sure of.
    let is_for_all = |rule: &Arc<HeaderRule>| {
        !matches!(rule.action, HeaderAction::Unset | HeaderAction::Edit(_))
    };
    if rules.iter().any(|rule| is_unusual(rule) || is_for_all(rule)) {
        request.mark_personal();
    }
    // Unmarked: what the rules change marks the answer, and those for whom they would change
    // something are given no shared one (`is_plain`).
    let before = fields::of_request(&request.unmarked(Because::AskedOfEach).received);
    let list = FieldList::Request(before.clone());
    let mut work = HeaderWork { request, response: None, list, may_wait: true };
    let done = work.run(rules, is_early).await;
    let FieldList::Request(list) = work.list else { return done };
    if list != before {
        // Logs show the changed fields, and everybody's are others.
        request.set_fields(&list);
    }
    done
}

/// What comes of work that waits for nothing.
fn ended(work: impl Future<Output = Result<(), ValueTooLong>>) -> Result<(), ValueTooLong> {
    waiting::ended(work).unwrap_or(Ok(()))
}

/// A replacement has become longer than httpd allows.
#[derive(Debug)]
struct ValueTooLong;

/// Which fields are changed.
#[derive(Clone, Debug)]
enum FieldList {
    Request(Vec<Field>),
    /// `r->err_headers_out`
    Always,
    /// `r->headers_out`
    Success,
}

/// Rules at work on one list of fields.
struct HeaderWork<'w, 'a> {
    request: &'w mut RequestContext<'a>,
    response: Option<&'w mut Response>,
    list: FieldList,
    /// Whether conditions may be waited for; else the thread itself does.
    may_wait: bool,
}

impl HeaderWork<'_, '_> {
    fn fields(&mut self) -> &mut Vec<Field> {
        match (&mut self.list, &mut self.response) {
            (FieldList::Request(fields), _) => fields,
            (FieldList::Always, _) => &mut self.request.output.always,
            (FieldList::Success, Some(response)) => &mut response.fields,
            (FieldList::Success, None) => &mut self.request.output.fields,
        }
    }

    async fn run(&mut self, rules: &[Arc<HeaderRule>], is_early: bool) -> Result<(), ValueTooLong> {
        for rule in rules {
            if self.counts(&rule.condition, is_early).await {
                self.act(rule)?;
            }
        }
        Ok(())
    }

    async fn counts(&mut self, condition: &HeaderCondition, is_early: bool) -> bool {
        match condition {
            HeaderCondition::Early => is_early,
            _ if is_early => false,
            HeaderCondition::Always => true,
            HeaderCondition::Variable { name, is_absent } => {
                self.request.mark_personal();
                self.request.tables.env.has(name) != *is_absent
            }
            // As in httpd a condition without a value is none.
            HeaderCondition::Expression(expression) => {
                let response = self.response.as_deref();
                let holds = match self.may_wait {
                    true => condition::holds(expression, self.request, response).await,
                    false => condition::holds_here(expression, self.request, response),
                };
                // At once, as ap_expr_exec_ctx does: rules behind this one find the field, and may
                // take it away.
                if let Some(response) = &mut self.response {
                    for name in self.request.output.vary.take() {
                        response.merge("Vary", &name);
                    }
                }
                holds.unwrap_or_else(|error| {
                    let text = format!("Failed to evaluate expression ({error}) - ignoring");
                    self.request.log(Level::Error, "headers", Some(1501), &text);
                    true
                })
            }
        }
    }

    fn value(&self, value: &HeaderValue) -> Vec<u8> {
        value.of(self.request, self.response.as_deref())
    }

    fn act(&mut self, rule: &HeaderRule) -> Result<(), ValueTooLong> {
        let name = rule.name.as_str();
        match &rule.action {
            HeaderAction::Add(value) => {
                let value = self.value(value);
                fields::add(self.fields(), name, value);
            }
            HeaderAction::Append(value) => {
                let value = self.value(value);
                fields::merge(self.fields(), name, value);
            }
            HeaderAction::Merge(value) => {
                let value = self.value(value);
                let fields = self.fields();
                if !fields::get(fields, name).is_some_and(|list| has_item(list, &value)) {
                    fields::merge(fields, name, value);
                }
            }
            HeaderAction::Set(value) => self.set(name, value),
            HeaderAction::SetIfEmpty(value) => {
                if fields::get(self.fields(), name).is_none() {
                    self.set(name, value);
                }
            }
            HeaderAction::Unset => {
                fields::unset(self.fields(), name);
                self.set_content_type(name, None);
            }
            HeaderAction::Echo(regex) => self.echo(regex),
            HeaderAction::Edit(edit) => self.edit(name, edit)?,
            HeaderAction::Note(value) => {
                let note = self.value(value);
                if let Some(found) = fields::get(self.fields(), name).map(<[u8]>::to_vec) {
                    self.request.tables.notes.set(&String::from_utf8_lossy(&note), found);
                }
            }
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: &HeaderValue) {
        let value = self.value(value);
        self.set_content_type(name, Some(&value));
        fields::set(self.fields(), name, value);
    }

    /// The media type of a response is no field of its list (`r->content_type`), though a field of
    /// that name says where it stands.
    fn set_content_type(&mut self, name: &str, value: Option<&[u8]>) {
        if matches!(self.list, FieldList::Request(_)) || !name.eq_ignore_ascii_case("Content-Type")
        {
            return;
        }
        let value = value.map(|value| String::from_utf8_lossy(value).into_owned());
        match &mut self.response {
            Some(response) => response.content_type = value,
            None => self.request.negotiated.content_type = value,
        }
    }

    /// Fields of the request go back as they came.
    fn echo(&mut self, regex: &Regex) {
        let mut echoed = fields::of_request(self.request.received());
        echoed.retain(|field| regex.is_match(field.0.as_bytes()).unwrap_or(false));
        // httpd echoes into the fields of good responses, `always` or not.
        match &mut self.response {
            Some(response) => response.fields.extend(echoed),
            None => self.request.output.fields.extend(echoed),
        }
    }

    fn edit(&mut self, name: &str, edit: &Edit) -> Result<(), ValueTooLong> {
        let content_type = self.response.as_ref().and_then(|it| it.content_type.clone());
        if name.eq_ignore_ascii_case("Content-Type")
            && let Some(content_type) = content_type
        {
            let edited = self.replace(edit, content_type.as_bytes())?;
            self.set_content_type(name, Some(&edited));
        }
        let is_it = |field: &&Field| field.0.eq_ignore_ascii_case(name);
        let mut found: Vec<Field> = self.fields().iter().filter(is_it).cloned().collect();
        for field in &mut found {
            field.1 = self.replace(edit, &field.1)?;
        }
        if !found.is_empty() {
            fields::unset(self.fields(), name);
            self.fields().extend(found);
        }
        Ok(())
    }

    /// process_regexp: the first match, or one after the other behind it. httpd never ends where
    /// an empty match could be replaced again; here such a one is the last.
    fn replace(&self, edit: &Edit, value: &[u8]) -> Result<Vec<u8>, ValueTooLong> {
        let mut out = Vec::new();
        let mut rest = value;
        while let Ok(Some(captures)) = edit.regex.captures(rest) {
            let Some(found) = captures.get(0) else { break };
            let template = self.value(&edit.replacement);
            let template = Replacement::parse(&template);
            out.extend_from_slice(&rest[..found.start]);
            template.expand(rest, &captures, &mut out).map_err(|_| ValueTooLong)?;
            rest = &rest[found.end..];
            if !edit.is_repeated || found.is_empty() {
                break;
            }
            if out.len() > EXPANSION_MAX_BYTES {
                return Err(ValueTooLong);
            }
        }
        out.extend_from_slice(rest);
        Ok(out)
    }
}

/// Whether an item of a list is exactly this; quoted text hides commas (as ap_get_token).
fn has_item(list: &[u8], wanted: &[u8]) -> bool {
    let mut rest = list;
    while !rest.is_empty() {
        rest = rest.trim_ascii_start();
        let (mut end, mut is_quoted) = (0, false);
        while let Some(byte) = rest.get(end).filter(|byte| is_quoted || **byte != b',') {
            is_quoted ^= *byte == b'"';
            end += 1;
        }
        if &rest[..end] == wanted {
            return true;
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_a_list_are_compared_whole() {
        let rows = [
            ("a, b", "a", true),
            ("a, b", "b", true),
            ("a ,b", "a", false),
            ("ab", "a", false),
            ("\"a, b\", c", "b\"", false),
            ("\"a, b\", c", "c", true),
            ("a,\"b", "\"b", true),
            ("", "", false),
            (" ", "", true),
        ];
        for (list, wanted, expected) in rows {
            assert_eq!(has_item(list.as_bytes(), wanted.as_bytes()), expected, "{list} {wanted}");
        }
    }

    #[test]
    fn what_no_client_can_read_is_refused() {
        let field = |name: &'static str, value: &str| vec![(name.into(), value.into())];
        assert!(check(&field("X-A", "a\tb\u{e4}")).is_ok());
        assert_eq!(check(&field("X A", "")).unwrap_err().id, Some(2429));
        assert_eq!(check(&field("X-A", "a\nb")).unwrap_err().id, Some(2430));
    }
}
