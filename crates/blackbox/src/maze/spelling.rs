//! Requests of a maze: a path that may be there, spelled as nobody would.

use super::{WINGS, grounds};
use crate::dice::Dice;

/// One request, and how it was made, so that it can be made again with less.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: &'static str,
    /// What `Host` says.
    pub host: String,
    /// The path as it is plainly written.
    pub plain: String,
    /// What is done to it, each with its own numbers.
    pub edits: Vec<(Edit, u64)>,
}

/// Something that is done to a path.
pub type Edit = fn(&mut Vec<u8>, &mut Dice);

/// Ways into the wings beside their own URLs, and the wing that each leads to.
pub const LEADS: &[(&str, usize)] = &[
    ("/al", 0),
    ("/bare", 1),
    ("/file.txt", 2),
    ("/slashed", 3),
    ("/am", 4),
    ("/dot", 5),
    ("/tail", 6),
    ("/tdot", 6),
    ("/doubled", 7),
    ("/cgi", 8),
    ("/one.cgi", 9),
    ("/sm", 10),
];

/// Most ask for `localhost`.
const HOSTS: &[&str] = &[
    "LOCALHOST",
    "localhost.",
    "localhost:80",
    "doubled.example",
    "doubled.example",
    "encoded.example",
    "encoded.example",
    "kept.example",
    "kept.example",
    "t{}.mass.example",
    "T{}.mass.example.",
    "none.mass.example",
    ".mass.example",
    "..",
    "t{}..mass.example",
    "unknown.example",
];

const METHODS: &[&str] = &["HEAD", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "PROPFIND", "NONE"];

/// What is put behind a path.
const ENDS: &[&str] = &[
    "/",
    "/",
    "/",
    "//",
    "/.",
    "/./",
    "/..",
    "/../",
    "/%2e",
    "/%2E%2e/",
    "/extra",
    "/extra/more",
    "/x.php",
    "/x.cgi",
    "/.htpasswd",
    "/secret.txt",
    "/open.txt",
    "/run.cgi",
    "/index.html",
    ";x=1",
    ";",
    "/;",
    "%3b",
    "?",
    "?q",
    "?q/../x",
    ".",
    "%2e",
    "..",
    "%20",
    "%20/",
    "+",
    "%00",
    "%00.txt",
    "%2f",
    "%2F",
    "%2fextra",
    "%5c",
    "\\",
    "%0a",
    "%0d%0a",
    "%c0%ae",
    "%c0%af",
    "%e0%80%af",
    "%ff",
    "~",
    ".bak",
    "%",
    "%zz",
    "%25",
    "%252f",
    ":",
    "::$DATA",
    "#",
    "*",
    "'",
    "\"",
    "%7e1",
    "\u{e9}",
    "/cur",
    "/sub/",
    "/sub/..",
    "/up",
    "/none/..",
];

/// What is put in the place of a slash.
const SLASHES: &[&str] = &[
    "//",
    "///",
    "/./",
    "/%2e/",
    "/x/../",
    "/x/%2e%2e/",
    "%2f",
    "%2F",
    "/cur/",
    "/cur/cur/",
    "\\",
    "%5c",
    "/%20/",
    "/;/",
    "/;x/",
    "/.%2f",
    "/..;/",
    "/sub/../",
    "/sub/up/",
    "/ldir/up/",
    "/open.txt/../",
    "/%c0%ae%c0%ae/",
    "/lfile/../",
    "/dangling/../",
    "/.../",
];

#[expect(clippy::ptr_arg, reason = "all edits are of one type")]
fn case(path: &mut Vec<u8>, dice: &mut Dice) {
    let at = dice.below(path.len());
    if path[at].is_ascii_alphabetic() {
        path[at] ^= 0x20;
    }
}

const EDITS: &[Edit] =
    &[end, end, end, slash, slash, slash, escape, escape, case, cut, twice, absolute, swap];

fn end(path: &mut Vec<u8>, dice: &mut Dice) {
    path.extend_from_slice(dice.one_of(ENDS).as_bytes());
}

fn slash(path: &mut Vec<u8>, dice: &mut Dice) {
    let all: Vec<usize> = (0..path.len()).filter(|at| path[*at] == b'/').collect();
    if !all.is_empty() {
        let at = *dice.one_of(&all);
        path.splice(at..=at, dice.one_of(SLASHES).bytes());
    }
}

/// A byte as its escape.
fn escape(path: &mut Vec<u8>, dice: &mut Dice) {
    let at = 1 + dice.below(path.len());
    if let Some(byte) = path.get(at).copied().filter(|byte| !b"%/?".contains(byte)) {
        let upper = dice.once_in(2);
        let text = if upper { format!("%{byte:02X}") } else { format!("%{byte:02x}") };
        path.splice(at..=at, text.into_bytes());
    }
}

