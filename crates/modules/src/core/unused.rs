//! Directives of core whose arguments are checked as httpd checks them, and that have no effect
//! here: what they would change does not exist.

use super::Done;
use config::{Call, Error, args, owners};
use server::site::builder::Builder;

/// A number of bytes of 32 bits (set_read_buf_size, set_flush_max_threshold). The bracket is
/// httpd's.
pub(super) fn unsigned(_: &mut Builder, call: &Call<'_>) -> Done {
    let word = call.arg(0);
    let number: Option<i64> = word.parse().ok();
    match number.filter(|number| (0..=i64::from(u32::MAX)).contains(number)) {
        Some(_) => Ok(()),
        None => {
            let text = format!("parameter must be a number between 0 and (4294967295U)): {word}");
            Err(Error::argument(0, text))
        }
    }
}

pub(super) fn flush_max_pipelined(_: &mut Builder, call: &Call<'_>) -> Done {
    let word = call.arg(0);
    let number: Option<i64> = word.parse().ok();
    match number.filter(|number| (-1..=i64::from(i32::MAX)).contains(number)) {
        Some(_) => Ok(()),
        None => {
            let text = format!("parameter must be a number between -1 and (2147483647): {word}");
            Err(Error::argument(0, text))
        }
    }
}

/// No handler reads XML.
pub(super) fn limit_xml_request_body(_: &mut Builder, call: &Call<'_>) -> Done {
    /// httpd's AP_MAX_LIMIT_XML_BODY with 64 bits.
    const MOST: i64 = 3_074_457_345_618_258_601;
    let text = match args::leading(call.arg(0)) {
        0..=MOST => return Ok(()),
        ..0 => "LimitXMLRequestBody requires a non-negative integer.".to_owned(),
        _ => format!("LimitXMLRequestBody must not exceed {MOST}"),
    };
    Err(Error::argument(0, text))
}

/// There is one protocol.
pub(super) fn protocols_honor_order(_: &mut Builder, call: &Call<'_>) -> Done {
    let is_known = ["on", "off"].iter().any(|word| word.eq_ignore_ascii_case(call.arg(0)));
    let text = "ProtocolsHonorOrder must be 'on' or 'off'";
    if is_known { Ok(()) } else { Err(Error::argument(0, text)) }
}

/// What httpd's APR on Linux offers (AP_ALL_AVAILABLE_MUTEXES_STRING).
const MECHANISMS: &str = "(Mutex mechanisms are: 'none', 'default', 'flock:/path/to/file', \
                          'fcntl:/path/to/file', 'file:/path/to/file', 'pthread', 'sysvsem', \
                          'posixsem', 'sem')";

/// No process here waits for another one (util_mutex.c, ap_set_mutex).
pub(super) fn mutex(builder: &mut Builder, call: &Call<'_>) -> Done {
    let Some((argument, types)) = call.args.split_first().filter(|(word, _)| !word.is_empty())
    else {
        return Err(format!("Mutex requires at least a mechanism argument {MECHANISMS}").into());
    };
    let (mechanism, file) = match argument.split_once(':') {
        Some((mechanism, file)) => (mechanism, Some(file).filter(|file| !file.is_empty())),
        None => (argument.as_str(), None),
    };
    let mechanism = mechanism.to_ascii_lowercase();
    let is_none = matches!(mechanism.as_str(), "none" | "no");
    let known =
        ["default", "yes", "fcntl", "file", "flock", "posixsem", "sem", "sysvsem", "pthread"];
    if !is_none && !known.contains(&mechanism.as_str()) {
        let text = format!("Invalid Mutex argument {argument} {MECHANISMS}");
        return Err(Error::argument(0, text));
    }
    let folder = file.filter(|_| !is_none).map(|file| builder.server_path(file));
    if folder.as_ref().is_some_and(|folder| !folder.is_dir()) {
        let text = format!("Invalid Mutex directory in argument {argument}");
        return Err(Error::argument(0, text));
    }
    mutex_types(builder, types, is_none)?;
    let folder = folder.map_or(String::new(), |folder| folder.display().to_string());
    note_mutexes(builder, types, &mechanism, &folder);
    Ok(())
}

/// What `-S` shows of it (ap_parse_mutex, ap_dump_mutexes).
fn note_mutexes(builder: &mut Builder, types: &[String], mechanism: &str, folder: &str) {
    let mechanism = match mechanism {
        "yes" => "default",
        "sem" => "posixsem",
        "file" => "fcntl",
        own => own,
    };
    let is_flag = |word: &&String| word.eq_ignore_ascii_case("omitpid");
    let end = if types.iter().any(|word| is_flag(&word)) { "[OmitPid]" } else { "" };
    let names: Vec<&str> = types.iter().filter(|word| !is_flag(word)).map(String::as_str).collect();
    let names = if names.is_empty() { vec!["default"] } else { names };
    let all = &mut builder.server.mutexes;
    for name in names {
        // A folder stays until another one is named.
        let before = all.iter().position(|row| row.0 == name).map(|at| all.remove(at).1[0].clone());
        let before = before.filter(|_| folder.is_empty()).unwrap_or_else(|| folder.to_owned());
        all.push((name.to_owned(), [before, mechanism.to_owned(), end.to_owned()]));
    }
}

/// From the last to the first, as httpd reads them; none is `default`.
fn mutex_types(builder: &Builder, types: &[String], is_none: bool) -> Done {
    let types = types.iter().enumerate().rev().filter(|row| !row.1.eq_ignore_ascii_case("omitpid"));
    let mut types = types.peekable();
    let all = types.peek().is_none();
    for (nth, name) in types {
        let is_there =
            |module: &str| builder.has_module(module) || builder.server.missing.contains(&module);
        let is_known = owners::MUTEXES.iter().any(|row| row.1 == name && is_there(row.0));
        if name != "default" && !is_known {
            return Err(Error::argument(nth + 1, format!("Mutex type {name} is not valid")));
        }
        if is_none {
            let text = format!("None is not allowed for mutex type {name}");
            return Err(Error::argument(nth + 1, text));
        }
    }
    match all && is_none {
        true => Err(Error::argument(0, "None is not allowed for mutex type default")),
        false => Ok(()),
    }
}
