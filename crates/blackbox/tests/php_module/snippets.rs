//! Scripts of a few words, each the body of a request. Before an empty line stand, where it is not
//! POST, the method, and fields of the request.

/// What is said of the response.
pub(crate) const HEADS: &[&str] = &[
    "header('X-A: 1'); header('X-A: 2'); header('x-a: 3', false); header('X-B: 4', false);",
    "header('X-A: 1'); header('X-B: 2'); header_remove('x-a'); echo 'body';",
    "header('X-A: 1'); header('X-B: 2'); header_remove(); echo 'body';",
    "header('X-A: 1', true, 404); echo 'own page';",
    "header('HTTP/1.1 404 Not Here'); echo 'own page';",
    "header('HTTP/1.0 410 Gone Away');",
    "header('HTTP/1.1 299 Odd');",
    "header('HTTP/2 403');",
    "header('HTTP/1.1 200');",
    "header('Status: 404 Not Found'); echo 'x';",
    "header('Location: /elsewhere');",
    "header('Location: /elsewhere', true, 301); echo 'moved';",
    "http_response_code(201); header('Location: /made'); echo 'made';",
    "header('Location: http://example.org/'); header('Location: http://example.net/');",
    "GET\n\nheader('Location: relative.php');",
    "http_response_code(204); echo 'nothing';",
    "http_response_code(304); echo 'nothing';",
    "http_response_code(404);",
    "http_response_code(410);",
    "http_response_code(500);",
    "http_response_code(503); header('Retry-After: 5'); echo 'later';",
    "var_dump(http_response_code(), http_response_code(418), http_response_code());",
    "setcookie('a', '1'); setcookie('a', '2'); setcookie('b', 'x y'); setrawcookie('c', 'd');",
    "header('Set-Cookie: a=1'); header('Set-Cookie: b=2', false); header('Set-Cookie: c=3');",
    "header('Content-Type: text/plain'); echo 'x';",
    "header('Content-Type: text/html'); echo 'x';",
    "header('Content-Type: image/png'); echo 'x';",
    "header('Content-type:text/plain;charset=iso-8859-1'); echo 'x';",
    "header('Content-Type: '); echo 'x';",
    "header('Content-Type: odd'); echo 'x';",
    "header('Content-Type: text/plain'); header_remove('Content-Type'); echo 'x';",
    "header('Content-Type: text/plain'); header('Content-Type: text/css'); echo 'x';",
    "ini_set('default_charset', 'iso-8859-1'); echo 'x';",
    "ini_set('default_charset', ''); echo 'x';",
    "ini_set('default_mimetype', ''); echo 'x';",
    "ini_set('default_mimetype', 'text/plain'); header('X-A: 1'); echo 'x';",
    "header('Content-Length: 3'); echo 'abc';",
    "header('Content-Length: 0');",
    "header('Content-Encoding: x'); echo 'abc';",
    "header('Content-Language: de'); header('Vary: A'); header('Vary: B', false); echo 'x';",
    "header('Cache-Control: no-store'); header('Expires: 0'); header('Pragma: x'); echo 'x';",
    "header('ETag: \"x\"'); header('Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT'); echo 'x';",
    "GET\nIf-None-Match: \"x\"\n\nheader('ETag: \"x\"'); echo 'x';",
    "GET\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\n\n\
     header('Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT'); echo 'x';",
    "GET\nRange: bytes=1-2\n\necho 'abcdef';",
    "GET\nRange: bytes=1-2\n\nheader('Accept-Ranges: bytes'); echo 'abcdef';",
    "GET\nIf-Match: \"y\"\n\nheader('ETag: \"x\"'); echo 'x';",
    "header('Connection: close'); echo 'x';",
    "header('Date: x'); header('Server: y'); echo 'x';",
    "header('WWW-Authenticate: Basic realm=\"r\"', true, 401); echo 'who';",
    "header('WWW-Authenticate: Basic realm=\"r\"'); echo 'who';",
    "header('No colon'); header('X-A: 1'); echo 'x';",
    "header('X-A:no space'); header('X-B:   three spaces  '); header('X-Empty:'); echo 'x';",
    "@header(\"X-A: 1\\r\\nX-B: 2\"); @header(\"X-C: 1\\0\"); echo 'x';",
    "header('X-Bytes: ' . chr(0xe4)); echo 'x';",
    "header('Refresh: 5'); header('Allow: GET'); http_response_code(405); echo 'x';",
    "header_register_callback(function () { header('X-Late: 1'); }); echo 'x';",
    "echo 'x'; flush(); header('X-Late: 1'); var_dump(headers_sent($f, $l), $l);",
    "header('X-A: 1'); var_dump(headers_list());",
    "HEAD\n\nheader('X-A: 1');",
    "OPTIONS\n\nheader('X-A: 1'); echo $_SERVER['REQUEST_METHOD'];",
    "TRACK\n\necho $_SERVER['REQUEST_METHOD'];",
];

pub(crate) const DIFFERENT_HEADS: &[(&str, &str)] = &[];

