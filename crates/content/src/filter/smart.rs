//! Smart filters (mod_filter): declared by name, with providers that are tried by media type or
//! condition, and put in a chain. `AddOutputFilterByType` makes one behind the scenes.

use super::{FilterFacts, FilterKind, SETTINGS};
use config::directive::row;
use config::{Args, Call, Directive, Error, Scope};
use server::content_coding::Uncertain;
use server::module::{Hooks, Module};
use server::response::Response;
use server::site::builder::Builder;
use server::site::expression::Expression;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The module and its table.
pub static MODULE: Module = Module::new("filter_module", "mod_filter.c", DIRECTIVES, Hooks::NONE);

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("FilterDeclare", Args::OneOrTwo, Scope::OR_OPTIONS, "", "filter-name [filter-type]", filter_declare),
    row("FilterProvider", Args::Three, Scope::OR_OPTIONS, "", "filter-name provider-name match-expression", filter_provider),
    row("FilterChain", Args::OneOrMore, Scope::OR_OPTIONS, "", "list of filter names with optional [+-=!@]", filter_chain),
    row("FilterTrace", Args::Two, Scope::ANY_CONF, "", "filter-name debug-level", filter_trace),
    row("AddOutputFilterByType", Args::Argv, Scope::OR_FILEINFO, "", "output filter name followed by one or more content-types", add_output_filter_by_type),
    row("FilterProtocol", Args::TwoOrThree, Scope::OR_OPTIONS, "", "filter-name [provider-name] protocol-args", filter_protocol),
];

/// The smart filters of a section.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// Shared with the sections that inherit them.
    declared: BTreeMap<String, Arc<Smart>>,
    /// `None` stands for a reset: what comes before it, also in outer sections, does not count.
    chain: Vec<Option<String>>,
}

/// A filter of mod_filter: it has providers, of which the response chooses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Smart {
    pub(crate) place: u32,
    /// The latest first, as mod_filter keeps them.
    providers: Vec<SmartProvider>,
    /// What `FilterProtocol` says of the filter itself counts for another server's answers only.
    flags: ProtocolFlags,
}

/// What a smart filter may become.
#[derive(Clone, Debug)]
struct SmartProvider {
    kind: FilterKind,
    condition: ProviderCondition,
    flags: ProtocolFlags,
}

#[derive(Clone, Debug)]
enum ProviderCondition {
    /// The media type is one of these.
    Types(Vec<String>),
    /// An expression holds.
    Expression(Expression),
}

/// `FilterProtocol`: what a filter does to the protocol that it does not say itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ProtocolFlags {
    changes: bool,
    no_ranges: bool,
    no_cache: bool,
    /// Not for the answers of another server, or not for those that forbid it.
    no_proxy: bool,
    transforms: bool,
}

/// What an answer says in `Cache-Control` that wants to be passed on as it is.
const NO_TRANSFORM: &[u8] = b"no-transform";

/// Where filters of a type stand: data passes from low to high (`ap_filter_type`).
const RESOURCE: u32 = 10;
const CONTENT_SET: u32 = 20;
const PROTOCOL: u32 = 30;
const CONNECTION: u32 = 50;
const NETWORK: u32 = 60;

impl Settings {
    /// `inner` over `outer` (filter_merge).
    pub(crate) fn over(&self, outer: &Self) -> Self {
        let mut declared = outer.declared.clone();
        declared.extend(self.declared.iter().map(|(name, smart)| (name.clone(), smart.clone())));
        let mut chain = outer.chain.clone();
        chain.extend(self.chain.iter().cloned());
        Self { declared, chain }
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.chain.is_empty()
    }

    /// Whether a filter of the chain has this one among its providers.
    pub(crate) fn may_become(&self, kind: FilterKind) -> bool {
        let has = |smart: &Smart| smart.providers.iter().any(|provider| provider.kind == kind);
        self.chain().any(|(_, smart)| smart.is_some_and(has))
    }

