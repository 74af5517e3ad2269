//! The directives of mime.

use super::Attribute;
use crate::site::builder::Builder;
use config::{Args, Call, Directive, Error, Module, Scope};

/// The module and its table.
pub(crate) static MODULE: Module<Builder> =
    Module { name: "mime_module", file: "mod_mime.c", directives: DIRECTIVES };

const fn row(
    name: &'static str,
    args: Args<Builder>,
    help: &'static str,
    apply: config::directive::Apply<Builder>,
) -> Directive<Builder> {
    Directive { name, args, scope: Scope::OR_FILEINFO, default: "", help, apply }
}

static DIRECTIVES: &[Directive<Builder>] = &[
    Directive {
        name: "TypesConfig",
        args: Args::One,
        scope: Scope::SERVER,
        default: "built in",
        help: "the MIME types config file",
        apply: types_config,
    },
    row(
        "AddType",
        Args::TwoOrMore,
        "a mime type followed by one or more file extensions",
        add_type,
    ),
    row(
        "AddEncoding",
        Args::TwoOrMore,
        "an encoding (e.g., gzip), followed by one or more file \
         extensions",
        add_encoding,
    ),
    row(
        "AddCharset",
        Args::TwoOrMore,
        "a charset (e.g., iso-2022-jp), followed by one or more \
         file extensions",
        add_charset,
    ),
    row(
        "AddLanguage",
        Args::TwoOrMore,
        "a language (e.g., fr), followed by one or more file \
         extensions",
        add_language,
    ),
    row("RemoveType", Args::OneOrMore, "one or more file extensions", remove_type),
    row("RemoveEncoding", Args::OneOrMore, "one or more file extensions", remove_encoding),
    row(
        "DefaultLanguage",
        Args::One,
        "language to use for documents with no other language file \
         extension",
        default_language,
    ),
    row("ForceType", Args::One, "a media type", force_type),
];

type Done = Result<(), Error>;

fn add(builder: &mut Builder, call: &Call<'_>, attribute: Attribute) -> Done {
    builder.settings().mime.add(attribute, &call.words()).map_err(Error::from)
}

fn types_config(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.server.types_config = Some(builder.server_path(call.arg(0)));
    Ok(())
}

fn add_type(builder: &mut Builder, call: &Call<'_>) -> Done {
    add(builder, call, Attribute::Type)
}

fn add_encoding(builder: &mut Builder, call: &Call<'_>) -> Done {
    add(builder, call, Attribute::Encoding)
}

fn add_charset(builder: &mut Builder, call: &Call<'_>) -> Done {
    add(builder, call, Attribute::Charset)
}

fn add_language(builder: &mut Builder, call: &Call<'_>) -> Done {
    add(builder, call, Attribute::Language)
}

fn remove_type(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.settings().mime.remove(Attribute::Type, &call.words()).map_err(Error::from)
}

fn remove_encoding(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.settings().mime.remove(Attribute::Encoding, &call.words()).map_err(Error::from)
}

fn default_language(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.settings().mime.set_default_language(call.arg(0));
    Ok(())
}

fn force_type(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.settings().mime.set_force_type(call.arg(0));
    Ok(())
}
