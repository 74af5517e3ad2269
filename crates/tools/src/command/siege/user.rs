//! One user of siege: goes through the URLs, follows redirects, answers challenges, loads what
//! pages refer to. Nothing here touches a connection; what counts as what is in `counts`.

use super::auth::{Challenge, Credentials, login_for};
use super::cache::SiegeCache;
use super::compose::{self, Extras};
use super::config::{Login, WITHOUT_END};
use super::html;
use super::inflate::inflate;
use super::lines::{AnswerLine, NoticeLevel, line, notice};
use super::state::SiegeState;
use super::urls::SiegeRequest;
use http1::AnswerHead;
use load::plan::cookies::Jar;
use load::plan::{PlanValues, PlannedBody, Random, Template};
use load::run::{Ask, NoAnswer, REDIRECTS_MAX, ScriptAnswer, ScriptedUser, UserAction, UserScript};
use load::url::Url;
use runtime::clock;
use std::sync::Arc;

/// Bytes of a page that are read for references, and printed by `-p`.
const PAGE_BYTES_MAX: usize = 8 << 20;

/// A user with nothing to send waits so long before the next attempt.
const IDLE_NS: u64 = 1_000_000;

/// How far a user is in a round: one URL, and what its page refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    LogIn,
    Begin,
    /// The URL was asked for; its parts are.
    Page,
}

/// One URL with its redirects and challenges: it succeeds or fails as a whole.
#[derive(Debug, Default)]
struct RedirectChain {
    hits: u64,
    redirects: u32,
    challenges: i64,
    /// It is a part of a page, which has no parts itself.
    is_part: bool,
}

/// The script of siege's users.
#[derive(Debug)]
pub(super) struct SiegeScript(pub(super) Arc<SiegeState>);

impl UserScript for SiegeScript {
    fn user(&self, user: u32) -> Box<dyn ScriptedUser> {
        Box::new(SiegeUser::new(self.0.clone(), user))
    }
}

/// One simulated user: a state machine over the URLs, asked by the engine what comes next.
pub(super) struct SiegeUser {
    state: Arc<SiegeState>,
    id: u32,
    values: PlanValues,
    random: Random,
    stage: Stage,
    rounds: i64,
    /// The URL that comes next.
    place: usize,
    /// What is asked next, or was asked and has no answer yet.
    task: Option<SiegeRequest>,
    chain: RedirectChain,
    /// Of the page, the last one first.
    parts: Vec<SiegeRequest>,
    jar: Jar,
    cache: SiegeCache,
    credentials: Vec<(Url, Credentials)>,
    proxy_credentials: Option<Credentials>,
}

impl ScriptedUser for SiegeUser {
    fn next(&mut self, request: &mut Vec<u8>) -> UserAction {
        // What a chain still needs comes first, then what its page refers to, then the next URL: a
        // round is over only when all of it is.
        loop {
            if let Some(task) = &self.task {
                match self.state.obstacle(task) {
                    None => return self.ask(request),
                    Some(obstacle) => {
                        notice(NoticeLevel::Error, &obstacle);
                        self.task = None;
                        self.fail();
                        return UserAction::Pause(IDLE_NS);
                    }
                }
            }
            if let Some(part) = self.parts.pop() {
                self.visit_part(part);
                continue;
            }
            match self.stage {
                Stage::LogIn => {
                    self.stage = Stage::Begin;
                    self.begin(self.state.login(self.id));
                }
                Stage::Begin if self.is_at_end() => return UserAction::End,
                Stage::Begin => {
                    self.stage = Stage::Page;
                    let task = self.choose();
                    self.begin(Some(task));
                }
                Stage::Page => {
                    self.stage = Stage::Begin;
                    self.rounds += 1;
                    if let Some(pause) = self.pause() {
                        return pause;
                    }
                }
            }
        }
    }

    fn answered(&mut self, seen: &ScriptAnswer<'_>) {
        let Some(task) = self.task.take() else { return };
        self.look_at(task, seen);
    }

    fn failed(&mut self, error: &NoAnswer) {
        self.task = None;
        self.state.tell_error(error);
        self.fail();
    }
}

impl SiegeUser {
    pub(super) fn new(state: Arc<SiegeState>, id: u32) -> Self {
        let config = &state.config;
        // browser.c start(): users begin evenly spread over the file, or all at its first line.
        let share = state.tasks.len() as u64 / config.users.unsigned_abs().max(1);
        let start = if config.reps == -1 { 0 } else { u64::from(id) * share };
        let seed = clock::monotonic_ns() ^ (u64::from(id) << 32);
        Self {
            id,
            values: PlanValues::new(seed, id),
            random: Random::new(seed),
            stage: Stage::LogIn,
            rounds: 0,
            place: usize::try_from(start).unwrap_or(0),
            task: None,
            chain: RedirectChain::default(),
            parts: Vec::new(),
            jar: Jar::default(),
            cache: SiegeCache::default(),
            credentials: Vec::new(),
            proxy_credentials: None,
            state,
        }
    }

