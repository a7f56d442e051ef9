//! The places that a reading line may look at, as far as its words name them.
//!
//! Reads the line, but no file. Invariant: if a word may be any path, `is_open` is set.

use super::programs;
use crate::commands;
use crate::effect::Effect;
use crate::syntax::{Bit, Line, Simple, Word};

/// Programs whose words are not file names.
pub(super) const WORDS_ONLY: &[&str] = &[
    ":", "[", "[[", "basename", "break", "builtin", "command", "continue", "date", "declare", "dirname",
    "echo", "exit", "export", "expr", "false", "hash", "id", "let", "local", "printf", "pwd", "read",
    "readonly", "return", "seq", "set", "shift", "sleep", "test", "tr", "true", "type", "typeset", "uname",
    "unset", "wait", "whereis", "which", "whoami",
];

/// For these programs, a word with a pattern is still a file name.
const PATTERNS_TOO: &[&str] = &["echo", "printf"];

/// The paths that a line names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Absolute paths, each once; for a pattern or an unknown name, the folder that contains it.
    pub named: Vec<String>,
    /// Absolute patterns with `*`, `?` and `**` for any depth; a file they match may be a link.
    pub patterns: Vec<String>,
    /// A word may be any path.
    pub is_open: bool,
    /// Absolute patterns of files whose content the line may show.
    pub shown: Vec<String>,
    /// Absolute patterns of folders from which it may show any file.
    pub whole: Vec<String>,
    /// Possible paths in a program or other text within the line: they count if they exist.
    pub mentioned: Vec<String>,
}

/// The paths that the line names.
pub fn places(line: &Line) -> Places {
    let mut places = Places::default();
    for simple in programs(line) {
        for folder in simple.folders.iter() {
            match folder.tidied().literal() {
                Some(folder) => places.named.push(folder),
                None => places.is_open = true,
            }
        }
        places.is_open |= simple.name().is_some_and(|name| commands::opens_unnamed(name, simple, line));
        if shows(simple, line) {
            simple.folders.iter().for_each(|folder| places.add_shown(simple, folder));
        }
        for folder in simple.folders.iter() {
            for word in simple.words.iter().filter(|word| is_name(simple, word)) {
                places.add(word, folder);
                places.add_patterns(word, folder);
            }
            // A program opens names on standard input only if told to; their patterns are not expanded.
            simple.arriving.iter().for_each(|word| places.add(word, folder));
        }
    }
    for found in [&mut places.named, &mut places.patterns, &mut places.shown, &mut places.whole] {
        found.sort();
        found.dedup();
    }
    places.mentioned = mentioned(&line.text);
    places
}

/// Programs that show names, sizes or digests of files, but nothing that is in them.
pub(super) const LISTERS: &[&str] = &[
    "b2sum", "cksum", "df", "du", "eza", "exa", "fd", "fdfind", "find", "git", "ls", "lsd", "md5sum", "popd",
    "pushd", "readlink", "realpath", "sha1sum", "sha256sum", "sha512sum", "shasum", "stat", "tree", "wc",
];

/// Whether a command that only reads may show what files contain.
fn shows(simple: &Simple, line: &Line) -> bool {
    simple.name().is_some_and(|name| {
        let only_lists = WORDS_ONLY.contains(&name) || LISTERS.contains(&name) || name == "cd";
        let only_lists = only_lists && !searches_files(simple);
        !only_lists && commands::class(name, simple, line) == Ok(Effect::Read)
    })
}

/// Programs that read files, and no folders.
const FILTERS: &[&str] = &[
    "awk", "base32", "base64", "bat", "batcat", "cat", "cmp", "column", "comm", "cut", "expand", "fmt",
    "fold", "gawk", "head", "hexdump", "iconv", "join", "jq", "less", "mawk", "more", "nawk", "nl", "od",
    "paste", "pr", "rev", "sed", "sort", "strings", "tac", "tail", "uniq", "xxd", "yq", "zcat",
];

