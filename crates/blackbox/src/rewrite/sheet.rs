//! A sheet as text, and what it says.

use std::fs;
use std::path::Path;

/// One start of both servers.
#[derive(Clone, Debug, Default)]
pub struct Sheet {
    /// Lines of the configuration outside of all hosts.
    pub main: String,
    /// The sets, each with its host.
    pub sets: Vec<Set>,
}

/// Rules, and what is asked of them.
#[derive(Clone, Debug, Default)]
pub struct Set {
    /// What it is about.
    pub title: String,
    /// Lines of its host.
    pub host: String,
    /// Lines of the configuration outside of its host.
    pub main: String,
    /// The names of the files that say who they are; `None` for the usual ones.
    pub names: Option<Vec<String>>,
    /// Other files, with their content.
    pub files: Vec<(String, String)>,
    /// The requests.
    pub rows: Vec<Row>,
}

/// A request.
#[derive(Clone, Debug)]
pub struct Row {
    /// As it stands in the sheet.
    pub text: String,
    /// Why it is answered differently, if it is.
    pub differs: Option<String>,
    /// Why its steps are logged differently, if they are.
    pub is_told_differently: Option<String>,
}

/// What stands above the first set.
#[derive(Default)]
struct Common {
    names: Option<Vec<String>>,
    rows: Vec<Row>,
    files: Vec<(String, String)>,
    host: String,
}

impl Sheet {
    /// Reads `rewrite/NAME.rules`.
    pub fn read(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("rewrite");
        let text = fs::read_to_string(path.join(format!("{name}.rules")));
        Self::parse(&text.expect("the sheet is part of this crate"))
    }

    fn parse(text: &str) -> Self {
        let mut sheet = Self::default();
        let mut common = Common::default();
        let mut place = None;
        for line in text.lines() {
            if let Some(title) = line.strip_prefix("= ") {
                let Common { names, files, host, .. } = &common;
                let (names, files, host) = (names.clone(), files.clone(), host.clone());
                let title = title.to_owned();
                sheet.sets.push(Set { title, names, files, host, ..Set::default() });
                place = None;
            } else if let Some(name) = line.strip_prefix('@') {
                place = Some(name.to_owned());
                begin(&mut sheet, &mut common, name);
            } else if let Some(request) = line.strip_prefix("> ") {
                place = None;
                let rows = sheet.sets.last_mut().map_or(&mut common.rows, |set| &mut set.rows);
                rows.push(Row::new(request));
            } else if let Some((mark @ ("!" | "~"), why)) = line.split_once(' ') {
                let rows = sheet.sets.last_mut().map_or(&mut common.rows, |set| &mut set.rows);
                let row = rows.last_mut().expect("a reason stands below its request");
                let reason = match mark {
                    "!" => &mut row.differs,
                    _ => &mut row.is_told_differently,
                };
                *reason = Some(why.to_owned());
            } else if let Some(place) = &place {
                add(&mut sheet, &mut common, place, line);
            } else {
                assert!(line.is_empty() || line.starts_with('#'), "what is {line:?}?");
            }
        }
        for set in &mut sheet.sets {
            set.rows.extend(common.rows.iter().cloned());
        }
        sheet
    }
}

fn begin(sheet: &mut Sheet, common: &mut Common, place: &str) {
    let (names, files) = match sheet.sets.last_mut() {
        Some(set) => (&mut set.names, &mut set.files),
        None => (&mut common.names, &mut common.files),
    };
    match place {
        "main" | "host" | "urls" => {}
        "files" => *names = Some(Vec::new()),
        path => {
            files.retain(|(name, _)| name != path);
            files.push((path.to_owned(), String::new()));
        }
    }
}

fn add(sheet: &mut Sheet, common: &mut Common, place: &str, line: &str) {
    let main = match sheet.sets.last_mut() {
        Some(set) => &mut set.main,
        None => &mut sheet.main,
    };
    if place == "main" {
        *main += &format!("{line}\n");
        return;
    }
    let (host, names, files) = match sheet.sets.last_mut() {
        Some(set) => (&mut set.host, &mut set.names, &mut set.files),
        None => (&mut common.host, &mut common.names, &mut common.files),
    };
    match place {
        "urls" => {}
        "host" => *host += &format!("{line}\n"),
        "files" => names.get_or_insert_default().extend(
            (!line.is_empty()).then(|| line.to_owned()), // an empty line ends nothing
        ),
        _ => {
            let (_, content) = files.last_mut().expect("it was begun");
            *content += &format!("{line}\n");
        }
    }
}

