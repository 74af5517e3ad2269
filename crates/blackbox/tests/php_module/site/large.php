<?php echo $_GET["n"], str_repeat("x", 200000), "\n";
