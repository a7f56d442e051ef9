//! The table of commands: one row per command with its options, its class, and what it touches.
//!
//! Invariants: a command is a plain reader only if none of its options writes a file or runs a program; the lists are
//! sorted, and no name is in two of them.

use super::command::{Act, Class, Command, Known, Rule, Touched, Touches};
use super::{archive, awk, builtin, copy, fetch, files, find, git, inner, interpreter, own, sed};

/// Commands that only read, however they are called.
#[rustfmt::skip]
static READERS: &[&str] = &[
    ":", "arch", "b2sum", "base32", "basename", "break", "cal", "cat", "cd", "cksum", "clear", "cmp", "colordiff",
    "column", "comm", "continue", "cut", "df", "dig", "dirname", "dirs", "du", "echo", "egrep", "envsubst", "exa",
    "exit", "expand", "expr", "eza", "factor", "false", "fgrep", "findmnt", "fmt", "fold", "free", "getconf",
    "getent", "getfacl", "grep", "groups", "hd", "head", "help", "hexdump", "hexyl", "host", "id", "join", "jq",
    "last", "locale", "locate", "logname", "look", "ls", "lsattr", "lsb_release", "lsblk", "lscpu", "lspci",
    "lsusb", "md5", "md5sum", "namei", "netstat", "nl", "nproc", "nslookup", "numfmt", "od", "paste", "pgrep",
    "pidof", "popd", "pr", "printenv", "ps", "pstree", "pushd", "pwd", "readelf", "readlink", "realpath", "return",
    "rev", "seq", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "shasum", "shellcheck", "shift",
    "sleep", "stat", "strings", "sum", "sw_vers", "tac", "tail", "times", "tr", "true", "tsort", "tty", "type",
    "ulimit", "umask", "uname", "unexpand", "uptime", "users", "vmstat", "w", "wait", "wc", "whatis", "whereis",
    "which", "who", "whoami", "yes", "zgrep", "zipinfo",
];