/// Whether the program reads every file in a folder that it is given.
fn reads_folders(simple: &Simple) -> bool {
    match simple.name() {
        Some("egrep" | "fgrep" | "grep" | "zgrep") => simple.words.iter().skip(1).any(is_recursive),
        name => name.is_some_and(|name| !FILTERS.contains(&name)),
    }
}

/// Whether this option of `grep` may mean a search in folders.
fn is_recursive(word: &Word) -> bool {
    let text = word.lossy();
    ["--rec", "--dir", "--deref"].iter().any(|begin| text.starts_with(begin))
        || text.starts_with('-') && !text.starts_with("--") && text.contains(['r', 'R', 'd'])
}

/// A placeholder for what a search finds: the names are known as patterns.
fn is_found(word: &Word) -> bool {
    let deep = |name: &Word| name.bits.windows(2).any(|pair| pair == [Bit::Star, Bit::Star]);
    !word.named.is_empty() && word.named.iter().all(deep)
}

/// Whether git reads files of the working tree: `git grep`, `git diff --no-index`.
fn searches_files(simple: &Simple) -> bool {
    let reads = |word: &Word| word.is("grep") || word.is("--no-index");
    simple.name() == Some("git") && simple.words.iter().any(reads)
}

/// Whether the program reads the folder it runs in if it is given no path.
fn reads_here(simple: &Simple) -> bool {
    let operands = simple.words.iter().skip(1).filter(|word| !word.is_option()).count();
    match simple.name() {
        Some("git") => true,
        Some("ack" | "ag" | "rg" | "ugrep") => operands < 2 && simple.fed.is_empty() || operands == 0,
        Some("egrep" | "fgrep" | "grep" | "zgrep") => operands < 2 && reads_folders(simple),
        _ => false,
    }
}

/// Absolute paths, paths in the home folder, and paths with `..`, anywhere in the text.
fn mentioned(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || "/._-~+@%".contains(c);
    let path = |word: &str| {
        // `1r/etc/x`, a program of sed.
        let (before, _) = word.split_once('/')?;
        let is_sed = before.trim_start_matches(|c: char| c.is_ascii_digit()).len() == 1
            && before.ends_with(['r', 'R']);
        let word = if is_sed { &word[before.len()..] } else { word };
        let leads =
            word.starts_with('/') || word.starts_with("~/") || word.split('/').any(|part| part == "..");
        (leads && word.contains(char::is_alphanumeric)).then(|| word.to_owned())
    };
    let mut found: Vec<String> = text.split(|c| !is_part(c)).filter_map(path).collect();
    found.sort();
    found.dedup();
    found
}

/// Whether this word of the command may name a file.
fn is_name(simple: &Simple, word: &Word) -> bool {
    let finds = || word.bits.iter().any(|bit| matches!(bit, Bit::One | Bit::Star));
    let prints = |name| WORDS_ONLY.contains(&name) && !(PATTERNS_TOO.contains(&name) && finds());
    !simple.name().is_some_and(prints)
}

impl Places {
    /// Adds the paths that this word may name, seen from this folder.
    fn add(&mut self, word: &Word, folder: &Word) {
        for part in parts(word) {
            let known: Vec<Bit> =
                part.bits.iter().copied().take_while(|bit| matches!(bit, Bit::Char(_))).collect();
            let is_whole = known.len() == part.bits.len();
            self.is_open |= !is_whole && part.bits.contains(&Bit::Any) && !stays(&part);
            let text: String =
                known.iter().filter_map(|bit| if let Bit::Char(c) = bit { Some(*c) } else { None }).collect();
            // The unknown part is below the folder that the known part names.
            let text =
                if is_whole { text.as_str() } else { text.rsplit_once('/').map_or("", |(above, _)| above) };
            if !is_whole && part.bits.first() == Some(&Bit::Char('/')) && text.is_empty() {
                self.named.push("/".to_owned());
                continue;
            }
            let path = Word::of(text).from_folder(&folder.tidied());
            match (path.tidied().literal(), path.literal()) {
                // Where `..` leads after a link can only be resolved on disk, so the path is also kept as
                // written.
                (Some(tidied), Some(path)) => {
                    self.named.extend(Some(path).filter(|path| climbs(path)));
                    self.named.push(tidied);
                }
                _ => self.is_open = true,
            }
        }
    }

