//! Whether the conditions of a rule hold (apply_rewrite_cond of mod_rewrite.c).

use crate::condition::{Condition, FileTest, Test, compare};
use crate::engine::{Engine, Groups, failure};
use crate::expand;
use crate::rule::Rule;
use crate::trace::{shown, told};
use crate::words::atoi;
use config::Position;
use pattern::LimitExceeded;
use runtime::file::{self, FileType};
use server::failure::Stop;
use server::phase::condition;
use server::site::expression::Expression;
use server::steps::StepKind;

impl Engine<'_, '_> {
    /// Whether the rule may be applied.
    pub(crate) async fn conditions_hold(&mut self, rule: &Rule) -> Result<bool, Stop> {
        let mut rest = rule.conditions.iter();
        while let Some(condition) = rest.next() {
            let holds = self.holds(condition).await?;
            if condition.no_vary {
                self.looked_at.clear();
            }
            match (holds, condition.or_next) {
                // Another one may hold in its place.
                (false, true) => {
                    self.looked_at.clear();
                    continue;
                }
                (false, false) => return Ok(false),
                (true, true) => while rest.next().is_some_and(|next| next.or_next) {},
                (true, false) => {}
            }
            self.decisive.append(&mut self.looked_at);
        }
        Ok(true)
    }

    async fn holds(&mut self, condition: &Condition) -> Result<bool, Stop> {
        let input = match condition.test {
            Test::Expression(_) => Vec::new(),
            _ => expand::text(self, &condition.input, None).await?,
        };
        let found = match &condition.test {
            Test::Regex(regex) => match regex.captures_at_length(&input) {
                Ok(captures) => captures.map(|captures| Groups {
                    source: input.clone(),
                    captures: Some(captures),
                    given: Vec::new(),
                }),
                Err(LimitExceeded) => {
                    let text = format!("RewriteCond '{}' took too many steps", condition.pattern);
                    return Err(failure(text).recurring("a pattern of RewriteCond").into());
                }
            },
            Test::Expression(expression) => self.expression_holds(condition, expression).await,
            other => self.is_so(other, &input, condition.ignores_case).await?.then(Groups::default),
        };
        let holds = found.is_some() != condition.is_negated;
        let keeps = matches!(condition.test, Test::Regex(_) | Test::Expression(_));
        if let Some(groups) = found.filter(|_| keeps && !condition.is_negated) {
            self.of_condition = groups;
        }
        let text = || {
            let has_input = !matches!(condition.test, Test::Expression(_));
            format!(
                "RewriteCond: input='{}' pattern='{}'{} => {}",
                if has_input { shown(&input) } else { "(null)".into() },
                condition.pattern,
                if condition.ignores_case { " [NC]" } else { "" },
                if holds { "matched" } else { "not-matched" }
            )
        };
        self.say_in_log(4, text);
        self.request.explain_line(StepKind::RuleResult, &condition.position, || told(&text()));
        Ok(holds)
    }

    async fn expression_holds(
        &mut self,
        condition: &Condition,
        expression: &Expression,
    ) -> Option<Groups> {
        let mut matches = expr::Matches::default();
        let named_before = self.request.output.vary.get_mut().len();
        let holds = condition::holds_with(expression, self.request, None, &mut matches).await;
        if condition.no_vary {
            self.request.output.vary.get_mut().truncate(named_before);
        }
        if let Ok(holds) = &holds {
            let Position { file, line, .. } = &condition.position;
            self.trace.say_of_expression(self.request, || {
                format!("Evaluation of expression from {file}:{line} gave: {}", u8::from(*holds))
            });
        }
        match holds {
            Ok(true) => {
                let given = (0..10).map(|number| matches.get(number).to_vec()).collect();
                Some(Groups { given, ..Groups::default() })
            }
            Ok(false) => None,
            Err(error) => {
                let pattern = &condition.pattern;
                self.say(1, || format!("RewriteCond: expr='{pattern}' evaluation failed: {error}"));
                None
            }
        }
    }

    /// Whether a test without groups holds.
    async fn is_so(&mut self, test: &Test, input: &[u8], ignores_case: bool) -> Result<bool, Stop> {
        Ok(match test {
            Test::File(test) => self.file_is(*test, input),
            Test::Text(relation, text) => relation.holds(compare(input, text, ignores_case)),
            Test::Number(relation, number) => relation.holds(atoi(input).cmp(number)),
            Test::LookUpUrl if expand::may_look_up(self.request) && !input.is_empty() => {
                Box::pin(expand::is_url(self, input)).await
            }
            Test::LookUpFile if expand::may_look_up(self.request) && !input.is_empty() => {
                Box::pin(expand::is_file(self, input)).await
            }
            _ => false,
        })
    }

    /// What is at a path. What is served is looked at again before others are given it, anything
    /// else is noted, or asked again in the next second.
    fn file_is(&self, test: FileTest, path: &[u8]) -> bool {
        let is_own = self.folder.is_some() && self.request.mapping.place.path() == path;
        let is_noted = matches!(test, FileTest::Regular | FileTest::NotEmpty | FileTest::Directory);
        if is_noted && !is_own && path.starts_with(b"/") {
            return self.request.look_at(path).is_ok_and(|status| match test {
                FileTest::Directory => status.kind == FileType::Directory,
                FileTest::NotEmpty => status.kind == FileType::File && status.size > 0,
                _ => status.kind == FileType::File,
            });
        }
        if !is_own || test == FileTest::Link {
            self.request.mark_momentary();
        }
        let facts = file::facts(path, test != FileTest::Link);
        facts.is_ok_and(|(kind, size, is_executable)| match test {
            FileTest::Regular => kind == FileType::File,
            FileTest::NotEmpty => kind == FileType::File && size > 0,
            FileTest::Directory => kind == FileType::Directory,
            FileTest::Link => kind == FileType::Link,
            FileTest::Executable => is_executable,
        })
    }
}
