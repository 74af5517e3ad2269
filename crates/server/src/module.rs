//! What a module is to the rest of the server: its names, its directives and its hooks. The list
//! of all modules stands in crate `modules`; here nobody knows one from another.

use crate::hook::{
    ChooseInput, ContentFilter, Decide, Finish, Hook, LastFixup, OpenTo, Phases, Plain, Resolve,
    RunCommand, StartModule, Translate,
};
use crate::metadata::Naming;
use crate::request_context::RequestContext;
use crate::server::Server;
use crate::site::Site;
use crate::site::builder::Builder;
use crate::site::settings::Settings;
use config::{Diagnostic, Directive};

/// A module. Its settings are found by keys, its files hold all that it does.
pub struct Module {
    /// Its names and directives.
    pub table: config::ModuleDirectives<Builder>,
    pub(crate) hooks: Hooks,
    presence: Presence,
}

/// Whether a module is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// Whatever is loaded.
    Always,
    /// If it is loaded, or nobody was asked which are.
    Usual,
    /// It does something by being there: only if `LoadModule` names it.
    Asked,
}

impl Module {
    /// The module that `LoadModule` calls `name` and httpd has in `file`.
    pub const fn new(
        name: &'static str,
        file: &'static str,
        directives: &'static [Directive<Builder>],
        hooks: Hooks,
    ) -> Self {
        let table = config::ModuleDirectives { name, file, directives };
        Self { table, hooks, presence: Presence::Usual }
    }

    /// The module, there whatever is loaded.
    pub const fn always(self) -> Self {
        Self { presence: Presence::Always, ..self }
    }

    /// The module, there only if `LoadModule` names it: it does something by being there.
    pub const fn if_asked(self) -> Self {
        Self { presence: Presence::Asked, ..self }
    }

    /// Whether the module is there whatever is loaded.
    pub(crate) fn is_always_there(&self) -> bool {
        self.presence == Presence::Always
    }

