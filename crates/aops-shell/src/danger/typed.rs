//! Lines that a program runs, judged as if they had been typed.

use super::Search;
use crate::syntax::Simple;

/// A part that only the run knows, in a line.
pub(super) const UNKNOWN: &str = "${_unknown}";

/// A line that the program runs; if nothing of it is known, it is code that is not part of this line.
pub(super) fn line(search: &mut Search, text: &str, simple: &Simple) {
    if text.trim().trim_matches('"') == UNKNOWN {
        search.add("unknown-code", simple);
    }
    search.text(text, simple);
}

/// The same for each of many values in the place of what is unknown: `awk '{system("rm " $1)}'`.
pub(super) fn for_each(search: &mut Search, text: &str, simple: &Simple) {
    line(search, text, simple);
    if text.contains(UNKNOWN) && !text.contains(['\'', '"', ';', '|', '&', '`', '(']) {
        search.text(&format!("ls | xargs -I{{}} {}", text.replace(UNKNOWN, "{}")), simple);
    }
}
