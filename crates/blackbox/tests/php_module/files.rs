//! The files of the site: one script under several names, where the settings differ.

const DO: &str = include_str!("site/do.php");
const INDEX: &str = include_str!("site/index.php");
const INI: &str = include_str!("site/ini.php");
const SERVER: &str = include_str!("site/server.php");

pub(crate) const FILES: &[(&str, &str)] = &[
    ("do.php", DO),
    ("shown/do.php", DO),
    ("server.php", SERVER),
    ("folder/server.php", SERVER),
    ("shy/server.php", SERVER),
    ("private/server.php", SERVER),
    ("ruled/server.php", SERVER),
    ("modified/server.php", SERVER),
    ("ini.php", INI),
    ("admin.php", INI),
    ("settings/ini.php", INI),
    ("settings/admin.php", INI),
    ("settings/deeper/ini.php", INI),
    ("settings/deeper/admin.php", INI),
    ("settings/deeper/.htaccess", include_str!("site/deeper.htaccess")),
    ("index.php", INDEX),
    ("folder/index.php", INDEX),
    ("front/index.php", INDEX),
    ("off/index.php", INDEX),
    ("handler.script", INDEX),
    ("typed.typed", INDEX),
    ("located", INDEX),
    ("bits/run.html", INDEX),
    ("bits/plain.html", INDEX),
    ("empty/.keep", ""),
    ("error.php", include_str!("site/error.php")),
    ("source.phps", include_str!("site/source.phps")),
    ("static.txt", "a static file\n"),
    ("page.shtml", include_str!("site/page.shtml")),
    ("includes.shtml", include_str!("site/includes.shtml")),
    ("large.php", include_str!("site/large.php")),
    ("part.php", include_str!("site/part.php")),
    ("folder/included.php", include_str!("site/included.php")),
    ("broken.php", "<?php echo \"unfinished"),
    ("passwords", "user:$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/\n"),
];