    /// Whether its hooks run when these modules are loaded; `None` is all.
    pub(crate) fn is_there(&self, loaded: Option<&[&'static str]>) -> bool {
        match (self.presence, loaded) {
            (Presence::Always, _) | (Presence::Usual, None) => true,
            (Presence::Asked, None) => false,
            (_, Some(loaded)) => self.is_named(loaded),
        }
    }

    /// Whether its directives are in force then: those of a module that has to be asked for are,
    /// where nobody was asked.
    pub(crate) fn has_lines(&self, loaded: Option<&[&'static str]>) -> bool {
        self.is_always_there() || loaded.is_none_or(|loaded| self.is_named(loaded))
    }

    fn is_named(&self, loaded: &[&'static str]) -> bool {
        loaded.iter().any(|name| config::owners::current(name) == self.table.name)
    }

    /// The name as `LogLevel` writes it: `core`.
    pub(crate) fn short_name(&self) -> &'static str {
        self.table.name.trim_end_matches("_module")
    }
}

/// Opens what a module has for a site: a sentence says what cannot be opened and why.
pub(crate) type OpenSite = fn(&mut Site) -> Result<(), String>;

/// Says what is probably not meant in a configuration, or in a `.htaccess` file; then the second
/// one is the configuration that the file stands in.
pub(crate) type Advise = fn(&Builder, Option<&Builder>) -> Vec<Diagnostic>;

/// What a module does, and when. In each phase the hooks of all modules run in the order of the
/// list of modules.
#[derive(Clone, Copy)]
pub struct Hooks {
    /// What is known before the URL is mapped (post_read_request): not for look-ups.
    pub read: Option<Hook>,
    /// From a URL path to a place: the first that answers decides, else it is the document root.
    pub translate: Option<Translate>,
    /// What may still change the request once its settings are known (header_parser).
    pub header: Option<Hook>,
    /// Who may see it, whatever `Satisfy` says: httpd knows no such thing.
    pub guard: Option<Hook>,
    /// Who may see it, by where the request comes from and what it asks for (access_checker): all
    /// must agree.
    pub access: Option<Hook>,
    /// Whether the request may be answered without a user, or needs one (access_checker_ex): the
    /// first that accepts decides.
    pub grant: Option<Decide>,
    /// Who the client is (check_user_id): the first that accepts decides.
    pub identify: Option<Decide>,
    /// Whether the user who was identified may see it (auth_checker): the first that accepts
    /// decides.
    pub authorize: Option<Decide>,
    /// What kind of thing it is (type_checker).
    pub kind: Option<Hook>,
    /// The last look-ups (fixups).
    pub fixup: Option<Hook>,
    /// What counts whatever the last look-ups have come to (fixups, APR_HOOK_LAST).
    pub last_fixup: Option<LastFixup>,
    /// What answers: the first that recognises the request decides.
    pub resolve: Option<Resolve>,
    /// What changes the content of a response, before its fields are changed. Only one module has
    /// this.
    pub content: Option<ContentFilter>,
    /// What changes the bodies of requests on their way to programs. Only one module has this.
    pub input: Option<ChooseInput>,
    /// Has a shell run a command line, for pages that ask for it.
    pub command: Option<RunCommand>,
    /// What changes a response.
    pub finish: Option<Finish>,
    /// Whether this module treats the request like all others for its path. If one says no, no
    /// prepared response and no kept script answers it (`KeptPart::is_for`).
    pub plain: Option<Plain>,
    /// Whether `Satisfy Any` holds: one of access and user is enough.
    pub satisfies_any: Option<fn(&RequestContext<'_>) -> bool>,
    /// Who may see it, as far as settings alone tell: without it, a module with one of the five
    /// hooks above is asked about each file of a listing.
    pub open_to: Option<OpenTo>,
    /// Whether every answer of a host with these settings gets fields, also refusals.
    pub adds_always: Option<fn(&Settings) -> bool>,
    /// Whether the time of the first byte is logged.
    pub tracks_first_byte: Option<fn(&Settings) -> bool>,
    /// What is said in the log when the server begins to serve.
    pub begin: Option<fn(&Server)>,
    /// Whether it has programs run for requests: where no module does, nobody starts any.
    pub runs_programs: bool,
    /// The settings of a server outside of all sections, where httpd creates what no line set.
    pub complete: Option<fn(&mut Settings)>,
    /// What names of files say. Only one module has this.
    pub naming: Option<Naming>,
    /// What has to be opened with the site, in the parent.
    pub open: Option<OpenSite>,
    /// What has to run in the parent before it forks children, which share it.
    pub start: Option<StartModule>,
    /// What is wrong with a whole configuration (check_config).
    pub check: Option<fn(&Builder) -> Option<Diagnostic>>,
    /// What in a whole configuration, or in a `.htaccess` file of one, is probably not meant:
    /// warnings.
    pub advise: Option<Advise>,
}

impl Hooks {
    /// None at all.
    pub const NONE: Self = Self {
        read: None,
        translate: None,
        header: None,
        guard: None,
        access: None,
        grant: None,
        identify: None,
        authorize: None,
        kind: None,
        fixup: None,
        last_fixup: None,
        resolve: None,
        content: None,
        input: None,
        command: None,
        finish: None,
        plain: None,
        satisfies_any: None,
        open_to: None,
        adds_always: None,
        tracks_first_byte: None,
        naming: None,
        open: None,
        start: None,
        begin: None,
        runs_programs: false,
        complete: None,
        check: None,
        advise: None,
    };
}

impl Hooks {
    /// What settings alone tell about who is let in. A module that may refuse a request and does
    /// not say when has to be asked about each.
    fn opinion(&self) -> Option<OpenTo> {
        let refuses = (self.guard.is_some() || self.access.is_some())
            || (self.grant.is_some() || self.authorize.is_some());
        self.open_to.or(refuses.then_some(|_, _| Some(false)))
    }
}

impl Phases {
    /// The hooks of these modules, in their order.
    pub fn of<'m>(modules: impl Iterator<Item = &'m Module>) -> Self {
        let hooks: Vec<&Hooks> = modules.map(|module| &module.hooks).collect();
        let hooks = hooks.as_slice();
        Self {
            read: all(hooks, |it| it.read),
            translate: all(hooks, |it| it.translate),
            header: all(hooks, |it| it.header),
            guard: all(hooks, |it| it.guard),
            access: all(hooks, |it| it.access),
            grant: all(hooks, |it| it.grant),
            identify: all(hooks, |it| it.identify),
            authorize: all(hooks, |it| it.authorize),
            kind: all(hooks, |it| it.kind),
            fixup: all(hooks, |it| it.fixup),
            last_fixup: all(hooks, |it| it.last_fixup),
            resolve: all(hooks, |it| it.resolve),
            content: all(hooks, |it| it.content).pop(),
            input: all(hooks, |it| it.input).pop(),
            command: all(hooks, |it| it.command).pop(),
            naming: all(hooks, |it| it.naming).pop(),
            finish: all(hooks, |it| it.finish),
            begin: all(hooks, |it| it.begin),
            start: all(hooks, |it| it.start),
            run_programs: hooks.iter().any(|it| it.runs_programs),
            plain: all(hooks, |it| it.plain),
            satisfies_any: all(hooks, |it| it.satisfies_any),
            open_to: all(hooks, Hooks::opinion),
            adds_always: all(hooks, |it| it.adds_always),
            tracks_first_byte: all(hooks, |it| it.tracks_first_byte),
        }
    }
}

/// The hooks of one phase.
fn all<H>(hooks: &[&Hooks], of: impl Fn(&Hooks) -> Option<H>) -> Vec<H> {
    hooks.iter().filter_map(|it| of(it)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::Hook;
    use message::Method;

    #[test]
    fn a_module_that_may_refuse_and_does_not_say_when_is_asked_about_each_file() {
        let opinion = |hooks: Hooks| {
            hooks.opinion().map(|open_to| open_to(&Settings::default(), Method::Get))
        };
        assert_eq!(
            opinion(Hooks { access: Some(Hook::Now(|_| Ok(()))), ..Hooks::NONE }),
            Some(Some(false))
        );
        assert_eq!(
            opinion(Hooks { guard: Some(Hook::Now(|_| Ok(()))), ..Hooks::NONE }),
            Some(Some(false))
        );
        assert_eq!(opinion(Hooks { fixup: Some(Hook::Now(|_| Ok(()))), ..Hooks::NONE }), None);
        let says = Hooks {
            open_to: Some(|_, _| None),
            access: Some(Hook::Now(|_| Ok(()))),
            ..Hooks::NONE
        };
        assert_eq!(opinion(says), Some(None));
    }
}
