<?php
// What composer would write: Debian's packages of Laravel lie in PHP's include path.
require 'Illuminate/autoload.php';
require __DIR__ . '/../app/Routes.php';
