//! What is asked: the URL of the command line, or the lines of a URL file.

use super::config::Config;
use super::rc::with_values;
use load::plan::{self, PlanEntry, PlannedBody, Template, Variable, Variables};
use load::url::Url;
use std::sync::Arc;

/// A file of URLs, or a body, at most.
const BYTES_MAX: u64 = 1 << 28;

/// Methods that stand behind a URL, with a body or without. siege knows those of the first row.
const METHODS: [&str; 7] = ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "GET"];

/// Characters that siege's url.c escapes beside blanks and what is not ASCII.
const ESCAPED: &str = "\"<>|\\^`";

/// Files by the ends of their names that siege sends byte for byte; all others are texts to it,
/// without the blanks and line ends around them (load.c `load_file`; as 4.0.7 was seen to do).
const BYTE_FOR_BYTE: &str = "ai aif aifc aiff au avi bcpio bin ccad cdf class cpio cpt csh dcr dir \
    dms doc drw dvi dwg dxf dxr eps exe ez fli gif gtar gz hdf hqx ice ico ief iges igs ips ipx \
    jpe jpeg jpg js json kar latex lha lsp lzh man me mesh mid midi mif mime mov movie mp2 mp3 mpe \
    mpeg mpg mpga ms msh nc oda pbm pdb pdf pgm pgn png pnm pot ppm pps ppt ppz pre prt ps qt ra \
    ram ras rgb rm roff rpm rtf rtx scm set sh shar silo sit skd skm skp skt smi smil snd sol spl \
    src step stl stp sv4cpio sv4crc swf t tar tcl tex texi texinfo tif tiff tr tsi tsp unv ustar \
    vcd vda viv vivo vrml wav wrl xbm xlc xll xlm xls xlw xpm xwd xyz zip";

/// A request before its cookies and credentials.
#[derive(Clone, Debug)]
pub(super) struct SiegeRequest {
    pub(super) url: Url,
    pub(super) target: Template,
    pub(super) method: String,
    pub(super) body: PlannedBody,
    /// The entry of the plan; also the number that rows of CSV have.
    pub(super) entry: usize,
    /// It stands for no URL that this program knows how to ask.
    pub(super) is_unsupported: bool,
}

impl SiegeRequest {
    /// A GET of this URL, counted under `entry`.
    pub(super) fn get(url: Url, entry: usize) -> Self {
        Self {
            target: Template::fixed(&url.target),
            url,
            method: "GET".to_owned(),
            body: PlannedBody::None,
            entry,
            is_unsupported: false,
        }
    }

    /// As siege shows it: the path of what is got, the URL of all else.
    pub(super) fn shown(&self, is_full: bool) -> String {
        match self.method.as_str() {
            "GET" if !is_full => self.url.target.clone(),
            _ => self.url.to_string(),
        }
    }
}

/// Why nothing can be asked.
#[derive(Debug)]
pub(super) enum UrlsFault {
    /// The file cannot be read.
    Unreadable(std::io::Error),
    /// A line cannot be understood.
    Line(String),
}

/// The URLs and the entries of a plan for them.
#[derive(Debug)]
pub(super) struct Urls {
    pub(super) tasks: Vec<SiegeRequest>,
    pub(super) entries: Vec<PlanEntry>,
}

/// Those of the command line or of the file.
///
/// # Errors
/// When a file or a line cannot be read.
pub(super) fn load(config: &Config) -> Result<Urls, UrlsFault> {
    let mut urls = Urls { tasks: Vec::new(), entries: Vec::new() };
    let mut variables = Variables::default();
    if let Some(url) = &config.url {
        urls.add(url, config, &variables)
            .map_err(|error| UrlsFault::Line(format!("{url}: {error}")))?;
        if let Some(method) = config.get_method.as_ref().filter(|_| config.gets) {
            let without_body = urls.tasks.iter_mut().filter(|task| task.body == PlannedBody::None);
            without_body.for_each(|task| task.method.clone_from(method));
        }
        return Ok(urls);
    }
    let file = config.file.display();
    let bytes = read(&config.file).map_err(UrlsFault::Unreadable)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut names: Vec<(String, String)> = Vec::new();
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        let fault = |error: String| UrlsFault::Line(format!("{file}:{number}: {error}"));
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let known = |name: &str| value_of(&names, name);
        if let Some((name, value)) = definition(line) {
            let value = with_values(value, &known);
            match Variable::parse(name, &value) {
                Some(_) => {
                    variables.define(name, &value).map_err(|error| fault(error.to_string()))?
                }
                None => names.push((name.to_owned(), value)),
            }
            continue;
        }
        // Names of values that change stay as they are for the plan.
        let line = with_values(line, &|name| match variables.text(&format!("$({name})")) {
            Ok(_) => Some(format!("\u{1}({name})")),
            Err(_) => known(name),
        });
        urls.add(&line.replace('\u{1}', "$"), config, &variables).map_err(fault)?;
    }
    Ok(urls)
}

/// A login URL, counted under the first entry.
///
/// # Errors
/// When it cannot be understood.
pub(super) fn login(text: &str, config: &Config) -> Result<SiegeRequest, String> {
    let mut urls = Urls { tasks: Vec::new(), entries: Vec::new() };
    urls.add(text, config, &Variables::default())?;
    urls.tasks.pop().map(|task| SiegeRequest { entry: 0, ..task }).ok_or_else(String::new)
}

