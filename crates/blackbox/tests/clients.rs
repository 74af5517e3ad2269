//! Real clients: curl, ab, siege, wrk and a browser, in short runs without a single failure.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use blackbox::outside::{program, run_command, succeed};
use blackbox::scratch::Scratch;
use blackbox::{Mpm, Server, Site, each_mpm, plain_site};

const FILE: &str = "0123456789abcdefghij";

fn url(server: &Server, target: &str) -> String {
    format!("http://{}{target}", server.address())
}

/// curl with these options; gives stdout.
fn curl(options: &[&str], url: &str) -> String {
    let base = ["--silent", "--show-error", "--max-time", "20", "--noproxy", "*"];
    succeed("curl", &[base.as_slice(), options, &[url]].concat(), 30)
}

fn curl_gets_heads_ranges_and_conditions(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let file = url(&server, "/a.txt");
    assert_eq!(curl(&[], &file), FILE);
    assert_eq!(curl(&["--http1.0"], &file), FILE);
    assert_eq!(curl(&["--range", "5-7"], &file), "567");
    assert_eq!(curl(&["--data", "a=b"], &file), FILE);
    assert_eq!(curl(&["--compressed"], &file), FILE);
    assert_eq!(curl(&["--location"], &url(&server, "/dir")), "<p>in a folder</p>\n");
    assert!(curl(&["--head"], &file).starts_with("HTTP/1.1 200 OK\r\n"));
    let status = ["--output", "/dev/null", "--write-out", "%{http_code}"];
    let with = |more: &[&str], target: &str| curl(&[&status, more].concat(), &url(&server, target));
    let stamp = server.root().join("a.txt").display().to_string();
    assert_eq!(with(&["--time-cond", &stamp], "/a.txt"), "304");
    assert_eq!(with(&["--request", "DELETE"], "/a.txt"), "405");
    assert_eq!(with(&[], "/missing"), "404");
    assert_eq!(with(&["--path-as-is"], "/../../etc/passwd"), "400");
    let chunked = ["--header", "Transfer-Encoding: chunked", "--data", "hello"];
    assert_eq!(with(&chunked, "/a.txt"), "200");
}

fn curl_keeps_one_connection_for_many_files(mpm: Mpm) {
    let site =
        (0..50).fold(plain_site(mpm), |site, it| site.file(format!("n/{it}"), format!("{it};")));
    let server = site.start();
    let options = ["--write-out", "%{num_connects} "];
    let text = curl(&options, &url(&server, "/n/[0-49]"));
    let wanted: String = (0..50).map(|it| format!("{it};{} ", u8::from(it == 0))).collect();
    assert_eq!(text, wanted);
}

fn curl_uploads_and_resumes(mpm: Mpm) {
    let content = "0123456789abcdef".repeat(100_000);
    let server = plain_site(mpm).file("large.bin", &content).start();
    let scratch = Scratch::new();
    let part = scratch.write("part", &content[..700_001]);
    let path = part.to_str().unwrap();
    curl(&["--continue-at", "-", "--output", path], &url(&server, "/large.bin"));
    assert!(fs::read_to_string(&part).unwrap() == content);
    // curl asks with Expect: 100-continue before it sends this much.
    let body = format!("@{path}");
    let options = ["--data-binary", body.as_str(), "--header", "Expect: 100-continue"];
    assert_eq!(curl(&options, &url(&server, "/a.txt")), FILE);
}

/// The number behind a label in a report.
fn number(report: &str, label: &str) -> u64 {
    let line = report.lines().find(|it| it.trim_start_matches(['{', ' ', '\t']).starts_with(label));
    let line = line.unwrap_or_else(|| panic!("no {label} in {report}"));
    let word = line[line.find(label).unwrap() + label.len()..].trim();
    let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no number in {line}"))
}

fn ab_has_no_failed_request(mpm: Mpm) {
    // Once ab has sent enough it leaves its connections open without a request, and takes their
    // end for a failure: with httpd, too, if others are still waiting for a process.
    let processes: &[&str] = match mpm {
        Mpm::Prefork => &["StartServers 60", "MaxSpareServers 100"],
        _ => &[],
    };
    let server = plain_site(mpm).directives(processes).start();
    let file = url(&server, "/a.txt");
    let mut total = 0;
    for options in [["-n", "2000", "-c", "20"].as_slice(), &["-k", "-n", "5000", "-c", "50"]] {
        let report = succeed("ab", &[["-q"].as_slice(), options, &[&file]].concat(), 60);
        let wanted: u64 = options[options.len() - 3].parse().unwrap();
        assert_eq!(number(&report, "Complete requests:"), wanted, "{report}");
        assert_eq!(number(&report, "Failed requests:"), 0, "{report}");
        assert!(!report.contains("Non-2xx"), "{report}");
        if options[0] == "-k" {
            assert_eq!(number(&report, "Keep-Alive requests:"), wanted, "{report}");
        }
        total += usize::try_from(wanted).unwrap();
        // ab may open a connection more than it needs and leave it without a request.
        let lines = server.wait_log_at_least(total);
        assert!(lines.iter().all(|line| line.contains("\" 200 20 ")), "{lines:#?}");
    }
}

