//! The table of commands: one row per command with its options, its class, and what it touches.
//!
//! Invariants: a command reads however it is called only if none of its options writes a file or runs a program; the
//! lists are sorted, and no name is in two of them.

use super::command::{Act, Class, ClassRule, Invocation, Row, Touched, Touches};
use super::{archive, awk, builtin, copy, fetch, files, find, git, inner, interpreter, own, sed};

/// Commands that share a row, each list sorted.
#[rustfmt::skip]
static GROUPS: &[(&[&str], Row)] = &[
    // They only read, however they are called.
    (&[":", "arch", "b2sum", "base32", "basename", "break", "cal", "cat", "cd", "cksum", "clear", "cmp", "colordiff",
        "column", "comm", "continue", "cut", "df", "dig", "dirname", "dirs", "du", "echo", "egrep", "envsubst",
        "exa", "exit", "expand", "expr", "eza", "factor", "false", "fgrep", "findmnt", "fmt", "fold", "free",
        "getconf", "getent", "getfacl", "grep", "groups", "hd", "head", "help", "hexdump", "hexyl", "host", "id",
        "join", "jq", "last", "locale", "locate", "logname", "look", "ls", "lsattr", "lsb_release", "lsblk", "lscpu",
        "lspci", "lsusb", "md5", "md5sum", "namei", "netstat", "nl", "nproc", "nslookup", "numfmt", "od", "paste",
        "pgrep", "pidof", "popd", "pr", "printenv", "ps", "pstree", "pushd", "pwd", "readelf", "readlink",
        "realpath", "return", "rev", "seq", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "shasum",
        "shellcheck", "shift", "sleep", "stat", "strings", "sum", "sw_vers", "tac", "tail", "times", "tr", "true",
        "tsort", "tty", "type", "ulimit", "umask", "uname", "unexpand", "uptime", "users", "vmstat", "w", "wait",
        "wc", "whatis", "whereis", "which", "who", "whoami", "yes", "zgrep", "zipinfo"], known("", ClassRule::Reads, Touches::Nothing)),
    // They touch no file that an argument names, but are not known to only read.
    (&[".", "ack", "apropos", "bg", "chdir", "delta", "diffstat", "disown", "fg", "getopts", "glow", "killall",
        "ldd", "mdfind", "more", "most", "pbcopy", "pkill", "source", "test-path", "tldr", "tput", "ug", "ugrep",
        "unalias", "wl-copy", "xclip", "zless"], known("", ClassRule::Unknown, Touches::Nothing)),
    (&["7z", "7za", "7zr", "7zz"], changes("", archive::unpacked_by_7z)),
    (&["[", "let", "test"], own("", builtin::test)),
    (&["adb", "aws", "az", "claude", "codex", "fly", "gcloud", "gemini", "glab", "http", "hub", "jira", "linear",
        "llm", "logger", "mail", "notify-send", "oc", "say", "slack", "wall"], known("", ClassRule::Unknown, Touches::Remote)),
    (&["at", "batch", "dc", "duckdb", "ftp", "gdb", "ghci", "gmake", "gnuplot", "irb", "jshell", "just", "lftp",
        "m4", "make", "mysql", "octave", "psql", "screen", "sftp", "tmux"], known("", ClassRule::Unknown, Touches::Scripted)),
    (&["awk", "gawk", "mawk", "nawk"], known(awk::OPTIONS, ClassRule::By(awk::class), Touches::By(awk::touched))),
    (&["bindfs", "chattr", "chflags", "chgrp", "chown", "grm", "mount", "rimraf", "rm", "rmdir", "setfacl", "shred",
        "srm", "trash", "trash-put", "umount", "unlink", "xattr"], operands(Act::Whole)),
    (&["bsdtar", "cpio", "gtar"], changes("", archive::unpacked)),
    (&["builtin", "command", "env", "exec", "nice", "xargs"], known("", ClassRule::Reads, Touches::Runs)),
    (&["bun", "node", "nodejs"], runs("-e= -p= --eval= --print=", interpreter::touched)),
    (&["bzcat", "history", "xzcat", "zcat", "zstdcat"], reads("")),
    (&["cp", "gcp", "install"], changes(copy::OPTIONS, copy::copied)),
    (&["csplit", "emacs", "fallocate", "nano", "rename", "sd", "split", "zip", "zstd"], known("", ClassRule::Unknown, Touches::Every)),
    (&["declare", "local", "readonly", "typeset"], own("-aAirgpfFlu", builtin::declare)),
    (&["ditto", "rsync", "scp"], changes(copy::NO_TARGET, copy::copied)),
    (&["ed", "ex", "nvim", "red", "vi", "view", "vim"], changes(copy::EDITOR, copy::opened)),
    (&["expect", "pypy", "python"], runs("-c=", interpreter::touched)),
    (&["gln", "link", "ln"], changes(copy::OPTIONS, copy::linked)),
    (&["julia", "lua", "luajit", "osascript", "rscript", "ruby"], runs("-e=", interpreter::touched)),
    (&["mkdir", "mkfifo", "mknod", "sponge", "touch", "truncate"], operands(Act::Write)),
];