impl Urls {
    /// `URL [METHOD [BODY | <FILE]]`; everything else behind a URL belongs to it.
    fn add(&mut self, line: &str, config: &Config, variables: &Variables) -> Result<(), String> {
        let (url, method, rest) = split(line);
        let entry = self.entries.len();
        let scheme = url.split_once("://").map_or("http", |(scheme, _)| scheme);
        let is_unsupported = !["http", "https"].iter().any(|one| scheme.eq_ignore_ascii_case(one));
        let escaped = if config.url_escaping { escaped(url) } else { url.to_owned() };
        let bytes = match rest.strip_prefix('<') {
            Some(file) => {
                let file = file.trim();
                let bytes = read(file.as_ref()).map_err(|error| format!("{file}: {error}"))?;
                Some(Arc::from(content(file, &bytes)))
            }
            None => None,
        };
        let has_body = !method.is_empty() && method != "GET" && method != "HEAD";
        let spec = plan::RequestSpec {
            method,
            url: if is_unsupported { "http://unsupported.invalid/" } else { &escaped },
            body: (has_body && bytes.is_none()).then_some(rest),
            bytes,
            ..plan::RequestSpec::default()
        };
        let made = PlanEntry::new(&spec, variables, &plan::RequestDefaults::default());
        let made = made.map_err(|fault| fault.to_string())?;
        self.tasks.push(SiegeRequest {
            url: made.url.clone(),
            target: made.request().target.clone(),
            method: made.request().method.clone(),
            body: made.request().body.clone(),
            entry,
            is_unsupported,
        });
        self.entries.push(made);
        Ok(())
    }
}

/// What of a file is sent. siege ends a text at its first NUL; here a file with one is no text.
fn content<'a>(file: &str, bytes: &'a [u8]) -> &'a [u8] {
    let end = file.rsplit_once('.').map_or("", |(_, end)| end).to_ascii_lowercase();
    match BYTE_FOR_BYTE.split(' ').any(|known| known == end) || bytes.contains(&0) {
        true => bytes,
        false => bytes.trim_ascii(),
    }
}

fn split(line: &str) -> (&str, &str, &str) {
    let places = line.match_indices(' ').map(|(at, _)| at);
    for at in places {
        let word = line[at + 1..].split(' ').next().unwrap_or_default();
        if let Some(method) = METHODS.iter().find(|method| **method == word) {
            return (line[..at].trim_end(), method, line[at + 1 + word.len()..].trim());
        }
    }
    (line, "", "")
}

fn escaped(url: &str) -> String {
    let has_names = url.contains("${") || url.contains("#{");
    let is_escaped = |c: char| ESCAPED.contains(c) || (!has_names && matches!(c, '{' | '}'));
    url.chars().fold(String::with_capacity(url.len()), |mut out, c| {
        match c {
            c if is_escaped(c) => out.push_str(&format!("%{:02X}", u32::from(c))),
            c => out.push(c),
        }
        out
    })
}

fn definition(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    let is_name =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    is_name.then_some((name, value.trim()))
}

fn value_of(names: &[(String, String)], name: &str) -> Option<String> {
    let own = names.iter().rev().find(|row| row.0 == name).map(|row| row.1.clone());
    own.or_else(|| std::env::var(name).ok())
}

fn read(path: &std::path::Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> SiegeRequest {
        let config = Config { url: Some(line.to_owned()), ..Config::default() };
        load(&config).unwrap().tasks.remove(0)
    }

    #[test]
    fn a_method_and_a_body_follow_a_url() {
        let post = one("http://a/p POST a=b&c=d");
        assert_eq!((post.method.as_str(), post.url.target.as_str()), ("POST", "/p"));
        assert_eq!(post.body, PlannedBody::Text(Template::fixed("a=b&c=d")));
        assert_eq!(one("http://a/p DELETE").method, "DELETE");
        assert_eq!(one("a.example").url.to_string(), "http://a.example/");
    }

    #[test]
    fn blanks_and_brackets_are_escaped() {
        let url = one("http://a/x y?q=<b>\"{c}|%20");
        assert_eq!(url.url.target, "/x%20y?q=%3Cb%3E%22%7Bc%7D%7C%20");
    }

    #[test]
    fn names_of_a_file_are_replaced_also_in_hosts() {
        let folder = std::env::temp_dir().join(format!("siege-urls-{}", std::process::id()));
        let text = "# no\nHOST = a.example\nID = number[7,7]\nQ=x y\nhttp://$(HOST)/?q=$(Q)\n\
                    http://${HOST}/i?$(ID) POST id=${ID}\n";
        std::fs::write(&folder, text).unwrap();
        let urls = load(&Config { file: folder.clone(), ..Config::default() }).unwrap();
        std::fs::remove_file(&folder).unwrap();
        assert_eq!(urls.tasks[0].url.to_string(), "http://a.example/?q=x%20y");
        let mut out = Vec::new();
        urls.tasks[1].target.write(&plan::PlanValues::new(0, 0), &mut out);
        assert_eq!(out, b"/i?7");
    }

    #[test]
    fn a_text_is_sent_without_the_blanks_around_it_and_all_else_as_it_is() {
        assert_eq!(content("form", b"\n x=1\r\n"), b"x=1");
        assert_eq!(content("dir.json/a.TXT", b"a=1\nb=2\n"), b"a=1\nb=2");
        assert_eq!(content("a.json", b"{}\n"), b"{}\n");
        assert_eq!(content("b.tar.GZ", b" x\n"), b" x\n");
        assert_eq!(content("a.", b" x\n"), b"x");
        assert_eq!(content("a", b"a\0b\n"), b"a\0b\n");
    }

    #[test]
    fn other_schemes_are_known_as_such() {
        assert!(one("foo://a/").is_unsupported && !one("http://a/").is_unsupported);
    }
}
