<?php
echo "error page\n";
ksort($_SERVER);
foreach ($_SERVER as $name => $value) if (str_starts_with($name, 'REDIRECT_')) echo "$name=$value\n";
echo http_response_code(), ' ', $_SERVER['REQUEST_URI'], ' ', $_SERVER['QUERY_STRING'], "\n";
