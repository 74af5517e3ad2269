<?php echo "part: {$_SERVER["REQUEST_URI"]} ", $GLOBALS["outer"] ?? "no", "\n"; $outer = "changed";
