//! Whether conditions hold: `<If>`, `<ElseIf>` and `<Else>`, which are the if walk of httpd
//! (server/request.c, ap_if_walk), and the expressions of modules. One may look a URL up, which
//! goes through the phases as any other.

use crate::evaluate::{self, LookedUp, handler_name};
use crate::failure::{Failure, Stop};
use crate::large_future::boxed;
use crate::question;
use crate::request_context::{Query, RequestContext};
use crate::response::Response;
use crate::site::expression::Expression;
use crate::site::locate::Layers;
use crate::site::section::{Branch, SectionKind};
use crate::site::settings::Section;
use crate::waiting::NowOrLater;
use expr::Matches;
use message::Status;
use std::sync::Arc;

/// URLs that an expression may look up before it fails: a clock could have it look up another one
/// each time it is evaluated.
const LOOKED_UP_MAX: usize = 64;

/// What is said of a condition that waits for something that nobody has heard of.
const HAS_WAITED: &str = "the condition would have to wait, which is not possible here";

/// How deep conditions may stand in each other.
const DEPTH_MAX: usize = 20;

/// Lay the sections whose conditions hold over `layers`, and so on for those inside of them.
pub(crate) async fn walk(request: &mut RequestContext<'_>, mut layers: Layers) -> Result<(), Stop> {
    let mut conditions = layers.settings.core.ifs.clone();
    for _ in 0..DEPTH_MAX {
        if conditions.is_empty() {
            break;
        }
        let matching = matching(request, &conditions).await?;
        conditions =
            matching.iter().flat_map(|section| section.settings.core.ifs.clone()).collect();
        request.context.merged.lay(&request.host.sections, &mut layers, &matching);
        request.explain_sections(&matching);
        request.settings = layers.settings.clone();
    }
    Ok(())
}

/// The sections whose conditions hold, of each chain at most one.
async fn matching(
    request: &RequestContext<'_>,
    conditions: &[Arc<Section>],
) -> Result<Vec<Arc<Section>>, Stop> {
    let mut found = Vec::new();
    let mut is_decided = false;
    for section in conditions {
        let SectionKind::If(condition) = &section.kind else { continue };
        if condition.branch == Branch::If {
            is_decided = false;
        }
        if is_decided {
            continue;
        }
        let holds = match &condition.expression {
            Some(expression) => holds(expression, request, None).await.map_err(|text| {
                let text = format!("Failed to evaluate <If > condition: {text}");
                let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "core", text.clone());
                failure.id(1357).at_error().recurring(text)
            })?,
            None => true,
        };
        if holds {
            is_decided = true;
            found.push(section.clone());
        }
    }
    Ok(found)
}

/// Whether the expression holds. Fields of the request that it looks at are named in `Vary`.
pub fn holds<'l>(
    expression: &'l Expression,
    request: &'l RequestContext<'_>,
    response: Option<&'l Response>,
) -> NowOrLater<'l, Result<bool, String>> {
    if expression.may_wait() {
        return NowOrLater::later(async move {
            holds_with(expression, request, response, &mut Matches::default()).await
        });
    }
    let looked_up = LookedUp::default();
    NowOrLater::Now(evaluate::eval(
        expression,
        request,
        response,
        &looked_up,
        &mut Matches::default(),
    ))
}

/// Whether the expression holds, for a caller that cannot wait: the thread itself does
/// (`question::here`).
pub fn holds_here(
    expression: &Expression,
    request: &RequestContext<'_>,
    response: Option<&Response>,
) -> Result<bool, String> {
    let mut matches = Matches::default();
    let holds = holds_with(expression, request, response, &mut matches);
    question::here(request, holds).unwrap_or_else(|| Err(HAS_WAITED.into()))
}

/// Whether the expression holds, for a caller that cannot wait; what `$1` and the like stand
/// for stays in `matches`.
pub fn holds_with_here(
    expression: &Expression,
    request: &RequestContext<'_>,
    matches: &mut Matches,
) -> Result<bool, String> {
    let holds = holds_with(expression, request, None, matches);
    question::here(request, holds).unwrap_or_else(|| Err(HAS_WAITED.into()))
}

/// Whether the expression holds; what `$1` and the like stand for stays in `matches`.
///
/// An expression is evaluated in one go, and knows nothing of waiting. One that looks a URL up
/// of which nobody knows yet where it leads is evaluated again when that is known: this has no
/// effect that could be seen, and its URLs are looked up once each.
pub async fn holds_with(
    expression: &Expression,
    request: &RequestContext<'_>,
    response: Option<&Response>,
    matches: &mut Matches,
) -> Result<bool, String> {
    let mut looked_up = LookedUp::default();
    loop {
        let holds = evaluate::eval(expression, request, response, &looked_up, matches);
        let Some(url) = looked_up.wanted.take() else { return holds };
        if looked_up.found.len() >= LOOKED_UP_MAX {
            return Err(format!("the expression looks up more than {LOOKED_UP_MAX} URLs"));
        }
        if !request.spend_look_ahead() {
            return Err("for this request too many URLs are looked up".into());
        }
        let is_there = boxed(|| is_there(request, &url)).await;
        looked_up.found.push((url, is_there));
        *matches = Matches::default();
    }
}

/// Whether a URL leads to something.
async fn is_there(request: &RequestContext<'_>, url: &[u8]) -> bool {
    super::look_up(request, url, Query::None).await.is_ok_and(|found| {
        found.found.is_ok() || matches!(handler_name::configured(&found), Ok(Some(_)))
    })
}
