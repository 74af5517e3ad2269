//! The flags of a `RewriteRule` (cmd_rewriterule_setflag of mod_rewrite.c).

use crate::template::Template;
use crate::words::atoi;
use config::Error;
use message::Status;
use std::fmt;

/// What a flag switches on, by bits.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RuleFlags(u32);

impl RuleFlags {
    /// `R`
    pub(crate) const REDIRECT: Self = Self(1);
    /// `R` with a status that is no redirection, `F`, `G`
    pub(crate) const STATUS: Self = Self(1 << 1);
    /// `L`
    pub(crate) const LAST: Self = Self(1 << 2);
    /// `END`
    pub(crate) const END: Self = Self(1 << 3);
    /// `N`
    pub(crate) const NEXT: Self = Self(1 << 4);
    /// `C`
    pub(crate) const CHAIN: Self = Self(1 << 5);
    /// `NS`
    pub(crate) const NO_SUBREQUEST: Self = Self(1 << 6);
    /// `P`
    pub(crate) const PROXY: Self = Self(1 << 7);
    /// `PT`
    pub(crate) const PASS_THROUGH: Self = Self(1 << 8);
    /// `QSA`
    pub(crate) const QUERY_APPEND: Self = Self(1 << 9);
    /// `QSD`
    pub(crate) const QUERY_DISCARD: Self = Self(1 << 10);
    /// `QSL`
    pub(crate) const QUERY_LAST: Self = Self(1 << 11);
    /// The substitution ends with a `?`: there is no query.
    pub(crate) const QUERY_NONE: Self = Self(1 << 12);
    /// `NC`
    pub(crate) const NO_CASE: Self = Self(1 << 13);
    /// `NE`
    pub(crate) const NO_ESCAPE: Self = Self(1 << 14);
    /// `B`
    pub(crate) const ESCAPE_GROUPS: Self = Self(1 << 15);
    /// `BNP`
    pub(crate) const NO_PLUS: Self = Self(1 << 16);
    /// `BCTLS`
    pub(crate) const ESCAPE_CONTROLS: Self = Self(1 << 17);
    /// `DPI`
    pub(crate) const DISCARD_PATH_INFO: Self = Self(1 << 18);
    /// `UnsafePrefixStat`
    pub(crate) const UNSAFE_PREFIX_STAT: Self = Self(1 << 19);
    /// `UnsafeAllow3F`
    pub(crate) const UNSAFE_ALLOW_3F: Self = Self(1 << 20);
    /// `UNC`
    pub(crate) const KEEP_SLASHES: Self = Self(1 << 21);
    /// The pattern begins with `!`.
    pub(crate) const NOT: Self = Self(1 << 22);
    /// The substitution is `-`, or the status needs none.
    pub(crate) const NO_SUBSTITUTION: Self = Self(1 << 23);

    /// Whether any of `these` is set.
    pub(crate) fn has(self, these: Self) -> bool {
        self.0 & these.0 != 0
    }

