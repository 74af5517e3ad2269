//! `trivet siege` beside the real siege: the same words, the same server, and then every line of
//! both compared, but for the figures of time.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use blackbox::binary::trivet;
use blackbox::certificates::Authority;
use blackbox::nginx::Nginx;
use blackbox::outside::{program, run_command};
use blackbox::releases::{Program, WITHOUT_FIGURES, as_of_today};
use blackbox::scratch::Scratch;
use blackbox::stub::Stub;
use blackbox::{Mpm, Server, each_mpm, plain_site};

const RC: &str = "verbose = true\ncolor = off\njson_output = false\nlogging = false\n\
    parser = true\nshow-logfile = true\ngmethod = HEAD\nlimit = 255\nprotocol = HTTP/1.1\n\
    chunked = true\nconnection = close\nconcurrent = 1\naccept-encoding = gzip, deflate\n\
    url-escaping = true\nlogin = me:secret:members\n";

const PAGE: &str = "<html><link rel=\"stylesheet\" href=\"006/x.css\"><script src=/s.js></script>\
    <!-- <img src=/never.png> --> <body background=\"/bg.png\"><img alt=x src=\"a.png\">\
    <IMG SRC='a.png'><img src=\"data:image/png;base64,x\">";

/// Lines that only ours has, behind all of theirs.
const OWN: [&str; 5] = ["Percentiles:", "Failure:", "Own CPU:", "Server CPU:", "Doubtful:"];

/// The fields of the report that do not depend on time.
const FIELDS: [&str; 4] =
    ["Transactions:", "Availability:", "Successful transactions:", "Failed transactions:"];

/// A place for both programs: a home folder, a resource file, and a link named siege to ours.
struct Camp {
    scratch: Scratch,
    ours: PathBuf,
    rc: PathBuf,
}

/// What a run came to.
#[derive(Debug, PartialEq, Eq)]
struct Came {
    code: Option<i32>,
    out: Vec<String>,
    err: Vec<String>,
    fields: Vec<String>,
}

impl Camp {
    fn new(more: &str) -> Self {
        Self::with(&format!("{RC}{more}"))
    }

    /// With these settings and no others.
    fn with(settings: &str) -> Self {
        let scratch = Scratch::new();
        let ours = scratch.join("siege");
        std::os::unix::fs::symlink(trivet(), &ours).unwrap();
        let rc = scratch.write("rc", settings);
        Self { scratch, ours, rc }
    }

    fn output(&self, program: PathBuf, words: &[&str]) -> Output {
        let mut command = Command::new(program);
        command.current_dir(self.scratch.path()).env("HOME", self.scratch.path());
        command.env_remove("SIEGERC").arg("-R").arg(&self.rc).args(words);
        run_command(&mut command, 60)
    }

    fn real(&self, words: &[&str]) -> Came {
        Came::of(&self.output(program("siege"), words))
    }

    fn ours(&self, words: &[&str]) -> Came {
        Came::of(&self.output(self.ours.clone(), words))
    }

    /// Asserts that both say the same, and gives it.
    fn same(&self, words: &[&str]) -> Came {
        // The first run of the real one says that it has made a folder.
        let _ = self.output(program("siege"), &["-C"]);
        let real = self.real(words);
        let ours = self.ours(words).told_as(&real, words);
        assert_eq!(ours, real, "{words:?}");
        ours
    }
}

impl Came {
    fn of(output: &Output) -> Self {
        let mut out = masked(&output.stdout);
        // Users speak in any order.
        out.sort();
        let text = String::from_utf8_lossy(&output.stderr);
        let field = |name: &str| text.lines().find(|line| line.starts_with(name));
        let fields = FIELDS.iter().filter_map(|name| field(name)).map(str::to_owned).collect();
        let mut err = masked(&output.stderr);
        err.retain(|line| !OWN.iter().any(|own| line.starts_with(own)));
        Self { code: output.status.code(), out, err, fields }
    }

    /// Without the figures where the real one has told none, and need not.
    fn told_as(mut self, real: &Self, words: &[&str]) -> Self {
        if words.contains(&WITHOUT_FIGURES) && real.fields.is_empty() {
            self.fields.clear();
            self.err.clear();
        }
        self
    }

    fn field(&self, name: &str) -> &str {
        let line = self.fields.iter().find(|line| line.starts_with(name)).unwrap();
        line[name.len()..].split_whitespace().next().unwrap()
    }
}