/// Commands that touch no file that an argument names, but are not known to only read.
#[rustfmt::skip]
static TOUCHLESS: &[&str] = &[
    ".", "ack", "apropos", "bg", "chdir", "delta", "diffstat", "disown", "fg", "getopts", "glow", "killall", "ldd",
    "mdfind", "more", "most", "pbcopy", "pkill", "source", "test-path", "tldr", "tput", "ug", "ugrep", "unalias",
    "wl-copy", "xclip", "zless",
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

#[rustfmt::skip]
static TABLE: &[(&str, Known)] = &[
    ("7z", changes("", archive::unpacked_by_7z)),
    ("7za", changes("", archive::unpacked_by_7z)),
    ("7zr", changes("", archive::unpacked_by_7z)),
    ("7zz", changes("", archive::unpacked_by_7z)),
    ("[", own("", builtin::test)),
    ("adb", known("", Rule::Unknown, Touches::Remote)),
    ("ag", reads("-acfgGhilLnNoQrRsSuUvwz -A? -B? -C? -m= --hidden --ignore= --depth= --nocolor --color --count --vimgrep --nogroup")),
    ("alias", own("", builtin::alias)),
    ("aops-hook", known("", Rule::By(own::aops_hook), Touches::Remote)),
    ("apply_patch", changes("", git::patch::touched)),
    ("apt", known("-a --installed --upgradable --all-versions", Rule::Verbs(&["list", "policy", "search", "show"]), Touches::Runs)),
    ("apt-cache", known("-n --names-only", Rule::Verbs(&["depends", "policy", "rdepends", "search", "show", "showpkg"]), Touches::Runs)),
    ("aria2c", changes(fetch::ARIA2C, fetch::aria2c)),
    ("at", known("", Rule::Unknown, Touches::Scripted)),
    ("awk", known(awk::OPTIONS, Rule::By(awk::class), Touches::By(awk::touched))),
    ("aws", known("", Rule::Unknown, Touches::Remote)),
    ("az", known("", Rule::Unknown, Touches::Remote)),
    ("base64", reads("-dDi -w= --decode --wrap= --ignore-garbage -o> --output>")),
    ("bat", reads(BAT)),
    ("batcat", reads(BAT)),
    ("batch", known("", Rule::Unknown, Touches::Scripted)),
    ("bc", reads("-lqsiw --mathlib --quiet")),
    ("bd", known(own::BD, Rule::By(own::tracker), Touches::Remote)),
    ("bindfs", operands(Act::Whole)),
    ("brew", known("--versions --json --cask --formula", Rule::Verbs(&["info", "leaves", "list"]), Touches::Runs)),
    ("bsdtar", changes("", archive::unpacked)),
    ("builtin", known("", Rule::Reads, Touches::Runs)),
    ("bun", runs("-e= -p= --eval= --print=", interpreter::touched)),
    ("bzcat", reads("")),
    ("chattr", operands(Act::Whole)),
    ("chflags", operands(Act::Whole)),
    ("chgrp", operands(Act::Whole)),
    ("chmod", changes("", copy::mode)),
    ("chown", operands(Act::Whole)),
    ("claude", known("", Rule::Unknown, Touches::Remote)),
    ("cloc", reads("--by-file --quiet --json --csv --md --vcs= --include-lang= --exclude-dir= --exclude-lang= --hide-rate")),
    ("codex", known("", Rule::Unknown, Touches::Remote)),
    ("command", known("", Rule::Reads, Touches::Runs)),
    ("cp", changes(copy::OPTIONS, copy::copied)),
    ("cpio", changes("", archive::unpacked)),
    ("crontab", known("-l", Rule::By(files::no_operand), Touches::Scripted)),
    ("csplit", known("", Rule::Unknown, Touches::Every)),
    ("curl", known(fetch::CURL, Rule::By(fetch::curl), Touches::By(fetch::curl_touched))),
    ("date", own("-ujRn -I? -d= -r= -v= -f= --utc --universal --date= --reference= --iso-8601 --rfc-3339= --rfc-email --debug", files::date)),
    ("dc", known("", Rule::Unknown, Touches::Scripted)),
    ("dd", known("", Rule::By(files::dd), Touches::By(files::dd_touched))),
    ("declare", own("-aAirgpfFlu", builtin::declare)),
    ("deno", runs("", interpreter::touched)),
    ("diff", outputs("--output>", Rule::Reads)),
    ("diff3", reads("-AeEmxX3aiT -L= --text --merge --show-all")),
    ("ditto", changes(copy::NO_TARGET, copy::copied)),
    ("docker", known(CONTAINER_OPTIONS, Rule::Verbs(CONTAINERS), Touches::RunsBy(copy::mounted))),
    ("dpkg", lists("-l -L -s -S --list --listfiles --status --search --print-architecture --version")),
    ("dpkg-query", lists("-l -L -s -S -W -f= --list --listfiles --status --search --show --showformat=")),
    ("duckdb", known("", Rule::Unknown, Touches::Scripted)),
    ("ed", changes(copy::EDITOR, copy::opened)),
    ("emacs", known("", Rule::Unknown, Touches::Every)),
    ("env", known("", Rule::Reads, Touches::Runs)),
    ("ex", changes(copy::EDITOR, copy::opened)),
    ("exec", known("", Rule::Reads, Touches::Runs)),
    ("expect", runs("-c=", interpreter::touched)),
    ("export", own("-p", builtin::export)),
    ("fallocate", known("", Rule::Unknown, Touches::Every)),
    ("fd", known(find::FD, Rule::By(find::fd), Touches::RunsBy(find::fd_touched))),
    ("fdfind", known(find::FD, Rule::By(find::fd), Touches::RunsBy(find::fd_touched))),
    ("file", reads("-bkLhiIzrs0Np -m= -F= -e= -f= -P= --mime --mime-type --mime-encoding --brief --dereference --extension")),
    ("find", known("", Rule::By(find::class), Touches::By(find::touched))),
    ("fly", known("", Rule::Unknown, Touches::Remote)),
    ("ftp", known("", Rule::Unknown, Touches::Scripted)),
    ("gawk", known(awk::OPTIONS, Rule::By(awk::class), Touches::By(awk::touched))),
    ("gchmod", changes("", copy::mode)),
    ("gcloud", known("", Rule::Unknown, Touches::Remote)),
    ("gcp", changes(copy::OPTIONS, copy::copied)),
    ("gdb", known("", Rule::Unknown, Touches::Scripted)),
    ("gemini", known("", Rule::Unknown, Touches::Remote)),
    ("gfind", changes("", find::touched)),
    ("gh", known("-R= -L= -s= -S= -a= -A= -l= -q= -t= -b= -w= -u= -e= -j= -c --repo= --limit= --state= --search= --author= --assignee= --label= --jq= --template= --json= --comments --log --log-failed --job= --branch= --workflow= --user= --event= --status= --verbose --exit-status --name-only --patch --color= --required --order= --sort= --yaml --owner= --language=", Rule::Verbs(&["auth status", "issue list", "issue status", "issue view", "label list", "pr checks", "pr diff", "pr list", "pr status", "pr view", "release list", "release view", "repo list", "repo view", "run list", "run view", "search code", "search commits", "search issues", "search prs", "search repos", "workflow list", "workflow view"]), Touches::Remote)),
    ("ghci", known("", Rule::Unknown, Touches::Scripted)),
    ("git", known("", Rule::By(git::class), Touches::By(git::touched))),
    ("glab", known("", Rule::Unknown, Touches::Remote)),
    ("gln", changes(copy::OPTIONS, copy::linked)),
    ("gmake", known("", Rule::Unknown, Touches::Scripted)),
    ("gmv", changes(copy::OPTIONS, copy::moved)),
    ("gnuplot", known("", Rule::Unknown, Touches::Scripted)),
    ("go", known("-m -v", Rule::Verbs(&["help", "version"]), Touches::Runs)),
    ("grm", operands(Act::Whole)),
    ("gsed", changes(sed::OPTIONS, sed::touched)),
    ("gtar", changes("", archive::unpacked)),
    ("gunzip", known("-cdkltvqfn -# --stdout --decompress --list --test --verbose --keep --best --fast --to-stdout", Rule::By(archive::gzip), Touches::Every)),
    ("gzip", known("-cdkltvqfn -# --stdout --decompress --list --test --verbose --keep --best --fast --to-stdout", Rule::By(archive::gzip), Touches::Every)),
    ("hash", reads("-lt")),
    ("history", reads("")),
    ("hostname", own("-fsiIdA --fqdn --short --ip-address --all-ip-addresses --domain", files::no_operand)),
    ("http", known("", Rule::Unknown, Touches::Remote)),
    ("hub", known("", Rule::Unknown, Touches::Remote)),
    ("iconv", reads("-cls -f= -t= --from-code= --to-code= --list -o> --output>")),
    ("ifconfig", known("-a", Rule::By(files::no_operand), Touches::Runs)),
    ("install", changes(copy::OPTIONS, copy::copied)),
    ("ip", known("-46sjodc", Rule::Verbs(&["a", "addr", "addr list", "addr show", "address", "l", "link", "link show", "n", "neigh", "r", "route", "route show", "rule"]), Touches::Runs)),
    ("irb", known("", Rule::Unknown, Touches::Scripted)),
    ("jira", known("", Rule::Unknown, Touches::Remote)),
    ("jobs", reads("-lnprs")),
    ("journalctl", lists("-aefklmqrx -u= -n= -p= -o= -S= -U= -t= -g= -D= -b? --no-pager --since= --until= --unit= --user --lines= --output= --priority= --dmesg --list-boots --disk-usage --grep= --reverse --boot --catalog --follow --utc")),
    ("jshell", known("", Rule::Unknown, Touches::Scripted)),
    ("julia", runs("-e=", interpreter::touched)),
    ("just", known("", Rule::Unknown, Touches::Scripted)),
    ("kill", own("-l0", files::kill)),
    ("kubectl", known("-Afwp -n= -l= -o= -c= --namespace= --all-namespaces --output= --selector= --tail= --since= --follow --previous --container= --show-labels --no-headers --sort-by= --context= --client --field-selector= --watch", Rule::Verbs(&["api-resources", "api-versions", "cluster-info", "describe", "explain", "get", "logs", "top", "version"]), Touches::Remote)),
    ("less", outputs(LESS, Rule::By(files::less))),
    ("let", own("", builtin::test)),
    ("lftp", known("", Rule::Unknown, Touches::Scripted)),
    ("linear", known("", Rule::Unknown, Touches::Remote)),
    ("link", changes(copy::OPTIONS, copy::linked)),
    ("llm", known("", Rule::Unknown, Touches::Remote)),
    ("ln", changes(copy::OPTIONS, copy::linked)),
    ("local", own("-aAirgpfFlu", builtin::declare)),
    ("logger", known("", Rule::Unknown, Touches::Remote)),
    ("lsof", reads("-PntalUwbX -i? -p= -u= -c= -d= -F? -s?")),
    ("lua", runs("-e=", interpreter::touched)),
    ("luajit", runs("-e=", interpreter::touched)),
    ("m4", known("", Rule::Unknown, Touches::Scripted)),
    ("mail", known("", Rule::Unknown, Touches::Remote)),
    ("make", known("", Rule::Unknown, Touches::Scripted)),
    ("man", lists("-kfwa -s= --where --path --whatis --apropos")),
    ("mapfile", known("-t -d= -n= -O= -s= -u=", Rule::By(builtin::declare), Touches::Runs)),
    ("mawk", known(awk::OPTIONS, Rule::By(awk::class), Touches::By(awk::touched))),
    ("mkdir", operands(Act::Write)),
    ("mkfifo", operands(Act::Write)),
    ("mknod", operands(Act::Write)),
    ("mount", operands(Act::Whole)),
    ("mv", changes(copy::OPTIONS, copy::moved)),
    ("mysql", known("", Rule::Unknown, Touches::Scripted)),
    ("nano", known("", Rule::Unknown, Touches::Every)),
    ("nawk", known(awk::OPTIONS, Rule::By(awk::class), Touches::By(awk::touched))),
    ("nerdctl", runs("", copy::mounted)),
    ("nice", known("", Rule::Reads, Touches::Runs)),
    ("nm", reads("-AaBCDglnoprSsuv -f? -t= --demangle --dynamic --defined-only --undefined-only --extern-only --print-size --size-sort --numeric-sort")),
    ("node", runs("-e= -p= --eval= --print=", interpreter::touched)),
    ("nodejs", runs("-e= -p= --eval= --print=", interpreter::touched)),
    ("notify-send", known("", Rule::Unknown, Touches::Remote)),
    ("npm", known("-algp --json --depth= --all --long --global --omit= --prod --dev --parseable", Rule::Verbs(&["bin", "config get", "config list", "config ls", "explain", "help", "info", "list", "ls", "outdated", "prefix", "root", "show", "v", "view", "why"]), Touches::Runs)),
    ("nvim", changes(copy::EDITOR, copy::opened)),
    ("objdump", reads("-aCdDfFghHlprRsStTwxz -j= -M= -m= -b= --disassemble --syms --headers --all-headers --section= --section-headers --no-show-raw-insn --demangle --source")),
    ("oc", known("", Rule::Unknown, Touches::Remote)),
    ("octave", known("", Rule::Unknown, Touches::Scripted)),
    ("osascript", runs("-e=", interpreter::touched)),
    ("patch", changes("", git::patch::touched)),
    ("perl", runs("-e= -E=", interpreter::touched)),
    ("php", runs("-r=", interpreter::touched)),
    ("ping", reads("-46nq -c= -i= -t= -w= -W= -s=")),
    ("pip", known(PIP_OPTIONS, Rule::Verbs(PIP), Touches::Runs)),
    ("pip3", known(PIP_OPTIONS, Rule::Verbs(PIP), Touches::Runs)),
    ("podman", known(CONTAINER_OPTIONS, Rule::Verbs(CONTAINERS), Touches::RunsBy(copy::mounted))),
    ("printf", own("", builtin::printf)),
    ("psql", known("", Rule::Unknown, Touches::Scripted)),
    ("pypy", runs("-c=", interpreter::touched)),
    ("python", runs("-c=", interpreter::touched)),
    ("read", own("-rse -a= -d= -n= -N= -p= -t= -u= -i=", builtin::read)),
    ("readarray", known("-t -d= -n= -O= -s= -u=", Rule::By(builtin::declare), Touches::Runs)),
    ("readonly", own("-aAirgpfFlu", builtin::declare)),
    ("red", changes(copy::EDITOR, copy::opened)),
    ("rename", known("", Rule::Unknown, Touches::Every)),
    ("rg", reads(RG)),
    ("rimraf", operands(Act::Whole)),
    ("rm", operands(Act::Whole)),
    ("rmdir", operands(Act::Whole)),
    ("rpm", known("-qalifcdRp --query --all --list --info --file --whatprovides --queryformat= --last --changelog", Rule::By(files::rpm), Touches::Runs)),
    ("rscript", runs("-e=", interpreter::touched)),
    ("rsync", changes(copy::NO_TARGET, copy::copied)),
    ("ruby", runs("-e=", interpreter::touched)),
    ("rustup", known("--installed --toolchain= -v", Rule::Verbs(&["component list", "show", "target list", "toolchain list", "which"]), Touches::Runs)),
    ("say", known("", Rule::Unknown, Touches::Remote)),
    ("scp", changes(copy::NO_TARGET, copy::copied)),
    ("screen", known("", Rule::Unknown, Touches::Scripted)),
    ("sd", known("", Rule::Unknown, Touches::Every)),
    ("sdiff", outputs("-o> --output>", Rule::Unknown)),
    ("sed", known(sed::OPTIONS, Rule::By(sed::class), Touches::By(sed::touched))),
    ("set", own("", builtin::set)),
    ("setfacl", operands(Act::Whole)),
    ("sftp", known("", Rule::Unknown, Touches::Scripted)),
    ("shopt", reads("-pqsuo")),
    ("shred", operands(Act::Whole)),
    ("shuf", reads("-ezr -i= -n= --echo --input-range= --head-count= --repeat --zero-terminated --random-source= -o> --output>")),
    ("size", reads("-ABGdoxt --format= --totals")),
    ("slack", known("", Rule::Unknown, Touches::Remote)),
    ("sort", reads("-bdfghiMnRrVcCmsuz -k= -t= -S= -T= --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --version-sort --sort= --check --merge --stable --unique --zero-terminated --key= --field-separator= --parallel= --buffer-size= --batch-size= --debug --files0-from= --help --version -o> --output>")),
    ("split", known("", Rule::Unknown, Touches::Every)),
    ("sponge", operands(Act::Write)),
    ("sqlite3", runs("-cmd=", interpreter::touched)),
    ("srm", operands(Act::Whole)),
    ("ss", reads("-46aehHilmnoprstuwx0 --listening --tcp --udp --numeric --processes --all --summary --no-header -D> --diag>")),
    ("ssh", runs(inner::SSH, inner::ssh)),
    ("strace", known("-o> --output>", Rule::Unknown, Touches::RunsBy(files::wrapped))),
    ("systemctl", known("-alq -n= -t= -p= --user --system --no-pager --all --type= --state= --property= --value --failed --plain --no-legend --lines=", Rule::Verbs(&["cat", "is-active", "is-enabled", "is-failed", "list-dependencies", "list-timers", "list-unit-files", "list-units", "show", "status"]), Touches::Runs)),
    ("tar", known("", Rule::By(archive::tar), Touches::By(archive::unpacked))),
    ("tclsh", runs("", interpreter::touched)),
    ("tee", known("-ai --append --ignore-interrupts", Rule::By(files::tee), Touches::Operands(Act::Write))),
    ("test", own("", builtin::test)),
    ("time", known("-o> --output>", Rule::Reads, Touches::RunsBy(files::wrapped))),
    ("tmux", known("", Rule::Unknown, Touches::Scripted)),
    ("tokei", reads("-CfVh -e= -o= -s= -t= --files --exclude= --output= --sort= --type= --hidden --no-ignore")),
    ("top", reads("-bHci1 -n= -p= -o= -u= -d= -w? -l= -s=")),
    ("touch", operands(Act::Write)),
    ("trap", own("", builtin::trap)),
    ("trash", operands(Act::Whole)),
    ("trash-put", operands(Act::Whole)),
    ("tree", reads("-adfilxAqNsugpDFrtUCnhvcQSXJ -L= -P= -I= -H= -T= --dirsfirst --filesfirst --noreport --prune --gitignore --du --si --charset= --filelimit= --sort= --matchdirs --ignore-case --inodes --device --timefmt= --fromfile --info --metafirst --help --version -o> --output>")),
    ("truncate", operands(Act::Write)),
    ("tsx", runs("-e= --eval=", interpreter::touched)),
    ("typeset", own("-aAirgpfFlu", builtin::declare)),
    ("umount", operands(Act::Whole)),
    ("uniq", known("-cdDiuz -f= -s= -w= --count --repeated --unique --ignore-case --zero-terminated --skip-fields= --skip-chars=", Rule::By(files::one_operand), Touches::Second)),
    ("unlink", operands(Act::Whole)),
    ("unset", own("-v", builtin::unset)),
    ("unzip", known("", Rule::By(archive::unzip), Touches::By(archive::unpacked))),
    ("vi", changes(copy::EDITOR, copy::opened)),
    ("view", changes(copy::EDITOR, copy::opened)),
    ("vim", changes(copy::EDITOR, copy::opened)),
    ("wall", known("", Rule::Unknown, Touches::Remote)),
    ("wget", known(fetch::WGET, Rule::By(fetch::wget), Touches::By(fetch::wget_touched))),
    ("xargs", known("", Rule::Reads, Touches::Runs)),
    ("xattr", operands(Act::Whole)),
    ("xmllint", reads("--noout --format --xpath= --nonet --recover --huge --noblanks --html --version -o> --output>")),
    ("xxd", known("-abCdEeiprRuv -c= -g= -l= -o= -s= -n=", Rule::By(files::one_operand), Touches::Second)),
    ("xzcat", reads("")),
    ("yq", known("-rceCMnNPjvV -o= -p= -I= --raw-output --exit-status --colors --no-colors --null-input --no-doc --prettyPrint --output-format= --input-format= --indent= --unwrapScalar --compact-output --tojson --version", Rule::Listed, Touches::By(files::yq))),
    ("zcat", reads("")),
    ("zip", known("", Rule::Unknown, Touches::Every)),
    ("zstd", known("", Rule::Unknown, Touches::Every)),
    ("zstdcat", reads("")),
];

const fn known(options: &'static str, rule: Rule, touches: Touches) -> Known {
    Known { options, rule, touches }
}

/// Reads with these options; those with `>` write what they name.
const fn reads(options: &'static str) -> Known {
    outputs(options, Rule::Listed)
}

const fn outputs(options: &'static str, rule: Rule) -> Known {
    known(options, rule, Touches::Outputs)
}

/// Reads with these options, else it may run anything.
const fn lists(options: &'static str) -> Known {
    known(options, Rule::Listed, Touches::Runs)
}

const fn own(options: &'static str, class: fn(&Command) -> Class) -> Known {
    known(options, Rule::By(class), Touches::Nothing)
}

const fn operands(act: Act) -> Known {
    known("", Rule::Unknown, Touches::Operands(act))
}

const fn changes(options: &'static str, touched: fn(&Command) -> Touched) -> Known {
    known(options, Rule::Unknown, Touches::By(touched))
}

const fn runs(options: &'static str, touched: fn(&Command) -> Touched) -> Known {
    known(options, Rule::Unknown, Touches::RunsBy(touched))
}

const BAT: &str = "-AnpPSuf -l= -r= -H= -m= --plain --number --language= --line-range= --highlight-line= --style= --color= --paging= --theme= --wrap= --show-all --decorations= --tabs= --list-languages --list-themes --version --help";
const LESS: &str = "-eEFfgGiIJKLmMnNqQrRsSuUwWX -# -x= -z= -p= -P= --no-init --quit-if-one-screen -o> -O> --log-file> --LOG-FILE>";
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
pub(super) fn find(name: &str) -> Option<Known> {
    let listed = |list: &[&str]| list.binary_search(&name).is_ok();
    let row = TABLE.binary_search_by_key(&name, |(known, _)| known).ok().map(|at| TABLE[at].1);
    row.or_else(|| listed(READERS).then(|| known("", Rule::Reads, Touches::Nothing)))
        .or_else(|| listed(TOUCHLESS).then(|| known("", Rule::Unknown, Touches::Nothing)))
}

/// It is asked for its version, and harmless then.
pub(super) fn asks_version(command: &Command) -> bool {
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
        for list in [READERS, TOUCHLESS, VERSIONED, &table] {
            assert!(list.is_sorted_by(|a, b| a < b), "{list:?}");
        }
        let twice = |name: &&&str| READERS.contains(name) || TOUCHLESS.contains(name);
        assert_eq!(table.iter().find(twice), None);
        assert_eq!(READERS.iter().find(|name| TOUCHLESS.contains(name)), None);
    }

    /// What a row lists as harmless is a flag, or takes a value, in the one notation.
    #[test]
    fn options_are_well_formed() {
        for (name, row) in TABLE {
            for option in row.options.split_ascii_whitespace() {
                let bare = option.trim_end_matches(['=', '>', '?', '#']);
                let letters = bare.strip_prefix("--").or_else(|| bare.strip_prefix('-')).unwrap_or("=");
                assert!(!letters.contains(['=', '>', '?', '#']), "{name}: {option}");
            }
        }
    }
}
