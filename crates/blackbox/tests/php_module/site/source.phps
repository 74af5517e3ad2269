<?php $a = "shown"; /* not run */ echo $a; ?> <b>text</b>
