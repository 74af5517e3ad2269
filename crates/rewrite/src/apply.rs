//! The rules of a list, one after the other (apply_rewrite_list of mod_rewrite.c).

use crate::engine::{Engine, Groups, failure};
use crate::flags::RuleFlags;
use crate::notes;
use crate::prefix;
use crate::rule::Rule;
use crate::settings::Rules;
use crate::substitute::Applied;
use crate::trace::{MODULE, shown};
use message::Status;
use pattern::Captures;
use server::failure::{Failure, Stop};
use server::request_context::LookupPurpose;
use server::steps::StepKind;
use std::sync::Arc;

/// What came of a list of rules (`rulestatus`).
#[derive(Debug)]
pub(crate) enum Outcome<'r> {
    /// No rule has changed anything.
    Unchanged,
    /// The URL is another.
    Changed(Change<'r>),
    /// A rule says what the answer is, or it goes on for too long (`ACTION_STATUS`).
    Status(Failure),
    /// A rule must not be followed (`ACTION_STATUS_SET`).
    Refused(Failure),
}

/// What rules have done to a URL.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'r> {
    /// `NE`
    pub(crate) no_escape: bool,
    /// `PT`
    pub(crate) passes_through: bool,
    /// The query is another than before.
    pub(crate) has_new_query: bool,
    /// The last rule with a substitution.
    pub(crate) last: Option<&'r Arc<Rule>>,
}

