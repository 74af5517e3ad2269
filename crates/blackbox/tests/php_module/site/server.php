<?php // Everything that a script is told, but for what tells connections and servers apart.
header('Content-Type: text/plain');
$own = ["REMOTE_PORT", "REQUEST_TIME", "REQUEST_TIME_FLOAT", "SERVER_SOFTWARE",
        "SERVER_PORT", "PATH", "SERVER_SIGNATURE"];
foreach ($own as $name) echo $name, ' ', gettype($_SERVER[$name] ?? null), "\n";
$server = array_diff_key($_SERVER, array_flip($own));
ksort($server);
foreach ($_FILES as &$file) {
    $file['tmp_name'] = array_map('is_uploaded_file', (array) $file['tmp_name']);
}
unset($file);
var_dump($server, $_GET, $_POST, $_FILES, $_COOKIE, $_REQUEST, $_ENV);
echo strlen(file_get_contents('php://input')), ' ', md5(file_get_contents('php://input')), "\n";
