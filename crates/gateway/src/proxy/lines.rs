//! What the lines `ProxyPass`, `ProxyPassMatch`, `BalancerMember` and `ProxySet` say, in httpd's
//! order of checks and with its words (add_pass, add_member and set_proxy_param of mod_proxy.c).

use super::balancer::Balancer;
use super::pass::{From, Pass, PassFlags};
use super::worker::ProxyWorker;
use super::{HOST_SETTINGS, SETTINGS, url};
use config::lexer::LineWords;
use config::{Call, Error};
use pattern::Replacement;
use server::site::builder::Builder;
use server::site::section::regex;
use std::sync::Arc;

type Done = Result<(), Error>;

/// Keys with their values, as they stand on a line.
type KeyValues = Vec<(String, String)>;

pub(super) fn proxy_pass(builder: &mut Builder, call: &Call<'_>) -> Done {
    add_pass(builder, call, false)
}

pub(super) fn proxy_pass_match(builder: &mut Builder, call: &Call<'_>) -> Done {
    add_pass(builder, call, true)
}

/// The words of a line `ProxyPass`.
struct PassWords {
    from: String,
    is_regex: bool,
    real: String,
    flags: PassFlags,
    pairs: KeyValues,
}

fn add_pass(builder: &mut Builder, call: &Call<'_>, is_match: bool) -> Done {
    builder.check_not_in_folder_or_files(call)?;
    let PassWords { from, is_regex, real, flags, pairs } = read_pass(builder, call, is_match)?;
    let real = url::with_absolute_socket(&real, &builder.server.runtime_dir);
    let invalid = "ProxyPass|ProxyPassMatch uses an invalid \"unix:\" URL";
    let (socket, url) = url::split_socket(&real).ok_or(invalid)?;
    let url = url.into_owned();
    let compared = match is_regex {
        true => {
            let regex = regex(&from, builder.server.regex, 0)
                .map_err(|error| error.reworded("Regular expression could not be compiled."))?;
            From::Regex(regex, Replacement::parse(&url))
        }
        false => From::Prefix(from),
    };
    let mut pass = Pass { from: compared, real: url, socket, worker: None, flags };
    if real != "!" {
        define(builder, call, &mut pass, &real, &pairs)
            .map_err(|text| Error::from(format!("ProxyPass {text}")))?;
    }
    let pass = Arc::new(pass);
    match builder.is_in_section() {
        true => SETTINGS.change(builder.settings()).pass = Some(pass),
        false => HOST_SETTINGS.change(&mut builder.host().modules).passes.push(pass),
    }
    Ok(())
}

fn read_pass(builder: &Builder, call: &Call<'_>, is_match: bool) -> Result<PassWords, Error> {
    let section = builder.section_argument();
    let mut from = section.clone();
    let mut is_regex = is_match || section.as_deref().is_some_and(is_wild);
    let (mut real, mut flags, mut pairs) = (None, PassFlags::default(), KeyValues::new());
    for word in LineWords::new(call.raw).map(|word| word.text) {
        match (&from, &real) {
            (None, _) if word == "~" && is_match => {
                return Err("ProxyPassMatch invalid syntax ('~' usage).".into());
            }
            (None, _) if word == "~" => is_regex = true,
            (None, _) => from = Some(word),
            (_, None) => real = Some(word),
            (_, Some(real)) => {
                let has_path = section.is_some() && real.starts_with('/');
                read_flag(&word, has_path, &mut flags, &mut pairs)?;
            }
        }
    }
    let missing = "ProxyPass|ProxyPassMatch needs a path when not defined in a location";
    let real = real.ok_or(missing)?;
    Ok(PassWords { from: from.unwrap_or_default(), is_regex, real, flags, pairs })
}

