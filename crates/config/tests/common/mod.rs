//! A small server of the tests: a table with a row for every kind of arguments and every kind of
//! place, with httpd's names and help texts, so that messages can be compared with httpd's.
#![allow(dead_code, reason = "each test file uses a part")]

use config::args::{self, OptionChange, TimeUnit};
use config::{
    Args, Build, Call, Directive, DirectiveIndex, Error, ModuleDirectives, Position, Scope,
    SectionArgs, known,
};

/// Remembers what was applied, and where.
pub(crate) struct Toy {
    pub(crate) applied: Vec<String>,
    scopes: Vec<Scope>,
}

impl Toy {
    pub(crate) fn new(scope: Scope) -> Self {
        Self { applied: Vec::new(), scopes: vec![scope] }
    }

    fn remember(&mut self, call: &Call<'_>, value: impl std::fmt::Debug) -> Result<(), Error> {
        self.applied.push(format!("{} {value:?}", call.name));
        Ok(())
    }

    fn enter(&mut self, call: &Call<'_>, scope: Scope) -> Result<(), Error> {
        self.scopes.push(scope);
        self.remember(call, call.args)
    }
}

impl Build for Toy {
    fn scope(&self) -> Scope {
        *self.scopes.last().expect("the outermost scope is never left")
    }
}

pub(crate) fn index() -> DirectiveIndex<Toy> {
    DirectiveIndex::new(&[&TOY], known::NAMES)
}

fn words(toy: &mut Toy, call: &Call<'_>) -> Result<(), Error> {
    toy.remember(call, call.args)
}

fn raw(toy: &mut Toy, call: &Call<'_>) -> Result<(), Error> {
    toy.remember(call, call.raw)
}

fn flag(toy: &mut Toy, call: &Call<'_>) -> Result<(), Error> {
    toy.remember(call, call.on())
}

fn duration(toy: &mut Toy, call: &Call<'_>) -> Result<(), Error> {
    toy.remember(call, args::duration(call, 0, TimeUnit::Second)?)
}

fn number(toy: &mut Toy, call: &Call<'_>) -> Result<(), Error> {
    toy.remember(call, args::number(call, 0, 1..=100)?)
}

fn clamped(toy: &mut Toy, call: &Call<'_>) -> Result<(), Error> {
    toy.remember(call, args::clamped(call, 0, 1..=100)?)
}

fn bytes(toy: &mut Toy, call: &Call<'_>) -> Result<(), Error> {
    toy.remember(call, args::bytes(call, 0)?)
}

fn keyword(toy: &mut Toy, call: &Call<'_>) -> Result<(), Error> {
    const WORDS: &[(&str, i32)] = &[("off", 0), ("on", 1), ("email", 2)];
    let value = args::keyword(call, 0, WORDS)
        .map_err(|error| error.reworded("ServerSignature: use one of: off | on | email"))?;
    toy.remember(call, value)
}

fn options(toy: &mut Toy, call: &Call<'_>) -> Result<(), Error> {
    const WORDS: &[(&str, i32)] = &[("None", 0), ("Indexes", 1), ("FollowSymLinks", 2)];
    let changes: Vec<(OptionChange, i32)> = args::changes(call, WORDS)?;
    toy.remember(call, changes)
}

fn useless(toy: &mut Toy, call: &Call<'_>) -> Result<(), Error> {
    let Position { file, line, .. } = call.position();
    let said = "NameVirtualHost has no effect and will be removed in the next release";
    call.warn(Some("AH00548"), format!("{said} {file}:{line}"));
    toy.remember(call, ())
}

fn enter_host(toy: &mut Toy, call: &Call<'_>) -> Result<(), Error> {
    toy.enter(call, Scope::HOST)
}

fn enter_directory(toy: &mut Toy, call: &Call<'_>) -> Result<(), Error> {
    toy.enter(call, Scope::DIRECTORY)
}

/// httpd finds this only after it has walked the section.
fn leave_directory(toy: &mut Toy, call: &Call<'_>) -> Result<(), Error> {
    leave(toy, call)?;
    match call.args {
        [_] => Ok(()),
        _ => Err(Error::argument(1, "Multiple <Directory> arguments not (yet) supported.")),
    }
}

fn enter_location(toy: &mut Toy, call: &Call<'_>) -> Result<(), Error> {
    toy.enter(call, Scope::LOCATION)
}

fn enter_files(toy: &mut Toy, call: &Call<'_>) -> Result<(), Error> {
    toy.enter(call, Scope::FILES)
}

