//! The texts of `--help`. What there is to say about directives comes from their rows and from the
//! manual.

use crate::problem::{Problem, suggestion};
use modules::{MODULES, Serve, reference};
use server::Documented;
use std::fmt::Write as _;

/// `trivet --help`, `trivet help` and bare `trivet`.
pub(crate) const OVERVIEW: &str = "\
Trivet: an HTTP server that reads Apache's configuration language.

usage: trivet serve [DIR] [--listen ADDR:PORT] [--mpm NAME] [-c 'Directive ...']...
                                          serve a folder, in the foreground
       trivet serve --config FILE [...]   serve what a file in Apache's language says
       trivet [-d ROOT] [-f FILE] [-k start|stop|graceful|...] [-t] [-S] [-M] [-h] ...
                                          flags only: Apache's httpd, with its configuration
       trivet explain [...] URL [DIR]     say what a server would do with a request, step by step
       trivet bench [...] URL...          send load to a server and measure
       trivet ab | siege [...] URL        the same with the command lines and reports of these two
       trivet help | --help | --version

examples:
  trivet serve                            this folder, at http://127.0.0.1:8080/
  trivet serve public --listen 0.0.0.0:80
  trivet serve -c 'CustomLog access.log combined' -c 'KeepAliveTimeout 2'
  trivet -t                               check /etc/apache2, as apache2 -t does
  trivet explain http://localhost/about   which rules and sections of it decide about this URL
  trivet bench -c 64 -d 30s http://127.0.0.1:8080/
  trivet serve --help                     all options, and the modules with their directives
  trivet serve --help directives          what each directive is for, and its default
";

const SERVE: &str = "\
usage: trivet serve [DIR | --config FILE] [--listen ADDR:PORT]... [--mpm NAME] [--php WHAT]
                    [-c 'LINE']...

Serves the folder DIR (default: the current one) until Ctrl-C. Needs no configuration.

  --listen ADDR:PORT   where to listen, repeatable; a port alone listens on 127.0.0.1, port 0
                       takes a free one; default 127.0.0.1:8080
  --mpm NAME           how connections are spread over processes and threads: event (default),
                       worker or prefork; without it the last LoadModule of an MPM decides
  --php WHAT           who runs PHP scripts: this server (embed), a PHP-FPM at unix:/PATH/OF.sock
                       or HOST:PORT, processes of php-cgi (cgi), whichever of these is found first
                       (auto), or nobody (off, the default: 503)
  --config FILE        take the configuration from FILE instead of DIR and the defaults; a relative
                       path in it begins at the folder of FILE, or at its ServerRoot
  -c 'LINE'            a line of Apache's configuration language, applied after the defaults or
                       after FILE; a section may span several -c
  -h, --help [TOPIC]   this text; 'directives' explains them all, the name of one that one, and
                       'defaults' shows the lines that come before yours

examples:
  trivet serve site -c 'LogLevel info' -c 'CustomLog - common'
  trivet serve site -c '<Location /private>' -c 'Require ip 10.0.0.0/8' -c '</Location>'
  trivet serve site --php auto
  trivet serve site --mpm worker -c 'MaxRequestWorkers 100'

As root, child processes become www-data (else nobody); the folder is opened before that.
Names beginning with .ht or .git are refused, PHP source is never sent, and /server-status
answers this machine only; under --config FILE says so, or not. Signals: INT and TERM stop, USR1
restarts gracefully and reads FILE again, HUP restarts, WINCH stops gracefully; at a terminal HUP
stops and WINCH does nothing.

Include, Define, ${NAME}, <IfModule> and its like, <Macro>, Use and LoadModule work as in Apache.

Directives for -c and FILE come from these modules; '--help NAME' explains those of one, and
'--help directives' all of them:
";

/// `trivet explain --help`.
pub(crate) const EXPLAIN: &str = "\
usage: trivet explain [OPTIONS] URL [DIR | --config FILE | -f FILE ...]