fn read_flag(word: &str, has_path: bool, flags: &mut PassFlags, pairs: &mut KeyValues) -> Done {
    match word.to_ascii_lowercase().as_str() {
        "nocanon" => flags.is_raw = true,
        "interpolate" => flags.interpolates = true,
        // There is no query in what a FastCGI application is told of a URL.
        "noquery" => {}
        _ => match word.split_once('=') {
            Some((key, value)) if key.eq_ignore_ascii_case("mapping") => {
                match value.to_ascii_lowercase().as_str() {
                    "encoded" | "servlet" => flags.maps_encoded = true,
                    _ => return Err("unknown mapping".into()),
                }
            }
            Some((key, value)) => push(pairs, key, value),
            None if has_path => {
                let text = "ProxyPass|ProxyPassMatch can not have a path when defined in a \
                            location.";
                return Err(text.into());
            }
            None => {
                let text = "Invalid ProxyPass|ProxyPassMatch parameter. Parameter must be in the \
                            form 'key=value'.";
                return Err(text.into());
            }
        },
    }
    Ok(())
}

/// The last value of a key counts (apr_table_setn).
fn push(pairs: &mut KeyValues, key: &str, value: &str) {
    match pairs.iter_mut().find(|pair| pair.0.eq_ignore_ascii_case(key)) {
        Some(pair) => value.clone_into(&mut pair.1),
        None => pairs.push((key.to_owned(), value.to_owned())),
    }
}

/// Whether a text has wildcards (apr_fnmatch_test).
pub(super) fn is_wild(text: &str) -> bool {
    let mut bytes = text.bytes();
    let mut in_brackets = 0;
    while let Some(byte) = bytes.next() {
        match byte {
            b'?' | b'*' => return true,
            b'\\' => {
                bytes.next();
            }
            b'[' => in_brackets += 1,
            b']' if in_brackets > 0 => return true,
            _ => {}
        }
    }
    false
}

/// The backend or the group of a line, with its parameters.
fn define(
    builder: &mut Builder,
    call: &Call<'_>,
    pass: &mut Pass,
    real: &str,
    pairs: &KeyValues,
) -> Result<(), String> {
    if Balancer::is_named(real) {
        let nth = balancer(builder, real)?;
        return set_balancer(builder, nth, pairs).map_err(|(text, _)| text);
    }
    warn_of_protocol(call, &pass.real);
    let is_match = matches!(pass.from, From::Regex(..));
    let (nth, is_shared) = match known_worker(builder, &pass.real, pass.socket.as_deref(), is_match)
    {
        Some(nth) => (nth, true),
        None => (add_worker(builder, ProxyWorker::new(real, is_match, false)?), false),
    };
    let name = HOST_SETTINGS.change(&mut builder.host().modules).workers[nth].name.clone();
    pass.worker = is_match.then(|| name.clone());
    match is_shared {
        true => ignore(call, "AH01146", pairs, &name),
        false => set_worker(builder, nth, pairs).map_err(|(text, _)| text)?,
    }
    Ok(())
}

/// Parameters of a backend that others have defined already.
fn ignore(call: &Call<'_>, id: &'static str, pairs: &KeyValues, name: &str) {
    for (key, value) in pairs {
        let text = format!(
            "Ignoring parameter '{key}={value}' for worker '{name}' because of worker sharing"
        );
        call.warn(Some(id), text);
    }
}

/// Other protocols are not spoken, which the requests find out.
fn warn_of_protocol(call: &Call<'_>, url: &str) {
    let scheme = url.split_once(':').map_or(url, |row| row.0);
    if !scheme.eq_ignore_ascii_case("fcgi") && !scheme.contains('$') {
        let text =
            format!("{} {url}: only fcgi:// is supported, and requests for it get 500", call.name);
        call.warn(None, text);
    }
}

