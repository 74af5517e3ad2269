//! The texts of `--help`.

/// `trivet --help` and bare `trivet`.
pub(crate) const OVERVIEW: &str = "\
Trivet: an HTTP server that reads Apache's configuration language.

usage: trivet serve [DIR] [--listen ADDR:PORT] [--mpm event] [-c 'Directive ...']...
                                          serve a folder, in the foreground
       trivet --help | --version

examples:
  trivet serve                            this folder, at http://127.0.0.1:8080/
  trivet serve public --listen 0.0.0.0:80
  trivet serve -c 'CustomLog access.log combined' -c 'KeepAliveTimeout 2'
  trivet serve --help                     all options and directives
";

/// `trivet serve --help`.
pub(crate) const SERVE: &str = "\
usage: trivet serve [DIR] [--listen ADDR:PORT]... [--mpm event] [-c 'Directive ...']...

Serves the folder DIR (default: the current one) until Ctrl-C. Needs no configuration.

  --listen ADDR:PORT   where to listen, repeatable; a port alone listens on 127.0.0.1, port 0
                       takes a free one; default 127.0.0.1:8080
  --mpm NAME           how connections are spread over processes and threads: event (default)
  -c 'LINE'            a line of Apache's configuration language, applied after the defaults;
                       a section may span several -c
  --help               this text

examples:
  trivet serve site -c 'LogLevel info' -c 'CustomLog - common'
  trivet serve site -c '<Location /private>' -c 'Require ip 10.0.0.0/8' -c '</Location>'
  trivet serve site -c 'MaxRequestWorkers 400' -c 'ThreadsPerChild 100'

As root, child processes become www-data (else nobody); the folder is opened before that.
Names beginning with .ht or .git are refused, PHP source is never sent, and /server-status
answers this machine only. Signals: INT and TERM stop, USR1 restarts gracefully, HUP restarts,
WINCH stops gracefully (except at a terminal).
";
