<?php echo "index of {$_SERVER["REQUEST_URI"]} {$_SERVER["PHP_SELF"]} {$_SERVER["SCRIPT_NAME"]}\n";
