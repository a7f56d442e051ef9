//! Which rules judge which program: one lookup of the name.

use super::Search;
use super::call::Call;
use super::{
    carried, carrier, cloud, code, content, files, git, outgoing, printed, processes, readers, remote,
    rights, secret, system, table,
};

type Judge = fn(&mut Search, &Call);

#[expect(clippy::too_many_lines, reason = "a table: one arm for each group of programs")]
pub(super) fn judge(name: &str) -> Option<Judge> {
    Some(match name {
        "git" => |search, call| {
            outgoing::pushes(search, call);
            readers::shown(search, call);
            git::git(search, call);
        },
        "rm" | "rimraf" | "srm" | "del-cli" | "grm" | "trash-empty" => files::rm,
        "unlink" | "gunlink" => files::unlink,
        "find" | "fd" | "fdfind" | "gfind" => files::find,
        "mv" | "gmv" => files::mv,
        "cp" | "install" | "ln" | "link" | "gcp" => files::copy,
        "truncate" => files::truncate,
        "shred" | "gshred" | "wipe" => files::shred,
        "dd" | "gdd" | "dcfldd" => files::dd,
        "tee" | "sponge" => files::tee,
        "sed" | "gsed" => files::edited_in_place,
        "rsync" => files::rsync,
        "tar" | "zip" | "7z" | "7za" | "gzip" | "bzip2" | "xz" | "zstd" | "bsdtar" | "gtar" => files::tar,
        "unzip" | "unrar" | "rar" | "cpio" | "pax" => content::unpacked,
        "chmod" => rights::chmod,
        "chown" | "chgrp" | "setfacl" | "chattr" => rights::chown,
        "kill" => processes::kill,
        "fuser" => processes::fuser,
        "pkill" | "killall" | "killall5" | "skill" => processes::pkill,
        "taskkill" | "tskill" => processes::taskkill,
        "umount" => system::umount,
        "mkfs" | "mkswap" | "mke2fs" => system::mkfs,
        "nc" | "ncat" | "netcat" | "socat" | "telnet" | "tftp" => system::netcat,
        "history" => system::history,
        "fallocate" | "mkfile" => system::fallocate,
        "ssh-keygen" => files::ssh_keygen,
        "pip" | "pip3" | "pipx" | "cargo" => |search, call| {
            cloud::formed(search, call);
            let from_git = call.name == "cargo" && call.has(&["--git"]);
            if from_git && call.texts.first().is_some_and(|verb| verb == "install") {
                search.add("remote-code", call.simple);
            }
            remote::installs(search, call);
            let all =
                |word: &crate::syntax::Word| word.splits && word.shifts == Some(0) && word.unknown.is_empty();
            let removes = call.texts.first().is_some_and(|verb| verb == "uninstall");
            if removes && call.words.iter().any(all) {
                search.add("package-remove", call.simple);
            }
        },
        "cat" | "bat" | "batcat" | "less" | "more" | "most" | "head" | "tail" | "tac" | "nl" | "od"
        | "xxd" | "hexdump" | "strings" | "base64" | "base32" | "grep" | "egrep" | "fgrep" | "zgrep"
        | "rg" | "ag" | "ack" | "yq" | "cut" | "sort" | "uniq" | "diff" | "colordiff" | "cmp" | "nano"
        | "code" | "paste" | "column" | "fold" | "rev" | "csplit" | "pbcopy" | "xclip" | "openssl" | "pr"
        | "fmt" | "glow" | "comm" | "join" | "iconv" | "dos2unix" | "hd" | "zcat" | "open" | "xdg-open"
        | "micro" | "hx" | "subl" | "gedit" | "shuf" | "expand" | "unexpand" | "ul" | "diff3" | "sdiff"
        | "cpp" | "tsort" | "numfmt" => secret::reads,
        "vi" | "vim" | "nvim" | "ex" | "ed" | "view" | "vim.basic" | "gvim" => carrier::editor,
        "jq" => |search, call| {
            secret::reads(search, call);
            let prints = |text: &String| super::shown::prints_environment(text, true) || is_all_of_env(text);
            if call.texts.iter().any(prints) {
                search.add("secret-print", call.simple);
            }
        },
        "echo" | "printf" | "print" => printed::echoed,
        "printenv" => printed::environment,
        "env" | "export" | "declare" | "typeset" | "set" => printed::variables,
        "ps" => printed::processes,
        "curl" | "wget" | "http" | "https" | "xh" | "httpie" | "aria2c" | "fetch" | "lwp-request" => {
            cloud::request
        }
        "scp" | "rcp" => carrier::scp,
        "split" => |search, call| {
            cloud::formed(search, call);
            secret::reads(search, call);
        },
        "drop" | "delete" | "grant" | "alter" => |search, call| {
            let line: Vec<String> = call.simple.words.iter().map(crate::syntax::Word::lossy).collect();
            // In `DELETE FROM \`users\``, the text between backquotes is unknown here.
            if super::sql::destroys(&line.join(" ").replace('…', "x")) {
                search.add("sql-destroy", call.simple);
            }
        },
        "cmd" => carrier::cmd,
        "lvm" | "watch" => carrier::direct,
        "sftp" | "ftp" | "mail" | "mailx" | "mutt" | "sendmail" | "msmtp" | "magic-wormhole" | "wormhole"
        | "croc" | "transfer" | "pastebinit" | "ipfs" | "ffsend" | "telegram-send" | "smbclient" | "lftp"
        | "gdrive" | "swaks" | "dig" | "nslookup" | "host" | "drill" | "websocat" | "gist"
        | "dropbox_uploader" | "slackcat" => secret::sends,
        "ssh" | "mosh" | "sshpass" | "autossh" => carrier::ssh,
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "mksh" | "fish" | "yash" | "rbash" | "csh"
        | "tcsh" => remote::interpreter,
        "eval" | "source" | "." => remote::evaluated,
        "python" | "python2" | "python3" | "pypy" | "pypy3" | "node" | "nodejs" | "deno" | "bun" | "perl"
        | "ruby" | "php" | "lua" | "luajit" | "rscript" | "osascript" | "tclsh" | "ts-node" | "tsx"
        | "awk" | "gawk" | "mawk" | "nawk" | "ipython" | "elixir" | "groovy" | "julia" | "jshell"
        | "emacs" | "emacsclient" | "r" | "littler" | "erl" | "ghc" | "runghc" | "runhaskell" | "ocaml"
        | "clojure" | "clj" | "bb" | "racket" | "guile" | "sbcl" | "clisp" | "ecl" | "scheme" | "chez"
        | "octave" | "octave-cli" | "matlab" | "scala" | "kotlin" | "kotlinc" | "swift" | "crystal"
        | "nim" | "gnuplot" | "blender" | "m4" | "csi" | "rust-script" | "gjs" | "qjs" | "janet"
        | "fennel" | "raku" | "perl6" | "hy" | "coffee" | "vala" | "dart" | "io" | "pike" | "newlisp"
        | "expr-eval" => code::interpreted,
        _ if name.starts_with("python3.") || name.starts_with("python2.") => code::interpreted,
        "psql" | "mysql" | "mariadb" | "sqlite3" | "sqlite" | "duckdb" | "clickhouse-client"
        | "clickhouse" | "cqlsh" | "sqlcmd" | "isql" | "osql" | "snowsql" | "snow" | "bq" | "mongo"
        | "mongosh" | "usql" | "pgcli" | "mycli" | "litecli" | "sqlplus" | "db2" | "cockroach" | "presto"
        | "trino" | "hive" | "beeline" | "spark-sql" | "impala-shell" | "influx" | "cypher-shell"
        | "turso" | "wrangler" | "databricks" | "gsql" | "vsql" | "ysqlsh" | "osm2pgsql" => cloud::sql,
        "redis-cli" | "valkey-cli" | "keydb-cli" | "dragonfly-cli" => cloud::redis,
        "docker" | "podman" | "nerdctl" | "docker-compose" | "podman-compose" | "lxc" | "incus" => {
            carrier::docker
        }
        "kubectl" | "oc" | "k3s" | "microk8s" | "k" => carrier::kubectl,
        "aws" | "gcloud" | "gsutil" | "az" | "rclone" | "mc" | "azcopy" | "s3cmd" | "s5cmd" | "b2" => {
            cloud::aws
        }
        "poetry" | "uv" | "pipenv" | "bundle" | "npx" | "bunx" | "pnpx" | "uvx" | "npm" | "pnpm" | "yarn"
        | "hatch" | "pdm" | "rye" | "direnv" | "dotenv" | "op" | "doppler" | "infisical" | "mise"
        | "asdf" | "conda" | "mamba" | "micromamba" | "firejail" | "fakeroot" | "proxychains"
        | "proxychains4" | "torsocks" | "systemd-run" | "runuser" | "setpriv" | "cross-env" | "nix"
        | "vagrant" | "heroku" | "fly" | "flyctl" | "railway" | "chamber" | "aws-vault" | "wsl"
        | "pkexec" | "gosu" | "su-exec" | "numactl" | "cpulimit" | "prlimit" | "watchexec" | "entr"
        | "summon" | "teller" | "vercel" | "netlify" => carrier::environment,
        "gh" | "glab" | "hub" => carrier::forge,
        "expect" => carrier::expect,
        "make" | "gmake" => carrier::make,
        "parallel" => carrier::parallel,
        // `parallel :::: file`
        "::::" => |search, call| search.add("unknown-code", call.simple),
        "cmake" => carrier::cmake,
        "gdb" | "lldb" => carrier::debugger,
        "xdotool" | "ydotool" | "wtype" | "kitty" | "wezterm" | "nodemon" | "onchange" | "chokidar"
        | "foreman" | "honcho" | "overmind" | "repo" | "pssh" | "parallel-ssh" | "tmux" | "screen" | "at"
        | "batch" | "hyperfine" | "zellij" | "pueue" | "tsp" | "concurrently" | "sg" | "sops" => {
            carrier::lines
        }
        "ansible" => carrier::ansible,
        "powershell" | "pwsh" => super::windows::powershell,
        "del" | "erase" | "rd" | "format" | "diskpart" | "vssadmin" | "wmic" | "cipher" | "reg"
        | "schtasks" | "net" => super::windows::command,
        _ if name.starts_with("mkfs.") || name.starts_with("newfs_") => system::mkfs,
        _ if name.starts_with("git-") => |search, call| {
            let line: Vec<String> = call.words.iter().map(super::call::quoted).collect();
            search.text(&format!("git {} {}", &call.name[4..], line.join(" ")), call.simple);
        },
        _ if table::FORMS.iter().any(|(_, names, _)| names.contains(&name)) => |search, call| {
            cloud::formed(search, call);
            carried::behind(search, call);
        },
        _ => return None,
    })
}

/// `jq -n env` prints every variable, not just one or only the names.
fn is_all_of_env(program: &str) -> bool {
    let mut steps = program.split('|').map(str::trim);
    let picks = |step: &str| {
        step.starts_with(['.', '[']) && step.len() > 1
            || ["keys", "length", "has("].iter().any(|word| step.starts_with(word))
    };
    steps.next() == Some("env") && !steps.next().is_some_and(picks)
}