/// Programs that are harmless when asked for their version alone.
#[rustfmt::skip]
static VERSIONED: &[&str] = &[
    "apt", "aws", "az", "bash", "black", "brew", "bun", "bundle", "c++", "cargo", "cargo-clippy", "cargo-nextest",
    "cc", "clang", "clang++", "claude", "cmake", "composer", "deno", "docker", "dotnet", "elixir", "emacs", "erl",
    "eslint", "fish", "g++", "gcc", "gem", "gh", "ghc", "git", "go", "gradle", "helm", "java", "javac", "julia",
    "just", "kubectl", "ld", "lua", "make", "meson", "mvn", "mypy", "nginx", "ninja", "node", "npm", "npx", "perl",
    "php", "pip", "pip3", "pnpm", "podman", "poetry", "prettier", "psql", "pytest", "python", "python3", "ruby",
    "ruff", "rustc", "rustfmt", "rustup", "sqlite3", "terraform", "tsc", "uv", "vim", "zsh",
];

/// Commands with a row of their own, sorted.
#[rustfmt::skip]
static TABLE: &[(&str, Row)] = &[
    ("ag", reads("-acfgGhilLnNoQrRsSuUvwz -A? -B? -C? -m= --hidden --ignore= --depth= --nocolor --color --count --vimgrep --nogroup")),
    ("alias", own("", builtin::alias)),
    ("aops-hook", known("", ClassRule::By(own::aops_hook), Touches::Remote)),
    ("apply_patch", changes("", git::patch::touched)),
    ("apt", known("-a --installed --upgradable --all-versions", ClassRule::Verbs(&["list", "policy", "search", "show"]), Touches::Runs)),
    ("apt-cache", known("-n --names-only", ClassRule::Verbs(&["depends", "policy", "rdepends", "search", "show", "showpkg"]), Touches::Runs)),
    ("aria2c", changes(fetch::ARIA2C, fetch::aria2c)),
    ("base64", reads("-dDi -w= --decode --wrap= --ignore-garbage -o> --output>")),
    ("bat", reads(BAT)),
    ("batcat", reads(BAT)),
    ("bc", reads("-lqsiw --mathlib --quiet")),
    ("bd", known(own::BD, ClassRule::By(own::tracker), Touches::Remote)),
    ("brew", known("--versions --json --cask --formula", ClassRule::Verbs(&["info", "leaves", "list"]), Touches::Runs)),
    ("chmod", changes("", copy::mode)),
    ("cloc", reads("--by-file --quiet --json --csv --md --vcs= --include-lang= --exclude-dir= --exclude-lang= --hide-rate")),
    ("crontab", known("-l", ClassRule::By(files::no_operand), Touches::Scripted)),
    ("curl", known(fetch::CURL, ClassRule::By(fetch::curl), Touches::By(fetch::curl_touched))),
    ("date", own("-ujRn -I? -d= -r= -v= -f= --utc --universal --date= --reference= --iso-8601 --rfc-3339= --rfc-email --debug", files::date)),
    ("dd", known("", ClassRule::By(files::dd), Touches::By(files::dd_touched))),
    ("deno", runs("", interpreter::touched)),
    ("diff", outputs("--output>", ClassRule::Reads)),
    ("diff3", reads("-AeEmxX3aiT -L= --text --merge --show-all")),
    ("docker", known(CONTAINER_OPTIONS, ClassRule::Verbs(CONTAINERS), Touches::RunsBy(copy::mounted))),
    ("dpkg", lists("-l -L -s -S --list --listfiles --status --search --print-architecture --version")),
    ("dpkg-query", lists("-l -L -s -S -W -f= --list --listfiles --status --search --show --showformat=")),
    ("export", own("-p", builtin::export)),
    ("fd", known(find::FD, ClassRule::By(find::fd), Touches::RunsBy(find::fd_touched))),
    ("fdfind", known(find::FD, ClassRule::By(find::fd), Touches::RunsBy(find::fd_touched))),
    ("file", reads("-bkLhiIzrs0Np -m= -F= -e= -f= -P= --mime --mime-type --mime-encoding --brief --dereference --extension")),
    ("find", known("", ClassRule::By(find::class), Touches::By(find::touched))),
    ("gchmod", changes("", copy::mode)),
    ("gfind", changes("", find::touched)),
    ("gh", known("-R= -L= -s= -S= -a= -A= -l= -q= -t= -b= -w= -u= -e= -j= -c --repo= --limit= --state= --search= --author= --assignee= --label= --jq= --template= --json= --comments --log --log-failed --job= --branch= --workflow= --user= --event= --status= --verbose --exit-status --name-only --patch --color= --required --order= --sort= --yaml --owner= --language=", ClassRule::Verbs(&["auth status", "issue list", "issue status", "issue view", "label list", "pr checks", "pr diff", "pr list", "pr status", "pr view", "release list", "release view", "repo list", "repo view", "run list", "run view", "search code", "search commits", "search issues", "search prs", "search repos", "workflow list", "workflow view"]), Touches::Remote)),
    ("git", known("", ClassRule::By(git::class), Touches::By(git::touched))),
    ("gmv", changes(copy::OPTIONS, copy::moved)),
    ("go", known("-m -v", ClassRule::Verbs(&["help", "version"]), Touches::Runs)),
    ("gsed", changes(sed::OPTIONS, sed::touched)),
    ("gunzip", known("-cdkltvqfn -# --stdout --decompress --list --test --verbose --keep --best --fast --to-stdout", ClassRule::By(archive::gzip), Touches::Every)),
    ("gzip", known("-cdkltvqfn -# --stdout --decompress --list --test --verbose --keep --best --fast --to-stdout", ClassRule::By(archive::gzip), Touches::Every)),
    ("hash", reads("-lt")),
    ("hostname", own("-fsiIdA --fqdn --short --ip-address --all-ip-addresses --domain", files::no_operand)),
    ("iconv", reads("-cls -f= -t= --from-code= --to-code= --list -o> --output>")),
    ("ifconfig", known("-a", ClassRule::By(files::no_operand), Touches::Runs)),
    ("ip", known("-46sjodc", ClassRule::Verbs(&["a", "addr", "addr list", "addr show", "address", "l", "link", "link show", "n", "neigh", "r", "route", "route show", "rule"]), Touches::Runs)),
    ("jobs", reads("-lnprs")),
    ("journalctl", lists("-aefklmqrx -u= -n= -p= -o= -S= -U= -t= -g= -D= -b? --no-pager --since= --until= --unit= --user --lines= --output= --priority= --dmesg --list-boots --disk-usage --grep= --reverse --boot --catalog --follow --utc")),
    ("kill", own("-l0", files::kill)),
    ("kubectl", known("-Afwp -n= -l= -o= -c= --namespace= --all-namespaces --output= --selector= --tail= --since= --follow --previous --container= --show-labels --no-headers --sort-by= --context= --client --field-selector= --watch", ClassRule::Verbs(&["api-resources", "api-versions", "cluster-info", "describe", "explain", "get", "logs", "top", "version"]), Touches::Remote)),
    ("less", outputs(LESS, ClassRule::By(files::less))),
    ("lsof", reads("-PntalUwbX -i? -p= -u= -c= -d= -F? -s?")),
    ("man", lists("-kfwa -s= --where --path --whatis --apropos")),
    ("mapfile", known("-t -d= -n= -O= -s= -u=", ClassRule::By(builtin::declare), Touches::Runs)),
    ("mv", changes(copy::OPTIONS, copy::moved)),
    ("nerdctl", runs("", copy::mounted)),
    ("nm", reads("-AaBCDglnoprSsuv -f? -t= --demangle --dynamic --defined-only --undefined-only --extern-only --print-size --size-sort --numeric-sort")),
    ("npm", known("-algp --json --depth= --all --long --global --omit= --prod --dev --parseable", ClassRule::Verbs(&["bin", "config get", "config list", "config ls", "explain", "help", "info", "list", "ls", "outdated", "prefix", "root", "show", "v", "view", "why"]), Touches::Runs)),
    ("objdump", reads("-aCdDfFghHlprRsStTwxz -j= -M= -m= -b= --disassemble --syms --headers --all-headers --section= --section-headers --no-show-raw-insn --demangle --source")),
    ("patch", changes("", git::patch::touched)),
    ("perl", runs("-e= -E=", interpreter::touched)),
    ("php", runs("-r=", interpreter::touched)),
    ("ping", reads("-46nq -c= -i= -t= -w= -W= -s=")),
    ("pip", known(PIP_OPTIONS, ClassRule::Verbs(PIP), Touches::Runs)),
    ("pip3", known(PIP_OPTIONS, ClassRule::Verbs(PIP), Touches::Runs)),
    ("podman", known(CONTAINER_OPTIONS, ClassRule::Verbs(CONTAINERS), Touches::RunsBy(copy::mounted))),
    ("printf", own("", builtin::printf)),
    ("read", own("-rse -a= -d= -n= -N= -p= -t= -u= -i=", builtin::read)),
    ("readarray", known("-t -d= -n= -O= -s= -u=", ClassRule::By(builtin::declare), Touches::Runs)),
    ("rg", reads(RG)),
    ("rpm", known("-qalifcdRp --query --all --list --info --file --whatprovides --queryformat= --last --changelog", ClassRule::By(files::rpm), Touches::Runs)),
    ("rustup", known("--installed --toolchain= -v", ClassRule::Verbs(&["component list", "show", "target list", "toolchain list", "which"]), Touches::Runs)),
    ("sdiff", outputs("-o> --output>", ClassRule::Unknown)),
    ("sed", known(sed::OPTIONS, ClassRule::By(sed::class), Touches::By(sed::touched))),
    ("set", own("", builtin::set)),
    ("shopt", reads("-pqsuo")),
    ("shuf", reads("-ezr -i= -n= --echo --input-range= --head-count= --repeat --zero-terminated --random-source= -o> --output>")),
    ("size", reads("-ABGdoxt --format= --totals")),
    ("sort", reads("-bdfghiMnRrVcCmsuz -k= -t= -S= -T= --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --version-sort --sort= --check --merge --stable --unique --zero-terminated --key= --field-separator= --parallel= --buffer-size= --batch-size= --debug --files0-from= --help --version -o> --output>")),
    ("sqlite3", runs("-cmd=", interpreter::touched)),
    ("ss", reads("-46aehHilmnoprstuwx0 --listening --tcp --udp --numeric --processes --all --summary --no-header -D> --diag>")),
    ("ssh", runs(inner::SSH, inner::ssh)),
    ("strace", known("-o> --output>", ClassRule::Unknown, Touches::RunsBy(files::wrapped))),
    ("systemctl", known("-alq -n= -t= -p= --user --system --no-pager --all --type= --state= --property= --value --failed --plain --no-legend --lines=", ClassRule::Verbs(&["cat", "is-active", "is-enabled", "is-failed", "list-dependencies", "list-timers", "list-unit-files", "list-units", "show", "status"]), Touches::Runs)),
    ("tar", known("", ClassRule::By(archive::tar), Touches::By(archive::unpacked))),
    ("tclsh", runs("", interpreter::touched)),
    ("tee", known("-ai --append --ignore-interrupts", ClassRule::By(files::tee), Touches::Operands(Act::Write))),
    ("time", known("-o> --output>", ClassRule::Reads, Touches::RunsBy(files::wrapped))),
    ("tokei", reads("-CfVh -e= -o= -s= -t= --files --exclude= --output= --sort= --type= --hidden --no-ignore")),
    ("top", reads("-bHci1 -n= -p= -o= -u= -d= -w? -l= -s=")),
    ("trap", own("", builtin::trap)),
    ("tree", reads("-adfilxAqNsugpDFrtUCnhvcQSXJ -L= -P= -I= -H= -T= --dirsfirst --filesfirst --noreport --prune --gitignore --du --si --charset= --filelimit= --sort= --matchdirs --ignore-case --inodes --device --timefmt= --fromfile --info --metafirst --help --version -o> --output>")),
    ("tsx", runs("-e= --eval=", interpreter::touched)),
    ("uniq", known("-cdDiuz -f= -s= -w= --count --repeated --unique --ignore-case --zero-terminated --skip-fields= --skip-chars=", ClassRule::By(files::one_operand), Touches::Second)),
    ("unset", own("-v", builtin::unset)),
    ("unzip", known("", ClassRule::By(archive::unzip), Touches::By(archive::unpacked))),
    ("wget", known(fetch::WGET, ClassRule::By(fetch::wget), Touches::By(fetch::wget_touched))),
    ("xmllint", reads("--noout --format --xpath= --nonet --recover --huge --noblanks --html --version -o> --output>")),
    ("xxd", known("-abCdEeiprRuv -c= -g= -l= -o= -s= -n=", ClassRule::By(files::one_operand), Touches::Second)),
    ("yq", known("-rceCMnNPjvV -o= -p= -I= --raw-output --exit-status --colors --no-colors --null-input --no-doc --prettyPrint --output-format= --input-format= --indent= --unwrapScalar --compact-output --tojson --version", ClassRule::Listed, Touches::By(files::yq))),
];