/// An escape that has to be read twice.
fn twice(path: &mut Vec<u8>, dice: &mut Dice) {
    let at = 1 + dice.below(path.len());
    if let Some(byte) = path.get(at).copied().filter(|byte| !b"%?".contains(byte)) {
        path.splice(at..=at, format!("%25{byte:02x}").into_bytes());
    }
}

fn cut(path: &mut Vec<u8>, dice: &mut Dice) {
    if path.len() > 2 {
        path.truncate(path.len() - 1 - dice.below(2));
    }
}

/// Two letters in the wrong order, or one that is missing.
fn swap(path: &mut Vec<u8>, dice: &mut Dice) {
    let at = 1 + dice.below(path.len());
    if at + 1 < path.len() && !path[at..=at + 1].contains(&b'/') {
        if dice.once_in(2) {
            path.swap(at, at + 1);
        } else {
            path.remove(at);
        }
    }
}

fn absolute(path: &mut Vec<u8>, dice: &mut Dice) {
    let host = dice.one_of(&["http://localhost", "http://LOCALHOST:80", "HTTP://localhost."]);
    if path.starts_with(b"/") {
        path.splice(0..0, host.bytes());
    }
}

impl Request {
    /// Draws one.
    pub fn draw(dice: &mut Dice) -> Self {
        let method = if dice.once_in(4) { dice.one_of(METHODS) } else { "GET" };
        let host = if dice.once_in(5) { dice.one_of(HOSTS) } else { "localhost" };
        let host = host.replace("{}", &dice.below(WINGS).to_string());
        let plain = draw_path(dice, host.contains(".mass."));
        let count = *dice.one_of(&[0, 1, 1, 1, 1, 2, 2, 3]);
        let edits = (0..count).map(|_| (*dice.one_of(EDITS), dice.draw())).collect();
        Self { method, host, plain, edits }
    }

    /// A plain `GET`.
    pub fn plain(path: &str) -> Self {
        Self { method: "GET", host: "localhost".into(), plain: path.into(), edits: Vec::new() }
    }

    /// The path as it is sent.
    pub fn target(&self) -> Vec<u8> {
        let mut path = Vec::new();
        for byte in self.plain.bytes() {
            match byte {
                b' ' | b'%' | b';' if !self.plain.contains('?') => {
                    path.extend(format!("%{byte:02x}").bytes());
                }
                plain => path.push(plain),
            }
        }
        for (edit, seed) in &self.edits {
            edit(&mut path, &mut Dice::new(*seed));
        }
        path
    }

    /// The bytes of the request.
    pub fn bytes(&self) -> Vec<u8> {
        let Self { method, host, .. } = self;
        let body = if *method == "POST" { "Content-Length: 3\r\n\r\na=b" } else { "\r\n" };
        let head = format!(" HTTP/1.1\r\nHost: {host}\r\n{body}");
        [method.as_bytes(), b" ", &self.target(), head.as_bytes()].concat()
    }

    /// The same requests with a little less, each.
    pub fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for at in 0..self.edits.len() {
            let mut less = self.clone();
            less.edits.remove(at);
            all.push(less);
        }
        if self.host != "localhost" {
            all.push(Self { host: "localhost".into(), ..self.clone() });
        }
        if self.method != "GET" {
            all.push(Self { method: "GET", ..self.clone() });
        }
        let parts: Vec<&str> = self.plain.split('/').collect();
        for at in 2..parts.len() {
            let mut parts = parts.clone();
            parts.remove(at);
            all.push(Self { plain: parts.join("/"), ..self.clone() });
        }
        all
    }
}

/// A way into a wing and what may be there: a name of its plan, or several one behind the other.
fn draw_path(dice: &mut Dice, is_in_wing: bool) -> String {
    let mut path = match dice.below(6) {
        _ if is_in_wing => String::new(),
        0 => dice.one_of(LEADS).0.to_owned(),
        1 if dice.once_in(2) => format!("/~t{}", dice.below(WINGS)),
        _ => format!("/t{}", dice.below(WINGS)),
    };
    let links = grounds::LINKS.iter().map(|(name, _)| *name);
    let files = grounds::FILES.iter().map(|(name, _)| *name);
    let folders = ["", "sub", "sub/deep", "bare", "shut", ".git", "none", "page", "page.html"];
    let files: Vec<&str> = files.chain(folders).collect();
    let links: Vec<&str> = links.chain(["sub", "bare"]).collect();
    for _ in 0..*dice.one_of(&[0, 0, 1, 1, 2]) {
        path = format!("{path}/{}", dice.one_of(&links));
    }
    if !dice.once_in(4) {
        path = format!("{path}/{}", dice.one_of(&files));
    }
    if path.is_empty() { "/".to_owned() } else { path }
}