Says what a server with this configuration would do with a request: which virtual host it takes,
which sections hold, each rule that is tried and what came of it, who may see it, and the file,
script or redirect in the end, with the line of the configuration that decided.

Nothing listens, nothing is sent and nothing is logged: a program or a backend that would answer
is named and not asked. URL is http://HOST[:PORT]/PATH, or /PATH for the first address.

the configuration:
  DIR                  as trivet serve DIR has it; --php as there
  --config FILE        as trivet serve --config FILE has it
  -f FILE, -d ROOT, -D NAME, -C 'LINE'
                       as trivet -f FILE ... has it; without any of these, that of apache2
  -c 'LINE'            a line that is read after the others, repeatable

the request:
  -X, --method NAME    the method; default GET
  -H, --header 'NAME: VALUE'
                       a header field, repeatable: cookies, Accept, another Host
  -u, --user NAME:PASSWORD
                       log in, as a browser does after 401
  --from ADDRESS       the address of the client; default 127.0.0.1

  --json               the same for programs
  -h, --help           this text

examples:
  trivet explain /wp-admin site
  trivet explain http://www.example.org/old?id=7
  trivet explain -f site.conf -H 'Cookie: lang=de' --from 192.0.2.7 http://example.org/
  trivet explain --config site.conf --json /index.php

As root, files are looked at as the User of the configuration.
";

/// Columns of a terminal that the texts may fill.
const WIDTH: usize = 100;

/// Where the second column begins.
const NAME_COLUMN: usize = 29;

/// The help of `trivet serve`, as a whole or about `topic`.
pub(crate) fn about_serve(topic: Option<&str>) -> Result<String, Problem> {
    serve(topic).ok_or_else(|| {
        let word = topic.unwrap_or_default();
        let near = suggestion(word, topics());
        let text =
            format!("there is no help about '{word}'{near}; try: trivet serve --help directives");
        Problem::Usage(text)
    })
}

/// `trivet serve --help`, or `None` if there is no such topic.
fn serve(topic: Option<&str>) -> Option<String> {
    match topic {
        None => Some(format!("{SERVE}{}", modules())),
        Some("directives") => Some(explained()),
        Some("defaults") => Some(defaults()),
        // `Alias` is a directive, and `alias` its module.
        Some(name) if is_spelled(name) => reference::plain(name),
        Some(name) => {
            let module = module_name(name);
            let of_module: String = MODULES
                .directives()
                .filter(|row| row.module.eq_ignore_ascii_case(module))
                .map(|row| explain(&row))
                .collect();
            if of_module.is_empty() { reference::plain(name) } else { Some(of_module) }
        }
    }
}

/// `dir`, as people also write it: `mod_dir`, `mod_dir.c`, `dir_module`.
fn module_name(text: &str) -> &str {
    let text = text.strip_suffix(".c").unwrap_or(text);
    let text = text.strip_suffix("_module").unwrap_or(text);
    text.strip_prefix("mod_").unwrap_or(text)
}

/// What can be asked about, for suggestions.
fn topics() -> impl Iterator<Item = &'static str> {
    let names = MODULES.directives().map(|row| row.name.trim_start_matches('<'));
    let modules = MODULES.directives().map(|row| row.module);
    ["directives", "defaults"].into_iter().chain(names).chain(modules)
}

/// The lines that come before those of the command line.
fn defaults() -> String {
    let serve = Serve { folder: "/DIR".into(), prints_requests: true, ..Serve::default() };
    let lines = serve.configuration().unwrap_or_else(|problem| format!("{problem}\n"));
    format!(
        "# The configuration of trivet serve at a terminal, before --listen and -c change \
         it.\n{lines}"
    )
}

/// Whether a directive is called exactly so, but for its brackets.
fn is_spelled(name: &str) -> bool {
    let bare = |name: &str| name.trim_matches(['<', '>']).to_owned();
    reference::prose(name).is_some_and(|prose| bare(prose.name) == bare(name))
}