impl Set {
    /// Its host's name; `number` is its place in the sheet.
    pub fn host_name(number: usize) -> String {
        format!("s{number}.test")
    }

    /// What tells its rules.
    pub fn rules(&self) -> String {
        let mut text = String::new();
        for (name, lines) in [("main", &self.main), ("host", &self.host)] {
            if !lines.is_empty() {
                text += &format!("@{name}\n{lines}");
            }
        }
        for (name, content) in &self.files {
            text += &format!("@{name}\n{content}");
        }
        text
    }
}

impl Row {
    /// A request as it is written in a sheet.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), differs: None, is_told_differently: None }
    }

    /// The bytes of the request, once the names of its set are put in.
    pub fn bytes(text: &str, host: &str) -> Vec<u8> {
        let mut parts = text.split(" | ");
        let line: Vec<&str> = parts.next().unwrap_or_default().split(' ').collect();
        let (method, rest) = match line[0].chars().all(|c| c.is_ascii_uppercase()) {
            true => (line[0], &line[1..]),
            false => ("GET", &line[..]),
        };
        let version = rest.get(1).copied().unwrap_or("HTTP/1.1");
        let mut bytes = [method.as_bytes(), b" "].concat();
        bytes.extend(unescaped(rest.first().copied().unwrap_or("/")));
        bytes.extend(format!(" {version}\r\n").bytes());
        let (mut has_host, mut body) = (false, None);
        for field in parts {
            if let Some(text) = field.strip_prefix("body=") {
                body = Some(text);
                continue;
            }
            has_host |= field.starts_with("Host:");
            bytes.extend(unescaped(field));
            bytes.extend(b"\r\n");
        }
        if !has_host {
            bytes.extend(format!("Host: {host}\r\n").bytes());
        }
        if let Some(body) = body {
            bytes.extend(format!("Content-Length: {}\r\n", body.len()).bytes());
        }
        bytes.extend(b"\r\n");
        bytes.extend(body.unwrap_or_default().bytes());
        bytes
    }
}

/// A text with its `\x0a` and its `{a*100}` put in.
fn unescaped(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some((digits, behind)) =
            rest.strip_prefix("\\x").and_then(|rest| rest.split_at_checked(2))
            && let Ok(byte) = u8::from_str_radix(digits, 16)
        {
            out.push(byte);
            rest = behind;
        } else if let Some((inner, behind)) =
            rest.strip_prefix('{').and_then(|rest| rest.split_once('}'))
            && let Some((piece, times)) = inner.rsplit_once('*')
            && let Ok(times) = times.parse()
        {
            out.extend(piece.repeat(times).bytes());
            rest = behind;
        } else {
            out.extend(first.to_string().bytes());
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_is_read() {
        let text = "@main\nA 1\n@files\na.txt\nb/\n@urls\n> /all\n= one\n@host\nB 2\n\
                    @.htaccess\nC 3\n> /one\n! because\n# nothing\n= two\n\
                    @files\nc.txt\n> HEAD /two | A: b\n";
        let sheet = Sheet::parse(text);
        assert_eq!(sheet.main, "A 1\n");
        let [one, two] = &sheet.sets[..] else { panic!("{sheet:?}") };
        assert_eq!((one.title.as_str(), one.host.as_str()), ("one", "B 2\n"));
        assert_eq!(one.files, [(".htaccess".to_owned(), "C 3\n".to_owned())]);
        assert_eq!(one.names, Some(vec!["a.txt".to_owned(), "b/".to_owned()]));
        assert_eq!(two.names, Some(vec!["c.txt".to_owned()]));
        let rows: Vec<&str> = one.rows.iter().map(|row| row.text.as_str()).collect();
        assert_eq!(rows, ["/one", "/all"]);
        assert_eq!(one.rows[0].differs.as_deref(), Some("because"));
        assert_eq!(
            Row::bytes(&two.rows[0].text, "h"),
            b"HEAD /two HTTP/1.1\r\nA: b\r\nHost: h\r\n\r\n"
        );
    }

    #[test]
    fn a_request_is_written_out() {
        for (text, bytes) in [
            ("/a", &b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n"[..]),
            ("/\\xff{ab*2}c{d}", b"GET /\xffababc{d} HTTP/1.1\r\nHost: h\r\n\r\n"),
            ("GET * HTTP/1.0 | Host: www.h", b"GET * HTTP/1.0\r\nHost: www.h\r\n\r\n"),
            ("POST / | body=xyz", b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nxyz"),
        ] {
            assert_eq!(Row::bytes(text, "h"), bytes, "{text}");
        }
    }
}
