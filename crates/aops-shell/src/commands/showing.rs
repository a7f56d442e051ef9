//! What a reading command shows when no file is hidden from it: names only, or the content of the files it is
//! given.
//!
//! Invariant: with the options on its list, it opens no file but its operands, and nothing inside a folder.

use super::options::sort;
use crate::syntax::{Line, Word};

#[derive(Clone, Copy, Debug)]
pub enum Showing {
    /// It shows only names and figures, however it is called.
    Names,
    /// It shows only names and figures with these options.
    NamesBy(FileOptions),
    /// It shows the content of its operands.
    Content(FileOptions),
}

/// Options that name no file.
#[derive(Clone, Copy, Debug)]
pub struct FileOptions {
    list: &'static str,
    /// The first operand is the search pattern, unless `-e` gives it.
    pattern: bool,
}

impl FileOptions {
    /// The files it is given, or the first option that is not on the list.
    pub fn files(&self, words: &[Word]) -> Result<Vec<String>, String> {
        let sorted = sort(words, &[self.list], &Line::default());
        if let Some(odd) = sorted.odd {
            return Err(odd);
        }
        let sought = usize::from(self.pattern && !sorted.options.iter().any(|(name, _)| name == "-e"));
        Ok(sorted.operands.iter().skip(sought).map(|word| word.lossy()).collect())
    }
}

#[rustfmt::skip]
static NAMES: &[&str] = &[
    ":", "basename", "df", "dirname", "echo", "false", "free", "getconf", "getent", "getfacl", "groups", "id", "iostat",
    "ls", "lsattr", "lsblk", "lscpu", "lsipc", "lslocks", "lsmod", "lsns", "lsusb", "mpstat", "namei", "netstat", "nproc",
    "pgrep", "pidof", "printenv", "ps", "pstree", "pwd", "readlink", "realpath", "seq", "sleep", "stat", "true", "tty",
    "uname", "vmstat", "w", "whereis", "which", "whoami",
];
const DU: &str = "-abcDhHklLmPsSx0 -B= -d= -t= --all --apparent-size --block-size= --bytes --count-links --dereference \
    --exclude= --human-readable --inodes --max-depth= --one-file-system --separate-dirs --si --summarize --threshold= \
    --time --time-style= --total";
const GREP: &str = "-abcEFGhHiIlLnoPqsTUvwxyzZ -# -A= -B= -C= -e= -m= --after-context= --basic-regexp --before-context= \
    --byte-offset --color --colour --context= --count --extended-regexp --files-with-matches --files-without-match \
    --fixed-strings --ignore-case --invert-match --line-buffered --line-number --line-regexp --max-count= --no-filename \
    --no-ignore-case --no-messages --null --null-data --only-matching --perl-regexp --quiet --silent --text \
    --with-filename --word-regexp";
const ENDS: &str = "-fFqvz -# -c= -n= -s= --bytes= --follow --lines= --pid= --quiet --retry --silent --sleep-interval= \
    --verbose --zero-terminated";

#[rustfmt::skip]
static CONTENT: &[(&[&str], &str)] = &[
    (&["b2sum", "cksum", "md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "sum"], "-btz --binary --tag --text --zero"),
    (&["cat"], "-AbeEnstTuv --number --number-nonblank --show-all --show-ends --show-nonprinting --show-tabs --squeeze-blank"),
    (&["cmp"], "-bls -i= -n= --bytes= --print-bytes --quiet --silent --verbose"),
    (&["comm"], "-123z"),
    (&["cut"], "-snz -b= -c= -d= -f= --bytes= --characters= --complement --delimiter= --fields= --only-delimited"),
    (&["hd", "hexdump"], "-bcCdoxv -n= -s= --canonical --length= --no-squeezing --skip="),
    (&["head", "tail"], ENDS),
    (&["nl"], "-b= -n= -s= -w="),
    (&["od"], "-abcdfhilosxv -A= -j= -N= -t= -w?"),
    (&["rev", "tac"], ""),
    (&["wc"], "-clmLw --bytes --chars --lines --max-line-length --words"),
];

/// What a command of this name shows, if it is known.
pub fn showing(name: &str) -> Option<Showing> {
    let options = |list| FileOptions { list, pattern: false };
    match name {
        _ if NAMES.contains(&name) => Some(Showing::Names),
        "du" => Some(Showing::NamesBy(options(DU))),
        "egrep" | "fgrep" | "grep" | "zgrep" => {
            Some(Showing::Content(FileOptions { list: GREP, pattern: true }))
        }
        _ => {
            let (_, list) = CONTENT.iter().find(|(names, _)| names.contains(&name))?;
            Some(Showing::Content(options(list)))
        }
    }
}
