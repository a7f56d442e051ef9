//! The commands that read: those that can do nothing else, and those that can, with the options that only read.
//!
//! Invariant: a command stands under `FREE` only if none of its options writes a file or runs a program.

use super::table::Rule;

/// Commands that only read, however they are called; of `env`, `time` and kin, what is left when no command follows.
/// Sorted.
#[rustfmt::skip]
static FREE: &[&str] = &[
    ":", "arch", "b2sum", "base32", "basename", "break", "builtin", "cal", "cat", "cd", "cksum", "clear", "cmp",
    "colordiff", "column", "comm", "command", "continue", "cut", "df", "diff", "dig", "dirname", "dirs", "du",
    "echo", "egrep", "env", "envsubst", "exa", "exec", "exit", "expand", "expr", "eza", "factor", "false",
    "fgrep", "findmnt", "fmt", "fold", "free", "getconf", "getent", "getfacl", "grep", "groups", "hd", "head",
    "help", "hexdump", "hexyl", "host", "id", "join", "jq", "last", "locale", "locate", "logname", "look", "ls",
    "lsattr", "lsb_release", "lsblk", "lscpu", "lspci", "lsusb", "md5", "md5sum", "namei", "netstat", "nice", "nl",
    "nproc", "nslookup", "numfmt", "od", "paste", "pgrep", "pidof", "popd", "pr", "printenv", "ps", "pstree",
    "pushd", "pwd", "readelf", "readlink", "realpath", "return", "rev", "seq", "sha1sum", "sha224sum", "sha256sum",
    "sha384sum", "sha512sum", "shasum", "shellcheck", "shift", "sleep", "stat", "strings", "sum", "sw_vers", "tac",
    "tail", "time", "times", "tr", "true", "tsort", "tty", "type", "ulimit", "umask", "uname", "unexpand",
    "uptime", "users", "vmstat", "w", "wait", "wc", "whatis", "whereis", "which", "who", "whoami", "xargs", "yes",
    "zgrep", "zipinfo",
];

/// Commands that only read with these options. Sorted.
static LISTED: &[(&str, &[&str])] = &[
    (
        "ag",
        &[
            "-acfgGhilLnNoQrRsSuUvwz -A? -B? -C? -m= --hidden --ignore= --depth= --nocolor --color --count --vimgrep --nogroup",
        ],
    ),
    ("base64", &["-dDi -w= --decode --wrap= --ignore-garbage"]),
    ("bat", BAT),
    ("batcat", BAT),
    ("bc", &["-lqsiw --mathlib --quiet"]),
    ("bzcat", &[""]),
    (
        "cloc",
        &[
            "--by-file --quiet --json --csv --md --vcs= --include-lang= --exclude-dir= --exclude-lang= --hide-rate",
        ],
    ),
    ("diff3", &["-AeEmxX3aiT -L= --text --merge --show-all"]),
    ("dpkg", &["-l -L -s -S --list --listfiles --status --search --print-architecture --version"]),
    ("dpkg-query", &["-l -L -s -S -W -f= --list --listfiles --status --search --show --showformat="]),
    (
        "file",
        &[
            "-bkLhiIzrs0Np -m= -F= -e= -f= -P= --mime --mime-type --mime-encoding --brief --dereference --extension",
        ],
    ),
    ("hash", &["-lt"]),
    ("history", &[""]),
    ("iconv", &["-cls -f= -t= --from-code= --to-code= --list"]),
    ("jobs", &["-lnprs"]),
    (
        "journalctl",
        &[
            "-aefklmqrx -u= -n= -p= -o= -S= -U= -t= -g= -D= -b? --no-pager --since= --until= --unit= --user --lines= --output= --priority= --dmesg --list-boots --disk-usage --grep= --reverse --boot --catalog --follow --utc",
        ],
    ),
    ("lsof", &["-PntalUwbX -i? -p= -u= -c= -d= -F? -s?"]),
    ("man", &["-kfwa -s= --where --path --whatis --apropos"]),
    (
        "nm",
        &[
            "-AaBCDglnoprSsuv -f? -t= --demangle --dynamic --defined-only --undefined-only --extern-only --print-size --size-sort --numeric-sort",
        ],
    ),
    (
        "objdump",
        &[
            "-aCdDfFghHlprRsStTwxz -j= -M= -m= -b= --disassemble --syms --headers --all-headers --section= --section-headers --no-show-raw-insn --demangle --source",
        ],
    ),
    ("ping", &["-46nq -c= -i= -t= -w= -W= -s="]),
    ("rg", &[RG, RG_LONG]),
    ("shopt", &["-pqsuo"]),
    (
        "shuf",
        &["-ezr -i= -n= --echo --input-range= --head-count= --repeat --zero-terminated --random-source="],
    ),
    ("size", &["-ABGdoxt --format= --totals"]),
    (
        "sort",
        &[
            "-bdfghiMnRrVcCmsuz -k= -t= -S= -T= --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --version-sort --sort= --check --merge --stable --unique --zero-terminated --key= --field-separator= --parallel= --buffer-size= --batch-size= --debug --files0-from= --help --version",
        ],
    ),
    (
        "ss",
        &["-46aehHilmnoprstuwx0 --listening --tcp --udp --numeric --processes --all --summary --no-header"],
    ),
    ("tokei", &["-CfVh -e= -o= -s= -t= --files --exclude= --output= --sort= --type= --hidden --no-ignore"]),
    ("top", &["-bHci1 -n= -p= -o= -u= -d= -w? -l= -s="]),
    (
        "tree",
        &[
            "-adfilxAqNsugpDFrtUCnhvcQSXJ -L= -P= -I= -H= -T= --dirsfirst --filesfirst --noreport --prune --gitignore --du --si --charset= --filelimit= --sort= --matchdirs --ignore-case --inodes --device --timefmt= --fromfile --info --metafirst --help --version",
        ],
    ),
    ("xmllint", &["--noout --format --xpath= --nonet --recover --huge --noblanks --html --version"]),
    ("xzcat", &[""]),
    (
        "yq",
        &[
            "-rceCMnNPjvV -o= -p= -I= --raw-output --exit-status --colors --no-colors --null-input --no-doc --prettyPrint --output-format= --input-format= --indent= --unwrapScalar --compact-output --tojson --version",
        ],
    ),
    ("zcat", &[""]),
    ("zstdcat", &[""]),
];

