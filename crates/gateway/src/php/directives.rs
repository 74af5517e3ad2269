//! The directives of mod_php (apache_config.c of PHP's sources), and one of our own.

use super::settings::{ENGINE_SETTINGS, EngineSettings, ModuleFile, SETTINGS};
use config::directive::row;
use config::{Args, Call, Directive, Error, Scope};
use php::Setting;
use server::site::builder::Builder;

type Done = Result<(), Error>;

#[rustfmt::skip]
pub(super) static DIRECTIVES: &[Directive<Builder>] = &[
    row("php_value", Args::Two, Scope::OR_OPTIONS, "", "PHP Value Modifier", value),
    row("php_flag", Args::Two, Scope::OR_OPTIONS, "", "PHP Flag Modifier", flag),
    row("php_admin_value", Args::Two, Scope::ANY_CONF, "", "PHP Value Modifier (Admin)", admin_value),
    row("php_admin_flag", Args::Two, Scope::ANY_CONF, "", "PHP Flag Modifier (Admin)", admin_flag),
    row("PHPINIDir", Args::One, Scope::RSRC_CONF, "", "Directory containing the php.ini file", ini_folder),
    row("PHPProcesses", Args::Flag, Scope::SERVER, "where several connections share a process", "whether scripts run in processes of their own", processes),
    row("PHPStartServers", Args::One, Scope::SERVER, "2", "how many PHP processes there are at the beginning", start_servers),
    row("PHPMinSpareServers", Args::One, Scope::SERVER, "1", "how many PHP processes there are at least", min_spare),
    row("PHPMaxSpareServers", Args::One, Scope::SERVER, "8", "how many PHP processes stay that have nothing to do", max_spare),
    row("PHPMaxRequestWorkers", Args::One, Scope::SERVER, "chosen by memory and cores", "how many PHP processes there are at most", most),
    row("PHPMaxRequestsPerChild", Args::One, Scope::SERVER, "0", "how many requests a PHP process answers; 0 is any number", requests_max),
    row("PHPModuleFile", Args::One, Scope::SERVER, "", "the module file to run PHP with, or auto to look for it", module_file),
];

fn value(builder: &mut Builder, call: &Call<'_>) -> Done {
    set(builder, call, call.arg(1), false)
}

fn admin_value(builder: &mut Builder, call: &Call<'_>) -> Done {
    set(builder, call, call.arg(1), true)
}

fn flag(builder: &mut Builder, call: &Call<'_>) -> Done {
    set(builder, call, switch(call.arg(1)), false)
}

fn admin_flag(builder: &mut Builder, call: &Call<'_>) -> Done {
    set(builder, call, switch(call.arg(1)), true)
}

/// real_flag_hnd
fn switch(word: &str) -> &'static str {
    if word.eq_ignore_ascii_case("on") || word == "1" { "1" } else { "0" }
}

/// real_value_hnd
#[expect(clippy::unnecessary_wraps, reason = "as all rows")]
fn set(builder: &mut Builder, call: &Call<'_>, value: &str, is_admin: bool) -> Done {
    let value = if value.eq_ignore_ascii_case("none") { "" } else { value };
    let is_of_htaccess = builder.is_htaccess();
    let (name, value) = (call.arg(0).to_owned(), value.to_owned());
    let setting = Setting { name, value, is_admin, is_of_htaccess };
    SETTINGS.change(builder.settings()).set(setting);
    Ok(())
}

fn engine(builder: &mut Builder) -> &mut EngineSettings {
    ENGINE_SETTINGS.change(&mut builder.server.modules)
}

/// php_apache_phpini_set
fn ini_folder(builder: &mut Builder, call: &Call<'_>) -> Done {
    let path = builder.server.root.join(call.arg(0));
    let settings = engine(builder);
    if settings.ini_folder.is_some() {
        let text = "Only first PHPINIDir directive honored per configuration tree - subsequent \
                    ones ignored";
        return Err(text.into());
    }
    settings.ini_folder = Some(path);
    Ok(())
}

#[expect(clippy::unnecessary_wraps, reason = "as all rows")]
fn processes(builder: &mut Builder, call: &Call<'_>) -> Done {
    engine(builder).processes = Some(call.on());
    Ok(())
}

/// A number of processes, which is not 0.
fn count(call: &Call<'_>) -> Result<usize, Error> {
    let number = call.arg(0).parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| Error::argument(0, format!("{} requires a positive number", call.name)))
}

fn start_servers(builder: &mut Builder, call: &Call<'_>) -> Done {
    engine(builder).start = Some(count(call)?);
    Ok(())
}

fn min_spare(builder: &mut Builder, call: &Call<'_>) -> Done {
    engine(builder).spare_min = Some(count(call)?);
    Ok(())
}

fn max_spare(builder: &mut Builder, call: &Call<'_>) -> Done {
    engine(builder).spare_max = Some(count(call)?);
    Ok(())
}

fn most(builder: &mut Builder, call: &Call<'_>) -> Done {
    engine(builder).most = match call.arg(0).eq_ignore_ascii_case("auto") {
        true => None,
        false => Some(count(call)?),
    };
    Ok(())
}

fn requests_max(builder: &mut Builder, call: &Call<'_>) -> Done {
    let number: Option<u64> = call.arg(0).parse().ok();
    let text = || format!("{} requires a number", call.name);
    let number = number.ok_or_else(|| Error::argument(0, text()))?;
    engine(builder).requests_max = Some(number).filter(|number| *number > 0);
    Ok(())
}

#[expect(clippy::unnecessary_wraps, reason = "as all rows")]
fn module_file(builder: &mut Builder, call: &Call<'_>) -> Done {
    let path = builder.server.root.join(call.arg(0));
    engine(builder).file = Some(match call.arg(0).eq_ignore_ascii_case("auto") {
        true => ModuleFile::Found,
        false => ModuleFile::Named(path),
    });
    Ok(())
}
