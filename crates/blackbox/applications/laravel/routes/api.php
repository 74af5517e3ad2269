<?php
use Illuminate\Http\Request;
use Illuminate\Support\Facades\Route;

Route::post('/echo', fn (Request $request) => $request->all());
// What the script is told, but for what belongs to a connection or a server.
Route::any('/server/{rest?}', function (Request $request) {
    $hidden = ['REMOTE_PORT', 'REQUEST_TIME', 'REQUEST_TIME_FLOAT', 'SERVER_SOFTWARE', 'PATH',
        'SERVER_SIGNATURE', 'SERVER_PORT', 'proxy-nokeepalive'];
    $lines = [];
    foreach ($_SERVER as $name => $value) {
        $plain = preg_replace('/^(REDIRECT_)+/', '', $name);
        if (is_string($value) && !in_array($plain, $hidden)) $lines[] = "$name=$value\n";
    }
    sort($lines);
    return response(implode($lines))->header('Content-Type', 'text/plain');
})->where('rest', '.*');
