//! The directives of mime.

use super::{MimeAttribute, SETTINGS, TYPES};
use config::directive::row;
use config::{Args, Call, Directive, Error, Scope};
use content::filter::missing;
use server::metadata::Naming;
use server::module::{Hooks, Module};
use server::site::builder::Builder;

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    "mime_module",
    "mod_mime.c",
    DIRECTIVES,
    Hooks {
        naming: Some(Naming { metadata: super::metadata, uses_path_info: super::uses_path_info }),
        open: Some(super::open),
        ..Hooks::NONE
    },
);

const EXTENSIONS: &str = "one or more file extensions";

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("AddCharset", Args::TwoOrMore, Scope::OR_FILEINFO, "", "a charset (e.g., iso-2022-jp), followed by one or more file extensions", add_charset),
    row("AddEncoding", Args::TwoOrMore, Scope::OR_FILEINFO, "", "an encoding (e.g., gzip), followed by one or more file extensions", add_encoding),
    row("AddHandler", Args::TwoOrMore, Scope::OR_FILEINFO, "", "a handler name followed by one or more file extensions", add_handler),
    row("AddInputFilter", Args::TwoOrMore, Scope::OR_FILEINFO, "", "input filter name (or ; delimited names) followed by one or more file extensions", add_input_filter),
    row("AddLanguage", Args::TwoOrMore, Scope::OR_FILEINFO, "", "a language (e.g., fr), followed by one or more file extensions", add_language),
    row("AddOutputFilter", Args::TwoOrMore, Scope::OR_FILEINFO, "", "output filter name (or ; delimited names) followed by one or more file extensions", add_output_filter),
    row("AddType", Args::TwoOrMore, Scope::OR_FILEINFO, "", "a mime type followed by one or more file extensions", add_type),
    row("DefaultLanguage", Args::One, Scope::OR_FILEINFO, "", "language to use for documents with no other language file extension", default_language),
    row("ForceType", Args::One, Scope::OR_FILEINFO, "", "a mime type that overrides other configured type", force_type),
    Directive {
        name: "MultiviewsMatch",
        args: Args::OneOrMore,
        scope: Scope::OR_FILEINFO.without(Scope::LOCATION),
        default: "NegotiatedOnly",
        help: "NegotiatedOnly (default), Handlers and/or Filters, or Any",
        apply: multiviews_match,
    },
    row("RemoveCharset", Args::OneOrMore, Scope::OR_FILEINFO, "", EXTENSIONS, remove_charset),
    row("RemoveEncoding", Args::OneOrMore, Scope::OR_FILEINFO, "", EXTENSIONS, remove_encoding),
    row("RemoveHandler", Args::OneOrMore, Scope::OR_FILEINFO, "", EXTENSIONS, remove_handler),
    row("RemoveInputFilter", Args::OneOrMore, Scope::OR_FILEINFO, "", EXTENSIONS, remove_input_filter),
    row("RemoveLanguage", Args::OneOrMore, Scope::OR_FILEINFO, "", EXTENSIONS, remove_language),
    row("RemoveOutputFilter", Args::OneOrMore, Scope::OR_FILEINFO, "", EXTENSIONS, remove_output_filter),
    row("RemoveType", Args::OneOrMore, Scope::OR_FILEINFO, "", EXTENSIONS, remove_type),
    Directive {
        name: "TypesConfig",
        args: Args::One,
        scope: Scope::RSRC_CONF,
        default: "built in",
        help: "the MIME types config file",
        apply: types_config,
    },
    Directive {
        name: "ModMimeUsePathInfo",
        args: Args::Flag,
        scope: Scope::ACCESS_CONF,
        default: "Off",
        help: "Set to 'yes' to allow mod_mime to use path info for type checking",
        apply: mod_mime_use_path_info,
    },
];

type Done = Result<(), Error>;

fn add(builder: &mut Builder, call: &Call<'_>, attribute: MimeAttribute) -> Done {
    SETTINGS.change(builder.settings()).add(attribute, &call.words()).map_err(Error::from)
}

fn remove(builder: &mut Builder, call: &Call<'_>, attribute: MimeAttribute) -> Done {
    SETTINGS.change(builder.settings()).remove(attribute, &call.words()).map_err(Error::from)
}

fn types_config(builder: &mut Builder, call: &Call<'_>) -> Done {
    TYPES.change(&mut builder.server.modules).path = Some(builder.server_path(call.arg(0)));
    Ok(())
}

fn mod_mime_use_path_info(builder: &mut Builder, call: &Call<'_>) -> Done {
    SETTINGS.change(builder.settings()).set_use_path_info(call.on());
    Ok(())
}

fn add_type(builder: &mut Builder, call: &Call<'_>) -> Done {
    add(builder, call, MimeAttribute::Type)
}

fn add_encoding(builder: &mut Builder, call: &Call<'_>) -> Done {
    add(builder, call, MimeAttribute::Encoding)
}

fn add_charset(builder: &mut Builder, call: &Call<'_>) -> Done {
    add(builder, call, MimeAttribute::Charset)
}

fn add_language(builder: &mut Builder, call: &Call<'_>) -> Done {
    add(builder, call, MimeAttribute::Language)
}

fn add_handler(builder: &mut Builder, call: &Call<'_>) -> Done {
    add(builder, call, MimeAttribute::Handler)
}

fn add_input_filter(builder: &mut Builder, call: &Call<'_>) -> Done {
    add(builder, call, MimeAttribute::InputFilter)
}

fn add_output_filter(builder: &mut Builder, call: &Call<'_>) -> Done {
    missing::warn(builder, call, call.arg(0));
    add(builder, call, MimeAttribute::OutputFilter)
}

fn remove_type(builder: &mut Builder, call: &Call<'_>) -> Done {
    remove(builder, call, MimeAttribute::Type)
}

fn remove_encoding(builder: &mut Builder, call: &Call<'_>) -> Done {
    remove(builder, call, MimeAttribute::Encoding)
}

fn remove_charset(builder: &mut Builder, call: &Call<'_>) -> Done {
    remove(builder, call, MimeAttribute::Charset)
}

fn remove_language(builder: &mut Builder, call: &Call<'_>) -> Done {
    remove(builder, call, MimeAttribute::Language)
}

fn remove_handler(builder: &mut Builder, call: &Call<'_>) -> Done {
    remove(builder, call, MimeAttribute::Handler)
}

fn remove_input_filter(builder: &mut Builder, call: &Call<'_>) -> Done {
    remove(builder, call, MimeAttribute::InputFilter)
}

fn remove_output_filter(builder: &mut Builder, call: &Call<'_>) -> Done {
    remove(builder, call, MimeAttribute::OutputFilter)
}

fn default_language(builder: &mut Builder, call: &Call<'_>) -> Done {
    SETTINGS.change(builder.settings()).set_default_language(call.arg(0));
    Ok(())
}

fn force_type(builder: &mut Builder, call: &Call<'_>) -> Done {
    SETTINGS.change(builder.settings()).set_force_type(call.arg(0));
    Ok(())
}

fn multiviews_match(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.check_not_in_limit(call)?;
    for (nth, word) in call.args.iter().enumerate() {
        let added = SETTINGS.change(builder.settings()).add_multiviews_match(word);
        added.map_err(|text| Error::argument(nth, text))?;
    }
    Ok(())
}
