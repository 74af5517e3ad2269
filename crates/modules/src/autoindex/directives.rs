//! The directives of autoindex.

use super::SETTINGS;
use super::options::By;
use config::directive::row;
use config::{Args, Call, Directive, Error, Scope};
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::site::builder::Builder;

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    "autoindex_module",
    "mod_autoindex.c",
    DIRECTIVES,
    Hooks {
        resolve: Some(Hook::Now(super::listing::resolve)),
        complete: Some(super::complete),
        ..Hooks::NONE
    },
);

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("IndexOptions", Args::Argv, Scope::OR_INDEXES, "", "one or more index options [+|-][]", index_options),
    row("IndexOrderDefault", Args::Two, Scope::OR_INDEXES, "", "{Ascending,Descending} {Name,Size,Description,Date}", index_order_default),
    row("IndexIgnore", Args::OneOrMore, Scope::OR_INDEXES, "", "one or more file extensions", index_ignore),
    row("IndexIgnoreReset", Args::Flag, Scope::OR_INDEXES, "", "Reset the inherited list of IndexIgnore filenames", index_ignore_reset),
    row("IndexStyleSheet", Args::One, Scope::OR_INDEXES, "", "URL to style sheet", index_style_sheet),
    row("IndexHeadInsert", Args::One, Scope::OR_INDEXES, "", "String to insert in HTML HEAD section", index_head_insert),
    row("AddIcon", Args::TwoOrMore, Scope::OR_INDEXES, "", "an icon URL followed by one or more filenames", add_icon),
    row("AddIconByType", Args::TwoOrMore, Scope::OR_INDEXES, "", "an icon URL followed by one or more MIME types", add_icon_by_type),
    row("AddIconByEncoding", Args::TwoOrMore, Scope::OR_INDEXES, "", "an icon URL followed by one or more content encodings", add_icon_by_encoding),
    row("AddAlt", Args::TwoOrMore, Scope::OR_INDEXES, "", "alternate descriptive text followed by one or more filenames", add_alt),
    row("AddAltByType", Args::TwoOrMore, Scope::OR_INDEXES, "", "alternate descriptive text followed by one or more MIME types", add_alt_by_type),
    row("AddAltByEncoding", Args::TwoOrMore, Scope::OR_INDEXES, "", "alternate descriptive text followed by one or more content encodings", add_alt_by_encoding),
    Directive {
        name: "FancyIndexing",
        args: Args::Raw,
        scope: Scope::OR_ALL,
        default: "",
        help: NO_FANCY_INDEXING,
        apply: fancy_indexing,
    },
    row("AddDescription", Args::TwoOrMore, Scope::OR_INDEXES, "", "Descriptive text followed by one or more filenames", add_description),
    row("HeaderName", Args::One, Scope::OR_INDEXES, "", "a filename", header_name),
    row("ReadmeName", Args::One, Scope::OR_INDEXES, "", "a filename", readme_name),
    row("DefaultIcon", Args::One, Scope::OR_INDEXES, "", "an icon URL", default_icon),
];

type Done = Result<(), Error>;

fn index_options(builder: &mut Builder, call: &Call<'_>) -> Done {
    SETTINGS.change(builder.settings()).index_options(&call.words()).map_err(Error::from)
}

fn index_order_default(builder: &mut Builder, call: &Call<'_>) -> Done {
    let options = SETTINGS.change(builder.settings());
    options.index_order_default(call.arg(0), call.arg(1)).map_err(Error::from)
}

fn index_ignore(builder: &mut Builder, call: &Call<'_>) -> Done {
    let section = builder.directory();
    SETTINGS.change(builder.settings()).index_ignore(&call.words(), &section).map_err(Error::from)
}

fn index_ignore_reset(builder: &mut Builder, call: &Call<'_>) -> Done {
    SETTINGS.change(builder.settings()).ignore_reset = call.on();
    Ok(())
}

fn index_style_sheet(builder: &mut Builder, call: &Call<'_>) -> Done {
    SETTINGS.change(builder.settings()).style_sheet = Some(call.arg(0).to_owned());
    Ok(())
}

fn index_head_insert(builder: &mut Builder, call: &Call<'_>) -> Done {
    SETTINGS.change(builder.settings()).head_insert = Some(call.arg(0).to_owned());
    Ok(())
}

fn icon(builder: &mut Builder, call: &Call<'_>, by: By) -> Done {
    let section = builder.directory();
    SETTINGS.change(builder.settings()).add_icon(by, &call.words(), &section).map_err(Error::from)
}

fn add_icon(builder: &mut Builder, call: &Call<'_>) -> Done {
    icon(builder, call, By::Path)
}

fn add_icon_by_type(builder: &mut Builder, call: &Call<'_>) -> Done {
    icon(builder, call, By::Type)
}

fn add_icon_by_encoding(builder: &mut Builder, call: &Call<'_>) -> Done {
    icon(builder, call, By::Encoding)
}

fn alt(builder: &mut Builder, call: &Call<'_>, by: By) -> Done {
    let section = builder.directory();
    SETTINGS.change(builder.settings()).add_alt(by, &call.words(), &section).map_err(Error::from)
}

fn add_alt(builder: &mut Builder, call: &Call<'_>) -> Done {
    alt(builder, call, By::Path)
}

fn add_alt_by_type(builder: &mut Builder, call: &Call<'_>) -> Done {
    alt(builder, call, By::Type)
}

fn add_alt_by_encoding(builder: &mut Builder, call: &Call<'_>) -> Done {
    alt(builder, call, By::Encoding)
}

const NO_FANCY_INDEXING: &str =
    "The FancyIndexing directive is no longer supported. Use IndexOptions FancyIndexing.";

fn fancy_indexing(_: &mut Builder, _: &Call<'_>) -> Done {
    Err(NO_FANCY_INDEXING.into())
}

fn add_description(builder: &mut Builder, call: &Call<'_>) -> Done {
    SETTINGS.change(builder.settings()).add_description(&call.words()).map_err(Error::from)
}

fn default_icon(builder: &mut Builder, call: &Call<'_>) -> Done {
    SETTINGS.change(builder.settings()).default_icon = Some(call.arg(0).to_owned());
    Ok(())
}

fn header_name(builder: &mut Builder, call: &Call<'_>) -> Done {
    SETTINGS.change(builder.settings()).header_name = Some(call.arg(0).to_owned());
    Ok(())
}

fn readme_name(builder: &mut Builder, call: &Call<'_>) -> Done {
    SETTINGS.change(builder.settings()).readme_name = Some(call.arg(0).to_owned());
    Ok(())
}
