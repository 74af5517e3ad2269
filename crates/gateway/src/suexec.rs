//! suexec: as whom the scripts of a host run (mod_suexec). httpd asks a setuid program; here the
//! process that starts scripts has the right already, and checks what that program checks.

use config::{Args, Call, Directive, Error, Scope};
use logging::level::Level;
use runtime::process::{self, User};
use runtime::programs::ProgramIdentity;
use server::Server;
use server::module::{Hooks, Module};
use server::request_context::RequestContext;
use server::site::builder::Builder;
use server::site::host::Host;
use server::site::settings::{HostKey, ServerKey};
use server::site::store::Merge;
use server::site::{Site, find_user};
use std::path::PathBuf;

/// The module and its table.
pub static MODULE: Module = Module::new(
    NAME,
    "mod_suexec.c",
    DIRECTIVES,
    Hooks { open: Some(open), begin: Some(begin), ..Hooks::NONE },
)
.if_asked();

const NAME: &str = "suexec_module";

static DIRECTIVES: &[Directive<Builder>] = &[Directive {
    name: "SuexecUserGroup",
    args: Args::Two,
    scope: Scope::RSRC_CONF,
    default: "",
    help: "User and group for spawned processes",
    apply: user_group,
}];

/// Where suEXEC allows programs beside the folders of hosts (AP_DOC_ROOT of Debian).
const ROOT: &str = "/var/www";

/// Where httpd's variables keep the name of the user in `/~name/`.
pub const USER_NOTE: &str = "mod_userdir_user";

/// The key of what is kept per host.
static HOST_SETTINGS: HostKey<HostSettings> = HostKey::new();

/// What a host says.
#[derive(Clone, Copy, Debug, Default)]
struct HostSettings {
    /// The row of the users that programs run as.
    row: Option<u32>,
}

impl Merge for HostSettings {
    fn over(&self, main: &Self) -> Self {
        Self { row: self.row.or(main.row) }
    }
}

/// The key of what is kept for the whole server.
static USERS: ServerKey<Users> = ServerKey::new();

/// As whom programs run.
#[derive(Clone, Debug, Default)]
struct Users {
    /// `SuexecUserGroup`: user and group of each row.
    names: Vec<(String, String)>,
    /// The same, looked up, each with the folders that its programs must be in.
    rows: Vec<(User, Vec<PathBuf>)>,
    /// Whether scripts in homes run as the users that these belong to.
    are_others: bool,
}

impl Merge for Users {}

fn users(site: &Site) -> &Users {
    USERS.of(&site.modules)
}

/// Look the users up with the site; their folders are where the hosts have their documents that
/// name them.
fn open(site: &mut Site) -> Result<(), String> {
    let row = |(number, (user, group)): (u32, &(String, String))| {
        let user = find_user(Some(user), Some(group))?
            .ok_or("only root can run scripts as another user")?;
        let is_own = |host: &&Host| HOST_SETTINGS.of(&host.modules).row == Some(number);
        let own = site.hosts.iter().filter(is_own);
        let roots = own.map(|host| host.root.path().to_owned());
        Ok((user, roots.chain([PathBuf::from(ROOT)]).collect()))
    };
    let rows = (0..).zip(&users(site).names).map(row).collect::<Result<_, String>>()?;
    // It is there only where somebody has asked for it.
    let is_asked = site.loaded.as_ref().is_some_and(|loaded| loaded.contains(&NAME));
    let are_others = is_asked && process::is_root();
    let users = USERS.change(&mut site.modules);
    (users.rows, users.are_others) = (rows, are_others);
    Ok(())
}

fn begin(server: &Server) {
    if users(&server.site).are_others {
        let text = "suEXEC mechanism enabled (wrapper: the process that starts scripts)";
        server.log(Level::Notice, "suexec", Some(1232), None, text.as_bytes());
    }
}

/// Whom the scripts of a row of the configuration run as, and the folders that they must be in.
pub fn script_user(server: &Server, row: u32) -> Option<&(User, Vec<PathBuf>)> {
    users(&server.site).rows.get(usize::try_from(row).ok()?)
}

/// Whether scripts in homes run as the users that these belong to.
pub fn runs_as_others(server: &Server) -> bool {
    users(&server.site).are_others
}

/// mod_suexec.c, set_suexec_ugid
fn user_group(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    if !process::is_root() {
        return Err("SuexecUserGroup configured, but suEXEC is disabled: Missing suexec binary \
                    /usr/lib/apache2/suexec"
            .into());
    }
    let names = &mut USERS.change(&mut builder.server.modules).names;
    let row = u32::try_from(names.len()).unwrap_or(u32::MAX);
    names.push((call.arg(0).to_owned(), call.arg(1).to_owned()));
    HOST_SETTINGS.change(&mut builder.host().modules).row = Some(row);
    Ok(())
}

/// Whom a script runs as: the user whose home it is in comes first, as in httpd.
pub(crate) fn identity(request: &RequestContext<'_>) -> ProgramIdentity {
    let of_home = request.tables.notes.get(USER_NOTE).filter(|_| users(request.site()).are_others);
    let name = of_home.and_then(|name| std::str::from_utf8(name).ok());
    match (name.and_then(process::user_by_name), HOST_SETTINGS.of(&request.host.modules).row) {
        (Some(user), _) => ProgramIdentity::Home(user.uid),
        (None, Some(row)) => ProgramIdentity::Row(row),
        (None, None) => ProgramIdentity::Server,
    }
}