/// Lines with times and every number that has a point replaced, and the blanks before. siege
/// divides by an elapsed time of 0, which is no number.
fn masked(bytes: &[u8]) -> Vec<String> {
    as_of_today(Program::Siege, &String::from_utf8_lossy(bytes)).lines().map(masked_line).collect()
}

fn masked_line(line: &str) -> String {
    let words = line.split(' ').filter(|word| !word.is_empty());
    let mask = |word: &str| {
        let is_figure = matches!(word, "inf" | "nan" | "-nan")
            || word.contains('.')
                && word.trim_matches(['\t', ',']).bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let stamp = word.trim_end_matches(']');
        let is_stamp =
            stamp.contains(':') && stamp.bytes().all(|b| b.is_ascii_digit() || b == b':');
        if is_figure || is_stamp { "N".to_owned() } else { word.to_owned() }
    };
    // A file of this second has a weak ETag, which is a strong one in the next.
    words.map(mask).collect::<Vec<String>>().join(" ").replace("\tN", " N").replace("W/\"", "\"")
}

fn url(server: &Server, target: &str) -> String {
    format!("http://{}{target}", server.address())
}

fn server(mpm: Mpm) -> Server {
    let site = plain_site(mpm)
        .file("page.html", PAGE)
        .file("s.js", "x = 1")
        .file("a.png", "png")
        .file("bg.png", "background")
        .file("dir/secret.txt", "for members");
    // "secret" as htpasswd -s writes it.
    let users = "me:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n";
    let scratch = site.root().write("users", users);
    let users = format!("AuthUserFile {}", scratch.display());
    site.directives(&[
        "Redirect /moved /a.txt",
        "Redirect 307 /kept /a.txt",
        "Redirect 503 /ill",
        "<Location /dir/secret.txt>",
        "AuthType Basic",
        "AuthName members",
        &users,
        "Require valid-user",
        "</Location>",
    ])
    .start()
}

/// What the server has logged since it was asked last: request line, status, agent.
fn logged(server: &Server, seen: &mut usize, count: usize) -> Vec<String> {
    let lines = server.wait_log(*seen + count);
    let rest = |line: &String| as_of_today(Program::Siege, line.split_once('"').unwrap().1);
    let mut new: Vec<String> = lines[*seen..].iter().map(rest).collect();
    new.sort();
    *seen = lines.len();
    new
}

fn both_ask_the_same_and_say_the_same(mpm: Mpm) {
    let (server, camp) = (server(mpm), Camp::new(""));
    let mut seen = 0;
    // Words, then hits of one run.
    let rows: [(&[&str], &str, usize); 13] = [
        (&["-c2", "-r3"], "/a.txt", 6),
        (&["-c1", "-r2"], "/page.html", 10),
        (&["-c1", "-r1", "--no-parser"], "/page.html", 1),
        (&["-c1", "-r1"], "/moved", 2),
        (&["-c1", "-r1", "-F"], "/moved", 1),
        (&["-c1", "-r1"], "/kept", 2),
        (&["-c1", "-r2"], "/none", 2),
        (&["-c1", "-r1"], "/ill", 1),
        (&["-c1", "-r2"], "/dir/secret.txt", 3),
        (&["-c1", "-r1", "-A", "agent/1", "-H", "X-A: b"], "/a.txt", 1),
        (&["-g"], "/moved", 2),
        (&["-p"], "/a.txt", 1),
        (&["-q", "-c1", "-r1"], "/a.txt", 1),
    ];
    for (words, target, hits) in rows {
        let url = url(&server, target);
        let words = [words, &[&url]].concat();
        let _ = camp.output(program("siege"), &["-C"]);
        let real = camp.real(&words);
        let by_real = logged(&server, &mut seen, hits);
        let ours = camp.ours(&words).told_as(&real, &words);
        let by_ours = logged(&server, &mut seen, hits);
        assert_eq!(ours.fields, real.fields, "{words:?}");
        assert_eq!(by_ours, by_real, "{words:?}");
        // Fields of date differ between the two runs with -g.
        let is_date = |line: &String| line.starts_with("Date:");
        let out = |came: &Came| {
            came.out.iter().filter(|line| !is_date(line)).cloned().collect::<Vec<_>>()
        };
        assert_eq!((out(&ours), &ours.err), (out(&real), &real.err), "{words:?}");
        if hits == 1 && target == "/ill" {
            assert_eq!(
                (ours.field("Transactions:"), ours.field("Failed transactions:")),
                ("0", "1")
            );
        }
    }
}