const BAT: &[&str] = &[
    "-AnpPSuf -l= -r= -H= -m= --plain --number --language= --line-range= --highlight-line= --style= --color= --paging= --theme= --wrap= --show-all --decorations= --tabs= --list-languages --list-themes --version --help",
];

const RG: &str = "-abcFHhiILlnNopPqsSuUvVwx.z0 -A= -B= -C= -d= -e= -E= -f= -g= -j= -m= -M= -r= -t= -T=";
const RG_LONG: &str = "--after-context= --before-context= --context= --color= --colors= --column --no-column --count \
    --count-matches --crlf --debug --trace --dfa-size-limit= --encoding= --engine= --file= --files --files-with-matches \
    --files-without-match --fixed-strings --no-fixed-strings --follow --no-follow --glob= --iglob= --glob-case-insensitive \
    --heading --no-heading --help --hidden --no-hidden --ignore-case --ignore-file= --include-zero --invert-match --json \
    --no-json --line-buffered --line-number --no-line-number --line-regexp --max-columns= --max-columns-preview --max-count= \
    --max-depth= --maxdepth= --max-filesize= --mmap --no-mmap --multiline --no-multiline --multiline-dotall --no-config \
    --no-ignore --no-ignore-dot --no-ignore-exclude --no-ignore-files --no-ignore-global --no-ignore-messages \
    --no-ignore-parent --no-ignore-vcs --ignore --no-messages --no-require-git --no-unicode --null --null-data \
    --one-file-system --only-matching --passthru --path-separator= --pcre2 --no-pcre2 --pcre2-version --pretty --quiet \
    --regex-size-limit= --regexp= --replace= --search-zip --no-search-zip --smart-case --case-sensitive --sort= --sortr= \
    --sort-files --stats --no-stats --stop-on-nonmatch --text --no-text --threads= --trim --no-trim --type= --type-not= \
    --type-add= --type-clear= --type-list --unrestricted --version --vimgrep --with-filename --no-filename --word-regexp \
    --binary --no-binary --block-buffered --auto-hybrid-regex --context-separator= --field-match-separator= \
    --field-context-separator= --byte-offset --hyperlink-format=";

/// What is known of a command that reads.
pub(super) fn rule(name: &str) -> Option<Rule> {
    if FREE.binary_search(&name).is_ok() {
        return Some(Rule::Free);
    }
    let at = LISTED.binary_search_by_key(&name, |(known, _)| known).ok()?;
    Some(Rule::Listed(LISTED[at].1))
}

#[cfg(test)]
mod tests {
    use super::{FREE, LISTED};

    #[test]
    fn readers_are_sorted_so_that_they_are_found() {
        assert!(FREE.is_sorted());
        assert!(LISTED.is_sorted_by_key(|(name, _)| *name));
    }
}
