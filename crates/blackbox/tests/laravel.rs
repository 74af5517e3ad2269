//! Laravel by PHP-FPM, beside apache2 with the same files: what its routes answer, and what they
//! are told.

use blackbox::Mpm;
use blackbox::apache::{Pair, start_ours};
use blackbox::installed::{Beside, Expected};
use blackbox::laravel::{self, HOST};
use blackbox::scratch::Scratch;

/// What is asked of it under every MPM, and of every application.
const ESSENTIAL: &[Expected<'_>] = &[
    ("/", 200),
    ("HEAD /", 200),
    ("/?a=b&c", 200),
    ("/index.php", 200),
    ("/none", 404),
    ("/none/", 301),
    ("/none/?a=b", 301),
    ("/none/at/all?a=b", 404),
    ("/robots.txt", 200),
    ("/robots.txt/", 301),
    ("/.htaccess", 403),
    ("/.env", 404),
    ("/../.env", 400),
    ("/%2e%2e/.env", 400),
    ("/..%2f.env", 404),
    ("/none%0a", 404),
    ("/none%3fa=b", 404),
    ("PUT / | body=x", 405),
    ("POST / | body=a=b", 405),
];

/// What only the application of the tests has.
const OWN: &[Expected<'_>] = &[
    ("/users/7", 200),
    ("/users/7?a=b&c=%20d+e", 200),
    ("/users/7/", 301),
    ("/users/7//", 301),
    ("/users/7/?a=b", 301),
    ("//users/7", 404),
    ("//users//7", 404),
    ("/index.php/users/7", 200),
    ("/index.php/users/7/", 301),
    ("/users/%C3%BC%20%26%3B", 200),
    ("/users/\\xc3\\xbc", 200),
    ("/users/a%2fb", 404),
    ("/users/a%25b", 200),
    ("/users/a+b", 200),
    ("/users/a;b=c", 200),
    ("/users/7 | Authorization: Basic dXNlcjpzZWNyZXQ=", 200),
    ("/users/7 | Authorization: Bearer a-token", 200),
    ("/users/7 | X-XSRF-Token: abc", 200),
    ("/secure", 302),
    ("/css", 301),
    ("/css/", 403),
    ("/css/site.css", 200),
    ("/css/site.css | Range: bytes=0-3", 206),
    ("/css/none.css", 404),
    ("HEAD /users/7", 200),
    ("OPTIONS /users/7", 200),
    ("PUT /users/7 | body=x", 405),
    ("POST /form | body=a=b", 419),
    ("POST /api/echo | Content-Type: application/json | body={\"a\":[1,2]}", 200),
    ("POST /api/echo | Content-Type: application/x-www-form-urlencoded | body=a=b&c[]=d", 200),
    ("POST /api/echo/ | Content-Type: application/json | body={}", 301),
    ("/api/server", 200),
    ("/api/server?a=%20b+c&d", 200),
    ("/api/server/a/b%20c/%C3%BC", 200),
    ("/api/server/a.php", 200),
    ("/index.php/api/server/a", 200),
    ("/api/server | Authorization: Basic dXNlcjpzZWNyZXQ=", 200),
    ("/api/server | X-XSRF-Token: abc", 200),
    ("/api/server | Proxy: http://evil.example/", 200),
    ("POST /api/server | Content-Type: text/plain | body=abc", 200),
    ("DELETE /api/server/x", 200),
    ("/api/server HTTP/1.0 | Connection: close", 200),
    ("http://laravel.example/api/server/a", 200),
    ("/api/server/a | Host: laravel.example:81", 200),
];

#[test]
fn laravel_answers_as_it_does_behind_apache() {
    let test = "laravel_answers_as_it_does_behind_apache";
    let site = Scratch::new();
    let Some(_fpm) = laravel::prepare(test, &site) else { return };
    let lines = "DocumentRoot ${SITE}/www/public\n";
    let Some(pair) = Pair::start_over([Mpm::Event; 2], test, "application", site, lines) else {
        return;
    };
    let apache = pair.apache.address();
    let mut both = Beside::new(apache, pair.trivet.address(), HOST, laravel::clean);
    both.compare(ESSENTIAL);
    if laravel::own_folder().is_none() {
        both.compare(OWN);
    }
    for mpm in [Mpm::Prefork, Mpm::Worker] {
        let (server, _home) = start_ours(mpm, "application", &pair.site, lines);
        Beside::new(apache, server.address(), HOST, laravel::clean).compare(ESSENTIAL);
    }
}