fn lines_of_a_file_are_read_alike(mpm: Mpm) {
    let (server, camp) = (server(mpm), Camp::new(""));
    let address = server.address();
    camp.scratch.write("body.json", "{\"a\": 1}");
    let file = camp.scratch.write(
        "urls.txt",
        format!(
            "# a comment\nBASE={address}\nWHAT=x y\n\nhttp://$(BASE)/a.txt\n\
             ${{BASE}}/a.txt?q=$(WHAT)&r=<b>\nhttp://{address}/a.txt POST a=b&c=d\n\
             http://{address}/a.txt PUT <body.json\nhttp://{address}/a.txt DELETE\n\
             http://{address}/a.txt?\"{{x}}|y^z`\n"
        ),
    );
    let file = file.to_str().unwrap();
    let mut seen = 0;
    for words in [&["-c1", "--reps=once", "-f", file][..], &["-c3", "-r2", "-f", file]] {
        let came = camp.same(words);
        assert_eq!(came.field("Transactions:"), "6");
        let lines = logged(&server, &mut seen, 12);
        let (odd, even): (Vec<_>, Vec<_>) =
            lines.into_iter().enumerate().partition(|row| row.0 % 2 == 1);
        let strip =
            |rows: Vec<(usize, String)>| rows.into_iter().map(|row| row.1).collect::<Vec<_>>();
        assert_eq!(strip(odd), strip(even), "each request came twice");
    }
    let random = camp.ours(&["-c1", "-r6", "-i", "-f", file]);
    assert_eq!(random.field("Transactions:"), "6");
    let post = camp.same(&["-c1", "-r1", &format!("{} POST a=b", url(&server, "/a.txt"))]);
    assert!(post.out[0].contains("==> POST http://"), "{post:?}");
}

fn forms_of_lines_are_those_of_the_settings(mpm: Mpm) {
    let server = server(mpm);
    let target = url(&server, "/moved");
    for setting in [
        "csv = true",
        "display-id = true\ntimestamp = true",
        "timestamp = true\nfullurl = true",
        "csv = true\ndisplay-id = true\ntimestamp = true",
        "color = on",
        "verbose = false",
        "quiet = true",
        "connection = keep-alive",
        "follow-location = false\nprotocol = HTTP/1.0",
    ] {
        let camp = Camp::new(&format!("{setting}\n"));
        camp.same(&["-c1", "-r1", &target]);
    }
    let camp = Camp::new("");
    camp.same(&["-c1", "-r1", "-j", &target]);
    camp.same(&["-c1", "-r1", "-t1S", "-d9", "-q", &target]);
}

fn a_log_has_the_rows_of_siege(mpm: Mpm) {
    let (server, camp) = (server(mpm), Camp::new("show-logfile = false\n"));
    let target = url(&server, "/a.txt");
    let words =
        |file: &str| vec![format!("--log={file}"), "-mnext".into(), "-r2".into(), target.clone()];
    let text = |file: &str| std::fs::read(camp.scratch.join(file)).unwrap();
    for (file, is_ours) in [("real.log", false), ("ours.log", true)] {
        let words = words(file);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let came = if is_ours { camp.ours(&words) } else { camp.real(&words) };
        assert_eq!(came.code, Some(0));
    }
    // Dates have no point: cut them off.
    let rows = |file: &str| {
        let lines = String::from_utf8(text(file)).unwrap();
        let cut = |line: &str| match line.strip_prefix("20") {
            Some(rest) => masked_line(&rest[17..].replace(',', " , ")),
            None => line.to_owned(),
        };
        lines.lines().map(cut).collect::<Vec<_>>()
    };
    assert_eq!(rows("ours.log"), rows("real.log"));
    let refused = camp.ours(&["--log=/nowhere/at/all", "-r1", &target]);
    assert_eq!((refused.code, refused.err.len()), (Some(4), 1), "{refused:?}");
    assert!(
        refused.err[0]
            .ends_with("unable to create log file: /nowhere/at/all: No such file or directory")
    );
}

each_mpm!(
    both_ask_the_same_and_say_the_same,
    lines_of_a_file_are_read_alike,
    forms_of_lines_are_those_of_the_settings,
    a_log_has_the_rows_of_siege,
    a_log_is_told_of_where_siege_does,
);

