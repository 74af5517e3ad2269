//! The HTML of `server-info` (display_info of mod_info.c). What it would tell about libraries and
//! compile-time switches of httpd that this server does not have is left out.

use super::{HOST_SETTINGS, tree};
use message::Status;
use message::escape::html_escape;
use server::MpmKind;
use server::failure::Failure;
use server::module_list::HANDLERS;
use server::request_context::RequestContext;
use server::{Documented, Modules};
use server::{accounting, identity};

const HEAD: &str = concat!(
    "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Transitional//EN\"\n",
    "\"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd\">\n",
    "<html xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n",
    "  <title>Server Information</title>\n</head>\n",
    "<body><h1 style=\"text-align: center\">Apache Server Information</h1>\n",
);

const CONTENTS: &str = concat!(
    "<dl><dt><tt>Subpages:<br />",
    "<a href=\"?config\">Configuration Files</a>, ",
    "<a href=\"?server\">Server Settings</a>, ",
    "<a href=\"?list\">Module List</a>, ",
    "<a href=\"?hooks\">Active Hooks</a>, ",
    "<a href=\"?providers\">Available Providers</a>",
    "</tt></dt></dl><hr />",
    "<dl><dt><tt>Sections:<br />",
    "<a href=\"#modules\">Loaded Modules</a>, ",
    "<a href=\"#server\">Server Settings</a>, ",
    "<a href=\"#startup_hooks\">Startup Hooks</a>, ",
    "<a href=\"#request_hooks\">Request Hooks</a>, ",
    "<a href=\"#other_hooks\">Other Hooks</a>, ",
    "<a href=\"#providers\">Providers</a>",
    "</tt></dt></dl><hr />",
);

/// A module that is there.
struct Loaded {
    symbol: &'static str,
    /// Its name on the page.
    file: String,
}

/// The page that the query asks for; without one it is everything but the configuration.
pub(super) async fn html(
    request: &RequestContext<'_>,
    query: Option<&str>,
) -> Result<Vec<u8>, Failure> {
    let mut out = HEAD.as_bytes().to_vec();
    let loaded = loaded(request);
    let is = |word: &str| query.is_some_and(|query| query.eq_ignore_ascii_case(word));
    let is_part = |word: &str| query.is_none() || is(word);
    if is("list") {
        mark(&mut out, "<dl><dt>Server Module List</dt>");
        for module in &loaded {
            mark(&mut out, &format!("<dd>{}</dd>", module.file));
        }
        mark(&mut out, "</dl><hr />");
    } else {
        if query.is_none() {
            mark(&mut out, CONTENTS);
            index(&mut out, &loaded);
        }
        if is_part("server") {
            server(request, &mut out);
        }
        if is_part("hooks") {
            hooks(request, &loaded, &mut out);
        }
        if is_part("providers") {
            mark(&mut out, "<h2><a name=\"providers\">Providers</a></h2>\n<dl></dl>\n<hr />\n");
        }
        if is("config") {
            mark(&mut out, "<dl><dt><strong>Configuration:</strong>\n");
            out.extend(lines(request, None).await?);
            mark(&mut out, "</dl><hr />");
        } else {
            details(request, query, &loaded, &mut out).await?;
        }
    }
    out.extend(request.signature(""));
    mark(&mut out, "</body></html>\n");
    Ok(out)
}

/// The lines of the configuration that are `wanted`, or all. With 10,000 hosts this takes up to
/// 30 ms, which are not those of others.
async fn lines(
    request: &RequestContext<'_>,
    wanted: Option<Vec<&'static str>>,
) -> Result<Vec<u8>, Failure> {
    let server = request.context.server();
    let shown = accounting::compute(request.spent(), move |_| {
        let mut out = Vec::new();
        let is_wanted =
            |name: &str| wanted.iter().flatten().any(|wanted| wanted.eq_ignore_ascii_case(name));
        let filter: &dyn Fn(&str) -> bool = &is_wanted;
        tree::show(&server.site.tree, wanted.is_some().then_some(filter), &mut out);
        out
    });
    shown.await.map_err(|error| {
        let text = format!("cannot start a thread that shows the configuration: {error}");
        Failure::new(Status::INTERNAL_SERVER_ERROR, "info", text).at_error()
    })
}

