<?php
header('Content-Type: text/plain');
foreach (['precision', 'memory_limit', 'html_errors', 'display_errors', 'arg_separator.output',
          'user_agent', 'short_open_tag', 'log_errors_max_len', 'date.timezone', 'xbithack', 'engine',
          'last_modified', 'opcache.revalidate_freq', 'upload_max_filesize',
          'max_input_vars'] as $name) {
    echo $name, '='; var_dump(ini_get($name));
    $known = ini_get_all(null, true)[$name] ?? null;
    echo ' ', json_encode($known), "\n";
}
var_dump(ini_set('precision', '3'), ini_get('precision'));
var_dump(@ini_set('memory_limit', '60M'), ini_get('memory_limit'));
var_dump(@ini_set('date.timezone', 'UTC'), date_default_timezone_get());
