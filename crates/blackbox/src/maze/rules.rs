//! The configuration of a maze: for each wing what its links may do, one rule and some features.

use super::WINGS;
use crate::dice::Dice;
use crate::scratch::Scratch;

/// What one wing has, as it stands in the configuration and in its `.htaccess` files.
#[derive(Clone, Debug, Default)]
pub struct Wing {
    /// Lines of the configuration.
    pub config: String,
    /// Its `.htaccess` file, and that of its folder `sub`.
    pub htaccess: [String; 2],
}

/// How links are treated: lines for the wing, for `sub` and for `sub/deep`, and whether they stand
/// in `.htaccess` files. `{O}` are the other options.
const LINK_POLICIES: &[([&str; 3], bool)] = &[
    (["Options FollowSymLinks{O}", "", ""], false),
    (["Options SymLinksIfOwnerMatch{O}", "", ""], false),
    (["Options FollowSymLinks SymLinksIfOwnerMatch{O}", "", ""], false),
    (["Options None{+}", "", ""], false),
    (["Options FollowSymLinks{O}", "Options -FollowSymLinks", "Options +FollowSymLinks"], false),
    (["Options SymLinksIfOwnerMatch{O}", "Options +FollowSymLinks", "Options None"], false),
    (["Options FollowSymLinks{O}", "Options +SymLinksIfOwnerMatch -FollowSymLinks", ""], false),
    (["Options FollowSymLinks{O}", "", ""], true),
    (["Options SymLinksIfOwnerMatch{O}", "", ""], true),
    (["Options FollowSymLinks{O}", "Options -FollowSymLinks", ""], true),
];

/// What may be added to a policy.
const OPTIONS: &[&str] = &["Indexes", "ExecCGI", "MultiViews"];

/// Rules for the names that are to be closed, or run, or shown as something else. `{W}` is the
/// folder of the wing, `{U}` its URL and `{D}` the line that closes; `{B}` and `{E}`
/// are the section of the folder.
const RULES: &[&str] = &[
    "<Directory {W}/sub>{D}</Directory>",
    "<Directory {W}/*/deep>{D}</Directory>",
    "<Directory ~ \"^{W}/sub$\">{D}</Directory>",
    "<DirectoryMatch \"^{W}/sub(/|$)\">{D}</DirectoryMatch>",
    "<DirectoryMatch \"^{W}/sub/deep/\">{D}</DirectoryMatch>",
    "<DirectoryMatch \"^{W}/.*secret\\.txt$\">{D}</DirectoryMatch>",
    "<Directory {W}>\n<Files secret.txt>{D}</Files>\n</Directory>",
    "<Directory {W}>\n<Files \"*.txt\">{D}</Files>\n</Directory>",
    "<Directory {W}>\n<Files \"?*\">{D}</Files>\n</Directory>",
    "<Directory {W}>\n<FilesMatch \"^secret\\.txt$\">{D}</FilesMatch>\n</Directory>",
    "<Directory {W}>\n<FilesMatch \"\\.(cgi|php|x)$\">{D}</FilesMatch>\n</Directory>",
    "<Directory {W}>\n<FilesMatch \"^\\.\">{D}</FilesMatch>\n</Directory>",
    "<Location {U}/secret.txt>{D}</Location>",
    "<Location {U}/sub>{D}</Location>",
    "<Location {U}/sub/>{D}</Location>",
    "<Location \"{U}/*/secret.txt\">{D}</Location>",
    "<LocationMatch \"^{U}/.*secret\\.txt$\">{D}</LocationMatch>",
    "<LocationMatch \"^{U}/.*\\.(cgi|php)$\">{D}</LocationMatch>",
    "<LocationMatch \"^{U}/(.*/)?\\.\">{D}</LocationMatch>",
    "<If \"%{REQUEST_URI} =~ m#^{U}/.*secret\\.txt$#\">{D}</If>",
    "<Directory {W}>\n<If \"%{REQUEST_URI} =~ /secret/\">{D}</If>\n</Directory>",
    "<Directory {W}>\n<If \"%{REQUEST_FILENAME} =~ /secret.txt$/\">{D}</If>\n</Directory>",
    "<Directory {W}>\n<If \"-d %{REQUEST_FILENAME}\">{D}</If>\n</Directory>",
    "{B}\n<Files \"*.txt\">\n<If \"%{QUERY_STRING} == 'q'\">{D}</If>\n</Files>\n{E}",
    "<Directory {W}>\nRequire expr \"%{REQUEST_URI} !~ /secret/\"\n</Directory>",
    "<Directory {W}>\nRequire method GET\n</Directory>",
    "<Directory {W}>\n<LimitExcept GET HEAD>{D}</LimitExcept>\n</Directory>",
    "<Directory {W}>\nSetHandler cgi-script\n</Directory>",
    "<Directory {W}>\n<FilesMatch \"\\.x$\">\nSetHandler cgi-script\n</FilesMatch>\n</Directory>",
    "<LocationMatch \"^{U}/.*\\.x$\">\nSetHandler cgi-script\n</LocationMatch>",
    "<Location {U}/sub/run.cgi>\nSetHandler default-handler\n</Location>",
    "<Directory {W}>\nAddHandler cgi-script .x\n</Directory>",
    "<Directory {W}>\nRemoveHandler .cgi\n</Directory>",
    "<Directory {W}>\n<Files \"*.txt\">\nForceType text/html\n</Files>\n</Directory>",
    "<Directory {W}/sub>\nForceType application/x-forced\n</Directory>",
    "<Location {U}/sub>\nForceType application/x-forced\n</Location>",
    "<Directory {W}>\nAddType application/x-own .x\n</Directory>",
];

