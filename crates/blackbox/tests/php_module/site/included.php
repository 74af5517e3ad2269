<?php return basename(__DIR__) . " " . (getcwd() == __DIR__ ? "here" : "elsewhere");
