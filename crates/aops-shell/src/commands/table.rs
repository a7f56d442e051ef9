//! The table of commands: one row per command with its options, its class, and what it touches.
//!
//! Invariants: a command is listed as always reading only if none of its options writes a file or runs a
//! program; the lists are sorted, and no name is in two of them.

use super::command::Act;
use super::command::ClassRule::{self, AtMost, Listed, Needs, Reads, Rule, Unknown};
use super::command::Touches::{
    self, ChangesBy, Every, Nothing, Operands, Outputs, Remote, Runs, RunsBy, Scripted, Second,
};
use super::command::{Invocation, Row};
use super::{builtin, condition, fetch, files, find, git, linters, own, programs, scripts};

/// Commands that share a row, each list sorted.
#[rustfmt::skip]
static GROUPS: &[(&[&str], Row)] = &[
    // Always reads, however they are called.
    (&[":", "b2sum", "base32", "basename", "basenc", "cal", "cat", "cd", "cksum", "clear", "cmp", "column", "comm",
        "csvcut", "csvlook", "csvstat", "cut", "df", "dig", "dirname", "dirs", "du", "echo", "egrep",
        "envsubst", "exa", "expand", "expr", "eza", "factor", "false", "fgrep", "findmnt", "fmt", "fold", "free",
        "getconf", "getent", "getfacl", "getfattr", "grep", "groups", "hd", "head", "help", "hexdump", "hexyl",
        "host", "id", "ioreg", "iostat", "ipcs", "join", "jq", "kextstat", "last", "locale", "locate",
        "logname", "look", "ls", "lsattr", "lsb_release", "lsblk", "lscpu", "lsipc", "lslocks", "lsmod", "lsns",
        "lspci", "lsscsi", "lsusb", "md5", "md5sum", "mdfind", "mdls", "modinfo", "mpstat", "namei", "ncal",
        "netstat", "nettop", "nl", "nproc", "numfmt", "od", "paste", "pgrep", "pidof", "popd", "pr",
        "printenv", "ps", "pstree", "pushd", "pwd", "readelf", "readlink", "realpath", "rev", "seq",
        "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "shasum", "shellcheck", "sleep", "stat",
        "strings", "sum", "sw_vers", "system_profiler", "tac", "tail", "times", "tput", "tr", "tracepath",
        "traceroute", "true", "tsort", "tty", "type", "ulimit", "umask", "uname", "unexpand", "uptime", "users",
        "uuidgen", "vm_stat", "vmstat", "w", "wc", "whatis", "whereis", "which", "who", "whoami", "whois", "yes",
        "zgrep", "zipinfo"], row("", Reads, Nothing)),
    // They touch no file that an argument names, but may do more than read.
    (&[".", "ack", "apropos", "bg", "chdir", "delta", "diffstat", "disown", "fg", "getopts", "glow", "killall",
        "let", "more", "most", "pbcopy", "pkill", "source", "test-path", "tldr", "ug", "ugrep",
        "unalias", "wl-copy", "xclip", "zless"], row("", Unknown, Nothing)),
    (&["aunpack", "jar", "ouch", "pax", "unar", "unrar"], row("", Unknown, ChangesBy(files::unpacked_anywhere))),
    (&["7z", "7za", "7zr", "7zz"], row("", Unknown, ChangesBy(files::unpacked_by_7z))),
    (&["[", "test"], row("", Rule(condition::test), Nothing)),
    (&["break", "continue", "exit", "return", "shift"], row("", Rule(builtin::counted), Nothing)),
    (&["adb", "aws", "az", "claude", "codex", "fly", "gcloud", "gemini", "glab", "http", "hub", "jira", "linear",
        "llm", "logger", "mail", "notify-send", "oc", "say", "slack", "wall"], row("", Unknown, Remote)),
    (&["at", "batch", "dc", "duckdb", "ftp", "gdb", "ghci", "gmake", "gnuplot", "irb", "jshell", "just", "lftp",
        "m4", "make", "mysql", "octave", "psql", "screen", "sftp", "tmux"], row("", Unknown, Scripted)),
    (&["awk", "gawk", "mawk", "nawk"], row(scripts::AWK, Rule(scripts::awk), ChangesBy(scripts::awk_touched))),
    (&["bindfs", "chattr", "chflags", "chgrp", "chown", "grm", "mount", "rimraf", "rm", "rmdir", "setfacl", "shred",
        "srm", "trash", "trash-put", "umount", "unlink", "xattr"], row("", Unknown, Operands(Act::Whole))),
    (&["bsdtar", "cpio", "gtar"], row("", Unknown, ChangesBy(files::unpacked))),
    (&["builtin", "command", "env", "exec", "nice", "xargs"], row("", Reads, Runs)),
    (&["bun", "node", "nodejs"], row("-e= -p= --eval= --print=", Unknown, RunsBy(programs::interpreted))),
    (&["bzcat", "history", "xzcat", "zcat", "zstdcat"], row("", Listed, Outputs)),
    (&["cp", "gcp", "gmv", "install", "mv"], row(files::COPY, Unknown, ChangesBy(files::copied))),
    (&["csplit", "emacs", "fallocate", "nano", "rename", "sd", "split", "zip", "zstd"], row("", Unknown, Every)),
    (&["declare", "local", "readonly", "typeset"], row("-aArgpfFlu", Rule(builtin::declare), Nothing)),
    (&["ditto", "rsync", "scp"], row(files::NO_TARGET, Unknown, ChangesBy(files::copied))),
    (&["ed", "ex", "nvim", "red", "vi", "view", "vim"], row(files::EDITOR, Unknown, ChangesBy(files::opened))),
    (&["expect", "pypy", "python"], row("-c=", Unknown, RunsBy(programs::interpreted))),
    (&["gln", "link", "ln"], row(files::COPY, Unknown, ChangesBy(files::linked))),
    (&["julia", "lua", "luajit", "osascript", "rscript", "ruby"], row("-e=", Unknown, RunsBy(programs::interpreted))),
    (&["mkdir", "mkfifo", "mknod", "sponge", "touch", "truncate"], row("", Unknown, Operands(Act::Write))),
    (&["apply_patch", "patch"], row("", Unknown, ChangesBy(git::patched_files))),
    (&["bat", "batcat"], row("-AnpPSuf -l= -r= -H= -m= --plain --number --language= --line-range= --highlight-line= --style= --color= --paging= --theme= --wrap= --show-all --decorations= --tabs= --list-languages --list-themes --version --help", Listed, Outputs)),
    (&["bash", "dash", "ksh", "sh", "zsh"], row("", Rule(files::checked), RunsBy(linters::started))),
    (&["chmod", "gchmod"], row("", Unknown, ChangesBy(files::mode))),
    (&["deno", "tclsh"], row("", Unknown, RunsBy(programs::interpreted))),
    (&["docker", "docker-compose", "podman"], row("", Unknown, RunsBy(files::mounted))),
    (&["fd", "fdfind"], row(find::FD, Rule(find::fd), RunsBy(find::fd_touched))),
    (&["gunzip", "gzip"], row("-cdkltvqfn -# --stdout --decompress --list --test --verbose --keep --best --fast --to-stdout", Rule(files::gzip), Every)),
    (linters::NAMES, row("", Unknown, RunsBy(linters::linted))),
    (linters::RUNNERS, row("", Unknown, RunsBy(linters::carried))),
    (&["mapfile", "readarray"], row("-t -d= -n= -O= -s= -u=", Rule(builtin::declare), Runs)),
];

