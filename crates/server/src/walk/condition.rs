//! `<If>`, `<ElseIf>` and `<Else>`: the if walk of httpd (server/request.c, ap_if_walk).

use crate::evaluate;
use crate::failure::{Failure, Stop};
use crate::request_context::RequestContext;
use crate::site::locate::Layers;
use crate::site::section::{Branch, SectionKind};
use crate::site::settings::Section;
use message::Status;
use std::sync::Arc;

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
            Some(expression) => {
                evaluate::holds(expression, request, None).await.map_err(|text| {
                    let text = format!("Failed to evaluate <If > condition: {text}");
                    let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "core", text.clone());
                    failure.id(1357).at_error().recurring(text)
                })?
            }
            None => true,
        };
        if holds {
            is_decided = true;
            found.push(section.clone());
        }
    }
    Ok(found)
}
