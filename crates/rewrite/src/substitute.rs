//! What a rule does whose pattern and conditions match (the second half of apply_rewrite_rule of
//! mod_rewrite.c).

use crate::engine::Engine;
use crate::flags::RuleFlags;
use crate::notes;
use crate::result::{NewQuery, Scheme, parts, split_query, trimmed};
use crate::rule::Rule;
use crate::settings::{HOST_SETTINGS, Options};
use crate::trace::{MODULE, shown};
use crate::{cookie, expand};
use logging::level::Level;
use message::{Method, Status};
use server::failure::Stop;
use std::sync::Arc;

/// What came of a rule.
pub(crate) enum Applied {
    No,
    /// It matched and has changed nothing but variables.
    OnlyMatched,
    Changed,
    /// The answer is a refusal.
    Refused(Status),
}

impl Engine<'_, '_> {
    /// What a rule does whose pattern and conditions match.
    pub(crate) async fn substitute(&mut self, rule: &Arc<Rule>) -> Result<Applied, Stop> {
        let flags = rule.actions.flags;
        let mut url = Vec::new();
        if !flags.has(RuleFlags::NO_SUBSTITUTION) {
            let (text, is_unsafe) = expand::substitution(self, rule).await?;
            self.say(2, || {
                let [subject, text] = [&self.subject, &text].map(|it| shown(it));
                format!("rewrite '{subject}' -> '{text}'")
            });
            if is_unsafe {
                let text = "Unsafe URL with %3f URL rewritten without UnsafeAllow3F";
                self.request.log(Level::Error, MODULE, Some(10508), text);
                return Ok(Applied::Refused(Status::FORBIDDEN));
            }
            url = text;
        }
        self.set_variables(rule).await?;
        if flags.has(RuleFlags::NO_SUBSTITUTION) {
            expand::force(self, &rule.actions).await?;
            if flags.has(RuleFlags::STATUS) {
                self.say(2, || {
                    let url = shown(self.url());
                    format!("forcing responsecode {} for {url}", rule.actions.status)
                });
            }
            return Ok(Applied::OnlyMatched);
        }
        let has_prefix = self.add_prefix(&mut url, flags);
        if self.folder.is_some() && flags.has(RuleFlags::DISCARD_PATH_INFO) {
            self.request.mapping.path_info.clear();
        }
        self.take_query(&mut url, flags);
        self.set_url(url);
        if flags.has(RuleFlags::PROXY.with(RuleFlags::REDIRECT)) {
            self.qualify();
            return Ok(self.leave_server(rule));
        }
        self.reduce();
        if Scheme::of(self.url()).is_some() {
            self.say(2, || {
                let url = shown(self.url());
                format!("implicitly forcing redirect (rc={} with {url}", rule.actions.status)
            });
            self.set_status(rule);
            return Ok(Applied::Changed);
        }
        if !has_prefix && !flags.has(RuleFlags::KEEP_SLASHES) && !rule.output.text.starts_with("//")
        {
            self.merge_slashes();
        }
        expand::force(self, &rule.actions).await?;
        Ok(Applied::Changed)
    }