/// How programs are asked for their version: with this one argument, after which they exit according to their
/// documentation.
#[rustfmt::skip]
static VERSIONED: &[(&str, &str)] = &[
    ("ansible", "--version"), ("apt", "--version"), ("aws", "--version"), ("az", "--version"), ("bash", "--version"),
    ("black", "--version"), ("brew", "--version"), ("bun", "--version -v"), ("bundle", "--version -v"),
    ("c++", "--version"), ("cargo", "--version -V -vV -Vv"), ("cargo-clippy", "--version -V"),
    ("cargo-nextest", "--version -V"), ("cc", "--version"), ("clang", "--version"), ("clang++", "--version"),
    ("claude", "--version -v"), ("cmake", "--version"), ("composer", "--version -V"), ("conda", "--version -V"),
    ("dart", "--version"), ("deno", "--version -V"), ("docker", "--version -v"), ("dotnet", "--version"),
    ("elixir", "--version"), ("emacs", "--version"), ("eslint", "--version -v"), ("ffmpeg", "-version"),
    ("fish", "--version -v"), ("g++", "--version -dumpversion -dumpmachine"),
    ("gcc", "--version -dumpversion -dumpmachine"), ("gem", "--version -v"), ("gh", "--version"),
    ("ghc", "--version -V"), ("git", "--version"), ("go", "version"), ("gradle", "--version -v"), ("helm", "version"),
    ("java", "--version -version"), ("javac", "--version -version"), ("jest", "--version"), ("julia", "--version -v"),
    ("just", "--version -V"), ("kotlinc", "-version"), ("kubectl", "version"), ("ld", "--version"), ("lua", "-v"),
    ("make", "--version -v"), ("meson", "--version"), ("mvn", "--version -v"), ("mypy", "--version -V"),
    ("mysql", "--version -V"), ("nginx", "-v -V"), ("ninja", "--version"), ("node", "--version -v"),
    ("npm", "--version -v"), ("npx", "--version -v"), ("nvim", "--version -v"), ("perl", "--version -v"),
    ("php", "--version -v"), ("pip", "--version -V"), ("pip3", "--version -V"), ("pipx", "--version"),
    ("pnpm", "--version -v"), ("podman", "--version -v"), ("poetry", "--version -V"), ("pre-commit", "--version -V"),
    ("prettier", "--version -v"), ("psql", "--version -V"), ("pytest", "--version -V"),
    ("python", "--version -V -VV"), ("python3", "--version -V -VV"), ("redis-cli", "--version -v"),
    ("ruby", "--version -v"), ("ruff", "--version -V"), ("rustc", "--version -V -vV -Vv"),
    ("rustfmt", "--version -V"), ("rustup", "--version -V"), ("scala", "-version --version"),
    ("sqlite3", "--version -version"), ("ssh", "-V"), ("swift", "--version"),
    ("terraform", "version --version -version -v"), ("tmux", "-V"), ("tofu", "version --version -version"),
    ("tsc", "--version -v"), ("uv", "--version -V"), ("vim", "--version"), ("vite", "--version -v"),
    ("yarn", "--version -v"), ("zig", "version"), ("zsh", "--version"),
];