const fn known(options: &'static str, rule: ClassRule, touches: Touches) -> Row {
    Row { options, rule, touches }
}

/// Reads with these options; those with `>` write what they name.
const fn reads(options: &'static str) -> Row {
    outputs(options, ClassRule::Listed)
}

const fn outputs(options: &'static str, rule: ClassRule) -> Row {
    known(options, rule, Touches::Outputs)
}

/// Reads with these options, else it may run anything.
const fn lists(options: &'static str) -> Row {
    known(options, ClassRule::Listed, Touches::Runs)
}

const fn own(options: &'static str, class: fn(&Invocation) -> Class) -> Row {
    known(options, ClassRule::By(class), Touches::Nothing)
}

const fn operands(act: Act) -> Row {
    known("", ClassRule::Unknown, Touches::Operands(act))
}

const fn changes(options: &'static str, touched: fn(&Invocation) -> Touched) -> Row {
    known(options, ClassRule::Unknown, Touches::By(touched))
}

const fn runs(options: &'static str, touched: fn(&Invocation) -> Touched) -> Row {
    known(options, ClassRule::Unknown, Touches::RunsBy(touched))
}

const BAT: &str = "-AnpPSuf -l= -r= -H= -m= --plain --number --language= --line-range= --highlight-line= --style= --color= --paging= --theme= --wrap= --show-all --decorations= --tabs= --list-languages --list-themes --version --help";
const LESS: &str =
    "-eEFfgGiIJKLmMnNqQrRsSuUwWX -# -x= -z= -p= -P= --no-init --quit-if-one-screen -o> -O> --log-file> --LOG-FILE>";
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
#[rustfmt::skip]
const CONTAINERS: &[&str] = &["compose ls", "compose ps", "container list", "container ls", "diff", "history", "image list", "image ls", "images", "info", "inspect", "logs", "network inspect", "network list", "network ls", "port", "ps", "top", "version", "volume inspect", "volume list", "volume ls"];
#[rustfmt::skip]
const CONTAINER_OPTIONS: &str = "-aqlsft -n= --all --quiet --latest --size --filter= --format= --no-trunc --tail= --since= --until= --timestamps --follow --digests --type=";
#[rustfmt::skip]
const PIP: &[&str] = &["check", "debug", "freeze", "help", "index versions", "list", "show"];
#[rustfmt::skip]
const PIP_OPTIONS: &str = "-flov --outdated --format= --user --local --verbose --files --not-required --all --path=";