impl Engine<'_, '_> {
    /// Apply the rules one after the other.
    pub(crate) async fn run<'l>(&mut self, all: &'l Rules) -> Result<Outcome<'l>, Stop> {
        let rules = &all.list;
        let is_sub = self.request.lineage.purpose == LookupPurpose::Sub;
        let not_for_sub = RuleFlags::NO_SUBREQUEST.with(RuleFlags::REDIRECT);
        self.spend_round(rules)?;
        let (mut nth, mut round) = (0, 1);
        let (mut changed, mut last) = (None, None);
        while let Some(rule) = rules.get(self.next_candidate(all, &mut nth)) {
            nth += 1;
            let flags = rule.actions.flags;
            if is_sub && flags.has(not_for_sub) {
                self.request.explain_line(StepKind::Rule, &rule.position, || {
                    format!("{} is passed over in a look-up", rule.shown())
                });
                continue;
            }
            self.decisive.clear();
            let applied = self.apply(rule).await?;
            if matches!(applied, Applied::No) {
                // What is chained to a rule that does not match is passed over.
                if flags.has(RuleFlags::CHAIN) {
                    let text = || "the rules that are chained to it are passed over".into();
                    self.request.explain(StepKind::RuleResult, text);
                }
                while rules.get(nth - 1).is_some_and(|it| it.actions.flags.has(RuleFlags::CHAIN)) {
                    nth += 1;
                }
                continue;
            }
            if !flags.has(RuleFlags::NO_SUBSTITUTION) {
                let output = || format!("setting lastsub to rule with output {}", rule.output.text);
                self.say_in_log(2, output);
                last = Some(rule);
            }
            if let Some(answer) = self.answer(rule, &applied) {
                return Ok(answer);
            }
            if matches!(applied, Applied::Changed) {
                changed = Some((flags.has(RuleFlags::NO_ESCAPE), false));
            }
            if flags.has(RuleFlags::PASS_THROUGH) {
                changed = Some((false, true));
            }
            if self.is_last(flags) {
                break;
            }
            if flags.has(RuleFlags::NEXT) {
                round += 1;
                if let Err(failure) = self.check_rounds(rule, round) {
                    return Ok(Outcome::Status(failure));
                }
                self.spend_round(rules)?;
                nth = 0;
                continue;
            }
            if rule.actions.skip > 0 {
                let text = || format!("the next {} rules are passed over", rule.actions.skip);
                self.request.explain(StepKind::RuleResult, text);
            }
            nth = nth.saturating_add(rule.actions.skip);
        }
        self.request.check_effort()?;
        let Some(changed) = changed else { return Ok(Outcome::Unchanged) };
        Ok(Outcome::Changed(self.change(changed, last)))
    }

    /// What a rule that has matched answers, if it does: that is the status of the request, too.
    fn answer<'l>(&mut self, rule: &Rule, applied: &Applied) -> Option<Outcome<'l>> {
        if let Err(failure) = self.check_length(rule) {
            return Some(Outcome::Status(failure));
        }
        self.request.output.vary.get_mut().append(&mut self.decisive);
        if let Applied::Refused(status) = *applied {
            self.request.status = status;
            return Some(Outcome::Refused(Failure::new(status, MODULE, "")));
        }
        if !rule.actions.flags.has(RuleFlags::STATUS) {
            return None;
        }
        let status = Status::new(rule.actions.status);
        self.request.status = status.unwrap_or(Status::INTERNAL_SERVER_ERROR);
        Some(Outcome::Status(Failure::new(self.request.status, MODULE, "")))
    }

    /// The next rule that may match. Unless each step is told, most are passed over by how the
    /// subject begins.
    fn next_candidate(&mut self, all: &Rules, nth: &mut usize) -> usize {
        if self.trace.is_silent() && *nth < all.list.len() {
            self.find_subject();
            *nth = all.next_candidate(*nth, prefix::opening(&self.subject));
        }
        *nth
    }

    /// What the rules have done.
    fn change<'l>(
        &mut self,
        (no_escape, passes_through): (bool, bool),
        last: Option<&'l Arc<Rule>>,
    ) -> Change<'l> {
        let before = self.query_before.take();
        let has_new_query = before.is_some_and(|before| before.as_deref() != self.request.query());
        Change { no_escape, passes_through, has_new_query, last }
    }

    /// Whether a rule with these flags that has matched ends the list.
    fn is_last(&mut self, flags: RuleFlags) -> bool {
        if flags.has(RuleFlags::PASS_THROUGH) {
            self.say(2, || {
                let url = shown(self.url());
                format!("forcing '{url}' to get passed through to next API URI-to-filename handler")
            });
            return true;
        }
        if flags.has(RuleFlags::END) {
            self.say(8, || "Rule has END flag, no further rewriting for this request".into());
            let note = match self.request.lineage.purpose {
                LookupPurpose::Sub => notes::END_OF_LOOK_UP,
                LookupPurpose::Main | LookupPurpose::Redirected => notes::END,
            };
            self.request.tables.notes.set(note, "1");
            return true;
        }
        flags.has(RuleFlags::PROXY.with(RuleFlags::LAST))
    }

    /// What a round through these rules costs, at least.
    fn spend_round(&self, rules: &[Arc<Rule>]) -> Result<(), Stop> {
        self.request.spend(rules.len() as u64);
        Ok(self.request.check_effort()?)
    }

    /// A rule that appends to its own result would go on for ever.
    fn check_length(&mut self, rule: &Rule) -> Result<(), Failure> {
        let most = 2 * self.request.host.limits.request_line_bytes;
        if self.url().len() <= most {
            return Ok(());
        }
        let url = String::from_utf8_lossy(&self.request.path);
        let text = format!(
            "RewriteRule '{}' and URI '{url}' exceeded maximum length ({most})",
            rule.pattern
        );
        Err(self.refuse_list(failure(text)))
    }

    fn check_rounds(&mut self, rule: &Rule, round: i64) -> Result<(), Failure> {
        let most = rule.actions.rounds_max;
        if round < most {
            return Ok(());
        }
        let url = String::from_utf8_lossy(&self.request.path);
        let text = format!(
            "RewriteRule '{}' and URI '{url}' exceeded maximum number of rounds ({most}) via the \
             [N] flag",
            rule.pattern
        );
        Err(self.refuse_list(failure(text).id(2596)))
    }

    /// The list goes no further. As in httpd the log hears of that now: the status may become
    /// another one, or that of a look-up of which nothing is left.
    fn refuse_list(&mut self, mut failure: Failure) -> Failure {
        self.request.status = Status::INTERNAL_SERVER_ERROR;
        self.request.log_failure(&failure);
        failure.text.clear();
        failure
    }

    /// Apply one rule.
    async fn apply(&mut self, rule: &Arc<Rule>) -> Result<Applied, Stop> {
        self.find_subject();
        self.say_in_log(3, || {
            let subject = shown(&self.subject);
            format!("applying pattern '{}' to uri '{subject}'", rule.pattern)
        });
        self.request.explain_line(StepKind::Rule, &rule.position, || rule.shown());
        let Some(captures) = rule.find(&self.subject).map_err(|_| self.limit(rule))? else {
            self.explain_match(None);
            return Ok(Applied::No);
        };
        self.explain_match(Some(captures.as_ref()));
        self.looked_at.clear();
        self.of_condition = Groups::default();
        let source = if captures.is_some() { self.subject.clone() } else { Vec::new() };
        self.of_rule = Groups { source, captures, given: Vec::new() };
        if !self.conditions_hold(rule).await? {
            return Ok(Applied::No);
        }
        self.substitute(rule).await
    }

    /// Tell what a pattern has found; `Some(None)` is that it did not match, which its `!` wants.
    fn explain_match(&self, found: Option<Option<&Captures>>) {
        self.request.explain(StepKind::RuleResult, || {
            let subject = String::from_utf8_lossy(&self.subject);
            let Some(found) = found else { return format!("'{subject}' does not match") };
            let mut text = format!("'{subject}' matches");
            for number in 1..10 {
                let range = found.and_then(|found| found.get(number));
                if let Some(group) = range.and_then(|range| self.subject.get(range)) {
                    text += &format!(", ${number}='{}'", String::from_utf8_lossy(group));
                }
            }
            text
        });
    }

    /// What patterns are compared with: the whole URL, or the path within the folder of the rules.
    fn find_subject(&mut self) {
        self.subject.clear();
        let url = self.request.mapping.rewritten.as_deref().unwrap_or_default();
        self.subject.extend_from_slice(url);
        let Some(folder) = self.folder else { return };
        let path_info = &self.request.mapping.path_info;
        if !path_info.is_empty() {
            self.say_in_log(3, || {
                let [url, path_info] = [url, path_info].map(shown);
                format!("add path info postfix: {url} -> {url}{path_info}")
            });
            self.subject.extend_from_slice(path_info);
        }
        let is_proxied = self.request.mapping.backend.is_some();
        if !is_proxied && self.subject.starts_with(folder.as_bytes()) {
            self.say_in_log(3, || {
                let subject = shown(&self.subject);
                let rest = shown(&self.subject[folder.len()..]);
                format!("strip per-dir prefix: {subject} -> {rest}")
            });
            self.subject.drain(..folder.len());
        }
    }

    /// A pattern went on for too long.
    fn limit(&self, rule: &Rule) -> Stop {
        let text = format!(
            "RewriteRule '{}' of {} took too many steps for {}: simplify the pattern",
            rule.pattern,
            rule.position.file,
            String::from_utf8_lossy(&self.request.path)
        );
        failure(text).recurring("a pattern of RewriteRule").into()
    }
}
