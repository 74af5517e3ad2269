//! Elements that ask for something else: other pages and files, and programs. Each is a request of
//! its own, which has to be admitted as if a client had made it.

use super::encode::{escape_for_shell, unescape_html};
use super::page::Page;
use super::parse::{Argument, Element};
use super::state::Unknown;
use logging::level::Level;
use logging::sink::local_time;
use message::Status;
use message::escape::html_escape;
use runtime::file::{FileAttributes, FileType};
use server::description;
use server::failure::{Failure, Stop};
use server::phase;
use server::request_context::{Query, RequestContext};
use server::response::Response;
use server::short_size;
use server::sub_response;

/// How many parts the pages of one request may ask for, theirs included: a page that includes
/// itself twice would have thousands. httpd has no limit.
const PARTS_MAX: u32 = 4096;

/// The longest command line, in bytes: what is beyond is cut off (MAX_STRING_LEN of httpd.h).
const COMMAND_MAX_BYTES: usize = 8191;

/// The media type that makes whatever is found a script (CGI_MAGIC_TYPE).
const SCRIPT_TYPE: &str = "application/x-httpd-cgi";

impl<'a> Page<'_, 'a> {
    /// `<!--#fsize file="..." -->`
    pub(super) async fn file_size(&mut self, element: &Element) {
        for argument in &element.arguments {
            let Some(status) = self.find(argument, "fsize").await else { return };
            let mut shown = Vec::new();
            match self.shows_bytes {
                true => shown = with_commas(status.size),
                false => short_size::size(Some(status.size), &mut shown),
            }
            self.out.text(&shown);
        }
    }

    /// `<!--#flastmod file="..." -->`
    pub(super) async fn file_time(&mut self, element: &Element) {
        for argument in &element.arguments {
            let Some(status) = self.find(argument, "flastmod").await else { return };
            let shown = self.time(&local_time(status.modified_us().div_euclid(1_000_000)));
            self.out.text(&shown);
        }
    }

    /// What is known of the file that an argument names (find_file); `None` if nothing is, which
    /// the page says.
    async fn find(&mut self, argument: &Argument, tag: &str) -> Option<FileAttributes> {
        let value = self.expand(&unescape_html(argument.value.as_deref()?), Unknown::Drop);
        let name = String::from_utf8_lossy(&value).into_owned();
        let (id, what) = match argument.name.as_slice() {
            b"file" if below(&value).is_none() => (2668, "unable to access file"),
            b"file" => (2670, "unable to lookup information about"),
            b"virtual" => (1339, "unable to get information about"),
            unknown => {
                let unknown = String::from_utf8_lossy(unknown);
                let text = format!("unknown parameter \"{unknown}\" to tag {tag} in");
                self.wrong(1340, &text);
                return None;
            }
        };
        let found = self.look_up(&argument.name, &value).await.ok();
        let status = found.and_then(|sub| {
            sub.found.as_ref().map(|entry| entry.status).ok().or(sub.mapping.status)
        });
        if status.is_none() {
            self.wrong(id, &format!("{what} \"{name}\" in parsed file"));
        }
        status
    }

    /// Look up what `file` or `virtual` names.
    async fn look_up(&mut self, kind: &[u8], name: &[u8]) -> Result<RequestContext<'a>, Stop> {
        self.shared.parts += 1;
        if self.shared.parts > PARTS_MAX {
            let text = format!("the pages of a request ask for more than {PARTS_MAX} parts");
            return Err(Failure::new(Status::INTERNAL_SERVER_ERROR, "include", text).into());
        }
        if kind != b"file" {
            // A fragment is nothing that is asked for.
            let end = name.iter().position(|byte| *byte == b'#').unwrap_or(name.len());
            return phase::look_up_part(self.request, &name[..end]).await;
        }
        let Some(name) = below(name) else {
            let text = "the name of a file leads out of the folder of its page";
            return Err(Failure::new(Status::FORBIDDEN, "include", text).into());
        };
        phase::look_up_file(self.request, &name, Query::None).await
    }

    /// `<!--#include virtual="..." -->`: each in turn. After one that fails only `onerror` counts.
    pub(super) async fn include(&mut self, element: &Element) -> Result<(), Failure> {
        let mut has_failed = false;
        for argument in &element.arguments {
            let Some(value) = argument.value.as_deref().map(unescape_html) else { break };
            let url = self.expand(&value, Unknown::Drop);
            match (argument.name.as_slice(), has_failed) {
                (b"file", _) | (b"virtual", false) | (b"onerror", true) => {}
                (b"virtual", true) | (b"onerror", false) => continue,
                (name, _) => {
                    let name = String::from_utf8_lossy(name);
                    self.wrong(1342, &format!("unknown parameter \"{name}\" to tag include in"));
                    break;
                }
            }
            match self.included(&argument.name, &url).await {
                Ok(response) => {
                    self.out.body(response.body).await?;
                    has_failed = false;
                }
                Err(why) => {
                    let (value, file) =
                        (String::from_utf8_lossy(&value), self.request.display_path());
                    let text = format!("unable to include \"{value}\" in parsed file {file}{why}");
                    self.request.log(Level::Error, "include", None, &text);
                    if std::mem::replace(&mut has_failed, true) {
                        break;
                    }
                }
            }
        }
        if has_failed {
            self.show_error();
        }
        Ok(())
    }

    /// The response to what an argument names; an error says how the log line ends.
    async fn included(&mut self, kind: &[u8], name: &[u8]) -> Result<Response, String> {
        let sub = match self.look_up(kind, name).await {
            Ok(sub) => sub,
            Err(Stop::Failure(failure)) => {
                self.request.log_failure(&failure);
                return Err(format!(", subrequest setup returned {}", failure.status.code()));
            }
            Err(Stop::Internal(..)) => return Err(", subrequest setup returned 302".to_owned()),
        };
        let is_text = |content_type: String| content_type.starts_with("text/");
        if !self.runs_programs && !description::content_type(&sub).is_none_or(is_text) {
            return Err(", content type not text/*".to_owned());
        }
        let response = self.respond(sub).await;
        response.map_err(|failure| format!(", subrequest returned {}", failure.status.code()))
    }

    /// Have a look-up answered. What it parses works on the variables of this page.
    async fn respond(&mut self, mut sub: RequestContext<'a>) -> Result<Response, Failure> {
        let lent = self.lend(&mut sub);
        let (sub, response) = sub_response::respond(sub).await;
        self.take_back(&lent);
        if let Err(failure) = &response {
            sub.log_failure(failure);
        }
        response
    }

    /// `<!--#exec cmd="..." -->` and `<!--#exec cgi="..." -->` (cgi_handle_exec of cgi_common.h).
    pub(super) async fn exec(&mut self, element: &Element) -> Result<(), Failure> {
        if !self.runs_programs {
            self.wrong(1228, "exec used but not allowed in");
            return Ok(());
        }
        for argument in &element.arguments {
            let Some(value) = argument.value.as_deref().map(unescape_html) else { break };
            let is_done = match argument.name.as_slice() {
                b"cmd" => {
                    let mut line = self.expand(&value, Unknown::Keep);
                    line.truncate(COMMAND_MAX_BYTES);
                    self.command(line).await?
                }
                b"cgi" => {
                    let url = self.expand(&value, Unknown::Drop);
                    self.script(&url).await?
                }
                name => {
                    let name = String::from_utf8_lossy(name);
                    self.wrong(1231, &format!("unknown parameter \"{name}\" to tag exec in"));
                    break;
                }
            };
            if !is_done {
                let (id, what) = match argument.name.as_slice() {
                    b"cmd" => (1229, "execution failure for parameter \"cmd\" to tag exec in file"),
                    _ => (1230, "invalid CGI ref in"),
                };
                self.wrong(id, what);
                break;
            }
        }
        Ok(())
    }

    /// Have a shell run a command line (include_cmd).
    async fn command(&mut self, line: Vec<u8>) -> Result<bool, Failure> {
        let info = &self.request.mapping.path_info;
        if !info.is_empty() {
            let info = escape_for_shell(info);
            self.request.tables.env.set("PATH_INFO", info);
        }
        let Some(said) = phase::run_command(self.request, line) else { return Ok(false) };
        match said.await {
            Ok(body) => self.out.body(body).await.map(|()| true),
            Err(Stop::Failure(failure)) => {
                self.request.log_failure(&failure);
                Ok(false)
            }
            Err(Stop::Internal(..)) => Ok(false),
        }
    }

    /// Have a script run as one, whatever its name says, with what the page was asked for
    /// (include_cgi).
    async fn script(&mut self, url: &[u8]) -> Result<bool, Failure> {
        let Ok(mut sub) = self.look_up(b"virtual", url).await else { return Ok(false) };
        let has_own = !sub.mapping.path_info.is_empty() || url.contains(&b'?');
        let is_file = sub.mapping.status.is_some_and(|status| status.kind == FileType::File);
        if has_own || !is_file {
            return Ok(false);
        }
        sub.mapping.path_info.clone_from(&self.request.mapping.path_info);
        sub.inherit_query(self.request);
        sub.negotiated.content_type = Some(SCRIPT_TYPE.to_owned());
        match self.respond(sub).await {
            Ok(response) => self.out.body(response.body).await.map(|()| true),
            Err(failure) => match failure.location() {
                Some(location) => {
                    let mut link = b"<a href=\"".to_vec();
                    html_escape(location, &mut link);
                    link.extend(b"\">");
                    html_escape(location, &mut link);
                    link.extend(b"</a>");
                    self.out.text(&link);
                    Ok(true)
                }
                // As in httpd it was run, whatever came of it.
                None => Ok(true),
            },
        }
    }
}

/// The name of a file in the folder of its page, or below it; `None` for one that leads elsewhere
/// (apr_filepath_merge with APR_FILEPATH_SECUREROOTTEST and APR_FILEPATH_NOTABSOLUTE).
fn below(name: &[u8]) -> Option<Vec<u8>> {
    if name.starts_with(b"/") || name.contains(&0) {
        return None;
    }
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in name.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join(&b"/"[..])).filter(|name| !name.is_empty())
}

/// A number with a comma before each three of its digits.
fn with_commas(number: u64) -> Vec<u8> {
    let digits = number.to_string();
    let mut shown = Vec::new();
    for (at, digit) in digits.bytes().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(b',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_in_the_folder_of_its_page_or_below() {
        for (name, expected) in
            [("a", "a"), ("a/b", "a/b"), ("./a//b/../c", "a/c"), ("a/../b", "b"), ("a/", "a")]
        {
            assert_eq!(below(name.as_bytes()).as_deref(), Some(expected.as_bytes()), "{name}");
        }
        for name in ["", "/a", "..", "../a", "a/../../b", "a\0b", "."] {
            assert_eq!(below(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn sizes_have_commas() {
        for (number, shown) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(with_commas(number), shown.as_bytes());
        }
    }
}
