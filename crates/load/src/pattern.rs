//! The grammar of patterns: `1-150:60,30,150-1:60`.