/// Where the log is, is told if the settings say so, and then with the place of the settings.
fn a_log_is_told_of_where_siege_does(mpm: Mpm) {
    let (server, scratch) = (server(mpm), Scratch::new());
    let (target, log) = (url(&server, "/a.txt"), scratch.join("log").display().to_string());
    for more in ["", "show-logfile = true\n", "show-logfile = false\n", "logging = true\n"] {
        let mut camp = Camp::with(&format!("protocol = HTTP/1.1\nlogfile = {log}\n{more}"));
        // The real one names this file, whichever it has read.
        let settings = std::fs::read(&camp.rc).unwrap();
        camp.rc = camp.scratch.write(".siege/siege.conf", settings);
        let file = format!("-l{log}2");
        for how in ["-l", &file, "-mmark", "-lq", "-lj", "-v"] {
            let came = camp.same(&["-r1", how, &target]);
            let is_told = came.out.iter().any(|line| line.starts_with("LOG FILE: "));
            assert_eq!(is_told, more.contains("show") && more.contains("true") && how != "-v");
        }
    }
}

/// A server that answers every connection with these bytes, or never if there are none.
fn stub(bytes: Option<&'static [u8]>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut silent = Vec::new();
        while let Ok((mut stream, _)) = listener.accept() {
            let Some(bytes) = bytes else {
                silent.push(stream);
                continue;
            };
            // What was asked does not matter, but closing before it was read would reset.
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(bytes);
        }
    });
    format!("http://{address}/")
}

#[test]
fn what_a_file_leaves_out_is_the_same_to_both() {
    let camp = Camp::with("login = me:secret\nlogin = you:other:place\nproxy-login = a:b\n");
    let _ = camp.output(program("siege"), &["-C"]);
    let [real, ours] = [camp.real(&["-C"]), camp.ours(&["-C"])].map(|mut came| {
        // A log in a folder that there is not.
        came.out.retain(|line| !line.starts_with("log file:"));
        came.err.retain(|line| !line.starts_with("log file:"));
        (came.out, came.err)
    });
    assert_eq!(ours, real);
    let heads = Arc::new(Mutex::new(Vec::new()));
    let told = heads.clone();
    let stub = Stub::start(move |visitor| {
        let Some(head) = visitor.request() else { return };
        told.lock().unwrap().push(as_of_today(Program::Siege, &head));
        let _ = visitor.stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok");
        let _ = visitor.stream.shutdown(Shutdown::Write);
        let _ = visitor.stream.read_to_end(&mut Vec::new());
    });
    let body = camp.scratch.write("form", "\n a=1\nb=2 \r\n\n");
    let form = format!("{} POST <{}", stub.url(), body.display());
    let rows: [&[&str]; 3] = [&["-r1", &form], &["-g", &stub.url()], &["-r2", &stub.url()]];
    for words in rows {
        camp.same(words);
        let mut heads = std::mem::take(&mut *heads.lock().unwrap());
        let by_ours = heads.split_off(heads.len() / 2);
        assert_eq!(by_ours, heads, "{words:?}");
        let length = heads[0].contains("Content-Length: 7\r\n");
        assert!(heads[0].contains(" HTTP/1.0\r\n") && length == (words[1] == form), "{heads:?}");
    }
}

#[test]
fn what_goes_wrong_is_told_as_siege_does_and_by_the_exit_code() {
    let camp = Camp::new("failures = 3\ntimeout = 1\n");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = format!("http://{port}/");
    let rows = [
        (refused.as_str(), 10),
        ("http://nosuch.invalid/", 3),
        (&stub(Some(b"SSH-2.0-no\r\n")), 15),
        (&stub(Some(b"")), 13),
        ("foo://localhost/", 18),
    ];
    let _ = camp.output(program("siege"), &["-C"]);
    for (url, code) in rows {
        let words = ["-c1", "-r2", url];
        let (real, ours) = (camp.real(&words), camp.ours(&words));
        assert_eq!((&ours.err, &ours.out, &ours.fields), (&real.err, &real.out, &real.fields));
        // siege ends with 0 whatever came.
        assert_eq!((ours.code, real.code), (Some(code), Some(0)), "{url}");
    }
    let (real, ours) = (camp.real(&["-r9", &refused]), camp.ours(&["-r9", &refused]));
    assert_eq!((&ours.err, &ours.fields), (&real.err, &real.fields), "three failures are enough");
    assert_eq!(ours.field("Failed transactions:"), "3");
}