/// What is written, and how it ends.
pub(crate) const BODIES: &[&str] = &[
    "",
    "echo 'short';",
    "echo str_repeat('x', 8000);",
    "echo 'a'; exit;",
    "echo 'a'; exit('b');",
    "echo 'a'; exit(3);",
    "ob_start(); echo 'kept'; exit;",
    "ob_start(); echo 'lost'; ob_end_clean(); echo 'said';",
    "ob_start('strtoupper'); echo 'loud'; ob_start(); echo 'louder';",
    "ob_start(fn($x) => \"<$x>\", 4); echo 'ab'; echo 'cdef'; echo 'g';",
    "var_dump(ob_get_level(), ob_list_handlers(), ini_get('output_buffering'));",
    "ini_set('zlib.output_compression', '1'); echo 'x';",
    "register_shutdown_function(function () { echo 'late'; }); echo 'early '; exit;",
    "register_shutdown_function(fn() => header('X-Late: 1')); echo 'early ';",
    "class A { function __destruct() { echo 'destroyed'; } } $a = new A; echo 'x ';",
    "print(implode(',', stream_get_wrappers()));",
    "var_dump(connection_status(), ignore_user_abort(), ignore_user_abort(true));",
    "var_dump(php_sapi_name(), PHP_SAPI, getmypid() == posix_getpid());",
    "var_dump(getcwd() == dirname($_SERVER['SCRIPT_FILENAME']), basename(__DIR__) != '');",
    "echo include 'folder/included.php';",
    "echo include __DIR__ . '/folder/included.php';",
    "var_dump(get_included_files() == [$_SERVER['SCRIPT_FILENAME']]);",
    "var_dump(opcache_get_status(false)['opcache_enabled'] ?? null);",
    "var_dump(opcache_is_script_cached(__DIR__ . '/do.php'));",
    "var_dump($argc ?? null, $argv ?? null, isset($_SERVER['argv']));",
    "var_dump(isset($HTTP_RAW_POST_DATA), file_get_contents('php://input') != '');",
    "var_dump(fread(fopen('php://input', 'r'), 10));",
    "fwrite(fopen('php://output', 'w'), 'written'); file_put_contents('php://output', ' too');",
    "var_dump(setlocale(LC_ALL, 0), umask(), get_current_user() != '', getmyuid() >= 0);",
    "session_save_path(sys_get_temp_dir()); session_id('abc'); session_start(); $_SESSION['n'] \
     = 1; \
     var_dump(session_status(), SID); session_destroy();",
    "var_dump(php_ini_loaded_file(), php_ini_scanned_files() != '');",
    "var_dump(array_values(array_diff(get_loaded_extensions(), ['x'])));",
    "var_dump(ini_get('max_execution_time'), ini_get('implicit_flush'), \
     ini_get('register_argc_argv'));",
    "var_dump(gethostname() != '', is_resource(STDIN ?? null));",
    "var_dump(defined('STDIN'), defined('PHP_BINARY') && PHP_BINARY);",
    "var_dump(abs($_SERVER['REQUEST_TIME'] - time()) < 3, $_SERVER['REQUEST_TIME_FLOAT'] > 1e9);",
    "var_dump(filter_input(INPUT_SERVER, 'REQUEST_METHOD'), filter_has_var(INPUT_GET, 'x'));",
    "var_dump(getenv('FROM_CONFIG'), getenv('REQUEST_METHOD'), getenv('HOME'), count(getenv()) \
     > 0);",
    "echo shell_exec('grep Sig.*: /proc/self/status');",
    "echo shell_exec('cat'), shell_exec('echo out; echo err >&2'), `umask`;",
    "exec('exit 3', $o, $c); var_dump($c); var_dump(function_exists('pcntl_fork'));",
    "putenv('MINE=1'); var_dump(getenv('MINE'));",
    "var_dump(getenv('MINE'));",
    "highlight_string('<?php echo 1;');",
    "foreach (['Content-Type', 'Host'] as $n) var_dump(array_key_exists($n, getallheaders()));",
];