    fn is_at_end(&self) -> bool {
        let config = &self.state.config;
        let rounds = match config.reps {
            reps if config.seconds > 0 && (reps <= 0 || reps == WITHOUT_END) => WITHOUT_END,
            -1 => self.state.tasks.len() as i64,
            reps => reps,
        };
        self.rounds >= rounds || self.state.has_failed_enough()
    }

    fn choose(&mut self) -> SiegeRequest {
        let (config, count) = (&self.state.config, self.state.tasks.len());
        if config.internet {
            self.place = self.random.below(count as u64) as usize;
        } else if self.place >= count {
            self.place = 0;
            if config.expires_session {
                self.jar.clear();
            }
        }
        let task = self.state.tasks[self.place].clone();
        self.place += 1;
        self.values.advance();
        task
    }

    fn begin(&mut self, task: Option<SiegeRequest>) {
        self.chain = RedirectChain::default();
        self.task = task;
    }

    fn visit_part(&mut self, part: SiegeRequest) {
        if self.state.config.cache && self.cache.is_fresh(&part.url, clock::unix_s()) {
            let told = AnswerLine {
                user: self.id,
                protocol: "HTTP/1.1",
                status: 200,
                is_cached: true,
                took_s: 0.0,
                bytes: 0,
                task: &part,
            };
            self.state.tell(|config| line(&told, config));
            return;
        }
        self.begin(Some(part));
        self.chain.is_part = true;
    }

    fn pause(&mut self) -> Option<UserAction> {
        let delay_ns = (self.state.config.delay * 1e9) as u64;
        (delay_ns > 0).then(|| UserAction::Pause(self.random.below(delay_ns.saturating_add(1))))
    }

    fn ask(&mut self, request: &mut Vec<u8>) -> UserAction {
        let Some(task) = self.task.take() else { return UserAction::Pause(IDLE_NS) };
        let extras = self.extras(&task);
        let config = &self.state.config;
        compose::request(&task, &extras, config, &self.values, request);
        let server = self.state.proxy.as_ref().unwrap_or(&task.url).clone();
        self.state.show_request(&server, &task, request);
        let reads = config.prints || (config.parser && !self.chain.is_part);
        let ask = Ask {
            entry: task.entry,
            server,
            is_head: task.method == "HEAD",
            body_limit: if reads { PAGE_BYTES_MAX } else { 0 },
        };
        self.task = Some(task);
        UserAction::Ask(ask)
    }

    fn extras(&mut self, task: &SiegeRequest) -> Extras {
        let config = &self.state.config;
        let mut extras = Extras::default();
        let mut target = Vec::new();
        task.target.write(&self.values, &mut target);
        let target = String::from_utf8_lossy(&target);
        let own = self.credentials.iter_mut().find(|row| row.0.is_same_server(&task.url));
        extras.authorization = own.map(|(_, own)| own.value(&task.method, &target));
        let proxy = self.proxy_credentials.as_mut();
        extras.proxy_authorization = proxy.map(|own| own.value(&task.method, &target));
        if config.cookies {
            let now_s = clock::unix_s().max(0).cast_unsigned();
            self.jar.write_value(&task.url, now_s, &mut extras.cookies);
        }
        if config.cache && task.body == PlannedBody::None {
            self.cache.conditions(&task.url, &mut extras);
        }
        extras
    }

    fn look_at(&mut self, task: SiegeRequest, seen: &ScriptAnswer<'_>) {
        let state = self.state.clone();
        let config = &state.config;
        let field = |name: &[u8]| seen.head.get_by_name(name);
        state.show_head(seen.head.bytes());
        self.remember(&task, &seen.head, seen.status);
        let is_html = field(b"content-type").is_some_and(|value| value.starts_with(b"text/html"));
        let reads = config.parser && is_html && seen.status < 300 && !self.chain.is_part;
        let page = (config.prints || reads).then(|| {
            inflate(seen.body, field(b"content-encoding").unwrap_or_default(), PAGE_BYTES_MAX)
        });
        if let Some(page) = page.as_ref().filter(|_| config.prints) {
            state.show_page(page);
        }
        if !config.zero_data_ok && seen.body_bytes == 0 {
            return self.fail();
        }
        let page = page.filter(|_| reads).map(|page| html::read(&task.url, &page));
        let page = page.unwrap_or_default();
        self.keep_parts(&task, page.parts);
        state.counts.answered(seen.status, seen.took_ns);
        let told = AnswerLine {
            user: self.id,
            protocol: std::str::from_utf8(seen.head.bytes().get(..8).unwrap_or_default())
                .unwrap_or(""),
            status: seen.status,
            is_cached: false,
            took_s: seen.took_ns as f64 / 1e9,
            bytes: seen.body_bytes,
            task: &task,
        };
        state.tell(|config| line(&told, config));
        self.chain.hits += 1;
        match seen.status {
            200 if page.refresh.as_ref().is_some_and(|url| *url != task.url) => {
                self.go_on(page.refresh.map(|url| SiegeRequest::get(url, task.entry)));
            }
            301..=303 | 307 if config.follow => {
                self.redirect(&task, seen.status, field(b"location"))
            }
            401 | 407 => self.challenge(task, seen.status, &seen.head),
            408 | 500..=509 => self.fail(),
            _ => self.succeed(),
        }
    }

