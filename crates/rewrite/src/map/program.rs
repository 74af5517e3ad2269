//! `prg:`: a program that answers one key after the other for as long as the server runs
//! (lookup_map_program and run_rewritemap_programs of mod_rewrite.c).

use crate::trace::{MODULE, Trace, shown, told};
use logging::target::words;
use runtime::process;
use server::map_program::{MapProgram, MapUser};
use server::map_question;
use server::request_context::RequestContext;
use server::site::builder::Builder;
use server::steps::StepKind;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A program as a line names it.
#[derive(Debug)]
pub(crate) struct ProgramMap {
    /// The program itself.
    pub(super) path: PathBuf,
    arguments: Vec<String>,
    /// `user:group`
    user: Option<String>,
    /// Its number among all that run; none if no engine needs it.
    number: OnceLock<usize>,
}

impl ProgramMap {
    /// Read what a line says behind `prg:`.
    pub(super) fn parse(builder: &Builder, text: &str, user: Option<&str>) -> Self {
        let mut words = words(text).into_iter();
        let path = builder.server_path(&words.next().unwrap_or_default());
        Self {
            path,
            arguments: words.collect(),
            user: user.map(str::to_owned),
            number: OnceLock::new(),
        }
    }

    /// What it says of `key`, which is asked of the map called `name`.
    pub(super) async fn find(
        &self,
        request: &RequestContext<'_>,
        trace: Trace,
        name: &str,
        key: Vec<u8>,
    ) -> Option<Vec<u8>> {
        let text = shown(&key).into_owned();
        if request.is_explained() {
            request.explain(StepKind::RuleResult, || {
                let path = self.path.display();
                format!(
                    "map {name}: the program {path} would be asked for '{}'; here it is not, \
                     as if it knew nothing",
                    told(&text)
                )
            });
            return None;
        }
        let value = match self.number.get() {
            Some(number) => map_question::ask(request, MODULE, *number, key).await,
            None => None,
        };
        trace.say(5, request, None, || match &value {
            Some(value) => {
                let value = shown(value);
                format!("map lookup OK: map={name} key={text} -> val={value}")
            }
            None => format!("map lookup FAILED: map={name} key={text}"),
        });
        value
    }

    /// It is one of `all` that run, which it joins unless it is there already. A name with a zero
    /// is that of no program.
    pub(crate) fn join(&self, all: &mut Vec<MapProgram>) {
        let is_there = self.number.get().is_some_and(|number| *number < all.len());
        if let (false, Some(program)) = (is_there, self.to_be_run()) {
            self.number.get_or_init(|| all.len());
            all.push(program);
        }
    }

    fn to_be_run(&self) -> Option<MapProgram> {
        let text = |bytes: &[u8]| CString::new(bytes).ok();
        let program = text(self.path.as_os_str().as_bytes())?;
        let more = self.arguments.iter().map(|argument| text(argument.as_bytes()));
        let arguments = [Some(program.clone())].into_iter().chain(more).collect::<Option<_>>()?;
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let folder = text(folder.as_os_str().as_bytes())?;
        Some(MapProgram { program, arguments, folder, user: map_user(self.user.as_deref()) })
    }
}

/// Whom `user:group` means. Only root can run anything as somebody else.
fn map_user(text: Option<&str>) -> MapUser {
    let Some(text) = text.filter(|_| process::is_root()) else { return MapUser::Starter };
    let mut names = text.split(':').filter(|name| !name.is_empty());
    let Some(user) = names.next() else { return MapUser::Starter };
    let found = process::user_by_name(user).and_then(|mut user| {
        if let Some(group) = names.next() {
            user.gid = process::group_by_name(group)?;
        }
        user.groups = process::groups_of(&user.name, user.gid).ok()?;
        Some(user)
    });
    found.map_or(MapUser::Nobody, MapUser::Of)
}