    /// The filters of the chain by name; `None` for one that nobody has declared.
    pub(crate) fn chain(&self) -> impl Iterator<Item = (&str, Option<&Smart>)> {
        let start = self.chain.iter().rposition(Option::is_none).map_or(0, |reset| reset + 1);
        let names = self.chain[start..].iter().filter_map(Option::as_deref);
        names.map(|name| (name, self.declared.get(name).map(|smart| &**smart)))
    }

    fn declare(&mut self, name: &str, place: u32) {
        let smart = Smart { place, ..Smart::default() };
        self.declared.insert(name.to_owned(), Arc::new(smart));
    }

    fn provide(&mut self, name: &str, kind: FilterKind, condition: ProviderCondition) {
        let provider = SmartProvider { kind, condition, flags: ProtocolFlags::default() };
        match self.declared.get_mut(name) {
            Some(known) => Arc::make_mut(known).providers.insert(0, provider),
            None => {
                let providers = vec![provider];
                let smart = Smart { place: kind.place(), providers, ..Smart::default() };
                self.declared.insert(name.to_owned(), Arc::new(smart));
            }
        }
    }

    /// One word of `FilterChain`.
    fn link(&mut self, word: &str) {
        let name = |skip: usize| word.get(skip..).unwrap_or_default().to_owned();
        match word.as_bytes().first() {
            Some(b'+') => self.chain.push(Some(name(1))),
            Some(b'@') => self.chain.insert(0, Some(name(1))),
            Some(b'-') => self.unlink(&name(1)),
            Some(b'!') => self.chain = vec![None],
            Some(b'=') => self.chain = vec![None, Some(name(1))],
            _ => self.chain.push(Some(name(0))),
        }
    }

    /// As filter_chain does it: the first link alone, if it has the name, else all that have it.
    fn unlink(&mut self, name: &str) {
        let has_name = |link: &Option<String>| {
            link.as_ref().is_some_and(|link| link.eq_ignore_ascii_case(name))
        };
        if self.chain.first().is_some_and(has_name) {
            self.chain.remove(0);
        } else {
            self.chain.retain(|link| !has_name(link));
        }
    }
}

impl Smart {
    /// The filter that this smart filter becomes for a response (filter_lookup); `None` leaves the
    /// response alone. What `FilterProtocol` says about the provider is done to the fields.
    pub(crate) fn choose(
        &self,
        response: &mut Response,
        facts: &FilterFacts<'_>,
    ) -> Option<FilterKind> {
        let allows = |flags: ProtocolFlags| {
            !flags.is_about_proxies() || (facts.proxied)().is_none() || !flags.forbids(response)
        };
        if !allows(self.flags) {
            return None;
        }
        let content_type = response.content_type.as_deref();
        let holds = |condition: &Expression| (facts.holds)(condition, response);
        let provider = self.provider(content_type, &holds, &allows)?;
        if provider.flags.transforms
            && let Some(host) = (facts.proxied)()
        {
            let host = host.unwrap_or_else(|| b"(null)".to_vec());
            let warning = [b"214 ", &host[..], b" Transformation applied"].concat();
            response.fields.push(("Warning".into(), warning));
        }
        provider.flags.apply(response);
        Some(provider.kind)
    }

    /// The filter that this smart filter becomes for a media type, or `Uncertain` if the request
    /// decides.
    pub(crate) fn by_type(
        &self,
        content_type: Option<&str>,
    ) -> Result<Option<FilterKind>, Uncertain> {
        let is_expression =
            |p: &SmartProvider| matches!(p.condition, ProviderCondition::Expression(_));
        // Flags change fields as well, of which a prepared response could tell nothing.
        if self.providers.iter().any(|p| is_expression(p) || p.flags != ProtocolFlags::default()) {
            return Err(Uncertain);
        }
        let provider = self.provider(content_type, &|_| false, &|_| true);
        Ok(provider.map(|provider| provider.kind))
    }