    /// `[E=...]` and `[CO=...]`
    async fn set_variables(&mut self, rule: &Rule) -> Result<(), Stop> {
        for env in &rule.actions.env {
            let text = expand::text(self, env, None).await?;
            if let Some(name) = text.strip_prefix(b"!") {
                self.request.tables.env.unset(&String::from_utf8_lossy(name));
                self.say_without_folder(5, || format!("unsetting env variable '{}'", shown(name)));
                continue;
            }
            let end = text.iter().position(|byte| *byte == b':').unwrap_or(text.len());
            let (name, value) = (&text[..end], text.get(end + 1..).unwrap_or_default());
            self.request.tables.env.set(&String::from_utf8_lossy(name), value);
            self.say_without_folder(5, || {
                format!("setting env variable '{}' to '{}'", shown(name), shown(value))
            });
        }
        for template in &rule.actions.cookies {
            let text = expand::text(self, template, None).await?;
            match cookie::set(self.request, &text) {
                Some(Ok(cookie)) => self.say_of_main(5, || format!("setting cookie '{cookie}'")),
                Some(Err(name)) => {
                    self.say_of_main(5, || format!("skipping already set cookie '{name}'"));
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Make a whole path of what is none; whether that was needed.
    fn add_prefix(&self, url: &mut Vec<u8>, flags: RuleFlags) -> bool {
        let is_proxied = self.folder.is_some() && self.request.mapping.backend.is_some();
        if is_proxied || url.starts_with(b"/") || Scheme::of(url).is_some() {
            return false;
        }
        let prefix = match self.folder {
            Some(folder) => {
                self.say(3, || {
                    let url = shown(url);
                    format!("add per-dir prefix: {url} -> {folder}{url}")
                });
                folder
            }
            None if flags.has(RuleFlags::PROXY.with(RuleFlags::REDIRECT)) => return false,
            None => {
                self.say(3, || {
                    let url = shown(url);
                    format!("add root prefix: {url} -> /{url}")
                });
                "/"
            }
        };
        url.splice(0..0, prefix.bytes());
        true
    }

    fn take_query(&mut self, url: &mut Vec<u8>, flags: RuleFlags) {
        if flags.has(RuleFlags::QUERY_NONE) {
            self.say_without_folder(2, || {
                "discarding query string, no parse from substitution".into()
            });
        } else if flags.has(RuleFlags::QUERY_DISCARD) {
            self.say_without_folder(2, || "discarding query string".into());
        }
        let before = url.clone();
        let query = match split_query(url, flags) {
            NewQuery::Kept => return,
            NewQuery::Is(query) => query,
            NewQuery::Before(query) => {
                let old = self.request.query().unwrap_or_default();
                trimmed([&query, &b"&"[..], old].concat())
            }
            NewQuery::Trimmed => self.request.query().and_then(|query| trimmed(query.to_vec())),
        };
        if before.len() > url.len() {
            self.say_without_folder(3, || {
                let [before, url] = [&before, &*url].map(|it| shown(it));
                let args = query.as_deref().map_or("<none>".into(), shown);
                format!("split uri={before} -> uri={url}, args={args}")
            });
        }
        if self.query_before.is_none() {
            self.query_before = Some(self.request.query().map(<[u8]>::to_vec));
        }
        self.request.set_query(query);
    }

    /// Make a URL with scheme and host of a path (fully_qualify_uri).
    fn qualify(&mut self) {
        if self.request.method() == Some(Method::Connect) || Scheme::of(self.url()).is_some() {
            return;
        }
        let mut url = self.request.base_url();
        if !self.url().starts_with(b"/") {
            url.push(b'/');
        }
        url.extend_from_slice(self.url());
        self.set_url(url);
    }

    /// `[P]` and `[R]`
    fn leave_server(&mut self, rule: &Rule) -> Applied {
        let url = self.url().to_vec();
        let text = shown(&url);
        if rule.actions.flags.has(RuleFlags::PROXY) {
            self.say(2, || format!("forcing proxy-throughput with {text}"));
            self.set_url([b"proxy:", &url[..]].concat());
            return Applied::Changed;
        }
        self.say(2, || format!("explicitly forcing redirect with {text}"));
        self.set_status(rule);
        Applied::Changed
    }

    /// The status of a redirection. It stays if a later rule makes a path of this server of it.
    fn set_status(&mut self, rule: &Rule) {
        self.request.status =
            Status::new(rule.actions.status).unwrap_or(Status::INTERNAL_SERVER_ERROR);
        self.request.mark_personal();
    }

    /// A URL of this very server is one of its paths (reduce_uri).
    fn reduce(&mut self) {
        let scheme = self.request.scheme();
        let Some((host, port, path)) = parts(self.url(), scheme) else { return };
        let port = port.unwrap_or(if scheme == "https" { 443 } else { 80 });
        if !self.request.is_own_host(host, port) {
            return;
        }
        let path = path.to_vec();
        self.say_without_folder(3, || {
            let [url, path] = [self.url(), &path].map(shown);
            format!("reduce {url} -> {path}")
        });
        self.set_url(path);
        let options = HOST_SETTINGS.of(&self.request.host.modules).options();
        if !options.has(Options::LEGACY_PREFIX_DOC_ROOT) {
            self.request.tables.notes.set(notes::REDUCED, "true");
        }
    }

    /// Several slashes at the beginning count as one.
    fn merge_slashes(&mut self) {
        if let Some(url) = &mut self.request.mapping.rewritten {
            let slashes = url.iter().take_while(|byte| **byte == b'/').count();
            url.drain(..slashes.saturating_sub(1));
        }
    }
}
