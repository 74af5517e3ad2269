//! WordPress as Debian packages it, copied to a folder of the test's and set up as its users set it
//! up: by its own pages, through the server that is tested.

use std::path::Path;

use crate::fpm::Fpm;
use crate::installed::{Beside, copy};
use crate::mariadb::MariaDb;
use crate::outside;
use crate::scratch::{Scratch, set_mode};

/// Where Debian puts it.
const PACKAGE: &str = "/usr/share/wordpress";

/// Its host. No server is asked for this name: it stands in `Host` only.
pub const HOST: &str = "blog.example";

/// Who may write in it.
const USER: &str = "chief";

/// A password that is no word.
const PASSWORD: &str = "Umbrella-7-lantern";

/// Shows what a script is told, for requests that ask for it, beside what belongs to a connection.
const SHOW: &str = "<?php
add_action('plugins_loaded', function () {
    if (!isset($_GET['show-server'])) return;
    header('Content-Type: text/plain');
    foreach (['REMOTE_PORT', 'REQUEST_TIME', 'REQUEST_TIME_FLOAT', 'SERVER_SOFTWARE', 'PATH',
              'SERVER_SIGNATURE', 'SERVER_PORT', 'proxy-nokeepalive'] as $name) {
        unset($_SERVER[$name], $_SERVER[\"REDIRECT_$name\"]);
    }
    ksort($_SERVER);
    foreach ($_SERVER as $name => $value) if (is_string($value)) echo \"$name=$value\\n\";
    exit;
});
";

/// Its files, its database and its PHP.
#[derive(Debug)]
pub struct WordPress {
    /// Runs its scripts.
    pub fpm: Fpm,
    database: MariaDb,
}

impl WordPress {
    /// Puts its files into the folder `www`; `None`, told and counted, where something is missing.
    pub fn prepare(test: &str, site: &Scratch) -> Option<Self> {
        if !Path::new(PACKAGE).join("wp-login.php").exists() {
            outside::not_run(test, "WordPress is not installed (package wordpress)");
            return None;
        }
        let database = MariaDb::start(test)?;
        let fpm = Fpm::start_with_extensions(test, &site.join("fpm.sock"), 4, &["mysqli"])?;
        copy(Path::new(PACKAGE), &site.join("www"));
        // What Debian adds for its own way of setting it up.
        for name in ["wp-config.php", ".htaccess"] {
            let _ = std::fs::remove_file(site.join("www").join(name));
        }
        site.write("www/wp-config.php", configuration(&database.socket()));
        site.write("www/wp-content/mu-plugins/show.php", SHOW);
        set_mode(&site.join("www/wp-content"), 0o777);
        Some(Self { fpm, database })
    }

    /// Where its database listens.
    pub fn database(&self) -> &MariaDb {
        &self.database
    }
}

fn configuration(socket: &Path) -> String {
    let keys = ["AUTH", "SECURE_AUTH", "LOGGED_IN", "NONCE"];
    let key = |name: &str| {
        format!(
            "define('{name}_KEY', 'key of {name}');\ndefine('{name}_SALT', 'salt of {name}');\n"
        )
    };
    format!(
        "<?php
define('DB_NAME', 'application');
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:{}');
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
{}$table_prefix = 'wp_';
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('DISABLE_WP_CRON', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('FS_METHOD', 'direct');
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
",
        socket.display(),
        keys.map(key).concat()
    )
}

/// Has WordPress set itself up.
pub fn set_up(beside: &mut Beside) {
    let form = format!(
        "weblog_title=A+blog&user_name={USER}&admin_password={PASSWORD}&admin_password2={PASSWORD}\
         &admin_email=chief@blog.example&blog_public=1&pw_weak=on&language="
    );
    let response = beside.ask(&format!(
        "POST /wp-admin/install.php?step=2 | Content-Type: application/x-www-form-urlencoded | \
         body={form}"
    ));
    let text = response.text();
    assert!(response.status == 200 && text.contains("WordPress has been installed"), "{text}");
}

/// The form of a user who logs in.
pub fn login_row() -> String {
    format!(
        "POST /wp-login.php | Content-Type: application/x-www-form-urlencoded | \
         Cookie: wordpress_test_cookie=WP+Cookie+check | \
         body=log={USER}&pwd={PASSWORD}&wp-submit=Log+In&redirect_to=http%3A%2F%2F{HOST}%2Fwp-admin\
         %2F&testcookie=1"
    )
}

/// A user's cookies, as a field.
pub fn log_in(beside: &mut Beside) -> String {
    let response = beside.ask(&login_row());
    assert_eq!(response.status, 302, "{}", response.text());
    let cookies = response.fields.iter().filter(|field| field.0.eq_ignore_ascii_case("Set-Cookie"));
    let pairs: Vec<String> = cookies
        .map(|(_, value)| String::from_utf8_lossy(value).into_owned())
        .map(|value| value.split(';').next().unwrap_or_default().to_owned())
        .filter(|pair| pair.starts_with("wordpress_") && !pair.ends_with("=+"))
        .collect();
    assert!(pairs.iter().any(|pair| pair.starts_with("wordpress_logged_in")), "{pairs:?}");
    format!("Cookie: {}", pairs.join("; "))
}

/// Has WordPress write rules for pretty links into its `.htaccess` file, by its own page.
pub fn set_pretty_links(beside: &mut Beside, cookies: &str) {
    let page = beside.ask(&format!("/wp-admin/options-permalink.php | {cookies}")).text();
    let nonce = between(&page, "name=\"_wpnonce\" value=\"", "\"");
    let response = beside.ask(&format!(
        "POST /wp-admin/options-permalink.php | {cookies} | \
         Content-Type: application/x-www-form-urlencoded | \
         body=_wpnonce={nonce}&permalink_structure=%2F%25postname%25%2F&category_base=&tag_base=\
         &selection=%2F%25postname%25%2F&submit=Save"
    ));
    assert_eq!(response.status, 302, "{}", response.text());
    // It writes the file with the page that it sends its user to.
    let response = beside.ask(&format!("/wp-admin/options-permalink.php?x | {cookies}"));
    assert_eq!(response.status, 200, "{}", response.text());
}

/// A post with this title and slug, and a picture, both made by the interface for programs.
pub fn write(beside: &mut Beside, cookies: &str) {
    let nonce =
        beside.ask(&format!("/wp-admin/admin-ajax.php?action=rest-nonce | {cookies}")).text();
    let post = "{\"title\":\"日本語\",\"slug\":\"日本語\",\"status\":\"publish\",\
                \"content\":\"Text\"}";
    let row = format!(
        "POST /wp-json/wp/v2/posts | {cookies} | X-WP-Nonce: {nonce} | \
         Content-Type: application/json | body={post}"
    );
    let response = beside.ask(&row);
    assert_eq!(response.status, 201, "{}", response.text());
    let row = format!(
        "POST /wp-json/wp/v2/media | {cookies} | X-WP-Nonce: {nonce} | Content-Type: text/plain | \
         Content-Disposition: attachment; filename=notes.txt | body=a file that was uploaded"
    );
    let response = beside.ask(&row);
    assert_eq!(response.status, 201, "{}", response.text());
}

/// What stands between two texts.
fn between<'t>(text: &'t str, before: &str, after: &str) -> &'t str {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("no {before} in {text}")).1;
    rest.split(after).next().unwrap_or_default()
}

/// The folder of this month's uploads.
pub fn upload_folder(site: &Scratch) -> String {
    let only = |folder: &Path| {
        let mut entries = std::fs::read_dir(folder).expect("there are uploads").flatten();
        let entry = entries.find(|entry| entry.path().is_dir()).expect("a folder of that time");
        entry.file_name().into_string().expect("a number")
    };
    let uploads = site.join("www/wp-content/uploads");
    let year = only(&uploads);
    let month = only(&uploads.join(&year));
    format!("{year}/{month}")
}

/// What stands before and behind something that is another in each answer.
const RANDOM: &[(&str, &str)] = &[
    (" data-pw=\\\"", "\\\""),
    // Cookies of a user: a token, and the time when they end.
    ("=chief%7C", ";"),
    // The second in which a cookie was made.
    ("wp-settings-time-1=", ";"),
    ("; expires=", ";"),
    (r#"\"uid\":\"1\",\"time\":\""#, r#"\""#),
];

/// An answer without what is random in it.
pub fn clean(text: &str) -> String {
    RANDOM.iter().fold(text.to_owned(), |text, (before, after)| without(&text, before, after))
}

/// A text without what stands between these two.
fn without(text: &str, before: &str, after: &str) -> String {
    let mut parts = text.split(before);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| {
        let at = part.find(after).unwrap_or_default();
        out + before + &part[at..]
    })
}