#[test]
fn https_is_spoken_and_certificates_are_not_checked() {
    let certificate = Authority::new().issue("own", "DNS:elsewhere.test");
    let (file, key) = (certificate.certificate.display(), certificate.key.display());
    let secured = format!("listen PORT ssl; ssl_certificate {file}; ssl_certificate_key {key};");
    let nginx = Nginx::start(&[("index.html", b"<p>hello</p>\n")], &[secured]);
    let url = format!("https://127.0.0.1:{}/", nginx.port(0));
    let came = Camp::new("").same(&["-c", "2", "-r", "3", "-b", &url]);
    assert_eq!(came.code, Some(0), "{came:?}");
    assert!(came.fields.iter().any(|field| field.contains("Transactions:")), "{came:?}");
}

#[test]
fn what_siege_has_wrong_is_right() {
    let camp = Camp::new("timeout = 1\n");
    let never = camp.ours(&["-c1", "-r1", &stub(None)]);
    assert_eq!((never.code, never.field("Failed transactions:")), (Some(12), "1"));
    let half = camp.ours(&["-r1", &stub(Some(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"))]);
    assert_eq!((half.code, half.field("Successful transactions:")), (Some(14), "0"));
    let again = stub(Some(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"));
    let turning = camp.ours(&["-r1", &again]);
    assert_eq!((turning.code, turning.out.len()), (Some(17), 21), "{turning:?}");
    let locked = "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n";
    let locked = camp.ours(&["-r1", &stub(Some(locked.as_bytes()))]);
    assert_eq!(locked.field("Transactions:"), "1", "no login, no second attempt");
}

#[test]
fn a_command_line_is_read_as_getopt_reads_it() {
    let camp = Camp::new("");
    camp.same(&["-g"]);
    camp.same(&["-r1", "-Hnothing", "http://127.0.0.1:9/"]);
    let missing = camp.ours(&["-f", "/nowhere/at/all"]);
    assert_eq!(missing.code, Some(4));
    assert!(
        missing.err[0].ends_with("unable to open file: /nowhere/at/all: No such file or directory")
    );
    let wrong = camp.ours(&["-Z", "--bogus", "-f", "/dev/null"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err[0].ends_with("siege: invalid option -- 'Z'"), "{wrong:?}");
    assert!(wrong.err[1].ends_with("siege: unrecognized option '--bogus'"), "{wrong:?}");
    let version = camp.output(camp.ours.clone(), &["-V"]);
    assert!(version.status.success() && version.stderr.starts_with(b"SIEGE 4.0.7\n"));
    let (real, ours) = (camp.real(&["-C"]), camp.ours(&["-C"]));
    let names = |came: &Came| -> Vec<String> {
        came.out
            .iter()
            .filter_map(|line| line.split_once(": "))
            .map(|row| row.0.to_owned())
            .collect()
    };
    assert_eq!(names(&ours), names(&real), "settings have the same names");
}

#[test]
fn a_siege_is_lifted_at_the_end_of_its_time_and_by_a_signal() {
    let camp = Camp::new("");
    let never = stub(None);
    for limit in ["-t1S", "-t1H"] {
        let mut command = Command::new(&camp.ours);
        command.env("HOME", camp.scratch.path()).arg("-R").arg(&camp.rc).args([limit, &never]);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut err = child.stderr.take().unwrap();
        let mut text = Vec::new();
        let begun = b"The server is now under siege...\n";
        while !text.ends_with(begun) {
            let mut byte = [0];
            assert_eq!(err.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&text));
            text.extend(byte);
        }
        if limit == "-t1H" {
            let pid = i32::try_from(child.id()).unwrap();
            // The signal is waited for from the moment on that the banner tells of, or soon.
            blackbox::wait::wait_for("INT is blocked", 10, || blocks_interrupts(pid));
            assert!(blackbox::process::signal(pid, libc::SIGINT));
        }
        err.read_to_end(&mut text).unwrap();
        let text = String::from_utf8_lossy(&text);
        assert!(text.contains("\nLifting the server siege...\nTransactions:\t"), "{text}");
        // In a second nobody was answered; a signal says nothing of the server.
        assert_eq!(child.wait().unwrap().code(), Some(if limit == "-t1S" { 12 } else { 0 }));
    }
}

/// Whether INT does not end this process by itself.
fn blocks_interrupts(pid: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    mask.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap_or(0) & 2 != 0)
}