/// The same in `.htaccess` files of the wing and of `sub`.
const HTACCESS_RULES: &[[&str; 2]] = &[
    ["<Files secret.txt>\nRequire all denied\n</Files>", ""],
    ["", "Require all denied"],
    ["", "<FilesMatch \"secret\">\nRequire all denied\n</FilesMatch>"],
    ["Require all denied", "Require all granted"],
    ["<Files \".*\">\nRequire all denied\n</Files>", ""],
    ["AddHandler cgi-script .x", "SetHandler default-handler"],
    ["<If \"%{REQUEST_URI} =~ m#secret\\.txt$#\">\nRequire all denied\n</If>", ""],
    ["ForceType text/html", "ForceType none"],
];

/// What a wing has besides. `{P}` is the line that has PHP run scripts.
const FEATURES: &[&str] = &[
    "CheckSpelling On",
    "CheckSpelling On\nCheckCaseOnly On",
    "DirectoryIndex none.html sub/open.txt",
    "DirectoryIndex run.cgi",
    "DirectoryIndex disabled",
    "DirectoryIndex secret.txt open.txt",
    "DirectorySlash Off",
    "FallbackResource {U}/open.txt",
    "FallbackResource {U}/run.cgi",
    "FallbackResource {U}/secret.txt",
    "ErrorDocument 404 {U}/open.txt",
    "ErrorDocument 403 {U}/run.cgi",
    "ErrorDocument 404 {U}/secret.txt",
    "ErrorDocument 403 \"closed\"",
    "AcceptPathInfo On",
    "AcceptPathInfo Off",
    "AddHandler type-map .var",
    "IndexOptions ShowForbidden",
    "IndexOptions FancyIndexing SuppressLastModified",
    "ModMimeUsePathInfo On",
    "<FilesMatch \"\\.php$\">\n{P}\n</FilesMatch>",
    "<FilesMatch \"\\.php$\">\n{P}\n</FilesMatch>",
    "<FilesMatch \".+\\.ph(ar|p|tml)$\">\n{P}\n</FilesMatch>",
];

/// Who runs PHP.
const PHP: &str = "SetHandler \"proxy:unix:${SITE}/fpm.sock|fcgi://localhost\"";

/// Draws the rules of all wings.
pub fn draw(dice: &mut Dice) -> Vec<Wing> {
    (0..WINGS).map(|number| wing(dice, number)).collect()
}

fn wing(dice: &mut Dice, number: usize) -> Wing {
    let (links, in_htaccess) = dice.one_of(LINK_POLICIES);
    let more: Vec<&str> = OPTIONS.iter().copied().filter(|_| !dice.once_in(3)).collect();
    let plain: String = more.iter().map(|option| format!(" {option}")).collect();
    let links = links.map(|line| match more.is_empty() {
        // `None` takes nothing beside it.
        true => line.replace("{O}", "").replace("{+}", ""),
        false => line.replace("{O}", &plain).replace("None{+}", plain.trim_start()),
    });
    let mut wing = Wing::default();
    let has_htaccess = *in_htaccess || dice.once_in(3);
    let overrides = if has_htaccess { "All" } else { "None" };
    let folder =
        |path: &str, lines: &str| format!("<Directory {{W}}{path}>\n{lines}\n</Directory>\n");
    let mut own = format!("AllowOverride {overrides}\nAddHandler cgi-script .cgi");
    for _ in 0..dice.below(3) {
        own += &format!("\n{}", dice.one_of(FEATURES));
    }
    if *in_htaccess {
        wing.htaccess = [format!("{}\n", links[0]), format!("{}\n", links[1])];
        wing.config = folder("", &format!("{own}\nOptions FollowSymLinks"));
    } else {
        wing.config = folder("", &format!("{own}\n{}", links[0]));
        wing.config += &folder("/sub", &links[1]);
        wing.config += &folder("/sub/deep", &links[2]);
    }
    if has_htaccess && dice.once_in(2) {
        let rules = dice.one_of(HTACCESS_RULES);
        for (file, lines) in wing.htaccess.iter_mut().zip(rules) {
            *file += &format!("{lines}\n");
        }
    } else {
        wing.config += &format!("{}\n", dice.one_of(RULES));
    }
    let place = |text: &str| {
        let (folder, url) = (format!("${{SITE}}/www/t{number}"), format!("/t{number}"));
        let text = text.replace("{B}", "<Directory {W}>").replace("{E}", "</Directory>");
        let text = text.replace("{D}", "\nRequire all denied\n").replace("{P}", PHP);
        text.replace("{W}", &folder).replace("{U}", &url)
    };
    Wing { config: place(&wing.config), htaccess: wing.htaccess.map(|text| place(&text)) }
}

/// Writes the `.htaccess` files.
pub fn write_htaccess(site: &Scratch, wings: &[Wing]) {
    for (number, wing) in wings.iter().enumerate() {
        for (folder, text) in ["", "sub/"].iter().zip(&wing.htaccess) {
            if !text.is_empty() {
                site.write(format!("www/t{number}/{folder}.htaccess"), text);
            }
        }
    }
}