fn enter_group(toy: &mut Toy, call: &Call<'_>) -> Result<(), Error> {
    let scope = toy.scope();
    toy.enter(call, scope)
}

/// As httpd's section: it must hold something.
fn leave_group(toy: &mut Toy, call: &Call<'_>) -> Result<(), Error> {
    let empty = toy.applied.last().is_some_and(|last| last.starts_with(call.name));
    leave(toy, call)?;
    let said = "<RequireAll> directive contains no authorization directives";
    if empty { Err(said.into()) } else { Ok(()) }
}

fn leave(toy: &mut Toy, call: &Call<'_>) -> Result<(), Error> {
    toy.scopes.pop();
    toy.applied.push(format!("/{}", &call.name[1..]));
    Ok(())
}

const fn row(
    name: &'static str,
    args: Args<Toy>,
    scope: Scope,
    help: &'static str,
    apply: config::directive::Apply<Toy>,
) -> Directive<Toy> {
    Directive { name, args, scope, default: "", help, apply }
}

const SOME: SectionArgs = SectionArgs::Some;

pub(crate) static TOY: ModuleDirectives<Toy> = ModuleDirectives {
    name: "toy_module",
    file: "toy.c",
    directives: &[
        row("<VirtualHost", Args::Section(SOME, leave), Scope::SERVER, "", enter_host),
        row(
            "<Directory",
            Args::Section(SOME, leave_directory),
            Scope::RSRC_CONF,
            "",
            enter_directory,
        ),
        row("<Location", Args::Section(SOME, leave), Scope::RSRC_CONF, "", enter_location),
        row(
            "<Files",
            Args::Section(SOME, leave),
            Scope::OR_ALL.without(Scope::LOCATION),
            "",
            enter_files,
        ),
        row(
            "<RequireAll",
            Args::Section(SectionArgs::None, leave_group),
            Scope::OR_AUTHCFG,
            "",
            enter_group,
        ),
        row(
            "KeepAlive",
            Args::Flag,
            Scope::RSRC_CONF,
            "Whether persistent connections should be On or Off",
            flag,
        ),
        row(
            "KeepAliveTimeout",
            Args::One,
            Scope::RSRC_CONF,
            "Keep-Alive timeout duration (sec)",
            duration,
        ),
        row(
            "MaxKeepAliveRequests",
            Args::One,
            Scope::RSRC_CONF,
            "Maximum number of Keep-Alive requests per connection, or 0 for infinite",
            number,
        ),
        row(
            "StartServers",
            Args::One,
            Scope::SERVER,
            "Number of child processes launched at server startup",
            clamped,
        ),
        row(
            "Listen",
            Args::OneOrMore,
            Scope::RSRC_CONF,
            "A port number or a numeric IP address and a port number, and an optional protocol",
            words,
        ),
        row(
            "ServerSignature",
            Args::One,
            Scope::OR_ALL,
            "En-/disable server signature (on|off|email)",
            keyword,
        ),
        row(
            "ErrorDocument",
            Args::Two,
            Scope::OR_FILEINFO,
            "Change responses for HTTP errors",
            words,
        ),
        row(
            "LimitInternalRecursion",
            Args::OneOrTwo,
            Scope::RSRC_CONF,
            "maximum recursion depth of internal redirects and subrequests",
            words,
        ),
        row(
            "CustomLog",
            Args::TwoOrThree,
            Scope::RSRC_CONF,
            "a file name, a custom log format string or format name, and an optional \"env=\" or \
             \"expr=\" clause (see docs)",
            words,
        ),
        row(
            "Protocols",
            Args::OneOrMore,
            Scope::RSRC_CONF,
            "Controls which protocols are allowed",
            words,
        ),
        row(
            "AddIcon",
            Args::TwoOrMore,
            Scope::OR_INDEXES,
            "an icon URL followed by one or more filenames",
            words,
        ),
        row("Options", Args::Any, Scope::OR_OPTIONS, "", options),
        row("AllowOverride", Args::Raw, Scope::ACCESS_CONF, "", raw),
        row("NameVirtualHost", Args::One, Scope::RSRC_CONF, "", useless),
        row("LimitRequestBody", Args::One, Scope::OR_ALL, "", bytes),
        // Kinds that few of httpd's own directives use.
        row("ToyNone", Args::None, Scope::OR_ALL, "no help", words),
        row("ToyThree", Args::Three, Scope::OR_ALL, "help", words),
        row("ToyOneOrThree", Args::OneOrThree, Scope::OR_ALL, "help", words),
        row("ToyOneTwoOrThree", Args::OneTwoOrThree, Scope::OR_ALL, "", words),
    ],
};
