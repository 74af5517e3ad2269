//! `Require` lines and their containers, and what they say together (apply_authz_sections of
//! mod_authz_core.c).

use super::{AuthzProvider, Methods};
use crate::require::AuthzStatus;
use logging::level::Level;
use server::request_context::RequestContext;
use server::site::config_place::ConfigPlace;
use server::steps::StepKind;
use server::waiting::{self, NowOrLater, Waiting};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A line or a container.
#[derive(Clone, Debug)]
pub(crate) struct AuthzRule {
    pub(super) test: AuthzTest,
    /// `Require not`, or `<RequireNone>`.
    pub(super) negate: bool,
    /// The methods that it is about, of a container those of all that is in it.
    pub(super) methods: Methods,
}

/// What it asks.
#[derive(Clone, Debug)]
pub(super) enum AuthzTest {
    /// A provider; its name and arguments are for the log.
    Provider {
        provider: AuthzProvider,
        written: String,
        place: ConfigPlace,
    },
    Group {
        logic: Logic,
        rules: Vec<Arc<AuthzRule>>,
        is_merged: bool,
    },
}

/// How the rules of a container are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Logic {
    And,
    Or,
}

impl AuthzRule {
    /// An empty container.
    pub(super) fn group(logic: Logic, negate: bool) -> Self {
        let test = AuthzTest::Group { logic, rules: Vec::new(), is_merged: false };
        Self { test, negate, methods: Methods::default() }
    }

    /// What `AuthMerging` makes of the rules of two sections.
    pub(super) fn merged(logic: Logic, outer: &Arc<Self>, inner: &Arc<Self>) -> Self {
        let rules = vec![outer.clone(), inner.clone()];
        let test = AuthzTest::Group { logic, rules, is_merged: true };
        Self { test, negate: false, methods: outer.methods.with(inner.methods) }
    }

    pub(super) fn logic(&self) -> Option<Logic> {
        match &self.test {
            AuthzTest::Group { logic, .. } => Some(*logic),
            AuthzTest::Provider { .. } => None,
        }
    }

    /// The rules of a container.
    pub(super) fn rules(&self) -> &[Arc<Self>] {
        match &self.test {
            AuthzTest::Group { rules, .. } => rules,
            AuthzTest::Provider { .. } => &[],
        }
    }

    /// Put a rule into a container.
    pub(super) fn push(&mut self, rule: Arc<Self>) {
        self.methods = self.methods.with(rule.methods);
        if let AuthzTest::Group { rules, .. } = &mut self.test {
            rules.push(rule);
        }
    }

    /// A container of which nothing can be granted (authz_core_check_section); its name.
    pub(super) fn only_negative(&self) -> Option<String> {
        let AuthzTest::Group { rules, .. } = &self.test else { return None };
        if rules.is_empty() {
            return None;
        }
        rules
            .iter()
            .find_map(|rule| rule.only_negative())
            .or_else(|| rules.iter().all(|rule| rule.negate).then(|| self.name()))
    }

    /// How it is written, for messages.
    pub(super) fn name(&self) -> String {
        match &self.test {
            AuthzTest::Provider { written, .. } => {
                format!("Require {}{written}", if self.negate { "not " } else { "" })
            }
            AuthzTest::Group { logic, is_merged, .. } => {
                let kind = match (logic, self.negate) {
                    (Logic::And, false) => "All",
                    (Logic::And, true) => "NotAll",
                    (Logic::Or, false) => "Any",
                    (Logic::Or, true) => "None",
                };
                match is_merged {
                    true => format!("AuthMerging {kind}"),
                    false => format!("<Require{kind}>"),
                }
            }
        }
    }

    /// Whether everybody may, without a look at the request.
    pub(super) fn is_open_to_all(&self) -> bool {
        let is_open = |rule: &Arc<Self>| {
            let test = &rule.test;
            matches!(test, AuthzTest::Provider { provider: AuthzProvider::All(true), .. })
                && !rule.negate
                && rule.methods == Methods::ALL
        };
        match &self.test {
            AuthzTest::Group { logic: Logic::Or, rules, .. } => {
                !self.negate && rules.iter().any(is_open)
            }
            _ => false,
        }
    }

    /// What it says. A line that is limited to other methods counts for nothing in a container of
    /// the kind `parent`.
    pub(super) fn verdict<'l>(
        &'l self,
        request: &'l RequestContext<'_>,
        parent: Logic,
    ) -> Waiting<'l, AuthzStatus> {
        if !self.methods.has(request.method()) {
            let verdict = match parent {
                Logic::And => AuthzStatus::Granted,
                Logic::Or => AuthzStatus::Neutral,
            };
            self.tell(request, 1625, verdict, " (directive limited to other methods)");
            return NowOrLater::Now(Ok(verdict));
        }
        let verdict = match &self.test {
            AuthzTest::Provider { provider, .. } => provider.check(request, None),
            AuthzTest::Group { logic, rules, .. } => together(request, *logic, rules),
        };
        verdict.map(|verdict| {
            // Access is not granted just because it was not rejected.
            let verdict = match (self.negate, verdict?) {
                (false, verdict) => verdict,
                (true, AuthzStatus::Granted) => AuthzStatus::Denied,
                (true, _) => AuthzStatus::Neutral,
            };
            self.tell(request, 1626, verdict, "");
            Ok(verdict)
        })
    }

    fn tell(&self, request: &RequestContext<'_>, id: u32, verdict: AuthzStatus, more: &str) {
        // Texts of every rule of every request are not put together for nothing.
        if !request.logs("authz_core", Level::Debug) {
            return;
        }
        let verdict = match verdict {
            AuthzStatus::Granted => "granted",
            AuthzStatus::Denied => "denied",
            AuthzStatus::DeniedNoUser => "denied (no authenticated user yet)",
            AuthzStatus::Neutral => "neutral",
        };
        if request.is_explained() {
            let text = || format!("{}: {verdict}{more}", self.name());
            return match &self.test {
                AuthzTest::Provider { place, .. } => {
                    request.explain_line(StepKind::Access, place, text);
                }
                // The one around all lines is not written, and says what they say.
                AuthzTest::Group { logic: Logic::Or, is_merged: false, .. } if !self.negate => {}
                AuthzTest::Group { .. } => request.explain(StepKind::Access, text),
            };
        }
        let text = format!("authorization result of {}: {verdict}{more}", self.name());
        request.log(Level::Debug, "authz_core", Some(id), &text);
    }
}

/// What the rules of a container say together: of `And` the first that denies decides, of `Or` the
/// first that grants. `DeniedNoUser` is left only where a user may still change the result.
fn together<'l>(
    request: &'l RequestContext<'_>,
    logic: Logic,
    rules: &'l [Arc<AuthzRule>],
) -> Waiting<'l, AuthzStatus> {
    waiting::fold(rules.iter(), AuthzStatus::Neutral, move |rule, result| {
        rule.verdict(request, logic).map(move |verdict| {
            let verdict = verdict?;
            Ok(match (logic, verdict, result) {
                (_, AuthzStatus::Neutral, _) => ControlFlow::Continue(result),
                (Logic::And, AuthzStatus::Denied, _) | (Logic::Or, AuthzStatus::Granted, _) => {
                    ControlFlow::Break(verdict)
                }
                (_, _, AuthzStatus::Neutral)
                | (Logic::And, AuthzStatus::DeniedNoUser, _)
                | (Logic::Or, AuthzStatus::DeniedNoUser, AuthzStatus::Denied) => {
                    ControlFlow::Continue(verdict)
                }
                _ => ControlFlow::Continue(result),
            })
        })
    })
}