    fn remember(&mut self, task: &SiegeRequest, head: &AnswerHead<'_>, status: u16) {
        let now_s = clock::unix_s().max(0);
        if self.state.config.cookies {
            let is_cookie = |name: &[u8]| name.eq_ignore_ascii_case(b"set-cookie");
            for (_, value) in head.fields().filter(|field| is_cookie(field.0)) {
                self.jar.store(&task.url, value, now_s.cast_unsigned());
            }
        }
        if self.state.config.cache && status == 200 {
            self.cache.store(&task.url, head.fields(), now_s);
        }
    }

    fn keep_parts(&mut self, task: &SiegeRequest, parts: Vec<Url>) {
        let config = &self.state.config;
        let is_wanted = |url: &Url| {
            !config.no_follow.iter().any(|host| url.host.contains(&host.to_lowercase()))
        };
        let parts = parts.into_iter().filter(is_wanted);
        self.parts.extend(parts.map(|url| SiegeRequest::get(url, task.entry)));
    }

    fn redirect(&mut self, task: &SiegeRequest, status: u16, location: Option<&[u8]>) {
        let Some(location) = location else { return self.succeed() };
        let location = String::from_utf8_lossy(location);
        let url = task.url.join(&location);
        self.go_on(url.map(|url| match status {
            307 => SiegeRequest { target: Template::fixed(&url.target), url, ..task.clone() },
            _ => SiegeRequest::get(url, task.entry),
        }));
    }

    /// The next request of the chain, if it leads anywhere.
    fn go_on(&mut self, task: Option<SiegeRequest>) {
        self.chain.redirects += 1;
        if self.chain.redirects > REDIRECTS_MAX {
            notice(NoticeLevel::Error, &format!("redirected more than {REDIRECTS_MAX} times"));
            self.chain.hits = 0;
            return self.state.counts.fail_in_loop();
        }
        match task {
            Some(task) => self.task = Some(task),
            None => {
                notice(NoticeLevel::Error, super::state::UNSUPPORTED);
                self.fail();
            }
        }
    }

    /// Asks again with the login for the realm, as often as `attempts` says.
    fn challenge(&mut self, task: SiegeRequest, status: u16, head: &AnswerHead<'_>) {
        let state = self.state.clone();
        let is_proxy = status == 407;
        let (name, logins) = match is_proxy {
            true => (&b"proxy-authenticate"[..], &state.config.proxy_logins),
            false => (&b"www-authenticate"[..], &state.config.logins),
        };
        let values =
            head.fields().filter(|field| field.0.eq_ignore_ascii_case(name)).map(|field| field.1);
        let challenge = Challenge::of(values);
        // Attempts are of the chain: a redirect between two challenges gives no new ones.
        self.chain.challenges += 1;
        let has_tries = self.chain.challenges < state.config.attempts;
        let Some(challenge) = challenge.filter(|_| has_tries) else { return self.succeed() };
        let of_url =
            || task.url.credentials().map(|own| Login::parse(&String::from_utf8_lossy(&own)));
        let login = login_for(logins, &challenge.realm).cloned();
        let login = login.or_else(|| of_url().filter(|_| !is_proxy));
        match login {
            Some(login) => {
                let own = Credentials::new(challenge, login, &mut self.random);
                if is_proxy {
                    self.proxy_credentials = Some(own);
                } else {
                    // Those that were refused, or whose nonce is too old, are of no use any more.
                    self.credentials.retain(|row| !row.0.is_same_server(&task.url));
                    self.credentials.push((task.url.clone(), own));
                }
                self.task = Some(task);
            }
            None if challenge.is_digest() => {
                super::state::tell_no_login(&challenge.realm, is_proxy);
                self.fail();
            }
            None => self.succeed(),
        }
    }

    fn succeed(&mut self) {
        self.state.counts.hit(std::mem::take(&mut self.chain.hits));
    }

    /// browser.c counts none of the answers of a chain that fails in the end.
    fn fail(&mut self) {
        self.chain.hits = 0;
        self.state.counts.fail();
    }
}
