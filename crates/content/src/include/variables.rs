//! The variables of a page: those of a script, those that tell of the page itself, and what the
//! last pattern has found, as `$0` to `$9`.

use super::encode::{escape_for_shell, unescape};
use super::page::Page;
use super::state::{LAZY, Unknown};
use logging::level::Level;
use logging::sink::local_time;
use logging::time::{CalendarSecond, TimeFormat};
use runtime::process;
use server::script::environment::environment;

/// How long a value may become: elements can double one as often as there are elements. httpd has
/// no limit.
const VALUE_MAX_BYTES: usize = 1024 * 1024;

impl Page<'_, '_> {
    /// The variables of an outermost page (add_include_vars).
    pub(super) fn set_first_variables(&mut self) {
        let request = &mut *self.request;
        request.tables.env = environment(request, request.settings.core.variables());
        let status = request.mapping.status;
        self.shared.modified_s = status.map_or(0, |status| status.modified_us() / 1_000_000);
        self.shared.lazy = [true; LAZY.len()];
        let query = request.query().map(<[u8]>::to_vec);
        let (uri, info) = (request.path.clone(), request.mapping.path_info.clone());
        let place = request.mapping.place.path();
        let name = place.rsplit(|byte| *byte == b'/').next().unwrap_or_default().to_vec();
        let env = &mut request.tables.env;
        LAZY[..3].iter().for_each(|name| env.set(name, ""));
        env.set("DOCUMENT_URI", uri);
        env.set("DOCUMENT_ARGS", query.unwrap_or_default());
        if !info.is_empty() {
            env.set("DOCUMENT_PATH_INFO", info);
        }
        env.set("USER_NAME", "");
        env.set("DOCUMENT_NAME", name);
    }

    /// The variables that each page sets anew, also an included one.
    pub(super) fn set_query(&mut self) {
        let Some(query) = self.request.query().map(<[u8]>::to_vec) else { return };
        let unescaped = escape_for_shell(&unescape(&query));
        self.request.tables.env.set("QUERY_STRING", query);
        self.request.tables.env.set("QUERY_STRING_UNESCAPED", unescaped);
    }

    /// `<!--#config timefmt=` has changed how times are written.
    pub(super) fn set_times(&mut self) {
        self.shared.lazy[..3].fill(true);
    }

    pub(super) fn set_variable(&mut self, name: &[u8], mut value: Vec<u8>) {
        value.truncate(VALUE_MAX_BYTES);
        let name = String::from_utf8_lossy(name);
        if let Some(at) = LAZY.iter().position(|lazy| lazy.eq_ignore_ascii_case(&name)) {
            self.shared.lazy[at] = false;
        }
        self.request.tables.env.set(&name, value);
    }

    /// The value of a variable (get_include_var).
    pub(super) fn variable(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        if let [digit @ b'0'..=b'9'] = name {
            return self.group(usize::from(digit - b'0'));
        }
        let name = std::str::from_utf8(name).ok()?;
        if let Some(at) = LAZY.iter().position(|lazy| lazy.eq_ignore_ascii_case(name)) {
            self.compute(at);
        }
        self.request.tables.env.get(name).map(<[u8]>::to_vec)
    }

    /// Compute all variables that a text may ask for.
    pub(super) fn compute_named(&mut self, text: &[u8]) {
        let text = text.to_ascii_uppercase();
        for (at, name) in LAZY.iter().enumerate() {
            if text.windows(name.len()).any(|part| part == name.as_bytes()) {
                self.compute(at);
            }
        }
    }

    pub(super) fn compute_all(&mut self) {
        (0..LAZY.len()).for_each(|at| self.compute(at));
    }

    fn compute(&mut self, at: usize) {
        if !std::mem::take(&mut self.shared.lazy[at]) {
            return;
        }
        let start_s = self.request.start_us().div_euclid(1_000_000);
        let value = match at {
            0 => self.time(&local_time(start_s)),
            1 => self.time(&CalendarSecond::utc(start_s)),
            2 => self.time(&local_time(self.shared.modified_s)),
            _ => {
                let owner = self.request.mapping.status.map(|status| status.uid);
                let user = owner.and_then(process::user_by_id);
                user.map_or_else(|| b"<unknown>".to_vec(), |user| user.name.into())
            }
        };
        self.request.tables.env.set(LAZY[at], value);
    }

    /// A time as `timefmt` has it.
    pub(super) fn time(&self, time: &CalendarSecond) -> Vec<u8> {
        let mut out = Vec::new();
        TimeFormat::new(&self.time_format).write(time, &mut out);
        out
    }

    fn group(&mut self, number: usize) -> Option<Vec<u8>> {
        let file = self.request.display_path();
        let (id, text) = match &self.last_match.pattern {
            Some(_) if !self.last_match.has_match => {
                (1329, format!("regex capture ${number} refers to no regex in {file}"))
            }
            None => (1329, format!("regex capture ${number} refers to no regex in {file}")),
            Some((pattern, groups)) if *groups < number => {
                let text = format!(
                    "regex capture ${number} is out of range (last regex was: '{pattern}') in \
                     {file}"
                );
                (1330, text)
            }
            Some(_) => return Some(self.last_match.matches.get(number).to_vec()),
        };
        self.request.log(Level::Warn, "include", Some(id), &text);
        None
    }

    /// A text with the values of its variables: `$NAME`, `${NAME}`, and `\$` for a dollar
    /// (ap_ssi_parse_string).
    pub(super) fn expand(&mut self, text: &[u8], unknown: Unknown) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        let mut rest = text;
        while let [byte, behind @ ..] = rest {
            rest = behind;
            if out.len() > VALUE_MAX_BYTES {
                break;
            }
            let (name, used) = match (byte, behind) {
                (b'\\', [b'$', behind @ ..]) => {
                    out.push(b'$');
                    rest = behind;
                    continue;
                }
                (b'$', [b'{', inside @ ..]) => {
                    let Some(end) = inside.iter().position(|byte| *byte == b'}') else {
                        let (name, file) =
                            (String::from_utf8_lossy(inside), self.request.display_path());
                        let text = format!("Missing '}}' on variable \"{name}\" in {file}");
                        self.request.log(Level::Error, "include", Some(1331), &text);
                        break;
                    };
                    (&inside[..end], end + 2)
                }
                (b'$', behind) => {
                    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
                    let end = behind.iter().take_while(is_part).count();
                    (&behind[..end], end)
                }
                _ => {
                    out.push(*byte);
                    continue;
                }
            };
            if name.is_empty() {
                out.push(b'$');
                continue;
            }
            match self.variable(name) {
                Some(value) => out.extend(value),
                // As in httpd without the closing brace.
                None if unknown == Unknown::Keep => {
                    let brace: &[u8] = if behind.starts_with(b"{") { b"{" } else { b"" };
                    out.extend([b"$", brace, name].concat());
                }
                None => {}
            }
            rest = &behind[used..];
        }
        out.truncate(VALUE_MAX_BYTES);
        out
    }
}