pub(super) fn balancer_member(builder: &mut Builder, call: &Call<'_>) -> Done {
    let section = builder.section_argument();
    let (mut path, mut name, mut pairs) = (section.clone(), None, KeyValues::new());
    for word in LineWords::new(call.raw).map(|word| word.text) {
        match word.split_once('=') {
            Some((key, value)) => push(&mut pairs, key, value),
            None if path.is_none() => path = Some(word),
            None if name.is_none() => name = Some(word),
            None if section.is_some() => {
                let text = "BalancerMember can not have a balancer name when defined in a location";
                return Err(text.into());
            }
            None => {
                let text = "Invalid BalancerMember parameter. Parameter must be in the form \
                            'key=value'";
                return Err(text.into());
            }
        }
    }
    let path =
        path.ok_or("BalancerMember must define balancer name when outside <Proxy > section")?;
    let name = name.ok_or("BalancerMember must define remote proxy server")?;
    let name = url::with_absolute_socket(&name, &builder.server.runtime_dir);
    url::split_socket(&name).ok_or("BalancerMember uses an invalid \"unix:\" URL")?;
    add_member(builder, call, &path, &name, &pairs)
        .map_err(|text| Error::from(format!("BalancerMember {text}")))
}

fn add_member(
    builder: &mut Builder,
    call: &Call<'_>,
    path: &str,
    name: &str,
    pairs: &KeyValues,
) -> Result<(), String> {
    let nth = balancer(builder, path)?;
    let mut worker = ProxyWorker::new(name, false, true)?;
    warn_of_protocol(call, &worker.name);
    let members = &HOST_SETTINGS.change(&mut builder.host().modules).balancers[nth].members;
    // Also one whose name the new one begins with: a member for a path below that of another one is
    // that one (ap_proxy_get_worker).
    let is_same = |known: &&Arc<ProxyWorker>| {
        known.socket == worker.socket && worker.name.starts_with(known.name.as_str())
    };
    if let Some(known) = members.iter().find(is_same).cloned() {
        ignore(call, "AH01150", pairs, &known.name);
        return Ok(());
    }
    for (key, value) in pairs {
        worker.parameters.set(key, value)?;
    }
    let balancer = &mut HOST_SETTINGS.change(&mut builder.host().modules).balancers[nth];
    Arc::make_mut(balancer).members.push(Arc::new(worker));
    Ok(())
}

pub(super) fn proxy_set(builder: &mut Builder, call: &Call<'_>) -> Done {
    let mut words: Vec<String> = LineWords::new(call.raw).map(|word| word.text).collect();
    let section = builder.proxy_argument().map(|(name, is_match)| (name.to_owned(), is_match));
    let is_in_section = section.is_some();
    let (name, is_match) = match section {
        Some(section) => section,
        None if words.is_empty() => (String::new(), false),
        None => (words.remove(0), false),
    };
    let subject = match ProxySubject::find(builder, &name, is_match)? {
        Some(subject) => subject,
        None if is_in_section => ProxySubject::define(builder, &name, is_match)
            .map_err(|text| Error::from(format!("ProxySet {text}")))?,
        None => {
            let kind = if Balancer::is_named(&name) { "Balancer" } else { "Worker" };
            return Err(format!("ProxySet can not find '{name}' {kind}.").into());
        }
    };
    for word in words {
        let text = "Invalid ProxySet parameter. Parameter must be in the form 'key=value'";
        let (key, value) = word.split_once('=').ok_or(text)?;
        subject
            .set(builder, &[(key.to_owned(), value.to_owned())])
            .map_err(|(text, _)| Error::from(format!("ProxySet: {text} {key}={value}; {name}")))?;
    }
    Ok(())
}

/// What `ProxySet` and `<Proxy>` with arguments are about: the number of a backend or group.
pub(super) enum ProxySubject {
    Worker(usize),
    Balancer(usize),
}

impl ProxySubject {
    /// The one that is there already.
    pub(super) fn find(
        builder: &mut Builder,
        name: &str,
        is_match: bool,
    ) -> Result<Option<Self>, Error> {
        if Balancer::is_named(name) {
            return Ok(known_balancer(builder, name).map(Self::Balancer));
        }
        let text = "ProxySet uses an invalid \"unix:\" URL";
        let name = url::with_absolute_socket(name, &builder.server.runtime_dir);
        let (socket, url) = url::split_socket(&name).ok_or(text)?;
        let known = known_worker(builder, &url, socket.as_deref(), is_match);
        Ok(known.map(Self::Worker))
    }

