//! `trivet explain` over a sheet, beside the running server with the same configuration.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use serde_json::Value;

use super::ground;
use super::sheet::{Row, Set, Sheet};
use crate::Mpm;
use crate::apache::{config, start_ours};
use crate::binary;
use crate::scratch::Scratch;
use crate::talk::Talk;

/// The handlers whose answers nobody knows before they have been asked.
const ASKED: &[&str] = &["cgi-script", "proxy-server", "fcgid-script"];

/// Asks the server for every `nth` row of `rewrite/NAME.rules`, and `trivet explain` for the same;
/// panics if the two disagree about status, redirect, file or handler.
pub fn compare(mpm: Mpm, name: &str, nth: usize) {
    let sheet = Sheet::read(name);
    let site = Scratch::new();
    let log = site.join("told.log");
    let more = format!(
        "LogFormat \"%{{X-Number}}i|%>s|%{{Location}}o|%f|%>R\" told\nCustomLog {} told\n{}",
        log.display(),
        ground::build(&site, &sheet)
    );
    let (mut server, home) = start_ours(mpm, "rewrite", &site, &more);
    let mut talk = Talk::new(server.address(), None);
    let mut asked = Vec::new();
    let rows = sheet
        .sets
        .iter()
        .enumerate()
        .flat_map(|(set, it)| it.rows.iter().map(move |row| (set, row)));
    for (set, row) in rows.filter(|(_, row)| can_be_told(row)).step_by(nth) {
        let text = ground::filled(&row.text, set, &site);
        let numbered = format!("{text} | X-Number: {}", asked.len());
        if talk.ask(&Row::bytes(&numbered, &Set::host_name(set))).is_ok() {
            asked.push((set, text));
        }
    }
    drop(talk);
    server.stop(libc::SIGTERM);
    let file = home.join("trivet.conf").display().to_string();
    let told = fs::read_to_string(&log).expect("requests were logged");
    // Connections that are closed log later.
    let told: HashMap<&str, &str> = told.lines().filter_map(|it| it.split_once('|')).collect();
    let mut differences = String::new();
    for (number, (set, text)) in asked.iter().enumerate() {
        let line = told.get(number.to_string().as_str()).copied().unwrap_or_default();
        let explained = explain(&file, &Set::host_name(*set), text);
        if !is_alike(line, &explained) {
            let _ =
                writeln!(differences, "s{set} {text}\n  server    {line}\n  explained {explained}");
        }
    }
    println!("{name}: {} requests were explained", asked.len());
    assert!(asked.len() >= 200, "only {} requests", asked.len());
    assert!(differences.is_empty(), "{differences}");
}

/// What `trivet -t` says of the configuration of a sheet, and of the `.htaccess` files in it.
pub fn tested(name: &str) -> String {
    let sheet = Sheet::read(name);
    let site = Scratch::new();
    let home = Scratch::new();
    let lines = config("rewrite", &site) + &ground::build(&site, &sheet);
    let file = home.write(
        "trivet.conf",
        format!("LoadModule mpm_event_module x\nListen 127.0.0.1:1\n{lines}"),
    );
    home.write("logs/.keep", "");
    let mut command = Command::new(binary::trivet());
    command.arg("-d").arg(home.path()).arg("-t").arg("-f").arg(file);
    let output = command.output().expect("it can be started");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether a row is one that the command line can say: a plain request of HTTP/1.1.
fn can_be_told(row: &Row) -> bool {
    let text = &row.text;
    let (line, fields) = text.split_once(" | ").unwrap_or((text, ""));
    let words: Vec<&str> = line.split(' ').collect();
    let target = words.iter().find(|word| word.starts_with('/'));
    let is_plain = target.is_some_and(|target| {
        !target.contains(['\\', '{', '#']) && target.is_ascii() && words.last() == Some(target)
    });
    is_plain && !fields.contains("body=") && !fields.contains('\\') && words.len() <= 2
}

/// What `trivet explain` says, in the form of the log's lines.
fn explain(file: &str, host: &str, text: &str) -> String {
    let mut parts = text.split(" | ");
    let line = parts.next().unwrap_or_default();
    let (method, target) = line.split_once(' ').unwrap_or(("GET", line));
    let mut command = Command::new(binary::trivet());
    command.args(["explain", "--json", "--config", file, "-X", method]);
    let fields: Vec<&str> = parts.collect();
    for field in &fields {
        command.args(["-H", field]);
    }
    if !fields.iter().any(|field| field.starts_with("Host:")) {
        command.args(["-H", &format!("Host: {host}")]);
    }
    let output = command.arg(target).output().expect("it can be started");
    let said = String::from_utf8_lossy(&output.stdout);
    let Ok(json) = serde_json::from_str::<Value>(&said) else {
        return format!("{} {}", output.status, String::from_utf8_lossy(&output.stderr));
    };
    let of = |name: &str| match json[name].as_str() {
        None | Some("") => "-".to_owned(),
        Some(text) => text.to_owned(),
    };
    format!("{}|{}|{}|{}", json["status"], of("location"), of("file"), of("handler"))
}

/// Whether a line of the log says what was explained.
fn is_alike(line: &str, explained: &str) -> bool {
    let (line, explained): (Vec<&str>, Vec<&str>) =
        (line.split('|').collect(), explained.split('|').collect());
    let (&[status, location, file, handler], &[own_status, own_location, own_file, own_handler]) =
        (&line[..], &explained[..])
    else {
        return false;
    };
    // The log escapes what a terminal would take for something.
    let is_escaped = file.contains('\\');
    (ASKED.contains(&own_handler) || (status, location) == (own_status, own_location))
        && (is_escaped || file == own_file)
        && handler == own_handler
}