fn mark(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn escaped(text: &str) -> String {
    let mut out = Vec::new();
    html_escape(text.as_bytes(), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// All modules in the order of their names.
fn loaded(request: &RequestContext<'_>) -> Vec<Loaded> {
    let names = request.context.server().all_modules.modular_names();
    let site = request.site();
    let is_there = |symbol: &str| match &site.loaded {
        Some(all) => all.contains(&symbol),
        None if config::owners::is_mpm(symbol) => symbol == site.mpm.kind.symbol(),
        None => true,
    };
    let mut loaded: Vec<Loaded> = names
        .iter()
        .filter(|name| is_there(name.symbol))
        .map(|name| Loaded { symbol: name.symbol, file: name.file.to_owned() })
        .collect();
    loaded.sort_by(|one, other| one.file.cmp(&other.file));
    loaded.dedup_by(|one, other| one.file == other.file);
    loaded
}

fn index(out: &mut Vec<u8>, loaded: &[Loaded]) {
    mark(out, "<h2><a name=\"modules\">Loaded Modules</a></h2><dl><dt><tt>");
    for Loaded { file, .. } in loaded {
        mark(out, &format!("<a href=\"#{file}\">{file}</a>, "));
    }
    mark(out, "</tt></dt></dl><hr />");
}

/// show_server_settings
fn server(request: &RequestContext<'_>, out: &mut Vec<u8>) {
    let site = request.site();
    let timing = &request.host.timing;
    let large = |title: &str, value: &str| {
        format!("<dt><strong>{title}:</strong> <font size=\"+1\"><tt>{value}</tt></font></dt>\n")
    };
    let row =
        |title: &str, value: &str| format!("<dt><strong>{title}:</strong> <tt>{value}</tt></dt>\n");
    mark(out, "<h2><a name=\"server\">Server Settings</a></h2><dl>");
    mark(out, &large("Server Version", &escaped(identity::banner(site.tokens))));
    mark(out, &large("Server Built", &identity::built()));
    let name = escaped(&request.server_name());
    mark(out, &row("Hostname/port", &format!("{name}:{}", request.server_port())));
    let timeouts = format!(
        "connection: {} &nbsp;&nbsp; keep-alive: {}",
        timing.timeout_ms / 1000,
        timing.keep_alive_timeout_ms / 1000
    );
    mark(out, row("Timeouts", &timeouts).trim_end());
    let daemons = request.context.processes_max();
    mark(out, &row("MPM Name", site.mpm.kind.name()));
    let threaded = if site.mpm.kind == MpmKind::Prefork { "no" } else { "yes" };
    let information = format!("Max Daemons: {daemons} Threaded: {threaded} Forked: yes");
    mark(out, &row("MPM Information", &information));
    mark(out, &row("Server Architecture", &format!("{}-bit", usize::BITS)));
    mark(out, &row("Server Root", &escaped(&site.server_root.to_string_lossy())));
    let file = site.tree.first().map(|node| node.line().file().to_string());
    mark(out, &row("Config File", &escaped(&file.unwrap_or_default())));
    mark(out, "</dl><hr />");
}

/// The hooks of the phases of a request; what happens at the start of httpd has no hooks here.
fn hooks(request: &RequestContext<'_>, loaded: &[Loaded], out: &mut Vec<u8>) {
    mark(out, "<h2><a name=\"startup_hooks\">Startup Hooks</a></h2>\n<dl></dl>\n<hr />\n");
    mark(out, "<h2><a name=\"request_hooks\">Request Hooks</a></h2>\n<dl>");
    let is_alone = request.query().is_some();
    let link = if is_alone { '?' } else { '#' };
    for (phase, symbols) in request.context.server().all_modules.hooks() {
        mark(out, &format!("<dt><strong>{phase}:</strong>\n <br /><tt>\n"));
        for symbol in symbols {
            let module = loaded.iter().find(|module| module.symbol == symbol);
            let Some(Loaded { file, .. }) = module else { continue };
            let text = format!("&nbsp;&nbsp; 10 <a href=\"{link}{file}\">{file}</a> <br/>");
            mark(out, &text);
        }
        mark(out, "\n  </tt>\n</dt>\n");
    }
    mark(out, "</dl>\n<hr />\n<h2><a name=\"other_hooks\">Other Hooks</a></h2>\n<dl>");
    mark(out, "</dl>\n<hr />\n");
}

/// What there is to say of each module, or of the one that is asked for.
async fn details(
    request: &RequestContext<'_>,
    query: Option<&str>,
    loaded: &[Loaded],
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    let is_loaded = |symbol: &str| loaded.iter().any(|module| module.symbol == symbol);
    let kind = request.site().mpm.kind;
    let directives: Vec<(String, Documented)> =
        request.context.server().all_modules.directives_under(kind, is_loaded).collect();
    let mut found = false;
    for module in loaded {
        if query.is_none_or(|query| query.eq_ignore_ascii_case(&module.file)) {
            found = true;
            let own: Vec<&Documented> =
                directives.iter().filter(|row| row.0 == module.file).map(|row| &row.1).collect();
            describe(request.context.server().all_modules, module, &own, out);
            if !own.is_empty() {
                mark(out, "<dt><strong>Current Configuration:</strong></dt>\n");
                let names = own.iter().map(|row| row.name).collect();
                out.extend(lines(request, Some(names)).await?);
            }
            if let Some(more) = HOST_SETTINGS.of(&request.host.modules).of(&module.file) {
                let title = "<dt><strong>Additional Information:</strong>\n</dt>";
                mark(out, &format!("{title}<dd>{more}</dd>"));
            }
            mark(out, "</dl><hr />\n");
        }
    }
    let is_page = query.is_none_or(|query| query.eq_ignore_ascii_case("server"));
    if !found && !is_page {
        mark(out, "<p><b>No such module</b></p>\n");
    }
    Ok(())
}

fn describe(all: &Modules, module: &Loaded, own: &[&Documented], out: &mut Vec<u8>) {
    let file = &module.file;
    let phases: Vec<&str> = all
        .hooks()
        .into_iter()
        .filter(|phase| phase.1.contains(&module.symbol))
        .map(|phase| phase.0)
        .collect();
    let handles = phases.contains(&HANDLERS);
    let list = |items: &[&str]| match items {
        [] => "<tt> <em>none</em></tt>".to_owned(),
        items => {
            let items: Vec<String> = items.iter().map(|it| format!("<tt>{it}</tt>")).collect();
            items.join(", ")
        }
    };
    let configures: &[&str] =
        if own.is_empty() { &[] } else { &["Create Directory Config", "Merge Directory Configs"] };
    mark(
        out,
        &format!(
            "<dl><dt><a name=\"{file}\"><strong>Module Name:</strong></a> <font size=\"+1\"><tt>\
         <a href=\"?{file}\">{file}</a></tt></font></dt>\n\
         <dt><strong>Content handlers:</strong> <tt> <em>{}</em></tt></dt>\
         <dt><strong>Configuration Phase Participation:</strong>\n{}</dt>\
         <dt><strong>Request Phase Participation:</strong>\n{}</dt>\n",
            if handles { "yes" } else { "none" },
            list(configures),
            list(&phases),
        ),
    );
    if own.is_empty() {
        mark(out, "<dt><strong>Module Directives:</strong> <tt>none</tt></dt>");
    } else {
        mark(out, "<dt><strong>Module Directives:</strong></dt>");
        for row in own {
            let end = if row.name.starts_with('<') { "&gt;" } else { "" };
            let (name, help) = (escaped(row.name), escaped(row.help));
            mark(out, &format!("<dd><tt>{name}{end} - <i>{help}</i></tt></dd>\n"));
        }
    }
}
