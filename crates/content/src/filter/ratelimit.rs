//! ratelimit: how fast a response is sent, for the filter RATE_LIMIT (mod_ratelimit). It has no
//! directives: the variables `rate-limit` and `rate-initial-burst` say how fast, in kilobytes a
//! second and in kilobytes. Who waits is the connection.

use logging::level::Level;
use server::module::{Hooks, Module};
use server::send_rate::{RATE_INTERVAL_MS, SendRate};
use server::table::Table;

/// The module; it has no directives.
pub static MODULE: Module = Module::new("ratelimit_module", "mod_ratelimit.c", &[], Hooks::NONE);

/// The rate that the variables of a request say, if they say one (rate_limit_filter).
pub(super) fn rate(env: &Table, log: &dyn Fn(Level, &'static str, u32, &str)) -> Option<SendRate> {
    let text = env.get("rate-limit")?;
    let speed = kilobytes(text);
    if speed == 0 {
        let text = String::from_utf8_lossy(text);
        let text = format!("rl: disabling: rate-limit = {text} (too high?)");
        log(Level::Info, "ratelimit", 3488, &text);
        return None;
    }
    let mut burst_bytes = 0;
    if let Some(text) = env.get("rate-initial-burst") {
        burst_bytes = kilobytes(text);
        if burst_bytes == 0 {
            let text = String::from_utf8_lossy(text);
            let text = format!("rl: disabling burst: rate-initial-burst = {text} (too high?)");
            log(Level::Info, "ratelimit", 3489, &text);
        }
    }
    Some(SendRate { interval_bytes: speed / (1000 / RATE_INTERVAL_MS), burst_bytes })
}

/// The number that a text begins with, times 1024, as bytes; 0 for what is no good number, one that
/// httpd's int has no room for included.
fn kilobytes(text: &[u8]) -> u64 {
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b"+").unwrap_or(text);
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    let number = digits
        .fold(0_u64, |all, digit| all.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
    let bytes = number.saturating_mul(1024);
    if bytes > i32::MAX as u64 { 0 } else { bytes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn variables_say_how_fast() {
        for (limit, burst, expected, logged) in [
            (Some("400"), None, Some((81_920, 0)), 0),
            (Some(" 1x"), Some("2"), Some((204, 2048)), 0),
            (Some("10"), Some("no"), Some((2048, 0)), 3489),
            (Some("0"), Some("9"), None, 3488),
            (Some("-1"), None, None, 3488),
            (Some("99999999999"), None, None, 3488),
            (None, Some("9"), None, 0),
        ] {
            let mut env = Table::default();
            for (name, value) in [("rate-limit", limit), ("rate-initial-burst", burst)] {
                value.inspect(|value| env.set(name, *value));
            }
            let said = Cell::new(0);
            let rate = rate(&env, &|_, _, id, _| said.set(id));
            let rate = rate.map(|rate| (rate.interval_bytes, rate.burst_bytes));
            assert_eq!((rate, said.get()), (expected, logged), "{limit:?} {burst:?}");
        }
    }
}