fn siege_has_no_failed_transaction(mpm: Mpm) {
    let server = plain_site(mpm).file("large.bin", vec![b'x'; 200_000]).start();
    let scratch = Scratch::new();
    let list = format!(
        "{}\n{}\n{}\n",
        url(&server, "/a.txt"),
        url(&server, "/"),
        url(&server, "/large.bin")
    );
    let list = scratch.write("urls", list);
    let mut command = Command::new(program("siege"));
    command.env("HOME", scratch.path()).args(["-b", "-c", "10", "-r", "60", "-f"]).arg(list);
    let output = run_command(&mut command, 60);
    let report = [output.stdout, output.stderr].concat();
    let report =
        String::from_utf8_lossy(&report).to_lowercase().replace(['"', ',', '_', '\t'], " ");
    assert!(output.status.success(), "{report}");
    // JSON or a table, as the file of settings says that siege writes at its first run.
    let report = report.replace(" :", ":");
    assert_eq!(number(&report, "failed transactions:"), 0, "{report}");
    assert_eq!(number(&report, "transactions:"), 600, "{report}");
}

fn wrk_has_no_error(mpm: Mpm) {
    let server = plain_site(mpm).file("large.bin", vec![b'x'; 200_000]).start();
    for target in ["/a.txt", "/large.bin"] {
        let target = url(&server, target);
        let report = succeed("wrk", &["-t2", "-c64", "-d1s", &target], 30);
        assert!(report.contains("requests in"), "{report}");
        assert!(!report.contains("Socket errors") && !report.contains("Non-2xx"), "{report}");
    }
}

/// The site that the project ships.
fn example_site() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/site")
}

/// Copies a folder with all that is in it.
fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Opens the gallery in a frame and writes down how many images were decoded, until all are.
const CHECK_PAGE: &str = "<!DOCTYPE html><title>check</title><p id=result>waiting</p>
<iframe id=frame src=gallery.html width=1200 height=900></iframe>
<script>
const frame = document.getElementById('frame');
const count = () => {
  const images = [...frame.contentDocument.images];
  images.forEach(image => { image.loading = 'eager'; });
  const good = images.filter(image => image.complete && image.naturalWidth > 0);
  document.getElementById('result').textContent = `decoded ${good.length} of ${images.length}`;
  if (good.length < images.length) setTimeout(count, 50);
};
frame.onload = count;
</script>
";

fn a_browser_decodes_all_240_images_of_the_gallery(mpm: Mpm) {
    let browser = program("chromium");
    let site = Site::new(mpm).access_log("\"%>s %U\"");
    copy_folder(&example_site(), site.root().path());
    let server = site.file("check.html", CHECK_PAGE).start();
    let scratch = Scratch::new();
    let mut command = Command::new(browser);
    command.env("HOME", scratch.path());
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"]);
    command.args(["--no-first-run", "--disable-background-networking", "--disable-sync"]);
    command.args(["--disable-component-update", "--virtual-time-budget=60000", "--dump-dom"]);
    command.arg(format!("--user-data-dir={}", scratch.join("profile").display()));
    command.arg(url(&server, "/check.html"));
    let output = run_command(&mut command, 120);
    let page = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(page.contains("decoded 240 of 240"), "{page}\n{errors}");
    let lines = server.log_lines();
    assert!(lines.iter().all(|line| line.starts_with("200 ")), "{lines:#?}");
    let images = lines.iter().filter(|line| line.ends_with(".png")).count();
    assert!(images >= 240, "{images} images were asked for");
}

each_mpm! {
    curl_gets_heads_ranges_and_conditions,
    curl_keeps_one_connection_for_many_files,
    curl_uploads_and_resumes,
    ab_has_no_failed_request,
    siege_has_no_failed_transaction,
    wrk_has_no_error,
    a_browser_decodes_all_240_images_of_the_gallery,
}
