<?php
use Illuminate\Http\Request;
use Illuminate\Support\Facades\Route;

Route::get('/', fn () => 'home of ' . config('app.name'));
Route::get('/users/{id}', fn (Request $request, $id) => [
    'id' => $id,
    'path' => $request->path(),
    'url' => $request->fullUrl(),
    'user' => $request->getUser(),
    'token' => $request->bearerToken(),
]);
Route::get('/secure', fn () => redirect('/users/1?from=secure'));
Route::post('/form', fn () => 'never without a token');