    /// Adds the files and folders whose content this command may show.
    fn add_shown(&mut self, simple: &Simple, folder: &Word) {
        let here = folder.tidied();
        if reads_here(simple) {
            self.whole.push(signs(&here));
        }
        let arriving = simple.arriving.iter().filter(|_| simple.fed.is_empty());
        for word in simple.words.iter().skip(1).chain(arriving).filter(|word| !word.is_option()) {
            let gaps = word.bits.iter().filter(|bit| **bit == Bit::Any).count();
            if gaps == 0 {
                self.add_shown_path(&word.from_folder(&here).tidied(), reads_folders(simple));
            } else if !word.lists_files && is_found(word) {
                word.named
                    .iter()
                    .for_each(|named| self.add_shown_path(&named.from_folder(&here).tidied(), false));
            } else if word.lists_files || gaps > word.sums + word.commits {
                let known = word.bits.iter().position(|bit| *bit == Bit::Any).unwrap_or_default();
                let end =
                    word.bits[..known].iter().rposition(|bit| *bit == Bit::Char('/')).unwrap_or_default();
                let above = Word { bits: word.bits[..end].to_vec(), ..Word::default() };
                self.whole.push(signs(&above.from_folder(&here).tidied()));
            }
        }
    }

    fn add_shown_path(&mut self, path: &Word, with_folders: bool) {
        let text = signs(path);
        if let Some(folder) = text.strip_suffix("/**") {
            return self.whole.push(folder.to_owned());
        }
        self.shown.extend(Some(text.clone()).filter(|text| text.contains(['*', '?'])));
        self.whole.extend(Some(text).filter(|_| with_folders));
    }

    fn add_patterns(&mut self, word: &Word, folder: &Word) {
        let finds = |part: &Word| part.bits.iter().any(|bit| matches!(bit, Bit::One | Bit::Star));
        parts(word).iter().filter(|part| finds(part)).for_each(|part| self.add_pattern(part, folder));
    }

    /// A pattern whose parts are one name each, except that `**`, which a search adds, stands for any depth.
    fn add_pattern(&mut self, word: &Word, folder: &Word) {
        let text = signs(&word.from_folder(&folder.tidied()));
        let parts: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let finds = |part: &&str| part.contains(['*', '?']);
        let is_odd = parts.iter().skip_while(|part| !finds(part)).any(|part| *part == "..");
        self.is_open |= is_odd || !text.starts_with('/');
        self.patterns.push(text);
    }
}

/// The word as a pattern in text.
fn signs(word: &Word) -> String {
    let sign = |bit: &Bit| match bit {
        Bit::Char(c) => *c,
        Bit::One => '?',
        Bit::Star | Bit::Any => '*',
    };
    word.bits.iter().map(sign).collect()
}

/// Whether the path has a `..` after a name.
fn climbs(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

/// Whether its unknown part contains no slash, or is a path in the working tree.
fn stays(word: &Word) -> bool {
    let unknown = word.bits.iter().filter(|bit| **bit == Bit::Any).count();
    let at_home = word.names + word.sums + word.commits + word.places;
    word.lists_files || at_home >= unknown
}

/// The word, and the parts of it that may be a path: after a sign, or after an option's letter.
fn parts(word: &Word) -> Vec<Word> {
    let mut parts = vec![word.clone()];
    parts.extend(word.past('='));
    if word.starts_with("@") {
        parts.push(word.after(1));
    }
    if !word.starts_with("-") {
        return parts;
    }
    if word.bits.len() > 2 && !word.starts_with("--") {
        parts.push(word.after(2));
    }
    parts
}
