//! How a request tells what is decided about it, where somebody has it explained.

use super::RequestContext;
use crate::response::Response;
use crate::site::config_place::ConfigPlace;
use crate::site::settings::Section;
use crate::steps::{ExplainedStep, StepKind};
use crate::table::Table;
use message::Status;
use runtime::file::FileType;
use std::sync::Arc;

impl RequestContext<'_> {
    /// Whether somebody has this request explained: all is decided as for any other, and told, but
    /// nothing is logged, and neither a program nor a backend is asked for anything.
    pub fn is_explained(&self) -> bool {
        self.context.steps.is_some()
    }

    /// Tell what was decided.
    pub fn explain(&self, kind: StepKind, text: impl FnOnce() -> String) {
        if self.is_explained() {
            self.add_step(kind, None, text());
        }
    }

    /// Tell what a line of the configuration has decided.
    pub fn explain_line(
        &self,
        kind: StepKind,
        place: impl Into<ConfigPlace>,
        text: impl FnOnce() -> String,
    ) {
        if self.is_explained() {
            self.add_step(kind, Some(place.into()), text());
        }
    }

    /// Tell which sections hold.
    pub(crate) fn explain_sections(&self, sections: &[Arc<Section>]) {
        if self.is_explained() {
            for section in sections {
                self.explain_line(StepKind::Section, &section.place, || section.shown());
            }
        }
    }

    /// The request, and how it came about.
    pub(crate) fn shown_request(&self) -> String {
        let target = self.shown_target();
        match (self.lineage.redirects, self.lineage.is_error_document) {
            (0, _) => target,
            (number, false) => format!("{target}, by internal redirect {number}"),
            (_, true) => format!("{target}, the error document"),
        }
    }

    /// Method, path and query.
    pub(crate) fn shown_target(&self) -> String {
        let (path, query) = (String::from_utf8_lossy(&self.path), self.query.as_deref());
        let query = query.map(|query| format!("?{}", String::from_utf8_lossy(query)));
        let method = String::from_utf8_lossy(&self.method_name()).into_owned();
        format!("{method} {path}{}", query.unwrap_or_default())
    }

    /// Where it was mapped to, and what is there.
    pub(crate) fn shown_place(&self) -> String {
        if let Some(url) = &self.mapping.backend {
            return format!("the backend {}", String::from_utf8_lossy(url));
        }
        let path = self.display_path();
        let what = match self.kind() {
            Some(FileType::Directory) => "a directory",
            Some(FileType::File) => "a file",
            Some(_) => "neither a file nor a directory",
            None => "not there",
        };
        match self.mapping.path_info.as_slice() {
            [] => format!("{path} ({what})"),
            rest => format!("{path} ({what}), behind it {}", String::from_utf8_lossy(rest)),
        }
    }

    #[cold]
    fn add_step(&self, kind: StepKind, place: Option<ConfigPlace>, text: String) {
        if let Some(steps) = &self.context.steps {
            steps.add(ExplainedStep { kind, depth: self.lineage.depth, place, text });
        }
    }

    /// What stands for the answer of a program or a backend where a request is only explained:
    /// `text` says who it is, and `script` has the variables that it would be told.
    pub fn unasked(&self, text: String, script: &Table) -> Response {
        if let Some(steps) = &self.context.steps {
            self.explain(StepKind::Answer, || text);
            steps.leave_unasked(script);
        }
        Response::new(Status::OK)
    }
}
