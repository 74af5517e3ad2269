//! reqtimeout: how long a client may take to send a request (mod_reqtimeout).

use config::{Args, Call, Directive, Error, Scope};
use server::module::{Hooks, Module};
use server::site::builder::Builder;
use server::site::timing::ReadTimeout;

/// The module and its table.
pub(crate) static MODULE: Module =
    Module::new("reqtimeout_module", "mod_reqtimeout.c", DIRECTIVES, Hooks::NONE);

static DIRECTIVES: &[Directive<Builder>] = &[Directive {
    name: "RequestReadTimeout",
    args: Args::Any,
    scope: Scope::RSRC_CONF,
    default: "header=20-40,MinRate=500 body=20,MinRate=500",
    help: "Set various timeout parameters for TLS handshake and/or reading request headers and \
           body",
    apply: request_read_timeout,
}];

fn request_read_timeout(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    for (nth, word) in call.args.iter().enumerate() {
        let (stage, value) = word.split_once('=').ok_or_else(|| {
            let text = "Invalid RequestReadTimeout parameter. Parameter must be in the form \
                        'key=value'";
            Error::argument(nth, text)
        })?;
        let wrong = |text: String| {
            Error::argument(nth, format!("RequestReadTimeout: {stage}={value}: {text}"))
        };
        let timing = &mut builder.host().timing;
        match stage.to_ascii_lowercase().as_str() {
            "header" => timing.header = Some(parse(value).map_err(wrong)?),
            "body" => timing.body = Some(parse(value).map_err(wrong)?),
            // No TLS here: nothing to bound.
            "handshake" => drop(parse(value).map_err(wrong)?),
            _ => return Err(wrong("Unknown RequestReadTimeout parameter".into())),
        }
    }
    Ok(())
}

/// `20`, `20,MinRate=500` or `20-40,MinRate=500` (set_reqtimeout_param).
fn parse(value: &str) -> Result<ReadTimeout, String> {
    const RATE: &str = ",minrate=";
    let Some(at) = value.to_ascii_lowercase().find(RATE) else {
        if value.contains('-') {
            return Err("Must set MinRate option if using timeout range".into());
        }
        let first = number(value)? * 1000;
        return Ok(ReadTimeout { first_ms: first, most_ms: first, min_rate: 0 });
    };
    let min_rate = number(&value[at + RATE.len()..])?;
    if min_rate == 0 {
        return Err("Minimum data rate must be larger than 0".into());
    }
    let (first, most) = match value[..at].split_once('-') {
        Some((first, most)) => (first, number(most)?),
        None => (&value[..at], 0),
    };
    let first = number(first)?;
    match most {
        0 => Ok(ReadTimeout { first_ms: first * 1000, most_ms: u64::MAX / 4, min_rate }),
        most if first >= most => Err("Maximum timeout must be larger than initial timeout".into()),
        most => Ok(ReadTimeout { first_ms: first * 1000, most_ms: most * 1000, min_rate }),
    }
}

/// A whole number of 32 bits (parse_int).
fn number(text: &str) -> Result<u64, String> {
    let unsigned = text.trim_start().trim_start_matches(['-', '+']);
    let rest = unsigned.trim_start_matches(|byte: char| byte.is_ascii_digit());
    if rest.len() == unsigned.len() {
        return Err(format!("Value '{text}' not numerical"));
    }
    if !rest.is_empty() {
        return Err(format!("Cannot parse '{rest}'"));
    }
    let value = text.trim_start().parse::<i32>().ok().and_then(|value| u64::try_from(value).ok());
    value.ok_or_else(|| "Value must be non-negative".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_mod_reqtimeout_reads_them() {
        let timeout = parse("20-40,MinRate=500").unwrap();
        assert_eq!(timeout.allowance_ms(0), 20_000);
        assert_eq!(timeout.allowance_ms(1000), 22_000);
        assert_eq!(timeout.allowance_ms(1 << 40), 40_000);
        let timeout = parse("10").unwrap();
        assert_eq!(timeout.allowance_ms(1 << 40), 10_000);
        assert!(parse("0").unwrap().allowance_ms(0) > 1 << 50, "0 is no limit");
        for bad in ["", "x", "40-20,MinRate=1", "20-40", "20,MinRate=0", "20,Rate=5"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