/// Commands with a row of their own, sorted.
#[rustfmt::skip]
static TABLE: &[(&str, Row)] = &[
    ("ag", row("-acfgGhilLnNoQrRsSuUvwz -A? -B? -C? -m= --hidden --ignore= --depth= --nocolor --color --count --vimgrep --nogroup", Listed, Outputs)),
    ("alias", row("-p", Rule(builtin::show), Nothing)),
    ("aops-hook", row("", Rule(own::aops_hook), Remote)),
    ("arch", row("", AtMost(0), Runs)),
    ("aria2c", row(fetch::ARIA2C, Unknown, ChangesBy(fetch::aria2c))),
    ("base64", row("-dDi -w= --decode --wrap= --ignore-garbage -o> --output>", Listed, Outputs)),
    ("bc", row("-lqsiw --mathlib --quiet", Listed, Outputs)),
    ("bd", row(own::BD, Rule(own::tracker), Remote)),
    ("cloc", row("--by-file --quiet --json --csv --md --vcs= --include-lang= --exclude-dir= --exclude-lang= --hide-rate", Listed, Outputs)),
    ("colordiff", row("--output>", Reads, Outputs)),
    ("crontab", row("-l", AtMost(0), Scripted)),
    ("curl", row(fetch::CURL, Rule(fetch::curl), ChangesBy(fetch::curl_touched))),
    ("date", row("-ujRn -I? -d= -r= -v= -f= --utc --universal --date= --reference= --iso-8601 --rfc-3339= --rfc-email --debug", Rule(files::date), Nothing)),
    ("dd", row("", Rule(files::dd), ChangesBy(files::dd_touched))),
    ("diff", row("--output>", Reads, Outputs)),
    ("diff3", row("-AeEmxX3aiT -L= --text --merge --show-all", Listed, Outputs)),
    ("dmesg", row("-THkurtwWxedLJP -l= -f= --human --ctime --level= --facility= --kernel --userspace --decode --color --follow --since= --until= --reltime --json --nopager --notime --raw", AtMost(0), Runs)),
    ("dpkg", row("-l -L -s -S --list --listfiles --status --search --print-architecture --version", Listed, Runs)),
    ("dpkg-query", row("-l -L -s -S -W -f= --list --listfiles --status --search --show --showformat=", Listed, Runs)),
    ("export", row("-p", Rule(builtin::export), Nothing)),
    ("file", row("-bkLhiIzrs0N -m= -F= -e= -f= -P= --mime --mime-type --mime-encoding --brief --dereference --extension", Listed, Outputs)),
    ("find", row("", Rule(find::class), ChangesBy(find::touched))),
    ("fuser", row("-vmuca46 -n=", Listed, Runs)),
    ("gfind", row("", Unknown, ChangesBy(find::touched))),
    ("gh", row("", Unknown, Remote)),
    ("git", row("", Rule(git::class), ChangesBy(git::touched))),
    ("gofmt", row("-dels -r=", Listed, Every)),
    ("gsed", row(scripts::SED, Unknown, ChangesBy(scripts::sed_touched))),
    ("hash", row("-ltr", Rule(builtin::show), Outputs)),
    ("hostname", row("-fsiIdA --fqdn --short --ip-address --all-ip-addresses --domain", AtMost(0), Nothing)),
    ("iconv", row("-cls -f= -t= --from-code= --to-code= --list -o> --output>", Listed, Outputs)),
    ("ifconfig", row("-a", AtMost(0), Runs)),
    ("jobs", row("-lnprs", Listed, Outputs)),
    ("journalctl", row("-aefklmqrx -u= -n= -p= -o= -S= -U= -t= -g= -D= -b? --no-pager --since= --until= --unit= --user --lines= --output= --priority= --dmesg --list-boots --disk-usage --grep= --reverse --boot --catalog --follow --utc", Listed, Runs)),
    ("kill", row("-l0", Needs(&["-l", "-0"]), Nothing)),
    ("kubectl", row("", Unknown, Remote)),
    ("ldd", row("-vru --verbose --unused", Rule(files::ldd), Nothing)),
    ("less", row("-eEFfgGiIJKLmMnNqQrRsSuUwWX -# -x= -z= -p= --no-init --quit-if-one-screen -o> -O> --log-file> --LOG-FILE>", Rule(files::less), Outputs)),
    ("lsof", row("-PntalUwbX -i? -p= -u= -c= -d= -F? -s?", Listed, Outputs)),
    ("luac", row("-p", Needs(&["-p"]), Every)),
    ("man", row("-kfwa -s= --where --path --whatis --apropos", Listed, Runs)),
    ("mb", row(own::BD, Rule(own::tracker), Remote)),
    ("nc", row("-zv46nuN -w=", Needs(&["-z"]), Runs)),
    ("nerdctl", row("", Unknown, RunsBy(files::mounted))),
    ("nm", row("-AaBCDglnoprSsuv -f? -t= --demangle --dynamic --defined-only --undefined-only --extern-only --print-size --size-sort --numeric-sort", Listed, Outputs)),
    ("nslookup", row("", Listed, Outputs)),
    ("objdump", row("-aCdDfFghHlprRsStTwxz -j= -M= -m= -b= --disassemble --syms --headers --all-headers --section= --section-headers --no-show-raw-insn --demangle --source", Listed, Outputs)),
    ("perl", row("-e= -E=", Unknown, RunsBy(programs::interpreted))),
    ("php", row("-r=", Unknown, RunsBy(programs::interpreted))),
    ("ping", row("-46nq -c= -i= -t= -w= -W= -s=", Listed, Outputs)),
    ("printf", row("", Rule(builtin::printf), Nothing)),
    ("read", row("-rse -a= -d= -n= -N= -p= -t= -u= -i=", Rule(builtin::read), Nothing)),
    ("rg", row(RG, Rule(find::rg), Outputs)),
    ("sdiff", row("-o> --output>", Unknown, Outputs)),
    ("sed", row(scripts::SED, Rule(scripts::sed), ChangesBy(scripts::sed_touched))),
    ("set", row("", Rule(builtin::set), Nothing)),
    ("shopt", row("-pqsu", Rule(builtin::shopt), Outputs)),
    ("shuf", row("-ezr -i= -n= --echo --input-range= --head-count= --repeat --zero-terminated --random-source= -o> --output>", Listed, Outputs)),
    ("size", row("-ABGdoxt --format= --totals", Listed, Outputs)),
    ("sort", row("-bdfghiMnRrVcCmsuz -k= -t= -S= -T= --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --version-sort --sort= --check --merge --stable --unique --zero-terminated --key= --field-separator= --parallel= --buffer-size= --batch-size= --debug --files0-from= --help --version -o> --output>", Listed, Outputs)),
    ("sqlite3", row("-cmd=", Unknown, RunsBy(programs::interpreted))),
    ("ss", row("-46aehHilmnoprstuwx0 --listening --tcp --udp --numeric --processes --all --summary --no-header -D> --diag>", Listed, Outputs)),
    ("ssh", row(programs::SSH, Unknown, RunsBy(programs::ssh))),
    ("strace", row("-o> --output>", Unknown, RunsBy(files::wrapped))),
    ("sysctl", row("-aneqN --all", Rule(builtin::show), Runs)),
    ("tar", row("", Rule(files::tar), ChangesBy(files::unpacked))),
    ("tee", row("-ai --append --ignore-interrupts", Rule(files::tee), Operands(Act::Write))),
    ("time", row("-o> --output>", Reads, RunsBy(files::wrapped))),
    ("tokei", row("-CfVh -e= -o= -s= -t= --files --exclude= --output= --sort= --type= --hidden --no-ignore", Listed, Outputs)),
    ("top", row("-bHci1 -n= -p= -o= -u= -d= -w? -l= -s=", Listed, Outputs)),
    ("trap", row("", Rule(builtin::trap), Nothing)),
    ("tree", row("-adfilxAqNsugpDFrtUCnhvcQSXJ -L= -P= -I= -H= -T= --dirsfirst --filesfirst --noreport --prune --gitignore --du --si --charset= --filelimit= --sort= --matchdirs --ignore-case --inodes --device --timefmt= --fromfile --info --metafirst --help --version -o> --output>", Listed, Outputs)),
    ("tsx", row("-e= --eval=", Unknown, RunsBy(programs::interpreted))),
    ("uniq", row("-cdDiuz -f= -s= -w= --count --repeated --unique --ignore-case --zero-terminated --skip-fields= --skip-chars=", AtMost(1), Second)),
    ("unset", row("-v", Rule(builtin::unset), Nothing)),
    ("unzip", row("-lptvzZqch12C -x=", Needs(&["-l", "-p", "-t", "-v", "-z", "-Z", "-c"]), ChangesBy(files::unpacked))),
    ("wait", row("", Rule(builtin::wait), Nothing)),
    ("wget", row(fetch::WGET, Rule(fetch::wget), ChangesBy(fetch::wget_touched))),
    ("xmllint", row("--noout --format --xpath= --nonet --recover --huge --noblanks --html --version -o> --output>", Listed, Outputs)),
    ("xxd", row("", Rule(files::xxd), Operands(Act::Write))),
    ("yq", row("-rceCMnNPjvV -o= -p= -I= --raw-output --exit-status --colors --no-colors --null-input --no-doc --prettyPrint --output-format= --input-format= --indent= --unwrapScalar --compact-output --tojson --version", Listed, ChangesBy(files::yq))),
];