    pub(super) fn define(
        builder: &mut Builder,
        name: &str,
        is_match: bool,
    ) -> Result<Self, String> {
        if Balancer::is_named(name) {
            return balancer(builder, name).map(Self::Balancer);
        }
        let name = url::with_absolute_socket(name, &builder.server.runtime_dir);
        Ok(Self::Worker(add_worker(builder, ProxyWorker::new(&name, is_match, false)?)))
    }

    /// The error comes with the pair that is wrong.
    pub(super) fn set(
        &self,
        builder: &mut Builder,
        pairs: &[(String, String)],
    ) -> Result<(), (String, usize)> {
        match self {
            Self::Worker(nth) => set_worker(builder, *nth, pairs),
            Self::Balancer(nth) => set_balancer(builder, *nth, pairs),
        }
    }
}

// The backends and groups of the host that is open.

/// The number of the group of this name, which is made if there is none.
fn balancer(builder: &mut Builder, url: &str) -> Result<usize, String> {
    if let Some(nth) = known_balancer(builder, url) {
        return Ok(nth);
    }
    let balancers = &mut HOST_SETTINGS.change(&mut builder.host().modules).balancers;
    balancers.push(Arc::new(Balancer::new(url)?));
    Ok(balancers.len() - 1)
}

fn known_balancer(builder: &mut Builder, url: &str) -> Option<usize> {
    let name = Balancer::name_of(url)?;
    HOST_SETTINGS
        .change(&mut builder.host().modules)
        .balancers
        .iter()
        .position(|balancer| balancer.name == name)
}

/// The backend with the longest name that covers a URL.
fn known_worker(
    builder: &mut Builder,
    text: &str,
    socket: Option<&std::path::Path>,
    is_match: bool,
) -> Option<usize> {
    let start = text.find("://").map(|at| at + 3)?;
    let host_end = text[start..].find('/').map_or(text.len(), |at| start + at);
    let url = [&text[..host_end].to_ascii_lowercase(), &text[host_end..]].concat();
    let covers = |worker: &ProxyWorker| {
        let is_same = worker.is_match == is_match && worker.socket.as_deref() == socket;
        is_same.then(|| worker.covers(url.as_bytes(), host_end)).flatten()
    };
    let workers = HOST_SETTINGS.change(&mut builder.host().modules).workers.iter().enumerate();
    workers.filter_map(|(nth, worker)| Some((covers(worker)?, nth))).max().map(|row| row.1)
}

fn add_worker(builder: &mut Builder, worker: ProxyWorker) -> usize {
    let workers = &mut HOST_SETTINGS.change(&mut builder.host().modules).workers;
    workers.push(Arc::new(worker));
    workers.len() - 1
}

fn set_worker(
    builder: &mut Builder,
    nth: usize,
    pairs: &[(String, String)],
) -> Result<(), (String, usize)> {
    let Some(worker) = HOST_SETTINGS.change(&mut builder.host().modules).workers.get_mut(nth)
    else {
        return Ok(());
    };
    let parameters = &mut Arc::make_mut(worker).parameters;
    for (at, (key, value)) in pairs.iter().enumerate() {
        parameters.set(key, value).map_err(|text| (text, at))?;
    }
    Ok(())
}

fn set_balancer(
    builder: &mut Builder,
    nth: usize,
    pairs: &[(String, String)],
) -> Result<(), (String, usize)> {
    let Some(balancer) = HOST_SETTINGS.change(&mut builder.host().modules).balancers.get(nth)
    else {
        return Ok(());
    };
    let mut rules = balancer.rules.clone();
    for (at, (key, value)) in pairs.iter().enumerate() {
        rules.set(builder, key, value).map_err(|text| (text, at))?;
    }
    Arc::make_mut(&mut HOST_SETTINGS.change(&mut builder.host().modules).balancers[nth]).rules =
        rules;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_are_told_from_plain_paths() {
        for (text, expected) in [
            ("/x", false),
            ("/*", true),
            ("/\\*", false),
            ("/[a]", true),
            ("/[a", false),
            ("a?", true),
        ] {
            assert_eq!(is_wild(text), expected, "{text}");
        }
    }
}
