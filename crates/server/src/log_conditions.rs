//! Which access logs a request is written to: their conditions, as far as they need the request.

use crate::phase::condition;
use crate::request_context::RequestContext;
use crate::response::Response;
use crate::site::custom_log::LogCondition;
use logging::level::Level;
use message::Status;

/// Conditions of logs, as far as they need the request. Those about one that was redirected within
/// the server look at what the client had sent, whatever the line shows (mod_log_config.c,
/// config_log_transaction).
pub(crate) fn chosen(request: &RequestContext<'_>, response: &Response) -> Vec<usize> {
    match &request.lineage.original {
        Some(original) => original.logs.clone(),
        None if has_expressions(request) => {
            // The type is among the fields as soon as it is sent (basic_http_header).
            let mut sent = Response::new(response.status);
            sent.content_type.clone_from(&response.content_type);
            sent.fields.clone_from(&response.fields);
            if let Some(content_type) = &response.content_type {
                sent.set("Content-Type", content_type.as_str());
            }
            holding(request, &sent)
        }
        None => Vec::new(),
    }
}

/// The logs of the host whose conditions hold for a request that is about to be redirected within
/// the server, of whose answer only a status is known.
pub(crate) fn chosen_before(request: &RequestContext<'_>, status: u16) -> Vec<usize> {
    let mut response = Response::new(Status::new(status).unwrap_or(Status::OK));
    response.fields.clone_from(&request.output.fields);
    holding(request, &response)
}

fn has_expressions(request: &RequestContext<'_>) -> bool {
    let mut logs = request.host.logs.iter();
    logs.any(|log| matches!(log.condition, Some(LogCondition::Expression(_))))
}

fn holding(request: &RequestContext<'_>, response: &Response) -> Vec<usize> {
    let mut chosen = Vec::new();
    for (nth, log) in request.host.logs.iter().enumerate() {
        let Some(LogCondition::Expression(expression)) = &log.condition else { continue };
        // Another request for the same file may have another status.
        request.mark_personal();
        match condition::holds_here(expression, request, Some(response)) {
            Ok(true) => chosen.push(nth),
            Ok(false) => {}
            Err(text) => {
                let text = format!("Error evaluating log condition: {text}");
                request.log(Level::Warn, "log_config", Some(644), &text);
            }
        }
    }
    chosen
}