const fn row(options: &'static str, rule: ClassRule, touches: Touches) -> Row {
    Row { options, rule, touches }
}

const RG: &str = "-abcFHhiILlnNopPqsSuUvVwx.z0 -A= -B= -C= -d= -e= -E= -f= -g= -j= -m= -M= -r= -t= -T= --after-context= --before-context= --context= --color= --colors= --column --no-column --count \
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
    --field-context-separator= --byte-offset --hyperlink-format= \
    --pre>";

pub(super) fn find(name: &str) -> Option<Row> {
    let row = TABLE.binary_search_by_key(&name, |(known, _)| known).ok().map(|at| TABLE[at].1);
    let group = || GROUPS.iter().find(|(names, _)| names.binary_search(&name).is_ok()).map(|(_, row)| *row);
    row.or_else(group)
}

/// It is asked for its version and nothing else.
pub(super) fn asks_version(command: &Invocation) -> bool {
    let [only] = command.arguments else { return false };
    let known =
        VERSIONED.binary_search_by_key(&command.name, |(name, _)| name).map_or("", |at| VERSIONED[at].1);
    only.is_firm() && known.split(' ').any(|option| !option.is_empty() && only.is(option))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_stand_in_one_list() {
        let table: Vec<&str> = TABLE.iter().map(|(name, _)| *name).collect();
        let lists = || GROUPS.iter().map(|(names, _)| *names).chain([&table[..]]);
        assert!(VERSIONED.is_sorted_by(|a, b| a.0 < b.0));
        for list in lists() {
            assert!(list.is_sorted_by(|a, b| a < b), "{list:?}");
        }
        let mut all: Vec<&str> = lists().flatten().copied().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!((all.len(), count > 350), (count, true));
    }

    /// Checks that the harmless options in each row follow the one notation.
    #[test]
    fn options_are_well_formed() {
        for (name, row) in
            TABLE.iter().map(|(name, row)| (name, row)).chain(GROUPS.iter().map(|(n, row)| (&n[0], row)))
        {
            for option in row.options.split_ascii_whitespace() {
                let bare = option.trim_end_matches(['=', '>', '?', '#']);
                let letters = bare.strip_prefix("--").or_else(|| bare.strip_prefix('-')).unwrap_or("=");
                assert!(!letters.contains(['=', '>', '?', '#']), "{name}: {option}");
            }
        }
    }
}
