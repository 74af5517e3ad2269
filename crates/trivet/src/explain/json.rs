//! The explanation for programs.

use serde_json::{Map, Value, json};
use server::explain::{AskedRequest, Explanation};
use server::steps::ExplainedStep;

/// One object, and a line end. Bytes that are no UTF-8 are replaced.
pub(super) fn text(asked: &AskedRequest, explanation: &Explanation) -> String {
    let Explanation { steps, status, script, handler, path, variables, .. } = explanation;
    let line = asked.head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let value = json!({
        "request": lossy(line),
        "local": asked.local.to_string(),
        "client": asked.client.to_string(),
        "steps": steps.iter().map(step).collect::<Vec<_>>(),
        "status": status,
        "location": explanation.location.as_deref().map(lossy),
        "handler": handler,
        "file": lossy(&explanation.file),
        "path": lossy(path),
        "query": explanation.query.as_deref().map(lossy),
        "user": explanation.user.as_deref().map(lossy),
        "variables": rows(variables),
        "script": script.as_deref().map(rows),
    });
    format!("{value:#}\n")
}

fn step(step: &ExplainedStep) -> Value {
    let ExplainedStep { kind, depth, place, text } = step;
    json!({
        "kind": kind.name(),
        "depth": depth,
        "text": text,
        "file": place.as_ref().map(|place| place.file()),
        "line": place.as_ref().and_then(|place| place.line()),
    })
}

fn rows(rows: &[(String, Vec<u8>)]) -> Value {
    let row = |(name, value): &(String, Vec<u8>)| (name.clone(), lossy(value).into());
    Value::Object(rows.iter().map(row).collect::<Map<_, _>>())
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