/// What goes wrong.
pub(crate) const ERRORS: &[&str] = &[
    "echo $undefined; echo 'on';",
    "trigger_error('a notice'); trigger_error('a warning', E_USER_WARNING); echo 'on';",
    "trigger_error('old', E_USER_DEPRECATED); echo 'on';",
    "trigger_error('the end', E_USER_ERROR); echo 'never';",
    "echo 'before '; undefined();",
    "undefined();",
    "throw new Exception(\"two\\nlines\");",
    "ini_set('display_errors', '0'); throw new RuntimeException('hidden');",
    "ini_set('display_errors', '0'); echo 'some '; throw new RuntimeException('hidden');",
    "http_response_code(404); throw new Exception('x');",
    "set_exception_handler(function ($e) { echo get_class($e); }); throw new LogicException('y');",
    "set_error_handler(function ($n, $m) { echo \"[$m]\"; return true; }); echo $undefined;",
    "error_log('to the log');",
    "error_log(\"two\\nlines\");",
    "error_log(\"bytes \\x01 \\xe4 \\t tab\");",
    "error_log(''); error_log('  spaces ');",
    "ini_set('log_errors', '0'); echo $undefined;",
    "ini_set('error_prepend_string', '<<'); ini_set('error_append_string', '>>'); echo $undefined;",
    "ini_set('html_errors', '1'); echo $undefined;",
    "ini_set('syslog.filter', 'raw'); error_log(\"raw \\xe4\");",
    "include 'missing.php'; echo 'on';",
    "require 'missing.php';",
    "eval('this is wrong');",
    "ini_set('memory_limit', '20M'); str_repeat('x', 50000000);",
    "set_time_limit(1); for (;;);",
    "register_shutdown_function(fn() => print('late ' . error_get_last()['message'])); \
     undefined();",
    "assert(false); echo 'on';",
    "header('X-A: 1'); echo 'x'; flush(); header('X-B: 1'); undefined();",
    "ob_start(); echo 'kept'; undefined();",
    "function f(int $x) {} f('x');",
    "fopen('/nowhere/at/all', 'r'); 1 <=> [] ; echo intdiv(1, 0);",
    "openlog('x', 0, LOG_USER); error_log('after openlog');",
];

/// What mod_php has beside PHP's own functions.
pub(crate) const FUNCTIONS: &[&str] = &[
    "POST\nX-One: 1\nX-Two: a\nX-Two: b\n\nvar_dump(getallheaders() == apache_request_headers()); \
     $h = getallheaders(); unset($h['Content-Length']); var_dump($h);",
    "header('X-A: 1'); header('X-B: 2', false); var_dump(apache_response_headers());",
    "header('X-A: 1'); echo 'x'; flush(); $h = apache_response_headers(); \
     unset($h['Connection'], $h['Transfer-Encoding']); var_dump($h);",
    "var_dump(apache_note('noted'), apache_note('noted', 'one'), apache_note('noted', 'two'), \
     apache_note('NOTED'));",
    "var_dump(apache_getenv('FROM_CONFIG'), apache_getenv('nothing'), apache_setenv('set', 'x'), \
     apache_getenv('set'), getenv('set'), $_SERVER['set'] ?? null);",
    "var_dump(apache_setenv('set', 'y', true), apache_getenv('set', true));",
    "virtual('/static.txt'); echo 'behind';",
    "echo 'before '; virtual('/static.txt'); echo 'behind';",
    "apache_setenv('set', 'of the script'); virtual('/page.shtml');",
    "$outer = 'outer'; virtual('/part.php?x=1'); echo 'behind ', $outer;",
    "header('X-A: 1'); virtual('/static.txt');",
    "virtual('folder/server.php');",
    "var_dump(virtual('/missing'));",
    "var_dump(@virtual('/missing.php'));",
    "var_dump(virtual('/private/server.php'));",
    "$l = (array) apache_lookup_uri('/static.txt?x=1'); unset($l['request_time'], $l['filename']); \
     ksort($l); var_dump($l);",
    "$l = (array) apache_lookup_uri('/server.php/info'); unset($l['request_time'], \
     $l['filename']); \
     ksort($l); var_dump($l);",
    "$l = (array) apache_lookup_uri('folder/'); unset($l['request_time'], $l['filename']); \
     ksort($l); var_dump($l);",
    "var_dump(apache_lookup_uri('/missing'));",
    "var_dump(apache_lookup_uri('/private/server.php'));",
    "$m = apache_get_modules(); foreach (['core', 'mod_rewrite', 'mod_php', 'prefork', \
     'mod_so'] as $n) \
     var_dump(in_array($n, $m));",
    "var_dump(is_string(apache_get_version()));",
    "ob_start(); phpinfo(); var_dump(strlen(ob_get_clean()) > 10000);",
    "ob_start(); phpinfo(INFO_MODULES); $t = ob_get_clean(); \
     foreach (['Apache Environment', 'HTTP Headers Information', 'HTTP Request Headers', \
     'HTTP Response Headers', 'Loaded Modules', 'Apache Version', 'Server Administrator', \
     'Hostname:Port', 'Timeouts', 'Virtual Server', 'Server Root', \
     'Apache API Version', 'engine', 'last_modified', 'xbithack', 'HTTP Request'] as $n) \
     echo $n, ' ', str_contains($t, $n) ? 'yes' : 'no', \"\\n\";",
    "apache_note(); ",
    "foreach ((new ReflectionExtension('apache2handler'))->getFunctions() as $f) \
     if ($f->name != 'fastcgi_finish_request') echo $f->name, ' ', \
     $f->getNumberOfParameters(), ' ', $f->getNumberOfRequiredParameters(), ' ', \
     $f->getReturnType(), \"\\n\";",
    "foreach ((new ReflectionExtension('apache2handler'))->getINIEntries() as $n => $v) \
     echo \"$n=$v\\n\";",
];

pub(crate) const DIFFERENT_FUNCTIONS: &[(&str, &str)] =
    &[("var_dump(function_exists('fastcgi_finish_request'));", "ours has it, as PHP-FPM")];
