//! Many files at once: patterns for sources, the results of a search, names from a pipe; and redirections
//! that empty a file or fill the disk.

use super::Search;
use super::place::Spot;
use super::system::is_huge;
use crate::generated::is_made_pattern;
use crate::syntax::{Bit, Simple, Word};

/// Every path that a search finds: `find … | xargs rm`.
pub(super) fn is_found(search: &Search, simple: &Simple, word: &Word) -> bool {
    let deep = |named: &Word| named.bits.windows(2).any(|pair| pair == [Bit::Star, Bit::Star]);
    let kept = |named: &Word| {
        let spot = search.place.spot(simple, named);
        deep(named) && !is_made_again(&named.last_part().lossy(), spot) && spot != Spot::Scratch
    };
    word.named.iter().any(kept)
}

/// Whether a file of this name is recreated by a tool, or was left in the project by one.
pub(super) fn is_made_again(name: &str, spot: Spot) -> bool {
    const LEFT_OVER: &[&str] = &["*.orig", "*.rej", "*.bak", "*.tmp", "*.log", "*.swp", "*~"];
    let ours = matches!(spot, Spot::Scratch | Spot::Inside | Spot::Source | Spot::Project);
    is_made_pattern(name) || ours && LEFT_OVER.contains(&name)
}

/// A pattern for files of sources: `src/*`, `lib/*.rs`, `*.py`.
pub(super) fn sweeps_sources(search: &Search, simple: &Simple, word: &Word) -> bool {
    let last = word.last_part();
    let spot = search.place.spot(simple, word);
    if !last.bits.contains(&Bit::Star) || is_made_again(&last.lossy(), spot) {
        return false;
    }
    let folder = search.place.spot(simple, &word.folder());
    let inside = matches!(spot, Spot::Inside | Spot::Source | Spot::Project);
    inside && (folder == Spot::Source || folder != Spot::Scratch && is_source(&last.lossy()))
}

/// Whether the name's extension is one of source or text files.
pub(super) fn is_source(name: &str) -> bool {
    const ENDS: &[&str] = &[
        "c", "cc", "clj", "cpp", "cs", "css", "dart", "ex", "exs", "go", "h", "hpp", "hs", "html", "java",
        "js", "jsx", "kt", "lua", "md", "ml", "php", "pl", "py", "rb", "rs", "scala", "scss", "sh", "sql",
        "svelte", "swift", "tf", "toml", "ts", "tsx", "vue", "yaml", "yml", "zig",
    ];
    name.rsplit_once('.').is_some_and(|(_, end)| ENDS.contains(&end))
}

/// Whether names arrive from a pipe, as for `xargs rm`: the line says neither which files nor how many.
pub(super) fn arrives_unknown(search: &Search, simple: &Simple, word: &Word) -> bool {
    let kept = |named: &Word| {
        let spot = search.place.spot(simple, named);
        spot != Spot::Scratch && !is_made_again(&named.last_part().lossy(), spot)
    };
    let piped = word.splits || word.several || !simple.fed.is_empty();
    let arrives = word.bits == [Bit::Any] && piped && word.shifts == Some(0) && word.unknown.is_empty();
    // Quotes mean something to `xargs`.
    let is_said = word.said.as_ref().is_some_and(|text| !text.contains(['\'', '"', '\\']));
    arrives && !is_said && (word.named.is_empty() || word.named.iter().any(kept))
}

/// Reports a redirection that writes without end. Returns whether the command prints nothing, so that its
/// files end up empty.
pub(super) fn redirected(search: &mut Search, simple: &Simple) -> bool {
    let name = simple.name().unwrap_or_default();
    let operands: Vec<&Word> = simple.words.iter().skip(1).filter(|word| !word.is_option()).collect();
    let only = |wanted: &[&str]| {
        !operands.is_empty() && operands.iter().all(|word| wanted.iter().any(|is| word.is(is)))
    };
    let zeros = ["/dev/zero", "/dev/urandom", "/dev/random"];
    let huge = || simple.words.iter().any(|word| is_huge(&word.lossy()));
    let endless = match name {
        "yes" => true,
        "cat" => only(&zeros),
        "head" => huge() && operands.iter().any(|word| zeros.iter().any(|zero| word.is(zero))),
        _ => false,
    };
    let files = || simple.writes.iter().filter(|word| !word.starts_with("/dev/"));
    if endless && files().next().is_some() {
        search.add("disk-write", simple);
    }
    match name {
        "" => simple.arriving.is_empty() && simple.fed.is_empty(),
        ":" | "true" => true,
        "echo" | "printf" => operands.iter().all(|word| word.bits.is_empty()),
        "cat" => only(&["/dev/null"]),
        _ => false,
    }
}