    fn provider(
        &self,
        content_type: Option<&str>,
        holds: &dyn Fn(&Expression) -> bool,
        allows: &dyn Fn(ProtocolFlags) -> bool,
    ) -> Option<&SmartProvider> {
        let bare = content_type.map(|text| text.split([';', ' ', '\t']).next().unwrap_or(""));
        let fits = |provider: &&SmartProvider| match &provider.condition {
            ProviderCondition::Types(types) => {
                bare.is_some_and(|bare| types.iter().any(|t| t == bare))
            }
            ProviderCondition::Expression(condition) => holds(condition),
        };
        self.providers.iter().find(|provider| fits(provider) && allows(provider.flags))
    }
}

/// Says whether an expression holds for a response.
pub(crate) type Holds<'a> = dyn Fn(&Expression, &Response) -> bool + 'a;

impl ProtocolFlags {
    /// Words such as `change=yes`; unknown ones are passed over, as in httpd.
    fn parse(text: &str) -> Self {
        let mut flags = Self::default();
        for word in text.split([';', ',', ' ', '\t']) {
            match word.to_ascii_lowercase().as_str() {
                // The length that is sent is the content's own, whatever a filter does to that.
                "change=yes" | "change=1:1" => flags.changes = true,
                "change=no" => flags.changes = false,
                "byteranges=no" => flags.no_ranges = true,
                "cache=no" => flags.no_cache = true,
                "proxy=no" => flags.no_proxy = true,
                "proxy=transform" => flags.transforms = true,
                _ => {}
            }
        }
        flags
    }

    fn is_about_proxies(self) -> bool {
        self.no_proxy || self.transforms
    }

    /// Whether another server's answer must not pass.
    fn forbids(self, response: &Response) -> bool {
        let says_so = |value: &[u8]| {
            value.windows(NO_TRANSFORM.len()).any(|it| it.eq_ignore_ascii_case(NO_TRANSFORM))
        };
        self.no_proxy || self.transforms && response.get("Cache-Control").is_some_and(says_so)
    }

    /// What httpd does before such a filter runs (filter_lookup of mod_filter.c).
    fn apply(self, response: &mut Response) {
        if self.changes {
            response.unset("Content-MD5");
            response.unset("ETag");
        }
        if self.no_cache {
            response.unset("Last-Modified");
            response.fields.push(("Cache-Control".into(), b"no-cache".to_vec()));
        }
        if self.no_ranges {
            response.set("Accept-Ranges", b"none".to_vec());
        }
    }
}

fn settings(builder: &mut Builder) -> &mut Settings {
    &mut SETTINGS.change(builder.settings()).smart
}

fn filter_declare(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let place = match call.arg(1).to_ascii_uppercase().as_str() {
        "CONTENT_SET" => CONTENT_SET,
        "PROTOCOL" => PROTOCOL,
        "CONNECTION" => CONNECTION,
        "NETWORK" => NETWORK,
        _ => RESOURCE,
    };
    settings(builder).declare(call.arg(0), place);
    Ok(())
}

fn known(builder: &Builder, name: &str, nth: usize) -> Result<FilterKind, Error> {
    let unknown = || Error::argument(nth, format!("Unknown filter provider {name}"));
    FilterKind::loaded(name, &|symbol| builder.has_module(symbol)).ok_or_else(unknown)
}

fn filter_provider(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let kind = known(builder, call.arg(1), 1)?;
    let mode = builder.mode();
    let condition = Expression::parse(call.arg(2), mode).map_err(|text| {
        Error::argument(2, format!("Error parsing FilterProvider expression:{text}"))
    })?;
    settings(builder).provide(call.arg(0), kind, ProviderCondition::Expression(condition));
    Ok(())
}

fn filter_chain(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    call.args.iter().for_each(|word| settings(builder).link(word));
    Ok(())
}

