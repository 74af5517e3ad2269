//! reqtimeout: how long a client may take to send a request (mod_reqtimeout).

use crate::site::builder::Builder;
use crate::site::timing::ReadTimeout;
use config::{Args, Call, Directive, Error, Module, Scope};

/// The module and its table.
pub(crate) static MODULE: Module<Builder> =
    Module { name: "reqtimeout_module", file: "mod_reqtimeout.c", directives: DIRECTIVES };

static DIRECTIVES: &[Directive<Builder>] = &[Directive {
    name: "RequestReadTimeout",
    args: Args::OneOrMore,
    scope: Scope::RSRC_CONF,
    default: "header=20-40,MinRate=500 body=20,MinRate=500",
    help: "Set various timeouts for TLS handshake, reading request headers and body",
    apply: request_read_timeout,
}];

fn request_read_timeout(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    for (nth, word) in call.args.iter().enumerate() {
        let (stage, value) = word
            .split_once('=')
            .ok_or_else(|| Error::argument(nth, "Invalid RequestReadTimeout parameter"))?;
        let timeout = parse(value).map_err(|text| Error::argument(nth, text))?;
        match stage.to_ascii_lowercase().as_str() {
            "header" => builder.host().timing.header = Some(timeout),
            "body" => builder.host().timing.body = Some(timeout),
            "handshake" => {} // no TLS here: nothing to bound
            _ => return Err(Error::argument(nth, "Unknown RequestReadTimeout parameter")),
        }
    }
    Ok(())
}

/// `20`, `20,MinRate=500` or `20-40,MinRate=500`.
fn parse(value: &str) -> Result<ReadTimeout, &'static str> {
    let (times, rate) = match value.split_once(',') {
        Some((times, rate)) => (times, Some(rate)),
        None => (value, None),
    };
    let seconds = |text: &str| -> Result<u64, &'static str> {
        let seconds: u32 = text.parse().map_err(|_| "Unable to parse timeout")?;
        Ok(u64::from(seconds) * 1000)
    };
    let (first, most) = match times.split_once('-') {
        Some((first, most)) => (seconds(first)?, Some(seconds(most)?)),
        None => (seconds(times)?, None),
    };
    let min_rate = match rate {
        None => 0,
        Some(text) => {
            let (name, number) = text.split_once('=').unwrap_or((text, ""));
            if !name.eq_ignore_ascii_case("minrate") {
                return Err("Invalid RequestReadTimeout parameter: MinRate=N expected");
            }
            number.parse().ok().filter(|rate| *rate > 0).ok_or("Minimum data rate must be > 0")?
        }
    };
    match most {
        Some(most) if most < first => Err("Maximum timeout must be larger than initial timeout"),
        Some(_) if min_rate == 0 => Err("Must set MinRate if a maximum timeout is given"),
        Some(most) => Ok(ReadTimeout { first_ms: first, most_ms: most, min_rate }),
        None if min_rate > 0 => {
            Ok(ReadTimeout { first_ms: first, most_ms: u64::MAX / 4, min_rate })
        }
        None => Ok(ReadTimeout { first_ms: first, most_ms: first, min_rate: 0 }),
    }
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