/// `Listen`, `<Directory>`.
fn shown_name(row: &Documented) -> String {
    let end = if row.name.starts_with('<') { ">" } else { "" };
    format!("{}{end}", row.name)
}

/// The modules in one paragraph.
fn modules() -> String {
    let mut names: Vec<String> = MODULES.directives().map(|row| row.module.to_owned()).collect();
    names.dedup();
    columns("", &names, 2)
}

/// Every directive with its purpose and its default.
fn explained() -> String {
    let mut text = String::from(
        "Directives for trivet serve -c. A directive of Apache that is missing here is accepted \
         with a\nwarning and has no effect, or refused where that would open something. The lines \
         that come before\nyours: trivet serve --help defaults\n",
    );
    let mut module = "";
    for row in MODULES.directives() {
        if row.module != module {
            module = row.module;
            // Writing to a String cannot fail.
            let _ = writeln!(text, "\n{module}");
        }
        text.push_str(&explain(&row));
    }
    text
}

/// `  KeepAlive    Allows a client to send several requests over one connection. (default: On)`
fn explain(row: &Documented) -> String {
    let default = match row.default {
        "" => String::new(),
        default => format!("(default: {default})"),
    };
    let only = row.mpms.map_or(String::new(), |names| format!("(MPM {})", names.join(", ")));
    let does = reference::prose(row.name).map_or(String::new(), |prose| prose.summary());
    let does = does.replace('`', "");
    let words: Vec<String> =
        format!("{does} {only} {default}").split_whitespace().map(str::to_owned).collect();
    columns(&shown_name(row), &words, NAME_COLUMN)
}

/// A label, and beside it words in lines that do not pass [`WIDTH`].
fn columns(label: &str, words: &[String], column: usize) -> String {
    let mut text = format!("{:column$}", format!("  {label}"));
    let mut used = column;
    if label.len() + 3 > column {
        let _ = write!(text, "\n{:column$}", "");
    }
    for word in words {
        let length = word.chars().count() + 1;
        if used + length > WIDTH && used > column {
            let _ = write!(text, "\n{:column$}", "");
            used = column;
        }
        let _ = write!(text, "{word} ");
        used += length;
    }
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    format!("{}\n", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_directive_is_named_and_explained() {
        let (modules, explained) = (serve(None).unwrap(), serve(Some("directives")).unwrap());
        for row in MODULES.directives() {
            let shown = shown_name(&row);
            for (text, wanted) in [(&modules, row.module), (&explained, shown.as_str())] {
                assert!(text.split_whitespace().any(|word| word == wanted), "no {wanted}: {text}");
            }
            let alone = serve(Some(&shown)).unwrap();
            assert!(
                alone.starts_with(&format!("{shown}\n")) && alone.contains("\n    "),
                "{alone}"
            );
        }
    }

    #[test]
    fn no_line_is_wider_than_the_screen() {
        let alone = MODULES.directives().filter_map(|row| serve(Some(&shown_name(&row))));
        let all = [OVERVIEW.to_owned(), serve(None).unwrap(), serve(Some("directives")).unwrap()];
        for text in all.into_iter().chain(alone) {
            for line in text.lines() {
                assert!(line.chars().count() <= WIDTH && line.trim_end() == line, "{line}");
            }
        }
    }

    #[test]
    fn the_defaults_are_configuration() {
        let text = serve(Some("defaults")).unwrap();
        for line in ["Listen 127.0.0.1:8080", "DocumentRoot \"/DIR\"", "HiddenNames .ht .git"] {
            assert!(text.lines().any(|it| it == line), "no {line} in {text}");
        }
    }

    #[test]
    fn an_unknown_topic_has_no_text() {
        assert!(serve(Some("nonsense")).is_none());
        assert!(topics().any(|topic| topic == "Directory"));
    }
}