fn add_output_filter_by_type(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let [names, types @ ..] = call.args else { return Err(by_type_needs_two()) };
    if types.is_empty() {
        return Err(by_type_needs_two());
    }
    for name in names.split(';').filter(|name| !name.is_empty()) {
        let kind = known(builder, name, 0)?;
        let smart = format!("BYTYPE:{name}");
        let settings = settings(builder);
        let is_new = !settings.declared.contains_key(&smart);
        settings.provide(&smart, kind, ProviderCondition::Types(types.to_vec()));
        if is_new {
            settings.link(&smart);
        }
    }
    Ok(())
}

fn by_type_needs_two() -> Error {
    Error::from("AddOutputFilterByType requires at least two arguments")
}

/// Checked, and of no further effect: there are no bucket brigades to trace.
fn filter_trace(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    declared(builder, call.arg(0))
        .map(drop)
        .ok_or_else(|| Error::argument(0, format!("Undeclared smart filter {}", call.arg(0))))
}

fn declared<'a>(builder: &'a mut Builder, name: &str) -> Option<&'a mut Smart> {
    settings(builder).declared.get_mut(name).map(Arc::make_mut)
}

fn filter_protocol(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let no_filter = || Error::argument(0, "FilterProtocol: No such filter");
    let smart = declared(builder, call.arg(0)).ok_or_else(no_filter)?;
    let [_, name, flags] = call.args else {
        // What else may be said of the filter itself takes `Range` from requests, and gives it back
        // if a provider is found.
        smart.flags = ProtocolFlags::parse(call.arg(1));
        return Ok(());
    };
    let no_provider = || Error::argument(1, "FilterProtocol: No such provider for this filter");
    let kind = FilterKind::find(name).ok_or_else(no_provider)?;
    let mut providers = smart.providers.iter_mut();
    let provider = providers.find(|provider| provider.kind == kind).ok_or_else(no_provider)?;
    provider.flags = ProtocolFlags::parse(flags);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(words: &[&str]) -> Settings {
        let mut settings = Settings::default();
        words.iter().for_each(|word| settings.link(word));
        settings
    }

    fn names(settings: &Settings) -> Vec<&str> {
        settings.chain().map(|(name, _)| name).collect()
    }

    #[test]
    fn a_chain_is_changed_and_merged_as_mod_filter_does() {
        assert_eq!(names(&chain(&["a", "+b", "@c", "-A"])), ["c", "b"]);
        assert_eq!(names(&chain(&["a", "!", "b"])), ["b"]);
        assert_eq!(names(&chain(&["a", "=b", "c"])), ["b", "c"]);
        let outer = chain(&["a", "b"]);
        assert_eq!(names(&chain(&["c"]).over(&outer)), ["a", "b", "c"]);
        assert_eq!(names(&chain(&["!", "c"]).over(&outer)), ["c"]);
        assert_eq!(names(&chain(&[]).over(&outer)), ["a", "b"]);
        assert_eq!(names(&chain(&["-b"]).over(&outer)), ["a", "b"], "an inner - is no link");
    }

    #[test]
    fn the_latest_provider_that_fits_is_chosen() {
        let mut settings = Settings::default();
        let html = ProviderCondition::Types(vec!["text/html".into()]);
        settings.provide("f", FilterKind::Deflate, html.clone());
        settings.provide("f", FilterKind::Brotli, html);
        settings.provide(
            "f",
            FilterKind::Deflate,
            ProviderCondition::Types(vec!["text/css".into()]),
        );
        let smart = &settings.declared["f"];
        assert_eq!(smart.by_type(Some("text/html; charset=utf-8")), Ok(Some(FilterKind::Brotli)));
        assert_eq!(smart.by_type(Some("text/css")), Ok(Some(FilterKind::Deflate)));
        assert_eq!(smart.by_type(Some("text/htm")), Ok(None));
        assert_eq!(smart.by_type(None), Ok(None));
        settings.provide(
            "f",
            FilterKind::Deflate,
            ProviderCondition::Expression(
                Expression::parse("true", server::site::expression::Mode::default()).unwrap(),
            ),
        );
        assert_eq!(settings.declared["f"].by_type(Some("text/css")), Err(Uncertain));
    }
}