    /// Both.
    #[must_use]
    pub(crate) const fn with(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    pub(crate) fn set(&mut self, more: Self) {
        *self = self.with(more);
    }
}

impl fmt::Debug for RuleFlags {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RuleFlags({:#x})", self.0)
    }
}

/// All that the flags of a rule say.
#[derive(Clone, Debug)]
pub(crate) struct RuleActions {
    pub(crate) flags: RuleFlags,
    /// `R`: the status, which counts where the rule leads to another server, too.
    pub(crate) status: u16,
    /// `S`
    pub(crate) skip: usize,
    /// `N`
    pub(crate) rounds_max: i64,
    /// `T`
    pub(crate) media_type: Option<Template>,
    /// `H`
    pub(crate) handler: Option<Template>,
    /// `E`
    pub(crate) env: Vec<Template>,
    /// `CO`
    pub(crate) cookies: Vec<Template>,
    /// `B`: these only.
    pub(crate) escapes: Option<Box<str>>,
    /// `BNE`
    pub(crate) no_escapes: Option<Box<str>>,
}

/// How often `N` begins again by default (REWRITE_MAX_ROUNDS).
const ROUNDS_MAX: i64 = 32000;

impl Default for RuleActions {
    fn default() -> Self {
        Self {
            flags: RuleFlags::default(),
            status: Status::FOUND.code(),
            skip: 0,
            rounds_max: ROUNDS_MAX,
            media_type: None,
            handler: None,
            env: Vec::new(),
            cookies: Vec::new(),
            escapes: None,
            no_escapes: None,
        }
    }
}

impl RuleActions {
    /// Take a flag in; its name has no case.
    pub(crate) fn add(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let given = (!value.is_empty()).then(|| value.into());
        let lower = name.to_ascii_lowercase();
        let flag = match lower.as_str() {
            "b" | "backrefescaping" => {
                self.escapes = given.or(self.escapes.take());
                RuleFlags::ESCAPE_GROUPS
            }
            "bne" if given.is_none() => {
                return Err("flag 'BNE' wants a list of characters (i.e. [BNE=...])".into());
            }
            "bne" => {
                self.no_escapes = given;
                RuleFlags::default()
            }
            "bnp" | "backrefernoplus" => RuleFlags::NO_PLUS,
            "bctls" => RuleFlags::ESCAPE_CONTROLS.with(RuleFlags::ESCAPE_GROUPS),
            "co" | "cookie" => {
                self.cookies.push(Template::parse(value));
                RuleFlags::default()
            }
            "e" | "env" => {
                self.env.push(Template::parse(value));
                RuleFlags::default()
            }
            "h" | "handler" => {
                self.handler = Some(Template::parse(value));
                RuleFlags::default()
            }
            "t" | "type" => {
                self.media_type = Some(Template::parse(value));
                RuleFlags::default()
            }
            "s" | "skip" => {
                self.skip = usize::try_from(atoi(value.as_bytes())).unwrap_or(0);
                RuleFlags::default()
            }
            "n" | "next" => {
                if given.is_some() {
                    self.rounds_max = atoi(value.as_bytes());
                }
                RuleFlags::NEXT
            }
            "f" | "forbidden" => self.refuse(Status::FORBIDDEN),
            "g" | "gone" => self.refuse(Status::GONE),
            "r" | "redirect" => self.redirect(value)?,
            _ => switch(&lower).ok_or_else(|| unknown(name))?,
        };
        self.flags.set(flag);
        Ok(())
    }

    fn refuse(&mut self, status: Status) -> RuleFlags {
        self.status = status.code();
        RuleFlags::STATUS.with(RuleFlags::NO_SUBSTITUTION)
    }

    /// `R`, perhaps with a status: a number, or one of three words. Any other word is as good as
    /// none.
    fn redirect(&mut self, value: &str) -> Result<RuleFlags, Error> {
        self.status = match value.to_ascii_lowercase().as_str() {
            "" => return Ok(RuleFlags::REDIRECT),
            "permanent" => 301,
            "temp" => 302,
            "seeother" => 303,
            word if word.as_bytes()[0].is_ascii_digit() => {
                let code = u16::try_from(atoi(word.as_bytes())).ok();
                let known = code.and_then(Status::new).filter(|it| it.known_line().is_some());
                let known = known
                    .ok_or_else(|| format!("invalid HTTP response code '{value}' for flag 'R'"))?;
                known.code()
            }
            _ => 0,
        };
        let is_final = self.status != 0 && !(300..400).contains(&self.status);
        let refused = RuleFlags::STATUS.with(RuleFlags::NO_SUBSTITUTION);
        let more = if is_final { refused } else { RuleFlags::default() };
        Ok(RuleFlags::REDIRECT.with(more))
    }
}

/// Flags without a value.
fn switch(lower: &str) -> Option<RuleFlags> {
    Some(match lower {
        "c" | "chain" => RuleFlags::CHAIN,
        "dpi" | "discardpath" => RuleFlags::DISCARD_PATH_INFO,
        // httpd takes any name with this letter, and `D` for the flag.
        "d" => RuleFlags::DISCARD_PATH_INFO,
        other if other.starts_with('d') => RuleFlags::default(),
        "end" => RuleFlags::END,
        "l" | "last" => RuleFlags::LAST,
        "ne" | "noescape" => RuleFlags::NO_ESCAPE,
        "ns" | "nosubreq" => RuleFlags::NO_SUBREQUEST,
        "nc" | "nocase" => RuleFlags::NO_CASE,
        "p" | "proxy" => RuleFlags::PROXY,
        "pt" | "passthrough" => RuleFlags::PASS_THROUGH,
        "qsa" | "qsappend" => RuleFlags::QUERY_APPEND,
        "qsd" | "qsdiscard" => RuleFlags::QUERY_DISCARD,
        "qsl" | "qslast" => RuleFlags::QUERY_LAST,
        "unsafeprefixstat" => RuleFlags::UNSAFE_PREFIX_STAT,
        "unsafeallow3f" => RuleFlags::UNSAFE_ALLOW_3F,
        "unc" => RuleFlags::KEEP_SLASHES,
        _ => return None,
    })
}

fn unknown(name: &str) -> Error {
    format!("unknown flag '{name}'").into()
}