/// What is known of the command of this name.
pub(super) fn find(name: &str) -> Option<Row> {
    let row = TABLE.binary_search_by_key(&name, |(known, _)| known).ok().map(|at| TABLE[at].1);
    let group = || GROUPS.iter().find(|(names, _)| names.binary_search(&name).is_ok()).map(|(_, row)| *row);
    row.or_else(group)
}

/// It is asked for its version, and harmless then.
pub(super) fn asks_version(command: &Invocation) -> bool {
    let [only] = command.arguments else { return false };
    let asks = match only.lossy().as_str() {
        "--version" | "-V" | "-version" | "-vV" => true,
        "-v" => matches!(command.name, "node" | "npm" | "php" | "perl" | "ruby" | "pnpm" | "gem"),
        "version" => matches!(command.name, "go" | "terraform" | "helm"),
        _ => false,
    };
    asks && only.is_firm() && VERSIONED.binary_search(&command.name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_stand_in_one_list() {
        let table: Vec<&str> = TABLE.iter().map(|(name, _)| *name).collect();
        let lists = || GROUPS.iter().map(|(names, _)| *names).chain([&table[..]]);
        for list in lists().chain([VERSIONED]) {
            assert!(list.is_sorted_by(|a, b| a < b), "{list:?}");
        }
        let mut all: Vec<&str> = lists().flatten().copied().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!((all.len(), count > 350), (count, true));
    }

    /// What a row lists as harmless is a flag, or takes a value, in the one notation.
    #[test]
    fn options_are_well_formed() {
        for (name, row) in TABLE.iter().map(|(name, row)| (name, row)).chain(GROUPS.iter().map(|(n, row)| (&n[0], row)))
        {
            for option in row.options.split_ascii_whitespace() {
                let bare = option.trim_end_matches(['=', '>', '?', '#']);
                let letters = bare.strip_prefix("--").or_else(|| bare.strip_prefix('-')).unwrap_or("=");
                assert!(!letters.contains(['=', '>', '?', '#']), "{name}: {option}");
            }
        }
    }
}
