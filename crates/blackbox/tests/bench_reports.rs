//! What `trivet bench` leaves behind: the page in a real browser, tables that tools read, saved
//! runs and their comparison, conditions on a run. The MPM of the server that is measured does not
//! matter to any of it, so that one does.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::bench::{bench, measure, number};
use blackbox::outside::{program, run_command};
use blackbox::scratch::Scratch;
use blackbox::{LOAD_HANDLERS, Mpm, Server, plain_site};
use std::fs;
use std::path::Path;
use std::process::Command;

fn url(server: &Server, target: &str) -> String {
    format!("http://{}{target}", server.address())
}

fn word(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// What the browser prints to standard output with these options.
fn browse(scratch: &Scratch, options: &[&str], page: &str) -> String {
    let mut command = Command::new(program("chromium"));
    command.env("HOME", scratch.path());
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"]);
    command.args(["--no-first-run", "--disable-background-networking", "--disable-sync"]);
    command.args(["--disable-component-update", "--hide-scrollbars"]);
    command.arg(format!("--user-data-dir={}", scratch.join("profile").display()));
    command.args(options).arg(page);
    let output = run_command(&mut command, 120);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{options:?}: {}\n{errors}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Looks at the page in a frame as wide as a telephone, and points at the middle of its plots.
const LOOK: &str = "<!DOCTYPE html><title>look</title><p id=result>waiting</p>
<iframe id=frame src=report.html width=390 height=900></iframe>
<script>
const frame = document.getElementById('frame');
frame.onload = () => {
  const page = frame.contentDocument;
  const shown = (selector) => [...page.querySelectorAll(selector)].filter((it) => {
    // A line that is level has no height.
    return it.getBoundingClientRect().width > 100;
  }).length;
  const values = () => [...page.querySelectorAll('[data-line]')].map((it) => it.textContent);
  const before = values();
  const field = page.querySelector('.plot .field').getBoundingClientRect();
  const plots = page.getElementById('plots');
  const point = (name, share) => plots.dispatchEvent(new frame.contentWindow.PointerEvent(
    name, { clientX: field.left + field.width * share, bubbles: true }));
  point('pointermove', 0.99);
  const pointed = values();
  const moment = page.getElementById('moment').textContent;
  point('pointerleave', 0);
  document.getElementById('result').textContent = JSON.stringify({
    plots: shown('figure.plot svg'),
    lines: shown('path.line'),
    bars: page.querySelectorAll('path.bars').length,
    badges: page.querySelectorAll('.badge').length,
    outside: [...page.querySelectorAll('.dot')].filter((dot) => {
      const [own, field] = [dot, dot.parentElement].map((it) => it.getBoundingClientRect());
      return own.left < field.left - 5 || own.right > field.right + 5 || own.width !== 8
        || own.top < field.top - 5 || own.bottom > field.bottom + 5;
    }).length,
    found: page.querySelector('.found').textContent,
    width: page.documentElement.scrollWidth,
    users: pointed[before.length > 6 ? 6 : 0],
    moment,
    restored: JSON.stringify(values()) === JSON.stringify(before),
    changed: JSON.stringify(pointed) !== JSON.stringify(before),
    foreign: frame.contentWindow.performance.getEntriesByType('resource').length,
  });
};
</script>
";

/// What is between the tags of the result.
fn result(page: &str) -> serde_json::Value {
    let text = page.split("id=\"result\">").nth(1).and_then(|rest| rest.split("</p>").next());
    let text = text.unwrap_or_else(|| panic!("no result in {page}")).replace("&amp;", "&");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A run with a ramp and errors, its page at `report.html` of the server.
fn reported() -> Server {
    let server = plain_site(Mpm::Event).file("look.html", LOOK).file("blank.html", "").start();
    let page = server.root().join("report.html");
    let (good, missing) = (url(&server, "/a.txt"), url(&server, "/missing?<b>"));
    let ran = bench(&["-q", "-p", "1-6:3", "--html", word(&page), &good, &missing]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    blackbox::scratch::set_mode(&page, 0o644);
    server
}

#[test]
fn the_page_is_drawn_on_a_telephone_and_follows_the_pointer() {
    let (server, scratch) = (reported(), Scratch::new());
    let options = ["--virtual-time-budget=20000", "--dump-dom"];
    let seen = result(&browse(&scratch, &options, &url(&server, "/look.html")));
    // Throughput, latency, users; five of the server; two by users; histogram and percentiles.
    assert_eq!(number(&seen, "plots"), 12.0, "{seen}");
    // Answers, four of the latency, users, five of the server and one beside it, percentiles; by
    // users three of the latency, answers and errors.
    assert_eq!(number(&seen, "lines"), 18.0, "{seen}");
    assert_eq!(seen["outside"], 0, "marks of the plots by users: {seen}");
    assert_eq!(number(&seen, "bars"), 2.0, "{seen}");
    assert_eq!(number(&seen, "badges"), 1.0, "{seen}");
    assert!(number(&seen, "width") <= 390.0, "{seen}");
    assert_eq!((&seen["changed"], &seen["restored"]), (&true.into(), &true.into()), "{seen}");
    assert_eq!(seen["users"], "6", "{seen}");
    assert_eq!(seen["moment"], "2.50 s", "{seen}");
    assert_eq!(number(&seen, "foreign"), 0.0, "{seen}");
    let found = seen["found"].as_str().unwrap();
    assert!(found.contains(" good answers/s on average for ") && found.contains(" failed (50"));
}

/// Draws pictures on a canvas and says how bright they are and how many colours they have.
const MEASURE: &str = "<!DOCTYPE html><title>measure</title><p id=result>waiting</p>
<img id=light src=light.png><img id=dark src=dark.png>
<script>
const measure = (image) => {
  const [width, height] = [image.naturalWidth, image.naturalHeight];
  const canvas = Object.assign(document.createElement('canvas'), { width, height });
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  const pixels = new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
  let sum = 0;
  pixels.forEach((it) => { sum += (it & 255) + (it >> 8 & 255) + (it >> 16 & 255); });
  return { brightness: sum / 3 / pixels.length, colours: new Set(pixels).size };
};
onload = () => {
  const [light, dark] = ['light', 'dark'].map((id) => measure(document.getElementById(id)));
  document.getElementById('result').textContent = JSON.stringify({ light, dark });
};
</script>
";

#[test]
fn the_page_is_light_or_dark_as_the_reader_likes() {
    let (server, scratch) = (reported(), Scratch::new());
    for (name, scheme) in [("light.png", "1"), ("dark.png", "0")] {
        let picture = server.root().join(name);
        let shot = format!("--screenshot={}", picture.display());
        let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
        let options = ["--window-size=1180,2000", &scheme, &shot];
        browse(&scratch, &options, &url(&server, "/report.html"));
        blackbox::scratch::set_mode(&picture, 0o644);
    }
    let check = server.root().write("measure.html", MEASURE);
    assert!(check.is_file());
    let options = ["--virtual-time-budget=20000", "--dump-dom"];
    let seen = result(&browse(&scratch, &options, &url(&server, "/measure.html")));
    assert!(number(&seen, "light.brightness") > 200.0, "{seen}");
    assert!(number(&seen, "dark.brightness") < 60.0, "{seen}");
    for name in ["light.colours", "dark.colours"] {
        assert!(number(&seen, name) > 100.0, "{seen}");
    }
}

#[test]
fn the_files_have_the_figures_of_the_run() {
    let (server, scratch) = (plain_site(Mpm::Event).start(), Scratch::new());
    let [csv, hdr, saved] = ["a.csv", "a.hdr", "a.json"].map(|name| scratch.join(name));
    let words = ["-c", "3", "-d", "1200ms", "--csv", word(&csv), "--hdr", word(&hdr)];
    let file = url(&server, "/a.txt");
    let figures = measure(&[&words[..], &["--save", word(&saved), &file]].concat());
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let same: serde_json::Value = serde_json::from_str(&read(&saved)).unwrap();
    assert_eq!(same, figures);

    let csv = read(&csv);
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = names.iter().position(|name| *name == "requests").unwrap();
    let requests = lines.map(|line| line.split(',').nth(place).unwrap().parse::<f64>().unwrap());
    let requests: Vec<f64> = requests.collect();
    assert_eq!(requests.len(), 2, "{csv}");
    assert_eq!(requests.iter().sum::<f64>(), number(&figures, "summary.requests"), "{csv}");

    let hdr = read(&hdr);
    let last = hdr.lines().rfind(|line| line.ends_with("inf")).unwrap();
    let last: Vec<&str> = last.split_whitespace().collect();
    let count = number(&figures, "summary.latency_us.count");
    assert_eq!(last[1..3], ["1.000000000000".to_owned(), count.to_string()], "{hdr}");
    assert!(hdr.contains("#[Mean    = "), "{hdr}");
}

#[test]
fn each_level_of_a_staircase_has_its_row_in_every_report() {
    let server = plain_site(Mpm::Event).directives(LOAD_HANDLERS).start();
    let scratch = Scratch::new();
    let [csv, html, saved] = ["a.csv", "a.html", "a.json"].map(|name| scratch.join(name));
    let files = ["--levels", word(&csv), "--html", word(&html), "--save", word(&saved)];
    let words = ["-q", "--steps", "1,4", "-d", "2s", &url(&server, "/wait?ms=20")];
    let ran = bench(&[&files[..], &words].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let figures: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&saved).unwrap()).unwrap();
    assert_eq!(figures["figures"]["unit"], "users");
    let levels = figures["levels"].as_array().unwrap();
    assert_eq!(levels.len(), 2, "{figures}");
    for (row, (users, from_s)) in levels.iter().zip([(1.0, 0.0), (4.0, 2.0)]) {
        assert_eq!((number(row, "level"), number(row, "from_s")), (users, from_s), "{row}");
        assert!((number(row, "to_s") - from_s - 2.0).abs() < 0.2, "{row}");
        assert!((number(row, "counted_s") - 2.0).abs() < 0.2, "{row}");
        // Each user gets fewer than 50 answers a second.
        assert!((1.0..users * 50.0).contains(&number(row, "rate")), "{row}");
        let [p50, p95, p99] = ["p50_us", "p95_us", "p99_us"].map(|name| number(row, name));
        assert!(20_000.0 < p50 && p50 <= p95 && p95 <= p99, "{row}");
        assert!(number(row, "server.cpu_us_per_request") > 0.1, "{row}");
        assert!(number(row, "server.pss_bytes_max") > 100_000.0, "{row}");
    }
    // All seconds lie within a level, so that nothing is left out.
    let all: f64 = levels.iter().map(|row| number(row, "requests")).sum();
    assert_eq!(all, number(&figures, "summary.requests"), "{figures}");
    let csv = fs::read_to_string(&csv).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines.len() == 3 && lines[0].starts_with("level,unit,from_s,to_s,"), "{csv}");
    assert!(lines[1].starts_with("1,users,0,2,") && lines[2].starts_with("4,users,2,"), "{csv}");
    let is_row = |line: &&str| line.trim_start().starts_with("4 ") && line.contains(" 2-4 ");
    assert_eq!(ran.out.lines().filter(is_row).count(), 1, "{}", ran.out);
    let page = fs::read_to_string(&html).unwrap();
    assert!(page.contains("<th>4</th><td>2-4</td>") && page.contains("<b>Latency by users</b>"));
    assert!(page.contains("<p class=\"found\">At most "), "{page}");
}

#[test]
fn a_ramp_has_its_seconds_by_load_and_a_level_where_it_holds() {
    let server = plain_site(Mpm::Event).directives(LOAD_HANDLERS).start();
    let figures = measure(&["-p", "1-4:3,1500ms", &url(&server, "/wait?ms=20")]);
    let rows = |name: &str| figures[name].as_array().cloned().unwrap_or_default();
    let sum = |name: &str| rows(name).iter().map(|row| number(row, "requests")).sum::<f64>();
    assert_eq!(sum("ramp"), number(&figures, "summary.requests"), "{figures}");
    let loads: Vec<f64> = rows("ramp").iter().map(|row| number(row, "level")).collect();
    assert!(loads.len() >= 3 && loads.is_sorted(), "{loads:?}");
    assert!(sum("levels") < sum("ramp"), "{figures}");
    let held: Vec<f64> = rows("levels").iter().map(|row| number(row, "level")).collect();
    assert_eq!(held, [4.0], "{figures}");
    let plain = measure(&["-c", "2", "-n", "20", &url(&server, "/a.txt")]);
    let none = |name: &str| plain[name].as_array().is_some_and(Vec::is_empty);
    assert!(none("levels") && none("ramp"), "{plain}");
    let refused = bench(&["-n", "1", "--levels", "/dev/null", &url(&server, "/a.txt")]);
    assert!(refused.code == 2 && refused.err.contains("a load that changes"), "{refused:?}");
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_a_request_is_sent() {
    let (server, scratch) = (plain_site(Mpm::Event).start(), Scratch::new());
    let nowhere = scratch.join("missing/report.html");
    let good = scratch.join("good.csv");
    let file = url(&server, "/a.txt");
    let ran = bench(&["-n", "5", "--csv", word(&good), "--html", word(&nowhere), &file]);
    assert_eq!((ran.code, ran.out.as_str()), (4, ""), "{ran:?}");
    let told = format!("trivet bench: --html {}: No such file or directory", nowhere.display());
    assert!(ran.err.starts_with(&told) && ran.err.lines().count() == 1, "{ran:?}");
    assert!(!good.exists(), "a file is left behind by a run that was not made");
    let twice = bench(&["-n", "5", "--csv", word(&good), "--hdr", word(&good), &file]);
    assert_eq!(twice.code, 2, "{twice:?}");
    // One request for the log to have something to say.
    server.get("/b.txt");
    let lines = server.wait_log_at_least(1);
    assert!(lines.len() == 1 && lines[0].contains("/b.txt"), "{lines:#?}");
}

#[test]
fn a_file_keeps_what_it_has_until_there_is_a_run() {
    let (server, scratch) = (plain_site(Mpm::Event).start(), Scratch::new());
    let old = scratch.write("old.json", "precious".repeat(100_000));
    let ran = bench(&["-n", "5", "--save", word(&old), "http://no-such-host.invalid/"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert_eq!(fs::read_to_string(&old).unwrap().len(), 800_000);
    let ran = bench(&["-q", "-n", "5", "--save", word(&old), &url(&server, "/a.txt")]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let saved: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&old).unwrap()).unwrap();
    assert_eq!(number(&saved, "summary.requests"), 5.0);
}

#[test]
fn a_file_may_be_the_stream_that_the_text_goes_to() {
    let (server, scratch) = (plain_site(Mpm::Event).start(), Scratch::new());
    let both = scratch.join("both");
    let mut command = Command::new(blackbox::binary::trivet());
    command.args(["bench", "-q", "-n", "5", "--csv", "/dev/stdout", &url(&server, "/a.txt")]);
    command.stdout(fs::File::create(&both).unwrap());
    assert!(command.status().unwrap().success());
    let text = fs::read_to_string(&both).unwrap();
    assert!(text.contains("this program: ") && text.contains("\nuntil_s,length_s,"), "{text}");
}

#[test]
fn a_condition_that_holds_fails_the_run() {
    let server = plain_site(Mpm::Event).start();
    let (good, missing) = (url(&server, "/a.txt"), url(&server, "/missing"));
    let run = |condition: &str, target: &str| {
        bench(&["-q", "-n", "20", "--fail-if", condition, "--fail-if", "rate<0", target])
    };
    let fails = run("p99<60s && status4xx>=100%", &missing);
    assert_eq!(fails.code, 99, "{fails:?}");
    assert!(fails.err.contains("status4xx is 100%"), "{fails:?}");
    assert!(fails.out.contains("requests"), "{fails:?}");
    let passes = run("status4xx>0 || p99>60s", &good);
    assert_eq!((passes.code, passes.err.as_str()), (0, ""), "{passes:?}");
    let unclear = run("p99>>1", &good);
    assert_eq!(unclear.code, 2, "{unclear:?}");
    assert!(unclear.err.starts_with("trivet bench: --fail-if: "), "{unclear:?}");
}

#[test]
fn two_saved_runs_are_compared() {
    let server = plain_site(Mpm::Event).directives(LOAD_HANDLERS).start();
    let scratch = Scratch::new();
    let [slow, fast] = ["slow.json", "fast.json"].map(|name| scratch.join(name));
    std::thread::scope(|scope| {
        for (path, ms) in [(&slow, 40), (&fast, 10)] {
            let target = url(&server, &format!("/wait?ms={ms}"));
            scope.spawn(move || {
                let ran = bench(&["-q", "-c", "2", "-d", "7s", "--save", word(path), &target]);
                assert_eq!(ran.code, 0, "{ran:?}");
            });
        }
    });
    let ran = bench(&["--diff", word(&slow), word(&fast)]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let line = |name: &str| {
        let found = ran.out.lines().find(|line| line.trim_start().starts_with(name));
        found.unwrap_or_else(|| panic!("no {name} in {}", ran.out))
    };
    assert!(line("rate").contains(" better "), "{}", ran.out);
    assert!(line("p50").contains(" better "), "{}", ran.out);
    let turned = bench(&["--diff", word(&fast), word(&slow)]);
    assert!(turned.out.contains(" worse "), "{turned:?}");
    // 40 ms after 10 are four times as long, and the rate is a quarter.
    let judge = |a: &Path, b: &Path, condition: &str| {
        bench(&["--diff", word(a), word(b), "--fail-if", "p99>+5000%", "--fail-if", condition])
    };
    for condition in ["p50>+10%", "p50>+10ms || errors>+1%", "rate<-5%", "p50>=40ms && p50>+1%"] {
        let worse = judge(&fast, &slow, condition);
        assert_eq!((worse.code, &worse.out), (1, &turned.out), "{condition}: {worse:?}");
        let told = format!("trivet bench: failed by --fail-if '{condition}': ");
        assert!(worse.err.starts_with(&told) && worse.err.lines().count() == 1, "{worse:?}");
        let better = judge(&slow, &fast, condition);
        assert_eq!((better.code, better.err.as_str()), (0, ""), "{condition}: {better:?}");
    }
    let unknown = judge(&fast, &slow, "p50>+10");
    assert_eq!(unknown.code, 1, "ms are meant: {unknown:?}");
    let unclear = judge(&fast, &slow, "p50>+10x");
    assert!(unclear.code == 2 && unclear.err.contains("a unit of time"), "{unclear:?}");
    let same = bench(&["--diff", word(&fast), word(&fast)]);
    assert!(same.out.contains("no difference"), "{same:?}");
}

#[test]
fn what_is_no_saved_run_is_told_with_its_name() {
    let scratch = Scratch::new();
    let rows = [
        ("garbage", "not JSON", "expected"),
        ("other.json", "{\"a\": 1}", "no record of a run"),
        ("newer.json", "{\"version\": 99}", "version 99"),
        ("half.json", "{\"version\": 1, \"seconds\": [{\"unti", "EOF"),
    ];
    let missing = scratch.join("missing");
    for (name, content, reason) in rows {
        let path = scratch.write(name, content);
        let ran = bench(&["--diff", word(&path), word(&missing)]);
        assert_eq!((ran.code, ran.out.as_str()), (4, ""), "{ran:?}");
        assert!(ran.err.contains(word(&path)) && ran.err.contains(reason), "{ran:?}");
        assert_eq!(ran.err.lines().count(), 1, "{ran:?}");
    }
    let ran = bench(&["--diff", word(&missing), word(&missing)]);
    assert!(ran.code == 4 && ran.err.contains("No such file"), "{ran:?}");
    assert_eq!(bench(&["--diff", word(&missing)]).code, 2);
    let unread = bench(&["--diff", "--fail-if", "rate<1", word(&missing), word(&missing)]);
    assert_eq!((unread.code, unread.out.as_str()), (4, ""), "{unread:?}");
    let unheard = bench(&["--diff", "--csv", "/dev/null", word(&missing), word(&missing)]);
    assert_eq!(unheard.code, 2, "{unheard:?}");
}
