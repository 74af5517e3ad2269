//! example: adds the field `X-Example` with the text of `ExampleText`. This is all that a module
//! needs, beside its `mod` line and its row in `TABLE`. Only tests have it.

use config::directive::row;
use config::{Args, Call, Directive, Error, Scope};
use server::failure::Failure;
use server::module::{Hooks, Module};
use server::request_context::RequestContext;
use server::response::Response;
use server::site::builder::Builder;
use server::site::settings::DirectoryKey;
use server::site::store::{Merge, either};

/// The module, its table and its hooks.
static MODULE: Module = Module::new(
    "example_module",
    "mod_example.c",
    DIRECTIVES,
    Hooks { finish: Some(finish), ..Hooks::NONE },
);

static DIRECTIVES: &[Directive<Builder>] =
    &[row("ExampleText", Args::One, Scope::OR_FILEINFO, "", "the value of X-Example", text)];

/// The key of the per-directory settings.
static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings.
#[derive(Clone, Debug, Default)]
struct Settings {
    text: Option<String>,
}

impl Merge for Settings {
    fn over(&self, outer: &Self) -> Self {
        Self { text: either(self.text.as_ref(), outer.text.as_ref()) }
    }
}

fn text(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    SETTINGS.change(builder.settings()).text = Some(call.arg(0).to_owned());
    Ok(())
}

/// Finish hook.
fn finish(request: &mut RequestContext<'_>, response: &mut Response) -> Result<(), Failure> {
    SETTINGS.of(&request.settings).add_to(response);
    Ok(())
}

impl Settings {
    fn add_to(&self, response: &mut Response) {
        if let Some(text) = &self.text {
            response.set("X-Example", text.as_str());
        }
    }
}

#[test]
fn a_module_is_its_file_and_one_row() {
    use server::hook::Phases;
    use server::site::settings;
    let index = config::DirectiveIndex::new(&[&MODULE.table], &[]);
    let settings_of = |text: &str| {
        let mut builder = Builder::default();
        let tree = config::parse("t.conf", text.as_bytes(), 1);
        assert!(config::apply(&tree.nodes, &index, &mut builder).is_empty());
        builder.settings().clone()
    };
    let (outer, inner) = (settings_of("ExampleText outer\n"), settings_of("ExampleText inner\n"));
    let field = |settings: &settings::Settings| {
        let mut response = Response::new(message::Status::OK);
        SETTINGS.of(settings).add_to(&mut response);
        response.fields.iter().map(|field| field.1.clone()).collect::<Vec<_>>()
    };
    assert_eq!(field(&settings::Settings::merge(&outer, &inner)), [b"inner".to_vec()]);
    assert_eq!(field(&settings::Settings::merge(&outer, &settings_of(""))), [b"outer".to_vec()]);
    assert!(field(&settings_of("")).is_empty());
    assert_eq!(Phases::of([&MODULE].into_iter()).finish.len(), 1);
}
